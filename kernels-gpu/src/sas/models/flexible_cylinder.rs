//! Worm-like cylinders.

use crate::model_values;
use crate::sas::functions::{j1c, rod as rod_volume};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    length: Volume, "Ang", 1000.0, 0.0 => INF, "Length along the contour";
    kuhn_length: Volume, "Ang", 100.0, 0.0 => INF, "Kuhn length: twice the persistence length";
    radius: Volume, "Ang", 20.0, 0.0 => INF, "Radius of the cross-section";
    sld: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the cylinder";
    sld_solvent: Sld, "1e-6/Ang^2", 6.3, -INF => INF, "Scattering length density of the solvent";
    }
}

/// Worm-like cylinders with excluded volume. As in the field's programs each is divided by its own volume, so a
/// spread of lengths counts volume fractions, not particles.
pub struct FlexibleCylinder;

/// The chain's radius of gyration and what is added to its scattering by stiffness; where in q the rod takes over
/// and the two powers that join it, their weights at that point; and the rest.
#[derive(Clone, Copy)]
pub struct State<R> {
    gyration: R,
    swollen_from: R,
    stiffness: R,
    joint: R,
    power: R,
    difference: R,
    first: R,
    second: R,
    rod: R,
    radius: R,
    weight: R,
}

/// Exponent and factors of the swollen coil, and middle and width of the passage to it, as Pedersen and
/// Schurtenberger fitted them.
const NU: f64 = 0.585;
const SWOLLEN: [f64; 3] = [1.22, 0.4288, -1.651];
const PASSAGE: (f64, f64) = (1.523, 0.1477);
/// Exponent of the growth of the radius of gyration by excluded volume.
const GROWTH: f64 = 0.176 / 3.0;
/// q Rg below which the fit to the swollen coil rises with q, as no coil does, and is left out: it is the same at
/// 1.05 times this. The field's programs decide alike, so that I(q) steps by 0.0015 of itself there.
const SWOLLEN_FROM: f64 = 0.088_305_524_718_932_2;
/// Never reached.
const NEVER: f64 = 1e30;

/// A function of u = (q Rg)² and its slope.
#[derive(Clone, Copy)]
struct Curve<R> {
    value: R,
    slope: R,
}

/// 0! … 16!
const FACTORIALS: [f64; 17] = {
    let mut all = [1.0; 17];
    let mut k = 1;
    while k < 17 {
        all[k] = all[k - 1] * k as f64;
        k += 1;
    }
    all
};

/// Σ cₖ (−u)ᵏ/(k + 2)! and its slope, cₖ from `coefficient`, for u < 1.
#[inline(always)]
fn series<R: Real>(u: R, coefficient: impl Fn(f64) -> f64) -> Curve<R> {
    let (mut value, mut slope) = (R::zero(), R::zero());
    for k in (0..15_usize).rev() {
        slope = slope.mul_add(-u, -value);
        value = value.mul_add(-u, R::of(coefficient(k as f64) / FACTORIALS[k + 2]));
    }
    Curve { value, slope }
}

