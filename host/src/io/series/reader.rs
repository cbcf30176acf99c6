//! The points of several inputs, one input after the other.

use super::arrow::Arrow;
use super::csv::{Csv, Sizes};
use super::input::{self, Content};
use super::names::Names;
use super::notes::Notes;
use super::parquet::Parquet;
use super::rows::{Faults, KEPT};
use super::{IoError, Memory, OnError, ReadOptions, TimeUnit, allow, no_series};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Some of the points, in the order of the input; a few 10⁵ at most.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// (point), a number of [`Names`].
    pub series: Vec<u32>,
    /// (point), nanoseconds since 1970, not negative.
    pub times: Vec<i64>,
    /// (point).
    pub values: Vec<f64>,
}

impl Block {
    /// Points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

/// Rows that could not be read and were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    /// How many.
    pub rows: u64,
    /// What was wrong with the first few: file, line, found, expected.
    pub first: Vec<String>,
}

/// What the files of a reader have in common.
pub(super) struct Shared {
    pub(super) names: Names,
    pub(super) skipped: Skipped,
    /// What was wrong with the first of them in the open file.
    pub(super) first_of_file: Option<String>,
    pub(super) notes: Notes,
    pub(super) memory: Memory,
}

impl Shared {
    /// The number of the series `name`.
    pub(super) fn number(&mut self, file: &str, name: &str) -> Result<u32, IoError> {
        let number = self.names.number(name);
        let needed = u128::from(self.names.bytes());
        allow(file, "names of series", needed, self.memory)?;
        number.ok_or_else(|| {
            no_series(
                file,
                "it has one series too many: at most 4294967295 can be numbered",
            )
        })
    }

    /// The number of the series of a file that has one, which is named after it; says where that is known already.
    pub(super) fn number_of_file(&mut self, file: &str, name: &str) -> Result<u32, IoError> {
        let known = self.names.find(name).is_some();
        if known {
            let what = format!(
                "its series is called '{name}' after it, as one before is: both are one series"
            );
            self.notes.add(file, what);
        }
        self.number(file, name)
    }

    /// Makes numbers from `known` on, which stand for `fresh` names, numbers of [`Shared::names`].
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
            if let Some(place) = (*number as usize).checked_sub(known)
                && let Some(new) = numbers.get(place)
            {
                *number = *new;
            }
        }
        Ok(())
    }

    /// Refuses or counts rows that could not be read.
    pub(super) fn settle(
        &mut self,
        file: &str,
        place: &'static str,
        first: u64,
        faults: Faults,
        on_error: OnError,
    ) -> Result<(), IoError> {
        self.skipped.rows += faults.count;
        for fault in faults.first {
            let error = fault.into_error(file, place, first);
            if on_error == OnError::Fail {
                return Err(error);
            }
            if self.skipped.first.len() < KEPT {
                self.skipped.first.push(error.to_string());
            }
            self.first_of_file.get_or_insert_with(|| error.to_string());
        }
        Ok(())
    }
}

/// One file.
pub(super) trait Source {
    /// The next blocks, which may be none; `None` at the end.
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Vec<Block>>, IoError>;

    /// As given.
    fn file(&self) -> &str;

    /// Of numbers that are timestamps, as the options or the column's name say.
    fn unit(&self) -> TimeUnit;
}

/// The points of several inputs, one input after the other: an iterator of blocks.
///
/// After an error there are no more blocks.
pub struct Reader {
    inputs: VecDeque<PathBuf>,
    options: ReadOptions,
    sizes: Sizes,
    shared: Shared,
    source: Option<Box<dyn Source + Send>>,
    ready: VecDeque<Block>,
    /// Rows of the open file: read, and skipped before it.
    of_file: (u64, u64),
    /// Bytes of the files that are done, of the open one, and what of it was read.
    done: u64,
    of_open: u64,
    taken: Arc<AtomicU64>,
}

impl Reader {
    /// Looks at all `inputs` (`-` is standard input) and opens the first; no more than `memory` is taken for what is
    /// held at a time.
    ///
    /// # Errors
    /// An input that is not there or is no file.
    pub fn open(
        inputs: &[PathBuf],
        options: &ReadOptions,
        memory: Memory,
    ) -> Result<Self, IoError> {
        let mut sizes = Sizes::default();
        // Small limits are of tests: half of it holds four windows.
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
            return Err(no_series("standard input", "it is named twice"));
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
            },
            source: None,
            ready: VecDeque::new(),
            of_file: (0, 0),
            done: 0,
            of_open: 0,
            taken: Arc::default(),
        })
    }

    /// The unit of timestamps that are numbers, as the options or the name of the column in the first input that is left
    /// say.
    ///
    /// # Errors
    /// That input's.
    pub fn unit(&mut self) -> Result<TimeUnit, IoError> {
        if self.options.time_unit == TimeUnit::Auto
            && self.source.is_none()
            && let Some(path) = self.inputs.pop_front()
        {
            self.take_up(&path)?;
        }
        Ok(match &self.source {
            Some(source) => source.unit(),
            None => self.options.time_unit,
        })
    }

    /// Names of the series met so far; they only become more.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.shared.names
    }

    /// Names of the series; for after the last block.
    #[must_use]
    pub fn into_names(self) -> Names {
        self.shared.names
    }

    /// Rows that were left out so far.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.shared.skipped
    }

    /// What was assumed or left aside so far, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.shared.notes.sentences()
    }

    /// Bytes of the inputs that were read so far, for progress: compressed files count as they lie on the storage, and
    /// Parquet when it is done.
    #[must_use]
    pub fn position(&self) -> u64 {
        match self.source {
            Some(_) => self.done + self.taken.load(Ordering::Relaxed),
            None => self.done + self.of_open,
        }
    }

    /// Like `next`, but a stretch of the input without points gives an empty block: rows that are left out may be any
    /// number, and the caller may want to stop.
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
                Some(blocks) => {
                    self.of_file.0 += blocks.iter().map(|b| b.len() as u64).sum::<u64>();
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
        Ok(())
    }

    /// Refuses a file that had no points.
    fn end(&self, file: &str) -> Result<(), IoError> {
        let (points, before) = self.of_file;
        let skipped = self.shared.skipped.rows - before;
        match (points, skipped) {
            (1.., _) => Ok(()),
            (0, 0) => Err(no_series(file, "it has no rows")),
            (0, _) => {
                let first = self.shared.first_of_file.as_deref().unwrap_or_default();
                Err(no_series(
                    file,
                    format!("none of its {skipped} rows can be read; the first: {first}"),
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
                stream,
                &self.options,
                self.sizes,
                &mut self.shared,
            )?),
            Content::Arrow(stream) => Box::new(Arrow::stream(
                file,
                &name,
                stream,
                &self.options,
                &mut self.shared,
            )?),
            Content::ArrowFile(opened, length) => Box::new(Arrow::file(
                file,
                &name,
                (opened, length),
                &self.options,
                &mut self.shared,
            )?),
            Content::Parquet(opened, length) => Box::new(Parquet::open(
                file,
                &name,
                (opened, length),
                &self.options,
                &mut self.shared,
            )?),
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
