//! `warpstride sas info`.

use super::files;
use crate::cli::args::SasInfoTyped;
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say, say_json};
use serde::Serialize;
use std::path::PathBuf;
use warpstride::data::{Curve, Scattering, ScatteringImage, Smearing};
use warpstride::io::sas::{self, ReadOptions};
use warpstride::report::significant;
use warpstride::sas::{Guinier, guinier};

/// Small-angle scattering ends below, 1/Å: q beyond are often in 1/nm.
const GREATEST_Q: f64 = 2.0;
/// A fit of a few parameters wants more points.
const FEW: usize = 10;
/// A resolution beyond this share of q is worse than that of any instrument.
const COARSE: f64 = 0.5;

/// A file to look at.
#[derive(Debug)]
pub(crate) struct Info {
    file: PathBuf,
    options: ReadOptions,
    json: bool,
}

/// Everything that is known of the data. Ranges are least and greatest.
#[derive(Debug, Serialize)]
struct Found {
    file: String,
    title: String,
    /// `curve` or `image`.
    kind: &'static str,
    points: usize,
    /// |q|, 1/Å.
    q: [f64; 2],
    /// 1/cm, or what the file has.
    intensity: [f64; 2],
    /// Points with intensities that are not above 0.
    not_positive: usize,
    /// σ/|I|: least, middle, greatest; `null` without uncertainties.
    relative_uncertainty: Option<[f64; 3]>,
    resolution: FoundSmearing,
    /// Of a curve: radius of gyration and intensity at q = 0, where Guinier's law holds for some points.
    guinier: Option<Guinier>,
    problems: Vec<String>,
    notes: Vec<String>,
}

/// The resolution that the file has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
enum FoundSmearing {
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
    /// Checks what was typed.
    pub(crate) fn from_typed(typed: SasInfoTyped) -> Result<Self, Failure> {
        Ok(Self {
            options: files::read_options(typed.select, typed.q_unit)?,
            file: typed.file,
            json: typed.json,
        })
    }

    /// Reads and prints.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = self.file.display().to_string();
        let found = match sas::read(&self.file, &self.options)? {
            Scattering::Curve(curve) => Found::of_curve(file, curve),
            Scattering::Image(image) => Found::of_image(file, image),
        };
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

/// Least, middle and greatest of σ/|I|.
fn relative(intensity: &[f64], sigma: Option<&[f64]>) -> Option<[f64; 3]> {
    let mut shares: Vec<f64> = intensity
        .iter()
        .zip(sigma?)
        .filter(|(i, _)| **i != 0.0)
        .map(|(i, s)| s / i.abs())
        .collect();
    shares.sort_by(f64::total_cmp);
    let last = shares.len().checked_sub(1)?;
    Some([shares[0], shares[last / 2], shares[last]])
}

impl Found {
    fn of_curve(file: String, curve: Curve) -> Self {
        let resolution = match &curve.smearing {
            None => FoundSmearing::None,
            Some(Smearing::Pinhole(sigma)) => FoundSmearing::Pinhole {
                relative: range(sigma.iter().zip(&curve.q).map(|(s, q)| s / q)),
            },
            Some(Smearing::Slit { length, width }) => FoundSmearing::Slit {
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
        found.problems = found.doubts();
        found
    }

    fn of_image(file: String, image: ScatteringImage) -> Self {
        let resolution = match &image.resolution {
            None => FoundSmearing::None,
            Some((along, across)) => FoundSmearing::Pixels {
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
        found.problems = found.doubts();
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
            relative_uncertainty: relative(intensity, sigma),
            resolution: FoundSmearing::None,
            guinier: None,
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// What somebody who fits these data should look at first.
    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.q[1] > GREATEST_Q {
            doubts.push(format!(
                "q goes to {} 1/Å: perhaps it is in 1/nm (--q-unit 1/nm)",
                significant(self.q[1], 3)
            ));
        }
        if self.points < FEW {
            doubts.push(format!(
                "there are {} points only: few parameters can be fitted",
                self.points
            ));
        }
        if self.not_positive > 0 {
            doubts.push(format!(
                "{} of {} intensities are not above 0",
                self.not_positive, self.points
            ));
        }
        match self.relative_uncertainty {
            None => doubts.push(
                "there are no uncertainties: a fit weighs each point with the root of its intensity, and its χ² says nothing"
                    .to_owned(),
            ),
            Some([_, middle, _]) if middle > 1.0 => doubts.push(format!(
                "half of the uncertainties are more than {} % of their intensities",
                significant(100.0 * middle, 3)
            )),
            Some([least, ..]) if least < 1e-6 => doubts.push(format!(
                "the least uncertainty is {} of its intensity: such points decide a fit alone",
                significant(least, 2)
            )),
            Some(_) => {}
        }
        if let FoundSmearing::Pinhole { relative } = self.resolution
            && relative[1] > COARSE
        {
            doubts.push(format!(
                "the resolution is up to {} % of q",
                significant(100.0 * relative[1], 3)
            ));
        }
        doubts
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
                    "image" => format!("an image I(qx, qy) of {} pixels", self.points),
                    _ => format!("a curve I(q) of {} points", self.points),
                },
            ),
            ("|q|", format!("{} 1/Å", span(self.q))),
            ("intensity", format!("{} 1/cm", span(self.intensity))),
            (
                "uncertainties",
                match self.relative_uncertainty {
                    None => "none".to_owned(),
                    Some([least, middle, most]) => format!(
                        "{} to {} % of the intensity, {} % in the middle",
                        percent(least),
                        percent(most),
                        percent(middle)
                    ),
                },
            ),
            (
                "resolution",
                match &self.resolution {
                    FoundSmearing::None => "none".to_owned(),
                    FoundSmearing::Pinhole { relative } => {
                        format!("pinhole, {} % of q", span(relative.map(|r| 100.0 * r)))
                    }
                    FoundSmearing::Slit { length, width } => format!(
                        "slit, length {} 1/Å, width {} 1/Å",
                        span(*length),
                        span(*width)
                    ),
                    FoundSmearing::Pixels { along, across } => format!(
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
                    || "the law holds for no five points at the beginning".to_owned(),
                    |g| {
                        format!(
                            "Rg = {} ± {} Å, I(0) = {} 1/cm, from {} points up to {} 1/Å; of spheres R = {} Å",
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
