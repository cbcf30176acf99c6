//! The Guinier law.

use crate::model_values;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    rg: Plain, "Ang", 60.0, -INF => INF, "Radius of gyration; below 0: its square counts as negative";
    }
}

/// The Guinier law.
pub struct Guinier;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    rate: R,
}

impl Model for Guinier {
    const INFO: Info = Info {
        name: "guinier",
        category: "shape-independent",
        title: "Guinier law",
        formula: "I = exp(−q² rg |rg| / 3)",
        source: "A. Guinier and G. Fournet, Small-Angle Scattering of X-Rays, Wiley 1955",
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
            rate: (p.rg * p.rg.abs()).times(-1.0 / 3.0),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_intensity((wave.q.squared() * s.rate).exp())
    }
}
