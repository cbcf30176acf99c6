//! Reconstruction on the CPU.

use super::sense::{intensity, intensity_corrected, weigh};
use super::{ConjugateGradients, Direct, Fista, Gram, Nufft, Regulariser, Sense, Toeplitz};
use crate::engine::{Stop, relative_data_residual, signal_squared};
use crate::plans::PlanKey;
use crate::{
    Encoding, Engine, Grid, Method, MriError, OperatorName, Plans, Problem, Recipe, Residual,
};
use ndarray::Array3;
use num_complex::Complex;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use warpstride_core::run::Setup;
use warpstride_core::system::Memory;
use warpstride_fft::Real;

/// So many iterations at a time that a caller does not wait long, and is not called often.
const STEP: Duration = Duration::from_millis(60);

/// Voxels whose Σ|S|² is below this share of the maximum are outside the object: the adjoint is 0
/// there.
const MIN_INTENSITY: f64 = 1e-6;

/// A reconstruction on the CPU, on the threads of the pool in which it is called.
///
/// With one set of coil maps there is one image. With several sets, each has an image of its own,
/// and without maps every coil: together they are one vector of unknowns (image, voxel) on which
/// the method works, and their root sum of squares is the result; a single image stays complex.
pub struct CpuEngine<T: Real> {
    grid: Grid,
    setup: Setup,
    planned: usize,
    done: usize,
    stop: Stop,
    converged: bool,
    /// [`Engine::advance`] starts no further iteration after this time.
    step: Duration,
    sense: Sense<T>,
    solver: Solver<T>,
    /// Σ w |d|²
    signal: f64,
    /// EᴴWd
    b: Vec<Complex<T>>,
}

/// The state of a method.
enum Solver<T: Real> {
    /// The image itself.
    Adjoint(Vec<Complex<T>>),
    Cg(ConjugateGradients<T>),
    Fista(Fista<T>),
}

impl<T: Real> CpuEngine<T> {
    /// Plans the operator and computes EᴴWd.
    ///
    /// # Errors
    /// [`MriError::HostMemory`], or [`MriError::Unsupported`] for a field with any operator but the
    /// direct one.
    pub fn new(problem: &Problem, recipe: &Recipe) -> Result<Self, MriError> {
        Self::with_plans(problem, recipe, &mut Plans::default())
    }

    /// [`CpuEngine::new`] with the `plans` that there are for the problem's trajectory, to which
    /// new ones are added.
    ///
    /// # Errors
    /// Like [`CpuEngine::new`].
    pub fn with_plans(
        problem: &Problem,
        recipe: &Recipe,
        plans: &mut Plans,
    ) -> Result<Self, MriError> {
        let grid = problem.grid();
        problem.expect_samples()?;
        check_memory::<T>(problem, recipe)?;
        let encoding = encoding::<T>(problem, recipe, plans)?;
        let maps = problem.maps().map(|maps| {
            if recipe.intensity_correction {
                Cow::Owned(intensity_corrected(maps))
            } else {
                Cow::Borrowed(maps)
            }
        });
        let maps = maps.as_deref();
        let gram = gram(problem, recipe, &encoding, plans)?;
        let mut sense = Sense::new(gram, maps);
        let b = right_hand_side(problem, &*encoding, &sense);
        let kept = match recipe.method {
            Method::Adjoint => Vec::new(),
            _ => b.clone(),
        };
        let solver = match recipe.method {
            Method::Adjoint => Solver::Adjoint(adjoint_image(b, maps)),
            Method::Cg => Solver::Cg(ConjugateGradients::new(b, recipe.lambda)),
            Method::Tv | Method::Wavelet => {
                let voxels = grid.voxels();
                let regulariser = if recipe.method == Method::Tv {
                    Regulariser::total_variation(grid, b.len() / voxels)
                } else {
                    Regulariser::wavelet(grid)
                };
                Solver::Fista(Fista::new(
                    &mut sense,
                    regulariser,
                    voxels,
                    b,
                    recipe.lambda,
                ))
            }
        };
        let planned = match recipe.method {
            Method::Adjoint => 0,
            _ => recipe.iterations,
        };
        Ok(Self {
            grid,
            setup: Setup::cpu(if size_of::<T>() == 4 { "f32" } else { "f64" }),
            planned,
            done: 0,
            stop: Stop::new(recipe),
            converged: false,
            step: STEP,
            sense,
            solver,
            signal: signal_squared(problem),
            b: kept,
        })
    }

