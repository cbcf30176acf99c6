//! Results of a fit: the fitted curve, summary, report, picture, and a table for the terminal.

use super::files::{self, Coordinates};
use super::model_config::PolydispersitySummary;
use crate::failure::Failure;
use crate::output::facts;
use crate::paths::{self, OutputFile};
use serde::Serialize;
use std::path::{Path, PathBuf};
use warpstride::report::picture::Picture;
use warpstride::sas::Points;
use warpstride::sas::data::{Curve, Scattering, ScatteringImage};
use warpstride::sas::fit::{Bound, Comparison, FitResult, Method, Tied};
use warpstride::sas::report::{fit_picture, fit_report};
use warpstride::system::write_whole;
use warpstride::text::{Table, count, shortest, significant};

/// The output files; of several data sets, each has its own curve and picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputFiles {
    pub(super) output: Vec<PathBuf>,
    pub(super) summary: Option<PathBuf>,
    pub(super) report: Option<PathBuf>,
    pub(super) plot: Vec<PathBuf>,
}

/// Output of `--summary` and `--json`.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    #[serde(flatten)]
    result: &'a FitResult,
    #[serde(flatten)]
    details: Details<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Details<'a> {
    One(&'a SetSummary<'a>),
    Several { curves: Vec<SeveralCurves<'a>> },
}

/// A data set of a fit.
#[derive(Serialize)]
pub(super) struct SetSummary<'a> {
    #[serde(skip)]
    pub(super) file: String,
    pub(super) resolution: String,
    pub(super) polydispersity: Vec<PolydispersitySummary>,
    /// Command that computes the model with the fitted values.
    pub(super) command: String,
    pub(super) curves: Curves<'a>,
}

/// A data set of a fit of several.
#[derive(Serialize)]
struct SeveralCurves<'a> {
    file: &'a str,
    resolution: &'a str,
    polydispersity: &'a [PolydispersitySummary],
    command: &'a str,
    #[serde(flatten)]
    curves: &'a Curves<'a>,
}

/// Data and model at the fitted points.
#[derive(Serialize)]
pub(super) struct Curves<'a> {
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

impl<'a> Curves<'a> {
    pub(super) fn of(comparison: &'a Comparison) -> Self {
        Self {
            points: Coordinates::of(&comparison.measured.points),
            intensity: &comparison.measured.intensity,
            sigma: &comparison.measured.sigma,
            fit: &comparison.model,
            residual: comparison.residuals(),
        }
    }
}

impl<'a> Summary<'a> {
    pub(super) fn new(result: &'a FitResult, sets: &'a [SetSummary<'a>]) -> Self {
        let details = match sets {
            [one] => Details::One(one),
            several => Details::Several {
                curves: several
                    .iter()
                    .map(|set| SeveralCurves {
                        file: &set.file,
                        resolution: &set.resolution,
                        polydispersity: &set.polydispersity,
                        command: &set.command,
                        curves: &set.curves,
                    })
                    .collect(),
            },
        };
        Self { result, details }
    }
}

/// The names of the files of `count` data sets: with several, `fit.csv` is `fit.1.csv`,
/// `fit.2.csv`, ….
pub(super) fn numbered(path: Option<PathBuf>, count: usize) -> Vec<PathBuf> {
    let Some(path) = path else {
        return Vec::new();
    };
    if count == 1 {
        return vec![path];
    }
    let name = |number: usize| {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    };
    (1..=count).map(name).collect()
}

impl OutputFiles {
    /// The files in the order in which `--help` lists them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        let one = self.summary.iter().chain(&self.report);
        let all = self.output.iter().chain(one).chain(&self.plot);
        all.map(PathBuf::as_path)
    }

