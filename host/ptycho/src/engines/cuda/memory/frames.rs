//! Device memory of the engines that work frame by frame, and the model of a few frames at a time.
//! Mirrors cpu/model.rs.

mod order;
mod probes;
mod trials;
mod waves;

pub(in crate::engines::cuda) use probes::{ShiftTo, copy_layers};
pub(in crate::engines::cuda) use trials::TrialBuffers;
pub(in crate::engines::cuda) use waves::between;

use super::layout::Layout;
use crate::engines::batch_shares::SHARES;
use crate::engines::cuda::batches::fused_batches::Epoch;
use crate::engines::cuda::model::exposure_points::Points;
use crate::engines::cuda::model::multislice::ThickWaves;
use crate::frames_together;
use std::collections::BTreeMap;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_device::Complex32;

/// Frames whose waves are in memory together where the engine has no batches of its own.
pub(in crate::engines::cuda) fn chunk(layout: &Layout) -> usize {
    frames_together(layout.frame_elements()).min((layout.frames as usize).max(1))
}

/// Buffers for `size` frames at a time. Shapes are (frame of the batch, mode, row, column) unless
/// they are stated.
pub(in crate::engines::cuda) struct FrameBuffers<M: Device> {
    pub(in crate::engines::cuda) size: usize,
    /// Whether probes are shifted; otherwise «spectra» of probes are the probes themselves, and
    /// nothing is transformed to shift them.
    pub(in crate::engines::cuda) exact: bool,
    /// Whether any frame is between pixels.
    pub(in crate::engines::cuda) between_pixels: bool,
    /// Whether the frames' probes have variations.
    pub(in crate::engines::cuda) varies: bool,
    /// Whether `probe_spectra` are those of the probe, which has the variations, and not of its
    /// direction.
    of_probe: bool,
    /// (variation, row, column): spectra of the variations' shapes, or the shapes; empty without
    /// them.
    pub(in crate::engines::cuda) shape_spectra: M::Buffer<Complex32>,
    /// Whether shifted probes have the roots of the frames' scales as factors.
    pub(in crate::engines::cuda) scaled: bool,
    /// Transforms of exit waves.
    pub(in crate::engines::cuda) fft: M::Fft,
    /// Transforms of shifted probes, if there are fewer of them.
    pub(in crate::engines::cuda) moved_fft: Option<M::Fft>,
    /// The points of exposures, if frames have several.
    pub(in crate::engines::cuda) points: Option<Points<M>>,
    /// The points of all exposures, of exit waves at exact positions.
    all_points: Option<Points<M>>,
    /// (frame): frames in the order of the batches.
    pub(in crate::engines::cuda) order: M::Buffer<u32>,
    /// (batch): first frame in this order, and number of frames.
    pub(in crate::engines::cuda) ranges: M::Buffer<[u32; 2]>,
    /// What `ranges` holds.
    present_ranges: Vec<[u32; 2]>,
    /// (batch): where its shares end.
    pub(in crate::engines::cuda) share_ends: M::Buffer<[u32; SHARES]>,
    /// What `share_ends` holds.
    present_ends: Vec<[u32; SHARES]>,
    /// (batch): the object's pixels under its windows, if other devices have some of them;
    /// otherwise empty.
    pub(in crate::engines::cuda) bounds: M::Buffer<[u32; 4]>,
    /// The launches of an epoch, or of each group of batches on a region, if they have been
    /// captured; they use these buffers.
    pub(in crate::engines::cuda) epochs: BTreeMap<usize, Epoch<M>>,
    /// Shifted probes (frame of the batch, point, mode, row, column).
    pub(in crate::engines::cuda) probes: M::Buffer<Complex32>,
    /// Exit waves, their spectra, then what the counts ask of them (frame of the batch, point,
    /// object layer, mode, row, column).
    pub(in crate::engines::cuda) chi: M::Buffer<Complex32>,
    /// Scratch memory, as shifted probes.
    pub(in crate::engines::cuda) work: M::Buffer<Complex32>,
    /// Derivatives of waves by the rows, and b along a line, as exit waves; empty until it is used,
    /// and where `work` serves.
    pub(in crate::engines::cuda) other: M::Buffer<Complex32>,
    /// Scratch memory of the refinement; empty until it is used.
    pub(in crate::engines::cuda) more: M::Buffer<Complex32>,
    /// (frame): equations of the refinement of positions; none until it is used.
    pub(in crate::engines::cuda) equations: Option<M::Buffer<[f32; 9]>>,
    /// Memory of trial positions; none until it is used.
    pub(in crate::engines::cuda) trials: Option<TrialBuffers<M>>,
    /// Waves at the slices of a thick specimen; none until they are used.
    pub(in crate::engines::cuda) thick: Option<ThickWaves<M>>,
    /// (mode, row, column): spectra of the probe, or of its direction.
    pub(in crate::engines::cuda) probe_spectra: M::Buffer<Complex32>,
}

impl<M: Device> FrameBuffers<M> {
    /// Allocates memory for `size` frames.
    pub(in crate::engines::cuda) fn new(device: &M, layout: &Layout, size: usize) -> Result<Self> {
        let [moved, waves] =
            [layout.moved_elements(), layout.frame_elements()].map(|elements| size * elements);
        let shape = [layout.rows as usize, layout.columns as usize];
        Ok(Self {
            size,
            exact: true,
            between_pixels: true,
            varies: false,
            of_probe: false,
            shape_spectra: device.alloc("the variations' spectra", 0)?,
            scaled: false,
            fft: device.plan_fft(&shape, size * layout.waves() as usize)?,
            moved_fft: (layout.object_layers > 1)
                .then(|| device.plan_fft(&shape, size * (layout.points * layout.modes) as usize))
                .transpose()?,
            points: (layout.points > 1)
                .then(|| Points::new(device, layout, size))
                .transpose()?,
            all_points: None,
            order: device.alloc("the order of the frames", layout.frames as usize)?,
            ranges: device.alloc("the batches", 0)?,
            present_ranges: Vec::new(),
            share_ends: device.alloc("the shares of the batches", 0)?,
            present_ends: Vec::new(),
            bounds: device.alloc("the bounds of the batches", 0)?,
            epochs: BTreeMap::new(),
            probes: device.alloc("a batch's probes", moved)?,
            chi: device.alloc("a batch's waves", waves)?,
            work: device.alloc("a batch's work waves", moved)?,
            other: device.alloc("other waves of a batch", 0)?,
            more: device.alloc("more work waves", 0)?,
            equations: None,
            trials: None,
            thick: None,
            probe_spectra: device.alloc("the probe's spectra", layout.probe_elements())?,
        })
    }

    /// Whether fused launches shift probes by fractions of a pixel.
    pub(in crate::engines::cuda) fn shifts(&self) -> bool {
        self.exact && self.between_pixels
    }
}
