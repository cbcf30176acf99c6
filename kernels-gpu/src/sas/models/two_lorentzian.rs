//! Two Lorentzians with free exponents.

use crate::model_values;
use crate::sas::functions::{power_of};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    lorentz_scale_1: Plain, "", 10.0, -INF => INF, "Weight of the first Lorentzian";
    lorentz_length_1: Plain, "Ang", 100.0, -INF => INF, "Correlation length of the first Lorentzian";
    lorentz_exp_1: Plain, "", 3.0, -INF => INF, "Exponent of the first Lorentzian";
    lorentz_scale_2: Plain, "", 1.0, -INF => INF, "Weight of the second Lorentzian";
    lorentz_length_2: Plain, "Ang", 10.0, -INF => INF, "Correlation length of the second Lorentzian";
    lorentz_exp_2: Plain, "", 2.0, -INF => INF, "Exponent of the second Lorentzian";
    }
}

/// Two Lorentzians with free exponents.
pub struct TwoLorentzian;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    scale_1: R,
    length_1: R,
    power_1: R,
    scale_2: R,
    length_2: R,
    power_2: R,
}

impl Model for TwoLorentzian {
    const INFO: Info = Info {
        name: "two_lorentzian",
        category: "shape-independent",
        title: "Two Lorentzians with free exponents",
        formula: "I = Σᵢ lorentz_scale_i/(1 + (q lorentz_length_i)^lorentz_exp_i)",
        source: "None: empirical",
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
            scale_1: p.lorentz_scale_1,
            length_1: p.lorentz_length_1.abs(),
            power_1: p.lorentz_exp_1,
            scale_2: p.lorentz_scale_2,
            length_2: p.lorentz_length_2.abs(),
            power_2: p.lorentz_exp_2,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let first = s.scale_1 / power_of(wave.q * s.length_1, s.power_1).plus(1.0);
        let second = s.scale_2 / power_of(wave.q * s.length_2, s.power_2).plus(1.0);
        Form::of_intensity(first + second)
    }
}
