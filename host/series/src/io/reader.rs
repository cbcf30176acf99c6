//! Reads the points of several inputs, one input after another.

use super::columnar;
use super::csv::{Csv, Sizes, TextOrigin};
use super::input::{self, Content};
use super::names::Names;
use super::notes::Notes;
use super::remote_read;
use super::rounded::Rounded;
use super::row_numbers::{self, RowNumbers};
use super::rows::{Faults, MAX_KEPT};
use super::sentinels::{Sentinels, is_among};
use super::timestamp::LocalTimes;
use super::{Ambiguous, IoError, Memory, OnError, ReadOptions, TimeUnit, allow, format_error};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Part of the points in the order of the input; at most a few 10⁵.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// (point), an index of [`Names`].
    pub series: Vec<u32>,
    /// (point), nanoseconds since 1970, non-negative.
    pub times: Vec<i64>,
    /// (point).
    pub values: Vec<f64>,
}

impl Block {
    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Removes the points with one of the `missing` values. Returns their number.
    fn leave_out(&mut self, missing: &[f64]) -> u64 {
        let kept: Vec<bool> = self.values.iter().map(|v| !is_among(missing, *v)).collect();
        let before = self.len();
        let mut each = kept.iter();
        self.series.retain(|_| each.next() == Some(&true));
        let mut each = kept.iter();
        self.times.retain(|_| each.next() == Some(&true));
        let mut each = kept.iter();
        self.values.retain(|_| each.next() == Some(&true));
        (before - self.len()) as u64
    }
}

/// Rows that could not be read and were skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Number of rows.
    pub rows: u64,
    /// Errors of the first few: file, line, found, expected.
    pub first: Vec<String>,
}

/// Names of series may take one part of the memory in this number. The rest is for points, and for
/// copies of the names in results that are being written.
const NAMES_SHARE: u64 = 4;

/// State shared by the files of a reader.
pub(super) struct Shared {
    pub(super) names: Names,
    pub(super) skipped: Skipped,
    /// Error of the first skipped row in the open file.
    pub(super) first_of_file: Option<String>,
    pub(super) notes: Notes,
    pub(super) memory: Memory,
    /// Number of cells without a value in the open file, which are no points.
    pub(super) missing_of_file: u64,
    /// Number of times in the open file that clocks show twice.
    pub(super) twice_of_file: u64,
    /// Integers in the open file that were rounded.
    pub(super) rounded_of_file: Rounded,
    /// Values in the open file that may stand for missing ones.
    sentinels_of_file: Sentinels,
    /// Number of values in the open file that were left out because an option names them.
    left_out_of_file: u64,
    /// Number of lines in the open file that are comments between rows.
    pub(super) comments_of_file: u64,
    /// Number of lines in the open file that repeat the header.
    pub(super) headers_of_file: u64,
}

impl Shared {
    /// The index of the series `name`.
    pub(super) fn number(&mut self, file: &str, name: &str) -> Result<u32, IoError> {
        let number = self.names.number(name);
        let needed = u128::from(self.names.bytes());
        let available = Memory::limited(self.memory.limit() / NAMES_SHARE);
        allow(file, "names of series", needed, available)?;
        number.ok_or_else(|| format_error(file, "more than 4294967295 series"))
    }

    /// Leaves out the points with `missing` values, and looks for others like these.
    fn look_at_values(&mut self, blocks: &mut [Block], missing: &[f64]) {
        let of_block = |block: &mut Block| {
            let left_out = match missing.is_empty() {
                true => 0,
                false => block.leave_out(missing),
            };
            (left_out, Sentinels::of(&block.values))
        };
        let nothing = || (0, Sentinels::default());
        let parts = blocks.par_iter_mut().map(of_block);
        let (left_out, sentinels) = parts.reduce(nothing, |(n, a), (m, b)| (n + m, a.with(b)));
        self.left_out_of_file += left_out;
        self.sentinels_of_file = self.sentinels_of_file.with(sentinels);
    }

