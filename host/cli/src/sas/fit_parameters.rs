//! Options `--fit` and `--qrange`: fitted parameters, their bounds, and the range of q.

use super::model_config::ModelConfig;
use super::names;
use super::parameters::{items, number};
use crate::failure::Failure;
use warpstride::sas::fit::{Free, split_number};
use warpstride::sas::{ParameterRow, Role};
use warpstride::text::shortest;

/// The fitted parameters.
#[derive(Debug)]
pub(super) struct FitParameters {
    pub(super) free: Vec<Free>,
    /// Index in the model's table of each; for a width, that of its parameter.
    pub(super) indices: Vec<usize>,
    /// The data set in which each is fitted, from 0; none: all.
    sets: Vec<Option<usize>>,
    /// Names that all data sets share.
    pub(super) shared: Vec<String>,
    /// Parameters that are fitted without being named.
    pub(super) implied: Vec<String>,
}

/// Prefixes of names whose parameters, like a contrast, multiply the whole intensity together with
/// `scale`.
const FACTORS: [&str; 6] = [
    "i_zero",
    "lorentz_scale",
    "peak_scale",
    "porod_scale",
    "volfraction",
    "sld",
];

impl FitParameters {
    /// Checks names and bounds; `models` has the model of each data set, and `share` the lists of
    /// `--share`.
    pub(super) fn from_args(
        models: &[ModelConfig],
        args: &[String],
        share: &[String],
    ) -> Result<Self, Failure> {
        let mut parameters = Self {
            free: Vec::new(),
            indices: Vec::new(),
            sets: Vec::new(),
            shared: items(share).map(str::to_owned).collect(),
            implied: Vec::new(),
        };
        if let (Some(name), [_]) = (parameters.shared.first(), models) {
            return Err(Failure::usage(format!(
                "--share {name}: expected several data files, found one"
            )));
        }
        for item in items(args) {
            let free = Free::parse(item).map_err(Failure::usage)?;
            let option = format!("--fit {item}");
            if parameters.free.iter().any(|other| other.name == free.name) {
                return Err(Failure::usage(format!(
                    "{option}: expected each parameter once, found {} twice",
                    free.name
                )));
            }
            let (name, number) = match split_number(&free.name) {
                (name, Some(number)) if models.len() > 1 => (name.to_owned(), Some(number)),
                _ => (free.name.clone(), None),
            };
            if let Some(number) = number
                && !(1..=models.len()).contains(&number)
            {
                return Err(Failure::usage(format!(
                    "{option}: expected the number of a data file from 1 to {}, found {number}",
                    models.len()
                )));
            }
            let set = number.map(|number| number - 1);
            let plain = Free {
                name,
                ..free.clone()
            };
            let mut found = None;
            for (at, model) in models.iter().enumerate() {
                if set.is_none_or(|set| set == at) {
                    if model.ties.iter().any(|tie| tie.name == plain.name) {
                        return Err(Failure::usage(format!(
                            "{option}: expected --fit or --tie for {}, found both",
                            plain.name
                        )));
                    }
                    found = Some(index(model, &option, &plain)?);
                }
            }
            parameters.add(free, found.unwrap_or(0), set);
        }
        if parameters.free.is_empty() {
            return Err(Failure::usage(
                "--fit: expected the parameters to fit, such as --fit radius=20:100 --fit scale, found none",
            ));
        }
        parameters.add_linear(models);
        Ok(parameters)
    }

    fn add(&mut self, free: Free, index: usize, set: Option<usize>) {
        self.free.push(free);
        self.indices.push(index);
        self.sets.push(set);
    }

    /// Indices in the model's table of the parameters that are fitted in a data set.
    pub(super) fn in_set(&self, set: usize) -> impl Iterator<Item = (&Free, usize)> {
        let all = self.free.iter().zip(&self.indices).zip(&self.sets);
        all.filter(move |(_, of)| of.is_none_or(|of| of == set))
            .map(|((free, index), _)| (free, *index))
    }

    /// Adds scale and background unless they were set or another fitted parameter multiplies the
    /// whole intensity; of a sum, the scale of each term unless that of the whole is fitted.
    fn add_linear(&mut self, models: &[ModelConfig]) {
        let Some(first) = models.first() else { return };
        let is_sum = first.definition.term_scales().next().is_some();
        let terms = first.definition.terms();
        for (index, row) in first.definition.rows().iter().enumerate() {
            let is_fitted = |(at, model): (usize, &ModelConfig)| {
                let is_named = |name: &str| {
                    let several = models.len() > 1;
                    self.in_set(at).any(|(free, _)| {
                        free.name == name || several && split_number(&free.name).0 == name
                    })
                };
                let fitted = match row.role {
                    Role::Background => true,
                    Role::Scale => !is_sum && !self.has_factor(model, at, |_| true),
                    Role::PartScale(term) => {
                        let term = terms.get(term).map(|term| term.parts.clone());
                        let of_term = |part: Option<usize>| {
                            part.zip(term.as_ref())
                                .is_some_and(|(part, term)| term.contains(&part))
                        };
                        !is_named("scale") && !self.has_factor(model, at, of_term)
                    }
                    _ => false,
                };
                let tied = model.ties.iter().any(|tie| tie.name == row.name);
                fitted && !is_named(&row.name) && !tied && !model.values.is_set[index]
            };
            let fitted: Vec<bool> = models.iter().enumerate().map(is_fitted).collect();
            let mut imply = |name: String, set: Option<usize>| {
                self.add(Free::anywhere(&name), index, set);
                self.implied.push(name);
            };
            if fitted.iter().all(|fitted| *fitted) {
                imply(row.name.clone(), None);
                continue;
            }
            for at in (0..fitted.len()).filter(|at| fitted[*at]) {
                imply(format!("{}.{}", row.name, at + 1), Some(at));
            }
        }
    }

