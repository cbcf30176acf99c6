//! The calibration region: the centre of every coil's k-space on the Cartesian grid of the image.

use super::super::cpu::{ConjugateGradients, Gram, Nufft, Sense, Toeplitz};
use super::super::plans::PlanKey;
use super::super::{Encoding, Grid, MriError, Plans};
use ndarray::{Array2, ArrayView2, Axis};
use num_complex::Complex;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Largest number of cells along each axis of the region, in a plane and in a volume.
const WIDTH: [usize; 2] = [24, 12];
/// Smallest number of cells, unless the image is smaller.
const MIN_WIDTH: usize = 8;
/// Share of the region's cells that must hold a sample.
const MIN_COVERAGE: f64 = 0.9;
/// Iterations of the least-squares fit, at most, and the |r|²/|b|² at which it stops: more would
/// fit noise, and maps need no more digits.
const ITERATIONS: usize = 20;
const RESIDUAL: f64 = 1e-7;
/// Tolerance of the NUFFT.
const TOLERANCE: f64 = 1e-6;

/// The calibration region of a trajectory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibrationRegion {
    /// Cells along slices, rows and columns; a cell is 1/N cycles/pixel, with N the voxels.
    pub shape: [usize; 3],
    /// Share of the cells that hold a sample.
    pub coverage: f64,
}

impl CalibrationRegion {
    /// The largest region of which nine tenths hold samples, up to 24 cells wide in a plane and 12
    /// in a volume; if there is none, the smallest.
    #[must_use]
    pub fn new(grid: Grid, trajectory: ArrayView2<'_, f64>) -> Self {
        let largest = WIDTH[grid.axes - 2];
        let outer = shape(grid, largest);
        let visited = visited(grid, trajectory, outer);
        let region = |width: usize| {
            let shape = shape(grid, width);
            let coverage = share(&visited, outer, shape);
            Self { shape, coverage }
        };
        (MIN_WIDTH..=largest)
            .rev()
            .step_by(2)
            .map(region)
            .find(|region| region.coverage >= MIN_COVERAGE)
            .unwrap_or_else(|| region(MIN_WIDTH))
    }

    /// Whether enough cells hold samples for accurate maps.
    #[must_use]
    pub fn sufficient(&self) -> bool {
        self.coverage >= MIN_COVERAGE
    }

    /// Number of cells.
    pub(super) fn cells(&self) -> usize {
        self.shape.iter().product()
    }
}

/// At most `width` cells along each encoded axis of `grid`.
fn shape(grid: Grid, width: usize) -> [usize; 3] {
    grid.shape.map(|side| side.min(width))
}

/// The cells of the region `outer` (slice, row, column) that hold a sample.
fn visited(grid: Grid, trajectory: ArrayView2<'_, f64>, outer: [usize; 3]) -> Vec<bool> {
    let mut visited = vec![false; outer.iter().product()];
    let (sides, widths) = (grid.along_k(), [outer[2], outer[1], outer[0]]);
    'samples: for position in trajectory.rows() {
        let (mut cell, mut stride) = (0, 1);
        for ((k, side), width) in position.iter().zip(sides).zip(widths) {
            let side = side as f64;
            // k = 1/2 is equivalent to −1/2.
            let mut at = (k * side).round();
            if at >= (side / 2.0).ceil() {
                at -= side;
            }
            let at = at + (width / 2) as f64;
            if !(0.0..width as f64).contains(&at) {
                continue 'samples;
            }
            cell += stride * at as usize;
            stride *= width;
        }
        visited[cell] = true;
    }
    visited
}

/// The share of `visited` (of the region `outer`) within the region `inner` of the same centre.
fn share(visited: &[bool], outer: [usize; 3], inner: [usize; 3]) -> f64 {
    let within = |at: usize, axis: usize| {
        let first = outer[axis] / 2 - inner[axis] / 2;
        (first..first + inner[axis]).contains(&at)
    };
    let [_, rows, columns] = outer;
    let count = visited
        .iter()
        .enumerate()
        .filter(|(cell, visited)| {
            let index = [cell / columns / rows, cell / columns % rows, cell % columns];
            **visited && (0..3).all(|axis| within(index[axis], axis))
        })
        .count();
    count as f64 / inner.iter().product::<usize>() as f64
}

