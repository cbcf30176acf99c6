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

#[cfg(test)]
mod tests {
    use super::*;

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
