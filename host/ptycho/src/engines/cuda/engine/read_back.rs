//! Metrics on their way from the device to the host.

use super::GpuEngine;
use super::pending::{Pending, PendingModel};
use crate::{EngineError, ModelErrors, Step, StepErrors};
use warpstride_cuda::gpu::{Device, ReadBack, Result};
use warpstride_kernels::ptycho::wave_limit::HEADROOM;

impl<M: Device> GpuEngine<M> {
    /// Queues the read-back of the frames' metrics.
    pub(super) fn read_errors(&mut self, step: &Step) -> Result<()> {
        let Self {
            buffers,
            device,
            fused,
            ..
        } = self;
        let metrics = step.metrics;
        let has_free = self.free_counts > 0.0;
        let moved = (metrics.exit).then(|| device.read_back(&buffers.moved));
        let model = (metrics.start).then(|| -> Result<PendingModel<M>> {
            let free = has_free.then(|| device.read_back(&buffers.free));
            Ok(PendingModel {
                photon: device.read_back(&buffers.photon)?,
                residual: device.read_back(&buffers.residual)?,
                free: free.transpose()?,
            })
        });
        let exceeding = (fused.as_ref()).map(|fused| device.read_back(&fused.sums.exceeding));
        self.pending.push_back(Pending {
            iteration: step.iteration,
            exceeding: exceeding.transpose()?,
            moved: moved.transpose()?,
            model: model.transpose()?,
            errors: device.read_back(&buffers.errors)?,
        });
        Ok(())
    }

    pub(super) fn finish(
        &self,
        pending: Pending<M>,
    ) -> std::result::Result<StepErrors, EngineError> {
        let frames = f64::from(self.layout.scan_frames.max(1));
        let exceeding = pending.exceeding.map(ReadBack::wait).transpose()?;
        let exceeds = exceeding.is_some_and(|counts| counts.iter().any(|count| *count > 0));
        if self.exchange.ranks().any(exceeds)? {
            return Err(EngineError::Sums {
                iteration: pending.iteration,
                headroom: HEADROOM,
            });
        }
        let exit = |moved: M::ReadBack<f32>| -> std::result::Result<f64, EngineError> {
            Ok(self.total(moved.wait()?)? / (frames * f64::from(self.layout.pixels())))
        };
        let start = |model: PendingModel<M>| {
            let free = model.free.map(ReadBack::wait).transpose()?;
            self.combine(model.photon.wait()?, model.residual.wait()?, free)
        };
        Ok(StepErrors {
            exit: pending.moved.map(exit).transpose()?,
            start: pending.model.map(start).transpose()?,
            fourier: self.total(pending.errors.wait()?)? / frames,
        })
    }

    pub(super) fn combine(
        &self,
        photon: Vec<f32>,
        residual: Vec<f32>,
        free: Option<Vec<f32>>,
    ) -> std::result::Result<ModelErrors, EngineError> {
        let free = free.map(|free| self.total(free)).transpose()?;
        Ok(ModelErrors {
            photon: self.total(photon)? / f64::from(self.layout.scan_frames.max(1)),
            r_factor: self.total(residual)? / self.total_counts,
            r_free: free.map(|free| free / self.free_counts),
        })
    }

    /// The sum over the frames of all ranks, in their order.
    fn total(&self, own: Vec<f32>) -> std::result::Result<f64, EngineError> {
        let values = self.exchange.of_frames(own)?;
        Ok(values.iter().map(|v| f64::from(*v)).sum())
    }
}
