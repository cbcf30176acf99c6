//! What shifted probes and several modes need besides, and what is summed over frames before the
//! others.

use super::{Fused, Shared};
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Device, Direction, Result};
use warpstride_device::Complex32;

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
