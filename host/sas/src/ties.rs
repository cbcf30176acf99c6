//! Ties: parameters that are functions of others, `thickness = 2*radius`.

use super::expression::Expression;
use super::fit::split_number;
use super::{Calculation, Role, SasError, Target, Vector};
use warpstride_core::text::shortest;

/// A tie as given: the name of a parameter, or `NAME_pd` of a width, and its expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Tie {
    /// The parameter that follows.
    pub name: String,
    /// The expression of other parameters.
    pub expression: Expression,
}

impl Tie {
    /// Parses `NAME=EXPRESSION`, such as `thickness=2*radius`.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Self, SasError> {
        let refused = |why: String| SasError::Refused(format!("--tie {text}: {why}"));
        let (name, expression) = text.split_once('=').ok_or_else(|| {
            refused("expected NAME=EXPRESSION, such as thickness=2*radius".to_owned())
        })?;
        if name.trim().is_empty() {
            return Err(refused(
                "expected the name of a parameter before =, found none".to_owned(),
            ));
        }
        Ok(Self {
            name: name.trim().to_owned(),
            expression: Expression::parse(expression).map_err(refused)?,
        })
    }

    /// The option that gives the tie.
    fn option(&self) -> String {
        format!("--tie {}={}", self.name, self.expression.text())
    }
}

/// The ties of a calculation, in an order in which each can be computed.
#[derive(Debug, Clone, Default)]
pub struct Ties {
    ties: Vec<ResolvedTie>,
}

#[derive(Debug, Clone)]
struct ResolvedTie {
    tie: Tie,
    model: String,
    target: Target,
    /// The values of the expression's names.
    inputs: Vec<Target>,
    limits: (f64, f64),
}

impl Ties {
    /// Resolves the names of the ties of `calculation`.
    ///
    /// # Errors
    /// An unknown name, a parameter that is an integer or has two ties, or a cycle.
    pub fn new(calculation: &Calculation, ties: &[Tie]) -> Result<Self, SasError> {
        let mut waiting = Vec::with_capacity(ties.len());
        for tie in ties {
            let resolved = resolve(calculation, tie)?;
            if waiting
                .iter()
                .any(|other: &ResolvedTie| other.target == resolved.target)
            {
                return Err(SasError::Refused(format!(
                    "{}: expected one tie of each parameter, found two of {}",
                    tie.option(),
                    tie.name
                )));
            }
            waiting.push(resolved);
        }
        let mut ordered = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            let is_free = |tie: &ResolvedTie| {
                let waits = |input: &Target| waiting.iter().any(|other| other.target == *input);
                !tie.inputs.iter().any(waits)
            };
            let Some(next) = waiting.iter().position(is_free) else {
                return Err(cycle(&waiting));
            };
            ordered.push(waiting.remove(next));
        }
        Ok(Self { ties: ordered })
    }

    /// With the ties of another calculation, whose values and widths begin there in a common
    /// vector.
    #[must_use]
    pub(super) fn and(mut self, others: Self, values: usize, widths: usize) -> Self {
        let shifted = |target: Target| match target {
            Target::Value(at) => Target::Value(at + values),
            Target::Width(at) => Target::Width(at + widths),
        };
        self.ties
            .extend(others.ties.into_iter().map(|of| ResolvedTie {
                target: shifted(of.target),
                inputs: of.inputs.into_iter().map(shifted).collect(),
                ..of
            }));
        self
    }

    /// Whether there are no ties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ties.is_empty()
    }

    /// Sets the tied values of `vector`.
    ///
    /// # Errors
    /// An expression cannot be computed, or its value is outside the parameter's limits.
    pub fn apply(&self, vector: &mut Vector) -> Result<(), SasError> {
        for of in &self.ties {
            let value = of
                .value(vector)
                .map_err(|why| SasError::Refused(format!("{}: {why}", of.tie.option())))?;
            let (low, high) = of.limits;
            if !(low..=high).contains(&value) {
                return Err(SasError::Refused(format!(
                    "{}: expected {} to {} for {} of {}, found {}",
                    of.tie.option(),
                    shortest(low),
                    shortest(high),
                    of.tie.name,
                    of.model,
                    shortest(value)
                )));
            }
            vector.set(of.target, value);
        }
        Ok(())
    }

    /// Sets the tied values of `vector`; those that cannot be computed are NaN, which every engine
    /// refuses.
    pub fn apply_or_nan(&self, vector: &mut Vector) {
        for of in &self.ties {
            let value = of.value(vector).unwrap_or(f64::NAN);
            vector.set(of.target, value);
        }
    }

    /// Each tie with the place of its value.
    pub fn iter(&self) -> impl Iterator<Item = (&Tie, Target)> {
        self.ties.iter().map(|of| (&of.tie, of.target))
    }

    /// Whether the value at `target` is tied.
    #[must_use]
    pub fn sets(&self, target: Target) -> bool {
        self.ties.iter().any(|of| of.target == target)
    }

    /// Whether a tie uses the value at `target`.
    #[must_use]
    pub fn uses(&self, target: Target) -> bool {
        self.ties.iter().any(|of| of.inputs.contains(&target))
    }
}

impl ResolvedTie {
    fn value(&self, vector: &Vector) -> Result<f64, String> {
        let inputs: Vec<f64> = self.inputs.iter().map(|input| vector.get(*input)).collect();
        self.tie.expression.value(&inputs)
    }
}

