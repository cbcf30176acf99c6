//! Selection of one of several images in a file.

use super::acquisition::Counters;
use crate::io::IoError;
use std::fmt;

/// A counter that distinguishes images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Slice.
    Slice,
    /// Contrast (echo).
    Contrast,
    /// Cardiac or respiratory phase.
    Phase,
    /// Repetition.
    Repetition,
    /// Set (for example of flow encoding).
    Set,
}

/// The selected values of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A single value.
    One(u16),
    /// All values, joined to one image: for [`Counter::Repetition`] only, which counts measurements
    /// of the same image.
    All,
}

/// Choices by counter; a counter without a choice is read at its lowest value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection(Vec<(Counter, Choice)>);

/// A text that is not a selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// Another syntax, an unknown counter, or one that is named twice.
    #[error(
        "{0}: expected COUNTER=NUMBER or repetition=all, separated by commas; the counters are slice, contrast, phase, repetition, set"
    )]
    Syntax(String),
    /// Several images would be joined to one.
    #[error(
        "{0}=all: expected {0}=NUMBER, because each {0} is an image of its own: run the command once for each number"
    )]
    SeveralImages(Counter),
}

impl Counter {
    /// All counters.
    pub const ALL: [Self; 5] = [
        Self::Slice,
        Self::Contrast,
        Self::Phase,
        Self::Repetition,
        Self::Set,
    ];

    /// The name on the command line.
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
    /// Parses a selection, for example `slice=2,repetition=all`.
    ///
    /// # Errors
    /// Another syntax, an unknown counter, a counter named twice, or `all` of a counter other than
    /// repetition: slices, contrasts, phases and sets differ in what they show, so that samples of
    /// several make no image.
    pub fn parse(text: &str) -> Result<Self, SelectionError> {
        let wrong = || SelectionError::Syntax(text.to_owned());
        let mut choices: Vec<(Counter, Choice)> = Vec::new();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let counter = Counter::ALL
                .into_iter()
                .find(|c| c.name() == name.trim())
                .ok_or_else(wrong)?;
            let choice = match value.trim() {
                "all" if counter == Counter::Repetition => Choice::All,
                "all" => return Err(SelectionError::SeveralImages(counter)),
                number => Choice::One(number.parse().map_err(|_| wrong())?),
            };
            if choices.iter().any(|(known, _)| *known == counter) {
                return Err(wrong());
            }
            choices.push((counter, choice));
        }
        Ok(Self(choices))
    }

    /// The choice for `counter`, if there is one.
    #[must_use]
    pub fn of(&self, counter: Counter) -> Option<Choice> {
        let chosen = self.0.iter().find(|(known, _)| *known == counter);
        chosen.map(|(_, choice)| *choice)
    }

    /// The value of `counter` to read in a file that has values from `low` to `high`, or `None` if the samples of all
    /// are joined; enters in `notes` what the user should know of it.
    pub(in crate::mri::io) fn value(
        &self,
        counter: Counter,
        [low, high]: [u16; 2],
        notes: &mut Vec<String>,
    ) -> Option<u16> {
        match self.of(counter) {
            Some(Choice::All) => {
                if low != high {
                    notes.push(format!(
                        "the samples of {counter} {low} to {high} are joined to one image"
                    ));
                }
                None
            }
            Some(Choice::One(value)) => Some(value),
            None => {
                if low != high {
                    let all = match counter {
                        Counter::Repetition => " or repetition=all",
                        _ => "",
                    };
                    notes.push(format!(
                        "there are several values of {counter}, {low} to {high}: {counter} {low} is used (to change this, use --select {counter}=NUMBER{all})"
                    ));
                }
                Some(low)
            }
        }
    }
}

/// The error for a value that `file` does not have.
pub(in crate::mri::io) fn absent(
    file: &str,
    counter: Counter,
    value: u16,
    [low, high]: [u16; 2],
) -> IoError {
    IoError::Value {
        file: file.to_owned(),
        dataset: "--select".to_owned(),
        found: format!("{counter}={value}"),
        expected: if low == high {
            format!("{counter}={low}")
        } else {
            format!("{counter}={low} to {counter}={high}")
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_parsed() {
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
        for counter in ["slice", "contrast", "phase", "set"] {
            let error = Selection::parse(&format!("{counter}=all")).unwrap_err();
            assert!(matches!(error, SelectionError::SeveralImages(_)));
        }
    }
}
