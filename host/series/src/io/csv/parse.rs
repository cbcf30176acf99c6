//! Parses a chunk of whole records to points.

mod unused;
mod wide;

use super::fields::{Fields, has_text_after_quote, trimmed};
use super::head::Head;
use super::head::heading::Heading;
use super::records::{Quoting, Record, record};
use crate::io::columns;
use crate::io::names::{Lookup, NameError, Names};
use crate::io::rows::{Fault, Faults};
use crate::io::series_key::{Labels, SeriesKey};
use crate::io::timestamp::{LocalTimes, TimestampError, TimestampFormat};
use crate::io::zone_columns::ZoneFound;
use crate::io::{OnError, Rounded, TimeUnit, number, shorten};
use memchr::{memchr, memchr_iter};

/// The parsed contents of a chunk.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// (point), empty if the file is one series.
    pub(super) series: Vec<u32>,
    pub(super) times: Vec<i64>,
    pub(super) values: Vec<f64>,
    /// New names, numbered after the known ones.
    pub(super) fresh: Names,
    pub(super) faults: Faults,
    /// Number of lines.
    pub(super) lines: u64,
    /// Number of cells without a value.
    pub(super) missing: u64,
    /// Number of times that clocks show twice.
    pub(super) twice: u64,
    /// Integers that were rounded.
    pub(super) rounded: Rounded,
    /// Number of comments between the rows.
    pub(super) comments: u64,
    /// Number of lines between the rows that repeat the header.
    pub(super) headers: u64,
    /// The columns of [`Context::unused`] with a text.
    pub(super) texts: Vec<usize>,
    /// The first zone or offset in a column of [`Head::zones`].
    pub(super) zone: Option<ZoneFound>,
    /// The header of another table, after this number of lines, which ends the chunk.
    pub(super) other_header: Option<(u64, String)>,
    /// Dates and times in columns of [`Context::unused`].
    pub(super) dates: Vec<UnusedDate>,
}

/// A date or a time that nothing is read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnusedDate {
    pub(super) column: usize,
    /// Index of the point in its row, which may have none.
    pub(super) point: usize,
    /// A number that differs between dates.
    pub(super) date: u64,
}

/// State shared by the chunks of a file.
#[derive(Debug, Clone)]
pub(super) struct Context<'c> {
    pub(super) head: &'c Head,
    /// `None` until a row has a timestamp.
    pub(super) time_format: Option<TimestampFormat>,
    pub(super) names: &'c Names,
    /// Largest length of a record.
    pub(super) most: usize,
    pub(super) on_error: OnError,
    pub(super) longest_name: usize,
    /// Columns that nothing is read from, and that must not hold texts.
    pub(super) unused: &'c [usize],
    /// (value column of a wide table), its series.
    pub(super) wide: &'c [u32],
    /// Time of samples without one, nanoseconds since 1970.
    pub(super) scrape_time: Option<i64>,
    /// Whether the decimals of values follow a comma.
    pub(super) decimal_comma: bool,
}

/// What to do about rows with another number of fields.
const WITHOUT_FIELDS: &str = "--on-error skip leaves out rows with more or fewer";

