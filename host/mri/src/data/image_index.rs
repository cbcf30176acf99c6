//! The place of an image among several images of a scan.

use serde::Serialize;

/// The counters of one of several images, each from 0 if the file counts so. Indices are ordered by
/// set, repetition, phase, contrast and, fastest, slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct ImageIndex {
    /// Set (for example of flow encoding).
    pub set: u16,
    /// Repetition.
    pub repetition: u16,
    /// Cardiac or respiratory phase.
    pub phase: u16,
    /// Contrast (echo).
    pub contrast: u16,
    /// Slice.
    pub slice: u16,
}

impl ImageIndex {
    /// Each counter with its name, the slice first.
    #[must_use]
    pub fn counters(&self) -> [(&'static str, u16); 5] {
        [
            ("slice", self.slice),
            ("contrast", self.contrast),
            ("phase", self.phase),
            ("repetition", self.repetition),
            ("set", self.set),
        ]
    }

    /// The counters in which the images `all` differ, joined: `join` makes a text of a counter's
    /// name and value, and stands before the next. Empty if they do not differ.
    fn joined(&self, all: &[Self], between: &str, join: &str) -> String {
        let differ = |at: usize| {
            let mut values = all.iter().map(|index| index.counters()[at].1);
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let counters = self.counters().into_iter().enumerate();
        let parts: Vec<String> = counters
            .filter(|(at, _)| differ(*at))
            .map(|(_, (name, value))| format!("{name}{between}{value}"))
            .collect();
        parts.join(join)
    }

    /// The image among `all`, for messages: `slice 3, repetition 1`; `image` if it is the only one.
    #[must_use]
    pub fn name(&self, all: &[Self]) -> String {
        match self.joined(all, " ", ", ") {
            text if text.is_empty() => "image".to_owned(),
            text => text,
        }
    }

    /// The image among `all`, for names of files: `-slice3-repetition1`; nothing if it is the only
    /// one.
    #[must_use]
    pub fn suffix(&self, all: &[Self]) -> String {
        match self.joined(all, "", "-") {
            text if text.is_empty() => text,
            text => format!("-{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_counters_that_differ_and_slices_run_fastest() {
        let index = |slice, repetition| ImageIndex {
            slice,
            repetition,
            phase: 4,
            ..ImageIndex::default()
        };
        let mut all = vec![index(1, 2), index(0, 3), index(0, 2), index(1, 3)];
        all.sort();
        assert_eq!(all, [index(0, 2), index(1, 2), index(0, 3), index(1, 3)]);
        assert_eq!(all[1].name(&all), "slice 1, repetition 2");
        assert_eq!(all[1].suffix(&all), "-slice1-repetition2");
        assert_eq!(all[1].name(&all[..2]), "slice 1");
        assert_eq!(
            (all[1].name(&all[..1]), all[1].suffix(&all[..1])),
            ("image".to_owned(), String::new())
        );
    }
}
