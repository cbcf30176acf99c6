//! Several numbers at once: [`Real`] on the vector units of the CPU.
//!
//! A `Pack` is a vector register. Its operations compile to single instructions only inside code that is compiled for
//! the vector unit in use, `Unit::run`. Everything between there and a model's formula is inlined for that, including
//! closures passed to [`Real::choose`] (`#[inline(always)] || …`); otherwise it would run a hundred times slower,
//! with the same numbers.

use super::real::Real;
use bytemuck::{cast_slice, cast_slice_mut};
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// The numbers that a sum takes at once: a pack, or one number on a CPU without these vector units.
pub trait SimdReal: Real {
    /// The type of a number in memory.
    type Element: Copy + Default + core::ops::AddAssign + Send + Sync + 'static;
    /// How many numbers there are.
    const COUNT: usize;
    /// Loads the first [`SimdReal::COUNT`] elements of a slice.
    fn load(from: &[Self::Element]) -> Self;
    /// Stores to the first [`SimdReal::COUNT`] elements of a slice.
    fn store(self, to: &mut [Self::Element]);
    /// All numbers equal to one value.
    fn splat(value: Self::Element) -> Self;
    /// The sum of the numbers, in a fixed order.
    fn sum(self) -> Self::Element;
}

macro_rules! single {
    ($t:ident) => {
        impl SimdReal for $t {
            type Element = $t;
            const COUNT: usize = 1;
            #[inline(always)]
            fn load(from: &[$t]) -> Self {
                from[0]
            }
            #[inline(always)]
            fn store(self, to: &mut [$t]) {
                to[0] = self;
            }
            #[inline(always)]
            fn splat(value: $t) -> Self {
                value
            }
            #[inline(always)]
            fn sum(self) -> $t {
                self
            }
        }
    };
}
single!(f64);
single!(f32);

