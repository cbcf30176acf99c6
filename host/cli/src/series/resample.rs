//! `warpstride series resample`: aggregates points of input files into an output file.

use super::backend::BackendConfig;
use super::local_buckets::LocalBuckets;
use super::points::{Inputs, PointsRead};
use super::progress::{Progress, ProgressStyle};
use super::rows::{OutputConfig, RowWriter};
use super::summary::{Malformed, StageSeconds, Summary, Taken, buckets};
use super::{plan, points};
use crate::args::ResampleArgs;
use crate::byte_size;
use crate::failure::Failure;
use crate::output::{note, say, were};
use crate::paths::{self, OutputFile};
use std::path::PathBuf;
use std::time::Instant;
use warpstride::run::{Interrupt, RunRecord};
use warpstride::series::io::{Reader, iso_in};
use warpstride::series::stream::{Gather, Limits, StreamError, Tally};
use warpstride::series::{BucketAxis, Duplicates, Engine as _, Resample, SeriesError};
use warpstride::system::Memory;
use warpstride::system::write_whole;
use warpstride::text::count;

/// The checked arguments of `warpstride series resample`.
#[derive(Debug)]
pub(crate) struct Resampling {
    inputs: Inputs,
    plan: Resample,
    /// The axis on which buckets of local time have a fixed length.
    axis: Option<BucketAxis>,
    backend: BackendConfig,
    memory: Option<u64>,
    out: OutputConfig,
    summary: Option<PathBuf>,
    plot: Option<PathBuf>,
    form: ProgressStyle,
}

impl Resampling {
    /// Checks the options and the output paths.
    pub(crate) fn from_args(args: &ResampleArgs) -> Result<Self, Failure> {
        let plan = plan::parse(args)?;
        let inputs = Inputs::from_args(&args.points)?;
        let axis = inputs
            .zone()
            .map(|zone| BucketAxis::new(zone, plan.granularities()))
            .transpose()
            .map_err(|why| Failure::usage(format!("--{why}")))?;
        let out = OutputConfig::from_args(args, inputs.zone())?;
        if out.is_standard() && args.json_progress {
            return Err(Failure::usage(
                "-o -: expected the name of a file beside --json-progress, which writes to standard output",
            ));
        }
        let outputs = [
            out.file(),
            OutputFile::given("--summary", args.summary.as_deref(), &[paths::JSON]),
            OutputFile::given("--plot", args.plot.as_deref(), &[paths::PNG]),
        ];
        let outputs: Vec<OutputFile<'_>> = outputs.into_iter().flatten().collect();
        paths::check(&outputs, &inputs.paths())?;
        Ok(Self {
            backend: BackendConfig::from_args(args.backend)?,
            memory: byte_size::parse("--memory", args.memory.as_deref())?,
            inputs,
            plan,
            axis,
            out,
            summary: args.summary.clone(),
            plot: args.plot.clone(),
            form: match (args.json_progress, args.quiet) {
                (true, _) => ProgressStyle::Json,
                (_, true) => ProgressStyle::Quiet,
                _ => ProgressStyle::Bar,
            },
        })
    }

    /// Reads, aggregates and writes.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.backend.start()?;
        let started = Instant::now();
        let interrupt = Interrupt::on_ctrl_c()?;
        let memory = self
            .memory
            .unwrap_or_else(|| byte_size::half_of(Memory::available()));
        let mut reader = self.inputs.open(memory)?;
        let (start, end) = self.inputs.limits(&mut reader)?;
        let mut engine = self.backend.engine(&self.plan)?;
        let setup_seconds = started.elapsed().as_secs_f64();
        let begun = Instant::now();
        let local = LocalBuckets::new(self.axis, (start, end));
        let placed = local.placed();
        let mut gather = Gather::new(Limits {
            start: placed.0,
            end: placed.1,
            memory,
            folder: self.out.folder(),
        });
        let mut progress = Progress::new(self.form, self.inputs.mebibytes());
        let read = self.read(reader, (&mut gather, &local), &mut progress, &interrupt)?;
        let points = gather.points();
        if points == 0 {
            return Err(Failure::failed(self.no_points_message(&read, (start, end))));
        }
        let read_seconds = begun.elapsed().as_secs_f64();
        let first_note = engine.note().map(str::to_owned);
        self.note(first_note.as_deref());

