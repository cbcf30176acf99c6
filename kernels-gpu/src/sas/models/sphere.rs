//! Spheres of one density.

use crate::model_values;
use crate::sas::functions::sphere_form;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the sphere";
    sld_solvent: Sld, "1e-6/Ang^2", 6.0, -INF => INF, "Scattering length density of the solvent";
    radius: Volume, "Ang", 50.0, 0.0 => INF, "Radius of the sphere";
    }
}

/// Spheres.
pub struct Sphere;

/// Radius, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    weight: R,
}

impl Model for Sphere {
    const INFO: Info = Info {
        name: "sphere",
        category: "shape:sphere",
        title: "Spheres of one scattering length density",
        formula: "F = (sld − sld_solvent) V f₃(q radius), f₃(x) = 3 (sin x − x cos x)/x³",
        source: "A. Guinier and G. Fournet, Small-Angle Scattering of X-Rays, Wiley 1955",
        parameters: TABLE,
        radius_modes: &["radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            radius: p.radius,
            weight: (p.sld - p.sld_solvent) * Self::volume(p).material,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.radius.cubed().times(4.0 / 3.0 * PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_amplitude(s.weight * sphere_form(wave.q * s.radius))
    }

    fn effective_radius(p: &Parameters<f64>, _mode: u32) -> f64 {
        p.radius
    }
}