/// k-space of every coil in the region, (coil, cell), by least squares from the samples around it;
/// `None` if there are no samples there.
///
/// The unknowns are images of the field of view at low resolution, one and a half times as wide in
/// k-space as the region, so that errors at their edge do not reach it.
pub(super) fn fit(
    grid: Grid,
    region: CalibrationRegion,
    trajectory: ArrayView2<'_, f64>,
    samples: ArrayView2<'_, Complex<f64>>,
    plans: &mut Plans,
) -> Result<Option<Array2<Complex<f64>>>, MriError> {
    let mut coarse = grid;
    for (axis, side) in coarse.shape.iter_mut().enumerate() {
        *side = (*side).min(region.shape[axis] + region.shape[axis] / 2);
    }
    let zoom: Vec<f64> = (grid.along_k().iter().zip(coarse.along_k()))
        .take(grid.axes)
        .map(|(fine, coarse)| *fine as f64 / coarse as f64)
        .collect();
    let inside: Vec<usize> = (0..trajectory.nrows())
        .filter(|sample| {
            let row = trajectory.row(*sample);
            row.iter()
                .zip(&zoom)
                .all(|(k, zoom)| (k * zoom).abs() <= 0.5)
        })
        .collect();
    if inside.is_empty() {
        return Ok(None);
    }
    let values = samples.select(Axis(1), &inside);
    // The region follows from the trajectory.
    let numbers = 4 * coarse.doubled().voxels() + 8 * inside.len();
    let bytes = numbers * size_of::<Complex<f64>>();
    let key = PlanKey::new("calibration");
    let (encoding, toeplitz) = plans.find((grid, trajectory), key, bytes, || {
        let positions = Array2::from_shape_fn((inside.len(), grid.axes), |(sample, axis)| {
            trajectory[[inside[sample], axis]] * zoom[axis]
        });
        let encoding = Nufft::<f64>::new(coarse, positions.view(), TOLERANCE)?;
        let doubled = Nufft::<f64>::new(coarse.doubled(), positions.view(), TOLERANCE)?;
        let toeplitz = Toeplitz::<f64>::new(coarse, &doubled, None)?;
        Ok::<_, MriError>((Arc::new(encoding), Arc::new(toeplitz)))
    })?;
    let mut right = vec![Complex::default(); samples.nrows() * coarse.voxels()];
    encoding.adjoint(&values.into_iter().collect::<Vec<_>>(), &mut right);
    let mut sense = Sense::new(Gram::Toeplitz(toeplitz), None);
    let mut gradients = ConjugateGradients::new(right, 0.0);
    for _ in 0..ITERATIONS {
        if gradients.step(&mut sense) < RESIDUAL {
            break;
        }
    }
    let mut cells = Array2::zeros((samples.nrows(), region.cells()));
    for (image, mut cells) in
        (gradients.image().chunks_exact(coarse.voxels())).zip(cells.rows_mut())
    {
        let centre = centre_of_transform(image.to_vec(), coarse.shape, region.shape);
        cells
            .iter_mut()
            .zip(centre)
            .for_each(|(to, from)| *to = from);
    }
    Ok(Some(cells))
}

/// The Fourier transform of `image` (slice, row, column), with its origin in the middle, at the
/// `width` frequencies in the centre of each axis.
fn centre_of_transform(
    mut image: Vec<Complex<f64>>,
    mut shape: [usize; 3],
    width: [usize; 3],
) -> Vec<Complex<f64>> {
    for axis in 0..3 {
        let (from, to) = (shape[axis], width[axis]);
        let inner: usize = shape[axis + 1..].iter().product();
        let wave = |frequency: usize, position: usize| {
            let frequency = frequency as f64 - (to / 2) as f64;
            let position = position as f64 - (from / 2) as f64;
            Complex::cis(-TAU * frequency * position / from as f64)
        };
        let waves: Vec<_> = (0..to * from).map(|n| wave(n / from, n % from)).collect();
        let outer = image.len() / (from * inner);
        let mut next = vec![Complex::default(); outer * to * inner];
        for (source, target) in
            (image.chunks_exact(from * inner)).zip(next.chunks_exact_mut(to * inner))
        {
            for (waves, target) in waves.chunks_exact(from).zip(target.chunks_exact_mut(inner)) {
                for (wave, source) in waves.iter().zip(source.chunks_exact(inner)) {
                    target
                        .iter_mut()
                        .zip(source)
                        .for_each(|(t, s)| *t += wave * s);
                }
            }
        }
        image = next;
        shape[axis] = to;
    }
    image
}

