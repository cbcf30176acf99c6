//! The recipe that arguments describe.

use super::beam_arguments::optics;
use super::detector_arguments::detector;
use super::layer_arguments::layers;
use super::recipe_origin::RecipeOrigin;
use super::scan_arguments::scan;
use super::slice_arguments::slices;
use crate::args::{PositionMethodArg, PrecisionArg, RecipeArgs, StopArg};
use crate::failure::Failure;
use std::path::Path;
use warpstride::ptycho::{
    Decided, EngineName, EngineSpec, PositionMethod, Precision, Recipe, StartOptions, StopRule,
    suit_engines, template, template_of, untried_engines,
};

/// Largest recipe file that is read, bytes; real recipes are far smaller.
const MAX_RECIPE_BYTES: u64 = 1 << 20;

/// The name that stands for the automatic recipe in `--engine`.
const AUTO: &str = "auto";
/// Share of free pixels where neither engines nor a recipe are given, and trials are not made.
const UNNAMED_FREE_PIXELS: f64 = 0.01;

/// The recipe of a reconstruction.
pub(super) struct Resolved {
    pub(super) recipe: Recipe,
    /// What is decided before trials, if the recipe is the automatic one.
    pub(super) automatic: Option<Decided>,
    /// Why it is not, though no engines are named, if that is not asked for.
    pub(super) note: Option<String>,
}

/// Refuses options that have their values from a flag and from `--set`.
pub(super) fn check_single(args: &RecipeArgs) -> Result<(), Failure> {
    RecipeOrigin::new(args, None).check_single()
}

/// Resolves the recipe: first the recipe file, then `--engine` and the other options, then `--set`.
pub(super) fn resolve(args: &RecipeArgs, origin: &RecipeOrigin) -> Result<Recipe, Failure> {
    let mut recipe = match &args.recipe {
        None => Recipe::default(),
        Some(path) => read_recipe(path)?,
    };
    if !args.engine.is_empty() {
        recipe.engines = engines(&args.engine)?;
    }
    finish(recipe, args, origin)
}

/// The arguments, with the engines that run without trials and some free pixels if neither engines
/// nor a recipe are given.
pub(super) fn with_default_engines(args: &RecipeArgs) -> RecipeArgs {
    let mut args = args.clone();
    if args.engine.is_empty() && args.recipe.is_none() {
        let mut model = Recipe::default();
        // What is wrong in the options is said when all of them are applied.
        let engines = match apply(&mut model, &args).and_then(|()| set_model(&mut model, &args.set))
        {
            Ok(()) => untried_engines(&model),
            Err(_) => model.engines,
        };
        let name = |e: &EngineSpec| format!("{}:{}", e.name.as_str(), e.iterations);
        args.engine = engines.iter().map(name).collect();
        if !sets(&args, "free_pixels") {
            args.free_pixels.get_or_insert(UNNAMED_FREE_PIXELS);
        }
    }
    args
}

/// Refuses larger object pixels by `--coarse` in the near field. What else is wrong in the options
/// is said when they are applied.
pub(super) fn check_coarse(args: &RecipeArgs, factors: &[usize]) -> Result<(), Failure> {
    let mut recipe = match &args.recipe {
        None => Recipe::default(),
        Some(path) => read_recipe(path)?,
    };
    let applied = apply(&mut recipe, args).and_then(|()| set_model(&mut recipe, &args.set));
    let larger = factors.iter().any(|factor| *factor > 1);
    if applied.is_err() || !larger || !recipe.data.is_near_field() {
        return Ok(());
    }
    let factors: Vec<String> = factors.iter().map(ToString::to_string).collect();
    Err(Failure::usage(format!(
        "--coarse {}: expected no larger object pixels with data.near_field (--near-field), as they do not depend on the size of the frames there",
        factors.join(",")
    )))
}

/// Whether the automatic recipe is asked for: by its name, or without engines and recipe.
pub(super) fn names_automatic(engines: &[String], recipe: Option<&Path>) -> bool {
    match engines {
        [] => recipe.is_none(),
        [only] => only == AUTO,
        _ => false,
    }
}

