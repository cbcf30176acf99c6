//! Least squares with a non-smooth regulariser, by accelerated proximal gradient steps (A. Beck, M.
//! Teboulle, SIAM J. Imaging Sci. 2 (2009) 183).

use super::vectors::{CHUNK, chunk_product, largest_modulus, norm_squared, update};
use super::{Sense, TotalVariation, Wavelet};
use crate::Grid;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Applications of A that estimate its largest eigenvalue.
pub(crate) const POWER_STEPS: usize = 20;

/// The estimate approaches the eigenvalue from below, so steps are shorter by this factor.
pub(crate) const EIGENVALUE_MARGIN: f64 = 1.05;

/// The proximal step of a regulariser.
pub enum Regulariser<T> {
    /// Total variation, with the dual variables of every image.
    TotalVariation(Vec<TotalVariation<T>>),
    /// Soft thresholds of wavelet coefficients.
    Wavelet(Wavelet<T>),
}

impl<T: Real> Regulariser<T> {
    /// Total variation of `images` images on `grid`.
    #[must_use]
    pub fn total_variation(grid: Grid, images: usize) -> Self {
        Self::TotalVariation((0..images).map(|_| TotalVariation::new(grid)).collect())
    }

    /// Wavelets of images on `grid`.
    #[must_use]
    pub fn wavelet(grid: Grid) -> Self {
        Self::Wavelet(Wavelet::new(grid))
    }

    /// Replaces each z of `images` (image, voxel) by the x that minimises ½|x − z|² + `weight`
    /// R(x).
    fn proximal(&mut self, images: &mut [Complex<T>], voxels: usize, weight: f64) {
        for (number, image) in images.chunks_exact_mut(voxels).enumerate() {
            match self {
                Self::TotalVariation(all) => all[number].proximal(image, weight),
                Self::Wavelet(wavelet) => wavelet.proximal(image, weight),
            }
        }
    }
}

/// The state between two iterations, with x = 0 at first.
///
/// The solution is the x that minimises ½⟨x, Ax⟩ − Re⟨b, x⟩ + μ R(x), with A = EᴴWE, b = EᴴWd and μ
/// in units of the largest |b|. With the step s = 1/(1.05 L), where L is the largest eigenvalue of
/// A after 20 steps of the power method from b, an iteration is
///
/// 1. z = y − s (Ay − b);
/// 2. x' = the proximal step of z with weight s μ;
/// 3. A x';
/// 4. t' = (1 + √(1 + 4t²))/2, m = (t − 1)/t', t = 1 at first;
/// 5. y = x' + m (x' − x), and by linearity Ay = Ax' + m (Ax' − Ax), with |b − Ax'|².
pub struct Fista<T> {
    regulariser: Regulariser<T>,
    voxels: usize,
    b: Vec<Complex<T>>,
    x: Vec<Complex<T>>,
    a_x: Vec<Complex<T>>,
    y: Vec<Complex<T>>,
    a_y: Vec<Complex<T>>,
    /// z, then x'
    next: Vec<Complex<T>>,
    a_next: Vec<Complex<T>>,
    step: f64,
    mu: f64,
    t: f64,
    start_squared: f64,
}

/// L: |A v|/|v| after [`POWER_STEPS`] steps v ← A v/|A v| from `b`; 0 for zero data.
fn largest_eigenvalue<T: Real>(sense: &mut Sense<T>, b: &[Complex<T>]) -> f64 {
    let mut length = norm_squared(b).sqrt();
    let (mut v, mut image) = (b.to_vec(), b.to_vec());
    for _ in 0..POWER_STEPS {
        if length == 0.0 {
            break;
        }
        let factor = T::of(1.0 / length);
        update(&mut v, &image, |_, a| a.scale(factor));
        sense.normal(&v, &mut image);
        length = norm_squared(&image).sqrt();
    }
    length
}

