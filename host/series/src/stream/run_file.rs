//! Runs of points in an anonymous temporary file.

use super::StreamError;
use bytemuck::{Pod, Zeroable};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Number of bytes written or read at a time.
const PIECE: usize = 1 << 20;

/// A point as stored in the file.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Point {
    /// Nanoseconds since 1970.
    pub(super) time: i64,
    pub(super) value: f64,
}

const POINT: u64 = size_of::<Point>() as u64;

/// An open file without a name: the system reclaims its space when it is closed, even if the
/// program is killed.
pub(super) fn anonymous_file(folder: &Path) -> Result<File, StreamError> {
    tempfile::tempfile_in(folder).map_err(|e| storage(folder, e))
}

pub(super) fn storage(folder: &Path, reason: io::Error) -> StreamError {
    StreamError::Storage {
        folder: folder.display().to_string(),
        reason,
    }
}

/// Location of a run.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Byte offset of its points.
    points: u64,
    /// Byte offset of its series offsets, (series + 1) 64-bit numbers.
    offsets: u64,
    /// Number of series known when the run was written.
    series: usize,
}

/// All runs.
#[derive(Debug)]
pub(super) struct RunFile {
    file: File,
    folder: PathBuf,
    runs: Vec<Run>,
    end: u64,
}

impl RunFile {
    pub(super) fn new(folder: &Path) -> Result<Self, StreamError> {
        Ok(Self {
            file: anonymous_file(folder)?,
            folder: folder.to_owned(),
            runs: Vec::new(),
            end: 0,
        })
    }

    /// Size of the file in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.end
    }

    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Appends a run: points grouped by series and sorted by time; `offsets`: (series + 1).
    pub(super) fn append(&mut self, points: &[Point], offsets: &[u64]) -> Result<(), StreamError> {
        let run = Run {
            points: self.end,
            offsets: self.end + size_of_val(points) as u64,
            series: offsets.len() - 1,
        };
        let write = || -> io::Result<()> {
            let mut to = BufWriter::with_capacity(PIECE, &self.file);
            to.seek(SeekFrom::Start(self.end))?;
            to.write_all(bytemuck::cast_slice(points))?;
            to.write_all(bytemuck::cast_slice(offsets))?;
            to.flush()
        };
        write().map_err(|e| storage(&self.folder, e))?;
        self.end = run.offsets + size_of_val(offsets) as u64;
        self.runs.push(run);
        Ok(())
    }

    /// Index of the first point, within a run, of each of the series and of the one after them.
    pub(super) fn offsets(
        &self,
        run: usize,
        series: &Range<usize>,
    ) -> Result<Vec<u64>, StreamError> {
        let of = self.runs[run];
        // Series that appeared later have no points.
        let known = series.start.min(of.series)..series.end.min(of.series);
        let mut offsets = vec![0_u64; known.len() + 1];
        let at = of.offsets + known.start as u64 * size_of::<u64>() as u64;
        self.read(at, bytemuck::cast_slice_mut(&mut offsets))?;
        let last = offsets.last().copied().unwrap_or(0);
        offsets.resize(series.len() + 1, last);
        Ok(offsets)
    }

    /// Passes the points `range` of a run to `take`, piece by piece.
    pub(super) fn points(
        &self,
        run: usize,
        range: Range<u64>,
        mut take: impl FnMut(&[Point]),
    ) -> Result<(), StreamError> {
        let most = (PIECE as u64 / POINT).min(range.end - range.start);
        let mut piece = vec![Point::zeroed(); most as usize];
        let mut next = range.start;
        while next < range.end {
            let count = most.min(range.end - next) as usize;
            let at = self.runs[run].points + next * POINT;
            self.read(at, bytemuck::cast_slice_mut(&mut piece[..count]))?;
            take(&piece[..count]);
            next += count as u64;
        }
        Ok(())
    }

    /// Index of the first point at or after `time` among the points `range` of a run, which are
    /// sorted by time.
    pub(super) fn first_from(
        &self,
        run: usize,
        range: &Range<u64>,
        time: i64,
    ) -> Result<u64, StreamError> {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut found = [0_i64];
            let at = self.runs[run].points + middle * POINT;
            self.read(at, bytemuck::cast_slice_mut(&mut found))?;
            if found[0] < time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn read(&self, at: u64, to: &mut [u8]) -> Result<(), StreamError> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at))
            .and_then(|_| file.read_exact(to))
            .map_err(|e| storage(&self.folder, e))
    }
}
