//! Recipes, and how scans are read, from JSON documents and recipe files.

use crate::errors::Failure;
use crate::wording::verbatim;
use pyo3::prelude::*;
use std::path::Path;
use warpstride::ptycho::data::Propagation;
use warpstride::ptycho::{Decided, ReadOptions, Recipe, RecipeError, suit_engines, template_of};

/// Largest recipe file that is read, bytes.
const MAX_RECIPE_BYTES: u64 = 1 << 20;

/// Constants of which each takes the place of the others.
const ALTERNATIVES: [&[&str]; 2] = [
    &["wavelength", "energy", "voltage"],
    &["pixel_size", "pixel_angle", "pixel_frequency"],
];

/// The table of a JSON document as TOML.
fn table(json: &str) -> Result<toml::Table, Failure> {
    serde_json::from_str(json).map_err(Failure::data)
}

/// The recipe of a table that the user has not written as a text.
fn of_table(table: &toml::Table) -> Result<Recipe, Failure> {
    let text = toml::to_string(table).map_err(Failure::data)?;
    Recipe::from_toml(&text).map_err(|why| unnumbered(&why))
}

/// The recipe of a JSON document: the tables and options of a recipe file, without the table
/// `data`, which is `read` for a scan from a file.
pub(super) fn recipe(json: &str, read: Option<&ReadOptions>) -> Result<Recipe, Failure> {
    checked(of_table(&table(json)?)?, read)
}

/// The recipe from which trials start, of such a document, and what that decides.
pub(super) fn automatic(
    json: &str,
    read: Option<&ReadOptions>,
) -> Result<(Recipe, Decided), Failure> {
    let table = table(json)?;
    let given = of_table(&table)?;
    if table.contains_key("free_pixels") && given.free_pixels == 0.0 {
        return Err(Failure::data(
            "engines: expected free pixels, by which \"auto\" chooses, found a share of 0 (free_pixels)",
        ));
    }
    let (mut recipe, decided) = template_of(given, &table);
    suit_engines(&mut recipe);
    Ok((checked(recipe, read)?, decided))
}

/// The recipe with the table `data`.
fn checked(mut recipe: Recipe, read: Option<&ReadOptions>) -> Result<Recipe, Failure> {
    if recipe.data != ReadOptions::default() {
        return Err(Failure::data(
            "recipe: expected no table data, which says how files are read, as the frames are given as an array or a scan",
        ));
    }
    if recipe.start.path().is_some() || recipe.start.object_file().is_some() {
        return Err(Failure::data(
            "recipe: expected no files in the table start, found one",
        ));
    }
    if let Some(options) = read {
        recipe.data = options.clone();
    }
    recipe.check().map_err(Failure::data)?;
    Ok(recipe)
}

/// How a scan is read: the table `data` of a recipe file, with the options of a JSON document in
/// the place of its own.
pub(super) fn read_options(json: &str, file: Option<&Path>) -> Result<ReadOptions, Failure> {
    let mut data = match file {
        None => toml::Table::new(),
        Some(path) => data_of_file(path)?,
    };
    for (option, value) in table(json)? {
        match (data.get_mut(&option), value) {
            (Some(toml::Value::Table(before)), toml::Value::Table(given))
                if option == "constants" =>
            {
                for of_one in ALTERNATIVES {
                    if of_one.iter().any(|name| given.contains_key(*name)) {
                        of_one.iter().for_each(|name| drop(before.remove(*name)));
                    }
                }
                before.extend(given);
            }
            (_, value) => drop(data.insert(option, value)),
        }
    }
    let recipe = of_table(&toml::Table::from_iter([("data".to_owned(), data.into())]))?;
    recipe.check().map_err(Failure::data)?;
    Ok(recipe.data)
}

/// The table `data` of a recipe file.
fn data_of_file(path: &Path) -> Result<toml::Table, Failure> {
    let name = path.display().to_string();
    let name = verbatim(&name, &name);
    let unreadable = |why: std::io::Error| Failure::Data(format!("{name}: cannot be read: {why}"));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    // Reading a device or a pipe may never end.
    if !metadata.is_file() || metadata.len() > MAX_RECIPE_BYTES {
        return Err(Failure::Data(format!(
            "{name}: expected a recipe (TOML) of at most {MAX_RECIPE_BYTES} bytes, found {}",
            match metadata.is_file() {
                true => format!("{} bytes", metadata.len()),
                false => "a folder, device or pipe".to_owned(),
            }
        )));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let refused = |why: RecipeError| Failure::Data(format!("{name}: {why}"));
    let recipe = Recipe::from_toml(&text).map_err(refused)?;
    (recipe.check()).map_err(|why| refused(why.in_text(&text)))?;
    let mut tables: toml::Table = toml::from_str(&text).map_err(Failure::data)?;
    Ok(match tables.remove("data") {
        Some(toml::Value::Table(data)) => data,
        _ => toml::Table::new(),
    })
}

/// The sentence without the line of a document that the user has not written.
fn unnumbered(why: &RecipeError) -> Failure {
    let text = why.to_string();
    Failure::Data(match text.split_once(": ") {
        Some((line, rest)) if line.starts_with("line ") => rest.to_owned(),
        _ => text,
    })
}

/// The recipe of a JSON document with all options, TOML.
#[pyfunction]
pub(super) fn resolved_recipe(json: &str) -> PyResult<String> {
    Ok(recipe(json, None)?.to_toml().map_err(Failure::data)?)
}

/// How waves travel to the detector.
pub(super) fn propagation(
    near_field: bool,
    focus_to_sample: Option<f64>,
) -> Result<Propagation, Failure> {
    match (near_field, focus_to_sample) {
        (false, Some(_)) => Err(Failure::data(
            "focus_to_sample: expected near_field=True beside it",
        )),
        (true, Some(found)) if !(found.is_finite() && found > 0.0) => Err(Failure::Data(format!(
            "focus_to_sample: expected a length above 0, found {found}"
        ))),
        (true, focus_to_sample) => Ok(Propagation::NearField { focus_to_sample }),
        (false, None) => Ok(Propagation::FarField),
    }
}
