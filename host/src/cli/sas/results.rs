//! Results of a fit: the fitted curve, summary, report, picture, and a table for the terminal.

use super::files::{self, Coordinates};
use super::model_config::PolydispersitySummary;
use crate::cli::failure::Failure;
use crate::cli::output::facts;
use crate::cli::paths::{self, OutputFile};
use crate::data::{Curve, Scattering, ScatteringImage};
use crate::report::picture::Picture;
use crate::sas::Points;
use crate::sas::fit::{Bound, Comparison, FitResult, Method, Tied};
use crate::sas::report::{fit_picture, fit_report};
use crate::system::write_whole;
use crate::text::{Table, count, shortest, significant};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The output files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputFiles {
    pub(super) output: Option<PathBuf>,
    pub(super) summary: Option<PathBuf>,
    pub(super) report: Option<PathBuf>,
    pub(super) plot: Option<PathBuf>,
}

/// Output of `--summary` and `--json`.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    #[serde(flatten)]
    result: &'a FitResult,
    resolution: String,
    polydispersity: Vec<PolydispersitySummary>,
    /// Command that computes the model with the fitted values.
    command: String,
    curves: Curves<'a>,
}

/// Data and model at the fitted points.
#[derive(Serialize)]
struct Curves<'a> {
    #[serde(flatten)]
    points: Coordinates<'a>,
    /// Measured, 1/cm.
    intensity: &'a [f64],
    sigma: &'a [f64],
    /// Model, 1/cm.
    fit: &'a [f64],
    /// (intensity − fit)/sigma.
    residual: Vec<f64>,
}

impl<'a> Summary<'a> {
    pub(super) fn new(
        result: &'a FitResult,
        comparison: &'a Comparison,
        resolution: String,
        polydispersity: Vec<PolydispersitySummary>,
        command: String,
    ) -> Self {
        Self {
            result,
            resolution,
            polydispersity,
            command,
            curves: Curves {
                points: Coordinates::of(&comparison.measured.points),
                intensity: &comparison.measured.intensity,
                sigma: &comparison.measured.sigma,
                fit: &comparison.model,
                residual: comparison.residuals(),
            },
        }
    }
}

impl OutputFiles {
    /// The files in the order in which `--help` lists them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        [&self.output, &self.summary, &self.report, &self.plot]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
    }

    /// Whether there is no output file.
    pub(super) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Checks, before any work, that every file can be written and that no two outputs, and no
    /// output and input, are the same file.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let outputs = [
            OutputFile::given("-o", self.output.as_deref(), files::FORMATS),
            OutputFile::given("--summary", self.summary.as_deref(), &[paths::JSON]),
            OutputFile::given("--report", self.report.as_deref(), &[paths::HTML]),
            OutputFile::given("--plot", self.plot.as_deref(), &[paths::PNG]),
        ];
        let outputs: Vec<OutputFile<'_>> = outputs.into_iter().flatten().collect();
        paths::check(&outputs, inputs)
    }

    /// Draws the picture of `--plot`, if there is one.
    pub(super) fn draw(
        &self,
        result: &FitResult,
        comparison: &Comparison,
    ) -> Result<Option<Picture>, Failure> {
        let Some(path) = &self.plot else {
            return Ok(None);
        };
        fit_picture(result, comparison)
            .map(Some)
            .map_err(|e| Failure::failed(format!("--plot {}: {e}", path.display())))
    }

    /// The files that will be written, given what [`Self::draw`] returned.
    pub(super) fn written(
        &self,
        plot: &Result<Option<Picture>, Failure>,
    ) -> impl Iterator<Item = &Path> {
        let drawn = plot.is_ok();
        self.all()
            .filter(move |path| drawn || self.plot.as_deref() != Some(*path))
    }

    /// Writes the summary first, because it holds the result of the computation; `file` is that of the data.
    pub(super) fn write(
        &self,
        result: &FitResult,
        comparison: &Comparison,
        summary: &Summary<'_>,
        plot: &Result<Option<Picture>, Failure>,
        file: &str,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.summary {
            let text = serde_json::to_string_pretty(summary)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if let Some(path) = &self.output {
            let mut process = vec![
                (
                    "program",
                    format!("warpstride {}", env!("CARGO_PKG_VERSION")),
                ),
                ("fit of", result.model.clone()),
                ("to", file.to_owned()),
                ("command", summary.command.clone()),
                ("resolution", summary.resolution.clone()),
                ("chi2 per point", significant(result.chi2_per_point, 6)),
                ("back end", result.record.setup.to_string()),
                ("units", "q 1/Ang, intensity 1/cm".to_owned()),
            ];
            process.extend(tied_line(&result.tied));
            files::write(path, &fitted(result, comparison), &process)?;
        }
        if let Some(path) = &self.report {
            write_whole(path, fit_report(result, comparison)?.as_bytes())?;
        }
        if let (Some(path), Ok(Some(picture))) = (&self.plot, plot) {
            picture.write(path)?;
        }
        Ok(())
    }
}

