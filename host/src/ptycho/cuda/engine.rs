//! Mirrors cpu/engine.rs: state and step of a projection engine on a device.

use super::buffers::{Buffers, Layout};
use super::constraints::{Supports, fourier_support};
use super::{centring, fourier_projection, metrics, object_update, probe_update};
use crate::gpu::{Device, Direction, ReadBack, Result};
use crate::ptycho::{
    Engine, EngineError, EngineState, ModelErrors, Problem, Step, StepErrors, UpdateVersion,
};
use crate::run::Setup;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::collections::VecDeque;

/// Largest number of iterations whose metrics may be pending; beyond it the oldest is waited for,
/// so that neither the queue nor the page-locked memory grows.
const MAX_PENDING: usize = 32;

/// Metrics of one iteration that are being copied to the host.
struct Pending<M: Device> {
    errors: M::ReadBack<f32>,
    moved: M::ReadBack<f32>,
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
    pending: VecDeque<Pending<M>>,
    waves_fft: M::Fft,
    probe_fft: M::Fft,
    buffers: Buffers<M>,
    device: M,
}

impl<M: Device> GpuEngine<M> {
    /// Allocates all buffers on `device` and uploads the start values; the exit waves start as P·O.
    ///
    /// # Errors
    /// Returns the device's error, for example if memory is exhausted.
    pub fn new(
        device: M,
        problem: &Problem,
        version: UpdateVersion,
    ) -> std::result::Result<Self, EngineError> {
        let (layout, mut buffers) = Buffers::new(&device, problem, version)?;
        let (rows, columns) = (layout.rows as usize, layout.columns as usize);
        let modes = layout.modes as usize;
        let waves_fft = device.plan_fft(&[rows, columns], layout.frames as usize * modes)?;
        let probe_fft = device.plan_fft(&[rows, columns], modes)?;
        fourier_projection::model_spectra(&device, &layout, &mut buffers, &waves_fft)?;
        device.copy(&buffers.waves, &mut buffers.spectra)?;
        device.synchronize()?;
        Ok(Self {
            layout,
            version,
            supports: Supports::default(),
            total_counts: problem.total_counts,
            free_counts: problem.free_counts,
            pending: VecDeque::new(),
            waves_fft,
            probe_fft,
            buffers,
            device,
        })
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
        let Self {
            layout,
            version,
            waves_fft,
            buffers,
            device,
            ..
        } = self;
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

    /// Queues one iteration and the read-back of its metrics.
    ///
    /// # Errors
    /// Returns the device's error.
    fn queue(&mut self, step: &Step) -> Result<()> {
        let Self {
            layout,
            version,
            waves_fft,
            buffers,
            device,
            ..
        } = self;
        fourier_projection::project(
            device,
            layout,
            buffers,
            waves_fft,
            step.coefficients,
            step.bound,
        )?;
        let supports = [step.probe_support, step.probe_fourier_support];
        self.supports.set(device, layout, buffers, supports)?;
        let alternates = step.update_probe && step.overlap_loops > 1;
        // Needed even without alternations, as an earlier iteration may have closed the gate.
        device.zero(&mut buffers.gate)?;
        for _ in 0..step.overlap_loops {
            if step.update_object {
                let clip = step.clip_object;
                object_update::object_update(
                    device,
                    layout,
                    buffers,
                    *version,
                    step.object_weight,
                    clip,
                )?;
            }
            if !step.update_probe {
                break;
            }
            if alternates {
                device.copy(&buffers.probe, &mut buffers.probe_before)?;
            }
            probe_update::probe_update(device, layout, buffers, *version, step.probe_weight)?;
            if step.probe_fourier_support.is_some() {
                fourier_support(device, layout, buffers, &self.probe_fft)?;
            }
            if alternates {
                let tolerance = step.overlap_tolerance;
                probe_update::check_convergence(device, layout, buffers, tolerance)?;
            }
        }
        if let Some(tolerance) = step.centre_tolerance {
            centring::centre(device, layout, buffers, tolerance)?;
        }
        let free = (self.free_counts > 0.0).then(|| device.read_back(&buffers.free));
        self.pending.push_back(Pending {
            free: free.transpose()?,
            errors: device.read_back(&buffers.errors)?,
            moved: device.read_back(&buffers.moved)?,
            photon: device.read_back(&buffers.photon)?,
            residual: device.read_back(&buffers.residual)?,
        });
        Ok(())
    }

    fn finish(&self, pending: Pending<M>) -> Result<StepErrors> {
        let frames = f64::from(self.layout.frames.max(1));
        let free = pending.free.map(ReadBack::wait).transpose()?;
        Ok(StepErrors {
            fourier: total(&pending.errors.wait()?) / frames,
            exit: total(&pending.moved.wait()?) / (frames * f64::from(self.layout.pixels())),
            start: self.combine(
                &pending.photon.wait()?,
                &pending.residual.wait()?,
                free.as_deref(),
            ),
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

    fn step(&mut self, step: &Step) -> std::result::Result<(), EngineError> {
        Ok(self.queue(step)?)
    }

    fn errors(&mut self, all: bool) -> std::result::Result<Vec<StepErrors>, EngineError> {
        let mut finished = Vec::new();
        while let Some(oldest) = self.pending.front() {
            // Read-backs finish in order: when the last one of an iteration is ready, all are.
            if !(all || self.pending.len() > MAX_PENDING || oldest.residual.ready()) {
                break;
            }
            if let Some(oldest) = self.pending.pop_front() {
                finished.push(self.finish(oldest)?);
            }
        }
        Ok(finished)
    }

    fn metrics(&mut self) -> std::result::Result<ModelErrors, EngineError> {
        let Self {
            layout,
            waves_fft,
            buffers,
            device,
            ..
        } = self;
        metrics::model_metrics(device, layout, buffers, waves_fft)?;
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

    fn save(&mut self) -> std::result::Result<EngineState, EngineError> {
        let layout = self.layout;
        let object = self.download(&self.buffers.object, layout.object_elements())?;
        let probe = self.download(&self.buffers.probe, layout.probe_elements())?;
        let exit = self.download(&self.buffers.spectra, layout.wave_elements())?;
        Ok(EngineState::from_parts(object, probe, exit))
    }

    fn restore(&mut self, state: &EngineState) -> std::result::Result<(), EngineError> {
        self.pending.clear();
        let layout = self.layout;
        let [object, probe, exit] = state.parts::<f32>([
            layout.object_elements(),
            layout.probe_elements(),
            layout.wave_elements(),
        ])?;
        self.device.upload(&mut self.buffers.object, object)?;
        self.device.upload(&mut self.buffers.probe, probe)?;
        self.device.upload(&mut self.buffers.spectra, exit)?;
        Ok(())
    }
}

fn total(values: &[f32]) -> f64 {
    values.iter().map(|v| f64::from(*v)).sum()
}

fn wide(v: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(v.re), f64::from(v.im))
}
