//! `ptycho reconstruct --coarse 4,2,1`: reconstructions with ever smaller object pixels, each the start of the next.

use super::files::{Files, beside, remove};
use super::recipe_arguments::{names_automatic, sets, with_default_engines};
use super::reconstruct::Reconstruct;
use crate::cli::args::ReconstructArgs;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::processes::common;
use crate::ptycho::{MAX_COARSE, Ranks};
use std::path::PathBuf;

/// Said if no engines are named.
const NO_TRIALS: &str = "no trials: results with larger pixels may have been fitted to the free pixels by which trials choose; the default engines run";

/// Checked reconstructions, the coarsest first.
pub(super) struct CoarseToFine {
    levels: Vec<Level>,
    /// Whether progress is text.
    text: bool,
}

struct Level {
    /// Factor on the object pixel.
    factor: usize,
    result: PathBuf,
    run: Reconstruct,
}

impl CoarseToFine {
    /// Checks options and outputs of all reconstructions.
    pub(super) fn from_args(args: &ReconstructArgs) -> Result<Self, Failure> {
        let factors = &args.coarse;
        let falling = factors.windows(2).all(|pair| pair[0] > pair[1]);
        let within = factors
            .iter()
            .all(|factor| (1..=MAX_COARSE).contains(factor));
        if !(falling && within && factors.last() == Some(&1)) {
            let found: Vec<String> = factors.iter().map(ToString::to_string).collect();
            return Err(Failure::usage(format!(
                "--coarse {}: expected factors from {MAX_COARSE} to 1, each smaller than the one before it, the last one 1",
                found.join(",")
            )));
        }
        let automatic = names_automatic(&args.recipe.engine, args.recipe.recipe.as_deref())
            && !sets(&args.recipe, "engines");
        if automatic && !args.recipe.engine.is_empty() {
            return Err(Failure::usage(
                "--engine auto: expected a run without --coarse, as results with larger pixels may have been fitted to the free pixels by which it chooses",
            ));
        }
        let recipe = match automatic {
            true => with_default_engines(&args.recipe),
            false => args.recipe.clone(),
        };
        let mut levels: Vec<Level> = Vec::new();
        for factor in factors {
            let mut of_level = args.clone();
            of_level.coarse.clear();
            of_level.recipe = recipe.clone();
            if let Some(before) = levels.last() {
                of_level.recipe.start = Some(before.result.clone());
                of_level.recipe.start_object = None;
                (of_level.recipe.set).retain(|assignment| !sets_start(assignment));
            }
            of_level.recipe.set.push(format!("data.coarse={factor}"));
            if *factor > 1 {
                of_level.output = beside(&args.output, &format!("-coarse{factor}.h5"));
                of_level.no_pictures = true;
                of_level.checkpoint = None;
                (of_level.summary, of_level.report, of_level.profile) = (None, None, None);
            }
            levels.push(Level {
                factor: *factor,
                result: of_level.output.clone(),
                run: Reconstruct::from_args(of_level)?
                    .with_recipe_note(automatic.then_some(NO_TRIALS)),
            });
        }
        Ok(Self {
            levels,
            text: !(args.json_progress || args.quiet),
        })
    }

    /// Runs them one after the other.
    pub(super) fn run(self, ranks: &Ranks) -> Result<(), Failure> {
        let factors: Vec<String> = self
            .levels
            .iter()
            .map(|one| one.factor.to_string())
            .collect();
        for (number, level) in (1..).zip(self.levels) {
            let Level {
                factor,
                result,
                run,
            } = level;
            if self.text && ranks.is_first() {
                say(&match factor {
                    1 => "object pixels of the scan\n".to_owned(),
                    _ => format!("object pixels {factor} times as large\n"),
                })?;
            }
            let done = run.run(ranks);
            if matches!(done, Err(Failure::OfRank(_))) {
                return done;
            }
            // Only the first rank says that it was interrupted.
            if ranks.any(matches!(done, Err(Failure::Interrupted(_))))? {
                if factor == 1 || done.is_ok() {
                    return done;
                }
                remove(&Files::checkpoint_beside(&result))?;
                let result = result.display();
                return Err(Failure::Interrupted(format!(
                    "stopped with object pixels {factor} times as large; the current result is in {result}; go on from it with --start {result} --coarse {}",
                    factors.get(number..).unwrap_or_default().join(",")
                )));
            }
            // The next one reads what the first rank has written.
            common(ranks, done)?;
        }
        Ok(())
    }
}

/// Whether `--set` has an option of the table `start`, or the table.
fn sets_start(assignment: &str) -> bool {
    let path = assignment.split('=').next().unwrap_or_default();
    let table = path.split('.').next().unwrap_or_default();
    table.trim().trim_matches(['"', '\'']) == "start"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_options_of_the_start_are_found_among_others() {
        for of_start in [
            "start.object=\"a\"",
            "start={object=\"a.npy\"}",
            " start . result = 1",
        ] {
            assert!(sets_start(of_start), "{of_start}");
        }
        for other in ["probe.source=\"start.a\"", "started=1", "seed=1"] {
            assert!(!sets_start(other), "{other}");
        }
    }
}
