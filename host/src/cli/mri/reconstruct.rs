//! `warpstride mri reconstruct`: from arguments to an image.

use super::backend::{division, engine, fitting};
use super::coil_maps::CoilMapSource;
use super::field::FieldSource;
use super::prepare::{ReconstructionOptions, uses_trigonometry};
use super::results::Files;
use super::sample_source::{SampleArgs, SampleSource, with_headers};
use crate::cli::args::{MriReconstructArgs, NiftiArg, PrecisionArg};
use crate::cli::devices_request::DevicesRequest;
use crate::cli::failure::Failure;
use crate::cli::output::{ProgressStream, note_lines, say};
use crate::cli::{paths, threads};
use crate::data::{KSpace, MriImage};
use crate::mri::MriSummary;
use crate::mri::io::images::{self, NiftiValues};
use crate::mri::metrics::compare;
use crate::mri::{
    Coverage, Engine, MemorySizes, OperatorName, Recipe, ReconstructionSteps, Residual, Run,
    Trigonometry, diagnose, grid_of,
};
use crate::run::{Bar, End, Interrupt, JsonLines, Observer, RunRecord, Schedule, Silent};
use crate::system::Memory;
use crate::text::{count, shortest, significant};
use ndarray::Array3;
use num_complex::Complex;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Largest modulus of a reference: the squares of these can be added in double precision.
const REFERENCE_SIZES: std::ops::RangeInclusive<f64> = 1e-100..=1e100;
/// Share of the signal's energy above which an image that does not explain it is doubtful.
const UNEXPLAINED: f64 = 0.7;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressOutput {
    /// A progress bar on a terminal and a summary at the end.
    Text,
    /// JSON lines on standard output.
    Json,
    /// No output.
    Quiet,
}

/// A checked reconstruction.
#[derive(Debug)]
pub(crate) struct Reconstruct {
    source: SampleSource,
    /// The files that are read: the samples first.
    inputs: Vec<String>,
    options: ReconstructionOptions,
    precision: PrecisionArg,
    request: DevicesRequest,
    threads: Option<usize>,
    reference: Option<PathBuf>,
    files: Files,
    progress: ProgressOutput,
}

