//! A gather over all pairs of voxel and sample, in double precision whatever the precision of the
//! data.

use super::sincos::{cos_sin, reduced};
use crate::{FieldBasis, Grid};
use ndarray::ArrayView2;
use num_complex::Complex;
use rayon::prelude::*;

/// Positions and samples of a tile: its cosines and sines stay in the first-level cache.
const TILE: usize = 256;

/// Running sums of a tile: two AVX-512 registers.
const LANES: usize = 16;

/// Phases in cycles that are sums of products: t_mn = Σ_a u_a(m) v_a(n).
///
/// The functions are the coordinates (u = k, v = x), followed by those of a field (u = c, v = ψ).
pub(super) struct Phases {
    /// u, (function)(sample)
    samples: Vec<Vec<f64>>,
    /// v, (function)(position)
    positions: Vec<Vec<f64>>,
    sample_count: usize,
    position_count: usize,
}

fn columns(array: ArrayView2<'_, f64>) -> Vec<Vec<f64>> {
    array.columns().into_iter().map(|c| c.to_vec()).collect()
}

impl Phases {
    /// Phases of a `trajectory` (sample, axis) and `positions` (position, axis).
    pub(super) fn new(trajectory: ArrayView2<'_, f64>, positions: ArrayView2<'_, f64>) -> Self {
        Self {
            samples: columns(trajectory),
            positions: columns(positions),
            sample_count: trajectory.nrows(),
            position_count: positions.nrows(),
        }
    }

    /// Phases of the voxels of `grid`, with a field.
    pub(super) fn on_grid(grid: Grid, trajectory: ArrayView2<'_, f64>, field: &FieldBasis) -> Self {
        let [slices, rows, columns_] = grid.shape;
        let offset = |i: usize, n: usize| i as f64 - (n / 2) as f64;
        let coordinate = |axis: usize| -> Vec<f64> {
            let voxel = |n: usize| match axis {
                0 => offset(n % columns_, columns_),
                1 => offset(n / columns_ % rows, rows),
                _ => offset(n / columns_ / rows, slices),
            };
            (0..grid.voxels()).map(voxel).collect()
        };
        let mut samples = columns(trajectory);
        samples.extend(columns(field.coefficients.view()));
        let mut positions: Vec<_> = (0..grid.axes).map(coordinate).collect();
        positions.extend(field.maps.rows().into_iter().map(|row| row.to_vec()));
        Self {
            samples,
            positions,
            sample_count: trajectory.nrows(),
            position_count: grid.voxels(),
        }
    }

    /// Σ_n exp(−2πi t_mn) ρ_n of each of the `images` (image, position).
    pub(super) fn forward(&self, images: &[Complex<f64>]) -> Vec<Complex<f64>> {
        // The roles change and the sign flips: conj(Σ exp(+2πi t) conj(ρ)).
        let conjugate: Vec<_> = images.iter().map(Complex::conj).collect();
        let mut sums = gather(
            &self.positions,
            &self.samples,
            self.position_count,
            self.sample_count,
            &conjugate,
        );
        sums.iter_mut().for_each(|sum| sum.im = -sum.im);
        sums
    }

    /// Σ_m exp(+2πi t_mn) d_m of each series of `samples` (image, sample).
    pub(super) fn adjoint(&self, samples: &[Complex<f64>]) -> Vec<Complex<f64>> {
        gather(
            &self.samples,
            &self.positions,
            self.sample_count,
            self.position_count,
            samples,
        )
    }
}

/// Σ_m exp(+2πi Σ_a from_a(m) to_a(n)) values_m, (image, n), with `values` (image, m).
fn gather(
    from: &[Vec<f64>],
    to: &[Vec<f64>],
    sources: usize,
    targets: usize,
    values: &[Complex<f64>],
) -> Vec<Complex<f64>> {
    let batch = values.len() / sources.max(1);
    let arch = pulp::Arch::new();
    let tiles: Vec<Vec<Complex<f64>>> = (0..targets)
        .into_par_iter()
        .step_by(TILE)
        .map(|start| {
            arch.dispatch(Tile {
                from,
                to,
                start,
                count: TILE.min(targets - start),
                sources,
                values,
                batch,
            })
        })
        .collect();
    let mut sums = vec![Complex::default(); batch * targets];
    for (tile, part) in tiles.iter().enumerate() {
        let count = part.len() / batch.max(1);
        for (image, part) in part.chunks_exact(count.max(1)).enumerate() {
            let start = image * targets + tile * TILE;
            sums[start..start + count].copy_from_slice(part);
        }
    }
    sums
}

/// The targets of one task; compiled once for each vector instruction set.
struct Tile<'a> {
    from: &'a [Vec<f64>],
    to: &'a [Vec<f64>],
    start: usize,
    count: usize,
    sources: usize,
    values: &'a [Complex<f64>],
    batch: usize,
}

impl pulp::NullaryFnOnce for Tile<'_> {
    /// (image, target of the tile)
    type Output = Vec<Complex<f64>>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        let Self { sources, batch, .. } = self;
        let mut sums = vec![Complex::default(); batch * self.count];
        let (mut cosine, mut sine) = ([0.0; TILE], [0.0; TILE]);
        for n in 0..self.count {
            let target = self.start + n;
            for first in (0..sources).step_by(TILE) {
                let end = sources.min(first + TILE);
                let length = end - first;
                let mut phase = [0.0; TILE];
                for (from, to) in self.from.iter().zip(self.to) {
                    let to = to[target];
                    for (phase, from) in phase.iter_mut().zip(&from[first..end]) {
                        *phase += reduced(from * to);
                    }
                }
                for ((phase, cosine), sine) in phase.iter().zip(&mut cosine).zip(&mut sine) {
                    (*cosine, *sine) = cos_sin(reduced(*phase));
                }
                for image in 0..batch {
                    let values = &self.values[image * sources..][first..end];
                    sums[image * self.count + n] +=
                        product(values, &cosine[..length], &sine[..length]);
                }
            }
        }
        sums
    }
}

/// Σ (c + i s) d, in an order that depends on the length alone.
#[inline(always)]
fn product(values: &[Complex<f64>], cosine: &[f64], sine: &[f64]) -> Complex<f64> {
    let mut sums = [[0.0; LANES]; 2];
    let (steps, rest) = values.as_chunks::<LANES>();
    let (cosines, cosine_rest) = cosine.as_chunks::<LANES>();
    let (sines, sine_rest) = sine.as_chunks::<LANES>();
    for ((d, c), s) in steps.iter().zip(cosines).zip(sines) {
        for i in 0..LANES {
            sums[0][i] += c[i] * d[i].re - s[i] * d[i].im;
            sums[1][i] += c[i] * d[i].im + s[i] * d[i].re;
        }
    }
    let mut sum = Complex::new(sums[0].iter().sum(), sums[1].iter().sum());
    for ((d, c), s) in rest.iter().zip(cosine_rest).zip(sine_rest) {
        sum += Complex::new(*c, *s) * d;
    }
    sum
}
