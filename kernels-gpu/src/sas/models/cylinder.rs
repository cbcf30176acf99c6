//! Right circular cylinders.

use crate::model_values;
use crate::sas::functions::{j1c, sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the cylinder";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    radius: Volume, "Ang", 20.0, 0.0 => INF, "Radius of the cylinder";
    length: Volume, "Ang", 400.0, 0.0 => INF, "Length of the cylinder";
    }
    orientation {
    theta: 60.0, "Angle of the axis to the beam";
    phi: 60.0, "Rotation of the axis about the beam";
    }
}

/// Cylinders.
pub struct Cylinder;

/// Radius, half the length, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    half_length: R,
    weight: R,
}

impl Model for Cylinder {
    const INFO: Info = Info {
        name: "cylinder",
        category: "shape:cylinder",
        title: "Right circular cylinders of one scattering length density",
        formula: "F(q, α) = (sld − sld_solvent) V · 2 J₁(q radius sin α)/(q radius sin α) · sin(x)/x, x = q length/2 cos α",
        source: "J. S. Pedersen, Adv. Colloid Interface Sci. 70 (1997) 171",
        parameters: TABLE,
        radius_modes: &[
            "excluded volume",
            "equivalent volume sphere",
            "radius",
            "half length",
            "half min dimension",
            "half max dimension",
            "half diagonal",
        ],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Axial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            radius: p.radius,
            half_length: p.length.times(0.5),
            weight: (p.sld - p.sld_solvent) * Self::volume(p).material,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.radius.squared() * p.length.times(PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_amplitude(
            s.weight * j1c(wave.across * s.radius) * sinc(wave.along * s.half_length),
        )
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        crate::sas::radii::cylinder(p.radius, p.length, mode)
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        p.radius.max(0.5 * p.length)
    }
}
