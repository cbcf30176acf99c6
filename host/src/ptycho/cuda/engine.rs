//! Mirrors cpu/engine.rs: state of a projection engine on a machine, and one step.

use super::buffers::{Buffers, Layout};
use super::constraints::{Supports, fourier_support};
use super::{centring, fourier_projection, metrics, object_update, probe_update};
use crate::gpu::{Direction, Fetch, Machine, Result};
use crate::ptycho::{
    Engine, EngineError, EngineState, ModelErrors, Problem, Step, StepErrors, UpdateVersion,
};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::collections::VecDeque;

/// Iterations whose figures may be under way; then the oldest is waited for, so that neither the
/// queue nor the page-locked memory grows.
const MOST_PENDING: usize = 32;

/// Figures of one iteration on their way to the host.
struct Pending<M: Machine> {
    errors: M::Fetch<f32>,
    moved: M::Fetch<f32>,
    photon: M::Fetch<f32>,
    residual: M::Fetch<f32>,
}

/// A projection engine on a [`Machine`], in single precision.
pub struct GpuEngine<M: Machine> {
    layout: Layout,
    version: UpdateVersion,
    supports: Supports,
    total_counts: f64,
    pending: VecDeque<Pending<M>>,
    waves_fft: M::Fft,
    probe_fft: M::Fft,
    buffers: Buffers<M>,
    machine: M,
}

impl<M: Machine> GpuEngine<M> {
    /// Allocates everything on `machine` and uploads the start values; the exit waves start as P·O.
    ///
    /// # Errors
    /// Out of memory, or the machine's.
    pub fn new(
        machine: M,
        problem: &Problem,
        version: UpdateVersion,
    ) -> std::result::Result<Self, EngineError> {
        let (layout, mut buffers) = Buffers::new(&machine, problem, version)?;
        let (rows, columns) = (layout.rows as usize, layout.columns as usize);
        let modes = layout.modes as usize;
        let waves_fft = machine.plan_fft(&[rows, columns], layout.frames as usize * modes)?;
        let probe_fft = machine.plan_fft(&[rows, columns], modes)?;
        fourier_projection::model_spectra(&machine, &layout, &mut buffers, &waves_fft)?;
        machine.copy(&buffers.waves, &mut buffers.spectra)?;
        machine.synchronize()?;
        Ok(Self {
            layout,
            version,
            supports: Supports::default(),
            total_counts: problem.total_counts,
            pending: VecDeque::new(),
            waves_fft,
            probe_fft,
            buffers,
            machine,
        })
    }

    /// The machine, for timing.
    #[must_use]
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Milliseconds of each stage of one iteration on its own, by the device's clock; the state goes
    /// on by that iteration.
    ///
    /// # Errors
    /// The machine's.
    pub fn stage_times(
        &mut self,
        step: &Step,
    ) -> std::result::Result<Vec<(&'static str, f32)>, EngineError> {
        let Self {
            layout,
            version,
            waves_fft,
            buffers,
            machine,
            ..
        } = self;
        let machine: &M = machine;
        let mut times = Vec::new();
        let c = step.coefficients;
        let mut timed = |name, stage: &mut dyn FnMut() -> Result<()>| -> Result<()> {
            times.push((name, machine.time_ms(stage)?));
            Ok(())
        };
        timed("exit-wave build", &mut || {
            fourier_projection::build(machine, layout, buffers)
        })?;
        timed("transform, forward", &mut || {
            machine.fft(waves_fft, &mut buffers.waves, Direction::Forward)
        })?;
        timed("Fourier step", &mut || {
            fourier_projection::advance(machine, layout, buffers, c, step.bound)
        })?;
        timed("transform, inverse", &mut || {
            machine.fft_to(
                waves_fft,
                &buffers.spectra,
                &mut buffers.waves,
                Direction::Inverse,
            )
        })?;
        timed("object update", &mut || {
            let (weight, clip) = (step.object_weight, step.clip_object);
            object_update::object_update(machine, layout, buffers, *version, weight, clip)
        })?;
        timed("probe update", &mut || {
            probe_update::probe_update(machine, layout, buffers, *version, step.probe_weight)
        })?;
        Ok(times)
    }

