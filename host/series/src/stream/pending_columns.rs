//! Holds the aggregates of windows until all windows of the series are done, then passes them on
//! column by column.

use super::run_file::{anonymous_file, storage};
use super::sink::{Rows, Sink};
use super::{StreamError, run_file::Point};
use crate::Resample;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Number of rows read at a time.
const ROWS: usize = 1 << 16;

/// The columns of one series, in pieces.
#[derive(Debug)]
pub(super) struct PendingColumns {
    folder: PathBuf,
    file: Option<File>,
    /// (granularity, aggregate), byte offset and number of rows of the pieces in time order.
    pieces: Vec<Vec<(u64, usize)>>,
    end: u64,
}

impl PendingColumns {
    /// Starts with the given number of empty columns.
    pub(super) fn new(folder: &Path, columns: usize) -> Self {
        Self {
            folder: folder.to_owned(),
            file: None,
            pieces: vec![Vec::new(); columns],
            end: 0,
        }
    }

    /// Appends rows (bucket start, aggregate) to a column.
    pub(super) fn append(&mut self, column: usize, rows: &[Point]) -> Result<(), StreamError> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(anonymous_file(&self.folder)?);
        }
        if let Some(file) = &self.file {
            let write = || -> io::Result<()> {
                let mut to = BufWriter::new(file);
                to.seek(SeekFrom::Start(self.end))?;
                to.write_all(bytemuck::cast_slice(rows))?;
                to.flush()
            };
            write().map_err(|e| storage(&self.folder, e))?;
        }
        self.pieces[column].push((self.end, rows.len()));
        self.end += size_of_val(rows) as u64;
        Ok(())
    }

    /// Passes all columns of the series to the sink, and clears them.
    pub(super) fn flush(
        &mut self,
        series: usize,
        plan: &Resample,
        sink: &mut dyn Sink,
    ) -> Result<(), StreamError> {
        let columns = plan
            .granularities()
            .iter()
            .flat_map(|g| plan.aggregates().iter().map(move |a| (*g, *a)));
        let mut rows = vec![
            Point {
                time: 0,
                value: 0.0
            };
            ROWS
        ];
        let (mut starts, mut values) = (Vec::new(), Vec::new());
        for (pieces, (granularity, aggregate)) in self.pieces.iter_mut().zip(columns) {
            for (at, count) in pieces.drain(..) {
                for first in (0..count).step_by(ROWS) {
                    let rows = &mut rows[..ROWS.min(count - first)];
                    let at = at + (first * size_of::<Point>()) as u64;
                    if let Some(mut file) = self.file.as_ref() {
                        file.seek(SeekFrom::Start(at))
                            .and_then(|_| file.read_exact(bytemuck::cast_slice_mut(rows)))
                            .map_err(|e| storage(&self.folder, e))?;
                    }
                    starts.clear();
                    values.clear();
                    starts.extend(rows.iter().map(|row| row.time));
                    values.extend(rows.iter().map(|row| row.value));
                    let rows = Rows {
                        series,
                        granularity,
                        aggregate,
                        starts: &starts,
                        values: &values,
                        counts: None,
                    };
                    sink.take(&mut std::iter::once(rows))?;
                }
            }
        }
        self.end = 0;
        Ok(())
    }
}