/// Why a row is malformed.
#[derive(Debug, Clone, Copy)]
enum RowError<'r> {
    Count(usize),
    /// Number of bytes.
    Long(usize),
    Open,
    AfterQuote,
    Time(&'r [u8], TimestampError),
    /// A time that is made of date and time of day, in [`Rows::joined`].
    Joined(TimestampError),
    Value(&'r [u8]),
    /// No value: the row is no point.
    Missing,
    /// The value in this column of a wide table.
    Cell(usize, &'r [u8]),
    /// A value in this column without a name of a wide table.
    Unnamed(usize, &'r [u8]),
    Series(&'r [u8], NameError),
    /// The name is in [`Rows::name`].
    Labels(NameError),
}

/// Approximate minimum of bytes per row, for allocating the points at once.
const ROW: usize = 20;

pub(super) fn chunk(text: &[u8], context: &Context<'_>) -> Parsed {
    let mut rows = Rows::new(text.len(), context);
    let quotes = memchr(b'"', text).is_some();
    let mut at = 0;
    while at < text.len() {
        // A small compressed file may contain a gigabyte of blank lines.
        if text[at] == b'\n' {
            rows.parsed.lines += 1;
            at += 1;
            continue;
        }
        let Record { end, quoting } = next(text, at, context, quotes);
        if end - at > context.most {
            rows.long(&text[at..end]);
        } else {
            rows.add(&text[at..end], quoting);
        }
        at = end;
        let is_wrong = rows.parsed.faults.count > 0 && context.on_error == OnError::Fail;
        if is_wrong || rows.parsed.other_header.is_some() {
            break;
        }
    }
    let mut parsed = rows.parsed;
    parsed.fresh = rows.lookup.into_fresh();
    parsed
}

/// The record that starts at `at`; the text consists of whole records.
#[inline]
fn next(text: &[u8], at: usize, context: &Context<'_>, quotes: bool) -> Record {
    if quotes && let Some(found) = record(text, at, context.head.delimiter, context.most, true) {
        return found;
    }
    Record {
        end: memchr(b'\n', &text[at..]).map_or(text.len(), |position| at + position + 1),
        quoting: Quoting::Plain,
    }
}

struct Rows<'c> {
    context: &'c Context<'c>,
    time_format: TimestampFormat,
    parsed: Parsed,
    lookup: Lookup<'c>,
    fields: Fields,
    /// The part of [`Context::unused`] without a text so far.
    without_text: Vec<usize>,
    /// The ends of the fields of a row.
    ends: Vec<usize>,
    /// The name of a series that is made of labels.
    name: Vec<u8>,
    /// A date and a time of day.
    joined: Vec<u8>,
}

impl<'c> Rows<'c> {
    fn new(bytes: usize, context: &'c Context<'c>) -> Self {
        let points = bytes / ROW;
        let several = context.head.columns.series != SeriesKey::File || context.head.wide.is_some();
        Self {
            context,
            time_format: context.time_format.clone().unwrap_or(TimestampFormat::Iso),
            parsed: Parsed {
                series: Vec::with_capacity(if several { points } else { 0 }),
                times: Vec::with_capacity(points),
                values: Vec::with_capacity(points),
                ..Parsed::default()
            },
            lookup: Lookup::new(context.names, context.longest_name),
            fields: Fields::new(context.head.delimiter),
            without_text: context.unused.to_vec(),
            ends: Vec::new(),
            name: Vec::new(),
            joined: Vec::new(),
        }
    }

    /// Handles a record that exceeds the allowed length.
    #[cold]
    fn long(&mut self, row: &[u8]) {
        let before = self.parsed.lines;
        self.parsed.lines += memchr_iter(b'\n', row).count() as u64;
        self.fault(before, RowError::Long(row.len()));
    }

    #[inline]
    fn add(&mut self, row: &[u8], quoting: Quoting) {
        let before = self.parsed.lines;
        if quoting == Quoting::Plain {
            self.parsed.lines += 1;
            if self.context.head.comments && row.starts_with(b"#") {
                self.comment(before, row);
            } else if let Err(wrong) = self.plain(row) {
                if matches!(wrong, RowError::Count(_)) && row.trim_ascii().is_empty() {
                    return;
                }
                match wrong {
                    RowError::Missing => self.fault(before, wrong),
                    _ if self.is_header(before, row, quoting) => {}
                    _ if row.starts_with(b"#") => self.comment(before, row),
                    _ => self.fault(before, wrong),
                }
            }
            return;
        }
        self.parsed.lines += memchr_iter(b'\n', row).count() as u64;
        self.parsed.lines += u64::from(!row.ends_with(b"\n"));
        if quoting == Quoting::Open {
            self.fault(before, RowError::Open);
            return;
        }
        if has_text_after_quote(row, self.context.head.delimiter) {
            self.fault(before, RowError::AfterQuote);
            return;
        }
        self.quoted(before, row);
    }

    /// Counts a comment. The annotations of tables need no note. It may be the header of another
    /// table if the first header is one.
    #[cold]
    fn comment(&mut self, before: u64, row: &[u8]) {
        if self.context.head.is_commented
            && let Some(names) = row.strip_prefix(b"#")
            && self.is_header(before, names, Quoting::Plain)
        {
            return;
        }
        self.parsed.comments += u64::from(self.context.head.repeated.is_none());
    }

    /// Whether a row is a header. One that is repeated is counted, unless the tables are annotated.
    #[cold]
    fn is_header(&mut self, before: u64, row: &[u8], quoting: Quoting) -> bool {
        let head = self.context.head;
        let mut splitter = Fields::new(head.delimiter);
        match head.heading(&splitter.all(row, quoting)) {
            None => return false,
            Some(Heading::Same) => self.parsed.headers += u64::from(head.repeated.is_none()),
            Some(Heading::Other) => {
                let row = trimmed(row);
                let row = String::from_utf8_lossy(&row[..row.len().min(400)]);
                self.parsed.other_header = Some((before, row.into_owned()));
            }
        }
        true
    }

    #[inline]
    fn plain<'r>(&mut self, row: &'r [u8]) -> Result<(), RowError<'r>> {
        let head = self.context.head;
        let columns = &head.columns;
        let row = head.without_trailing(row);
        if !self.without_text.is_empty() || !head.zones.is_empty() {
            self.find_texts_in_plain(row);
        }
        if let Some(wide) = &head.wide {
            let mut ends = std::mem::take(&mut self.ends);
            self.fields.ends_of_plain(row, &mut ends);
            let points = match ends.len() == head.fields {
                true => self.wide(wide, |column| field(row, &ends, column)),
                false => Err(RowError::Count(ends.len())),
            };
            self.ends = ends;
            return points;
        }
        if columns.date.is_some() {
            let mut ends = std::mem::take(&mut self.ends);
            self.fields.ends_of_plain(row, &mut ends);
            let point = match ends.len() == head.fields {
                true => self.dated(|column| field(row, &ends, column).trim_ascii()),
                false => Err(RowError::Count(ends.len())),
            };
            self.ends = ends;
            return point;
        }
        match &columns.series {
            SeriesKey::File => {
                let indices = [columns.time, columns.value];
                let [time, value] = self
                    .fields
                    .of_plain(row, indices, head.fields)
                    .map_err(RowError::Count)?;
                let (time, value) = self.numbers(time, value)?;
                self.push(time, value);
                Ok(())
            }
            SeriesKey::Column(series) => {
                let indices = [columns.time, columns.value, *series];
                let [time, value, series] = self
                    .fields
                    .of_plain(row, indices, head.fields)
                    .map_err(RowError::Count)?;
                self.named(series.trim_ascii(), time, value)
            }
            SeriesKey::Labels(labels) => {
                let mut ends = std::mem::take(&mut self.ends);
                self.fields.ends_of_plain(row, &mut ends);
                let count = ends.len();
                let point = if count == head.fields {
                    let field = |column: usize| field(row, &ends, column).trim_ascii();
                    self.labelled(labels, field, field(columns.time), field(columns.value))
                } else {
                    Err(RowError::Count(count))
                };
                self.ends = ends;
                point
            }
        }
    }

    fn quoted(&mut self, before: u64, row: &[u8]) {
        let head = self.context.head;
        let columns = &head.columns;
        let mut splitter = std::mem::replace(&mut self.fields, Fields::new(head.delimiter));
        let mut fields = splitter.all(row, Quoting::Quoted);
        head.without_trailing_fields(&mut fields);
        let point = if fields.len() == head.fields {
            if !self.without_text.is_empty() || !head.zones.is_empty() {
                self.find_texts(|column| fields[column]);
            }
            let (time, value) = (fields[columns.time], fields[columns.value]);
            match (&columns.series, &head.wide) {
                (_, Some(wide)) => self.wide(wide, |column| fields[column]),
                _ if columns.date.is_some() => self.dated(|column| fields[column]),
                (SeriesKey::File, None) => self
                    .numbers(time, value)
                    .map(|(time, value)| self.push(time, value)),
                (SeriesKey::Column(series), None) => self.named(fields[*series], time, value),
                (SeriesKey::Labels(labels), None) => {
                    self.labelled(labels, |column| fields[column], time, value)
                }
            }
        } else {
            Err(RowError::Count(fields.len()))
        };
        match point {
            Err(_) if self.is_header(before, row, Quoting::Quoted) => {}
            Err(wrong) => self.fault(before, wrong),
            Ok(()) => {}
        }
        self.fields = splitter;
    }

    #[inline]
    fn time<'r>(&mut self, time: &'r [u8]) -> Result<i64, RowError<'r>> {
        let twice = &mut self.parsed.twice;
        match self.time_format.read_counting(time, twice) {
            Ok(nanoseconds) => Ok(nanoseconds),
            Err(TimestampError::Invalid) => {
                let bare = time.trim_ascii();
                let read = self.time_format.read_counting(bare, twice);
                read.map_err(|why| RowError::Time(bare, why))
            }
            Err(why) => Err(RowError::Time(time, why)),
        }
    }

    #[inline]
    fn numbers<'r>(&mut self, time: &'r [u8], value: &'r [u8]) -> Result<(i64, f64), RowError<'r>> {
        Ok((self.time(time)?, self.value(value)?))
    }

    /// The number in a field without blanks around it.
    #[inline]
    fn number(&self, text: &[u8]) -> Option<f64> {
        match self.context.decimal_comma {
            false => number::value(text),
            true => number::value_with_comma(text),
        }
    }

    #[inline]
    fn value<'r>(&mut self, value: &'r [u8]) -> Result<f64, RowError<'r>> {
        let number = match self.number(value) {
            Some(number) => number,
            None => {
                let bare = value.trim_ascii();
                let missing = || match columns::is_missing(bare) {
                    true => RowError::Missing,
                    false => RowError::Value(bare),
                };
                self.number(bare).ok_or_else(missing)?
            }
        };
        self.parsed.rounded.text(value, number);
        Ok(number)
    }

    /// The time of a date and a time of day.
    fn joined_time<'r>(&mut self, date: &[u8], clock: &[u8]) -> Result<i64, RowError<'r>> {
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend_from_slice(date.trim_ascii());
        joined.push(b' ');
        joined.extend_from_slice(clock.trim_ascii());
        let time = self.time(&joined).map_err(|wrong| match wrong {
            RowError::Time(_, why) => why,
            _ => TimestampError::Invalid,
        });
        self.joined = joined;
        time.map_err(RowError::Joined)
    }

    /// Adds a point whose date and time of day are in two columns.
    fn dated<'r>(&mut self, field: impl Fn(usize) -> &'r [u8]) -> Result<(), RowError<'r>> {
        let columns = &self.context.head.columns;
        let date = columns.date.map_or(&[][..], &field);
        let time = self.joined_time(date, field(columns.time))?;
        let value = self.value(field(columns.value))?;
        match &columns.series {
            SeriesKey::File => {}
            SeriesKey::Column(series) => {
                let name = field(*series);
                let number = self.lookup.number(name);
                let number = number.map_err(|why| RowError::Series(name, why))?;
                self.parsed.series.push(number);
            }
            SeriesKey::Labels(labels) => {
                self.name_labels(labels, field);
                let number = self.lookup.number(&self.name).map_err(RowError::Labels)?;
                self.parsed.series.push(number);
            }
        }
        self.push(time, value);
        Ok(())
    }

    /// Adds a point of the series `name`.
    #[inline]
    fn named<'r>(
        &mut self,
        name: &'r [u8],
        time: &'r [u8],
        value: &'r [u8],
    ) -> Result<(), RowError<'r>> {
        let (time, value) = self.numbers(time, value)?;
        let series = self
            .lookup
            .number(name)
            .map_err(|why| RowError::Series(name, why))?;
        self.parsed.series.push(series);
        self.push(time, value);
        Ok(())
    }

    /// Adds a point of the series that the labels in `field` name.
    fn labelled<'r>(
        &mut self,
        labels: &Labels,
        field: impl Fn(usize) -> &'r [u8],
        time: &'r [u8],
        value: &'r [u8],
    ) -> Result<(), RowError<'r>> {
        let (time, value) = self.numbers(time, value)?;
        self.name_labels(labels, field);
        let series = self.lookup.number(&self.name).map_err(RowError::Labels)?;
        self.parsed.series.push(series);
        self.push(time, value);
        Ok(())
    }

    /// Puts the name that the labels in `field` make into [`Rows::name`].
    fn name_labels<'r>(&mut self, labels: &Labels, field: impl Fn(usize) -> &'r [u8]) {
        let defaults = &self.context.head.defaults;
        let values = labels.columns().iter().map(|column| match field(*column) {
            [] => defaults.get(*column).map_or(&[][..], Vec::as_slice),
            label => label,
        });
        labels.name(values, &mut self.name);
    }

    #[inline]
    fn push(&mut self, time: i64, value: f64) {
        self.parsed.times.push(time);
        self.parsed.values.push(value);
    }

    #[cold]
    fn fault(&mut self, before: u64, wrong: RowError<'_>) {
        if matches!(wrong, RowError::Missing) {
            self.parsed.missing += 1;
            return;
        }
        let head = self.context.head;
        let (time_format, expected) = (&self.time_format, head.fields);
        let most = self.context.most;
        let (name, joined) = (&self.name, &self.joined);
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
        let value = match self.context.decimal_comma {
            true => Fault::value_with_comma,
            false => Fault::value,
        };
        self.parsed.faults.add(|| match wrong {
            RowError::Count(found) => Fault::new(
                before,
                found.to_string(),
                match head.repeated {
                    None => format!("{expected} fields, as in the first line; {WITHOUT_FIELDS}"),
                    Some(_) => format!(
                        "{expected} fields, as in the first table (tables with other columns belong in a file of their own)"
                    ),
                },
            ),
            RowError::Long(bytes) => Fault::new(
                before,
                format!("{bytes} bytes"),
                format!("a line of at most {most} bytes"),
            ),
            RowError::Open => Fault::new(before, "none".to_owned(), "a closing quote"),
            RowError::AfterQuote => Fault::new(
                before,
                "text after it".to_owned(),
                "the end of the field after its closing quote (a quote within it is doubled)",
            ),
            RowError::Time(found, why) => {
                Fault::time_of_table(before, &text(found), why, time_format)
            }
            RowError::Joined(why) => {
                Fault::time_of_table(before, &text(joined), why, time_format)
            }
            RowError::Value(found) => value(before, &text(found)),
            RowError::Missing => Fault::value(before, ""),
            RowError::Cell(column, found) => {
                value(before, &text(found)).in_column(&column_name(head, column))
            }
            RowError::Unnamed(column, found) => Fault::new(
                before,
                format!(
                    "'{}' in column {}, which has none",
                    shorten(&text(found)),
                    column + 1
                ),
                "a name in the first line for every column with values",
            ),
            RowError::Series(found, why) => Fault::name(before, why, found),
            RowError::Labels(why) => Fault::name(before, why, name),
        });
    }
}

