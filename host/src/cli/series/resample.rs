//! `warpstride series resample`: from what was typed to aggregates in a file.

use super::machine::Wanted;
use super::points::{Inputs, Read};
use super::progress::{Form, Progress};
use super::rows::{Out, Rows};
use super::summary::{Malformed, Seconds, Summary, Taken, buckets};
use super::{memory, points, wanted};
use crate::cli::args::ResampleTyped;
use crate::cli::failure::Failure;
use crate::cli::output::{note, say, were};
use crate::cli::paths;
use std::path::{Path, PathBuf};
use std::time::Instant;
use warpstride::io::Memory;
use warpstride::io::series::Reader;
use warpstride::report::write_whole;
use warpstride::run::Interrupt;
use warpstride::series::stream::{Gather, Limits, StreamError, Tally};
use warpstride::series::{Engine as _, Resample};

/// A checked aggregation.
#[derive(Debug)]
pub(crate) struct Resampling {
    inputs: Inputs,
    plan: Resample,
    machine: Wanted,
    memory: Option<u64>,
    out: Out,
    summary: Option<PathBuf>,
    plot: Option<PathBuf>,
    form: Form,
}

impl Resampling {
    /// Checks options and outputs.
    pub(crate) fn from_typed(typed: &ResampleTyped) -> Result<Self, Failure> {
        let plan = wanted::plan(typed)?;
        let inputs = Inputs::from_typed(&typed.points)?;
        let out = Out::from_typed(typed)?;
        if out.is_standard() && typed.json_progress {
            return Err(Failure::usage(
                "-o - and --json-progress: both would write to standard output; a file's name is expected for one of them",
            ));
        }
        if let Some(path) = &typed.plot {
            paths::check_picture("--plot", path)?;
        }
        let outputs = [out.path(), typed.summary.as_deref(), typed.plot.as_deref()];
        let outputs: Vec<&Path> = outputs.into_iter().flatten().collect();
        paths::check(&outputs, &inputs.paths())?;
        Ok(Self {
            machine: Wanted::from_typed(typed.machine)?,
            memory: memory::limit(typed.memory.as_deref())?,
            inputs,
            plan,
            out,
            summary: typed.summary.clone(),
            plot: typed.plot.clone(),
            form: match (typed.json_progress, typed.quiet) {
                (true, _) => Form::Json,
                (_, true) => Form::Quiet,
                _ => Form::Bar,
            },
        })
    }

    /// Reads, aggregates and writes.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.machine.start()?;
        let interrupt = Interrupt::on_ctrl_c()?;
        let memory = self
            .memory
            .unwrap_or_else(|| memory::half_of(Memory::available()));
        let mut reader = self.inputs.open(memory)?;
        let (start, end) = self.inputs.limits(&mut reader)?;
        let mut engine = self.machine.engine(&self.plan)?;
        let begun = Instant::now();
        let mut gather = Gather::new(Limits {
            start,
            end,
            memory,
            folder: self.out.folder(),
        });
        let mut progress = Progress::new(self.form, self.inputs.mebibytes());
        let read = self.read(reader, &mut gather, &mut progress, &interrupt)?;
        let points = gather.points();
        if points == 0 {
            return Err(Failure::failed(self.nothing(&read, (start, end))));
        }
        let read_seconds = begun.elapsed().as_secs_f64();
        let told = engine.note.clone();
        self.note(told.as_deref());

        let planned = self.inputs.mebibytes();
        let curve = self.plot.as_ref().and_then(|_| {
            let first = (
                self.plan.granularities().first()?,
                self.plan.aggregates().first()?,
            );
            Some((*first.0, *first.1))
        });
        let mut rows = Rows::create(&self.out, &read.names, curve, interrupt.clone())?;
        progress.at("resample", planned, 0, true);
        let streamed = gather.finish(&self.plan).and_then(|gathered| {
            gathered.resample(&mut engine, &mut rows, &mut |done| {
                progress.at("resample", planned, done, false);
                !interrupt.requested()
            })
        });
        let tally = streamed.map_err(|why| self.ended(why, &read, points))?;
        let picture = rows.picture();
        if interrupt.requested() {
            return Err(stopped(points));
        }
        let finished = rows.finish()?;
        progress.at("resample", planned, tally.points, true);
        progress.end();
        let total = begun.elapsed().as_secs_f64();

