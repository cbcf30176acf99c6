//! Integers that double precision rounds.

/// Integers up to this size are doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Number of integers that were rounded, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rounded {
    count: u64,
    first: Option<String>,
}

impl Rounded {
    /// An integer in double precision.
    #[inline]
    pub fn integer(&mut self, number: i128) -> f64 {
        let value = number as f64;
        if value.abs() >= EXACT {
            self.check(number, value);
        }
        value
    }

    /// Looks at a text that was read as `value`.
    #[inline]
    pub(super) fn text(&mut self, text: &[u8], value: f64) {
        if value.abs() >= EXACT {
            self.check_text(text, value);
        }
    }

    #[cold]
    fn check(&mut self, number: i128, value: f64) {
        if value as i128 != number {
            self.count(|| number.to_string());
        }
    }

    #[cold]
    fn check_text(&mut self, text: &[u8], value: f64) {
        let Ok(text) = std::str::from_utf8(text) else {
            return;
        };
        let whole = match text.trim().split_once('.') {
            Some((whole, decimals)) if decimals.bytes().all(|b| b == b'0') => whole,
            Some(_) => return,
            None => text.trim(),
        };
        let unsigned = whole.trim_start_matches(['-', '+']);
        if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
            return;
        }
        match whole.parse::<i128>() {
            Ok(number) => self.check(number, value),
            Err(_) => self.count(|| whole.to_owned()),
        }
    }

    fn count(&mut self, text: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(text);
    }

    /// Adds those of a later part.
    pub fn add(&mut self, later: &Self) {
        self.count += later.count;
        if self.first.is_none() {
            self.first.clone_from(&later.first);
        }
    }

    /// A sentence on them, if there are any.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let first = self.first.as_deref()?;
        let first = super::shorten(first);
        Some(match self.count {
            1 => format!("1 integer beyond 2^53 was rounded to double precision: {first}"),
            count => format!(
                "{count} integers beyond 2^53 were rounded to double precision; the first: {first}"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inexact_integers_are_counted() {
        let mut rounded = Rounded::default();
        for exact in [0, 1 << 53, -(1 << 53), 1 << 60, (1 << 53) + 2] {
            rounded.integer(exact);
            let text = format!("{exact}.0");
            rounded.text(text.as_bytes(), exact as f64);
        }
        for text in ["1e300", "inf", "-inf", "nan", "9007199254740993.5"] {
            rounded.text(text.as_bytes(), text.parse().unwrap());
        }
        assert_eq!(rounded.note(), None);
        assert_eq!(rounded.integer((1 << 53) + 1), 9_007_199_254_740_992.0);
        assert!(
            rounded
                .note()
                .unwrap()
                .starts_with("1 integer beyond 2^53 was")
        );
        let mut later = Rounded::default();
        let digits = "123456789012345678901234567890123456789012";
        for text in ["-9007199254740993", "9007199254740993.00", digits] {
            later.text(text.as_bytes(), text.parse().unwrap());
        }
        rounded.add(&later);
        let note = rounded.note().unwrap();
        assert!(
            note.starts_with("4 integers") && note.ends_with("9007199254740993"),
            "{note}"
        );
    }
}
