//! Mirrors cpu/engine.rs: state and step of a projection engine on a device.

mod memory;
mod refine;

use super::batch_engine::{self, BatchBuffers};
use super::buffers::{Buffers, Layout};
use super::constraints::{Supports, fourier_support};
use super::frames::{FrameBuffers, all_errors, chunk};
use super::fused::{Fused, FusedScan};
use super::likelihood::{self, LikelihoodBuffers};
use super::normalisation::normalise;
use super::{centring, fourier_projection, metrics, object_update, probe_update};
use crate::gpu::{Buffer, Device, Direction, ReadBack, Result};
use crate::ptycho::batches::batches;
use crate::ptycho::likelihood::{LikelihoodMethod, Search};
use crate::ptycho::refinement::FrameParameters;
use crate::ptycho::step::{BatchMethod, Method};
use crate::ptycho::step_plan::Separate;
use crate::ptycho::{
    Engine, EngineError, EngineState, Frames, ModelErrors, Problem, Step, StepErrors, StepMetrics,
    StepPlan, UpdateVersion, WaveSpace,
};
use crate::run::Setup;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::collections::VecDeque;
use warpstride_kernels::ptycho::sum_quantum::HEADROOM;

/// Largest number of iterations whose metrics may be pending; beyond it the oldest is waited for,
/// so that neither the queue nor the page-locked memory grows.
const MAX_PENDING: usize = 32;

/// Metrics of one iteration that are being copied to the host.
struct Pending<M: Device> {
    /// The last read-back of the iteration.
    errors: M::ReadBack<f32>,
    moved: Option<M::ReadBack<f32>>,
    model: Option<PendingModel<M>>,
    /// Threads that saw a share beyond the range of the object's sums; only of the fused step.
    exceeding: Option<M::ReadBack<u32>>,
    /// Number of the iteration in the run.
    iteration: usize,
}

/// Errors of the model from which an iteration started.
struct PendingModel<M: Device> {
    photon: M::ReadBack<f32>,
    residual: M::ReadBack<f32>,
    /// None without free pixels.
    free: Option<M::ReadBack<f32>>,
}

/// A projection engine on a [`Device`], in single precision.
pub struct GpuEngine<M: Device> {
    layout: Layout,
    version: UpdateVersion,
    supports: Supports,
    total_counts: f64,
    free_counts: f64,
    parameters: FrameParameters,
    /// Largest distance of a position from its start, pixels.
    bound: f64,
    /// Power of the start probe, photons.
    power: f64,
    /// Whether the last iteration had frames at their exact positions.
    subpixel: bool,
    pending: VecDeque<Pending<M>>,
    /// Transforms of all exit waves, if a projection engine runs whose steps are not fused.
    waves_fft: Option<M::Fft>,
    plan: StepPlan,
    /// The plan of the last projection.
    projected: Option<StepPlan>,
    /// `None` if no step can be fused.
    fused_scan: Option<FusedScan>,
    /// Memory of the fused step, while it runs.
    fused: Option<Fused<M>>,
    probe_fft: M::Fft,
    buffers: Buffers<M>,
    /// Memory for a few frames at a time, once it is needed.
    frames: Option<FrameBuffers<M>>,
    /// Memory of a batch engine, once it is needed.
    batches: Option<BatchBuffers<M>>,
    /// Momentum of object and probe from a saved state, until the engine takes it over.
    saved_momentum: [Vec<Complex<f32>>; 2],
    /// Memory of conjugate gradients, once it is needed.
    likelihood: Option<LikelihoodBuffers<M>>,
    /// Conjugate gradients from a saved state, until the engine takes them over.
    saved_search: Search<Vec<Complex<f32>>>,
    device: M,
}

