//! Look-up of models and parameters by name, with a suggestion for misspelt names.

use crate::failure::Failure;
use warpstride::sas::fit::split_number;
use warpstride::sas::{Definition, SasError};
use warpstride_kernels::sas::catalogue;

/// The model of that name, `P` or `P@S`.
pub(super) fn definition(given: &str) -> Result<Definition, Failure> {
    Definition::parse(given).map_err(|error| match error {
        SasError::NoModel { name, .. } => {
            let known = catalogue::models().iter().map(|model| model.info().name);
            Failure::usage(format!(
                "{name}: expected the name of a model{}; `warpstride sas models` lists them",
                suggestion(nearest(&name, known))
            ))
        }
        other => Failure::usage(other),
    })
}

/// Adds the parameters of magnetism if one of the `NAME=…` items names one of them.
pub(super) fn with_magnetism_of<'a>(
    definition: Definition,
    mut named: impl Iterator<Item = &'a str>,
) -> Definition {
    let magnetic = definition.clone().with_magnetism();
    let is_magnetic = |item: &str| {
        let (name, _) = split_number(item.split('=').next().unwrap_or_default());
        definition.parameter_index(name).is_err() && magnetic.parameter_index(name).is_ok()
    };
    if named.any(is_magnetic) {
        magnetic
    } else {
        definition
    }
}

/// Index of the parameter that `option` names.
pub(super) fn parameter_index(
    definition: &Definition,
    option: &str,
    name: &str,
) -> Result<usize, Failure> {
    definition.parameter_index(name).map_err(|_| {
        let names = || definition.rows().iter().map(|row| row.name.as_str());
        Failure::usage(format!(
            "{option}: expected a parameter of {}{}: {}",
            definition.name(),
            suggestion(nearest(name, names())),
            names().collect::<Vec<_>>().join(", ")
        ))
    })
}

fn suggestion(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

/// The known name with the smallest edit distance from `given`, or one that contains it or is
/// contained in it.
fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let given = given.to_lowercase().replace('-', "_");
    let max_distance = (given.chars().count() / 3).max(1);
    known
        .clone()
        .map(|name| (strsim::damerau_levenshtein(&given, name), name))
        .filter(|(distance, _)| *distance <= max_distance)
        .min()
        .map(|(_, name)| name)
        .or_else(|| {
            let mut names = known;
            names.find(|name| {
                given.len() > 2 && (name.contains(&given) || given.contains(name) && name.len() > 2)
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_made_for_near_misses_only() {
        let known = ["sphere", "cylinder", "core_shell_sphere"];
        let near = |given| nearest(given, known.iter().copied());
        assert_eq!(near("shpere"), Some("sphere"));
        assert_eq!(near("Cylinders"), Some("cylinder"));
        assert_eq!(near("core-shell-sphere"), Some("core_shell_sphere"));
        assert_eq!(near("core_shell"), Some("core_shell_sphere"));
        assert_eq!(near("banana"), None);
        assert_eq!(near(""), None);
    }
}
