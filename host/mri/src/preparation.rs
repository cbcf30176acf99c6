//! What is decided before a reconstruction: its recipe, density weights and coil maps.

use super::coil_maps::{CalibrationRegion, CoilMapMethod, Espirit, espirit_with_plans, estimate};
use super::coil_noise::noisy_coils;
use super::{
    Coverage, Method, MriError, OperatorName, Plans, Recipe, Trigonometry, density, grid_of,
};
use crate::data::KSpace;
use ndarray::{Array1, Array3, Axis};
use num_complex::Complex;

/// Default tolerance of the NUFFT.
const TOLERANCE: f64 = 1e-5;
/// The operator's error, at least, from which residuals are rounding.
const MIN_ROUNDING: f64 = 1e-6;
/// Default number of iterations.
const ITERATIONS: usize = 15;
/// Default |r|²/|b|² at which conjugate gradients stop after the default number of iterations: |r|
/// is a thousandth of |b|. Signal has converged by then unless it is hardly sampled, and what is
/// left to fit is mostly noise.
const MIN_RESIDUAL: f64 = 1e-6;
/// Default λ of total variation and wavelets, in units of the largest |EᴴWd|.
const SPARSE_LAMBDA: f64 = 1e-3;
/// Steps of Pipe and Menon's fixed point.
const DENSITY_STEPS: usize = 10;
/// Tolerance of the NUFFT that computes density weights, which are only estimates.
const DENSITY_TOLERANCE: f64 = 1e-4;
/// Tolerance of the NUFFT that computes coil maps, which are smooth ratios of images and less
/// accurate than this.
const MAP_TOLERANCE: f64 = 1e-6;

/// What is asked of a reconstruction; `None` where the method decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The reconstruction method.
    pub method: Method,
    /// The implementation of F.
    pub operator: Option<OperatorName>,
    /// Number of iterations.
    pub iterations: Option<usize>,
    /// |r|²/|b|² at which [`Method::Cg`] stops.
    pub min_residual: Option<f64>,
    /// Weight of the regulariser.
    pub lambda: Option<f64>,
    /// Relative error of the NUFFT.
    pub tolerance: Option<f64>,
    /// Sine and cosine of the direct operators on GPUs.
    pub trigonometry: Trigonometry,
    /// Whether the image is multiplied by √Σ|S|².
    pub intensity_correction: bool,
    /// Whether there are phases in addition to those of the trajectory, which only the direct
    /// operator has.
    pub field: bool,
}

impl Options {
    /// Largest number of iterations.
    pub const MAX_ITERATIONS: usize = 1_000_000;

    /// This method, with everything else as the method decides.
    #[must_use]
    pub fn new(method: Method) -> Self {
        Self {
            method,
            operator: None,
            iterations: None,
            min_residual: None,
            lambda: None,
            tolerance: None,
            trigonometry: Trigonometry::Accurate,
            intensity_correction: false,
            field: false,
        }
    }

    /// The recipe, with everything decided.
    #[must_use]
    pub fn recipe(&self) -> Recipe {
        let method = self.method;
        let operator = self.operator.unwrap_or(match method {
            _ if self.field => OperatorName::Direct,
            Method::Adjoint => OperatorName::Nufft,
            _ => OperatorName::Toeplitz,
        });
        let sparse = matches!(method, Method::Tv | Method::Wavelet);
        let tolerance = self.tolerance.unwrap_or(TOLERANCE);
        Recipe {
            operator,
            method,
            iterations: match method {
                Method::Adjoint => 0,
                _ => self.iterations.unwrap_or(ITERATIONS),
            },
            lambda: (self.lambda).unwrap_or(if sparse { SPARSE_LAMBDA } else { 0.0 }),
            min_residual: match method {
                Method::Cg => self.min_residual.unwrap_or(MIN_RESIDUAL),
                _ => 0.0,
            },
            min_iterations: match (method, self.min_residual) {
                (Method::Cg, None) => ITERATIONS,
                _ => 0,
            },
            rounding: match (method, self.min_residual) {
                (Method::Cg, None) => tolerance.max(MIN_ROUNDING).powi(2),
                _ => 0.0,
            },
            tolerance,
            trigonometry: self.trigonometry,
            intensity_correction: self.intensity_correction,
        }
    }
}

/// Where density weights come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Density {
    /// No weights.
    None,
    /// |k|, for spokes.
    Ramp,
    /// Pipe and Menon's fixed-point iteration, for any trajectory.
    Pipe,
}

/// Density weights, with what the user should know of the choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenDensity {
    /// The weights.
    pub density: Density,
    /// Why they are not those that the method usually has.
    pub note: Option<String>,
    /// Why those that were asked for are wrong.
    pub problem: Option<String>,
}

