//! An iteration over the mini-batches of the regions of a scan.

use super::GpuEngine;
use crate::Step;
use crate::engines::cuda::batches::batch_engine::Schedule;
use crate::engines::method::BatchMethod;
use crate::engines::regions::Regions;
use warpstride_cuda::gpu::{Device, Result};

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
        self.with_batches(step, |run, division| {
            run.batches.end_divided(run.device, run.frames)?;
            let of_regions = (regions, division, &of_scan.corners[..]);
            run.iterate_regions(step, method, &schedule, of_regions)
        })
    }
}
