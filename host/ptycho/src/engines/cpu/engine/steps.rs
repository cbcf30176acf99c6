//! The steps of an engine on the CPU.

use super::{BatchState, CpuEngine, LikelihoodState};
use crate::data::{ModelParts, product};
use crate::engines::cpu::arrays::window::Layout;
use crate::engines::cpu::batches::batch_engine;
use crate::engines::cpu::model::model_deviation::FrameModel;
use crate::engines::cpu::model::object_modes;
use crate::engines::cpu::model::slices::Slices;
use crate::engines::cpu::positions::{annealing, refinement};
use crate::engines::cpu::updates::{centring, normalisation};
use crate::engines::cpu::{likelihood, model};
use crate::engines::method::Method;
use crate::engines::ranks::Ranks;
use crate::model::detector::measured_by;
use crate::positions::refinement::{Refinement, Stage};
use crate::{Engine, EngineError, EngineState, Frames, ModelErrors, Step, StepErrors};
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use warpstride_core::run::Setup;
use warpstride_fft::Real;

impl<T: Real> CpuEngine<T> {
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
                let found = batch_engine::iteration::iterate(self, step, method)?;
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
