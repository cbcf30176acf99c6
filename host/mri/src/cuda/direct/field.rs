//! Phases as functions of the voxels times coefficients of the samples, in fixed point.

use crate::{FieldBasis, Grid, MriError};
use ndarray::{Array2, ArrayView1, Axis, concatenate};
use warpstride_cuda::gpu::Device;

/// Phases of F in cycles: Σ_f c_mf ψ_f(n).
#[derive(Debug, Clone, PartialEq)]
pub struct Functions {
    coefficients: Array2<f64>,
    values: Array2<f64>,
}

/// Largest phase, as a power of two in cycles, whose fraction is still accurate.
const MAX_LOG2_CYCLES: i32 = 30;

impl Functions {
    /// Functions with `coefficients` (sample, function) and `values` (function, voxel).
    ///
    /// # Errors
    /// Different numbers of functions, or values that are not finite.
    pub fn new(coefficients: Array2<f64>, values: Array2<f64>) -> Result<Self, MriError> {
        if coefficients.ncols() != values.nrows() {
            return Err(MriError::Unsupported(format!(
                "the field: found {} coefficients per sample for {} functions",
                coefficients.ncols(),
                values.nrows(),
            )));
        }
        let all = coefficients.iter().chain(&values);
        if all.copied().any(|value| !value.is_finite()) {
            return Err(MriError::Unsupported(
                "the field: expected finite values, found NaN or infinity in a coefficient or a function".into(),
            ));
        }
        Ok(Self {
            coefficients,
            values,
        })
    }

    /// Number of samples.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.coefficients.nrows()
    }

    /// Number of voxels.
    #[must_use]
    pub fn voxels(&self) -> usize {
        self.values.ncols()
    }
}

/// The trajectory's axes and the field's functions, on a grid.
pub(super) fn cartesian(
    grid: Grid,
    trajectory: &Array2<f64>,
    field: &FieldBasis,
) -> Result<Functions, MriError> {
    let [slices, rows, columns] = grid.shape;
    let position = |n: usize, extent: usize| n as f64 - (extent / 2) as f64;
    let positions = Array2::from_shape_fn((grid.axes, grid.voxels()), |(axis, n)| match axis {
        0 => position(n % columns, columns),
        1 => position(n / columns % rows, rows),
        _ => position(n / columns / rows, slices),
    });
    let shapes = || {
        MriError::Unsupported(format!(
            "the field: found {:?} coefficients and {:?} values, expected one row for each of {} samples and one column for each of {} voxels",
            field.coefficients.dim(),
            field.maps.dim(),
            trajectory.nrows(),
            grid.voxels(),
        ))
    };
    let coefficients = concatenate(Axis(1), &[trajectory.view(), field.coefficients.view()]);
    let values = concatenate(Axis(0), &[positions.view(), field.maps.view()]);
    Functions::new(
        coefficients.map_err(|_| shapes())?,
        values.map_err(|_| shapes())?,
    )
}

/// Both factors on a device, in fixed point, (function, element).
pub(super) struct Field<M: Device> {
    pub(super) functions: usize,
    pub(super) voxels: M::Buffer<i32>,
    pub(super) samples: M::Buffer<i32>,
    /// Number of bits, for every function, by which products are shifted to give 2⁻³² cycles.
    pub(super) shifts: M::Buffer<u32>,
}

impl<M: Device> Field<M> {
    pub(super) fn new(device: &M, functions: &Functions) -> Result<Self, MriError> {
        let count = functions.values.nrows();
        let mut sides = [Vec::new(), Vec::new()];
        let mut shifts = Vec::new();
        for (f, values) in functions.values.rows().into_iter().enumerate() {
            let coefficients = functions.coefficients.column(f);
            let exponents = [exponent(values), exponent(coefficients)];
            let cycles = exponents[0] + exponents[1];
            if cycles > MAX_LOG2_CYCLES {
                return Err(MriError::Unsupported(format!(
                    "function {f} of the field: expected phases up to 2^{MAX_LOG2_CYCLES} cycles, found 2^{cycles}; check its unit (cycles for a coefficient of 1)",
                )));
            }
            shifts.push((MAX_LOG2_CYCLES - cycles) as u32);
            for (side, (values, exponent)) in sides
                .iter_mut()
                .zip([values, coefficients].into_iter().zip(exponents))
            {
                side.extend(values.iter().map(|value| fixed_point(*value, exponent)));
            }
        }
        let [voxels, samples] = sides;
        let mut uploaded = Self {
            functions: count,
            voxels: device.alloc("the phases' functions", voxels.len())?,
            samples: device.alloc("the phases' coefficients", samples.len())?,
            shifts: device.alloc("the phases' units", count)?,
        };
        device.upload(&mut uploaded.voxels, &voxels)?;
        device.upload(&mut uploaded.samples, &samples)?;
        device.upload(&mut uploaded.shifts, &shifts)?;
        Ok(uploaded)
    }
}

/// The smallest a with |value| ≤ 2^a for all values. Not below −16, so that shifts of two factors
/// stay below 63.
fn exponent(values: ArrayView1<'_, f64>) -> i32 {
    let most = values
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    (most.log2().ceil() as i32).max(-16)
}

/// `value` in units of 2^(exponent − 31).
fn fixed_point(value: f64, exponent: i32) -> i32 {
    let scaled = (value * f64::from(31 - exponent).exp2()).round();
    // 2^31 itself does not fit: it is reduced by one unit.
    scaled.clamp(-2_147_483_647.0, 2_147_483_647.0) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn exponents_bound_the_values() {
        assert_eq!(exponent(array![0.25, -0.5].view()), -1);
        assert_eq!(exponent(array![64.0, -3.0].view()), 6);
        assert_eq!(exponent(array![64.5].view()), 7);
        assert_eq!(exponent(array![0.0, 1e-30].view()), -16);
        assert_eq!(exponent(array![].view()), -16);
    }

    #[test]
    fn values_keep_31_bits() {
        for value in [0.0, 0.3, -0.499_999, 0.5, -0.5] {
            let back = f64::from(fixed_point(value, -1)) / 2.0_f64.powi(32);
            assert!((back - value).abs() <= 2.0_f64.powi(-32), "{value}");
        }
    }
}
