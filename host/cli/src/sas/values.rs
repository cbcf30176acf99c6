//! Option `--set`: values of a model's parameters, and notes on those without effect.

use super::names;
use super::parameters::{PolydispersityArg, items, number};
use crate::failure::Failure;
use warpstride::sas::fit::split_number;
use warpstride::sas::{Definition, ParameterRow, Part, Role};
use warpstride::text::shortest;

/// The values of all parameters: the defaults, replaced by those of `--set`.
pub(super) fn values(definition: &Definition, set: &[String]) -> Result<Values, Failure> {
    let mut values = definition.defaults();
    let mut is_set = vec![false; values.len()];
    for item in items(set) {
        let option = format!("--set {item}");
        let Some((name, text)) = item.split_once('=') else {
            return Err(Failure::usage(format!(
                "{option}: expected NAME=VALUE, such as radius=60"
            )));
        };
        refuse_width(definition, &option, name)?;
        let parameter = names::parameter_index(definition, &option, name)?;
        let row = &definition.rows()[parameter];
        let value = number(&option, text, "a number")?;
        let (low, high) = row.limits;
        if !(low..=high).contains(&value) {
            return Err(Failure::usage(format!(
                "{option}: expected {} to {} for {name} of {}",
                shortest(low),
                shortest(high),
                definition.name()
            )));
        }
        let selects = matches!(
            row.role,
            Role::StructureFactorMode | Role::RadiusEffectiveMode
        );
        let counts = row.is_integer();
        if (selects || counts) && value.fract() != 0.0 {
            return Err(Failure::usage(format!(
                "{option}: expected an integer from {low} to {high}"
            )));
        }
        if std::mem::replace(&mut is_set[parameter], true) {
            return Err(Failure::usage(format!(
                "{option}: expected each parameter once, found {name} twice"
            )));
        }
        values[parameter] = value;
    }
    Ok(Values { values, is_set })
}

/// The lists of `--set` for a data set, by its number from 1 among `count`: `NAME.2=VALUE` applies
/// to the second one only, and goes before `NAME=VALUE`.
pub(super) fn of_data_set(
    set: &[String],
    number: usize,
    count: usize,
) -> Result<Vec<String>, Failure> {
    if count == 1 {
        return Ok(set.to_vec());
    }
    let (mut common, mut own): (Vec<&str>, Vec<(&str, String)>) = (Vec::new(), Vec::new());
    for item in items(set) {
        let (name, value) = item.split_once('=').unwrap_or((item, ""));
        let (name, numbered) = split_number(name);
        match numbered {
            None => common.push(item),
            Some(n) if !(1..=count).contains(&n) => {
                return Err(Failure::usage(format!(
                    "--set {item}: expected the number of a data file from 1 to {count}, found {n}"
                )));
            }
            Some(n) if n == number => own.push((name, format!("{name}={value}"))),
            Some(_) => {}
        }
    }
    common.retain(|item| {
        let name = item.split('=').next().unwrap_or_default();
        !own.iter().any(|(other, _)| *other == name)
    });
    let common = common.into_iter().map(str::to_owned);
    Ok(common
        .chain(own.into_iter().map(|(_, item)| item))
        .collect())
}

/// A value of every parameter.
#[derive(Debug, Clone)]
pub(super) struct Values {
    pub(super) values: Vec<f64>,
    /// Whether `--set` gave the value.
    pub(super) is_set: Vec<bool>,
}

impl Values {
    /// The parameters that have an effect; `pixels`: in two dimensions.
    pub(super) fn effective(&self, definition: &Definition, pixels: bool) -> Vec<bool> {
        let rows = definition.rows();
        let own_radius = |part: Option<usize>| {
            let of_part = rows.iter().zip(&self.values);
            of_part
                .filter(|(row, _)| row.part == part && row.role == Role::RadiusEffectiveMode)
                .any(|(_, value)| *value > 0.0)
        };
        rows.iter()
            .map(|row| match row.role {
                Role::Angle(_) | Role::Spin(_) | Role::Moment { .. } => pixels,
                Role::Structure(0) => !own_radius(row.part),
                _ => true,
            })
            .collect()
    }

