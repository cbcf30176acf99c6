//! Mirrors cpu/engine.rs: reconstruction on one or several devices, in single precision.
//!
//! An iteration is captured in a graph once and replayed; the host waits only when it reads
//! residuals. Several devices have a part of the coils each, and the whole image: the sums over the
//! coils of each are added through the host in every iteration, between two graphs, and then every
//! device does the same to its image.

use super::fista::RESIDUAL_HISTORY;
use super::part::{Part, Prepared, Solver, Stage, convolution_factors};
use super::sum_over_devices::SumOverDevices;
use super::sums::squares;
use super::{DeviceArrays, coil_parts};
use crate::cpu::{POWER_STEPS, adjoint_image, combined, intensity_corrected};
use crate::engine::{Stop, relative_data_residual, signal_squared};
use crate::{Engine, Grid, Method, MriError, OperatorName, Plans, Problem, Recipe, Residual};
use ndarray::Array3;
use num_complex::Complex;
use std::time::{Duration, Instant};
use warpstride_core::run::Setup;
use warpstride_cuda::gpu::{Buffer, Device, GpuError, Result as GpuResult};
use warpstride_device::Complex32;
use warpstride_kernels::mri::PARTIAL_SUMS;

/// [`Engine::advance`] queues iterations for about this time before it waits for them.
const STEP: Duration = Duration::from_millis(60);

/// A reconstruction on a device, or on several of one kind.
///
/// Each set of coil maps has an image; without maps every coil has its own, as on the CPU.
pub struct GpuEngine<M: Device> {
    /// The devices with their coils; at least one. All have the same image, and the first gives it
    /// to the host.
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
    /// Time of the iterations that are queued together.
    step: Duration,
    /// Σ w |d|²
    signal: f64,
    b: RightHandSide<M>,
}

/// EᴴWd, which the data residual needs.
enum RightHandSide<M: Device> {
    /// On the host; empty for the adjoint.
    Host(Vec<Complex<f32>>),
    /// On the device, where samples and image stay; `None` for the adjoint and for FISTA, which has
    /// it.
    Device(Option<M::Buffer<Complex32>>),
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

    /// [`GpuEngine::new`] on several devices, with their numbers, of which errors name the one that
    /// failed. [`coil_parts`](super::coil_parts()) says which coils each of them has; the others
    /// are not used.
    ///
    /// # Errors
    /// Like [`GpuEngine::new`]; no device, or devices of different kinds, whose images would differ
    /// by rounding.
    pub fn on_devices(
        devices: Vec<(usize, M)>,
        problem: &Problem,
        recipe: &Recipe,
    ) -> Result<Self, MriError> {
        Self::with_plans(devices, problem, recipe, &mut Plans::default())
    }

    /// [`GpuEngine::on_devices`] with the `plans` that there are for the problem's trajectory, to
    /// which new ones are added.
    ///
    /// # Errors
    /// Like [`GpuEngine::on_devices`].
    pub fn with_plans(
        devices: Vec<(usize, M)>,
        problem: &Problem,
        recipe: &Recipe,
        plans: &mut Plans,
    ) -> Result<Self, MriError> {
        problem.expect_samples()?;
        let ranges = coil_parts(problem, devices.len());
        let sets = problem.maps().map_or(1, |maps| maps.dim().0);
        check_counts(
            problem,
            ranges.iter().map(ExactSizeIterator::len).max(),
            sets,
        )?;
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
        let (signal, b) = (signal_squared(problem), RightHandSide::Host(b));
        Self::begun(problem, recipe, (parts, sums), setup, (signal, b))
    }

    /// [`GpuEngine::new`] with samples and coil maps that lie in the memory of the device, of a
    /// problem [without samples](Problem::without_samples) and maps. Neither they nor the image
    /// pass through the host: [`GpuEngine::image_on_device`] has the image. [`Method::Tv`] and
    /// [`Method::Wavelet`] read EᴴWd, which is as large as the image, for the scale of λ.
    ///
    /// The image of [`Method::Adjoint`] is EᴴWd itself: maps that are divided by Σ|S|² make it the
    /// image that the other constructors compute.
    ///
    /// # Errors
    /// Like [`GpuEngine::new`]; arrays of other lengths or with values that are not finite; maps or
    /// a field in the problem, or [`Recipe::intensity_correction`], which is for maps on the host.
    pub fn of_device_arrays(
        device: M,
        problem: &Problem,
        recipe: &Recipe,
        arrays: &DeviceArrays<'_, M>,
        plans: &mut Plans,
    ) -> Result<Self, MriError> {
        if problem.maps().is_some() || recipe.intensity_correction {
            return Err(MriError::Unsupported(
                "arrays of a device: expected no maps in the problem and no intensity correction"
                    .to_owned(),
            ));
        }
        let sets = arrays.sets(problem)?;
        check_counts(problem, Some(problem.coils()), sets.unwrap_or(1))?;
        let iterative = recipe.method != Method::Adjoint;
        let signal = arrays.checked_signal(&device, problem)?;
        let prepared = Prepared::of_device_arrays(device, problem, recipe, arrays, plans)?;
        let setup = Setup {
            backend: prepared.device().backend(),
            device: prepared.device().device_name(),
            precision: "f32",
        };
        let factors = if iterative && recipe.operator == OperatorName::Toeplitz {
            let device = prepared.device();
            Some(convolution_factors(device, problem, recipe, plans)?)
        } else {
            None
        };
        let b = match recipe.method {
            Method::Cg => Some(prepared.copy_of_right_hand_side()?),
            _ => None,
        };
        let part = prepared.with_method(problem, recipe, factors.as_deref(), None)?;
        let parts = (vec![part], SumOverDevices::new());
        let b = RightHandSide::Device(b);
        Self::begun(problem, recipe, parts, setup, (signal, b))
    }

