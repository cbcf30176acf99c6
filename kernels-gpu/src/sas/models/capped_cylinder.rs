//! Cylinders with rounded ends.

use crate::model_values;
use crate::sas::functions::{Caps, cap, j1c, rod, sinc, two_caps};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the cylinder";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    radius: Volume, "Ang", 20.0, 0.0 => INF, "Radius of the cylinder";
    radius_cap: Volume, "Ang", 20.0, 0.0 => INF, "Radius of the caps, not below that of the cylinder";
    length: Volume, "Ang", 400.0, 0.0 => INF, "Length of the cylinder without its caps";
    }
    orientation {
    theta: 60.0, "Angle of the axis to the beam";
    phi: 60.0, "Rotation of the axis about the beam";
    }
}

/// Cylinders with spherical caps whose centres lie inside.
pub struct CappedCylinder;

/// Half the length, radius, the caps, contrast times volume of the cylinder, and contrast.
#[derive(Clone, Copy)]
pub struct State<R> {
    half_length: R,
    radius: R,
    caps: Caps<R>,
    weight: R,
    contrast: R,
}

/// Height of a cap: r²/(R + √(R² − r²)), which is R − √(R² − r²) without its cancellation.
#[inline(always)]
fn height<R: Real>(p: &Parameters<R>) -> R {
    let widest = p.radius.min(p.radius_cap);
    let inside = (p.radius_cap.squared() - widest.squared()).sqrt();
    // A tiny term keeps 0/0 away.
    widest.squared() / (p.radius_cap + inside).max(R::of(1e-30))
}

impl Model for CappedCylinder {
    const INFO: Info = Info {
        name: "capped_cylinder",
        category: "shape:cylinder",
        title: "Right circular cylinders with spherical caps of a radius greater than theirs",
        formula: "F(q, α) = (sld − sld_solvent) {π r² L J(q r sin α) s(q L/2 cos α) + 2π ∫ cos(q cos α (L/2 + z)) ρ² J(q ρ sin α) dz}, z from 0 to H, ρ² = R² − (z − h)², h = −√(R² − r²), H = R + h, r = radius, R = radius_cap, L = length, J(x) = 2 J₁(x)/x, s(x) = sin x/x",
        source: "H. Kaya, J. Appl. Cryst. 37 (2004) 223; H. Kaya and N.-R. de Souza, ibid. 508",
        parameters: TABLE,
        radius_modes: &["equivalent cylinder excluded volume", "equivalent volume sphere", "radius", "half length", "half total length"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Axial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let contrast = p.sld - p.sld_solvent;
        State {
            half_length: p.length.times(0.5),
            radius: p.radius,
            caps: Caps {
                base: p.length.times(0.5),
                height: height(p),
                radius: p.radius_cap,
            },
            weight: contrast * rod(p.radius, p.length),
            contrast,
        }
    }

    #[inline(always)]
    fn valid<R: Real>(p: &Parameters<R>) -> bool {
        p.radius_cap.first() >= p.radius.first()
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(rod(p.radius, p.length) + cap(height(p), p.radius_cap).times(2.0))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let cylinder =
            s.weight * j1c(wave.across * s.radius) * sinc(wave.along * s.half_length);
        let caps = two_caps(wave.across, wave.along, wave.q, &s.caps);
        Form::of_amplitude(caps.mul_add(s.contrast, cylinder))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        use crate::sas::radii::{cylinder_excluded_volume, of_volume};
        let half_total = 0.5 * p.length + height(p);
        match mode {
            1 => cylinder_excluded_volume(p.radius, 2.0 * half_total),
            2 => of_volume(Self::volume(p).outline),
            3 => p.radius,
            4 => 0.5 * p.length,
            _ => half_total,
        }
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        (0.5 * p.length + height(p)).max(p.radius)
    }
}
