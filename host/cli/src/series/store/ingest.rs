//! `warpstride series ingest`: adds points to a store, batch by batch.

mod batch_writer;
mod report;

use super::policy;
use crate::args::{IngestArgs, NanArg};
use crate::failure::Failure;
use crate::output::{ProgressStream, note, say, were};
use crate::paths::{self, OutputFile};
use crate::series::backend::BackendConfig;
use crate::series::points::Inputs;
use crate::series::progress::{Progress, ProgressStyle};
use crate::series::summary::{Malformed, StageSeconds};
use batch_writer::BatchWriter;
use report::{Counts, ProgressLine, Summary, after};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use warpstride::run::{Interrupt, RunRecord};
use warpstride::series::io::iso_in;
use warpstride::series::store::{MAX_NAME_BYTES, Pending, Policy, StoreWriter};
use warpstride::series::{Engine as _, Granularity};
use warpstride::system::Memory;
use warpstride::system::write_whole;

/// Most points in a batch, which is held in memory.
const MAX_POINTS: usize = 1 << 28;

/// The nanoseconds of `--max-future`; `None` for any time.
fn max_future(text: &str) -> Result<Option<i64>, Failure> {
    let nanoseconds = match (text, text.parse()) {
        ("none", _) => return Ok(None),
        ("0" | "0s", _) => Some(0),
        (_, Ok(Granularity::Fixed(nanoseconds))) => i64::try_from(nanoseconds).ok(),
        _ => None,
    };
    nanoseconds.map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "--max-future {text}: expected a length such as 10m, 1h or 1d, or none"
        ))
    })
}

/// The checked arguments of `warpstride series ingest`.
#[derive(Debug)]
pub(crate) struct Ingest {
    store: PathBuf,
    policy: Option<Policy>,
    inputs: Inputs,
    skip_nan: bool,
    /// `--max-future` in nanoseconds.
    max_future: Option<i64>,
    batch: usize,
    backend: BackendConfig,
    summary: Option<PathBuf>,
    form: ProgressStyle,
}

impl Ingest {
    /// Checks the options and paths.
    pub(crate) fn from_args(args: &IngestArgs) -> Result<Self, Failure> {
        if !(1..=MAX_POINTS).contains(&args.batch) {
            return Err(Failure::usage(format!(
                "--batch {}: expected 1 to {MAX_POINTS} points",
                args.batch
            )));
        }
        let inputs = Inputs::from_args(&args.points)?.with_names_up_to(MAX_NAME_BYTES);
        if let Some(input) = inputs
            .paths()
            .iter()
            .find(|input| paths::same(input, &args.store))
        {
            return Err(Failure::usage(format!(
                "{}: expected another name for the store than the input {}",
                args.store.display(),
                input.display()
            )));
        }
        let summary = OutputFile::given("--summary", args.summary.as_deref(), &[paths::JSON]);
        let read = [inputs.paths(), vec![&*args.store]].concat();
        paths::check(summary.as_slice(), &read)?;
        if !args.store.exists() {
            paths::check(&[OutputFile::new("", &args.store, &[paths::STORE])], &[])?;
        }
        Ok(Self {
            store: args.store.clone(),
            policy: args.policy.as_deref().map(policy::read).transpose()?,
            inputs,
            skip_nan: args.nan == NanArg::Skip,
            max_future: max_future(&args.max_future)?,
            batch: args.batch,
            backend: BackendConfig::from_args(args.backend)?,
            summary: args.summary.clone(),
            form: match (args.json_progress, args.quiet) {
                (true, _) => ProgressStyle::Json,
                (_, true) => ProgressStyle::Quiet,
                _ => ProgressStyle::Bar,
            },
        })
    }

