//! `warpstride sas fit`.

use super::files;
use super::fit_parameters::{self, FitParameters};
use super::model_config::ModelConfig;
use super::resolution::{ResolutionArg, ResolutionConfig};
use super::results::{OutputFiles, Summary, table};
use crate::cli::args::{FitMethodArg, SasFitArgs};
use crate::cli::failure::Failure;
use crate::cli::output::{ProgressStream, note, say, say_json, warn};
use crate::cli::paths;
use crate::data::Scattering;
use crate::run::{Bar, End, Interrupt, JsonLines, Observer, Run, Schedule, Silent};
use crate::sas::fit::{self, Entry, Measured, Method, Options, Problem, Selection, Weighting};
use crate::sas::io::ReadOptions;
use crate::sas::{Role, SasError, Vector, problems};
use crate::text::{count, significant};
use std::path::PathBuf;
use std::time::Instant;

/// What is printed on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    Table,
    Json,
    /// Progress during the fit, nothing at the end.
    Progress,
    Quiet,
}

/// A fit with checked options.
#[derive(Debug)]
pub(crate) struct Fit {
    data: PathBuf,
    reading: ReadOptions,
    model: ModelConfig,
    parameters: FitParameters,
    options: Options,
    selection: Selection,
    resolution: ResolutionConfig,
    files: OutputFiles,
    format: OutputFormat,
}

impl Fit {
    /// Checks the options and the output files.
    pub(crate) fn from_args(args: SasFitArgs) -> Result<Self, Failure> {
        // Only the data show whether angles have an effect, so angles are accepted here.
        let model = ModelConfig::from_args(&args.model, &args.backend, true, &args.fit)?;
        let parameters = FitParameters::from_args(&model, &args.fit)?;
        let options = options(&args)?;
        match options.method {
            Method::Evolution => parameters.check_bounds(&model, "--method de")?,
            Method::LevenbergMarquardt if options.starts > 1 => {
                parameters.check_bounds(&model, &format!("--starts {}", options.starts))?;
            }
            Method::LevenbergMarquardt => {}
        }
        let files = OutputFiles {
            output: args.output,
            summary: args.summary,
            report: args.report,
            plot: args.plot,
        };
        let format = match (args.json, args.json_progress, args.quiet) {
            (true, ..) => OutputFormat::Json,
            (_, true, _) => OutputFormat::Progress,
            (.., true) => OutputFormat::Quiet,
            _ => OutputFormat::Table,
        };
        if matches!(format, OutputFormat::Quiet | OutputFormat::Progress) && files.is_empty() {
            let option = if format == OutputFormat::Quiet {
                "--quiet"
            } else {
                "--json-progress"
            };
            return Err(Failure::usage(format!(
                "{option}: expected -o, --summary, --report or --plot beside it, found none: the result would be lost"
            )));
        }
        let mut inputs = vec![args.data.as_path()];
        inputs.extend(model.inputs());
        files.check(&inputs)?;
        Ok(Self {
            reading: files::read_options(args.select, args.q_unit)?,
            selection: Selection {
                positive: args.positive,
                q: args
                    .qrange
                    .as_deref()
                    .map(fit_parameters::q_range)
                    .transpose()?,
                ..Selection::default()
            },
            resolution: ResolutionConfig::from_args(Some(&args.resolution), args.smear_on, true)?,
            data: args.data,
            model,
            parameters,
            options,
            files,
            format,
        })
    }

    /// Reads the data, runs the fit and writes the output.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.model.backend.start()?;
        let begun = Instant::now();
        let file = self.data.display().to_string();
        let read = crate::sas::io::read(&self.data, &self.reading)?;
        let data = self
            .selection
            .of(&read)
            .map_err(|e| Failure::failed(format!("{file}: {e}")))?;
        drop(read);
        let problems = problems(&data);
        let pixels = matches!(data, Scattering::Image(_));
        self.refuse_angles(&file, pixels)?;
        let measured = Measured::new(&data, Weighting::Data)
            .map_err(|e| Failure::failed(format!("{file}: {e}")))?;

        let (mut calculation, vector) = self.model.calculation(measured.points.clone())?;
        let largest = self.parameters.largest(&self.model, &calculation, &vector);
        let size = self.model.diameter(&largest);
        calculation.resolution = self.resolution.of_data(&data, &file, size)?;
        let smeared = match (self.resolution.kind, &calculation.resolution) {
            (ResolutionArg::Data, None) => "none: the data have no resolution".to_owned(),
            (ResolutionArg::Data, Some(_)) => "of the data".to_owned(),
            (resolution, _) => resolution.to_arg(),
        };
        let mut notes = self.model.without_effect(pixels);
        notes.extend(self.parameters.note());
        let problem = Problem::new(calculation.clone(), measured, vector, &self.parameters.free)
            .and_then(|problem| problem.tied(&self.model.ties))
            .map_err(|why| match why {
                SasError::TooFewPoints { .. } => Failure::failed(format!("{file}: {why}")),
                why => Failure::usage(why),
            })?;
        let distributions = calculation.polydispersity.clone();
        let chosen = self.model.backend.engine(calculation)?;
        let mut engine = chosen.engine;
        notes.extend(chosen.note);
        if self.format != OutputFormat::Quiet {
            problems.iter().for_each(|sentence| warn(sentence));
            notes.iter().for_each(|sentence| note(sentence));
        }

