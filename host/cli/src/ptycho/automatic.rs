//! How the trials of the automatic recipe are made and shown.

use super::interruption::stops_at_once;
use super::recipe_origin::RecipeOrigin;
use super::reconstruct::ProgressOutput;
use super::trial_device::TrialDevice;
use crate::failure::Failure;
use crate::output::ProgressStream;
use serde::Serialize;
use std::any::Any;
use std::io::Write;
use warpstride::ptycho::data::{HistoryEntry, Scan};
use warpstride::ptycho::{Engine, Problem, ProblemError, Recipe, TrialHost, Tried};
use warpstride::run::{Bar, Observer, Silent};
use warpstride::text::significant;

/// Trials on the device of the run.
pub(super) struct Trials<'a> {
    /// The file of the scan.
    pub(super) name: &'a str,
    pub(super) origin: &'a RecipeOrigin,
    pub(super) device: TrialDevice,
    pub(super) output: ProgressOutput,
    /// What Ctrl-C says, if not what was kept until then.
    pub(super) stopped: Option<String>,
}

/// A line of progress.
#[derive(Serialize)]
struct TrialEvent<'a> {
    event: &'static str,
    #[serde(flatten)]
    tried: &'a Tried,
}

impl TrialHost for Trials<'_> {
    type Error = Failure;

    fn engine(
        &self,
        scan: &Scan,
        problem: &Problem,
        recipe: &Recipe,
    ) -> Result<Box<dyn Engine>, Failure> {
        self.device.engine(scan, problem, recipe)
    }

    fn fits_cpu(&self, scan: &Scan, recipe: &Recipe) -> Result<(), Failure> {
        self.device.fits_cpu(scan, recipe)
    }

    fn why_without(&self, error: Failure) -> Result<String, Failure> {
        match error {
            Failure::Failed(why) => Ok(why),
            other => Err(other),
        }
    }

    fn refused(&self, error: &ProblemError) -> Failure {
        self.origin.of_problem(self.name, error)
    }

    /// Ctrl-C ends the program at once meanwhile.
    fn preparing(&self, kept: &str) -> Result<Box<dyn Any>, Failure> {
        let stopped = (self.stopped.clone()).unwrap_or_else(|| in_trials(kept));
        Ok(Box::new(stops_at_once(stopped)?))
    }

    fn observer(&self, name: &str) -> Box<dyn Observer<HistoryEntry>> {
        if self.output != ProgressOutput::Text {
            return Box::new(Silent);
        }
        let name = name.to_owned();
        Box::new(Bar::new(move |entry: &HistoryEntry| {
            let r_free = entry
                .r_free
                .map_or_else(String::new, |r| format!("  R_free {}", significant(r, 3)));
            format!("trial: {name}, {}{r_free}", entry.engine)
        }))
    }

    /// A line of JSON; the reader may close the pipe.
    fn tried(&self, tried: &Tried) {
        if self.output != ProgressOutput::Json {
            return;
        }
        let event = TrialEvent {
            event: "trial",
            tried,
        };
        let mut stream = ProgressStream;
        if let Ok(text) = serde_json::to_string(&event)
            && writeln!(stream, "{text}").is_ok()
        {
            stream.flush().unwrap_or_default();
        }
    }
}

/// What Ctrl-C says in the trials.
pub(super) fn in_trials(so_far: &str) -> String {
    format!(
        "stopped in the trials of the automatic recipe; nothing was written; kept so far: {so_far}"
    )
}