impl<M: Device> GpuEngine<M> {
    /// Allocates buffers on `device` and uploads the start values. If the recipe begins with a
    /// projection engine, the exit waves are allocated too and start as P·O.
    ///
    /// # Errors
    /// Returns the device's error, for example if memory is exhausted.
    pub fn new(
        device: M,
        problem: &Problem,
        version: UpdateVersion,
    ) -> std::result::Result<Self, EngineError> {
        let (layout, buffers) = Buffers::new(&device, problem, version)?;
        let shape = [layout.rows as usize, layout.columns as usize];
        let probe_fft = device.plan_fft(&shape, layout.modes as usize)?;
        let plan = StepPlan::new(problem.gpu_step, problem.shape(), device.shared_memory());
        let mut engine = Self {
            layout,
            version,
            supports: Supports::default(),
            total_counts: problem.total_counts,
            free_counts: problem.free_counts,
            parameters: FrameParameters::new(&problem.positions),
            bound: problem.refinement.bound,
            power: problem.probe.iter().map(Complex::norm_sqr).sum(),
            subpixel: false,
            pending: VecDeque::new(),
            waves_fft: None,
            fused_scan: FusedScan::new(plan, problem),
            plan,
            projected: None,
            fused: None,
            probe_fft,
            buffers,
            frames: None,
            batches: None,
            saved_momentum: [Vec::new(), Vec::new()],
            likelihood: None,
            saved_search: Search::default(),
            device,
        };
        if problem.exact_first {
            engine.subpixel = true;
            engine.upload_frames()?;
        }
        if problem.projects_first && engine.fused_scan.is_some() && !engine.subpixel {
            engine.start_fused()?;
        } else if problem.projects_first {
            engine.start_projections()?;
        }
        engine.device.synchronize()?;
        Ok(engine)
    }

    /// The device, for timing.
    #[must_use]
    pub fn device(&self) -> &M {
        &self.device
    }

    /// Runs one iteration stage by stage and returns the milliseconds of each, measured by the
    /// device.
    ///
    /// # Errors
    /// Returns the device's error.
    pub fn stage_times(
        &mut self,
        step: &Step,
    ) -> std::result::Result<Vec<(&'static str, f32)>, EngineError> {
        if self
            .fused_scan
            .as_ref()
            .is_some_and(|scan| scan.fuses(step))
        {
            return Ok(self.fused_stage_times(step)?);
        }
        self.start_projections()?;
        let Self {
            layout,
            version,
            waves_fft: Some(waves_fft),
            buffers,
            device,
            ..
        } = self
        else {
            return Ok(Vec::new());
        };
        let device: &M = device;
        let mut times = Vec::new();
        let c = step.coefficients;
        let mut timed = |name, stage: &mut dyn FnMut() -> Result<()>| -> Result<()> {
            times.push((name, device.time_ms(stage)?));
            Ok(())
        };
        timed("exit-wave build", &mut || {
            fourier_projection::build(device, layout, buffers)
        })?;
        timed("transform, forward", &mut || {
            device.fft(waves_fft, &mut buffers.waves, Direction::Forward)
        })?;
        timed("Fourier step", &mut || {
            fourier_projection::advance(device, layout, buffers, c, step.bound)
        })?;
        timed("transform, inverse", &mut || {
            device.fft_to(
                waves_fft,
                &buffers.spectra,
                &mut buffers.waves,
                Direction::Inverse,
            )
        })?;
        timed("object update", &mut || {
            let (weight, clip) = (step.object_weight, step.clip_object);
            object_update::object_update(device, layout, buffers, *version, weight, clip)
        })?;
        timed("probe update", &mut || {
            probe_update::probe_update(device, layout, buffers, *version, step.probe_weight)
        })?;
        Ok(times)
    }

