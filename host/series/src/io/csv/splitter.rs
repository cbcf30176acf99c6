//! Splits a stream at ends of records.

use super::preamble::precedes_header;
use super::records::record;
use crate::io::stream::Stream;
use memchr::{memchr, memchr_iter, memrchr};
use std::io;

/// Sizes of units of work in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) struct Sizes {
    /// Bytes read at once; more than two records.
    pub(in crate::io) window: usize,
    /// Bytes parsed at once by a thread.
    pub(in crate::io) chunk: usize,
    /// Largest length of a record.
    pub(in crate::io) record: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            window: 8 << 20,
            chunk: 1 << 20,
            record: 1 << 20,
        }
    }
}

/// Whole records, split into chunks.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) text: Vec<u8>,
    /// Ends of the chunks; the last is the end of the text.
    pub(super) ends: Vec<usize>,
}

/// Why a stream cannot be split.
#[derive(Debug)]
pub(super) enum Stop {
    Read(io::Error),
    /// A line exceeds the longest allowed record; the number of line feeds before it.
    Long(u64),
}

/// Splits a stream at ends of records.
pub(super) struct RecordSplitter {
    pub(super) stream: Stream,
    /// Bytes that were read but not returned yet.
    pub(super) carry: Vec<u8>,
    pub(super) ended: bool,
    pub(super) delimiter: u8,
    /// Whether quoted fields may contain line ends.
    pub(super) quotes: bool,
    pub(super) sizes: Sizes,
}

impl RecordSplitter {
    /// Reads until a window is full, the stream ends, or a pipe has no more data for now.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        let window = self.sizes.window;
        self.carry
            .reserve_exact(window.saturating_sub(self.carry.len()));
        // Starts small, because inputs may be many and small.
        let mut step = 1 << 16;
        while !self.ended && self.carry.len() < window {
            let old = self.carry.len();
            let requested = step.min(window - old);
            self.carry.resize(old + requested, 0);
            let count = self.stream.next(&mut self.carry[old..]);
            self.carry.truncate(old + count.as_ref().map_or(0, |c| *c));
            let count = count?;
            if self.stream.live() {
                self.ended = count == 0;
                if count < requested {
                    break;
                }
            } else {
                self.ended = count < requested;
            }
            step *= 2;
        }
        Ok(())
    }

    /// Reads until the first line that is neither blank nor a comment is complete.
    pub(super) fn fill_head(&mut self) -> io::Result<()> {
        loop {
            self.fill()?;
            let full = self.carry.len() >= self.sizes.window;
            let mut lines = self.carry.split_inclusive(|b| *b == b'\n');
            let line = lines.find(|line| !precedes_header(line));
            let whole = line.is_some_and(|line| {
                line.ends_with(b"\n") && memchr_iter(b'"', line).count().is_multiple_of(2)
            });
            if self.ended || full || whole {
                return Ok(());
            }
        }
    }

    /// The next records; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Window>, Stop> {
        // Data already received from a pipe is returned without waiting for more.
        let mut ends = if self.stream.live() {
            self.ends()
        } else {
            Vec::new()
        };
        while ends.is_empty() {
            self.fill().map_err(Stop::Read)?;
            if self.carry.is_empty() {
                return Ok(None);
            }
            ends = self.ends();
            if ends.is_empty() && (self.ended || self.carry.len() >= self.sizes.window) {
                return Err(Stop::Long(0));
            }
        }
        let cut = ends.last().copied().unwrap_or(self.carry.len());
        let rest = self.carry[cut..].to_vec();
        let mut text = std::mem::replace(&mut self.carry, rest);
        text.truncate(cut);
        Ok(Some(Window { text, ends }))
    }

    /// Ends of chunks of the complete records.
    fn ends(&self) -> Vec<usize> {
        if !self.quotes || memchr(b'"', &self.carry).is_none() {
            self.plain_ends()
        } else {
            self.quoted_ends()
        }
    }

    fn plain_ends(&self) -> Vec<usize> {
        let text = &self.carry;
        let cut = if self.ended {
            text.len()
        } else {
            memrchr(b'\n', text).map_or(0, |position| position + 1)
        };
        let mut ends = Vec::new();
        let mut at = 0;
        while at < cut {
            let from = at + self.sizes.chunk.max(1) - 1;
            at = match text.get(from..cut).and_then(|rest| memchr(b'\n', rest)) {
                Some(position) => from + position + 1,
                None => cut,
            };
            ends.push(at);
        }
        ends
    }

    fn quoted_ends(&self) -> Vec<usize> {
        let text = &self.carry;
        let mut ends = Vec::new();
        let (mut begin, mut at) = (0, 0);
        while at < text.len() {
            let found = record(text, at, self.delimiter, self.sizes.record, self.ended);
            let Some(found) = found else { break };
            at = found.end;
            if at - begin >= self.sizes.chunk {
                ends.push(at);
                begin = at;
            }
        }
        if at > begin {
            ends.push(at);
        }
        ends
    }
}
