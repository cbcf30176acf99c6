//! `--resolution`: what smears a curve or an image.

use super::parameters::number;
use crate::cli::args::SmearOnWord;
use crate::cli::failure::Failure;
use std::f64::consts::TAU;
use warpstride::data::{Scattering, Smearing};
use warpstride::sas::resolution::{Cloud, Pinhole, Sampling, Slit, Width};
use warpstride::sas::{Points, Resolution};

/// What smears, and on which points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Smearer {
    pub(super) smear: Smear,
    /// A pinhole's model is computed at the data's own q.
    on_data: bool,
}

impl Smearer {
    /// Checks the words; `data` as of [`Smear::from_typed`].
    pub(super) fn from_typed(
        text: Option<&str>,
        on: Option<SmearOnWord>,
        data: bool,
    ) -> Result<Self, Failure> {
        let smear = match text {
            Some(text) => Smear::from_typed(text, data)?,
            None => Smear::None,
        };
        if on.is_some() && !matches!(smear, Smear::Pinhole(_) | Smear::Data) {
            return Err(Failure::usage(format!(
                "--smear-on: only a pinhole's smearing has the choice, and --resolution is {}",
                smear.words()
            )));
        }
        Ok(Self {
            smear,
            on_data: on == Some(SmearOnWord::Data),
        })
    }

    /// As it can be typed again.
    pub(super) fn words(self) -> String {
        match self.smear {
            Smear::None => String::new(),
            smear if self.on_data => format!(" --resolution {} --smear-on data", smear.words()),
            smear => format!(" --resolution {}", smear.words()),
        }
    }

    fn sampling(self, size: f64, greatest: f64) -> Sampling {
        if self.on_data {
            return Sampling::Data;
        }
        Sampling::Fine {
            per_sigma: PER_SIGMA,
            step: fringes(size, greatest),
        }
    }
}

/// As typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Smear {
    /// Nothing.
    None,
    /// What the file has; of a fit only.
    Data,
    /// Standard deviation of q over q.
    Pinhole(f64),
    /// Half of the extents across and along q, 1/Å: `dQl` and `dQw` of canSAS.
    Slit { length: f64, width: f64 },
}

impl Smear {
    /// Checks the words; `data`: whether there is a file whose resolution can be meant.
    pub(super) fn from_typed(text: &str, data: bool) -> Result<Self, Failure> {
        let option = format!("--resolution {text}");
        let not_below_0 = |text: &str, what: &str| {
            let value = number(&option, text, what)?;
            if value < 0.0 {
                return Err(Failure::usage(format!(
                    "{option}: found {value}; {what} is expected"
                )));
            }
            Ok(value)
        };
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            None if text == "data" && data => Ok(Self::Data),
            Some(("pinhole", share)) => {
                let what = "a standard deviation of q over q, above 0 and below 1,";
                let share = not_below_0(share, what)?;
                if share == 0.0 || share >= 1.0 {
                    return Err(Failure::usage(format!(
                        "{option}: found {share}; {what} is expected"
                    )));
                }
                Ok(Self::Pinhole(share))
            }
            Some(("slit", sizes)) => {
                let (length, width) = sizes.split_once(',').unwrap_or((sizes, "0"));
                let length = not_below_0(length, "the slit's length in 1/A, 0 or more,")?;
                let width = not_below_0(width, "the slit's width in 1/A, 0 or more,")?;
                if length == 0.0 && width == 0.0 {
                    return Err(Failure::usage(format!(
                        "{option}: a length or a width above 0 is expected"
                    )));
                }
                Ok(Self::Slit { length, width })
            }
            _ => Err(Failure::usage(format!(
                "{option}: {}pinhole:S or slit:LENGTH,WIDTH is expected, like pinhole:0.05",
                if data { "data, none, " } else { "none, " }
            ))),
        }
    }

    /// As it can be typed again.
    pub(super) fn words(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Data => "data".to_owned(),
            Self::Pinhole(share) => format!("pinhole:{share}"),
            Self::Slit { length, width } => format!("slit:{length},{width}"),
        }
    }
}

