//! From samples and options to a problem and a recipe: density weights, coil maps, fields.

use crate::cli::args::{DensityWord, MethodWord, OperatorWord, TrigWord};
use crate::cli::failure::Failure;
use ndarray::{Array1, Array2, Array4, s};
use num_complex::Complex;
use std::path::{Path, PathBuf};
use warpstride::data::KSpace;
use warpstride::io::{Memory, images};
use warpstride::mri::coil_maps::{Estimate, estimate};
use warpstride::mri::{
    Coverage, FieldBasis, Grid, Method, OperatorName, Problem, Recipe, Trigonometry, grid_of,
};
use warpstride::mri::{cpu, density};

/// Where coil maps come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Maps {
    LowPass,
    Walsh,
    None,
    File(PathBuf),
}

/// Phases beyond the trajectory's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    OffResonance(PathBuf),
    Basis(PathBuf),
}

/// What was asked for, checked as far as that goes without samples.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) method: MethodWord,
    pub(super) operator: OperatorWord,
    pub(super) iterations: Option<usize>,
    pub(super) lambda: Option<f64>,
    pub(super) maps: Maps,
    pub(super) density: Option<DensityWord>,
    pub(super) intensity_correction: bool,
    pub(super) tolerance: Option<f64>,
    pub(super) trig: TrigWord,
    pub(super) field: Option<Field>,
}

/// Of the NUFFT unless told otherwise.
const TOLERANCE: f64 = 1e-5;
/// Iterations unless told otherwise.
const ITERATIONS: usize = 15;
/// More than anybody waits for.
const MOST_ITERATIONS: usize = 1_000_000;
/// λ of total variation and wavelets unless told otherwise, in units of the largest |EᴴWd|.
const SPARSE_LAMBDA: f64 = 1e-3;
/// Steps of Pipe and Menon's fixed point.
const DENSITY_STEPS: usize = 10;
/// Weights are estimates: nobody needs more of them.
const DENSITY_TOLERANCE: f64 = 1e-4;
/// Maps are smooth, and the ratio of two images: this relative error is beyond what they hold.
const MAP_TOLERANCE: f64 = 1e-6;

/// What engines take.
pub(super) struct Prepared {
    pub(super) problem: Problem,
    pub(super) recipe: Recipe,
    /// (coil, slice, row, column).
    pub(super) maps: Option<Array4<Complex<f64>>>,
    /// `none`, `ramp` or `pipe`.
    pub(super) density: &'static str,
}

impl Maps {
    /// `--coil-maps`.
    pub(super) fn typed(text: &str) -> Self {
        match text {
            "auto" => Self::LowPass,
            "walsh" => Self::Walsh,
            "none" => Self::None,
            file => Self::File(PathBuf::from(file)),
        }
    }

    /// For summaries.
    pub(super) fn name(&self) -> String {
        match self {
            Self::LowPass => "auto".to_owned(),
            Self::Walsh => "walsh".to_owned(),
            Self::None => "none".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The file, if it is one.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }
}

impl Field {
    pub(super) fn file(&self) -> &Path {
        match self {
            Self::OffResonance(path) | Self::Basis(path) => path,
        }
    }
}

/// Whether the kind of sine and cosine makes a difference.
pub(super) fn trigonometry_counts(recipe: &Recipe, backend: &str) -> bool {
    backend != "cpu" && recipe.operator != OperatorName::Nufft
}

impl Wanted {
    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let adjoint = self.method == MethodWord::Adjoint;
        match self.iterations {
            Some(n) if adjoint && n != 0 => {
                return Err(Failure::usage(format!(
                    "--iterations {n}: --method adjoint has none"
                )));
            }
            Some(n) if !adjoint && !(1..=MOST_ITERATIONS).contains(&n) => {
                return Err(Failure::usage(format!(
                    "--iterations {n}: expected 1 to {MOST_ITERATIONS}"
                )));
            }
            _ => {}
        }
        if let Some(lambda) = self.lambda {
            if !(lambda.is_finite() && lambda >= 0.0) {
                return Err(Failure::usage(format!(
                    "--lambda {lambda}: a number, 0 or more, is expected"
                )));
            }
            if adjoint && lambda > 0.0 {
                return Err(Failure::usage(format!(
                    "--lambda {lambda}: --method adjoint has no regulariser"
                )));
            }
        }
        if let Some(tolerance) = self.tolerance
            && !(tolerance > 0.0 && tolerance < 1.0)
        {
            return Err(Failure::usage(format!(
                "--tolerance {tolerance}: a number above 0 and below 1 is expected"
            )));
        }
        let direct = matches!(self.operator, OperatorWord::Auto | OperatorWord::Direct);
        if self.field.is_some() && !direct {
            return Err(Failure::usage(
                "--off-resonance and --field: only --operator direct takes them",
            ));
        }
        if self.operator == OperatorWord::Toeplitz && adjoint {
            return Err(Failure::usage(
                "--operator toeplitz: --method adjoint has no iterations to use it in, nufft or direct is expected",
            ));
        }
        if self.intensity_correction && self.maps == Maps::None {
            return Err(Failure::usage(
                "--intensity-correction: there is nothing to correct without coil maps",
            ));
        }
        Ok(())
    }

