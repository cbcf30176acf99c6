//! What shifted probes and several modes need besides, and what is summed over frames before the
//! others.

use super::Fused;
use crate::engines::cuda::layout::Layout;
use crate::engines::step_plan::slices_of;
use warpstride_cuda::gpu::{Device, Direction, Result};
use warpstride_device::Complex32;

/// Device memory of shifted probes, of several modes, and of sums over frames.
pub(super) struct Shared<M: Device> {
    /// Whether probes are shifted.
    pub(super) shifts: bool,
    /// Whether the sums of the probe are computed.
    pub(super) summed: bool,
    pub(super) slices: u32,
    /// Shifted probes (frame, mode, row, column); none at whole pixels.
    pub(super) probes: M::Buffer<Complex32>,
    /// (slice, mode, row, column): spectra of the probe's gradient, or at whole pixels the gradient
    /// itself.
    pub(super) sums: M::Buffer<Complex32>,
    /// (slice, row, column): the probe's shifted direction.
    pub(super) changes: M::Buffer<Complex32>,
    /// D (frame, row, column), 0 where masked or free; none for one mode.
    pub(super) slopes: M::Buffer<f32>,
}

impl<M: Device> Shared<M> {
    fn new(device: &M, layout: &Layout, (shifts, summed): (bool, bool)) -> Result<Self> {
        let (frames, pixels) = (layout.frames as usize, layout.pixels() as usize);
        let slices = slices_of(layout.frames);
        let of_slices = slices as usize * layout.probe_elements();
        let shifted = if shifts { frames } else { 0 };
        let several = if layout.modes > 1 { frames } else { 0 };
        Ok(Self {
            shifts,
            summed,
            slices,
            probes: device.alloc("the shifted probes", shifted * layout.probe_elements())?,
            sums: device.alloc("the sums of the probe's gradient", of_slices)?,
            changes: device.alloc("the probe's shifted direction", slices as usize * pixels)?,
            slopes: device.alloc("the slopes of the losses", several * pixels)?,
        })
    }
}

impl<M: Device> Fused<M> {
    /// Makes ready for frames whose probes are shifted or not (`shifts`), and for the probe's
    /// gradient if it is `summed`.
    pub(super) fn place(
        &mut self,
        device: &M,
        layout: &Layout,
        (shifts, summed): (bool, bool),
    ) -> Result<()> {
        let needed = shifts || layout.modes > 1;
        let present = self.shared.as_ref().map(|of| of.shifts);
        if present != needed.then_some(shifts) {
            self.shared = None;
            self.captured.clear();
            self.changed();
        }
        if !needed {
            return Ok(());
        }
        match &mut self.shared {
            Some(of) if of.summed == summed => {}
            Some(of) => {
                of.summed = summed;
                self.captured.clear();
                self.changed();
            }
            None => self.shared = Some(Shared::new(device, layout, (shifts, summed))?),
        }
        Ok(())
    }

    /// Transforms the sum of spectra in `probe` to the probe's gradient, if probes are shifted.
    pub(super) fn gradient_from(
        &self,
        device: &M,
        probe: &mut M::Buffer<Complex32>,
        probe_fft: &M::Fft,
    ) -> Result<()> {
        match &self.shared {
            Some(of) if of.shifts && of.summed => device.fft(probe_fft, probe, Direction::Inverse),
            _ => Ok(()),
        }
    }
}
