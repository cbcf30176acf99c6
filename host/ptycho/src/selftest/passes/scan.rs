//! The input of a case, and what a step makes of it by its definition.

use crate::selftest::fourier::{deviation, mean};
use crate::selftest::shape::{PixelIndices, Shape, Source};
use crate::selftest::waves;
use crate::{GpuWaves, MAGNITUDE_FLOOR};
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_fft::Fft2;
use warpstride_selftest::bench::wide;

/// First frame and number of frames of each group, the last one shorter.
pub(super) fn groups(shape: &Shape) -> Vec<[u32; 2]> {
    let group = (shape.frames / 3 + 1).max(2);
    let starts = (0..shape.frames.max(1)).step_by(group as usize);
    starts
        .map(|first| [first, group.min(shape.frames - first)])
        .collect()
}

pub(super) fn narrow(values: &[Complex<f64>]) -> Vec<Complex32> {
    let one = |v: &Complex<f64>| Complex32::new(v.re as f32, v.im as f32);
    values.iter().map(one).collect()
}

/// Input arrays of a case.
pub(super) struct Scan {
    pub(super) shape: Shape,
    pub(super) stored: GpuWaves,
    pub(super) psi: Vec<Complex32>,
    pub(super) probe: Vec<Complex32>,
    pub(super) object: Vec<Complex32>,
    pub(super) magnitudes: Vec<f32>,
    pub(super) corners: Vec<[u32; 2]>,
    pub(super) weights: Vec<f32>,
}

/// What a step should leave.
pub(super) struct After {
    pub(super) psi: Vec<Complex<f64>>,
    pub(super) errors: Vec<f64>,
}

impl Scan {
    pub(super) fn new(shape: Shape, stored: GpuWaves) -> Self {
        let mut source = Source::new("passes", &shape);
        let magnitudes = source.magnitudes(&shape);
        let weight = |frame: &[f32]| {
            let valid = frame.iter().filter(|m| **m >= 0.0).count();
            if valid > 0 { 1.0 / valid as f32 } else { 0.0 }
        };
        Self {
            psi: waves::stored(source.complex(shape.wave_elements()), stored),
            probe: source.complex(shape.probe_elements()),
            object: source.complex(shape.object_elements()),
            corners: source.corners(&shape),
            weights: magnitudes.chunks(shape.pixels()).map(weight).collect(),
            magnitudes,
            shape,
            stored,
        }
    }

    /// `(1−c) ψ + c P·O`
    pub(super) fn reflected(&self, c: f32) -> Vec<Complex<f64>> {
        let c = f64::from(c);
        let wave = |at: PixelIndices| {
            let exit = wide(self.probe[at.probe]) * wide(self.object[at.object]);
            exit * c + wide(self.psi[at.wave]) * (1.0 - c)
        };
        self.shape.indices(&self.corners).map(wave).collect()
    }

    /// (Σ|f|² over the modes, m) of a frame's pixels.
    pub(super) fn pixels(&self, frame: usize, spectra: &[Complex<f64>]) -> Vec<[f64; 2]> {
        let pixels = self.shape.pixels();
        let measured = self.magnitudes[frame * pixels..].iter().take(pixels);
        let power = |pixel: usize| -> f64 {
            let modes = spectra.iter().skip(pixel).step_by(pixels);
            modes.map(Complex::norm_sqr).sum()
        };
        let pairs = measured.enumerate();
        pairs
            .map(|(pixel, m)| [power(pixel), f64::from(*m)])
            .collect()
    }

    /// The projection of the spectra of all frames with a bound, and the errors.
    pub(super) fn replace(&self, spectra: &mut [Complex<f64>], bound: f32) -> Vec<f64> {
        let elements = self.shape.probe_elements();
        let frames = spectra.chunks_mut(elements).enumerate();
        let one = |(frame, spectra): (usize, &mut [Complex<f64>])| {
            let modelled = self.pixels(frame, spectra);
            let error = mean(&modelled, deviation);
            let kept = match f64::from(bound) {
                0.0 => 0.0,
                bound if error <= bound => 1.0,
                bound => (bound / error).sqrt(),
            };
            for (f, [power, measured]) in spectra.iter_mut().zip(modelled.iter().cycle()) {
                if *measured >= 0.0 {
                    *f *= kept + (1.0 - kept) * measured / (power.sqrt() + MAGNITUDE_FLOOR);
                }
            }
            error
        };
        frames.map(one).collect()
    }

    /// The step by its definition, with transforms of whole frames.
    pub(super) fn after(&self, bound: f32, coefficients: [f32; 4]) -> After {
        let [keep, a, b, _] = coefficients.map(f64::from);
        let shape = self.shape;
        let mut fft = Fft2::<f64>::new(shape.rows as usize, shape.columns as usize);
        let mut waves = self.reflected(coefficients[3]);
        let layers = waves.chunks_mut(shape.pixels());
        layers.for_each(|layer| fft.forward(layer));
        let errors = self.replace(&mut waves, bound);
        let layers = waves.chunks_mut(shape.pixels());
        layers.for_each(|layer| fft.inverse(layer));
        let exit = self.reflected(1.0);
        let next = |at: PixelIndices| {
            wide(self.psi[at.wave]) * keep + exit[at.wave] * a + waves[at.wave] * b
        };
        After {
            psi: shape.indices(&self.corners).map(next).collect(),
            errors,
        }
    }

    /// The object's sums and Σ|Δψ|² of the new waves `psi`.
    pub(super) fn sums(&self, psi: &[Complex<f64>]) -> (Vec<Complex<f64>>, Vec<f64>) {
        let mut sums = vec![Complex::default(); self.shape.object_elements()];
        let mut moved = vec![0.0; self.shape.frames as usize];
        for at in self.shape.indices(&self.corners) {
            sums[at.object] += wide(self.probe[at.probe]).conj() * psi[at.wave];
            moved[at.frame] += (psi[at.wave] - wide(self.psi[at.wave])).norm_sqr();
        }
        (sums, moved)
    }
}
