//! Metrics on their way from the device to the host.

use super::GpuEngine;
use crate::gpu::{Device, ReadBack, Result};
use crate::ptycho::{EngineError, ModelErrors, Step, StepErrors};
use warpstride_kernels::ptycho::wave_limit::HEADROOM;

/// Metrics of one iteration that are being copied to the host.
pub(super) struct Pending<M: Device> {
    /// The last read-back of the iteration.
    errors: M::ReadBack<f32>,
    moved: Option<M::ReadBack<f32>>,
    model: Option<PendingModel<M>>,
    /// Threads that saw a share beyond the range of the object's sums; only of the fused step.
    exceeding: Option<M::ReadBack<u32>>,
    /// Number of the iteration in the run.
    iteration: usize,
}

/// Errors of the model from which an iteration started.
struct PendingModel<M: Device> {
    photon: M::ReadBack<f32>,
    residual: M::ReadBack<f32>,
    /// None without free pixels.
    free: Option<M::ReadBack<f32>>,
}

impl<M: Device> Pending<M> {
    /// Whether [`GpuEngine::finish`] would return immediately: read-backs finish in order.
    pub(super) fn ready(&self) -> bool {
        self.errors.ready()
    }
}

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
        let frames = f64::from(self.layout.frames.max(1));
        if let Some(exceeding) = pending.exceeding
            && exceeding.wait()?.iter().any(|count| *count > 0)
        {
            return Err(EngineError::Sums {
                iteration: pending.iteration,
                headroom: HEADROOM,
            });
        }
        let exit = |moved: Vec<f32>| total(&moved) / (frames * f64::from(self.layout.pixels()));
        let start = |model: PendingModel<M>| -> Result<ModelErrors> {
            let free = model.free.map(ReadBack::wait).transpose()?;
            let (photon, residual) = (model.photon.wait()?, model.residual.wait()?);
            Ok(self.combine(&photon, &residual, free.as_deref()))
        };
        Ok(StepErrors {
            fourier: total(&pending.errors.wait()?) / frames,
            exit: pending.moved.map(ReadBack::wait).transpose()?.map(exit),
            start: pending.model.map(start).transpose()?,
        })
    }

    pub(super) fn combine(
        &self,
        photon: &[f32],
        residual: &[f32],
        free: Option<&[f32]>,
    ) -> ModelErrors {
        ModelErrors {
            photon: total(photon) / f64::from(self.layout.frames.max(1)),
            r_factor: total(residual) / self.total_counts,
            r_free: free.map(|free| total(free) / self.free_counts),
        }
    }
}

fn total(values: &[f32]) -> f64 {
    values.iter().map(|v| f64::from(*v)).sum()
}
