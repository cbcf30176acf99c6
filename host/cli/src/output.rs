//! Printing to standard output and standard error.

use super::failure::Failure;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;
use warpstride::text::{count, is_invisible, shortened, visible};

/// Writes `text` to standard output. A closed pipe is not an error.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::failed(unwritable(&e))),
        _ => Ok(()),
    }
}

/// The sentence on an error of writing to standard output.
pub(crate) fn unwritable(error: &io::Error) -> String {
    format!("standard output: cannot be written: {error}")
}

/// The first error of writing progress to standard output.
static PROGRESS_ERROR: OnceLock<String> = OnceLock::new();

/// Standard output for the progress of a run. An error does not end the run, which may have hours
/// behind it; [`check_progress`] reports it afterwards.
pub(crate) struct ProgressStream;

impl Write for ProgressStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        remembered(io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        remembered(io::stdout().flush())
    }
}

/// Keeps an error. A closed pipe is not one: its reader has seen enough.
fn remembered<T>(result: io::Result<T>) -> io::Result<T> {
    if let Err(error) = &result
        && !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted)
    {
        PROGRESS_ERROR.get_or_init(|| error.to_string());
    }
    result
}

/// Fails if progress could not be written.
pub(crate) fn check_progress() -> Result<(), Failure> {
    match PROGRESS_ERROR.get() {
        None => Ok(()),
        Some(reason) => Err(Failure::failed(format!(
            "standard output: progress cannot be written: {reason}; the run was completed without it"
        ))),
    }
}

/// Writes `value` to standard output as indented JSON. Characters on which a terminal would act are
/// escaped.
pub(crate) fn say_json(value: &impl Serialize) -> Result<(), Failure> {
    say(&(escaped_json(serde_json::to_string_pretty(value)?) + "\n"))
}

/// JSON in which such characters, which are in texts alone, are written as `\u001b`.
fn escaped_json(json: String) -> String {
    let acts = |c: char| c != '\n' && is_invisible(c);
    if !json.contains(acts) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if acts(c) {
            // All of them have four hexadecimal digits.
            escaped += &format!("\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Writes `warpstride: …` to standard error, on one line even if a file's name has line breaks.
pub(crate) fn complain(sentence: &str) {
    to_standard_error("warpstride", sentence);
}

/// Writes `note: …` to standard error.
pub(crate) fn note(sentence: &str) {
    to_standard_error("note", sentence);
}

/// Writes `warning: …` to standard error: the data or the result are doubtful.
#[cfg(feature = "sas")]
pub(crate) fn warn(sentence: &str) {
    to_standard_error("warning", sentence);
}

/// Most characters of a line on standard error: names in files may have 64 KiB.
const LONGEST_LINE: usize = 4000;

fn to_standard_error(prefix: &str, sentence: &str) {
    let line = visible(sentence);
    let line = shortened(&line, LONGEST_LINE);
    // An error cannot be reported if standard error is closed.
    writeln!(io::stderr().lock(), "{prefix}: {}", line.trim()).unwrap_or_default();
}

/// Lines `note: …` for standard output.
pub(crate) fn note_lines(notes: &[String]) -> String {
    let lines = notes
        .iter()
        .map(|note| format!("note: {}\n", visible(note)));
    lines.collect()
}

/// `1 row was`, `2 rows were`; `point of NaN` becomes `2 points of NaN were`.
pub(crate) fn were(count: u64, what: &str) -> String {
    let (noun, rest) = what.split_once(" of ").unwrap_or((what, ""));
    let of = if rest.is_empty() { "" } else { " of " };
    match count {
        1 => format!("1 {noun}{of}{rest} was"),
        _ => format!("{count} {noun}s{of}{rest} were"),
    }
}

/// Lists the counts that are not 0: `1 duplicate, 2 malformed rows`. Each count has its singular
/// and plural. `None` if all are 0.
pub(crate) fn counted(counts: &[(u64, [&str; 2])]) -> Option<String> {
    let named: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(number, noun)| count(*number, *noun))
        .collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// Lines of names and values, with the values aligned. Each value is one line without characters on
/// which a terminal would act.
pub(crate) fn facts(lines: &[(&str, String)]) -> String {
    let width = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    lines
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {}\n", visible(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_same_text_without_what_a_terminal_acts_on() {
        let text = "a\u{9b}31m\u{202e}\u{1b}\n\"é";
        let json = escaped_json(serde_json::to_string_pretty(&[text]).unwrap());
        assert!(json.is_ascii() || json.contains('é'), "{json}");
        assert!(!json.contains(['\u{9b}', '\u{202e}', '\u{1b}']), "{json}");
        let read: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(read, [text]);
    }

    #[test]
    fn nouns_and_verbs_agree_with_the_count() {
        assert_eq!(were(1, "malformed row"), "1 malformed row was");
        assert_eq!(were(2, "point of NaN"), "2 points of NaN were");
    }

    #[test]
    fn counts_of_zero_are_omitted() {
        let duplicates = |count| counted(&[(count, ["duplicate", "duplicates"]), (0, ["NaN"; 2])]);
        assert_eq!(duplicates(0), None);
        assert_eq!(duplicates(1).as_deref(), Some("1 duplicate"));
        assert_eq!(duplicates(2).as_deref(), Some("2 duplicates"));
    }

    #[test]
    fn values_are_aligned() {
        let text = facts(&[("a", "1".into()), ("long", "2".into())]);
        assert_eq!(text, "a     1\nlong  2\n");
    }
}