        let planned = self.inputs.mebibytes();
        let curve = self.plot.as_ref().and_then(|_| {
            let first = (
                self.plan.granularities().first()?,
                self.plan.aggregates().first()?,
            );
            Some((*first.0, *first.1))
        });
        let mut rows = RowWriter::create(&self.out, &read, self.axis, curve, interrupt.clone())?;
        progress.at("resample", planned, 0, true);
        let streamed = gather.finish(&self.plan).and_then(|gathered| {
            gathered.resample(&mut engine, &mut rows, &mut |done| {
                progress.at("resample", planned, done, false);
                !interrupt.requested()
            })
        });
        let tally = streamed.map_err(|why| self.stream_failure(why, &read, points))?;
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
        // A failed plot must not discard the aggregates.
        let mut undrawn = None;
        if let (Some(path), Some(picture)) = (&self.plot, picture) {
            let drawn = picture.map_err(|why| format!("--plot {}: {why}", path.display()));
            match drawn.and_then(|picture| picture.write(path).map_err(|e| e.to_string())) {
                Ok(()) => written.push(path.display().to_string()),
                Err(why) => {
                    let there = self.out.description();
                    undrawn = Some(Failure::failed(format!(
                        "{why}; the aggregates are in {there}"
                    )));
                }
            }
        }
        let mut notes = self.collect_notes(&read, &tally);
        notes.extend(finished.notes);
        if engine.note() != first_note.as_deref() {
            notes.extend(engine.note().map(str::to_owned));
        }
        notes.iter().for_each(|sentence| self.note(Some(sentence)));
        notes.extend(first_note.filter(|first_note| !notes.contains(first_note)));
        let record = RunRecord::new(engine.setup().clone(), total);
        let kept_duplicates = match self.plan.duplicates() {
            Duplicates::Keep => tally.duplicates,
            _ => 0,
        };
        let mut summary = Summary {
            record: record.after(self.inputs.names(), setup_seconds, notes),
            input_bytes: self.inputs.bytes(),
            points: tally.points,
            malformed: Malformed {
                rows: read.skipped.rows,
                first: read.skipped.first.clone(),
            },
            outside: tally.outside,
            duplicates: tally.duplicates - kept_duplicates,
            kept_duplicates,
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
            stage_seconds: StageSeconds {
                read: read_seconds,
                compute: engine.spent.as_secs_f64(),
                write: finished.seconds,
            },
            points_per_second: tally.points as f64 / total,
            memory: Taken {
                limit_bytes: memory,
                spilled_bytes: tally.spilled,
                batches: tally.batches,
            },
        };
        written.extend(self.summary.iter().map(|path| path.display().to_string()));
        summary.record.outputs = written;
        if let Some(path) = &self.summary {
            let text = serde_json::to_string_pretty(&summary)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if self.form == ProgressStyle::Bar && !self.out.is_standard() {
            say(&summary.table())?;
        }
        undrawn.map_or(Ok(()), Err)
    }

    fn read(
        &self,
        reader: Reader,
        (gather, local): (&mut Gather, &LocalBuckets),
        progress: &mut Progress,
        interrupt: &Interrupt,
    ) -> Result<PointsRead, Failure> {
        let mut first = true;
        let mut points = 0;
        PointsRead::all(reader, &mut |block, mebibytes| {
            if interrupt.requested() {
                return Err(stopped(points));
            }
            points += block.times.len() as u64;
            gather.push(local.place(block, &self.inputs)?)?;
            progress.at("read", mebibytes, points, first);
            first = false;
            Ok(())
        })
    }

    /// Explains why there is nothing to aggregate.
    fn no_points_message(&self, read: &PointsRead, (start, end): points::Limits) -> String {
        let limits = [("--start", start), ("--end", end)];
        let args: Vec<&str> = limits
            .iter()
            .filter(|l| l.1.is_some())
            .map(|l| l.0)
            .collect();
        format!(
            "{}: none of {} lies within {}",
            self.inputs.description(),
            count(read.points, ["point", "points"]),
            args.join(" and ")
        )
    }

    /// The failure that ended an aggregation early.
    fn stream_failure(&self, why: StreamError, read: &PointsRead, points: u64) -> Failure {
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
                    "series {}: a bucket of {granularity} has {points} points and needs {needed} of memory, but only {available} is available; increase --memory or use a shorter --granularity",
                    name.unwrap_or("?")
                ))
            }
            StreamError::Series(why) => match *why {
                SeriesError::SameTime { series, time } => {
                    let name = u32::try_from(series).ok().and_then(|s| read.names.get(s));
                    let time = match self.axis {
                        Some(axis) => iso_in(axis.start(time), self.inputs.zone()),
                        None => iso_in(time, None),
                    };
                    Failure::failed(format!(
                        "{}: series {}: expected one point at each time (--duplicates error), found several at {time}; --duplicates keep, first or last says what they are",
                        self.inputs.description(),
                        name.unwrap_or("?")
                    ))
                }
                other => other.into(),
            },
            other => other.into(),
        }
    }

    /// Notes about skipped rows, duplicates and NaN of the input.
    fn collect_notes(&self, read: &PointsRead, tally: &Tally) -> Vec<String> {
        let mut notes = read.notes.clone();
        if let (rows @ 1.., Some(first)) = (read.skipped.rows, read.skipped.first.first()) {
            notes.push(format!(
                "{} left out; the first: {first}",
                were(rows, "malformed row")
            ));
        }
        // The table shows these counts too, if it is printed.
        if self.form == ProgressStyle::Json || self.out.is_standard() {
            let (duplicates, nan) = (tally.duplicates, tally.skipped);
            if duplicates > 0 {
                notes.push(match self.plan.duplicates() {
                    Duplicates::Keep => format!(
                        "{} the series and time of an earlier one: all count (--duplicates keep)",
                        count(duplicates, ["point has", "points have"])
                    ),
                    _ => format!(
                        "{} left out: another point has the same series and time (--duplicates)",
                        were(duplicates, "duplicate")
                    ),
                });
            }
            if nan > 0 {
                notes.push(format!("{} left out: --nan skip", were(nan, "NaN point")));
            }
        }
        notes
    }

    fn note(&self, sentence: Option<&str>) {
        if let Some(sentence) = sentence
            && self.form != ProgressStyle::Quiet
        {
            note(sentence);
        }
    }
}

fn stopped(points: u64) -> Failure {
    Failure::Interrupted(format!(
        "stopped after reading {}; nothing was written",
        count(points, ["point", "points"])
    ))
}
