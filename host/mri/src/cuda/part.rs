//! What a device holds of a reconstruction: some of the coils, and the method's state for the whole
//! image.

use super::conjugate_gradients::ConjugateGradients;
use super::direct::point_spread;
use super::fista::{Fista, Regulariser};
use super::sense::{Encoding, Gram, Maps, Sense, right_hand_side};
use super::sum_over_devices::Summand;
use super::toeplitz::factors;
use super::total_variation::TotalVariation;
use super::wavelet::Wavelet;
use super::{DeviceArrays, Direct, Nufft, Toeplitz};
use crate::nufft::SpreadingKernel;
use crate::plans::PlanKey;
use crate::{Method, MriError, OperatorName, Plans, Problem, Recipe};
use ndarray::{Array1, Array3, ArrayView3, s};
use num_complex::Complex;
use std::ops::Range;
use std::sync::Arc;
use warpstride_cuda::gpu::{Buffer, Device, Result as GpuResult};
use warpstride_device::Complex32;

/// Pairs of voxel difference and sample up to which Q is computed by exact summation (about 20 ms
/// on an H200); above, by a NUFFT of the smallest tolerance.
const MAX_DIRECT_PAIRS: f64 = 2.7e11;

/// A device with its coils, before it has an operator and a method.
pub(super) struct Prepared<M: Device> {
    number: usize,
    device: M,
    coils: usize,
    encoding: Option<Encoding<M>>,
    samples: M::Buffer<Complex32>,
    maps: Option<Maps<M>>,
    /// EᴴWd of the coils.
    b: M::Buffer<Complex32>,
}

/// F of some coils, their samples, and their maps with the number of sets.
type OfCoils<M> = (
    Encoding<M>,
    <M as Device>::Buffer<Complex32>,
    Option<(<M as Device>::Buffer<Complex32>, usize)>,
);

/// A device with its coils and the state of the method.
pub(super) struct Part<M: Device> {
    /// Number of the device, for errors.
    pub(super) number: usize,
    pub(super) device: M,
    pub(super) sense: Sense<M>,
    pub(super) solver: Solver<M>,
    /// The graphs of [`Stage`]s, if the device can capture them.
    graphs: [Option<M::Graph>; 3],
}

/// What is queued at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// An iteration of all coils.
    Iteration,
    /// Its first half: A of an image, for the coils of the device.
    Apply,
    /// Its second half, which needs the sum over all coils.
    Update,
}

/// The state of a method.
pub(super) enum Solver<M: Device> {
    /// The image itself.
    Adjoint(Vec<Complex<f32>>),
    /// EᴴWd, which stays on the device.
    AdjointOnDevice(M::Buffer<Complex32>),
    Cg(ConjugateGradients<M>),
    Fista(Fista<M>),
}

impl<M: Device> Solver<M> {
    fn apply(&mut self, device: &M, sense: &mut Sense<M>) -> GpuResult<()> {
        match self {
            Self::Adjoint(_) | Self::AdjointOnDevice(_) => Ok(()),
            Self::Cg(cg) => cg.apply(device, sense),
            Self::Fista(fista) => fista.apply(device, sense),
        }
    }

    fn update(&mut self, device: &M) -> GpuResult<()> {
        match self {
            Self::Adjoint(_) | Self::AdjointOnDevice(_) => Ok(()),
            Self::Cg(cg) => cg.update(device),
            Self::Fista(fista) => fista.update(device),
        }
    }

    /// The image on the device, or that of each set or coil; none if it is on the host.
    pub(super) fn image(&self) -> Option<&M::Buffer<Complex32>> {
        match self {
            Self::Adjoint(_) => None,
            Self::AdjointOnDevice(image) => Some(image),
            Self::Cg(cg) => Some(cg.image()),
            Self::Fista(fista) => Some(fista.image()),
        }
    }

