//! The trajectory in the form that the separable kernels read.

use std::f64::consts::TAU;

use ndarray::Array2;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_device::{F32x4, U32x4};

/// Fixed-point units of a cycle.
const UNITS_PER_CYCLE: f64 = 4_294_967_296.0;

/// A trajectory on a device, one element per sample.
pub(super) struct Trajectory<M: Device> {
    /// kx, ky, kz as the fraction of a cycle that half a pixel makes, in 2⁻³² cycles: products with
    /// integers wrap around exactly, and the rounding of 2⁻³³ cycles grows to N/2³³ cycles at the
    /// edge of N voxels (9·10⁻⁸ radians for 128).
    pub(super) cycles: M::Buffer<U32x4>,
    /// Cosine and sine of the phase of one pixel along x, then along y.
    pub(super) steps: M::Buffer<F32x4>,
}

impl<M: Device> Trajectory<M> {
    /// Uploads `trajectory` (sample, axis), cycles/pixel, axes kx, ky[, kz].
    pub(super) fn new(device: &M, trajectory: &Array2<f64>) -> Result<Self> {
        let mut cycles = Vec::with_capacity(trajectory.nrows());
        let mut steps = Vec::with_capacity(trajectory.nrows());
        for k in trajectory.rows() {
            let axis = |axis: usize| k.get(axis).copied().unwrap_or(0.0);
            let [x, y, z] = [0, 1, 2].map(axis);
            cycles.push(U32x4([fraction(x), fraction(y), fraction(z), 0]));
            let [(xs, xc), (ys, yc)] = [x, y].map(|k| (TAU * k).sin_cos());
            steps.push(F32x4([xc, xs, yc, ys].map(|v| v as f32)));
        }
        let samples = cycles.len();
        let mut uploaded = Self {
            cycles: device.alloc("the trajectory", samples)?,
            steps: device.alloc("the trajectory", samples)?,
        };
        device.upload(&mut uploaded.cycles, &cycles)?;
        device.upload(&mut uploaded.steps, &steps)?;
        Ok(uploaded)
    }
}

/// The fraction of `k`/2 cycles.
fn fraction(k: f64) -> u32 {
    let half = k / 2.0;
    ((half - half.floor()) * UNITS_PER_CYCLE).round() as u64 as u32
}

#[cfg(test)]
mod tests {
    use super::fraction;

    #[test]
    fn whole_cycles_vanish_and_the_rest_is_rounded() {
        assert_eq!(fraction(0.0), 0);
        assert_eq!(fraction(0.5), 1 << 30);
        assert_eq!(fraction(-0.5), 3 << 30);
        assert_eq!(fraction(4.0), 0);
        assert_eq!(fraction(3.0), 1 << 31);
        assert_eq!(fraction(-1e-12), 0);
    }
}