    /// [`Self::stage_times`] of the fused step.
    fn fused_stage_times(&mut self, step: &Step) -> Result<Vec<(&'static str, f32)>> {
        self.start_fused()?;
        let Self {
            layout,
            version,
            fused: Some(fused),
            buffers,
            device,
            ..
        } = self
        else {
            return Ok(Vec::new());
        };
        let device: &M = device;
        let mut times = Vec::new();
        let mut timed = |name, stage: &mut dyn FnMut() -> Result<()>| -> Result<()> {
            times.push((name, device.time_ms(stage)?));
            Ok(())
        };
        timed("model metrics", &mut || {
            fused.model_metrics(device, layout, buffers)
        })?;
        for (name, metrics) in [
            (
                "fused step, err_exit",
                StepMetrics {
                    exit: true,
                    start: false,
                },
            ),
            ("fused step", StepMetrics::NONE),
        ] {
            let step = Step { metrics, ..*step };
            timed(name, &mut || fused.project(device, layout, buffers, &step))?;
            if metrics.exit {
                fused.object_update(device, layout, buffers, &step)?;
            }
        }
        fused.forget_fluence();
        timed("fluence, object", &mut || {
            fused.object_update(device, layout, buffers, step)
        })?;
        timed("probe update", &mut || {
            probe_update::probe_update(device, layout, buffers, *version, step.probe_weight)
        })?;
        fused.forget_fluence();
        Ok(times)
    }

    /// Queues one iteration and the read-back of its metrics.
    ///
    /// # Errors
    /// Returns the device's error.
    fn queue(&mut self, step: &Step) -> Result<()> {
        if self.subpixel != step.subpixel {
            self.subpixel = step.subpixel;
            self.upload_frames()?;
        }
        if !matches!(step.method, Method::Likelihood(_)) {
            self.likelihood = None;
            self.saved_search = Search::default();
        }
        match &step.method {
            Method::Projection => self.project(step)?,
            Method::Batches(method) => self.pass(step, method)?,
            Method::Likelihood(method) => self.maximise(step, method)?,
        }
        self.read_errors(step)?;
        if step.normalises(self.layout.modes as usize) {
            let (buffers, momentum) = (&mut self.buffers, self.batches.as_mut());
            let searches = matches!(step.method, Method::Likelihood(_));
            let power = (!searches).then_some(self.power);
            let others = self.likelihood.as_mut().and_then(|of| of.on_probe());
            let (device, layout) = (&self.device, &self.layout);
            normalise(device, layout, buffers, momentum, others, power)?;
        }
        match &step.refinement {
            Some(how) => self.refine(step, how),
            None => Ok(()),
        }
    }

    /// One pass over mini-batches.
    fn pass(&mut self, step: &Step, method: &BatchMethod) -> Result<()> {
        let positions = self.parameters.frames(step.subpixel).exact();
        let (size, seed) = (method.size, step.seed);
        let lists = batches(method.order, &positions, size, seed, step.iteration);
        self.start_batches(size)?;
        let Self {
            layout,
            device,
            buffers,
            frames: Some(frames),
            batches: Some(batches),
            probe_fft,
            supports,
            ..
        } = self
        else {
            return Ok(());
        };
        let of_step = [step.probe_support, step.probe_fourier_support];
        supports.set(device, layout, buffers, of_step)?;
        let mut run = batch_engine::Run {
            device,
            layout,
            buffers,
            frames,
            batches,
            probe_fft,
        };
        run.iterate(step, method, &lists)?;
        if let Some(tolerance) = step.centre_tolerance {
            centring::centre(device, layout, buffers, tolerance)?;
        }
        Ok(())
    }

    /// One step of conjugate gradient.
    fn maximise(&mut self, step: &Step, method: &LikelihoodMethod) -> Result<()> {
        self.start_likelihood()?;
        let Self {
            layout,
            device,
            buffers,
            frames: Some(frames),
            likelihood: Some(own),
            probe_fft,
            supports,
            ..
        } = self
        else {
            return Ok(());
        };
        frames.scaled = false;
        let of_step = [step.probe_support, step.probe_fourier_support];
        supports.set(device, layout, buffers, of_step)?;
        let mut run = likelihood::Run {
            device,
            layout,
            buffers,
            frames,
            own,
            probe_fft,
        };
        run.iterate(step, method)?;
        if let Some(tolerance) = step.centre_tolerance {
            centring::centre(device, layout, buffers, tolerance)?;
            let shift = device.read_back(&buffers.shift)?.wait()?;
            if shift.iter().any(|v| *v != 0) {
                // Its directions are those of the old windows.
                own.restart();
            }
        }
        Ok(())
    }

