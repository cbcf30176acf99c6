//! The problem of a fit: calculation, data, and the parameters to fit.

use super::data_set::{DataSet, Member, joined, split_number};
use super::{Bound, Comparison, Measured};
use crate::{Calculation, Role, SasError, Target, Tie, Ties, Vector};
use std::ops::Range;
use warpstride_core::text::shortest;

/// Start value of a width if none is set: at 0 the intensity does not depend on the width to first
/// order.
const START_WIDTH: f64 = 0.1;

/// Share of its uncertainty, and of its size, by which a parameter at a bound may differ from it: a
/// search that approaches a bound does not end exactly there.
const NEAR: f64 = 1e-3;
/// The same share of its size for a parameter without an uncertainty.
const NEAR_WITHOUT: f64 = 1e-9;

/// Bounds this many times as far apart as the start is from 0 are taken for none.
const UNBOUNDED: f64 = 1e12;

/// A parameter to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Free {
    /// Name of a parameter, or `NAME_pd` for the width of its distribution.
    pub name: String,
    /// Least and greatest value; `None`: the limits of the parameter.
    pub bounds: Option<(f64, f64)>,
    /// Start value; `None`: the value in the vector if it is within the bounds, otherwise their
    /// middle.
    pub start: Option<f64>,
}

impl Free {
    /// A parameter within bounds.
    #[must_use]
    pub fn within(name: &str, low: f64, high: f64) -> Self {
        Self {
            name: name.to_owned(),
            bounds: Some((low, high)),
            start: None,
        }
    }

    /// A parameter within its own limits.
    #[must_use]
    pub fn anywhere(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            bounds: None,
            start: None,
        }
    }

    /// With this start value.
    #[must_use]
    pub fn from(mut self, start: f64) -> Self {
        self.start = Some(start);
        self
    }

    /// Parses `radius=20:100`, `radius=20:45:100` (with the start in the middle) or `radius`.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Self, SasError> {
        let refused = || {
            SasError::Refused(format!(
                "--fit {text}: expected NAME, NAME=LOW:HIGH or NAME=LOW:START:HIGH"
            ))
        };
        let Some((name, bounds)) = text.split_once('=') else {
            return match text.trim() {
                "" => Err(refused()),
                name => Ok(Self::anywhere(name)),
            };
        };
        let numbers = bounds.split(':').map(|word| word.trim().parse::<f64>());
        let numbers: Vec<f64> = numbers.collect::<Result<_, _>>().map_err(|_| refused())?;
        match (name.trim(), numbers.as_slice()) {
            ("", _) => Err(refused()),
            (name, [low, high]) => Ok(Self::within(name, *low, *high)),
            (name, [low, start, high]) => Ok(Self::within(name, *low, *high).from(*start)),
            _ => Err(refused()),
        }
    }
}

/// A fitted parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name, as in [`Free`].
    pub name: String,
    /// Units, as in the definition's table; empty for a relative width.
    pub units: &'static str,
    /// Locations in a vector.
    pub targets: Vec<Target>,
    /// Least and greatest value; either may be infinite.
    pub bounds: (f64, f64),
    /// Start value, within the bounds.
    pub start: f64,
}

impl Parameter {
    /// Scale for changes of the parameter: its absolute value, but at least a share of the range of
    /// its bounds, or of its start if the range is out of all proportion to it.
    pub(super) fn size(&self, value: f64) -> f64 {
        let (span, start) = (self.bounds.1 - self.bounds.0, self.start.abs());
        let unbounded = !span.is_finite() || (start > 0.0 && span > UNBOUNDED * start);
        let floor = 1e-3 * if unbounded { start } else { span };
        let size = value.abs().max(floor);
        if size > 0.0 { size } else { 1.0 }
    }