    fn unknown(&self) -> &[Complex<T>] {
        match &self.solver {
            Solver::Adjoint(image) => image,
            Solver::Cg(cg) => cg.image(),
            Solver::Fista(fista) => fista.image(),
        }
    }
}

/// Compares the peak memory of a reconstruction with what is available.
fn check_memory<T>(problem: &Problem, recipe: &Recipe) -> Result<(), MriError> {
    // Coil images, maps, buffers of the transforms and vectors of the method; samples twice.
    let vectors = 11 + problem.maps().map_or(1, |maps| maps.dim().0);
    let numbers = problem.grid().voxels() * problem.coils() * vectors + problem.samples().len() * 4;
    let mut needed = numbers * size_of::<Complex<T>>();
    if recipe.operator == OperatorName::Toeplitz {
        needed += problem.grid().doubled().voxels() * 3 * size_of::<Complex<f64>>();
    }
    if needed as u64 > Memory::available().limit() {
        let what = "the reconstruction";
        return Err(MriError::HostMemory { what, needed });
    }
    Ok(())
}

/// F of the problem's trajectory on its grid.
fn encoding<T: Real>(
    problem: &Problem,
    recipe: &Recipe,
    plans: &mut Plans,
) -> Result<Arc<dyn Encoding<T>>, MriError> {
    let grid = problem.grid();
    if problem.field().is_some() {
        return operator(problem, recipe, grid);
    }
    let of = (grid, problem.trajectory().view());
    let (what, tolerance) = match recipe.operator {
        OperatorName::Direct => ("direct", 0.0),
        OperatorName::Nufft | OperatorName::Toeplitz => ("nufft", recipe.tolerance),
    };
    let key = PlanKey::new(what).tolerance(tolerance);
    // The fine grid of a NUFFT in each direction at most twice as large.
    let numbers = (grid.voxels() << grid.axes) + 8 * problem.trajectory().nrows();
    let bytes = numbers * size_of::<Complex<T>>();
    plans.find(of, key, bytes, || operator(problem, recipe, grid))
}

/// F of the problem's trajectory on `grid`.
fn operator<T: Real>(
    problem: &Problem,
    recipe: &Recipe,
    grid: Grid,
) -> Result<Arc<dyn Encoding<T>>, MriError> {
    let field = problem.field();
    if field.is_some() && recipe.operator != OperatorName::Direct {
        return Err(MriError::Unsupported(
            "a field is supported by the direct operator only: use --operator direct".to_owned(),
        ));
    }
    let trajectory = problem.trajectory().view();
    Ok(match recipe.operator {
        OperatorName::Direct => Arc::new(Direct::new(grid, trajectory, field)?),
        OperatorName::Nufft | OperatorName::Toeplitz => {
            Arc::new(Nufft::new(grid, trajectory, recipe.tolerance)?)
        }
    })
}

/// FᴴWF.
fn gram<T: Real>(
    problem: &Problem,
    recipe: &Recipe,
    encoding: &Arc<dyn Encoding<T>>,
    plans: &mut Plans,
) -> Result<Gram<T>, MriError> {
    let weights = problem.weights();
    if recipe.operator == OperatorName::Toeplitz && recipe.method != Method::Adjoint {
        let grid = problem.grid();
        let of = (grid, problem.trajectory().view());
        let key = PlanKey::new("Q").tolerance(recipe.tolerance);
        let key = key.weights(weights.map(|weights| weights.view()));
        let bytes = grid.doubled().voxels() * size_of::<T>();
        let toeplitz = plans.find(of, key, bytes, || {
            let doubled = operator::<f64>(problem, recipe, grid.doubled())?;
            let weights = weights.map(|w| w.to_vec());
            let toeplitz = Toeplitz::<T>::new(grid, &*doubled, weights.as_deref())?;
            Ok::<_, MriError>(Arc::new(toeplitz))
        })?;
        return Ok(Gram::Toeplitz(toeplitz));
    }
    Ok(Gram::Encoded {
        encoding: Arc::clone(encoding),
        weights: weights.map(|w| w.iter().map(|w| T::of(*w)).collect()),
    })
}

