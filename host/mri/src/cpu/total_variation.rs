//! Total variation of complex images, and its proximal step.

use super::vectors::CHUNK;
use crate::Grid;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Dual steps in one proximal step. They start from the result of the previous proximal step, so
/// that they converge along with the image.
pub(crate) const INNER_STEPS: usize = 10;

/// The dual variables of one image.
///
/// TV(x) = Σ_n √(Σ_a |x_{n+e_a} − x_n|²), with differences across the end of an axis equal to 0.
/// Its proximal step, the x that minimises ½|x − z|² + μ TV(x), is x = z − μ Dᴴp with the p, |p_n|
/// ≤ 1, found by fast gradient projection (A. Beck, M. Teboulle, IEEE Trans. Image Process. 18
/// (2009) 2419):
///
/// 1. u = z − μ Dᴴr;
/// 2. p' = P(r + D u/(4 A μ)), with A the number of axes and P the division by max(1, |p_n|) over
///    the axes of a voxel;
/// 3. t' = (1 + √(1 + 4t²))/2, r = p' + ((t − 1)/t')(p' − p), t = 1 at first.
pub struct TotalVariation<T> {
    grid: Grid,
    /// p and r, (voxel, axis): column, row, slice
    dual: Vec<Complex<T>>,
    ahead: Vec<Complex<T>>,
    /// u
    work: Vec<Complex<T>>,
}

/// Size of each axis, and distance in memory from a voxel to its neighbour along it.
fn axes(grid: Grid) -> ([usize; 3], [usize; 3]) {
    let [slices, rows, columns] = grid.shape;
    ([columns, rows, slices], [1, columns, columns * rows])
}

impl<T: Real> TotalVariation<T> {
    /// Dual variables with p = 0.
    #[must_use]
    pub fn new(grid: Grid) -> Self {
        let dual = vec![Complex::default(); grid.voxels() * grid.axes];
        Self {
            grid,
            ahead: dual.clone(),
            dual,
            work: vec![Complex::default(); grid.voxels()],
        }
    }

    /// Replaces `image` z by the x that minimises ½|x − z|² + `weight` TV(x), to the accuracy of
    /// ten steps.
    pub fn proximal(&mut self, image: &mut [Complex<T>], weight: f64) {
        if weight <= 0.0 {
            return;
        }
        let step = T::of(1.0 / (4.0 * self.grid.axes as f64 * weight));
        let weight = T::of(weight);
        self.ahead.copy_from_slice(&self.dual);
        let mut t = 1.0_f64;
        for _ in 0..INNER_STEPS {
            primal(self.grid, image, &self.ahead, weight, &mut self.work);
            let next = f64::midpoint(1.0, (1.0 + 4.0 * t * t).sqrt());
            self.dual_step(step, T::of((t - 1.0) / next));
            t = next;
        }
        primal(self.grid, image, &self.dual, weight, &mut self.work);
        image.copy_from_slice(&self.work);
    }

    /// One step of p and r along the gradient of `work`.
    fn dual_step(&mut self, step: T, momentum: T) {
        let (size, stride) = axes(self.grid);
        let count = self.grid.axes;
        let columns = size[0];
        let work = &self.work;
        self.dual
            .par_chunks_mut(columns * count)
            .zip(self.ahead.par_chunks_mut(columns * count))
            .enumerate()
            .with_min_len(CHUNK.div_ceil(columns))
            .for_each(|(row, (dual, ahead))| {
                let inside = [
                    true,
                    (row % size[1]) + 1 < size[1],
                    row / size[1] + 1 < size[2],
                ];
                let each = dual
                    .chunks_exact_mut(count)
                    .zip(ahead.chunks_exact_mut(count));
                for (x, (p, r)) in each.enumerate() {
                    let n = row * columns + x;
                    let mut square = T::zero();
                    for (a, r) in r.iter_mut().enumerate() {
                        if inside[a] && (a > 0 || x + 1 < columns) {
                            *r += (work[n + stride[a]] - work[n]).scale(step);
                        }
                        square += r.norm_sqr();
                    }
                    let scale = T::one() / square.sqrt().max(T::one());
                    for (p, r) in p.iter_mut().zip(r) {
                        let projected = r.scale(scale);
                        *r = projected + (projected - *p).scale(momentum);
                        *p = projected;
                    }
                }
            });
    }
}

