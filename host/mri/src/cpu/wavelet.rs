//! Orthonormal wavelets of complex images, and soft thresholding of their coefficients.

use crate::Grid;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Largest number of halvings of an axis.
const MAX_LEVELS: usize = 4;

/// The low-pass taps of Daubechies' wavelet with two vanishing moments, times 4√2: 1 + √3, 3 + √3,
/// 3 − √3, 1 − √3 (I. Daubechies, Commun. Pure Appl. Math. 41 (1988) 909). The high-pass taps are
/// these in reverse order with alternating signs.
fn taps() -> [[f64; 4]; 2] {
    let root = 3.0_f64.sqrt();
    let low = [1.0 + root, 3.0 + root, 3.0 - root, 1.0 - root].map(|h| h / 32.0_f64.sqrt());
    [low, [low[3], -low[2], low[1], -low[0]]]
}

/// One level: the corner of the image that it transforms, and along which axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    /// slices, rows, columns
    pub(crate) corner: [usize; 3],
    pub(crate) halved: [bool; 3],
}

/// The levels that the sizes of `grid` allow.
pub(crate) fn levels(grid: Grid) -> Vec<Level> {
    let mut corner = grid.shape;
    let mut levels = Vec::new();
    while levels.len() < MAX_LEVELS {
        let halved = corner.map(|n| n >= 4 && n % 2 == 0);
        if halved == [false; 3] {
            break;
        }
        levels.push(Level { corner, halved });
        for (n, halved) in corner.iter_mut().zip(halved) {
            *n /= 1 + usize::from(halved);
        }
    }
    levels
}

/// The corner that holds the coarsest approximation.
pub(crate) fn coarsest(grid: Grid, levels: &[Level]) -> [usize; 3] {
    levels.last().map_or(grid.shape, |level| {
        std::array::from_fn(|a| level.corner[a] / (1 + usize::from(level.halved[a])))
    })
}

/// The wavelet transform of images on a grid: periodic, separable, with as many levels as halving
/// the sizes allows (at most four). An axis is no longer transformed once its size is odd or below
/// 4.
///
/// Along an axis of n, a_i = Σ_k h_k x_{(2i+k) mod n} and d_i = Σ_k g_k x_{(2i+k) mod n}; a fills
/// the first half, d the second. A level transforms columns, rows and slices, the next one the
/// corner of all first halves.
pub struct Wavelet<T> {
    grid: Grid,
    levels: Vec<Level>,
    taps: [[T; 4]; 2],
    work: Vec<Complex<T>>,
}

impl<T: Real> Wavelet<T> {
    /// For images on `grid`.
    #[must_use]
    pub fn new(grid: Grid) -> Self {
        Self {
            grid,
            levels: levels(grid),
            taps: taps().map(|taps| taps.map(T::of)),
            work: vec![Complex::default(); grid.voxels()],
        }
    }

    /// Replaces `image` by its coefficients.
    pub fn forward(&mut self, image: &mut [Complex<T>]) {
        for level in self.levels.clone() {
            for axis in [2, 1, 0] {
                if level.halved[axis] {
                    self.pass(image, level.corner, |row, from, to, taps| {
                        row.analyse(axis, from, to, taps);
                    });
                }
            }
        }
    }

    /// Replaces coefficients by their image.
    pub fn inverse(&mut self, image: &mut [Complex<T>]) {
        for level in self.levels.clone().iter().rev() {
            for axis in [0, 1, 2] {
                if level.halved[axis] {
                    self.pass(image, level.corner, |row, from, to, taps| {
                        row.synthesise(axis, from, to, taps);
                    });
                }
            }
        }
    }

    /// Replaces the `image` z by the x that minimises ½|x − z|² + `threshold` Σ|detail coefficients
    /// of x|: c ← c max(0, 1 − threshold/|c|). The coarsest approximation is unchanged.
    pub fn proximal(&mut self, image: &mut [Complex<T>], threshold: f64) {
        self.forward(image);
        let threshold = T::of(threshold);
        self.for_details(image, |c| {
            let modulus = c.norm();
            *c = if modulus > threshold {
                c.scale(T::one() - threshold / modulus)
            } else {
                Complex::default()
            };
        });
        self.inverse(image);
    }

