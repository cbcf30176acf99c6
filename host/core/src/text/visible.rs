//! Names and texts of files, as they may be printed on a terminal.

use std::borrow::Cow;

/// Whether a terminal does not show `c` but acts on it: control characters, line and paragraph
/// separators, and the marks that reorder text (Unicode Standard Annex 9, section 2).
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` on one line, with such characters written as in `\u{1b}`; line breaks and tabs become
/// spaces.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => line.push(' '),
            c if is_invisible(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    Cow::Owned(line)
}

/// `text`, or as much of its beginning and end, around `…`, as `most` characters have. `most` is at
/// least 3.
#[must_use]
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // No character has less than a byte.
    if text.len() <= most || text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let end = (most - 1) / 2;
    let begins: String = text.chars().take(most - 1 - end).collect();
    let mut ends: Vec<char> = text.chars().rev().take(end).collect();
    ends.reverse();
    Cow::Owned(begins + "…" + &ends.into_iter().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_their_ends() {
        assert_eq!(shortened("日本語", 3), "日本語");
        assert_eq!(shortened("abcdefgh", 5), "ab…gh");
        assert_eq!(shortened("abcdefgh", 6), "abc…gh");
        assert_eq!(shortened(&"é".repeat(1000), 11).chars().count(), 11);
    }

    #[test]
    fn what_a_terminal_would_act_on_is_escaped() {
        assert_eq!(visible("scan é 日本.h5"), "scan é 日本.h5");
        assert_eq!(visible("a\nb\tc"), "a b c");
        assert_eq!(
            visible("\u{1b}[31mred\u{9b}0m\u{7f}"),
            "\\u{1b}[31mred\\u{9b}0m\\u{7f}"
        );
        assert_eq!(visible("gpj\u{202e}5h"), "gpj\\u{202e}5h");
        assert_eq!(
            visible("\u{2066}a\u{2069}\u{200f}"),
            "\\u{2066}a\\u{2069}\\u{200f}"
        );
    }
}
