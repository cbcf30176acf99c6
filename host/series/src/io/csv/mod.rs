//! Parses lines of text, CSV or Prometheus' text format, to points in parallel.
//!
//! A thread reads (and decompresses) ahead and splits the text at ends of records. The chunks of a
//! window are parsed in parallel and returned in the order of the file. The result does not depend
//! on where the text was split.

mod exposition;
mod fields;
mod head;
mod parse;
mod preamble;
mod records;
mod splitter;

pub(super) use splitter::Sizes;

use super::block::Block;
use super::columns::{overlapping_dates, unnamed_texts};
use super::series_key::SeriesKey;
use super::source::{Shared, Source};
use super::stream::{Stream, failed};
use super::time_span::TimeSpan;
use super::timestamp::{LocalTimes, TimestampFormat, Unit, UnitOrigin};
use super::unused_dates::UnusedDates;
use super::zone_columns::ZoneFound;
use super::{
    IoError, Memory, OnError, ReadOptions, TimeFormat, TimeUnit, allow, damaged, format_error,
    shorten,
};
use head::Head;
use parse::{Context, Parsed};
use rayon::prelude::*;
use splitter::{RecordSplitter, Stop, Window};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Number of windows in memory: parts received from a pipe, being filled, waiting, being parsed,
/// and as points.
const WINDOWS: u128 = 5;
/// The same for a wide table, whose cells of two bytes become points of 20 bytes in vectors that
/// grow.
const WIDE_WINDOWS: u128 = WINDOWS + 25;
/// Time to wait for an idle pipe before the caller may decide to stop.
const IDLE_WAIT: Duration = Duration::from_millis(100);

/// Smaller units of work for a wide table, if memory is small.
fn wide_sizes(sizes: Sizes, memory: Memory) -> Sizes {
    let most = usize::try_from(memory.limit() / 64).unwrap_or(usize::MAX);
    let window = sizes.window.min(4 << 20).min(most.max(1 << 16));
    Sizes {
        window,
        chunk: sizes.chunk.min(1 << 18).min(window / 4),
        record: sizes.record.min(window / 4),
    }
}

/// What is known of a text before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextOrigin {
    /// A file of Prometheus' text format, by its name.
    Prometheus,
    /// A snapshot of Prometheus' remote read.
    RemoteRead,
    /// Nothing.
    Any,
}

/// A text whose first line has been read.
pub(super) struct Csv {
    file: String,
    compression: Option<&'static str>,
    head: Head,
    time_format: Option<TimestampFormat>,
    on_error: OnError,
    longest_name: usize,
    sizes: Sizes,
    /// Index of the series if the file is one series.
    single: Option<u32>,
    windows: Windows,
    /// Number of lines parsed, including the header.
    lines: u64,
    /// `--time-unit`.
    stated_unit: TimeUnit,
    /// Whether an option states the unit of timestamps.
    stated: bool,
    /// Whether the text is made of remote read, whose times are milliseconds.
    remote_read: bool,
    /// `--time-format`.
    stated_format: TimeFormat,
    /// Columns that nothing is read from.
    unused: Vec<usize>,
    /// (value column of a wide table), its series.
    wide: Vec<u32>,
    /// How times without an offset are read, if not in UTC.
    local: Option<LocalTimes>,
    /// The times so far.
    span: TimeSpan,
    /// Dates in columns that nothing is read from.
    dates: UnusedDates,
    /// `--scrape-time`.
    scrape_time: Option<i64>,
    /// `--decimal-comma`.
    decimal_comma: bool,
}

/// The source of windows.
enum Windows {
    /// The whole text is in memory.
    Complete(Box<RecordSplitter>),
    /// Another thread reads ahead.
    Ahead(Receiver<Result<Option<Window>, Stop>>),
}

/// The next item of the source.
enum NextWindow {
    Window(Window),
    End,
    Stop(Stop),
    /// No data yet.
    Pending,
    /// The reading thread has terminated.
    Disconnected,
}

impl Windows {
    fn next(&mut self) -> NextWindow {
        let window = match self {
            Self::Complete(cutter) => cutter.next(),
            Self::Ahead(windows) => match windows.recv_timeout(IDLE_WAIT) {
                Ok(window) => window,
                Err(RecvTimeoutError::Timeout) => return NextWindow::Pending,
                Err(RecvTimeoutError::Disconnected) => return NextWindow::Disconnected,
            },
        };
        match window {
            Ok(Some(window)) => NextWindow::Window(window),
            Ok(None) => NextWindow::End,
            Err(stop) => NextWindow::Stop(stop),
        }
    }
}

/// Sends windows until the end, an error, or the receiver is gone.
fn read_ahead(mut cutter: RecordSplitter, windows: &SyncSender<Result<Option<Window>, Stop>>) {
    loop {
        let window = cutter.next();
        let done = !matches!(window, Ok(Some(_)));
        if windows.send(window).is_err() || done {
            return;
        }
    }
}

