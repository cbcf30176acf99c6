//! Reads the points of several inputs, one input after another.

use super::block::Block;
use super::columnar;
use super::csv::{Csv, Sizes, TextOrigin};
use super::input::{self, Content};
use super::names::Names;
use super::remote_read;
use super::row_numbers::{self, RowNumbers};
use super::source::{Shared, Skipped, Source};
use super::{IoError, Memory, ReadOptions, TimeUnit, format_error};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
            shared: Shared::new(memory),
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
        self.shared.begin_file();
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