/// Fine points per standard deviation of q.
const PER_SIGMA: f64 = 5.0;
/// Fringes of particles are this share of 2π/size apart or less on the finer grid.
const OF_A_FRINGE: f64 = 0.1;
/// Fine points of a curve, roughly, that are added for fringes at most.
const MOST_FOR_FRINGES: f64 = 20_000.0;

impl Smearer {
    /// The matrix for `points`; `size` is the particles' diameter, 0 where there is none.
    pub(super) fn of_points(
        self,
        points: &Points,
        size: f64,
    ) -> Result<Option<Resolution>, Failure> {
        let option = format!("--resolution {}", self.smear.words());
        if self.on_data && matches!(points, Points::Pixels { .. }) {
            return Err(images_have_clouds());
        }
        let made = match (self.smear, points) {
            (Smear::None | Smear::Data, _) => return Ok(None),
            (Smear::Pinhole(share), Points::Curve(q)) => {
                let greatest = q.iter().copied().fold(0.0, f64::max);
                Pinhole::new(Width::Relative(share))
                    .sampled(self.sampling(size, greatest))
                    .resolution(q)
            }
            (Smear::Pinhole(share), Points::Pixels { qx, qy }) => {
                let widths: Vec<f64> = qx
                    .iter()
                    .zip(qy)
                    .map(|(x, y)| share * x.hypot(*y))
                    .collect();
                Cloud::default().resolution(qx, qy, &widths, &widths)
            }
            (Smear::Slit { length, width }, Points::Curve(q)) => Slit {
                length: Width::Same(length),
                width: Width::Same(width),
            }
            .resolution(q),
            (Smear::Slit { .. }, Points::Pixels { .. }) => {
                return Err(Failure::usage(format!(
                    "{option}: a slit smears curves, not images"
                )));
            }
        };
        made.map(Some)
            .map_err(|e| Failure::failed(format!("{option}: {e}")))
    }
}

impl Smearer {
    /// The matrix for `data` of `file`, whose own resolution counts where none other is named; `size` as above.
    pub(super) fn of_data(
        self,
        data: &Scattering,
        file: &str,
        size: f64,
    ) -> Result<Option<Resolution>, Failure> {
        let points = match data {
            Scattering::Curve(curve) => Points::Curve(curve.q.clone()),
            Scattering::Image(image) => Points::Pixels {
                qx: image.qx.clone(),
                qy: image.qy.clone(),
            },
        };
        if self.smear != Smear::Data {
            return self.of_points(&points, size);
        }
        let made = match data {
            Scattering::Curve(curve) => match &curve.smearing {
                Some(Smearing::Pinhole(widths)) => {
                    let greatest = curve.q.last().copied().unwrap_or(0.0);
                    Pinhole::new(Width::Each(widths.clone()))
                        .sampled(self.sampling(size, greatest))
                        .resolution(&curve.q)
                        .map(Some)
                }
                _ if self.on_data => {
                    return Err(Failure::usage(format!(
                        "--smear-on data: {file} has no pinhole's resolution, for which alone there is the choice"
                    )));
                }
                _ => Resolution::of_curve(curve),
            },
            Scattering::Image(_) if self.on_data => return Err(images_have_clouds()),
            Scattering::Image(image) => Resolution::of_image(image),
        };
        made.map_err(|e| Failure::failed(format!("{file}: {e}")))
    }
}

fn images_have_clouds() -> Failure {
    Failure::usage(
        "--smear-on data: is for curves; an image is smeared over points about each pixel",
    )
}

/// The widest step, 1/Å, that shows the fringes of particles of that diameter.
fn fringes(size: f64, greatest: f64) -> f64 {
    if !(size.is_finite() && size > 0.0) {
        return f64::INFINITY;
    }
    (OF_A_FRINGE * TAU / size).max(greatest / MOST_FOR_FRINGES)
}
