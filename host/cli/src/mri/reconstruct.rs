//! `warpstride mri reconstruct`: from arguments to an image.

use super::backend::{division, engine, fitting};
use super::coil_maps::CoilMapSource;
use super::field::FieldSource;
use super::prepare::{ReconstructionOptions, uses_trigonometry};
use super::results::Files;
use super::sample_source::{SampleArgs, SampleSource, with_headers};
use super::several;
use super::shared::Shared;
use crate::args::{MriReconstructArgs, NiftiArg, PrecisionArg};
use crate::devices_request::DevicesRequest;
use crate::failure::Failure;
use crate::output::{ProgressStream, say};
use crate::{paths, threads};
use ndarray::{Array3, Axis};
use num_complex::Complex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;
use warpstride::mri::MriSummary;
use warpstride::mri::data::{ImageIndex, KSpace, MriImage};
use warpstride::mri::io::images::{self, NiftiValues};
use warpstride::mri::metrics::compare;
use warpstride::mri::{
    Coverage, Engine, Grid, MemorySizes, Method, OperatorName, Recipe, ReconstructionSteps,
    Residual, Run, Trigonometry, diagnose, grid_of,
};
use warpstride::run::{Bar, End, Interrupt, JsonLines, Observer, RunRecord, Schedule, Silent};
use warpstride::system::{Bytes, Memory};
use warpstride::text::{count, shortest, significant};

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
    /// The files that are named: the samples first.
    inputs: Vec<String>,
    /// The files that are read.
    read: Vec<PathBuf>,
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
            maps_once: args.coil_maps_once,
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
            k_unit: args.k_unit,
            exclude_coils: args.exclude_coils,
            group: args.group,
            select: args.select,
            combine: args.combine,
        })?;
        let mut inputs = source.files();
        inputs.extend(args.reference.as_deref());
        inputs.extend(options.maps.file());
        inputs.extend(options.field.as_ref().map(FieldSource::file));
        let read = with_headers(&inputs);
        files.check(&read.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        Ok(Self {
            inputs: paths::names(inputs),
            read,
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

    /// Reads the samples, computes and writes the image, or several.
    pub(crate) fn run(self) -> Result<(), Failure> {
        threads::start(self.threads)?;
        if let Some(images) = self.source.images(Memory::available())? {
            return several::run(&self, &images);
        }
        let Some(mut made) = self.make(None, 1, &mut Shared::default())? else {
            return Ok(());
        };
        let text = self.files.write(&made.image, &mut made.summary)?;
        if self.prints() {
            say(&text)?;
        }
        match made.end {
            End::Finished => Ok(()),
            End::Interrupted => Err(Failure::Interrupted(format!(
                "stopped after {} of {}; the image so far is in {}",
                made.summary.iterations,
                count(
                    self.options.recipe().iterations,
                    ["iteration", "iterations"]
                ),
                self.files.image.display()
            ))),
        }
    }

    /// The output files.
    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// The files that are read.
    pub(super) fn inputs(&self) -> &[PathBuf] {
        &self.read
    }

    /// Whether notes and results are printed.
    pub(super) fn prints(&self) -> bool {
        self.progress == ProgressOutput::Text
    }

    /// Prints the sentences that have not been `said`, with `prefix`.
    fn print(
        &self,
        prefix: &str,
        sentences: &[String],
        said: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let mut lines = String::new();
        for sentence in sentences {
            if !said.contains(sentence) {
                said.push(sentence.clone());
                lines += &format!("{prefix}: {sentence}\n");
            }
        }
        if self.prints() && !lines.is_empty() {
            say(&lines)?;
        }
        Ok(())
    }

    /// Reads the samples and computes the image, or the one with the given index of several, of
    /// which it is number `number`; `None` if the run was interrupted before its first iteration,
    /// and it is not the first. What is `shared` with earlier images is not computed, and notes are
    /// not printed, again.
    pub(super) fn make(
        &self,
        several: Option<(ImageIndex, &[ImageIndex])>,
        number: usize,
        shared: &mut Shared,
    ) -> Result<Option<Made>, Failure> {
        let begun = Instant::now();
        let memory = Memory::available();
        let interrupted =
            || -> Result<bool, Failure> { Ok(number > 1 && Interrupt::on_ctrl_c()?.requested()) };
        if interrupted()? {
            return Ok(None);
        }
        let index = several.map(|(index, _)| index);
        let planned = several.map_or(&[][..], |(_, planned)| planned);
        let read = self.source.read(index, memory)?;
        let kspace = read.kspace;
        let grid = grid_of(&kspace);
        self.options.check_tolerance(self.precision, grid.axes)?;
        images::check_images(&self.files.image, planned, grid.shape)?;
        self.check_memory(planned, &kspace, grid, memory)?;
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
        let open = || self.request.open(cpu_only, warpstride::mri::cuda::kernels);
        let backend = shared.backend(open)?;
        let with_maps = self.options.maps != CoilMapSource::None;
        let backend = fitting(backend, &sizes, with_maps, self.precision, memory)
            .map_err(|failure| with_file_name(&name, failure))?;
        let reference = match &self.reference {
            Some(path) => Some(reference(
                path,
                &kspace,
                [number - 1, planned.len()],
                memory,
            )?),
            None => None,
        };

        let coverage = Coverage::new(&kspace)?;
        let prepared =
            (self.options).prepare(&kspace, &coverage, &name, read.slice, memory, shared)?;
        let division = division(&backend, &prepared.problem);
        let prepared_at = begun.elapsed();
        let chosen = engine(
            backend,
            &prepared.problem,
            &prepared.recipe,
            self.precision,
            memory,
            &mut shared.plans,
        )?;
        // The adjoint is one transform, which its engine begins with.
        let is_adjoint = prepared.recipe.method == Method::Adjoint;
        let set_up = if is_adjoint {
            prepared_at
        } else {
            begun.elapsed()
        };
        let of_engine = begun.elapsed() - set_up;
        if interrupted()? {
            return Ok(None);
        }
        // Until here there is no image to save, so Ctrl-C ends the program.
        let interrupt = Interrupt::on_ctrl_c()?;
        let backend = chosen.engine.setup().backend;
        let mut notes: Vec<String> = chosen.note.into_iter().chain(division).collect();
        notes.extend(read.notes);
        notes.extend(self.options.without_effect(&prepared.recipe, backend));
        if self.options.maps_once && several.is_none() {
            notes.push("--coil-maps-once has no effect: there is one image".to_owned());
        }
        notes.extend(prepared.notes);
        if let (Some(path), [first, rest @ ..]) = (self.options.maps.file(), planned)
            && rest.iter().any(|index| index.slice != first.slice)
            && !images::has_maps_of_slices(path)
        {
            notes.push(format!(
                "the coil maps of {} are those of every slice",
                path.display()
            ));
        }
        let mut problems = diagnose(&kspace, &coverage);
        problems.extend(prepared.problems);
        self.print("note", &notes, &mut shared.said)?;
        self.print("warning", &problems, &mut shared.said)?;
        let mut run = Run::new(ReconstructionSteps::new(chosen.engine));
        let schedule = Schedule { every: None };
        let end = {
            let of_several = (!planned.is_empty()).then_some([number, planned.len()]);
            let mut observer = self.progress.observer(of_several);
            run.execute(observer.as_mut(), &interrupt, schedule)?
        };
        let begun = Instant::now();
        let image = run.steps_mut().image()?;
        let seconds = if is_adjoint {
            of_engine.as_secs_f64() + run.seconds() + begun.elapsed().as_secs_f64()
        } else {
            run.seconds()
        };
        let data_residual = run.steps_mut().data_residual()?;

        if let Some(note) = stopped_early(run.steps().engine(), &prepared.recipe) {
            self.print("note", std::slice::from_ref(&note), &mut shared.said)?;
            notes.push(note);
        }
        if let (End::Finished, Some(problem)) = (end, data_residual.and_then(unexplained)) {
            let problem = match several {
                None => problem,
                Some((index, planned)) => format!("{}: {problem}", index.name(planned)),
            };
            self.print("warning", std::slice::from_ref(&problem), &mut shared.said)?;
            problems.push(problem);
        }
        let metrics = reference.and_then(|reference| compare(&image, &reference));
        let engine = run.steps().engine();
        let setup = engine.setup();
        let recipe = &prepared.recipe;
        let record = RunRecord::new(setup.clone(), seconds);
        let summary = MriSummary {
            record: record.after(self.inputs.clone(), set_up.as_secs_f64(), notes),
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
            images: Vec::new(),
        };
        let result = MriImage {
            image,
            volume: grid.axes == 3,
            index,
            placement: read.placement,
            field_of_view: kspace.extent().field_of_view,
            // Those of several images would need as much memory as all the images of the coils.
            coil_maps: prepared.maps.filter(|_| several.is_none()),
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
        Ok(Some(Made {
            image: result,
            summary,
            end,
        }))
    }

    /// Checks that so many images, and their copy for the file, fit into memory.
    fn check_memory(
        &self,
        planned: &[ImageIndex],
        kspace: &KSpace,
        grid: Grid,
        memory: Memory,
    ) -> Result<(), Failure> {
        let images = planned.len();
        let voxels = grid.shape.iter().fold(1, |n, side| n * *side as u128);
        let mut needed = 2 * 16 * images as u128 * voxels;
        if self.options.maps_once {
            let slices: BTreeSet<u16> = planned.iter().map(|index| index.slice).collect();
            needed += 16 * slices.len() as u128 * kspace.coils() as u128 * voxels;
        }
        if needed <= u128::from(memory.limit()) {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "{}: the {images} images need {} of memory, but {} is available; select fewer (--select)",
            self.source.file().display(),
            Bytes(needed),
            Bytes(u128::from(memory.limit()))
        )))
    }
}

/// An image and what is said of it.
pub(super) struct Made {
    pub(super) image: MriImage,
    pub(super) summary: MriSummary,
    pub(super) end: End,
}

impl Made {
    /// Whether it has the axes and voxels of `other`.
    pub(super) fn is_as_large_as(&self, other: &Self) -> bool {
        let size = |of: &Self| (of.image.volume, of.image.image.dim());
        size(self) == size(other)
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
    /// The observer of an image, which has a number of several.
    fn observer(self, image: Option<[usize; 2]>) -> Box<dyn Observer<Residual>> {
        match self {
            Self::Text => {
                let image = image.map(|[number, of]| format!("image {number} of {of}, "));
                let image = image.unwrap_or_default();
                Box::new(Bar::new(move |entry: &Residual| {
                    format!("{image}residual {}", significant(entry.residual, 3))
                }))
            }
            Self::Json => {
                let lines = JsonLines::new(ProgressStream);
                Box::new(match image {
                    None => lines,
                    Some([number, _]) => lines.of_image(number),
                })
            }
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

/// Reads the reference, which must have the image's matrix; of as many references as there are
/// images, the one with this number, from 0.
fn reference(
    path: &Path,
    kspace: &KSpace,
    [number, images]: [usize; 2],
    memory: Memory,
) -> Result<Array3<Complex<f64>>, Failure> {
    let expected = kspace.extent().matrix;
    let mut found = images::read_images_within(path, memory)?;
    let shape = found.shape().to_vec();
    let sides = |shape: &[usize]| -> Vec<usize> {
        shape.iter().copied().filter(|side| *side != 1).collect()
    };
    let one = sides(&expected);
    let each = [&[images][..], &one].concat();
    // With as many slices as images, a plane is the image of its own number.
    if images > 1 && sides(&shape) == each {
        let axis = shape.iter().position(|side| *side != 1).unwrap_or(0);
        found = found.index_axis_move(Axis(axis), number);
    } else if sides(&shape) != one || shape.len() < one.len() {
        let several = if images > 1 {
            format!(", or {images} of them")
        } else {
            String::new()
        };
        return Err(Failure::failed(format!(
            "{}: reference: expected shape {expected:?} (slice, row, column){several}, found {shape:?}",
            path.display()
        )));
    }
    let image = found.to_shape(expected).map(|image| image.to_owned())?;
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
