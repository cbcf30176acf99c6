//! Names of models and parameters as typed, with the one that may have been meant.

use crate::cli::failure::Failure;
use warpstride::sas::{Definition, SasError};
use warpstride_kernels::sas::catalogue;

/// The model that was typed, `P` or `P@S`.
pub(super) fn definition(typed: &str) -> Result<Definition, Failure> {
    Definition::parse(typed).map_err(|error| match error {
        SasError::NoModel { name, .. } => {
            let known = catalogue::models().iter().map(|model| model.info().name);
            Failure::usage(format!(
                "there is no model {name}{}; `warpstride sas models` lists them",
                meant(nearest(&name, known))
            ))
        }
        other => Failure::usage(other),
    })
}

/// With the parameters of magnetism where one of the `NAME=…` names one of these.
pub(super) fn with_magnetism_of<'a>(
    definition: Definition,
    mut named: impl Iterator<Item = &'a str>,
) -> Definition {
    let magnetic = definition.clone().with_magnetism();
    let only_there = |item: &str| {
        let name = item.split('=').next().unwrap_or_default();
        definition.place(name).is_err() && magnetic.place(name).is_ok()
    };
    if named.any(only_there) {
        magnetic
    } else {
        definition
    }
}

/// Place of the parameter that `option` names.
pub(super) fn place(definition: &Definition, option: &str, name: &str) -> Result<usize, Failure> {
    definition.place(name).map_err(|_| {
        let names = || definition.rows().iter().map(|row| row.name.as_str());
        Failure::usage(format!(
            "{option}: {} has no parameter {name}{}; it has {}",
            definition.name(),
            meant(nearest(name, names())),
            names().collect::<Vec<_>>().join(", ")
        ))
    })
}

fn meant(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

/// The name that a slip of the finger makes into `typed`, or that one of the two begins with.
fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    let slips = (typed.chars().count() / 3).max(1);
    known
        .clone()
        .map(|name| (strsim::damerau_levenshtein(&typed, name), name))
        .filter(|(distance, _)| *distance <= slips)
        .min()
        .map(|(_, name)| name)
        .or_else(|| {
            let mut names = known;
            names.find(|name| {
                typed.len() > 2 && (name.contains(&typed) || typed.contains(name) && name.len() > 2)
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_seen_and_strangers_are_not() {
        let known = ["sphere", "cylinder", "core_shell_sphere"];
        let near = |typed| nearest(typed, known.iter().copied());
        assert_eq!(near("shpere"), Some("sphere"));
        assert_eq!(near("Cylinders"), Some("cylinder"));
        assert_eq!(near("core-shell-sphere"), Some("core_shell_sphere"));
        assert_eq!(near("core_shell"), Some("core_shell_sphere"));
        assert_eq!(near("banana"), None);
        assert_eq!(near(""), None);
    }
}
