//! Ellipsoids of three different radii.

use crate::model_values;
use crate::sas::functions::{hypot, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the ellipsoid";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    radius_equat_minor: Volume, "Ang", 20.0, 0.0 => INF, "Radius along a";
    radius_equat_major: Volume, "Ang", 400.0, 0.0 => INF, "Radius along b";
    radius_polar: Volume, "Ang", 10.0, 0.0 => INF, "Radius along c";
    }
    orientation {
    theta: 60.0, "Angle of the axis to the beam";
    phi: 60.0, "Rotation of the axis about the beam";
    psi: 60.0, "Rotation about the axis";
    }
}

/// Ellipsoids of three different radii.
pub struct TriaxialEllipsoid;

/// Radii, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    a: R,
    b: R,
    c: R,
    weight: R,
}

impl Model for TriaxialEllipsoid {
    const INFO: Info = Info {
        name: "triaxial_ellipsoid",
        category: "shape:ellipsoid",
        title: "Ellipsoids of three different radii, of one scattering length density",
        formula: "F(q) = (sld − sld_solvent) V f₃(√((qa radius_equat_minor)² + (qb radius_equat_major)² + (qc radius_polar)²)), f₃(x) = 3 (sin x − x cos x)/x³",
        source: "J. A. Finnigan and D. J. Jacobs, J. Phys. D 4 (1971) 72",
        parameters: TABLE,
        radius_modes: &["equivalent biaxial ellipsoid average curvature", "equivalent volume sphere", "min radius", "max radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Triaxial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            a: p.radius_equat_minor,
            b: p.radius_equat_major,
            c: p.radius_polar,
            weight: (p.sld - p.sld_solvent) * Self::volume(p).material,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let radii = p.radius_equat_minor * p.radius_equat_major * p.radius_polar;
        Volume::solid(radii.times(4.0 / 3.0 * PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let equatorial = hypot(wave.a * s.a, wave.b * s.b);
        let phase = hypot(equatorial, wave.c * s.c);
        Form::of_amplitude(s.weight * sphere_form(phase))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        let mut radii = [p.radius_equat_minor, p.radius_equat_major, p.radius_polar];
        radii.sort_unstable_by(f64::total_cmp);
        let [least, middle, greatest] = radii;
        match mode {
            // The spheroid whose equator joins the two radii that are closest.
            1 if greatest - middle > middle - least => {
                crate::sas::radii::spheroid(greatest, libm::sqrt(least * middle), 1)
            }
            1 => crate::sas::radii::spheroid(least, libm::sqrt(middle * greatest), 1),
            2 => libm::cbrt(least * middle * greatest),
            3 => least,
            _ => greatest,
        }
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        p.radius_equat_minor
            .max(p.radius_equat_major)
            .max(p.radius_polar)
    }
}
