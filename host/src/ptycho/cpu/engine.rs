//! State and step of a projection engine on the CPU.

use super::batch_engine::{self, BatchState};
use super::detector::CpuDetector;
use super::fourier_projection::{FrameModel, Scratch};
use super::likelihood::{self, LikelihoodState};
use super::multislice::Slices;
use super::propagation::Propagator;
use super::scratch_pool::Pool;
use super::variable_probe::Variations;
use super::window::Layout;
use super::{annealing, centring, constraints, model, normalisation, object_modes, refinement};
use crate::data::{ModelParts, product};
use crate::fft::{Real, TransposedFft2};
use crate::ptycho::batches::KeptBatches;
use crate::ptycho::detector::measured_by;
use crate::ptycho::method::Method;
use crate::ptycho::ranks::Ranks;
use crate::ptycho::refinement::{FrameParameters, Refinement, Stage};
use crate::ptycho::regions::{REGIONS, Regions};
use crate::ptycho::{
    Engine, EngineError, EngineState, Frames, ModelErrors, Problem, Step, StepErrors,
};
use crate::run::Setup;
use crate::system::ScratchError;
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use rayon::prelude::*;
use std::sync::Arc;

mod projections;
mod state;

/// Bytes of exit waves that are written before the sums of object and probe read them again: a part
/// of the last-level cache.
const TOGETHER: usize = 8 << 20;

/// Frames with exit waves of `waves` values that are worked on together: at least four per thread.
/// It changes no result.
pub(super) fn frames_together<T>(waves: usize) -> usize {
    let fitting = TOGETHER / (waves * size_of::<Complex<T>>()).max(1);
    fitting.max(4 * rayon::current_num_threads())
}

/// A projection engine on the CPU in precision `T`.
pub struct CpuEngine<T: Real> {
    /// The ranks among which the frames are divided; each has the counts of all frames, but only its own exit waves.
    pub(super) ranks: Ranks,
    pub(super) layout: Layout,
    /// Transforms that shift probes.
    pub(super) fft: TransposedFft2<T>,
    /// To the detector.
    pub(super) propagator: Propagator<T>,
    /// √counts (frame, column, row), negative where masked or free.
    pub(super) magnitudes: Vec<f32>,
    /// The detector, unless frames are the intensities themselves.
    pub(super) detector: Option<CpuDetector<T>>,
    total_counts: f64,
    free_counts: f64,
    /// (layer, row, column).
    pub(super) object: Vec<Complex<T>>,
    /// (mode, row, column).
    pub(super) probe: Vec<Complex<T>>,
    pub(super) batch_state: BatchState<T>,
    /// The regions of the scan, if engines work on them, and the batches of each.
    pub(super) regions: Option<Arc<Regions>>,
    pub(super) kept_batches: [KeptBatches; REGIONS],
    pub(super) likelihood: LikelihoodState<T>,
    /// The slices of a thick specimen, which are the layers of the object.
    pub(super) slices: Option<Slices<T>>,
    /// Variations of the first probe mode, once an iteration has formed them.
    pub(super) variations: Option<Variations<T>>,
    /// How many of them the recipe wants.
    pub(super) variation_count: usize,
    /// Whether the last iteration had frames at their exact positions.
    subpixel: bool,
    parameters: FrameParameters,
    /// Largest distance of a position from its start, pixels.
    bound: f64,
    /// Power to which the probe is scaled, photons.
    power: f64,
    /// Ψ, unnormalised detector waves of the exit waves (frame, wave, column, row) of this rank's frames.
    spectra: Vec<Complex<T>>,
    /// Exit waves ψ (frame, wave, row, column) of the current iteration and this rank's frames.
    pub(super) exit: Vec<Complex<T>>,
    scratch: Pool<Scratch<T>>,
    finished: Vec<StepErrors>,
}

