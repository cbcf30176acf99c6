//! What the parts of the model that a recipe asks for mean for the automatic recipe: with which
//! engine it begins, what is not tried, and how much work a frame is.

use super::{FIRST, template};
use crate::{EngineName, EngineSpec, Recipe};

/// Iterations of the engines that run where neither engines nor trials choose, with a model that
/// begins with `lsqml`.
const UNTRIED: [(EngineName, usize); 2] = [(EngineName::Lsqml, 100), (EngineName::Ml, 50)];

/// A part of the model, and why a run with it begins with `lsqml`.
struct Part {
    /// Whether the recipe asks for it.
    is_on: bool,
    /// Its name and its option.
    name: &'static str,
    why: &'static str,
}

/// The parts of the model with which a run begins with `lsqml`, where there would be a difference
/// map otherwise.
fn parts(recipe: &Recipe) -> [Part; 4] {
    [
        Part {
            is_on: recipe.slices.are_on(),
            name: "slices (slices.count)",
            why: "lsqml and ml alone compute them",
        },
        Part {
            is_on: recipe.opr_modes > 0,
            name: "a variable probe (opr_modes)",
            why: "it converges badly after a difference map, which has one probe for all frames",
        },
        Part {
            is_on: recipe.object_modes > 1,
            name: "several object modes (object_modes)",
            why: "lsqml separates them better than a difference map",
        },
        Part {
            is_on: recipe.detector.blurs(),
            name: "blur of the detector (detector.blur)",
            why: "R_free becomes lower without a difference map",
        },
    ]
}

/// Whether a run of `recipe` begins with `lsqml` where there would be a difference map otherwise.
fn begins_with_lsqml(recipe: &Recipe) -> bool {
    parts(recipe).iter().any(|part| part.is_on)
}

/// The recipe from which the search starts if `read` was read from a text that names these tables
/// and options, and what that decides.
#[must_use]
pub fn template_of(read: Recipe, named: &toml::Table) -> (Recipe, Decided) {
    let template = template();
    let names = |option: &str| named.contains_key(option);
    let positions = named.get("positions").and_then(toml::Value::as_table);
    let decided = Decided {
        probe_modes: names("probe_modes"),
        positions: positions.is_some_and(|table| table.contains_key("refine")),
        frame_scales: names("fit_frame_scales"),
        regulariser: false,
        free_pixels: read.free_pixels > 0.0,
    };
    let base = Recipe {
        free_pixels: match decided.free_pixels {
            true => read.free_pixels,
            false => template.free_pixels,
        },
        stop: match names("stop") {
            true => read.stop,
            false => template.stop,
        },
        engines: template.engines,
        ..read
    };
    (base, decided)
}

/// Lets the engines of a [`template`](super::template) suit the parts of the model that `recipe`
/// asks for: with slices, a variable probe, several object modes or blur `lsqml` does the
/// iterations of `dm` too.
pub fn suit_engines(recipe: &mut Recipe) {
    let projects = |engine: &EngineSpec| engine.name.projects();
    if recipe.engines.len() > 2 && projects(&recipe.engines[0]) && begins_with_lsqml(recipe) {
        let first = recipe.engines.remove(0);
        let next = &mut recipe.engines[0];
        next.iterations = next.iterations.saturating_add(first.iterations);
    }
}

/// The engines of a run without trials for which none are named: `dm:100`, `raar:50`, or with a
/// model that does not begin with a difference map `lsqml:100`, `ml:50`.
#[must_use]
pub fn untried_engines(recipe: &Recipe) -> Vec<EngineSpec> {
    if !begins_with_lsqml(recipe) {
        return Recipe::default().engines;
    }
    let engines = UNTRIED.into_iter();
    engines
        .map(|(name, iterations)| EngineSpec::new(name, iterations))
        .collect()
}

/// Why the automatic recipe of `recipe` begins with `lsqml`, and what is not tried; nothing for a
/// model without further parts.
#[must_use]
pub(crate) fn reasons(recipe: &Recipe) -> Vec<String> {
    let on = parts(recipe).into_iter().filter(|part| part.is_on);
    let mut sentences: Vec<String> = on
        .map(|part| format!("it begins with lsqml: with {}, {}", part.name, part.why))
        .collect();
    if recipe.slices.are_on() {
        sentences.push(
            "refined positions, intensity scales and regularisers are not tried, as slices do not go with them"
                .to_owned(),
        );
    }
    let work = work(recipe);
    if work > 1 {
        let weights = match recipe.slices.are_on() {
            true => "",
            false => ", and fewer weights of the regulariser are tried",
        };
        sentences.push(format!(
            "a frame is {work} times the work of one wave for each probe mode, so trials have fewer iterations or frames{weights}"
        ));
    }
    sentences
}