/// Work on numbers of a type, which is compiled for a vector unit.
pub trait Work<T> {
    /// Does the work with packs of this type.
    fn with<R: SimdReal<Element = T>>(self);
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Pack32, Pack64};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use pulp::x86::{V3, V4};
    use pulp::{Simd, cast};

    /// Operations that pulp's vector units lack.
    ///
    /// # Safety
    ///
    /// `here` may be called only where the unit's instructions exist: in a pack's methods, inside `Unit::run`.
    pub unsafe trait Unit: Simd {
        /// Proof that the unit exists.
        ///
        /// # Safety
        ///
        /// The unit must exist.
        unsafe fn here() -> Self;
        /// Shifts each number left by 63 bits.
        fn last_bit_first(self, a: Self::u64s) -> Self::u64s;
        /// Shifts each number left by 52 bits.
        fn into_exponent(self, a: Self::u64s) -> Self::u64s;
        /// Shifts each number right by 52 bits.
        fn out_of_exponent(self, a: Self::u64s) -> Self::u64s;
        /// Whether any number of the mask is true.
        fn some64(self, mask: Self::m64s) -> bool;
        /// Whether every number of the mask is true.
        fn every64(self, mask: Self::m64s) -> bool;
        /// 1/√a.
        fn inverse_sqrt64(self, a: Self::f64s) -> Self::f64s;
        /// Shifts each number left by 31 bits.
        fn last_bit_first32(self, a: Self::u32s) -> Self::u32s;
        /// Shifts each number left by 23 bits.
        fn into_exponent32(self, a: Self::u32s) -> Self::u32s;
        /// Shifts each number right by 23 bits.
        fn out_of_exponent32(self, a: Self::u32s) -> Self::u32s;
        /// Whether any number of the mask is true.
        fn some32(self, mask: Self::m32s) -> bool;
        /// Whether every number of the mask is true.
        fn every32(self, mask: Self::m32s) -> bool;
        /// 1/√a.
        #[inline(always)]
        fn inverse_sqrt32(self, a: Self::f32s) -> Self::f32s {
            self.div_f32s(self.splat_f32s(1.0), self.sqrt_f32s(a))
        }
    }

    // SAFETY: `here` has the same condition.
    unsafe impl Unit for V4 {
        #[inline(always)]
        unsafe fn here() -> Self {
            // SAFETY: the caller guarantees that the unit exists.
            unsafe { Self::new_unchecked() }
        }
        #[inline(always)]
        fn last_bit_first(self, a: Self::u64s) -> Self::u64s {
            cast(self.avx512f._mm512_slli_epi64::<63>(cast(a)))
        }
        #[inline(always)]
        fn into_exponent(self, a: Self::u64s) -> Self::u64s {
            cast(self.avx512f._mm512_slli_epi64::<52>(cast(a)))
        }
        #[inline(always)]
        fn out_of_exponent(self, a: Self::u64s) -> Self::u64s {
            cast(self.avx512f._mm512_srli_epi64::<52>(cast(a)))
        }
        #[inline(always)]
        fn some64(self, mask: Self::m64s) -> bool {
            mask.0 != 0
        }
        #[inline(always)]
        fn every64(self, mask: Self::m64s) -> bool {
            mask.0 == u8::MAX
        }
        #[inline(always)]
        fn inverse_sqrt64(self, a: Self::f64s) -> Self::f64s {
            // An estimate to 2⁻¹⁴ and one step of fourth order: (1 − e)^−½ = 1 + e/2 + 3e²/8 + 5e³/16 + ….
            let y: Self::f64s = cast(self.avx512f._mm512_rsqrt14_pd(cast(a)));
            let e = self.negate_mul_add_f64s(self.mul_f64s(a, y), y, self.splat_f64s(1.0));
            let series = self.mul_add_f64s(e, self.splat_f64s(0.3125), self.splat_f64s(0.375));
            let series = self.mul_add_f64s(e, series, self.splat_f64s(0.5));
            self.mul_add_f64s(self.mul_f64s(y, e), series, y)
        }
        #[inline(always)]
        fn last_bit_first32(self, a: Self::u32s) -> Self::u32s {
            cast(self.avx512f._mm512_slli_epi32::<31>(cast(a)))
        }
        #[inline(always)]
        fn into_exponent32(self, a: Self::u32s) -> Self::u32s {
            cast(self.avx512f._mm512_slli_epi32::<23>(cast(a)))
        }
        #[inline(always)]
        fn out_of_exponent32(self, a: Self::u32s) -> Self::u32s {
            cast(self.avx512f._mm512_srli_epi32::<23>(cast(a)))
        }
        #[inline(always)]
        fn some32(self, mask: Self::m32s) -> bool {
            mask.0 != 0
        }
        #[inline(always)]
        fn every32(self, mask: Self::m32s) -> bool {
            mask.0 == u16::MAX
        }
    }

    // SAFETY: `here` has the same condition.
    unsafe impl Unit for V3 {
        #[inline(always)]
        unsafe fn here() -> Self {
            // SAFETY: the caller guarantees that the unit exists.
            unsafe { Self::new_unchecked() }
        }
        #[inline(always)]
        fn last_bit_first(self, a: Self::u64s) -> Self::u64s {
            cast(self.avx2._mm256_slli_epi64::<63>(cast(a)))
        }
        #[inline(always)]
        fn into_exponent(self, a: Self::u64s) -> Self::u64s {
            cast(self.avx2._mm256_slli_epi64::<52>(cast(a)))
        }
        #[inline(always)]
        fn out_of_exponent(self, a: Self::u64s) -> Self::u64s {
            cast(self.avx2._mm256_srli_epi64::<52>(cast(a)))
        }
        #[inline(always)]
        fn some64(self, mask: Self::m64s) -> bool {
            self.avx._mm256_movemask_pd(cast(mask)) != 0
        }
        #[inline(always)]
        fn every64(self, mask: Self::m64s) -> bool {
            self.avx._mm256_movemask_pd(cast(mask)) == 0xf
        }
        #[inline(always)]
        fn inverse_sqrt64(self, a: Self::f64s) -> Self::f64s {
            self.div_f64s(self.splat_f64s(1.0), self.sqrt_f64s(a))
        }
        #[inline(always)]
        fn last_bit_first32(self, a: Self::u32s) -> Self::u32s {
            cast(self.avx2._mm256_slli_epi32::<31>(cast(a)))
        }
        #[inline(always)]
        fn into_exponent32(self, a: Self::u32s) -> Self::u32s {
            cast(self.avx2._mm256_slli_epi32::<23>(cast(a)))
        }
        #[inline(always)]
        fn out_of_exponent32(self, a: Self::u32s) -> Self::u32s {
            cast(self.avx2._mm256_srli_epi32::<23>(cast(a)))
        }
        #[inline(always)]
        fn some32(self, mask: Self::m32s) -> bool {
            self.avx._mm256_movemask_ps(cast(mask)) != 0
        }
        #[inline(always)]
        fn every32(self, mask: Self::m32s) -> bool {
            self.avx._mm256_movemask_ps(cast(mask)) == 0xff
        }
    }

    #[inline(always)]
    fn unit<S: Unit>() -> S {
        // SAFETY: only `Work::with` makes packs, and `run` calls it after the unit's own check.
        unsafe { S::here() }
    }

    struct Inside<W, P>(W, core::marker::PhantomData<P>);

    impl<W: Work<P::Element>, P: SimdReal> pulp::WithSimd for Inside<W, P> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            self.0.with::<P>();
        }
    }

    /// Does work compiled for a unit, which exists because there is a value of it, with packs of this type.
    #[inline(always)]
    pub(super) fn run<P: SimdReal, S: Unit>(unit: S, work: impl Work<P::Element>) {
        unit.vectorize(Inside::<_, P>(work, core::marker::PhantomData));
    }

    macro_rules! pack {
        (
            $(#[$doc:meta])* $pack:ident, $float:ident, $bits:ident, $floats:ident, $words:ident, $masks:ident,
            $lanes:ident, fraction $fraction:literal, bias $bias:literal, low $low:literal,
            $add:ident $sub:ident $mul:ident $div:ident $neg:ident $mul_add:ident $sqrt:ident $abs:ident $max:ident
            $min:ident $less:ident $select:ident $splat:ident $splat_word:ident $sum:ident $to_words:ident
            $to_floats:ident $xor:ident $add_words:ident $and:ident $or:ident
            $last_first:ident $into:ident $out_of:ident $some:ident $every:ident $root:ident, single $single:literal
        ) => {
            $(#[$doc])*
            pub struct $pack<S: Unit>(S::$floats);

            impl<S: Unit> Clone for $pack<S> {
                #[inline(always)]
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<S: Unit> Copy for $pack<S> {}

            impl<S: Unit> Add for $pack<S> {
                type Output = Self;
                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    Self(unit::<S>().$add(self.0, other.0))
                }
            }
            impl<S: Unit> Sub for $pack<S> {
                type Output = Self;
                #[inline(always)]
                fn sub(self, other: Self) -> Self {
                    Self(unit::<S>().$sub(self.0, other.0))
                }
            }
            impl<S: Unit> Mul for $pack<S> {
                type Output = Self;
                #[inline(always)]
                fn mul(self, other: Self) -> Self {
                    Self(unit::<S>().$mul(self.0, other.0))
                }
            }
            impl<S: Unit> Div for $pack<S> {
                type Output = Self;
                #[inline(always)]
                fn div(self, other: Self) -> Self {
                    Self(unit::<S>().$div(self.0, other.0))
                }
            }
            impl<S: Unit> Neg for $pack<S> {
                type Output = Self;
                #[inline(always)]
                fn neg(self) -> Self {
                    Self(unit::<S>().$neg(self.0))
                }
            }
            impl<S: Unit> AddAssign for $pack<S> {
                #[inline(always)]
                fn add_assign(&mut self, other: Self) {
                    *self = *self + other;
                }
            }
            impl<S: Unit> SubAssign for $pack<S> {
                #[inline(always)]
                fn sub_assign(&mut self, other: Self) {
                    *self = *self - other;
                }
            }

            impl<S: Unit> $pack<S> {
                #[inline(always)]
                fn bits(self) -> S::$words {
                    unit::<S>().$to_words(self.0)
                }
                #[inline(always)]
                fn of_bits(bits: S::$words) -> Self {
                    Self(unit::<S>().$to_floats(bits))
                }
                /// 2ⁿ for a marked n.
                #[inline(always)]
                fn power(marked: Self) -> Self {
                    let s = unit::<S>();
                    let exponent = s.$into(marked.bits());
                    Self::of_bits(s.$add_words(exponent, s.$splat_word($bias << $fraction)))
                }
            }

            impl<S: Unit> SimdReal for $pack<S> {
                type Element = $float;
                const COUNT: usize = S::$lanes;
                #[inline(always)]
                fn load(from: &[$float]) -> Self {
                    Self(bytemuck::pod_read_unaligned(cast_slice(&from[..S::$lanes])))
                }
                #[inline(always)]
                fn store(self, to: &mut [$float]) {
                    to[..S::$lanes].copy_from_slice(cast_slice(&[self.0]));
                }
                #[inline(always)]
                fn splat(value: $float) -> Self {
                    Self(unit::<S>().$splat(value))
                }
                #[inline(always)]
                fn sum(self) -> $float {
                    unit::<S>().$sum(self.0)
                }
            }

            impl<S: Unit> Real for $pack<S> {
                type Mask = S::$masks;
                const SINGLE: bool = $single;

                #[inline(always)]
                fn of(value: f64) -> Self {
                    Self(unit::<S>().$splat(value as $float))
                }
                #[inline(always)]
                fn mul_add(self, b: Self, c: Self) -> Self {
                    Self(unit::<S>().$mul_add(self.0, b.0, c.0))
                }
                #[inline(always)]
                fn sqrt(self) -> Self {
                    Self(unit::<S>().$sqrt(self.0))
                }
                #[inline(always)]
                fn inverse_sqrt(self) -> Self {
                    Self(unit::<S>().$root(self.0))
                }
                #[inline(always)]
                fn abs(self) -> Self {
                    Self(unit::<S>().$abs(self.0))
                }
                #[inline(always)]
                fn round(self) -> Self {
                    // Numbers from 2⁵¹ (2²²) on exceed the mark; half of them are integers, and a result that needs
                    // the others rounded has lost its digits anyway.
                    let mark = Self::of(Self::MARK);
                    Self::choose(
                        self.abs().less(Self::of(Self::MARK / 3.0)),
                        #[inline(always)] || self + mark - mark,
                        #[inline(always)] || self,
                    )
                }
                #[inline(always)]
                fn max(self, other: Self) -> Self {
                    Self(unit::<S>().$max(other.0, self.0))
                }
                #[inline(always)]
                fn min(self, other: Self) -> Self {
                    Self(unit::<S>().$min(other.0, self.0))
                }
                #[inline(always)]
                fn flip_where_odd(self, marked: Self) -> Self {
                    let s = unit::<S>();
                    Self::of_bits(s.$xor(self.bits(), s.$last_first(marked.bits())))
                }
                #[inline(always)]
                fn times_power_of_two(self, marked: Self) -> Self {
                    // In two steps, as 2ⁿ itself may overflow or underflow.
                    let mark = Self::of(Self::MARK);
                    let n = marked - mark;
                    let half = n.mul_add(Self::of(0.5), mark);
                    let rest = n - (half - mark) + mark;
                    self * Self::power(half) * Self::power(rest)
                }
                #[inline(always)]
                fn split_exponent(self) -> (Self, Self) {
                    const ONE: $bits = $bias << $fraction;
                    // √½ in the bits of its exponent and the first bits of its fraction.
                    const LOW: $bits = $low;
                    let s = unit::<S>();
                    let bits = s.$add_words(self.bits(), s.$splat_word(ONE.wrapping_sub(LOW)));
                    let fraction = s.$and(bits, s.$splat_word((1 << $fraction) - 1));
                    let mantissa = s.$add_words(fraction, s.$splat_word(LOW));
                    // An integer in the last bits of 2⁵² (2²³) increases it by just that integer.
                    let ulps = (1_u64 << $fraction) as $float;
                    let exponent = s.$or(s.$out_of(bits), s.$splat_word(ulps.to_bits()));
                    let bias = Self(s.$splat(ulps + $bias as $float));
                    (Self::of_bits(mantissa), Self::of_bits(exponent) - bias)
                }
                #[inline(always)]
                fn less(self, other: Self) -> S::$masks {
                    unit::<S>().$less(self.0, other.0)
                }
                #[inline(always)]
                fn choose(
                    mask: S::$masks,
                    yes: impl FnOnce() -> Self,
                    no: impl FnOnce() -> Self,
                ) -> Self {
                    let s = unit::<S>();
                    let nothing = Self::of(0.0);
                    let yes = if s.$some(mask) { yes() } else { nothing };
                    let no = if s.$every(mask) { nothing } else { no() };
                    Self(s.$select(mask, yes.0, no.0))
                }
                #[inline(always)]
                fn map(self, function: impl Fn(f64) -> f64) -> Self {
                    let mut all = [self.0];
                    for number in cast_slice_mut::<S::$floats, $float>(&mut all) {
                        *number = function(f64::from(*number)) as $float;
                    }
                    Self(all[0])
                }
                #[inline(always)]
                fn first(self) -> f64 {
                    f64::from(cast_slice::<S::$floats, $float>(&[self.0])[0])
                }
                #[inline(always)]
                fn count(self, most: u32) -> u32 {
                    self.first().count(most)
                }
            }
        };
    }

    pack! {
        /// Doubles: 8 on AVX-512, 4 on AVX2.
        Pack64, f64, u64, f64s, u64s, m64s, F64_LANES, fraction 52, bias 1023, low 0x3fe6_a09e_0000_0000,
        add_f64s sub_f64s mul_f64s div_f64s neg_f64s mul_add_f64s sqrt_f64s abs_f64s max_f64s
        min_f64s less_than_f64s select_f64s splat_f64s splat_u64s reduce_sum_f64s transmute_u64s_f64s
        transmute_f64s_u64s xor_u64s add_u64s and_u64s or_u64s
        last_bit_first into_exponent out_of_exponent some64 every64 inverse_sqrt64, single false
    }

    pack! {
        /// Singles: 16 on AVX-512, 8 on AVX2.
        Pack32, f32, u32, f32s, u32s, m32s, F32_LANES, fraction 23, bias 127, low 0x3f35_04f3,
        add_f32s sub_f32s mul_f32s div_f32s neg_f32s mul_add_f32s sqrt_f32s abs_f32s max_f32s
        min_f32s less_than_f32s select_f32s splat_f32s splat_u32s reduce_sum_f32s transmute_u32s_f32s
        transmute_f32s_u32s xor_u32s add_u32s and_u32s or_u32s
        last_bit_first32 into_exponent32 out_of_exponent32 some32 every32
        inverse_sqrt32, single true
    }
}

/// The vector units of a CPU, as far as they affect sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Units {
    /// One number at a time.
    Plain,
    /// AVX2 and fused multiply–adds: 4 doubles, 8 singles.
    Avx2,
    /// AVX-512: 8 doubles. Singles are as with AVX2.
    Avx512,
}

