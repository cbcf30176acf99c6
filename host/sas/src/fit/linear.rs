//! Scales and backgrounds, on which the intensity depends linearly. They are not searched but
//! solved for exactly in each trial (variable projection: Golub and Pereyra, Inverse Problems 19,
//! R1, 2003).

use super::bounded::bounded_least_squares;
use super::problem::{Block, Problem};
use crate::{Target, Vector};

/// Scale or background.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Factor {
    /// Fixed at this value.
    Fixed(f64),
    /// As in each vector, at this index of its values: tied to other parameters, or searched
    /// because others are tied to it.
    InVector(usize),
    /// Solved for within bounds: index of the parameter, and its bounds.
    Solved(usize, (f64, f64)),
}

/// Scales and backgrounds of a problem, and the parameters that remain to be searched.
#[derive(Debug, Clone)]
pub(super) struct Projection {
    blocks: Vec<Block>,
    /// Scale and background of one model that is no sum and one set of data.
    pair: Option<(Factor, Factor)>,
    /// The parameters that are solved for, with their bounds.
    solved: Vec<(usize, (f64, f64))>,
    /// For each value of a vector, the index in `solved` of the parameter that gives it.
    column: Vec<Option<usize>>,
    /// Sets of data that no solved parameter connects are solved for separately.
    groups: Vec<Group>,
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

/// Sets of data that common solved parameters connect.
#[derive(Debug, Clone, Default)]
struct Group {
    /// Indices of the sets.
    blocks: Vec<usize>,
    /// Indices of the parameters among the solved ones.
    solved: Vec<usize>,
}

/// The model as a function of the solved parameters: offset + Σ value · column.
struct Columns {
    offset: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

impl Projection {
    pub(super) fn new(problem: &Problem) -> Self {
        let blocks = problem.blocks();
        let parameters = problem.parameters();
        let mut projection = Self {
            pair: None,
            solved: Vec::new(),
            column: vec![None; problem.vector(&[]).values.len()],
            groups: Vec::new(),
            searched: Vec::new(),
            flat: vec![1.0; problem.measured().intensity.len()],
            blocks,
        };
        // First the scales and backgrounds of whole models: a term's scale is linear only if that
        // of its sum is not solved for.
        for of_terms in [false, true] {
            for (at, parameter) in parameters.iter().enumerate() {
                let linear = |target: &Target| {
                    !problem.ties().uses(*target)
                        && projection
                            .blocks
                            .iter()
                            .any(|block| projection.is_linear(block, *target, of_terms))
                };
                if !parameter.targets.iter().all(linear) {
                    continue;
                }
                for target in &parameter.targets {
                    if let Target::Value(index) = target {
                        projection.column[*index] = Some(projection.solved.len());
                    }
                }
                projection.solved.push((at, parameter.bounds));
            }
        }
        let is_solved = |at: &usize| projection.solved.iter().any(|(of, _)| of == at);
        projection.searched = (0..parameters.len()).filter(|at| !is_solved(at)).collect();
        projection.groups = projection.groups();
        if let [block] = projection.blocks.as_slice()
            && block.terms.is_empty()
        {
            let factor = |index: usize| {
                let target = Target::Value(index);
                match projection.column[index].map(|column| projection.solved[column]) {
                    Some((at, bounds)) => Factor::Solved(at, bounds),
                    None if problem.ties().sets(target) || problem.is_fitted(target) => {
                        Factor::InVector(index)
                    }
                    None => Factor::Fixed(problem.vector(&[]).get(target)),
                }
            };
            projection.pair = Some((factor(block.scale), factor(block.background)));
        }
        projection
    }

    fn groups(&self) -> Vec<Group> {
        let of_block = |block: &Block| -> Vec<usize> {
            let own = [block.scale, block.background];
            let indices = own.iter().chain(&block.terms);
            indices.filter_map(|index| self.column[*index]).collect()
        };
        let mut groups: Vec<Group> = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let mut joined = Group {
                blocks: Vec::new(),
                solved: of_block(block),
            };
            let touches = |group: &Group| joined.solved.iter().any(|k| group.solved.contains(k));
            let (connected, others): (Vec<Group>, Vec<Group>) =
                groups.into_iter().partition(touches);
            groups = others;
            for group in connected {
                joined.blocks.extend(group.blocks);
                joined.solved.extend(group.solved);
            }
            joined.blocks.push(at);
            joined.solved.sort_unstable();
            joined.solved.dedup();
            groups.push(joined);
        }
        groups
    }

