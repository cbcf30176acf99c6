//! An iteration over the mini-batches of the regions of a scan.

use super::GpuEngine;
use crate::gpu::{Device, Result};
use crate::ptycho::Step;
use crate::ptycho::cuda::batch_engine::{Run, Schedule};
use crate::ptycho::cuda::centring;
use crate::ptycho::regions::Regions;
use crate::ptycho::step::BatchMethod;

impl<M: Device> GpuEngine<M> {
    /// One pass over the mini-batches of `regions`.
    pub(super) fn pass_regions(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        regions: &Regions,
    ) -> Result<()> {
        let of_scan = self.parameters.frames(step.subpixel);
        let positions = of_scan.exact();
        let random = (step.seed, step.iteration);
        let segments = regions.segments(&mut self.kept_regions, method, &positions, random);
        let lengths = segments.iter().flatten().flatten().map(Vec::len);
        let longest = lengths.max().unwrap_or(1);
        let schedule = Schedule::new(&segments, self.exchange.frames());
        // Devices do not divide the frames of a batch.
        self.start_batches([longest, 1])?;
        let Self {
            layout,
            device,
            buffers,
            frames: Some(frames),
            batches: Some(batches),
            probe_fft,
            supports,
            exchange,
            ..
        } = self
        else {
            return Ok(());
        };
        let of_step = [step.probe_support, step.probe_fourier_support];
        supports.set(device, layout, buffers, of_step)?;
        batches.end_divided(device, frames)?;
        let division = exchange.frames().clone();
        let mut run = Run {
            device,
            layout,
            buffers,
            frames,
            batches,
            probe_fft,
            exchange: (!exchange.alone()).then_some(exchange),
            deferred: None,
            group: 0,
        };
        let of_regions = (regions, &division, &of_scan.corners[..]);
        run.iterate_regions(step, method, &schedule, of_regions)?;
        match step.centre_tolerance {
            Some(tolerance) => centring::centre(device, layout, buffers, tolerance),
            None => Ok(()),
        }
    }
}
