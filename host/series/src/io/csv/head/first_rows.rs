//! What the header and the row below it say: dates, times of day and hours in columns of their own,
//! and empty fields at the end.

use crate::io::columns::Hours;
use crate::io::notes::Notes;
use crate::io::{IoError, ReadOptions, TimeFormat, number, shorten};

/// The header and the row below it, as texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstRows<'r> {
    pub(super) names: &'r [String],
    /// Empty without such a row.
    pub(super) below: &'r [String],
}

impl FirstRows<'_> {
    /// The hours that nothing is read from, with the format of dates with hours.
    ///
    /// # Errors
    /// The dates have no time of day, as the row `below` the header or the format of times shows.
    pub(super) fn hours(
        self,
        file: &str,
        hours: Option<Hours>,
        time: usize,
        options: &ReadOptions,
    ) -> Result<Option<Hours>, IoError> {
        let Self { names, below } = self;
        let Some(mut hours) = hours else {
            return Ok(None);
        };
        let is_iso = |text: &String| text.len() == 10 && text.as_bytes()[4] == b'-';
        let date = match &options.time_format {
            TimeFormat::Pattern(pattern) => pattern.of_date(),
            TimeFormat::Auto | TimeFormat::Iso if below.get(time).is_some_and(is_iso) => {
                Some("%Y-%m-%d")
            }
            _ => None,
        };
        let Some(date) = date else {
            return Ok(Some(hours));
        };
        let mut columns = names.iter().zip(below);
        let clock = columns.any(|(name, text)| *name == hours.hours && text.contains(':'));
        let clock = if clock { "%H:%M" } else { "%H" };
        hours.joined = Some(format!("{date} {clock}"));
        Err(hours.refusal(file))
    }

    /// The options with the columns of dates and of times of day, if a column `date` stands beside
    /// one of them, or an option names the column of dates alone; or with a column `utc` of whole
    /// times.
    pub(super) fn dated(self, options: &ReadOptions) -> Option<ReadOptions> {
        let Self { names, below } = self;
        if options.time_column.is_some() {
            return None;
        }
        if let Some(date) = &options.date_column {
            let mut columns = names.iter().zip(below);
            let (clock, _) = columns.find(|(name, text)| {
                *name != date && is_clock(text) && !options.ignored_columns.contains(name)
            })?;
            return Some(ReadOptions {
                time_column: Some(clock.clone()),
                ..options.clone()
            });
        }
        let named = |name: &str| {
            names
                .iter()
                .position(|column| column.eq_ignore_ascii_case(name))
        };
        let is_time = |column: &usize| {
            let text = below.get(*column).map_or("", String::as_str);
            text.contains(':') && options.format_of_first(text.as_bytes()).is_some()
        };
        if let Some(utc) = named("utc").filter(is_time)
            && !options.ignored_columns.contains(&names[utc])
        {
            return Some(ReadOptions {
                time_column: Some(names[utc].clone()),
                ..options.clone()
            });
        }
        let (date, clock) = (named("date")?, named("time")?);
        let is_ignored = options.ignored_columns.contains(&names[date]);
        let is_time = is_clock(below.get(clock)?)
            || is_clock_of_digits(&below[clock]) && is_date(below.get(date)?);
        (is_time && !is_ignored).then(|| ReadOptions {
            date_column: Some(names[date].clone()),
            time_column: Some(names[clock].clone()),
            ..options.clone()
        })
    }

    /// The error of dates and times of day in columns of their own, if the row `below` the header
    /// has both among the columns that `may_be` one of them; `time` is that of the timestamps, if
    /// it is known.
    pub(super) fn undated(
        self,
        file: &str,
        time: Option<usize>,
        may_be: impl Fn(usize) -> bool,
    ) -> Option<IoError> {
        let Self { names, below } = self;
        let text = |column: usize| below.get(column).map_or("", String::as_str);
        let is_one = |column: usize| is_date(text(column)) || is_bare_clock(text(column));
        if time.is_some_and(|time| !is_one(time)) {
            return None;
        }
        let column = |is: fn(&str) -> bool| {
            let mut columns = time.into_iter().chain(0..names.len());
            let found = columns.find(|column| may_be(*column) && is(text(*column)))?;
            Some(match shorten(&names[found]) {
                name if name.contains(char::is_whitespace) => format!("'{name}'"),
                name => name,
            })
        };
        let (time, date) = (column(is_bare_clock)?, column(is_date)?);
        Some(IoError::Option {
            file: file.to_owned(),
            option: "--date-column",
            reason: format!(
                "expected --date-column {date} --time-column {time}, as {time} has times of day and {date} has dates, or --ignore-columns {time}, found no such option"
            ),
        })
    }
}

/// Whether a text begins as a time of day does.
fn is_clock(text: &str) -> bool {
    matches!(
        text.as_bytes(),
        [b'0'..=b'9', b':', ..] | [b'0'..=b'9', b'0'..=b'9', b':', ..]
    )
}

/// Whether a text is a time of day in four or six digits: `0130`.
fn is_clock_of_digits(text: &str) -> bool {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        && matches!(text.len(), 4 | 6)
        && &text[..2] < "24"
        && text.as_bytes()[2..].chunks(2).all(|part| part[0] < b'6')
}

/// Whether a text is a date without a time of day.
fn is_date(text: &str) -> bool {
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_year = text.starts_with("19") || text.starts_with("20");
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.matches(['-', '/', '.']).count() == 2
        && !text.contains(':')
        && number::value(text.as_bytes()).is_none()
        || text.len() == 8 && is_whole && is_year
}

/// Whether a text is a time of day; one with a date after it has a format of its own.
fn is_bare_clock(text: &str) -> bool {
    is_clock(text) && !text.contains(['-', '/']) && text.matches('.').count() < 2
}

/// The number of empty fields after those of the header in the row `below`. Takes empty names off
/// the end of the header, if the row has fewer fields.
pub(super) fn empty_at_end(
    file: &str,
    names: &mut Vec<String>,
    below: &[String],
    notes: &mut Notes,
) -> usize {
    let fields = names.len();
    if let Some(rest) = below.get(fields..).filter(|rest| !rest.is_empty())
        && rest.iter().all(String::is_empty)
    {
        let what = "the rows have an empty field after those of the header, which is left out";
        notes.add(file, what.to_owned());
        return rest.len();
    }
    let is_longer = below.len() > 1 && below.len() < fields;
    if is_longer && names[below.len()..].iter().all(String::is_empty) {
        let what = "the header has an empty field after those of the rows, which is left out";
        notes.add(file, what.to_owned());
        names.truncate(below.len());
    }
    0
}
