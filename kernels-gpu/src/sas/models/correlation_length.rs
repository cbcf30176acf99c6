//! A Lorentzian with free exponent on a power law.

use crate::model_values;
use crate::sas::functions::{power_of};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    lorentz_scale: Plain, "", 10.0, 0.0 => INF, "Weight of the Lorentzian";
    porod_scale: Plain, "", 1e-06, 0.0 => INF, "Weight of the power law";
    cor_length: Plain, "Ang", 50.0, 0.0 => INF, "Correlation length";
    porod_exp: Plain, "", 3.0, 0.0 => INF, "Exponent of the power law";
    lorentz_exp: Plain, "", 2.0, 0.0 => INF, "Exponent of the Lorentzian";
    }
}

/// A Lorentzian with free exponent on a power law.
pub struct CorrelationLength;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    porod: R,
    porod_power: R,
    lorentz: R,
    length: R,
    power: R,
}

impl Model for CorrelationLength {
    const INFO: Info = Info {
        name: "correlation_length",
        category: "shape-independent",
        title: "Chains and their clusters: a Lorentzian on a power law",
        formula: "I = porod_scale/q^porod_exp + lorentz_scale/(1 + (q cor_length)^lorentz_exp)",
        source: "B. Hammouda, D. L. Ho and S. R. Kline, Macromolecules 37 (2004) 6932",
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
            porod: p.porod_scale,
            porod_power: -p.porod_exp,
            lorentz: p.lorentz_scale,
            length: p.cor_length,
            power: p.lorentz_exp,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let lorentz = s.lorentz / power_of(wave.q * s.length, s.power).plus(1.0);
        Form::of_intensity(s.porod.mul_add(power_of(wave.q, s.porod_power), lorentz))
    }
}
