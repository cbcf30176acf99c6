//! `warpstride sas fit`: from what was typed to parameters.

use super::files;
use super::results::{Files, Summary, table};
use super::smearing::{Smear, Smearer};
use super::wanted::Wanted;
use super::wishes::{self, Wishes};
use crate::cli::args::{FitMethodWord, SasFitTyped};
use crate::cli::failure::Failure;
use crate::cli::output::{note, say, say_json};
use std::path::PathBuf;
use warpstride::data::Scattering;
use warpstride::io::sas::{self, ReadOptions};
use warpstride::report::significant;
use warpstride::run::{Bar, End, Interrupt, JsonLines, Observer, Schedule, Silent, execute};
use warpstride::sas::fit::{self, Entry, Measured, Method, Options, Problem, Selection, Weighting};
use warpstride::sas::{Role, SasError, Vector};

/// What goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Table,
    Json,
    /// Progress while it runs, nothing at the end.
    Progress,
    Quiet,
}

/// A checked fit.
#[derive(Debug)]
pub(crate) struct Fit {
    data: PathBuf,
    reading: ReadOptions,
    wanted: Wanted,
    wishes: Wishes,
    options: Options,
    selection: Selection,
    smear: Smearer,
    files: Files,
    form: Form,
}

impl Fit {
    /// Checks options and outputs.
    pub(crate) fn from_typed(typed: SasFitTyped) -> Result<Self, Failure> {
        // Whether there are angles is known from the data only.
        let wanted = Wanted::from_typed(&typed.model, typed.machine, true, &typed.fit)?;
        let wishes = Wishes::from_typed(&wanted, &typed.fit)?;
        let options = options(&typed)?;
        match options.method {
            Method::Evolution => wishes.check_bounds(&wanted, "--method de")?,
            Method::LevenbergMarquardt if options.starts > 1 => {
                wishes.check_bounds(&wanted, &format!("--starts {}", options.starts))?;
            }
            Method::LevenbergMarquardt => {}
        }
        let files = Files {
            output: typed.output,
            summary: typed.summary,
            report: typed.report,
            plot: typed.plot,
        };
        let form = match (typed.json, typed.json_progress, typed.quiet) {
            (true, ..) => Form::Json,
            (_, true, _) => Form::Progress,
            (.., true) => Form::Quiet,
            _ => Form::Table,
        };
        if matches!(form, Form::Quiet | Form::Progress) && files.is_empty() {
            let option = if form == Form::Quiet {
                "--quiet"
            } else {
                "--json-progress"
            };
            return Err(Failure::usage(format!(
                "{option}: the fit would be lost; -o, --summary, --report or --plot is expected with it"
            )));
        }
        let mut inputs = vec![typed.data.as_path()];
        inputs.extend(wanted.inputs());
        files.check(&inputs)?;
        Ok(Self {
            reading: files::read_options(typed.select, typed.q_unit)?,
            selection: Selection {
                positive: typed.positive,
                q: typed.qrange.as_deref().map(wishes::q_range).transpose()?,
                ..Selection::default()
            },
            smear: Smearer::from_typed(Some(&typed.resolution), typed.smear_on, true)?,
            data: typed.data,
            wanted,
            wishes,
            options,
            files,
            form,
        })
    }

    /// Reads, searches and writes.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.wanted.machine.start()?;
        let file = self.data.display().to_string();
        let read = sas::read(&self.data, &self.reading)?;
        let data = self
            .selection
            .of(&read)
            .map_err(|e| Failure::failed(format!("{file}: {e}")))?;
        drop(read);
        let pixels = matches!(data, Scattering::Image(_));
        self.refuse_angles(&file, pixels)?;
        let measured = Measured::new(&data, Weighting::Data)
            .map_err(|e| Failure::failed(format!("{file}: {e}")))?;

        let (mut calculation, vector) = self.wanted.calculation(measured.points.clone())?;
        let size = self.wanted.size(&self.wishes.largest(&self.wanted));
        calculation.resolution = self.smear.of_data(&data, &file, size)?;
        let smeared = match (self.smear.smear, &calculation.resolution) {
            (Smear::Data, None) => "none: the data have no resolution".to_owned(),
            (Smear::Data, Some(_)) => "of the data".to_owned(),
            (smear, _) => smear.words(),
        };
        let mut notes = self
            .wanted
            .values
            .without_effect(&self.wanted.definition, pixels);
        notes.extend(self.wishes.note());
        let problem = Problem::new(calculation.clone(), measured, vector, &self.wishes.free)
            .map_err(|why| match why {
                SasError::TooFewPoints { .. } => Failure::failed(format!("{file}: {why}")),
                why => Failure::usage(why),
            })?;
        let distributions = calculation.spreads.clone();
        let (mut engine, chosen) = self.wanted.machine.engine(calculation)?;
        notes.extend(chosen);
        if self.form != Form::Quiet {
            notes.iter().for_each(|sentence| note(sentence));
        }