/// Debye's coil, 2 (e⁻ᵘ + u − 1)/u².
#[inline(always)]
fn debye<R: Real>(u: R) -> Curve<R> {
    let small = series(u, |_| 2.0);
    let fall = (-u).exp();
    let near = u.less(R::one());
    let value = (fall + u.plus(-1.0)).times(2.0) / u.squared();
    Curve {
        value: R::choose(near, #[inline(always)] || small.value, #[inline(always)] || value),
        slope: R::choose(
            near,
            #[inline(always)]
            || small.slope,
            #[inline(always)]
            || ((R::one() - fall) / u - value).times(2.0) / u,
        ),
    }
}

/// 4/15 + 7/(15 u) − (11/15 + 7/(15 u)) e⁻ᵘ.
#[inline(always)]
fn stiffening<R: Real>(u: R) -> Curve<R> {
    // 7/15 (1 − e⁻ᵘ)/u + 4/15 − 11/15 e⁻ᵘ, whose constants cancel.
    let small = series(u, |k| {
        if k == 0.0 {
            0.0
        } else {
            (7.0 / 15.0 - 11.0 / 15.0 * (k + 1.0)) * (k + 2.0)
        }
    });
    let fall = (-u).exp();
    let near = u.less(R::one());
    let over = R::of(7.0 / 15.0) / u;
    Curve {
        value: R::choose(
            near,
            #[inline(always)]
            || small.value,
            #[inline(always)]
            || over.plus(4.0 / 15.0) - over.plus(11.0 / 15.0) * fall,
        ),
        slope: R::choose(
            near,
            #[inline(always)]
            || small.slope,
            #[inline(always)]
            || (over.plus(11.0 / 15.0) + over / u) * fall - over / u,
        ),
    }
}

/// Scattering of the chain at x = q Rg, and x times its slope in x.
#[inline(always)]
fn chain<R: Real>(x: R, swollen_from: R, stiffness: R) -> (R, R) {
    let u = x.squared();
    let coil = debye(u);
    let stiff = stiffening(u);
    // Below x = 0.01 nothing but the coil is looked at: no power may overflow.
    let at = x.max(R::of(1e-2));
    let root = (at.ln().times(-1.0 / NU)).exp();
    let cubic = R::of(SWOLLEN[2]);
    let swollen = cubic
        .mul_add(root, R::of(SWOLLEN[1]))
        .mul_add(root, R::of(SWOLLEN[0]))
        * root;
    let swollen_slope = cubic
        .times(3.0)
        .mul_add(root, R::of(2.0 * SWOLLEN[1]))
        .mul_add(root, R::of(SWOLLEN[0]))
        * root.times(-1.0 / NU);
    // (1 + tanh z)/2 = 1/(1 + exp(−2 z)), its exponent kept where single precision has it.
    let z = at.plus(-PASSAGE.0).times(-2.0 / PASSAGE.1);
    let share = R::one() / z.min(R::of(80.0)).max(R::of(-80.0)).exp().plus(1.0);
    let share_slope = share * (R::one() - share) * at.times(2.0 / PASSAGE.1);
    let coil_slope = u.times(2.0) * coil.slope;
    let none = x.less(swollen_from);
    // A chain too short to swell has Debye's scattering alone; a swollen one loses it by the share even before.
    let long = R::choose(swollen_from.less(R::of(NEVER)), R::one, R::zero);
    let left = R::one() - share * long;
    let value = coil.value * left + R::choose(none, R::zero, #[inline(always)] || share * swollen);
    let slope = coil_slope * left - coil.value * share_slope * long
        + R::choose(none, R::zero, #[inline(always)] || share_slope * swollen + share * swollen_slope);
    (
        stiff.value.mul_add(stiffness, value),
        (u * stiff.slope * stiffness).mul_add(R::of(2.0), slope),
    )
}

impl Model for FlexibleCylinder {
    const INFO: Info = Info {
        name: "flexible_cylinder",
        category: "shape:cylinder",
        title: "Worm-like cylinders with excluded volume",
        formula: "I = (sld − sld_solvent)² V S(q) J(q radius)², J(x) = 2 J₁(x)/x; S of the chain, for length > 4 kuhn_length [1 − w] D + w (1.22 x^(−1/ν) + 0.4288 x^(−2/ν) − 1.651 x^(−3/ν)) + C/n [4/15 + 7/(15 u) − (11/15 + 7/(15 u)) exp(−u)] below q kuhn_length = 3.1, else D below 3, u = x² = (q Rg)², D = 2 (exp(−u) + u − 1)/u², ν = 0.585, w = [1 + tanh((x − 1.523)/0.1477)]/2, n = length/kuhn_length, C = 3.06 n^(−0.44) above n = 10, else 1; beyond, a₁ q^(−p₁) + a₂ q^(−p₂) + π/(q length), smooth at the joint, p = 4.12, 4.42 or 5.36, 5.62",
        source: "J. S. Pedersen and P. Schurtenberger, Macromolecules 29 (1996) 7602, method 3; W.-R. Chen, P. D. Butler and L. J. Magid, Langmuir 22 (2006) 6539",
        parameters: TABLE,
        radius_modes: &[],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let n = p.length / p.kuhn_length;
        let long = R::of(4.0).less(n);
        let either = |yes: f64, no: f64| R::choose(long, #[inline(always)] || R::of(yes), #[inline(always)] || R::of(no));
        let growth = ((n.times(1.0 / 3.12).squared() + n.times(1.0 / 8.67).cubed()).plus(1.0)).powf(R::of(GROWTH));
        // 1 − 3/(2 n) + 3/(2 n²) − 3/(4 n³) (1 − exp(−2 n)), for a rod n/2 · (1 − …).
        let ends = R::choose(
            n.less(R::of(0.3)),
            #[inline(always)]
            || n.times(2.0) * series(n.times(2.0), |k| 6.0 / ((k + 3.0) * (k + 4.0))).value,
            #[inline(always)]
            || {
                let m = R::one() / n;
                let fall = R::one() - (n.times(-2.0)).exp();
                ((m.times(-0.75) * fall).plus(1.5) * m).plus(-1.5).mul_add(m, R::one())
            },
        );
        let gyration = (growth
            * p.length
            * p.kuhn_length.times(1.0 / 6.0)
            * R::choose(long, R::one, #[inline(always)] || ends))
        .sqrt();
        let swollen_from = either(SWOLLEN_FROM, NEVER);
        let loops = R::choose(
            R::of(10.0).less(n),
            #[inline(always)]
            || n.powf(R::of(-0.44)).times(3.06),
            R::one,
        );
        let stiffness = R::choose(long, #[inline(always)] || loops / n, R::zero);
        let joint = either(3.1, 3.0) / p.kuhn_length;
        let power = either(4.12, 5.36);
        let difference = either(4.42, 5.62) - power;
        let (value, slope) = chain(joint * gyration, swollen_from, stiffness);
        let rod = R::of(PI) / p.length;
        let value = value - rod / joint;
        let slope = slope + rod / joint;
        let first = (slope + (power + difference) * value) / difference;
        let contrast = p.sld - p.sld_solvent;
        State {
            gyration,
            swollen_from,
            stiffness,
            joint,
            power,
            difference,
            first,
            second: value - first,
            rod,
            radius: p.radius,
            weight: contrast.squared() * rod_volume(p.radius, p.length).times(1e-4),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_p: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let chain = R::choose(
            s.joint.less(wave.q),
            #[inline(always)]
            || {
                let far = (wave.q / s.joint).ln();
                let powers = (-(far * s.difference))
                    .exp()
                    .mul_add(s.second, s.first);
                (-(far * s.power)).exp() * powers + s.rod / wave.q
            },
            #[inline(always)]
            || chain(wave.q * s.gyration, s.swollen_from, s.stiffness).0,
        );
        let section = j1c(wave.q * s.radius);
        Form::of_intensity(s.weight * chain * section.squared())
    }
}
