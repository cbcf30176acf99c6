//! Microemulsions.

use crate::model_values;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    volfraction_a: Plain, "", 0.5, 0.0 => 1.0, "Volume fraction of phase a";
    sld_a: Sld, "1e-6/Ang^2", 0.3, -INF => INF, "Scattering length density of phase a";
    sld_b: Sld, "1e-6/Ang^2", 6.3, -INF => INF, "Scattering length density of phase b";
    d: Plain, "Ang", 100.0, 0.0 => INF, "Period";
    xi: Plain, "Ang", 30.0, 0.0 => INF, "Correlation length";
    }
}

/// Microemulsions.
pub struct TeubnerStrey;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    weight: R,
    a2: R,
    c1: R,
    c2: R,
}

impl Model for TeubnerStrey {
    const INFO: Info = Info {
        name: "teubner_strey",
        category: "shape-independent",
        title: "Microemulsions (Teubner, Strey)",
        formula: "I = 8π φ(1 − φ)(sld_a − sld_b)² ξ³/(a₂ + c₁q² + c₂q⁴), k = 2πξ/d, a₂ = (1 + k²)², c₁ = 2ξ²(1 − k²), c₂ = ξ⁴",
        source: "M. Teubner and R. Strey, J. Chem. Phys. 87 (1987) 3195",
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
        let square = p.xi.squared();
        let k2 = (p.xi.times(2.0 * PI) / p.d).squared();
        let mixed = p.volfraction_a * (R::one() - p.volfraction_a);
        State {
            weight: mixed * (p.sld_a - p.sld_b).squared() * p.xi * square.times(8e-4 * PI),
            a2: k2.plus(1.0).squared(),
            c1: (R::one() - k2) * square.times(2.0),
            c2: square.squared(),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let q2 = wave.q.squared();
        Form::of_intensity(s.weight / s.c2.mul_add(q2, s.c1).mul_add(q2, s.a2))
    }
}
