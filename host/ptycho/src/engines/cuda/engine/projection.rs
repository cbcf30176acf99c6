//! Mirrors the projection of cpu/engine.rs: one projection and its updates of object and probe.

use super::GpuEngine;
use crate::Step;
use crate::engines::cuda::projections::{fourier_projection, object_update, probe_update};
use crate::engines::cuda::updates::centring;
use crate::engines::cuda::updates::constraints::fourier_support;
use warpstride_cuda::gpu::{Device, Result};

impl<M: Device> GpuEngine<M> {
    /// Queues one projection and its updates of object and probe.
    pub(super) fn project(&mut self, step: &Step) -> Result<()> {
        if self.buffers.stream.is_some() {
            return self.project_in_blocks(step);
        }
        if self
            .fused_scan
            .as_ref()
            .is_some_and(|scan| scan.fuses(step))
        {
            self.start_fused()?;
        } else {
            self.start_projections()?;
            self.model_spectra()?;
        }
        self.projected = Some(if self.plan.is_fused() && self.fused.is_none() {
            self.plan.at_exact_positions()
        } else {
            self.plan
        });
        self.project_waves(step)?;
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let supports = [step.probe_support, step.probe_fourier_support];
        self.supports.set(device, layout, buffers, supports)?;
        let alternates = step.update_probe && step.overlap_loops > 1;
        // Needed even without alternations, as an earlier iteration may have closed the gate.
        device.zero(&mut buffers.gate)?;
        for round in 0..step.overlap_loops {
            if let (0, Some(fused)) = (round, &mut self.fused) {
                let (buffers, exchange) = (&mut self.buffers, &mut self.exchange);
                fused.object_update(&self.device, &self.layout, buffers, step, exchange)?;
            } else if step.update_object {
                self.update_object(step)?;
            }
            if !step.update_probe {
                break;
            }
            if alternates {
                let buffers = &mut self.buffers;
                self.device
                    .copy(&buffers.probe, &mut buffers.probe_before)?;
            }
            self.update_probe(step)?;
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
            centring::centre(&self.device, &self.layout, &mut self.buffers, tolerance)?;
        }
        if let Some(fused) = &mut self.fused
            && (step.update_probe || step.centre_tolerance.is_some())
        {
            fused.forget_fluence();
        }
        Ok(())
    }

    /// Queues one projection.
    fn project_waves(&mut self, step: &Step) -> Result<()> {
        if let Some(fused) = &mut self.fused {
            let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
            return fused.project(device, layout, buffers, step, &mut self.exchange);
        }
        let Self {
            layout,
            waves_fft: Some(fft),
            buffers,
            device,
            frames,
            subpixel,
            ..
        } = self
        else {
            return Ok(());
        };
        // The model has put them in order.
        let frames = frames.as_ref().filter(|_| *subpixel);
        let how = (step.coefficients, step.bound);
        fourier_projection::project(device, layout, buffers, fft, frames, how)
    }

    fn update_object(&mut self, step: &Step) -> Result<()> {
        if let Some(mut exact) = self.at_exact_positions()? {
            return exact.object_update(step);
        }
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let (weight, clip) = (step.object_weight, step.clip_object);
        let exchange = &mut self.exchange;
        object_update::object_update(
            device,
            layout,
            buffers,
            self.version,
            weight,
            clip,
            exchange,
        )
    }

    fn update_probe(&mut self, step: &Step) -> Result<()> {
        if let Some(mut exact) = self.at_exact_positions()? {
            return exact.probe_update(step);
        }
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let weight = step.probe_weight;
        let exchange = &mut self.exchange;
        probe_update::probe_update(device, layout, buffers, self.version, weight, exchange)
    }
}
