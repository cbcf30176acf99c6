//! The CPU engine.

use super::padded::{Layout, PaddedField};
use super::pass::Bands;
use super::tile::Sweeps;
use crate::{Advance, Engine, Execution, JacobiError, Norm, Problem, Real, Span, Stopping};
use bytemuck::allocation::try_zeroed_vec;
use ndarray::Array2;
use rayon::prelude::*;
use std::time::{Duration, Instant};
use warpstride_core::run::Setup;
use warpstride_core::system::Memory;

/// Default number of sweeps per pass, if each thread has enough rows. More are hardly faster,
/// because the levels of a tile then fill the cache.
const DEFAULT_TIME_BLOCK: usize = 16;

/// Maximum number of sweeps per pass: with more, only the work beside the tiles grows.
const MAX_TIME_BLOCK: usize = 64;

/// Minimum rows per thread for each sweep of a pass, so that one row in 32 is computed twice.
const ROWS_PER_SWEEP: usize = 32;

/// So many passes at a time that a caller does not wait long, and is not called often.
const STEP: Duration = Duration::from_millis(60);

/// Duration of the measurement of the copy rate.
const COPY_MEASUREMENT: Duration = Duration::from_millis(5);

/// Minimum bytes of a field for a measurement of the copy rate.
const MIN_COPY_BYTES: usize = 1 << 20;

/// A relaxation on the CPU, with the threads of the current thread pool.
pub struct CpuEngine<T> {
    grid: Problem<T>,
    stopping: Stopping,
    setup: Setup,
    execution: Execution,
    field: PaddedField<T>,
    /// The buffer that the next pass writes.
    other: PaddedField<T>,
    source: Option<PaddedField<T>>,
    bands: Bands<T>,
    /// Σ(new − old)², (inner row, sweep of a pass)
    changes: Vec<f64>,
    sweeps: usize,
    converged: bool,
    /// Time after which [`Engine::advance`] begins no further pass.
    step: Duration,
}

impl<T: Real> CpuEngine<T> {
    /// Creates an engine with `time_block` sweeps per pass; 0 selects a number that suits the grid.
    ///
    /// # Errors
    /// [`JacobiError::HostMemory`].
    pub fn new(
        problem: &Problem<T>,
        stopping: Stopping,
        time_block: usize,
    ) -> Result<Self, JacobiError> {
        let threads = rayon::current_num_threads();
        let setup = Setup::cpu(T::NAME);
        let (time_block, note) = choose_time_block(problem.ny(), threads, time_block);
        let layout = Layout::new(problem, time_block);
        let fields = 2 + usize::from(problem.source().is_some());
        let needed = fields * layout.stride * layout.ny * size_of::<T>();
        if needed as u64 > Memory::available().limit() {
            let what = "the relaxation";
            return Err(JacobiError::HostMemory { what, needed });
        }
        let start = |y: usize, row: &mut [T]| problem.start_row(y, row);
        let field = PaddedField::new(layout, "the field", start)?;
        let mut other = PaddedField::new(layout, "the field", start)?;
        let copy_bytes_per_second = copy_speed(&field, &mut other);
        let source = problem.source().map(|source| {
            PaddedField::new(layout, "the source", |y, row| {
                for (value, given) in row.iter_mut().zip(source.row(y)) {
                    *value = *given;
                }
            })
        });
        let bands = Bands::new(&field, time_block)?;
        let changes = zeroed("the norms", layout.inner_rows() * time_block)?;
        let grid = Problem::new(problem.nx(), problem.ny(), problem.boundary());
        Ok(Self {
            grid: grid.expect("the grid of a valid problem"),
            stopping,
            execution: Execution {
                device_names: vec![setup.device.clone()],
                scheme: "cpu",
                time_block,
                notes: note.into_iter().collect(),
                copy_bytes_per_second,
                ..Execution::default()
            },
            setup,
            field,
            other,
            source: source.transpose()?,
            bands,
            changes,
            sweeps: 0,
            converged: false,
            step: STEP,
        })
    }

    /// Writes the field after `sweeps` more sweeps to `other`.
    fn pass(&mut self, sweeps: usize, checked: &[bool]) {
        let rows = self.field.layout().inner_rows();
        self.bands.pass(
            Sweeps {
                from: &self.field,
                source: self.source.as_ref(),
                checked: &checked[..sweeps],
            },
            &mut self.other,
            &mut self.changes[..rows * sweeps],
        );
    }

