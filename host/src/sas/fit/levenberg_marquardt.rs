//! Levenberg's and Marquardt's method within bounds, a few damping values at once.
//!
//! The step δ minimises |r + J δ|² + λ |D δ|², D the lengths of J's columns (Marquardt, J. SIAM 11, 431, 1963); a
//! component that would leave its bounds stops there, and the others are solved again. Scale and background are no
//! columns: r is what they leave, and its finite differences are the derivatives of that (see `linear`).

use super::linear::Trial;
use super::search::{Search, Space, Stop};
use nalgebra::{DMatrix, DVector};

/// Relative change of χ² that no longer matters.
const FALL: f64 = 1e-10;
/// Relative change of parameters that no longer matters.
const CHANGE: f64 = 1e-8;
/// Cosine between residuals and a column that is a right angle.
const RIGHT_ANGLE: f64 = 1e-10;
/// Share of the data's own χ² that is rounding.
const ROUNDING: f64 = 1e-26;
/// Damping values of one batch, as multiples of the one in force.
const DAMPINGS: [f64; 4] = [0.01, 0.3, 10.0, 300.0];
/// Damping at first: columns have length 1.
const FIRST_DAMPING: f64 = 0.03;
/// Damping after a batch without success is this much larger.
const HARDER: f64 = 1e4;
/// Beyond these a damping changes nothing.
const DAMPING_RANGE: (f64, f64) = (1e-14, 1e12);
/// A singular value below this share of the largest is none.
const SINGULAR: f64 = 1e-13;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// Waits for the residuals at the start and its differences.
    Start,
    /// Waits for differences.
    Columns,
    /// Waits for the trials of a few dampings.
    Trials,
}

/// One descent.
pub(super) struct Descent {
    stage: Stage,
    /// Numbers searched, where the descent stands.
    at: Vec<f64>,
    best: Option<Trial>,
    /// Steps of the differences under way.
    differences: Vec<f64>,
    /// Derivatives of the residuals, (point, number searched).
    jacobian: DMatrix<f64>,
    /// Q^T r and R of the Jacobian's QR decomposition, columns divided by `lengths`.
    decomposed: Option<Decomposed>,
    damping: f64,
    /// Steps of the trials under way, with the fall of χ² that each promises.
    steps: Vec<(Vec<f64>, f64)>,
    iterations: usize,
    most: usize,
    stop: Option<Stop>,
    /// Numbers that no residual depended on at first.
    idle: Vec<usize>,
    /// χ² of data against nothing.
    nothing: f64,
}

struct Decomposed {
    r: DMatrix<f64>,
    residuals: DVector<f64>,
    lengths: Vec<f64>,
}

impl Descent {
    /// From `start` (numbers searched), with at most so many iterations.
    pub(super) fn new(space: &Space<'_>, start: Vec<f64>, most: usize) -> Self {
        let measured = space.problem.measured();
        let pairs = measured.intensity.iter().zip(&measured.sigma);
        Self {
            stage: Stage::Start,
            at: start,
            best: None,
            differences: Vec::new(),
            jacobian: DMatrix::zeros(0, 0),
            decomposed: None,
            damping: FIRST_DAMPING,
            steps: Vec::new(),
            iterations: 0,
            most,
            stop: None,
            idle: Vec::new(),
            nothing: pairs.map(|(i, s)| (i / s) * (i / s)).sum(),
        }
    }

    /// The best so far.
    pub(super) fn best(&self) -> Option<&Trial> {
        self.best.as_ref()
    }

    /// Iterations done.
    pub(super) fn iterations(&self) -> usize {
        self.iterations
    }

    /// Ends it with what it has.
    pub(super) fn end(&mut self, why: Stop) {
        self.stop.get_or_insert(why);
        self.jacobian = DMatrix::zeros(0, 0);
        self.decomposed = None;
    }

    /// The numbers searched that no residual depended on where it began.
    pub(super) fn idle(&self) -> &[usize] {
        &self.idle
    }

    fn columns(&mut self, space: &Space<'_>) -> Vec<Vec<f64>> {
        self.differences = (0..space.len())
            .map(|j| {
                let (low, high) = space.bounds(j);
                let step = space.step * space.parameter(j).size(self.at[j]);
                // Towards the side with more room, so that a bound is never crossed.
                let forward = high - self.at[j] >= self.at[j] - low;
                let wanted = self.at[j] + if forward { step } else { -step };
                wanted.clamp(low, high) - self.at[j]
            })
            .collect();
        (0..space.len())
            .map(|j| {
                let mut values = self.at.clone();
                values[j] += self.differences[j];
                values
            })
            .collect()
    }

