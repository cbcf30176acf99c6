//! Mirrors cpu/engine.rs: reconstruction on a device, in single precision.
//!
//! An iteration is captured in a graph once and replayed; the host waits only when it reads
//! residuals.

use super::conjugate_gradients::ConjugateGradients;
use super::direct::point_spread;
use super::fista::{Fista, RESIDUAL_HISTORY, Regulariser};
use super::sense::{Encoding, Gram, Maps, Sense, right_hand_side};
use super::total_variation::TotalVariation;
use super::wavelet::Wavelet;
use super::{Direct, Nufft, Toeplitz};
use crate::gpu::{Buffer, Device, Result as GpuResult};
use crate::mri::cpu::{adjoint_image, combined, intensity_corrected};
use crate::mri::engine::{Stop, relative_data_residual, signal_squared};
use crate::mri::nufft::SpreadingKernel;
use crate::mri::{Engine, Grid, Method, MriError, OperatorName, Problem, Recipe, Residual};
use crate::run::Setup;
use ndarray::{Array1, Array3};
use num_complex::Complex;
use std::time::{Duration, Instant};
use warpstride_device::Complex32;

/// [`Engine::advance`] queues iterations for about this time before it waits for them.
const STEP: Duration = Duration::from_millis(60);

/// Pairs of voxel difference and sample up to which Q is computed by exact summation (about 20 ms
/// on an H200); above, by a NUFFT of the smallest tolerance.
const MAX_DIRECT_PAIRS: f64 = 2.7e11;

/// A reconstruction on a device.
///
/// Each set of coil maps has an image; without maps every coil has its own, as on the CPU.
pub struct GpuEngine<M: Device> {
    device: M,
    grid: Grid,
    setup: Setup,
    planned: usize,
    done: usize,
    sense: Sense<M>,
    solver: Solver<M>,
    /// The graph of an iteration, if the device can capture one.
    graph: Option<M::Graph>,
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

/// The state of a method.
enum Solver<M: Device> {
    /// The image itself.
    Adjoint(Vec<Complex<f32>>),
    Cg(ConjugateGradients<M>),
    Fista(Fista<M>),
}

impl<M: Device> Solver<M> {
    fn queue(&mut self, device: &M, sense: &mut Sense<M>) -> GpuResult<()> {
        match self {
            Self::Adjoint(_) => Ok(()),
            Self::Cg(cg) => cg.queue(device, sense),
            Self::Fista(fista) => fista.queue(device, sense),
        }
    }

