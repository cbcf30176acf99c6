//! Sensitivity encoding with several coils: E = F S, EᴴWE ρ = Σ_c conj(S_c) FᴴWF S_c ρ.
//!
//! With several sets of maps each set s has an image ρ_s, and the coil sees Σ_s S_sc ρ_s.

use super::toeplitz::Toeplitz;
use super::vectors::CHUNK;
use crate::{Encoding, Grid};
use ndarray::{Array3, ArrayView2, Axis};
use num_complex::Complex;
use rayon::prelude::*;
use std::sync::Arc;
use warpstride_fft::Real;

/// FᴴWF, applied to each of several images.
pub enum Gram<T: Real> {
    /// By the forward and the adjoint operator.
    Encoded {
        /// F.
        encoding: Arc<dyn Encoding<T>>,
        /// W, one per sample; `None`: 1.
        weights: Option<Vec<T>>,
    },
    /// By one convolution.
    Toeplitz(Arc<Toeplitz<T>>),
}

impl<T: Real> Gram<T> {
    /// The voxels.
    #[must_use]
    pub fn grid(&self) -> Grid {
        match self {
            Self::Encoded { encoding, .. } => encoding.grid(),
            Self::Toeplitz(toeplitz) => toeplitz.grid(),
        }
    }

    /// Replaces `images` (image, voxel) by FᴴWF `images`.
    pub fn apply(&self, images: &mut [Complex<T>]) {
        match self {
            Self::Toeplitz(toeplitz) => toeplitz.apply(images),
            Self::Encoded { encoding, weights } => {
                let batch = images.len() / encoding.grid().voxels();
                let mut samples = vec![Complex::default(); batch * encoding.samples()];
                encoding.forward(images, &mut samples);
                weigh(weights.as_deref(), &mut samples);
                encoding.adjoint(&samples, images);
            }
        }
    }
}

/// Replaces `samples` (image, sample) by W `samples`.
pub(super) fn weigh<T: Real>(weights: Option<&[T]>, samples: &mut [Complex<T>]) {
    let Some(weights) = weights else { return };
    samples.par_chunks_mut(weights.len()).for_each(|samples| {
        for (sample, weight) in samples.iter_mut().zip(weights) {
            *sample = sample.scale(*weight);
        }
    });
}

/// E = F S on the CPU. Without maps every coil has an image of its own, with E = F for each of
/// them.
pub struct Sense<T: Real> {
    gram: Gram<T>,
    /// S, (set, coil, voxel)
    maps: Option<Vec<Complex<T>>>,
    /// Sets of maps.
    sets: usize,
    /// Σ_s S_sc ρ_s, then FᴴWF of it, (coil, voxel)
    coil_images: Vec<Complex<T>>,
}

impl<T: Real> Sense<T> {
    /// E with the maps S (set, coil, voxel), if given; their voxels are those of the `gram`.
    #[must_use]
    pub fn new(gram: Gram<T>, maps: Option<&Array3<Complex<f64>>>) -> Self {
        let narrow = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
        let sets = maps.map_or(1, |maps| maps.dim().0);
        let maps: Option<Vec<_>> = maps.map(|maps| maps.iter().map(narrow).collect());
        let length = maps.as_ref().map_or(0, |maps| maps.len() / sets.max(1));
        Self {
            gram,
            maps,
            sets,
            coil_images: vec![Complex::default(); length],
        }
    }

    /// `out = EᴴWE image`: (set, voxel), or (coil, voxel) without maps.
    pub fn normal(&mut self, image: &[Complex<T>], out: &mut [Complex<T>]) {
        let Some(maps) = &self.maps else {
            out.copy_from_slice(image);
            self.gram.apply(out);
            return;
        };
        let voxels = image.len() / self.sets;
        let coils = self.coil_images.len() / voxels;
        self.coil_images
            .par_chunks_mut(voxels)
            .enumerate()
            .for_each(|(coil, coil_image)| {
                for (set, image) in image.chunks_exact(voxels).enumerate() {
                    let map = &maps[(set * coils + coil) * voxels..][..voxels];
                    for ((to, s), rho) in coil_image.iter_mut().zip(map).zip(image) {
                        let product = *s * *rho;
                        *to = if set == 0 { product } else { *to + product };
                    }
                }
            });
        self.gram.apply(&mut self.coil_images);
        combine(maps, &self.coil_images, out);
    }

    /// `out = Eᴴ d`, given `coil_images` = Fᴴ of the coils' samples d, (coil, voxel): (set, voxel),
    /// or unchanged (coil, voxel) without maps.
    pub fn combine(&self, coil_images: &[Complex<T>], out: &mut [Complex<T>]) {
        match &self.maps {
            Some(maps) => combine(maps, coil_images, out),
            None => out.copy_from_slice(coil_images),
        }
    }
}

/// `out_s = Σ_c conj(S_sc) coil_images_c`, summed from the first coil to the last.
fn combine<T: Real>(maps: &[Complex<T>], coil_images: &[Complex<T>], out: &mut [Complex<T>]) {
    let length = coil_images.len();
    let voxels = out.len() / (maps.len() / length);
    for (maps, out) in maps.chunks_exact(length).zip(out.chunks_exact_mut(voxels)) {
        combine_set(maps, coil_images, out);
    }
}

fn combine_set<T: Real>(maps: &[Complex<T>], coil_images: &[Complex<T>], out: &mut [Complex<T>]) {
    let voxels = out.len();
    out.par_chunks_mut(CHUNK)
        .enumerate()
        .for_each(|(chunk, out)| {
            let part = chunk * CHUNK..chunk * CHUNK + out.len();
            out.fill(Complex::default());
            let coils = maps
                .chunks_exact(voxels)
                .zip(coil_images.chunks_exact(voxels));
            for (map, coil_image) in coils {
                let coil = map[part.clone()].iter().zip(&coil_image[part.clone()]);
                for (sum, (s, y)) in out.iter_mut().zip(coil) {
                    *sum += s.conj() * *y;
                }
            }
        });
}

/// Σ_c |S_c|² of one set of `maps` (coil, voxel) for each voxel.
#[must_use]
pub fn intensity(maps: ArrayView2<'_, Complex<f64>>) -> Vec<f64> {
    maps.axis_iter(Axis(1))
        .map(|coils| coils.iter().map(Complex::norm_sqr).sum())
        .collect()
}

/// S/√Σ|S|² of each set of `maps` (set, coil, voxel), 0 where all of S is 0. With these maps the
/// unknown is √Σ|S|² ρ, whose noise is uniform.
#[must_use]
pub fn intensity_corrected(maps: &Array3<Complex<f64>>) -> Array3<Complex<f64>> {
    let mut corrected = maps.clone();
    for mut set in corrected.outer_iter_mut() {
        let intensity = intensity(set.view());
        for mut coil in set.rows_mut() {
            for (s, square) in coil.iter_mut().zip(&intensity) {
                *s = if *square > 0.0 {
                    *s / square.sqrt()
                } else {
                    Complex::default()
                };
            }
        }
    }
    corrected
}
