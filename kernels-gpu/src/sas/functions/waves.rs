//! Sines over their arguments. The fits are as in [`super::elementary`].

use super::elementary::{polynomial, sin, sin_cos};
use crate::sas::real::Real;
use core::f64::consts::FRAC_PI_2;

/// sin x / x; 1 at 0. To 4·10⁻¹⁶ (single: 2·10⁻⁷) of its envelope 1/x.
#[inline(always)]
pub fn sinc<R: Real>(x: R) -> R {
    // A number this small is its own sine.
    let x = x.abs().max(R::of(1e-30));
    sin(x) / x
}

/// 3 (sin x − x cos x)/x³, the amplitude of a sphere; 1 at 0. To 1·10⁻¹⁵ (single: 4·10⁻⁷) of its envelope 3/(3+x²).
#[inline(always)]
pub fn sphere_form<R: Real>(x: R) -> R {
    sphere_form_of(
        x,
        #[inline(always)]
        || sin_cos(x),
    )
}

/// [`sphere_form`] of x and (sin x, cos x), which are computed only if x ≥ 2.
#[inline(always)]
pub(super) fn sphere_form_of<R: Real>(x: R, sin_cos: impl FnOnce() -> (R, R)) -> R {
    R::choose(
        x.abs().less(R::of(2.0)),
        #[inline(always)]
        || {
            // Where the difference cancels: by the series in x², to 2·10⁻¹⁸, single 1·10⁻⁸.
            polynomial!(x.squared(),
            single: [
                0.9999999891842517, -0.09999986419237789, 0.0035711555793602225, -6.594510351006336e-5,
                6.958524448282066e-7
            ],
            double: [
                1.0, -0.09999999999999991, 0.003571428571427963, -6.613756613600291e-5, 7.515632495506766e-7,
                -5.7812543251843945e-9, 3.211746840634372e-11, -1.3479621822185775e-13, 4.2325600539039605e-16
            ])
        },
        #[inline(always)]
        || {
            let (sin, cos) = sin_cos();
            (-x).mul_add(cos, sin).times(3.0) / x.cubed()
        },
    )
}

/// Si(x) = ∫₀ˣ sin t / t dt, to 2·10⁻¹⁵ (single: 4·10⁻⁷).
#[inline(always)]
pub fn sine_integral<R: Real>(x: R) -> R {
    let size = x.abs();
    let value = R::choose(
        size.less(R::of(12.0)),
        #[inline(always)]
        || {
            // Si(x)/x in t = x²/72 − 1; Si to 1·10⁻¹⁶, single 4·10⁻⁸.
            let t = size.mul_add(size.times(1.0 / 72.0), R::of(-1.0));
            size * polynomial!(t,
            single: [
                0.19188586740286398, -0.04837465445001785, -0.04938512019940062, -0.05871644262422366,
                0.24229299973389734, -0.2618311612705607, 0.15829408680902196, -0.06398604895183485,
                0.018813678118097175, -0.004273821504340784, 0.0008055824703048551, -0.00011069874312947463
            ],
            double: [
                0.19188587109306904, -0.048374619585617035, -0.049385425039177505, -0.058717232152585015,
                0.24229700836273285, -0.2618263309700321, 0.15827507950074202, -0.06399754262589981,
                0.01885393032998106, -0.004263061694488497, 0.0007667479325357137, -0.00011263614249395352,
                1.3794536686382746e-5, -1.4318283640566544e-6, 1.2766501305368446e-7, -9.896993045585332e-9,
                6.820161376706426e-10, -3.992744700595746e-11
            ])
        },
        #[inline(always)]
        || {
            // π/2 − F cos x/x − G sin x/x²; F/x to 2·10⁻¹⁵ and G/x² to 1·10⁻¹⁵, single 1·10⁻⁸.
            let inverse = R::one() / size;
            let u = inverse * inverse;
            let with_cos = polynomial!(u,
            single: [0.9999988721861615, -1.9976374716930165, 22.615913830196092, -384.6583347289899],
            double: [
                0.999999999999289, -1.9999999882383452, 23.999941972566702, -719.8652260066358,
                40140.11526090171, -3473854.5942344833, 385294614.08620036, -44079734530.815384,
                4305906378251.7446, -309054148476514.2, 1.389994336442517e16, -2.886641145047603e17
            ]);
            let with_sin = polynomial!(u,
            single: [0.9999840293913689, -5.975356388725956, 107.57121998192065, -2193.3118568139557],
            double: [
                0.9999999999603082, -5.999999569197518, 119.99835325803367, -5036.7849115229355,
                359087.46177408355, -36922093.75315386, 4512528060.258349, -535405406555.86584,
                52349057783531.234, -3697919495007349.0, 1.6256465604923808e17, -3.2928174181815327e18
            ]);
            let (sin, cos) = sin_cos(size);
            R::of(FRAC_PI_2) - inverse * with_cos.mul_add(cos, inverse * with_sin * sin)
        },
    );
    R::choose(
        x.less(R::zero()),
        #[inline(always)]
        || -value,
        #[inline(always)]
        || value,
    )
}