    fn residuals(&self, device: &M, from: usize, to: usize) -> GpuResult<Vec<f64>> {
        match self {
            Self::Adjoint(_) => Ok(Vec::new()),
            Self::Cg(cg) => cg.residuals(device, from, to),
            Self::Fista(fista) => fista.residuals(device, from, to),
        }
    }
}

fn narrow(values: impl IntoIterator<Item = Complex<f64>>) -> Vec<Complex<f32>> {
    let value = |v: Complex<f64>| Complex::new(v.re as f32, v.im as f32);
    values.into_iter().map(value).collect()
}

impl<M: Device> GpuEngine<M> {
    /// Plans the operator and computes EᴴWd.
    ///
    /// # Errors
    /// An error of the device (including lack of memory), [`MriError::Tolerance`], or
    /// [`MriError::Unsupported`] for a field with any operator but the direct one, or for more
    /// elements than a launch can count.
    pub fn new(device: M, problem: &Problem, recipe: &Recipe) -> Result<Self, MriError> {
        let grid = problem.grid();
        let (coils, voxels) = (problem.coils(), grid.voxels());
        let sets = problem.maps().map_or(1, |maps| maps.dim().0);
        let largest =
            (coils.saturating_mul(sets)).saturating_mul(voxels.max(problem.samples().ncols()));
        if largest > u32::MAX as usize {
            return Err(MriError::Unsupported(format!(
                "the GPU back end: expected fewer than 2³² voxels and samples of all coils, found {coils} coils of {voxels} voxels and {} samples; use --backend cpu",
                problem.samples().ncols()
            )));
        }
        let mut encoding = encoding(&device, problem, recipe)?;
        let iterative = recipe.method != Method::Adjoint;
        let convolved = iterative && recipe.operator == OperatorName::Toeplitz;
        let map_values = match problem.maps() {
            Some(maps) if recipe.intensity_correction => Some(intensity_corrected(maps)),
            maps => maps.cloned(),
        };
        let mut maps = upload_maps(&device, map_values.as_ref(), convolved, iterative)?;
        let mut samples = device.alloc::<Complex32>("samples", problem.samples().len())?;
        device.upload(&mut samples, &narrow(problem.samples().iter().copied()))?;
        let images = if maps.is_some() { sets } else { coils };
        let mut b = device.alloc::<Complex32>("EᴴWd", images * voxels)?;
        right_hand_side(
            &device,
            &mut encoding,
            &mut samples,
            maps.as_mut(),
            &mut b,
            (voxels, coils),
        )?;
        device.synchronize()?;

        let gram = if convolved {
            drop(samples);
            drop(encoding);
            Gram::Toeplitz(Box::new(toeplitz(&device, problem, recipe)?))
        } else {
            Gram::Encoded { encoding, samples }
        };
        let mut sense = Sense {
            gram,
            maps,
            coils,
            voxels,
        };
        let iterations = recipe.iterations;
        let mut kept = vec![Complex::default(); if iterative { images * voxels } else { 0 }];
        if iterative {
            device.download(&b, &mut kept)?;
        }
        let solver = match recipe.method {
            Method::Adjoint => {
                let mut values = vec![Complex::default(); images * voxels];
                device.download(&b, &mut values)?;
                Solver::Adjoint(adjoint_image(values, map_values.as_ref()))
            }
            Method::Cg => Solver::Cg(ConjugateGradients::new(&device, b, recipe)?),
            Method::Tv | Method::Wavelet => {
                let regulariser = if recipe.method == Method::Tv {
                    Regulariser::TotalVariation(TotalVariation::new(&device, grid, images)?)
                } else {
                    Regulariser::Wavelet(Wavelet::new(&device, grid, images)?)
                };
                let lambda = recipe.lambda;
                let fista = Fista::new(&device, &mut sense, regulariser, b, lambda, iterations)?;
                Solver::Fista(fista)
            }
        };
        Ok(Self {
            grid,
            setup: Setup {
                backend: device.backend(),
                device: device.device_name(),
                precision: "f32",
            },
            planned: if iterative { iterations } else { 0 },
            done: 0,
            sense,
            solver,
            graph: None,
            stop: Stop::new(recipe),
            converged: false,
            iteration_time: None,
            signal: signal_squared(problem),
            b: kept,
            device,
        })
    }

    /// Waits, and returns the image, or that of each coil.
    fn unknown(&self) -> GpuResult<Vec<Complex<f32>>> {
        let on_device = match &self.solver {
            Solver::Adjoint(values) => return Ok(values.clone()),
            Solver::Cg(cg) => cg.image(),
            Solver::Fista(fista) => fista.image(),
        };
        let mut values = vec![Complex::default(); on_device.len()];
        self.device.download(on_device, &mut values)?;
        Ok(values)
    }