    /// The bound where `value` is, given its uncertainty if all parameters are free. A value that
    /// is small beside its bounds, but not beside its uncertainty, is not at a bound, nor is one
    /// between bounds that are as near to each other.
    pub(super) fn at_bound(&self, value: f64, uncertainty: Option<f64>) -> Option<Bound> {
        let distance = self.bounds.1 - self.bounds.0;
        let near = match uncertainty {
            Some(uncertainty) => NEAR * uncertainty.min(self.size(value)).min(distance),
            None => NEAR_WITHOUT * self.size(value).min(distance),
        };
        let is_near = |bound: f64| value == bound || (value - bound).abs() <= near;
        match self.bounds {
            (low, _) if is_near(low) => Some(Bound::Least),
            (_, high) if is_near(high) => Some(Bound::Greatest),
            _ => None,
        }
    }

    /// Whether samples are distributed evenly in the logarithm: for positive bounds of more than a
    /// decade.
    pub(super) fn logarithmic(&self) -> bool {
        let (low, high) = self.bounds;
        low > 0.0 && high.is_finite() && high > 10.0 * low
    }

    /// The value at a relative position (0 to 1) within the bounds.
    pub(super) fn at(&self, share: f64) -> f64 {
        let (low, high) = self.bounds;
        let value = if self.logarithmic() {
            low * (high / low).powf(share)
        } else {
            low + (high - low) * share
        };
        value.clamp(low, high)
    }
}

/// The problem of a fit: one or several sets of data. Its vectors have the values of all sets, one
/// after another; with one set they are those of its calculation.
#[derive(Debug, Clone)]
pub struct Problem {
    sets: Vec<Member>,
    /// All data, one set after another.
    measured: Measured,
    base: Vector,
    parameters: Vec<Parameter>,
    ties: Ties,
}

impl Problem {
    /// Fits the parameters `free` of `calculation` to `measured`; all other values are as in
    /// `base`.
    ///
    /// # Errors
    /// Nothing to fit; a duplicate or unknown name; a width without a distribution; an integer
    /// parameter; bounds that are reversed or beyond the parameter's limits; a start outside them;
    /// more parameters than points; or points other than those of the calculation.
    pub fn new(
        calculation: Calculation,
        measured: Measured,
        base: Vector,
        free: &[Free],
    ) -> Result<Self, SasError> {
        let set = DataSet {
            calculation,
            measured,
            base,
        };
        Self::joint(vec![set], free, &[])
    }

    /// Fits one model to several sets of data at once. Each of the parameters `free` has a value
    /// for each set, `radius.1`, `radius.2`, …, unless it is `shared`; `radius.2` in `free` is
    /// fitted in the second set only.
    ///
    /// # Errors
    /// As for [`Self::new`]; no data, sets of different models, a shared parameter that is not
    /// fitted, or the number of a set that does not exist.
    pub fn joint(sets: Vec<DataSet>, free: &[Free], shared: &[String]) -> Result<Self, SasError> {
        let Some(first) = sets.first() else {
            return Err(SasError::Refused(
                "a fit: expected at least one set of data, found none".to_owned(),
            ));
        };
        let model = first.calculation.definition.name().to_owned();
        for set in &sets {
            check_set(&model, set)?;
        }
        if free.is_empty() {
            return Err(SasError::Refused(format!(
                "{model}: expected parameters to fit, such as --fit scale, found none"
            )));
        }
        let (sets, measured, base) = joined(sets);
        let mut problem = Self {
            sets,
            measured,
            base,
            parameters: Vec::with_capacity(free.len()),
            ties: Ties::default(),
        };
        for name in shared {
            if !free.iter().any(|free| free.name == *name) {
                return Err(SasError::Refused(format!(
                    "--share {name}: expected a fitted parameter (--fit {name}=LOW:HIGH), found one that is not fitted for all data"
                )));
            }
        }
        for free in free {
            problem.add(free, shared.contains(&free.name))?;
        }
        let points = problem.measured.intensity.len();
        if problem.parameters.len() > points {
            return Err(SasError::TooFewPoints {
                model,
                parameters: problem.parameters.len(),
                points,
            });
        }
        problem.check(&problem.vector(&problem.start()))?;
        Ok(problem)
    }

