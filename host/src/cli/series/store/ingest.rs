//! `warpstride series ingest`: points into a store, batch after batch.

use super::policy;
use crate::cli::args::{IngestTyped, NanWord};
use crate::cli::failure::Failure;
use crate::cli::output::{facts, note, say};
use crate::cli::paths;
use crate::cli::series::machine::{Chosen, Wanted};
use crate::cli::series::points::Inputs;
use crate::cli::series::progress::{Form, Progress};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use warpstride::io::series::{Block, Reader};
use warpstride::io::{Bytes, Memory};
use warpstride::report::{significant, write_whole};
use warpstride::run::Interrupt;
use warpstride::series::store::{Ingested, Pending, Policy, StoreWriter, Totals};
use warpstride::series::{Engine as _, Setup};

/// Most points of a batch: they are kept in memory.
const MOST_POINTS: usize = 1 << 28;

/// A checked ingest.
#[derive(Debug)]
pub(crate) struct Ingest {
    store: PathBuf,
    policy: Option<Policy>,
    inputs: Inputs,
    start: Option<i64>,
    end: Option<i64>,
    skip_nan: bool,
    batch: usize,
    machine: Wanted,
    summary: Option<PathBuf>,
    form: Form,
}

/// A line of `--json-progress`.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    Start {
        /// Batches that the store had.
        batches: u64,
    },
    /// A batch is on the storage.
    Batch {
        /// Its number in this run, from 1.
        batch: u64,
        #[serde(flatten)]
        so_far: SoFar,
        seconds: f64,
    },
    End,
}

/// Of all batches of this run.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct SoFar {
    #[serde(flatten)]
    taken: Ingested,
    /// Points outside of `--start` and `--end`, and NaN that were to be left out.
    left_out: u64,
}

