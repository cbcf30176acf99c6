//! Sticky hard spheres: a narrow square well, to first order in its width.

use crate::model_values;
use crate::sas::functions::{Core, factor};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    radius_effective: Volume, "Ang", 50.0, 0.0 => INF, "Radius of the spheres";
    volfraction: Plain, "", 0.2, 0.0 => 0.74, "Volume fraction of the spheres";
    perturb: Plain, "", 0.05, 0.01 => 0.1, "Width of the well over the distance of its outer edge";
    stickiness: Plain, "", 0.2, -INF => INF, "exp(−depth/kT)/(12 perturb): less is stickier";
    }
}

/// The structure factor of sticky hard spheres.
pub struct StickyHardSphere;

/// Radius of the well's outer edge, Baxter's function, and less than 0 where there is no solution.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    core: Core<R>,
    solved: R,
}

impl Model for StickyHardSphere {
    const INFO: Info = Info {
        name: "stickyhardsphere",
        category: "structure-factor",
        title: "Hard spheres with a narrow attractive well, Percus–Yevick closure",
        formula: "1/S = |1 − 12η ∫₀¹ Q(r) exp(2iq R r) dr|², R = radius_effective/(1 − perturb), η = volfraction/(1 − perturb)³, Q = a (r² − 1)/2 + b (r − 1) + λ/12, η λ²/12 − (stickiness + η/(1 − η)) λ + (1 + η/2)/(1 − η)² = 0, a = (1 + 2η − μ)/(1 − η)², b = (μ − 3η)/(2 (1 − η)²), μ = λ η (1 − η); −1 where λ is not real or μ > 1 + 2η",
        source: "S. V. G. Menon, C. Manohar and K. S. Rao, J. Chem. Phys. 95 (1991) 9186; R. J. Baxter, J. Chem. Phys. 49 (1968) 2770",
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
        let inner = R::one() - p.perturb;
        let eta = p.volfraction / inner.cubed();
        let free = R::one() - eta;
        // The lesser root, without the difference that would cancel.
        let half = (p.stickiness + eta / free).times(0.5);
        let constant = eta.mul_add(R::of(0.5), R::one()) / free.squared();
        let discriminant = half.squared() - eta.times(1.0 / 12.0) * constant;
        let lambda = constant / (half + discriminant.max(R::zero()).sqrt());
        let mu = lambda * eta * free;
        let most = eta.mul_add(R::of(2.0), R::one());
        let a = (most - mu) / free.squared();
        let b = (mu - eta.times(3.0)).times(0.5) / free.squared();
        State {
            radius: p.radius_effective / inner,
            core: Core::of(eta, a, b, lambda.times(1.0 / 12.0)),
            solved: discriminant.min(most - mu),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let (_, _, real, imaginary) = factor(wave.q * s.radius, &s.core);
        Form::of_intensity(R::choose(
            s.solved.less(R::zero()),
            #[inline(always)]
            || R::of(-1.0),
            #[inline(always)]
            || R::one() / real.mul_add(real, imaginary.squared()),
        ))
    }
}
