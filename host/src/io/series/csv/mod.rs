//! Lines of text to points, in parallel.
//!
//! A thread reads (and decompresses) ahead and cuts what it read at ends of records; the chunks of a window are parsed in
//! parallel and handed on in the file's order. What comes out does not depend on where the text was cut.

mod fields;
mod head;
mod parse;
mod records;

pub(super) use records::Sizes;

use super::input::{Stream, failed};
use super::reader::{Block, Shared, Source};
use super::timestamp::Clock;
use super::{IoError, OnError, ReadOptions, TimeUnit, allow, damaged, no_series};
use head::Head;
use parse::{Context, Parsed};
use rayon::prelude::*;
use records::{Cutter, Stop, Window};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Windows that are held at a time: in parts that a pipe gave, filled, waiting, parsed, and as points.
const WINDOWS: u128 = 5;
/// How long a quiet pipe is waited for before the caller is asked whether to go on.
const QUIET: Duration = Duration::from_millis(100);

/// A text whose head was read.
pub(super) struct Csv {
    file: String,
    compression: Option<&'static str>,
    head: Head,
    clock: Option<Clock>,
    on_error: OnError,
    longest_name: Option<usize>,
    sizes: Sizes,
    /// The series' number where the file is one.
    single: Option<u32>,
    windows: Windows,
    /// Lines that were parsed, with the head's.
    lines: u64,
}

/// Where windows come from.
enum Windows {
    /// All of the text is there.
    Here(Box<Cutter>),
    /// Another thread reads ahead.
    Ahead(Receiver<Result<Option<Window>, Stop>>),
}

/// What comes next.
enum Coming {
    Window(Window),
    End,
    Stop(Stop),
    /// Nothing yet.
    Quiet,
    /// The reading thread is gone.
    Gone,
}

impl Windows {
    fn next(&mut self) -> Coming {
        let window = match self {
            Self::Here(cutter) => cutter.next(),
            Self::Ahead(windows) => match windows.recv_timeout(QUIET) {
                Ok(window) => window,
                Err(RecvTimeoutError::Timeout) => return Coming::Quiet,
                Err(RecvTimeoutError::Disconnected) => return Coming::Gone,
            },
        };
        match window {
            Ok(Some(window)) => Coming::Window(window),
            Ok(None) => Coming::End,
            Err(stop) => Coming::Stop(stop),
        }
    }
}

/// Windows until the end, an error, or nobody wants more.
fn read_ahead(mut cutter: Cutter, windows: &SyncSender<Result<Option<Window>, Stop>>) {
    loop {
        let window = cutter.next();
        let done = !matches!(window, Ok(Some(_)));
        if windows.send(window).is_err() || done {
            return;
        }
    }
}

impl Csv {
    /// Reads the head of `stream`. A file without a column of series is the series `name`.
    pub(super) fn open(
        file: String,
        name: &str,
        stream: Stream,
        options: &ReadOptions,
        sizes: Sizes,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        allow(
            &file,
            "lines of text",
            WINDOWS * sizes.window as u128,
            shared.memory,
        )?;
        let compression = stream.compression();
        let mut cutter = Cutter {
            stream,
            carry: Vec::new(),
            ended: false,
            delimiter: b',',
            sizes,
        };
        cutter
            .fill_head()
            .map_err(|e| failed(&file, compression, &e))?;
        let head = head::read(
            &file,
            &cutter.carry,
            cutter.ended,
            sizes.record,
            options,
            &mut shared.notes,
        )?;
        cutter.delimiter = head.delimiter;
        cutter.carry.drain(..head.bytes);
        let single = match head.columns.series {
            Some(_) => None,
            None => Some(shared.number_of_file(&file, name)?),
        };
        let windows = if cutter.ended {
            Windows::Here(Box::new(cutter))
        } else {
            let (sender, receiver) = sync_channel(1);
            std::thread::Builder::new()
                .name("reading".to_owned())
                .spawn(move || read_ahead(cutter, &sender))
                .map_err(|e| failed(&file, None, &e))?;
            Windows::Ahead(receiver)
        };
        Ok(Self {
            lines: head.lines,
            file,
            compression,
            head,
            clock: None,
            on_error: options.on_error,
            longest_name: options.longest_name,
            sizes,
            single,
            windows,
        })
    }

    fn too_long(&self, line: u64) -> IoError {
        no_series(
            &self.file,
            format!("its line {line} has more than {} bytes", self.sizes.window),
        )
    }

    fn stopped(&self, stop: &Stop) -> IoError {
        match stop {
            Stop::Read(error) => failed(&self.file, self.compression, error),
            Stop::Long(before) => self.too_long(self.lines + before + 1),
        }
    }

    /// Blocks of the parsed chunks, in their order.
    fn settle(
        &mut self,
        parsed: Vec<Parsed>,
        known: usize,
        shared: &mut Shared,
    ) -> Result<Vec<Block>, IoError> {
        let mut blocks = Vec::with_capacity(parsed.len());
        for mut part in parsed {
            let first = self.lines + 1;
            shared.settle(&self.file, "line", first, part.faults, self.on_error)?;
            self.lines += part.lines;
            let series = match self.single {
                Some(number) => vec![number; part.times.len()],
                None => {
                    shared.renumber(&self.file, &mut part.series, known, &part.fresh)?;
                    part.series
                }
            };
            if !part.times.is_empty() {
                blocks.push(Block {
                    series,
                    times: part.times,
                    values: part.values,
                });
            }
        }
        Ok(blocks)
    }
}

impl Source for Csv {
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Vec<Block>>, IoError> {
        let window = match self.windows.next() {
            Coming::Window(window) => window,
            Coming::End => return Ok(None),
            Coming::Stop(stop) => return Err(self.stopped(&stop)),
            Coming::Quiet => return Ok(Some(Vec::new())),
            // What it reads with has panicked.
            Coming::Gone => return Err(damaged(&self.file, "its text", "the stream is damaged")),
        };
        let mut context = Context {
            head: &self.head,
            clock: self.clock,
            names: &shared.names,
            most: self.sizes.record,
            on_error: self.on_error,
            longest_name: self.longest_name,
        };
        if self.clock.is_none() {
            self.clock = parse::clock(&window.text, &context, self.head.unit);
            context.clock = self.clock;
        }
        let starts = std::iter::once(0).chain(window.ends.iter().copied());
        let ranges: Vec<_> = starts.zip(window.ends.iter().copied()).collect();
        let parsed: Vec<Parsed> = ranges
            .into_par_iter()
            .map(|(from, end)| parse::chunk(&window.text[from..end], &context))
            .collect();
        let known = shared.names.len();
        self.settle(parsed, known, shared).map(Some)
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn unit(&self) -> TimeUnit {
        self.head.unit
    }
}