    /// Whether there is no output file.
    pub(super) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Checks, before any work, that every file can be written and that no two outputs, and no
    /// output and input, are the same file.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let curves = self.output.iter();
        let mut outputs: Vec<OutputFile<'_>> = curves
            .map(|path| OutputFile::new("-o", path, files::FORMATS))
            .collect();
        outputs.extend(OutputFile::given(
            "--summary",
            self.summary.as_deref(),
            &[paths::JSON],
        ));
        outputs.extend(OutputFile::given(
            "--report",
            self.report.as_deref(),
            &[paths::HTML],
        ));
        let pictures = self.plot.iter();
        outputs.extend(pictures.map(|path| OutputFile::new("--plot", path, &[paths::PNG])));
        paths::check(&outputs, inputs)
    }

    /// Draws the pictures of `--plot`, if there are some.
    pub(super) fn draw(
        &self,
        result: &FitResult,
        comparisons: &[Comparison],
    ) -> Result<Vec<Picture>, Failure> {
        let pairs = self.plot.iter().zip(comparisons);
        pairs
            .map(|(path, comparison)| {
                fit_picture(result, comparison)
                    .map_err(|e| Failure::failed(format!("--plot {}: {e}", path.display())))
            })
            .collect()
    }

    /// The files that will be written, given what [`Self::draw`] returned.
    pub(super) fn written(
        &self,
        plot: &Result<Vec<Picture>, Failure>,
    ) -> impl Iterator<Item = &Path> {
        let drawn = plot.is_ok();
        let is_plot = |path: &Path| self.plot.iter().any(|plot| plot == path);
        self.all().filter(move |path| drawn || !is_plot(path))
    }

    /// Writes the summary first, because it holds the result of the computation.
    pub(super) fn write(
        &self,
        result: &FitResult,
        comparisons: &[Comparison],
        sets: &[SetSummary<'_>],
        plot: &Result<Vec<Picture>, Failure>,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.summary {
            let text = serde_json::to_string_pretty(&Summary::new(result, sets))? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        let with_data = sets.iter().zip(comparisons).enumerate();
        for (path, (at, (set, comparison))) in self.output.iter().zip(with_data) {
            let of_set = result.data_sets.get(at);
            let chi2 = of_set.map_or(result.chi2_per_point, |of_set| of_set.chi2_per_point);
            let mut process = vec![
                (
                    "program",
                    format!("warpstride {}", env!("CARGO_PKG_VERSION")),
                ),
                ("fit of", result.model.clone()),
                ("to", set.file.clone()),
                ("command", set.command.clone()),
                ("resolution", set.resolution.clone()),
                ("chi2 per point", significant(chi2, 6)),
                ("back end", result.record.setup.to_string()),
                ("units", "q 1/Ang, intensity 1/cm".to_owned()),
            ];
            process.extend(tied_line(&result.tied));
            files::write(path, &fitted(result, comparison), &process)?;
        }
        if let Some(path) = &self.report {
            write_whole(path, fit_report(result, comparisons)?.as_bytes())?;
        }
        for (path, picture) in self.plot.iter().zip(plot.iter().flatten()) {
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
    let title = format!("{} fitted to {}", result.model, comparison.measured.title);
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

/// The table for the terminal; `files` are those of the data.
pub(super) fn table(result: &FitResult, files: &[&str]) -> String {
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
    let mut lines = vec![("model", result.model.clone())];
    if let [file] = files {
        lines.push(("data", format!("{} ({file})", result.data)));
    }
    let mut name = "data";
    for (at, (set, file)) in result.data_sets.iter().zip(files).enumerate() {
        let text = format!(
            "{}: {} ({file}), χ²/point {} of {}",
            at + 1,
            set.data,
            significant(set.chi2_per_point, 5),
            count(set.points, ["point", "points"])
        );
        lines.push((std::mem::take(&mut name), text));
    }
    lines.extend([
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
    ]);
    let mut name = "written";
    for path in &result.record.outputs {
        lines.push((std::mem::take(&mut name), path.clone()));
    }
    format!("{}\n{parameters}", facts(&lines))
}
