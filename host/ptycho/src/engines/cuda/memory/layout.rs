//! Sizes of a run in the types that kernels take.

use crate::engines::batch_shares::shares_of;
use crate::engines::probe_slices::probe_slices_for;
use crate::{Problem, Ranks};

/// Pixels of a frame per block: 16 for each of 256 threads, enough to amortise a reduction and few
/// enough that the blocks of 1457 frames of 128 × 128 finish evenly.
const PART: usize = 4096;

/// Sizes in the types that kernels take. They, and hence the order of sums, do not depend on the
/// device.
#[derive(Debug, Clone, Copy)]
pub(in crate::engines::cuda) struct Layout {
    /// This device's frames of the scan, or those of a block that is worked on as if it were the
    /// scan.
    pub(in crate::engines::cuda) frames: u32,
    /// Frames of the scan.
    pub(in crate::engines::cuda) scan_frames: u32,
    pub(in crate::engines::cuda) modes: u32,
    pub(in crate::engines::cuda) rows: u32,
    pub(in crate::engines::cuda) columns: u32,
    pub(in crate::engines::cuda) object_rows: u32,
    pub(in crate::engines::cuda) object_columns: u32,
    /// Layers of the object (layer, row, column); 1 for slices, which are stacked in its rows.
    pub(in crate::engines::cuda) object_layers: u32,
    /// Points of each exposure.
    pub(in crate::engines::cuda) points: u32,
    /// Parts of a frame for kernels that need not see it whole.
    pub(in crate::engines::cuda) parts: u32,
    /// Slices of these frames in a probe update.
    pub(in crate::engines::cuda) slices: u32,
    /// Shares of a batch that this device has; 0 where devices do not divide batches.
    pub(in crate::engines::cuda) shares: u32,
}

impl Layout {
    /// The layout of one of several devices, which has `own` frames of the problem.
    pub(in crate::engines::cuda) fn new(problem: &Problem, ranks: &Ranks, own: usize) -> Self {
        let [frames, modes, rows, columns] = problem.shape();
        let [object_rows, object_columns] = problem.positions.object_shape;
        let pixels = rows * columns;
        let slices = probe_slices_for(modes * pixels, frames, ranks.size()) / ranks.size();
        // `Problem::new` has checked that each of these fits.
        let narrow = |n: usize| n as u32;
        // Slices are stacked in rows.
        let (object_rows, object_layers) = match &problem.slices {
            Some(slices) => (object_rows * slices.count(), 1),
            None => (object_rows, problem.object_layers()),
        };
        Self {
            frames: narrow(own),
            scan_frames: narrow(frames),
            modes: narrow(modes),
            rows: narrow(rows),
            columns: narrow(columns),
            object_rows: narrow(object_rows),
            object_columns: narrow(object_columns),
            object_layers: narrow(object_layers),
            points: narrow(problem.fly.points()),
            parts: narrow(pixels.div_ceil(PART)),
            slices: narrow(slices),
            shares: shares_of(ranks.size()),
        }
    }

    pub(in crate::engines::cuda) fn pixels(&self) -> u32 {
        self.rows * self.columns
    }

    pub(in crate::engines::cuda) fn probe_elements(&self) -> usize {
        self.modes as usize * self.pixels() as usize
    }

    /// Exit waves of a frame (point, object layer, mode).
    pub(in crate::engines::cuda) fn waves(&self) -> u32 {
        self.points * self.object_layers * self.modes
    }

    /// Whether frames have more exit waves than the probe modes.
    pub(in crate::engines::cuda) fn is_layered(&self) -> bool {
        self.points * self.object_layers > 1
    }

    /// Values of the shifted probes of a frame (point, mode, row, column).
    pub(in crate::engines::cuda) fn moved_elements(&self) -> usize {
        self.points as usize * self.probe_elements()
    }

    /// Values of the exit waves of a frame.
    pub(in crate::engines::cuda) fn frame_elements(&self) -> usize {
        self.waves() as usize * self.pixels() as usize
    }

    /// Pixels of a layer of the object.
    pub(in crate::engines::cuda) fn object_pixels(&self) -> usize {
        self.object_rows as usize * self.object_columns as usize
    }

    /// Values of all layers of the object.
    pub(in crate::engines::cuda) fn object_elements(&self) -> usize {
        self.object_layers as usize * self.object_pixels()
    }

    pub(in crate::engines::cuda) fn wave_elements(&self) -> usize {
        self.frames as usize * self.frame_elements()
    }

    /// Scale 1/(rows · columns) of a forward transform followed by an inverse one.
    pub(in crate::engines::cuda) fn scale(&self) -> f32 {
        1.0 / self.pixels() as f32
    }
}
