//! `warpstride series ingest`: points into a store, batch after batch.

mod storing;
mod told;

use super::policy;
use crate::cli::args::{IngestTyped, NanWord};
use crate::cli::failure::Failure;
use crate::cli::output::{note, say, were};
use crate::cli::paths;
use crate::cli::series::machine::Wanted;
use crate::cli::series::points::Inputs;
use crate::cli::series::progress::{Form, Progress};
use std::path::{Path, PathBuf};
use std::time::Instant;
use storing::Storing;
use told::{Line, Seconds, SoFar, Summary, after};
use warpstride::io::Memory;
use warpstride::report::write_whole;
use warpstride::run::Interrupt;
use warpstride::series::Engine as _;
use warpstride::series::store::{LONGEST_NAME, Pending, Policy, StoreWriter};

/// Most points of a batch: they are kept in memory.
const MOST_POINTS: usize = 1 << 28;

/// A checked ingest.
#[derive(Debug)]
pub(crate) struct Ingest {
    store: PathBuf,
    policy: Option<Policy>,
    inputs: Inputs,
    skip_nan: bool,
    batch: usize,
    machine: Wanted,
    summary: Option<PathBuf>,
    form: Form,
}

impl Ingest {
    /// Checks options and outputs.
    pub(crate) fn from_typed(typed: &IngestTyped) -> Result<Self, Failure> {
        if !(1..=MOST_POINTS).contains(&typed.batch) {
            return Err(Failure::usage(format!(
                "--batch {}: 1 to {MOST_POINTS} points are expected",
                typed.batch
            )));
        }
        let inputs = Inputs::from_typed(&typed.points)?.with_names_up_to(LONGEST_NAME);
        if let Some(input) = inputs
            .paths()
            .iter()
            .find(|input| paths::same(input, &typed.store))
        {
            return Err(Failure::usage(format!(
                "{}: is both the store and an input: another name is expected for one of them",
                input.display()
            )));
        }
        let outputs: Vec<&Path> = typed.summary.iter().map(PathBuf::as_path).collect();
        let read = [inputs.paths(), vec![&*typed.store]].concat();
        paths::check(&outputs, &read)?;
        Ok(Self {
            store: typed.store.clone(),
            policy: typed.policy.as_deref().map(policy::read).transpose()?,
            inputs,
            skip_nan: typed.nan == NanWord::Skip,
            batch: typed.batch,
            machine: Wanted::from_typed(typed.machine)?,
            summary: typed.summary.clone(),
            form: match (typed.json_progress, typed.quiet) {
                (true, _) => Form::Json,
                (_, true) => Form::Quiet,
                _ => Form::Bar,
            },
        })
    }

    /// Reads and stores.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.machine.start()?;
        let interrupt = Interrupt::on_ctrl_c()?;
        let memory = Memory::available().limit();
        let mut reader = self.inputs.open(memory)?;
        let limits = self.inputs.limits(&mut reader)?;
        let writer = StoreWriter::open(&self.store, self.policy.as_ref())?;
        let engine = self.machine.engine(writer.plan())?;
        let first_note = engine.note.clone();
        self.tell(first_note.as_deref());
        let form = if self.form == Form::Bar {
            Form::Bar
        } else {
            Form::Quiet
        };
        self.line(&Line::Start {
            batches: writer.totals().batches,
        })?;
        let mut storing = Storing {
            ingest: &self,
            limits,
            memory,
            progress: Progress::new(form, self.inputs.mebibytes()),
            writer,
            engine,
            so_far: SoFar::default(),
            batches: 0,
            pending: Pending::default(),
            seconds: Seconds::default(),
            begun: Instant::now(),
        };
        let stored = storing.all(&mut reader, &interrupt);
        let Storing {
            progress,
            writer,
            engine,
            so_far,
            batches,
            mut seconds,
            begun,
            ..
        } = storing;
        progress.end();
        if let Err(failure) = stored {
            if let Err(why) = writer.discard_if_empty() {
                self.tell(Some(&why.to_string()));
            }
            return Err(after(failure, &self.store, so_far, batches));
        }
        let (totals, policy) = (writer.totals(), writer.policy().to_string());
        let gone = match batches {
            0 => writer.discard_if_empty()?,
            _ => writer.close().map(|()| false)?,
        };
        seconds.total = begun.elapsed().as_secs_f64();
        self.line(&Line::End)?;

        let mut notes = reader.notes();
        if gone {
            notes.push(format!(
                "{}: was not made, because there was nothing to store",
                self.store.display()
            ));
        }
        let skipped = reader.skipped();
        if let Some(first) = skipped.first.first() {
            notes.push(format!(
                "{} left out; the first: {first}",
                were(skipped.rows, "malformed row")
            ));
        }
        if engine.note != first_note {
            notes.extend(engine.note.clone());
        }
        notes.iter().for_each(|sentence| self.tell(Some(sentence)));
        notes.extend(first_note);
        let summary = Summary {
            store: self.store.display().to_string(),
            policy,
            inputs: self.inputs.names(),
            input_bytes: self.inputs.bytes(),
            so_far,
            batches,
            malformed: skipped.rows,
            first_malformed: &skipped.first,
            totals,
            store_bytes: std::fs::metadata(&self.store).map_or(0, |found| found.len()),
            setup: engine.setup().clone(),
            seconds,
            points_per_second: so_far.taken.points as f64 / seconds.total,
            notes: &notes,
            version: env!("CARGO_PKG_VERSION"),
        };
        if let Some(path) = &self.summary {
            let text = serde_json::to_string_pretty(&summary)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if self.form == Form::Bar {
            say(&summary.table())?;
        }
        Ok(())
    }

    fn tell(&self, sentence: Option<&str>) {
        if let Some(sentence) = sentence
            && self.form != Form::Quiet
        {
            note(sentence);
        }
    }

    fn line(&self, line: &Line) -> Result<(), Failure> {
        if self.form != Form::Json {
            return Ok(());
        }
        say(&(serde_json::to_string(line)? + "\n"))
    }
}
