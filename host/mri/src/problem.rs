//! The measured data, checked.

use super::Grid;
use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, Axis};
use num_complex::Complex;

/// Why data cannot be reconstructed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// An empty grid, or one with slices that are not encoded.
    #[error(
        "the image (slices, rows, columns): expected at least one voxel along each axis, and one slice for two axes of k-space, found {0:?} and {1} axes"
    )]
    Grid([usize; 3], usize),
    /// More than memory can address.
    #[error(
        "expected a problem that memory can address, found {voxels} voxels, {samples} samples, {coils} coils"
    )]
    TooLarge {
        /// Voxels.
        voxels: usize,
        /// Samples of a coil.
        samples: usize,
        /// Coils.
        coils: usize,
    },
    /// Arrays of different extents.
    #[error("{what}: expected shape {expected:?} {axes}, found {found:?}")]
    Shape {
        /// The array.
        what: &'static str,
        /// Its shape.
        found: Vec<usize>,
        /// The shape it should have.
        expected: Vec<usize>,
        /// Names of the axes.
        axes: &'static str,
    },
    /// A value that is NaN or infinite.
    #[error("{what}: expected finite values, found NaN or infinity at {index:?} {axes}")]
    NotFinite {
        /// The array.
        what: &'static str,
        /// The index, from 0.
        index: Vec<usize>,
        /// Names of the axes.
        axes: &'static str,
    },
    /// A value that is NaN or infinite, somewhere in an array of a device.
    #[error("{what}: expected finite values, found NaN or infinity")]
    NotFiniteOnDevice {
        /// The array.
        what: &'static str,
    },
    /// k-space beyond half a cycle a pixel.
    #[error(
        "the trajectory, sample {sample}, axis {axis}: expected −0.5 to 0.5 cycles/pixel, found {value}"
    )]
    OutsideNyquist {
        /// Index of the sample, from 0.
        sample: usize,
        /// Index, from 0: kx, ky, kz.
        axis: usize,
        /// Its value.
        value: f64,
    },
    /// A weight below 0.
    #[error("the density weight of sample {sample}: expected at least 0, found {value}")]
    NegativeWeight {
        /// Index of the sample, from 0.
        sample: usize,
        /// Its value.
        value: f64,
    },
    /// No coil or no sample.
    #[error("expected at least one sample of one coil, found {samples} samples of {coils} coils")]
    Empty {
        /// Samples of a coil.
        samples: usize,
        /// Coils.
        coils: usize,
    },
}

/// Phases in addition to those of the trajectory: F_mn = exp(−2πi (k_m·x_n + Σ_b c_mb ψ_b(x_n))).
///
/// Off-resonance has one function, with ψ the field map in Hz and c the samples' times in s. Only
/// the direct operators support a field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldBasis {
    /// c, (sample, function).
    pub coefficients: Array2<f64>,
    /// ψ, (function, voxel), in cycles for a coefficient of 1.
    pub maps: Array2<f64>,
}

impl FieldBasis {
    /// Largest plausible phase, cycles. Real fields reach some hundreds (1 kHz for 0.1 s); in
    /// single precision, 24 bits, a phase of this size is wrong by 0.06 cycles.
    pub const MAX_CYCLES: f64 = 1e6;

    /// Largest product of a coefficient and a map, cycles.
    #[must_use]
    pub fn largest_phase(&self) -> f64 {
        let largest =
            |values: ArrayView1<'_, f64>| values.iter().map(|v| v.abs()).fold(0.0, f64::max);
        let coefficients = self.coefficients.columns().into_iter().map(largest);
        coefficients
            .zip(self.maps.rows().into_iter().map(largest))
            .map(|(coefficient, map)| coefficient * map)
            .fold(0.0, f64::max)
    }
}

/// The measured samples of a trajectory, with everything that is known before the reconstruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    grid: Grid,
    trajectory: Array2<f64>,
    samples: Array2<Complex<f64>>,
    weights: Option<Array1<f64>>,
    maps: Option<Array3<Complex<f64>>>,
    field: Option<FieldBasis>,
}

/// Returns an error with the index of the first value that is not finite.
fn finite<T>(
    what: &'static str,
    axes: &'static str,
    array: &ArrayView2<'_, T>,
    finite: impl Fn(&T) -> bool,
) -> Result<(), ProblemError> {
    match array.indexed_iter().find(|(_, value)| !finite(value)) {
        None => Ok(()),
        Some(((i, j), _)) => Err(ProblemError::NotFinite {
            what,
            index: vec![i, j],
            axes,
        }),
    }
}

