//! Projections whose exit waves travel to the device in blocks of frames; projection.rs has the
//! same for waves that stay there.

use super::GpuEngine;
use crate::Step;
use crate::engines::cuda::memory::frame_stream::Metrics;
use crate::engines::cuda::memory::frames::chunk;
use crate::engines::cuda::memory::wave_stream::{Access, Pass};
use crate::engines::cuda::metrics;
use crate::engines::cuda::projections::object_update;
use crate::engines::cuda::projections::object_update::{clip_limits, probe_power};
use crate::engines::cuda::projections::probe_update::Part;
use crate::engines::cuda::projections::{exact_positions, fourier_projection, probe_update};
use crate::engines::cuda::updates::centring;
use crate::engines::cuda::updates::constraints::fourier_support;
use warpstride_cuda::gpu::{Device, Result};

/// What is summed over the exit waves of all frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sums {
    Object,
    Probe,
}

impl<M: Device> GpuEngine<M> {
    /// Queues one projection and its updates of object and probe.
    pub(super) fn project_in_blocks(&mut self, step: &Step) -> Result<()> {
        let fuses = (self.fused_scan.as_ref()).is_some_and(|scan| scan.fuses(step));
        self.start_wave_blocks(fuses)?;
        if self.subpixel && !fuses {
            // Engines and saved states may have begun before frames were at their exact positions.
            self.start_sums([chunk(&self.layout), 0])?;
        }
        self.projected = Some(if self.plan.is_fused() && !fuses {
            self.plan.at_exact_positions()
        } else {
            self.plan
        });
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let supports = [step.probe_support, step.probe_fourier_support];
        self.supports.set(device, layout, buffers, supports)?;
        device.zero(&mut buffers.gate)?;
        self.project_blocks(step)?;
        let alternates = step.update_probe && step.overlap_loops > 1;
        for round in 0..step.overlap_loops {
            if let (0, Some(fused)) = (round, &mut self.fused) {
                let (buffers, exchange) = (&mut self.buffers, &mut self.exchange);
                fused.object_update(&self.device, &self.layout, buffers, step, exchange)?;
            } else if step.update_object {
                // The projection has added its frames to the sums.
                if round > 0 {
                    self.sum_blocks(Sums::Object)?;
                }
                self.finish_object(step)?;
            }
            if !step.update_probe {
                break;
            }
            if alternates {
                let buffers = &mut self.buffers;
                (self.device).copy(&buffers.probe, &mut buffers.probe_before)?;
            }
            self.sum_blocks(Sums::Probe)?;
            self.finish_probe(step)?;
            let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
            if step.probe_fourier_support.is_some() {
                fourier_support(device, layout, buffers, &self.probe_fft)?;
            }
            if alternates {
                let tolerance = step.overlap_tolerance;
                probe_update::check_convergence(device, layout, buffers, tolerance)?;
            }
        }
        if let Some(tolerance) = step.centre_tolerance {
            let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
            centring::centre_model(device, layout, buffers, tolerance)?;
            self.shift_blocks()?;
        }
        if let Some(fused) = &mut self.fused
            && (step.update_probe || step.centre_tolerance.is_some())
        {
            fused.forget_fluence();
        }
        Ok(())
    }

    /// Projects all frames; separate kernels add them to the object's sums too.
    fn project_blocks(&mut self, step: &Step) -> Result<()> {
        let subpixel = self.subpixel;
        let Self {
            layout,
            version,
            device,
            buffers,
            exchange,
            fused,
            frames,
            batches: sums,
            probe_fft,
            waves_fft,
            waves: Some(waves),
            ..
        } = self
        else {
            return Ok(());
        };
        let device: &M = device;
        match fused {
            Some(fused) => fused.update_fluence(device, layout, buffers, exchange)?,
            None => probe_power(device, layout, buffers)?,
        }
        let last = waves.blocks().len().saturating_sub(1);
        // The sums of separate kernels have the order of the frames.
        let pass = Pass {
            descends: fused.is_some() && waves.back(Access::Change).descends,
            returns: fused.is_some() || step.update_probe,
            counts: true,
            metrics: Metrics::Written,
            waves: Access::Change,
        };
        let few = if subpixel { frames.as_mut() } else { None };
        let memory = (&mut *buffers, few);
        waves.each(
            device,
            layout,
            memory,
            pass,
            &mut |number, layout, (buffers, frames), batches| {
                if let Some(fused) = fused.as_mut() {
                    fused.swap_weights(number);
                    let done = fused.project_frames(device, layout, buffers, step);
                    fused.swap_weights(number);
                    return done;
                }
                let Some(fft) = waves_fft.as_ref() else {
                    return Ok(());
                };
                let how = (step.coefficients, step.bound);
                let first = number == 0;
                if let (Some(frames), Some(sums)) = (frames, sums.as_mut()) {
                    let mut exact = exact_positions::Run {
                        device,
                        layout,
                        buffers,
                        frames,
                        sums,
                        probe_fft,
                        waves_fft: fft,
                        batches: Some(batches),
                    };
                    exact.model_spectra()?;
                    let of = Some(&*exact.frames);
                    fourier_projection::project(device, layout, exact.buffers, fft, of, how)?;
                    return if step.update_object {
                        exact.add_to_object(first)
                    } else {
                        Ok(())
                    };
                }
                fourier_projection::model_spectra(device, layout, buffers, fft)?;
                fourier_projection::project(device, layout, buffers, fft, None, how)?;
                if step.update_object {
                    let last = number == last;
                    let part = Part { first, last };
                    object_update::add_frames(device, layout, buffers, *version, part)?;
                }
                Ok(())
            },
        )
    }