    /// Queues one iteration and the fetching of its figures.
    ///
    /// # Errors
    /// The machine's.
    fn queue(&mut self, step: &Step) -> Result<()> {
        let Self {
            layout,
            version,
            waves_fft,
            buffers,
            machine,
            ..
        } = self;
        fourier_projection::project(
            machine,
            layout,
            buffers,
            waves_fft,
            step.coefficients,
            step.bound,
        )?;
        let supports = [step.probe_support, step.probe_fourier_support];
        self.supports.set(machine, layout, buffers, supports)?;
        let alternates = step.update_probe && step.overlap_loops > 1;
        // Also without alternations: an iteration before may have shut it.
        machine.zero(&mut buffers.gate)?;
        for _ in 0..step.overlap_loops {
            if step.update_object {
                let clip = step.clip_object;
                object_update::object_update(
                    machine,
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
                machine.copy(&buffers.probe, &mut buffers.probe_before)?;
            }
            probe_update::probe_update(machine, layout, buffers, *version, step.probe_weight)?;
            if step.probe_fourier_support.is_some() {
                fourier_support(machine, layout, buffers, &self.probe_fft)?;
            }
            if alternates {
                let tolerance = step.overlap_tolerance;
                probe_update::judge_change(machine, layout, buffers, tolerance)?;
            }
        }
        if let Some(tolerance) = step.centre_tolerance {
            centring::centre(machine, layout, buffers, tolerance)?;
        }
        self.pending.push_back(Pending {
            errors: machine.fetch(&buffers.errors)?,
            moved: machine.fetch(&buffers.moved)?,
            photon: machine.fetch(&buffers.photon)?,
            residual: machine.fetch(&buffers.residual)?,
        });
        Ok(())
    }

    fn finish(&self, pending: Pending<M>) -> Result<StepErrors> {
        let frames = f64::from(self.layout.frames.max(1));
        Ok(StepErrors {
            fourier: total(&pending.errors.wait()?) / frames,
            exit: total(&pending.moved.wait()?) / (frames * f64::from(self.layout.pixels())),
            start: self.combine(&pending.photon.wait()?, &pending.residual.wait()?),
        })
    }

    fn combine(&self, photon: &[f32], residual: &[f32]) -> ModelErrors {
        ModelErrors {
            photon: total(photon) / f64::from(self.layout.frames.max(1)),
            r_factor: total(residual) / self.total_counts,
        }
    }

    fn downloaded(
        &self,
        buffer: &M::Buffer<warpstride_device::Complex32>,
        elements: usize,
    ) -> Result<Vec<Complex<f32>>> {
        let mut values = vec![Complex::default(); elements];
        self.machine.download(buffer, &mut values)?;
        Ok(values)
    }
}

impl<M: Machine> Engine for GpuEngine<M> {
    fn backend(&self) -> &'static str {
        self.machine.backend()
    }

    fn device(&self) -> String {
        self.machine.device_name()
    }

    fn step(&mut self, step: &Step) -> std::result::Result<(), EngineError> {
        Ok(self.queue(step)?)
    }

    fn errors(&mut self, all: bool) -> std::result::Result<Vec<StepErrors>, EngineError> {
        let mut finished = Vec::new();
        while let Some(oldest) = self.pending.front() {
            // Fetches come in order: when the last one of an iteration is here, all are.
            if !(all || self.pending.len() > MOST_PENDING || oldest.residual.ready()) {
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
            machine,
            ..
        } = self;
        metrics::model_metrics(machine, layout, buffers, waves_fft)?;
        let photon = machine.fetch(&buffers.photon)?.wait()?;
        let residual = machine.fetch(&buffers.residual)?.wait()?;
        Ok(self.combine(&photon, &residual))
    }

    fn object(&mut self) -> std::result::Result<Array2<Complex<f64>>, EngineError> {
        let values = self.downloaded(&self.buffers.object, self.layout.object_elements())?;
        let columns = self.layout.object_columns as usize;
        Ok(Array2::from_shape_fn(
            (self.layout.object_rows as usize, columns),
            |(r, c)| wide(values[r * columns + c]),
        ))
    }

    fn probe(&mut self) -> std::result::Result<Array3<Complex<f64>>, EngineError> {
        let values = self.downloaded(&self.buffers.probe, self.layout.probe_elements())?;
        let [modes, rows, columns] =
            [self.layout.modes, self.layout.rows, self.layout.columns].map(|n| n as usize);
        Ok(Array3::from_shape_fn(
            (modes, rows, columns),
            |(m, r, c)| wide(values[(m * rows + r) * columns + c]),
        ))
    }

    fn save(&mut self) -> std::result::Result<EngineState, EngineError> {
        let layout = self.layout;
        let object = self.downloaded(&self.buffers.object, layout.object_elements())?;
        let probe = self.downloaded(&self.buffers.probe, layout.probe_elements())?;
        let exit = self.downloaded(&self.buffers.spectra, layout.wave_elements())?;
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
        self.machine.upload(&mut self.buffers.object, object)?;
        self.machine.upload(&mut self.buffers.probe, probe)?;
        self.machine.upload(&mut self.buffers.spectra, exit)?;
        Ok(())
    }
}

fn total(values: &[f32]) -> f64 {
    values.iter().map(|v| f64::from(*v)).sum()
}

fn wide(v: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(v.re), f64::from(v.im))
}
