//! The direct sums for voxels that lie on no grid.

use super::check;
use super::gather::Phases;
use crate::ProblemError;
use ndarray::ArrayView2;
use num_complex::Complex;

/// FᴴD_n = Σ_m conj(φ_m) d_m exp(+2πi k_m·x_n), one per position.
///
/// `trajectory` (sample, axis) and `positions` (voxel, axis) are in units whose product is in
/// cycles; `phi` are the samples' basis terms, `data` their values.
///
/// # Errors
/// [`ProblemError::Shape`] if the arrays do not have the same numbers of samples and axes.
pub fn fhd(
    trajectory: ArrayView2<'_, f64>,
    positions: ArrayView2<'_, f64>,
    phi: &[Complex<f64>],
    data: &[Complex<f64>],
) -> Result<Vec<Complex<f64>>, ProblemError> {
    checked(trajectory, positions, phi)?;
    let samples = [trajectory.nrows(), 1];
    check("the data", "(sample)", &[data.len(), 1], samples)?;
    let mu: Vec<_> = phi.iter().zip(data).map(|(p, d)| p.conj() * d).collect();
    Ok(Phases::new(trajectory, positions).adjoint(&mu))
}

/// Q(x_n) = Σ_m |φ_m|² exp(+2πi k_m·x_n): the kernel of FᴴF as a function of voxel differences.
///
/// `trajectory` (sample, axis) and `positions` (difference, axis) are in units whose product is in
/// cycles.
///
/// # Errors
/// [`ProblemError::Shape`] if the arrays do not have the same numbers of samples and axes.
pub fn point_spread(
    trajectory: ArrayView2<'_, f64>,
    positions: ArrayView2<'_, f64>,
    phi: &[Complex<f64>],
) -> Result<Vec<Complex<f64>>, ProblemError> {
    checked(trajectory, positions, phi)?;
    let squares: Vec<_> = phi.iter().map(|p| Complex::from(p.norm_sqr())).collect();
    Ok(Phases::new(trajectory, positions).adjoint(&squares))
}

fn checked(
    trajectory: ArrayView2<'_, f64>,
    positions: ArrayView2<'_, f64>,
    phi: &[Complex<f64>],
) -> Result<(), ProblemError> {
    let (samples, axes) = trajectory.dim();
    let expected = [positions.nrows(), axes];
    check("positions", "(voxel, axis)", positions.shape(), expected)?;
    check("φ", "(sample)", &[phi.len(), 1], [samples, 1])
}