impl Units {
    /// The units of this CPU.
    #[must_use]
    pub fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if pulp::x86::V4::try_new().is_some() {
                return Self::Avx512;
            }
            if pulp::x86::V3::try_new().is_some() {
                return Self::Avx2;
            }
        }
        Self::Plain
    }

    /// Does work in double precision; on simpler units if the CPU does not have these.
    pub fn run_f64(self, work: impl Work<f64>) {
        #[cfg(target_arch = "x86_64")]
        {
            if self >= Self::Avx512
                && let Some(unit) = pulp::x86::V4::try_new()
            {
                return x86::run::<Pack64<pulp::x86::V4>, _>(unit, work);
            }
            if self >= Self::Avx2
                && let Some(unit) = pulp::x86::V3::try_new()
            {
                return x86::run::<Pack64<pulp::x86::V3>, _>(unit, work);
            }
        }
        work.with::<f64>();
    }

    /// Does work in single precision; on simpler units if the CPU does not have these.
    pub fn run_f32(self, work: impl Work<f32>) {
        #[cfg(target_arch = "x86_64")]
        if self >= Self::Avx2
            && let Some(unit) = pulp::x86::V3::try_new()
        {
            return x86::run::<Pack32<pulp::x86::V3>, _>(unit, work);
        }
        work.with::<f32>();
    }
}
