//! The options of `warpstride sas`.

use super::{MachineTyped, PrecisionWord};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum SasCommand {
    /// List the models, or say what one of them computes and which parameters it has
    #[command(after_help = "\
Examples:
  warpstride sas models
  warpstride sas models cylinder
  warpstride sas models sphere@hardsphere
  warpstride sas models --json")]
    Models(SasModelsTyped),
    /// Compute the intensities of a model
    #[command(after_help = "\
Examples:
  warpstride sas evaluate sphere --set radius=60,sld=4
  warpstride sas evaluate cylinder --pd radius=0.1 --pd length=0.2:lognormal -o curve.csv --plot curve.png
  warpstride sas evaluate sphere@hardsphere --set volfraction=0.2 --q 0.005:0.3:100 --json
  warpstride sas evaluate cylinder --q2d 0.2:128 --set phi=30 --pd theta=15:gaussian:15 -o image.csv --plot image.png
  warpstride sas evaluate sphere --set radius=500 --resolution pinhole:0.05 --points 0.01,0.02,0.03

q in 1/A, intensities in 1/cm, lengths in A, scattering length densities in 1e-6/A^2, angles in
degrees. A width of --pd is relative (0.1: the standard deviation is a tenth of the value) for sizes,
and in degrees for angles. What -o writes, `sas info` and `sas fit` read again.")]
    Evaluate(Box<SasEvaluateTyped>),
    /// Say what a file holds: points, resolution, what is suspicious, a first guess of the size
    #[command(after_help = "\
Examples:
  warpstride sas info data.txt
  warpstride sas info data.xml --json
  warpstride sas info data.h5")]
    Info(SasInfoTyped),
    /// Search the parameters of a model that agree with data
    #[command(after_help = "\
Examples:
  warpstride sas fit sphere data.txt --fit radius=20:100 --fit scale --fit background
  warpstride sas fit sphere data.txt --pd radius=0.1:schulz --fit radius=20:100,radius_pd=0.05:0.4,scale
  warpstride sas fit sphere@hardsphere data.xml --set sld=1 --fit radius=10:60,volfraction=0.01:0.4 --report fit.html
  warpstride sas fit core_shell_sphere data.dat --fit radius,thickness,scale --method de --seed 7 --summary fit.json
  warpstride sas fit cylinder data.h5 --fit radius=5:80,length=50:900,scale --starts 20 --qrange 0.01:0.3

Bounds are LOW:HIGH; without them the limits of the parameter hold. A width is fitted as NAME_pd where
--pd NAME=… gives its distribution and its start value. Ctrl-C saves the best so far.")]
    Fit(Box<SasFitTyped>),
}

#[derive(Debug, Args)]
pub(crate) struct SasModelsTyped {
    /// One model, or a product P@S [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is computed, as far as evaluation and fit have it in common.
#[derive(Debug, Args)]
pub(crate) struct SasModelTyped {
    /// The model, or a product P@S; `warpstride sas models` lists them
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Values of parameters: radius=60,sld=4; may be repeated [default: the model's]
    #[arg(
        long,
        value_name = "NAME=VALUE,…",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) set: Vec<String>,
    /// A distribution: NAME=WIDTH[:KIND[:POINTS[:NSIGMA]]] or NAME=array:FILE (two columns: value,
    /// weight). KIND: gaussian, rectangle, uniform, lognormal, schulz, boltzmann; may be repeated, up
    /// to five [default: none]
    #[arg(
        long,
        value_name = "NAME=WIDTH[:KIND…]",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) pd: Vec<String>,
    /// Leave out products of weights that are not above it; 0 leaves out nothing
    #[arg(
        long,
        value_name = "C",
        default_value_t = 0.0,
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) cutoff: f64,
    /// Arithmetic
    #[arg(long, value_enum, default_value_t = PrecisionWord::F64, help_heading = "What to compute")]
    pub(crate) precision: PrecisionWord,
}

