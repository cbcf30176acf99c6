//! What `--time-format` would read a timestamp that is in no format that is known without it.

use super::writing::iso;
use crate::io::DatePattern;
use crate::{Moments, Zone};

/// Dates, without the ambiguity of `%d/%m` and `%m/%d` first.
const DATES: [&str; 36] = [
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y_%m_%d",
    "%Y:%m:%d",
    "%Y.%m.%d",
    "%Y%m%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%m.%d.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d.%m.%y",
    "%d-%m-%y",
    "%y/%m/%d",
    "%y.%m.%d",
    "%y-%m-%d",
    "%m.%d.%y",
    "%m-%d-%y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d/%b/%Y",
    "%d.%b.%Y",
    "%d%b%Y",
    "%d %b %y",
    "%d-%b-%y",
    "%d/%b/%y",
    "%Y-%b-%d",
    "%b %d, %Y",
    "%b %d %Y",
    "%d %B %Y",
    "%d. %B %Y",
    "%B %d, %Y",
    "%Y-%j",
];
/// Times of day after a date.
const CLOCKS: [&str; 15] = [
    "%H:%M",
    "%H:%M:%S",
    "%H:%M:%S%.f",
    "%H:%M:%S,%f",
    "%I:%M %p",
    "%I:%M:%S %p",
    "%H%M%S",
    "%H%M",
    "%H-%M-%S",
    "%H-%M",
    "%H_%M_%S",
    "%H_%M",
    "%H.%M.%S",
    "%H.%M",
    "%H:%M:%S:%f",
];
/// What may be between a date and a time of day.
const BETWEEN: [&str; 7] = [" ", "T", ", ", ":", "_", "-", "/"];
/// What may follow.
const ENDINGS: [&str; 13] = [
    "", "Z", " %z", "%z", "%:z", " %:z", " GMT", " UTC", " UTC%:z", "UTC%:z", " GMT%:z", "GMT%:z",
    " UTC%z",
];
/// Formats that are not a date before a time of day.
const OTHERS: [&str; 5] = [
    "%G-W%V-%u",
    "%Y%m%d%H%M",
    "%Y%m%d%H%M%S",
    "%a %b %d %H:%M:%S %Y",
    "%a %b %d %H:%M:%S UTC %Y",
];
/// Names of days before a date.
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// Largest length of a timestamp.
const LONGEST: usize = 80;

/// The options that would read a timestamp, with what each of them makes of it: several if the
/// order of day and month is open.
pub(in crate::io) fn suggestion(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    if let Some(remedy) = month(text) {
        return Some(remedy);
    }
    let mut found = readings(text);
    if found.is_empty()
        && let Some(inner) = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
    {
        found = readings(inner);
        for (pattern, _) in &mut found {
            *pattern = format!("[{pattern}]");
        }
    }
    if found.is_empty() {
        return of_zone(text).or_else(|| time_of_day(text));
    }
    Some(format!("use {}", options(&found, "")))
}

/// The format of a time and of an offset after a blank; `stated` is that of the time.
pub(in crate::io) fn joined_format(
    time: &str,
    offset: &str,
    stated: Option<&str>,
) -> Option<String> {
    let text = format!("{} {}", time.trim(), offset.trim());
    if let Some(stated) = stated {
        let joined = format!("{stated} %z");
        return reads(&joined, &text).then_some(joined);
    }
    match &readings(&text)[..] {
        [(only, _)] => Some(only.clone()),
        _ => None,
    }
}

/// The formats that read a text, each with its time, nanoseconds since 1970, which differ.
fn readings(text: &str) -> Vec<(String, i64)> {
    let is_day = |word: &str| WEEKDAYS.contains(&word.trim_end_matches(','));
    let (day, date) = match text.split_once(' ') {
        Some((word, rest)) if is_day(word) => match word.ends_with(',') {
            true => ("%a, ", rest),
            false => ("%a ", rest),
        },
        _ => ("", text),
    };
    let of_date = patterns(date).filter(|pattern| reads(pattern, date));
    let of_date = of_date.map(|pattern| format!("{day}{pattern}"));
    let others = OTHERS.iter().map(|&other| other.to_owned());
    let mut found: Vec<(String, i64)> = Vec::new();
    for pattern in others.chain(of_date) {
        if let Some(moment) = moment(&pattern, text)
            && found.iter().all(|(_, other)| *other != moment)
        {
            found.push((pattern, moment));
        }
    }
    found
}

