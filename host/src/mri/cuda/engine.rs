//! Mirrors cpu/engine.rs: reconstruction on one or several devices, in single precision.
//!
//! An iteration is captured in a graph once and replayed; the host waits only when it reads
//! residuals. Several devices have a part of the coils each, and the whole image: the sums over the coils of
//! each are added through the host in every iteration, between two graphs, and then every device does the
//! same to its image.

use super::coil_parts;
use super::fista::RESIDUAL_HISTORY;
use super::part::{Part, Prepared, Solver, Stage, convolution_factors};
use super::sum_over_devices::SumOverDevices;
use crate::gpu::{Buffer, Device, GpuError, Result as GpuResult};
use crate::mri::cpu::{POWER_STEPS, adjoint_image, combined, intensity_corrected};
use crate::mri::engine::{Stop, relative_data_residual, signal_squared};
use crate::mri::{Engine, Grid, Method, MriError, OperatorName, Plans, Problem, Recipe, Residual};
use crate::run::Setup;
use ndarray::Array3;
use num_complex::Complex;
use std::time::{Duration, Instant};

/// [`Engine::advance`] queues iterations for about this time before it waits for them.
const STEP: Duration = Duration::from_millis(60);

/// A reconstruction on a device, or on several of one kind.
///
/// Each set of coil maps has an image; without maps every coil has its own, as on the CPU.
pub struct GpuEngine<M: Device> {
    /// The devices with their coils; at least one. All have the same image, and the first gives it to the host.
    parts: Vec<Part<M>>,
    sums: SumOverDevices<M>,
    grid: Grid,
    setup: Setup,
    planned: usize,
    done: usize,
    /// When the method stops before all iterations are done.
    stop: Stop,
    converged: bool,
    /// Duration of an iteration, once measured.
    iteration_time: Option<Duration>,
    /// Σ w |d|²
    signal: f64,
    /// EᴴWd; empty for the adjoint.
    b: Vec<Complex<f32>>,
}

/// An error of the device of this number, which is named if there are several devices.
fn on(several: bool, number: usize) -> impl Fn(MriError) -> MriError {
    move |why| match why {
        MriError::Gpu(why) if several => MriError::Gpu(why.on(number)),
        why => why,
    }
}

impl<M: Device> GpuEngine<M> {
    /// Plans the operator and computes EᴴWd.
    ///
    /// # Errors
    /// An error of the device (including lack of memory), [`MriError::Tolerance`], or
    /// [`MriError::Unsupported`] for a field with any operator but the direct one, or for more
    /// elements than a launch can count.
    pub fn new(device: M, problem: &Problem, recipe: &Recipe) -> Result<Self, MriError> {
        Self::on_devices(vec![(0, device)], problem, recipe)
    }

    /// [`GpuEngine::new`] on several devices, with their numbers, of which errors name the one that failed.
    /// [`coil_parts`](super::coil_parts()) says which coils each of them has; the others are not used.
    ///
    /// # Errors
    /// Like [`GpuEngine::new`]; no device, or devices of different kinds, whose images would differ by rounding.
    pub fn on_devices(
        devices: Vec<(usize, M)>,
        problem: &Problem,
        recipe: &Recipe,
    ) -> Result<Self, MriError> {
        Self::with_plans(devices, problem, recipe, &mut Plans::default())
    }

