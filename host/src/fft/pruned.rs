//! Transforms between the middle frequencies of up to three axes and a finer grid of cells.

use super::Real;
use num_complex::Complex;
use rayon::prelude::*;
use rustfft::{Fft, FftPlanner};
use std::ops::Range;
use std::sync::Arc;

/// Columns that a pass across rows does at a time: whole cache lines of every row.
const COLUMNS: usize = 32;
/// Rows that a task does at a time.
const ROWS: usize = 16;
/// Square that is transposed at a time.
const SQUARE: usize = 8;

/// The sign of the exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// exp(−2πi …).
    Minus,
    /// exp(+2πi …).
    Plus,
}

/// One axis: `modes` frequencies −⌊N/2⌋ … of the `cells` n ≥ N that a transform along it has.
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

    /// The cells of the modes below zero and of the others, each with its modes.
    fn kept(&self) -> [(Range<usize>, Range<usize>); 2] {
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

/// Bare transforms (no factor) between modes, (z, y, x), and the cells of a finer grid, (z, y, x), cell
/// i of n at i/n of a turn and mode k = −⌊N/2⌋ … . Lines of which no mode is kept or given are
/// not transformed. Each axis' modes are multiplied with weights on the way.
pub struct PrunedFft<T: Real> {
    axes: [Axis<T>; 3],
}

/// Which way a pass goes.
#[derive(Clone, Copy)]
enum Way {
    ToModes,
    ToCells,
}

impl<T: Real> PrunedFft<T> {
    /// `modes` and `cells` along x, y, z, no more modes than cells, each at least 1.
    #[must_use]
    pub fn new(modes: [usize; 3], cells: [usize; 3]) -> Self {
        let mut planner = FftPlanner::new();
        Self {
            axes: std::array::from_fn(|a| Axis::new(&mut planner, modes[a], cells[a])),
        }
    }

    /// Cells of the grid.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.axes.iter().map(|a| a.cells).product()
    }

    /// Planes that are worth a task each; fewer are shared row by row.
    fn by_planes(&self) -> bool {
        self.axes[2].cells >= 4 * rayon::current_num_threads()
    }

    /// `modes[k] = Π weights · Σ_i grid[i] exp(±2πi Σ k i/n)`. The grid is destroyed.
    pub fn to_modes(
        &self,
        sign: Sign,
        grid: &mut [Complex<T>],
        weights: [&[T]; 3],
        modes: &mut [Complex<T>],
    ) {
        let [x, y, z] = &self.axes;
        let (plane, kept) = (x.cells * y.cells, x.modes * y.modes);
        if z.cells == 1 {
            let scale = weights[2][0];
            self.plane_to_modes(sign, grid, weights, modes, usize::from(!self.by_planes()));
            if scale != T::one() {
                modes.iter_mut().for_each(|v| *v = v.scale(scale));
            }
            return;
        }
        let mut planes = vec![Complex::default(); z.cells * kept];
        let shared = usize::from(!self.by_planes());
        planes
            .par_chunks_mut(kept)
            .zip(grid.par_chunks_mut(plane))
            .for_each(|(out, plane)| self.plane_to_modes(sign, plane, weights, out, shared));
        across_rows(z, sign, Way::ToModes, &planes, kept, weights[2], modes, 1);
    }

    /// `grid[i] = Σ_k Π weights · modes[k] exp(±2πi Σ k i/n)`.
    pub fn to_cells(
        &self,
        sign: Sign,
        modes: &[Complex<T>],
        weights: [&[T]; 3],
        grid: &mut [Complex<T>],
    ) {
        let [x, y, z] = &self.axes;
        let (plane, given) = (x.cells * y.cells, x.modes * y.modes);
        let shared = usize::from(!self.by_planes());
        if z.cells == 1 && weights[2][0] == T::one() {
            self.plane_to_cells(sign, modes, weights, grid, shared);
            return;
        }
        let mut planes = vec![Complex::default(); z.cells * given];
        across_rows(
            z,
            sign,
            Way::ToCells,
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

    /// Along x, then y. `shared` 1: by tasks, 0: by this one.
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
            .with_min_len(least(shared))
            .for_each_init(
                || x.scratch(sign),
                |scratch, (rows, cells)| {
                    x.plan(sign).process_with_scratch(cells, scratch);
                    let cells = cells.chunks_exact(x.cells);
                    for (row, cells) in rows.chunks_exact_mut(x.modes).zip(cells) {
                        for (modes, of) in x.kept() {
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
            Way::ToModes,
            &rows,
            x.modes,
            weights[1],
            out,
            shared,
        );
    }

    /// Along y, then x.
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
            Way::ToCells,
            modes,
            x.modes,
            weights[1],
            &mut rows,
            shared,
        );
        rows.par_chunks(ROWS * x.modes)
            .zip(plane.par_chunks_mut(ROWS * x.cells))
            .with_min_len(least(shared))
            .for_each_init(
                || x.scratch(sign),
                |scratch, (rows, cells)| {
                    let each = cells.chunks_exact_mut(x.cells);
                    for (row, cells) in rows.chunks_exact(x.modes).zip(each) {
                        cells[x.modes - x.modes / 2..x.cells - x.modes / 2]
                            .fill(Complex::default());
                        for (modes, of) in x.kept() {
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

/// The least length of a rayon job: 1, or all.
fn least(shared: usize) -> usize {
    if shared == 1 { 1 } else { usize::MAX }
}

/// Transforms along `axis` the columns of `input`, rows of `pitch`, into the rows of `out`.
#[allow(clippy::too_many_arguments)]
fn across_rows<T: Real>(
    axis: &Axis<T>,
    sign: Sign,
    way: Way,
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
        .with_min_len(least(shared))
        .for_each_init(
            || {
                let lines = vec![Complex::default(); COLUMNS * axis.cells];
                (lines, axis.scratch(sign))
            },
            |(lines, scratch), (first, mut rows)| {
                let columns = rows[0].len();
                let lines = &mut lines[..columns * axis.cells];
                let input = |row: usize| &input[row * pitch + first..][..columns];
                match way {
                    Way::ToModes => {
                        gather(lines, axis.cells, 0..axis.cells, 0, &input);
                        axis.plan(sign).process_with_scratch(lines, scratch);
                        for (mode, row) in rows.iter_mut().enumerate() {
                            let (cell, weight) = (axis.cell(mode), weights[mode]);
                            for (v, line) in row.iter_mut().zip(lines.chunks_exact(axis.cells)) {
                                *v = line[cell].scale(weight);
                            }
                        }
                    }
                    Way::ToCells => {
                        lines.fill(Complex::default());
                        for (modes, cells) in axis.kept() {
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

/// Rows `from` of `input` become columns `to …` of the lines.
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

    /// Both ways against the sum over modes and cells.
    #[test]
    fn is_the_sum_over_the_kept_modes() {
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
            let (kept, all) = (modes.iter().product(), cells.iter().product());
            for (sign, factor) in [(Sign::Minus, -1.0), (Sign::Plus, 1.0)] {
                let original = data(all);
                let mut out = vec![Complex::default(); kept];
                fft.to_modes(sign, &mut original.clone(), weights, &mut out);
                let scale = original.iter().map(|v| v.norm()).sum::<f64>() * 100.0;
                for (k, v) in out.iter().enumerate() {
                    let sum: Complex<f64> =
                        (0..all).map(|i| original[i] * kernel(factor, k, i)).sum();
                    assert!((v - sum).norm() < 1e-13 * scale, "{modes:?}");
                }
                let original = data(kept);
                let mut out = vec![Complex::new(f64::NAN, 0.0); all];
                fft.to_cells(sign, &original, weights, &mut out);
                for (i, v) in out.iter().enumerate() {
                    let sum: Complex<f64> =
                        (0..kept).map(|k| original[k] * kernel(factor, k, i)).sum();
                    assert!((v - sum).norm() < 1e-13 * scale, "{modes:?}");
                }
            }
        }
    }
}
