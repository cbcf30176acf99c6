//! Spheres on a body-centred cubic lattice with paracrystalline distortion.
//!
//! The formula takes three of the lattice's four bond directions as basis vectors, a choice without the lattice's
//! mirrors. Here the intensity is the mean over the four choices that the mirrors give, so that it is even in each
//! component of the wave vector. An orientation average does not change by it; an oriented crystal's pattern
//! becomes the mean of the four patterns.

use crate::model_values;
use super::sc_paracrystal::{distorted, fall, largest_half_size};
use crate::sas::functions::{sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    dnn: Plain, "Ang", 220.0, -INF => INF, "Distance of nearest neighbours";
    d_factor: Plain, "", 0.06, -INF => INF, "Paracrystalline distortion over the distance of neighbours";
    radius: Volume, "Ang", 40.0, 0.0 => INF, "Radius of the spheres";
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the spheres";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    }
    orientation {
    theta: 60.0, "Angle of the axis c to the beam";
    phi: 60.0, "Rotation of the axis c about the beam";
    psi: 60.0, "Rotation about the axis c";
    }
}

/// √3.
const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// Spheres on a body-centred cubic lattice with paracrystalline distortion.
pub struct BccParacrystal;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    weight: R,
    half: R,
    spread: R,
}

impl Model for BccParacrystal {
    const INFO: Info = Info {
        name: "bcc_paracrystal",
        category: "shape:paracrystal",
        title: "Spheres on a distorted body-centred cubic lattice",
        formula: "I = φ V Δ² f₃(q radius)² ⟨Π (1 − F²)/(1 − 2F cos(uᵢ dnn/√3) + F²)⟩, F = exp(−(dnn d_factor)² Σ uᵢ²/8), u = (−qa + qb + qc, qa − qb + qc, qa + qb − qc), φ = V/(4 dnn³/(3√3)); ⟨⟩ over the mirror images",
        source: "H. Matsuoka et al., Phys. Rev. B 36 (1987) 1754 and 41 (1990) 3854",
        parameters: TABLE,
        radius_modes: &[],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Triaxial;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let volume = Self::volume(p).material;
        // Of the crystal's volume the spheres take this part.
        let filled = volume / p.dnn.cubed().times(4.0 / (3.0 * SQRT_3));
        State {
            radius: p.radius,
            weight: filled * ((p.sld - p.sld_solvent) * volume).squared().times(1e-4),
            half: p.dnn.times(0.5 / SQRT_3),
            spread: (p.dnn * p.d_factor).squared().times(0.125),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.radius.cubed().times(4.0 / 3.0 * PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        // Halves of the phases along the four diagonals: h0 = a + b + c, and with one sign changed each.
        let (sin_a, cos_a) = (wave.a * s.half).sin_cos();
        let (sin_b, cos_b) = (wave.b * s.half).sin_cos();
        let (sin_c, cos_c) = (wave.c * s.half).sin_cos();
        let in_a = sin_a * cos_b * cos_c;
        let in_b = cos_a * sin_b * cos_c;
        let in_c = cos_a * cos_b * sin_c;
        let in_all = sin_a * sin_b * sin_c;
        let h0 = in_a + in_b + in_c - in_all;
        let ha = in_b + in_c - in_a + in_all;
        let hb = in_a + in_c - in_b + in_all;
        let hc = in_a + in_b - in_c + in_all;
        // The squares of all four diagonals add up to 4 q²: each choice lacks one.
        let sum = wave.q.squared().times(4.0);
        let without = |u: R| fall((sum - u.squared()) * s.spread);
        let lattice = distorted(without(wave.a + wave.b + wave.c), ha, hb, hc)
            + distorted(without(wave.b + wave.c - wave.a), h0, hb, hc)
            + distorted(without(wave.a + wave.c - wave.b), h0, ha, hc)
            + distorted(without(wave.a + wave.b - wave.c), h0, ha, hb);
        let form = sphere_form(wave.q * s.radius).squared();
        Form::of_intensity(s.weight * form * lattice.times(0.25))
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        largest_half_size(p.dnn, p.d_factor)
    }
}
