//! Relaxes a field as the options specify.

use super::backend::{GroupRequest, device_count};
use super::inputs::{Grid, Inputs};
use super::{display, resume};
use crate::args::{BoundaryArg, JacobiArgs, PrecisionArg};
use crate::failure::Failure;
use crate::output::{ProgressStream, note, say, say_json};
use crate::paths::{self, OutputFile};
use crate::threads;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use warpstride::io::npy::{self, Element};
use warpstride::jacobi::report::{field_picture, timeline};
use warpstride::jacobi::{
    Boundary, BoxedEngines, MemorySizes, Norm, Problem, RelaxationSteps, Run, RunSummary, Stopping,
    idle_gaps,
};
use warpstride::run::{Bar, End, Interrupt, JsonLines, Observer, Schedule, Silent};
use warpstride::system::write_whole;
use warpstride::text::{count, shortest, significant};

/// One sweep, several sweeps.
const SWEEPS: [&str; 2] = ["sweep", "sweeps"];

/// The form of the standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    Table,
    Csv,
    Json,
    /// Progress during the run, nothing at the end.
    Progress,
    Quiet,
}

/// A relaxation with checked options.
#[derive(Debug)]
pub(crate) struct Relaxation {
    inputs: Inputs,
    stopping: Stopping,
    precision: Option<PrecisionArg>,
    request: GroupRequest,
    efficiency: bool,
    threads: Option<usize>,
    output: Option<PathBuf>,
    schedule: Schedule,
    plot: Option<PathBuf>,
    profile: Option<PathBuf>,
    format: OutputFormat,
}

impl Relaxation {
    /// Checks all options and output paths.
    ///
    /// # Errors
    /// An option is invalid, or an output cannot be written.
    pub(crate) fn from_args(args: &JacobiArgs) -> Result<Self, Failure> {
        for (option, count) in [
            ("--iterations", args.iterations),
            ("--check-every", args.check_every),
        ] {
            if count == 0 {
                return Err(Failure::usage(format!("{option} 0: expected 1 or more")));
            }
        }
        if !(args.tolerance.is_finite() && args.tolerance >= 0.0) {
            return Err(Failure::usage(format!(
                "--tolerance {}: expected a number, 0 or more",
                shortest(args.tolerance)
            )));
        }
        let every = Duration::try_from_secs_f64(args.save_every).map_err(|_| {
            Failure::usage(format!(
                "--save-every {}: expected seconds, 0 or more and below 1e19",
                shortest(args.save_every)
            ))
        })?;
        threads::check(args.threads)?;
        let relax = Self {
            inputs: Inputs {
                nx: args.nx,
                ny: args.ny,
                boundary: match args.boundary {
                    BoundaryArg::Textbook => Boundary::Textbook,
                    BoundaryArg::Dirichlet => Boundary::Dirichlet,
                    BoundaryArg::Periodic => Boundary::Periodic,
                },
                source: args.source.clone(),
                restart: args.restart.clone(),
            },
            stopping: Stopping {
                iterations: args.iterations,
                tolerance: args.tolerance,
                check_every: args.check_every,
            },
            precision: args.precision,
            request: GroupRequest::from_args(args)?,
            efficiency: args.efficiency,
            threads: args.threads,
            output: args.output.clone(),
            schedule: Schedule {
                every: (args.output.is_some() && !every.is_zero()).then_some(every),
            },
            plot: args.plot.clone(),
            profile: args.profile.clone(),
            format: match (args.csv, args.json, args.json_progress, args.quiet) {
                (true, ..) => OutputFormat::Csv,
                (_, true, ..) => OutputFormat::Json,
                (_, _, true, _) => OutputFormat::Progress,
                (.., true) => OutputFormat::Quiet,
                _ => OutputFormat::Table,
            },
        };
        let outputs = [
            OutputFile::given("-o", relax.output.as_deref(), &[paths::NPY]),
            OutputFile::given("--plot", relax.plot.as_deref(), &[paths::PNG]),
            OutputFile::given("--profile", relax.profile.as_deref(), &[paths::JSON]),
        ];
        let outputs: Vec<OutputFile<'_>> = outputs.into_iter().flatten().collect();
        paths::check(&outputs, &relax.inputs.files())?;
        Ok(relax)
    }

    /// Reads the inputs, relaxes the field and writes the outputs.
    pub(crate) fn run(self) -> Result<(), Failure> {
        threads::start(self.threads)?;
        let (precision, note) = resume::precision(self.precision, self.inputs.restart.as_deref())?;
        match precision {
            PrecisionArg::F32 => self.run_in::<f32>(note),
            PrecisionArg::F64 => self.run_in::<f64>(note),
        }
    }

