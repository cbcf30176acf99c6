//! `warpstride sas info`.

use super::files;
use crate::args::SasInfoArgs;
use crate::failure::Failure;
use crate::output::{facts, say, say_json};
use serde::Serialize;
use std::path::PathBuf;
use warpstride::sas::data::{Curve, Scattering, ScatteringImage, Smearing};
use warpstride::sas::io::ReadOptions;
use warpstride::sas::{GUINIER_POINTS, Guinier, guinier, problems, relative_uncertainty};
use warpstride::text::{count, significant};

/// The file to describe, and how to print it.
#[derive(Debug)]
pub(crate) struct Info {
    file: PathBuf,
    options: ReadOptions,
    json: bool,
}

/// Properties of the data. Ranges are least and greatest.
#[derive(Debug, Serialize)]
struct DataSummary {
    file: String,
    title: String,
    /// `curve` or `image`.
    kind: &'static str,
    points: usize,
    /// |q|, 1/Å.
    q: [f64; 2],
    /// 1/cm, or the unit of the file.
    intensity: [f64; 2],
    /// Points with intensities that are not positive.
    not_positive: usize,
    /// σ/|I|: least, median, greatest; `null` without uncertainties.
    relative_uncertainty: Option<[f64; 3]>,
    /// σ, least and greatest, in the unit of the intensities; `null` without uncertainties.
    uncertainty: Option<[f64; 2]>,
    resolution: ResolutionSummary,
    /// For a curve: radius of gyration and intensity at q = 0, if Guinier's law holds for some
    /// points.
    guinier: Option<Guinier>,
    problems: Vec<String>,
    notes: Vec<String>,
}

/// The resolution in the file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
enum ResolutionSummary {
    None,
    /// σ(q)/q.
    Pinhole {
        relative: [f64; 2],
    },
    /// 1/Å.
    Slit {
        length: [f64; 2],
        width: [f64; 2],
    },
    /// σ along and across the direction of q, 1/Å.
    Pixels {
        along: [f64; 2],
        across: [f64; 2],
    },
}

impl Info {
    /// Checks the options.
    pub(crate) fn from_args(args: SasInfoArgs) -> Result<Self, Failure> {
        Ok(Self {
            options: files::read_options(args.select, args.q_unit)?,
            file: args.file,
            json: args.json,
        })
    }

    /// Reads the file and prints its description.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = self.file.display().to_string();
        let data = warpstride::sas::io::read(&self.file, &self.options)?;
        let problems = problems(&data);
        let mut found = match data {
            Scattering::Curve(curve) => DataSummary::of_curve(file, curve),
            Scattering::Image(image) => DataSummary::of_image(file, image),
        };
        found.problems = problems;
        if self.json {
            say_json(&found)
        } else {
            say(&found.text())
        }
    }
}

fn range(values: impl IntoIterator<Item = f64>) -> [f64; 2] {
    values
        .into_iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| {
            [low.min(v), high.max(v)]
        })
}

impl DataSummary {
    fn of_curve(file: String, curve: Curve) -> Self {
        let resolution = match &curve.smearing {
            None => ResolutionSummary::None,
            Some(Smearing::Pinhole(sigma)) => ResolutionSummary::Pinhole {
                relative: range(sigma.iter().zip(&curve.q).map(|(s, q)| s / q)),
            },
            Some(Smearing::Slit { length, width }) => ResolutionSummary::Slit {
                length: range(length.iter().copied()),
                width: range(width.iter().copied()),
            },
        };
        let guinier = guinier(&curve.q, &curve.intensity, curve.sigma.as_deref());
        let mut found = Self {
            kind: "curve",
            points: curve.q.len(),
            q: range(curve.q.iter().copied()),
            resolution,
            guinier,
            ..Self::new(file, &curve.intensity, curve.sigma.as_deref())
        };
        found.title = curve.title;
        found.notes = curve.notes;
        found
    }

