//! Errors of TOML texts: line, key, what was expected and what was found.

use std::fmt;

/// Longest part of a text that an error repeats, characters.
const LONGEST_FOUND: usize = 60;

/// Where a TOML text differs from what the program expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlError {
    /// Line, from 1, if it is known.
    pub line: Option<usize>,
    /// Path of the key, such as `probe.aperture`; empty for the text as a whole.
    pub key: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl TomlError {
    /// The error of a parser, which has read `text`; without a text, that of a table in memory.
    pub fn new(error: &toml::de::Error, text: Option<&str>) -> Self {
        let span = text.and(error.span());
        let key = key(error);
        // The line of a text without keys would be the first one.
        let line = text.zip(span.clone()).map(|(text, span)| {
            let before = &text.as_bytes()[..span.start.min(text.len())];
            before.iter().filter(|byte| **byte == b'\n').count() + 1
        });
        let written = text.zip(span).and_then(|(text, span)| text.get(span));
        let message = error.message();
        let quoted = |text: &str| text.split('`').nth(1).unwrap_or_default().to_owned();
        let (found, expected) = match message.split_once(", expected ") {
            Some((found, expected)) => (found, Some(plain(expected))),
            None => (message, None),
        };
        let of_a_value = |found: &str| shorten(written.unwrap_or(found));
        let invalid_length = found.strip_prefix("invalid length ");
        if let Some(what) = found
            .strip_prefix("invalid type: ")
            .or_else(|| found.strip_prefix("invalid value: "))
            .or(invalid_length)
        {
            let expected = expected.unwrap_or_else(|| "another value".to_owned());
            return Self {
                line,
                key,
                expected,
                found: of_a_value(&match invalid_length {
                    Some(length) => format!("{length} values"),
                    None => value(what),
                }),
            };
        }
        if found.starts_with("unknown variant ") {
            return Self {
                line,
                key,
                expected: expected.unwrap_or_else(|| "no value".to_owned()),
                found: of_a_value(&quoted(found)),
            };
        }
        if found.starts_with("unknown field ") {
            let expected = match expected {
                Some(one) if !one.contains(", ") && !one.contains(" or ") => {
                    format!("the key {one}")
                }
                Some(several) => format!("one of the keys {several}"),
                None => "no keys".to_owned(),
            };
            return Self {
                line,
                key,
                expected,
                found: quoted(found),
            };
        }
        if found.starts_with("missing field ") {
            return Self {
                line: line.filter(|_| !key.is_empty()),
                key,
                expected: format!("the key {}", quoted(found)),
                found: "none".to_owned(),
            };
        }
        if message.starts_with("wanted ") {
            return Self {
                line,
                key,
                expected: "a text in quotes".to_owned(),
                found: of_a_value("another value"),
            };
        }
        // The text of an `expecting` attribute.
        if let Some(expected) = message.strip_prefix("expected ") {
            return Self {
                line,
                key,
                expected: expected.to_owned(),
                found: of_a_value("another value"),
            };
        }
        let of_line = line.and_then(|line| text?.lines().nth(line - 1));
        let reason = shorten(message);
        Self {
            line,
            key,
            expected: "valid TOML".to_owned(),
            found: match of_line.map(shorten) {
                Some(found) if !found.is_empty() => format!("{found} ({reason})"),
                _ => reason,
            },
        }
    }
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

/// The path of the key, which the parser shows only in errors without a text.
fn key(error: &toml::de::Error) -> String {
    let mut alone = error.clone();
    alone.set_input(None);
    let shown = alone.to_string();
    let last = shown.trim_end().lines().last().unwrap_or_default();
    let path = last
        .strip_prefix("in `")
        .and_then(|rest| rest.strip_suffix('`'));
    path.unwrap_or_default().to_owned()
}

/// What serde expects, in words that do not name types of Rust.
fn plain(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "string or table" => "a text in quotes".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "a table".to_owned(),
        "fewer elements in array" => "an array with fewer values".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => match other.strip_prefix("an array of length ") {
            Some(length) => format!("an array of {length} values"),
            None => names(other),
        },
    }
}