    /// Adds notes on cells of the open file without a value, and on times that clocks show twice.
    pub(super) fn note_counts(&mut self, file: &str, local: Option<LocalTimes>) {
        if let (1.., Some(LocalTimes { zone, ambiguous })) = (self.twice_of_file, local) {
            let which = match ambiguous {
                Ambiguous::Later => "later",
                Ambiguous::Earlier | Ambiguous::Refuse => "earlier",
            };
            let count = self.twice_of_file;
            let what = format!(
                "local times that clocks of {zone} show twice were read as the {which} ones: {count}"
            );
            self.notes.add(file, what);
        }
        let sentinels = self.sentinels_of_file;
        let sentinels = sentinels.notes(|number| format!("--missing-values {number}"));
        for what in self.rounded_of_file.note().into_iter().chain(sentinels) {
            self.notes.add(file, what);
        }
        let left_out = match self.left_out_of_file {
            0 => None,
            1 => Some("1 value of --missing-values is no point".to_owned()),
            count => Some(format!("{count} values of --missing-values are no points")),
        };
        let comments = match self.comments_of_file {
            0 => None,
            1 => Some("1 line between the rows begins with # and was read as a comment".to_owned()),
            count => Some(format!(
                "{count} lines between the rows begin with # and were read as comments"
            )),
        };
        let headers = match self.headers_of_file {
            0 => None,
            1 => Some("1 line between the rows repeats the header and is left out".to_owned()),
            count => Some(format!(
                "{count} lines between the rows repeat the header and are left out"
            )),
        };
        for what in left_out.into_iter().chain(comments).chain(headers) {
            self.notes.add(file, what);
        }
        let what = match self.missing_of_file {
            0 => return,
            1 => {
                "1 cell without a value (empty, null, or a text such as NA) is no point".to_owned()
            }
            count => format!(
                "{count} cells without a value (empty, null, or a text such as NA) are no points"
            ),
        };
        self.notes.add(file, what);
    }

    /// The index of the series of a single-series file, which is named after it. Adds a note if
    /// that name is already in use.
    pub(super) fn number_of_file(&mut self, file: &str, name: &str) -> Result<u32, IoError> {
        let known = self.names.find(name).is_some();
        if known {
            let what = format!(
                "its series is named '{name}' after the file, like an earlier one: both are treated as one series"
            );
            self.notes.add(file, what);
        }
        self.number(file, name)
    }

    /// Maps indices from `known` on, which refer to the `fresh` names, to indices of
    /// [`Shared::names`].
    pub(super) fn renumber(
        &mut self,
        file: &str,
        series: &mut [u32],
        known: usize,
        fresh: &Names,
    ) -> Result<(), IoError> {
        if fresh.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u32> = fresh
            .iter()
            .map(|name| self.number(file, name))
            .collect::<Result<_, _>>()?;
        if numbers.first().is_some_and(|n| *n as usize == known)
            && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1])
        {
            return Ok(());
        }
        for number in series {
            if let Some(index) = (*number as usize).checked_sub(known)
                && let Some(new) = numbers.get(index)
            {
                *number = *new;
            }
        }
        Ok(())
    }

    /// Fails with or counts rows that could not be read.
    pub(super) fn record_faults(
        &mut self,
        file: &str,
        unit: &'static str,
        first: u64,
        faults: Faults,
        on_error: OnError,
    ) -> Result<(), IoError> {
        self.skipped.rows += faults.count;
        for fault in faults.first {
            let error = fault.into_error(file, unit, first);
            if on_error == OnError::Fail {
                return Err(error);
            }
            if self.skipped.first.len() < MAX_KEPT {
                self.skipped.first.push(error.to_string());
            }
            self.first_of_file.get_or_insert_with(|| error.to_string());
        }
        Ok(())
    }
}

/// An open file.
pub(super) trait Source {
    /// The next blocks, possibly none; `None` at the end.
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Vec<Block>>, IoError>;

    /// The path as given.
    fn file(&self) -> &str;

    /// Unit of numeric timestamps, as stated by the options or the column's name.
    fn unit(&self) -> TimeUnit;
}

