//! Gaussian coils of one length.

use crate::model_values;
use crate::sas::functions::{debye};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    i_zero: Plain, "1/cm", 70.0, 0.0 => INF, "Intensity at q = 0";
    rg: Volume, "Ang", 75.0, 0.0 => INF, "Radius of gyration";
    }
}

/// Gaussian coils of one length.
pub struct MonoGaussCoil;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    i_zero: R,
    rg: R,
}

impl Model for MonoGaussCoil {
    const INFO: Info = Info {
        name: "mono_gauss_coil",
        category: "shape-independent",
        title: "Gaussian coils of one length",
        formula: "I = i_zero 2 (e^−z + z − 1)/z², z = (q rg)²",
        source: "P. Debye, J. Phys. Colloid Chem. 51 (1947) 18",
        parameters: TABLE,
        radius_modes: &["R_g", "2R_g", "3R_g", "sqrt(5/3)*R_g"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            i_zero: p.i_zero,
            rg: p.rg,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_intensity(s.i_zero * debye((wave.q * s.rg).squared()))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        match mode {
            1 => p.rg,
            2 => 2.0 * p.rg,
            3 => 3.0 * p.rg,
            4 => libm::sqrt(5.0 / 3.0) * p.rg,
            _ => 0.0,
        }
    }
}
