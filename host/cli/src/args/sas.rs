//! The options of `warpstride sas`.

use super::{BackendArgs, DevicesArgs, PrecisionArg};
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Commands of `warpstride sas`.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  warpstride sas models
  warpstride sas evaluate sphere --set radius=60 --pd radius=0.1 \\
      --plot curve.png
  warpstride sas info data.txt
  warpstride sas fit sphere data.txt --fit radius=20:100 --fit scale \\
      --report fit.html")]
pub(crate) enum SasCommand {
    /// List the models, or describe one of them: formula, source, parameters
    #[command(after_help = "\
Examples:
  warpstride sas models
  warpstride sas models cylinder
  warpstride sas models sphere@hardsphere
  warpstride sas models sphere+lamellar
  warpstride sas models 'sphere*hardsphere'
  warpstride sas models --json")]
    Models(SasModelsArgs),
    /// Compute the intensities of a model
    #[command(after_help = "\
Examples:
  warpstride sas evaluate sphere --set radius=60,sld=4
  warpstride sas evaluate cylinder --pd radius=0.1 --pd length=0.2:lognormal \\
      -o curve.csv --plot curve.png
  warpstride sas evaluate sphere@hardsphere --set volfraction=0.2 \\
      --q 0.005:0.3:100 --json
  warpstride sas evaluate cylinder --q2d 0.2:128 --set phi=30 \\
      --pd theta=15:gaussian:15 \\
      -o image.csv --plot image.png
  warpstride sas evaluate sphere --set radius=500 --resolution pinhole:0.05 \\
      --points 0.01,0.02,0.03
  warpstride sas evaluate core_shell_sphere --set radius=60 \\
      --tie thickness=radius/4
  warpstride sas evaluate sphere@hardsphere+lamellar \\
      --set A_scale=0.1,A_radius=40,B_scale=1e-3,B_thickness=30

q in 1/A, intensities in 1/cm, lengths in A, scattering length densities in 1e-6/A^2, angles in
degrees. A width of --pd is relative (0.1: the standard deviation is a tenth of the value) for
sizes, and in degrees for angles. `sas info` and `sas fit` read the files that -o writes.")]
    Evaluate(Box<SasEvaluateArgs>),
    /// Describe a data file: points, resolution, suspicious values, a first estimate of the size
    #[command(after_help = "\
Examples:
  warpstride sas info data.txt
  warpstride sas info data.xml --json
  warpstride sas info data.h5")]
    Info(SasInfoArgs),
    /// Fit the parameters of a model to data
    #[command(after_help = "\
Examples:
  warpstride sas fit sphere data.txt --pd radius=0.1:schulz \\
      --fit radius=20:100,radius_pd=0.05:0.4,scale
  warpstride sas fit sphere h2o.dat d2o.dat --fit radius=20:100 --share radius \\
      --set sld_solvent.1=-0.56,sld_solvent.2=6.36
  warpstride sas fit sphere@hardsphere data.xml --set sld=1 \\
      --fit radius=10:60,volfraction=0.01:0.4 --report fit.html
  warpstride sas fit core_shell_sphere data.dat \\
      --fit radius=20:100,thickness=5:50 --method de --seed 7
  warpstride sas fit cylinder data.h5 --fit radius=5:80,length=50:900,scale \\
      --starts 20 --qrange 0.01:0.3 --devices all
  warpstride sas fit core_shell_sphere data.txt --fit radius=20:100 \\
      --tie 'thickness=0.2*radius+3'
  warpstride sas fit 'power_law+sphere*hardsphere' data.txt \\
      --fit B_radius=20:100,C_volfraction=0.01:0.4

Bounds are LOW:HIGH; the default is the limits of the parameter. To fit the width of a distribution,
give the distribution and the start value with --pd NAME=… and name the width NAME_pd. --devices
implies --backend cuda, unless --backend emulator is given. Ctrl-C stops the fit and saves the best
result so far. With several data files, NAME.2 in --set and --fit is the parameter for the second
file, and -o and --plot write a file for each: fit.1.csv, fit.2.csv.")]
    Fit(Box<SasFitArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct SasModelsArgs {
    /// One model, P@S with a structure factor, a sum A+B or a product A*B [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of the model, common to `evaluate` and `fit`.
#[derive(Debug, Args)]
pub(crate) struct SasModelArgs {
    /// The model, P@S with a structure factor, or sums A+B and products A*B of such models, whose
    /// parameters are A_NAME, B_NAME, …; `warpstride sas models` lists all models
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Parameter values, such as radius=60,sld=4; may be repeated [default: those of the model]
    #[arg(
        long,
        value_name = "NAME=VALUE,…",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) set: Vec<String>,
    /// A parameter that follows from others, such as thickness=2*radius: + - * / ^, parentheses,
    /// sqrt, exp, log (natural), abs, min, max, and names of parameters, NAME_pd for the width of a
    /// distribution; may be repeated [default: none]
    #[arg(
        long,
        value_name = "NAME=EXPRESSION",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) tie: Vec<String>,
    /// Distribution of a parameter: NAME=WIDTH[:KIND[:POINTS[:NSIGMA]]] or NAME=array:FILE (two
    /// columns: value, weight). KIND is gaussian, rectangle, uniform, lognormal, schulz or
    /// boltzmann; without POINTS and NSIGMA the mesh follows the width, and with one of them it is
    /// used as given; may be repeated up to five times [default: none]
    #[arg(
        long,
        value_name = "NAME=WIDTH[:KIND…]",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) pd: Vec<OsString>,
    /// Skip points of the polydispersity mesh whose weight is not above C; 0 skips none
    #[arg(
        long,
        value_name = "C",
        default_value_t = 0.0,
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) cutoff: f64,
    /// Floating-point precision
    #[arg(long, value_enum, default_value_t = PrecisionArg::F64, help_heading = "What to compute")]
    pub(crate) precision: PrecisionArg,
}