/// What `--summary` says.
#[derive(Serialize)]
struct Summary<'a> {
    store: String,
    policy: String,
    inputs: Vec<String>,
    input_bytes: u64,
    #[serde(flatten)]
    so_far: SoFar,
    batches: u64,
    malformed: u64,
    /// What was wrong with the first of them.
    first_malformed: &'a [String],
    /// Of the whole store now.
    totals: Totals,
    store_bytes: u64,
    #[serde(flatten)]
    setup: Setup,
    seconds: Seconds,
    points_per_second: f64,
    notes: &'a [String],
    version: &'static str,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Seconds {
    compute: f64,
    /// Merging and writing.
    store: f64,
    total: f64,
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
        let inputs = Inputs::from_typed(&typed.points)?;
        let (start, end) =
            inputs.limits(typed.points.start.as_deref(), typed.points.end.as_deref())?;
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
            start,
            end,
            skip_nan: typed.nan == NanWord::Skip,
            batch: typed.batch,
            machine: Wanted::new(typed.backend, typed.device, typed.threads)?,
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
        let mut reader = self.inputs.open(Memory::available().limit())?;
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
            return Err(after(failure, &self.store, so_far, batches));
        }
        let (totals, policy) = (writer.totals(), writer.policy().to_string());
        writer.close()?;
        seconds.total = begun.elapsed().as_secs_f64();
        self.line(&Line::End)?;

        let mut notes = reader.notes().to_vec();
        let skipped = reader.skipped();
        if let Some(first) = skipped.first.first() {
            notes.push(format!(
                "{} malformed rows were left out; the first: {first}",
                skipped.rows
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

/// A failure, with what is stored nevertheless.
fn after(failure: Failure, store: &Path, so_far: SoFar, batches: u64) -> Failure {
    if batches == 0 {
        return failure;
    }
    let stored = format!(
        "{} of the points before it are stored in {} ({batches} batches); the same command goes on",
        so_far.taken.points,
        store.display()
    );
    match failure {
        Failure::Failed(why) => Failure::Failed(format!("{why}; {stored}")),
        Failure::Interrupted(_) => Failure::Interrupted(format!("stopped: {stored}")),
        usage @ Failure::Usage(_) => usage,
    }
}

/// An ingest on its way.
struct Storing<'a> {
    ingest: &'a Ingest,
    progress: Progress,
    writer: StoreWriter,
    engine: Chosen,
    so_far: SoFar,
    batches: u64,
    pending: Pending,
    seconds: Seconds,
    begun: Instant,
}

impl Storing<'_> {
    fn all(&mut self, reader: &mut Reader, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut first = true;
        let stopped = || Failure::Interrupted("stopped: nothing was stored".to_owned());
        while let Some(block) = reader.step() {
            let block = self.wanted(block?);
            if interrupt.requested() {
                return Err(stopped());
            }
            let mut from = 0;
            while from < block.len() {
                let end = block
                    .len()
                    .min(from + self.ingest.batch - self.pending.len());
                self.pending.extend(
                    &block.series[from..end],
                    &block.times[from..end],
                    &block.values[from..end],
                );
                from = end;
                if self.pending.len() == self.ingest.batch {
                    self.store(reader)?;
                }
                if interrupt.requested() {
                    return Err(stopped());
                }
            }
            let mebibytes = (Reader::position(reader) >> 20) as usize;
            self.progress
                .at("ingest", mebibytes, self.so_far.taken.points, first);
            first = false;
        }
        if !self.pending.is_empty() {
            self.store(reader)?;
        }
        Ok(())
    }

    /// Leaves out what is not to be stored.
    fn wanted(&mut self, mut block: Block) -> Block {
        let Ingest {
            start,
            end,
            skip_nan,
            ..
        } = *self.ingest;
        if start.is_none() && end.is_none() && !skip_nan {
            return block;
        }
        let mut kept = 0;
        for point in 0..block.len() {
            let (time, value) = (block.times[point], block.values[point]);
            let inside =
                start.is_none_or(|start| time >= start) && end.is_none_or(|end| time < end);
            if inside && !(skip_nan && value.is_nan()) {
                block.series[kept] = block.series[point];
                block.times[kept] = time;
                block.values[kept] = value;
                kept += 1;
            }
        }
        self.so_far.left_out += (block.len() - kept) as u64;
        block.series.truncate(kept);
        block.times.truncate(kept);
        block.values.truncate(kept);
        block
    }

    /// Makes a batch of what is pending; says so when it is on the storage.
    fn store(&mut self, reader: &Reader) -> Result<(), Failure> {
        let (numbers, batch) = self.pending.take()?;
        let names: Option<Vec<String>> = numbers
            .iter()
            .map(|number| reader.names().get(*number).map(str::to_owned))
            .collect();
        let names = names.ok_or_else(|| Failure::failed("a series of the input has no name"))?;
        let (begun, computed) = (Instant::now(), self.engine.spent);
        self.so_far.taken += self.writer.ingest(&mut self.engine, &names, &batch)?;
        self.batches += 1;
        let compute = (self.engine.spent - computed).as_secs_f64();
        self.seconds.compute += compute;
        self.seconds.store += begun.elapsed().as_secs_f64() - compute;
        self.ingest.line(&Line::Batch {
            batch: self.batches,
            so_far: self.so_far,
            seconds: self.begun.elapsed().as_secs_f64(),
        })
    }
}

impl Summary<'_> {
    /// For people.
    fn table(&self) -> String {
        let taken = self.so_far.taken;
        let left_out: Vec<String> = [
            (self.malformed, "malformed rows"),
            (self.so_far.left_out, "points that were not wanted"),
            (taken.duplicates, "duplicates"),
            (taken.refused, "older than the back window"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        let mut lines = vec![
            (
                "store",
                format!("{}, {}", self.store, Bytes(u128::from(self.store_bytes))),
            ),
            ("policy", self.policy.clone()),
            (
                "points",
                format!(
                    "{} read, {} new, {} replaced",
                    taken.points, taken.added, taken.replaced
                ),
            ),
        ];
        if !left_out.is_empty() {
            lines.push(("left out", left_out.join(", ")));
        }
        lines.push((
            "series",
            format!("{}, {} of them new", self.totals.series, taken.new_series),
        ));
        lines.push((
            "buckets",
            format!("{} computed, in {} batches", taken.buckets, self.batches),
        ));
        lines.push((
            "back end",
            format!("{} ({})", self.setup.backend, self.setup.device),
        ));
        let seconds = |value: f64| significant(value, 3);
        lines.push((
            "time",
            format!(
                "{} s: compute {}, store {}; {} points/s",
                seconds(self.seconds.total),
                seconds(self.seconds.compute),
                seconds(self.seconds.store),
                significant(self.points_per_second, 3)
            ),
        ));
        facts(&lines)
    }
}