/// A value as serde describes it, as the user would write it.
fn value(found: &str) -> String {
    let quoted = found.split('`').nth(1);
    match quoted.or_else(|| found.strip_prefix("string ")) {
        Some(written) => written.to_owned(),
        None if found == "sequence" => "an array".to_owned(),
        None if found == "map" => "a table".to_owned(),
        None => found.to_owned(),
    }
}

/// ``one of `a`, `b`, `c` `` as `a, b or c`.
fn names(expected: &str) -> String {
    let listed = expected.strip_prefix("one of ").unwrap_or(expected);
    let listed = listed.replace('`', "");
    match listed.rsplit_once(", ") {
        Some((first, last)) if expected.starts_with("one of ") => format!("{first} or {last}"),
        _ => listed,
    }
}

/// The text on one line, cut off if it is long.
fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_FOUND) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are tested")]
    struct Document {
        count: u64,
        kind: Kind,
        part: Part,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Round,
        Square,
        Flat,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Part {
        width: f64,
        ends: [f64; 2],
        on: bool,
        label: Label,
    }

    impl Default for Part {
        fn default() -> Self {
            Self {
                width: 1.0,
                ends: [0.0, 1.0],
                on: true,
                label: Label::Number(0.0),
            }
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged, expecting = "expected a name or a number")]
    #[expect(dead_code, reason = "only errors are tested")]
    enum Label {
        Name(String),
        Number(f64),
    }

    const GOOD: &str = "count = 3\nkind = \"round\"\n\n[part]\nwidth = 2.5\n";

    #[test]
    fn errors_have_line_key_expected_and_found() {
        toml::from_str::<Document>(GOOD).unwrap();
        for (from, to, text) in [
            (
                "count = 3",
                "count = \"three\"",
                "line 1: count: expected a whole number, 0 or more, found \"three\"",
            ),
            (
                "count = 3",
                "count = -3",
                "line 1: count: expected a whole number, 0 or more, found -3",
            ),
            (
                "count = 3",
                "count = 3.5",
                "line 1: count: expected a whole number, 0 or more, found 3.5",
            ),
            ("count = 3\n", "", "expected the key count, found none"),
            (
                "\"round\"",
                "\"oval\"",
                "line 2: kind: expected round, square or flat, found \"oval\"",
            ),
            (
                "\"round\"",
                "7",
                "line 2: kind: expected a text in quotes, found 7",
            ),
            (
                "width",
                "wide",
                "line 5: part: expected one of the keys width, ends, on or label, found wide",
            ),
            (
                "width = 2.5",
                "width = true",
                "line 5: part.width: expected a number, found true",
            ),
            (
                "width = 2.5",
                "ends = [1]",
                "line 5: part.ends: expected an array of 2 values, found [1]",
            ),
            (
                "width = 2.5",
                "on = 1",
                "line 5: part.on: expected true or false, found 1",
            ),
            (
                "width = 2.5",
                "label = [1]",
                "line 5: part.label: expected a name or a number, found [1]",
            ),
            (
                "[part]\nwidth = 2.5",
                "part = 2",
                "line 4: part: expected a table, found 2",
            ),
            (
                "width = 2.5",
                "width = wide",
                "line 5: expected valid TOML, found width = wide (",
            ),
            (
                "width = 2.5",
                "width = 2\nwidth = 3",
                "line 6: expected valid TOML, found width = 3 (duplicate key",
            ),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let wrong = GOOD.replacen(from, to, 1);
            let error = toml::from_str::<Document>(&wrong).unwrap_err();
            let shown = TomlError::new(&error, Some(&wrong)).to_string();
            assert!(shown.starts_with(text), "{to}: {shown}");
            assert!(
                !shown.contains('\n') && !shown.contains('`'),
                "{to}: {shown}"
            );
        }
    }

    #[test]
    fn a_table_in_memory_has_keys_and_no_lines() {
        let mut table: toml::Table = GOOD.parse().unwrap();
        table.insert("count".to_owned(), toml::Value::Boolean(true));
        let error = table.try_into::<Document>().unwrap_err();
        assert_eq!(
            TomlError::new(&error, None).to_string(),
            "count: expected a whole number, 0 or more, found true"
        );
    }
}