fn resolve(calculation: &Calculation, tie: &Tie) -> Result<ResolvedTie, SasError> {
    let target_of = |name: &str| {
        calculation.target(name).map_err(|error| {
            let (plain, number) = split_number(name);
            let why = match number {
                Some(_) if calculation.target(plain).is_ok() => format!(
                    "expected {plain}, as a tie holds within every data set, found {name} with the number of one"
                ),
                _ => error.to_string(),
            };
            SasError::Refused(format!("{}: {why}", tie.option()))
        })
    };
    let rows = calculation.definition.rows();
    let target = target_of(&tie.name)?;
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
                    "{}: expected a parameter that can have any value, found the integer {}",
                    tie.option(),
                    row.name
                )));
            }
            row.limits
        }
    };
    let names = tie.expression.names().iter();
    let inputs = names.map(|name| target_of(name));
    Ok(ResolvedTie {
        tie: tie.clone(),
        model: calculation.definition.name().to_owned(),
        target,
        inputs: inputs.collect::<Result<_, _>>()?,
        limits,
    })
}

/// The error of ties, each of which waits for another one.
fn cycle(waiting: &[ResolvedTie]) -> SasError {
    let position = |target: &Target| waiting.iter().position(|of| of.target == *target);
    let next = |at: usize| waiting[at].inputs.iter().find_map(position);
    let mut path = Vec::new();
    let mut at = 0;
    while !path.contains(&at) {
        path.push(at);
        at = next(at).unwrap_or(at);
    }
    let begin = path.iter().position(|known| *known == at).unwrap_or(0);
    let names = path[begin..].iter().chain([&at]);
    let names: Vec<&str> = names.map(|at| waiting[*at].tie.name.as_str()).collect();
    SasError::Refused(format!(
        "{}: expected ties without a cycle, found {}",
        waiting[at].tie.option(),
        names.join(" = … ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Definition, Distribution, Points, Polydispersity};

    /// A core-shell sphere whose radius has a distribution.
    fn calculation() -> Calculation {
        let definition = Definition::parse("core_shell_sphere").unwrap();
        let parameter = definition.parameter_index("radius").unwrap();
        let mut calculation = Calculation::new(definition, Points::Curve(vec![0.1]));
        calculation.polydispersity = vec![Polydispersity {
            parameter,
            distribution: Distribution::Gaussian,
            points: 35,
            nsigma: 3.0,
            is_given: true,
        }];
        calculation
    }

    fn ties(texts: &[&str]) -> Result<Ties, SasError> {
        let ties = texts.iter().map(|text| Tie::parse(text));
        Ties::new(&calculation(), &ties.collect::<Result<Vec<_>, _>>()?)
    }

    #[test]
    fn ties_are_computed_in_the_order_of_their_dependence() {
        let ties = ties(&[
            "thickness=radius/sld_shell",
            "sld_shell = 2*sld_core",
            "radius_pd=min(1, 3/radius)",
        ])
        .unwrap();
        let calculation = calculation();
        let mut vector = calculation.defaults();
        let at = |name: &str| calculation.target(name).unwrap();
        vector.set(at("radius"), 60.0);
        vector.set(at("sld_core"), 1.5);
        ties.apply(&mut vector).unwrap();
        assert_eq!(vector.get(at("sld_shell")), 3.0);
        assert_eq!(vector.get(at("thickness")), 20.0);
        assert_eq!(vector.get(at("radius_pd")), 0.05);
        assert_eq!(vector.widths, [0.05]);
        assert!(ties.sets(at("thickness")) && !ties.sets(at("radius")));
        assert!(ties.uses(at("radius")) && !ties.uses(at("thickness")));
    }

    #[test]
    fn bad_ties_are_refused_in_one_sentence() {
        for (texts, words) in [
            (&["thickness"][..], "expected NAME=EXPRESSION"),
            (&["=radius"], "name of a parameter before ="),
            (&["thickness=2*"], "--tie thickness=2*: expected a number"),
            (&["thick=radius"], "thick: expected a parameter of"),
            (
                &["thickness.2=2*radius"],
                "--tie thickness.2=2*radius: expected thickness, as a tie holds within every data set",
            ),
            (&["thickness=2*radius.1"], "expected radius, as a tie"),
            (&["thickness=2*radus"], "radus: expected a parameter of"),
            (&["thickness_pd=radius"], "found none; add --pd thickness="),
            (
                &["thickness=radius", "thickness=2"],
                "expected one tie of each parameter",
            ),
            (
                &["thickness=radius", "radius=thickness"],
                "without a cycle, found thickness = … radius = … thickness",
            ),
            (
                &["radius=thickness", "thickness=thickness+1"],
                "found thickness = … thickness",
            ),
        ] {
            let refused = ties(texts).unwrap_err().to_string();
            assert!(refused.contains(words), "{texts:?}: {refused}");
        }
        for (text, words) in [
            ("thickness=1/(radius-radius)", "a division by zero"),
            (
                "thickness=-radius",
                "expected 0 to inf for thickness of core_shell_sphere, found -60",
            ),
        ] {
            let ties = ties(&[text]).unwrap();
            let mut vector = calculation().defaults();
            let refused = ties.apply(&mut vector).unwrap_err().to_string();
            assert!(refused.contains(words), "{text}: {refused}");
            ties.apply_or_nan(&mut vector);
            assert!(calculation().check(&vector).is_err());
        }
    }
}
