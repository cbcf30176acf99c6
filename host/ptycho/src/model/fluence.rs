//! Fluence of an object.

use crate::Frames;
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;

/// Σ_j Σ_m |P_m|² on an object of the given shape, photons.
pub(crate) fn fluence(
    shape: (usize, usize),
    probe: &Array3<Complex<f64>>,
    frames: &Frames,
) -> Array2<f64> {
    let power = probe.map(Complex::norm_sqr).sum_axis(Axis(0));
    let (rows, columns) = power.dim();
    let mut fluence = Array2::zeros(shape);
    for corner in &frames.corners {
        let [top, left] = corner.map(|v| v as usize);
        let mut window = fluence.slice_mut(s![top..top + rows, left..left + columns]);
        window += &power;
    }
    fluence
}
