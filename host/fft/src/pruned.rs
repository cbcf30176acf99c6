//! Pruned transforms between the low frequencies along up to three axes and a finer grid.

use crate::planes::Real;
use crate::{Fft, FftPlanner};
use num_complex::Complex;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Columns that a pass across rows processes at a time: whole cache lines of every row.
const COLUMNS: usize = 32;
/// Rows that a task processes at a time.
const ROWS: usize = 16;
/// Side of the square block that is transposed at a time.
const SQUARE: usize = 8;

/// Sign of the exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// exp(−2πi …).
    Minus,
    /// exp(+2πi …).
    Plus,
}

/// One axis: `modes` N frequencies −⌊N/2⌋ … out of the `cells` n ≥ N of a transform along it.
struct Axis<T: Real> {
    modes: usize,
    cells: usize,
    plans: [Arc<dyn Fft<T>>; 2],
}

impl<T: Real> Axis<T> {
    fn new(planner: &mut FftPlanner<T>, modes: usize, cells: usize) -> Self {
        Self {
            modes,
            cells,
            plans: [
                planner.plan_fft_forward(cells),
                planner.plan_fft_inverse(cells),
            ],
        }
    }

    fn plan(&self, sign: Sign) -> &Arc<dyn Fft<T>> {
        &self.plans[usize::from(sign == Sign::Plus)]
    }

    fn scratch(&self, sign: Sign) -> Vec<Complex<T>> {
        vec![Complex::default(); self.plan(sign).get_inplace_scratch_len()]
    }

    /// Ranges (modes, cells) of the negative frequencies and of the others.
    fn mode_ranges(&self) -> [(Range<usize>, Range<usize>); 2] {
        let below = self.modes / 2;
        [
            (0..below, self.cells - below..self.cells),
            (below..self.modes, 0..self.modes - below),
        ]
    }

    fn cell(&self, mode: usize) -> usize {
        (mode + self.cells - self.modes / 2) % self.cells
    }
}

/// Unnormalised transforms between modes (z, y, x), k = −⌊N/2⌋ …, and the cells (z, y, x) of a
/// finer grid, where cell i of n lies at i/n of a period. Lines without any mode in range are not
/// transformed. The modes along each axis are multiplied by weights.
pub struct PrunedFft<T: Real> {
    axes: [Axis<T>; 3],
}

/// Direction of a pass.
#[derive(Clone, Copy)]
enum PassDirection {
    ToModes,
    ToCells,
}

impl<T: Real> PrunedFft<T> {
    /// Plans transforms with `modes` and `cells` along x, y and z, where 1 ≤ modes ≤ cells.
    #[must_use]
    pub fn new(modes: [usize; 3], cells: [usize; 3]) -> Self {
        let mut planner = FftPlanner::new();
        Self {
            axes: std::array::from_fn(|a| Axis::new(&mut planner, modes[a], cells[a])),
        }
    }

