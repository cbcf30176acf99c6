//! A fit before it runs: calculation, data, and the parameters that are searched.

use super::Measured;
use crate::sas::{Calculation, Role, SasError, Vector};

/// Parameters that count things: a derivative means nothing.
const WHOLE: [&str; 6] = [
    "n",
    "n_shells",
    "n_steps",
    "n_stacking",
    "num_pearls",
    "Nlayers",
];

/// Width that a search begins with where none was set: at 0 the intensity does not depend on it to first order.
const START_WIDTH: f64 = 0.1;

/// What to fit, as asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Free {
    /// A parameter, or `NAME_pd` for the width of its spread.
    pub name: String,
    /// Least and greatest value; `None`: the parameter's own limits.
    pub bounds: Option<(f64, f64)>,
    /// Where to begin; `None`: at the value in the vector if the bounds have it, else in their middle.
    pub start: Option<f64>,
}

impl Free {
    /// Within bounds.
    #[must_use]
    pub fn within(name: &str, low: f64, high: f64) -> Self {
        Self {
            name: name.to_owned(),
            bounds: Some((low, high)),
            start: None,
        }
    }

    /// Anywhere that the parameter may be.
    #[must_use]
    pub fn anywhere(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            bounds: None,
            start: None,
        }
    }

    /// Beginning there.
    #[must_use]
    pub fn from(mut self, start: f64) -> Self {
        self.start = Some(start);
        self
    }

    /// `radius=20:100`, `radius=20:45:100` (with the start in the middle) or `radius`.
    ///
    /// # Errors
    /// Anything else, in a sentence.
    pub fn parse(text: &str) -> Result<Self, SasError> {
        let refused = || {
            SasError::Refused(format!(
                "--fit {text}: NAME, NAME=LEAST:GREATEST or NAME=LEAST:START:GREATEST is expected"
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

/// Where a fitted number stands in a [`Vector`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// In its values.
    Value(usize),
    /// In its widths.
    Width(usize),
}

/// A fitted parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// As asked for.
    pub name: String,
    /// As in the definition's table; nothing for a relative width.
    pub units: &'static str,
    /// Its place.
    pub target: Target,
    /// Least and greatest value, either may be infinite.
    pub bounds: (f64, f64),
    /// Where the search begins, within the bounds.
    pub start: f64,
}

impl Parameter {
    /// Length below which a change is small: its size, or a share of what the bounds allow.
    pub(super) fn size(&self, value: f64) -> f64 {
        let span = self.bounds.1 - self.bounds.0;
        let floor = if span.is_finite() {
            1e-3 * span
        } else {
            1e-3 * self.start.abs()
        };
        let size = value.abs().max(floor);
        if size > 0.0 { size } else { 1.0 }
    }

    /// Whether samples are spread evenly in its logarithm: positive and over more than a decade.
    pub(super) fn logarithmic(&self) -> bool {
        let (low, high) = self.bounds;
        low > 0.0 && high.is_finite() && high > 10.0 * low
    }

    /// The value at a share 0…1 of its bounds.
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

/// A fit before it runs.
#[derive(Debug, Clone)]
pub struct Problem {
    calculation: Calculation,
    measured: Measured,
    base: Vector,
    parameters: Vec<Parameter>,
}

impl Problem {
    /// Fits `free` of `calculation` to `measured`; every other number is as in `base`.
    ///
    /// # Errors
    /// One sentence: nothing to fit, a name twice or unknown, a width without a spread, something that counts,
    /// bounds that are reversed or beyond the parameter's limits, a start outside of them, more parameters than
    /// points, points that are not the calculation's.
    pub fn new(
        calculation: Calculation,
        measured: Measured,
        base: Vector,
        free: &[Free],
    ) -> Result<Self, SasError> {
        let model = calculation.definition.name();
        if calculation.points != measured.points {
            return Err(SasError::Refused(format!(
                "{model}: the model is computed at {} points and the data have {}, or they lie elsewhere",
                calculation.points.len(),
                measured.points.len()
            )));
        }
        let (rows, spreads) = (calculation.definition.rows().len(), &calculation.spreads);
        if base.values.len() != rows || base.widths.len() != spreads.len() {
            return Err(SasError::Refused(format!(
                "{model}: a vector of {} values and {} widths was given, {rows} and {} are expected",
                base.values.len(),
                base.widths.len(),
                spreads.len()
            )));
        }
        if free.is_empty() {
            return Err(SasError::Refused(format!(
                "{model}: there is nothing to fit; name parameters with --fit, such as --fit scale"
            )));
        }
        if free.len() > measured.intensity.len() {
            return Err(SasError::TooFewPoints {
                model: model.to_owned(),
                parameters: free.len(),
                points: measured.intensity.len(),
            });
        }
        let mut parameters: Vec<Parameter> = Vec::with_capacity(free.len());
        for wish in free {
            let parameter = parameter(&calculation, &base, wish)?;
            if parameters.iter().any(|p| p.target == parameter.target) {
                return Err(SasError::Refused(format!(
                    "{} is to be fitted twice",
                    wish.name
                )));
            }
            parameters.push(parameter);
        }
        let problem = Self {
            calculation,
            measured,
            base,
            parameters,
        };
        problem
            .calculation
            .check(&problem.vector(&problem.start()))?;
        Ok(problem)
    }

    /// What is computed.
    #[must_use]
    pub fn calculation(&self) -> &Calculation {
        &self.calculation
    }

    /// The data.
    #[must_use]
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// What is fitted, in the order asked for.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Where it begins: a value for each parameter.
    #[must_use]
    pub fn start(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.start).collect()
    }

    /// Points less parameters.
    #[must_use]
    pub fn degrees_of_freedom(&self) -> usize {
        self.measured.intensity.len() - self.parameters.len()
    }

    /// The vector that has `values` for the fitted parameters.
    ///
    /// # Panics
    /// Never for as many values as parameters; fewer leave the rest as it was.
    #[must_use]
    pub fn vector(&self, values: &[f64]) -> Vector {
        let mut vector = self.base.clone();
        for (parameter, value) in self.parameters.iter().zip(values) {
            match parameter.target {
                Target::Value(at) => vector.values[at] = *value,
                Target::Width(at) => vector.widths[at] = *value,
            }
        }
        vector
    }

    /// Values and widths that are not fitted, by name.
    #[must_use]
    pub fn fixed(&self) -> Vec<(String, f64)> {
        let rows = self.calculation.definition.rows();
        let free = |target| self.parameters.iter().any(|p| p.target == target);
        let values = (0..rows.len()).filter(|i| !free(Target::Value(*i)));
        let widths = (0..self.base.widths.len()).filter(|i| !free(Target::Width(*i)));
        let named = values.map(|i| (rows[i].name.clone(), self.base.values[i]));
        named
            .chain(widths.map(|i| {
                let row = &rows[self.calculation.spreads[i].parameter];
                (format!("{}_pd", row.name), self.base.widths[i])
            }))
            .collect()
    }

    /// Places of scale and background in a vector's values.
    pub(super) fn linear_places(&self) -> (Option<usize>, Option<usize>) {
        let rows = self.calculation.definition.rows();
        let place = |role| rows.iter().position(|row| row.role == role);
        (place(Role::Scale), place(Role::Background))
    }
}

fn parameter(calculation: &Calculation, base: &Vector, wish: &Free) -> Result<Parameter, SasError> {
    let rows = calculation.definition.rows();
    let model = calculation.definition.name();
    let of_width = wish.name.strip_suffix("_pd").filter(|of| {
        let known = |name: &str| rows.iter().any(|row| row.name == name);
        !known(&wish.name) && known(of)
    });
    let (target, units, limits) = if let Some(of) = of_width {
        let at = calculation
            .spreads
            .iter()
            .position(|spread| rows.get(spread.parameter).is_some_and(|row| row.name == of))
            .ok_or_else(|| {
                SasError::Refused(format!(
                    "{} cannot be fitted without a distribution of {of}: add --pd {of}={START_WIDTH}",
                    wish.name
                ))
            })?;
        let row = &rows[calculation.spreads[at].parameter];
        let units = if matches!(row.role, Role::Angle(_)) {
            row.units
        } else {
            ""
        };
        (Target::Width(at), units, (0.0, f64::INFINITY))
    } else {
        let at = calculation.definition.place(&wish.name)?;
        let row = &rows[at];
        let mode = matches!(
            row.role,
            Role::StructureFactorMode | Role::RadiusEffectiveMode
        );
        if mode || WHOLE.contains(&row.name.as_str()) {
            return Err(SasError::Refused(format!(
                "{model}: {} takes whole numbers and cannot be fitted; set it with --set and compare fits",
                row.name
            )));
        }
        (Target::Value(at), row.units, row.limits)
    };
    let asked = wish.bounds.unwrap_or(match target {
        Target::Value(at) if rows[at].role == Role::Scale => (0.0, f64::INFINITY),
        _ => limits,
    });
    let refused = |why: String| {
        Err(SasError::Refused(format!(
            "{model}: --fit {}={}:{}: {why}",
            wish.name, asked.0, asked.1
        )))
    };
    if asked.0.is_nan() || asked.1.is_nan() || asked.0 >= asked.1 {
        return refused("the first bound must be less than the second".to_owned());
    }
    if asked.0 < limits.0 || asked.1 > limits.1 {
        return refused(format!(
            "{} must stay from {} to {}",
            wish.name, limits.0, limits.1
        ));
    }
    if matches!(target, Target::Width(_)) && !asked.1.is_finite() && wish.bounds.is_some() {
        return refused("a width needs a finite bound".to_owned());
    }
    // Wider than its centre, a distribution is no longer one of sizes.
    let widest = match units {
        "" if matches!(target, Target::Width(_)) => 1.0,
        _ if matches!(target, Target::Width(_)) => 90.0,
        _ => f64::INFINITY,
    };
    let bounds = if wish.bounds.is_some() {
        asked
    } else {
        (asked.0, asked.1.min(widest))
    };
    let inside = |value: f64| value.is_finite() && value >= bounds.0 && value <= bounds.1;
    let set = match target {
        Target::Value(at) => base.values[at],
        Target::Width(at) if base.widths[at] > 0.0 => base.widths[at],
        Target::Width(_) => START_WIDTH * if units.is_empty() { 1.0 } else { 100.0 },
    };
    let mut parameter = Parameter {
        name: wish.name.clone(),
        units,
        target,
        bounds,
        start: set,
    };
    parameter.start = match wish.start {
        Some(start) if inside(start) => start,
        Some(start) => return refused(format!("its start {start} lies outside of these")),
        None if inside(set) => set,
        None if bounds.0.is_finite() && bounds.1.is_finite() => parameter.at(0.5),
        None if bounds.0.is_finite() => bounds.0,
        None => bounds.1,
    };
    Ok(parameter)
}