    /// Σ|detail coefficients| of `image`.
    #[must_use]
    pub fn penalty(&mut self, image: &[Complex<T>]) -> f64 {
        let mut coefficients = image.to_vec();
        self.forward(&mut coefficients);
        let mut all: f64 = coefficients.iter().map(|c| c.norm().wide()).sum();
        self.for_details(&mut coefficients, |c| *c = Complex::default());
        all -= coefficients.iter().map(|c| c.norm().wide()).sum::<f64>();
        all
    }

    fn for_details(&self, coefficients: &mut [Complex<T>], f: impl Fn(&mut Complex<T>) + Sync) {
        let [_, rows, columns] = self.grid.shape;
        let coarsest = coarsest(self.grid, &self.levels);
        coefficients
            .par_chunks_mut(columns)
            .enumerate()
            .for_each(|(row, line)| {
                let coarse = row / rows < coarsest[0] && row % rows < coarsest[1];
                let kept = if coarse { coarsest[2] } else { 0 };
                line[kept..].iter_mut().for_each(&f);
            });
    }

    /// Rewrites every row of `corner` of the image by `f(row, image, new row, taps)`.
    fn pass(
        &mut self,
        image: &mut [Complex<T>],
        corner: [usize; 3],
        f: impl Fn(Row, &[Complex<T>], &mut [Complex<T>], &[[T; 4]; 2]) + Sync,
    ) {
        let [_, rows, columns] = self.grid.shape;
        let inside = |n: usize| n / rows < corner[0] && n % rows < corner[1];
        let from: &[Complex<T>] = image;
        let taps = &self.taps;
        self.work
            .par_chunks_mut(columns)
            .enumerate()
            .filter(|(n, _)| inside(*n))
            .for_each(|(n, to)| {
                let row = Row {
                    index: [n / rows, n % rows],
                    corner,
                    rows,
                    columns,
                };
                f(row, from, &mut to[..corner[2]], taps);
            });
        image
            .par_chunks_mut(columns)
            .zip(self.work.par_chunks(columns))
            .enumerate()
            .filter(|(n, _)| inside(*n))
            .for_each(|(_, (to, from))| to[..corner[2]].copy_from_slice(&from[..corner[2]]));
    }
}

/// The index of an image row that is written.
struct Row {
    /// slice, row
    index: [usize; 2],
    corner: [usize; 3],
    rows: usize,
    columns: usize,
}

impl Row {
    /// The row of `image` at index `at` along `axis` and at this row's indices otherwise.
    fn of<'a, T>(&self, axis: usize, at: usize, image: &'a [Complex<T>]) -> &'a [Complex<T>] {
        let mut index = self.index;
        index[axis] = at;
        let start = (index[0] * self.rows + index[1]) * self.columns;
        &image[start..start + self.corner[2]]
    }

    /// Averages and details along `axis`.
    fn analyse<T: Real>(
        &self,
        axis: usize,
        image: &[Complex<T>],
        to: &mut [Complex<T>],
        taps: &[[T; 4]; 2],
    ) {
        let n = self.corner[axis];
        let half = n / 2;
        if axis == 2 {
            let from = self.of(1, self.index[1], image);
            let (averages, details) = to.split_at_mut(half);
            for (to, taps) in [averages, details].into_iter().zip(taps) {
                for (i, to) in to.iter_mut().enumerate() {
                    let term = |k: usize| from[(2 * i + k) % n].scale(taps[k]);
                    *to = (term(0) + term(1)) + (term(2) + term(3));
                }
            }
            return;
        }
        let i = self.index[axis];
        let taps = &taps[i / half];
        let from: [_; 4] = std::array::from_fn(|k| self.of(axis, (2 * (i % half) + k) % n, image));
        combine(from, *taps, to);
    }

    /// The image along `axis` of averages and details: at 2i + q, q = 0 or 1, it is
    /// h_q a_i + h_{q+2} a_{i−1} + g_q d_i + g_{q+2} d_{i−1}.
    fn synthesise<T: Real>(
        &self,
        axis: usize,
        image: &[Complex<T>],
        to: &mut [Complex<T>],
        taps: &[[T; 4]; 2],
    ) {
        let n = self.corner[axis];
        let half = n / 2;
        let [h, g] = taps;
        let before = |i: usize| (i + half - 1) % half;
        if axis == 2 {
            let from = self.of(1, self.index[1], image);
            for (j, to) in to.iter_mut().enumerate() {
                let (i, q) = (j / 2, j % 2);
                let b = before(i);
                *to = (from[i].scale(h[q]) + from[b].scale(h[q + 2]))
                    + (from[half + i].scale(g[q]) + from[half + b].scale(g[q + 2]));
            }
            return;
        }
        let (i, q) = (self.index[axis] / 2, self.index[axis] % 2);
        let b = before(i);
        let from = [i, b, half + i, half + b].map(|at| self.of(axis, at, image));
        combine(from, [h[q], h[q + 2], g[q], g[q + 2]], to);
    }
}

