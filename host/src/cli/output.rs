//! Text to standard output and standard error.

use super::failure::Failure;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};

/// Writes `text` to standard output. A reader that went away is no failure.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::failed(format!(
            "standard output: cannot be written: {e}"
        ))),
        _ => Ok(()),
    }
}

/// Writes `value` to standard output as indented JSON.
pub(crate) fn say_json(value: &impl Serialize) -> Result<(), Failure> {
    say(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Writes `warpstride: …` to standard error, on one line whatever a file's name holds.
pub(crate) fn complain(sentence: &str) {
    to_standard_error("warpstride", sentence);
}

/// Writes `note: …` to standard error.
pub(crate) fn note(sentence: &str) {
    to_standard_error("note", sentence);
}

fn to_standard_error(who: &str, sentence: &str) {
    let line: String = sentence
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    // There is nobody left to tell when standard error is closed.
    writeln!(io::stderr().lock(), "{who}: {}", line.trim()).unwrap_or_default();
}

/// `1 row was`, `2 rows were`; of `point of NaN` the points are counted.
pub(crate) fn were(count: u64, what: &str) -> String {
    let (noun, rest) = what.split_once(" of ").unwrap_or((what, ""));
    let of = if rest.is_empty() { "" } else { " of " };
    match count {
        1 => format!("1 {noun}{of}{rest} was"),
        _ => format!("{count} {noun}s{of}{rest} were"),
    }
}

/// `1 duplicate, 2 malformed rows` of what there is any, each named for one and for several; `None` where there is nothing.
pub(crate) fn counted(counts: &[(u64, [&str; 2])]) -> Option<String> {
    let named: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, [one, several])| {
            format!("{count} {}", if *count == 1 { one } else { several })
        })
        .collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// Lines of names and values, the values under each other.
pub(crate) fn facts(lines: &[(&str, String)]) -> String {
    let width = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    lines
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {value}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_agrees_with_its_number() {
        assert_eq!(were(1, "malformed row"), "1 malformed row was");
        assert_eq!(were(2, "point of NaN"), "2 points of NaN were");
    }

    #[test]
    fn what_there_is_none_of_is_not_counted() {
        let duplicates = |count| counted(&[(count, ["duplicate", "duplicates"]), (0, ["NaN"; 2])]);
        assert_eq!(duplicates(0), None);
        assert_eq!(duplicates(1).as_deref(), Some("1 duplicate"));
        assert_eq!(duplicates(2).as_deref(), Some("2 duplicates"));
    }

    #[test]
    fn values_stand_under_each_other() {
        let text = facts(&[("a", "1".into()), ("long", "2".into())]);
        assert_eq!(text, "a     1\nlong  2\n");
    }
}