/// A field of a record without quotes, of whose fields these are the ends.
fn field<'r>(record: &'r [u8], ends: &[usize], column: usize) -> &'r [u8] {
    let from = column.checked_sub(1).map_or(0, |before| ends[before] + 1);
    &record[from..ends[column]]
}

/// The format of the first readable timestamp.
pub(super) fn time_format(
    text: &[u8],
    context: &Context<'_>,
    (unit, stated): (TimeUnit, bool),
    local: Option<LocalTimes>,
) -> Option<TimestampFormat> {
    let columns = &context.head.columns;
    let quotes = memchr(b'"', text).is_some();
    let mut fields = Fields::new(context.head.delimiter);
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'\n' {
            at += 1;
            continue;
        }
        let Record { end, quoting } = next(text, at, context, quotes);
        let row = trimmed(&text[at..end]);
        let row = match quoting {
            Quoting::Plain => context.head.without_trailing(row),
            _ => row,
        };
        let count = |row| memchr_iter(context.head.delimiter, row).count() + 1;
        let whole = match quoting {
            Quoting::Plain => count(row) == context.head.fields,
            Quoting::Quoted => true,
            Quoting::Open => false,
        };
        if whole && end - at <= context.most {
            let mut all = fields.all(row, quoting);
            context.head.without_trailing_fields(&mut all);
            if all.len() == context.head.fields
                && let Some(clock) = all.get(columns.time).map(|time| time.trim_ascii())
                && let date = columns.date.and_then(|date| all.get(date))
                && let joined = date.map(|date| [date, &b" "[..], clock].concat())
                && let time = joined.as_deref().unwrap_or(clock)
                && let Some(time_format) = TimestampFormat::assumed(time, unit, stated)
            {
                return Some(time_format.in_zone(local));
            }
        }
        at = end;
    }
    None
}

/// The name of a column of a wide table.
fn column_name(head: &Head, column: usize) -> String {
    let wide = head.wide.iter().flat_map(|wide| &wide.values);
    let mut named = wide.filter(|(of, _)| *of == column);
    named
        .next()
        .map_or_else(String::new, |(_, name)| name.clone())
}
