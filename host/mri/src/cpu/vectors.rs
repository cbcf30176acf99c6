//! Passes over images, with sums in double precision whose order depends on the length alone.

use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Elements of one partial sum, and of one task.
pub(super) const CHUNK: usize = 4096;

/// Running sums of a chunk.
const LANES: usize = 8;

/// Re⟨a, b⟩ = Σ Re(conj(a_n) b_n). Products and sums are in double precision whatever the precision
/// of the data: eight running sums per chunk of 4096 elements, then the chunks from first to last.
#[must_use]
pub fn real_product<T: Real>(a: &[Complex<T>], b: &[Complex<T>]) -> f64 {
    let partial: Vec<f64> = a
        .par_chunks(CHUNK)
        .zip(b.par_chunks(CHUNK))
        .map(|(a, b)| chunk_product(a, b))
        .collect();
    partial.iter().sum()
}

/// Σ |a_n|², summed in the order of [`real_product`].
#[must_use]
pub fn norm_squared<T: Real>(a: &[Complex<T>]) -> f64 {
    real_product(a, a)
}

/// The contribution of one chunk to [`real_product`].
pub(super) fn chunk_product<T: Real>(a: &[Complex<T>], b: &[Complex<T>]) -> f64 {
    let product =
        |a: &Complex<T>, b: &Complex<T>| a.re.wide() * b.re.wide() + a.im.wide() * b.im.wide();
    let (a_steps, a_rest) = a.as_chunks::<LANES>();
    let (b_steps, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a_steps.iter().zip(b_steps) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += product(a, b);
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += product(a, b);
    }
    sums.iter().sum()
}

/// The largest |a_n|; 0 for an empty slice.
#[must_use]
pub fn largest_modulus<T: Real>(a: &[Complex<T>]) -> f64 {
    let chunk = |a: &[Complex<T>]| {
        let squares = a
            .iter()
            .map(|v| v.re.wide() * v.re.wide() + v.im.wide() * v.im.wide());
        squares.fold(0.0, f64::max)
    };
    let largest = a.par_chunks(CHUNK).map(chunk).reduce(|| 0.0, f64::max);
    largest.sqrt()
}

/// `to = f(to, a)`, element by element.
pub(super) fn update<T: Real>(
    to: &mut [Complex<T>],
    a: &[Complex<T>],
    f: impl Fn(Complex<T>, Complex<T>) -> Complex<T> + Sync,
) {
    to.par_chunks_mut(CHUNK)
        .zip(a.par_chunks(CHUNK))
        .for_each(|(to, a)| to.iter_mut().zip(a).for_each(|(to, a)| *to = f(*to, *a)));
}

/// Like [`update`], and returns Σ|to|² of the result in the order of [`norm_squared`].
pub(super) fn update_and_norm<T: Real>(
    to: &mut [Complex<T>],
    a: &[Complex<T>],
    f: impl Fn(Complex<T>, Complex<T>) -> Complex<T> + Sync,
) -> f64 {
    let partial: Vec<f64> = to
        .par_chunks_mut(CHUNK)
        .zip(a.par_chunks(CHUNK))
        .map(|(to, a)| {
            to.iter_mut().zip(a).for_each(|(to, a)| *to = f(*to, *a));
            chunk_product(to, to)
        })
        .collect();
    partial.iter().sum()
}
