//! `warpstride sas fit`.

use super::fit_parameters::{self, FitParameters};
use super::model_config::ModelConfig;
use super::resolution::{ResolutionArg, ResolutionConfig};
use super::results::{Curves, OutputFiles, SetSummary, Summary, numbered, table};
use super::{files, values};
use crate::args::{FitMethodArg, SasFitArgs};
use crate::failure::Failure;
use crate::output::{ProgressStream, note, say, say_json, warn};
use crate::paths;
use std::path::{Path, PathBuf};
use std::time::Instant;
use warpstride::run::{Bar, End, Interrupt, JsonLines, Observer, Run, Schedule, Silent};
use warpstride::sas::data::Scattering;
use warpstride::sas::fit::{
    self, DataSet, Entry, Measured, Method, Options, Problem, Selection, Weighting, largest_values,
};
use warpstride::sas::io::ReadOptions;
use warpstride::sas::{Engine, JointEngine, Role, SasError, Vector, problems};
use warpstride::text::{count, significant};

/// Most data files of a fit.
const MAX_FILES: usize = 100;

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
    data: Vec<PathBuf>,
    /// For each file, as the models.
    readings: Vec<ReadOptions>,
    models: Vec<ModelConfig>,
    parameters: FitParameters,
    options: Options,
    selection: Selection,
    resolution: ResolutionConfig,
    files: OutputFiles,
    format: OutputFormat,
}

/// A data file, read, with the calculation at its points.
struct Loaded {
    file: String,
    pixels: bool,
    /// The resolution, in words.
    smeared: String,
    problems: Vec<String>,
    set: DataSet,
}

impl Fit {
    /// Checks the options and the output files.
    pub(crate) fn from_args(args: SasFitArgs) -> Result<Self, Failure> {
        let files = args.data.len();
        if files > MAX_FILES {
            return Err(Failure::usage(format!(
                "DATA: expected at most {MAX_FILES} files, found {files}"
            )));
        }
        let named = [args.fit.as_slice(), &args.model.set].concat();
        let models = (1..=files).map(|number| {
            let set = values::of_data_set(&args.model.set, number, files)?;
            // Only the data show whether angles have an effect, so angles are accepted here.
            ModelConfig::from_args(&args.model, &set, &args.backend, true, &named)
        });
        let models = models.collect::<Result<Vec<_>, Failure>>()?;
        let parameters = FitParameters::from_args(&models, &args.fit, &args.share)?;
        let options = options(&args)?;
        match options.method {
            Method::Evolution => parameters.check_bounds(&models[0], "--method de")?,
            Method::LevenbergMarquardt if options.starts > 1 => {
                parameters.check_bounds(&models[0], &format!("--starts {}", options.starts))?;
            }
            Method::LevenbergMarquardt => {}
        }
        let format = match (args.json, args.json_progress, args.quiet) {
            (true, ..) => OutputFormat::Json,
            (_, true, _) => OutputFormat::Progress,
            (.., true) => OutputFormat::Quiet,
            _ => OutputFormat::Table,
        };
        let outputs = OutputFiles {
            output: numbered(args.output, files),
            summary: args.summary,
            report: args.report,
            plot: numbered(args.plot, files),
        };
        if matches!(format, OutputFormat::Quiet | OutputFormat::Progress) && outputs.is_empty() {
            let option = if format == OutputFormat::Quiet {
                "--quiet"
            } else {
                "--json-progress"
            };
            return Err(Failure::usage(format!(
                "{option}: expected -o, --summary, --report or --plot beside it, found none: the result would be lost"
            )));
        }
        let mut inputs: Vec<&Path> = args.data.iter().map(PathBuf::as_path).collect();
        inputs.extend(models.iter().flat_map(ModelConfig::inputs));
        outputs.check(&inputs)?;
        if args.select.len() > 1 && args.select.len() != files {
            return Err(Failure::usage(format!(
                "--select: expected one for all files or one for each of {files}, found {}",
                args.select.len()
            )));
        }
        let select = |at: usize| args.select.get(at).or(args.select.first());
        let readings = (0..files)
            .map(|at| files::read_options(select(at).cloned(), args.q_unit))
            .collect::<Result<Vec<_>, Failure>>()?;
        Ok(Self {
            readings,
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
            models,
            parameters,
            options,
            files: outputs,
            format,
        })
    }

    /// Reads the file of a data set.
    fn load(&self, at: usize) -> Result<Loaded, Failure> {
        let (path, model) = (&self.data[at], &self.models[at]);
        let file = path.display().to_string();
        let read = warpstride::sas::io::read(path, &self.readings[at])?;
        let data = self
            .selection
            .of(&read)
            .map_err(|e| Failure::failed(format!("{file}: {e}")))?;
        drop(read);
        let pixels = matches!(data, Scattering::Image(_));
        self.refuse_angles(at, &file, pixels)?;
        let measured = Measured::new(&data, Weighting::Data)
            .map_err(|e| Failure::failed(format!("{file}: {e}")))?;
        let (mut calculation, base) = model.calculation(measured.points.clone())?;
        let place = (at, self.data.len());
        let largest = largest_values(
            &calculation,
            &base,
            &self.parameters.free,
            place,
            &model.ties,
        );
        calculation.resolution =
            (self.resolution).of_data(&data, &file, model.definition.diameter(&largest))?;
        let smeared = match (self.resolution.kind, &calculation.resolution) {
            (ResolutionArg::Data, None) => "none: the data have no resolution".to_owned(),
            (ResolutionArg::Data, Some(_)) => "of the data".to_owned(),
            (resolution, _) => resolution.to_arg(),
        };
        let mut problems = problems(&data);
        if self.data.len() > 1 {
            problems
                .iter_mut()
                .for_each(|sentence| *sentence = format!("{file}: {sentence}"));
        }
        Ok(Loaded {
            file,
            pixels,
            smeared,
            problems,
            set: DataSet {
                calculation,
                measured,
                base,
            },
        })
    }

