//! What `--time-format` would read a timestamp that is in no format that is known without it.

use crate::series::Zone;
use crate::series::io::{DatePattern, iso};

/// Dates, without the ambiguity of `%d/%m` and `%m/%d` first.
const DATES: [&str; 17] = [
    "%Y-%m-%d",
    "%Y/%m/%d",
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
    "%d %b %Y",
    "%d-%b-%Y",
    "%d/%b/%Y",
    "%b %d, %Y",
];
/// Times of day after a date.
const CLOCKS: [&str; 7] = [
    "",
    "%H:%M",
    "%H:%M:%S",
    "%H:%M:%S%.f",
    "%I:%M %p",
    "%I:%M:%S %p",
    "%H%M%S",
];
/// What may be between a date and a time of day.
const BETWEEN: [&str; 4] = [" ", "T", ", ", ":"];
/// What may follow.
const ENDINGS: [&str; 4] = ["", "Z", " %z", "%z"];
/// Formats that are not a date before a time of day.
const OTHERS: [&str; 4] = [
    "%Y%m%d%H%M",
    "%a %b %d %H:%M:%S %Y",
    "%a, %d %b %Y %H:%M:%S %z",
    "%Y%m%d%H%M%S",
];
/// Dates and times in ISO 8601.
const ISO: [&str; 6] = [
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%S%.f",
];
/// Largest length of a timestamp.
const LONGEST: usize = 80;

/// The options that would read a timestamp, with what each of them makes of it: several if the order
/// of day and month is open.
pub(in crate::series::io) fn suggestion(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    let mut found: Vec<(String, i64)> = Vec::new();
    for pattern in patterns() {
        let Ok(read) = DatePattern::new(&pattern).map(|of| of.read(text.as_bytes())) else {
            continue;
        };
        let moment = read
            .ok()
            .and_then(|read| read.nanoseconds(None, &mut 0).ok());
        if let Some(moment) = moment
            && found.iter().all(|(_, other)| *other != moment)
        {
            found.push((pattern, moment));
        }
    }
    let named = |(pattern, moment): &(String, i64)| {
        format!("--time-format '{pattern}' if it is {}", iso(*moment))
    };
    if let [(only, _)] = &found[..] {
        return Some(format!("use --time-format '{only}'"));
    }
    if found.is_empty() {
        return zone_name(text).or_else(|| time_of_day(text));
    }
    let all: Vec<String> = found.iter().take(3).map(named).collect();
    Some(format!("use {}", all.join(", or ")))
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

/// What to do about the name of a zone after a time: `2024-03-31 01:30:00 CET`, or with
/// `[Europe/Berlin]` at its end.
fn zone_name(text: &str) -> Option<String> {
    let (time, name) = match text.strip_suffix(']') {
        Some(bracketed) => bracketed.rsplit_once('[')?,
        None => text.rsplit_once(' ')?,
    };
    let ending = &text[time.trim_end().len()..];
    let is_short = (2..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase());
    let is_zone = Zone::named(name).is_ok() && !is_short;
    if !is_short && !is_zone {
        return None;
    }
    let offsets = ["", "Z", "%z", "%:z"];
    let all = offsets.iter().flat_map(|offset| {
        ISO.iter()
            .map(move |iso| (format!("{iso}{offset}{ending}"), offset.is_empty()))
    });
    let (pattern, is_local) = all.into_iter().find(|(pattern, _)| reads(pattern, text))?;
    let zone = match name {
        _ if !is_local => "",
        _ if is_zone => &format!(" with --timezone {name}"),
        "CET" | "CEST" => " with --timezone, such as Europe/Berlin",
        "EST" | "EDT" => " with --timezone, such as America/New_York",
        "CST" | "CDT" => " with --timezone, such as America/Chicago",
        "MST" | "MDT" => " with --timezone, such as America/Denver",
        "PST" | "PDT" => " with --timezone, such as America/Los_Angeles",
        "JST" => " with --timezone, such as Asia/Tokyo",
        _ => " with --timezone and a name of that zone such as Europe/Berlin",
    };
    Some(format!(
        "for the zone {name}, use --time-format '{pattern}'{zone}"
    ))
}

/// Whether a format reads a text.
fn reads(pattern: &str, text: &str) -> bool {
    DatePattern::new(pattern).is_ok_and(|pattern| pattern.read(text.as_bytes()).is_ok())
}

fn patterns() -> impl Iterator<Item = String> {
    let dates = DATES.iter().flat_map(|date| {
        CLOCKS.iter().flat_map(move |clock| {
            let between = if clock.is_empty() {
                &[""][..]
            } else {
                &BETWEEN[..]
            };
            between.iter().flat_map(move |between| {
                let endings = if clock.is_empty() {
                    &ENDINGS[..1]
                } else {
                    &ENDINGS[..]
                };
                endings
                    .iter()
                    .map(move |ending| format!("{date}{between}{clock}{ending}"))
            })
        })
    });
    OTHERS.iter().map(|&other| other.to_owned()).chain(dates)
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
                &["zone EST", "--timezone, such as America/New_York"],
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
            ("20240331", &["use --time-format '%Y%m%d'"]),
            ("202403310130", &["use --time-format '%Y%m%d%H%M'"]),
            ("20240331013000", &["use --time-format '%Y%m%d%H%M%S'"]),
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
