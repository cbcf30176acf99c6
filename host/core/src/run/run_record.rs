//! What the JSON summaries of all sciences have in common.

use super::Setup;
use serde::Serialize;

/// The record of a run: the fields that every science's summary has, under the same names and with
/// the same meaning. The summaries flatten it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRecord {
    /// Back end, device and precision.
    #[serde(flatten)]
    pub setup: Setup,
    /// The files that were read, as given; the data come first.
    pub inputs: Vec<String>,
    /// The files that were written, as given.
    pub outputs: Vec<String>,
    /// Wall-clock seconds of the run, without set-up and saving. Time series are read and written
    /// while they are computed, which counts.
    pub seconds: f64,
    /// Wall-clock seconds of what came before: reading the inputs, planning, making the engine.
    pub setup_seconds: f64,
    /// Decisions that a user should know of, such as the reason why `auto` fell back to the CPU.
    pub notes: Vec<String>,
    /// Program version.
    pub version: String,
}

impl RunRecord {
    /// The record of a run that took `seconds`, without files and notes, made by this version of
    /// the program.
    #[must_use]
    pub fn new(setup: Setup, seconds: f64) -> Self {
        Self {
            setup,
            inputs: Vec::new(),
            outputs: Vec::new(),
            seconds,
            setup_seconds: 0.0,
            notes: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Adds what came before the run: the files that were read, the seconds of set-up, and notes,
    /// which go in front of those of the run itself.
    #[must_use]
    pub fn after(mut self, inputs: Vec<String>, setup_seconds: f64, notes: Vec<String>) -> Self {
        self.inputs = inputs;
        self.setup_seconds = setup_seconds;
        self.notes.splice(..0, notes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_the_set_up_come_first_and_the_fields_are_flat() {
        let setup = Setup {
            backend: "cpu",
            device: "EPYC, 2 threads".to_owned(),
            precision: "f64",
        };
        let mut record = RunRecord::new(setup, 2.0);
        record.notes.push("of the run".to_owned());
        let notes = vec!["falling back".to_owned()];
        let record = record.after(vec!["scan.cxi".to_owned()], 0.5, notes);
        let value = serde_json::to_value(&record).unwrap();
        let expected = serde_json::json!({
            "backend": "cpu",
            "device": "EPYC, 2 threads",
            "precision": "f64",
            "inputs": ["scan.cxi"],
            "outputs": [],
            "seconds": 2.0,
            "setup_seconds": 0.5,
            "notes": ["falling back", "of the run"],
            "version": env!("CARGO_PKG_VERSION"),
        });
        assert_eq!(value, expected);
    }
}
