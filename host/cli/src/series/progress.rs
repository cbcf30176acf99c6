//! Progress of an aggregation.

use crate::output::ProgressStream;
use serde::Serialize;
use std::time::{Duration, Instant};
use warpstride::run::{Bar, JsonLines, Observer, Silent};
use warpstride::text::significant;

/// Time between two entries.
const INTERVAL: Duration = Duration::from_millis(200);

/// An entry of the progress.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Stage {
    /// Number of the entry, from 1.
    iteration: usize,
    /// `read` or `resample`.
    stage: &'static str,
    /// Points processed in this stage so far.
    points: u64,
    /// Time since the start.
    seconds: f64,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressStyle {
    Bar,
    Json,
    Quiet,
}

/// Reports progress at a limited rate.
pub(super) struct Progress {
    observer: Box<dyn Observer<Stage>>,
    begun: Instant,
    last_shown: Option<Instant>,
    entries: usize,
    /// Whether a bar must be cleared when the run ends, also by an error.
    bar: bool,
}

impl Progress {
    /// Starts reporting. `planned` is the amount to read in MiB.
    pub(super) fn new(form: ProgressStyle, planned: usize) -> Self {
        let mut observer: Box<dyn Observer<Stage>> = match form {
            ProgressStyle::Bar => Box::new(Bar::new(|stage: &Stage| {
                let points = significant(stage.points as f64, 3);
                format!("MiB, {}: {points} points", stage.stage)
            })),
            ProgressStyle::Json => Box::new(JsonLines::new(ProgressStream)),
            ProgressStyle::Quiet => Box::new(Silent),
        };
        observer.start(planned, 0);
        Self {
            observer,
            begun: Instant::now(),
            last_shown: None,
            entries: 0,
            bar: form == ProgressStyle::Bar,
        }
    }

    /// Reports that `read` MiB were read and `points` points of this stage are done. The first
    /// entry of a stage is always shown.
    pub(super) fn at(&mut self, stage: &'static str, read: usize, points: u64, first: bool) {
        if !first
            && self
                .last_shown
                .is_some_and(|shown| shown.elapsed() < INTERVAL)
        {
            return;
        }
        self.last_shown = Some(Instant::now());
        self.entries += 1;
        self.observer.entry(&Stage {
            iteration: self.entries,
            stage,
            points,
            seconds: self.begun.elapsed().as_secs_f64(),
        });
        self.observer.progress(read);
    }

    /// Ends the progress.
    pub(super) fn end(mut self) {
        self.bar = false;
        self.observer.end();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.bar {
            self.observer.end();
        }
    }
}