/// `out` = z − μ Dᴴp. Across the end of an axis p is 0, like the differences.
fn primal<T: Real>(
    grid: Grid,
    z: &[Complex<T>],
    p: &[Complex<T>],
    weight: T,
    out: &mut [Complex<T>],
) {
    let (size, stride) = axes(grid);
    let count = grid.axes;
    let columns = size[0];
    out.par_chunks_mut(columns)
        .enumerate()
        .with_min_len(CHUNK.div_ceil(columns))
        .for_each(|(row, out)| {
            let inside = [true, row % size[1] > 0, row / size[1] > 0];
            for (x, out) in out.iter_mut().enumerate() {
                let n = row * columns + x;
                let mut sum = Complex::default();
                for (a, p_n) in p[n * count..][..count].iter().enumerate() {
                    if inside[a] && (a > 0 || x > 0) {
                        sum += p[(n - stride[a]) * count + a];
                    }
                    sum -= *p_n;
                }
                *out = z[n] - sum.scale(weight);
            }
        });
}

/// Σ_n √(Σ_a |x_{n+e_a} − x_n|²) of one image.
#[must_use]
pub fn total_variation<T: Real>(grid: Grid, image: &[Complex<T>]) -> f64 {
    let (size, stride) = axes(grid);
    let columns = size[0];
    let of_row = |row: usize| -> f64 {
        let index = [0, row % size[1], row / size[1]];
        let of_voxel = |x: usize| {
            let n = row * columns + x;
            let square = |a: usize| {
                let at = if a == 0 { x } else { index[a] };
                if at + 1 == size[a] {
                    return 0.0;
                }
                let d = image[n + stride[a]] - image[n];
                d.re.wide().powi(2) + d.im.wide().powi(2)
            };
            (0..grid.axes).map(square).sum::<f64>().sqrt()
        };
        (0..columns).map(of_voxel).sum()
    };
    let rows: Vec<f64> = (0..size[1] * size[2]).into_par_iter().map(of_row).collect();
    rows.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(grid: Grid) -> Vec<Complex<f64>> {
        let value = |n: usize| {
            let n = n as f64;
            Complex::new((0.7 * n * n).sin(), (1.3 * n).cos())
        };
        (0..grid.voxels()).map(value).collect()
    }

    #[test]
    fn a_box_has_its_surface_times_the_step() {
        // A box of 5 × 4 in the middle: every cell of its edge counts once, except the corner whose
        // two differences share a voxel, which counts √2 instead of 2.
        let grid = Grid::two(20, 20);
        let step = Complex::new(3.0, 4.0);
        let mut x = vec![Complex::new(1.0, -1.0); 400];
        for row in 7..12 {
            for column in 3..7 {
                x[row * 20 + column] += step;
            }
        }
        let edges = 2.0 * (5.0 + 4.0) - 2.0 + 2.0_f64.sqrt();
        assert!((total_variation(grid, &x) - 5.0 * edges).abs() < 1e-12);
        // At the border of the image there is no edge.
        let mut x = vec![Complex::default(); 4 * 5 * 6];
        x[..2 * 30].fill(step);
        let grid = Grid::three(4, 5, 6);
        assert!((total_variation(grid, &x) - 5.0 * 30.0).abs() < 1e-12);
    }

    #[test]
    fn a_proximal_step_satisfies_the_optimality_conditions() {
        // x = z − μ Dᴴp with |p| ≤ 1 holds by construction; the rest is ⟨p, Dx⟩ = TV(x).
        for grid in [Grid::two(9, 7), Grid::three(4, 5, 6), Grid::three(1, 3, 1)] {
            let z = image(grid);
            let weight = 0.3;
            let mut tv = TotalVariation::new(grid);
            let mut x = z.clone();
            // Warm starts, repeated until converged.
            for _ in 0..200 {
                x.copy_from_slice(&z);
                tv.proximal(&mut x, weight);
            }
            for p in tv.dual.chunks(grid.axes) {
                let square: f64 = p.iter().map(Complex::norm_sqr).sum();
                assert!(square <= 1.0 + 1e-12);
            }
            // ⟨z − x, x⟩ = μ⟨Dᴴp, x⟩ = μ⟨p, Dx⟩
            let product: f64 = z.iter().zip(&x).map(|(z, x)| ((z - x).conj() * x).re).sum();
            let expected = weight * total_variation(grid, &x);
            assert!(
                (product - expected).abs() < 1e-6 * expected.max(1e-3),
                "{grid:?}"
            );
        }
    }

    #[test]
    fn a_large_weight_leaves_the_mean_and_zero_the_image() {
        let grid = Grid::two(6, 8);
        let z = image(grid);
        let mean = z.iter().sum::<Complex<f64>>() / 48.0;
        let mut tv = TotalVariation::new(grid);
        let mut x = z.clone();
        tv.proximal(&mut x, 0.0);
        assert_eq!(x, z);
        for _ in 0..300 {
            x.copy_from_slice(&z);
            tv.proximal(&mut x, 100.0);
        }
        assert!(x.iter().all(|v| (v - mean).norm() < 1e-6));
    }
}