    /// `precision_note`: on a precision that differs from that of the start field.
    fn run_in<T: BoxedEngines + Element + Into<f64>>(
        &self,
        precision_note: Option<String>,
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        let grid = Grid::of(&self.inputs)?;
        let sizes = MemorySizes {
            nx: grid.nx,
            ny: grid.ny,
            boundary: self.inputs.boundary,
            bytes: T::BYTES,
            restart: self.inputs.restart.is_some(),
            source: self.inputs.source.is_some(),
            output: self.output.is_some() || self.plot.is_some(),
        };
        let backend = self.request.open(&sizes)?;
        let problem: Problem<T> = grid.problem(&self.inputs)?;
        let devices = device_count(&backend);
        let chosen = (self.request).engine(backend, &problem, self.stopping, &sizes)?;
        let mut notes: Vec<String> = chosen.note.into_iter().chain(precision_note).collect();
        notes.extend(problem.notes());
        notes.iter().for_each(|sentence| self.note(sentence));
        let setup_seconds = begun.elapsed().as_secs_f64();

        let mut steps = RelaxationSteps::new(chosen.engine, self.stopping, self.output.as_deref());
        if self.profile.is_some() {
            steps = steps.with_timeline();
        }
        let mut run = Run::new(steps);
        let interrupt = Interrupt::on_ctrl_c()?;
        let mut observer = self.observer();
        let end = run.execute(observer.as_mut(), &interrupt, self.schedule)?;
        let mut summary = RunSummary::new(&run, &problem, self.stopping);
        summary.record =
            (summary.record).after(paths::names(self.inputs.files()), setup_seconds, notes);
        summary.record.outputs = self.write(&mut run, end)?;
        drop(run);
        if self.efficiency && end == End::Finished {
            match self.single_device_seconds(devices, &sizes, &problem, &interrupt) {
                Ok(seconds) => summary = summary.against_one_device(seconds),
                // The requested run is complete, so its metrics are still printed.
                Err(reason) => {
                    let sentence = format!("--efficiency: {reason}");
                    self.note(&sentence);
                    summary.record.notes.push(sentence);
                }
            }
        }
        match self.format {
            OutputFormat::Table => say(&display::table(&summary))?,
            OutputFormat::Csv => say(&display::csv(&summary.norms))?,
            OutputFormat::Json => say_json(&summary)?,
            OutputFormat::Progress | OutputFormat::Quiet => {}
        }
        match end {
            End::Finished => Ok(()),
            End::Interrupted => Err(self.interrupted(summary.iterations, T::NAME)),
        }
    }

    /// Writes the field and the files derived from it, and returns their names.
    fn write<T: BoxedEngines + Element + Into<f64>>(
        &self,
        run: &mut Run<'_, T>,
        end: End,
    ) -> Result<Vec<String>, Failure> {
        let mut written = Vec::new();
        let field = if self.plot.is_some() || (self.output.is_some() && end == End::Finished) {
            Some(run.steps_mut().field()?)
        } else {
            None
        };
        if let Some(path) = &self.output {
            // An interrupted run has already saved the field.
            if let (Some(field), End::Finished) = (&field, end) {
                npy::write(path, field.view())?;
            }
            written.push(path.display().to_string());
        }
        if let (Some(path), Some(field)) = (&self.plot, &field) {
            let sweeps = run.steps().engine().sweeps();
            let title = format!("Field after {}", count(sweeps, SWEEPS));
            field_picture(&title, field.view())?.write(path)?;
            written.push(path.display().to_string());
        }
        if let Some(path) = &self.profile {
            let steps = run.steps();
            let (setup, execution) = (steps.engine().setup(), steps.engine().execution());
            let gaps = (!setup.is_emulated()).then(|| idle_gaps(steps.spans()));
            let text = timeline(setup, execution, steps.spans(), gaps.as_deref())?;
            write_whole(path, text.as_bytes())?;
            written.push(path.display().to_string());
        }
        Ok(written)
    }

    /// The time in seconds of the same sweeps on one device.
    fn single_device_seconds<T: BoxedEngines + Element>(
        &self,
        devices: usize,
        sizes: &MemorySizes,
        problem: &Problem<T>,
        interrupt: &Interrupt,
    ) -> Result<f64, Failure> {
        if devices == 1 {
            return Err(Failure::failed(
                "there is only one device, so there is nothing to compare with",
            ));
        }
        if self.request.is_emulated() {
            return Err(Failure::failed(
                "not computed, as the emulator's devices take turns on the CPU",
            ));
        }
        let request = self.request.alone();
        let backend = request.open(sizes)?;
        let chosen = request.engine(backend, problem, self.stopping, sizes)?;
        let mut run = Run::new(RelaxationSteps::new(chosen.engine, self.stopping, None));
        let schedule = Schedule { every: None };
        match run.execute(&mut Silent, interrupt, schedule)? {
            End::Finished => Ok(run.seconds()),
            End::Interrupted => Err(Failure::failed("interrupted before it was measured")),
        }
    }

    fn interrupted(&self, sweeps: usize, precision: &str) -> Failure {
        let planned = self.stopping.iterations;
        let saved = match &self.output {
            Some(path) => format!(
                "the field is saved; to resume, use {}",
                resume::options(
                    &self.inputs,
                    self.stopping,
                    path,
                    planned - sweeps,
                    precision
                )
            ),
            None => "the field is lost (save it with -o FIELD.npy)".to_owned(),
        };
        Failure::Interrupted(format!(
            "stopped after {sweeps} of {}; {saved}",
            count(planned, SWEEPS)
        ))
    }

    fn note(&self, sentence: &str) {
        if self.format != OutputFormat::Quiet {
            note(sentence);
        }
    }

    fn observer(&self) -> Box<dyn Observer<Norm>> {
        match self.format {
            OutputFormat::Table | OutputFormat::Csv | OutputFormat::Json => {
                Box::new(Bar::new(|norm: &Norm| {
                    format!("norm {}", significant(norm.norm, 3))
                }))
            }
            OutputFormat::Progress => Box::new(JsonLines::new(ProgressStream)),
            OutputFormat::Quiet => Box::new(Silent),
        }
    }
}
