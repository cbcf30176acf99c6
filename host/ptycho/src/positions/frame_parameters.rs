//! Positions and intensity scales of the frames, and the steps that refine them.

use super::affine::{AffineFit, standard_deviation};
use super::refinement::{NormalEquations, Refinement, Trials};
use crate::data::PixelPositions;
use warpstride_kernels::ptycho::trial_positions::{trial_position, trial_shift};

/// Part of the mean of JᵀJ's diagonal that is added to it.
const DAMPING: f64 = 1e-3;
/// Intensity scales stay within this factor of 1, so that frames without counts do not vanish.
pub(crate) const LARGEST_SCALE: f64 = 4.0;
/// Scales that are taken over: without a ramp they may be further from 1.
const SAVED_SCALES: std::ops::RangeInclusive<f64> = 1e-3..=1e3;
/// Largest change of the logarithm of a scale in an iteration.
const LARGEST_CHANGE: f64 = 0.5;
/// Steps are at most this many times the median step, so that single frames do not run away.
const MEDIAN_STEPS: f64 = 10.0;
/// Factor on the steps to which a map alone is fitted. The object was made with the present
/// positions and holds the frames there, so that steps are too short; with a factor below 2 they
/// converge even where they are not.
const OVER_RELAXATION: f64 = 1.5;
/// Distance from the map, in standard deviations, to which frames are drawn in. One of ninety
/// frames of a normal distribution is further away.
const DRAWN_IN: f64 = 3.0;
/// Least standard deviation of the distances, pixels: where most frames did not move yet, those
/// that did have not run away.
const LEAST_DEVIATION: f64 = 0.5;
/// Smallest ratio of the variances of the positions along and across their longest extent for which
/// a ramp is defined.
const FLATTEST: f64 = 1e-6;

/// Windows, positions and intensity scales of the frames, as the model has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames {
    /// First row and column of each frame's window on the object.
    pub corners: Vec<[u32; 2]>,
    /// By how much the probe is shifted in each window, pixels; all 0 if the engine works with
    /// whole pixels.
    pub fractions: Vec<[f64; 2]>,
    /// Positions (row, column), object pixels: corners plus fractions, also where the engine works
    /// with whole pixels.
    pub positions: Vec<[f64; 2]>,
    /// Factors on the model intensities.
    pub scales: Vec<f64>,
}

impl Frames {
    /// Corners plus fractions: where the model has the frames.
    pub(crate) fn exact(&self) -> Vec<[f64; 2]> {
        let position = |(corner, fraction): (&[u32; 2], &[f64; 2])| {
            [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis])
        };
        let pairs = self.corners.iter().zip(&self.fractions);
        pairs.map(position).collect()
    }
}

/// Positions and intensity scales of the frames.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FrameParameters {
    /// Positions at the start, object pixels.
    start: Vec<[f64; 2]>,
    /// Positions, object pixels.
    pub(crate) positions: Vec<[f64; 2]>,
    /// Factors on the model intensities; their mean is 1.
    pub(crate) scales: Vec<f64>,
}

/// Where the trials of a frame start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TrialStart {
    corner: [u32; 2],
    fraction: [f32; 2],
    /// From the position at the start of the run, object pixels.
    pub(crate) displacement: [f32; 2],
}

impl TrialStart {
    /// Corner and fraction of trial `trial`, counted from 1, of frame `frame`.
    pub(crate) fn trial(&self, trials: &Trials, frame: usize, trial: u32) -> ([u32; 2], [f32; 2]) {
        let Trials {
            seed,
            iteration,
            amplitude,
            bound,
            ..
        } = *trials;
        let shift = trial_shift(seed, frame as u32, iteration, trial, amplitude);
        trial_position(self.corner, self.fraction, self.displacement, shift, bound)
    }
}

