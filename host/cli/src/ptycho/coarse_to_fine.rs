//! `ptycho reconstruct --coarse 4,2,1`: reconstructions with ever smaller object pixels, each the
//! start of the next.

use super::files::{Files, beside, remove};
use super::recipe_arguments::{names_automatic, sets, with_default_engines};
use super::reconstruct::Reconstruct;
use crate::args::{RecipeArgs, ReconstructArgs};
use crate::failure::Failure;
use crate::output::say;
use crate::processes::common;
use ndarray::{Array2, ArrayView2, s};
use std::path::PathBuf;
use warpstride::ptycho::{MAX_COARSE, Ranks};

/// Said if no engines are named.
const NO_TRIALS: &str = "no trials: results with larger pixels may have been fitted to the free pixels by which trials choose; the default engines run";

/// Share of the counts that the middle of the frames must have. Frames that lack light of the beam,
/// not only of the specimen's fine structure, have no probe that makes them, and their result is a
/// bad start.
const LEAST_LIGHT: f64 = 0.9;

/// Checked reconstructions, the coarsest first.
pub(super) struct CoarseToFine {
    args: ReconstructArgs,
    /// Engines by default are in it.
    recipe: RecipeArgs,
    /// Notes in all results.
    notes: Vec<String>,
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
            return Err(Failure::usage(format!(
                "--coarse {}: expected factors from {MAX_COARSE} to 1, each smaller than the one before it, the last one 1",
                listed(factors)
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
        if sets(&args.recipe, "data.coarse") {
            return Err(Failure::usage(
                "--set data.coarse: expected a run without --coarse, which sets it to each of its factors",
            ));
        }
        let mut new = Self {
            args: args.clone(),
            recipe,
            notes: Vec::from_iter(automatic.then(|| NO_TRIALS.to_owned())),
            levels: Vec::new(),
            text: !(args.json_progress || args.quiet),
        };
        new.levels = new.levels(factors)?;
        Ok(new)
    }

    /// The reconstructions with these factors.
    fn levels(&self, factors: &[usize]) -> Result<Vec<Level>, Failure> {
        let mut levels: Vec<Level> = Vec::new();
        for factor in factors {
            let mut of_level = self.args.clone();
            of_level.coarse.clear();
            of_level.recipe = self.recipe.clone();
            if let Some(before) = levels.last() {
                of_level.recipe.start = Some(before.result.clone());
                of_level.recipe.start_object = None;
                (of_level.recipe.set).retain(|assignment| !sets_start(assignment));
            }
            of_level.recipe.set.push(format!("data.coarse={factor}"));
            if *factor > 1 {
                of_level.output = beside(&self.args.output, &format!("-coarse{factor}.h5"));
                of_level.no_pictures = true;
                of_level.checkpoint = None;
                (of_level.summary, of_level.report, of_level.profile) = (None, None, None);
            }
            let notes = self.notes.join("; ");
            let argument = format!("--coarse {}", listed(&self.args.coarse));
            let result = of_level.output.clone();
            let mut run = Reconstruct::from_args(of_level.clone())?;
            // The middle of the frames has no dark pixels that show the background.
            if *factor > 1 && run.fits_background() {
                of_level
                    .recipe
                    .set
                    .push("detector.background=\"off\"".to_owned());
                run = Reconstruct::from_args(of_level)?;
            }
            levels.push(Level {
                factor: *factor,
                result,
                run: run
                    .with_recipe_note((!notes.is_empty()).then_some(&*notes))
                    .with_argument("data.coarse", argument),
            });
        }
        Ok(levels)
    }

    /// Leaves out reconstructions of parts of the frames that lack light of the beam.
    fn leave_out(&mut self) -> Result<(), Failure> {
        let [_, .., finest] = &mut *self.levels else {
            return Ok(());
        };
        let Some(pattern) = finest.run.mean_pattern()? else {
            return Ok(());
        };
        let scan = finest.run.take_scan();
        let total = pattern.sum();
        let mut kept = Vec::new();
        for factor in self.levels.iter().map(|level| level.factor) {
            let part = middle(&pattern, factor);
            let share = part.sum() / total;
            // Reading refuses what has no pixels.
            if part.is_empty() || share >= LEAST_LIGHT || !share.is_finite() || factor == 1 {
                kept.push(factor);
            } else {
                self.notes.push(format!(
                    "--coarse: {factor} is left out, as the middle of the frames that it keeps has {:.0} % of the counts, and less than {:.0} % cuts the beam",
                    100.0 * share,
                    100.0 * LEAST_LIGHT
                ));
            }
        }
        if kept.len() < self.levels.len() {
            self.levels = self.levels(&kept)?;
        }
        if let Some(finest) = self.levels.last_mut() {
            finest.run.give_scan(scan);
        }
        Ok(())
    }

    /// Runs them one after the other.
    pub(super) fn run(mut self, ranks: &Ranks) -> Result<(), Failure> {
        let read = self.leave_out();
        common(ranks, read)?;
        let factors: Vec<usize> = self.levels.iter().map(|one| one.factor).collect();
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
                    listed(factors.get(number..).unwrap_or_default())
                )));
            }
            // The next one reads what the first rank has written.
            common(ranks, done)?;
        }
        Ok(())
    }
}

/// Factors as on the command line.
fn listed(factors: &[usize]) -> String {
    let factors: Vec<String> = factors.iter().map(ToString::to_string).collect();
    factors.join(",")
}

/// The part of a pattern (row, column), zero frequency in the middle, that `data.coarse` keeps.
fn middle(pattern: &Array2<f64>, factor: usize) -> ArrayView2<'_, f64> {
    let (rows, columns) = pattern.dim();
    let kept = |n: usize| {
        let first = n / 2 - n / factor / 2;
        first..first + n / factor
    };
    pattern.slice(s![kept(rows), kept(columns)])
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
    fn the_middle_is_around_the_zero_frequency() {
        let pattern = Array2::from_shape_fn((9, 8), |(row, column)| (10 * row + column) as f64);
        assert_eq!(middle(&pattern, 1), pattern);
        assert_eq!(
            middle(&pattern, 2),
            pattern.slice(s![2..6, 2..6]),
            "4 x 4 pixels with (4, 4) at (2, 2)"
        );
        assert_eq!(middle(&pattern, 8)[(0, 0)], 44.0);
    }

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
