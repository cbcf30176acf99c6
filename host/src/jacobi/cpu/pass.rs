//! One pass over the memory: several sweeps of all rows, band by band.

use super::change::SEGMENT;
use super::padded::PaddedField;
use super::tile::{KEPT, Levels, Sweeps};
use crate::jacobi::{JacobiError, Real};
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of a tile's levels: they stay in the second-level cache of a core, half a megabyte or more,
/// beside the rows that stream through it.
const LEVELS_BYTES: usize = 400 << 10;

/// Most columns of a tile: beyond that a longer stretch of memory is fetched no faster.
const MOST_COLUMNS: usize = 8 * SEGMENT;

/// Most bands for each thread, so that a slow thread holds up the others by a part of its work.
const BANDS_PER_THREAD: usize = 4;

/// Rows of a band, per sweep of a pass, below which the rows beside it are too great a share.
const ROWS_PER_SWEEP: usize = 32;

/// How the rows are shared, and the memory that takes.
pub(super) struct Bands<T> {
    /// Rows of a band; the last may have less.
    rows: usize,
    /// Columns of a tile; the last of a band may have less.
    columns: usize,
    /// For each band.
    levels: Vec<Levels<T>>,
}

impl<T: Real> Bands<T> {
    /// For passes of at most `sweeps` by the current pool of threads.
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

    /// Does as many sweeps as `sweeps.checked` is long, `to` being the field after them. `changes`
    /// (row, sweep) get Σ(new − old)² of each inner row in the checked ones.
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

/// Columns of a tile, whole segments.
fn tile_columns<T>(sweeps: usize) -> usize {
    let fitting = LEVELS_BYTES / (KEPT * sweeps * size_of::<T>());
    (fitting - fitting % SEGMENT).clamp(SEGMENT, MOST_COLUMNS)
}

/// The work of one task; compiled once for each set of vector instructions.
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