    /// Number of cells of the grid.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.axes.iter().map(|a| a.cells).product()
    }

    /// Whether there are enough planes for one task each; otherwise tasks share the rows of a
    /// plane.
    fn parallel_over_planes(&self) -> bool {
        self.axes[2].cells >= 4 * rayon::current_num_threads()
    }

    /// Computes `modes[k] = Π weights · Σ_i grid[i] exp(±2πi Σ k i/n)`; overwrites the grid.
    pub fn to_modes(
        &self,
        sign: Sign,
        grid: &mut [Complex<T>],
        weights: [&[T]; 3],
        modes: &mut [Complex<T>],
    ) {
        let [x, y, z] = &self.axes;
        let (plane, inside) = (x.cells * y.cells, x.modes * y.modes);
        if z.cells == 1 {
            let scale = weights[2][0];
            self.plane_to_modes(
                sign,
                grid,
                weights,
                modes,
                usize::from(!self.parallel_over_planes()),
            );
            if scale != T::one() {
                modes.iter_mut().for_each(|v| *v = v.scale(scale));
            }
            return;
        }
        let mut planes = vec![Complex::default(); z.cells * inside];
        let shared = usize::from(!self.parallel_over_planes());
        planes
            .par_chunks_mut(inside)
            .zip(grid.par_chunks_mut(plane))
            .for_each(|(out, plane)| self.plane_to_modes(sign, plane, weights, out, shared));
        across_rows(
            z,
            sign,
            PassDirection::ToModes,
            &planes,
            inside,
            weights[2],
            modes,
            1,
        );
    }

    /// Computes `grid[i] = Σ_k Π weights · modes[k] exp(±2πi Σ k i/n)`.
    pub fn to_cells(
        &self,
        sign: Sign,
        modes: &[Complex<T>],
        weights: [&[T]; 3],
        grid: &mut [Complex<T>],
    ) {
        let [x, y, z] = &self.axes;
        let (plane, given) = (x.cells * y.cells, x.modes * y.modes);
        let shared = usize::from(!self.parallel_over_planes());
        if z.cells == 1 && weights[2][0] == T::one() {
            self.plane_to_cells(sign, modes, weights, grid, shared);
            return;
        }
        let mut planes = vec![Complex::default(); z.cells * given];
        across_rows(
            z,
            sign,
            PassDirection::ToCells,
            modes,
            given,
            weights[2],
            &mut planes,
            1,
        );
        planes
            .par_chunks(given)
            .zip(grid.par_chunks_mut(plane))
            .for_each(|(modes, plane)| {
                self.plane_to_cells(sign, modes, weights, plane, shared);
            });
    }

    /// Transforms along x, then y. With `shared` = 1 the rows are distributed over tasks, with 0
    /// the calling task processes all of them.
    fn plane_to_modes(
        &self,
        sign: Sign,
        plane: &mut [Complex<T>],
        weights: [&[T]; 3],
        out: &mut [Complex<T>],
        shared: usize,
    ) {
        let [x, y, _] = &self.axes;
        let mut rows = vec![Complex::default(); y.cells * x.modes];
        rows.par_chunks_mut(ROWS * x.modes)
            .zip(plane.par_chunks_mut(ROWS * x.cells))
            .with_min_len(min_job_length(shared))
            .for_each_init(
                || x.scratch(sign),
                |scratch, (rows, cells)| {
                    x.plan(sign).process_with_scratch(cells, scratch);
                    let cells = cells.chunks_exact(x.cells);
                    for (row, cells) in rows.chunks_exact_mut(x.modes).zip(cells) {
                        for (modes, of) in x.mode_ranges() {
                            let weights = &weights[0][modes.clone()];
                            for ((v, c), w) in row[modes].iter_mut().zip(&cells[of]).zip(weights) {
                                *v = c.scale(*w);
                            }
                        }
                    }
                },
            );
        across_rows(
            y,
            sign,
            PassDirection::ToModes,
            &rows,
            x.modes,
            weights[1],
            out,
            shared,
        );
    }

    /// Transforms along y, then x.
    fn plane_to_cells(
        &self,
        sign: Sign,
        modes: &[Complex<T>],
        weights: [&[T]; 3],
        plane: &mut [Complex<T>],
        shared: usize,
    ) {
        let [x, y, _] = &self.axes;
        let mut rows = vec![Complex::default(); y.cells * x.modes];
        across_rows(
            y,
            sign,
            PassDirection::ToCells,
            modes,
            x.modes,
            weights[1],
            &mut rows,
            shared,
        );
        rows.par_chunks(ROWS * x.modes)
            .zip(plane.par_chunks_mut(ROWS * x.cells))
            .with_min_len(min_job_length(shared))
            .for_each_init(
                || x.scratch(sign),
                |scratch, (rows, cells)| {
                    let each = cells.chunks_exact_mut(x.cells);
                    for (row, cells) in rows.chunks_exact(x.modes).zip(each) {
                        cells[x.modes - x.modes / 2..x.cells - x.modes / 2]
                            .fill(Complex::default());
                        for (modes, of) in x.mode_ranges() {
                            let weights = &weights[0][modes.clone()];
                            for ((c, v), w) in cells[of].iter_mut().zip(&row[modes]).zip(weights) {
                                *c = v.scale(*w);
                            }
                        }
                    }
                    x.plan(sign).process_with_scratch(cells, scratch);
                },
            );
    }
}

/// Minimum length of a rayon job: 1 if shared, otherwise all.
fn min_job_length(shared: usize) -> usize {
    if shared == 1 { 1 } else { usize::MAX }
}

/// Transforms the columns of `input` (rows of length `pitch`) along `axis` into the rows of `out`.
#[allow(
    clippy::too_many_arguments,
    reason = "an axis, the arrays of a pass and how they lie"
)]
fn across_rows<T: Real>(
    axis: &Axis<T>,
    sign: Sign,
    direction: PassDirection,
    input: &[Complex<T>],
    pitch: usize,
    weights: &[T],
    out: &mut [Complex<T>],
    shared: usize,
) {
    let mut blocks: Vec<(usize, Vec<&mut [Complex<T>]>)> = (0..pitch)
        .step_by(COLUMNS)
        .map(|first| (first, Vec::with_capacity(out.len() / pitch)))
        .collect();
    for row in out.chunks_exact_mut(pitch) {
        for (part, (_, rows)) in row.chunks_mut(COLUMNS).zip(&mut blocks) {
            rows.push(part);
        }
    }
    blocks
        .into_par_iter()
        .with_min_len(min_job_length(shared))
        .for_each_init(
            || {
                let lines = vec![Complex::default(); COLUMNS * axis.cells];
                (lines, axis.scratch(sign))
            },
            |(lines, scratch), (first, mut rows)| {
                let columns = rows[0].len();
                let lines = &mut lines[..columns * axis.cells];
                let input = |row: usize| &input[row * pitch + first..][..columns];
                match direction {
                    PassDirection::ToModes => {
                        gather(lines, axis.cells, 0..axis.cells, 0, &input);
                        axis.plan(sign).process_with_scratch(lines, scratch);
                        for (mode, row) in rows.iter_mut().enumerate() {
                            let (cell, weight) = (axis.cell(mode), weights[mode]);
                            for (v, line) in row.iter_mut().zip(lines.chunks_exact(axis.cells)) {
                                *v = line[cell].scale(weight);
                            }
                        }
                    }
                    PassDirection::ToCells => {
                        lines.fill(Complex::default());
                        for (modes, cells) in axis.mode_ranges() {
                            gather(lines, axis.cells, modes.clone(), cells.start, &input);
                            for line in lines.chunks_exact_mut(axis.cells) {
                                let weights = &weights[modes.clone()];
                                for (v, w) in line[cells.clone()].iter_mut().zip(weights) {
                                    *v = v.scale(*w);
                                }
                            }
                        }
                        axis.plan(sign).process_with_scratch(lines, scratch);
                        for (from, rows) in rows.chunks_mut(SQUARE).enumerate() {
                            for (j, line) in lines.chunks_exact(axis.cells).enumerate() {
                                let line = &line[from * SQUARE..][..rows.len()];
                                for (row, v) in rows.iter_mut().zip(line) {
                                    row[j] = *v;
                                }
                            }
                        }
                    }
                }
            },
        );
}

