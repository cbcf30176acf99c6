//! The recipe that arguments describe.

use super::near_field_arguments::near_field;
use super::recipe_origin::RecipeOrigin;
use super::transform_positions::transform_positions;
use crate::cli::args::{PositionMethodArg, PrecisionArg, RecipeArgs, StopArg};
use crate::cli::failure::Failure;
use crate::ptycho::{EngineSpec, PositionMethod, Precision, Recipe, StartOptions, StopRule};
use std::path::Path;

/// Largest recipe file that is read, bytes; real recipes are far smaller.
const MAX_RECIPE_BYTES: u64 = 1 << 20;

/// Resolves the recipe: first the recipe file, then `--engine` and the other options, then `--set`.
pub(super) fn resolve(args: &RecipeArgs, origin: &RecipeOrigin) -> Result<Recipe, Failure> {
    let mut recipe = match &args.recipe {
        None if args.engine.is_empty() => Recipe::automatic(),
        None => Recipe::default(),
        Some(path) => read_recipe(path)?,
    };
    if !args.engine.is_empty() {
        recipe.engines = engines(&args.engine)?;
    }
    if let Some(list) = &args.transform_positions {
        transform_positions(list, &mut recipe.data)?;
    }
    near_field(&args.near_field, &mut recipe.data)?;
    if let Some(modes) = args.probe_modes {
        recipe.probe_modes = modes;
    }
    if let Some(share) = args.free_pixels {
        recipe.free_pixels = share;
    }
    if let Some(stop) = args.stop {
        recipe.stop = match stop {
            StopArg::Off => StopRule::Off,
            StopArg::Auto => StopRule::Auto,
        };
    }
    if let Some(every) = args.metrics_every {
        recipe.metrics_every = every;
    }
    if !args.refine_positions.is_empty() {
        let methods = args.refine_positions.iter().map(|given| method(*given));
        recipe.positions.refine = methods.collect();
    }
    if args.fit_frame_scales {
        recipe.fit_frame_scales = true;
    }
    if let Some(path) = &args.start {
        let name = path.to_str().ok_or_else(|| {
            Failure::usage(format!(
                "--start {}: expected a name in UTF-8, as it is part of the recipe",
                path.display()
            ))
        })?;
        recipe.start = StartOptions {
            result: Some(name.to_owned()),
            ..StartOptions::default()
        };
    }
    if let Some(name) = &args.start_object {
        recipe.start = StartOptions {
            object: Some(name.clone()),
            object_pixel: recipe.start.object_pixel,
            result: None,
        };
    }
    if let Some(given) = args.precision {
        recipe.precision = precision(given);
    }
    if let Some(seed) = args.seed {
        recipe.seed = seed;
    }
    set(&mut recipe, &args.set)?;
    recipe.check().map_err(|error| origin.failure(&error))?;
    Ok(recipe)
}

/// The engines of `--engine`.
pub(super) fn engines(texts: &[String]) -> Result<Vec<EngineSpec>, Failure> {
    let parsed = texts.iter().map(|text| {
        EngineSpec::parse(text)
            .map_err(|e| Failure::usage(e.of_option(&format!("--engine {text}"))))
    });
    parsed.collect()
}

/// Applies `--set`.
pub(super) fn set(recipe: &mut Recipe, assignments: &[String]) -> Result<(), Failure> {
    assignments.iter().try_for_each(|assignment| {
        let refused = recipe.set(assignment);
        refused.map_err(|e| Failure::usage(e.of_option(&format!("--set {assignment}"))))
    })
}

/// The precision that an argument names.
pub(super) fn precision(given: PrecisionArg) -> Precision {
    match given {
        PrecisionArg::F32 => Precision::F32,
        PrecisionArg::F64 => Precision::F64,
    }
}

/// The method that an argument names.
fn method(given: PositionMethodArg) -> PositionMethod {
    match given {
        PositionMethodArg::Gradient => PositionMethod::Gradient,
        PositionMethodArg::Affine => PositionMethod::Affine,
        PositionMethodArg::Annealing => PositionMethod::Annealing,
    }
}

/// Reads a recipe from a file and checks it.
pub(super) fn read_recipe(path: &Path) -> Result<Recipe, Failure> {
    let name = path.display();
    let unreadable = |e| Failure::failed(format!("{name}: cannot be read: {e}"));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    // Reading a device or a pipe may never end.
    if !metadata.is_file() {
        return Err(Failure::failed(format!(
            "{name}: expected a recipe (TOML), found a folder, device or pipe"
        )));
    }
    if metadata.len() > MAX_RECIPE_BYTES {
        return Err(Failure::failed(format!(
            "{name}: expected a recipe (TOML) of at most {MAX_RECIPE_BYTES} bytes, found {} bytes",
            metadata.len()
        )));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::failed(format!(
            "{name}: expected a recipe (TOML, in UTF-8), found other data"
        ))
    })?;
    let recipe = Recipe::from_toml(&text).map_err(|e| Failure::failed(format!("{name}: {e}")))?;
    recipe
        .check()
        .map_err(|e| Failure::failed(format!("{name}: {}", e.in_text(&text))))?;
    Ok(recipe)
}
