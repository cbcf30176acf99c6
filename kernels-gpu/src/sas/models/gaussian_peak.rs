//! A Gaussian peak.

use crate::model_values;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    peak_pos: Plain, "1/Ang", 0.05, -INF => INF, "Position of the peak";
    sigma: Plain, "1/Ang", 0.005, 0.0 => INF, "Standard deviation";
    }
}

/// A Gaussian peak.
pub struct GaussianPeak;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    position: R,
    inverse_width: R,
}

impl Model for GaussianPeak {
    const INFO: Info = Info {
        name: "gaussian_peak",
        category: "shape-independent",
        title: "Gaussian peak",
        formula: "I = exp(−((q − peak_pos)/sigma)²/2)",
        source: "None: a definition",
        parameters: TABLE,
        radius_modes: &[],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            position: p.peak_pos,
            // No width is a line of no measure rather than 0/0.
            inverse_width: R::one() / p.sigma.max(R::of(1e-30)),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_intensity((((wave.q - s.position) * s.inverse_width).squared().times(-0.5)).exp())
    }
}
