//! What to change in a run that needs more device memory than there is.

use super::block_estimate::BlockEstimate;
use crate::{CountCodes, EngineSpec, Recipe, memory_estimate};

/// Smallest frame that is advised.
const SMALLEST_SIDE: usize = 16;

/// Share of the memory above which a part of the model holds much of it.
const MUCH: f64 = 0.1;

/// A number of the recipe that costs memory.
struct Part {
    name: &'static str,
    argument: &'static str,
    number: fn(&mut Recipe) -> &mut usize,
    /// The least that is advised: a step scan is another model.
    fewest: usize,
}

const OBJECT_MODES: Part = Part {
    name: "object modes",
    argument: "--object-modes",
    number: |recipe| &mut recipe.object_modes,
    fewest: 1,
};

const POINTS: Part = Part {
    name: "points of an exposure",
    argument: "--fly-points",
    number: |recipe| &mut recipe.fly.points,
    fewest: 2,
};

const VARIATIONS: Part = Part {
    name: "variations of the probe",
    argument: "--opr-modes",
    number: |recipe| &mut recipe.opr_modes,
    fewest: 1,
};

/// A run whose counts may travel in blocks.
#[derive(Clone)]
pub(super) struct StreamedRun<'a> {
    /// (frames, modes, rows, columns)
    pub(super) shape: [usize; 4],
    /// (rows, columns)
    pub(super) object_shape: [usize; 2],
    pub(super) recipe: &'a Recipe,
    pub(super) codes: Option<CountCodes>,
}

impl StreamedRun<'_> {
    /// The least device memory that the run can do with, bytes.
    pub(super) fn least(&self) -> u64 {
        let Self {
            shape,
            object_shape,
            recipe,
            codes,
        } = self;
        let there = memory_estimate(*shape, *object_shape, recipe).gpu_device;
        if there == u64::MAX {
            // An estimate that is too large for its type has no parts.
            return there;
        }
        let in_blocks = BlockEstimate::new(*shape, *object_shape, recipe, *codes);
        there.min(in_blocks.least())
    }

    /// How to need at most `limit` bytes: each change that suffices alone; all together if none
    /// does.
    pub(super) fn advice(&self, limit: u64) -> String {
        let changes = [
            self.without_regions(),
            self.smaller_batches(limit),
            self.fewer_modes(limit),
            self.fewer(limit, &OBJECT_MODES),
            self.fewer(limit, &POINTS),
            self.fewer(limit, &VARIATIONS),
            self.smaller_frames(limit),
        ];
        let changes: Vec<(String, bool)> = (changes.into_iter().flatten())
            .map(|(text, least)| (text, least <= limit))
            .collect();
        let listed = |suffices: bool, last: &str| {
            let texts: Vec<&str> = (changes.iter())
                .filter(|(_, alone)| *alone || !suffices)
                .map(|(text, _)| text.as_str())
                .collect();
            match texts.split_last() {
                Some((end, [])) => (*end).to_owned(),
                Some((end, others)) => format!("{} {last} {end}", others.join(", ")),
                None => format!(
                    "take a smaller scan (--set data.frames=[0,{}])",
                    (self.shape[0] / 2).max(1)
                ),
            }
        };
        if changes.iter().any(|(_, alone)| *alone) {
            listed(true, "or")
        } else {
            listed(false, "and")
        }
    }

    /// The names of the engines that `change` would change, and their recipe then.
    fn changed(
        &self,
        change: impl Fn(&mut EngineSpec) -> bool,
    ) -> Option<(Vec<&'static str>, Recipe)> {
        let mut recipe = self.recipe.clone();
        let mut names = Vec::new();
        for engine in &mut recipe.engines {
            let name = engine.name.as_str();
            if change(engine) && !names.contains(&name) {
                names.push(name);
            }
        }
        (!names.is_empty()).then_some((names, recipe))
    }

    fn without_regions(&self) -> Option<(String, u64)> {
        let (names, recipe) = self.changed(|engine| {
            let uses = engine.uses_regions(self.shape, self.object_shape);
            if uses {
                engine.regions = Some(1);
            }
            uses
        })?;
        let least = StreamedRun {
            recipe: &recipe,
            ..self.clone()
        }
        .least();
        let settings = settings(&names, "regions", 1);
        Some((format!("work on the scan as a whole ({settings})"), least))
    }

    fn smaller_batches(&self, limit: u64) -> Option<(String, u64)> {
        let sizes = self.recipe.engines.iter().filter_map(|e| e.batch);
        let mut size = sizes.max()?.min(self.shape[0].max(1));
        let mut found = None;
        while size > 1 {
            size /= 2;
            let (names, recipe) = self.changed(|engine| {
                let larger = engine.batch.is_some_and(|batch| batch > size);
                if larger {
                    engine.batch = Some(size);
                }
                larger
            })?;
            let least = StreamedRun {
                recipe: &recipe,
                ..self.clone()
            }
            .least();
            let settings = settings(&names, "batch", size);
            found = Some((format!("take smaller batches ({settings})"), least));
            if least <= limit {
                break;
            }
        }
        found
    }

    fn fewer_modes(&self, limit: u64) -> Option<(String, u64)> {
        let [frames, modes, rows, columns] = self.shape;
        let with = |modes: usize| {
            StreamedRun {
                shape: [frames, modes, rows, columns],
                ..self.clone()
            }
            .least()
        };
        let fewer = (1..modes).rev().find(|modes| with(*modes) <= limit);
        let fewer = fewer.or((modes > 1).then_some(1))?;
        Some((
            format!("take fewer probe modes (--probe-modes {fewer})"),
            with(fewer),
        ))
    }

    /// Less of a part of the model that holds much of the memory.
    fn fewer(&self, limit: u64, part: &Part) -> Option<(String, u64)> {
        let with = |number: usize| {
            let mut recipe = self.recipe.clone();
            *(part.number)(&mut recipe) = number;
            StreamedRun {
                recipe: &recipe,
                ..self.clone()
            }
            .least()
        };
        let present = *(part.number)(&mut self.recipe.clone());
        if present <= part.fewest {
            return None;
        }
        let whole = self.least();
        let saved = whole.saturating_sub(with(part.fewest));
        if (saved as f64) < MUCH * whole as f64 {
            return None;
        }
        let enough = (part.fewest..present).rev().find(|n| with(*n) <= limit);
        let number = enough.unwrap_or(part.fewest);
        Some((
            format!("take fewer {} ({} {number})", part.name, part.argument),
            with(number),
        ))
    }

    fn smaller_frames(&self, limit: u64) -> Option<(String, u64)> {
        let [frames, modes, mut rows, mut columns] = self.shape;
        let mut object_shape = self.object_shape;
        let mut found = None;
        while rows.min(columns) >= 2 * SMALLEST_SIDE {
            object_shape[0] = object_shape[0].saturating_sub(rows - rows / 2);
            object_shape[1] = object_shape[1].saturating_sub(columns - columns / 2);
            (rows, columns) = (rows / 2, columns / 2);
            let least = StreamedRun {
                shape: [frames, modes, rows, columns],
                object_shape,
                ..self.clone()
            }
            .least();
            let text =
                format!("take a smaller part of each frame (--set data.crop=[{rows},{columns}])");
            found = Some((text, least));
            if least <= limit {
                break;
            }
        }
        found
    }
}

