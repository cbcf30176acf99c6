//! Which of several images a file is read for.

use super::acquisition::Counters;
use std::fmt;

/// A counter that parts images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Slice.
    Slice,
    /// Contrast (echo).
    Contrast,
    /// Phase of the heart or of breathing.
    Phase,
    /// Repetition.
    Repetition,
    /// Set (of an encoding, for example of flow).
    Set,
}

/// Which values of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// One.
    One(u16),
    /// All of them, as if they were one image.
    All,
}

/// Choices; a counter that is not named is read at its lowest value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection(Vec<(Counter, Choice)>);

/// A text that is no selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is no selection: COUNTER=NUMBER or COUNTER=all is expected, with commas between; the counters are slice, contrast, phase, repetition, set"
)]
pub struct SelectionError {
    found: String,
}

impl Counter {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Slice,
        Self::Contrast,
        Self::Phase,
        Self::Repetition,
        Self::Set,
    ];

    /// As typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slice => "slice",
            Self::Contrast => "contrast",
            Self::Phase => "phase",
            Self::Repetition => "repetition",
            Self::Set => "set",
        }
    }

    pub(super) fn of(self, counters: &Counters) -> u16 {
        match self {
            Self::Slice => counters.slice,
            Self::Contrast => counters.contrast,
            Self::Phase => counters.phase,
            Self::Repetition => counters.repetition,
            Self::Set => counters.set,
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Selection {
    /// `slice=2,repetition=all`.
    ///
    /// # Errors
    /// Another form, a counter named twice or not known.
    pub fn parse(text: &str) -> Result<Self, SelectionError> {
        let wrong = || SelectionError {
            found: text.to_owned(),
        };
        let mut choices: Vec<(Counter, Choice)> = Vec::new();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let counter = Counter::ALL
                .into_iter()
                .find(|c| c.name() == name.trim())
                .ok_or_else(wrong)?;
            let choice = match value.trim() {
                "all" => Choice::All,
                number => Choice::One(number.parse().map_err(|_| wrong())?),
            };
            if choices.iter().any(|(known, _)| *known == counter) {
                return Err(wrong());
            }
            choices.push((counter, choice));
        }
        Ok(Self(choices))
    }

    /// What was chosen for `counter`, if anything.
    #[must_use]
    pub fn of(&self, counter: Counter) -> Option<Choice> {
        let chosen = self.0.iter().find(|(known, _)| *known == counter);
        chosen.map(|(_, choice)| *choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_read_as_they_are_typed() {
        let read = Selection::parse("slice=2, repetition=all").unwrap();
        assert_eq!(read.of(Counter::Slice), Some(Choice::One(2)));
        assert_eq!(read.of(Counter::Repetition), Some(Choice::All));
        assert_eq!(read.of(Counter::Phase), None);
        for wrong in [
            "",
            "slice",
            "slice=",
            "slice=-1",
            "slice=1,slice=2",
            "row=1",
            "slice=70000",
        ] {
            let text = Selection::parse(wrong).unwrap_err().to_string();
            assert!(text.contains("repetition"), "{wrong}: {text}");
        }
    }
}