    /// Reads the inputs and stores their points.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.backend.start()?;
        let started = Instant::now();
        let interrupt = Interrupt::on_ctrl_c()?;
        let memory = Memory::available().limit();
        let mut reader = self.inputs.open(memory)?;
        let limits = self.inputs.limits(&mut reader)?;
        let writer =
            StoreWriter::open(&self.store, self.policy.as_ref())?.with_max_future(self.max_future);
        let engine = self.backend.engine(writer.plan())?;
        let first_note = engine.note().map(str::to_owned);
        self.tell(first_note.as_deref());
        let form = if self.form == ProgressStyle::Bar {
            ProgressStyle::Bar
        } else {
            ProgressStyle::Quiet
        };
        self.line(&ProgressLine::Start {
            batches: writer.totals().batches,
        })?;
        let mut storing = BatchWriter {
            ingest: &self,
            limits,
            memory,
            progress: Progress::new(form, self.inputs.mebibytes()),
            writer,
            engine,
            so_far: Counts::default(),
            batches: 0,
            pending: Pending::default(),
            seconds: StageSeconds::default(),
            begun: Instant::now(),
        };
        let setup_seconds = started.elapsed().as_secs_f64();
        let stored = storing.all(&mut reader, &interrupt);
        let BatchWriter {
            progress,
            writer,
            engine,
            so_far,
            batches,
            seconds,
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
        let first_future = writer.first_future().cloned();
        if so_far.taken.future > 0 && so_far.taken.future == so_far.taken.points {
            writer.discard_if_empty()?;
            let sentence = self.future(so_far.taken.future, first_future.as_ref());
            return Err(Failure::failed(format!(
                "{}: {sentence}; nothing was stored",
                self.inputs.description()
            )));
        }
        let (totals, policy) = (writer.totals(), writer.policy().to_string());
        let discarded = match batches {
            0 => writer.discard_if_empty()?,
            _ => writer.close().map(|()| false)?,
        };
        let total = begun.elapsed().as_secs_f64();
        self.line(&ProgressLine::End)?;

        let mut notes = reader.notes();
        if so_far.taken.future > 0 {
            notes.push(self.future(so_far.taken.future, first_future.as_ref()));
        }
        notes.extend(so_far.taken.other_values());
        if discarded {
            notes.push(format!(
                "{}: not created because there was nothing to store",
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
        if engine.note() != first_note.as_deref() {
            notes.extend(engine.note().map(str::to_owned));
        }
        notes.iter().for_each(|sentence| self.tell(Some(sentence)));
        notes.extend(first_note);
        let outputs = (!discarded).then_some(&self.store).into_iter();
        let outputs = outputs.chain(&self.summary).map(PathBuf::as_path);
        let mut record = RunRecord::new(engine.setup().clone(), total);
        record.outputs = paths::names(outputs);
        let summary = Summary {
            store: self.store.display().to_string(),
            policy,
            record: record.after(self.inputs.names(), setup_seconds, notes),
            input_bytes: self.inputs.bytes(),
            so_far,
            batches,
            malformed: Malformed {
                rows: skipped.rows,
                first: skipped.first.clone(),
            },
            totals,
            store_bytes: std::fs::metadata(&self.store).map_or(0, |found| found.len()),
            stage_seconds: seconds,
            points_per_second: so_far.taken.points as f64 / total,
        };
        if let Some(path) = &self.summary {
            let text = serde_json::to_string_pretty(&summary)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if self.form == ProgressStyle::Bar {
            say(&summary.table())?;
        }
        Ok(())
    }

    /// The sentence about points that are too far in the future.
    fn future(&self, points: u64, first: Option<&(String, i64)>) -> String {
        let zone = self.inputs.zone();
        let first = first.map_or_else(String::new, |(series, time)| {
            format!(", the first of series {series} at {}", iso_in(*time, zone))
        });
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX));
        let now = now - now % 1_000_000_000;
        format!(
            "{} refused as later than this computer's clock ({}) by more than --max-future{first}; --max-future none stores such points, which moves the back window of their series for good",
            were(points, "point"),
            iso_in(now, zone)
        )
    }

    fn tell(&self, sentence: Option<&str>) {
        if let Some(sentence) = sentence
            && self.form != ProgressStyle::Quiet
        {
            note(sentence);
        }
    }

    fn line(&self, line: &ProgressLine) -> Result<(), Failure> {
        if self.form != ProgressStyle::Json {
            return Ok(());
        }
        let text = serde_json::to_string(line)? + "\n";
        let mut stream = ProgressStream;
        // The stream keeps an error, which ends the command once all points are stored.
        let written = stream.write_all(text.as_bytes());
        written.and_then(|()| stream.flush()).unwrap_or_default();
        Ok(())
    }
}