    /// Queues one iteration: the first is launched directly, the second is captured, the others are
    /// replayed.
    fn queue(&mut self) -> GpuResult<()> {
        let (device, sense, solver) = (&self.device, &mut self.sense, &mut self.solver);
        if self.graph.is_none() && self.iteration_time.is_some() {
            self.graph = device.capture(&mut || solver.queue(device, sense))?;
        }
        match &mut self.graph {
            Some(graph) => device.replay(graph),
            None => solver.queue(device, sense),
        }
    }
}

/// F and W of the problem.
fn encoding<M: Device>(
    device: &M,
    problem: &Problem,
    recipe: &Recipe,
) -> Result<Encoding<M>, MriError> {
    let (grid, coils) = (problem.grid(), problem.coils());
    if recipe.operator != OperatorName::Direct {
        if problem.field().is_some() {
            return Err(MriError::Unsupported(
                "a field is supported by the direct operator only: use --operator direct"
                    .to_owned(),
            ));
        }
        let weights = problem.weights().map(|w| w.view());
        let trajectory = problem.trajectory().view();
        let tolerance = recipe.tolerance;
        let nufft = Nufft::new(device, grid, trajectory, weights, tolerance, coils)?;
        return Ok(Encoding::Nufft(Box::new(nufft)));
    }
    let weights = match problem.weights() {
        None => None,
        Some(weights) => {
            let values: Vec<f32> = weights.iter().map(|w| *w as f32).collect();
            let mut buffer = device.alloc("density weights", values.len())?;
            device.upload(&mut buffer, &values)?;
            Some(buffer)
        }
    };
    let direct = Direct::new(
        device,
        grid,
        problem.trajectory(),
        problem.field(),
        recipe.trigonometry,
        coils,
    )?;
    Ok(Encoding::Direct {
        direct: Box::new(direct),
        weights,
    })
}

/// S on the device, with the buffers that the operator needs: none for the adjoint or for the
/// convolution with one set of maps.
fn upload_maps<M: Device>(
    device: &M,
    maps: Option<&Array3<Complex<f64>>>,
    convolved: bool,
    iterative: bool,
) -> Result<Option<Maps<M>>, MriError> {
    let Some(values) = maps else { return Ok(None) };
    let sets = values.dim().0;
    let several = sets > 1;
    let mut maps = device.alloc("coil maps", values.len())?;
    device.upload(&mut maps, &narrow(values.iter().copied()))?;
    let images = |needed: bool| {
        let length = if needed { values.len() / sets } else { 0 };
        device.alloc("images of the coils", length)
    };
    Ok(Some(Maps {
        maps,
        sets,
        coil_images: images(iterative && (several || !convolved))?,
        convolved: images(iterative && several && convolved)?,
    }))
}

/// FᴴWF as a convolution.
fn toeplitz<M: Device>(
    device: &M,
    problem: &Problem,
    recipe: &Recipe,
) -> Result<Toeplitz<M>, MriError> {
    let grid = problem.grid();
    let doubled = grid.doubled();
    let weights = problem.weights();
    let trajectory = problem.trajectory();
    let pairs = doubled.voxels() as f64 * trajectory.nrows() as f64;
    let q = if pairs <= MAX_DIRECT_PAIRS {
        let weights = weights.map(|w| w.view());
        point_spread(device, grid, trajectory, weights, recipe.trigonometry)?
    } else {
        let smallest = SpreadingKernel::smallest::<f32>(2.0, grid.axes);
        let tolerance = recipe.tolerance.min(1e-6).max(smallest);
        let mut nufft = Nufft::new(device, doubled, trajectory.view(), None, tolerance, 1)?;
        let ones = || Array1::ones(trajectory.nrows());
        let weights = weights.map_or_else(ones, Array1::clone);
        let values = narrow(weights.iter().map(|w| Complex::from(*w)));
        let mut samples = device.alloc("density weights", values.len())?;
        device.upload(&mut samples, &values)?;
        let mut q = device.alloc("the point spread function", doubled.voxels())?;
        nufft.adjoint(device, &samples, &mut q, 1)?;
        device.synchronize()?;
        q
    };
    let mut values = vec![Complex::<f32>::default(); doubled.voxels()];
    device.download(&q, &mut values)?;
    drop(q);
    let wide = |v: &Complex<f32>| Complex::new(f64::from(v.re), f64::from(v.im));
    let values: Vec<_> = values.iter().map(wide).collect();
    let shape = doubled.shape;
    let q = ndarray::ArrayView3::from_shape(shape, &values)
        .map_err(|e| MriError::Unsupported(e.to_string()))?;
    Toeplitz::new(device, grid, q, problem.coils())
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
        let residuals = self
            .solver
            .residuals(&self.device, self.done, self.done + count)?;
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
        let rest = match &self.solver {
            Solver::Adjoint(_) => return Ok(None),
            Solver::Cg(cg) => cg.rest(&self.device, &image)?,
            Solver::Fista(fista) => fista.rest(&self.device)?,
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
