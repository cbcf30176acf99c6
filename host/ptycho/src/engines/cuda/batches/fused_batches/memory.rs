//! Device memory of batches in few launches, and which frames they are for.

use crate::Step;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::step_plan::{holds_frame, holds_modes};
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_device::Complex32;

/// Parts of a frame in the sums of the steps: 400 blocks for a batch of 100 frames.
pub(in crate::engines::cuda) const PARTS: u32 = 4;

/// Device memory of fused launches.
pub(in crate::engines::cuda) struct Fused<M: Device> {
    /// Rows and columns of a frame.
    pub(in crate::engines::cuda) side: u32,
    /// exp(−2πi k/side).
    pub(in crate::engines::cuda) roots: M::Buffer<Complex32>,
    /// Bits of the largest weights: object, probe.
    pub(in crate::engines::cuda) largest: M::Buffer<u32>,
    /// The transform of the probe's direction, if probes are shifted.
    pub(in crate::engines::cuda) change_spectrum: M::Buffer<Complex32>,
}

impl<M: Device> Fused<M> {
    /// `None`: the frames do not fit into a block's registers, or the sums of several modes into
    /// its shared memory.
    pub(in crate::engines::cuda) fn new(device: &M, layout: &Layout) -> Result<Option<Self>> {
        let Some(side) = side_of(device, layout).or_else(|| side_of_modes(device, layout)) else {
            return Ok(None);
        };
        Ok(Some(Self {
            side,
            roots: roots(device, side)?,
            largest: device.alloc("the largest weights", 2)?,
            change_spectrum: device.alloc("the direction's spectrum", layout.probe_elements())?,
        }))
    }
}

/// An epoch's captured launches.
pub(in crate::engines::cuda) struct Epoch<M: Device> {
    /// What of the step and the method the launches depend on.
    pub(in crate::engines::cuda) step: Step,
    /// Whether probes are shifted.
    pub(in crate::engines::cuda) shifts: bool,
    pub(in crate::engines::cuda) graph: M::Graph,
}

/// Rows and columns of a frame, if it fits into a block's registers and there is one mode.
pub(in crate::engines::cuda) fn side_of<M: Device>(device: &M, layout: &Layout) -> Option<u32> {
    let side = layout.rows;
    let holds = holds_frame(side as usize, device.shared_memory());
    (layout.modes == 1 && layout.columns == side && holds).then_some(side)
}

/// Rows and columns of a frame, if it fits into a block's registers, the sums of its modes into the
/// shared memory, and there are several.
pub(in crate::engines::cuda) fn side_of_modes<M: Device>(
    device: &M,
    layout: &Layout,
) -> Option<u32> {
    let side = layout.rows;
    let holds = holds_modes(side as usize, device.shared_memory());
    (layout.modes > 1 && layout.columns == side && holds).then_some(side)
}

/// exp(−2πi k/side).
pub(in crate::engines::cuda) fn roots<M: Device>(
    device: &M,
    side: u32,
) -> Result<M::Buffer<Complex32>> {
    let mut roots = device.alloc("roots of unity", side as usize)?;
    let root = |k: u32| {
        let value = Complex::cis(-TAU * f64::from(k) / f64::from(side));
        Complex::new(value.re as f32, value.im as f32)
    };
    let values: Vec<Complex<f32>> = (0..side).map(root).collect();
    device.upload(&mut roots, &values)?;
    Ok(roots)
}