#[derive(Debug, Args)]
pub(crate) struct SasEvaluateArgs {
    #[command(flatten)]
    pub(crate) model: SasModelArgs,
    /// Grid of |q|, 1/A: FIRST:LAST:COUNT with even steps, or with even ratios if :log is added
    /// [default: 0.001:0.5:200:log]
    #[arg(
        long,
        value_name = "A:B:N[:log]",
        allow_hyphen_values = true,
        help_heading = "What to compute",
        conflicts_with_all = ["points", "q2d"]
    )]
    pub(crate) q: Option<String>,
    /// Values of |q|, 1/A, such as 0.01,0.1, or pixels QX:QY
    #[arg(
        long,
        value_name = "Q,…",
        allow_hyphen_values = true,
        help_heading = "What to compute",
        conflicts_with = "q2d"
    )]
    pub(crate) points: Option<String>,
    /// Compute an image of N × N pixels, qx and qy from -MAX to MAX, 1/A
    #[arg(
        long,
        value_name = "MAX:N",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) q2d: Option<String>,
    /// Resolution: pinhole:S (standard deviation of q over q) or slit:LENGTH,WIDTH (1/A; half of
    /// the extents across and along q, as dQl and dQw of canSAS) [default: none]
    #[arg(
        long,
        value_name = "pinhole:S|slit:L,W",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) resolution: Option<String>,
    /// Points at which the model is computed before pinhole smearing: a grid that resolves its
    /// fringes, or the q values of the data, as in other programs [default: fine]
    #[arg(
        long,
        value_enum,
        value_name = "WHERE",
        help_heading = "What to compute"
    )]
    pub(crate) smear_on: Option<SmearOnArg>,

    #[command(flatten)]
    pub(crate) backend: BackendArgs,

    /// File of the intensities: comma-separated text, or NXcanSAS if the name ends in .h5
    #[arg(
        short,
        long,
        value_name = "OUT.csv|OUT.h5",
        help_heading = "What to write"
    )]
    pub(crate) output: Option<PathBuf>,
    /// Picture: a log-log curve, or an image in logarithmic colours
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// Print JSON: q, intensities and all settings
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SasInfoArgs {
    /// Data file: columns of text, canSAS XML or NXcanSAS
    #[arg(value_name = "DATA")]
    pub(crate) file: PathBuf,
    /// Data set of the file, by number from 1 or by title [default: the first]
    #[arg(long, value_name = "N|TITLE")]
    pub(crate) select: Option<String>,
    /// Unit of q if the file does not give one [default: 1/A]
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) q_unit: Option<QUnitArg>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SasFitArgs {
    #[command(flatten)]
    pub(crate) model: SasModelArgs,
    /// Data files: columns of text, canSAS XML or NXcanSAS; several are fitted together
    #[arg(value_name = "DATA", required = true)]
    pub(crate) data: Vec<PathBuf>,
    /// Data set of the file, by number from 1 or by title; with several files one for all, or one
    /// for each, in their order [default: the first]
    #[arg(long, value_name = "N|TITLE", help_heading = "What to compute")]
    pub(crate) select: Vec<String>,
    /// Unit of q if the file does not give one [default: 1/A]
    #[arg(
        long,
        value_enum,
        value_name = "UNIT",
        help_heading = "What to compute"
    )]
    pub(crate) q_unit: Option<QUnitArg>,

    /// Parameters to fit: NAME[=LOW:HIGH],…; NAME_pd is the width of --pd NAME=…; may be repeated.
    /// Scale and background are also fitted unless --set sets them
    #[arg(
        long,
        value_name = "NAME[=LOW:HIGH],…",
        allow_hyphen_values = true,
        help_heading = "How to search"
    )]
    pub(crate) fit: Vec<String>,
    /// Fitted parameters that have one value for all data files; the others have one for each,
    /// NAME.1, NAME.2, …; may be repeated [default: none]
    #[arg(long, value_name = "NAME,…", help_heading = "How to search")]
    pub(crate) share: Vec<String>,
    /// Method of the fit
    #[arg(long, value_enum, default_value_t = FitMethodArg::Lm, help_heading = "How to search")]
    pub(crate) method: FitMethodArg,
    /// Number of starts: the values set, then random values within the bounds; for lm [default: 1]
    #[arg(long, value_name = "N", help_heading = "How to search")]
    pub(crate) starts: Option<usize>,
    /// Seed of the random numbers [default: 1]
    #[arg(long, value_name = "N", help_heading = "How to search")]
    pub(crate) seed: Option<u64>,
    /// Maximum number of iterations of each start, or of generations of de [default: 200 for lm,
    /// 300 for de]
    #[arg(long, value_name = "N", help_heading = "How to search")]
    pub(crate) iterations: Option<usize>,
    /// Use only points from A to B, 1/A; either may be omitted
    #[arg(
        long,
        value_name = "A:B",
        allow_hyphen_values = true,
        help_heading = "How to search"
    )]
    pub(crate) qrange: Option<String>,
    /// Leave out points whose intensity is not positive, as programs do that fit logarithms
    #[arg(long, help_heading = "How to search")]
    pub(crate) positive: bool,
    /// Resolution: data (the resolution in the file), none, pinhole:S (standard deviation of q over
    /// q) or slit:LENGTH,WIDTH (1/A)
    #[arg(
        long,
        value_name = "data|none|pinhole:S|slit:L,W",
        default_value = "data",
        allow_hyphen_values = true,
        help_heading = "How to search"
    )]
    pub(crate) resolution: String,
    /// Points at which the model is computed before pinhole smearing: a grid that resolves its
    /// fringes, or the q values of the data, as in other programs [default: fine]
    #[arg(long, value_enum, value_name = "WHERE", help_heading = "How to search")]
    pub(crate) smear_on: Option<SmearOnArg>,

    #[command(flatten)]
    pub(crate) backend: DevicesArgs,

    /// File of the fitted curve: comma-separated text, or NXcanSAS if the name ends in .h5
    #[arg(
        short,
        long,
        value_name = "OUT.csv|OUT.h5",
        help_heading = "What to write"
    )]
    pub(crate) output: Option<PathBuf>,
    /// Summary as JSON: parameters, uncertainties, covariance, curves
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// Report as one HTML file: curves, residuals, parameters
    #[arg(long, value_name = "R.html", help_heading = "What to write")]
    pub(crate) report: Option<PathBuf>,
    /// Picture of data, fit and residuals
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// Print the summary as JSON instead of the table
    #[arg(long, help_heading = "What to write", conflicts_with_all = ["json_progress", "quiet"])]
    pub(crate) json: bool,
    /// Print progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FitMethodArg {
    /// Levenberg-Marquardt with bounds
    Lm,
    /// Differential evolution of a population within the bounds, then lm
    De,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QUnitArg {
    /// 1/A
    #[value(name = "1/A", alias = "a")]
    InverseAngstrom,
    /// 1/nm
    #[value(name = "1/nm", alias = "nm")]
    InverseNanometre,
}

/// Points at which a smeared model is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SmearOnArg {
    /// A grid that resolves the fringes of the model
    Fine,
    /// The q values of the data, extended beyond both ends
    Data,
}
