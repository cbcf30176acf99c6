//! Gradient, loss and line sums in few launches, for scans whose frames a block holds in its registers: 64² or 128²
//! pixels, one probe mode, whole pixels; and for noise whose step along a line is of second order.
//!
//! An iteration transforms every frame three times, if the first step along the line is taken and nothing is constrained. A launch for the loss of a step also computes what the gradient there
//! needs, f and ξ of all frames. So if the step is taken, the next iteration begins with them; the metrics of that model
//! wait in [`Fused`] until then.

use super::Run;
use crate::gpu::{Buffer, Device, ReadBack, Result};
use crate::ptycho::Step;
use crate::ptycho::cuda::buffers::{Buffers, Layout};
use crate::ptycho::cuda::fused_batches::{roots, side_of, updates};
use crate::ptycho::likelihood::{LikelihoodMethod, Noise};
use crate::ptycho::update_version::TILE;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    batch_sums::PtychoBatchSums,
    frame_gradient::{
        PtychoFrameGradientAmplitude64, PtychoFrameGradientAmplitude128,
        PtychoFrameGradientPoisson64, PtychoFrameGradientPoisson128,
    },
    frame_line::{
        PtychoFrameLineAmplitude64, PtychoFrameLineAmplitude128, PtychoFrameLinePoisson64,
        PtychoFrameLinePoisson128,
    },
};

/// `launch!(device, (noise, side), work, Poisson64 | Poisson128 | Amplitude64 | Amplitude128 { … })`
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

/// Device memory of fused launches.
pub(in crate::ptycho::cuda) struct Fused<M: Device> {
    /// Rows and columns of a frame.
    side: u32,
    /// exp(−2πi k/side).
    roots: M::Buffer<Complex32>,
    /// ξ (frame, row, column).
    xi: M::Buffer<Complex32>,
    /// f, unnormalised (frame, row, column).
    spectra: M::Buffer<Complex32>,
    /// (frame): slope, half the second derivative, and its part that is never negative.
    line: M::Buffer<[f64; 3]>,
    /// (frame): all frames in their order.
    order: M::Buffer<u32>,
    /// (first, count) of all frames.
    ranges: M::Buffer<[u32; 2]>,
    /// Bits of the largest weights.
    largest: M::Buffer<u32>,
    /// (frame): err_fourier, moved, photon, residual and free of the model of ξ.
    metrics: [M::Buffer<f32>; 5],
    /// The noise with which f, ξ, the losses and the metrics are those of the present object and probe.
    current: Option<Noise>,
    /// The sum of the losses.
    loss: f64,
}

impl<M: Device> Fused<M> {
    fn new(device: &M, layout: &Layout, side: u32) -> Result<Self> {
        let frames = layout.frames as usize;
        let waves = frames * layout.pixels() as usize;
        let metric = || device.alloc("the next metrics", frames);
        let mut new = Self {
            side,
            roots: roots(device, side)?,
            xi: device.alloc("the frames' gradients", waves)?,
            spectra: device.alloc("the models' spectra", waves)?,
            line: device.alloc("the frames' sums along a line", frames)?,
            order: device.alloc("the order of the frames", frames)?,
            ranges: device.alloc("the range of the frames", 1)?,
            largest: device.alloc("the largest weights", 2)?,
            metrics: [metric()?, metric()?, metric()?, metric()?, metric()?],
            current: None,
            loss: 0.0,
        };
        let order: Vec<u32> = (0..layout.frames).collect();
        device.upload(&mut new.order, &order)?;
        device.upload(&mut new.ranges, &[[0, layout.frames]])?;
        Ok(new)
    }

    /// Notes that object or probe have changed.
    pub(super) fn changed(&mut self) {
        self.current = None;
    }
}