    /// Queues one projection and its updates of object and probe.
    fn project(&mut self, step: &Step) -> Result<()> {
        if self
            .fused_scan
            .as_ref()
            .is_some_and(|scan| scan.fuses(step))
        {
            self.start_fused()?;
        } else {
            self.start_projections()?;
            self.model_spectra()?;
        }
        self.projected = Some(if self.plan.is_fused() && self.fused.is_none() {
            StepPlan::Separate(Separate::Subpixel)
        } else {
            self.plan
        });
        self.project_waves(step)?;
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let supports = [step.probe_support, step.probe_fourier_support];
        self.supports.set(device, layout, buffers, supports)?;
        let alternates = step.update_probe && step.overlap_loops > 1;
        // Needed even without alternations, as an earlier iteration may have closed the gate.
        device.zero(&mut buffers.gate)?;
        for round in 0..step.overlap_loops {
            if let (0, Some(fused)) = (round, &mut self.fused) {
                fused.object_update(&self.device, &self.layout, &mut self.buffers, step)?;
            } else if step.update_object {
                self.update_object(step)?;
            }
            if !step.update_probe {
                break;
            }
            if alternates {
                let buffers = &mut self.buffers;
                self.device
                    .copy(&buffers.probe, &mut buffers.probe_before)?;
            }
            self.update_probe(step)?;
            let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
            if step.probe_fourier_support.is_some() {
                fourier_support(device, layout, buffers, &self.probe_fft)?;
            }
            if alternates {
                let tolerance = step.overlap_tolerance;
                probe_update::check_convergence(device, layout, buffers, tolerance)?;
            }
        }
        if let Some(tolerance) = step.centre_tolerance {
            centring::centre(&self.device, &self.layout, &mut self.buffers, tolerance)?;
        }
        if let Some(fused) = &mut self.fused
            && (step.update_probe || step.centre_tolerance.is_some())
        {
            fused.forget_fluence();
        }
        Ok(())
    }

    /// Queues one projection.
    fn project_waves(&mut self, step: &Step) -> Result<()> {
        if let Some(fused) = &mut self.fused {
            let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
            return fused.project(device, layout, buffers, step);
        }
        let Self {
            layout,
            waves_fft: Some(fft),
            buffers,
            device,
            ..
        } = self
        else {
            return Ok(());
        };
        let (coefficients, bound) = (step.coefficients, step.bound);
        fourier_projection::project(device, layout, buffers, fft, coefficients, bound)
    }

    fn update_object(&mut self, step: &Step) -> Result<()> {
        if let Some(mut exact) = self.at_exact_positions()? {
            return exact.object_update(step);
        }
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let (weight, clip) = (step.object_weight, step.clip_object);
        object_update::object_update(device, layout, buffers, self.version, weight, clip)
    }

    fn update_probe(&mut self, step: &Step) -> Result<()> {
        if let Some(mut exact) = self.at_exact_positions()? {
            return exact.probe_update(step);
        }
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let weight = step.probe_weight;
        probe_update::probe_update(device, layout, buffers, self.version, weight)
    }

    /// Queues the read-back of the frames' metrics.
    fn read_errors(&mut self, step: &Step) -> Result<()> {
        let Self {
            buffers,
            device,
            fused,
            ..
        } = self;
        let metrics = step.metrics;
        let has_free = self.free_counts > 0.0;
        let moved = (metrics.exit).then(|| device.read_back(&buffers.moved));
        let model = (metrics.start).then(|| -> Result<PendingModel<M>> {
            let free = has_free.then(|| device.read_back(&buffers.free));
            Ok(PendingModel {
                photon: device.read_back(&buffers.photon)?,
                residual: device.read_back(&buffers.residual)?,
                free: free.transpose()?,
            })
        });
        let exceeding = (fused.as_ref()).map(|fused| device.read_back(&fused.exceeding));
        self.pending.push_back(Pending {
            iteration: step.iteration,
            exceeding: exceeding.transpose()?,
            moved: moved.transpose()?,
            model: model.transpose()?,
            errors: device.read_back(&buffers.errors)?,
        });
        Ok(())
    }

