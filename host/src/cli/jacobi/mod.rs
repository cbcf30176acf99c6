//! `warpstride jacobi`: from what was typed to a relaxed field.

mod inputs;
mod machine;
mod need;
mod words;

use super::args::{BoundaryWord, JacobiTyped, PrecisionWord};
use super::failure::Failure;
use super::output::{note, say, say_json};
use super::{paths, threads};
use inputs::Grid;
use machine::Wish;
use need::Need;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use warpstride::io::npy::{self, Element};
use warpstride::jacobi::cuda::GpuReal;
use warpstride::jacobi::{Boundary, Course, Norm, Outcome, Problem, Stopping, idle_gaps};
use warpstride::report::{field_picture, significant, timeline, write_whole};
use warpstride::run::{Bar, End, Interrupt, JsonLines, Observer, Schedule, Silent, execute};

/// What goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Table,
    Csv,
    Json,
    /// Progress while it runs, nothing at the end.
    Progress,
    Quiet,
}

/// A checked relaxation.
#[derive(Debug)]
pub(crate) struct Relax {
    nx: Option<usize>,
    ny: Option<usize>,
    stopping: Stopping,
    precision: PrecisionWord,
    boundary: Boundary,
    source: Option<PathBuf>,
    restart: Option<PathBuf>,
    wish: Wish,
    efficiency: bool,
    threads: Option<usize>,
    output: Option<PathBuf>,
    schedule: Schedule,
    plot: Option<PathBuf>,
    profile: Option<PathBuf>,
    form: Form,
}

impl Relax {
    /// Checks every option, and every output.
    pub(crate) fn from_typed(typed: &JacobiTyped) -> Result<Self, Failure> {
        for (option, count) in [
            ("--iterations", typed.iterations),
            ("--check-every", typed.check_every),
        ] {
            if count == 0 {
                return Err(Failure::usage(format!("{option} 0: expected 1 or more")));
            }
        }
        if !(typed.tolerance.is_finite() && typed.tolerance >= 0.0) {
            return Err(Failure::usage(format!(
                "--tolerance {}: a number, 0 or more, is expected",
                typed.tolerance
            )));
        }
        let every = Duration::try_from_secs_f64(typed.save_every).map_err(|_| {
            Failure::usage(format!(
                "--save-every {}: seconds, 0 or more, are expected",
                typed.save_every
            ))
        })?;
        threads::check(typed.threads)?;
        let relax = Self {
            nx: typed.nx,
            ny: typed.ny,
            stopping: Stopping {
                iterations: typed.iterations,
                tolerance: typed.tolerance,
                check_every: typed.check_every,
            },
            precision: typed.precision,
            boundary: match typed.boundary {
                BoundaryWord::Textbook => Boundary::Textbook,
                BoundaryWord::Dirichlet => Boundary::Dirichlet,
                BoundaryWord::Periodic => Boundary::Periodic,
            },
            source: typed.source.clone(),
            restart: typed.restart.clone(),
            wish: Wish::from_typed(typed)?,
            efficiency: typed.efficiency,
            threads: typed.threads,
            output: typed.output.clone(),
            schedule: Schedule {
                every: (typed.output.is_some() && !every.is_zero()).then_some(every),
            },
            plot: typed.plot.clone(),
            profile: typed.profile.clone(),
            form: match (typed.csv, typed.json, typed.json_progress, typed.quiet) {
                (true, ..) => Form::Csv,
                (_, true, ..) => Form::Json,
                (_, _, true, _) => Form::Progress,
                (.., true) => Form::Quiet,
                _ => Form::Table,
            },
        };
        let outputs = [&relax.output, &relax.plot, &relax.profile];
        let outputs: Vec<&Path> = outputs
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect();
        let inputs = [&relax.source, &relax.restart];
        let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
        paths::check(&outputs, &inputs)?;
        Ok(relax)
    }

    /// Reads, relaxes and writes.
    pub(crate) fn run(self) -> Result<(), Failure> {
        threads::start(self.threads)?;
        match self.precision {
            PrecisionWord::F32 => self.run_in::<f32>(),
            PrecisionWord::F64 => self.run_in::<f64>(),
        }
    }

