//! A power of q.

use crate::model_values;
use crate::sas::functions::{power_of};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    power: Plain, "", 4.0, -INF => INF, "Exponent, positive for what falls";
    }
}

/// A power of q.
pub struct PowerLaw;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    power: R,
}

impl Model for PowerLaw {
    const INFO: Info = Info {
        name: "power_law",
        category: "shape-independent",
        title: "Power law",
        formula: "I = q^−power",
        source: "P. W. Schmidt, J. Appl. Cryst. 24 (1991) 414",
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
        State { power: -p.power }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_intensity(power_of(wave.q, s.power))
    }
}
