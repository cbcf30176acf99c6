//! Words of a command that a user may paste into a shell.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that no POSIX shell treats specially, besides letters and digits.
const PLAIN: &str = "_@%+=:,./-";

/// Quotes `word` for a POSIX shell, which then reads it as one argument, whatever it contains.
/// Words without special characters stay as they are.
///
/// Control characters are written as in `$'\012'` (POSIX.1-2024, 2.2.4), so that the command stays
/// on one line and shows what it contains.
#[must_use]
pub fn shell_quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    if !word.contains(super::is_invisible) {
        return Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")));
    }
    let mut quoted = String::from("$'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            _ if super::is_invisible(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a text cannot fail.
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('\'');
    Cow::Owned(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_if_a_shell_would_change_them() {
        for (word, quoted) in [
            ("radius=0.1:schulz:35", "radius=0.1:schulz:35"),
            ("-o", "-o"),
            ("", "''"),
            ("a b", "'a b'"),
            ("x;touch pwned;.txt", "'x;touch pwned;.txt'"),
            ("it's", "'it'\\''s'"),
            ("~/a", "'~/a'"),
            ("é", "'é'"),
            ("a\nb", "$'a\\012b'"),
            ("\u{202e}'\\", "$'\\342\\200\\256\\'\\\\'"),
        ] {
            assert_eq!(shell_quoted(word), quoted, "{word:?}");
        }
    }

    /// A shell that knows `$'…'` reads the word back.
    #[cfg(unix)]
    #[test]
    fn a_shell_reads_the_same_words() {
        let words = [
            "x;touch pwned;.txt",
            "$(id)",
            "`id`",
            "a'b\"c",
            "*?[a]",
            "!x",
            "\\",
            "#",
            "&|<>",
            "a\tb\n c",
            "\u{1b}[31m",
            "\u{202e}é",
        ];
        for word in words {
            let command = format!("printf %s {}", shell_quoted(word));
            let shell = std::process::Command::new("bash")
                .args(["-c", &command])
                .output();
            // Other shells may lack `$'…'`.
            let Ok(output) = shell else { return };
            assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{command}");
        }
    }
}
