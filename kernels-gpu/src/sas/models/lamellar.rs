//! Thin sheets without order.

use crate::model_values;
use crate::sas::functions::{sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    thickness: Volume, "Ang", 50.0, 0.0 => INF, "Thickness of the sheet";
    sld: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the sheet";
    sld_solvent: Sld, "1e-6/Ang^2", 6.0, -INF => INF, "Scattering length density of the solvent";
    }
}

/// Thin sheets without order.
pub struct Lamellar;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    half: R,
    weight: R,
}

impl Model for Lamellar {
    const INFO: Info = Info {
        name: "lamellar",
        category: "shape:lamellae",
        title: "Lamellae without order",
        formula: "I = 2π (sld − sld_solvent)² δ (sin(x)/x)²/q², x = q δ/2, δ = thickness",
        source: "F. Nallet, R. Laversanne and D. Roux, J. Phys. II France 3 (1993) 487",
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
            half: p.thickness.times(0.5),
            weight: (p.sld - p.sld_solvent).squared() * p.thickness.times(2e-4 * PI),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_intensity(s.weight * (sinc(wave.q * s.half) / wave.q).squared())
    }
}
