//! Scale and background, on which the intensity depends linearly. They are not searched but solved
//! for exactly in each trial (variable projection: Golub and Pereyra, Inverse Problems 19, R1,
//! 2003).

use super::problem::Problem;
use crate::sas::{Target, Vector};

/// Scale or background.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Factor {
    /// Fixed at this value.
    Fixed(f64),
    /// As in each vector, at this index of its values: tied to other parameters, or searched because
    /// others are tied to it.
    InVector(usize),
    /// Solved for within bounds: index of the parameter, and its bounds.
    Solved(usize, (f64, f64)),
}

/// Scale and background of a problem, and the parameters that remain to be searched.
#[derive(Debug, Clone)]
pub(super) struct Projection {
    /// Indices of scale and background in a vector's values.
    indices: (Option<usize>, Option<usize>),
    scale: Factor,
    background: Factor,
    /// Indices of the parameters that are searched.
    pub(super) searched: Vec<usize>,
    /// Intensity of a background of 1 at each point: 1 unless the resolution loses a part of it.
    pub(super) flat: Vec<f64>,
}

/// Parameter values compared with the data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trial {
    /// Values of all parameters, in their order.
    pub(super) values: Vec<f64>,
    /// (data − model)/σ at each point; empty if the model is not finite.
    pub(super) residuals: Vec<f64>,
    /// Sum of the squared residuals; infinite if the model is not finite.
    pub(super) chi2: f64,
}

impl Projection {
    pub(super) fn new(problem: &Problem) -> Self {
        let indices = problem.linear_indices();
        let factor = |index: Option<usize>, otherwise: f64| {
            let fitted = problem
                .parameters()
                .iter()
                .position(|p| index.is_some_and(|at| p.target == Target::Value(at)));
            let target = index.map(Target::Value);
            let tied = target.is_some_and(|target| {
                let ties = problem.ties();
                ties.sets(target) || fitted.is_some() && ties.uses(target)
            });
            match (fitted, index) {
                (_, Some(index)) if tied => Factor::InVector(index),
                (Some(at), _) => Factor::Solved(at, problem.parameters()[at].bounds),
                (None, Some(index)) => Factor::Fixed(problem.vector(&[]).values[index]),
                (None, None) => Factor::Fixed(otherwise),
            }
        };
        let (scale, background) = (factor(indices.0, 1.0), factor(indices.1, 0.0));
        let solved = |i: usize| {
            [scale, background]
                .iter()
                .any(|f| matches!(f, Factor::Solved(at, _) if *at == i))
        };
        Self {
            indices,
            scale,
            background,
            searched: (0..problem.parameters().len())
                .filter(|i| !solved(*i))
                .collect(),
            flat: vec![1.0; problem.measured().intensity.len()],
        }
    }

    /// The vector for `values` with scale 1 and background 0.
    pub(super) fn bare(&self, problem: &Problem, values: &[f64]) -> Vector {
        self.with(problem.vector(values), 1.0, 0.0)
    }

    /// The vector with scale 0 and background 1, whose intensities are [`Projection::flat`].
    pub(super) fn background_alone(&self, problem: &Problem) -> Vector {
        self.with(problem.vector(&problem.start()), 0.0, 1.0)
    }

    fn with(&self, mut vector: Vector, scale: f64, background: f64) -> Vector {
        if let Some(at) = self.indices.0 {
            vector.values[at] = scale;
        }
        if let Some(at) = self.indices.1 {
            vector.values[at] = background;
        }
        vector
    }

    /// Values of all parameters: those of `searched`, and the start values of the others.
    pub(super) fn all(&self, problem: &Problem, searched: &[f64]) -> Vec<f64> {
        let mut values = problem.start();
        for (at, value) in self.searched.iter().zip(searched) {
            values[*at] = *value;
        }
        values
    }

    /// The entries of `values` that are searched.
    pub(super) fn of(&self, values: &[f64]) -> Vec<f64> {
        self.searched.iter().map(|at| values[*at]).collect()
    }

    /// Solves for scale and background, given the intensities `bare`, and computes the residuals.
    pub(super) fn trial(&self, problem: &Problem, mut values: Vec<f64>, bare: &[f64]) -> Trial {
        if !bare.iter().all(|v| v.is_finite()) {
            return Trial {
                values,
                residuals: Vec::new(),
                chi2: f64::INFINITY,
            };
        }
        let (scale, background) = self.solve(problem, &values, bare);
        if !(scale.is_finite() && background.is_finite()) {
            return Trial {
                values,
                residuals: Vec::new(),
                chi2: f64::INFINITY,
            };
        }
        for (factor, value) in [(self.scale, scale), (self.background, background)] {
            if let Factor::Solved(at, _) = factor {
                values[at] = value;
            }
        }
        let measured = problem.measured();
        let residuals: Vec<f64> = (0..bare.len())
            .map(|i| {
                let model = scale * bare[i] + background * self.flat[i];
                (measured.intensity[i] - model) / measured.sigma[i]
            })
            .collect();
        let chi2 = residuals.iter().map(|r| r * r).sum::<f64>();
        Trial {
            values,
            residuals,
            chi2: if chi2.is_nan() { f64::INFINITY } else { chi2 },
        }
    }