#[cfg(test)]
mod tests {
    use super::super::super::cpu::Direct;
    use super::*;

    fn lines(side: usize, keep: impl Fn(i32) -> bool) -> Array2<f64> {
        let half = side as i32 / 2;
        let k: Vec<[f64; 2]> = (-half..half)
            .filter(|line| keep(*line))
            .flat_map(|line| (-half..half).map(move |x| [f64::from(x), f64::from(line)]))
            .map(|k| k.map(|k| k / side as f64))
            .collect();
        Array2::from(k)
    }

    fn spokes(side: usize, count: usize) -> Array2<f64> {
        Array2::from_shape_fn((count * 2 * side, 2), |(sample, axis)| {
            let angle = (sample / (2 * side)) as f64 * std::f64::consts::PI / count as f64;
            let k = (sample % (2 * side)) as f64 / (2 * side) as f64 - 0.5;
            k * [angle.cos(), angle.sin()][axis]
        })
    }

    #[test]
    fn the_region_is_as_large_as_the_samples_allow() {
        let grid = Grid::two(64, 64);
        let width = |trajectory: &Array2<f64>| {
            let region = CalibrationRegion::new(grid, trajectory.view());
            (region.shape, region.sufficient())
        };
        assert_eq!(width(&lines(64, |_| true)), ([1, 24, 24], true));
        let centre = |line: i32| line % 2 == 0 || (-8..8).contains(&line);
        let (shape, sufficient) = width(&lines(64, centre));
        assert!(sufficient && (16..=20).contains(&shape[1]), "{shape:?}");
        // Half of the cells, whatever the width.
        assert_eq!(width(&lines(64, |line| line % 2 == 0)), ([1, 8, 8], false));
        let few = width(&spokes(64, 20)).0[1];
        assert!((10..24).contains(&few), "{few}");
        assert_eq!(width(&spokes(64, 101)), ([1, 24, 24], true));
        // k = 1/2 is the same cell as k = −1/2.
        let small = CalibrationRegion::new(Grid::two(8, 8), lines(8, |_| true).mapv(|k| -k).view());
        assert_eq!((small.shape, small.coverage), ([1, 8, 8], 1.0));
    }

    /// The k-space of an image at the cells, from samples that lie between them.
    #[test]
    fn cells_are_fitted_between_the_samples() {
        let grid = Grid::two(48, 40);
        let [_, rows, columns] = grid.shape;
        let image: Vec<Complex<f64>> = (0..grid.voxels())
            .map(|n| {
                let at = |n: usize, side: usize| n as f64 / side as f64 - 0.5;
                let (x, y) = (at(n % columns, columns), at(n / columns, rows));
                let inside = (x * x + y * y).sqrt() < 0.35;
                Complex::from_polar(if inside { 1.0 + x } else { 0.0 }, 3.0 * y)
            })
            .collect();
        let samples = |trajectory: &Array2<f64>| {
            let direct = Direct::<f64>::new(grid, trajectory.view(), None).unwrap();
            let mut samples = Array2::zeros((1, trajectory.nrows()));
            direct.forward(&image, samples.as_slice_mut().unwrap());
            samples
        };
        let region = CalibrationRegion {
            shape: [1, 16, 14],
            coverage: 1.0,
        };
        let trajectory = spokes(48, 80);
        let measured = samples(&trajectory);
        let mut plans = Plans::default();
        let found = fit(grid, region, trajectory.view(), measured.view(), &mut plans);
        let found = found.unwrap().unwrap();
        let cells = Array2::from_shape_fn((region.cells(), 2), |(cell, axis)| {
            let (at, side) = [(cell % 14, columns), (cell / 14, rows)][axis];
            (at as f64 - [7.0, 8.0][axis]) / side as f64
        });
        let expected = samples(&cells);
        let norm = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>().sqrt();
        let difference = norm(&mut found.iter().zip(&expected).map(|(a, b)| (a - b).norm_sqr()));
        let error = difference / norm(&mut expected.iter().map(|v| v.norm_sqr()));
        // The edge of the object has frequencies beyond those that are fitted.
        assert!(error < 6e-3, "{error}");
        let outside = Array2::from_elem((3, 2), 0.49);
        let measured = samples(&outside);
        let far = fit(grid, region, outside.view(), measured.view(), &mut plans).unwrap();
        assert!(far.is_none());
    }
}
