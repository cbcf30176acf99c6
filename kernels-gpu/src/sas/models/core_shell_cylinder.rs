//! Cylinders with a shell all around.

use crate::model_values;
use crate::sas::functions::{j1c, rod, sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    sld_core: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the core";
    sld_shell: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the shell";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    radius: Volume, "Ang", 20.0, 0.0 => INF, "Radius of the core";
    thickness: Volume, "Ang", 20.0, 0.0 => INF, "Thickness of the shell, at the ends too";
    length: Volume, "Ang", 400.0, 0.0 => INF, "Length of the core";
    }
    orientation {
    theta: 60.0, "Angle of the axis to the beam";
    phi: 60.0, "Rotation of the axis about the beam";
    }
}

/// Cylinders with a shell on their side and both ends.
pub struct CoreShellCylinder;

/// Radii and half lengths of the core and of the whole, and the step of density at each times the volume within.
#[derive(Clone, Copy)]
pub struct State<R> {
    core_radius: R,
    core_half_length: R,
    core_weight: R,
    radius: R,
    half_length: R,
    weight: R,
}

impl Model for CoreShellCylinder {
    const INFO: Info = Info {
        name: "core_shell_cylinder",
        category: "shape:cylinder",
        title: "Right circular cylinders of a core and a shell that covers the ends too",
        formula: "F(q, α) = (sld_core − sld_shell) Vc J(q radius sin α) s(q length/2 cos α) + (sld_shell − sld_solvent) V J(q (radius + thickness) sin α) s(q (length/2 + thickness) cos α), J(x) = 2 J₁(x)/x, s(x) = sin x/x",
        source: "I. Livsey, J. Chem. Soc., Faraday Trans. 2 83 (1987) 1445",
        parameters: TABLE,
        radius_modes: &["excluded volume", "equivalent volume sphere", "outer radius", "half outer length", "half min outer dimension", "half max outer dimension", "half outer diagonal"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Axial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            core_radius: p.radius,
            core_half_length: p.length.times(0.5),
            core_weight: (p.sld_core - p.sld_shell) * rod(p.radius, p.length),
            radius: p.radius + p.thickness,
            half_length: p.length.times(0.5) + p.thickness,
            weight: (p.sld_shell - p.sld_solvent) * Self::volume(p).material,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(rod(
            p.radius + p.thickness,
            p.length + p.thickness.times(2.0),
        ))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let core = s.core_weight
            * j1c(wave.across * s.core_radius)
            * sinc(wave.along * s.core_half_length);
        let whole =
            s.weight * j1c(wave.across * s.radius) * sinc(wave.along * s.half_length);
        Form::of_amplitude(core + whole)
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        crate::sas::radii::cylinder(p.radius + p.thickness, p.length + 2.0 * p.thickness, mode)
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        p.radius.max(0.5 * p.length) + p.thickness
    }
}
