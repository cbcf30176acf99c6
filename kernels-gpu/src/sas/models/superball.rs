//! Superballs: |x|²ᵖ + |y|²ᵖ + |z|²ᵖ ≤ (length_a/2)²ᵖ, from octahedra over spheres to cubes.

use crate::model_values;
use crate::sas::quadrature::RULE_20;
use crate::sas::radii;
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the particle";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    length_a: Volume, "Ang", 50.0, 0.0 => INF, "Edge: the diameter along an axis";
    exponent_p: Volume, "", 2.5, 0.0 => INF, "p: 1/2 an octahedron, 1 a sphere, ∞ a cube";
    }
    orientation {
    theta: 0.0, "Angle of the axis c to the beam";
    phi: 0.0, "Rotation of the axis c about the beam";
    psi: 0.0, "Rotation about the axis c";
    }
}

/// Share of the body in its cube: Γ(1 + 1/2p)³/Γ(1 + 3/2p) (Dirichlet).
fn octant(p: f64) -> f64 {
    let e = 0.5 / p;
    libm::exp(3.0 * libm::lgamma(1.0 + e) - libm::lgamma(1.0 + 3.0 * e))
}

/// 4 ∫ s² cos(x s) cos(y s) cos(z s) ds over 0 … 1, for waves scaled by `reach`: of the cone to a patch.
#[inline(always)]
fn cone<R: Real>(x: R, y: R, z: R, reach: R) -> R {
    let (sum, difference) = (x + y, x - y);
    ray((sum + z) * reach)
        + ray((sum - z) * reach)
        + ray((difference + z) * reach)
        + ray((difference - z) * reach)
}

/// ∫ s² cos(x s) ds over 0 … 1.
#[inline(always)]
fn ray<R: Real>(x: R) -> R {
    let z = x.squared();
    R::choose(
        z.less(R::of(0.5)),
        || {
            // Σ (−x²)ᵏ/((2k)! (2k + 3)).
            let mut sum = R::zero();
            for k in (0..8_u32).rev() {
                let mut factorial = 1.0;
                for i in 2..=2 * k {
                    factorial *= f64::from(i);
                }
                let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
                sum = sum.mul_add(z, R::of(sign / (factorial * f64::from(2 * k + 3))));
            }
            sum
        },
        || {
            let (sin, cos) = x.sin_cos();
            let over = R::one() / x;
            (sin + (cos - sin * over).times(2.0) * over) * over
        },
    )
}

/// Superballs: |x|²ᵖ + |y|²ᵖ + |z|²ᵖ ≤ (length_a/2)²ᵖ, from octahedra over spheres to cubes.
pub struct Superball;

/// Half edge, exponents 2p and −1/2p, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    power: R,
    root: R,
    weight: R,
}

impl Model for Superball {
    const INFO: Info = Info {
        name: "superball",
        category: "shape:sphere",
        title: "Superballs: cubes with rounded edges",
        formula: "F = (sld − sld_solvent) ∫ cos(qa x) cos(qb y) cos(qc z) dV over |x|²ᵖ + |y|²ᵖ + |z|²ᵖ ≤ (length_a/2)²ᵖ",
        source: "D. Dresen et al., J. Phys. Chem. C 125 (2021) 23356",
        parameters: TABLE,
        radius_modes: &["radius of gyration", "equivalent volume sphere", "half length_a"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Triaxial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let radius = p.length_a.times(0.5);
        State {
            radius,
            power: p.exponent_p.times(2.0),
            root: R::of(-0.5) / p.exponent_p,
            weight: (p.sld - p.sld_solvent) * radius.cubed().times(2.0),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let share = p.exponent_p.map(octant);
        Volume::solid(p.length_a.cubed() * share)
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let (a, b, c) = (wave.a * s.radius, wave.b * s.radius, wave.c * s.radius);
        // 1e-7 of F(0) up to q length_a = 100, 1e-4 at 150.
        let sum = RULE_20.integrate(|u: R| {
            let outer = u.powf(s.power).plus(1.0);
            let (au, bu, cu) = (a * u, b * u, c * u);
            RULE_20.integrate(|v: R| {
                // The ray through (u, v, 1) leaves the body at this multiple of it.
                let reach = (outer + v.powf(s.power)).powf(s.root);
                let faces = cone(au, b * v, c, reach)
                    + cone(bu, c * v, a, reach)
                    + cone(cu, a * v, b, reach);
                faces * reach.cubed()
            })
        });
        Form::of_amplitude(s.weight * sum)
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        let e = 0.5 / p.exponent_p;
        match mode {
            1 => {
                let ln = libm::lgamma(3.0 * e) + libm::lgamma(1.0 + 3.0 * e)
                    - libm::lgamma(e)
                    - libm::lgamma(1.0 + 5.0 * e);
                0.5 * p.length_a * libm::sqrt(3.0 * libm::exp(ln))
            }
            2 => radii::of_volume(Self::volume(p).material),
            3 => 0.5 * p.length_a,
            _ => 0.0,
        }
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        // The corner along a diagonal where p > 1, else the tips on the axes.
        let corner = libm::pow(3.0, 0.5 - 0.5 / p.exponent_p);
        0.5 * p.length_a * corner.max(1.0)
    }
}