    fn take_columns(&mut self, trials: &[Trial]) {
        let Some(best) = &self.best else { return };
        let points = best.residuals.len();
        let column = |j: usize| -> Option<DVector<f64>> {
            let (moved, step) = (&trials.get(j)?.residuals, self.differences[j]);
            (moved.len() == points && step != 0.0).then(|| {
                DVector::from_iterator(
                    points,
                    moved
                        .iter()
                        .zip(&best.residuals)
                        .map(|(a, b)| (a - b) / step),
                )
            })
        };
        let mut jacobian = DMatrix::zeros(points, self.at.len());
        for j in 0..self.at.len() {
            if let Some(column) = column(j) {
                jacobian.set_column(j, &column);
            }
        }
        self.jacobian = jacobian;
    }

    /// Columns of length 1 and their triangle, from which every damping is solved.
    fn decompose(&mut self) {
        let Some(best) = &self.best else { return };
        let mut scaled = std::mem::replace(&mut self.jacobian, DMatrix::zeros(0, 0));
        let lengths: Vec<f64> = scaled
            .column_iter()
            .map(|column| column.norm())
            .map(|length| if length.is_finite() { length } else { 0.0 })
            .collect();
        for (mut column, length) in scaled.column_iter_mut().zip(&lengths) {
            if *length > 0.0 {
                column /= *length;
            } else {
                column.fill(0.0);
            }
        }
        let residuals = DVector::from_column_slice(&best.residuals);
        let qr = scaled.qr();
        let q = qr.q();
        self.decomposed = Some(Decomposed {
            residuals: q.tr_mul(&residuals),
            r: qr.r(),
            lengths,
        });
    }

    /// Whether χ² is level in every direction that the bounds leave.
    fn level(&self, space: &Space<'_>) -> bool {
        let (Some(of), Some(best)) = (&self.decomposed, &self.best) else {
            return false;
        };
        let gradient = of.r.tr_mul(&of.residuals);
        let norm = best.chi2.sqrt();
        (0..self.at.len()).all(|j| {
            let (low, high) = space.bounds(j);
            let blocked = (self.at[j] <= low && gradient[j] >= 0.0)
                || (self.at[j] >= high && gradient[j] <= 0.0);
            blocked || gradient[j].abs() <= RIGHT_ANGLE * norm
        })
    }

    fn trials(&mut self, space: &Space<'_>) -> Vec<Vec<f64>> {
        let Some(of) = &self.decomposed else {
            return Vec::new();
        };
        let room: Vec<(f64, f64)> = (0..self.at.len())
            .map(|j| {
                let (low, high) = space.bounds(j);
                (low - self.at[j], high - self.at[j])
            })
            .collect();
        self.steps = DAMPINGS
            .iter()
            .map(|factor| {
                let damping = (self.damping * factor).clamp(DAMPING_RANGE.0, DAMPING_RANGE.1);
                let step = of.step(damping, &room);
                let promise = of.promise(&step);
                (step, promise)
            })
            .collect();
        self.steps
            .iter()
            .map(|(step, _)| {
                (0..step.len())
                    .map(|j| {
                        let (low, high) = space.bounds(j);
                        (self.at[j] + step[j]).clamp(low, high)
                    })
                    .collect()
            })
            .collect()
    }

    fn take_trials(&mut self, space: &Space<'_>, trials: Vec<Trial>) {
        let Some(before) = self.best.as_ref().map(|best| best.chi2) else {
            return;
        };
        self.iterations += 1;
        let small = |of: &Self, step: &[f64]| {
            (0..step.len()).all(|j| step[j].abs() <= CHANGE * space.parameter(j).size(of.at[j]))
        };
        let found = trials
            .into_iter()
            .enumerate()
            .min_by(|a, b| a.1.chi2.total_cmp(&b.1.chi2));
        let Some((which, trial)) = found.filter(|(_, trial)| trial.chi2 < before) else {
            // The step of the least damping is the longest; where that is nothing, nothing is left.
            let longest = self.steps.first().is_none_or(|(step, _)| small(self, step));
            let promised = self.steps.iter().map(|(_, promise)| *promise);
            let promised = promised.fold(0.0, f64::max);
            if longest {
                self.end(Stop::Step);
            } else if promised <= FALL * before {
                self.end(Stop::ChiSquared);
            } else if self.damping >= DAMPING_RANGE.1 {
                self.end(Stop::Stuck);
            } else if self.iterations >= self.most {
                self.end(Stop::Iterations);
            }
            self.damping *= HARDER;
            return;
        };
        let (step, promise) = self.steps.swap_remove(which);
        self.damping = (self.damping * DAMPINGS[which]).clamp(DAMPING_RANGE.0, DAMPING_RANGE.1);
        let fall = before - trial.chi2;
        let short = small(self, &step);
        self.at = space.projection.of(&trial.values);
        self.best = Some(trial);
        if fall <= FALL * before && promise <= FALL * before {
            self.end(Stop::ChiSquared);
        } else if short {
            self.end(Stop::Step);
        } else if self.iterations >= self.most {
            self.end(Stop::Iterations);
        } else {
            self.stage = Stage::Columns;
        }
    }
}

