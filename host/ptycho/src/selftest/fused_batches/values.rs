//! Batches and values of the references.

use crate::selftest::batch_waves::Batch;
use num_complex::Complex;
use warpstride_device::Complex32;

/// (first, count) of some batches, of which number 1 is `batch`.
pub(super) fn ranges(batch: &Batch) -> Vec<[u32; 2]> {
    vec![[0, batch.first], [batch.first, batch.count], [7, 5]]
}

/// Rounded to single precision.
pub(super) fn narrow(value: &Complex<f64>) -> Complex32 {
    Complex32::new(value.re as f32, value.im as f32)
}

/// A value with its modulus in these limits; none if the upper one is negative.
pub(super) fn clipped(value: Complex<f64>, limits: [f32; 2]) -> Complex<f64> {
    let [low, high] = limits.map(f64::from);
    match value.norm() {
        _ if high < 0.0 => value,
        0.0 => Complex::new(low, 0.0),
        modulus => value * (modulus.clamp(low, high) / modulus),
    }
}
