//! What the kernels that hold frames in registers read, and χ by its definition.

use super::super::fourier::{deviation, mean, model_metrics};
use super::super::shape::{Shape, Source};
use crate::MAGNITUDE_FLOOR;
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_cuda::gpu::{Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_selftest::bench::CaseDevice;
use warpstride_selftest::transform::reference_transform;

/// What the fused kernels read.
pub(super) struct Scan {
    shape: Shape,
    pub(super) probe: Vec<Complex32>,
    pub(super) object: Vec<Complex32>,
    pub(super) corners: Vec<[u32; 2]>,
    pub(super) magnitudes: Vec<f32>,
    pub(super) scales: Vec<f32>,
    pub(super) roots: Vec<Complex32>,
}

/// A scan on a device.
pub(super) struct ScanOn<M: Device> {
    pub(super) probe: M::Buffer<Complex32>,
    pub(super) object: M::Buffer<Complex32>,
    pub(super) corners: M::Buffer<[u32; 2]>,
    pub(super) magnitudes: M::Buffer<f32>,
    pub(super) scales: M::Buffer<f32>,
    pub(super) roots: M::Buffer<Complex32>,
}

/// The largest error of the frames' metrics.
pub(super) fn worst_metric<M: Device>(
    on: CaseDevice<'_, M>,
    found: &[M::Buffer<f32>; 5],
    expected: &[Vec<f64>; 5],
) -> Result<f64> {
    let mut worst = 0.0_f64;
    for (found, expected) in found.iter().zip(expected) {
        worst = worst.max(on.error(found, expected)?);
    }
    Ok(worst)
}

impl Scan {
    pub(super) fn on<M: Device>(&self, on: CaseDevice<'_, M>) -> Result<ScanOn<M>> {
        Ok(ScanOn {
            probe: on.upload(&self.probe)?,
            object: on.upload(&self.object)?,
            corners: on.upload(&self.corners)?,
            magnitudes: on.upload(&self.magnitudes)?,
            scales: on.upload(&self.scales)?,
            roots: on.upload(&self.roots)?,
        })
    }

    pub(super) fn new(source: &mut Source, shape: Shape) -> Self {
        let side = shape.rows;
        let root = |k: u32| {
            let value = Complex::cis(-TAU * f64::from(k) / f64::from(side));
            Complex32::new(value.re as f32, value.im as f32)
        };
        Self {
            shape,
            probe: source.complex(shape.probe_elements()),
            object: source.complex(shape.object_elements()),
            corners: source.corners(&shape),
            magnitudes: source.magnitudes_with_zeros(&shape),
            scales: source.scales(&shape),
            roots: (0..side).map(root).collect(),
        }
    }

    /// χ of a frame (mode, row, column) and its metrics: errors, moved, photon, residual, free.
    /// `probe` is (mode, row, column).
    pub(super) fn chi(
        &self,
        frame: usize,
        probe: &[Complex<f64>],
        object: &[Complex<f64>],
    ) -> (Vec<Complex<f64>>, [f64; 5]) {
        let (side, pixels) = (self.shape.rows as usize, self.shape.pixels());
        let model = |(at, p): (usize, &Complex<f64>)| p * object[self.place(frame, at % pixels)];
        let mut values: Vec<Complex<f64>> = probe.iter().enumerate().map(model).collect();
        for mode in values.chunks_mut(pixels) {
            reference_transform(mode, [side, side], Direction::Forward);
        }
        let scale = 1.0 / pixels as f64;
        let factor = scale * f64::from(self.scales[frame]);
        let given = &self.magnitudes[frame * pixels..][..pixels];
        let modelled: Vec<[f64; 2]> = (given.iter().enumerate())
            .map(|(pixel, magnitude)| {
                let modes = values.iter().skip(pixel).step_by(pixels);
                let power: f64 = modes.map(|value| value.norm_sqr()).sum();
                [power * factor, f64::from(*magnitude)]
            })
            .collect();
        let mut change = 0.0;
        for (at, value) in values.iter_mut().enumerate() {
            let [intensity, measured] = modelled[at % pixels];
            let root = intensity.sqrt();
            *value *= if measured < 0.0 {
                0.0
            } else {
                (measured - root) / (root + MAGNITUDE_FLOOR) * scale
            };
            change += value.norm_sqr();
        }
        for mode in values.chunks_mut(pixels) {
            reference_transform(mode, [side, side], Direction::Inverse);
        }
        let [photon, residual, free] = model_metrics(&modelled);
        let moved = change * pixels as f64;
        (
            values,
            [mean(&modelled, deviation), moved, photon, residual, free],
        )
    }

    /// The object's pixel under a pixel of a frame.
    pub(super) fn place(&self, frame: usize, pixel: usize) -> usize {
        let side = self.shape.columns as usize;
        let [top, left] = self.corners[frame].map(|v| v as usize);
        (top + pixel / side) * self.shape.object_columns as usize + left + pixel % side
    }
}
