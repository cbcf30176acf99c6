//! Bessel functions of the first kind.
//!
//! Below 8 polynomials in t = x²/32 − 1, well conditioned there; beyond, amplitude and phase:
//! Jₙ(x) = √(2/πx) M(1/x²) cos(x − π/4 − nπ/2 + T(1/x²)/x), where the phase is reduced before T is added, so that
//! the error relative to the amplitude does not grow with x. The fits are as in [`super::elementary`].

use super::elementary::{polynomial, sine};
use crate::sas::real::Real;

/// Where the expansion in amplitude and phase begins.
const FAR: f64 = 8.0;

/// x²/32 − 1.
#[inline(always)]
fn centred<R: Real>(x: R) -> R {
    x.mul_add(x.times(1.0 / 32.0), R::of(-1.0))
}

/// J₀(x) to 1.3·10⁻¹⁵ (single: 7·10⁻⁷) of 1/√(1+x), for |x| < 10¹² (10⁶): 17 multiply–adds below 8, 55 beyond.
#[inline(always)]
pub fn bessel_j0<R: Real>(x: R) -> R {
    let x = x.abs();
    R::choose(
        x.less(R::of(FAR)),
        #[inline(always)]
        || {
            // J₀ to 3·10⁻¹⁷ of 1/√(1+x), single 6·10⁻⁹.
            polynomial!(centred(x),
            single: [
                0.04582966549192173, 0.9303012217843387, -0.6484693164502359, -0.8080882769902584,
                1.0383797311123943, -0.5074711148671734, 0.1459881319159905, -0.028465514462042835,
                0.004058734386280527, -0.00045090808408813974, 3.845528614727236e-5
            ],
            double: [
                0.04582966485981376, 0.9303012472958571, -0.6484692830871823, -0.8080888076696852,
                1.0383794611436916, -0.5074680458471236, 0.14598884856783345, -0.028472718610765096,
                0.004058078988174497, -0.0004435459227278242, 3.8473199957546874e-5, -2.7177488223352015e-6,
                1.5955856437344202e-7, -7.915598517842956e-9, 3.379239039574863e-10, -1.2357622971245983e-11
            ])
        },
        #[inline(always)]
        || {
            let root = x.inverse_sqrt();
            let inverse = root * root;
            let u = inverse * inverse;
            // √(2/π) M to 6·10⁻¹⁶, single 4·10⁻⁸.
            let amplitude = polynomial!(u,
            single: [0.7978845218062524, -0.04982078029065716, 0.07404221331031322],
            double: [
                0.7978845608028649, -0.04986778504274744, 0.08259350207395842, -0.4331139025430264,
                4.659627021677371, -83.37487339286928, 2029.569619832416, -51217.866275498745,
                983107.1170730839, -9551799.510897022
            ]);
            // T/x to 3·10⁻¹⁶, single 9·10⁻⁹.
            let phase = polynomial!(u,
            single: [-0.12499953282494677, 0.06485199345425868, -0.17435386290685437],
            double: [
                -0.12499999999995505, 0.06510416643967158, -0.20956997296519161, 1.637829976462563,
                -23.38292481672653, 513.0892320811759, -14122.400564228034, 374468.7349802147,
                -7218471.951357234, 68972232.31282023
            ]);
            root * amplitude * sine(x, 0.25, Some(phase * inverse))
        },
    )
}

/// 2 J₁(x)/x for 0 ≤ x < 8, to 1·10⁻¹⁷ of (1+x²)^−¾, single 3·10⁻⁹.
#[inline(always)]
fn j1c_near<R: Real>(x: R) -> R {
    polynomial!(centred(x),
    single: [
        -0.11628765578316565, 0.16211731959839018, 0.3030332951096475, -0.5191897012024186, 0.31716760047984205,
        -0.10949183358580357, 0.024913404949823158, -0.00405755556115177, 0.0004992603479162863,
        -4.8684749715522645e-5, 3.637205758229208e-6
    ],
    double: [
        -0.11628765591198215, 0.16211732077179591, 0.30303330287613267, -0.5191897305718602, 0.31716752865443765,
        -0.10949163642569795, 0.024913628784520876, -0.004058078989122794, 0.0004989891627376983,
        -4.809149736831907e-5, 3.736905178634928e-6, -2.393415682877978e-7, 1.2862402724684743e-8,
        -5.886520132651544e-10, 2.3311166586822062e-11, -7.869585495646174e-13
    ])
}

/// √x J₁(x) and 1/√x for x ≥ 8.
#[inline(always)]
fn j1_far<R: Real>(x: R) -> (R, R) {
    let root = x.inverse_sqrt();
    let inverse = root * root;
    let u = inverse * inverse;
    // √(2/π) M to 7·10⁻¹⁶, single 6·10⁻⁸.
    let amplitude = polynomial!(u,
    single: [0.7978846203668348, 0.1495319020628299, -0.14136739846253565],
    double: [
        0.797884560802866, 0.14960335514198678, -0.1542784405523734, 0.6425173996383988, -6.1676049265888455,
        103.74268317192853, -2440.173252840536, 60487.86044566517, -1150597.3885014395, 11125902.162659306
    ]);
    // T/x to 3·10⁻¹⁶, single 1.3·10⁻⁸.
    let phase = polynomial!(u,
    single: [0.37499929944211713, -0.16368631474699757, 0.3188111806404838],
    double: [
        0.3749999999999482, -0.16406249973882453, 0.37089804716437375, -2.369126914326469, 30.518258622547638,
        -633.3671575710755, 16915.057260125224, -441630.99799351726, 8446010.093310896, -80355244.2970181
    ]);
    (amplitude * sine(x, -0.25, Some(phase * inverse)), root)
}

/// J₁(x); error, range and cost as for [`bessel_j0`].
#[inline(always)]
pub fn bessel_j1<R: Real>(x: R) -> R {
    let size = x.abs();
    let value = R::choose(
        size.less(R::of(FAR)),
        #[inline(always)]
        || size.times(0.5) * j1c_near(size),
        #[inline(always)]
        || {
            let (wave, root) = j1_far(size);
            wave * root
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

/// 2 J₁(x)/x, the amplitude of a disc; 1 at 0. To 3·10⁻¹⁵ (single: 8·10⁻⁷) of (1+x²)^−¾, without a
/// division.
#[inline(always)]
pub fn j1c<R: Real>(x: R) -> R {
    let x = x.abs();
    R::choose(
        x.less(R::of(FAR)),
        #[inline(always)]
        || j1c_near(x),
        #[inline(always)]
        || {
            let (wave, root) = j1_far(x);
            (wave * root).times(2.0) * (root * root)
        },
    )
}