    /// The engine of all data sets, and notes on the choice of the back end.
    fn engine(&self, loaded: &[Loaded]) -> Result<(Box<dyn Engine>, Vec<String>), Failure> {
        let mut notes: Vec<String> = Vec::new();
        let mut members = Vec::with_capacity(loaded.len());
        for (model, of) in self.models.iter().zip(loaded) {
            let calculation = &of.set.calculation;
            let chosen = model.backend.engine(calculation.clone())?;
            let note = chosen.note.filter(|note| !notes.contains(note));
            notes.extend(note);
            members.push((calculation, chosen.engine));
        }
        if members.len() == 1
            && let Some((_, engine)) = members.pop()
        {
            return Ok((engine, notes));
        }
        Ok((Box::new(JointEngine::new(members)), notes))
    }

    /// Reads the data, runs the fit and writes the output.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.models[0].backend.start()?;
        let begun = Instant::now();
        let loaded = (0..self.data.len()).map(|at| self.load(at));
        let loaded = loaded.collect::<Result<Vec<_>, Failure>>()?;
        let files: Vec<&str> = loaded.iter().map(|of| of.file.as_str()).collect();
        let problems: Vec<String> = loaded.iter().flat_map(|of| of.problems.clone()).collect();
        let mut notes: Vec<String> = Vec::new();
        for (model, of) in self.models.iter().zip(&loaded) {
            for note in model.without_effect(of.pixels) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes.extend(self.parameters.note());
        let sets = loaded.iter().map(|of| of.set.clone()).collect();
        let problem = Problem::joint(sets, &self.parameters.free, &self.parameters.shared)
            .and_then(|problem| problem.tied(&self.models[0].ties))
            .map_err(|why| match why {
                SasError::TooFewPoints { .. } => {
                    Failure::failed(format!("{}: {why}", files.join(", ")))
                }
                why => Failure::usage(why),
            })?;
        let (mut engine, chosen) = self.engine(&loaded)?;
        notes.extend(chosen);
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
        let problem = search.problem();
        let best = problem.set_vectors(&problem.vector(search.best().unwrap_or_default()));
        let comparisons = problem.comparisons(&comparison);
        if self.format != OutputFormat::Quiet {
            result.problems.iter().for_each(|sentence| warn(sentence));
            let found = result.record.notes.iter();
            found.for_each(|sentence| note(sentence));
        }
        result.problems.splice(0..0, problems);
        let inputs = self.data.iter().map(PathBuf::as_path);
        let inputs = inputs.chain(self.models.iter().flat_map(ModelConfig::inputs));
        result.record = (result.record).after(paths::names(inputs), setup_seconds, notes);
        // A picture that cannot be drawn must not lose the result.
        let plot = self.files.draw(&result, &comparisons);
        result.record.outputs = paths::names(self.files.written(&plot));
        let of_set = |at: usize| {
            let (model, of) = (&self.models[at], &loaded[at]);
            let distributions = &of.set.calculation.polydispersity;
            SetSummary {
                file: of.file.clone(),
                resolution: of.smeared.clone(),
                polydispersity: model.polydispersity_summary(distributions, &best[at]),
                command: command(model, &best[at], of.pixels),
                curves: Curves::of(&comparisons[at]),
            }
        };
        let sets: Vec<SetSummary<'_>> = (0..loaded.len()).map(of_set).collect();
        self.files.write(&result, &comparisons, &sets, &plot)?;
        match self.format {
            OutputFormat::Table => say(&table(&result, &files))?,
            OutputFormat::Json => say_json(&Summary::new(&result, &sets))?,
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
    fn refuse_angles(&self, at: usize, file: &str, pixels: bool) -> Result<(), Failure> {
        if pixels {
            return Ok(());
        }
        let model = &self.models[at];
        let rows = model.definition.rows();
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
        if let Some(polydispersity) = model
            .polydispersity
            .iter()
            .find(|s| needs_image(s.parameter_index()))
        {
            return refused("--pd", &rows[polydispersity.parameter_index()].name);
        }
        let mut indices = self.parameters.in_set(at).map(|(_, index)| index);
        match indices.find(|index| needs_image(*index)) {
            Some(index) => refused("--fit", &rows[index].name),
            None => Ok(()),
        }
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

/// The command that computes a model with the fitted values, quoted for a shell.
fn command(model: &ModelConfig, best: &Vector, pixels: bool) -> String {
    format!(
        "warpstride sas evaluate {} {}",
        model.definition.name(),
        model.options(best, pixels)
    )
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