/// Copies rows `from` of `input` to columns `to …` of the lines.
fn gather<'a, T: Real>(
    lines: &mut [Complex<T>],
    length: usize,
    from: Range<usize>,
    to: usize,
    input: &impl Fn(usize) -> &'a [Complex<T>],
) {
    for start in from.clone().step_by(SQUARE) {
        let count = SQUARE.min(from.end - start);
        let rows: [&[Complex<T>]; SQUARE] =
            std::array::from_fn(|i| input(start + i.min(count - 1)));
        for (j, line) in lines.chunks_exact_mut(length).enumerate() {
            let line = &mut line[to + start - from.start..][..count];
            for (v, row) in line.iter_mut().zip(rows) {
                *v = row[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn data(n: usize) -> Vec<Complex<f64>> {
        (0..n)
            .map(|i| Complex::new((i as f64 * 1.7).sin(), (i as f64 * 0.3).cos()))
            .collect()
    }

    fn weights(modes: [usize; 3]) -> [Vec<f64>; 3] {
        std::array::from_fn(|a| {
            (0..modes[a])
                .map(|k| 1.0 + 0.1 * (a + 1) as f64 * k as f64)
                .collect()
        })
    }

    const SHAPES: [([usize; 3], [usize; 3]); 5] = [
        ([5, 4, 1], [9, 8, 1]),
        ([1, 7, 3], [4, 15, 6]),
        ([37, 2, 2], [80, 5, 4]),
        ([3, 3, 9], [3, 4, 40]),
        ([1, 1, 1], [1, 1, 1]),
    ];

    /// Both directions agree with the direct sum over modes and cells.
    #[test]
    fn agrees_with_the_direct_sum() {
        for (modes, cells) in SHAPES {
            let fft = PrunedFft::new(modes, cells);
            let weights = weights(modes);
            let weights = [&weights[0][..], &weights[1][..], &weights[2][..]];
            let kernel = |sign: f64, k: usize, i: usize| {
                let (mut turns, mut weight) = (0.0, 1.0);
                let (mut k, mut i) = (k, i);
                for a in 0..3 {
                    let mode = (k % modes[a]) as f64 - (modes[a] / 2) as f64;
                    weight *= weights[a][k % modes[a]];
                    turns += mode * (i % cells[a]) as f64 / cells[a] as f64;
                    (k, i) = (k / modes[a], i / cells[a]);
                }
                Complex::cis(sign * TAU * turns) * weight
            };
            let (inside, all) = (modes.iter().product(), cells.iter().product());
            for (sign, factor) in [(Sign::Minus, -1.0), (Sign::Plus, 1.0)] {
                let original = data(all);
                let mut out = vec![Complex::default(); inside];
                fft.to_modes(sign, &mut original.clone(), weights, &mut out);
                let scale = original.iter().map(|v| v.norm()).sum::<f64>() * 100.0;
                for (k, v) in out.iter().enumerate() {
                    let sum: Complex<f64> =
                        (0..all).map(|i| original[i] * kernel(factor, k, i)).sum();
                    assert!((v - sum).norm() < 1e-13 * scale, "{modes:?}");
                }
                let original = data(inside);
                let mut out = vec![Complex::new(f64::NAN, 0.0); all];
                fft.to_cells(sign, &original, weights, &mut out);
                for (i, v) in out.iter().enumerate() {
                    let sum: Complex<f64> = (0..inside)
                        .map(|k| original[k] * kernel(factor, k, i))
                        .sum();
                    assert!((v - sum).norm() < 1e-13 * scale, "{modes:?}");
                }
            }
        }
    }
}