    /// Before the first iteration, after the power iteration of FISTA.
    fn begun(
        problem: &Problem,
        recipe: &Recipe,
        (parts, sums): (Vec<Part<M>>, SumOverDevices<M>),
        setup: Setup,
        (signal, b): (f64, RightHandSide<M>),
    ) -> Result<Self, MriError> {
        let iterative = recipe.method != Method::Adjoint;
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
            step: STEP,
            signal,
            b,
        };
        for step in 1..=POWER_STEPS {
            engine.power_step(step == POWER_STEPS)?;
        }
        Ok(engine)
    }

    /// Waits, and returns a copy of the image on the first device, (image, slice, row, column): one
    /// for each set of maps, or one for each coil without maps. [`Engine::image`] is the root sum
    /// of squares of several.
    ///
    /// # Errors
    /// An error of the device; an image with values that are not finite; [`MriError::Unsupported`]
    /// for the adjoint of samples of the host.
    pub fn image_on_device(&mut self) -> Result<M::Buffer<Complex32>, MriError> {
        let part = self.first()?;
        let image = part.solver.image().ok_or_else(|| {
            MriError::Unsupported("the adjoint of samples of the host is on the host".to_owned())
        })?;
        let mut copy = part.device.alloc("the image", image.len())?;
        part.device.copy(image, &mut copy)?;
        let mut partial = part.device.alloc("sums", PARTIAL_SUMS)?;
        if squares(&part.device, &copy, &mut partial)?.is_finite() {
            return Ok(copy);
        }
        Err(MriError::NotFinite {
            iteration: self.done,
            residual: f64::NAN,
        })
    }

    /// Σ w |d|², which is 0 if there is no signal.
    #[must_use]
    pub fn signal_squared(&self) -> f64 {
        self.signal
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
            Solver::AdjointOnDevice(image) => image,
            Solver::Cg(cg) => cg.image(),
            Solver::Fista(fista) => fista.image(),
        };
        let mut values = vec![Complex::default(); on_device.len()];
        first.device.download(on_device, &mut values)?;
        Ok(values)
    }

    /// [`Engine::data_residual`] with this b = EᴴWd on the host.
    fn data_residual_of(&self, b: &[Complex<f32>]) -> Result<Option<f64>, MriError> {
        let image = self.unknown()?;
        let first = self.first()?;
        let rest = match &first.solver {
            Solver::Adjoint(_) | Solver::AdjointOnDevice(_) => return Ok(None),
            Solver::Cg(cg) => cg.rest(&first.device, &image)?,
            Solver::Fista(fista) => fista.rest(&first.device)?,
        };
        Ok(relative_data_residual(self.signal, &image, b, rest))
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

/// Refuses more elements on a device than a launch can count; `coils`: those of one device, with so
/// many sets of maps.
fn check_counts(problem: &Problem, coils: Option<usize>, sets: usize) -> Result<(), MriError> {
    let coils = coils.unwrap_or(0);
    let (voxels, samples) = (problem.grid().voxels(), problem.trajectory().nrows());
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

    fn one_by_one(&mut self) {
        self.step = Duration::ZERO;
    }

    fn advance(&mut self) -> Result<Vec<Residual>, MriError> {
        let left = self.planned - self.done;
        if left == 0 || self.converged {
            return Ok(Vec::new());
        }
        let count = match self.iteration_time {
            None => 1,
            Some(iteration_time) => {
                let fitting = self.step.as_secs_f64() / iteration_time.as_secs_f64().max(1e-6);
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
        let b = match &mut self.b {
            RightHandSide::Host(b) => b,
            RightHandSide::Device(b) => {
                let part = self.parts.first_mut().ok_or(GpuError::NoDevices)?;
                let explained = match (&mut part.solver, b) {
                    (Solver::Cg(cg), Some(b)) => cg.explained(&part.device, b)?,
                    (Solver::Fista(fista), _) => fista.explained(&part.device)?,
                    _ => return Ok(None),
                };
                let rest = (self.signal - explained) / self.signal;
                return Ok((self.signal > 0.0).then(|| rest.max(0.0)));
            }
        };
        let b = std::mem::take(b);
        let found = self.data_residual_of(&b);
        self.b = RightHandSide::Host(b);
        found
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