    /// Does one pass. The new field is the one after the pass or, if the tolerance was met within
    /// it, the one after that sweep.
    fn advance_by_one_pass(&mut self, advance: &mut Advance) -> Result<(), JacobiError> {
        let mut sweeps = (self.stopping.iterations - self.sweeps).min(self.execution.time_block);
        let checked: Vec<bool> = (self.sweeps..self.sweeps + sweeps)
            .map(|sweep| self.stopping.checked(sweep))
            .collect();
        self.pass(sweeps, &checked);
        let used = self.field.layout().inner_rows() * sweeps;
        for level in (0..sweeps).filter(|level| checked[*level]) {
            let sweep = self.sweeps + level;
            let rows = self.changes[..used].iter().skip(level).step_by(sweeps);
            let norm = rows.sum::<f64>().sqrt();
            if !norm.is_finite() {
                return Err(JacobiError::NotFinite { sweep, norm });
            }
            advance.norms.push(Norm { sweep, norm });
            if self.stopping.met_by(norm) {
                self.converged = true;
                if level + 1 < sweeps {
                    sweeps = level + 1;
                    self.pass(sweeps, &vec![false; sweeps]);
                }
                break;
            }
        }
        self.sweeps += sweeps;
        std::mem::swap(&mut self.field, &mut self.other);
        Ok(())
    }
}

impl<T: Real> Engine<T> for CpuEngine<T> {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn execution(&self) -> &Execution {
        &self.execution
    }

    fn sweeps(&self) -> usize {
        self.sweeps
    }

    fn finished(&self) -> bool {
        self.converged || self.sweeps >= self.stopping.iterations
    }

    fn advance(&mut self) -> Result<Advance, JacobiError> {
        let start = Instant::now();
        let mut advance = Advance::default();
        while !self.finished() {
            self.advance_by_one_pass(&mut advance)?;
            if start.elapsed() >= self.step {
                break;
            }
        }
        advance.converged = self.converged;
        Ok(advance)
    }

    fn one_by_one(&mut self) {
        self.step = Duration::ZERO;
    }

    fn field(&mut self) -> Result<Array2<T>, JacobiError> {
        let (ny, nx) = (self.grid.ny(), self.grid.nx());
        let mut values = zeroed("the result", ny * nx)?;
        let rows = values.par_chunks_exact_mut(nx).enumerate();
        rows.for_each(|(y, row)| row.copy_from_slice(self.field.cells(y)));
        let field = Array2::from_shape_vec((ny, nx), values);
        let mut field = field.expect("one value per cell");
        self.grid.fill_ghosts(&mut field);
        Ok(field)
    }

    fn take_spans(&mut self) -> Result<Vec<Span>, JacobiError> {
        Ok(Vec::new())
    }
}

fn zeroed<V: bytemuck::Zeroable>(what: &'static str, len: usize) -> Result<Vec<V>, JacobiError> {
    try_zeroed_vec(len).map_err(|()| JacobiError::HostMemory {
        what,
        needed: len.saturating_mul(size_of::<V>()),
    })
}

/// The number of sweeps per pass for the requested number (0 selects one), with a note if it
/// differs.
fn choose_time_block(ny: usize, threads: usize, requested: usize) -> (usize, Option<String>) {
    match requested {
        0 => {
            let rows = (ny - 2) / threads;
            ((rows / ROWS_PER_SWEEP).clamp(1, DEFAULT_TIME_BLOCK), None)
        }
        1..=MAX_TIME_BLOCK => (requested, None),
        _ => {
            let note = format!(
                "time block {MAX_TIME_BLOCK} instead of {requested}: the maximum is {MAX_TIME_BLOCK}"
            );
            (MAX_TIME_BLOCK, Some(note))
        }
    }
}

/// Bytes per second, read and written, that all threads together copy from one field to the other.
/// If a field fits in the caches, so does the copy.
fn copy_speed<T: Real>(from: &PaddedField<T>, to: &mut PaddedField<T>) -> Option<f64> {
    let bytes = size_of_val(from.values());
    if bytes < MIN_COPY_BYTES {
        return None;
    }
    let part = from.layout().stride * from.layout().ny.div_ceil(4 * rayon::current_num_threads());
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed() < COPY_MEASUREMENT {
        let copy = Instant::now();
        let parts = to.values_mut().par_chunks_mut(part);
        parts
            .zip(from.values().par_chunks(part))
            .for_each(|(to, from)| to.copy_from_slice(from));
        best = best.min(copy.elapsed().as_secs_f64());
    }
    (best > 0.0).then(|| 2.0 * bytes as f64 / best)
}
