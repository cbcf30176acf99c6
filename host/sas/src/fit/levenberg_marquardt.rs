//! The Levenberg–Marquardt method within bounds, with several damping values per batch.
//!
//! The step δ minimises |r + J δ|² + λ |D δ|², where D holds the lengths of J's columns (Marquardt,
//! J. SIAM 11, 431, 1963). A component that would cross a bound stops there, and the others are
//! solved for again. Scale and background have no columns: r is the residual after they are solved
//! for, and its finite differences are the derivatives of that residual (see `linear`).

use super::linear::Trial;
use super::search::{Search, Space, Stop};
use nalgebra::{DMatrix, DVector};

/// Relative change of χ² at which the descent ends.
const FALL: f64 = 1e-10;
/// Relative change of the parameters at which the descent ends.
const CHANGE: f64 = 1e-8;
/// Cosine of the angle between residuals and a column that counts as 0.
const RIGHT_ANGLE: f64 = 1e-10;
/// Share of the χ² of a zero model that is rounding.
const ROUNDING: f64 = 1e-26;
/// Damping values of one batch, relative to the current one.
const DAMPINGS: [f64; 4] = [0.01, 0.3, 10.0, 300.0];
/// Initial damping, for columns of length 1.
const FIRST_DAMPING: f64 = 0.03;
/// Factor of the damping after a batch without improvement.
const HARDER: f64 = 1e4;
/// Range of effective damping values.
const DAMPING_RANGE: (f64, f64) = (1e-14, 1e12);
/// Singular values below this share of the largest count as 0.
const SINGULAR: f64 = 1e-13;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// Waits for the residuals at the start and for differences.
    Start,
    /// Waits for differences.
    Columns,
    /// Waits for trials with several damping values.
    Trials,
}

/// One descent to a minimum.
pub(super) struct Descent {
    stage: Stage,
    /// Current values of the search parameters.
    at: Vec<f64>,
    best: Option<Trial>,
    /// Steps of the differences that are being evaluated.
    differences: Vec<f64>,
    /// Derivatives of the residuals, (point, search parameter).
    jacobian: DMatrix<f64>,
    /// Qᵀr and R of the QR decomposition of the Jacobian, whose columns are divided by `lengths`.
    decomposed: Option<Decomposed>,
    damping: f64,
    /// Steps of the trials that are being evaluated, with the predicted decrease of χ².
    steps: Vec<(Vec<f64>, f64)>,
    iterations: usize,
    most: usize,
    stop: Option<Stop>,
    /// Search parameters without any effect at the start.
    idle: Vec<usize>,
    /// χ² of a model that is 0.
    chi2_of_zero: f64,
}

struct Decomposed {
    r: DMatrix<f64>,
    residuals: DVector<f64>,
    lengths: Vec<f64>,
}