/// EᴴWd.
fn right_hand_side<T: Real>(
    problem: &Problem,
    encoding: &dyn Encoding<T>,
    sense: &Sense<T>,
) -> Vec<Complex<T>> {
    let narrow = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
    let mut samples: Vec<_> = problem.samples().iter().map(narrow).collect();
    let weights: Option<Vec<T>> = problem
        .weights()
        .map(|weights| weights.iter().map(|w| T::of(*w)).collect());
    weigh(weights.as_deref(), &mut samples);
    let voxels = problem.grid().voxels();
    let mut coil_images = vec![Complex::default(); problem.coils() * voxels];
    encoding.adjoint(&samples, &mut coil_images);
    let images = (problem.maps()).map_or(problem.coils(), |maps| maps.dim().0);
    let mut b = vec![Complex::default(); images * voxels];
    sense.combine(&coil_images, &mut b);
    b
}

/// Σ_c conj(S_sc) y_c / Σ_c |S_sc|² of each set s of `maps` (set, coil, voxel), with `b` (set,
/// voxel) the numerators; `b` itself without maps.
pub(crate) fn adjoint_image<T: Real>(
    mut b: Vec<Complex<T>>,
    maps: Option<&Array3<Complex<f64>>>,
) -> Vec<Complex<T>> {
    let Some(maps) = maps else { return b };
    let intensity: Vec<f64> = maps.outer_iter().flat_map(intensity).collect();
    let floor = MIN_INTENSITY * intensity.iter().copied().fold(0.0, f64::max);
    for (value, intensity) in b.iter_mut().zip(&intensity) {
        *value = if *intensity > floor {
            value.scale(T::of(1.0 / intensity))
        } else {
            Complex::default()
        };
    }
    b
}

/// √Σ_c |ρ_c|² of several images (image, voxel), or the image itself if there is only one.
pub(crate) fn combined<T: Real>(images: &[Complex<T>], voxels: usize) -> Vec<Complex<f64>> {
    let wide = |v: &Complex<T>| Complex::new(v.re.wide(), v.im.wide());
    if images.len() == voxels {
        return images.iter().map(wide).collect();
    }
    let mut squares = vec![0.0; voxels];
    for image in images.chunks_exact(voxels) {
        for (square, value) in squares.iter_mut().zip(image) {
            *square += wide(value).norm_sqr();
        }
    }
    squares.iter().map(|s| Complex::from(s.sqrt())).collect()
}

impl<T: Real> Engine for CpuEngine<T> {
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
        let start = Instant::now();
        let mut residuals = Vec::new();
        while self.done < self.planned
            && !self.converged
            && (residuals.is_empty() || start.elapsed() < self.step)
        {
            let residual = match &mut self.solver {
                Solver::Adjoint(_) => break,
                Solver::Cg(cg) => cg.step(&mut self.sense),
                Solver::Fista(fista) => fista.step(&mut self.sense),
            };
            self.done += 1;
            let iteration = self.done;
            if !residual.is_finite() {
                return Err(MriError::NotFinite {
                    iteration,
                    residual,
                });
            }
            residuals.push(Residual {
                iteration,
                residual,
            });
            self.converged = self.stop.after(iteration, residual);
        }
        Ok(residuals)
    }

    fn one_by_one(&mut self) {
        self.step = Duration::ZERO;
    }

    fn image(&mut self) -> Result<Array3<Complex<f64>>, MriError> {
        let image = combined(self.unknown(), self.grid.voxels());
        let [slices, rows, columns] = self.grid.shape;
        Ok(Array3::from_shape_fn(
            (slices, rows, columns),
            |(z, y, x)| image[(z * rows + y) * columns + x],
        ))
    }

    fn data_residual(&mut self) -> Result<Option<f64>, MriError> {
        let (signal, b) = (self.signal, &self.b);
        Ok(match &self.solver {
            Solver::Adjoint(_) => None,
            Solver::Cg(cg) => relative_data_residual(signal, cg.image(), b, cg.rest()),
            Solver::Fista(fista) => relative_data_residual(signal, fista.image(), b, fista.rest()),
        })
    }
}
