//! `warpstride ptycho resolution`: the Fourier ring correlation of two halves of a scan.

use super::files::{Files, beside};
use super::recipe_arguments::{names_automatic, resolve, with_default_engines};
use super::recipe_origin::RecipeOrigin;
use super::reconstruct::Reconstruct;
use crate::args::{RecipeArgs, ReconstructArgs, ResolutionArgs};
use crate::failure::Failure;
use crate::output::{facts, note_lines, say};
use crate::paths::{self, OutputFile};
use serde::Serialize;
use std::path::{Path, PathBuf};
use warpstride::ptycho::data::Reconstruction;
use warpstride::ptycho::io::results;
use warpstride::ptycho::quality::{Comparison, Reference, compare};
use warpstride::ptycho::report::{report_of_halves, ring_correlation_svg};
use warpstride::ptycho::{Ranks, StopRule};
use warpstride::system::write_whole;
use warpstride::text::{length, significant};

/// Lengths below this, m, are in ångström too.
const ANGSTROM_BELOW: f64 = 1e-8;

/// A checked command.
pub(crate) struct Resolution {
    scan: PathBuf,
    halves: [Half; 2],
    summary: Option<PathBuf>,
    report: Option<PathBuf>,
    plot: Option<PathBuf>,
    /// Whether progress is text, JSON lines or nothing.
    json: bool,
    quiet: bool,
}

/// A half of the scan.
struct Half {
    result: PathBuf,
    /// How it is computed; none if an earlier run has finished it.
    run: Option<Box<Reconstruct>>,
}

/// What `--summary` writes.
#[derive(Serialize)]
struct Summary<'a> {
    scan: String,
    halves: [String; 2],
    frames: [usize; 2],
    /// Object pixel (row, column), m.
    pixel: [f64; 2],
    r_factor: [Option<f64>; 2],
    r_free: [Option<f64>; 2],
    #[serde(flatten)]
    comparison: &'a Comparison,
    notes: &'a [String],
    version: &'a str,
}

impl Resolution {
    /// Checks options, recipe and outputs, and finds what an earlier run has done.
    pub(crate) fn from_args(args: ResolutionArgs) -> Result<Self, Failure> {
        let output = OutputFile::new("-o", &args.output, &[paths::PTYCHO_RESULT]);
        paths::check_name(&output)?;
        let results = [1, 2].map(|half| beside(&args.output, &format!("-half{half}.h5")));
        let outputs: Vec<OutputFile<'_>> = (results.iter())
            .map(|result| OutputFile::new("half", result, &[paths::PTYCHO_RESULT]))
            .chain(OutputFile::given(
                "--summary",
                args.summary.as_deref(),
                &[paths::JSON],
            ))
            .chain(OutputFile::given(
                "--report",
                args.report.as_deref(),
                &[paths::HTML],
            ))
            .chain(OutputFile::given(
                "--plot",
                args.plot.as_deref(),
                &[paths::SVG],
            ))
            .collect();
        let mut inputs = vec![args.file.as_path()];
        inputs.extend(args.recipe.recipe.as_deref());
        inputs.extend(args.recipe.scan.positions.more.iter().map(PathBuf::as_path));
        paths::check(&outputs, &inputs)?;
        let [first, second] = &results;
        let halves = [Half::new(1, first, &args)?, Half::new(2, second, &args)?];
        Ok(Self {
            scan: args.file,
            halves,
            summary: args.summary,
            report: args.report,
            plot: args.plot,
            json: args.json_progress,
            quiet: args.quiet,
        })
    }