impl Descent {
    /// A descent from `start` (search parameters) with at most `most` iterations.
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
            chi2_of_zero: pairs.map(|(i, s)| (i / s) * (i / s)).sum(),
        }
    }

    /// The best trial so far.
    pub(super) fn best(&self) -> Option<&Trial> {
        self.best.as_ref()
    }

    /// Number of completed iterations.
    pub(super) fn iterations(&self) -> usize {
        self.iterations
    }

    /// Ends the descent with the current result.
    pub(super) fn end(&mut self, why: Stop) {
        self.stop.get_or_insert(why);
        self.jacobian = DMatrix::zeros(0, 0);
        self.decomposed = None;
    }

    /// Search parameters without any effect at the start.
    pub(super) fn idle(&self) -> &[usize] {
        &self.idle
    }

    fn columns(&mut self, space: &Space<'_>) -> Vec<Vec<f64>> {
        let relative = space.step(&self.at);
        self.differences = (0..space.len())
            .map(|j| {
                let (low, high) = space.bounds(j);
                let step = relative * space.parameter(j).size(self.at[j]);
                // Steps go towards the more distant bound, so that no bound is crossed.
                let forward = high - self.at[j] >= self.at[j] - low;
                let requested = self.at[j] + if forward { step } else { -step };
                requested.clamp(low, high) - self.at[j]
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

    /// Normalises the columns and computes the QR decomposition, which serves every damping value.
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

    /// Whether the gradient of χ² vanishes in every direction that the bounds leave.
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
        let limits: Vec<(f64, f64)> = (0..self.at.len())
            .map(|j| {
                let (low, high) = space.bounds(j);
                (low - self.at[j], high - self.at[j])
            })
            .collect();
        self.steps = DAMPINGS
            .iter()
            .map(|factor| {
                let damping = (self.damping * factor).clamp(DAMPING_RANGE.0, DAMPING_RANGE.1);
                let step = of.step(damping, &limits);
                let predicted_decrease = of.predicted_decrease(&step);
                (step, predicted_decrease)
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
            // The step with the least damping is the longest; if it changes nothing, no step does.
            let longest = self.steps.first().is_none_or(|(step, _)| small(self, step));
            let largest_prediction = self
                .steps
                .iter()
                .map(|(_, predicted_decrease)| *predicted_decrease);
            let largest_prediction = largest_prediction.fold(0.0, f64::max);
            if longest {
                self.end(Stop::Step);
            } else if largest_prediction <= FALL * before {
                self.end(Stop::ChiSquared);
            } else if self.damping >= DAMPING_RANGE.1 {
                self.end(Stop::Stuck);
            } else if self.iterations >= self.most {
                self.end(Stop::Iterations);
            }
            self.damping *= HARDER;
            return;
        };
        let (step, predicted_decrease) = self.steps.swap_remove(which);
        self.damping = (self.damping * DAMPINGS[which]).clamp(DAMPING_RANGE.0, DAMPING_RANGE.1);
        let fall = before - trial.chi2;
        let short = small(self, &step);
        self.at = space.projection.of(&trial.values);
        self.best = Some(trial);
        if fall <= FALL * before && predicted_decrease <= FALL * before {
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
    /// The step for a damping value; `limits` holds the largest changes downwards and upwards of
    /// each parameter.
    fn step(&self, damping: f64, limits: &[(f64, f64)]) -> Vec<f64> {
        let count = limits.len();
        let mut step = vec![0.0; count];
        let mut free: Vec<usize> = (0..count).filter(|j| self.lengths[*j] > 0.0).collect();
        let mut right = -&self.residuals;
        while !free.is_empty() {
            let solved = damped(&self.r.select_columns(&free), &right, damping);
            let requested: Vec<f64> = free
                .iter()
                .zip(solved.iter())
                .map(|(j, z)| z / self.lengths[*j])
                .collect();
            let beyond = |i: &usize| {
                let (low, high) = limits[free[*i]];
                requested[*i] < low || requested[*i] > high
            };
            let stopped: Vec<usize> = (0..free.len()).filter(beyond).collect();
            if stopped.is_empty() {
                for (j, value) in free.iter().zip(&requested) {
                    step[*j] = *value;
                }
                break;
            }
            for i in &stopped {
                let j = free[*i];
                step[j] = requested[*i].clamp(limits[j].0, limits[j].1);
                right -= self.r.column(j) * (step[j] * self.lengths[j]);
            }
            free = (0..free.len())
                .filter(|i| !stopped.contains(i))
                .map(|i| free[i])
                .collect();
        }
        step
    }

    /// The decrease of χ² if the residuals were linear.
    fn predicted_decrease(&self, step: &[f64]) -> f64 {
        let scaled = DVector::from_iterator(
            step.len(),
            step.iter().zip(&self.lengths).map(|(s, length)| s * length),
        );
        let after = &self.residuals + &self.r * scaled;
        self.residuals.norm_squared() - after.norm_squared()
    }
}

/// argmin |M z − b|² + λ |z|² from the singular values of M; null directions stay 0.
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
    fn ask(&mut self, space: &Space<'_>) -> Vec<Vec<f64>> {
        if self.stop.is_some() {
            return Vec::new();
        }
        match self.stage {
            Stage::Start => {
                let mut requested = vec![self.at.clone()];
                requested.extend(self.columns(space));
                requested
            }
            Stage::Columns => self.columns(space),
            Stage::Trials => self.trials(space),
        }
    }

    fn tell(&mut self, space: &Space<'_>, mut trials: Vec<Trial>) {
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
        if chi2 <= ROUNDING * self.chi2_of_zero {
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