    fn is_linear(&self, block: &Block, target: Target, of_terms: bool) -> bool {
        let Target::Value(index) = target else {
            return false;
        };
        if of_terms {
            block.terms.contains(&index) && self.column[block.scale].is_none()
        } else {
            index == block.scale || index == block.background
        }
    }

    /// Vectors that a trial needs: one for each term of the model.
    pub(super) fn vectors(&self) -> usize {
        let terms = self.blocks.iter().map(|block| block.terms.len());
        terms.max().unwrap_or(0).max(1)
    }

    /// The vectors for `values`, with scale 1 and background 0: of a sum, each has one term.
    pub(super) fn bare(&self, problem: &Problem, values: &[f64]) -> Vec<Vector> {
        let whole = self.with(problem.vector(values), 1.0, 0.0);
        (0..self.vectors())
            .map(|part| {
                let mut vector = whole.clone();
                for block in &self.blocks {
                    for (at, scale) in block.terms.iter().enumerate() {
                        vector.values[*scale] = if at == part { 1.0 } else { 0.0 };
                    }
                }
                vector
            })
            .collect()
    }

    /// The vector with scale 0 and background 1, whose intensities are [`Projection::flat`].
    pub(super) fn background_alone(&self, problem: &Problem) -> Vector {
        self.with(problem.vector(&problem.start()), 0.0, 1.0)
    }