#[derive(Debug, Args)]
pub(crate) struct SasEvaluateTyped {
    #[command(flatten)]
    pub(crate) model: SasModelTyped,
    /// A grid of |q|, 1/A: FIRST:LAST:COUNT, even steps, or even ratios with :log
    /// [default: 0.001:0.5:200:log]
    #[arg(
        long,
        value_name = "A:B:N[:log]",
        allow_hyphen_values = true,
        help_heading = "What to compute",
        conflicts_with_all = ["points", "q2d"]
    )]
    pub(crate) q: Option<String>,
    /// Values of |q|, 1/A: 0.01,0.1
    #[arg(
        long,
        value_name = "Q,…",
        allow_hyphen_values = true,
        help_heading = "What to compute",
        conflicts_with = "q2d"
    )]
    pub(crate) points: Option<String>,
    /// Two dimensions: N × N pixels, qx and qy from -MAX to MAX, 1/A
    #[arg(
        long,
        value_name = "MAX:N",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) q2d: Option<String>,
    /// Smear: pinhole:S (standard deviation of q over q) or slit:LENGTH,WIDTH (1/A; half of
    /// the extents across and along q, as dQl and dQw of canSAS) [default: none]
    #[arg(
        long,
        value_name = "pinhole:S|slit:L,W",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) resolution: Option<String>,
    /// Where the model is computed before it is smeared by a pinhole: on a grid fine enough for its
    /// fringes, or at the data's own q (as other programs do) [default: fine]
    #[arg(
        long,
        value_enum,
        value_name = "WHERE",
        help_heading = "What to compute"
    )]
    pub(crate) smear_on: Option<SmearOnWord>,

    #[command(flatten)]
    pub(crate) machine: MachineTyped,

    /// The intensities: text with commas, or NXcanSAS where the name ends in .h5
    #[arg(
        short,
        long,
        value_name = "OUT.csv|OUT.h5",
        help_heading = "What to write"
    )]
    pub(crate) output: Option<PathBuf>,
    /// A picture: log-log curve, or logarithmic colours of an image
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// Print JSON: q, intensity and everything that made them
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SasInfoTyped {
    /// The data: text with columns, canSAS XML or NXcanSAS
    #[arg(value_name = "DATA")]
    pub(crate) file: PathBuf,
    /// Which data set of the file, by number from 1 or by title [default: the first]
    #[arg(long, value_name = "N|TITLE")]
    pub(crate) select: Option<String>,
    /// Unit of q where the file does not say it [default: 1/A]
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) q_unit: Option<QUnitWord>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SasFitTyped {
    #[command(flatten)]
    pub(crate) model: SasModelTyped,
    /// The data: text with columns, canSAS XML or NXcanSAS
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// Which data set of the file, by number from 1 or by title [default: the first]
    #[arg(long, value_name = "N|TITLE", help_heading = "What to compute")]
    pub(crate) select: Option<String>,
    /// Unit of q where the file does not say it [default: 1/A]
    #[arg(
        long,
        value_enum,
        value_name = "UNIT",
        help_heading = "What to compute"
    )]
    pub(crate) q_unit: Option<QUnitWord>,

    /// What to search: NAME[=LOW:HIGH],…; NAME_pd is the width of --pd NAME=…; may be repeated. Scale and
    /// background are searched too unless --set sets them
    #[arg(
        long,
        value_name = "NAME[=LOW:HIGH],…",
        allow_hyphen_values = true,
        help_heading = "How to search"
    )]
    pub(crate) fit: Vec<String>,
    /// How
    #[arg(long, value_enum, default_value_t = FitMethodWord::Lm, help_heading = "How to search")]
    pub(crate) method: FitMethodWord,
    /// Start values to try: the ones set, and random ones within the bounds [default: 1]; for lm
    #[arg(long, value_name = "N", help_heading = "How to search")]
    pub(crate) starts: Option<usize>,
    /// Decides every random choice [default: 1]
    #[arg(long, value_name = "N", help_heading = "How to search")]
    pub(crate) seed: Option<u64>,
    /// Most iterations (of each start; generations of de) [default: 200 for lm, 300 for de]
    #[arg(long, value_name = "N", help_heading = "How to search")]
    pub(crate) iterations: Option<usize>,
    /// Use the points from A to B only, 1/A; either may be left out
    #[arg(
        long,
        value_name = "A:B",
        allow_hyphen_values = true,
        help_heading = "How to search"
    )]
    pub(crate) qrange: Option<String>,
    /// Leave out points whose intensity is not above 0, as programs do that fit logarithms
    #[arg(long, help_heading = "How to search")]
    pub(crate) positive: bool,
    /// Smearing: data (what the file has), none, pinhole:S (standard deviation of q over q) or
    /// slit:LENGTH,WIDTH (1/A)
    #[arg(
        long,
        value_name = "data|none|pinhole:S|slit:L,W",
        default_value = "data",
        allow_hyphen_values = true,
        help_heading = "How to search"
    )]
    pub(crate) resolution: String,
    /// Where the model is computed before it is smeared by a pinhole: on a grid fine enough for its
    /// fringes, or at the data's own q (as other programs do) [default: fine]
    #[arg(long, value_enum, value_name = "WHERE", help_heading = "How to search")]
    pub(crate) smear_on: Option<SmearOnWord>,

    #[command(flatten)]
    pub(crate) machine: MachineTyped,

    /// The fitted curve: text with commas, or NXcanSAS where the name ends in .h5
    #[arg(
        short,
        long,
        value_name = "OUT.csv|OUT.h5",
        help_heading = "What to write"
    )]
    pub(crate) output: Option<PathBuf>,
    /// Parameters, uncertainties, covariance and curves as JSON
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// Curves, residuals and parameters as one HTML file
    #[arg(long, value_name = "R.html", help_heading = "What to write")]
    pub(crate) report: Option<PathBuf>,
    /// Data, fit and residuals as a picture
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// Print the summary as JSON instead of the table
    #[arg(long, help_heading = "What to write", conflicts_with_all = ["json_progress", "quiet"])]
    pub(crate) json: bool,
    /// Progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FitMethodWord {
    /// Levenberg-Marquardt with bounds
    Lm,
    /// Differential evolution: a population within the bounds, then lm
    De,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QUnitWord {
    /// 1/A
    #[value(name = "1/A", alias = "a")]
    InverseAngstrom,
    /// 1/nm
    #[value(name = "1/nm", alias = "nm")]
    InverseNanometre,
}

/// Where a smeared model is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SmearOnWord {
    /// A grid fine enough for the fringes
    Fine,
    /// The data's own q, extended beyond their ends
    Data,
}
