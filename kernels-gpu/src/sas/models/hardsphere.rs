//! Hard spheres in the Percus–Yevick closure.

use crate::model_values;
use crate::sas::functions::{Core, factor};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    radius_effective: Volume, "Ang", 50.0, 0.0 => INF, "Radius of the spheres";
    volfraction: Plain, "", 0.2, 0.0 => 0.74, "Volume fraction of the spheres";
    }
}

/// The structure factor of hard spheres.
pub struct HardSphere;

/// Radius and Baxter's function.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    core: Core<R>,
}

impl Model for HardSphere {
    const INFO: Info = Info {
        name: "hardsphere",
        category: "structure-factor",
        title: "Hard spheres, Percus–Yevick closure",
        formula: "1/S = |1 − 12φ ∫₀¹ Q(r) exp(2iq radius_effective r) dr|², Q = a (r² − 1)/2 + b (r − 1), a = (1 + 2φ)/(1 − φ)², b = −3φ/(2 (1 − φ)²)",
        source: "J. K. Percus and G. J. Yevick, Phys. Rev. 110 (1958) 1; R. J. Baxter, Aust. J. Phys. 21 (1968) 563",
        parameters: TABLE,
        radius_modes: &[],
        background: 0.0,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let phi = p.volfraction;
        let free = (R::one() - phi).squared();
        let a = phi.mul_add(R::of(2.0), R::one()) / free;
        let b = phi.times(-1.5) / free;
        State {
            radius: p.radius_effective,
            core: Core::of(phi, a, b, R::zero()),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let (_, _, real, imaginary) = factor(wave.q * s.radius, &s.core);
        Form::of_intensity(R::one() / real.mul_add(real, imaginary.squared()))
    }
}