    /// [`GpuEngine::on_devices`] with the `plans` that there are for the problem's trajectory, to which new ones are added.
    ///
    /// # Errors
    /// Like [`GpuEngine::on_devices`].
    pub fn with_plans(
        devices: Vec<(usize, M)>,
        problem: &Problem,
        recipe: &Recipe,
        plans: &mut Plans,
    ) -> Result<Self, MriError> {
        let ranges = coil_parts(problem, devices.len());
        check_counts(problem, ranges.iter().map(ExactSizeIterator::len).max())?;
        check_kinds(&devices)?;
        let several = ranges.len() > 1;
        let iterative = recipe.method != Method::Adjoint;
        let maps = match problem.maps() {
            Some(maps) if recipe.intensity_correction => Some(intensity_corrected(maps)),
            maps => maps.cloned(),
        };
        let mut prepared = Vec::with_capacity(ranges.len());
        for (device, range) in devices.into_iter().zip(ranges) {
            let number = device.0;
            let part = Prepared::new(device, problem, recipe, maps.as_ref(), range, plans);
            prepared.push(part.map_err(on(several, number))?);
        }
        let mut sums = SumOverDevices::new();
        let mut summands: Vec<_> = prepared.iter_mut().map(Prepared::summand).collect();
        sums.add(&mut summands)?;
        let first = prepared.first().ok_or(GpuError::NoDevices)?;
        let named = on(several, first.number());
        let b = first.right_hand_side().map_err(|e| named(e.into()))?;
        let setup = Setup {
            backend: first.device().backend(),
            device: names(&prepared),
            precision: "f32",
        };
        let factors = if iterative && recipe.operator == OperatorName::Toeplitz {
            let factors = convolution_factors(first.device(), problem, recipe, plans);
            Some(factors.map_err(named)?)
        } else {
            None
        };
        let (b, adjoint) = if iterative {
            (b, None)
        } else {
            (Vec::new(), Some(adjoint_image(b, maps.as_ref())))
        };
        drop(maps);
        let mut parts = Vec::with_capacity(prepared.len());
        for part in prepared {
            let number = part.number();
            let part = part.with_method(problem, recipe, factors.as_deref(), adjoint.as_deref());
            parts.push(part.map_err(on(several, number))?);
        }
        let mut engine = Self {
            parts,
            sums,
            grid: problem.grid(),
            setup,
            planned: if iterative { recipe.iterations } else { 0 },
            done: 0,
            stop: Stop::new(recipe),
            converged: false,
            iteration_time: None,
            signal: signal_squared(problem),
            b,
        };
        for step in 1..=POWER_STEPS {
            engine.power_step(step == POWER_STEPS)?;
        }
        Ok(engine)
    }

    /// Does `work` on every device in their order. Errors name the device if there are several.
    fn on_each<'a, T>(
        &'a mut self,
        mut work: impl FnMut(&'a mut Part<M>) -> GpuResult<T>,
    ) -> GpuResult<Vec<T>> {
        let several = self.parts.len() > 1;
        let parts = self.parts.iter_mut();
        let done = parts.map(|part| {
            let number = part.number;
            work(part).map_err(|why| if several { why.on(number) } else { why })
        });
        done.collect()
    }

    /// A step of the power iteration, with which FISTA finds its step.
    fn power_step(&mut self, last: bool) -> GpuResult<()> {
        let mut sums = std::mem::replace(&mut self.sums, SumOverDevices::new());
        let summands = self.on_each(Part::queue_power_step)?;
        sums.add(&mut summands.into_iter().flatten().collect::<Vec<_>>())?;
        self.sums = sums;
        self.on_each(|part| part.end_power_step(last)).map(drop)
    }

    /// Waits, and returns the image, or that of each coil.
    fn unknown(&self) -> GpuResult<Vec<Complex<f32>>> {
        let first = self.first()?;
        let on_device = match &first.solver {
            Solver::Adjoint(values) => return Ok(values.clone()),
            Solver::Cg(cg) => cg.image(),
            Solver::Fista(fista) => fista.image(),
        };
        let mut values = vec![Complex::default(); on_device.len()];
        first.device.download(on_device, &mut values)?;
        Ok(values)
    }

    /// The device that gives image and residuals to the host.
    fn first(&self) -> GpuResult<&Part<M>> {
        self.parts.first().ok_or(GpuError::NoDevices)
    }

    /// Queues one iteration: the first is launched directly, the second is captured, the others are
    /// replayed.
    fn queue(&mut self) -> GpuResult<()> {
        let capture = self.iteration_time.is_some();
        if let [part] = self.parts.as_mut_slice() {
            return part.queue(Stage::Iteration, capture);
        }
        self.on_each(|part| part.queue(Stage::Apply, capture))?;
        let summands = self.parts.iter_mut().filter_map(Part::applied);
        self.sums.add(&mut summands.collect::<Vec<_>>())?;
        self.on_each(|part| part.queue(Stage::Update, capture))
            .map(drop)
    }
}

