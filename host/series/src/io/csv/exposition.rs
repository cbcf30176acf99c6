//! Parses chunks of Prometheus' text exposition format: `up{host="a"} 1 1392388200000`.
//!
//! A line is a sample: a series, a value, and a time in milliseconds since 1970, or in seconds as
//! in `OpenMetrics`, whose numbers are smaller. Samples without a time get that of the option.
//! Comments and exemplars are ignored.

use super::parse::{Context, Parsed};
use crate::io::names::{Lookup, NameError};
use crate::io::prometheus::{SeriesText, skip_blanks};
use crate::io::rows::Fault;
use crate::io::timestamp::{
    TimestampError, TimestampFormat, Unit, UnitOrigin, is_in_milliseconds, is_in_seconds,
};
use crate::io::{OnError, Rounded, TimeUnit, number, shorten};
use memchr::memchr;

/// Whether a text begins as this format does for every program that writes it, with a comment on
/// the first metric.
pub(super) fn is_exposition(text: &[u8]) -> bool {
    let mut lines = text.split(|b| *b == b'\n').map(<[u8]>::trim_ascii_start);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let comments: [&[u8]; 4] = [b"# HELP ", b"# TYPE ", b"# UNIT ", b"# EOF"];
    comments.iter().any(|comment| first.starts_with(comment))
}

/// The first timestamp.
fn first_time(text: &[u8]) -> Option<&[u8]> {
    let mut series = SeriesText::default();
    let lines = text
        .split(|b| *b == b'\n')
        .map(|line| skip_blanks(line.trim_ascii_end()));
    let samples = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    samples
        .take(FIRST_LINES)
        .find_map(|line| sample(line, &mut series).ok()?.time)
}

/// Most lines in which the first timestamp is looked for.
const FIRST_LINES: usize = 10_000;

/// The unit of timestamps that no option states: seconds if the first one is a likely time in
/// these, but not in milliseconds, or if the text is `OpenMetrics` by another sign and the first
/// one is not likely in milliseconds, unless the text is made of remote read; `None` without
/// timestamps.
pub(super) fn unit(text: &[u8], remote_read: bool) -> Option<TimeUnit> {
    let first = first_time(text)?;
    let in_seconds =
        is_in_seconds(first) || is_open_metrics(text, first) && !is_in_milliseconds(first);
    Some(match !remote_read && in_seconds {
        true => TimeUnit::Seconds,
        false => TimeUnit::Milliseconds,
    })
}

/// Whether seconds are assumed without any other sign of `OpenMetrics`: its last line, or decimals.
pub(super) fn is_doubtful(text: &[u8], unit: TimeUnit) -> bool {
    let first = first_time(text).unwrap_or_default();
    unit == TimeUnit::Seconds && !is_open_metrics(text, first)
}

/// Whether a text whose first timestamp is `first` has a sign of `OpenMetrics`.
fn is_open_metrics(text: &[u8], first: &[u8]) -> bool {
    first.contains(&b'.') || text.trim_ascii_end().ends_with(b"# EOF")
}

/// Why a line is no sample.
enum LineError<'l> {
    /// What was expected, and the text in its place.
    Syntax(&'static str, &'l [u8]),
    Time(&'l [u8], TimestampError),
    Value(&'l [u8]),
    /// The name is in the buffer.
    Name(NameError),
    NoTime,
}

/// A sample of a line, whose series is in the buffer.
struct Sample<'l> {
    value: &'l [u8],
    time: Option<&'l [u8]>,
}

/// Approximate minimum of bytes per line, for allocating the points at once.
const LINE: usize = 20;

