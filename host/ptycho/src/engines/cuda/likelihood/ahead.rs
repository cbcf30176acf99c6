//! A search of fused launches that waits for the device once: β and the step along the direction
//! are computed there, and the loss at that step is queued before the host knows them. So are the
//! sums behind the gradient there, which take longer than the host's decision, so that the device
//! does not wait for that.
//!
//! What a search queues up to the loss is captured as a graph. Gradients and metrics change places
//! from one iteration to the next, so there are two graphs that take turns.

use super::fused::{Captured, Key};
use super::memory::BLOCKS;
use super::{Found, LikelihoodBuffers, Run, constrains};
use crate::engines::likelihood::LikelihoodMethod;
use crate::{Step, StepMetrics};
use warpstride_cuda::gpu::{Buffer, Device, ReadBack, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    conjugate_direction::{BETA, LAST, SEARCH, STEP},
    line_point::PtychoLinePoint,
};

/// The most graphs that are kept: each place of the gradients with each place of the metrics.
const GRAPHS: usize = 4;

impl<M: Device> Run<'_, M> {
    /// Moves object and probe along the direction that follows from the present gradient, so that
    /// the objective, `start` before, falls; `last` is ⟨g, z⟩ of the last iteration. For fused
    /// launches and a gradient that is not smoothed.
    pub(super) fn search_ahead(
        &mut self,
        (step, method): (&Step, &LikelihoodMethod),
        start: f64,
        last: Option<f64>,
    ) -> Result<Found> {
        let (device, noise) = (self.device, method.noise);
        let own = &mut *self.own;
        let last = last.unwrap_or(f64::NAN);
        if own.norm.to_bits() != last.to_bits() {
            let mut search = [f64::NAN; SEARCH];
            search[LAST] = last;
            device.upload(&mut own.search, &search)?;
        }
        // Object and probe will have moved.
        self.own.changed();
        self.replay_search(step, method)?;
        let own = &mut *self.own;
        let search = device.read_back(&own.search)?;
        let losses = device.read_back(&own.losses)?;
        let kept = self.goes_on_from(step, method);
        if kept {
            self.own.keep_gradient();
            self.queue_sums_ahead(step)?;
        }
        let search = search.wait()?;
        let loss = losses.wait()?.iter().sum();
        let (norm, beta, step) = (search[0], search[BETA], search[STEP]);
        let own = &mut *self.own;
        own.norm = norm;
        if let Some(fused) = &mut own.fused {
            fused.set_loss(loss, noise);
        }
        let advanced = if step > 0.0 {
            let regulariser = [search[STEP + 1], search[STEP + 2]];
            self.descend(noise, (step, start), regulariser, Some(loss))?
        } else {
            self.restore_start()?;
            false
        };
        Ok(Found {
            norm,
            beta,
            kept,
            advanced,
        })
    }

    /// Whether the next iteration goes on from the point that this search finds, as far as the step
    /// tells. A regulariser needs the weights of this iteration until a step has been taken.
    fn goes_on_from(&self, step: &Step, method: &LikelihoodMethod) -> bool {
        method.regulariser().is_none()
            && !constrains(step)
            && !step.normalises(self.layout.modes as usize)
            && step.refinement.is_none()
    }

    /// [`Run::queue_search`] by a graph, where the device captures.
    fn replay_search(&mut self, step: &Step, method: &LikelihoodMethod) -> Result<()> {
        let device = self.device;
        let Some(fused) = &mut self.own.fused else {
            return Ok(());
        };
        let key = Key {
            // What changes from one iteration to the next and no launch depends on.
            step: Step {
                iteration: 0,
                refinement: None,
                metrics: StepMetrics::ALL,
                ..*step
            },
            swapped: [self.own.swapped, fused.metrics_swapped()],
        };
        let mut captured = std::mem::take(&mut fused.captured);
        let at = match captured.iter().position(|of| of.key == key) {
            Some(at) => at,
            None => {
                let Some(graph) = device.capture(&mut || self.queue_search(method))? else {
                    return self.queue_search(method);
                };
                if captured.len() >= GRAPHS {
                    captured.clear();
                }
                captured.push(Captured { key, graph });
                captured.len() - 1
            }
        };
        device.replay(&mut captured[at].graph)?;
        if let Some(fused) = &mut self.own.fused {
            fused.captured = captured;
        }
        Ok(())
    }

    /// Queues the direction, the step along it, object and probe there, and the losses.
    fn queue_search(&mut self, method: &LikelihoodMethod) -> Result<()> {
        self.precondition(method, false)?;
        self.combine(None)?;
        let weight = self.smoothness_sums(method)?.unwrap_or(0.0);
        self.queue_step(method, weight)?;
        let on = (self.device, self.layout, self.probe_fft);
        let own = &mut *self.own;
        let Some(fused) = &mut own.fused else {
            return Ok(());
        };
        let from = (&*self.buffers, &mut *self.frames);
        fused.queue_loss(on, from, &mut own.losses, method.noise)
    }

    /// Queues the sums along the direction, and the step from them.
    fn queue_step(&mut self, method: &LikelihoodMethod, weight: f64) -> Result<()> {
        let on = (self.device, self.layout, self.probe_fft);
        let LikelihoodBuffers {
            direction,
            start: [start, probe_start],
            search,
            products,
            smoothness,
            share,
            fused: Some(fused),
            ..
        } = &mut *self.own
        else {
            return Ok(());
        };
        let from = (&*self.buffers, &mut *self.frames);
        fused.queue_line(on, from, direction, method.noise)?;
        let [direction, probe_direction] = direction;
        self.device.launch(
            &PtychoLinePoint {
                elements: start.len() as u32,
                probe_elements: probe_start.len() as u32,
                object: self.buffers.object.write(),
                probe: self.buffers.probe.write(),
                start: start.write(),
                probe_start: probe_start.write(),
                search: search.write(),
                direction: direction.read(),
                probe_direction: probe_direction.read(),
                sums: fused.line.read(),
                smoothness: smoothness.read(),
                frames: self.layout.frames,
                blocks: BLOCKS as u32,
                share: *share,
                weight,
                step: f32::NAN,
            },
            Work::Blocks(products.len()),
        )
    }
}
