//! Mirrors `refine` of cpu/engine.rs: positions and intensity scales after an iteration.

use super::GpuEngine;
use crate::Step;
use crate::engines::cuda::devices::exchange::failed;
use crate::engines::cuda::memory::frames::chunk;
use crate::engines::cuda::positions::{annealing, refinement};
use crate::positions::refinement::{NormalEquations, Refinement, Stage, Trials};
use warpstride_cuda::gpu::{Device, Result};

impl<M: Device> GpuEngine<M> {
    /// Refines positions and scales.
    pub(super) fn refine(&mut self, step: &Step, how: &Refinement) -> Result<()> {
        for stage in how.stages(step.seed, step.iteration) {
            match stage {
                Stage::Equations(positions) => {
                    let equations = self.normal_equations()?;
                    let equations = self.exchange.of_frames(equations).map_err(failed)?;
                    self.parameters.refine(&equations, positions, how);
                }
                Stage::Trials(trials) => {
                    let chosen = self.best_trials(&trials)?;
                    let chosen = self.exchange.of_frames(chosen).map_err(failed)?;
                    self.parameters.take_trials(&chosen, &trials, how.bound);
                }
                Stage::DrawIn => self.parameters.draw_in(how.bound),
            }
            self.upload_frames()?;
        }
        Ok(())
    }

    pub(super) fn normal_equations(&mut self) -> Result<Vec<NormalEquations>> {
        if self.frames.is_none() {
            self.start_frames(chunk(&self.layout))?;
        }
        let Self {
            layout,
            device,
            buffers,
            frames: Some(frames),
            probe_fft,
            ..
        } = self
        else {
            return Ok(Vec::new());
        };
        refinement::normal_equations(device, layout, buffers, frames, probe_fft)
    }

    pub(super) fn best_trials(&mut self, trials: &Trials) -> Result<Vec<u32>> {
        if self.frames.is_none() {
            self.start_frames(chunk(&self.layout))?;
        }
        let Self {
            layout,
            device,
            buffers,
            frames: Some(frames),
            probe_fft,
            parameters,
            exchange,
            ..
        } = self
        else {
            return Ok(Vec::new());
        };
        let of_scan = (&*parameters, exchange.frames());
        annealing::best_trials(device, layout, buffers, frames, probe_fft, of_scan, trials)
    }
}