    /// Reconstructs the halves, correlates them and writes the outputs.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut notes = Vec::new();
        let mut names = Vec::new();
        for (number, half) in (1..).zip(self.halves) {
            let name = half.result.display().to_string();
            match half.run {
                None => notes.push(format!("{name} is that of an earlier run")),
                Some(run) => {
                    if self.json {
                        say(&format!("{{\"half\":{number}}}\n"))?;
                    } else if !self.quiet {
                        say(&format!("half {number} of 2\n"))?;
                    }
                    let stopped = format!(
                        "stopped in half {number} of 2; the same command with --resume continues"
                    );
                    let run = run.stopping_with(stopped.clone());
                    run.run(&Ranks::alone()).map_err(|failure| match failure {
                        Failure::Interrupted(_) => Failure::Interrupted(stopped),
                        other => other,
                    })?;
                }
            }
            names.push(half.result);
        }
        let read: Vec<Reconstruction> = (names.iter())
            .map(|path| results::read(path))
            .collect::<Result<_, _>>()?;
        let (Ok(halves), Ok(names)) = (
            <[Reconstruction; 2]>::try_from(read),
            <[PathBuf; 2]>::try_from(names),
        ) else {
            return Err(Failure::failed("expected two halves"));
        };
        let names = names.map(|path| path.display().to_string());
        let comparison = compare(&halves[0], Reference::Reconstruction(&halves[1]))
            .map_err(|e| Failure::failed(format!("{} against {}: {e}", names[0], names[1])))?;
        if comparison.frc.is_empty() {
            notes.push(format!(
                "no ring correlation: the rectangle that both halves have lit has {} x {} pixels, fewer than 8 along an axis",
                comparison.frc_shape[0], comparison.frc_shape[1]
            ));
        }
        let source = self.scan.display().to_string();
        if let Some(path) = &self.plot {
            match ring_correlation_svg(&comparison, halves[0].pixel)? {
                Some(svg) => write_whole(path, svg.as_bytes())?,
                None => {
                    let path = path.display();
                    notes.push(format!(
                        "{path} was not written, as there is nothing to draw"
                    ));
                }
            }
        }
        if let Some(path) = &self.report {
            let page = report_of_halves(&source, &halves, &comparison, &notes)?;
            write_whole(path, page.as_bytes())?;
        }
        let newest = |value: fn(&warpstride::ptycho::data::HistoryEntry) -> Option<f64>| {
            halves
                .each_ref()
                .map(|half| half.history.iter().rev().find_map(value))
        };
        let summary = Summary {
            scan: source,
            frames: halves.each_ref().map(|half| half.positions.nrows()),
            pixel: halves[0].pixel,
            r_factor: newest(|h| h.r_factor),
            r_free: newest(|h| h.r_free),
            comparison: &comparison,
            notes: &notes,
            version: &halves[0].version,
            halves: names,
        };
        if let Some(path) = &self.summary {
            let text = serde_json::to_string_pretty(&summary)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if self.json {
            let line = serde_json::json!({
                "resolution_half_bit": comparison.resolution_half_bit,
                "resolution_one_bit": comparison.resolution_one_bit,
            });
            say(&format!("{line}\n"))?;
        } else if !self.quiet {
            let others = [&self.report, &self.plot, &self.summary];
            say(&(note_lines(&notes) + &text(&summary, &others)))?;
        }
        Ok(())
    }
}