impl Decomposed {
    /// The step for a damping; `room` is how far each number may go down and up.
    fn step(&self, damping: f64, room: &[(f64, f64)]) -> Vec<f64> {
        let count = room.len();
        let mut step = vec![0.0; count];
        let mut free: Vec<usize> = (0..count).filter(|j| self.lengths[*j] > 0.0).collect();
        let mut right = -&self.residuals;
        while !free.is_empty() {
            let solved = damped(&self.r.select_columns(&free), &right, damping);
            let wanted: Vec<f64> = free
                .iter()
                .zip(solved.iter())
                .map(|(j, z)| z / self.lengths[*j])
                .collect();
            let beyond = |i: &usize| {
                let (low, high) = room[free[*i]];
                wanted[*i] < low || wanted[*i] > high
            };
            let stopped: Vec<usize> = (0..free.len()).filter(beyond).collect();
            if stopped.is_empty() {
                for (j, value) in free.iter().zip(&wanted) {
                    step[*j] = *value;
                }
                break;
            }
            for i in &stopped {
                let j = free[*i];
                step[j] = wanted[*i].clamp(room[j].0, room[j].1);
                right -= self.r.column(j) * (step[j] * self.lengths[j]);
            }
            free = (0..free.len())
                .filter(|i| !stopped.contains(i))
                .map(|i| free[i])
                .collect();
        }
        step
    }

    /// How much χ² would fall if the residuals were linear.
    fn promise(&self, step: &[f64]) -> f64 {
        let scaled = DVector::from_iterator(
            step.len(),
            step.iter().zip(&self.lengths).map(|(s, length)| s * length),
        );
        let after = &self.residuals + &self.r * scaled;
        self.residuals.norm_squared() - after.norm_squared()
    }
}

/// argmin |M z − b|² + λ |z|² by the singular values of M; directions without one are left alone.
fn damped(matrix: &DMatrix<f64>, right: &DVector<f64>, damping: f64) -> DVector<f64> {
    let svd = matrix.clone().svd(true, true);
    let (Some(u), Some(v_t)) = (&svd.u, &svd.v_t) else {
        return DVector::zeros(matrix.ncols());
    };
    let largest = svd.singular_values.max();
    let mut weights = u.tr_mul(right);
    for (weight, value) in weights.iter_mut().zip(svd.singular_values.iter()) {
        *weight *= if *value > SINGULAR * largest {
            value / (value * value + damping)
        } else {
            0.0
        };
    }
    v_t.tr_mul(&weights)
}

impl Search for Descent {
    fn wanted(&mut self, space: &Space<'_>) -> Vec<Vec<f64>> {
        if self.stop.is_some() {
            return Vec::new();
        }
        match self.stage {
            Stage::Start => {
                let mut wanted = vec![self.at.clone()];
                wanted.extend(self.columns(space));
                wanted
            }
            Stage::Columns => self.columns(space),
            Stage::Trials => self.trials(space),
        }
    }

    fn told(&mut self, space: &Space<'_>, mut trials: Vec<Trial>) {
        if self.stage == Stage::Trials {
            self.take_trials(space, trials);
        } else {
            if self.stage == Stage::Start {
                if trials.is_empty() {
                    return;
                }
                let first = trials.remove(0);
                let finite = first.chi2.is_finite();
                self.best = Some(first);
                if !finite {
                    self.end(Stop::NotFinite);
                    return;
                }
                if space.len() == 0 {
                    self.end(Stop::Solved);
                    return;
                }
            }
            let first = self.stage == Stage::Start;
            self.take_columns(&trials);
            self.decompose();
            self.stage = Stage::Trials;
            if first && let Some(of) = &self.decomposed {
                let none = |j: &usize| of.lengths[*j] == 0.0;
                self.idle = (0..space.len()).filter(none).collect();
            }
        }
        if self.stop.is_some() {
            return;
        }
        let chi2 = self.best.as_ref().map_or(f64::INFINITY, |best| best.chi2);
        if chi2 <= ROUNDING * self.nothing {
            self.end(Stop::Exact);
        } else if self.idle.len() == space.len() {
            self.end(Stop::Flat);
        } else if self.stage == Stage::Trials && self.level(space) {
            self.end(Stop::Gradient);
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.stop
    }
}
