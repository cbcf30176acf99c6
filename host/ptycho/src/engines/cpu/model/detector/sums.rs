//! Sums of each pixel over frames, from which the background is updated.

use crate::engines::ranks::Summand;
use crate::model::detector::{SEEN, TERMS, free_terms, seen_terms};
use crate::quality::free_pixels::FREE;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Pixels per task.
const PART: usize = 512;

/// The sums of [`crate::model::detector::TERMS`] of each pixel (column, row).
pub(in crate::engines::cpu) struct PixelSums {
    pub(super) of_pixels: Vec<[f64; TERMS]>,
    /// δ.
    floor: f64,
}

impl PixelSums {
    pub(super) fn zeros(pixels: usize, floor: f64) -> Self {
        Self {
            of_pixels: vec![[0.0; TERMS]; pixels],
            floor,
        }
    }

    /// Adds frames with the background of each pixel, and the measured intensities of the model and
    /// the magnitudes of (frame, column, row), in their order.
    pub(in crate::engines::cpu) fn add_frames<'a, T: Real>(
        &mut self,
        background: impl Fn(usize) -> T + Sync,
        measured: &[T],
        magnitudes: impl Fn(usize) -> &'a [f32] + Sync,
    ) {
        let (pixels, floor) = (self.of_pixels.len(), self.floor);
        let parts = self.of_pixels.par_chunks_mut(PART).enumerate();
        parts.for_each(|(part, sums)| {
            let first = part * PART;
            for (n, measured) in measured.chunks_exact(pixels).enumerate() {
                let magnitudes = &magnitudes(n)[first..];
                let measured = &measured[first..];
                for (i, sums) in sums.iter_mut().enumerate() {
                    let magnitude = magnitudes[i];
                    let background = background(first + i).wide();
                    let model = measured[i].wide();
                    let add = |sums: &mut [f64], terms: &[f64]| {
                        sums.iter_mut().zip(terms).for_each(|(sum, v)| *sum += v);
                    };
                    if magnitude >= 0.0 {
                        let counts = f64::from(magnitude).powi(2);
                        let terms = seen_terms(counts, model, background, floor);
                        add(&mut sums[..SEEN], &terms);
                    } else if magnitude <= FREE {
                        let counts = f64::from(FREE - magnitude).powi(2);
                        add(&mut sums[SEEN..], &free_terms(counts, model, background));
                    }
                }
            }
        });
    }

    pub(super) fn add(&mut self, other: &Self) {
        let pairs = self.of_pixels.iter_mut().zip(&other.of_pixels);
        for (to, from) in pairs {
            to.iter_mut().zip(from).for_each(|(to, v)| *to += v);
        }
    }
}

impl Summand for PixelSums {
    fn plus(mut self, other: Self) -> Self {
        self.add(&other);
        self
    }

    fn encode(&self) -> Vec<u8> {
        let floor = self.floor.to_le_bytes();
        [&floor, bytemuck::cast_slice(self.of_pixels.as_flattened())].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (floor, values) = bytes.split_first_chunk()?;
        let numbers = values.chunks_exact(size_of::<f64>());
        if !numbers.remainder().is_empty() {
            return None;
        }
        let numbers: Vec<f64> = numbers
            .map(|bytes| bytes.try_into().map(f64::from_ne_bytes))
            .collect::<Result<_, _>>()
            .ok()?;
        let (of_pixels, rest) = numbers.as_chunks();
        rest.is_empty().then(|| Self {
            of_pixels: of_pixels.to_vec(),
            floor: f64::from_le_bytes(*floor),
        })
    }
}
