//! Ellipsoids of revolution.

use crate::model_values;
use crate::sas::functions::{hypot, sphere_form, spheroid};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the ellipsoid";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    radius_polar: Volume, "Ang", 20.0, 0.0 => INF, "Radius along the axis of revolution";
    radius_equatorial: Volume, "Ang", 400.0, 0.0 => INF, "Radius across it";
    }
    orientation {
    theta: 60.0, "Angle of the axis to the beam";
    phi: 60.0, "Rotation of the axis about the beam";
    }
}

/// Ellipsoids of revolution.
pub struct Ellipsoid;

/// Radii, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    polar: R,
    equatorial: R,
    weight: R,
}

impl Model for Ellipsoid {
    const INFO: Info = Info {
        name: "ellipsoid",
        category: "shape:ellipsoid",
        title: "Ellipsoids of revolution of one scattering length density",
        formula: "F(q, α) = (sld − sld_solvent) V f₃(q r), r² = radius_equatorial² sin² α + radius_polar² cos² α, f₃(x) = 3 (sin x − x cos x)/x³",
        source: "L. A. Feigin and D. I. Svergun, Structure Analysis by Small-Angle X-Ray and Neutron Scattering, Plenum 1987",
        parameters: TABLE,
        radius_modes: &["average curvature", "equivalent volume sphere", "min radius", "max radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Axial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            polar: p.radius_polar,
            equatorial: p.radius_equatorial,
            weight: (p.sld - p.sld_solvent) * spheroid(p.radius_polar, p.radius_equatorial),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(spheroid(p.radius_polar, p.radius_equatorial))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let phase = hypot(wave.across * s.equatorial, wave.along * s.polar);
        Form::of_amplitude(s.weight * sphere_form(phase))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        crate::sas::radii::spheroid(p.radius_polar, p.radius_equatorial, mode)
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        p.radius_polar.max(p.radius_equatorial)
    }
}