/// `to` = Σ_k factors_k from_k.
fn combine<T: Real>(from: [&[Complex<T>]; 4], factors: [T; 4], to: &mut [Complex<T>]) {
    for (x, to) in to.iter_mut().enumerate() {
        let term = |k: usize| from[k][x].scale(factors[k]);
        *to = (term(0) + term(1)) + (term(2) + term(3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::norm_squared;

    fn image(grid: Grid) -> Vec<Complex<f64>> {
        let value = |n: usize| {
            let n = n as f64;
            Complex::new((0.7 * n * n).sin(), (1.3 * n).cos())
        };
        (0..grid.voxels()).map(value).collect()
    }

    fn grids() -> [Grid; 6] {
        [
            Grid::two(32, 48),
            Grid::two(12, 7),
            Grid::two(4, 6),
            Grid::two(1, 2),
            Grid::three(8, 20, 6),
            Grid::three(5, 16, 2),
        ]
    }

    #[test]
    fn the_transform_preserves_the_norm_and_is_invertible() {
        for grid in grids() {
            let original = image(grid);
            let mut wavelet = Wavelet::new(grid);
            let mut values = original.clone();
            wavelet.forward(&mut values);
            let (before, after) = (norm_squared(&original), norm_squared(&values));
            assert!((after / before - 1.0).abs() < 1e-13, "{grid:?}");
            wavelet.inverse(&mut values);
            for (a, b) in values.iter().zip(&original) {
                assert!((a - b).norm() < 1e-13, "{grid:?}");
            }
        }
    }

    #[test]
    fn the_sizes_determine_the_levels() {
        let coarsest = |grid| coarsest(grid, &levels(grid));
        assert_eq!(coarsest(Grid::two(256, 256)), [1, 16, 16]);
        assert_eq!(coarsest(Grid::two(12, 7)), [1, 3, 7]);
        assert_eq!(coarsest(Grid::three(5, 20, 4)), [5, 5, 2]);
        assert_eq!(coarsest(Grid::two(1, 2)), [1, 1, 2]);
    }

    #[test]
    fn a_constant_has_no_details_and_a_ramp_only_at_the_wrap() {
        // Two vanishing moments.
        let grid = Grid::two(16, 16);
        let mut wavelet = Wavelet::new(grid);
        let constant = vec![Complex::new(2.0, -1.0); 256];
        assert!(wavelet.penalty(&constant) < 1e-12);
        let mut ramp: Vec<_> = (0..256).map(|n| Complex::from((n % 16) as f64)).collect();
        wavelet.levels.truncate(1);
        wavelet.forward(&mut ramp);
        for row in ramp.chunks(16).take(8) {
            assert!(row[8..15].iter().all(|d| d.norm() < 1e-12));
            assert!(row[15].norm() > 1.0);
        }
    }

    #[test]
    fn a_proximal_step_satisfies_the_optimality_conditions() {
        // z − x is τ times a subgradient: of modulus τ and parallel to x where x has a coefficient,
        // of modulus at most τ where it has none, and 0 in the coarsest approximation.
        for grid in grids() {
            let tau = 0.4;
            let z = image(grid);
            let mut x = z.clone();
            let mut wavelet = Wavelet::new(grid);
            wavelet.proximal(&mut x, tau);
            let mut difference: Vec<_> = z.iter().zip(&x).map(|(z, x)| z - x).collect();
            wavelet.forward(&mut difference);
            wavelet.forward(&mut x);
            let [z0, y0, x0] = coarsest(grid, &wavelet.levels);
            let [_, rows, columns] = grid.shape;
            for (n, (c, d)) in x.iter().zip(&difference).enumerate() {
                let coarse = n / columns / rows < z0 && n / columns % rows < y0 && n % columns < x0;
                if coarse {
                    assert!(d.norm() < 1e-13);
                } else if c.norm() > 1e-12 {
                    assert!((d - c * (tau / c.norm())).norm() < 1e-11, "{grid:?} {n}");
                } else {
                    assert!(d.norm() < tau + 1e-13);
                }
            }
        }
    }
}
