//! Products of complex numbers in vectors. CPUs with fused multiply-add use it, so the bits depend
//! on the instruction set, as those of rustfft do; they do not depend on where a row begins.

use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::Complex;
use pulp::Simd;
use warpstride_fft::Real;

/// `to = a·b`, element by element; the slices have the same length.
#[inline(always)]
pub(in crate::engines::cpu) fn multiply<S: Simd, T: Real>(
    simd: S,
    to: &mut [Complex<T>],
    a: &[Complex<T>],
    b: &[Complex<T>],
) {
    if size_of::<T>() == size_of::<f32>() {
        single::multiply(simd, cast_slice_mut(to), cast_slice(a), cast_slice(b));
    } else {
        double::multiply(simd, cast_slice_mut(to), cast_slice(a), cast_slice(b));
    }
}

/// `sums += conj(a)·b`, element by element; the slices have the same length.
#[inline(always)]
pub(in crate::engines::cpu) fn add_conjugate_products<S: Simd, T: Real>(
    simd: S,
    sums: &mut [Complex<T>],
    a: &[Complex<T>],
    b: &[Complex<T>],
) {
    if size_of::<T>() == size_of::<f32>() {
        single::add_conjugate_products(simd, cast_slice_mut(sums), cast_slice(a), cast_slice(b));
    } else {
        double::add_conjugate_products(simd, cast_slice_mut(sums), cast_slice(a), cast_slice(b));
    }
}

macro_rules! of_precision {
    ($module:ident, $real:ty, $vectors:ident, $vectors_mut:ident, $multiply:ident, $add:ident) => {
        mod $module {
            use super::{Complex, Simd};

            #[inline(always)]
            pub(in crate::engines::cpu) fn multiply<S: Simd>(
                simd: S,
                to: &mut [Complex<$real>],
                a: &[Complex<$real>],
                b: &[Complex<$real>],
            ) {
                let (to, to_rest) = S::$vectors_mut(to);
                let ((a, a_rest), (b, b_rest)) = (S::$vectors(a), S::$vectors(b));
                for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
                    *to = simd.$multiply(*a, *b);
                }
                for ((to, a), b) in to_rest.iter_mut().zip(a_rest).zip(b_rest) {
                    *to = a * b;
                }
            }

            #[inline(always)]
            pub(in crate::engines::cpu) fn add_conjugate_products<S: Simd>(
                simd: S,
                sums: &mut [Complex<$real>],
                a: &[Complex<$real>],
                b: &[Complex<$real>],
            ) {
                let (sums, sums_rest) = S::$vectors_mut(sums);
                let ((a, a_rest), (b, b_rest)) = (S::$vectors(a), S::$vectors(b));
                for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                    *sum = simd.$add(*a, *b, *sum);
                }
                for ((sum, a), b) in sums_rest.iter_mut().zip(a_rest).zip(b_rest) {
                    *sum += a.conj() * b;
                }
            }
        }
    };
}

of_precision!(
    single,
    f32,
    as_simd_c32s,
    as_mut_simd_c32s,
    mul_e_c32s,
    conj_mul_add_e_c32s
);
of_precision!(
    double,
    f64,
    as_simd_c64s,
    as_mut_simd_c64s,
    mul_e_c64s,
    conj_mul_add_e_c64s
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::cpu::arrays::simd::vectorised;

    struct Products<'a, T>(
        [&'a mut [Complex<T>]; 2],
        &'a [Complex<T>],
        &'a [Complex<T>],
    );

    impl<T: Real> pulp::WithSimd for Products<'_, T> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let Self([products, sums], a, b) = self;
            multiply(simd, products, a, b);
            add_conjugate_products(simd, sums, a, b);
        }
    }

    fn numbers<T: Real>(n: usize, seed: f64) -> Vec<Complex<T>> {
        let part = |x: f64| T::of(x.sin());
        (0..n)
            .map(|i| Complex::new(part(i as f64 * 1.7 + seed), part(i as f64 * 0.3 - seed)))
            .collect()
    }

    fn products_are_those_of_numbers<T: Real>(tolerance: f64) {
        for n in [0, 1, 3, 4, 8, 21, 64] {
            let (a, b) = (numbers::<T>(n, 0.4), numbers::<T>(n, 1.3));
            let start = numbers::<T>(n, 2.2);
            let mut products = start.clone();
            let mut sums = start.clone();
            vectorised(Products([&mut products, &mut sums], &a, &b));
            for i in 0..n {
                let product = products[i] - a[i] * b[i];
                let sum = sums[i] - (start[i] + a[i].conj() * b[i]);
                assert!(product.norm_sqr().wide() < tolerance, "{i} of {n}");
                assert!(sum.norm_sqr().wide() < tolerance, "{i} of {n}");
            }
        }
    }

    #[test]
    fn products_in_vectors_are_those_of_numbers() {
        products_are_those_of_numbers::<f32>(1e-12);
        products_are_those_of_numbers::<f64>(1e-30);
    }
}