    /// What was asked for and has no effect on this run, in sentences.
    pub(super) fn without_effect(&self, recipe: &Recipe, backend: &str) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.tolerance.is_some() && recipe.operator == OperatorName::Direct {
            sentences.push("--tolerance has no effect: the direct operator is exact".to_owned());
        }
        if self.trig == TrigWord::Hardware && !trigonometry_counts(recipe, backend) {
            sentences.push(
                "--trig hardware has no effect: it is for --operator direct, and for Q of --operator toeplitz, on a GPU"
                    .to_owned(),
            );
        }
        sentences
    }

    /// With nothing left to `auto`.
    pub(super) fn recipe(&self) -> Recipe {
        let method = match self.method {
            MethodWord::Adjoint => Method::Adjoint,
            MethodWord::Cg => Method::Cg,
            MethodWord::Tv => Method::Tv,
            MethodWord::Wavelet => Method::Wavelet,
        };
        let operator = match self.operator {
            OperatorWord::Direct => OperatorName::Direct,
            OperatorWord::Nufft => OperatorName::Nufft,
            OperatorWord::Toeplitz => OperatorName::Toeplitz,
            OperatorWord::Auto if self.field.is_some() => OperatorName::Direct,
            OperatorWord::Auto if method == Method::Adjoint => OperatorName::Nufft,
            OperatorWord::Auto => OperatorName::Toeplitz,
        };
        let sparse = matches!(method, Method::Tv | Method::Wavelet);
        Recipe {
            operator,
            method,
            iterations: match method {
                Method::Adjoint => 0,
                _ => self.iterations.unwrap_or(ITERATIONS),
            },
            lambda: self
                .lambda
                .unwrap_or(if sparse { SPARSE_LAMBDA } else { 0.0 }),
            tolerance: self.tolerance.unwrap_or(TOLERANCE),
            trigonometry: match self.trig {
                TrigWord::Accurate => Trigonometry::Accurate,
                TrigWord::Hardware => Trigonometry::Hardware,
            },
            intensity_correction: self.intensity_correction,
        }
    }

    /// Weights, maps and fields; `before` may be allocated for what files hold.
    pub(super) fn prepare(&self, kspace: &KSpace, before: Memory) -> Result<Prepared, Failure> {
        let grid = grid_of(kspace);
        let recipe = self.recipe();
        let mut problem =
            Problem::new(grid, kspace.trajectory().clone(), kspace.samples().clone())?;
        if let Some(field) = &self.field {
            problem = problem.with_field(phases(field, kspace, before)?)?;
        }
        let (weights, density) = self.weights(kspace, grid)?;
        if let Some(weights) = weights {
            problem = problem.with_weights(weights)?;
        }
        let maps = self.coil_maps(kspace, grid, before)?;
        if let Some(maps) = &maps {
            let voxels = grid.voxels();
            let flat = maps.to_shape((kspace.coils(), voxels))?.to_owned();
            problem = problem.with_maps(flat)?;
        }
        Ok(Prepared {
            problem,
            recipe,
            maps,
            density,
        })
    }

    /// Whether Pipe and Menon's weights may be sought, as far as that is known before any reading.
    pub(super) fn may_seek_weights(&self) -> bool {
        match self.density {
            Some(word) => word == DensityWord::Pipe,
            None => self.method == MethodWord::Adjoint,
        }
    }

    fn weights(
        &self,
        kspace: &KSpace,
        grid: Grid,
    ) -> Result<(Option<Array1<f64>>, &'static str), Failure> {
        let word = self.density.unwrap_or_else(|| {
            if self.method != MethodWord::Adjoint {
                DensityWord::None
            } else if Coverage::new(kspace).spokes.is_some() {
                DensityWord::Ramp
            } else {
                DensityWord::Pipe
            }
        });
        let trajectory = kspace.trajectory().view();
        Ok(match word {
            DensityWord::None => (None, "none"),
            DensityWord::Ramp => {
                let readouts: Vec<_> = kspace
                    .readouts()
                    .iter()
                    .map(|r| r.samples.clone())
                    .collect();
                (Some(density::ramp(trajectory, &readouts)), "ramp")
            }
            DensityWord::Pipe => {
                let doubled =
                    cpu::Nufft::<f64>::new(grid.doubled(), trajectory, DENSITY_TOLERANCE)?;
                (Some(density::pipe_menon(&doubled, DENSITY_STEPS)), "pipe")
            }
        })
    }

    fn coil_maps(
        &self,
        kspace: &KSpace,
        grid: Grid,
        before: Memory,
    ) -> Result<Option<Array4<Complex<f64>>>, Failure> {
        let how = match &self.maps {
            Maps::None => return Ok(None),
            Maps::File(path) => return read_maps(path, kspace, before).map(Some),
            Maps::LowPass => Estimate::LowPass,
            Maps::Walsh => Estimate::Adaptive,
        };
        let trajectory = kspace.trajectory().view();
        let encoding = cpu::Nufft::<f64>::new(grid, trajectory, MAP_TOLERANCE)?;
        let maps: Array2<Complex<f64>> =
            estimate(&encoding, trajectory, kspace.samples().view(), how)?;
        let [slices, rows, columns] = grid.shape;
        let shaped = maps.into_shape_with_order((kspace.coils(), slices, rows, columns))?;
        Ok(Some(shaped))
    }
}