impl FrameParameters {
    /// The positions of a scan, scales 1.
    pub(crate) fn new(at: &PixelPositions) -> Self {
        let position = |(corner, fraction): (&[u32; 2], &[f64; 2])| {
            [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis])
        };
        let positions: Vec<[f64; 2]> = at.corners.iter().zip(&at.fractions).map(position).collect();
        Self {
            start: positions.clone(),
            scales: vec![1.0; positions.len()],
            positions,
        }
    }

    /// Takes over saved values; `None` if a position is further than `bound` from its start or a
    /// scale outside [`SAVED_SCALES`].
    pub(crate) fn restore(
        &mut self,
        positions: Vec<[f64; 2]>,
        scales: Vec<f64>,
        bound: f64,
    ) -> Option<()> {
        let near = |(a, b): (&[f64; 2], &[f64; 2])| {
            (0..2).all(|axis| (a[axis] - b[axis]).abs() <= bound + 1e-9)
        };
        let within = |s: &f64| SAVED_SCALES.contains(s);
        if !(positions.iter().zip(&self.start).all(near) && scales.iter().all(within)) {
            return None;
        }
        (self.positions, self.scales) = (positions, scales);
        Some(())
    }

    /// Corners, fractions (0 unless `subpixel`), positions and scales.
    pub(crate) fn frames(&self, subpixel: bool) -> Frames {
        let corner = |p: &[f64; 2]| p.map(|v| v.round() as u32);
        let fraction = |p: &[f64; 2]| p.map(|v| if subpixel { v - v.round() } else { 0.0 });
        Frames {
            corners: self.positions.iter().map(corner).collect(),
            fractions: self.positions.iter().map(fraction).collect(),
            positions: self.positions.clone(),
            scales: self.scales.clone(),
        }
    }

    /// Takes a step of positions (if `positions`; by their affine map only if `map`) and of scales.
    pub(crate) fn refine(
        &mut self,
        equations: &[NormalEquations],
        [positions, map]: [bool; 2],
        how: &Refinement,
    ) {
        let steps = solve(equations, [positions, positions, how.scales]);
        if positions {
            let limited = limited(&steps, how.step);
            if map {
                self.move_by_map(&limited, how.step);
            } else {
                self.move_by(&limited);
            }
            self.bound(how.bound);
        }
        if how.scales {
            let mut changes: Vec<f64> = steps
                .iter()
                .map(|s| s[2].clamp(-LARGEST_CHANGE, LARGEST_CHANGE))
                .collect();
            remove_ramp(&self.positions, &mut changes);
            for (scale, change) in self.scales.iter_mut().zip(&changes) {
                *scale *= change.exp();
            }
            let mean = self.scales.iter().sum::<f64>() / self.scales.len().max(1) as f64;
            let limited = |scale: f64| (scale / mean).clamp(1.0 / LARGEST_SCALE, LARGEST_SCALE);
            self.scales
                .iter_mut()
                .for_each(|scale| *scale = limited(*scale));
        }
    }

    /// Where the trials of every frame start.
    pub(crate) fn trial_starts(&self) -> Vec<TrialStart> {
        let frames = self.frames(true);
        let pairs = frames.corners.iter().zip(&frames.fractions);
        pairs
            .zip(self.positions.iter().zip(&self.start))
            .map(|((corner, fraction), (position, start))| TrialStart {
                corner: *corner,
                fraction: fraction.map(|v| v as f32),
                displacement: [0, 1].map(|axis| (position[axis] - start[axis]) as f32),
            })
            .collect()
    }

    /// Moves every frame to its best trial: `chosen` counts them from 1, 0 is where the frame was.
    pub(crate) fn take_trials(&mut self, chosen: &[u32], trials: &Trials, bound: f64) {
        let starts = self.trial_starts();
        let frames = self.positions.iter_mut().zip(&starts).zip(chosen);
        for (frame, ((position, start), trial)) in frames.enumerate() {
            if *trial > 0 {
                let (corner, fraction) = start.trial(trials, frame, *trial);
                *position = [0, 1].map(|axis| f64::from(corner[axis]) + f64::from(fraction[axis]));
            }
        }
        self.bound(bound);
    }

    /// Draws frames that are further than [`DRAWN_IN`] standard deviations, each at least
    /// [`LEAST_DEVIATION`], from the affine map that fits the displacements to that distance.
    pub(crate) fn draw_in(&mut self, bound: f64) {
        let Some(map) = AffineFit::fit(&self.start, &self.positions) else {
            return;
        };
        let mapped: Vec<[f64; 2]> = self.start.iter().map(|p| map.at(*p)).collect();
        let distance = |(p, m): (&[f64; 2], &[f64; 2])| (p[0] - m[0]).hypot(p[1] - m[1]);
        let distances: Vec<f64> = self.positions.iter().zip(&mapped).map(distance).collect();
        let largest = DRAWN_IN * standard_deviation(&distances).max(LEAST_DEVIATION);
        for ((position, mapped), distance) in self.positions.iter_mut().zip(&mapped).zip(&distances)
        {
            if *distance > largest {
                let share = largest / distance;
                *position =
                    [0, 1].map(|axis| (position[axis] - mapped[axis]).mul_add(share, mapped[axis]));
            }
        }
        self.bound(bound);
    }

    fn move_by(&mut self, steps: &[[f64; 2]]) {
        for (position, step) in self.positions.iter_mut().zip(steps) {
            *position = [position[0] + step[0], position[1] + step[1]];
        }
    }

    /// Replaces the displacements after `steps` by the affine map that fits them. No frame moves
    /// further than `largest` on an axis.
    fn move_by_map(&mut self, steps: &[[f64; 2]], largest: f64) {
        let further = |(p, s): (&[f64; 2], &[f64; 2])| {
            [0, 1].map(|axis| OVER_RELAXATION.mul_add(s[axis], p[axis]))
        };
        let moved: Vec<[f64; 2]> = self.positions.iter().zip(steps).map(further).collect();
        let Some(map) = AffineFit::fit(&self.start, &moved) else {
            return;
        };
        let change = |(start, p): (&[f64; 2], &[f64; 2])| {
            let to = map.at(*start);
            [to[0] - p[0], to[1] - p[1]]
        };
        let mut changes: Vec<[f64; 2]> =
            self.start.iter().zip(&self.positions).map(change).collect();
        // A common shift moves only the object, and must not use up the largest step.
        let count = changes.len().max(1) as f64;
        let mean = [0, 1].map(|axis| changes.iter().map(|c| c[axis]).sum::<f64>() / count);
        for change in &mut changes {
            *change = [change[0] - mean[0], change[1] - mean[1]];
        }
        let longest = changes
            .iter()
            .flatten()
            .fold(0.0, |a: f64, v| a.max(v.abs()));
        if longest > largest {
            let share = largest / longest;
            changes
                .iter_mut()
                .for_each(|change| *change = change.map(|v| v * share));
        }
        self.move_by(&changes);
    }

    /// Removes the mean displacement from the start, as a common shift moves only the object, and
    /// limits every displacement to `bound` on each axis.
    fn bound(&mut self, bound: f64) {
        let count = self.positions.len().max(1) as f64;
        for axis in 0..2 {
            let shift = |(a, b): (&[f64; 2], &[f64; 2])| a[axis] - b[axis];
            let pairs = self.positions.iter().zip(&self.start);
            let mean = pairs.map(shift).sum::<f64>() / count;
            for (position, start) in self.positions.iter_mut().zip(&self.start) {
                let moved = position[axis] - mean - start[axis];
                position[axis] = start[axis] + moved.clamp(-bound, bound);
            }
        }
    }
}