/// Parses whole lines.
pub(super) fn chunk(text: &[u8], context: &Context<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let points = text.len() / LINE;
    parsed.series.reserve(points);
    parsed.times.reserve(points);
    parsed.values.reserve(points);
    let mut lookup = Lookup::new(context.names, context.longest_name);
    let (mut series, mut name) = (SeriesText::default(), Vec::new());
    let milliseconds = TimestampFormat::Epoch {
        unit: Unit::Milliseconds,
        origin: UnitOrigin::Format,
    };
    let time_format = context.time_format.clone().unwrap_or(milliseconds);
    let mut at = 0;
    while at < text.len() {
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |position| at + position);
        let line = skip_blanks(text[at..end].trim_ascii_end());
        let before = parsed.lines;
        parsed.lines += 1;
        at = end + 1;
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        if line.len() > context.most {
            let (bytes, most) = (line.len(), context.most);
            parsed.faults.add(|| {
                let expected = format!("a line of at most {most} bytes");
                Fault::new(before, format!("{bytes} bytes"), expected)
            });
        } else {
            let rounded = &mut parsed.rounded;
            let point = point(
                line,
                context,
                &time_format,
                &mut series,
                (&mut name, rounded),
            );
            let point = point.and_then(|(time, value)| {
                let number = lookup.number(&name).map_err(LineError::Name)?;
                Ok((number, time, value))
            });
            match point {
                Ok((number, time, value)) => {
                    parsed.series.push(number);
                    parsed.times.push(time);
                    parsed.values.push(value);
                }
                Err(wrong) => {
                    parsed
                        .faults
                        .add(|| fault(before, wrong, &name, &time_format));
                }
            }
        }
        if parsed.faults.count > 0 && context.on_error == OnError::Fail {
            break;
        }
    }
    parsed.fresh = lookup.into_fresh();
    parsed
}

/// The time and the value of a line; the name of its series is in `name`.
fn point<'l>(
    line: &'l [u8],
    context: &Context<'_>,
    time_format: &TimestampFormat,
    series: &mut SeriesText,
    (name, rounded): (&mut Vec<u8>, &mut Rounded),
) -> Result<(i64, f64), LineError<'l>> {
    let Sample { value: text, time } = sample(line, series)?;
    let value = number::value(text).ok_or(LineError::Value(text))?;
    rounded.text(text, value);
    let time = match (time, context.scrape_time) {
        (Some(text), _) => time_format
            .read(text)
            .map_err(|why| LineError::Time(text, why))?,
        (None, Some(scraped)) => scraped,
        (None, None) => return Err(LineError::NoTime),
    };
    series.write_name(name);
    Ok((time, value))
}

fn sample<'l>(line: &'l [u8], series: &mut SeriesText) -> Result<Sample<'l>, LineError<'l>> {
    let rest = series
        .read(line)
        .map_err(|expected| LineError::Syntax(expected, line))?;
    let (value, rest) = token(rest);
    if value.is_empty() {
        return Err(LineError::Syntax("a value after the series", b"none"));
    }
    if is_exemplar(rest) {
        return Ok(Sample { value, time: None });
    }
    let (time, rest) = token(rest);
    if !rest.is_empty() && !is_exemplar(rest) {
        let expected = "the end of the line after the timestamp";
        return Err(LineError::Syntax(expected, rest));
    }
    Ok(Sample {
        value,
        time: (!time.is_empty()).then_some(time),
    })
}

/// Whether an exemplar of `OpenMetrics` follows, which is not read.
fn is_exemplar(rest: &[u8]) -> bool {
    rest.starts_with(b"#") && skip_blanks(&rest[1..]).starts_with(b"{")
}

/// The text up to the next blank, and what follows the blanks.
fn token(text: &[u8]) -> (&[u8], &[u8]) {
    let text = skip_blanks(text);
    let end = text.iter().position(|b| matches!(b, b' ' | b'\t'));
    let (token, rest) = text.split_at(end.unwrap_or(text.len()));
    (token, skip_blanks(rest))
}

#[cold]
fn fault(before: u64, wrong: LineError<'_>, name: &[u8], time_format: &TimestampFormat) -> Fault {
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
    match wrong {
        LineError::Syntax(expected, found) => {
            Fault::new(before, format!("'{}'", shorten(&text(found))), expected)
        }
        LineError::Time(found, why) => Fault::time(before, &text(found), why, time_format),
        LineError::Value(found) => Fault::value(before, &text(found)),
        LineError::Name(why) => Fault::name(before, why, name),
        LineError::NoTime => Fault::new(
            before,
            "none".to_owned(),
            "a timestamp in milliseconds since 1970 after the value, or --scrape-time for samples without",
        ),
    }
}
