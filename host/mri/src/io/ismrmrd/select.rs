//! Selection of one of several images in a file.

use super::acquisition::Counters;
use crate::data::ImageIndex;
use std::fmt;
use warpstride_files::IoError;

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
    /// All values, each an image of its own.
    All,
    /// All values, whose samples are joined to one image: for [`Counter::Repetition`] only, which
    /// counts measurements of the same image.
    Combined,
}

/// Choices by counter; a counter without a choice is read at its lowest value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    choices: Vec<(Counter, Choice)>,
    /// Each value of the other counters is an image of its own.
    all: bool,
}

/// A text that is not a selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// Another syntax, an unknown counter, or one that is named twice.
    #[error(
        "{0}: expected COUNTER=NUMBER, COUNTER=all or all, separated by commas; the counters are slice, contrast, phase, repetition, set"
    )]
    Syntax(String),
    /// What would be joined is not measurements of the same image.
    #[error(
        "{0}: expected repetition, because only repetitions measure the same image (--select COUNTER=all makes an image of each)"
    )]
    Combined(String),
    /// A counter is both selected and combined.
    #[error("{0}: expected a counter that is not selected, found --select {0}=…")]
    Twice(Counter),
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

    /// Its value in `index`.
    #[must_use]
    pub fn of_index(self, index: &ImageIndex) -> u16 {
        match self {
            Self::Slice => index.slice,
            Self::Contrast => index.contrast,
            Self::Phase => index.phase,
            Self::Repetition => index.repetition,
            Self::Set => index.set,
        }
    }

    /// Sets its value in `index`.
    pub fn set(self, index: &mut ImageIndex, value: u16) {
        match self {
            Self::Slice => index.slice = value,
            Self::Contrast => index.contrast = value,
            Self::Phase => index.phase = value,
            Self::Repetition => index.repetition = value,
            Self::Set => index.set = value,
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Selection {
    /// Parses a selection, for example `slice=all,repetition=2`, or `all` for an image of each
    /// value of every counter that is not named.
    ///
    /// # Errors
    /// Another syntax, an unknown counter, or a counter named twice.
    pub fn parse(text: &str) -> Result<Self, SelectionError> {
        let wrong = || SelectionError::Syntax(text.to_owned());
        let mut read = Self::default();
        for part in text.split(',').map(str::trim) {
            if part == "all" && !read.all {
                read.all = true;
                continue;
            }
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let counter = Counter::ALL
                .into_iter()
                .find(|c| c.name() == name.trim())
                .ok_or_else(wrong)?;
            let choice = match value.trim() {
                "all" => Choice::All,
                number => Choice::One(number.parse().map_err(|_| wrong())?),
            };
            if read.choices.iter().any(|(known, _)| *known == counter) {
                return Err(wrong());
            }
            read.choices.push((counter, choice));
        }
        Ok(read)
    }

    /// The same with the samples of all values of a counter joined to one image; `text` is
    /// `repetition`.
    ///
    /// # Errors
    /// Another counter, because slices, contrasts, phases and sets differ in what they show, or one
    /// that is selected.
    pub fn combine(mut self, text: &str) -> Result<Self, SelectionError> {
        let counter = Counter::Repetition;
        if text != counter.name() {
            return Err(SelectionError::Combined(text.to_owned()));
        }
        if self.choices.iter().any(|(known, _)| *known == counter) {
            return Err(SelectionError::Twice(counter));
        }
        self.choices.push((counter, Choice::Combined));
        Ok(self)
    }

    /// The choice for `counter`, if there is one.
    #[must_use]
    pub fn of(&self, counter: Counter) -> Option<Choice> {
        let chosen = self.choices.iter().find(|(known, _)| *known == counter);
        let rest = self.all.then_some(Choice::All);
        chosen.map(|(_, choice)| *choice).or(rest)
    }

    /// Whether several images may be selected.
    #[must_use]
    pub fn selects_several(&self) -> bool {
        let is_all = |counter| self.of(counter) == Some(Choice::All);
        Counter::ALL.into_iter().any(is_all)
    }

    /// The value of `counter` to read in a file that has values from `low` to `high`, or `None` if
    /// the samples of all are joined; enters in `notes` what the user should know of it. Of a
    /// counter each of whose values is an image of its own, that of `image`, or the lowest.
    pub(in crate::io) fn value(
        &self,
        counter: Counter,
        [low, high]: [u16; 2],
        image: Option<ImageIndex>,
        notes: &mut Vec<String>,
    ) -> Option<u16> {
        match self.of(counter) {
            Some(Choice::Combined) => {
                if low != high {
                    notes.push(format!(
                        "the samples of {counter} {low} to {high} are joined to one image"
                    ));
                }
                None
            }
            Some(Choice::One(value)) => Some(value),
            Some(Choice::All) => Some(image.map_or(low, |index| counter.of_index(&index))),
            None => {
                if low != high {
                    let combine = match counter {
                        Counter::Repetition => ", or --combine repetition for one image of all",
                        _ => "",
                    };
                    notes.push(format!(
                        "there are several values of {counter}, {low} to {high}: {counter} {low} is used (to change this, use --select {counter}=NUMBER, --select {counter}=all for an image of each{combine})"
                    ));
                }
                Some(low)
            }
        }
    }
}

/// The error for a value that `file` does not have.
pub(in crate::io) fn absent(
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
        assert!(read.selects_several());
        let read = Selection::parse("all,slice=2").unwrap();
        let read = read.combine("repetition").unwrap();
        assert_eq!(read.of(Counter::Slice), Some(Choice::One(2)));
        assert_eq!(read.of(Counter::Phase), Some(Choice::All));
        assert_eq!(read.of(Counter::Repetition), Some(Choice::Combined));
        assert!(!Selection::parse("slice=2").unwrap().selects_several());
        for wrong in [
            "",
            "slice",
            "slice=",
            "slice=-1",
            "slice=1,slice=2",
            "row=1",
            "slice=70000",
            "all,all",
        ] {
            let text = Selection::parse(wrong).unwrap_err().to_string();
            assert!(text.contains("repetition"), "{wrong}: {text}");
        }
        for counter in ["slice", "contrast", "phase", "set", "row"] {
            let error = Selection::default().combine(counter).unwrap_err();
            assert!(matches!(error, SelectionError::Combined(_)));
        }
        let selected = Selection::parse("repetition=1").unwrap();
        let error = selected.combine("repetition").unwrap_err();
        assert_eq!(error, SelectionError::Twice(Counter::Repetition));
    }
}