    /// Sums over the exit waves of all frames.
    fn sum_blocks(&mut self, of: Sums) -> Result<()> {
        let subpixel = self.subpixel;
        let Self {
            layout,
            version,
            device,
            buffers,
            frames,
            batches: sums,
            probe_fft,
            waves_fft,
            waves: Some(waves),
            ..
        } = self
        else {
            return Ok(());
        };
        let device: &M = device;
        if of == Sums::Object {
            probe_power(device, layout, buffers)?;
        }
        let end = waves.blocks().len().saturating_sub(1);
        let pass = Pass {
            descends: of == Sums::Probe,
            ..waves.back(Access::Read)
        };
        let few = if subpixel { frames.as_mut() } else { None };
        let memory = (&mut *buffers, few);
        waves.each(
            device,
            layout,
            memory,
            pass,
            &mut |number, layout, (buffers, frames), batches| {
                let (mut first, mut last) = (number == 0, number == end);
                if pass.descends {
                    std::mem::swap(&mut first, &mut last);
                }
                if let Some(fft) = waves_fft.as_ref() {
                    let made = frames.as_deref();
                    fourier_projection::back(device, layout, buffers, fft, made)?;
                    if let (Some(frames), Some(sums)) = (frames, sums.as_mut()) {
                        let mut exact = exact_positions::Run {
                            device,
                            layout,
                            buffers,
                            frames,
                            sums,
                            probe_fft,
                            waves_fft: fft,
                            batches: Some(batches),
                        };
                        return match of {
                            Sums::Object => exact.add_to_object(first),
                            Sums::Probe => exact.add_to_probe(first),
                        };
                    }
                }
                let part = Part { first, last };
                match of {
                    Sums::Object => {
                        object_update::add_frames(device, layout, buffers, *version, part)
                    }
                    Sums::Probe => {
                        probe_update::add_frames(device, layout, buffers, *version, part)
                    }
                }
            },
        )
    }

    fn finish_object(&mut self, step: &Step) -> Result<()> {
        if let Some(mut exact) = self.at_exact_positions()? {
            return exact.finish_object(step);
        }
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let (weight, clip) = (step.object_weight as f32, clip_limits(step.clip_object));
        self.exchange.add_object(device, layout, buffers)?;
        object_update::finish(device, layout, buffers, weight, clip)
    }

    fn finish_probe(&mut self, step: &Step) -> Result<()> {
        if let Some(mut exact) = self.at_exact_positions()? {
            return exact.finish_probe(step);
        }
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let (weight, exchange) = (step.probe_weight, &mut self.exchange);
        probe_update::finish(device, layout, buffers, self.version, weight, exchange)
    }

    /// Shifts the exit waves as object and probe have been shifted.
    fn shift_blocks(&mut self) -> Result<()> {
        use warpstride_cuda::gpu::ReadBack as _;
        let Self {
            layout,
            device,
            buffers,
            waves: Some(waves),
            ..
        } = self
        else {
            return Ok(());
        };
        let device: &M = device;
        if device
            .read_back(&buffers.shift)?
            .wait()?
            .iter()
            .all(|v| *v == 0)
        {
            return Ok(());
        }
        let pass = waves.back(Access::Change);
        let memory = (&mut *buffers, None);
        waves.each(
            device,
            layout,
            memory,
            pass,
            &mut |_, layout, (buffers, _), _| centring::shift_waves(device, layout, buffers),
        )
    }

    /// Writes `photon`, `residual` and `free` of the current object and probe, at whole pixels.
    pub(super) fn model_metrics_in_blocks(&mut self) -> Result<()> {
        let Self {
            layout,
            device,
            buffers,
            fused,
            waves_fft,
            waves: Some(waves),
            ..
        } = self
        else {
            return Ok(());
        };
        let device: &M = device;
        // Steps in three kernels take the waves as an argument.
        let access = match fused {
            Some(_) => Access::Read,
            None => Access::Unused,
        };
        let pass = Pass {
            counts: true,
            metrics: Metrics::Written,
            ..waves.back(access)
        };
        let memory = (&mut *buffers, None);
        waves.each(
            device,
            layout,
            memory,
            pass,
            &mut |_, layout, (buffers, _), _| match (fused.as_mut(), waves_fft.as_ref()) {
                (Some(fused), _) => fused.model_metrics(device, layout, buffers),
                (None, Some(fft)) => metrics::model_metrics(device, layout, buffers, fft),
                (None, None) => Ok(()),
            },
        )
    }
}