impl Half {
    /// Half `number`, with its result in `result`.
    fn new(number: usize, result: &Path, args: &ResolutionArgs) -> Result<Self, Failure> {
        let origin = RecipeOrigin::new(&args.recipe, None);
        // The halves must have one recipe, so that none is chosen for each of them.
        let engines = &args.recipe.engine;
        if !engines.is_empty() && names_automatic(engines, None) {
            return Err(Failure::usage(
                "--engine auto: expected engines by name, or no --engine for the default ones, as the halves need the same recipe, and trials would choose one for each",
            ));
        }
        let given = with_default_engines(&args.recipe);
        let whole = resolve(&given, &origin)?;
        if let Some(found) = whole.data.half {
            let reason = format!(
                "expected none, as the command reconstructs both halves of the scan, found {found}"
            );
            return Err(origin.not_taken("data.half", &reason));
        }
        let start = &whole.start;
        for (option, given) in [("result", &start.result), ("object", &start.object)] {
            if let Some(given) = given {
                return Err(Failure::usage(format!(
                    "start.{option}: expected none, as the halves would have their start object in common, found {given}"
                )));
            }
        }
        let mut recipe = given;
        recipe.set.push(format!("data.half={number}"));
        if number == 2 {
            // Another start object, so that the halves have nothing in common but the specimen.
            recipe.set.push(format!("seed={}", whole.seed ^ 1));
        }
        let expected = resolve(&recipe, &origin)?
            .to_toml()
            .map_err(Failure::usage)?;
        let checkpoint = Files::checkpoint_beside(result);
        let begun = std::fs::metadata(&checkpoint).is_ok_and(|m| m.is_file() && m.len() > 0);
        let name = checkpoint.display();
        if begun && !args.resume {
            return Err(Failure::failed(format!(
                "{name}: checkpoint: expected no file, found that of an earlier run: continue it with --resume, or delete it"
            )));
        }
        if !begun && args.resume && result.exists() {
            let found = results::read(result)?;
            let name = result.display();
            if found.recipe != expected || found.source != args.file.display().to_string() {
                return Err(Failure::failed(format!(
                    "{name}: expected the result of this half with the same recipe and scan, found another: delete it, or leave --resume out"
                )));
            }
            let planned: usize = whole.engines.iter().map(|e| e.iterations).sum();
            let early = whole.stop != StopRule::Off
                || whole.engines.iter().any(|e| e.stop_below_change.is_some());
            if found.history.len() < planned && !early {
                return Err(Failure::failed(format!(
                    "{name}: expected the result of {planned} iterations, found one of {}: delete it, or leave --resume out",
                    found.history.len()
                )));
            }
            return Ok(Self {
                result: result.to_owned(),
                run: None,
            });
        }
        let run = Reconstruct::from_args(ReconstructArgs {
            file: args.file.clone(),
            output: result.to_owned(),
            recipe: if begun { RecipeArgs::default() } else { recipe },
            resume: begun.then(|| checkpoint.clone()),
            compute: args.compute.clone(),
            summary: None,
            report: None,
            profile: None,
            find_orientation: false,
            find_rotation: false,
            coarse: Vec::new(),
            profile_iterations: 1,
            no_pictures: true,
            checkpoint: None,
            checkpoint_every: args.checkpoint_every,
            json_progress: args.json_progress,
            quiet: args.quiet,
        })?;
        if run.recipe_text() != expected {
            return Err(Failure::failed(format!(
                "{name}: expected the checkpoint of this half with the same recipe, found another: delete it, or repeat the command that began it"
            )));
        }
        Ok(Self {
            result: result.to_owned(),
            run: Some(Box::new(run)),
        })
    }
}

/// The table for the terminal.
fn text(of: &Summary<'_>, others: &[&Option<PathBuf>]) -> String {
    let comparison = of.comparison;
    let resolution = |half_period: Option<f64>| {
        half_period.map_or_else(
            || "none: the curve stays below the threshold".to_owned(),
            |m| {
                let pixels = significant(m / of.pixel[0].max(of.pixel[1]), 3);
                // Microscopists of electrons have such lengths in ångström.
                let angstrom = match m < ANGSTROM_BELOW {
                    true => format!(", {} Å", significant(m * 1e10, 3)),
                    false => String::new(),
                };
                let length = length(m, 3);
                format!("{length} half period ({pixels} pixels{angstrom})")
            },
        )
    };
    let pair = |values: [Option<f64>; 2]| {
        values.map(|v| v.map_or_else(|| "not computed".to_owned(), |v| significant(v, 4)))
    };
    let mut lines = vec![
        (
            "resolution, half bit",
            resolution(comparison.resolution_half_bit),
        ),
        (
            "resolution, one bit",
            resolution(comparison.resolution_one_bit),
        ),
        ("frames", format!("{} and {}", of.frames[0], of.frames[1])),
        ("R", pair(of.r_factor).join(" and ")),
    ];
    if of.r_free.iter().any(Option::is_some) {
        lines.push(("R_free", pair(of.r_free).join(" and ")));
    }
    lines.push((
        "compared",
        format!(
            "{} pixels; ring correlation over {} x {}",
            comparison.weight_pixels, comparison.frc_shape[0], comparison.frc_shape[1]
        ),
    ));
    let mut label = "written";
    let others = others
        .iter()
        .filter_map(|path| Some(path.as_ref()?.display().to_string()));
    for path in of.halves.iter().cloned().chain(others) {
        lines.push((std::mem::take(&mut label), path));
    }
    facts(&lines)
}
