//! Σ ½ w A1² of Gaussian noise along a line in a thick specimen: the part of the curvature that is
//! never negative, of which the first step is made where the whole curvature is not positive
//! (cpu/model/multislice/likelihood.rs).
//!
//! Launches of detectors with blur give it. `ptycho_detector_line` writes the orders A0, A1, A2, 0,
//! 0 of the intensities, which `ptycho_detector_blur` moves on by three along the axis of the
//! orders; so A1 takes the place of A4, and the last of the nine sums of
//! `ptycho_detector_line_sums` is ½ w A4².

use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::likelihood::ORDERS;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    detector_blur::{self, PtychoDetectorBlur},
    detector_line::PtychoDetectorLine,
    detector_line_sums::PtychoDetectorLineSums,
    likelihood_noise::GAUSSIAN,
};

/// From the place of A1 to that of A4.
const MOVED: u32 = 3;

/// Kernels of detectors that are launched without one.
pub(in crate::engines::cuda) const LAUNCHED: [&str; 3] = [
    "ptycho_detector_line",
    "ptycho_detector_blur",
    "ptycho_detector_line_sums",
];

/// Device memory for the intensities of a batch along a line.
pub(super) struct SlopeSquares<M: Device> {
    /// (order, frame of the batch, pixel), before and after the orders are moved.
    along: [M::Buffer<f32>; 2],
    /// One number, 1.
    one: M::Buffer<f32>,
    /// (pixel): zeros.
    no_background: M::Buffer<f32>,
}

impl<M: Device> SlopeSquares<M> {
    /// For batches of at most `frames` frames.
    pub(super) fn new(device: &M, layout: &Layout, frames: usize) -> Result<Self> {
        let pixels = layout.pixels() as usize;
        let orders = || {
            device.alloc(
                "intensities along a line",
                ORDERS as usize * frames * pixels,
            )
        };
        let mut new = Self {
            along: [orders()?, orders()?],
            one: device.alloc("a weight of 1", 1)?,
            no_background: device.alloc("no background", pixels)?,
        };
        device.upload(&mut new.one, &[1.0_f32])?;
        device.zero(&mut new.no_background)?;
        Ok(new)
    }

    /// Writes the sum of each frame of a batch, from its detector waves f, their changes a, and
    /// zeros, to the last of its nine `sums`.
    pub(super) fn sum(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, order): (&Buffers<M>, &M::Buffer<u32>),
        batch: Batch,
        [f, a, zeros]: [&M::Buffer<Complex32>; 3],
        sums: &mut M::Buffer<[f64; 9]>,
    ) -> Result<()> {
        let (count, pixels) = (batch.count, layout.pixels());
        let of_order = count as usize * pixels as usize;
        let elements = ORDERS as usize * of_order;
        let [orders, moved] = &mut self.along;
        device.launch(
            &PtychoDetectorLine {
                along: orders.write(),
                f: f.read(),
                a: a.read(),
                b: zeros.read(),
                count,
                modes: layout.waves(),
                pixels,
            },
            Work::Elements(of_order),
        )?;
        device.launch(
            &PtychoDetectorBlur {
                to: moved.write(),
                from: orders.read(),
                weights: self.one.read(),
                background: self.no_background.read(),
                elements,
                taps: 1,
                before: MOVED,
                length: ORDERS,
                stride: of_order as u32,
                pixels,
                add: 0,
            },
            Work::Elements(elements.div_ceil(detector_blur::VALUES)),
        )?;
        device.launch(
            &PtychoDetectorLineSums {
                sums: sums.write(),
                along: moved.read(),
                magnitudes: buffers.magnitudes.read(),
                background: self.no_background.read(),
                scales: buffers.scales.read(),
                order: order.read(),
                frames: layout.frames,
                first: batch.first,
                count,
                pixels,
                scale: layout.scale(),
                noise: GAUSSIAN,
            },
            Work::Blocks(count as usize),
        )
    }
}