impl<T: Real> Fista<T> {
    /// Starts from the right-hand side `b` = EᴴWd, (voxel) or (coil, voxel), with `lambda` in units
    /// of its largest modulus.
    #[must_use]
    pub fn new(
        sense: &mut Sense<T>,
        regulariser: Regulariser<T>,
        voxels: usize,
        b: Vec<Complex<T>>,
        lambda: f64,
    ) -> Self {
        let zero = vec![Complex::default(); b.len()];
        let largest = largest_eigenvalue(sense, &b);
        let start_squared = norm_squared(&b);
        Self {
            regulariser,
            voxels,
            step: if start_squared > 0.0 && largest > 0.0 {
                1.0 / (EIGENVALUE_MARGIN * largest)
            } else {
                0.0
            },
            mu: lambda * largest_modulus(&b),
            b,
            x: zero.clone(),
            a_x: zero.clone(),
            y: zero.clone(),
            a_y: zero.clone(),
            next: zero.clone(),
            a_next: zero,
            t: 1.0,
            start_squared,
        }
    }

    /// Does one iteration and returns |b − Ax|²/|b|² after it, 0 for zero data.
    pub fn step(&mut self, sense: &mut Sense<T>) -> f64 {
        let step = T::of(self.step);
        let around = self.y.par_chunks(CHUNK).zip(self.a_y.par_chunks(CHUNK));
        self.next
            .par_chunks_mut(CHUNK)
            .zip(around.zip(self.b.par_chunks(CHUNK)))
            .for_each(|(z, ((y, a_y), b))| {
                for (z, ((y, a_y), b)) in z.iter_mut().zip(y.iter().zip(a_y).zip(b)) {
                    *z = *y - (*a_y - *b).scale(step);
                }
            });
        let weight = self.step * self.mu;
        self.regulariser
            .proximal(&mut self.next, self.voxels, weight);
        sense.normal(&self.next, &mut self.a_next);
        let t = f64::midpoint(1.0, (1.0 + 4.0 * self.t * self.t).sqrt());
        let momentum = T::of((self.t - 1.0) / t);
        self.t = t;
        extrapolate(&mut self.y, &self.next, &mut self.x, momentum);
        extrapolate(&mut self.a_y, &self.a_next, &mut self.a_x, momentum);
        if self.start_squared == 0.0 {
            return 0.0;
        }
        self.residual_squared() / self.start_squared
    }

    /// |b − Ax|², summed in the order of all other products.
    fn residual_squared(&self) -> f64 {
        let each = self.b.par_chunks(CHUNK).zip(self.a_x.par_chunks(CHUNK));
        let partial: Vec<f64> = each
            .map(|(b, a_x)| {
                let r: Vec<_> = b.iter().zip(a_x).map(|(b, a_x)| *b - *a_x).collect();
                chunk_product(&r, &r)
            })
            .collect();
        partial.iter().sum()
    }

    /// b − EᴴWEx.
    pub(super) fn rest(&self) -> impl Iterator<Item = Complex<T>> {
        self.b.iter().zip(&self.a_x).map(|(b, a_x)| *b - *a_x)
    }

    /// x.
    #[must_use]
    pub fn image(&self) -> &[Complex<T>] {
        &self.x
    }
}

/// `extrapolated` = `next` + m (`next` − `now`), then `now` = `next`.
fn extrapolate<T: Real>(
    extrapolated: &mut [Complex<T>],
    next: &[Complex<T>],
    now: &mut [Complex<T>],
    momentum: T,
) {
    extrapolated
        .par_chunks_mut(CHUNK)
        .zip(now.par_chunks_mut(CHUNK))
        .zip(next.par_chunks(CHUNK))
        .for_each(|((extrapolated, now), next)| {
            for ((extrapolated, now), next) in extrapolated.iter_mut().zip(now).zip(next) {
                *extrapolated = *next + (*next - *now).scale(momentum);
                *now = *next;
            }
        });
}
