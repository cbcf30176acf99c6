//! Spheres on a face-centred cubic lattice with paracrystalline distortion.
//!
//! The formula takes three of the lattice's six bond directions as basis vectors, a choice without the lattice's
//! mirrors. Here the intensity is the mean over the four choices that the mirrors give, so that it is even in each
//! component of the wave vector. An orientation average does not change by it; an oriented crystal's pattern
//! becomes the mean of the four patterns.

use crate::model_values;
use super::sc_paracrystal::{distorted, fall, largest_half_size};
use crate::sas::functions::{sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::{FRAC_1_SQRT_2, PI};

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

/// Spheres on a face-centred cubic lattice with paracrystalline distortion.
pub struct FccParacrystal;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    weight: R,
    half: R,
    spread: R,
}

impl Model for FccParacrystal {
    const INFO: Info = Info {
        name: "fcc_paracrystal",
        category: "shape:paracrystal",
        title: "Spheres on a distorted face-centred cubic lattice",
        formula: "I = φ V Δ² f₃(q radius)² ⟨Π (1 − F²)/(1 − 2F cos(uᵢ dnn/√2) + F²)⟩, F = exp(−(dnn d_factor)² Σ uᵢ²/8), u = (qb + qc, qa + qc, qa + qb), φ = V/(dnn³/√2); ⟨⟩ over the mirror images",
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
        let filled = volume / p.dnn.cubed().times(FRAC_1_SQRT_2);
        State {
            radius: p.radius,
            weight: filled * ((p.sld - p.sld_solvent) * volume).squared().times(1e-4),
            half: p.dnn.times(0.5 * FRAC_1_SQRT_2),
            spread: (p.dnn * p.d_factor).squared().times(0.125),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.radius.cubed().times(4.0 / 3.0 * PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let (sin_a, cos_a) = (wave.a * s.half).sin_cos();
        let (sin_b, cos_b) = (wave.b * s.half).sin_cos();
        let (sin_c, cos_c) = (wave.c * s.half).sin_cos();
        // Sines of half the phases along the six bonds b ± c, c ± a, a ± b.
        let bc = (sin_b * cos_c, cos_b * sin_c);
        let ca = (sin_c * cos_a, cos_c * sin_a);
        let ab = (sin_a * cos_b, cos_a * sin_b);
        let sum = wave.q.squared().times(2.0);
        let (x, y, z) = (
            (wave.b * wave.c).times(2.0),
            (wave.c * wave.a).times(2.0),
            (wave.a * wave.b).times(2.0),
        );
        let spread = |mixed: R| fall((sum + mixed) * s.spread);
        let lattice = distorted(
            spread(x + y + z),
            bc.0 + bc.1,
            ca.0 + ca.1,
            ab.0 + ab.1,
        ) + distorted(
            spread(x - y - z),
            bc.0 + bc.1,
            ca.0 - ca.1,
            ab.0 - ab.1,
        ) + distorted(
            spread(y - x - z),
            bc.0 - bc.1,
            ca.0 + ca.1,
            ab.0 - ab.1,
        ) + distorted(
            spread(z - x - y),
            bc.0 - bc.1,
            ca.0 - ca.1,
            ab.0 + ab.1,
        );
        let form = sphere_form(wave.q * s.radius).squared();
        Form::of_intensity(s.weight * form * lattice.times(0.25))
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        largest_half_size(p.dnn, p.d_factor)
    }
}