    fn run_in<T: GpuReal + Element + Into<f64>>(&self) -> Result<(), Failure> {
        let begun = Instant::now();
        let grid = Grid::of(self)?;
        let need = Need {
            nx: grid.nx,
            ny: grid.ny,
            boundary: self.boundary,
            bytes: T::BYTES,
            restart: self.restart.is_some(),
            source: self.source.is_some(),
            output: self.output.is_some() || self.plot.is_some(),
        };
        let machine = self.wish.open(&need)?;
        let problem: Problem<T> = grid.problem(self)?;
        let nothing = self.boundary.periodic_columns()
            && problem.start().is_none()
            && problem.source().is_none();
        let devices = machine.devices();
        let ready = machine.engine(&problem, self.stopping, &self.wish, &need)?;
        self.note(ready.note);
        self.note(nothing.then(|| {
            "everything is 0 and stays so: with periodic columns a --restart field or a --source is needed".to_owned()
        }));
        let setup_seconds = begun.elapsed().as_secs_f64();

        let mut course = Course::new(ready.engine, self.stopping, self.output.as_deref());
        if self.profile.is_some() {
            course = course.with_timeline();
        }
        let interrupt = Interrupt::on_ctrl_c()?;
        let mut observer = self.observer();
        let end = execute(&mut course, observer.as_mut(), &interrupt, self.schedule)?;
        let mut outcome = Outcome::new(&course, &problem, self.stopping, setup_seconds);
        let written = self.write(&mut course, end)?;
        drop(course);
        if self.efficiency && end == End::Finished {
            match self.alone(devices, &need, &problem, &interrupt) {
                Ok(Some(seconds)) => outcome = outcome.against_one_device(seconds),
                Ok(None) => {}
                // The run that was asked for is done, and its figures are not lost for this.
                Err(Failure::Failed(why) | Failure::Usage(why) | Failure::Interrupted(why)) => {
                    self.note(Some(format!("--efficiency: {why}")));
                }
            }
        }
        match self.form {
            Form::Table => say(&words::table(&outcome, &written))?,
            Form::Csv => say(&words::csv(&outcome.norms))?,
            Form::Json => say_json(&outcome)?,
            Form::Progress | Form::Quiet => {}
        }
        match end {
            End::Finished => Ok(()),
            End::Interrupted => Err(self.stopped(outcome.sweeps)),
        }
    }

    /// The field first, then what is made from it; gives the names.
    fn write<T: GpuReal + Element + Into<f64>>(
        &self,
        course: &mut Course<'_, T>,
        end: End,
    ) -> Result<Vec<String>, Failure> {
        let mut written = Vec::new();
        let field = if self.plot.is_some() || (self.output.is_some() && end == End::Finished) {
            Some(course.field()?)
        } else {
            None
        };
        if let Some(path) = &self.output {
            // A stopped run has saved it.
            if let (Some(field), End::Finished) = (&field, end) {
                npy::write(path, field.view())?;
            }
            written.push(path.display().to_string());
        }
        if let (Some(path), Some(field)) = (&self.plot, &field) {
            let sweeps = course.engine().sweeps();
            let title = format!("Field after {sweeps} sweeps");
            field_picture(&title, field.view())?.write(path)?;
            written.push(path.display().to_string());
        }
        if let Some(path) = &self.profile {
            let gaps = idle_gaps(course.spans());
            let text = timeline(course.engine().setup(), course.spans(), &gaps)?;
            write_whole(path, text.as_bytes())?;
            written.push(path.display().to_string());
        }
        Ok(written)
    }

    /// Seconds of the same sweeps on one device; `None` with a note where they are not known.
    fn alone<T: GpuReal + Element>(
        &self,
        devices: usize,
        need: &Need,
        problem: &Problem<T>,
        interrupt: &Interrupt,
    ) -> Result<Option<f64>, Failure> {
        if devices == 1 {
            self.note(Some(
                "--efficiency: there is one device, and nothing to compare it with".to_owned(),
            ));
            return Ok(None);
        }
        let wish = self.wish.alone();
        let machine = wish.open(need)?;
        let ready = machine.engine(problem, self.stopping, &wish, need)?;
        let mut course = Course::new(ready.engine, self.stopping, None);
        let schedule = Schedule { every: None };
        match execute(&mut course, &mut Silent, interrupt, schedule)? {
            End::Finished => Ok(Some(course.seconds())),
            End::Interrupted => {
                self.note(Some("--efficiency: stopped before it was known".to_owned()));
                Ok(None)
            }
        }
    }

    fn stopped(&self, sweeps: usize) -> Failure {
        let planned = self.stopping.iterations;
        let kept = match &self.output {
            Some(path) => format!(
                "the field is in {}, --restart with it and --iterations {} goes on",
                path.display(),
                planned - sweeps
            ),
            None => "nothing was kept (-o FIELD.npy keeps the field)".to_owned(),
        };
        Failure::Interrupted(format!(
            "stopped after {sweeps} of {planned} sweeps; {kept}"
        ))
    }

    fn note(&self, sentence: Option<String>) {
        if let Some(sentence) = sentence
            && self.form != Form::Quiet
        {
            note(&sentence);
        }
    }

    fn observer(&self) -> Box<dyn Observer<Norm>> {
        match self.form {
            Form::Table | Form::Csv | Form::Json => Box::new(Bar::new(|norm: &Norm| {
                format!("norm {}", significant(norm.norm, 3))
            })),
            Form::Progress => Box::new(JsonLines::new(std::io::stdout())),
            Form::Quiet => Box::new(Silent),
        }
    }
}
