//! A trajectory as the separable kernels read it.

use std::f64::consts::TAU;

use crate::gpu::{Machine, Result};
use ndarray::Array2;
use warpstride_device::{F32x4, U32x4};

/// Parts of a turn that a whole number counts.
const TURN: f64 = 4_294_967_296.0;

/// On a machine, one element a sample.
pub(super) struct Trajectory<M: Machine> {
    /// kx, ky, kz as fractions of a turn that half a pixel makes, in 2⁻³² turns: products with
    /// whole numbers wrap around exactly, and the rounding of 2⁻³³ turns grows to N/2³³ turns at the
    /// edge of N voxels (9·10⁻⁸ radians for 128).
    pub(super) turns: M::Buffer<U32x4>,
    /// Cosine and sine of the phase of one pixel along x, then along y.
    pub(super) steps: M::Buffer<F32x4>,
}

impl<M: Machine> Trajectory<M> {
    /// (sample, axis), cycles/pixel, axes kx, ky[, kz].
    pub(super) fn new(machine: &M, trajectory: &Array2<f64>) -> Result<Self> {
        let mut turns = Vec::with_capacity(trajectory.nrows());
        let mut steps = Vec::with_capacity(trajectory.nrows());
        for k in trajectory.rows() {
            let axis = |axis: usize| k.get(axis).copied().unwrap_or(0.0);
            let [x, y, z] = [0, 1, 2].map(axis);
            turns.push(U32x4([fraction(x), fraction(y), fraction(z), 0]));
            let [(xs, xc), (ys, yc)] = [x, y].map(|k| (TAU * k).sin_cos());
            steps.push(F32x4([xc, xs, yc, ys].map(|v| v as f32)));
        }
        let samples = turns.len();
        let mut on = Self {
            turns: machine.alloc("the trajectory", samples)?,
            steps: machine.alloc("the trajectory", samples)?,
        };
        machine.upload(&mut on.turns, &turns)?;
        machine.upload(&mut on.steps, &steps)?;
        Ok(on)
    }
}

/// Half of `k` turns without whole turns.
fn fraction(k: f64) -> u32 {
    let half = k / 2.0;
    ((half - half.floor()) * TURN).round() as u64 as u32
}

#[cfg(test)]
mod tests {
    use super::fraction;

    #[test]
    fn whole_turns_vanish_and_the_rest_is_rounded() {
        assert_eq!(fraction(0.0), 0);
        assert_eq!(fraction(0.5), 1 << 30);
        assert_eq!(fraction(-0.5), 3 << 30);
        assert_eq!(fraction(4.0), 0);
        assert_eq!(fraction(3.0), 1 << 31);
        assert_eq!(fraction(-1e-12), 0);
    }
}