impl<T: Real> CpuEngine<T> {
    /// Initialises the engine with the start values.
    ///
    /// # Panics
    /// The problem has its magnitudes in a temporary file that cannot be read; [`CpuEngine::among`] returns the error.
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        match Self::among(problem, Ranks::alone()) {
            Ok(engine) => engine,
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`CpuEngine::new`], for one of several ranks, which divide the frames among them. Every rank has an engine
    /// for the same problem and calls the same operations. Object and probe have the same bits as with one rank, if there are at
    /// most twelve.
    ///
    /// # Errors
    /// The problem has its magnitudes in a temporary file that cannot be read.
    pub fn among(problem: &Problem, ranks: Ranks) -> Result<Self, ScratchError> {
        let [frames, modes, rows, columns] = problem.shape();
        let layout = Layout {
            modes,
            rows,
            columns,
            object_shape: problem.positions.object_shape,
            object_layers: problem.object_modes(),
            fly: problem.fly.clone(),
            corners: problem.positions.corners.clone(),
            fractions: vec![[0.0; 2]; frames],
            scales: vec![1.0; frames],
        };
        let pixels = layout.pixels();
        let mut magnitudes = vec![0.0; frames * pixels];
        problem.magnitudes.blocks(|first, block| {
            let block = block.as_standard_layout();
            let from = block.as_slice().unwrap_or_default();
            magnitudes[first * pixels..]
                .par_chunks_mut(pixels)
                .zip(from.par_chunks(pixels))
                .for_each(|(to, from)| transpose::transpose(from, to, columns, rows));
            Ok(())
        })?;
        let convert = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
        let parameters = FrameParameters::new(&problem.positions);
        let fft = TransposedFft2::new(rows, columns);
        let near = problem.near_field.as_ref();
        let mut layout = layout;
        if layout.fly.points() > 1 {
            layout.set(parameters.frames(true));
        }
        Ok(Self {
            ranks,
            propagator: Propagator::new(fft.clone(), [rows, columns], near),
            fft,
            magnitudes,
            detector: problem.detector.as_ref().map(CpuDetector::new),
            total_counts: problem.total_counts,
            free_counts: problem.free_counts,
            object: problem.object_values().map(convert).collect(),
            probe: problem.probe.iter().map(convert).collect(),
            batch_state: BatchState::default(),
            regions: problem.regions.clone(),
            kept_batches: Default::default(),
            likelihood: LikelihoodState::default(),
            slices: (problem.slices.as_ref()).map(|plan| Slices::new(plan, [rows, columns])),
            // Points of an exposure are between pixels.
            subpixel: problem.fly.points() > 1,
            variations: problem.start_variations.as_ref().map(Variations::of),
            variation_count: problem.opr_modes,
            parameters,
            bound: problem.refinement.bound,
            power: problem.power(),
            spectra: Vec::new(),
            exit: Vec::new(),
            scratch: Pool::default(),
            finished: Vec::new(),
            layout,
        })
    }

    /// Updates the detector's background from the sums of the iteration.
    pub(super) fn update_background(&mut self) {
        if let Some(detector) = &mut self.detector {
            detector.update();
        }
    }

    pub(super) fn constrain_probe(&mut self, step: &Step) {
        let (rows, columns) = (self.layout.rows, self.layout.columns);
        if let Some(fraction) = step.probe_support {
            constraints::real_support(&mut self.probe, &constraints::disc(rows, columns, fraction));
        }
        if let Some(fraction) = step.probe_fourier_support {
            let support = constraints::disc_at_origin(rows, columns, fraction);
            constraints::fourier_support(&mut self.probe, &support, rows, columns);
        }
    }

    fn centre(&mut self, tolerance: f64) {
        let layout = &self.layout;
        let sums = centring::moments(layout, &self.probe);
        let frame = [layout.rows, layout.columns];
        let shift = centring::centring_shift(sums, frame.map(|n| n / 2), tolerance);
        if shift != [0, 0] {
            centring::roll(&mut self.probe, frame, shift);
            centring::roll_spectra(&mut self.spectra, frame, shift);
            centring::roll(&mut self.object, layout.object_shape, shift);
            if let Some(of) = &mut self.variations {
                centring::roll(&mut of.shapes, frame, shift);
                centring::roll(&mut of.shape_changes, frame, shift);
            }
            // Its directions are those of the old windows.
            self.likelihood.last = None;
        }
    }

    /// Refines positions and scales.
    fn refine(&mut self, step: &Step, how: &Refinement) -> Result<(), EngineError> {
        for stage in how.stages(step.seed, step.iteration) {
            match stage {
                Stage::Equations(positions) => {
                    let equations = refinement::normal_equations(self, step.subpixel)?;
                    self.parameters.refine(&equations, positions, how);
                }
                Stage::Trials(trials) => {
                    let chosen = annealing::best_trials(self, &self.parameters, &trials)?;
                    self.parameters.take_trials(&chosen, &trials, how.bound);
                }
                Stage::DrawIn => self.parameters.draw_in(how.bound),
            }
            self.layout.set(self.parameters.frames(self.subpixel));
        }
        Ok(())
    }

    fn combine(&self, frames: impl Iterator<Item = FrameModel> + Clone) -> ModelErrors {
        let count = self.layout.corners.len().max(1) as f64;
        let residual: f64 = frames.clone().map(|f| f.residual).sum();
        let free: f64 = frames.clone().map(|f| f.free).sum();
        ModelErrors {
            photon: frames.map(|f| f.photon).sum::<f64>() / count,
            r_factor: residual / self.total_counts,
            r_free: (self.free_counts > 0.0).then(|| free / self.free_counts),
        }
    }
}

impl<T: Real> Engine for CpuEngine<T> {
    fn setup(&self) -> Setup {
        Setup::cpu(if size_of::<T>() == 4 { "f32" } else { "f64" })
    }

    fn ranks(&self) -> Ranks {
        self.ranks.clone()
    }

    fn set_exact(&mut self, exact: bool) {
        self.subpixel = exact;
    }