/// The line of a file's header about tied parameters, if there are some.
fn tied_line(of: &[Tied]) -> Option<(&'static str, String)> {
    let lines = of.iter().map(|tied| {
        let (name, expression) = (&tied.name, &tied.expression);
        format!("{name} = {expression} = {}", tied.value)
    });
    (!of.is_empty()).then(|| ("tied", lines.collect::<Vec<_>>().join("; ")))
}

/// The fitted intensities, with the resolution of the data.
fn fitted(result: &FitResult, comparison: &Comparison) -> Scattering {
    let title = format!("{} fitted to {}", result.model, result.data);
    match &comparison.measured.points {
        Points::Curve(q) => Scattering::Curve(Curve {
            q: q.clone(),
            intensity: comparison.model.clone(),
            sigma: None,
            smearing: None,
            title,
            notes: Vec::new(),
        }),
        Points::Pixels { qx, qy } => Scattering::Image(ScatteringImage {
            qx: qx.clone(),
            qy: qy.clone(),
            intensity: comparison.model.clone(),
            sigma: None,
            resolution: None,
            title,
            notes: Vec::new(),
        }),
    }
}

/// The table for the terminal.
pub(super) fn table(result: &FitResult, file: &str) -> String {
    let mut parameters = Table::new(&["parameter", "value", "±", "units", "bounds", ""]);
    for fitted in &result.parameters {
        let end = |end: Option<f64>| end.map_or_else(|| "…".to_owned(), shortest);
        parameters.row([
            fitted.name.clone(),
            significant(fitted.value, 6),
            fitted
                .uncertainty
                .map_or_else(|| "-".to_owned(), |u| significant(u, 2)),
            fitted.units.to_owned(),
            match (fitted.low, fitted.high) {
                (None, None) => String::new(),
                (low, high) => format!("{} to {}", end(low), end(high)),
            },
            match fitted.at_bound {
                Some(Bound::Least) => "at its lower bound",
                Some(Bound::Greatest) => "at its upper bound",
                None => "",
            }
            .to_owned(),
        ]);
    }
    for tied in &result.tied {
        parameters.row([
            tied.name.clone(),
            significant(tied.value, 6),
            tied.uncertainty
                .map_or_else(|| "-".to_owned(), |u| significant(u, 2)),
            tied.units.to_owned(),
            format!("= {}", tied.expression),
            String::new(),
        ]);
    }
    let method = match result.method {
        Method::LevenbergMarquardt if result.starts > 1 => {
            format!("Levenberg-Marquardt from {} starts", result.starts)
        }
        Method::LevenbergMarquardt => "Levenberg-Marquardt".to_owned(),
        Method::Evolution => "differential evolution, then Levenberg-Marquardt".to_owned(),
    };
    let mut lines = vec![
        ("model", result.model.clone()),
        ("data", format!("{} ({file})", result.data)),
        ("method", format!("{method}: {}", result.stop.description())),
        (
            "χ²/point",
            format!(
                "{} of {}{}",
                significant(result.chi2_per_point, 5),
                count(result.points, ["point", "points"]),
                if result.known_sigma {
                    ""
                } else {
                    ", data without uncertainties"
                }
            ),
        ),
        ("back end", result.record.setup.to_string()),
        (
            "time",
            format!(
                "{} s, {}",
                significant(result.record.seconds, 3),
                count(result.evaluations, ["evaluation", "evaluations"])
            ),
        ),
    ];
    let mut name = "written";
    for path in &result.record.outputs {
        lines.push((std::mem::take(&mut name), path.clone()));
    }
    format!("{}\n{parameters}", facts(&lines))
}
