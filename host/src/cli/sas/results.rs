//! What a fit leaves: the fitted curve, summary, report, picture, and a table.

use super::files::{self, Coordinates, machine_words};
use super::wanted::Distributed;
use crate::cli::failure::Failure;
use crate::cli::output::facts;
use crate::cli::paths;
use serde::Serialize;
use std::path::{Path, PathBuf};
use warpstride::data::{Curve, Scattering, ScatteringImage};
use warpstride::report::{Table, fit_picture, fit_report, significant, write_whole};
use warpstride::sas::Points;
use warpstride::sas::fit::{Bound, Comparison, Method, Outcome};

/// Where everything goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) output: Option<PathBuf>,
    pub(super) summary: Option<PathBuf>,
    pub(super) report: Option<PathBuf>,
    pub(super) plot: Option<PathBuf>,
}

/// What `--summary` and `--json` say.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// The file of the data, as given.
    file: &'a str,
    resolution: String,
    polydispersity: Vec<Distributed>,
    /// Computes the model with the values that were found.
    command: String,
    curves: Curves<'a>,
}

/// The points that took part.
#[derive(Serialize)]
struct Curves<'a> {
    #[serde(flatten)]
    points: Coordinates<'a>,
    /// Measured, 1/cm.
    intensity: &'a [f64],
    sigma: &'a [f64],
    /// Of the model.
    fit: &'a [f64],
    /// (intensity − fit)/sigma.
    residual: Vec<f64>,
}

impl<'a> Summary<'a> {
    pub(super) fn new(
        outcome: &'a Outcome,
        comparison: &'a Comparison,
        file: &'a str,
        resolution: String,
        polydispersity: Vec<Distributed>,
        command: String,
    ) -> Self {
        Self {
            outcome,
            file,
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

impl Files {
    fn all(&self) -> impl Iterator<Item = &Path> {
        [&self.output, &self.summary, &self.report, &self.plot]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
    }

    /// Whether nothing is written.
    pub(super) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Checks, before any work, that every file can be written and that none is another one or an
    /// input.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        if let Some(path) = &self.plot {
            paths::check_picture("--plot", path)?;
        }
        if let Some(path) = &self.output {
            files::check_kind(path)?;
        }
        paths::check(&self.all().collect::<Vec<_>>(), inputs)
    }

    /// Writes the summary first: it is what took the time. Gives the names.
    pub(super) fn write(
        &self,
        outcome: &Outcome,
        comparison: &Comparison,
        summary: &Summary<'_>,
    ) -> Result<Vec<String>, Failure> {
        if let Some(path) = &self.summary {
            let text = serde_json::to_string_pretty(summary)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if let Some(path) = &self.output {
            let process = [
                (
                    "program",
                    format!("warpstride {}", env!("CARGO_PKG_VERSION")),
                ),
                ("fit of", outcome.model.clone()),
                ("to", summary.file.to_owned()),
                ("command", summary.command.clone()),
                ("resolution", summary.resolution.clone()),
                ("chi2 per point", significant(outcome.chi2_per_point, 6)),
                ("back end", machine_words(&outcome.setup)),
                ("units", "q 1/Ang, intensity 1/cm".to_owned()),
            ];
            files::write(path, &fitted(outcome, comparison), &process)?;
        }
        if let Some(path) = &self.report {
            write_whole(path, fit_report(outcome, comparison)?.as_bytes())?;
        }
        if let Some(path) = &self.plot {
            fit_picture(comparison)
                .map_err(|e| Failure::failed(format!("--plot: {e}")))?
                .write(path)?;
        }
        Ok(self.all().map(|path| path.display().to_string()).collect())
    }
}

/// The fitted intensities, smeared as the data are.
fn fitted(outcome: &Outcome, comparison: &Comparison) -> Scattering {
    let title = format!("{} fitted to {}", outcome.model, outcome.data);
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

/// The words for people.
pub(super) fn table(outcome: &Outcome, file: &str, written: &[String]) -> String {
    let mut parameters = Table::new(&["parameter", "value", "±", "units", "bounds", ""]);
    for fitted in &outcome.parameters {
        let end = |end: Option<f64>| end.map_or_else(|| "…".to_owned(), |v| v.to_string());
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
                Some(Bound::Least) => "at its least",
                Some(Bound::Greatest) => "at its greatest",
                None => "",
            }
            .to_owned(),
        ]);
    }
    let method = match outcome.method {
        Method::LevenbergMarquardt if outcome.starts > 1 => {
            format!("Levenberg-Marquardt from {} starts", outcome.starts)
        }
        Method::LevenbergMarquardt => "Levenberg-Marquardt".to_owned(),
        Method::Evolution => "differential evolution, then Levenberg-Marquardt".to_owned(),
    };
    let mut lines = vec![
        ("model", outcome.model.clone()),
        ("data", format!("{} ({file})", outcome.data)),
        ("method", format!("{method}: {}", outcome.stop.words())),
        (
            "χ²/point",
            format!(
                "{} of {} points{}",
                significant(outcome.chi2_per_point, 5),
                outcome.points,
                if outcome.known_sigma {
                    ""
                } else {
                    ", without uncertainties of the data"
                }
            ),
        ),
        ("back end", machine_words(&outcome.setup)),
        (
            "time",
            format!(
                "{} s, {} evaluations",
                significant(outcome.seconds, 3),
                outcome.evaluations
            ),
        ),
    ];
    let mut name = "written";
    for path in written {
        lines.push((std::mem::take(&mut name), path.clone()));
    }
    format!("{}\n{parameters}", facts(&lines))
}