impl Density {
    /// The weights that are `asked` for, or else those that `method` needs: the adjoint |k| for
    /// spokes that cover k-space evenly and Pipe and Menon's for any other trajectory, the others
    /// none.
    #[must_use]
    pub fn choose(asked: Option<Self>, method: Method, coverage: &Coverage) -> ChosenDensity {
        const ASSUMES: &str = "assumes equal spokes in evenly spread directions";
        let uneven = match &coverage.spokes {
            None => Some("these readouts are not spokes".to_owned()),
            Some(spokes) => spokes.uneven.map(|uneven| uneven.to_string()),
        };
        let (density, note, problem) = match (asked, uneven) {
            (Some(Self::Ramp), Some(uneven)) => {
                let problem = format!(
                    "--density ramp {ASSUMES}, but {uneven}: the image is wrong; --density pipe takes any trajectory"
                );
                (Self::Ramp, None, Some(problem))
            }
            (Some(asked), _) => (asked, None, None),
            (None, _) if method != Method::Adjoint => (Self::None, None, None),
            (None, None) => (Self::Ramp, None, None),
            (None, Some(uneven)) => {
                let note = coverage.spokes.as_ref().map(|_| {
                    format!(
                        "the density weights are those of --density pipe: ramp {ASSUMES}, but {uneven}"
                    )
                });
                (Self::Pipe, note, None)
            }
        };
        ChosenDensity {
            density,
            note,
            problem,
        }
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ramp => "ramp",
            Self::Pipe => "pipe",
        }
    }

    /// The weights of the samples, with the `plans` of earlier images.
    ///
    /// # Errors
    /// Those of the NUFFT.
    pub fn weights(
        self,
        kspace: &KSpace,
        plans: &mut Plans,
    ) -> Result<Option<Array1<f64>>, MriError> {
        let trajectory = kspace.trajectory().view();
        Ok(match self {
            Self::None => None,
            Self::Ramp => {
                let readouts = kspace.readouts().iter();
                let readouts: Vec<_> = readouts.map(|r| r.samples.clone()).collect();
                Some(density::ramp(trajectory, &readouts))
            }
            Self::Pipe => Some(plans.pipe_menon(
                grid_of(kspace),
                trajectory,
                DENSITY_TOLERANCE,
                DENSITY_STEPS,
            )?),
        })
    }
}

/// How coil maps are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapEstimation {
    /// Eigenvectors of the centre of k-space; with too few coils for them, [`Self::Walsh`].
    Espirit,
    /// [`CoilMapMethod::LowPass`].
    LowPass,
    /// [`CoilMapMethod::Adaptive`].
    Walsh,
}

/// Why estimated coil maps may be inaccurate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MapDoubt {
    /// The calibration region is undersampled.
    TooFewSamples(CalibrationRegion),
    /// There are so many coils, too few for ESPIRiT.
    TooFewCoils(usize),
}

/// Estimated coil maps.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatedMaps {
    /// (set, coil, voxel).
    pub maps: Array3<Complex<f64>>,
    /// Why they may be inaccurate.
    pub doubts: Vec<MapDoubt>,
}

impl MapEstimation {
    /// The maps of the coils, with the `plans` of earlier images; all 0 without signal in the
    /// centre of k-space.
    ///
    /// # Errors
    /// Those of the NUFFT, and memory.
    pub fn maps(self, kspace: &KSpace, plans: &mut Plans) -> Result<EstimatedMaps, MriError> {
        let (grid, trajectory) = (grid_of(kspace), kspace.trajectory().view());
        let samples = kspace.samples().view();
        let mut doubts = Vec::new();
        let method = match self {
            Self::Espirit => {
                // The noise of one coil has patches of its own, as parts of an object beyond the
                // field of view have.
                let most_sets = match noisy_coils(kspace)[..] {
                    [] => Espirit::MOST_SETS,
                    _ => 1,
                };
                let found = espirit_with_plans(grid, trajectory, samples, most_sets, plans)?;
                if !found.region.sufficient() {
                    doubts.push(MapDoubt::TooFewSamples(found.region));
                }
                if found.enough_coils {
                    let maps = found.maps;
                    return Ok(EstimatedMaps { maps, doubts });
                }
                doubts.push(MapDoubt::TooFewCoils(kspace.coils()));
                CoilMapMethod::Adaptive
            }
            Self::LowPass => CoilMapMethod::LowPass,
            Self::Walsh => CoilMapMethod::Adaptive,
        };
        let encoding = plans.nufft(grid, trajectory, MAP_TOLERANCE)?;
        let maps = estimate(&*encoding, trajectory, samples, method)?.insert_axis(Axis(0));
        Ok(EstimatedMaps { maps, doubts })
    }
}