    /// Scale and background at `values`.
    pub(super) fn factors(&self, problem: &Problem, values: &[f64]) -> (f64, f64) {
        let value = |factor| match factor {
            Factor::Fixed(value) => value,
            Factor::InVector(at) => problem.vector(values).get(Target::Value(at)),
            Factor::Solved(at, _) => values[at],
        };
        (value(self.scale), value(self.background))
    }

    /// Indices of the scale and the background among the parameters, if they are solved for.
    pub(super) fn solved(&self) -> [Option<usize>; 2] {
        [self.scale, self.background].map(|factor| match factor {
            Factor::Fixed(_) | Factor::InVector(_) => None,
            Factor::Solved(at, _) => Some(at),
        })
    }

    /// Least squares for both within their bounds: the solution of this convex problem lies inside,
    /// on one of the four edges, or in a corner.
    fn solve(&self, problem: &Problem, values: &[f64], bare: &[f64]) -> (f64, f64) {
        let known = |factor: Factor| match factor {
            Factor::InVector(at) => Factor::Fixed(problem.vector(values).get(Target::Value(at))),
            factor => factor,
        };
        match (known(self.scale), known(self.background)) {
            (Factor::Fixed(scale), Factor::Fixed(background)) => (scale, background),
            (Factor::Solved(_, bounds), Factor::Fixed(background)) => {
                let sums = Sums::new(problem, bare, &self.flat);
                (
                    sums.best_scale(background).clamp(bounds.0, bounds.1),
                    background,
                )
            }
            (Factor::Fixed(scale), Factor::Solved(_, bounds)) => {
                let sums = Sums::new(problem, bare, &self.flat);
                (scale, sums.best_background(scale).clamp(bounds.0, bounds.1))
            }
            (Factor::Solved(_, of_scale), Factor::Solved(_, of_background)) => {
                let sums = Sums::new(problem, bare, &self.flat);
                sums.best_pair(of_scale, of_background)
            }
            // None is left in the vector.
            (Factor::InVector(_), _) | (_, Factor::InVector(_)) => (f64::NAN, f64::NAN),
        }
    }
}

/// Sums of the normal equations, where m is the bare model, f the flat one and d the data, each
/// divided by σ.
struct Sums {
    mm: f64,
    mf: f64,
    ff: f64,
    md: f64,
    fd: f64,
}

impl Sums {
    fn new(problem: &Problem, bare: &[f64], flat: &[f64]) -> Self {
        let measured = problem.measured();
        let mut sums = Self {
            mm: 0.0,
            mf: 0.0,
            ff: 0.0,
            md: 0.0,
            fd: 0.0,
        };
        let data = measured.intensity.iter().zip(&measured.sigma);
        for ((m, f), (d, sigma)) in bare.iter().zip(flat).zip(data) {
            let (m, f, d) = (m / sigma, f / sigma, d / sigma);
            sums.mm += m * m;
            sums.mf += m * f;
            sums.ff += f * f;
            sums.md += m * d;
            sums.fd += f * d;
        }
        sums
    }

    fn best_scale(&self, background: f64) -> f64 {
        ratio(self.md - background * self.mf, self.mm)
    }

    fn best_background(&self, scale: f64) -> f64 {
        ratio(self.fd - scale * self.mf, self.ff)
    }

    /// χ² minus that of a zero model.
    fn gain(&self, (scale, background): (f64, f64)) -> f64 {
        let quadratic = scale * scale * self.mm
            + 2.0 * scale * background * self.mf
            + background * background * self.ff;
        quadratic - 2.0 * (scale * self.md + background * self.fd)
    }

    fn best_pair(&self, of_scale: (f64, f64), of_background: (f64, f64)) -> (f64, f64) {
        let determinant = self.mm * self.ff - self.mf * self.mf;
        let inside = |(scale, background): (f64, f64)| {
            scale >= of_scale.0
                && scale <= of_scale.1
                && background >= of_background.0
                && background <= of_background.1
        };
        // A model as flat as the background leaves both undetermined: then the scale is set to a
        // bound.
        if determinant > 1e-14 * self.mm * self.ff {
            let scale = (self.md * self.ff - self.fd * self.mf) / determinant;
            let background = (self.fd * self.mm - self.md * self.mf) / determinant;
            if inside((scale, background)) {
                return (scale, background);
            }
        }
        let on_scale = [of_scale.0, of_scale.1].into_iter().map(|scale| {
            let background = self.best_background(scale);
            (scale, background.clamp(of_background.0, of_background.1))
        });
        let on_background = [of_background.0, of_background.1]
            .into_iter()
            .map(|background| {
                let scale = self.best_scale(background);
                (scale.clamp(of_scale.0, of_scale.1), background)
            });
        on_scale
            .chain(on_background)
            .filter(|(scale, background)| scale.is_finite() && background.is_finite())
            .min_by(|a, b| self.gain(*a).total_cmp(&self.gain(*b)))
            .unwrap_or_else(|| (self.best_scale(0.0), 0.0))
    }
}

fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 {
        numerator / denominator
    } else {
        0.0
    }
}