fn read_maps(
    path: &Path,
    kspace: &KSpace,
    memory: Memory,
) -> Result<Array4<Complex<f64>>, Failure> {
    let maps = images::read_coil_maps(path, memory)?;
    let [slices, rows, columns] = kspace.extent().matrix;
    let expected = [kspace.coils(), slices, rows, columns];
    if maps.shape() == expected {
        return Ok(maps);
    }
    Err(Failure::failed(format!(
        "{}: the coil maps have the shape {:?}: {expected:?} (coil, slice, row, column) is expected",
        path.display(),
        maps.shape()
    )))
}

/// Phases from a file; off-resonance f makes exp(−2πi f t), t since the readout began.
fn phases(field: &Field, kspace: &KSpace, memory: Memory) -> Result<FieldBasis, Failure> {
    let [slices, rows, columns] = kspace.extent().matrix;
    let voxels = slices * rows * columns;
    let name = field.file().display();
    let wrong = |found: &[usize], expected: &str| {
        Failure::failed(format!(
            "{name}: the field has the shape {found:?}: {expected} is expected"
        ))
    };
    let image = [slices, rows, columns];
    match field {
        Field::OffResonance(path) => {
            let map = images::read_off_resonance(path, memory)?;
            if map.shape() != image {
                return Err(wrong(
                    map.shape(),
                    &format!("{image:?} (slice, row, column)"),
                ));
            }
            let times = kspace.times().ok_or_else(|| {
                Failure::failed(
                    "--off-resonance: the samples' file does not say its sample time (sample_time_us), so that the phases are not known",
                )
            })?;
            let count = times.len();
            Ok(FieldBasis {
                coefficients: times.into_shape_with_order((count, 1))?,
                maps: map.into_shape_with_order((1, voxels))?,
            })
        }
        Field::Basis(path) => {
            let read = images::read_field(path, memory)?;
            let maps = read.maps;
            if maps.shape()[1..] != image {
                let expected = format!("{image:?} (slice, row, column) of each function");
                return Err(wrong(&maps.shape()[1..], &expected));
            }
            if read.coefficients.nrows() != kspace.count() {
                return Err(wrong(
                    read.coefficients.shape(),
                    &format!(
                        "{} samples, each with a coefficient a function,",
                        kspace.count()
                    ),
                ));
            }
            let functions = maps.dim().0;
            let maps = maps.slice(s![.., .., .., ..]).to_owned();
            Ok(FieldBasis {
                coefficients: read.coefficients,
                maps: maps.into_shape_with_order((functions, voxels))?,
            })
        }
    }
}