    /// Adds a parameter of each set, or one for all.
    fn add(&mut self, free: &Free, shared: bool) -> Result<(), SasError> {
        let several = self.sets.len() > 1;
        let (name, number) = match split_number(&free.name) {
            (name, Some(number)) if several => (name, Some(number)),
            _ => (free.name.as_str(), None),
        };
        if let Some(number) = number
            && !(1..=self.sets.len()).contains(&number)
        {
            return Err(SasError::Refused(format!(
                "{}: expected the number of a data set from 1 to {}, found {number}",
                free.name,
                self.sets.len()
            )));
        }
        let plain = Free {
            name: name.to_owned(),
            ..free.clone()
        };
        let chosen = (0..self.sets.len()).filter(|at| number.is_none_or(|n| n == at + 1));
        let mut found: Vec<Parameter> = Vec::new();
        for at in chosen {
            let set = &self.sets[at];
            let mut parameter = parameter(&set.calculation, &set.part(&self.base), &plain)?;
            for target in &mut parameter.targets {
                *target = set.outer(*target);
            }
            if parameter
                .targets
                .iter()
                .any(|target| self.is_fitted(*target))
            {
                return Err(SasError::Refused(format!(
                    "{}: expected each parameter once, found it twice",
                    free.name
                )));
            }
            match found.first_mut().filter(|_| shared) {
                Some(first) => first.targets.extend(parameter.targets),
                None => {
                    if several && !shared {
                        parameter.name = format!("{name}.{}", at + 1);
                    }
                    found.push(parameter);
                }
            }
        }
        self.parameters.extend(found);
        Ok(())
    }

    /// Checks the values of each set.
    fn check(&self, vector: &Vector) -> Result<(), SasError> {
        let mut sets = self.sets.iter();
        sets.try_for_each(|set| set.calculation.check(&set.part(vector)))
    }

    /// With parameters that follow from others of their set in every vector.
    ///
    /// # Errors
    /// A tie of a fitted parameter, an unknown name, a cycle, or values at the start that cannot be
    /// computed or are outside their limits.
    pub fn tied(mut self, ties: &[Tie]) -> Result<Self, SasError> {
        let mut resolved = Ties::default();
        for set in &self.sets {
            let of_set = Ties::new(&set.calculation, ties)?;
            resolved = resolved.and(of_set, set.values.start, set.widths.start);
        }
        if let Some((tie, _)) = resolved.iter().find(|(_, target)| self.is_fitted(*target)) {
            return Err(SasError::Refused(format!(
                "--tie {}={}: expected a parameter that is not fitted, found --fit {}",
                tie.name,
                tie.expression.text(),
                tie.name
            )));
        }
        let mut start = self.vector(&self.start());
        resolved.apply(&mut start)?;
        self.check(&start)?;
        self.ties = resolved;
        Ok(self)
    }

    /// The calculation of the first set of data.
    #[must_use]
    pub fn calculation(&self) -> &Calculation {
        &self.sets[0].calculation
    }

    /// The sets of data.
    pub(super) fn sets(&self) -> &[Member] {
        &self.sets
    }

    /// The vectors of the sets of data in a vector of all.
    #[must_use]
    pub fn set_vectors(&self, vector: &Vector) -> Vec<Vector> {
        self.sets.iter().map(|set| set.part(vector)).collect()
    }

    /// The comparisons of the sets of data in one of all.
    #[must_use]
    pub fn comparisons(&self, of_all: &Comparison) -> Vec<Comparison> {
        let sets = self.sets.iter();
        sets.map(|set| Comparison {
            measured: set.measured.clone(),
            model: (of_all.model.get(set.points.clone()))
                .unwrap_or_default()
                .to_vec(),
        })
        .collect()
    }

    /// The name of the number at `target`: that of the parameter, or `NAME_pd`, with the number of
    /// the set if there are several.
    pub(super) fn name_of(&self, target: Target) -> String {
        let mut sets = self.sets.iter().enumerate();
        let found = sets.find_map(|(at, set)| Some((at, set, set.inner(target)?)));
        found.map_or_else(String::new, |(at, set, inner)| {
            let name = set.calculation.name_of(inner);
            if self.sets.len() > 1 {
                format!("{name}.{}", at + 1)
            } else {
                name
            }
        })
    }

