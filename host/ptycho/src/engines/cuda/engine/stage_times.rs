//! Times of the stages of an iteration, for benchmarks.

use super::GpuEngine;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::projections::{fourier_projection, object_update, probe_update};
use crate::{EngineError, Step, StepMetrics};
use warpstride_cuda::gpu::{Device, Direction, Result};

impl<M: Device> GpuEngine<M> {
    /// Runs one iteration stage by stage and returns the milliseconds of each, measured by the
    /// device; nothing if the frames come in blocks.
    ///
    /// # Errors
    /// Returns the device's error.
    pub fn stage_times(
        &mut self,
        step: &Step,
    ) -> std::result::Result<Vec<(&'static str, f32)>, EngineError> {
        if self.buffers.stream.is_some() {
            return Ok(Vec::new());
        }
        if self
            .fused_scan
            .as_ref()
            .is_some_and(|scan| scan.fuses(step))
        {
            return Ok(self.fused_stage_times(step)?);
        }
        self.start_projections()?;
        let Self {
            layout,
            version,
            waves_fft: Some(waves_fft),
            buffers,
            exchange,
            device,
            ..
        } = self
        else {
            return Ok(Vec::new());
        };
        let device: &M = device;
        let mut times = Vec::new();
        let c = step.coefficients;
        let mut timed = |name, stage: &mut dyn FnMut() -> Result<()>| -> Result<()> {
            times.push((name, device.time_ms(stage)?));
            Ok(())
        };
        timed("exit-wave build", &mut || {
            fourier_projection::build(device, layout, buffers)
        })?;
        timed("transform, forward", &mut || {
            let Buffers {
                propagator, waves, ..
            } = &mut *buffers;
            propagator.propagate(device, waves_fft, waves, None, Direction::Forward)
        })?;
        timed("Fourier step", &mut || {
            fourier_projection::advance(device, layout, buffers, c, step.bound)
        })?;
        timed("transform, inverse", &mut || {
            fourier_projection::back(device, layout, buffers, waves_fft, None)
        })?;
        timed("object update", &mut || {
            let (weight, clip) = (step.object_weight, step.clip_object);
            object_update::object_update(device, layout, buffers, *version, weight, clip, exchange)
        })?;
        timed("probe update", &mut || {
            let weight = step.probe_weight;
            probe_update::probe_update(device, layout, buffers, *version, weight, exchange)
        })?;
        Ok(times)
    }

    /// [`Self::stage_times`] of the fused step.
    fn fused_stage_times(&mut self, step: &Step) -> Result<Vec<(&'static str, f32)>> {
        self.start_fused()?;
        let Self {
            layout,
            version,
            fused: Some(fused),
            buffers,
            exchange,
            device,
            ..
        } = self
        else {
            return Ok(Vec::new());
        };
        let device: &M = device;
        let mut times = Vec::new();
        let mut timed = |name, stage: &mut dyn FnMut() -> Result<()>| -> Result<()> {
            times.push((name, device.time_ms(stage)?));
            Ok(())
        };
        timed("model metrics", &mut || {
            fused.model_metrics(device, layout, buffers)
        })?;
        fused.update_fluence(device, layout, buffers, exchange)?;
        let passes = fused.pass_times(device, layout, buffers, step, exchange)?;
        if !passes.is_empty() {
            // Its sums, before others are added to them.
            fused.object_update(device, layout, buffers, step, exchange)?;
        }
        for (name, metrics) in [
            (
                "fused step, err_exit",
                StepMetrics {
                    exit: true,
                    start: false,
                },
            ),
            ("fused step", StepMetrics::NONE),
        ] {
            let step = Step { metrics, ..*step };
            timed(name, &mut || {
                fused.project(device, layout, buffers, &step, exchange)
            })?;
            if metrics.exit {
                fused.object_update(device, layout, buffers, &step, exchange)?;
            }
        }
        fused.forget_fluence();
        timed("fluence", &mut || {
            fused.update_fluence(device, layout, buffers, exchange)
        })?;
        timed("object", &mut || {
            fused.object_update(device, layout, buffers, step, exchange)
        })?;
        timed("probe update", &mut || {
            let weight = step.probe_weight;
            probe_update::probe_update(device, layout, buffers, *version, weight, exchange)
        })?;
        fused.forget_fluence();
        times.extend(passes);
        Ok(times)
    }
}
