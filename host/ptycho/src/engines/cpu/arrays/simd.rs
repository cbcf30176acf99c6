//! Loops over pixels, compiled for the vector instructions of the CPU in use.
//!
//! A loop is a struct with its arrays whose `call` or `with_simd` runs it; [`pulp::Arch`] compiles
//! it once for each instruction set and chooses at run time. Everything within it must be inlined
//! (`inline(always)`), or it would be compiled for the oldest CPU. In a [`PixelLoop`] products and
//! sums are rounded one by one, without fused operations, so all instruction sets give the same
//! bits.

use warpstride_fft::Real;

/// Pixels that a loop takes at once, each with its own running sum: two vectors of eight `f32`.
pub(in crate::engines::cpu) const LANES: usize = 16;

/// Pixels whose sums are added in the precision of the waves, before they are added in double
/// precision: few enough that their rounding errors stay at those of a single sum.
pub(in crate::engines::cpu) const SEGMENT: usize = 16 * LANES;

/// A loop over pixels in which each pixel has the same work.
pub(in crate::engines::cpu) trait PixelLoop<const SUMS: usize> {
    /// Works on pixels `start..end`, a multiple of `N`, and returns their sums.
    fn pixels<const N: usize>(&mut self, start: usize, end: usize) -> [f64; SUMS];

    /// Works on all of `pixels` and returns the sums, which depend only on the values.
    #[inline(always)]
    fn all(&mut self, pixels: usize) -> [f64; SUMS] {
        let mut total = [0.0; SUMS];
        let whole = pixels - pixels % LANES;
        let mut start = 0;
        while start < whole {
            let end = whole.min(start + SEGMENT);
            let sums = self.pixels::<LANES>(start, end);
            (0..SUMS).for_each(|n| total[n] += sums[n]);
            start = end;
        }
        let sums = self.pixels::<1>(whole, pixels);
        (0..SUMS).for_each(|n| total[n] += sums[n]);
        total
    }
}

/// Σ of the lanes in double precision.
#[inline(always)]
pub(in crate::engines::cpu) fn wide_sum<T: Real, const N: usize>(lanes: &[T; N]) -> f64 {
    let mut sum = 0.0;
    for lane in lanes {
        sum += lane.wide();
    }
    sum
}

/// The `N` values from `start` on.
#[inline(always)]
pub(in crate::engines::cpu) fn lanes<V: Copy, const N: usize>(
    values: &[V],
    start: usize,
) -> [V; N] {
    let values = &values[start..start + N];
    std::array::from_fn(|lane| values[lane])
}

/// Runs a loop, compiled for the CPU in use.
#[inline]
pub(in crate::engines::cpu) fn vectorised<L: pulp::WithSimd>(work: L) -> L::Output {
    pulp::Arch::new().dispatch(work)
}
