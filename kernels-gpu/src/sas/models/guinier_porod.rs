//! Guinier’s law of rods, plates or globules that goes over into a power law.

use crate::model_values;
use crate::sas::functions::{power_of};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    rg: Plain, "Ang", 60.0, 0.0 => INF, "Radius of gyration";
    s: Plain, "", 1.0, 0.0 => 3.0, "Dimension: 0 globules, 1 rods, 2 plates";
    porod_exp: Plain, "", 3.0, 0.0 => INF, "Exponent of the power law";
    }
}

/// Guinier’s law of rods, plates or globules that goes over into a power law.
pub struct GuinierPorod;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    power: R,
    rate: R,
    end: R,
    porod_power: R,
    ln_porod: R,
}

impl Model for GuinierPorod {
    const INFO: Info = Info {
        name: "guinier_porod",
        category: "shape-independent",
        title: "Guinier law that goes over into a power law",
        formula: "I = q^−s exp(−q² rg²/(3 − s)) up to q₁ = √((m − s)(3 − s)/2)/rg, beyond it D q^−m with D such that value and slope are continuous; m = porod_exp",
        source: "B. Hammouda, J. Appl. Cryst. 43 (2010) 716",
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
        let free = R::of(3.0) - p.s;
        let fall = p.porod_exp - p.s;
        // Where the two laws cannot meet there is only the power law q^−s.
        let tiny = R::of(1e-30);
        let meet = tiny.less(free.min(fall).min(p.rg));
        let end = R::choose(
            meet,
            #[inline(always)]
            || (fall * free.times(0.5)).sqrt() / p.rg,
            #[inline(always)]
            || R::of(1e30),
        );
        State {
            power: -p.s,
            rate: R::choose(meet, #[inline(always)] || -p.rg.squared() / free, R::zero),
            end,
            porod_power: -p.porod_exp,
            ln_porod: fall.mul_add(end.ln(), fall.times(-0.5)),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let intensity = R::choose(
            wave.q.less(s.end),
            #[inline(always)]
            || power_of(wave.q, s.power) * (wave.q.squared() * s.rate).exp(),
            #[inline(always)]
            || s.porod_power.mul_add(wave.q.ln(), s.ln_porod).exp(),
        );
        Form::of_intensity(intensity)
    }
}