    fn with(&self, mut vector: Vector, scale: f64, background: f64) -> Vector {
        for block in &self.blocks {
            vector.values[block.scale] = scale;
            vector.values[block.background] = background;
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

    /// Solves for scales and backgrounds, given the intensities of [`Self::bare`], and computes the
    /// residuals.
    pub(super) fn trial(
        &self,
        problem: &Problem,
        mut values: Vec<f64>,
        bare: &[Vec<f64>],
    ) -> Trial {
        let finite = bare.iter().flatten().all(|v| v.is_finite());
        let residuals = if finite {
            match self.pair {
                Some(pair) => self.residuals_of_pair(problem, pair, &mut values, &bare[0]),
                None => self.residuals(problem, &mut values, bare),
            }
        } else {
            None
        };
        let Some(residuals) = residuals else {
            return Trial {
                values,
                residuals: Vec::new(),
                chi2: f64::INFINITY,
            };
        };
        let chi2 = residuals.iter().map(|r| r * r).sum::<f64>();
        Trial {
            values,
            residuals,
            chi2: if chi2.is_nan() { f64::INFINITY } else { chi2 },
        }
    }

    fn residuals_of_pair(
        &self,
        problem: &Problem,
        pair: (Factor, Factor),
        values: &mut [f64],
        bare: &[f64],
    ) -> Option<Vec<f64>> {
        let (scale, background) = self.solve(problem, pair, values, bare);
        if !(scale.is_finite() && background.is_finite()) {
            return None;
        }
        for (factor, value) in [(pair.0, scale), (pair.1, background)] {
            if let Factor::Solved(at, _) = factor {
                values[at] = value;
            }
        }
        let measured = problem.measured();
        let residual = |i: usize| {
            let model = scale * bare[i] + background * self.flat[i];
            (measured.intensity[i] - model) / measured.sigma[i]
        };
        Some((0..bare.len()).map(residual).collect())
    }

    fn residuals(
        &self,
        problem: &Problem,
        values: &mut [f64],
        bare: &[Vec<f64>],
    ) -> Option<Vec<f64>> {
        let Columns { offset, columns } = self.columns(&problem.vector(values), bare);
        let measured = problem.measured();
        let data = measured.intensity.iter().zip(&measured.sigma).zip(&offset);
        let mut residuals: Vec<f64> = data.map(|((i, sigma), o)| (i - o) / sigma).collect();
        if !residuals.iter().all(|r| r.is_finite()) {
            return None;
        }
        for group in &self.groups {
            let rows = group
                .blocks
                .iter()
                .map(|at| self.blocks[*at].points.clone());
            let rows: Vec<usize> = rows.flatten().collect();
            let solved = || group.solved.iter().map(|k| (*k, self.solved[*k]));
            let weighted = |k: usize| -> Vec<f64> {
                let rows = rows.iter();
                rows.map(|i| columns[k][*i] / measured.sigma[*i]).collect()
            };
            let of_group: Vec<Vec<f64>> = solved().map(|(k, _)| weighted(k)).collect();
            let right: Vec<f64> = rows.iter().map(|i| residuals[*i]).collect();
            let bounds: Vec<(f64, f64)> = solved().map(|(_, (_, bounds))| bounds).collect();
            let found = bounded_least_squares(&of_group, &right, &bounds);
            for (((_, (at, _)), found), column) in solved().zip(found).zip(&of_group) {
                values[at] = found;
                for (i, value) in rows.iter().zip(column) {
                    residuals[*i] -= found * value;
                }
            }
        }
        Some(residuals)
    }

    /// The dependence of the model on the solved parameters; `vector` has the other factors.
    fn columns(&self, vector: &Vector, bare: &[Vec<f64>]) -> Columns {
        let points = self.flat.len();
        let mut of = Columns {
            offset: vec![0.0; points],
            columns: vec![vec![0.0; points]; self.solved.len()],
        };
        let mut add = |column: Option<usize>, block: &Block, factor: f64, basis: &[f64]| {
            let to = match column {
                Some(column) => &mut of.columns[column],
                None => &mut of.offset,
            };
            let range = block.points.clone();
            for (to, value) in to[range.clone()].iter_mut().zip(&basis[range]) {
                *to += factor * value;
            }
        };
        for block in &self.blocks {
            let of_scale = self.column[block.scale];
            let scale = of_scale.map_or_else(|| vector.values[block.scale], |_| 1.0);
            if block.terms.is_empty() {
                add(of_scale, block, scale, &bare[0]);
            }
            for (index, basis) in block.terms.iter().zip(bare) {
                let of_part = self.column[*index];
                let weight = of_part.map_or_else(|| vector.values[*index], |_| 1.0);
                // At most one of the two is solved for.
                add(of_part.or(of_scale), block, scale * weight, basis);
            }
            let of_background = self.column[block.background];
            let background = of_background.map_or_else(|| vector.values[block.background], |_| 1.0);
            add(of_background, block, background, &self.flat);
        }
        of
    }

    /// The model at `values`, all of them as they are.
    fn model(&self, problem: &Problem, values: &[f64], bare: &[Vec<f64>]) -> Vec<f64> {
        let of = self.columns(&problem.vector(values), bare);
        let mut model = of.offset;
        for ((at, _), column) in self.solved.iter().zip(&of.columns) {
            for (model, value) in model.iter_mut().zip(column) {
                *model += values[*at] * value;
            }
        }
        model
    }

    /// Derivatives of the model by a searched parameter `at`, from the intensities at its lower and
    /// upper `ends` with all other `values` kept.
    pub(super) fn slopes(
        &self,
        problem: &Problem,
        values: &[f64],
        at: usize,
        ends: (f64, f64),
        intensities: (&[Vec<f64>], &[Vec<f64>]),
    ) -> Vec<f64> {
        let step = ends.1 - ends.0;
        let moved = |end: f64| {
            let mut moved = values.to_vec();
            moved[at] = end;
            moved
        };
        if let Some(pair) = self.pair {
            let of_ends = [ends.0, ends.1].map(|end| self.factors(problem, pair, &moved(end)));
            if of_ends[0] == of_ends[1] {
                let scale = of_ends[0].0;
                let pairs = intensities.0[0].iter().zip(&intensities.1[0]);
                return pairs
                    .map(|(less, more)| scale * (more - less) / step)
                    .collect();
            }
        }
        let less = self.model(problem, &moved(ends.0), intensities.0);
        let more = self.model(problem, &moved(ends.1), intensities.1);
        let pairs = more.iter().zip(&less);
        pairs.map(|(more, less)| (more - less) / step).collect()
    }

    /// Derivatives of the model by the parameters that are solved for, with their indices.
    pub(super) fn solved_slopes(
        &self,
        problem: &Problem,
        values: &[f64],
        bare: &[Vec<f64>],
    ) -> Vec<(usize, Vec<f64>)> {
        let of = self.columns(&problem.vector(values), bare);
        let indices = self.solved.iter().map(|(at, _)| *at);
        indices.zip(of.columns).collect()
    }

    /// Scale and background at `values`.
    fn factors(&self, problem: &Problem, pair: (Factor, Factor), values: &[f64]) -> (f64, f64) {
        let value = |factor| match factor {
            Factor::Fixed(value) => value,
            Factor::InVector(at) => problem.vector(values).get(Target::Value(at)),
            Factor::Solved(at, _) => values[at],
        };
        (value(pair.0), value(pair.1))
    }

    /// Least squares for both within their bounds: the solution of this convex problem lies inside,
    /// on one of the four edges, or in a corner.
    fn solve(
        &self,
        problem: &Problem,
        pair: (Factor, Factor),
        values: &[f64],
        bare: &[f64],
    ) -> (f64, f64) {
        let known = |factor: Factor| match factor {
            Factor::InVector(at) => Factor::Fixed(problem.vector(values).get(Target::Value(at))),
            factor => factor,
        };
        match (known(pair.0), known(pair.1)) {
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