/// `--set NAME.OPTION=VALUE` for each of the names.
fn settings(names: &[&str], option: &str, value: usize) -> String {
    let each = names
        .iter()
        .map(|name| format!("--set {name}.{option}={value}"));
    each.collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(engines: &[&str]) -> Recipe {
        let specs = engines.iter().map(|text| EngineSpec::parse(text).unwrap());
        Recipe {
            engines: specs.collect(),
            ..Recipe::default()
        }
    }

    fn needs(recipe: &Recipe, modes: usize) -> StreamedRun<'_> {
        StreamedRun {
            shape: [20_000, modes, 256, 256],
            object_shape: [1500, 1500],
            recipe,
            codes: None,
        }
    }

    #[test]
    fn what_suffices_alone_is_advised() {
        let lsqml = recipe(&["lsqml:5", "rpie:5"]);
        let needs = needs(&lsqml, 1);
        let advice = needs.advice(needs.least() - 1);
        assert_eq!(
            advice,
            "work on the scan as a whole (--set lsqml.regions=1), take smaller batches (--set lsqml.batch=50 --set rpie.batch=50) or take a smaller part of each frame (--set data.crop=[128,128])"
        );
        // The batches of a quarter of the memory are those of 12 frames or fewer.
        let advice = needs.advice(needs.least() / 4);
        assert!(!advice.contains("regions"), "{advice}");
    }

    #[test]
    fn what_is_advised_suffices() {
        let lsqml = recipe(&["lsqml:5"]);
        let needs = needs(&lsqml, 3);
        for part in [2, 3, 4, 5] {
            let limit = needs.least() / part;
            let (text, least) = needs.smaller_batches(limit).unwrap();
            let size: usize = text
                .trim_end_matches(')')
                .rsplit('=')
                .next()
                .unwrap()
                .parse()
                .unwrap();
            let mut smaller = lsqml.clone();
            smaller.engines[0].batch = Some(size);
            let again = StreamedRun {
                recipe: &smaller,
                ..needs.clone()
            };
            assert_eq!(again.least(), least, "{text}");
            assert!(least <= limit || size == 1, "{text}");
        }
    }

    #[test]
    fn parts_of_the_model_that_hold_much_memory_are_named() {
        let mut model = recipe(&["lsqml:5"]);
        (model.object_modes, model.fly.points) = (3, 8);
        let large = needs(&model, 1);
        let advice = large.advice(large.least() / 2);
        assert!(
            advice.contains("take fewer points of an exposure (--fly-points "),
            "{advice}"
        );
        assert!(
            advice.contains("take fewer object modes (--object-modes 1)"),
            "{advice}"
        );
        let (_, least) = large.fewer(large.least() / 2, &POINTS).unwrap();
        assert!(least <= large.least() / 2);
        // Two points are no step scan.
        model.fly.points = 2;
        assert!(needs(&model, 1).fewer(1, &POINTS).is_none());
        let mut varied = recipe(&["epie:5"]);
        varied.opr_modes = 16;
        let run = StreamedRun {
            shape: [100, 1, 256, 256],
            object_shape: [400, 400],
            recipe: &varied,
            codes: None,
        };
        let (text, _) = run.fewer(1, &VARIATIONS).unwrap();
        assert_eq!(text, "take fewer variations of the probe (--opr-modes 1)");
        // A few megabytes of several gigabytes are not much.
        varied.opr_modes = 2;
        varied.engines = recipe(&["dm:5"]).engines;
        assert!(needs(&varied, 1).fewer(1, &VARIATIONS).is_none());
    }

    #[test]
    fn all_changes_are_advised_together_if_none_suffices() {
        let dm = recipe(&["dm:5"]);
        let needs = needs(&dm, 2);
        assert_eq!(
            needs.advice(1000),
            "take fewer probe modes (--probe-modes 1) and take a smaller part of each frame (--set data.crop=[16,16])"
        );
        let tiny = StreamedRun {
            shape: [20, 1, 16, 16],
            object_shape: [3000, 3000],
            ..needs
        };
        assert_eq!(
            tiny.advice(1000),
            "take a smaller scan (--set data.frames=[0,10])"
        );
    }
}