    fn finish(&self, pending: Pending<M>) -> std::result::Result<StepErrors, EngineError> {
        let frames = f64::from(self.layout.frames.max(1));
        if let Some(exceeding) = pending.exceeding
            && exceeding.wait()?.iter().any(|count| *count > 0)
        {
            return Err(EngineError::Sums {
                iteration: pending.iteration,
                headroom: HEADROOM,
            });
        }
        let exit = |moved: Vec<f32>| total(&moved) / (frames * f64::from(self.layout.pixels()));
        let start = |model: PendingModel<M>| -> Result<ModelErrors> {
            let free = model.free.map(ReadBack::wait).transpose()?;
            let (photon, residual) = (model.photon.wait()?, model.residual.wait()?);
            Ok(self.combine(&photon, &residual, free.as_deref()))
        };
        Ok(StepErrors {
            fourier: total(&pending.errors.wait()?) / frames,
            exit: pending.moved.map(ReadBack::wait).transpose()?.map(exit),
            start: pending.model.map(start).transpose()?,
        })
    }

    fn combine(&self, photon: &[f32], residual: &[f32], free: Option<&[f32]>) -> ModelErrors {
        ModelErrors {
            photon: total(photon) / f64::from(self.layout.frames.max(1)),
            r_factor: total(residual) / self.total_counts,
            r_free: free.map(|free| total(free) / self.free_counts),
        }
    }

    fn download(
        &self,
        buffer: &M::Buffer<warpstride_device::Complex32>,
        elements: usize,
    ) -> Result<Vec<Complex<f32>>> {
        let mut values = vec![Complex::default(); elements];
        self.device.download(buffer, &mut values)?;
        Ok(values)
    }
}

impl<M: Device> Engine for GpuEngine<M> {
    fn setup(&self) -> Setup {
        Setup {
            backend: self.device.backend(),
            device: self.device.device_name(),
            precision: "f32",
        }
    }

    fn plan(&self) -> Option<StepPlan> {
        self.projected
    }

    fn step(&mut self, step: &Step) -> std::result::Result<(), EngineError> {
        Ok(self.queue(step)?)
    }

    fn errors(&mut self, all: bool) -> std::result::Result<Vec<StepErrors>, EngineError> {
        let mut finished = Vec::new();
        while let Some(oldest) = self.pending.front() {
            // Read-backs finish in order: when the last one of an iteration is ready, all are.
            if !(all || self.pending.len() > MAX_PENDING || oldest.errors.ready()) {
                break;
            }
            if let Some(oldest) = self.pending.pop_front() {
                finished.push(self.finish(oldest)?);
            }
        }
        Ok(finished)
    }

    fn metrics(&mut self) -> std::result::Result<ModelErrors, EngineError> {
        if let (Some(fused), false) = (&mut self.fused, self.subpixel) {
            fused.model_metrics(&self.device, &self.layout, &mut self.buffers)?;
        } else if self.waves_fft.is_none() || self.subpixel {
            if self.frames.is_none() {
                self.start_frames(chunk(&self.layout))?;
            }
            if let Some(frames) = &mut self.frames {
                let (device, buffers) = (&self.device, &mut self.buffers);
                all_errors(device, &self.layout, buffers, frames, &self.probe_fft)?;
            }
        } else if let Some(fft) = &self.waves_fft {
            metrics::model_metrics(&self.device, &self.layout, &mut self.buffers, fft)?;
        }
        let Self {
            buffers, device, ..
        } = self;
        let photon = device.read_back(&buffers.photon)?.wait()?;
        let residual = device.read_back(&buffers.residual)?.wait()?;
        let free = (self.free_counts > 0.0)
            .then(|| device.read_back(&buffers.free)?.wait())
            .transpose()?;
        Ok(self.combine(&photon, &residual, free.as_deref()))
    }

