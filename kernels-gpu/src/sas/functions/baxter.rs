//! Fluids of spheres by Baxter's factorisation: 1/S(q) = |Q̂(qσ)|², Q̂(y) = 1 − 12η ∫₀^∞ Q(r) e^{iyr} dr, lengths in
//! diameters σ (R. J. Baxter, Aust. J. Phys. 21 (1968) 563). Within a sphere Q is a parabola, which leaves only sines
//! over their arguments: nothing cancels as q → 0, and S is never negative.

use super::elementary::{polynomial, sin_cos};
use super::waves::sphere_form_of;
use crate::sas::real::Real;

/// 12η Q(½ + t) = `mean` + `slope` t + `bend` t² for |t| < ½.
#[derive(Debug, Clone, Copy)]
pub struct Core<R> {
    /// The coefficient of 1.
    pub mean: R,
    /// The coefficient of t.
    pub slope: R,
    /// The coefficient of t².
    pub bend: R,
}

impl<R: Real> Core<R> {
    /// The core of Q(r) = a/2 (r² − 1) + b (r − 1) + c at the volume fraction η.
    #[inline(always)]
    pub fn of(eta: R, a: R, b: R, c: R) -> Self {
        let weight = eta.times(12.0);
        Self {
            mean: weight * (a.times(-0.375) - b.times(0.5) + c),
            slope: weight * (a.times(0.5) + b),
            bend: weight * a.times(0.5),
        }
    }
}

/// For x = y/2: cos x, sin x, and the real and minus the imaginary part of e^{−ix} Q̂(y) of the core alone.
#[inline(always)]
pub fn factor<R: Real>(x: R, core: &Core<R>) -> (R, R, R, R) {
    let x = x.max(R::of(1e-30));
    let (sin, cos) = sin_cos(x);
    // ∫ cos yt dt, ∫ t sin yt dt, ∫ t² cos yt dt over |t| < ½.
    let even = sin / x;
    let sphere = sphere_form_of(
        x,
        #[inline(always)]
        || (sin, cos),
    );
    let odd = (x * sphere).times(1.0 / 6.0);
    let square = sphere.mul_add(R::of(-1.0 / 6.0), even.times(0.25));
    let real = cos - core.mean * even - core.bend * square;
    (cos, sin, real, core.slope.mul_add(odd, sin))
}

/// ∫₀¹ xⁿ sin yx/(yx) dx for n = 2, 3 and 5: the contributions of the terms 1, x and x³ of a direct correlation
/// function at y ≥ 0.
#[inline(always)]
pub fn moments<R: Real>(y: R) -> [R; 3] {
    let (sin, cos) = sin_cos(y);
    let z = y.squared();
    let near = y.less(R::of(3.0));
    let second = sphere_form_of(
        y,
        #[inline(always)]
        || (sin, cos),
    )
    .times(1.0 / 3.0);
    // Both series for y < 3 to 5·10⁻¹⁸, single 2·10⁻⁹.
    let third = R::choose(
        near,
        #[inline(always)]
        || {
            polynomial!(z,
            single: [
                0.24999999772147974, -0.027777759430428303, 0.0010416427149175776, -1.982981273812542e-5,
                2.2715585230024035e-7, -1.5373346886411514e-9
            ],
            double: [
                0.25, -0.02777777777777767, 0.0010416666666662616, -1.984126984069264e-5, 2.2964432644877574e-7,
                -1.7894361394834188e-9, 1.0036858363192774e-11, -4.247732568382401e-14, 1.3991414824875138e-16,
                -3.3866081117191987e-19
            ])
        },
        #[inline(always)]
        || ((y * sin).times(2.0) + (R::of(2.0) - z) * cos).plus(-2.0) / z.squared(),
    );
    let fifth = R::choose(
        near,
        #[inline(always)]
        || {
            polynomial!(z,
            single: [
                0.16666666464475033, -0.020833317050848052, 0.0008333120752320196, -1.6524221729179928e-5,
                1.9462873357973045e-7, -1.3418684933417527e-9
            ],
            double: [
                0.16666666666666666, -0.02083333333333323, 0.0008333333333329596, -1.6534391533859003e-5,
                1.9683799407159687e-7, -1.5657566137711695e-9, 8.92165039160531e-12, -3.822943622221515e-14,
                1.2718569752232808e-16, -3.102237565161125e-19
            ])
        },
        #[inline(always)]
        || {
            // 4 ((3z − 6) cos y + (z − 6) y sin y + 6)/z³ − cos y/z, so that no power of y is greater than needed.
            let inner = z.mul_add(R::of(3.0), R::of(-6.0)) * cos + z.plus(-6.0) * y * sin;
            (inner.plus(6.0).times(4.0) / z.squared() - cos) / z
        },
    );
    [second, third, fifth]
}