    /// Whether a fitted parameter of some parts of a sum or product (`None`: of any other model)
    /// multiplies all of the intensity.
    fn has_factor(
        &self,
        model: &ModelConfig,
        set: usize,
        of: impl Fn(Option<usize>) -> bool,
    ) -> bool {
        self.in_set(set).any(|(_, index)| {
            let row = &model.definition.rows()[index];
            let named = FACTORS.iter().any(|name| row.base_name().starts_with(name));
            of(row.part) && (row.sld || named && matches!(row.role, Role::Form(_)))
        })
    }

    /// A note on the parameters that were added.
    pub(super) fn note(&self) -> Option<String> {
        let first = self.implied.first()?;
        let names = match self.implied.split_last() {
            Some((last, [.., before])) if self.implied.len() > 2 => {
                let others = &self.implied[..self.implied.len() - 2];
                format!("{}, {before} and {last}", others.join(", "))
            }
            _ => self.implied.join(" and "),
        };
        let are = if self.implied.len() == 1 { "is" } else { "are" };
        Some(format!(
            "{names} {are} also fitted; --set {first}=… fixes the value"
        ))
    }

    /// Refuses an option `over` bounds if a parameter has no finite ones; scale and background are
    /// solved for and need none.
    pub(super) fn check_bounds(&self, model: &ModelConfig, over: &str) -> Result<(), Failure> {
        let rows = model.definition.rows();
        let open = |(free, index): &(&Free, &usize)| {
            let row = &rows[**index];
            let (low, high) = free.bounds.unwrap_or(row.limits);
            let solved = matches!(
                row.role,
                Role::Scale | Role::Background | Role::PartScale(_)
            );
            self.is_value(free, row) && !solved && !(low.is_finite() && high.is_finite())
        };
        match self.free.iter().zip(&self.indices).find(open) {
            Some((free, _)) => Err(Failure::usage(format!(
                "{over}: expected finite bounds of every parameter, found none of {}; use --fit {}=LOW:HIGH",
                free.name, free.name
            ))),
            None => Ok(()),
        }
    }

    /// Whether the parameter is the value of a row, and not the width of its distribution.
    fn is_value(&self, free: &Free, row: &ParameterRow) -> bool {
        free.name == row.name || split_number(&free.name).0 == row.name
    }
}

fn index(model: &ModelConfig, option: &str, free: &Free) -> Result<usize, Failure> {
    let definition = &model.definition;
    if definition.parameter_index(&free.name).is_err()
        && let Some(of) = free.name.strip_suffix("_pd")
    {
        let index = names::parameter_index(definition, option, of)?;
        let Some(polydispersity) = model
            .polydispersity
            .iter()
            .find(|s| s.parameter_index() == index)
        else {
            return Err(Failure::usage(format!(
                "{option}: expected a distribution of {of} whose width can be fitted, found none; add --pd {of}=0.1:gaussian"
            )));
        };
        if polydispersity.file().is_some() {
            return Err(Failure::usage(format!(
                "{option}: expected a distribution with a width, found that of {of} from a file"
            )));
        }
        return Ok(index);
    }
    let index = names::parameter_index(definition, option, &free.name)?;
    if matches!(
        definition.rows()[index].role,
        Role::StructureFactorMode | Role::RadiusEffectiveMode
    ) {
        return Err(Failure::usage(format!(
            "{option}: expected a number that can be fitted, found one that selects a formula; use --set {}=N",
            free.name
        )));
    }
    if let Some((low, high)) = free.bounds
        && model.values.is_set[index]
    {
        let value = model.values.values[index];
        if !(low..=high).contains(&value) {
            return Err(Failure::usage(format!(
                "{option}: expected bounds around the start --set {}={}, found {} to {}, outside of which it is",
                free.name,
                shortest(value),
                shortest(low),
                shortest(high)
            )));
        }
    }
    Ok(index)
}

/// Parses `A:B`; either may be omitted.
pub(super) fn q_range(text: &str) -> Result<(f64, f64), Failure> {
    let option = format!("--qrange {text}");
    let refuse = |why: &str| Err(Failure::usage(format!("{option}: {why}")));
    let Some((low, high)) = text.split_once(':') else {
        return refuse("expected A:B, such as 0.01:0.3");
    };
    let end = |text: &str, missing: f64| match text.trim() {
        "" => Ok(missing),
        text => number(&option, text, "a q in 1/A"),
    };
    let (low, high) = (end(low, 0.0)?, end(high, f64::INFINITY)?);
    if low < 0.0 || low >= high {
        return refuse("expected A of 0 or more, and B greater than A");
    }
    Ok((low, high))
}
