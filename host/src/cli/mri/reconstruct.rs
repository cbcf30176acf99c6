//! `warpstride mri reconstruct`: from what was typed to an image.

use super::machine::{engine, needed};
use super::prepare::{Field, Maps, Wanted, trigonometry_counts};
use super::read_options;
use super::results::Files;
use crate::cli::args::{MriReconstructTyped, PrecisionWord};
use crate::cli::backend::{Room, Wish};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::threads;
use ndarray::Array3;
use num_complex::Complex;
use std::path::{Path, PathBuf};
use std::time::Instant;
use warpstride::data::{KSpace, MriImage};
use warpstride::io::ismrmrd::{self, ReadOptions};
use warpstride::io::{Memory, images};
use warpstride::mri::metrics::compare;
use warpstride::mri::{Course, Coverage, Need, OperatorName, Residual, Trigonometry, grid_of};
use warpstride::report::{MriSummary, significant};
use warpstride::run::{Bar, End, Interrupt, JsonLines, Observer, Schedule, Silent, execute};

/// Who hears of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// A bar on a terminal, words at the end.
    Text,
    /// JSON lines.
    Json,
    /// Nobody.
    Quiet,
}

/// A checked reconstruction.
#[derive(Debug)]
pub(crate) struct Reconstruct {
    samples: PathBuf,
    options: ReadOptions,
    wanted: Wanted,
    precision: PrecisionWord,
    wish: Wish,
    threads: Option<usize>,
    reference: Option<PathBuf>,
    files: Files,
    voice: Voice,
}

impl Reconstruct {
    /// Checks options and outputs.
    pub(crate) fn from_typed(typed: MriReconstructTyped) -> Result<Self, Failure> {
        threads::check(typed.machine.threads)?;
        let wish = Wish::new(typed.machine.backend, typed.machine.device);
        wish.check(typed.precision, Room::Mri)?;
        let wanted = Wanted {
            method: typed.method,
            operator: typed.operator,
            iterations: typed.iterations,
            lambda: typed.lambda,
            maps: Maps::typed(&typed.coil_maps),
            density: typed.density,
            intensity_correction: typed.intensity_correction,
            tolerance: typed.tolerance,
            trig: typed.trig,
            field: match (typed.off_resonance, typed.field) {
                (Some(path), _) => Some(Field::OffResonance(path)),
                (None, Some(path)) => Some(Field::Basis(path)),
                (None, None) => None,
            },
        };
        wanted.check()?;
        let files = Files {
            image: typed.output,
            summary: typed.summary,
            report: typed.report,
            png: typed.png,
        };
        let mut inputs = vec![typed.file.as_path()];
        inputs.extend(typed.reference.as_deref());
        inputs.extend(wanted.maps.file());
        inputs.extend(wanted.field.as_ref().map(Field::file));
        files.check(&inputs)?;
        Ok(Self {
            options: read_options(&typed.group, typed.select.as_deref())?,
            samples: typed.file,
            wanted,
            precision: typed.precision,
            wish,
            threads: typed.machine.threads,
            reference: typed.reference,
            files,
            voice: match (typed.json_progress, typed.quiet) {
                (true, _) => Voice::Json,
                (_, true) => Voice::Quiet,
                _ => Voice::Text,
            },
        })
    }