impl<M: Device> Run<'_, M> {
    /// Whether the launches are fused; allocates what they need.
    pub(super) fn fuses(&mut self, noise: Noise) -> Result<bool> {
        let side = side_of(self.device, self.layout)
            .filter(|_| !self.frames.exact && noise != Noise::Gaussian);
        match side {
            Some(side) => {
                if self.own.fused.is_none() {
                    self.own.fused = Some(Fused::new(self.device, self.layout, side)?);
                }
            }
            None => self.own.fused = None,
        }
        Ok(side.is_some())
    }

    /// Computes f, ξ, the losses and the metrics at the present object and probe; returns the sum of the losses.
    pub(super) fn fused_loss(&mut self, noise: Noise) -> Result<f64> {
        let (device, layout) = (self.device, self.layout);
        let (own, buffers) = (&mut *self.own, &*self.buffers);
        let Some(fused) = &mut own.fused else {
            return Ok(0.0);
        };
        let [errors, moved, photon, residual, free] = &mut fused.metrics;
        launch!(
            device,
            (noise, fused.side),
            Work::Blocks(layout.frames as usize),
            PtychoFrameGradientPoisson64
                | PtychoFrameGradientPoisson128
                | PtychoFrameGradientAmplitude64
                | PtychoFrameGradientAmplitude128 {
                    xi: fused.xi.write(),
                    spectra: fused.spectra.write(),
                    losses: own.losses.write(),
                    errors: errors.write(),
                    moved: moved.write(),
                    photon: photon.write(),
                    residual: residual.write(),
                    free: free.write(),
                    probe: buffers.probe.read(),
                    object: buffers.object.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    roots: fused.roots.read(),
                    frames: layout.frames,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                }
        )?;
        let loss = self.total_loss()?;
        if let Some(fused) = &mut self.own.fused {
            (fused.loss, fused.current) = (loss, Some(noise));
        }
        Ok(loss)
    }

    /// Computes f, ξ and the losses unless they are known; returns the sum of the losses.
    fn present_loss(&mut self, noise: Noise) -> Result<f64> {
        match &self.own.fused {
            Some(fused) if fused.current == Some(noise) => Ok(fused.loss),
            _ => self.fused_loss(noise),
        }
    }

    /// Gradients and weights at the present object and probe, and the frames' errors, as [`Run::gradient`] does; returns the
    /// likelihood's part of the objective.
    pub(super) fn fused_gradient(&mut self, step: &Step, method: &LikelihoodMethod) -> Result<f64> {
        let loss = self.present_loss(method.noise)?;
        let (device, layout) = (self.device, self.layout);
        let own = &mut *self.own;
        for (n, updated) in [step.update_object, step.update_probe]
            .into_iter()
            .enumerate()
        {
            if !updated {
                device.zero(&mut own.gradient[n])?;
                device.zero(&mut own.weights[n])?;
            }
        }
        let Some(fused) = &mut own.fused else {
            return Ok(loss);
        };
        let Buffers {
            errors,
            moved,
            photon,
            residual,
            free,
            ..
        } = &mut *self.buffers;
        for (metric, next) in [errors, moved, photon, residual, free]
            .into_iter()
            .zip(&mut fused.metrics)
        {
            device.copy(next, metric)?;
        }
        device.zero(&mut fused.largest)?;
        let ([object, probe], [weights, probe_weights]) = (&mut own.gradient, &mut own.weights);
        let tiles = (layout.object_rows as usize).div_ceil(TILE[0])
            * (layout.object_columns as usize).div_ceil(TILE[1]);
        let groups = (layout.pixels() as usize).div_ceil(TILE[1]);
        device.launch(
            &PtychoBatchSums {
                numerators: object.write(),
                weights: weights.write(),
                sums: probe.write(),
                probe_weights: probe_weights.write(),
                largest: fused.largest.write(),
                probe: self.buffers.probe.read(),
                chi: fused.xi.read(),
                object: self.buffers.object.read(),
                corners: self.buffers.corners.read(),
                order: fused.order.read(),
                ranges: fused.ranges.read(),
                frames: layout.frames,
                most: layout.frames,
                batches: 1,
                batch: 0,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                updates: updates(step),
                // ∂/∂(conj z) of a real function is half of its gradient.
                scale: 2.0,
            },
            Work::Blocks(groups + tiles),
        )?;
        self.find_largest()?;
        self.add_regulariser(step, method)?;
        Ok(loss)
    }

    /// The sums of [`Run::line_sums`], of which this noise uses three; the others are 0.
    pub(super) fn fused_line_sums(&mut self, noise: Noise) -> Result<[f64; 9]> {
        self.present_loss(noise)?;
        let (device, layout) = (self.device, self.layout);
        let (own, buffers) = (&mut *self.own, &*self.buffers);
        let Some(fused) = &mut own.fused else {
            return Ok([0.0; 9]);
        };
        let [direction, probe_direction] = &own.direction;
        launch!(
            device,
            (noise, fused.side),
            Work::Blocks(layout.frames as usize),
            PtychoFrameLinePoisson64
                | PtychoFrameLinePoisson128
                | PtychoFrameLineAmplitude64
                | PtychoFrameLineAmplitude128 {
                    sums: fused.line.write(),
                    xi: fused.xi.read(),
                    spectra: fused.spectra.read(),
                    probe: buffers.probe.read(),
                    probe_direction: probe_direction.read(),
                    object: buffers.object.read(),
                    direction: direction.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    roots: fused.roots.read(),
                    frames: layout.frames,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                }
        )?;
        let mut total = [0.0; 9];
        for sums in device.read_back(&fused.line)?.wait()? {
            for (sum, v) in total[1..4].iter_mut().zip(sums) {
                *sum += v;
            }
        }
        Ok(total)
    }
}