/// Waves of a frame for each probe mode (object modes times points of an exposure), or slices: the
/// work of a frame, relative to a thin specimen of one mode at rest.
#[must_use]
pub(crate) fn work(recipe: &Recipe) -> usize {
    recipe.waves_of_mode().max(recipe.slices.count).max(1)
}

/// What the user has decided, so that it is not tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decided {
    /// The number of probe modes.
    pub probe_modes: bool,
    /// Whether and how positions are refined.
    pub positions: bool,
    /// Whether intensity scales are fitted.
    pub frame_scales: bool,
    /// The regulariser of the last engine.
    pub regulariser: bool,
    /// The share of free pixels.
    pub free_pixels: bool,
}

impl Decided {
    /// With what cannot be tried with the model of `recipe`.
    pub(super) fn with_model(self, recipe: &Recipe) -> Self {
        let thick = recipe.slices.are_on();
        Self {
            positions: self.positions || thick,
            frame_scales: self.frame_scales || thick,
            regulariser: self.regulariser || thick,
            ..self
        }
    }
}

/// The trial engine that makes the first object: the first engine of `template`, or, if that is the
/// one that refines, its first iterations.
pub(super) fn first_engine(template: &Recipe) -> Option<EngineSpec> {
    let engine = template.engines.first()?;
    let iterations = match template.engines.len() {
        0..=2 => engine.iterations.min(FIRST),
        _ => engine.iterations,
    };
    Some(EngineSpec {
        iterations,
        ..engine.clone()
    })
}

/// Lets parts of the model that begin at an iteration of the run begin `done` iterations earlier,
/// for a trial that goes on from an earlier one of so many.
pub(super) fn begin_earlier(recipe: &mut Recipe, done: usize) {
    for from in [
        &mut recipe.opr_from,
        &mut recipe.detector.background_from,
        &mut recipe.slices.refine_from,
    ] {
        *from = from.saturating_sub(done).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{engine_list, template};
    use super::*;

    /// The template with one option set, and its engines.
    fn suited(options: &[&str]) -> (Recipe, String) {
        let mut recipe = template();
        for option in options {
            recipe.set(option).unwrap();
        }
        suit_engines(&mut recipe);
        recipe.check().unwrap();
        let engines = engine_list(&recipe.engines);
        (recipe, engines)
    }

    #[test]
    fn a_model_that_a_difference_map_does_not_suit_begins_with_lsqml() {
        let thick = ["slices.distance=2e-5", "slices.count=2"];
        for (options, begins) in [
            (&[][..], "dm:40 lsqml:100 ml:100"),
            (&["probe_modes=3"], "dm:40 lsqml:100 ml:100"),
            (
                &["fly.points=4", "fly.shift=[0.0,6e-8]"],
                "dm:40 lsqml:100 ml:100",
            ),
            (&thick, "lsqml:140 ml:100"),
            (&["opr_modes=2"], "lsqml:140 ml:100"),
            (&["object_modes=2"], "lsqml:140 ml:100"),
            (&["detector.blur=0.7"], "lsqml:140 ml:100"),
            (&["detector.background=uniform"], "dm:40 lsqml:100 ml:100"),
        ] {
            let (recipe, engines) = suited(options);
            assert_eq!(engines, begins, "{options:?}");
            let untried = engine_list(&untried_engines(&recipe));
            let expected = match begins.starts_with("dm") {
                true => "dm:100 raar:50",
                false => "lsqml:100 ml:50",
            };
            assert_eq!(untried, expected, "{options:?}");
            let said = reasons(&recipe).join("\n");
            assert_eq!(
                said.contains("begins with lsqml"),
                begins != "dm:40 lsqml:100 ml:100"
            );
        }
        // A second time it changes nothing.
        let (mut recipe, engines) = suited(&thick);
        suit_engines(&mut recipe);
        assert_eq!(engine_list(&recipe.engines), engines);
    }

    #[test]
    fn the_work_of_a_frame_is_that_of_its_waves_or_slices() {
        let of = |options: &[&str]| work(&suited(options).0);
        assert_eq!(of(&[]), 1);
        assert_eq!(of(&["probe_modes=3"]), 1);
        assert_eq!(
            of(&["object_modes=2", "fly.points=4", "fly.shift=[0.0,6e-8]"]),
            8
        );
        assert_eq!(of(&["slices.distance=2e-5", "slices.count=3"]), 3);
    }
}
