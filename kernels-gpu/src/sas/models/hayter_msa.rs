//! Charged spheres: screened Coulomb repulsion in the rescaled mean spherical approximation.
//!
//! The closure c(r) = K e^{−z(r−1)}/r for r > 1 with h(r) = −1 for r < 1 (lengths in diameters, K = −U/kT at
//! contact) is solved by Baxter's factorisation rather than by the original paper's formulas: Q(r) =
//! a(r² − 1)/2 + b(r − 1) + e (e^{−zr} − e^{−z}) + d for r < 1 and d e^{−z(r−1)} beyond, as of L. Blum and J. S. Høye,
//! J. Stat. Phys. 19 (1978) 317. What remains is a quartic whose greatest real root is the physical one.

use crate::model_values;
use crate::sas::functions::{Core, factor};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    radius_effective: Volume, "Ang", 20.75, 0.0 => INF, "Radius of the spheres";
    volfraction: Plain, "None", 0.0192, 0.0 => 0.74, "Volume fraction of the spheres";
    charge: Plain, "e", 19.0, 1e-6 => 200.0, "Charge of a sphere, elementary charges";
    temperature: Plain, "K", 318.16, 0.0 => 450.0, "Temperature";
    concentration_salt: Plain, "M", 0.0, 0.0 => INF, "Concentration of a 1:1 salt, mol/L";
    dielectconst: Plain, "None", 71.08, -INF => INF, "Dielectric constant of the solvent";
    }
}

/// The structure factor of charged spheres.
pub struct HayterMsa;

/// Radius (rescaled), Baxter's function of the core, z, 12η e and 12η (d − e e^{−z}).
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    core: Core<R>,
    z: R,
    inner: R,
    outer: R,
}

/// Volume fraction, inverse screening length over diameters, and c(1+).
#[derive(Clone, Copy)]
struct Fluid {
    eta: f64,
    z: f64,
    contact: f64,
}

/// Baxter's function of a fluid, and g(1+).
#[derive(Clone, Copy)]
struct Solution {
    a: f64,
    b: f64,
    e: f64,
    d: f64,
    pair: f64,
}

/// ∫₀¹ tⁿ e^{−zt} dt for n = 0, 1 and 2.
#[inline(always)]
fn laplace(z: f64) -> [f64; 3] {
    if z < 1.0 {
        let (mut i0, mut i1, mut i2) = (0.0, 0.0, 0.0);
        let mut term = 1.0;
        for k in 0..20 {
            let k = f64::from(k);
            i0 += term / (k + 1.0);
            i1 += term / (k + 2.0);
            i2 += term / (k + 3.0);
            term *= -z / (k + 1.0);
        }
        [i0, i1, i2]
    } else {
        let decay = Real::exp(-z);
        let i0 = (1.0 - decay) / z;
        let i1 = (i0 - decay) / z;
        [i0, i1, (2.0 * i1 - decay) / z]
    }
}

/// What is linear in 1, e and d.
#[derive(Clone, Copy)]
struct Linear {
    one: f64,
    e: f64,
    d: f64,
}

impl Linear {
    #[inline(always)]
    fn of(self, e: f64, d: f64) -> f64 {
        self.one + self.e * e + self.d * d
    }
    #[inline(always)]
    fn sum(self, factor: f64, other: Self, times: f64) -> Self {
        Self {
            one: factor * self.one + times * other.one,
            e: factor * self.e + times * other.e,
            d: factor * self.d + times * other.d,
        }
    }
}

