//! The variations of the first probe mode, and the probes of single frames; see
//! [`crate::model::variable_probe`].

use super::shift::{PointRamps, Scratch, shifted, spectra};
use super::variations::Variations;
use crate::Step;
use crate::engines::cpu::engine::CpuEngine;
use crate::model::variable_probe::{Rotation, strongest};
use num_complex::Complex;
use std::borrow::Cow;
use warpstride_fft::{Real, TransposedFft2};

/// The probes of single frames.
pub(in crate::engines::cpu) struct FrameProbes<'a, T: Real> {
    probe: &'a [Complex<T>],
    pixels: usize,
    /// Unnormalised transforms (mode, column, row) of the probe.
    spectra: Vec<Complex<T>>,
    /// The variations and the transforms (k, column, row) of their shapes.
    variations: Option<(&'a Variations<T>, Vec<Complex<T>>)>,
}

impl<'a, T: Real> FrameProbes<'a, T> {
    pub(in crate::engines::cpu) fn new(engine: &'a CpuEngine<T>) -> Self {
        let CpuEngine {
            layout,
            fft,
            probe,
            variations,
            ..
        } = engine;
        let pixels = layout.pixels();
        let variations = variations.as_ref().filter(|of| !of.forming);
        Self {
            probe,
            pixels,
            spectra: spectra(probe, pixels, fft),
            variations: variations.map(|of| (of, spectra(&of.shapes, pixels, fft))),
        }
    }

    /// Unnormalised transforms (mode, column, row) of a frame's probe.
    pub(in crate::engines::cpu) fn spectra_of(&self, frame: usize) -> Cow<'_, [Complex<T>]> {
        let Some((variations, shapes)) = &self.variations else {
            return Cow::Borrowed(&self.spectra);
        };
        let mut own = self.spectra.clone();
        self.add(variations, shapes, frame, &mut own);
        Cow::Owned(own)
    }

    /// Writes a frame's probe (mode, row, column) to `to`: shifted by `ramps`, or as it is.
    pub(in crate::engines::cpu) fn write(
        &self,
        frame: usize,
        ramps: Option<&PointRamps<T>>,
        to: &mut [Complex<T>],
        fft: &TransposedFft2<T>,
        scratch: &mut Scratch<T>,
    ) {
        if let Some(ramps) = ramps {
            shifted(&self.spectra_of(frame), ramps, to, fft, scratch);
            return;
        }
        to.copy_from_slice(self.probe);
        if let Some((variations, _)) = &self.variations {
            self.add(variations, &variations.shapes, frame, to);
        }
    }

    /// Adds Σ_k c_jk U_k to the first layer.
    fn add(&self, of: &Variations<T>, shapes: &[Complex<T>], frame: usize, to: &mut [Complex<T>]) {
        let layers = shapes.chunks_exact(self.pixels);
        for (c, shape) in of.of_frame(frame, self.pixels).iter().zip(layers) {
            let c = T::of(*c);
            for (to, u) in to.iter_mut().zip(shape) {
                *to += u.scale(c);
            }
        }
    }
}

impl<T: Real> CpuEngine<T> {
    /// Prepares the variations for a step; the first step that updates them forms them, or those
    /// that an earlier result does not have.
    pub(in crate::engines::cpu) fn begin_variations(&mut self, step: &Step) {
        if !step.update_variations {
            return;
        }
        let requested = self.variation_count;
        let sizes = [self.layout.pixels(), self.layout.corners.len()];
        let Some(of) = &mut self.variations else {
            self.variations = Some(Variations::formed(step.seed, [0, requested], sizes));
            return;
        };
        let count = of.count(sizes[0]);
        of.strongest = strongest(&of.coefficients, count);
        of.further = (count < requested)
            .then(|| Box::new(Variations::formed(step.seed, [count, requested], sizes)));
    }

    /// Applies the supports to the shapes, and makes them orthonormal and ordered by power after a
    /// step that has updated them, and adds the mean of the variations to the probe.
    pub(in crate::engines::cpu) fn end_variations(&mut self, step: &Step) {
        let pixels = self.layout.pixels();
        let power: f64 = self.probe[..pixels]
            .iter()
            .map(|p| p.norm_sqr().wide())
            .sum();
        let Some(of) = self.variations.as_mut().filter(|_| step.update_variations) else {
            return;
        };
        let shape = [self.layout.rows, self.layout.columns];
        of.constrain(step, shape);
        if let Some(further) = &mut of.further {
            further.constrain(step, shape);
        }
        let count = of.count(pixels);
        let layers = || of.shapes.chunks_exact(pixels);
        let inner = |a: &[Complex<T>], b: &[Complex<T>]| -> f64 {
            let product = |(a, b): (&Complex<T>, &Complex<T>)| {
                a.re.wide() * b.re.wide() + a.im.wide() * b.im.wide()
            };
            a.iter().zip(b).map(product).sum()
        };
        let gram: Vec<f64> = layers()
            .flat_map(|a| layers().map(move |b| inner(a, b)))
            .collect();
        let weights = (!of.forming).then_some(&of.coefficients[..]);
        let Some(found) = Rotation::new(&gram, weights) else {
            // Values that are not finite end the run.
            return;
        };
        if of.forming {
            of.coefficients.fill(0.0);
            of.shape_changes.fill(Complex::default());
            of.forming = false;
        } else {
            for (mean, shape) in found.mean.iter().zip(of.shapes.chunks_exact(pixels)) {
                let mean = T::of(*mean);
                let pairs = self.probe.iter_mut().zip(shape);
                pairs.for_each(|(p, u)| *p += u.scale(mean));
            }
            let (values, changes) = (&mut of.coefficients, &mut of.coefficient_changes);
            found.coefficients(values, changes, power);
        }
        for layers in [&mut of.shapes, &mut of.shape_changes] {
            let before = layers.clone();
            for (new, to) in layers.chunks_exact_mut(pixels).enumerate() {
                to.fill(Complex::default());
                for old in 0..count {
                    let share = T::of(found.shapes[new * count + old]);
                    let from = &before[old * pixels..][..pixels];
                    let pairs = to.iter_mut().zip(from);
                    pairs.for_each(|(to, v)| *to += v.scale(share));
                }
            }
        }
        of.take_further(pixels);
    }

    /// Multiplies the variations by `factor`, as the probe.
    pub(in crate::engines::cpu) fn scale_variations(&mut self, factor: f64) {
        if let Some(of) = &mut self.variations {
            let all = of
                .coefficients
                .iter_mut()
                .chain(&mut of.coefficient_changes);
            all.for_each(|c| *c *= factor);
        }
    }
}