    fn step(&mut self, step: &Step) -> Result<(), EngineError> {
        if self.subpixel != step.subpixel {
            self.subpixel = step.subpixel;
            self.layout.set(self.parameters.frames(step.subpixel));
        }
        let frames = match &step.method {
            Method::Projection => {
                self.batch_state = BatchState::default();
                self.likelihood = LikelihoodState::default();
                // All frames have one probe here.
                self.variations = None;
                self.start_projections(step.subpixel);
                let (frames, sums) = self.project(step);
                self.overlap(step, sums)?;
                self.ranks.gathered(&frames)?
            }
            Method::Batches(method) => {
                (self.spectra, self.exit) = (Vec::new(), Vec::new());
                self.likelihood = LikelihoodState::default();
                self.begin_variations(step);
                let found = batch_engine::iterate(self, step, method)?;
                self.end_variations(step);
                found
            }
            Method::Likelihood(method) => {
                (self.spectra, self.exit) = (Vec::new(), Vec::new());
                self.batch_state = BatchState::default();
                likelihood::iterate(self, step, method)?
            }
        };
        if step.normalises(self.layout.modes) {
            let pixels = self.layout.pixels();
            let Self {
                object,
                probe,
                batch_state,
                likelihood,
                variations,
                power,
                slices,
                ..
            } = self;
            let count = slices.as_ref().map_or(1, Slices::count);
            let searches = matches!(step.method, Method::Likelihood(_));
            let power = (!searches).then_some(*power);
            let others: [&mut [Complex<T>]; 2] = match &mut likelihood.last {
                Some(last) => [&mut last.gradient[1], &mut last.direction[1]],
                None => [&mut [], &mut []],
            };
            let mixes = variations.is_none();
            let mixed = (pixels, mixes);
            let power = power.map(|power| (power, count));
            let factor = normalisation::normalise(object, probe, batch_state, others, mixed, power);
            self.scale_variations(factor);
        }
        if step.mixes_objects(self.layout.object_layers) && self.slices.is_none() {
            object_modes::orthogonalise(self);
        }
        if let Some(slices) = &mut self.slices {
            slices.finish(step.iteration);
        }
        if let Some(tolerance) = step.centre_tolerance {
            self.centre(tolerance);
        }
        if let Some(how) = &step.refinement {
            self.refine(step, how)?;
        }
        let count = frames.len().max(1) as f64;
        let pixels = self.layout.pixels() as f64;
        self.finished.push(StepErrors {
            fourier: frames.iter().map(|f| f.fourier).sum::<f64>() / count,
            exit: (step.metrics.exit)
                .then(|| frames.iter().map(|f| f.exit).sum::<f64>() / (count * pixels)),
            start: (step.metrics.start).then(|| self.combine(frames.iter().map(|f| f.model))),
        });
        Ok(())
    }

    fn errors(&mut self, _all: bool) -> Result<Vec<StepErrors>, EngineError> {
        Ok(std::mem::take(&mut self.finished))
    }

    fn metrics(&mut self) -> Result<ModelErrors, EngineError> {
        let frames = model::all_errors(self, self.subpixel)?;
        Ok(self.combine(frames.iter().copied()))
    }

    fn object(&mut self) -> Result<Array2<Complex<f64>>, EngineError> {
        let layers = self.object_layers()?;
        Ok(match self.slices {
            Some(_) => product(&layers),
            None => layers.index_axis_move(Axis(0), 0),
        })
    }

    fn model_parts(&mut self) -> Result<ModelParts, EngineError> {
        let layers = self.object_layers()?;
        let shape = [self.layout.rows, self.layout.columns];
        Ok(ModelParts {
            slices: (self.slices.as_ref()).map(|slices| slices.distances.stack(layers)),
            variable_probe: self.variations.as_ref().map(|of| of.data(shape)),
            detector: (self.detector.as_ref())
                .map(|d| measured_by(d.sigmas(), d.has_background().then(|| d.in_rows()))),
            ..ModelParts::default()
        })
    }

    fn object_layers(&mut self) -> Result<Array3<Complex<f64>>, EngineError> {
        let [rows, columns] = self.layout.object_shape;
        let layers = self.object.len() / self.layout.object_pixels().max(1);
        let value = |(k, r, c)| wide(self.object[(k * rows + r) * columns + c]);
        Ok(Array3::from_shape_fn((layers, rows, columns), value))
    }

    fn probe(&mut self) -> Result<Array3<Complex<f64>>, EngineError> {
        let Layout {
            modes,
            rows,
            columns,
            ..
        } = self.layout;
        Ok(Array3::from_shape_fn(
            (modes, rows, columns),
            |(m, r, c)| wide(self.probe[(m * rows + r) * columns + c]),
        ))
    }

    fn frames(&self) -> Frames {
        self.parameters.frames(self.subpixel)
    }

    fn save(&mut self) -> Result<EngineState, EngineError> {
        self.saved()
    }

    fn restore(&mut self, state: &EngineState) -> Result<(), EngineError> {
        self.take_saved(state)
    }
}

fn wide<T: Real>(v: Complex<T>) -> Complex<f64> {
    Complex::new(v.re.wide(), v.im.wide())
}
