//! How far an aggregation is.

use serde::Serialize;
use std::io::stdout;
use std::time::{Duration, Instant};
use warpstride::report::significant;
use warpstride::run::{Bar, JsonLines, Observer, Silent};

/// Between two entries.
const OFTEN: Duration = Duration::from_millis(200);

/// What is told on the way.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Stage {
    /// Number of the entry, from 1.
    iteration: usize,
    /// `read` or `resample`.
    stage: &'static str,
    /// Points of this stage so far.
    points: u64,
    /// Since the start.
    seconds: f64,
}

/// How it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Bar,
    Json,
    Quiet,
}

/// Tells it, not too often.
pub(super) struct Progress {
    observer: Box<dyn Observer<Stage>>,
    begun: Instant,
    told: Option<Instant>,
    entries: usize,
}

impl Progress {
    /// `planned` is what is to be read, in MiB.
    pub(super) fn new(form: Form, planned: usize) -> Self {
        let mut observer: Box<dyn Observer<Stage>> = match form {
            Form::Bar => Box::new(Bar::new(|stage: &Stage| {
                let points = significant(stage.points as f64, 3);
                format!("MiB, {}: {points} points", stage.stage)
            })),
            Form::Json => Box::new(JsonLines::new(stdout())),
            Form::Quiet => Box::new(Silent),
        };
        observer.start(planned, 0);
        Self {
            observer,
            begun: Instant::now(),
            told: None,
            entries: 0,
        }
    }

    /// So many MiB are read, and points of this stage done. The first of a stage is always told.
    pub(super) fn at(&mut self, stage: &'static str, read: usize, points: u64, first: bool) {
        if !first && self.told.is_some_and(|told| told.elapsed() < OFTEN) {
            return;
        }
        self.told = Some(Instant::now());
        self.entries += 1;
        self.observer.entry(&Stage {
            iteration: self.entries,
            stage,
            points,
            seconds: self.begun.elapsed().as_secs_f64(),
        });
        self.observer.progress(read);
    }

    /// Nothing more comes.
    pub(super) fn end(mut self) {
        self.observer.end();
    }
}
