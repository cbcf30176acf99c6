//! Hollow spheres filled with solvent.

use crate::model_values;
use crate::sas::functions::{ball, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 0.5, -INF => INF, "Scattering length density of the shell";
    sld_solvent: Sld, "1e-6/Ang^2", 6.36, -INF => INF, "Scattering length density of the solvent";
    volfraction: Plain, "", 0.05, 0.0 => 1.0, "Volume fraction of the shells";
    radius: Volume, "Ang", 100.0, 0.0 => INF, "Radius of the core, which holds solvent";
    thickness: Volume, "Ang", 30.0, 0.0 => INF, "Thickness of the shell";
    }
}

/// Unilamellar vesicles.
pub struct Vesicle;

/// Both radii, and contrast times the volume within each. The volume fraction is in the contrast, by its root.
#[derive(Clone, Copy)]
pub struct State<R> {
    core_radius: R,
    radius: R,
    core_weight: R,
    weight: R,
}

impl Model for Vesicle {
    const INFO: Info = Info {
        name: "vesicle",
        category: "shape:sphere",
        title: "Vesicles: hollow spheres filled with solvent",
        formula: "F = √volfraction (sld − sld_solvent) [V f₃(q (radius + thickness)) − Vc f₃(q radius)], over V − Vc, f₃(x) = 3 (sin x − x cos x)/x³",
        source: "A. Guinier and G. Fournet, Small-Angle Scattering of X-Rays, Wiley 1955",
        parameters: TABLE,
        radius_modes: &["outer radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let radius = p.radius + p.thickness;
        let contrast = (p.sld - p.sld_solvent) * p.volfraction.sqrt();
        State {
            core_radius: p.radius,
            radius,
            core_weight: contrast * ball(p.radius),
            weight: contrast * ball(radius),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let outline = ball(p.radius + p.thickness);
        Volume {
            material: outline - ball(p.radius),
            outline,
        }
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let core = s.core_weight * sphere_form(wave.q * s.core_radius);
        Form::of_amplitude(s.weight * sphere_form(wave.q * s.radius) - core)
    }

    fn effective_radius(p: &Parameters<f64>, _mode: u32) -> f64 {
        p.radius + p.thickness
    }
}
