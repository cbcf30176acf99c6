//! Splits a file into code, comments, documentation and strings, and these into words.

/// What a part of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    Comment,
    Documentation,
    String,
    Prose,
}

/// A part of a file: consecutive lines of a comment, a string, or the code between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// Line of its first character, from 1.
    pub(super) line: usize,
    /// Without the delimiters; it has as many line breaks as the part in the file.
    pub(super) text: String,
}

/// A word of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) line: usize,
    /// Only white space is between it and the word before.
    pub(super) follows: bool,
}

impl Part {
    /// The words: letters, digits, `_`, and apostrophes inside.
    pub(super) fn words(&self) -> Vec<Word<'_>> {
        let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let mut words = Vec::new();
        let (mut line, mut follows) = (self.line, false);
        let mut rest = self.text.as_str();
        while let Some(c) = rest.chars().next() {
            if inside(c) {
                let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
                let text = rest[..end].trim_matches('\'');
                words.push(Word {
                    text,
                    line,
                    follows,
                });
                follows = true;
                rest = &rest[end..];
            } else {
                line += usize::from(c == '\n');
                follows &= c.is_whitespace();
                rest = &rest[c.len_utf8()..];
            }
        }
        words
    }
}

/// `PascalCase` and `snake_case` names as lower-case words.
pub(super) fn subwords(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && before_lower) {
            words.push(String::new());
        }
        if c != '_'
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
        before_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A text that is not Rust, as one part.
pub(super) fn prose(text: &str) -> Vec<Part> {
    vec![Part {
        kind: Kind::Prose,
        line: 1,
        text: text.to_owned(),
    }]
}

/// The parts of a Rust source file.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut scanner = Scanner {
        rest: text,
        line: 1,
        parts: Vec::new(),
    };
    while !scanner.rest.is_empty() {
        scanner.step();
    }
    scanner.parts
}

struct Scanner<'t> {
    rest: &'t str,
    line: usize,
    parts: Vec<Part>,
}

impl<'t> Scanner<'t> {
    fn step(&mut self) {
        let rest = self.rest;
        if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let comment = &rest[..end];
            let (kind, mark) = match comment {
                c if c.starts_with("////") => (Kind::Comment, 4),
                c if c.starts_with("///") || c.starts_with("//!") => (Kind::Documentation, 3),
                _ => (Kind::Comment, 2),
            };
            self.comment(kind, &comment[mark..]);
            self.skip(end);
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
            self.push(Kind::Comment, &rest[2..end]);
            self.skip(end);
        } else if let Some(hashes) = self.raw_string() {
            let open = hashes + 2;
            let close = format!("\"{}", "#".repeat(hashes));
            let length = rest[open..].find(&close).unwrap_or(rest.len() - open);
            self.push(Kind::String, &rest[open..open + length]);
            self.skip((open + length + close.len()).min(rest.len()));
        } else if let Some(after) = rest.strip_prefix('"') {
            let length = end_of_string(after);
            let text = after[..length].replace("\\n", "  ").replace('\\', " ");
            self.push(Kind::String, &text);
            self.skip((length + 2).min(rest.len()));
        } else if let Some(length) = character(rest) {
            self.code(&rest[..length]);
            self.skip(length);
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            self.code(&rest[..length]);
            self.skip(length);
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count();
        self.rest = &self.rest[bytes..];
    }

    fn push(&mut self, kind: Kind, text: &str) {
        self.parts.push(Part {
            kind,
            line: self.line,
            text: text.to_owned(),
        });
    }

    fn code(&mut self, text: &'t str) {
        match self.parts.last_mut() {
            Some(part) if part.kind == Kind::Code => part.text += text,
            _ => self.push(Kind::Code, text),
        }
    }

    /// Adds a line to the comment above it, or begins a new one.
    fn comment(&mut self, kind: Kind, text: &str) {
        let blank = |part: &Part| part.kind == Kind::Code && part.text.trim().is_empty();
        if let [.., above, between] = &mut self.parts[..]
            && above.kind == kind
            && blank(between)
            && between.text.matches('\n').count() == 1
        {
            above.text += "\n";
            above.text += text;
            self.parts.pop();
        } else {
            self.push(kind, text);
        }
    }

    /// The number of `#` if a raw string begins here.
    fn raw_string(&self) -> Option<usize> {
        let inner = self.rest.strip_prefix('r')?;
        let in_name = |part: &Part| {
            let before = part.text.trim_end_matches(['b', 'c']);
            part.kind == Kind::Code && before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        if self.parts.last().is_some_and(in_name) {
            return None;
        }
        let hashes = inner.len() - inner.trim_start_matches('#').len();
        inner[hashes..].starts_with('"').then_some(hashes)
    }
}

/// Bytes up to the closing quote.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    text.len()
}

/// Bytes of the character literal at the start of `text`; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    if let Some(escape) = inner.strip_prefix('\\') {
        // The escaped character may itself be a quote.
        let first = escape.chars().next()?.len_utf8();
        return Some(escape[first..].find('\'')? + first + 3);
    }
    let length = inner.chars().next()?.len_utf8();
    inner[length..].starts_with('\'').then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, usize, String)> {
        parts(text)
            .into_iter()
            .map(|part| (part.kind, part.line, part.text.trim().to_owned()))
            .filter(|(_, _, text)| !text.is_empty())
            .collect()
    }

    #[test]
    fn a_source_is_split_into_parts_with_their_lines() {
        let text = "//! One\n//! two.\nfn a() {\n    // three\n    f(\"four\\\"\", r#\"fi\"ve\"#, 'x', '\\'');\n}\n";
        let expected = [
            (Kind::Documentation, 1, "One\n two."),
            (Kind::Code, 2, "fn a() {"),
            (Kind::Comment, 4, "three"),
            (Kind::Code, 4, "f("),
            (Kind::String, 5, "four \""),
            (Kind::Code, 5, ","),
            (Kind::String, 5, "fi\"ve"),
            (Kind::Code, 5, ", 'x', '\\'');\n}"),
        ];
        let expected = expected.map(|(kind, line, text)| (kind, line, text.to_owned()));
        assert_eq!(kinds(text), expected);
    }

    #[test]
    fn lifetimes_do_not_begin_characters() {
        assert_eq!(character("'a, 'b"), None);
        assert_eq!(character("'\"'"), Some(3));
        assert_eq!(character("'\\n' "), Some(4));
        let found = kinds("struct S<'a>(&'a str); // \"it\"");
        assert_eq!(found[1], (Kind::Comment, 1, "\"it\"".to_owned()));
    }

    #[test]
    fn words_know_their_line_and_whether_they_follow() {
        let part = &prose("the driver's\ntext: more")[0];
        let words = part.words();
        let found: Vec<_> = words.iter().map(|w| (w.text, w.line, w.follows)).collect();
        let expected = [
            ("the", 1, false),
            ("driver's", 1, true),
            ("text", 2, true),
            ("more", 2, false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(subwords("BookedFleet"), ["booked", "fleet"]);
        assert_eq!(subwords("gpu_fleet_2"), ["gpu", "fleet", "2"]);
        assert_eq!(subwords("FIGURES"), ["figures"]);
    }
}
