//! Ellipsoids of revolution with a shell.

use crate::model_values;
use crate::sas::functions::{hypot, sphere_form, spheroid};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    radius_equat_core: Volume, "Ang", 20.0, 0.0 => INF, "Equatorial radius of the core";
    x_core: Volume, "", 3.0, 0.0 => INF, "Polar over equatorial radius of the core";
    thick_shell: Volume, "Ang", 30.0, 0.0 => INF, "Thickness of the shell at the equator";
    x_polar_shell: Volume, "", 1.0, 0.0 => INF, "Thickness of the shell at the poles over that at the equator";
    sld_core: Sld, "1e-6/Ang^2", 2.0, -INF => INF, "Scattering length density of the core";
    sld_shell: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the shell";
    sld_solvent: Sld, "1e-6/Ang^2", 6.3, -INF => INF, "Scattering length density of the solvent";
    }
    orientation {
    theta: 0.0, "Angle of the axis to the beam";
    phi: 0.0, "Rotation of the axis about the beam";
    }
}

/// Ellipsoids of revolution with a shell.
pub struct CoreShellEllipsoid;

/// Radii of the core and of the whole, and the step of density at each times the volume within.
#[derive(Clone, Copy)]
pub struct State<R> {
    core_polar: R,
    core_equatorial: R,
    core_weight: R,
    polar: R,
    equatorial: R,
    weight: R,
}

/// Polar and equatorial radius of the whole.
#[inline(always)]
fn outer<R: Real>(p: &Parameters<R>) -> (R, R) {
    (
        p.radius_equat_core
            .mul_add(p.x_core, p.thick_shell * p.x_polar_shell),
        p.radius_equat_core + p.thick_shell,
    )
}

impl Model for CoreShellEllipsoid {
    const INFO: Info = Info {
        name: "core_shell_ellipsoid",
        category: "shape:ellipsoid",
        title: "Ellipsoids of revolution of a core and a shell",
        formula: "F(q, α) = (sld_core − sld_shell) Vc f₃(q rc) + (sld_shell − sld_solvent) V f₃(q r), r² = equatorial² sin² α + polar² cos² α of each, polar = radius_equat_core x_core + thick_shell x_polar_shell, f₃(x) = 3 (sin x − x cos x)/x³",
        source: "M. Kotlarchyk and S.-H. Chen, J. Chem. Phys. 79 (1983) 2461",
        parameters: TABLE,
        radius_modes: &["average outer curvature", "equivalent volume sphere", "min outer radius", "max outer radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Axial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let (polar, equatorial) = outer(p);
        let core_polar = p.radius_equat_core * p.x_core;
        State {
            core_polar,
            core_equatorial: p.radius_equat_core,
            core_weight: (p.sld_core - p.sld_shell) * spheroid(core_polar, p.radius_equat_core),
            polar,
            equatorial,
            weight: (p.sld_shell - p.sld_solvent) * spheroid(polar, equatorial),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let (polar, equatorial) = outer(p);
        Volume::solid(spheroid(polar, equatorial))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let core = hypot(wave.across * s.core_equatorial, wave.along * s.core_polar);
        let whole = hypot(wave.across * s.equatorial, wave.along * s.polar);
        Form::of_amplitude(s.core_weight * sphere_form(core) + s.weight * sphere_form(whole))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        let (polar, equatorial) = outer(p);
        crate::sas::radii::spheroid(polar, equatorial, mode)
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        let (polar, equatorial) = outer(p);
        polar.max(equatorial)
    }
}
