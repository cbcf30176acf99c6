//! Gaussian coils with a Schulz–Zimm distribution of lengths.

use crate::model_values;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    i_zero: Plain, "1/cm", 70.0, 0.0 => INF, "Intensity at q = 0";
    rg: Plain, "Ang", 75.0, 0.0 => INF, "Radius of gyration (z average)";
    polydispersity: Plain, "", 2.0, 1.0 => INF, "Mw/Mn";
    }
}

/// Gaussian coils with a Schulz–Zimm distribution of lengths.
pub struct PolyGaussCoil;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    i_zero: R,
    square: R,
    u: R,
}

impl Model for PolyGaussCoil {
    const INFO: Info = Info {
        name: "poly_gauss_coil",
        category: "shape-independent",
        title: "Gaussian coils, polydisperse",
        formula: "I = i_zero 2 ((1 + U z)^(−1/U) + z − 1)/((1 + U) z²), z = (q rg)²/(1 + 2U), U = polydispersity − 1",
        source: "O. Glatter and O. Kratky, Small Angle X-ray Scattering, Academic Press 1982, p. 404",
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
        let u = p.polydispersity.plus(-1.0);
        State {
            i_zero: p.i_zero,
            square: p.rg.squared() / u.times(2.0).plus(1.0),
            u,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let z = wave.q.squared() * s.square;
        let shape = R::choose(
            (z * s.u.times(10.0).plus(1.0)).less(R::one()),
            #[inline(always)]
            || {
                // Σ 2 (−z)ᵏ/(k + 2)! Π (1 + j u), j = 2 … k + 1.
                let mut sum = R::one();
                for k in (1..15_u32).rev() {
                    let j = f64::from(k + 1);
                    sum = (sum * z * s.u.times(j).plus(1.0)).times(-1.0 / (j + 1.0)).plus(1.0);
                }
                sum
            },
            #[inline(always)]
            || {
                let w = s.u * z;
                // ln(1 + w)/w.
                let rate = R::choose(
                    w.less(R::of(0.02)),
                    #[inline(always)]
                    || {
                        let mut sum = R::zero();
                        for k in (1..10_u32).rev() {
                            sum = R::of(1.0 / f64::from(k)) - w * sum;
                        }
                        sum
                    },
                    #[inline(always)]
                    || w.plus(1.0).ln() / w,
                );
                ((-z * rate).exp() + z.plus(-1.0)).times(2.0) / (s.u.plus(1.0) * z.squared())
            },
        );
        Form::of_intensity(s.i_zero * shape)
    }
}
