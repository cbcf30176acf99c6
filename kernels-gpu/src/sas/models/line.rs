//! A straight line in q.

use crate::model_values;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    intercept: Plain, "1/cm", 1.0, -INF => INF, "Value at q = 0";
    slope: Plain, "Ang/cm", 1.0, -INF => INF, "Slope";
    }
}

/// A straight line in q.
pub struct Line;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    intercept: R,
    slope: R,
}

impl Model for Line {
    const INFO: Info = Info {
        name: "line",
        category: "shape-independent",
        title: "Straight line",
        formula: "I = intercept + slope q",
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
            intercept: p.intercept,
            slope: p.slope,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_intensity(s.slope.mul_add(wave.q, s.intercept))
    }
}