    /// Units of the number at `target`.
    pub(super) fn units_of(&self, target: Target) -> &'static str {
        let mut sets = self.sets.iter();
        let found = sets.find_map(|set| Some(set.calculation.units_of(set.inner(target)?)));
        found.unwrap_or("")
    }

    /// The data.
    #[must_use]
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// The fitted parameters, in the order of their request.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Start values of the parameters.
    #[must_use]
    pub fn start(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.start).collect()
    }

    /// Number of points minus number of parameters.
    #[must_use]
    pub fn degrees_of_freedom(&self) -> usize {
        self.measured.intensity.len() - self.parameters.len()
    }

    /// The vector with `values` for the fitted parameters; a tied value that cannot be computed is
    /// NaN.
    ///
    /// # Panics
    /// Never for as many values as parameters; with fewer, the remaining parameters keep their base
    /// values.
    #[must_use]
    pub fn vector(&self, values: &[f64]) -> Vector {
        let mut vector = self.base.clone();
        for (parameter, value) in self.parameters.iter().zip(values) {
            for target in &parameter.targets {
                vector.set(*target, *value);
            }
        }
        self.ties.apply_or_nan(&mut vector);
        vector
    }

    /// The ties.
    #[must_use]
    pub fn ties(&self) -> &Ties {
        &self.ties
    }

    /// Names and values of the parameters and widths that are neither fitted nor tied. A number
    /// that is the same in all sets of data is listed once.
    #[must_use]
    pub fn fixed(&self) -> Vec<(String, f64)> {
        let first = &self.sets[0];
        let values = (0..first.values.len()).map(Target::Value);
        let all = values.chain((0..first.widths.len()).map(Target::Width));
        let mut found = Vec::new();
        for inner in all {
            let outer = self.sets.iter().map(|set| set.outer(inner));
            let free: Vec<Target> = outer
                .filter(|target| !self.is_fitted(*target) && !self.ties.sets(*target))
                .collect();
            let numbers: Vec<f64> = free.iter().map(|target| self.base.get(*target)).collect();
            let same = numbers.windows(2).all(|pair| pair[0] == pair[1]);
            if free.len() == self.sets.len() && same {
                found.push((first.calculation.name_of(inner), numbers[0]));
            } else {
                let names = free.iter().map(|target| self.name_of(*target));
                found.extend(names.zip(numbers));
            }
        }
        found
    }

    /// Whether a distribution of sizes is wide with these values of the fitted parameters.
    pub(super) fn has_wide_distribution(&self, values: &[f64]) -> bool {
        let vector = self.vector(values);
        let mut sets = self.sets.iter();
        sets.any(|set| set.calculation.has_wide_distribution(&set.part(&vector)))
    }

    /// Whether the value at `target` is fitted.
    pub(super) fn is_fitted(&self, target: Target) -> bool {
        self.parameters.iter().any(|p| p.targets.contains(&target))
    }

    /// The sets of data, each with the places of its scales and background.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let block = |set: &Member| {
            let definition = &set.calculation.definition;
            let place = |at: usize| set.values.start + at;
            let position = |role| {
                let mut rows = definition.rows().iter();
                place(rows.position(|row| row.role == role).unwrap_or(0))
            };
            Block {
                points: set.points.clone(),
                scale: position(Role::Scale),
                background: position(Role::Background),
                terms: definition.term_scales().map(place).collect(),
            }
        };
        self.sets.iter().map(block).collect()
    }
}

