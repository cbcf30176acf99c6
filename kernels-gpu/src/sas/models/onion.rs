//! Spheres with shells whose density varies.
#![allow(non_snake_case, reason = "the exponent is known as A")]

use crate::model_values;
use crate::sas::functions::{ball, expm1, sinc, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::quadrature::RULE_8;
use crate::sas::real::Real;
use core::f64::consts::PI;

/// The most shells there can be.
const SHELLS: usize = 10;

model_values! {
    values {
    sld_core: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the core";
    radius_core: Volume, "Ang", 200.0, 0.0 => INF, "Radius of the core";
    sld_solvent: Sld, "1e-6/Ang^2", 6.4, -INF => INF, "Scattering length density of the solvent";
    n_shells: Plain, "", 1.0, 0.0 => 10.0, "Number of shells";
    sld_in[10]: Sld, "1e-6/Ang^2", 1.7, -INF => INF, "Scattering length density at the inside of each shell";
    sld_out[10]: Sld, "1e-6/Ang^2", 2.0, -INF => INF, "Scattering length density at the outside of each shell";
    thickness[10]: Volume, "Ang", 40.0, 0.0 => INF, "Thickness of each shell";
    A[10]: Plain, "", 1.0, -INF => INF, "Exponent of each shell: near 0 a line from in to out, at 0 the inner density throughout";
    }
}

/// Spheres with up to ten shells whose density varies exponentially.
pub struct Onion;

/// Radius of each surface, the step of density at it from one shell's inner density to the next one's times the
/// volume within, and of each shell the rise of density, its exponent and 1/(eᴬ − 1). Below `least` q
/// changes nothing but the digits that cancel.
#[derive(Clone, Copy)]
pub struct State<R> {
    shells: u32,
    least: R,
    radii: [R; SHELLS + 1],
    weights: [R; SHELLS + 1],
    rises: [R; SHELLS],
    exponents: [R; SHELLS],
    inverses: [R; SHELLS],
}

/// Radius of the whole.
#[inline(always)]
fn outer_radius<R: Real>(p: &Parameters<R>) -> R {
    let shells = p.n_shells.count(SHELLS as u32);
    let mut radius = p.radius_core;
    for i in 0..SHELLS {
        if (i as u32) < shells {
            radius += p.thickness[i];
        }
    }
    radius
}

/// r/κ − 1/κ² turned by q r, its imaginary part, κ = a + i q: the antiderivative of r eᵃʳ sin(q r) over eᵃʳ.
#[inline(always)]
fn antiderivative<R: Real>(q: R, r: R, a: R) -> R {
    let inverse = R::one() / (a * a + q * q);
    let real = (r * a - (a * a - q * q) * inverse) * inverse;
    let imaginary = ((a * inverse).times(2.0) - r) * q * inverse;
    let (sin, cos) = (q * r).sin_cos();
    cos.mul_add(imaginary, sin * real)
}

/// eˣ − 1 for |x| ≤ 1.
#[inline(always)]
fn small_expm1<R: Real>(x: R) -> R {
    let mut sum = R::one();
    for k in (2..16_u32).rev() {
        sum = (x * sum).mul_add(R::of(1.0 / f64::from(k)), R::one());
    }
    x * sum
}

impl Model for Onion {
    const INFO: Info = Info {
        name: "onion",
        category: "shape:sphere",
        title: "Spheres of a core and up to ten shells of constant, linear or exponential density",
        formula: "F = 4π ∫ (ρ(r) − sld_solvent) r² sin(q r)/(q r) dr, in a shell ρ = sld_in + (sld_out − sld_in) (exp(A x) − 1)/(exp(A) − 1), x from 0 at its inside to 1; sld_in throughout where A = 0",
        source: "L. A. Feigin and D. I. Svergun, Structure Analysis by Small-Angle X-Ray and Neutron Scattering, Plenum 1987",
        parameters: TABLE,
        radius_modes: &["outer radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let shells = p.n_shells.count(SHELLS as u32);
        let (mut radius, mut inside) = (p.radius_core, p.sld_core);
        let mut radii = [radius; SHELLS + 1];
        let mut weights = [R::zero(); SHELLS + 1];
        let mut rises = [R::zero(); SHELLS];
        let mut exponents = [R::one(); SHELLS];
        let mut inverses = [R::one(); SHELLS];
        for i in 0..SHELLS {
            let there = (i as u32) < shells;
            let outside = if there { p.sld_in[i] } else { p.sld_solvent };
            weights[i] = (inside - outside) * ball(radius);
            if there {
                radius += p.thickness[i];
                let flat = p.A[i].abs().less(R::of(1e-16));
                rises[i] = R::choose(flat, R::zero, #[inline(always)] || p.sld_out[i] - p.sld_in[i]);
                // Flatter exponentials than this are lines to the same precision as they would cancel.
                let line = R::of(if R::SINGLE { 1e-3 } else { 1e-7 });
                exponents[i] = R::choose(p.A[i].less(R::zero()), #[inline(always)] || p.A[i].min(-line), #[inline(always)] || p.A[i].max(line));
                inverses[i] = R::one() / expm1(exponents[i]);
            }
            inside = outside;
            radii[i + 1] = radius;
        }
        weights[SHELLS] = (inside - p.sld_solvent) * ball(radius);
        State {
            shells,
            least: R::of(if R::SINGLE { 3e-3 } else { 1e-6 }) / radius.max(R::of(1e-6)),
            radii,
            weights,
            rises,
            exponents,
            inverses,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(ball(outer_radius(p)))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let q = wave.q.max(s.least);
        let mut inner = sphere_form(q * s.radii[0]);
        let mut sum = s.weights[0] * inner;
        inner = inner * ball(s.radii[0]);
        for i in 0..SHELLS {
            if (i as u32) < s.shells {
                let (from, to) = (s.radii[i], s.radii[i + 1]);
                let thickness = to - from;
                let (exponent, inverse) = (s.exponents[i], s.inverses[i]);
                let form = sphere_form(q * to);
                let outer = form * ball(to);
                let turns = (q * thickness).squared() + exponent.squared();
                let rise = R::choose(
                    turns.less(R::one()),
                    #[inline(always)]
                    || {
                        let mean = RULE_8.integrate(|t: R| {
                            let r = t.mul_add(thickness, from);
                            small_expm1(t * exponent) * r.squared() * sinc(q * r)
                        });
                        mean * inverse * thickness.times(4.0 * PI)
                    },
                    #[inline(always)]
                    || {
                        let rate = exponent / thickness.max(R::of(1e-9));
                        let bent = antiderivative(q, to, rate) * inverse.plus(1.0)
                            - antiderivative(q, from, rate) * inverse;
                        bent.times(4.0 * PI) / q - inverse * (outer - inner)
                    },
                );
                sum += s.weights[i + 1] * form + s.rises[i] * rise;
                inner = outer;
            }
        }
        Form::of_amplitude(sum)
    }

    fn effective_radius(p: &Parameters<f64>, _mode: u32) -> f64 {
        outer_radius(p)
    }
}