/// Iterates over blocks of the points of several inputs, one input after another.
///
/// There are no more blocks after an error.
pub struct Reader {
    inputs: VecDeque<PathBuf>,
    options: ReadOptions,
    sizes: Sizes,
    shared: Shared,
    source: Option<Box<dyn Source + Send>>,
    ready: VecDeque<Block>,
    /// Points read from the open file, and rows skipped before it.
    of_file: (u64, u64),
    /// The series of the open file as long as they may be numbers of rows.
    row_numbers: Option<RowNumbers>,
    /// Bytes of the finished files, of the open file, and the part of the latter that was read.
    done: u64,
    of_open: u64,
    taken: Arc<AtomicU64>,
}

impl Reader {
    /// Checks all `inputs` (`-` is standard input) and opens the first. Memory use stays within
    /// `memory`.
    ///
    /// # Errors
    /// If an input does not exist or is not a file.
    pub fn open(
        inputs: &[PathBuf],
        options: &ReadOptions,
        memory: Memory,
    ) -> Result<Self, IoError> {
        let mut sizes = Sizes::default();
        // Half of the limit holds four windows; small limits occur in tests only.
        let most = usize::try_from(memory.limit() / 8).unwrap_or(usize::MAX);
        sizes.window = sizes.window.min(most.max(1 << 16));
        sizes.record = sizes.record.min(sizes.window / 4);
        sizes.chunk = sizes.chunk.min(sizes.window / 4);
        Self::with_sizes(inputs, options, memory, sizes)
    }

    pub(super) fn with_sizes(
        inputs: &[PathBuf],
        options: &ReadOptions,
        memory: Memory,
        sizes: Sizes,
    ) -> Result<Self, IoError> {
        for path in inputs {
            input::check(path)?;
        }
        let standard = |path: &&PathBuf| path.as_os_str() == input::STANDARD_INPUT;
        if inputs.iter().filter(standard).count() > 1 {
            return Err(format_error("standard input", "the same input given twice"));
        }
        Ok(Self {
            inputs: inputs.iter().cloned().collect(),
            options: options.clone(),
            sizes,
            shared: Shared {
                names: Names::default(),
                skipped: Skipped::default(),
                first_of_file: None,
                notes: Notes::default(),
                memory,
                missing_of_file: 0,
                twice_of_file: 0,
                rounded_of_file: Rounded::default(),
                sentinels_of_file: Sentinels::default(),
                left_out_of_file: 0,
                comments_of_file: 0,
                headers_of_file: 0,
            },
            source: None,
            ready: VecDeque::new(),
            of_file: (0, 0),
            row_numbers: None,
            done: 0,
            of_open: 0,
            taken: Arc::default(),
        })
    }

    /// The unit of numeric timestamps, as stated by the options or by the column's name in the
    /// first remaining input.
    ///
    /// # Errors
    /// The errors of that input.
    pub fn unit(&mut self) -> Result<TimeUnit, IoError> {
        if self.options.unit() == TimeUnit::Auto
            && self.source.is_none()
            && let Some(path) = self.inputs.pop_front()
        {
            self.take_up(&path)?;
        }
        Ok(match &self.source {
            Some(source) => source.unit(),
            None => self.options.unit(),
        })
    }

