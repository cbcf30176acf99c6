//! One pass over the memory: several sweeps of all rows, band by band.

use super::change::SEGMENT;
use super::padded::PaddedField;
use super::tile::{Levels, STORED_ROWS, Sweeps};
use crate::{JacobiError, Real};
use rayon::prelude::*;
use std::ops::Range;

/// Maximum bytes of the levels of a tile, so that they stay in the L2 cache of a core (half a
/// megabyte or more) beside the rows that stream through it.
const LEVELS_BYTES: usize = 400 << 10;

/// Maximum number of columns per tile: longer contiguous ranges of memory are read no faster.
const MAX_COLUMNS: usize = 8 * SEGMENT;

/// Maximum number of bands per thread: several, so that a slow thread delays the others by only a
/// part of its work.
const BANDS_PER_THREAD: usize = 4;

/// Minimum rows per band for each sweep of a pass; with fewer, the rows computed beside the band
/// are too large a share.
const ROWS_PER_SWEEP: usize = 32;

/// The division of the rows into bands, and the memory of the bands.
pub(super) struct Bands<T> {
    /// Rows per band; the last may have fewer.
    rows: usize,
    /// Columns per tile; the last tile of a band may have fewer.
    columns: usize,
    /// The levels of each band.
    levels: Vec<Levels<T>>,
}

impl<T: Real> Bands<T> {
    /// The bands for passes of at most `sweeps` sweeps with the current thread pool.
    pub(super) fn new(field: &PaddedField<T>, sweeps: usize) -> Result<Self, JacobiError> {
        let layout = field.layout();
        let inner = layout.inner_rows();
        let threads = rayon::current_num_threads();
        let per_thread = (inner / (threads * sweeps * ROWS_PER_SWEEP)).clamp(1, BANDS_PER_THREAD);
        let rows = inner.div_ceil(threads * per_thread);
        let columns = tile_columns::<T>(sweeps).min(layout.nx);
        let levels = (0..inner.div_ceil(rows))
            .map(|_| Levels::new(layout, sweeps, columns))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            rows,
            columns,
            levels,
        })
    }

    /// Does `sweeps.checked.len()` sweeps and writes the field after them to `to`. Sets `changes`
    /// (row, sweep) to Σ(new − old)² of each inner row for the checked sweeps.
    pub(super) fn pass(
        &mut self,
        sweeps: Sweeps<'_, T>,
        to: &mut PaddedField<T>,
        changes: &mut [f64],
    ) {
        let stride = to.layout().stride;
        let (rows, columns) = (self.rows, self.columns);
        let arch = pulp::Arch::new();
        to.inner_rows_mut()
            .par_chunks_mut(rows * stride)
            .zip(changes.par_chunks_mut(rows * sweeps.checked.len()))
            .zip(&mut self.levels)
            .enumerate()
            .with_max_len(1)
            .for_each(|(band, ((to, changes), levels))| {
                let first = 1 + band * rows;
                arch.dispatch(Band {
                    sweeps,
                    rows: first..first + to.len() / stride,
                    columns,
                    levels,
                    to,
                    changes,
                });
            });
    }
}

/// The number of columns per tile, in whole segments.
fn tile_columns<T>(sweeps: usize) -> usize {
    let fitting = LEVELS_BYTES / (STORED_ROWS * sweeps * size_of::<T>());
    (fitting - fitting % SEGMENT).clamp(SEGMENT, MAX_COLUMNS)
}

/// The work of one task, compiled separately for each vector instruction set.
struct Band<'a, T> {
    sweeps: Sweeps<'a, T>,
    rows: Range<usize>,
    columns: usize,
    levels: &'a mut Levels<T>,
    to: &'a mut [T],
    changes: &'a mut [f64],
}

impl<T: Real> pulp::NullaryFnOnce for Band<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let layout = self.sweeps.from.layout();
        self.changes.fill(0.0);
        for start in (0..layout.nx).step_by(self.columns) {
            let columns = start..layout.nx.min(start + self.columns);
            let rows = self.rows.clone();
            self.sweeps
                .tile(rows, columns, self.levels, self.to, self.changes);
        }
        for row in self.to.chunks_exact_mut(layout.stride) {
            layout.continue_columns(row);
        }
    }
}