/// Options with these formats; `rest` is added to each.
fn options(found: &[(String, i64)], rest: &str) -> String {
    if let [(only, _)] = found {
        return format!("--time-format '{only}'{rest}");
    }
    let named = |(pattern, moment): &(String, i64)| {
        format!("--time-format '{pattern}'{rest} if it is {}", iso(*moment))
    };
    let all: Vec<String> = found.iter().take(3).map(named).collect();
    all.join(", or ")
}

/// What to do about a time of day without a date.
fn time_of_day(text: &str) -> Option<String> {
    let whole = format!("2024-01-01 {text}");
    let mut clocks = CLOCKS.iter().filter(|clock| clock.contains(':'));
    let is_clock = clocks.any(|clock| reads(&format!("%Y-%m-%d {clock}"), &whole));
    is_clock.then(|| {
        "a time of day needs a date: name a column of dates with --date-column beside --time-column (text files), or write the date into the column"
            .to_owned()
    })
}

/// What to do about a month: `2024-01`.
fn month(text: &str) -> Option<String> {
    let first = format!("{text}-01");
    let is_month = text.len() == 7 && reads("%Y-%m-%d", &first);
    is_month.then(|| format!("a month needs a day: write {first}"))
}

/// What to do about the name of a zone after a time: `2024-03-31 01:30:00 CET`, or with
/// `[Europe/Berlin]` at its end.
fn of_zone(text: &str) -> Option<String> {
    let (time, name) = match text.strip_suffix(']') {
        Some(bracketed) => bracketed.rsplit_once('[')?,
        None => text.rsplit_once(' ')?,
    };
    let time = time.trim_end();
    let ending = &text[time.len()..];
    let is_short = (2..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase());
    let is_zone = Zone::named(name).is_ok() && !is_short;
    if !is_short && !is_zone {
        return None;
    }
    let mut found = readings(time);
    let (first, moment) = found.first()?;
    let other_offset = abbreviation(name).and_then(|(zone, hours)| {
        let there = Zone::named(zone).ok()?;
        let seconds = moment.div_euclid(1_000_000_000);
        let offsets = match there.moments(seconds) {
            Moments::One(at) | Moments::Skipped(at) => [at, at],
            Moments::Two(earlier, later) => [earlier, later],
        };
        let is_there = |at: &i64| seconds - at == hours * 3600;
        (!offsets.iter().any(is_there)).then(|| {
            format!(
                " with --timezone Etc/GMT{:+} ({name} is UTC{hours:+03}:00, while --timezone {zone} has another offset then)",
                -hours
            )
        })
    });
    let is_local = !ENDINGS[1..].iter().any(|offset| first.ends_with(offset));
    for (pattern, _) in &mut found {
        pattern.push_str(ending);
    }
    let zone = match (other_offset, abbreviation(name)) {
        _ if !is_local => String::new(),
        _ if is_zone => format!(" with --timezone {name}"),
        (Some(fixed), _) => fixed,
        (None, Some((zone, _))) => format!(" with --timezone, such as {zone}"),
        (None, None) => " with --timezone and a name of that zone such as Europe/Berlin".to_owned(),
    };
    Some(format!(
        "for the zone {name}, use {}",
        options(&found, &zone)
    ))
}

