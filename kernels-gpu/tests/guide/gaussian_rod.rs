//! Rods whose density falls off across them as a Gaussian.

use crate::model_values;
use crate::sas::functions::sinc;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density on the axis";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    width: Volume, "Ang", 10.0, 0.0 => INF, "Standard deviation of the cross section's Gaussian";
    length: Volume, "Ang", 400.0, 0.0 => INF, "Length of the rod";
    }
    orientation {
    theta: 60.0, "Angle of the axis to the beam";
    phi: 60.0, "Rotation of the axis about the beam";
    }
}

/// Rods with a Gaussian cross section.
pub struct GaussianRod;

/// Width, half the length, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    width: R,
    half_length: R,
    weight: R,
}

impl Model for GaussianRod {
    const INFO: Info = Info {
        name: "gaussian_rod",
        category: "shape:cylinder",
        title: "Rods with a Gaussian cross section",
        formula: "F(q, α) = (sld − sld_solvent) V · sin(x)/x · exp(−(q width sin α)²/2), x = q length/2 cos α, V = 2π width² length",
        source: "Fourier transform of exp(−r²/(2 width²)) between two planes",
        parameters: TABLE,
        radius_modes: &["half length"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Axial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            width: p.width,
            half_length: p.length.times(0.5),
            weight: (p.sld - p.sld_solvent) * Self::volume(p).material,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.width.squared() * p.length.times(2.0 * PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let across = (wave.across * s.width).squared().times(-0.5).exp();
        Form::of_amplitude(s.weight * sinc(wave.along * s.half_length) * across)
    }

    fn effective_radius(p: &Parameters<f64>, _mode: u32) -> f64 {
        0.5 * p.length
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        0.5 * p.length
    }
}
