//! Device memory of fused launches.

use crate::Step;
use crate::engines::batch_shares::SHARES;
use crate::engines::cuda::batches::fused_batches::roots;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::likelihood::Noise;
use crate::engines::step_plan::slices_of;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_device::Complex32;

/// Device memory of fused launches.
pub(in crate::engines::cuda) struct Fused<M: Device> {
    /// Rows and columns of a frame.
    pub(super) side: u32,
    /// exp(−2πi k/side).
    pub(super) roots: M::Buffer<Complex32>,
    /// ξ (frame, mode, row, column).
    pub(super) xi: M::Buffer<Complex32>,
    /// f, unnormalised (frame, mode, row, column).
    pub(super) spectra: M::Buffer<Complex32>,
    /// (frame): slope, half the second derivative, and its part that is never negative.
    pub(in crate::engines::cuda::likelihood) line: M::Buffer<[f64; 3]>,
    /// (frame): all frames in their order.
    pub(super) order: M::Buffer<u32>,
    /// (first, count) of all frames.
    pub(super) ranges: M::Buffer<[u32; 2]>,
    /// 1 element: quarters of all frames.
    pub(super) share_ends: M::Buffer<[u32; SHARES]>,
    /// Empty: the bounds are those of the object.
    pub(super) given_bounds: M::Buffer<[u32; 4]>,
    /// 1 element: the bounds of the sums on the object, all of it.
    pub(super) bounds: M::Buffer<[u32; 4]>,
    /// (frame): err_fourier, moved, photon, residual and free of the model of ξ.
    pub(super) metrics: [M::Buffer<f32>; 5],
    /// The noise with which f, ξ, the losses and the metrics are those of the present object and
    /// probe.
    pub(super) current: Option<Noise>,
    /// Whether `metrics` have not been given to the run yet.
    pub(super) metrics_wait: bool,
    /// What of object and probe has been updated by the step whose sums, those behind gradients and
    /// weights, are of the present ξ already; `None`: they have not been computed.
    pub(super) summed: Option<[bool; 2]>,
    /// The sum of the losses.
    pub(super) loss: f64,
    /// What shifted probes and several modes need; none for one mode at whole pixels.
    pub(super) shared: Option<Shared<M>>,
    /// Whether `metrics` have changed places an odd number of times.
    pub(super) swapped: bool,
    /// What has been captured of searches that use these buffers.
    pub(in crate::engines::cuda::likelihood) captured: Vec<Captured<M>>,
}

impl<M: Device> Fused<M> {
    pub(super) fn new(device: &M, layout: &Layout, side: u32) -> Result<Self> {
        let frames = layout.frames as usize;
        let waves = frames * layout.probe_elements();
        let metric = || device.alloc("the next metrics", frames);
        let mut new = Self {
            side,
            roots: roots(device, side)?,
            xi: device.alloc("the frames' gradients", waves)?,
            spectra: device.alloc("the models' spectra", waves)?,
            line: device.alloc("the frames' sums along a line", frames)?,
            order: device.alloc("the order of the frames", frames)?,
            bounds: device.alloc("the bounds of the sums", 1)?,
            ranges: device.alloc("the range of the frames", 1)?,
            share_ends: device.alloc("the shares of the frames", 1)?,
            given_bounds: device.alloc("the bounds of the batches", 0)?,
            metrics: [metric()?, metric()?, metric()?, metric()?, metric()?],
            current: None,
            metrics_wait: false,
            summed: None,
            loss: 0.0,
            shared: None,
            swapped: false,
            captured: Vec::new(),
        };
        let order: Vec<u32> = (0..layout.frames).collect();
        device.upload(&mut new.order, &order)?;
        device.upload(&mut new.ranges, &[[0, layout.frames]])?;
        let quarter = layout.frames.div_ceil(SHARES as u32);
        let ends = [1, 2, 3, 4].map(|k| (k * quarter).min(layout.frames));
        device.upload(&mut new.share_ends, &[ends])?;
        Ok(new)
    }
}

/// The captured launches of a search.
pub(in crate::engines::cuda) struct Captured<M: Device> {
    pub(in crate::engines::cuda::likelihood) key: Key,
    pub(in crate::engines::cuda::likelihood) graph: M::Graph,
}

/// What the launches of a search depend on, besides the buffers that [`Fused`] has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::engines::cuda::likelihood) struct Key {
    pub(in crate::engines::cuda::likelihood) step: Step,
    /// Whether gradients and metrics have changed places.
    pub(in crate::engines::cuda::likelihood) swapped: [bool; 2],
}

/// Device memory of shifted probes, of several modes, and of sums over frames.
pub(super) struct Shared<M: Device> {
    /// Whether probes are shifted.
    pub(super) shifts: bool,
    /// Whether the sums of the probe are computed.
    pub(super) summed: bool,
    pub(super) slices: u32,
    /// Shifted probes (frame, mode, row, column); none at whole pixels.
    pub(super) probes: M::Buffer<Complex32>,
    /// (slice, mode, row, column): spectra of the probe's gradient, or at whole pixels the gradient
    /// itself.
    pub(super) sums: M::Buffer<Complex32>,
    /// (slice, row, column): the probe's shifted direction.
    pub(super) changes: M::Buffer<Complex32>,
    /// D (frame, row, column), 0 where masked or free; none for one mode.
    pub(super) slopes: M::Buffer<f32>,
}

impl<M: Device> Shared<M> {
    pub(super) fn new(device: &M, layout: &Layout, (shifts, summed): (bool, bool)) -> Result<Self> {
        let (frames, pixels) = (layout.frames as usize, layout.pixels() as usize);
        let slices = slices_of(layout.frames);
        let of_slices = slices as usize * layout.probe_elements();
        let shifted = if shifts { frames } else { 0 };
        let several = if layout.modes > 1 { frames } else { 0 };
        Ok(Self {
            shifts,
            summed,
            slices,
            probes: device.alloc("the shifted probes", shifted * layout.probe_elements())?,
            sums: device.alloc("the sums of the probe's gradient", of_slices)?,
            changes: device.alloc("the probe's shifted direction", slices as usize * pixels)?,
            slopes: device.alloc("the slopes of the losses", several * pixels)?,
        })
    }
}