        let search =
            fit::Fit::new(problem, engine.as_mut(), self.options).map_err(Failure::usage)?;
        // Until here there is nothing to save, and Ctrl-C ends the program.
        let interrupt = Interrupt::on_ctrl_c()?;
        let setup_seconds = begun.elapsed().as_secs_f64();
        let mut run = Run::new(search.stopped_by(&interrupt));
        let schedule = Schedule { every: None };
        let end = run.execute(self.observer().as_mut(), &interrupt, schedule)?;
        let mut search = run.into_steps();
        if end == End::Interrupted && search.best().is_none() {
            return Err(Failure::Interrupted(
                "stopped before the first result; no file was written".to_owned(),
            ));
        }
        let (mut result, comparison) = search.result()?;
        let best = search.problem().vector(search.best().unwrap_or_default());
        let cut = self.model.notes_on_distributions(&distributions, &best);
        result.record.notes.extend(cut);
        if self.format != OutputFormat::Quiet {
            result.problems.iter().for_each(|sentence| warn(sentence));
            let found = result.record.notes.iter();
            found.for_each(|sentence| note(sentence));
        }
        result.problems.splice(0..0, problems);
        let inputs = std::iter::once(self.data.as_path()).chain(self.model.inputs());
        result.record = (result.record).after(paths::names(inputs), setup_seconds, notes);
        // A picture that cannot be drawn must not lose the result.
        let plot = self.files.draw(&result, &comparison);
        result.record.outputs = paths::names(self.files.written(&plot));
        let summary = Summary::new(
            &result,
            &comparison,
            smeared,
            self.model.polydispersity_summary(&distributions, &best),
            self.command(&best, pixels),
        );
        (self.files).write(&result, &comparison, &summary, &plot, &file)?;
        match self.format {
            OutputFormat::Table => say(&table(&result, &file))?,
            OutputFormat::Json => say_json(&summary)?,
            OutputFormat::Progress | OutputFormat::Quiet => {}
        }
        match end {
            End::Finished => plot.map(drop),
            End::Interrupted => Err(Failure::Interrupted(format!(
                "stopped after {} with χ²/point {}; the best so far {}",
                count(result.history.len(), ["round", "rounds"]),
                significant(result.chi2_per_point, 4),
                if self.files.is_empty() {
                    "was printed".to_owned()
                } else {
                    format!("is in {}", result.record.outputs.join(", "))
                }
            ))),
        }
    }

    /// Refuses options of angles and magnetism if the data are a curve.
    fn refuse_angles(&self, file: &str, pixels: bool) -> Result<(), Failure> {
        if pixels {
            return Ok(());
        }
        let rows = self.model.definition.rows();
        let needs_image = |index: usize| {
            matches!(
                rows[index].role,
                Role::Angle(_) | Role::Spin(_) | Role::Moment { .. }
            )
        };
        let refused = |option: &str, name: &str| {
            Err(Failure::usage(format!(
                "{option} {name}: expected an image in {file}, found a curve, on which {name} has no effect"
            )))
        };
        if let Some(polydispersity) = self
            .model
            .polydispersity
            .iter()
            .find(|s| needs_image(s.parameter_index()))
        {
            return refused("--pd", &rows[polydispersity.parameter_index()].name);
        }
        match self
            .parameters
            .indices
            .iter()
            .find(|index| needs_image(**index))
        {
            Some(index) => refused("--fit", &rows[*index].name),
            None => Ok(()),
        }
    }

    /// The command that computes the model with the fitted values, quoted for a shell.
    fn command(&self, best: &Vector, pixels: bool) -> String {
        format!(
            "warpstride sas evaluate {} {}",
            self.model.definition.name(),
            self.model.options(best, pixels)
        )
    }

    fn observer(&self) -> Box<dyn Observer<Entry>> {
        match self.format {
            OutputFormat::Table | OutputFormat::Json => Box::new(Bar::new(|entry: &Entry| {
                format!("χ²/point {}", significant(entry.chi2_per_point, 4))
            })),
            OutputFormat::Progress => Box::new(JsonLines::new(ProgressStream)),
            OutputFormat::Quiet => Box::new(Silent),
        }
    }
}

/// Options of the search: `--method`, `--starts`, `--iterations`, `--seed`.
fn options(args: &SasFitArgs) -> Result<Options, Failure> {
    let mut options = Options::default();
    for (option, count) in [("--starts", args.starts), ("--iterations", args.iterations)] {
        if count == Some(0) {
            return Err(Failure::usage(format!("{option} 0: expected 1 or more")));
        }
    }
    match args.method {
        FitMethodArg::Lm => {
            options.method = Method::LevenbergMarquardt;
            options.starts = args.starts.unwrap_or(1);
            options.iterations = args.iterations.unwrap_or(options.iterations);
            if let (Some(seed), 1) = (args.seed, options.starts) {
                return Err(Failure::usage(format!(
                    "--seed {seed}: expected --starts N or --method de beside it, as a search from one start uses no random numbers"
                )));
            }
        }
        FitMethodArg::De => {
            options.method = Method::Evolution;
            options.generations = args.iterations.unwrap_or(options.generations);
            if let Some(starts) = args.starts {
                return Err(Failure::usage(format!(
                    "--starts {starts}: expected --method lm, found de, whose population has one start"
                )));
            }
        }
    }
    options.seed = args.seed.unwrap_or(options.seed);
    Ok(options)
}
