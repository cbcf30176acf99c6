//! Notes on assumptions and ignored data; equal notes on several files are merged.

use super::TimeUnit;

/// Largest number of notes kept, because there may be thousands of files.
const MOST: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Notes {
    kept: Vec<Note>,
    /// Number of notes that were not kept.
    others: u64,
}

#[derive(Debug)]
struct Note {
    /// The first file with this note.
    file: String,
    what: String,
    /// Number of further files with it.
    files: u64,
}

impl Notes {
    /// Adds a note on a file.
    pub(super) fn add(&mut self, file: &str, what: String) {
        if let Some(note) = self.kept.iter_mut().find(|note| note.what == what) {
            note.files += 1;
        } else if self.kept.len() < MOST {
            let file = file.to_owned();
            self.kept.push(Note {
                file,
                what,
                files: 0,
            });
        } else {
            self.others += 1;
        }
    }

    /// Adds a note if `unit` was stated, for a file whose timestamps are not plain numbers.
    pub(super) fn add_unused_unit(&mut self, file: &str, unit: TimeUnit) {
        if unit != TimeUnit::Auto {
            let what = "its timestamps are not plain numbers: --time-unit has no effect on them";
            self.add(file, what.to_owned());
        }
    }

    /// Adds a note on a file with times of its own.
    pub(super) fn add_unused_scrape_time(&mut self, file: &str) {
        let what = "it is not in Prometheus' text format: --scrape-time has no effect on it";
        self.add(file, what.to_owned());
    }

    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.kept.iter().map(Note::sentence).collect();
        if self.others > 0 {
            sentences.push(format!("and {} more notes on inputs", self.others));
        }
        sentences
    }
}

impl Note {
    fn sentence(&self) -> String {
        let Self { file, what, files } = self;
        match files {
            0 => format!("{file}: {what}"),
            1 => format!("{file} and another input: {what}"),
            _ => format!("{file} and {files} other inputs: {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_notes_are_merged_and_dropped_notes_are_counted() {
        let mut notes = Notes::default();
        for file in ["a", "b", "c"] {
            notes.add(file, "no header".to_owned());
        }
        notes.add("b", "odd".to_owned());
        assert_eq!(
            notes.sentences(),
            ["a and 2 other inputs: no header", "b: odd"]
        );
        for number in 0..20 {
            notes.add("d", format!("{number}"));
        }
        let sentences = notes.sentences();
        assert_eq!(sentences.len(), MOST + 1);
        assert_eq!(sentences[MOST], "and 6 more notes on inputs");
    }
}
