//! Tubes.

use crate::model_values;
use crate::sas::functions::{j1c, rod, sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    radius: Volume, "Ang", 20.0, 0.0 => INF, "Radius of the bore, which holds solvent";
    thickness: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of the wall";
    length: Volume, "Ang", 400.0, 0.0 => INF, "Length of the tube";
    sld: Sld, "1e-6/Ang^2", 6.3, -INF => INF, "Scattering length density of the wall";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    }
    orientation {
    theta: 90.0, "Angle of the axis to the beam";
    phi: 0.0, "Rotation of the axis about the beam";
    }
}

/// Tubes, open at both ends.
pub struct HollowCylinder;

/// Both radii, half the length, and contrast times the volume within each radius.
#[derive(Clone, Copy)]
pub struct State<R> {
    bore_radius: R,
    radius: R,
    half_length: R,
    bore_weight: R,
    weight: R,
}

impl Model for HollowCylinder {
    const INFO: Info = Info {
        name: "hollow_cylinder",
        category: "shape:cylinder",
        title: "Tubes: hollow right circular cylinders, filled with solvent",
        formula: "F(q, α) = (sld − sld_solvent) [V J(q (radius + thickness) sin α) − Vc J(q radius sin α)] s(q length/2 cos α), over V − Vc, J(x) = 2 J₁(x)/x, s(x) = sin x/x",
        source: "L. A. Feigin and D. I. Svergun, Structure Analysis by Small-Angle X-Ray and Neutron Scattering, Plenum 1987",
        parameters: TABLE,
        radius_modes: &["excluded volume", "equivalent outer volume sphere", "outer radius", "half length", "half outer min dimension", "half outer max dimension", "half outer diagonal"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Axial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let contrast = p.sld - p.sld_solvent;
        let radius = p.radius + p.thickness;
        State {
            bore_radius: p.radius,
            radius,
            half_length: p.length.times(0.5),
            bore_weight: contrast * rod(p.radius, p.length),
            weight: contrast * rod(radius, p.length),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let outline = rod(p.radius + p.thickness, p.length);
        Volume {
            material: outline - rod(p.radius, p.length),
            outline,
        }
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let ring = s.weight * j1c(wave.across * s.radius)
            - s.bore_weight * j1c(wave.across * s.bore_radius);
        Form::of_amplitude(ring * sinc(wave.along * s.half_length))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        crate::sas::radii::cylinder(p.radius + p.thickness, p.length, mode)
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        (p.radius + p.thickness).max(0.5 * p.length)
    }
}