/// The names of the devices, separated by commas.
fn names<M: Device>(prepared: &[Prepared<M>]) -> String {
    let names = prepared.iter().map(|part| part.device().device_name());
    names.collect::<Vec<_>>().join(", ")
}

/// Refuses more elements on a device than a launch can count; `coils`: those of one device.
fn check_counts(problem: &Problem, coils: Option<usize>) -> Result<(), MriError> {
    let coils = coils.unwrap_or(0);
    let (voxels, samples) = (problem.grid().voxels(), problem.samples().ncols());
    let sets = problem.maps().map_or(1, |maps| maps.dim().0);
    let largest = (coils.saturating_mul(sets)).saturating_mul(voxels.max(samples));
    if largest <= u32::MAX as usize {
        return Ok(());
    }
    Err(MriError::Unsupported(format!(
        "the GPU back end: expected fewer than 2³² voxels and samples of all coils, found {coils} coils of {voxels} voxels and {samples} samples; use --backend cpu"
    )))
}

/// Refuses devices of different kinds: each updates the whole image by its own arithmetic.
fn check_kinds<M: Device>(devices: &[(usize, M)]) -> Result<(), MriError> {
    let Some((first, of_first)) = devices.first() else {
        return Err(GpuError::NoDevices.into());
    };
    let (name, arch) = (of_first.device_name(), of_first.arch());
    let other = devices
        .iter()
        .find(|(_, device)| device.arch() != arch || device.device_name() != name);
    match other {
        None => Ok(()),
        Some((number, device)) => Err(MriError::Unsupported(format!(
            "several GPUs: expected devices of one model, found {name} (GPU {first}) and {} (GPU {number})",
            device.device_name()
        ))),
    }
}

impl<M: Device> Engine for GpuEngine<M> {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn planned(&self) -> usize {
        self.planned
    }

    fn done(&self) -> usize {
        self.done
    }

    fn converged(&self) -> bool {
        self.converged
    }

    fn advance(&mut self) -> Result<Vec<Residual>, MriError> {
        let left = self.planned - self.done;
        if left == 0 || self.converged {
            return Ok(Vec::new());
        }
        let count = match self.iteration_time {
            None => 1,
            Some(iteration_time) => {
                let fitting = STEP.as_secs_f64() / iteration_time.as_secs_f64().max(1e-6);
                (fitting as usize).clamp(1, left.min(RESIDUAL_HISTORY))
            }
        };
        let start = Instant::now();
        for _ in 0..count {
            self.queue()?;
        }
        let first = self.first()?;
        let residuals = (first.solver).residuals(&first.device, self.done, self.done + count)?;
        self.iteration_time = Some(start.elapsed() / count as u32);
        let mut reported = Vec::new();
        for residual in residuals {
            self.done += 1;
            let iteration = self.done;
            if !residual.is_finite() {
                return Err(MriError::NotFinite {
                    iteration,
                    residual,
                });
            }
            reported.push(Residual {
                iteration,
                residual,
            });
            // Later iterations of the batch have left the image as it is.
            if self.stop.after(iteration, residual) {
                self.converged = true;
                break;
            }
        }
        Ok(reported)
    }

    fn image(&mut self) -> Result<Array3<Complex<f64>>, MriError> {
        let values = self.unknown()?;
        Ok(shaped(self.grid, &combined(&values, self.grid.voxels())))
    }

    fn data_residual(&mut self) -> Result<Option<f64>, MriError> {
        let image = self.unknown()?;
        let first = self.first()?;
        let rest = match &first.solver {
            Solver::Adjoint(_) => return Ok(None),
            Solver::Cg(cg) => cg.rest(&first.device, &image)?,
            Solver::Fista(fista) => fista.rest(&first.device)?,
        };
        Ok(relative_data_residual(self.signal, &image, &self.b, rest))
    }
}

fn shaped(grid: Grid, image: &[Complex<f64>]) -> Array3<Complex<f64>> {
    let [slices, rows, columns] = grid.shape;
    Array3::from_shape_fn((slices, rows, columns), |(z, y, x)| {
        image[(z * rows + y) * columns + x]
    })
}

#[cfg(test)]
mod tests;
