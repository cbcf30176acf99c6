//! Names of series as in Prometheus' text exposition format: `up{host="a",job="node"}`.
//!
//! A metric and its labels are one series in whatever order the labels stand; a label with an empty
//! value is the same as no label. The name of a series has its labels in the order of their names.
//! Names with other characters than letters, digits, underscores and colons are in quotes, that of
//! the metric within the braces (Prometheus, "Exposition formats" and its guide to UTF-8 names).

/// A series in a text.
#[derive(Debug, Default)]
pub(super) struct SeriesText {
    metric: Vec<u8>,
    /// (label, value).
    labels: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What was expected where a text is not that of a series.
pub(super) type Expected = &'static str;

/// The metric and the labels, if this is the name of a series with labels or in quotes.
pub(super) fn parts(name: &str) -> Option<(String, Vec<(String, String)>)> {
    if !name.ends_with('}') {
        return None;
    }
    let mut series = SeriesText::default();
    let rest = series.read(name.as_bytes()).ok()?;
    if !rest.is_empty() {
        return None;
    }
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    let labels = series.labels.into_iter();
    let labels = labels.map(|(label, value)| Some((text(label)?, text(value)?)));
    Some((text(series.metric)?, labels.collect::<Option<_>>()?))
}

impl SeriesText {
    /// The series of a metric with labels, each with another name.
    pub(super) fn new(metric: Vec<u8>, mut labels: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        labels.retain(|(_, value)| !value.is_empty());
        labels.sort();
        Self { metric, labels }
    }

    /// Reads a series at the start of `line`. Returns what follows it.
    pub(super) fn read<'l>(&mut self, line: &'l [u8]) -> Result<&'l [u8], Expected> {
        self.labels.clear();
        self.metric.clear();
        let (metric, rest) = word(line, true);
        self.metric.extend_from_slice(metric);
        let mut rest = skip_blanks(rest);
        if let [b'{', inner @ ..] = rest {
            rest = self.read_labels(inner)?;
        }
        if self.metric.is_empty() {
            return Err("the name of a metric");
        }
        self.labels.retain(|(_, value)| !value.is_empty());
        self.labels.sort();
        match self.labels.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            true => Err("each label once"),
            false => Ok(rest),
        }
    }

    /// Reads labels up to the closing brace. Returns what follows it.
    fn read_labels<'l>(&mut self, inner: &'l [u8]) -> Result<&'l [u8], Expected> {
        let mut rest = skip_blanks(inner);
        loop {
            let label = match rest {
                [b'}', after @ ..] => return Ok(after),
                [b'"', text @ ..] => {
                    let (label, after) = quoted(text)?;
                    rest = skip_blanks(after);
                    // Without a value, it is the metric's name.
                    if !rest.starts_with(b"=") && self.metric.is_empty() && !label.is_empty() {
                        self.metric = label;
                        None
                    } else {
                        Some(label)
                    }
                }
                _ => {
                    let (label, after) = word(rest, false);
                    rest = skip_blanks(after);
                    Some(label.to_vec())
                }
            };
            if let Some(label) = label {
                if label.is_empty() {
                    return Err("the name of a label, or a closing brace");
                }
                let [b'=', text @ ..] = rest else {
                    return Err("an equals sign after the name of a label");
                };
                let [b'"', text @ ..] = skip_blanks(text) else {
                    return Err("the value of a label in double quotes");
                };
                let (value, after) = quoted(text)?;
                self.labels.push((label, value));
                rest = skip_blanks(after);
            }
            rest = match rest {
                [b',', after @ ..] => skip_blanks(after),
                [b'}', ..] => rest,
                _ => return Err("a comma or a closing brace after a label"),
            };
        }
    }

    /// Replaces `name` by the name of the series.
    pub(super) fn write_name(&self, name: &mut Vec<u8>) {
        name.clear();
        let plain = word(&self.metric, true).0.len() == self.metric.len();
        if plain {
            name.extend_from_slice(&self.metric);
            if self.labels.is_empty() {
                return;
            }
        }
        name.push(b'{');
        let mut first = true;
        if !plain {
            write_quoted(&self.metric, name);
            first = false;
        }
        for (label, value) in &self.labels {
            if !std::mem::take(&mut first) {
                name.push(b',');
            }
            match word(label, false).0.len() == label.len() {
                true => name.extend_from_slice(label),
                false => write_quoted(label, name),
            }
            name.push(b'=');
            write_quoted(value, name);
        }
        name.push(b'}');
    }
}

