//! A chunk of whole records to points.

use super::fields::{Fields, trimmed};
use super::head::Head;
use super::records::{Form, Record, record};
use crate::io::series::names::{Lookup, Names, NoName};
use crate::io::series::rows::{Fault, Faults};
use crate::io::series::timestamp::{Clock, NoTime};
use crate::io::series::{OnError, TimeUnit, number};
use memchr::{memchr, memchr_iter};

/// What a chunk holds.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// (point), empty where the file is one series.
    pub(super) series: Vec<u32>,
    pub(super) times: Vec<i64>,
    pub(super) values: Vec<f64>,
    /// Names that were not known before; numbered after those that were.
    pub(super) fresh: Names,
    pub(super) faults: Faults,
    /// Lines.
    pub(super) lines: u64,
}

/// What the chunks of a file have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'c> {
    pub(super) head: &'c Head,
    /// `None`: no row had a timestamp yet.
    pub(super) clock: Option<Clock>,
    pub(super) names: &'c Names,
    /// The longest record.
    pub(super) most: usize,
    pub(super) on_error: OnError,
    pub(super) longest_name: Option<usize>,
}

/// Why a row is no point.
#[derive(Debug, Clone, Copy)]
enum Wrong<'r> {
    Count(usize),
    /// So many bytes.
    Long(usize),
    Open,
    Time(&'r [u8], NoTime),
    Value(&'r [u8]),
    Series(&'r [u8], NoName),
}

/// The least bytes of a row, about: a point's memory is taken once.
const ROW: usize = 20;

pub(super) fn chunk(text: &[u8], context: &Context<'_>) -> Parsed {
    let mut rows = Rows::new(text.len(), context);
    let quotes = memchr(b'"', text).is_some();
    let mut at = 0;
    while at < text.len() {
        // A small compressed file can be a gigabyte of these.
        if text[at] == b'\n' {
            rows.parsed.lines += 1;
            at += 1;
            continue;
        }
        let Record { end, form } = next(text, at, context, quotes);
        if end - at > context.most {
            rows.long(&text[at..end]);
        } else {
            rows.add(&text[at..end], form);
        }
        at = end;
        if rows.parsed.faults.count > 0 && context.on_error == OnError::Fail {
            break;
        }
    }
    let mut parsed = rows.parsed;
    parsed.fresh = rows.lookup.into_fresh();
    parsed
}

/// The record at `at` of whole records.
#[inline]
fn next(text: &[u8], at: usize, context: &Context<'_>, quotes: bool) -> Record {
    if quotes && let Some(found) = record(text, at, context.head.delimiter, context.most, true) {
        return found;
    }
    Record {
        end: memchr(b'\n', &text[at..]).map_or(text.len(), |place| at + place + 1),
        form: Form::Plain,
    }
}

struct Rows<'c> {
    context: &'c Context<'c>,
    clock: Clock,
    parsed: Parsed,
    lookup: Lookup<'c>,
    fields: Fields,
}

impl<'c> Rows<'c> {
    fn new(bytes: usize, context: &'c Context<'c>) -> Self {
        let points = bytes / ROW;
        let several = context.head.columns.series.is_some();
        Self {
            context,
            clock: context.clock.unwrap_or(Clock::Iso),
            parsed: Parsed {
                series: Vec::with_capacity(if several { points } else { 0 }),
                times: Vec::with_capacity(points),
                values: Vec::with_capacity(points),
                ..Parsed::default()
            },
            lookup: Lookup::new(context.names, context.longest_name),
            fields: Fields::new(context.head.delimiter),
        }
    }

    /// A record of more bytes than allowed.
    #[cold]
    fn long(&mut self, row: &[u8]) {
        let before = self.parsed.lines;
        self.parsed.lines += memchr_iter(b'\n', row).count() as u64;
        self.fault(before, Wrong::Long(row.len()));
    }

    #[inline]
    fn add(&mut self, row: &[u8], form: Form) {
        let before = self.parsed.lines;
        if form == Form::Plain {
            self.parsed.lines += 1;
            if let Err(wrong) = self.plain(row) {
                if matches!(wrong, Wrong::Count(_)) && row.trim_ascii().is_empty() {
                    return;
                }
                self.fault(before, wrong);
            }
            return;
        }
        self.parsed.lines += memchr_iter(b'\n', row).count() as u64;
        self.parsed.lines += u64::from(!row.ends_with(b"\n"));
        if form == Form::Open {
            self.fault(before, Wrong::Open);
            return;
        }
        self.quoted(before, row);
    }

    #[inline]
    fn plain<'r>(&mut self, row: &'r [u8]) -> Result<(), Wrong<'r>> {
        let head = self.context.head;
        let columns = head.columns;
        match columns.series {
            None => {
                let places = [columns.time, columns.value];
                let [time, value] = self
                    .fields
                    .of_plain(row, places, head.fields)
                    .map_err(Wrong::Count)?;
                self.point(None, time, value)
            }
            Some(series) => {
                let places = [columns.time, columns.value, series];
                let [time, value, series] = self
                    .fields
                    .of_plain(row, places, head.fields)
                    .map_err(Wrong::Count)?;
                self.point(Some(series.trim_ascii()), time, value)
            }
        }
    }

    fn quoted(&mut self, before: u64, row: &[u8]) {
        let head = self.context.head;
        let columns = head.columns;
        let mut splitter = std::mem::replace(&mut self.fields, Fields::new(head.delimiter));
        let fields = splitter.all(row, Form::Quoted);
        let point = if fields.len() == head.fields {
            let series = columns.series.map(|place| fields[place]);
            self.point(series, fields[columns.time], fields[columns.value])
        } else {
            Err(Wrong::Count(fields.len()))
        };
        if let Err(wrong) = point {
            self.fault(before, wrong);
        }
        self.fields = splitter;
    }

    #[inline]
    fn point<'r>(
        &mut self,
        series: Option<&'r [u8]>,
        time: &'r [u8],
        value: &'r [u8],
    ) -> Result<(), Wrong<'r>> {
        let nanoseconds = match self.clock.read(time) {
            Ok(nanoseconds) => nanoseconds,
            Err(NoTime::Form) => {
                let bare = time.trim_ascii();
                self.clock
                    .read(bare)
                    .map_err(|why| Wrong::Time(bare, why))?
            }
            Err(why) => return Err(Wrong::Time(time, why)),
        };
        let number = match number::value(value) {
            Some(number) => number,
            None => {
                let bare = value.trim_ascii();
                number::value(bare).ok_or(Wrong::Value(bare))?
            }
        };
        if let Some(name) = series {
            let series = self
                .lookup
                .number(name)
                .map_err(|why| Wrong::Series(name, why))?;
            self.parsed.series.push(series);
        }
        self.parsed.times.push(nanoseconds);
        self.parsed.values.push(number);
        Ok(())
    }

    #[cold]
    fn fault(&mut self, before: u64, wrong: Wrong<'_>) {
        let (clock, expected) = (self.clock, self.context.head.fields);
        let most = self.context.most;
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
        self.parsed.faults.add(|| match wrong {
            Wrong::Count(1) => Fault::new(
                before,
                "1 field".to_owned(),
                format!("{expected} fields, as in the first line"),
            ),
            Wrong::Count(found) => Fault::new(
                before,
                format!("{found} fields"),
                format!("{expected}, as in the first line"),
            ),
            Wrong::Long(bytes) => Fault::new(
                before,
                format!("a line of {bytes} bytes"),
                format!("at most {most}"),
            ),
            Wrong::Open => Fault::new(
                before,
                "a quoted field does not end".to_owned(),
                "a second quote",
            ),
            Wrong::Time(found, why) => Fault::time(before, &text(found), why, clock),
            Wrong::Value(found) => Fault::value(before, &text(found)),
            Wrong::Series(found, why) => Fault::name(before, why, found),
        });
    }
}

/// How the first timestamp that can be read is written.
pub(super) fn clock(text: &[u8], context: &Context<'_>, unit: TimeUnit) -> Option<Clock> {
    let quotes = memchr(b'"', text).is_some();
    let mut fields = Fields::new(context.head.delimiter);
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'\n' {
            at += 1;
            continue;
        }
        let Record { end, form } = next(text, at, context, quotes);
        let row = trimmed(&text[at..end]);
        let count = |row| memchr_iter(context.head.delimiter, row).count() + 1;
        let whole = match form {
            Form::Plain => count(row) == context.head.fields,
            Form::Quoted => true,
            Form::Open => false,
        };
        if whole && end - at <= context.most {
            let all = fields.all(row, form);
            if all.len() == context.head.fields
                && let Some(time) = all.get(context.head.columns.time)
                && let Some(clock) = Clock::of_first(time.trim_ascii(), unit)
            {
                return Some(clock);
            }
        }
        at = end;
    }
    None
}