/// Solves the closure for a fluid with η > 0 and z > 0.
#[inline(always)]
fn solve(fluid: &Fluid) -> Solution {
    let Fluid { eta, z, contact } = *fluid;
    let weight = 12.0 * eta;
    let decay = Real::exp(-z);
    let [i0, i1, i2] = laplace(z);

    // a = 1 − 12η ∫Q and b = 12η ∫rQ: two equations, linear in e and d through these integrals.
    let free = (1.0 - eta) * (1.0 - eta);
    let (e0, e1) = (z * i1, i1 - 0.5 * decay);
    let (d0, d1) = (1.0 + 1.0 / z, 0.5 + (1.0 + 1.0 / z) / z);
    let a_of = |i: f64, j: f64| weight * (6.0 * eta * j - (1.0 + 2.0 * eta) * i) / free;
    let b_of = |i: f64, j: f64| weight * ((1.0 - 4.0 * eta) * j + 1.5 * eta * i) / free;
    let a = Linear {
        one: (1.0 + 2.0 * eta) / free,
        e: a_of(e0, e1),
        d: a_of(d0, d1),
    };
    let b = Linear {
        one: -1.5 * eta / free,
        e: b_of(e0, e1),
        d: b_of(d0, d1),
    };

    // w = 1 − 12η ∫Q e^{−zr} = 1 + 12η v, and the bracket of the equation for e below.
    let mut v = a.sum(-0.5 * (i2 - i0), b, -(i1 - i0));
    v.e -= 0.5 * (1.0 - decay * decay) / z - decay * i0;
    v.d -= i0 + 0.5 * decay / z;
    let mut bracket = a.sum((1.0 + z) / (z * z), b, 1.0 / z);
    bracket.e -= 0.5 * decay;
    bracket.d += 0.5;

    // From c beyond the core K = z d w; from g(r) at its edge K e = 12η d² · bracket. With d and e eliminated, a
    // quartic in w. At K = 0 its greatest root is that of hard spheres.
    let w0 = 1.0 + weight * v.one;
    let m = weight * v.d * contact / z;
    let k = weight * contact / (z * z);
    let ve = weight * v.e;
    let c3 = -w0;
    let c2 = -m - k * bracket.e;
    let c1 = k * (bracket.e * w0 - ve * bracket.one);
    let c0 = k * (bracket.e * m - ve * bracket.d * contact / z);
    // Newton's steps from above all roots come down to the greatest one.
    let mut w = fujiwara([c3, c2, c1, c0]);
    for _ in 0..100 {
        let value = (((w + c3) * w + c2) * w + c1) * w + c0;
        let slope = ((4.0 * w + 3.0 * c3) * w + 2.0 * c2) * w + c1;
        let next = w - value / slope;
        let done = Real::abs(next - w) <= 2e-16 * w;
        w = next;
        if done {
            break;
        }
    }
    let d = contact / (z * w);
    let e = (w - w0 - weight * v.d * d) / ve;
    let (a, b) = (a.of(e, d), b.of(e, d));
    Solution {
        a,
        b,
        e,
        d,
        pair: a + b + z * (d - e * decay),
    }
}

/// An upper bound of all roots of w⁴ + c₃w³ + … + c₀ (M. Fujiwara, Tôhoku Math. J. 10 (1916) 167).
#[inline(always)]
fn fujiwara([c3, c2, c1, c0]: [f64; 4]) -> f64 {
    let root = |x: f64| Real::sqrt(Real::abs(x));
    // Instead of a cube root: |c|^⅓ ≤ max(1, |c|^½).
    let third = Real::max(1.0, root(c1));
    let most = Real::max(
        Real::max(Real::abs(c3), root(c2)),
        Real::max(third, root(root(c0))),
    );
    2.0 * most
}

/// The fluid as seen with its spheres grown by 1/`shrink`, at the same potential.
#[inline(always)]
fn rescaled(fluid: &Fluid, shrink: f64) -> Fluid {
    Fluid {
        eta: fluid.eta / (shrink * shrink * shrink),
        z: fluid.z / shrink,
        contact: fluid.contact * shrink * Real::exp(fluid.z - fluid.z / shrink),
    }
}

/// Where dilute or strongly charged spheres have g(1+) < 0, they never touch: Hansen and Hayter let them grow until
/// g(1+) = 0. The scale, the fluid and its solution there.
#[inline(always)]
fn grown(fluid: &Fluid) -> (f64, Fluid, Solution) {
    // g(1+) rises as they grow. Regula falsi between what is too dense and what is too dilute, halving the weight
    // of an end that stays (Illinois). There is one call of `solve`, since it is long.
    let densest = Real::min(Real::exp(Real::ln(fluid.eta / DENSEST) / 3.0), 1.0);
    let (mut dilute, mut low) = (1.0, 0.0);
    let (mut dense, mut high) = (densest, 0.0);
    let mut shrink = 1.0;
    // Which end stayed in the last round: −1 the dilute one, 1 the dense one.
    let mut stayed = 0;
    let mut round = 0;
    loop {
        let there = rescaled(fluid, shrink);
        let solution = solve(&there);
        let pair = solution.pair;
        let done = match round {
            0 => pair >= 0.0 || densest >= 1.0,
            1 => pair <= 0.0,
            _ => Real::abs(pair) < 1e-13 || dilute - dense < 1e-14 || round > 60,
        };
        if done || pair.is_nan() {
            return (shrink, there, solution);
        }
        if pair > 0.0 {
            (dense, high) = (shrink, pair);
            low *= if stayed < 0 { 0.5 } else { 1.0 };
            stayed = -1;
        } else {
            (dilute, low) = (shrink, pair);
            high *= if stayed > 0 { 0.5 } else { 1.0 };
            stayed = 1;
        }
        shrink = if round == 0 {
            densest
        } else {
            let width = dilute - dense;
            // Far from the root the ends' values are of very different sizes: a share is stepped at least.
            let share = 0.01 * width;
            dense + Real::min(Real::max(width * high / (high - low), share), width - share)
        };
        round += 1;
    }
}

