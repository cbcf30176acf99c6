//! What `--time-format` would read a timestamp that is in no format that is known without it.

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
const OTHERS: [&str; 3] = [
    "%a %b %d %H:%M:%S %Y",
    "%a, %d %b %Y %H:%M:%S %z",
    "%Y%m%d%H%M%S",
];
/// Largest length of a timestamp.
const LONGEST: usize = 40;

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
        return zone_name(text);
    }
    let all: Vec<String> = found.iter().take(3).map(named).collect();
    Some(format!("use {}", all.join(", or ")))
}

/// What to do about the name of a zone after a time.
fn zone_name(text: &str) -> Option<String> {
    let (time, name) = text.rsplit_once(' ')?;
    let is_name = (2..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase());
    let is_time = super::iso(time.as_bytes()).is_ok();
    let seconds = if time.matches(':').count() > 1 {
        ":%S"
    } else {
        ""
    };
    (is_name && is_time).then(|| {
        format!(
            "for the zone {name}, use --time-format '%Y-%m-%d %H:%M{seconds} {name}' with --timezone, such as Europe/Berlin"
        )
    })
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
                &["zone CET", "%S CET'", "--timezone"],
            ),
        ] {
            let found = suggestion(text).unwrap_or_default();
            for part in parts {
                assert!(found.contains(part), "{text}: {found}");
            }
        }
        for text in ["", "abc", "12:30", "00:00:00", "yesterday"] {
            assert_eq!(suggestion(text), None, "{text}");
        }
    }
}