/// Subtracts the least-squares fit of `changes` by a plane over the positions: a ramp of the
/// logarithms of scales, with the opposite one in the object, changes no intensity and would drift.
fn remove_ramp(positions: &[[f64; 2]], changes: &mut [f64]) {
    let count = positions.len().max(1) as f64;
    let centre = [0, 1].map(|axis| positions.iter().map(|p| p[axis]).sum::<f64>() / count);
    let mean = changes.iter().sum::<f64>() / count;
    let (mut square, mut cross) = ([0.0; 3], [0.0; 2]);
    for (position, change) in positions.iter().zip(&*changes) {
        let [r, c] = [0, 1].map(|axis| position[axis] - centre[axis]);
        square[0] += r * r;
        square[1] += r * c;
        square[2] += c * c;
        cross[0] += r * (change - mean);
        cross[1] += c * (change - mean);
    }
    let determinant = square[0] * square[2] - square[1] * square[1];
    let trace = square[0] + square[2];
    if determinant.is_nan() || determinant <= FLATTEST * trace * trace {
        return;
    }
    let slopes = [
        (cross[0] * square[2] - cross[1] * square[1]) / determinant,
        (cross[1] * square[0] - cross[0] * square[1]) / determinant,
    ];
    for (position, change) in positions.iter().zip(changes) {
        *change -= slopes[0] * (position[0] - centre[0]) + slopes[1] * (position[1] - centre[1]);
    }
}

/// Steps of rows and columns, on each axis at most `largest` and [`MEDIAN_STEPS`] medians.
fn limited(steps: &[[f64; 3]], largest: f64) -> Vec<[f64; 2]> {
    let limits = [0, 1].map(|axis| {
        let mut sizes: Vec<f64> = steps.iter().map(|s| s[axis].abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let median = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
        largest.min(MEDIAN_STEPS * median)
    });
    steps
        .iter()
        .map(|step| [0, 1].map(|axis| step[axis].clamp(-limits[axis], limits[axis])))
        .collect()
}

/// The steps (row, column, logarithm of the scale) of all frames; what is not `wanted` stays zero.
fn solve(equations: &[NormalEquations], wanted: [bool; 3]) -> Vec<[f64; 3]> {
    let count = equations.len().max(1) as f64;
    let mean = |n: usize| equations.iter().map(|e| e[n]).sum::<f64>() / count;
    let diagonal = [mean(0), mean(2), mean(5)].map(|v| v * DAMPING);
    equations
        .iter()
        .map(|e| {
            let mut matrix = nalgebra::Matrix3::new(
                e[0], e[1], e[3], //
                e[1], e[2], e[4], //
                e[3], e[4], e[5],
            );
            let mut right = nalgebra::Vector3::new(e[6], e[7], e[8]);
            for n in 0..3 {
                matrix[(n, n)] += diagonal[n];
                if !wanted[n] {
                    matrix.fill_row(n, 0.0);
                    matrix.fill_column(n, 0.0);
                    matrix[(n, n)] = 1.0;
                    right[n] = 0.0;
                }
            }
            let step = matrix.cholesky().map(|c| c.solve(&right));
            let step = step.filter(|s| s.iter().all(|v| v.is_finite()));
            step.map_or([0.0; 3], |s| [s[0], s[1], s[2]])
        })
        .collect()
}

#[cfg(test)]
mod tests;