        let search =
            fit::Fit::new(problem, engine.as_mut(), self.options).map_err(Failure::usage)?;
        // Before, there is nothing to save: Ctrl-C ends the program.
        let interrupt = Interrupt::on_ctrl_c()?;
        let mut search = search.stopped_by(&interrupt);
        let end = execute(
            &mut search,
            self.observer().as_mut(),
            &interrupt,
            Schedule { every: None },
        )?;
        if end == End::Interrupted && search.best().is_none() {
            return Err(Failure::Interrupted(
                "stopped before anything was computed; nothing was written".to_owned(),
            ));
        }
        let (mut outcome, comparison) = search.outcome()?;
        if self.form != Form::Quiet {
            outcome.notes.iter().for_each(|sentence| note(sentence));
        }
        notes.append(&mut outcome.notes);
        outcome.notes = notes;
        let best = search.problem().vector(search.best().unwrap_or_default());
        let summary = Summary::new(
            &outcome,
            &comparison,
            &file,
            smeared,
            self.wanted.distributed(&distributions, &best),
            self.command(&best, pixels),
        );
        let written = self.files.write(&outcome, &comparison, &summary)?;
        match self.form {
            Form::Table => say(&table(&outcome, &file, &written))?,
            Form::Json => say_json(&summary)?,
            Form::Progress | Form::Quiet => {}
        }
        match end {
            End::Finished => Ok(()),
            End::Interrupted => Err(Failure::Interrupted(format!(
                "stopped after {} rounds with χ²/point {}; the best so far {}",
                outcome.history.len(),
                significant(outcome.chi2_per_point, 4),
                if written.is_empty() {
                    "was printed".to_owned()
                } else {
                    format!("is in {}", written.join(", "))
                }
            ))),
        }
    }

    /// Angles mean nothing for a curve.
    fn refuse_angles(&self, file: &str, pixels: bool) -> Result<(), Failure> {
        if pixels {
            return Ok(());
        }
        let rows = self.wanted.definition.rows();
        let two = |place: usize| {
            matches!(
                rows[place].role,
                Role::Angle(_) | Role::Spin(_) | Role::Moment { .. }
            )
        };
        let refused = |option: &str, name: &str| {
            Err(Failure::usage(format!(
                "{option} {name}: {file} holds a curve, on which {name} has no effect; an image is expected for it"
            )))
        };
        if let Some(spread) = self.wanted.spreads.iter().find(|s| two(s.place())) {
            return refused("--pd", &rows[spread.place()].name);
        }
        match self.wishes.places.iter().find(|place| two(**place)) {
            Some(place) => refused("--fit", &rows[*place].name),
            None => Ok(()),
        }
    }

    /// The command that computes the model with the values that were found.
    fn command(&self, best: &Vector, pixels: bool) -> String {
        format!(
            "warpstride sas evaluate {} {}",
            self.wanted.definition.name(),
            self.wanted.options(best, pixels)
        )
    }

    fn observer(&self) -> Box<dyn Observer<Entry>> {
        match self.form {
            Form::Table | Form::Json => Box::new(Bar::new(|entry: &Entry| {
                format!("χ²/point {}", significant(entry.chi2_per_point, 4))
            })),
            Form::Progress => Box::new(JsonLines::new(std::io::stdout())),
            Form::Quiet => Box::new(Silent),
        }
    }
}

/// `--method` and what goes with it.
fn options(typed: &SasFitTyped) -> Result<Options, Failure> {
    let mut options = Options::default();
    for (option, count) in [
        ("--starts", typed.starts),
        ("--iterations", typed.iterations),
    ] {
        if count == Some(0) {
            return Err(Failure::usage(format!("{option} 0: expected 1 or more")));
        }
    }
    match typed.method {
        FitMethodWord::Lm => {
            options.method = Method::LevenbergMarquardt;
            options.starts = typed.starts.unwrap_or(1);
            options.iterations = typed.iterations.unwrap_or(options.iterations);
            if let (Some(seed), 1) = (typed.seed, options.starts) {
                return Err(Failure::usage(format!(
                    "--seed {seed}: a search from one start has nothing random; --starts N or --method de is expected with it"
                )));
            }
        }
        FitMethodWord::De => {
            options.method = Method::Evolution;
            options.generations = typed.iterations.unwrap_or(options.generations);
            if let Some(starts) = typed.starts {
                return Err(Failure::usage(format!(
                    "--starts {starts}: a population (--method de) has one; --method lm is expected with it"
                )));
            }
        }
    }
    options.seed = typed.seed.unwrap_or(options.seed);
    Ok(options)
}