/// Checks that a set of data belongs to `model` and that its calculation suits it.
fn check_set(model: &str, set: &DataSet) -> Result<(), SasError> {
    let DataSet {
        calculation,
        measured,
        base,
    } = set;
    let name = calculation.definition.name();
    if name != model {
        return Err(SasError::Refused(format!(
            "{model}: expected one model for all data, found {name}"
        )));
    }
    if calculation.points != measured.points {
        return Err(SasError::Refused(format!(
            "{model}: expected the model at the points of the data, found {} points for {}, or other coordinates",
            calculation.points.len(),
            measured.points.len()
        )));
    }
    let (rows, widths) = (
        calculation.definition.rows().len(),
        calculation.polydispersity.len(),
    );
    if base.values.len() != rows || base.widths.len() != widths {
        return Err(SasError::Refused(format!(
            "{model}: expected a vector of {rows} values and {widths} widths, found {} and {}",
            base.values.len(),
            base.widths.len()
        )));
    }
    Ok(())
}

/// The points of a set of data, and the numbers on which its intensities depend linearly.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Among all points.
    pub(super) points: Range<usize>,
    /// Index of the scale among the values of a vector.
    pub(super) scale: usize,
    /// Index of the background.
    pub(super) background: usize,
    /// Indices of the scales of the terms of a sum; empty for any other model.
    pub(super) terms: Vec<usize>,
}

fn parameter(calculation: &Calculation, base: &Vector, free: &Free) -> Result<Parameter, SasError> {
    let rows = calculation.definition.rows();
    let model = calculation.definition.name();
    let target = calculation.target(&free.name)?;
    let units = calculation.units_of(target);
    let limits = match target {
        Target::Width(_) => (0.0, f64::INFINITY),
        Target::Value(at) => {
            let row = &rows[at];
            let mode = matches!(
                row.role,
                Role::StructureFactorMode | Role::RadiusEffectiveMode
            );
            if mode || row.is_integer() {
                return Err(SasError::Refused(format!(
                    "{model}: expected a number that can be fitted, found the integer {}; set it with --set and compare fits",
                    row.name
                )));
            }
            row.limits
        }
    };
    let requested = free.bounds.unwrap_or(match target {
        Target::Value(at) if matches!(rows[at].role, Role::Scale | Role::PartScale(_)) => {
            (0.0, f64::INFINITY)
        }
        _ => limits,
    });
    let refused = |why: String| {
        Err(SasError::Refused(format!(
            "--fit {}={}:{}: {why}",
            free.name,
            shortest(requested.0),
            shortest(requested.1)
        )))
    };
    if requested.0.is_nan() || requested.1.is_nan() || requested.0 >= requested.1 {
        return refused("expected a first bound less than the second".to_owned());
    }
    if requested.0 < limits.0 || requested.1 > limits.1 {
        return refused(format!(
            "expected bounds within {} to {}",
            shortest(limits.0),
            shortest(limits.1)
        ));
    }
    if matches!(target, Target::Width(_)) && !requested.1.is_finite() && free.bounds.is_some() {
        return refused("expected a finite upper bound of a width".to_owned());
    }
    // A distribution wider than its centre does not describe sizes.
    let widest = match units {
        "" if matches!(target, Target::Width(_)) => 1.0,
        _ if matches!(target, Target::Width(_)) => 90.0,
        _ => f64::INFINITY,
    };
    let bounds = if free.bounds.is_some() {
        requested
    } else {
        (requested.0, requested.1.min(widest))
    };
    let inside = |value: f64| value.is_finite() && value >= bounds.0 && value <= bounds.1;
    let set = match target {
        Target::Value(at) => base.values[at],
        Target::Width(at) if base.widths[at] > 0.0 => base.widths[at],
        Target::Width(_) => START_WIDTH * if units.is_empty() { 1.0 } else { 100.0 },
    };
    let mut parameter = Parameter {
        name: free.name.clone(),
        units,
        targets: vec![target],
        bounds,
        start: set,
    };
    parameter.start = match free.start {
        Some(start) if inside(start) => start,
        Some(start) => {
            return refused(format!(
                "expected a start within the bounds, found {}",
                shortest(start)
            ));
        }
        None if inside(set) => set,
        None if bounds.0.is_finite() && bounds.1.is_finite() => parameter.at(0.5),
        None if bounds.0.is_finite() => bounds.0,
        None => bounds.1,
    };
    Ok(parameter)
}