    pub(super) fn residuals(&self, device: &M, from: usize, to: usize) -> GpuResult<Vec<f64>> {
        match self {
            Self::Adjoint(_) | Self::AdjointOnDevice(_) => Ok(Vec::new()),
            Self::Cg(cg) => cg.residuals(device, from, to),
            Self::Fista(fista) => fista.residuals(device, from, to),
        }
    }
}

impl<M: Device> Prepared<M> {
    /// Plans F, uploads samples and maps of the coils `range`, and queues their EᴴWd. `maps` are
    /// those of all coils.
    pub(super) fn new(
        (number, device): (usize, M),
        problem: &Problem,
        recipe: &Recipe,
        maps: Option<&Array3<Complex<f64>>>,
        range: Range<usize>,
        plans: &mut Plans,
    ) -> Result<Self, MriError> {
        let encoding = encoding(&device, problem, recipe, range.len(), plans)?;
        let maps = match maps.map(|maps| maps.slice(s![.., range.clone(), ..])) {
            None => None,
            Some(values) => {
                let mut maps = device.alloc("coil maps", values.len())?;
                device.upload(&mut maps, &narrow(values.iter().copied()))?;
                Some((maps, values.dim().0))
            }
        };
        let values = problem.samples().slice(s![range.clone(), ..]);
        let mut samples = device.alloc::<Complex32>("samples", values.len())?;
        device.upload(&mut samples, &narrow(values.iter().copied()))?;
        let arrays = (encoding, samples, maps);
        Self::with_arrays((number, device), problem, recipe, arrays, range.len())
    }

    /// The same with samples and maps of all coils that lie in the memory of the device, and are
    /// copied there.
    pub(super) fn of_device_arrays(
        device: M,
        problem: &Problem,
        recipe: &Recipe,
        arrays: &DeviceArrays<'_, M>,
        plans: &mut Plans,
    ) -> Result<Self, MriError> {
        let coils = problem.coils();
        let encoding = encoding(&device, problem, recipe, coils, plans)?;
        let copied = |what, from: &M::Buffer<Complex32>| -> GpuResult<_> {
            let mut to = device.alloc(what, from.len())?;
            device.copy(from, &mut to)?;
            Ok(to)
        };
        let maps = match (arrays.maps, arrays.sets(problem)?) {
            (Some(maps), Some(sets)) => Some((copied("coil maps", maps)?, sets)),
            _ => None,
        };
        let arrays = (encoding, copied("samples", arrays.samples)?, maps);
        Self::with_arrays((0, device), problem, recipe, arrays, coils)
    }

    /// With F, the samples of so many coils and their maps of some sets.
    fn with_arrays(
        (number, device): (usize, M),
        problem: &Problem,
        recipe: &Recipe,
        (mut encoding, mut samples, maps): OfCoils<M>,
        coils: usize,
    ) -> Result<Self, MriError> {
        let voxels = problem.grid().voxels();
        let iterative = recipe.method != Method::Adjoint;
        let convolved = iterative && recipe.operator == OperatorName::Toeplitz;
        let sets = maps.as_ref().map_or(coils, |(_, sets)| *sets);
        let mut maps = match maps {
            None => None,
            Some((maps, sets)) => {
                Some(with_coil_images(&device, maps, sets, convolved, iterative)?)
            }
        };
        let mut b = device.alloc::<Complex32>("EᴴWd", sets * voxels)?;
        right_hand_side(
            &device,
            &mut encoding,
            &mut samples,
            maps.as_mut(),
            &mut b,
            (voxels, coils),
        )?;
        device.synchronize()?;
        let mut prepared = Self {
            number,
            device,
            coils,
            encoding: Some(encoding),
            samples,
            maps,
            b,
        };
        if convolved {
            // A convolution needs the memory.
            prepared.encoding = None;
            prepared.samples = prepared.device.alloc("samples", 0)?;
        }
        Ok(prepared)
    }