impl Csv {
    /// Reads the head of `stream`, which is in Prometheus' text format if it or `origin` says so.
    /// Without a series column, all points belong to the series `name`.
    pub(super) fn open(
        file: String,
        name: &str,
        (stream, origin): (Stream, TextOrigin),
        options: &ReadOptions,
        sizes: Sizes,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        let sizes = match options.wide {
            true => wide_sizes(sizes, shared.memory),
            false => sizes,
        };
        let windows = if options.wide { WIDE_WINDOWS } else { WINDOWS };
        let needed = windows * sizes.window as u128;
        allow(&file, "lines of text", needed, shared.memory)?;
        let compression = stream.compression();
        let mut cutter = RecordSplitter {
            stream,
            carry: Vec::new(),
            ended: false,
            delimiter: b',',
            quotes: true,
            sizes,
        };
        cutter
            .fill_head()
            .map_err(|e| failed(&file, compression, &e))?;
        let remote_read = origin == TextOrigin::RemoteRead;
        let is_exposition = origin != TextOrigin::Any || exposition::is_exposition(&cutter.carry);
        let head = if is_exposition {
            let head = head::exposition(&file, &cutter.carry, options)?;
            let unit = exposition::unit(&cutter.carry, remote_read);
            head.with_unit(unit.unwrap_or(TimeUnit::Milliseconds))
        } else {
            if options.scrape_time.is_some() {
                shared.notes.add_unused_scrape_time(&file);
            }
            head::read(
                &file,
                &cutter.carry,
                cutter.ended,
                sizes.record,
                options,
                &mut shared.notes,
            )?
        };
        cutter.delimiter = head.delimiter;
        cutter.quotes = !is_exposition;
        cutter.carry.drain(..head.bytes);
        let single = match head.columns.series {
            _ if head.wide.is_some() => None,
            SeriesKey::File => Some(shared.number_of_file(&file, name)?),
            SeriesKey::Column(_) | SeriesKey::Labels(_) => None,
        };
        let wide = match &head.wide {
            Some(wide) => wide.numbers(&file, shared)?,
            None => Vec::new(),
        };
        let windows = if cutter.ended {
            Windows::Complete(Box::new(cutter))
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
            unused: head.columns.unused.iter().map(|(c, _)| *c).collect(),
            stated_unit: options.time_unit,
            stated: options.unit() != TimeUnit::Auto,
            stated_format: options.time_format.clone(),
            remote_read,
            file,
            compression,
            time_format: match head.exposition {
                true => Unit::named(options.unit()).map(|unit| TimestampFormat::Epoch {
                    unit,
                    origin: UnitOrigin::Stated,
                }),
                false => options.stated_format(),
            },
            head,
            local: options.local_times(),
            span: TimeSpan::default(),
            dates: UnusedDates::default(),
            scrape_time: options.scrape_time,
            decimal_comma: options.decimal_comma,
            on_error: options.on_error,
            longest_name: options.name_limit(),
            sizes,
            single,
            windows,
            wide,
        })
    }

    fn too_long(&self, line: u64) -> IoError {
        format_error(
            &self.file,
            format!("more than {} bytes in line {line}", self.sizes.window),
        )
    }

    fn stopped(&self, stop: &Stop) -> IoError {
        match stop {
            Stop::Read(error) => failed(&self.file, self.compression, error),
            Stop::Long(before) => self.too_long(self.lines + before + 1),
        }
    }

    /// Fails if times without an offset have zones in another column.
    fn reject_zone(&self, found: Option<&ZoneFound>) -> Result<(), IoError> {
        let Some(found) = found else {
            return Ok(());
        };
        let columns = &self.head.columns;
        let by_number = (columns.time + 1).to_string();
        let of_times = self.head.names.get(columns.time).unwrap_or(&by_number);
        let whole = columns.date.is_none().then_some(of_times.as_str());
        let zone = &self.head.zones[found.position];
        Err(zone.refusal(&self.file, whole, found, &self.stated_format))
    }

    /// The error of a header of another table.
    fn other_table(&self, number: u64, found: &str) -> IoError {
        IoError::Row {
            file: self.file.clone(),
            unit: "line",
            number,
            found: format!("the header of another table, '{}'", shorten(found)),
            expected: format!(
                "rows of the table with the header '{}' (tables with other columns belong in a file of their own)",
                shorten(&self.head.names.join(","))
            ),
        }
    }

    /// Fails if there is an unused column with a text.
    fn reject_texts(&self, texts: &[usize]) -> Result<(), IoError> {
        if texts.is_empty() {
            return Ok(());
        }
        let unused = self.head.columns.unused.iter();
        let named = unused.filter(|(column, _)| texts.contains(column));
        Err(unnamed_texts(
            &self.file,
            named.map(|(_, name)| name.as_str()),
            true,
        ))
    }

    /// Fails if there is an unused column of dates that tells series apart.
    fn reject_dates(&self) -> Result<(), IoError> {
        let labels = self.dates.labels();
        if labels.is_empty() {
            return Ok(());
        }
        let unused = self.head.columns.unused.iter();
        let named = unused.filter(|(column, _)| labels.contains(column));
        let names = named.map(|(_, name)| name.as_str());
        Err(overlapping_dates(&self.file, names))
    }

    /// The blocks of parsed chunks, in order.
    fn collect_blocks(
        &mut self,
        parsed: Vec<Parsed>,
        known: usize,
        shared: &mut Shared,
    ) -> Result<Vec<Block>, IoError> {
        let mut blocks = Vec::with_capacity(parsed.len());
        for mut part in parsed {
            self.reject_zone(part.zone.as_ref())?;
            self.reject_texts(&part.texts)?;
            let first = self.lines + 1;
            shared.record_faults(&self.file, "line", first, part.faults, self.on_error)?;
            if let Some((before, found)) = part.other_header {
                return Err(self.other_table(first + before, &found));
            }
            self.lines += part.lines;
            shared.missing_of_file += part.missing;
            shared.rounded_of_file.add(&part.rounded);
            shared.comments_of_file += part.comments;
            shared.headers_of_file += part.headers;
            shared.twice_of_file += part.twice;
            self.span
                .add(&part.times, self.local.map(|local| local.zone));
            let series = match self.single {
                Some(number) => vec![number; part.times.len()],
                None => {
                    shared.renumber(&self.file, &mut part.series, known, &part.fresh)?;
                    part.series
                }
            };
            for date in &part.dates {
                let point = series.get(date.point).zip(part.times.get(date.point));
                if let Some((series, time)) = point {
                    self.dates.add(date.column, *series, date.date, *time);
                }
            }
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
            NextWindow::Window(window) => window,
            NextWindow::End => {
                let hours = self.head.hours.as_ref();
                if let Some(hours) = hours.filter(|_| self.span.has_dates_alone()) {
                    return Err(hours.refusal(&self.file));
                }
                // The times of remote read are milliseconds by its protocol.
                let note = self.span.note(self.time_format.as_ref());
                if let Some(what) = note.filter(|_| !self.remote_read) {
                    shared.notes.add(&self.file, what);
                }
                shared.note_counts(&self.file, self.local);
                self.reject_dates()?;
                return Ok(None);
            }
            NextWindow::Stop(stop) => return Err(self.stopped(&stop)),
            NextWindow::Pending => return Ok(Some(Vec::new())),
            // The reading thread has panicked.
            NextWindow::Disconnected => {
                return Err(damaged(&self.file, "text", "the stream is damaged"));
            }
        };
        let mut context = Context {
            head: &self.head,
            time_format: self.time_format.clone(),
            names: &shared.names,
            most: self.sizes.record,
            on_error: self.on_error,
            longest_name: self.longest_name,
            unused: &self.unused,
            wide: &self.wide,
            scrape_time: self.scrape_time,
            decimal_comma: self.decimal_comma,
        };
        if self.time_format.is_none() {
            self.time_format = match self.head.exposition {
                true => exposition::unit(&window.text, self.remote_read).and_then(|unit| {
                    if exposition::is_doubtful(&window.text, unit) {
                        let what = "its timestamps are read as seconds since 1970, as in OpenMetrics (--time-unit ms: milliseconds)";
                        shared.notes.add(&self.file, what.to_owned());
                    }
                    let origin = UnitOrigin::Format;
                    Unit::named(unit).map(|unit| TimestampFormat::Epoch { unit, origin })
                }),
                false => {
                    let unit = (self.head.unit, self.stated);
                    parse::time_format(&window.text, &context, unit, self.local)
                }
            };
            context.time_format.clone_from(&self.time_format);
            if self
                .time_format
                .as_ref()
                .is_some_and(TimestampFormat::is_text)
            {
                let notes = &mut shared.notes;
                notes.add_unused_unit(&self.file, self.stated_unit);
            }
        }
        let starts = std::iter::once(0).chain(window.ends.iter().copied());
        let ranges: Vec<_> = starts.zip(window.ends.iter().copied()).collect();
        let parsed: Vec<Parsed> = ranges
            .into_par_iter()
            .map(|(from, end)| match self.head.exposition {
                true => exposition::chunk(&window.text[from..end], &context),
                false => parse::chunk(&window.text[from..end], &context),
            })
            .collect();
        let known = shared.names.len();
        self.collect_blocks(parsed, known, shared).map(Some)
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn unit(&self) -> TimeUnit {
        self.head.unit
    }
}
