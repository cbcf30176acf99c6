//! Gradient, loss and line sums in few launches, for scans whose frames a block holds in its
//! registers: 64² or 128² pixels; and for noise whose step along a line is of second order.
//!
//! An iteration transforms every mode of a frame three times (at exact positions six times), if the
//! first step along the line is taken and nothing is constrained; f and ξ are computed once more
//! after several modes have been made orthogonal. A launch for the loss of a step also computes
//! what the gradient there needs, f and ξ of all frames. So if the step is taken, the next
//! iteration begins with them; the metrics of that model wait in [`Fused`] until then. The sums
//! behind its gradient are queued before the host knows whether the step is taken.

use super::memory::Pair;
use super::{Run, updated};
use crate::Step;
use crate::engines::cuda::batches::fused_batches::{side_of, side_of_modes};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::step_arguments::updates;
use crate::engines::likelihood::{LikelihoodMethod, Noise};
use crate::engines::update_version::TILE;
use warpstride_cuda::gpu::{Buffer, Device, ReadBack, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::batch_sums::PtychoBatchSums;

/// `launch!(device, (noise, side), work, Poisson64 | Poisson128 | Amplitude64 | Amplitude128 { …
/// })`
macro_rules! launch {
    ($device:expr, $which:expr, $work:expr, $a:ident | $b:ident | $c:ident | $d:ident $fields:tt) => {
        match $which {
            (Noise::Poisson, 64) => $device.launch(&$a $fields, $work),
            (Noise::Poisson, _) => $device.launch(&$b $fields, $work),
            (_, 64) => $device.launch(&$c $fields, $work),
            _ => $device.launch(&$d $fields, $work),
        }
    };
}

mod exact;
mod memory;
mod modes;
mod shared;
mod whole;

use memory::Shared;
pub(super) use memory::{Captured, Fused, Key};

/// Where sums go: gradients, weights, and the largest of these.
type Sums<'a, M> = (
    &'a mut Pair<M>,
    &'a mut [<M as Device>::Buffer<f32>; 2],
    &'a mut <M as Device>::Buffer<u32>,
);

impl<M: Device> Fused<M> {
    /// Whether the metrics have changed places an odd number of times.
    pub(super) fn metrics_swapped(&self) -> bool {
        self.swapped
    }

    /// Notes that object or probe have changed.
    pub(super) fn changed(&mut self) {
        self.current = None;
        self.summed = None;
    }

    /// Computes f, ξ, `losses` of the frames and the metrics at the present object and probe;
    /// returns the sum of the losses.
    pub(super) fn loss(
        &mut self,
        on: (&M, &Layout, &M::Fft),
        from: (&Buffers<M>, &mut FrameBuffers<M>),
        losses: &mut M::Buffer<f64>,
        noise: Noise,
    ) -> Result<f64> {
        self.queue_loss(on, from, losses, noise)?;
        let loss = on.0.read_back(losses)?.wait()?.iter().sum();
        self.set_loss(loss, noise);
        Ok(loss)
    }

    /// [`Fused::loss`] without waiting for the losses.
    pub(super) fn queue_loss(
        &mut self,
        on: (&M, &Layout, &M::Fft),
        (buffers, frames): (&Buffers<M>, &mut FrameBuffers<M>),
        losses: &mut M::Buffer<f64>,
        noise: Noise,
    ) -> Result<()> {
        self.summed = None;
        if on.1.modes > 1 {
            self.modes_gradients(on, buffers, frames, losses, noise)
        } else if self.shared.is_some() {
            self.exact_gradients(on, buffers, frames, losses, noise)
        } else {
            self.whole_gradients(on, buffers, losses, noise)
        }
    }

    /// Notes what [`Fused::queue_loss`] has computed: the sum of the losses, and metrics.
    pub(super) fn set_loss(&mut self, loss: f64, noise: Noise) {
        self.loss = loss;
        self.current = Some(noise);
        self.metrics_wait = true;
    }

    /// [`Fused::loss`] unless it is known.
    fn present_loss(
        &mut self,
        on: (&M, &Layout, &M::Fft),
        from: (&Buffers<M>, &mut FrameBuffers<M>),
        losses: &mut M::Buffer<f64>,
        noise: Noise,
    ) -> Result<f64> {
        if self.current == Some(noise) {
            return Ok(self.loss);
        }
        self.loss(on, from, losses, noise)
    }