/// A zone that has an abbreviation, and the hours east of UTC that the abbreviation means.
fn abbreviation(name: &str) -> Option<(&'static str, i64)> {
    Some(match name {
        "CET" => ("Europe/Berlin", 1),
        "CEST" => ("Europe/Berlin", 2),
        "EST" => ("America/New_York", -5),
        "EDT" => ("America/New_York", -4),
        "CST" => ("America/Chicago", -6),
        "CDT" => ("America/Chicago", -5),
        "MST" => ("America/Denver", -7),
        "MDT" => ("America/Denver", -6),
        "PST" => ("America/Los_Angeles", -8),
        "PDT" => ("America/Los_Angeles", -7),
        "JST" => ("Asia/Tokyo", 9),
        _ => return None,
    })
}

/// Whether a format reads a text.
fn reads(pattern: &str, text: &str) -> bool {
    moment(pattern, text).is_some()
}

/// The time of a text in a format, nanoseconds since 1970.
fn moment(pattern: &str, text: &str) -> Option<i64> {
    let read = DatePattern::new(pattern).ok()?.read(text.as_bytes()).ok()?;
    read.nanoseconds(None, &mut 0).ok()
}

/// Formats of a date, and of a date and a time of day, whose punctuation is in a text.
fn patterns(text: &str) -> impl Iterator<Item = String> {
    let has = move |part: &str| {
        let marks = part.replace("%.f", "").replace('%', "");
        let mut marks = marks.chars().filter(|c| c.is_ascii_punctuation());
        marks.all(|mark| text.contains(mark))
    };
    DATES
        .iter()
        .filter(move |date| has(date))
        .flat_map(move |date| {
            // A day of the year and an hour are not a month and a day.
            let is_apart = move |between: &str| between != "-" || !date.ends_with("%j");
            let between = BETWEEN
                .iter()
                .filter(move |mark| has(mark) && is_apart(mark));
            let with_clock = between.flat_map(move |between| {
                CLOCKS
                    .iter()
                    .filter(move |clock| has(clock))
                    .flat_map(move |clock| {
                        let endings = ENDINGS.iter();
                        endings.map(move |ending| format!("{date}{between}{clock}{ending}"))
                    })
            });
            std::iter::once((*date).to_owned()).chain(with_clock)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_suggested_for_common_formats() {
        for (text, parts) in [
            (
                "23/06/2025 10:00",
                &["use --time-format '%d/%m/%Y %H:%M'"][..],
            ),
            (
                "10/06/2025 10:00",
                &[
                    "'%d/%m/%Y %H:%M' if it is 2025-06-10T10:00:00Z",
                    "'%m/%d/%Y %H:%M' if it is 2025-10-06T10:00:00Z",
                ],
            ),
            ("01/02/2026", &["'%d/%m/%Y'", "'%m/%d/%Y'"]),
            (
                "2024/01/31 10:00:05",
                &["use --time-format '%Y/%m/%d %H:%M:%S'"],
            ),
            (
                "31.01.2024 10:00:05.25",
                &["use --time-format '%d.%m.%Y %H:%M:%S%.f'"],
            ),
            ("20240131T100005Z", &["use --time-format '%Y%m%dT%H%M%SZ'"]),
            ("31-Jan-2024 10:00", &["use --time-format '%d-%b-%Y %H:%M'"]),
            ("Wed Jan 31 10:00:05 2024", &["'%a %b %d %H:%M:%S %Y'"]),
            (
                "1/31/2024 2:30 PM",
                &["use --time-format '%m/%d/%Y %I:%M %p'"],
            ),
            (
                "2024-03-31 01:30:00 CET",
                &["zone CET", "%S CET'", "--timezone, such as Europe/Berlin"],
            ),
            (
                "2024-03-31 01:30:00 EST",
                &["zone EST", "--timezone Etc/GMT+5 (EST is UTC-05:00"],
            ),
            (
                "2024-03-31 01:30:00 Europe/Zurich",
                &["%S Europe/Zurich' with --timezone Europe/Zurich"],
            ),
            (
                "2024-03-31T01:30:00+02:00[Europe/Zurich]",
                &["'%Y-%m-%dT%H:%M:%S%:z[Europe/Zurich]'"],
            ),
            (
                "2024-03-31 01:30 [Asia/Tokyo]",
                &["%M [Asia/Tokyo]' with --timezone Asia/Tokyo"],
            ),
            (
                "2024-03-31 01:30 MSK",
                &["zone MSK", "--timezone and a name of that zone"],
            ),
            ("05-Jan-24", &["use --time-format '%d-%b-%y'"]),
            ("5-Jan-24 10:00", &["use --time-format '%d-%b-%y %H:%M'"]),
            ("05 January 2024", &["use --time-format '%d %B %Y'"]),
            (
                "Mon, 05 Feb 2024 10:00:00 GMT",
                &["use --time-format '%a, %d %b %Y %H:%M:%S GMT'"],
            ),
            (
                "Mon, 05 Feb 2024 10:00:00 +0100",
                &["use --time-format '%a, %d %b %Y %H:%M:%S %z'"],
            ),
            (
                "Mon, 05 Feb 2024 10:00:00 EST",
                &["'%a, %d %b %Y %H:%M:%S EST' with --timezone, such as America/New_York"],
            ),
            (
                "Mon Feb 5 10:00:00 UTC 2024",
                &["'%a %b %d %H:%M:%S UTC %Y'"],
            ),
            (
                "05.02.2024 10:00:00,5 CET",
                &["'%d.%m.%Y %H:%M:%S,%f CET' with --timezone"],
            ),
            ("20240331", &["use --time-format '%Y%m%d'"]),
            ("202403310130", &["use --time-format '%Y%m%d%H%M'"]),
            ("20240331013000", &["use --time-format '%Y%m%d%H%M%S'"]),
            ("2024-W05-1", &["use --time-format '%G-W%V-%u'"]),
            ("2024-032", &["use --time-format '%Y-%j'"]),
            ("2024-02", &["write 2024-02-01"]),
            (
                "2024-06-05_14-30-00",
                &["use --time-format '%Y-%m-%d_%H-%M-%S'"],
            ),
            ("20240605_143000", &["use --time-format '%Y%m%d_%H%M%S'"]),
            ("20240605-1430", &["use --time-format '%Y%m%d-%H%M'"]),
            ("2024_06_05_14_30", &["use --time-format '%Y_%m_%d_%H_%M'"]),
            (
                "2024-06-05-14-30-00",
                &["use --time-format '%Y-%m-%d-%H-%M-%S'"],
            ),
            (
                "2024:06:05 14:30:00",
                &["use --time-format '%Y:%m:%d %H:%M:%S'"],
            ),
            (
                "2024-06-05 14.30.00",
                &["use --time-format '%Y-%m-%d %H.%M.%S'"],
            ),
            (
                "2024-06-05T14-30-00Z",
                &["use --time-format '%Y-%m-%dT%H-%M-%SZ'"],
            ),
            (
                "05.06.2024/14:30",
                &["'%d.%m.%Y/%H:%M' if it is 2024-06-05T14:30:00Z"],
            ),
            (
                "2024-06-05 14:30:00:250",
                &["use --time-format '%Y-%m-%d %H:%M:%S:%f'"],
            ),
            (
                "2024-01-13 10:00:00 UTC+01:00",
                &["use --time-format '%Y-%m-%d %H:%M:%S UTC%:z'"],
            ),
            (
                "13.01.2024 10:00 GMT+01:00",
                &["use --time-format '%d.%m.%Y %H:%M GMT%:z'"],
            ),
            (
                "[13/Jan/2024:10:00:00 +0000]",
                &["use --time-format '[%d/%b/%Y:%H:%M:%S %z]'"],
            ),
            ("2024-01-13 0130", &["use --time-format '%Y-%m-%d %H%M'"]),
            ("12:30", &["--date-column"]),
            ("1:30:05 PM", &["--date-column"]),
        ] {
            let found = suggestion(text).unwrap_or_default();
            for part in parts {
                assert!(found.contains(part), "{text}: {found}");
            }
        }
        for text in ["", "abc", "12:99", "yesterday"] {
            assert_eq!(suggestion(text), None, "{text}");
        }
    }
}