    /// Names of the series found so far; names are only added.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.shared.names
    }

    /// Names of the series, for use after the last block.
    #[must_use]
    pub fn into_names(self) -> Names {
        self.shared.names
    }

    /// Rows skipped so far.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.shared.skipped
    }

    /// Assumptions and ignored data so far, one sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.shared.notes.sentences()
    }

    /// Bytes of the inputs read so far, for progress. Compressed files count by their compressed
    /// size, Parquet when finished.
    #[must_use]
    pub fn position(&self) -> u64 {
        match self.source {
            Some(_) => self.done + self.taken.load(Ordering::Relaxed),
            None => self.done + self.of_open,
        }
    }

    /// Like `next`, but returns an empty block for a part of the input without points, so that the
    /// caller can stop while any number of rows is skipped.
    pub fn step(&mut self) -> Option<Result<Block, IoError>> {
        let block = self.advance();
        if block.is_err() {
            self.inputs.clear();
            self.ready.clear();
            self.source = None;
        }
        block.transpose()
    }

    fn advance(&mut self) -> Result<Option<Block>, IoError> {
        loop {
            if let Some(block) = self.ready.pop_front() {
                return Ok(Some(block));
            }
            let Some(source) = &mut self.source else {
                let Some(path) = self.inputs.pop_front() else {
                    return Ok(None);
                };
                self.take_up(&path)?;
                continue;
            };
            match source.next(&mut self.shared)? {
                Some(blocks) if blocks.is_empty() => return Ok(Some(Block::default())),
                Some(mut blocks) => {
                    self.shared
                        .look_at_values(&mut blocks, &self.options.missing_values);
                    if blocks.iter().all(Block::is_empty) {
                        return Ok(Some(Block::default()));
                    }
                    self.of_file.0 += blocks.iter().map(|b| b.len() as u64).sum::<u64>();
                    let names = &self.shared.names;
                    let numbers = self.row_numbers.take();
                    self.row_numbers = numbers.and_then(|numbers| numbers.with(&blocks, names));
                    if self
                        .row_numbers
                        .as_ref()
                        .is_some_and(RowNumbers::is_certain)
                    {
                        return Err(row_numbers::refusal(source.file()));
                    }
                    self.ready.extend(blocks);
                }
                None => {
                    let file = source.file().to_owned();
                    self.source = None;
                    self.end(&file)?;
                }
            }
        }
    }

    fn take_up(&mut self, path: &Path) -> Result<(), IoError> {
        self.source = Some(self.begin(path)?);
        self.of_file = (0, self.shared.skipped.rows);
        self.shared.first_of_file = None;
        self.shared.missing_of_file = 0;
        self.shared.twice_of_file = 0;
        self.shared.rounded_of_file = Rounded::default();
        self.shared.sentinels_of_file = Sentinels::default();
        self.shared.left_out_of_file = 0;
        self.shared.comments_of_file = 0;
        self.shared.headers_of_file = 0;
        let named = self.options.series_column.is_some()
            || !self.options.series_columns.is_empty()
            || self.options.wide;
        self.row_numbers = (!named).then(|| RowNumbers::after(self.shared.names.len()));
        Ok(())
    }

    /// Rejects a file without points.
    fn end(&mut self, file: &str) -> Result<(), IoError> {
        let (points, before) = self.of_file;
        let skipped = self.shared.skipped.rows - before;
        if self.row_numbers.as_ref().is_some_and(RowNumbers::is_likely) {
            return Err(row_numbers::refusal(file));
        }
        if let Some(what) = self.row_numbers.as_ref().and_then(RowNumbers::note) {
            self.shared.notes.add(file, what);
        }
        match (points, skipped) {
            (1.., _) => Ok(()),
            (0, 0) if self.shared.missing_of_file + self.shared.left_out_of_file > 0 => {
                Err(format_error(file, "rows without any value"))
            }
            (0, 0) => Err(format_error(file, "no rows")),
            (0, _) => {
                let first = self.shared.first_of_file.as_deref().unwrap_or_default();
                Err(format_error(
                    file,
                    format!("{skipped} rows, none of them readable; the first: {first}"),
                ))
            }
        }
    }

    fn begin(&mut self, path: &Path) -> Result<Box<dyn Source + Send>, IoError> {
        let input = input::open(path, self.shared.memory)?;
        let (file, name) = (input.file, input.name);
        let length = std::fs::metadata(path).map_or(0, |found| found.len());
        self.done += std::mem::replace(&mut self.of_open, length);
        self.taken = input.taken;
        Ok(match input.content {
            Content::Text(stream) => Box::new(Csv::open(
                file,
                &name,
                (
                    stream,
                    match remote_read::is_remote_read(path) {
                        true => TextOrigin::RemoteRead,
                        false if input::is_prometheus(path) => TextOrigin::Prometheus,
                        false => TextOrigin::Any,
                    },
                ),
                &self.options,
                self.sizes,
                &mut self.shared,
            )?),
            columnar => {
                if self.options.scrape_time.is_some() {
                    self.shared.notes.add_unused_scrape_time(&file);
                }
                columnar::open(file, &name, columnar, &self.options, &mut self.shared)?
            }
        })
    }
}

impl Iterator for Reader {
    type Item = Result<Block, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Some(Ok(block)) if block.is_empty() => {}
                other => return other,
            }
        }
    }
}
