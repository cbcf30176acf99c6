//! Spheres with a shell.

use crate::model_values;
use crate::sas::functions::{ball, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    radius: Volume, "Ang", 60.0, 0.0 => INF, "Radius of the core";
    thickness: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of the shell";
    sld_core: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the core";
    sld_shell: Sld, "1e-6/Ang^2", 2.0, -INF => INF, "Scattering length density of the shell";
    sld_solvent: Sld, "1e-6/Ang^2", 3.0, -INF => INF, "Scattering length density of the solvent";
    }
}

/// Spheres with a shell.
pub struct CoreShellSphere;

/// Both radii, and the step of density at each times the volume within.
#[derive(Clone, Copy)]
pub struct State<R> {
    core_radius: R,
    radius: R,
    core_weight: R,
    weight: R,
}

impl Model for CoreShellSphere {
    const INFO: Info = Info {
        name: "core_shell_sphere",
        category: "shape:sphere",
        title: "Spheres of a core and a shell",
        formula: "F = (sld_core − sld_shell) Vc f₃(q radius) + (sld_shell − sld_solvent) V f₃(q (radius + thickness)), f₃(x) = 3 (sin x − x cos x)/x³",
        source: "A. Guinier and G. Fournet, Small-Angle Scattering of X-Rays, Wiley 1955",
        parameters: TABLE,
        radius_modes: &["outer radius", "core radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let radius = p.radius + p.thickness;
        State {
            core_radius: p.radius,
            radius,
            core_weight: (p.sld_core - p.sld_shell) * ball(p.radius),
            weight: (p.sld_shell - p.sld_solvent) * ball(radius),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(ball(p.radius + p.thickness))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let core = s.core_weight * sphere_form(wave.q * s.core_radius);
        Form::of_amplitude(sphere_form(wave.q * s.radius).mul_add(s.weight, core))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        match mode {
            1 => p.radius + p.thickness,
            _ => p.radius,
        }
    }
}
