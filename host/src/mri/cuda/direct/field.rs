//! Phases as functions of the voxels times coefficients of the samples, in whole numbers.

use crate::gpu::Machine;
use crate::mri::{FieldBasis, Grid, MriError};
use ndarray::{Array2, ArrayView1, Axis, concatenate};

/// Phases of F in turns: Σ_f c_mf ψ_f(n).
#[derive(Debug, Clone, PartialEq)]
pub struct Functions {
    coefficients: Array2<f64>,
    values: Array2<f64>,
}

/// Most turns, as a power of two, that leave a fraction worth computing.
const MOST_TURNS: i32 = 30;

impl Functions {
    /// `coefficients` (sample, function), `values` (function, voxel).
    ///
    /// # Errors
    /// Other numbers of functions; values that are not finite.
    pub fn new(coefficients: Array2<f64>, values: Array2<f64>) -> Result<Self, MriError> {
        if coefficients.ncols() != values.nrows() {
            return Err(MriError::Unsupported(format!(
                "{} coefficients a sample do not fit {} functions",
                coefficients.ncols(),
                values.nrows(),
            )));
        }
        let all = coefficients.iter().chain(&values);
        if all.copied().any(|value| !value.is_finite()) {
            return Err(MriError::Unsupported(
                "phases must be finite: a coefficient or a function has a value that is not".into(),
            ));
        }
        Ok(Self {
            coefficients,
            values,
        })
    }

    /// Samples.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.coefficients.nrows()
    }

    /// Voxels.
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
    let place = |n: usize, extent: usize| n as f64 - (extent / 2) as f64;
    let places = Array2::from_shape_fn((grid.axes, grid.voxels()), |(axis, n)| match axis {
        0 => place(n % columns, columns),
        1 => place(n / columns % rows, rows),
        _ => place(n / columns / rows, slices),
    });
    let shapes = || {
        MriError::Unsupported(format!(
            "the field basis has {:?} coefficients and {:?} values, expected one row for each of {} samples and one column for each of {} voxels",
            field.coefficients.dim(),
            field.maps.dim(),
            trajectory.nrows(),
            grid.voxels(),
        ))
    };
    let coefficients = concatenate(Axis(1), &[trajectory.view(), field.coefficients.view()]);
    let values = concatenate(Axis(0), &[places.view(), field.maps.view()]);
    Functions::new(
        coefficients.map_err(|_| shapes())?,
        values.map_err(|_| shapes())?,
    )
}

/// On a machine: both sides as whole numbers, (function, element).
pub(super) struct Field<M: Machine> {
    pub(super) functions: usize,
    pub(super) voxels: M::Buffer<i32>,
    pub(super) samples: M::Buffer<i32>,
    /// Of every function: bits by which the products of both are shifted to give 2⁻³² turns.
    pub(super) shifts: M::Buffer<u32>,
}

impl<M: Machine> Field<M> {
    pub(super) fn new(machine: &M, functions: &Functions) -> Result<Self, MriError> {
        let count = functions.values.nrows();
        let mut sides = [Vec::new(), Vec::new()];
        let mut shifts = Vec::new();
        for (f, values) in functions.values.rows().into_iter().enumerate() {
            let coefficients = functions.coefficients.column(f);
            let powers = [power(values), power(coefficients)];
            let turns = powers[0] + powers[1];
            if turns > MOST_TURNS {
                return Err(MriError::Unsupported(format!(
                    "function {f} of the phases makes up to 2^{turns} turns: above 2^{MOST_TURNS} nothing is left of their fraction; check its unit (turns for a coefficient of 1)",
                )));
            }
            shifts.push((MOST_TURNS - turns) as u32);
            for (side, (values, power)) in sides
                .iter_mut()
                .zip([values, coefficients].into_iter().zip(powers))
            {
                side.extend(values.iter().map(|value| whole(*value, power)));
            }
        }
        let [voxels, samples] = sides;
        let mut on = Self {
            functions: count,
            voxels: machine.alloc("the phases' functions", voxels.len())?,
            samples: machine.alloc("the phases' coefficients", samples.len())?,
            shifts: machine.alloc("the phases' units", count)?,
        };
        machine.upload(&mut on.voxels, &voxels)?;
        machine.upload(&mut on.samples, &samples)?;
        machine.upload(&mut on.shifts, &shifts)?;
        Ok(on)
    }
}

/// Least a with |value| ≤ 2^a for all. Not below −16, so that shifts of two sides stay below 63.
fn power(values: ArrayView1<'_, f64>) -> i32 {
    let most = values
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    (most.log2().ceil() as i32).max(-16)
}

/// In units of 2^(power − 31).
fn whole(value: f64, power: i32) -> i32 {
    let scaled = (value * f64::from(31 - power).exp2()).round();
    // 2^31 itself does not fit: one unit less.
    scaled.clamp(-2_147_483_647.0, 2_147_483_647.0) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn powers_bound_the_values() {
        assert_eq!(power(array![0.25, -0.5].view()), -1);
        assert_eq!(power(array![64.0, -3.0].view()), 6);
        assert_eq!(power(array![64.5].view()), 7);
        assert_eq!(power(array![0.0, 1e-30].view()), -16);
        assert_eq!(power(array![].view()), -16);
    }

    #[test]
    fn values_keep_31_bits() {
        for value in [0.0, 0.3, -0.499_999, 0.5, -0.5] {
            let back = f64::from(whole(value, -1)) / 2.0_f64.powi(32);
            assert!((back - value).abs() <= 2.0_f64.powi(-32), "{value}");
        }
    }
}
