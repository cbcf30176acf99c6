//! Cylinders of elliptical cross-section.

use crate::model_values;
use crate::sas::functions::{hypot, j1c, rod, sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    radius_minor: Volume, "Ang", 20.0, 0.0 => INF, "Minor radius of the cross-section";
    axis_ratio: Volume, "", 1.5, 1.0 => INF, "Major over minor radius";
    length: Volume, "Ang", 400.0, 1.0 => INF, "Length of the cylinder";
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the cylinder";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    }
    orientation {
    theta: 90.0, "Angle of the axis to the beam";
    phi: 0.0, "Rotation of the axis about the beam";
    psi: 0.0, "Rotation about the axis";
    }
}

/// Cylinders of elliptical cross-section: the minor axis is a, the major axis b.
pub struct EllipticalCylinder;

/// Both radii, half the length, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    minor: R,
    major: R,
    half_length: R,
    weight: R,
}

impl Model for EllipticalCylinder {
    const INFO: Info = Info {
        name: "elliptical_cylinder",
        category: "shape:cylinder",
        title: "Cylinders of elliptical cross-section of one scattering length density",
        formula: "F(q) = (sld − sld_solvent) V J(√((qa radius_minor)² + (qb radius_minor axis_ratio)²)) s(qc length/2), J(x) = 2 J₁(x)/x, s(x) = sin x/x",
        source: "L. A. Feigin and D. I. Svergun, Structure Analysis by Small-Angle X-Ray and Neutron Scattering, Plenum 1987, table 3.4",
        parameters: TABLE,
        radius_modes: &["equivalent cylinder excluded volume", "equivalent volume sphere", "average radius", "min radius", "max radius", "equivalent circular cross-section", "half length", "half min dimension", "half max dimension", "half diagonal"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Triaxial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            minor: p.radius_minor,
            major: p.radius_minor * p.axis_ratio,
            half_length: p.length.times(0.5),
            weight: (p.sld - p.sld_solvent) * Self::volume(p).material,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(rod(p.radius_minor, p.length) * p.axis_ratio)
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let across = hypot(wave.a * s.minor, wave.b * s.major);
        Form::of_amplitude(s.weight * j1c(across) * sinc(wave.c * s.half_length))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        use crate::sas::radii::{cylinder_excluded_volume, of_volume};
        let major = p.radius_minor * p.axis_ratio;
        let (least, greatest) = (p.radius_minor.min(major), p.radius_minor.max(major));
        let circular = p.radius_minor * libm::sqrt(p.axis_ratio);
        let half_length = 0.5 * p.length;
        match mode {
            1 => cylinder_excluded_volume(circular, p.length),
            2 => of_volume(Self::volume(p).outline),
            3 => 0.5 * (p.radius_minor + major),
            4 => least,
            5 => greatest,
            6 => circular,
            7 => half_length,
            8 => least.min(half_length),
            9 => greatest.max(half_length),
            _ => libm::hypot(greatest, half_length),
        }
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        let radius = p.radius_minor.max(p.radius_minor * p.axis_ratio);
        radius.max(0.5 * p.length)
    }
}