    /// Its EᴴWd, which is summed over the devices.
    pub(super) fn summand(&mut self) -> Summand<'_, M> {
        Summand {
            number: self.number,
            device: &self.device,
            buffer: &mut self.b,
        }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn device(&self) -> &M {
        &self.device
    }

    /// A copy of EᴴWd on the device.
    pub(super) fn copy_of_right_hand_side(&self) -> GpuResult<M::Buffer<Complex32>> {
        let mut copy = self.device.alloc("EᴴWd", self.b.len())?;
        self.device.copy(&self.b, &mut copy)?;
        Ok(copy)
    }

    /// EᴴWd.
    pub(super) fn right_hand_side(&self) -> GpuResult<Vec<Complex<f32>>> {
        let mut values = vec![Complex::default(); self.b.len()];
        self.device.download(&self.b, &mut values)?;
        Ok(values)
    }

    /// With the operator, a convolution if there are its `factors`, and the method; `adjoint` is
    /// the image if there are no iterations, or else EᴴWd is.
    pub(super) fn with_method(
        self,
        problem: &Problem,
        recipe: &Recipe,
        factors: Option<&[f32]>,
        adjoint: Option<&[Complex<f32>]>,
    ) -> Result<Part<M>, MriError> {
        let Self {
            number,
            device,
            coils,
            encoding,
            samples,
            maps,
            b,
        } = self;
        let grid = problem.grid();
        let gram = match (factors, encoding) {
            (Some(factors), _) => {
                let toeplitz = Toeplitz::with_factors(&device, grid, factors, coils)?;
                Gram::Toeplitz(Box::new(toeplitz))
            }
            (None, Some(encoding)) => Gram::Encoded { encoding, samples },
            (None, None) => {
                return Err(MriError::Unsupported(
                    "the Toeplitz operator needs its convolution".to_owned(),
                ));
            }
        };
        let images = b.len() / grid.voxels();
        let fista = |regulariser, b| {
            let fista = Fista::new(&device, regulariser, b, recipe.lambda, recipe.iterations);
            fista.map(Solver::Fista)
        };
        let solver = match recipe.method {
            Method::Adjoint => match adjoint {
                Some(image) => Solver::Adjoint(image.to_vec()),
                None => Solver::AdjointOnDevice(b),
            },
            Method::Cg => Solver::Cg(ConjugateGradients::new(&device, b, recipe)?),
            Method::Tv => {
                let variation = TotalVariation::new(&device, grid, images)?;
                fista(Regulariser::TotalVariation(variation), b)?
            }
            Method::Wavelet => {
                let wavelet = Wavelet::new(&device, grid, images)?;
                fista(Regulariser::Wavelet(wavelet), b)?
            }
        };
        Ok(Part {
            number,
            sense: Sense {
                gram,
                maps,
                coils,
                voxels: grid.voxels(),
            },
            solver,
            graphs: [None, None, None],
            device,
        })
    }
}

impl<M: Device> Part<M> {
    /// Queues a stage; with `capture`, as a graph that later calls replay.
    pub(super) fn queue(&mut self, stage: Stage, capture: bool) -> GpuResult<()> {
        let (device, sense, solver) = (&self.device, &mut self.sense, &mut self.solver);
        let graph = &mut self.graphs[stage as usize];
        let mut work = || {
            if stage != Stage::Update {
                solver.apply(device, sense)?;
            }
            if stage != Stage::Apply {
                solver.update(device)?;
            }
            Ok(())
        };
        if graph.is_none() && capture {
            *graph = device.capture(&mut work)?;
        }
        match graph {
            Some(graph) => device.replay(graph),
            None => work(),
        }
    }

