//! A search of fused launches that waits for the device once: β and the step along the direction are computed there, and the
//! loss at that step is queued before the host knows them.

use super::{BLOCKS, Found, Run};
use crate::gpu::{Buffer, Device, ReadBack, Result};
use crate::ptycho::likelihood::LikelihoodMethod;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::line_search::{PtychoConjugateFactor, PtychoLineStep};

impl<M: Device> Run<'_, M> {
    /// Moves object and probe along the direction that follows from the present gradient, so that the objective, `start`
    /// before, falls; `last` is ⟨g, z⟩ of the last iteration. For fused launches and a gradient that is not smoothed.
    pub(super) fn search_ahead(
        &mut self,
        method: &LikelihoodMethod,
        start: f64,
        last: Option<f64>,
    ) -> Result<Found> {
        let (device, noise) = (self.device, method.noise);
        self.precondition(method, &[])?;
        let own = &mut *self.own;
        device.launch(
            &PtychoConjugateFactor {
                search: own.search[0].write(),
                factors: own.factors.write(),
                object: own.products[0].read(),
                probe: own.products[1].read(),
                blocks: BLOCKS as u32,
                last: last.unwrap_or(f64::NAN),
            },
            Work::Blocks(1),
        )?;
        self.combine_by_factor()?;
        let weight = self.smoothness_sums(method)?.unwrap_or(0.0);
        self.queue_step(method, weight)?;
        self.swap_start();
        self.move_by_factor()?;
        let (own, on) = (&mut *self.own, (device, self.layout, self.probe_fft));
        if let Some(fused) = &mut own.fused {
            let from = (&*self.buffers, &mut *self.frames);
            fused.queue_loss(on, from, &mut own.losses, noise)?;
        }
        let [products, step] = [&own.search[0], &own.search[1]].map(|of| device.read_back(of));
        let losses = device.read_back(&own.losses)?;
        let (products, step) = (products?.wait()?, step?.wait()?);
        let loss = losses.wait()?.iter().sum();
        if let Some(fused) = &mut own.fused {
            fused.set_loss(loss, noise);
        }
        let (norm, beta) = (products[0], products[3]);
        let advanced = if step[0] > 0.0 {
            self.descend(noise, (step[0], start), [step[1], step[2]], Some(loss))?
        } else {
            self.restore_start()?;
            false
        };
        Ok(Found {
            norm,
            beta,
            advanced,
        })
    }

    /// Computes the step along the direction.
    fn queue_step(&mut self, method: &LikelihoodMethod, weight: f64) -> Result<()> {
        let on = (self.device, self.layout, self.probe_fft);
        let own = &mut *self.own;
        let Some(fused) = &mut own.fused else {
            return Ok(());
        };
        let from = (&*self.buffers, &mut *self.frames);
        fused.queue_line(on, from, &own.direction, method.noise)?;
        self.device.launch(
            &PtychoLineStep {
                search: own.search[1].write(),
                factors: own.factors.write(),
                sums: fused.line.read(),
                smoothness: own.smoothness.read(),
                frames: self.layout.frames,
                blocks: BLOCKS as u32,
                weight,
            },
            Work::Blocks(1),
        )
    }
}
