//! Spheres on a simple cubic lattice with paracrystalline distortion.

use crate::model_values;
use crate::sas::functions::{sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    dnn: Plain, "Ang", 220.0, 0.0 => INF, "Distance of nearest neighbours";
    d_factor: Plain, "", 0.06, -INF => INF, "Paracrystalline distortion over the distance of neighbours";
    radius: Volume, "Ang", 40.0, 0.0 => INF, "Radius of the spheres";
    sld: Sld, "1e-6/Ang^2", 3.0, 0.0 => INF, "Scattering length density of the spheres";
    sld_solvent: Sld, "1e-6/Ang^2", 6.3, 0.0 => INF, "Scattering length density of the solvent";
    }
    orientation {
    theta: 0.0, "Angle of the axis c to the beam";
    phi: 0.0, "Rotation of the axis c about the beam";
    psi: 0.0, "Rotation about the axis c";
    }
}

/// 1 − e^−t.
#[inline(always)]
pub(super) fn fall<R: Real>(t: R) -> R {
    R::choose(
        t.less(R::of(0.25)),
        || {
            let mut sum = R::one();
            for k in (2..12_u32).rev() {
                sum = (sum * t).times(-1.0 / f64::from(k)).plus(1.0);
            }
            sum * t
        },
        || R::one() - (-t).exp(),
    )
}

/// Π (1 − F²)/(1 − 2F cos φᵢ + F²) with F = 1 − `fall`, from the sines of φᵢ/2; 0 for a perfect crystal.
#[inline(always)]
pub(super) fn distorted<R: Real>(fall: R, first: R, second: R, third: R) -> R {
    let above = fall * (R::of(2.0) - fall);
    let below = fall.squared();
    let waves = (R::one() - fall).times(4.0);
    let factor = |sin: R| above / waves.mul_add(sin.squared(), below).max(R::of(1e-37));
    factor(first) * factor(second) * factor(third)
}

/// Half of the distance over which the lattice remembers itself, which is what an orientation average must resolve:
/// at the first peaks about 1/d_factor² neighbours.
pub(super) fn largest_half_size(dnn: f64, d_factor: f64) -> f64 {
    dnn * (0.25 / (d_factor * d_factor)).clamp(2.0, 100.0)
}

/// Spheres on a simple cubic lattice with paracrystalline distortion.
pub struct ScParacrystal;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    weight: R,
    half: R,
    spread: R,
}

impl Model for ScParacrystal {
    const INFO: Info = Info {
        name: "sc_paracrystal",
        category: "shape:paracrystal",
        title: "Spheres on a distorted simple cubic lattice",
        formula: "I = φ V Δ² f₃(q radius)² Π Zᵢ, Zᵢ = (1 − F²)/(1 − 2F cos(qᵢ dnn) + F²), F = exp(−(q dnn d_factor)²/2), φ = V/dnn³",
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
        let filled = volume / p.dnn.cubed().times(1.0);
        State {
            radius: p.radius,
            weight: filled * ((p.sld - p.sld_solvent) * volume).squared().times(1e-4),
            half: p.dnn.times(0.5),
            spread: (p.dnn * p.d_factor).squared().times(0.5),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.radius.cubed().times(4.0 / 3.0 * PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let fall = fall(wave.q.squared() * s.spread);
        let lattice = distorted(
            fall,
            (wave.a * s.half).sin(),
            (wave.b * s.half).sin(),
            (wave.c * s.half).sin(),
        );
        Form::of_intensity(s.weight * sphere_form(wave.q * s.radius).squared() * lattice)
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        largest_half_size(p.dnn, p.d_factor)
    }
}
