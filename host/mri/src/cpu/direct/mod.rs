//! The exact sums: F_mn = exp(−2πi (k_m·x_n + Σ_b c_mb ψ_b(x_n))).
//!
//! On a grid of voxels without a field the exponentials separate per axis, so that both sums are
//! products of real matrices (`separable`). With a field, or for voxels that lie on no grid, every
//! pair of voxel and sample has its own sine and cosine (`gather`).

mod gather;
mod positions;
mod separable;
mod sincos;

pub use positions::{fhd, point_spread};

use crate::{Encoding, FieldBasis, Grid, ProblemError};
use gather::Phases;
use ndarray::ArrayView2;
use num_complex::Complex;
use separable::Separable;
use warpstride_fft::Real;

/// The direct operator.
pub struct Direct<T> {
    grid: Grid,
    samples: usize,
    sums: Sums<T>,
}

enum Sums<T> {
    Separable(Separable<T>),
    Gather(Phases),
}

impl<T: Real> Direct<T> {
    /// Plans the sums for a `trajectory` (sample, axis) in cycles/pixel, with the phases of `field`
    /// if given.
    ///
    /// # Errors
    /// [`ProblemError::Shape`] if the number of axes differs from the grid's, or the field has
    /// another number of samples or voxels.
    pub fn new(
        grid: Grid,
        trajectory: ArrayView2<'_, f64>,
        field: Option<&FieldBasis>,
    ) -> Result<Self, ProblemError> {
        let samples = trajectory.nrows();
        check(
            "the trajectory",
            "(sample, axis)",
            trajectory.shape(),
            [samples, grid.axes],
        )?;
        let sums = match field {
            None => Sums::Separable(Separable::new(grid, trajectory)),
            Some(field) => {
                let functions = field.maps.nrows();
                check(
                    "the field's coefficients",
                    "(sample, function)",
                    field.coefficients.shape(),
                    [samples, functions],
                )?;
                check(
                    "the field's maps",
                    "(function, voxel)",
                    field.maps.shape(),
                    [functions, grid.voxels()],
                )?;
                Sums::Gather(Phases::on_grid(grid, trajectory, field))
            }
        };
        Ok(Self {
            grid,
            samples,
            sums,
        })
    }
}

/// Checks the shape of an array.
fn check(
    what: &'static str,
    axes: &'static str,
    found: &[usize],
    expected: [usize; 2],
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

fn wide<T: Real>(values: &[Complex<T>]) -> Vec<Complex<f64>> {
    let wide = |v: &Complex<T>| Complex::new(v.re.wide(), v.im.wide());
    values.iter().map(wide).collect()
}

fn narrow<T: Real>(values: &[Complex<f64>], into: &mut [Complex<T>]) {
    for (to, from) in into.iter_mut().zip(values) {
        *to = Complex::new(T::of(from.re), T::of(from.im));
    }
}

impl<T: Real> Encoding<T> for Direct<T> {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn samples(&self) -> usize {
        self.samples
    }

    fn forward(&self, images: &[Complex<T>], samples: &mut [Complex<T>]) {
        match &self.sums {
            Sums::Separable(separable) => separable.forward(images, samples),
            Sums::Gather(phases) => narrow(&phases.forward(&wide(images)), samples),
        }
    }

    fn adjoint(&self, samples: &[Complex<T>], images: &mut [Complex<T>]) {
        match &self.sums {
            Sums::Separable(separable) => separable.adjoint(samples, images),
            Sums::Gather(phases) => narrow(&phases.adjoint(&wide(samples)), images),
        }
    }
}

#[cfg(test)]
mod tests;