/// Resolves the recipe; if the automatic one is asked for, it is that from which the search starts,
/// and what may be decided. Without free pixels, or with an earlier result, which may have been
/// fitted to them, nothing can be decided.
pub(super) fn resolve_or_automatic(
    args: &RecipeArgs,
    origin: &RecipeOrigin,
) -> Result<Resolved, Failure> {
    let simple = |args: &RecipeArgs, note: Option<String>| -> Result<Resolved, Failure> {
        Ok(Resolved {
            recipe: resolve(args, origin)?,
            automatic: None,
            note,
        })
    };
    if !names_automatic(&args.engine, args.recipe.as_deref()) {
        return simple(args, None);
    }
    if sets(args, "engines") {
        if !args.engine.is_empty() {
            return Err(Failure::usage(
                "--engine auto: expected no engines besides, as it chooses them, found --set engines",
            ));
        }
        return simple(args, None);
    }
    let without = args.free_pixels == Some(0.0) || sets_to(args, "free_pixels", 0.0);
    if without {
        if !args.engine.is_empty() {
            return Err(Failure::usage(
                "--engine auto: expected free pixels, by which it chooses, found a share of 0",
            ));
        }
        return simple(&with_default_engines(args), None);
    }
    let (mut base, named) = match &args.recipe {
        None => (template(), Decided::default()),
        Some(path) => {
            let (read, text) = read_recipe_text(path)?;
            // It was read as a recipe.
            template_of(read, &toml::from_str(&text).unwrap_or_default())
        }
    };
    if args.start.is_some() || sets(args, "start.result") || base.start.result.is_some() {
        if !args.engine.is_empty() {
            return Err(Failure::usage(
                "--engine auto: expected a run without an earlier result, which may have been fitted to the free pixels by which it chooses, found one (start.result)",
            ));
        }
        let note = "no trials: the run starts from an earlier result, which may have been fitted to the free pixels by which trials choose; the default engines run";
        return simple(&with_default_engines(args), Some(note.to_owned()));
    }
    let given = |option: &str, other: bool| other || sets(args, option);
    let automatic = Decided {
        probe_modes: given(
            "probe_modes",
            args.probe_modes.is_some() || named.probe_modes,
        ),
        positions: given(
            "positions.refine",
            !args.refine_positions.is_empty() || named.positions,
        ),
        frame_scales: given(
            "fit_frame_scales",
            args.fit_frame_scales || named.frame_scales,
        ),
        regulariser: sets(args, "ml.regulariser") || sets(args, "ml.regulariser_edge"),
        free_pixels: given(
            "free_pixels",
            args.free_pixels.is_some() || named.free_pixels,
        ),
    };
    apply(&mut base, args)?;
    set_model(&mut base, &args.set)?;
    suit_engines(&mut base);
    Ok(Resolved {
        recipe: finish(base, args, origin)?,
        automatic: Some(automatic),
        note: None,
    })
}

/// Whether `--set` sets the option, a table that has it, or, for a table, one of its options.
pub(super) fn sets(args: &RecipeArgs, option: &str) -> bool {
    args.set.iter().any(|assignment| {
        let path = assignment.split('=').next().unwrap_or_default().trim();
        let within = |whole: &str, part: &str| {
            part.strip_prefix(whole)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        within(path, option) || within(option, path)
    })
}

/// Whether the last `--set` of the option has this value.
fn sets_to(args: &RecipeArgs, option: &str, value: f64) -> bool {
    let pairs = args.set.iter().filter_map(|a| a.split_once('='));
    let mut of_option = pairs.filter(|(path, _)| path.trim() == option);
    of_option
        .next_back()
        .is_some_and(|(_, found)| found.trim().parse() == Ok(value))
}

/// Applies the other options, then `--set`, and checks the recipe.
fn finish(mut recipe: Recipe, args: &RecipeArgs, origin: &RecipeOrigin) -> Result<Recipe, Failure> {
    apply(&mut recipe, args)?;
    set(&mut recipe, &args.set)?;
    recipe.check().map_err(|error| origin.failure(&error))?;
    Ok(recipe)
}

/// Applies the options other than `--engine` and `--set`.
fn apply(recipe: &mut Recipe, args: &RecipeArgs) -> Result<(), Failure> {
    scan(&args.scan, &mut recipe.data)?;
    optics(&args.optics, &mut recipe.probe)?;
    slices(&args.slices, &mut recipe.slices)?;
    if args.refine_slice_distance {
        recipe.slices.refine_distance = true;
    }
    detector(&args.detector, &mut recipe.detector)?;
    if let Some(modes) = args.probe_modes {
        recipe.probe_modes = modes;
    }
    layers(&args.layers, recipe)?;
    if let Some(modes) = args.opr_modes {
        recipe.opr_modes = modes;
    }
    if let Some(share) = args.free_pixels {
        recipe.free_pixels = share;
    }
    if let Some(stop) = args.stop {
        recipe.stop = match stop {
            StopArg::Off => StopRule::Off,
            StopArg::Auto => StopRule::Auto,
            StopArg::Plateau => StopRule::Plateau,
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
    Ok(())
}

/// The engines of `--engine`.
pub(super) fn engines(texts: &[String]) -> Result<Vec<EngineSpec>, Failure> {
    if texts.iter().any(|text| text == AUTO) {
        let others = texts.iter().filter(|text| *text != AUTO);
        let others: Vec<String> = others.map(|text| format!("--engine {text}")).collect();
        let found = match others.is_empty() {
            true => "it twice".to_owned(),
            false => others.join(" "),
        };
        return Err(Failure::usage(format!(
            "--engine auto: expected no other --engine beside it, as it chooses all engines, found {found}"
        )));
    }
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

/// Applies those of `--set` that are not options of an engine.
pub(super) fn set_model(recipe: &mut Recipe, assignments: &[String]) -> Result<(), Failure> {
    let of_engine = |assignment: &&String| {
        let name = assignment.split(['.', '=']).next().unwrap_or_default();
        EngineName::from_name(name.trim()).is_some()
    };
    let model: Vec<String> = (assignments.iter())
        .filter(|assignment| !of_engine(assignment))
        .cloned()
        .collect();
    set(recipe, &model)
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
    Ok(read_recipe_text(path)?.0)
}

/// Reads a recipe from a file and checks it; the file's text too, as it says which options are
/// named.
fn read_recipe_text(path: &Path) -> Result<(Recipe, String), Failure> {
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
    Ok((recipe, text))
}
