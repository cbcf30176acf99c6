//! The Ornstein–Zernike law.

use crate::model_values;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    cor_length: Plain, "Ang", 50.0, 0.0 => INF, "Screening length";
    }
}

/// The Ornstein–Zernike law.
pub struct Lorentz;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    length: R,
}

impl Model for Lorentz {
    const INFO: Info = Info {
        name: "lorentz",
        category: "shape-independent",
        title: "Ornstein–Zernike correlation",
        formula: "I = 1/(1 + (q cor_length)²)",
        source: "L. S. Ornstein and F. Zernike, Proc. Acad. Sci. Amsterdam 17 (1914) 793",
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
            length: p.cor_length,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_intensity(R::one() / (wave.q * s.length).squared().plus(1.0))
    }
}