fn shaped(
    what: &'static str,
    axes: &'static str,
    found: &[usize],
    expected: &[usize],
) -> Result<(), ProblemError> {
    if found == expected {
        return Ok(());
    }
    Err(ProblemError::Shape {
        what,
        found: found.to_vec(),
        expected: expected.to_vec(),
        axes,
    })
}

/// Refuses an empty grid or no samples, and more than memory can address.
fn check_sizes(grid: Grid, coils: usize, count: usize) -> Result<(), ProblemError> {
    let flat = grid.axes == 2 && grid.shape[0] == 1;
    if !(flat || grid.axes == 3) || grid.shape.contains(&0) {
        return Err(ProblemError::Grid(grid.shape, grid.axes));
    }
    // About a hundred bytes per voxel of the doubled grid and per sample, for every coil.
    let addressable = grid
        .shape
        .iter()
        .try_fold(1024_usize, |product, n| product.checked_mul(*n))
        .and_then(|voxels| voxels.checked_add(count.checked_mul(256)?))
        .and_then(|one| one.checked_mul(coils.max(1)))
        .is_some_and(|bytes| isize::try_from(bytes).is_ok());
    if !addressable || grid.shape.iter().any(|n| *n > 1 << 20) {
        return Err(ProblemError::TooLarge {
            voxels: grid
                .shape
                .iter()
                .fold(1, |a: usize, n| a.saturating_mul(*n)),
            samples: count,
            coils,
        });
    }
    if coils == 0 || count == 0 {
        return Err(ProblemError::Empty {
            samples: count,
            coils,
        });
    }
    Ok(())
}

/// Refuses a trajectory of another shape, or with numbers that are not finite or beyond half a
/// cycle a pixel.
fn check_trajectory(
    grid: Grid,
    count: usize,
    trajectory: &Array2<f64>,
) -> Result<(), ProblemError> {
    let expected = [count, grid.axes];
    let axes = "(sample, axis)";
    shaped("the trajectory", axes, trajectory.shape(), &expected)?;
    finite("the trajectory", axes, &trajectory.view(), |v| {
        v.is_finite()
    })?;
    match trajectory.indexed_iter().find(|(_, k)| k.abs() > 0.5) {
        None => Ok(()),
        Some(((sample, axis), value)) => Err(ProblemError::OutsideNyquist {
            sample,
            axis,
            value: *value,
        }),
    }
}

impl Problem {
    /// `trajectory` (sample, axis) in cycles/pixel, axes kx, ky[, kz]; `samples` (coil, sample).
    ///
    /// # Errors
    /// Inconsistent shapes, values that are not finite, |k| > 0.5, or no samples.
    pub fn new(
        grid: Grid,
        trajectory: Array2<f64>,
        samples: Array2<Complex<f64>>,
    ) -> Result<Self, ProblemError> {
        let (coils, count) = samples.dim();
        check_sizes(grid, coils, count)?;
        check_trajectory(grid, count, &trajectory)?;
        finite("the data", "(coil, sample)", &samples.view(), |v| {
            v.is_finite()
        })?;
        Ok(Self::of_checked(grid, trajectory, samples))
    }

    /// A problem of `coils` coils whose samples are not in the memory of the host, for
    /// [`GpuEngine::of_device_arrays`](super::cuda::GpuEngine::of_device_arrays): [`Self::samples`]
    /// has no columns.
    ///
    /// # Errors
    /// Those of [`Self::new`] that concern grid and trajectory.
    pub fn without_samples(
        grid: Grid,
        trajectory: Array2<f64>,
        coils: usize,
    ) -> Result<Self, ProblemError> {
        let count = trajectory.nrows();
        check_sizes(grid, coils, count)?;
        check_trajectory(grid, count, &trajectory)?;
        Ok(Self::of_checked(
            grid,
            trajectory,
            Array2::zeros((coils, 0)),
        ))
    }

    fn of_checked(grid: Grid, trajectory: Array2<f64>, samples: Array2<Complex<f64>>) -> Self {
        Self {
            grid,
            trajectory,
            samples,
            weights: None,
            maps: None,
            field: None,
        }
    }