impl Reconstruct {
    /// Checks options and outputs.
    pub(crate) fn from_args(args: MriReconstructArgs) -> Result<Self, Failure> {
        let threads = args.backend.backend.threads;
        threads::check(threads)?;
        let double = args.precision == PrecisionArg::F64;
        let request = DevicesRequest::from_args(&args.backend, double, false)?;
        let options = ReconstructionOptions {
            method: args.method,
            operator: args.operator,
            iterations: args.iterations,
            min_residual: args.min_residual,
            lambda: args.lambda,
            maps: CoilMapSource::from_arg(&args.coil_maps)?,
            density: args.density,
            intensity_correction: args.intensity_correction,
            tolerance: args.tolerance,
            trig: args.trig,
            field: match (args.off_resonance, args.field) {
                (Some(path), _) => Some(FieldSource::OffResonance(path)),
                (None, Some(path)) => Some(FieldSource::Basis(path)),
                (None, None) => None,
            },
        };
        options.check()?;
        // A plane has the smallest of all; the samples tell whether there are three axes.
        options.check_tolerance(args.precision, 2)?;
        let is_nifti = images::is_nifti(&args.output).is_some();
        if let (Some(values), false) = (args.nifti, is_nifti) {
            return Err(Failure::usage(format!(
                "--nifti {}: expected -o with a name that ends in .nii or .nii.gz, found {}",
                match values {
                    NiftiArg::Magnitude => "magnitude",
                    NiftiArg::Complex => "complex",
                },
                args.output.display()
            )));
        }
        let files = Files {
            image: args.output,
            nifti: match args.nifti {
                None | Some(NiftiArg::Magnitude) => NiftiValues::Magnitude,
                Some(NiftiArg::Complex) => NiftiValues::Complex,
            },
            summary: args.summary,
            report: args.report,
            png: args.png,
        };
        let source = SampleSource::from_args(SampleArgs {
            file: args.file,
            trajectory: args.trajectory,
            matrix: args.matrix,
            group: args.group,
            select: args.select,
        })?;
        let mut inputs = source.files();
        inputs.extend(args.reference.as_deref());
        inputs.extend(options.maps.file());
        inputs.extend(options.field.as_ref().map(FieldSource::file));
        let read = with_headers(&inputs);
        files.check(&read.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        Ok(Self {
            inputs: paths::names(inputs),
            source,
            options,
            precision: args.precision,
            request,
            threads,
            reference: args.reference,
            files,
            progress: match (args.json_progress, args.quiet) {
                (true, _) => ProgressOutput::Json,
                (_, true) => ProgressOutput::Quiet,
                _ => ProgressOutput::Text,
            },
        })
    }

    /// Reads the samples, computes and writes the image.
    pub(crate) fn run(self) -> Result<(), Failure> {
        threads::start(self.threads)?;
        let begun = Instant::now();
        let memory = Memory::available();
        let read = self.source.read(memory)?;
        let kspace = read.kspace;
        let grid = grid_of(&kspace);
        self.options.check_tolerance(self.precision, grid.axes)?;
        let name = self.source.file().display().to_string();
        let sizes = MemorySizes::new(
            grid,
            kspace.count(),
            kspace.coils(),
            self.options.recipe().operator,
        )
        .with_pipe(self.options.may_use_pipe_menon());
        let cpu_only = (self.precision == PrecisionArg::F64)
            .then_some("the GPU back end computes in f32 only");
        let backend = self.request.open(cpu_only, crate::mri::cuda::kernels)?;
        let with_maps = self.options.maps != CoilMapSource::None;
        let backend = fitting(backend, &sizes, with_maps, self.precision, memory)
            .map_err(|failure| with_file_name(&name, failure))?;
        let reference = match &self.reference {
            Some(path) => Some(reference(path, &kspace, memory)?),
            None => None,
        };

        let prepared = self.options.prepare(&kspace, &name, memory)?;
        let division = division(&backend, &prepared.problem);
        let chosen = engine(
            backend,
            &prepared.problem,
            &prepared.recipe,
            self.precision,
            memory,
        )?;
        let setup_seconds = begun.elapsed().as_secs_f64();
        // Until here there is no image to save, so Ctrl-C ends the program.
        let interrupt = Interrupt::on_ctrl_c()?;
        let backend = chosen.engine.setup().backend;
        let mut notes: Vec<String> = chosen.note.into_iter().chain(division).collect();
        notes.extend(read.notes);
        notes.extend(self.options.without_effect(&prepared.recipe, backend));
        notes.extend(prepared.notes);
        let coverage = Coverage::new(&kspace);
        let mut problems = diagnose(&kspace, &coverage);
        if prepared.density == "ramp" && coverage.spokes.is_none() {
            notes.push(
                "--density ramp assumes spokes, but these readouts are not spokes".to_owned(),
            );
        }
        if self.progress == ProgressOutput::Text {
            let warnings = problems.iter().map(|text| format!("warning: {text}\n"));
            say(&(note_lines(&notes) + &warnings.collect::<String>()))?;
        }
        let mut run = Run::new(ReconstructionSteps::new(chosen.engine));
        let schedule = Schedule { every: None };
        let end = run.execute(self.progress.observer().as_mut(), &interrupt, schedule)?;
        let image = run.steps_mut().image()?;
        let data_residual = run.steps_mut().data_residual()?;

        if let Some(note) = stopped_early(run.steps().engine(), &prepared.recipe) {
            if self.progress == ProgressOutput::Text {
                say(&format!("note: {note}\n"))?;
            }
            notes.push(note);
        }
        if let (End::Finished, Some(problem)) = (end, data_residual.and_then(unexplained)) {
            if self.progress == ProgressOutput::Text {
                say(&format!("warning: {problem}\n"))?;
            }
            problems.push(problem);
        }
        let metrics = reference.and_then(|reference| compare(&image, &reference));
        let engine = run.steps().engine();
        let setup = engine.setup();
        let recipe = &prepared.recipe;
        let record = RunRecord::new(setup.clone(), run.seconds());
        let mut summary = MriSummary {
            record: record.after(self.inputs, setup_seconds, notes),
            problems,
            operator: recipe.operator.name().to_owned(),
            method: recipe.method.name().to_owned(),
            iterations: engine.done(),
            residuals: run.entries().iter().map(|entry| entry.residual).collect(),
            data_residual,
            ms_per_iteration: run.ms_per_iteration(),
            matrix: grid.shape,
            coils: kspace.coils(),
            readouts: kspace.readouts().len(),
            samples: kspace.count(),
            coil_maps: self.options.maps.name(),
            coil_map_sets: prepared.maps.as_ref().map(|maps| maps.dim().0),
            density: prepared.density.to_owned(),
            lambda: recipe.lambda,
            min_residual: recipe.min_residual,
            tolerance: (recipe.operator != OperatorName::Direct).then_some(recipe.tolerance),
            trigonometry: if uses_trigonometry(recipe, setup.backend) {
                recipe.trigonometry
            } else {
                Trigonometry::Accurate
            }
            .name()
            .to_owned(),
            intensity_correction: recipe.intensity_correction,
            nrmse: metrics.map(|m| m.nrmse),
            magnitude_nrmse: metrics.map(|m| m.magnitude_nrmse),
            psnr: metrics.map(|m| m.psnr),
            ssim: metrics.map(|m| m.ssim),
        };
        let result = MriImage {
            image,
            volume: grid.axes == 3,
            index: None,
            placement: read.placement,
            field_of_view: kspace.extent().field_of_view,
            coil_maps: prepared.maps,
            residuals: summary.residuals.clone(),
            recipe: serde_json::to_string(recipe)?,
            operator: summary.operator.clone(),
            method: summary.method.clone(),
            backend: setup.backend.to_owned(),
            device: setup.device.clone(),
            precision: setup.precision.to_owned(),
            version: summary.record.version.clone(),
            source: name,
        };
        let text = self.files.write(&result, &mut summary)?;
        if self.progress == ProgressOutput::Text {
            say(&text)?;
        }
        match end {
            End::Finished => Ok(()),
            End::Interrupted => Err(Failure::Interrupted(format!(
                "stopped after {} of {}; the image so far is in {}",
                summary.iterations,
                count(recipe.iterations, ["iteration", "iterations"]),
                self.files.image.display()
            ))),
        }
    }
}

/// A warning if the image explains little of the samples.
fn unexplained(data_residual: f64) -> Option<String> {
    (data_residual > UNEXPLAINED).then(|| {
        format!(
            "the image explains only {} % of the signal's energy: the samples are mostly noise, λ is too large, or the coil maps or the trajectory are not those of the samples",
            significant(100.0 * (1.0 - data_residual), 2)
        )
    })
}

/// A note if iterations were left out because the residual is small enough.
fn stopped_early(engine: &dyn Engine, recipe: &Recipe) -> Option<String> {
    (engine.converged() && engine.done() < recipe.iterations).then(|| {
        let (least, cause) = if engine.done() < recipe.min_iterations {
            (recipe.rounding, "only amplify rounding errors")
        } else {
            (recipe.min_residual, "mostly fit noise")
        };
        format!(
            "stopped after {} of {} iterations, at a residual of at most {}: later iterations {cause} (--min-residual 0 does them)",
            engine.done(),
            recipe.iterations,
            significant(least, 2)
        )
    })
}

impl ProgressOutput {
    fn observer(self) -> Box<dyn Observer<Residual>> {
        match self {
            Self::Text => Box::new(Bar::new(|entry: &Residual| {
                format!("residual {}", significant(entry.residual, 3))
            })),
            Self::Json => Box::new(JsonLines::new(ProgressStream)),
            Self::Quiet => Box::new(Silent),
        }
    }
}

/// Adds the name of the file that does not fit into memory.
fn with_file_name(file: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Failed(text) => Failure::Failed(format!("{file}: {text}")),
        other => other,
    }
}

/// Reads the reference, which must have the image's matrix.
fn reference(
    path: &Path,
    kspace: &KSpace,
    memory: Memory,
) -> Result<Array3<Complex<f64>>, Failure> {
    let image = images::read_within(path, memory)?;
    let expected = kspace.extent().matrix;
    if image.shape() != expected {
        return Err(Failure::failed(format!(
            "{}: reference: expected shape {expected:?} (slice, row, column), found {:?}",
            path.display(),
            image.shape()
        )));
    }
    if image.iter().all(|v| v.norm() == 0.0) {
        return Err(Failure::failed(format!(
            "{}: reference: expected values other than 0, found none",
            path.display()
        )));
    }
    let largest = image.iter().map(|v| v.norm()).fold(0.0, f64::max);
    if !REFERENCE_SIZES.contains(&largest) {
        return Err(Failure::failed(format!(
            "{}: reference: expected a largest modulus of {} to {}, as its squares are added, found {}",
            path.display(),
            shortest(*REFERENCE_SIZES.start()),
            shortest(*REFERENCE_SIZES.end()),
            significant(largest, 3)
        )));
    }
    Ok(image)
}
