//! Mirrors cpu/batches/batch_engine/variations.rs: changes of the variations of the first probe
//! mode by a batch.

use super::Run;
use crate::Step;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use warpstride_cuda::gpu::{Device, Result};

impl<M: Device> Run<'_, M> {
    /// The sums of a batch, from the work waves of its sums on the probe.
    pub(super) fn variation_sums(&mut self, step: &Step, batch: Batch) -> Result<()> {
        let Buffers {
            variations,
            object,
            corners,
            fractions,
            ..
        } = &mut *self.buffers;
        let Some(of) = variations.as_mut().filter(|_| step.update_variations) else {
            return Ok(());
        };
        let model = (&*object, &*corners, &*fractions);
        of.sum(self.device, self.layout, model, self.frames, batch)
    }

    /// Changes the variations by them, with the step of the probe.
    pub(super) fn advance_variations(&mut self, step: &Step, batch: Batch) -> Result<()> {
        let variations = self.buffers.variations.as_mut();
        let Some(of) = variations.filter(|_| step.update_variations) else {
            return Ok(());
        };
        let own = &*self.batches;
        let steps = (&own.probe_weights, &own.largest[1], &own.steps);
        of.advance(self.device, self.layout, &self.frames.order, batch, steps)
    }
}