    /// Gives the metrics of the present model to the run: once, as what they had held is
    /// overwritten by the next.
    fn give_metrics(&mut self, buffers: &mut Buffers<M>) {
        let Buffers {
            errors,
            moved,
            photon,
            residual,
            free,
            ..
        } = buffers;
        if std::mem::take(&mut self.metrics_wait) {
            self.swapped = !self.swapped;
            for (metric, next) in [errors, moved, photon, residual, free]
                .into_iter()
                .zip(&mut self.metrics)
            {
                std::mem::swap(next, metric);
            }
        }
    }

    /// Writes the sums behind the gradients and weights of what `step` updates, and the largest
    /// weights, at the present object and probe, where `loss` has been computed.
    fn gradient(
        &mut self,
        (device, layout, probe_fft): (&M, &Layout, &M::Fft),
        buffers: &Buffers<M>,
        (gradient, weights, largest): Sums<'_, M>,
        step: &Step,
    ) -> Result<()> {
        device.zero(largest)?;
        let ([object, probe], [weights, probe_weights]) = (gradient, weights);
        let tiles = (layout.object_rows as usize).div_ceil(TILE[0])
            * (layout.object_columns as usize).div_ceil(TILE[1]);
        let groups = (layout.pixels() as usize).div_ceil(TILE[1]);
        let (shared, probes, summands, slices) = match &self.shared {
            Some(of) if of.shifts => (&of.probes, layout.frames, &of.sums, of.slices),
            Some(of) => (&buffers.probe, 1, &of.sums, of.slices),
            None => (&buffers.probe, 1, &self.xi, 0),
        };
        device.launch(
            &PtychoBatchSums {
                numerators: object.write(),
                weights: weights.write(),
                sums: probe.write(),
                probe_weights: probe_weights.write(),
                largest: largest.write(),
                bounds: self.bounds.write(),
                probe: shared.read(),
                spectra: summands.read(),
                chi: self.xi.read(),
                object: buffers.object.read(),
                corners: buffers.corners.read(),
                order: self.order.read(),
                ranges: self.ranges.read(),
                share_ends: self.share_ends.read(),
                given_bounds: self.given_bounds.read(),
                frames: layout.frames,
                most: layout.frames,
                batches: 1,
                batch: 0,
                probes,
                slices,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                updates: updates(step),
                given: 0,
                whole: 1,
                // ∂/∂(conj z) of a real function is half of its gradient.
                scale: 2.0,
            },
            Work::Blocks(groups * layout.modes as usize + tiles),
        )?;
        self.gradient_from(device, probe, probe_fft)
    }

    /// The sums along `direction` of object and probe, where `loss` has been computed: slope, half
    /// the second derivative, and its part that is never negative.
    fn line_sums(
        &mut self,
        on: (&M, &Layout, &M::Fft),
        from: (&Buffers<M>, &mut FrameBuffers<M>),
        directions: &Pair<M>,
        noise: Noise,
    ) -> Result<[f64; 3]> {
        self.queue_line(on, from, directions, noise)?;
        let mut total = [0.0; 3];
        for sums in on.0.read_back(&self.line)?.wait()? {
            total.iter_mut().zip(sums).for_each(|(sum, v)| *sum += v);
        }
        Ok(total)
    }

    /// [`Fused::line_sums`] of the frames in `line`, without waiting for them.
    pub(super) fn queue_line(
        &mut self,
        on: (&M, &Layout, &M::Fft),
        (buffers, frames): (&Buffers<M>, &mut FrameBuffers<M>),
        directions: &Pair<M>,
        noise: Noise,
    ) -> Result<()> {
        if on.1.modes > 1 {
            self.modes_line(on, buffers, frames, directions, noise)
        } else if self.shared.is_some() {
            self.exact_line(on, buffers, frames, directions, noise)
        } else {
            self.whole_line(on, buffers, directions, noise)
        }
    }
}

