//! `--fit` and `--qrange`: what is searched, within which bounds, for which points.

use super::names;
use super::parameters::{items, number};
use super::wanted::Wanted;
use crate::cli::failure::Failure;
use warpstride::sas::Role;
use warpstride::sas::fit::Free;

/// What is searched.
#[derive(Debug)]
pub(super) struct Wishes {
    pub(super) free: Vec<Free>,
    /// Place in the model's table of each; of a width that of its parameter.
    pub(super) places: Vec<usize>,
    /// What is searched besides what was typed.
    pub(super) added: Vec<&'static str>,
}

/// Beginnings of names whose parameters, like a contrast, are one factor on everything together with `scale`.
const FACTORS: [&str; 6] = [
    "i_zero",
    "lorentz_scale",
    "peak_scale",
    "porod_scale",
    "volfraction",
    "sld",
];

impl Wishes {
    /// Checks names and bounds.
    pub(super) fn from_typed(wanted: &Wanted, typed: &[String]) -> Result<Self, Failure> {
        let mut wishes = Self {
            free: Vec::new(),
            places: Vec::new(),
            added: Vec::new(),
        };
        for item in items(typed) {
            let free = Free::parse(item).map_err(Failure::usage)?;
            let option = format!("--fit {item}");
            if wishes.free.iter().any(|other| other.name == free.name) {
                return Err(Failure::usage(format!(
                    "{option}: {} is searched by another --fit already",
                    free.name
                )));
            }
            wishes.places.push(place(wanted, &option, &free)?);
            wishes.free.push(free);
        }
        if wishes.free.is_empty() {
            return Err(Failure::usage(
                "--fit is missing: the parameters to search are expected, like --fit radius=20:100 --fit scale",
            ));
        }
        wishes.add_linear(wanted)?;
        Ok(wishes)
    }

    /// Scale and background are searched too, unless they were set, or something else that is searched is a factor
    /// on everything.
    fn add_linear(&mut self, wanted: &Wanted) -> Result<(), Failure> {
        let definition = &wanted.definition;
        let rows = definition.rows();
        let factor = |place: &usize| {
            let row = &rows[*place];
            let named = FACTORS.iter().any(|name| row.name.starts_with(name));
            row.sld || named && matches!(row.role, Role::Form(_))
        };
        let has_factor = self.places.iter().any(factor);
        for (name, wished) in [("scale", !has_factor), ("background", true)] {
            let place = names::place(definition, "--fit", name)?;
            let named = self.free.iter().any(|free| free.name == name);
            if wished && !named && !wanted.values.typed[place] {
                self.free.push(Free {
                    name: name.to_owned(),
                    bounds: None,
                    start: None,
                });
                self.places.push(place);
                self.added.push(name);
            }
        }
        Ok(())
    }

    /// What was added, in a sentence.
    pub(super) fn note(&self) -> Option<String> {
        let (first, names) = (self.added.first()?, self.added.join(" and "));
        let are = if self.added.len() == 1 { "is" } else { "are" };
        Some(format!(
            "{names} {are} searched too; --set {first}=… keeps the value"
        ))
    }

    /// Refuses a search `over` the bounds of what has none; scale and background are solved for.
    pub(super) fn check_bounds(&self, wanted: &Wanted, over: &str) -> Result<(), Failure> {
        let rows = wanted.definition.rows();
        let open = |(free, place): &(&Free, &usize)| {
            let row = &rows[**place];
            let (low, high) = free.bounds.unwrap_or(row.limits);
            let solved = matches!(row.role, Role::Scale | Role::Background);
            free.name == row.name && !solved && !(low.is_finite() && high.is_finite())
        };
        match self.free.iter().zip(&self.places).find(open) {
            Some((free, _)) => Err(Failure::usage(format!(
                "{over}: it is spread over finite bounds, and {} has none; --fit {}=LOW:HIGH is expected",
                free.name, free.name
            ))),
            None => Ok(()),
        }
    }

    /// Values of the parameters, the greatest where they are searched within bounds.
    pub(super) fn largest(&self, wanted: &Wanted) -> Vec<f64> {
        let rows = wanted.definition.rows();
        let mut values = wanted.values.values.clone();
        for (free, place) in self.free.iter().zip(&self.places) {
            if let Some((_, high)) = free.bounds
                && high.is_finite()
                && free.name == rows[*place].name
                && rows[*place].units == "Ang"
            {
                values[*place] = high;
            }
        }
        values
    }
}

fn place(wanted: &Wanted, option: &str, free: &Free) -> Result<usize, Failure> {
    let definition = &wanted.definition;
    if definition.place(&free.name).is_err()
        && let Some(of) = free.name.strip_suffix("_pd")
    {
        let place = names::place(definition, option, of)?;
        let Some(spread) = wanted.spreads.iter().find(|s| s.place() == place) else {
            return Err(Failure::usage(format!(
                "{option}: {of} has no distribution whose width could be searched; --pd {of}=0.1:gaussian is expected with it"
            )));
        };
        if spread.file().is_some() {
            return Err(Failure::usage(format!(
                "{option}: the distribution of {of} is from a file and has no width"
            )));
        }
        return Ok(place);
    }
    let place = names::place(definition, option, &free.name)?;
    if matches!(
        definition.rows()[place].role,
        Role::StructureFactorMode | Role::RadiusEffectiveMode
    ) {
        return Err(Failure::usage(format!(
            "{option}: {} chooses a formula; --set {}=N is expected",
            free.name, free.name
        )));
    }
    if let Some((low, high)) = free.bounds
        && wanted.values.typed[place]
    {
        let value = wanted.values.values[place];
        if !(low..=high).contains(&value) {
            return Err(Failure::usage(format!(
                "{option}: --set {}={value} is the start of the search and lies outside of {low} to {high}",
                free.name
            )));
        }
    }
    Ok(place)
}

/// `A:B`, either of them may be missing.
pub(super) fn q_range(text: &str) -> Result<(f64, f64), Failure> {
    let option = format!("--qrange {text}");
    let refuse = |why: &str| Err(Failure::usage(format!("{option}: {why}")));
    let Some((low, high)) = text.split_once(':') else {
        return refuse("A:B is expected, like 0.01:0.3");
    };
    let end = |text: &str, missing: f64| match text.trim() {
        "" => Ok(missing),
        text => number(&option, text, "a q in 1/A"),
    };
    let (low, high) = (end(low, 0.0)?, end(high, f64::INFINITY)?);
    if low < 0.0 || low >= high {
        return refuse("0 or more is expected first, and a greater q behind it");
    }
    Ok((low, high))
}
