//! Polymer chains with excluded volume.

use crate::model_values;
use crate::sas::functions::{ln_gamma};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    rg: Plain, "Ang", 60.0, 0.0 => INF, "Radius of gyration";
    porod_exp: Plain, "", 3.0, 0.0 => INF, "Exponent at large q: 1/ν";
    }
}

/// Terms of the series and depth of the continued fraction: 1e-12 for exponents a below 12.
const TERMS: u32 = 64;

/// γ(a, x)/xᵃ.
#[inline(always)]
fn lower_gamma<R: Real>(a: R, ln_gamma: R, x: R) -> R {
    R::choose(
        x.less(a.plus(1.0)),
        #[inline(always)]
        || {
            // e⁻ˣ Σ xⁿ/(a (a + 1) … (a + n)).
            let mut sum = R::zero();
            for n in (0..TERMS).rev() {
                sum = sum.mul_add(x, R::one()) / a.plus(f64::from(n));
            }
            sum * (-x).exp()
        },
        #[inline(always)]
        || {
            // Γ(a, x) = e⁻ˣ xᵃ/(x + 1 − a − 1(1 − a)/(x + 3 − a − 2(2 − a)/(x + 5 − a − …))).
            let base = x - a;
            let mut fraction = R::zero();
            for n in (1..TERMS).rev() {
                let n = f64::from(n);
                let below = base.plus(2.0 * n + 1.0) - fraction;
                fraction = (R::of(n) - a).times(n) / below;
            }
            (ln_gamma - a * x.ln()).exp() - (-x).exp() / (base.plus(1.0) - fraction)
        },
    )
}

/// Polymer chains with excluded volume.
pub struct PolymerExclVolume;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    square: R,
    m: R,
    ln_gamma_half: R,
    ln_gamma: R,
}

impl Model for PolymerExclVolume {
    const INFO: Info = Info {
        name: "polymer_excl_volume",
        category: "shape-independent",
        title: "Polymer chains with excluded volume",
        formula: "I = m (g(m/2, U) − g(m, U)), g(a, U) = γ(a, U)/Uᵃ with the lower incomplete Γ, U = (q rg)² (2/m + 1)(2/m + 2)/6, m = porod_exp",
        source: "B. Hammouda, Adv. Polym. Sci. 106 (1993) 87",
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
        // The limit of an exponent 0 is reached well before.
        let m = p.porod_exp.max(R::of(1e-6));
        let twice = R::of(2.0) / m;
        State {
            square: p.rg.squared() * twice.plus(1.0) * twice.plus(2.0).times(1.0 / 6.0),
            m,
            ln_gamma_half: ln_gamma(m.times(0.5)),
            ln_gamma: ln_gamma(m),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let u = wave.q.squared() * s.square;
        let first = lower_gamma(s.m.times(0.5), s.ln_gamma_half, u);
        Form::of_intensity(s.m * (first - lower_gamma(s.m, s.ln_gamma, u)))
    }
}