    /// What is summed over the devices between the halves of an iteration; `None` without
    /// iterations.
    pub(super) fn applied(&mut self) -> Option<Summand<'_, M>> {
        let buffer = match &mut self.solver {
            Solver::Adjoint(_) | Solver::AdjointOnDevice(_) => return None,
            Solver::Cg(cg) => cg.applied(),
            Solver::Fista(fista) => fista.applied(),
        };
        Some(Summand {
            number: self.number,
            device: &self.device,
            buffer,
        })
    }

    /// Queues a step of the power iteration for the coils of the device, and returns what is summed
    /// over the devices then; `None` for other methods than FISTA.
    pub(super) fn queue_power_step(&mut self) -> GpuResult<Option<Summand<'_, M>>> {
        let Solver::Fista(fista) = &mut self.solver else {
            return Ok(None);
        };
        fista.queue_power_step(&self.device, &mut self.sense)?;
        Ok(Some(Summand {
            number: self.number,
            device: &self.device,
            buffer: fista.power_image(),
        }))
    }

    /// Ends a step of the power iteration, and the iteration with the `last` of them.
    pub(super) fn end_power_step(&mut self, last: bool) -> GpuResult<()> {
        let Solver::Fista(fista) = &mut self.solver else {
            return Ok(());
        };
        fista.end_power_step(&self.device)?;
        if last {
            fista.end_power_iteration(&self.device)?;
        }
        Ok(())
    }
}

fn narrow(values: impl IntoIterator<Item = Complex<f64>>) -> Vec<Complex<f32>> {
    let value = |v: Complex<f64>| Complex::new(v.re as f32, v.im as f32);
    values.into_iter().map(value).collect()
}

/// F and W of the problem, for so many coils.
fn encoding<M: Device>(
    device: &M,
    problem: &Problem,
    recipe: &Recipe,
    coils: usize,
    plans: &mut Plans,
) -> Result<Encoding<M>, MriError> {
    let grid = problem.grid();
    if recipe.operator != OperatorName::Direct {
        if problem.field().is_some() {
            return Err(MriError::Unsupported(
                "a field is supported by the direct operator only: use --operator direct"
                    .to_owned(),
            ));
        }
        let weights = problem.weights().map(|w| w.view());
        let of = (grid, problem.trajectory().view(), weights);
        let nufft = Nufft::with_plans(device, of, recipe.tolerance, coils, plans)?;
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

/// S of some sets on the device, with the buffers that the operator needs: none for the adjoint or
/// for the convolution with one set of maps.
fn with_coil_images<M: Device>(
    device: &M,
    maps: M::Buffer<Complex32>,
    sets: usize,
    convolved: bool,
    iterative: bool,
) -> GpuResult<Maps<M>> {
    let several = sets > 1;
    let length = maps.len() / sets.max(1);
    let images = |needed: bool| {
        let length = if needed { length } else { 0 };
        device.alloc("images of the coils", length)
    };
    Ok(Maps {
        maps,
        sets,
        coil_images: images(iterative && (several || !convolved))?,
        convolved: images(iterative && several && convolved)?,
    })
}

/// The factors of FᴴWF as a convolution, computed on one device for all of them, or those of
/// `plans`.
pub(super) fn convolution_factors<M: Device>(
    device: &M,
    problem: &Problem,
    recipe: &Recipe,
    plans: &mut Plans,
) -> Result<Arc<[f32]>, MriError> {
    let of = (problem.grid(), problem.trajectory().view());
    let key = PlanKey::new("Q")
        .tolerance(recipe.tolerance)
        .on_device(device.device_name(), recipe.trigonometry)
        .weights(problem.weights().map(|weights| weights.view()));
    let bytes = problem.grid().doubled().voxels() * size_of::<f32>();
    plans.find(of, key, bytes, || {
        computed_factors(device, problem, recipe).map(Arc::from)
    })
}

fn computed_factors<M: Device>(
    device: &M,
    problem: &Problem,
    recipe: &Recipe,
) -> Result<Vec<f32>, MriError> {
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
    let q =
        ArrayView3::from_shape(shape, &values).map_err(|e| MriError::Unsupported(e.to_string()))?;
    factors(grid, q)
}