/// Densest packing that rescaling looks at.
const DENSEST: f64 = 0.9;

/// e²/(4π ε₀ k_B), Å K (CODATA 2018).
const BJERRUM: f64 = 1.602_176_634e-19 * 1.602_176_634e-19
    / (4.0 * PI * 8.854_187_812_8e-12 * 1.380_649e-23)
    * 1e10;

/// Salt ions in Å³ at 1 mol/L, of one sign.
const IONS: f64 = 6.022_140_76e-4;

impl Model for HayterMsa {
    const INFO: Info = Info {
        name: "hayter_msa",
        category: "structure-factor",
        title: "Charged spheres, rescaled mean spherical approximation",
        formula: "c(r) = −U(r)/kT for r > σ = 2 radius_effective, h(r) = −1 within; U/kT = L charge²/(1 + κσ/2)² exp(−κ(r − σ))/r, L = e²/(4πε₀ dielectconst kT), κ² = 4πL (charge n + 2 n_salt), n = volfraction/V; if g(σ) < 0, σ grows at the same U until g(σ) = 0",
        source: "J. B. Hayter and J. Penfold, Mol. Phys. 42 (1981) 109; J.-P. Hansen and J. B. Hayter, Mol. Phys. 46 (1982) 651",
        parameters: TABLE,
        radius_modes: &[],
        background: 0.0,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    /// In `f64` of the first number of each value whatever `R` is: single precision does not suffice.
    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let radius = p.radius_effective.first();
        let charge = p.charge.first();
        let bjerrum = BJERRUM / (p.dielectconst.first() * p.temperature.first());
        // Without spheres, or without a size of theirs, 10⁻⁹ of them.
        let eta = Real::max(p.volfraction.first(), 1e-9);
        let diameter = 2.0 * Real::max(radius, 1e-9);
        let spheres = eta / (PI / 6.0 * diameter * diameter * diameter);
        let ions = charge * spheres + 2.0 * IONS * p.concentration_salt.first();
        // Without ions there is no charge either: any screening will do.
        let z = Real::max(Real::sqrt(4.0 * PI * bjerrum * ions) * diameter, 1e-3);
        let screened = charge / (1.0 + 0.5 * z);
        let fluid = Fluid {
            eta,
            z,
            contact: -bjerrum / diameter * screened * screened,
        };
        let (shrink, fluid, solution) = grown(&fluid);
        let weight = 12.0 * fluid.eta;
        let inside = solution.e * Real::exp(-fluid.z);
        let core = Core::of(
            fluid.eta,
            solution.a,
            solution.b,
            solution.d - inside,
        );
        State {
            radius: R::of(radius / shrink),
            core: Core {
                mean: R::of(core.mean),
                slope: R::of(core.slope),
                bend: R::of(core.bend),
            },
            z: R::of(fluid.z),
            inner: R::of(weight * solution.e),
            outer: R::of(weight * (solution.d - inside)),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let x = wave.q * s.radius;
        let (cos, sin, real, imaginary) = factor(x, &s.core);
        // The exponentials: (inner e^{−ix} + outer e^{ix})/(z − iy) = (p + ir)(z + iy)/(z² + y²).
        let y = x.times(2.0);
        let p = (s.inner + s.outer) * cos;
        let r = (s.outer - s.inner) * sin;
        let inverse = R::one() / s.z.mul_add(s.z, y.squared());
        let real = real - (p * s.z - r * y) * inverse;
        let imaginary = imaginary + (p * y + r * s.z) * inverse;
        Form::of_intensity(R::one() / real.mul_add(real, imaginary.squared()))
    }
}