    /// Refuses a problem whose samples are not in the memory of the host.
    pub(crate) fn expect_samples(&self) -> Result<(), ProblemError> {
        let expected = [self.coils(), self.trajectory.nrows()];
        shaped(
            "the data",
            "(coil, sample)",
            self.samples.shape(),
            &expected,
        )
    }

    /// Adds density weights W, one per sample.
    ///
    /// # Errors
    /// A different number of weights, or one that is negative or not finite.
    pub fn with_weights(mut self, weights: Array1<f64>) -> Result<Self, ProblemError> {
        let expected = [self.trajectory.nrows()];
        shaped(
            "the density weights",
            "(sample)",
            weights.shape(),
            &expected,
        )?;
        for (sample, value) in weights.iter().enumerate() {
            if !value.is_finite() {
                return Err(ProblemError::NotFinite {
                    what: "the density weights",
                    index: vec![sample],
                    axes: "(sample)",
                });
            }
            if *value < 0.0 {
                return Err(ProblemError::NegativeWeight {
                    sample,
                    value: *value,
                });
            }
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// Adds coil maps S, (coil, voxel).
    ///
    /// # Errors
    /// Another shape, or values that are not finite.
    pub fn with_maps(self, maps: Array2<Complex<f64>>) -> Result<Self, ProblemError> {
        let expected = [self.coils(), self.grid.voxels()];
        shaped("the coil maps", "(coil, voxel)", maps.shape(), &expected)?;
        self.with_map_sets(maps.insert_axis(Axis(0)))
    }

    /// Adds several sets of coil maps, (set, coil, voxel). Each has an image of its own; a coil
    /// sees the sum of all of them (M. Uecker et al., Magn. Reson. Med. 71 (2014) 990).
    ///
    /// # Errors
    /// Another shape, no set, or values that are not finite.
    pub fn with_map_sets(mut self, maps: Array3<Complex<f64>>) -> Result<Self, ProblemError> {
        let sets = maps.dim().0.max(1);
        let expected = [sets, self.coils(), self.grid.voxels()];
        shaped(
            "the coil maps",
            "(set, coil, voxel)",
            maps.shape(),
            &expected,
        )?;
        for set in maps.outer_iter() {
            finite("the coil maps", "(coil, voxel)", &set, |v| v.is_finite())?;
        }
        self.maps = Some(maps);
        Ok(self)
    }

    /// Adds phases to those of the trajectory.
    ///
    /// # Errors
    /// Another shape, or values that are not finite.
    pub fn with_field(mut self, field: FieldBasis) -> Result<Self, ProblemError> {
        let functions = field.maps.nrows();
        let expected = [self.trajectory.nrows(), functions];
        let axes = "(sample, function)";
        shaped(
            "the field's coefficients",
            axes,
            field.coefficients.shape(),
            &expected,
        )?;
        let expected = [functions, self.grid.voxels()];
        shaped(
            "the field's maps",
            "(function, voxel)",
            field.maps.shape(),
            &expected,
        )?;
        finite(
            "the field's coefficients",
            axes,
            &field.coefficients.view(),
            |v| v.is_finite(),
        )?;
        finite(
            "the field's maps",
            "(function, voxel)",
            &field.maps.view(),
            |v| v.is_finite(),
        )?;
        self.field = Some(field);
        Ok(self)
    }

    /// The voxels.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Number of coils.
    #[must_use]
    pub fn coils(&self) -> usize {
        self.samples.nrows()
    }

    /// (sample, axis), cycles/pixel.
    #[must_use]
    pub fn trajectory(&self) -> &Array2<f64> {
        &self.trajectory
    }

    /// (coil, sample); no columns if they are not in the memory of the host.
    #[must_use]
    pub fn samples(&self) -> &Array2<Complex<f64>> {
        &self.samples
    }

    /// W, one per sample; `None`: 1.
    #[must_use]
    pub fn weights(&self) -> Option<&Array1<f64>> {
        self.weights.as_ref()
    }

    /// S, (set, coil, voxel); `None`: every coil has an image of its own.
    #[must_use]
    pub fn maps(&self) -> Option<&Array3<Complex<f64>>> {
        self.maps.as_ref()
    }

    /// The phases in addition to those of the trajectory.
    #[must_use]
    pub fn field(&self) -> Option<&FieldBasis> {
        self.field.as_ref()
    }
}
