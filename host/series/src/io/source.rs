//! An open file, and what it shares with the others of a reader.

use super::block::Block;
use super::names::Names;
use super::notes::Notes;
use super::rounded::Rounded;
use super::rows::{Faults, MAX_KEPT};
use super::sentinels::Sentinels;
use super::timestamp::LocalTimes;
use super::{Ambiguous, IoError, Memory, OnError, TimeUnit, allow, format_error};
use rayon::prelude::*;

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
    pub(super) left_out_of_file: u64,
    /// Number of lines in the open file that are comments between rows.
    pub(super) comments_of_file: u64,
    /// Number of lines in the open file that repeat the header.
    pub(super) headers_of_file: u64,
}

impl Shared {
    /// Nothing is known yet.
    pub(super) fn new(memory: Memory) -> Self {
        Self {
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
        }
    }

    /// Forgets what is counted for a file alone.
    pub(super) fn begin_file(&mut self) {
        self.first_of_file = None;
        self.missing_of_file = 0;
        self.twice_of_file = 0;
        self.rounded_of_file = Rounded::default();
        self.sentinels_of_file = Sentinels::default();
        self.left_out_of_file = 0;
        self.comments_of_file = 0;
        self.headers_of_file = 0;
    }

    /// The index of the series `name`.
    pub(super) fn number(&mut self, file: &str, name: &str) -> Result<u32, IoError> {
        let number = self.names.number(name);
        let needed = u128::from(self.names.bytes());
        let available = Memory::limited(self.memory.limit() / NAMES_SHARE);
        allow(file, "names of series", needed, available)?;
        number.ok_or_else(|| format_error(file, "more than 4294967295 series"))
    }

    /// Leaves out the points with `missing` values, and looks for others like these.
    pub(super) fn look_at_values(&mut self, blocks: &mut [Block], missing: &[f64]) {
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
