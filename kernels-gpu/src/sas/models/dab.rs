//! Two phases with smooth random interfaces (Debye, Anderson, Brumberger).

use crate::model_values;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    cor_length: Plain, "Ang", 50.0, 0.0 => INF, "Correlation length";
    }
}

/// Two phases with smooth random interfaces (Debye, Anderson, Brumberger).
pub struct Dab;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    length: R,
    cubed: R,
}

impl Model for Dab {
    const INFO: Info = Info {
        name: "dab",
        category: "shape-independent",
        title: "Two random phases (Debye, Anderson, Brumberger)",
        formula: "I = L³/(1 + (q L)²)², L = cor_length",
        source: "P. Debye, H. R. Anderson and H. Brumberger, J. Appl. Phys. 28 (1957) 679",
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
            cubed: p.cor_length.cubed(),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_intensity(s.cubed / (wave.q * s.length).squared().plus(1.0).squared())
    }
}