    fn of_image(file: String, image: ScatteringImage) -> Self {
        let resolution = match &image.resolution {
            None => ResolutionSummary::None,
            Some((along, across)) => ResolutionSummary::Pixels {
                along: range(along.iter().copied()),
                across: range(across.iter().copied()),
            },
        };
        let moduli = image.qx.iter().zip(&image.qy).map(|(x, y)| x.hypot(*y));
        let mut found = Self {
            kind: "image",
            points: image.qx.len(),
            q: range(moduli),
            resolution,
            ..Self::new(file, &image.intensity, image.sigma.as_deref())
        };
        found.title = image.title;
        found.notes = image.notes;
        found
    }

    fn new(file: String, intensity: &[f64], sigma: Option<&[f64]>) -> Self {
        Self {
            file,
            title: String::new(),
            kind: "",
            points: 0,
            q: [0.0; 2],
            intensity: range(intensity.iter().copied()),
            not_positive: intensity.iter().filter(|i| **i <= 0.0).count(),
            relative_uncertainty: relative_uncertainty(intensity, sigma),
            uncertainty: sigma.map(|sigma| range(sigma.iter().copied())),
            resolution: ResolutionSummary::None,
            guinier: None,
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let span = |[low, high]: [f64; 2]| {
            if low == high {
                significant(low, 4)
            } else {
                format!("{} to {}", significant(low, 4), significant(high, 4))
            }
        };
        let percent = |share: f64| significant(100.0 * share, 3);
        let mut lines = vec![
            ("file", self.file.clone()),
            ("title", self.title.clone()),
            (
                "holds",
                match self.kind {
                    "image" => format!(
                        "an image I(qx, qy) of {}",
                        count(self.points, ["pixel", "pixels"])
                    ),
                    _ => format!(
                        "a curve I(q) of {}",
                        count(self.points, ["point", "points"])
                    ),
                },
            ),
            ("|q|", format!("{} 1/Å", span(self.q))),
            ("intensity", format!("{} 1/cm", span(self.intensity))),
            (
                "uncertainties",
                match (self.relative_uncertainty, self.uncertainty) {
                    (None, None) => "none".to_owned(),
                    (None, Some(sigma)) => format!("{} 1/cm", span(sigma)),
                    (Some([least, middle, most]), _) => format!(
                        "{} to {} % of the intensity, median {} %",
                        percent(least),
                        percent(most),
                        percent(middle)
                    ),
                },
            ),
            (
                "resolution",
                match &self.resolution {
                    ResolutionSummary::None => "none".to_owned(),
                    ResolutionSummary::Pinhole { relative } => {
                        format!("pinhole, {} % of q", span(relative.map(|r| 100.0 * r)))
                    }
                    ResolutionSummary::Slit { length, width } => format!(
                        "slit, length {} 1/Å, width {} 1/Å",
                        span(*length),
                        span(*width)
                    ),
                    ResolutionSummary::Pixels { along, across } => format!(
                        "{} 1/Å along q, {} 1/Å across it",
                        span(*along),
                        span(*across)
                    ),
                },
            ),
        ];
        if self.kind == "curve" {
            lines.push((
                "Guinier",
                self.guinier.map_or_else(
                    || {
                        if self.points < GUINIER_POINTS {
                            format!("expected {} points or more", GUINIER_POINTS)
                        } else {
                            "Guinier's law does not hold for the first five points".to_owned()
                        }
                    },
                    |g| {
                        format!(
                            "Rg = {} ± {} Å, I(0) = {} 1/cm, from {} points up to {} 1/Å; for spheres R = {} Å",
                            significant(g.rg, 4),
                            significant(g.rg_sigma, 2),
                            significant(g.i0, 4),
                            g.points,
                            significant(g.q[1], 3),
                            significant(g.rg * (5.0_f64 / 3.0).sqrt(), 4)
                        )
                    },
                ),
            ));
        }
        lines.extend(self.problems.iter().map(|p| ("problem", p.clone())));
        lines.extend(self.notes.iter().map(|n| ("note", n.clone())));
        facts(&lines)
    }
}