        let mut written: Vec<String> = self
            .out
            .path()
            .map(|p| p.display().to_string())
            .into_iter()
            .collect();
        // What cannot be drawn is no reason to take the aggregates away.
        let mut undrawn = None;
        if let (Some(path), Some(picture)) = (&self.plot, picture) {
            let drawn = picture.map_err(|why| format!("--plot {}: {why}", path.display()));
            match drawn.and_then(|picture| picture.write(path).map_err(|e| e.to_string())) {
                Ok(()) => written.push(path.display().to_string()),
                Err(why) => {
                    let there = self.out.words();
                    undrawn = Some(Failure::failed(format!(
                        "{why}; the aggregates are in {there}"
                    )));
                }
            }
        }
        let mut notes = self.doubts(&read, &tally);
        notes.extend(finished.note);
        if engine.note != told {
            notes.extend(engine.note.clone());
        }
        notes.iter().for_each(|sentence| self.note(Some(sentence)));
        notes.extend(told.filter(|told| !notes.contains(told)));
        let mut summary = Summary {
            inputs: self.inputs.names(),
            input_bytes: self.inputs.bytes(),
            points: tally.points,
            malformed: Malformed {
                rows: read.skipped.rows,
                first: read.skipped.first.clone(),
            },
            outside: tally.outside,
            duplicates: tally.duplicates,
            skipped: tally.skipped,
            series: tally.series,
            granularities: buckets(&self.plan, &tally),
            aggregates: self
                .plan
                .aggregates()
                .iter()
                .map(ToString::to_string)
                .collect(),
            rows: finished.rows,
            setup: engine.setup().clone(),
            seconds: Seconds {
                read: read_seconds,
                compute: engine.spent.as_secs_f64(),
                write: finished.seconds,
                total,
            },
            points_per_second: tally.points as f64 / total,
            memory: Taken {
                limit_bytes: memory,
                spilled_bytes: tally.spilled,
                batches: tally.batches,
            },
            written,
            notes,
            version: env!("CARGO_PKG_VERSION"),
        };
        if let Some(path) = &self.summary {
            summary.written.push(path.display().to_string());
            let text = serde_json::to_string_pretty(&summary)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if self.form == Form::Bar && !self.out.is_standard() {
            say(&summary.table())?;
        }
        undrawn.map_or(Ok(()), Err)
    }

    fn read(
        &self,
        reader: Reader,
        gather: &mut Gather,
        progress: &mut Progress,
        interrupt: &Interrupt,
    ) -> Result<Read, Failure> {
        let mut first = true;
        let mut points = 0;
        Read::all(reader, &mut |block, mebibytes| {
            if interrupt.requested() {
                return Err(stopped(points));
            }
            points += block.times.len() as u64;
            gather.push(block)?;
            progress.at("read", mebibytes, points, first);
            first = false;
            Ok(())
        })
    }

    /// Why there is nothing to aggregate.
    fn nothing(&self, read: &Read, (start, end): points::Limits) -> String {
        let limits = [("--start", start), ("--end", end)];
        let typed: Vec<&str> = limits
            .iter()
            .filter(|l| l.1.is_some())
            .map(|l| l.0)
            .collect();
        format!(
            "{}: none of {} points lies within {}",
            self.inputs.words(),
            read.points,
            typed.join(" and ")
        )
    }

    /// The end of a stream that did not come to its end.
    fn ended(&self, why: StreamError, read: &Read, points: u64) -> Failure {
        match why {
            StreamError::Stopped => stopped(points),
            StreamError::Bucket {
                series,
                granularity,
                points,
                needed,
                available,
            } => {
                let name = u32::try_from(series).ok().and_then(|s| read.names.get(s));
                Failure::failed(format!(
                    "series {}: its bucket of {granularity} has {points} points, which need {needed} of memory, but {available} may be used; --memory may give more, or a shorter --granularity is needed",
                    name.unwrap_or("?")
                ))
            }
            other => other.into(),
        }
    }

    /// What is strange about the input.
    fn doubts(&self, read: &Read, tally: &Tally) -> Vec<String> {
        let mut notes = read.notes.clone();
        if let (rows @ 1.., Some(first)) = (read.skipped.rows, read.skipped.first.first()) {
            notes.push(format!(
                "{} left out; the first: {first}",
                were(rows, "malformed row")
            ));
        }
        // Who sees the table sees them there.
        if self.form == Form::Json || self.out.is_standard() {
            for (count, what, why) in [
                (
                    tally.duplicates,
                    "duplicate",
                    "points whose series and time came before",
                ),
                (tally.skipped, "point of NaN", "--nan skip"),
            ] {
                if count > 0 {
                    notes.push(format!("{} left out: {why}", were(count, what)));
                }
            }
        }
        notes
    }

    fn note(&self, sentence: Option<&str>) {
        if let Some(sentence) = sentence
            && self.form != Form::Quiet
        {
            note(sentence);
        }
    }
}

fn stopped(points: u64) -> Failure {
    Failure::Interrupted(format!(
        "stopped after {points} points were read; nothing was written"
    ))
}