    /// Reads, computes and writes.
    pub(crate) fn run(self) -> Result<(), Failure> {
        threads::start(self.threads)?;
        let memory = Memory::available();
        let read = ismrmrd::read(&self.samples, &self.options)?;
        let kspace = read.kspace;
        let grid = grid_of(&kspace);
        let name = self.samples.display().to_string();
        let need = Need::new(
            grid,
            kspace.count(),
            kspace.coils(),
            self.wanted.recipe().operator,
        )
        .with_pipe(self.wanted.may_seek_weights());
        let machine = self
            .wish
            .open(self.precision, Room::Mri)?
            .fitting(&needed(&need, self.precision), memory)
            .map_err(|failure| named(&name, failure))?;
        let reference = match &self.reference {
            Some(path) => Some(reference(path, &kspace, memory)?),
            None => None,
        };

        let begun = Instant::now();
        let prepared = self.wanted.prepare(&kspace, memory)?;
        let (engine, chosen) = engine(
            machine,
            &prepared.problem,
            &prepared.recipe,
            self.precision,
            memory,
        )?;
        let setup_seconds = begun.elapsed().as_secs_f64();
        // Before, there is no image to save: Ctrl-C ends the program.
        let interrupt = Interrupt::on_ctrl_c()?;
        let backend = engine.setup().backend;
        let mut notes: Vec<String> = chosen.into_iter().chain(read.notes).collect();
        notes.extend(self.wanted.without_effect(&prepared.recipe, backend));
        if kspace.samples().iter().all(|v| v.norm_sqr() == 0.0) {
            notes.push("all samples are 0, and so is the image".to_owned());
        }
        if prepared.density == "ramp" && Coverage::new(&kspace).spokes.is_none() {
            notes.push("--density ramp is for spokes, which these readouts are not".to_owned());
        }
        if self.voice == Voice::Text {
            let lines = notes.iter().map(|sentence| format!("note: {sentence}\n"));
            say(&lines.collect::<String>())?;
        }
        let mut course = Course::new(engine);
        let schedule = Schedule { every: None };
        let end = execute(
            &mut course,
            self.voice.observer().as_mut(),
            &interrupt,
            schedule,
        )?;
        let image = course.image()?;
        let seconds = begun.elapsed().as_secs_f64();

        let judged = reference.and_then(|reference| compare(&image, &reference));
        let setup = course.engine().setup();
        let recipe = &prepared.recipe;
        let summary = MriSummary {
            operator: recipe.operator.name().to_owned(),
            method: recipe.method.name().to_owned(),
            backend: setup.backend.to_owned(),
            device: setup.device.clone(),
            precision: setup.precision.to_owned(),
            iterations: course.engine().done(),
            residuals: course.residuals(),
            seconds,
            setup_seconds,
            ms_per_iteration: course.ms_per_iteration(),
            matrix: grid.shape,
            coils: kspace.coils(),
            readouts: kspace.readouts().len(),
            samples: kspace.count(),
            coil_maps: self.wanted.maps.name(),
            density: prepared.density.to_owned(),
            lambda: recipe.lambda,
            tolerance: (recipe.operator != OperatorName::Direct).then_some(recipe.tolerance),
            trigonometry: if trigonometry_counts(recipe, setup.backend) {
                recipe.trigonometry
            } else {
                Trigonometry::Accurate
            }
            .name()
            .to_owned(),
            intensity_correction: recipe.intensity_correction,
            nrmse: judged.map(|m| m.nrmse),
            psnr: judged.map(|m| m.psnr),
            ssim: judged.map(|m| m.ssim),
            source: name,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            notes,
        };
        let result = MriImage {
            image,
            volume: grid.axes == 3,
            field_of_view: kspace.extent().field_of_view,
            coil_maps: prepared.maps,
            residuals: summary.residuals.clone(),
            recipe: serde_json::to_string(recipe)?,
            operator: summary.operator.clone(),
            method: summary.method.clone(),
            backend: summary.backend.clone(),
            device: summary.device.clone(),
            precision: summary.precision.clone(),
            version: summary.version.clone(),
            source: summary.source.clone(),
        };
        let words = self.files.write(&result, &summary)?;
        if self.voice == Voice::Text {
            say(&words)?;
        }
        match end {
            End::Finished => Ok(()),
            End::Interrupted => Err(Failure::Interrupted(format!(
                "stopped after {} of {} iterations; the image so far is in {}",
                summary.iterations,
                recipe.iterations,
                self.files.image.display()
            ))),
        }
    }
}

impl Voice {
    fn observer(self) -> Box<dyn Observer<Residual>> {
        match self {
            Self::Text => Box::new(Bar::new(|entry: &Residual| {
                format!("residual {}", significant(entry.residual, 3))
            })),
            Self::Json => Box::new(JsonLines::new(std::io::stdout())),
            Self::Quiet => Box::new(Silent),
        }
    }
}

/// With the file whose contents are too large.
fn named(file: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Failed(text) => Failure::Failed(format!("{file}: {text}")),
        other => other,
    }
}

/// An image of the same matrix.
fn reference(
    path: &Path,
    kspace: &KSpace,
    memory: Memory,
) -> Result<Array3<Complex<f64>>, Failure> {
    let image = images::read_within(path, memory)?;
    let expected = kspace.extent().matrix;
    if image.shape() != expected {
        return Err(Failure::failed(format!(
            "{}: the reference has the shape {:?}: {expected:?} (slice, row, column) is expected",
            path.display(),
            image.shape()
        )));
    }
    if image.iter().all(|v| v.norm_sqr() == 0.0) {
        return Err(Failure::failed(format!(
            "{}: the reference is 0 everywhere: there is nothing to compare with",
            path.display()
        )));
    }
    Ok(image)
}