impl<M: Device> Run<'_, M> {
    /// Makes ready for the noise: launches are fused if
    /// [`LikelihoodBuffers::fused`](super::LikelihoodBuffers) is there afterwards.
    pub(super) fn fuse(&mut self, step: &Step, noise: Noise) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let side = side_of(device, layout).or_else(|| side_of_modes(device, layout));
        // Blocks of frames have no place for f and ξ of all.
        let all = self.buffers.stream.is_none();
        // They transform waves to the far field in registers.
        let far = !self.buffers.propagator.is_near_field() && self.buffers.slices.is_none();
        // They have one probe for all frames, and compare intensities themselves with the counts.
        let plain = !layout.is_layered()
            && self.buffers.variations.is_none()
            && self.buffers.detector.is_none();
        let side = side.filter(|_| noise != Noise::Gaussian && all && far && plain);
        let Some(side) = side else {
            self.own.fused = None;
            return Ok(());
        };
        let mut fused = match self.own.fused.take() {
            Some(fused) => fused,
            None => Fused::new(self.device, self.layout, side)?,
        };
        let place = (self.frames.shifts(), step.update_probe);
        fused.place(self.device, self.layout, place)?;
        self.own.fused = Some(fused);
        Ok(())
    }

    /// The likelihood's part of the objective at the current object and probe.
    pub(super) fn loss(&mut self, noise: Noise) -> Result<f64> {
        let own = &mut *self.own;
        match &mut own.fused {
            Some(fused) => {
                let on = (self.device, self.layout, self.probe_fft);
                let from = (&*self.buffers, &mut *self.frames);
                fused.loss(on, from, &mut own.losses, noise)
            }
            None => self.separate_loss(noise),
        }
    }

    /// Gradients and weights at the current object and probe, and the frames' errors; returns the
    /// likelihood's part of the objective.
    pub(super) fn gradient(&mut self, step: &Step, method: &LikelihoodMethod) -> Result<f64> {
        let own = &mut *self.own;
        let loss = match &mut own.fused {
            Some(fused) => {
                let on = (self.device, self.layout, self.probe_fft);
                let from = (&*self.buffers, &mut *self.frames);
                let loss = fused.present_loss(on, from, &mut own.losses, method.noise)?;
                fused.give_metrics(self.buffers);
                // Once: the regulariser is added to them.
                if fused.summed.take() != Some(updated(step)) {
                    self.queue_sums(step)?;
                }
                Some(loss)
            }
            None => {
                self.zero_what_stays(step)?;
                self.separate_gradient(step, method)?;
                None
            }
        };
        self.add_regulariser(step, method)?;
        match loss {
            Some(loss) => Ok(loss),
            None => self.total_loss(),
        }
    }

    /// Queues the sums behind gradients and weights with fused launches, where the loss has been
    /// queued.
    fn queue_sums(&mut self, step: &Step) -> Result<()> {
        self.zero_what_stays(step)?;
        let own = &mut *self.own;
        let Some(fused) = &mut own.fused else {
            return Ok(());
        };
        let on = (self.device, self.layout, self.probe_fft);
        let to = (&mut own.gradient, &mut own.weights, &mut own.largest);
        fused.gradient(on, self.buffers, to, step)
    }

    /// [`Run::queue_sums`] for the next iteration, before the host knows whether the step is taken
    /// and that iteration's updates are those of `step`.
    pub(super) fn queue_sums_ahead(&mut self, step: &Step) -> Result<()> {
        self.queue_sums(step)?;
        if let Some(fused) = &mut self.own.fused {
            fused.summed = Some(updated(step));
        }
        Ok(())
    }

    /// Gradients and weights of what is not updated become 0.
    fn zero_what_stays(&mut self, step: &Step) -> Result<()> {
        for (n, updated) in updated(step).into_iter().enumerate() {
            if !updated {
                self.device.zero(&mut self.own.gradient[n])?;
                self.device.zero(&mut self.own.weights[n])?;
            }
        }
        Ok(())
    }

    /// Sums of the coefficients over the pixels of all frames, along the direction.
    pub(super) fn line_sums(&mut self, noise: Noise) -> Result<[f64; 9]> {
        let own = &mut *self.own;
        let Some(fused) = &mut own.fused else {
            return self.separate_line_sums(noise);
        };
        let on = (self.device, self.layout, self.probe_fft);
        let from = (&*self.buffers, &mut *self.frames);
        fused.present_loss(on, from, &mut own.losses, noise)?;
        let from = (&*self.buffers, &mut *self.frames);
        let [slope, whole, bent] = fused.line_sums(on, from, &own.direction, noise)?;
        // The loss is known, and there are no higher orders.
        Ok([0.0, slope, whole, bent, 0.0, 0.0, 0.0, 0.0, 0.0])
    }
}