    fn object(&mut self) -> std::result::Result<Array2<Complex<f64>>, EngineError> {
        let values = self.download(&self.buffers.object, self.layout.object_elements())?;
        let columns = self.layout.object_columns as usize;
        Ok(Array2::from_shape_fn(
            (self.layout.object_rows as usize, columns),
            |(r, c)| wide(values[r * columns + c]),
        ))
    }

    fn probe(&mut self) -> std::result::Result<Array3<Complex<f64>>, EngineError> {
        let values = self.download(&self.buffers.probe, self.layout.probe_elements())?;
        let [modes, rows, columns] =
            [self.layout.modes, self.layout.rows, self.layout.columns].map(|n| n as usize);
        Ok(Array3::from_shape_fn(
            (modes, rows, columns),
            |(m, r, c)| wide(values[(m * rows + r) * columns + c]),
        ))
    }

    fn frames(&self) -> Frames {
        self.parameters.frames(self.subpixel)
    }

    fn save(&mut self) -> std::result::Result<EngineState, EngineError> {
        let layout = self.layout;
        let object = self.download(&self.buffers.object, layout.object_elements())?;
        let probe = self.download(&self.buffers.probe, layout.probe_elements())?;
        let (waves, space) = match &self.fused {
            Some(_) => (&self.buffers.waves, WaveSpace::Real),
            None => (&self.buffers.spectra, WaveSpace::Fourier),
        };
        let exit = self.download(waves, waves.len())?;
        let momentum = match &self.batches {
            Some(of) => [&of.object_velocity, &of.probe_velocity]
                .map(|v| self.download(v, v.len()))
                .into_iter()
                .collect::<Result<Vec<_>>>()?,
            None => vec![Vec::new(), Vec::new()],
        };
        let mut momentum = momentum.into_iter();
        let mut next = || momentum.next().unwrap_or_default();
        let momentum = [next(), next()];
        let search = match &self.likelihood {
            Some(of) => of.search(&self.device)?,
            None => self.saved_search.clone(),
        };
        Ok(EngineState::from_parts(object, probe, exit)
            .with_exit_in(space)
            .with_momentum(momentum)
            .with_search(search)
            .with_frames(&self.parameters))
    }

    fn restore(&mut self, state: &EngineState) -> std::result::Result<(), EngineError> {
        self.pending.clear();
        let layout = self.layout;
        let lengths = [layout.object_elements(), layout.probe_elements()];
        let [object, probe, exit] =
            state.parts::<f32>([lengths[0], lengths[1], layout.wave_elements()])?;
        let momentum = state.momentum::<f32>(lengths)?;
        self.saved_search = state.search(lengths)?;
        self.likelihood = None;
        state.restore_frames(&mut self.parameters, self.bound)?;
        self.upload_frames()?;
        let shape = [layout.rows, layout.columns].map(|n| n as usize);
        if exit.is_empty() {
            self.free_projections()?;
        } else if self.fused_scan.is_some() && state.exit_space == WaveSpace::Real {
            self.start_fused()?;
            self.device.upload(&mut self.buffers.waves, exit)?;
        } else {
            self.start_projections()?;
            let exit = state.exit_in(WaveSpace::Fourier, exit, shape);
            self.device.upload(&mut self.buffers.spectra, &exit)?;
        }
        if let Some(fused) = &mut self.fused {
            fused.forget_fluence();
        }
        self.saved_momentum = momentum.map(<[Complex<f32>]>::to_vec);
        self.device.upload(&mut self.buffers.object, object)?;
        self.device.upload(&mut self.buffers.probe, probe)?;
        Ok(())
    }
}

fn total(values: &[f32]) -> f64 {
    values.iter().map(|v| f64::from(*v)).sum()
}

fn wide(v: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(v.re), f64::from(v.im))
}