/// The letters, digits and underscores at the start of a text, and of a metric colons, and the
/// rest; nothing if it begins with a digit.
fn word(text: &[u8], colons: bool) -> (&[u8], &[u8]) {
    let of_word =
        |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || (colons && *byte == b':');
    let length = match text.first() {
        Some(first) if !first.is_ascii_digit() => text.iter().take_while(|b| of_word(b)).count(),
        _ => 0,
    };
    text.split_at(length)
}

pub(super) fn skip_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|b| matches!(b, b' ' | b'\t'));
    &text[blanks.count()..]
}

/// A text up to its closing quote, and the rest.
fn quoted(text: &[u8]) -> Result<(Vec<u8>, &[u8]), Expected> {
    let mut value = Vec::new();
    let mut rest = text;
    loop {
        match rest {
            [b'"', after @ ..] => return Ok((value, after)),
            [b'\\', escaped, after @ ..] => {
                value.push(match escaped {
                    b'n' => b'\n',
                    b'\\' | b'"' => *escaped,
                    _ => return Err("\\\\, \\\" or \\n after a backslash in quotes"),
                });
                rest = after;
            }
            [b'\\'] | [] => return Err("a closing quote"),
            [byte, after @ ..] => {
                value.push(*byte);
                rest = after;
            }
        }
    }
}

fn write_quoted(text: &[u8], to: &mut Vec<u8>) {
    to.push(b'"');
    for byte in text {
        match byte {
            b'\n' => to.extend_from_slice(b"\\n"),
            b'"' | b'\\' => to.extend_from_slice(&[b'\\', *byte]),
            _ => to.push(*byte),
        }
    }
    to.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The name of the series, and what follows it.
    fn name(line: &str) -> Result<(String, &str), Expected> {
        let mut series = SeriesText::default();
        let rest = series.read(line.as_bytes())?;
        let mut name = Vec::new();
        series.write_name(&mut name);
        let rest = std::str::from_utf8(rest).unwrap();
        Ok((String::from_utf8(name).unwrap(), rest))
    }

    #[test]
    fn series_are_read_in_any_spelling() {
        for (line, expected, rest) in [
            ("up 1", "up", "1"),
            ("a:b_c{} 1", "a:b_c", " 1"),
            ("up{host=\"a\"}1", "up{host=\"a\"}", "1"),
            (
                "up { b = \"x, y\" , a=\"}\", } 1",
                "up{a=\"}\",b=\"x, y\"}",
                " 1",
            ),
            (
                "up{a=\"\",b=\"\\\\\\\"\\n\"} 1",
                "up{b=\"\\\\\\\"\\n\"}",
                " 1",
            ),
            (
                "{\"my.metric\",\"a b\"=\"c\"} 1",
                "{\"my.metric\",\"a b\"=\"c\"}",
                " 1",
            ),
            ("{\"up\"} 1", "up", " 1"),
            ("Größe 1", "Gr", "öße 1"),
        ] {
            assert_eq!(name(line), Ok((expected.to_owned(), rest)), "{line}");
        }
    }

    #[test]
    fn malformed_series_are_refused() {
        for (line, expected) in [
            ("", "metric"),
            ("1up 1", "metric"),
            ("{a=\"b\"} 1", "metric"),
            ("{\"\"} 1", "label"),
            ("up{a} 1", "equals"),
            ("up{a=b} 1", "quotes"),
            ("up{a=\"b} 1", "closing quote"),
            ("up{a=\"b\\", "closing quote"),
            ("up{a=\"\\t\"} 1", "backslash"),
            ("up{a=\"b\" c=\"d\"} 1", "comma"),
            ("up{,} 1", "label"),
            ("up{a=\"b\",a=\"c\"} 1", "each label once"),
            ("up{a=\"b\"", "comma"),
        ] {
            let found = name(line).unwrap_err();
            assert!(found.contains(expected), "{line}: {found}");
        }
    }

    proptest! {
        #[test]
        fn names_are_read_back(metric in "[a-z.\"\\\\{]{1,6}", labels in proptest::collection::btree_map("[a-z,\"\n]{1,4}", "[^\u{0}]{1,6}", 0..4)) {
            let series = SeriesText {
                metric: metric.clone().into_bytes(),
                labels: labels.iter().map(|(l, v)| (l.clone().into_bytes(), v.clone().into_bytes())).collect(),
            };
            let mut text = Vec::new();
            series.write_name(&mut text);
            let text = String::from_utf8(text).unwrap();
            prop_assert_eq!(name(&text), Ok((text.clone(), "")));
            if let Some((found, of)) = parts(&text) {
                prop_assert_eq!(found, metric);
                prop_assert_eq!(of, labels.into_iter().collect::<Vec<_>>());
            } else {
                prop_assert!(labels.is_empty());
            }
        }
    }
}