    /// Notes on values that were set and have no effect, because of `polydispersity` among others;
    /// `pixels`: in two dimensions.
    pub(super) fn without_effect(
        &self,
        definition: &Definition,
        polydispersity: &[PolydispersityArg],
        pixels: bool,
    ) -> Vec<String> {
        let effective = self.effective(definition, pixels);
        let rows = definition.rows();
        let replaced = |index: usize| {
            let array = |p: &PolydispersityArg| p.parameter_index() == index && p.file().is_some();
            polydispersity.iter().any(array) && !matches!(rows[index].role, Role::Angle(_))
        };
        let beyond = self.beyond_count(definition);
        let set = (0..rows.len()).filter(|index| self.is_set[*index]);
        // The command in a file sets all values, and those of the model are no loss.
        let changed = |index: usize| self.values[index] != rows[index].default;
        let lost = |index: usize| changed(index) && (replaced(index) || beyond[index].is_some());
        set.filter(|index| !effective[*index] || lost(*index))
            .map(|index| {
                let (row, name) = (&rows[index], &rows[index].name);
                if replaced(index) {
                    return format!(
                        "--set {name}: not used, because the file of --pd {name}=array:… gives the values"
                    );
                }
                if let Some(count) = &beyond[index] {
                    return format!("--set {name}: not used, because {count}");
                }
                match row.role {
                    Role::Angle(_) => format!(
                        "--set {name}: a curve is averaged over all directions, so angles have no effect; use --q2d for an image"
                    ),
                    Role::Structure(_) => format!(
                        "--set {name}: not used, because the form factor gives the radius; set radius_effective_mode=0 to use it"
                    ),
                    _ => format!(
                        "--set {name}: magnetism has an effect in two dimensions only (--q2d)"
                    ),
                }
            })
            .collect()
    }
}

/// The parameter of a model that says how many elements of its arrays, such as shells, there are.
const COUNTS: [&str; 2] = ["n", "n_shells"];

impl Values {
    /// For each parameter that is an element of an array beyond the number of elements in use, that
    /// number: `n=1`.
    fn beyond_count(&self, definition: &Definition) -> Vec<Option<String>> {
        let rows = definition.rows();
        let mut beyond = vec![None; rows.len()];
        let counts = rows.iter().zip(&self.values).filter(|(row, _)| {
            COUNTS.contains(&row.base_name()) && matches!(row.role, Role::Form(_))
        });
        for (of, count) in counts {
            let parts = definition.parts();
            let part = of.part.and_then(|part| parts.get(part));
            let form = part.map_or(definition, Part::definition).form();
            let arrays = form.info().parameters.iter();
            for array in arrays.filter(|array| array.length > 1) {
                for i in (1..=array.length).filter(|i| *i as f64 > *count) {
                    let element = format!("{}{i}", array.name);
                    let is_element =
                        |row: &ParameterRow| row.part == of.part && row.base_name() == element;
                    if let Some(index) = rows.iter().position(is_element) {
                        beyond[index] = Some(format!("{}={}", of.name, shortest(*count)));
                    }
                }
            }
        }
        beyond
    }
}

/// Refuses names like `radius_pd`, which are widths of distributions.
fn refuse_width(definition: &Definition, option: &str, name: &str) -> Result<(), Failure> {
    if let Some(of) = name.strip_suffix("_pd")
        && definition.parameter_index(of).is_ok()
        && definition.parameter_index(name).is_err()
    {
        return Err(Failure::usage(format!(
            "{option}: expected --pd {of}=WIDTH:KIND, as {name} is a width"
        )));
    }
    Ok(())
}
