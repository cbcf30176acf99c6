//! Options `--resolution` and `--smear-on`: smearing of a curve or an image.

use super::parameters::number;
use crate::args::SmearOnArg;
use crate::failure::Failure;
use warpstride::sas::data::{Scattering, Smearing};
use warpstride::sas::resolution::{Cloud, Pinhole, Sampling, Slit, Width};
use warpstride::sas::{Points, Resolution};
use warpstride::text::shortest;

/// The resolution, and the points at which the model is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ResolutionConfig {
    pub(super) kind: ResolutionArg,
    /// Whether the model is computed at the q values of the data; pinholes only.
    on_data: bool,
}

impl ResolutionConfig {
    /// Parses both options; `data` as in [`ResolutionArg::from_args`].
    pub(super) fn from_args(
        text: Option<&str>,
        on: Option<SmearOnArg>,
        data: bool,
    ) -> Result<Self, Failure> {
        let kind = match text {
            Some(text) => ResolutionArg::from_args(text, data)?,
            None => ResolutionArg::None,
        };
        if on.is_some() && !matches!(kind, ResolutionArg::Pinhole(_) | ResolutionArg::Data) {
            return Err(Failure::usage(format!(
                "--smear-on: expected --resolution pinhole:S or data, found {}",
                kind.to_arg()
            )));
        }
        Ok(Self {
            kind,
            on_data: on == Some(SmearOnArg::Data),
        })
    }

    /// The argument that gives the same resolution.
    pub(super) fn to_arg(self) -> String {
        match self.kind {
            ResolutionArg::None => String::new(),
            kind if self.on_data => format!(" --resolution {} --smear-on data", kind.to_arg()),
            kind => format!(" --resolution {}", kind.to_arg()),
        }
    }

    fn sampling(self, diameter: f64, q: &[f64]) -> Sampling {
        if self.on_data {
            return Sampling::Data;
        }
        Sampling::for_particles(diameter, q)
    }
}

/// A parsed `--resolution` option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ResolutionArg {
    /// No smearing.
    None,
    /// The resolution in the file; for fits only.
    Data,
    /// Standard deviation of q over q.
    Pinhole(f64),
    /// Half of the extents across and along q, 1/Å: `dQl` and `dQw` of canSAS.
    Slit { length: f64, width: f64 },
}

impl ResolutionArg {
    /// Parses the argument; `data`: whether a file can provide the resolution.
    pub(super) fn from_args(text: &str, data: bool) -> Result<Self, Failure> {
        let option = format!("--resolution {text}");
        let non_negative = |text: &str, what: &str| {
            let value = number(&option, text, what)?;
            if value < 0.0 {
                return Err(Failure::usage(format!(
                    "{option}: expected {what}, found {}",
                    shortest(value)
                )));
            }
            Ok(value)
        };
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            None if text == "data" && data => Ok(Self::Data),
            Some(("pinhole", share)) => {
                let what = "a standard deviation of q over q above 0 and below 1";
                let share = non_negative(share, what)?;
                if share == 0.0 || share >= 1.0 {
                    return Err(Failure::usage(format!(
                        "{option}: expected {what}, found {}",
                        shortest(share)
                    )));
                }
                Ok(Self::Pinhole(share))
            }
            Some(("slit", sizes)) => {
                let (length, width) = sizes.split_once(',').unwrap_or((sizes, "0"));
                let length = non_negative(length, "a length of the slit in 1/A, 0 or more")?;
                let width = non_negative(width, "a width of the slit in 1/A, 0 or more")?;
                if length == 0.0 && width == 0.0 {
                    return Err(Failure::usage(format!(
                        "{option}: expected a length or a width above 0"
                    )));
                }
                Ok(Self::Slit { length, width })
            }
            _ => Err(Failure::usage(format!(
                "{option}: expected {}pinhole:S or slit:LENGTH,WIDTH, such as pinhole:0.05",
                if data { "data, none, " } else { "none, " }
            ))),
        }
    }

    /// The argument that gives the same resolution.
    pub(super) fn to_arg(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Data => "data".to_owned(),
            Self::Pinhole(share) => format!("pinhole:{share}"),
            Self::Slit { length, width } => format!("slit:{length},{width}"),
        }
    }
}

impl ResolutionConfig {
    /// The matrix for `points`; `diameter` is that of the particles, Å, or 0 if unknown.
    pub(super) fn of_points(
        self,
        points: &Points,
        diameter: f64,
    ) -> Result<Option<Resolution>, Failure> {
        let option = format!("--resolution {}", self.kind.to_arg());
        if self.on_data && matches!(points, Points::Pixels { .. }) {
            return Err(smear_on_data_refused());
        }
        let made = match (self.kind, points) {
            (ResolutionArg::None | ResolutionArg::Data, _) => return Ok(None),
            (ResolutionArg::Pinhole(share), Points::Curve(q)) => {
                Pinhole::new(Width::Relative(share))
                    .sampled(self.sampling(diameter, q))
                    .resolution(q)
            }
            (ResolutionArg::Pinhole(share), Points::Pixels { qx, qy }) => {
                let widths: Vec<f64> = qx
                    .iter()
                    .zip(qy)
                    .map(|(x, y)| share * x.hypot(*y))
                    .collect();
                Cloud::default().resolution(qx, qy, &widths, &widths)
            }
            (ResolutionArg::Slit { length, width }, Points::Curve(q)) => {
                let [length, width] = [length, width].map(Width::Same);
                Slit::for_particles(length, width, diameter, q).resolution(q)
            }
            (ResolutionArg::Slit { .. }, Points::Pixels { .. }) => {
                return Err(Failure::usage(format!(
                    "{option}: expected pinhole:S for an image, as a slit applies to curves only"
                )));
            }
        };
        made.map(Some)
            .map_err(|e| Failure::failed(format!("{option}: {e}")))
    }
}

impl ResolutionConfig {
    /// The matrix for `data` of `file`, with the resolution of the file unless another one was
    /// given; `diameter` as in [`Self::of_points`].
    pub(super) fn of_data(
        self,
        data: &Scattering,
        file: &str,
        diameter: f64,
    ) -> Result<Option<Resolution>, Failure> {
        let points = match data {
            Scattering::Curve(curve) => Points::Curve(curve.q.clone()),
            Scattering::Image(image) => Points::Pixels {
                qx: image.qx.clone(),
                qy: image.qy.clone(),
            },
        };
        if self.kind != ResolutionArg::Data {
            return self.of_points(&points, diameter);
        }
        if !self.on_data {
            return Resolution::of(data, diameter)
                .map_err(|e| Failure::failed(format!("{file}: {e}")));
        }
        let Scattering::Curve(curve) = data else {
            return Err(smear_on_data_refused());
        };
        let Some(Smearing::Pinhole(widths)) = &curve.smearing else {
            return Err(Failure::usage(format!(
                "--smear-on data: expected a pinhole resolution in {file}, found none"
            )));
        };
        Pinhole::new(Width::Each(widths.clone()))
            .sampled(Sampling::Data)
            .resolution(&curve.q)
            .map(Some)
            .map_err(|e| Failure::failed(format!("{file}: {e}")))
    }
}

fn smear_on_data_refused() -> Failure {
    Failure::usage(
        "--smear-on data: expected a curve, found an image, which is smeared over points around each pixel",
    )
}
