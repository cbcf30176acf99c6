//! The options of `warpstride ptycho`.

use super::BackendWord;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum PtychoCommand {
    /// Make a scan of a test specimen, with photon noise; the truth is stored in the file
    #[command(after_help = "\
Examples:
  warpstride ptycho simulate scan.cxi
  warpstride ptycho simulate small.cxi --frame 64 --positions 40 --photons 1e6
  warpstride ptycho simulate modes.cxi --probe-modes 3 --pattern round --overlap 0.8
  warpstride ptycho simulate clean.cxi --no-noise --seed 7")]
    Simulate(SimulateTyped),
    /// Say what a scan's file holds, what is doubtful in it, and how much memory it needs
    #[command(after_help = "\
Examples:
  warpstride ptycho info scan.cxi
  warpstride ptycho info scan.cxi --json
  warpstride ptycho info raw.h5 --recipe beamline.toml")]
    Info(InfoTyped),
    /// Reconstruct object and probe from a scan
    #[command(after_help = "\
Examples:
  warpstride ptycho reconstruct scan.cxi -o result.h5
  warpstride ptycho reconstruct scan.cxi -o result.h5 --engine dm:100 --engine raar:50
  warpstride ptycho reconstruct scan.cxi -o result.h5 --set dm.alpha=0.9 --probe-modes 3
  warpstride ptycho reconstruct scan.cxi -o result.h5 --backend cpu --report result.html
  warpstride ptycho reconstruct scan.cxi -o result.h5 --resume result.checkpoint

Ctrl-C saves a checkpoint and the present result; --resume goes on bit for bit.")]
    Reconstruct(Box<ReconstructTyped>),
    /// Compare a result with another one, or with the truth of a simulated scan
    #[command(after_help = "\
Examples:
  warpstride ptycho compare result.h5 other.h5
  warpstride ptycho compare result.h5 scan.cxi
  warpstride ptycho compare result.h5 scan.cxi --json")]
    Compare(CompareTyped),
}

#[derive(Debug, Args)]
pub(crate) struct SimulateTyped {
    /// The scan to write (CXI)
    #[arg(value_name = "OUT.cxi")]
    pub(crate) out: PathBuf,
    /// Rows and columns of a frame
    #[arg(long, value_name = "PIXELS", default_value_t = 128)]
    pub(crate) frame: usize,
    /// Number of frames
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) positions: usize,
    /// Path of the beam
    #[arg(long, value_enum, default_value_t = PatternWord::Fermat)]
    pub(crate) pattern: PatternWord,
    /// Linear overlap of neighbouring positions
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.7,
        allow_negative_numbers = true
    )]
    pub(crate) overlap: f64,
    /// Photons that each exposure receives
    #[arg(
        long,
        value_name = "N",
        default_value = "1e8",
        allow_negative_numbers = true
    )]
    pub(crate) photons: f64,
    /// Mutually incoherent probe modes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) probe_modes: usize,
    /// Error of the recorded positions (standard deviation, object pixels)
    #[arg(
        long,
        value_name = "PX",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(crate) position_error: f64,
    /// Store expected counts instead of Poisson counts
    #[arg(long)]
    pub(crate) no_noise: bool,
    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct InfoTyped {
    /// The scan: CXI, PtyPy's ptyd, or plain HDF5 with a recipe that names its datasets
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Take the [data] options and the probe modes from a recipe (TOML)
    #[arg(long, value_name = "R.toml")]
    pub(crate) recipe: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReconstructTyped {
    /// The scan: CXI, PtyPy's ptyd, or plain HDF5 with a recipe that names its datasets
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The result (HDF5); pictures go beside it
    #[arg(short, long, value_name = "OUT.h5")]
    pub(crate) output: PathBuf,

    /// Engine and iterations (dm, raar); several run in the order given [default: dm:100 raar:50]
    #[arg(long, value_name = "NAME:N", help_heading = "What to compute")]
    pub(crate) engine: Vec<String>,
    /// Every option of the run (TOML); a result's own recipe repeats it
    #[arg(long, value_name = "R.toml", help_heading = "What to compute")]
    pub(crate) recipe: Option<PathBuf>,
    /// Set one option of the recipe: dm.alpha=0.9, probe.source=aperture
    #[arg(long, value_name = "OPTION=VALUE", help_heading = "What to compute")]
    pub(crate) set: Vec<String>,
    /// Mutually incoherent probe modes
    #[arg(long, value_name = "N", help_heading = "What to compute")]
    pub(crate) probe_modes: Option<usize>,
    /// Arithmetic of the CPU [default: f32]
    #[arg(long, value_enum, help_heading = "What to compute")]
    pub(crate) precision: Option<PrecisionWord>,
    /// Decides every random choice
    #[arg(long, value_name = "N", help_heading = "What to compute")]
    pub(crate) seed: Option<u64>,
    /// Go on where a checkpoint was saved, with its recipe
    #[arg(
        long,
        value_name = "CHECKPOINT",
        help_heading = "What to compute",
        conflicts_with_all = ["engine", "recipe", "set", "probe_modes", "precision", "seed"]
    )]
    pub(crate) resume: Option<PathBuf>,

    /// Where to compute [default: auto, or where a resumed run was]
    #[arg(long, value_enum, help_heading = "Where to compute")]
    pub(crate) backend: Option<BackendWord>,
    /// Number of the GPU [default: 0]
    #[arg(long, value_name = "N", help_heading = "Where to compute")]
    pub(crate) device: Option<usize>,
    /// Threads of the CPU [default: all]
    #[arg(long, value_name = "N", help_heading = "Where to compute")]
    pub(crate) threads: Option<usize>,

    /// Figures and history as JSON
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// Pictures, curves and parameters as one HTML file
    #[arg(long, value_name = "R.html", help_heading = "What to write")]
    pub(crate) report: Option<PathBuf>,
    /// Leave out OUT-modulus.png, OUT-phase.png, OUT-phase-stretched.png and OUT-probe.png
    #[arg(long, help_heading = "What to write")]
    pub(crate) no_pictures: bool,
    /// Where to save the run's state [default: OUT.checkpoint, or the resumed one]
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Save it so often; 0: after every iteration
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60.0,
        allow_negative_numbers = true,
        help_heading = "What to write"
    )]
    pub(crate) checkpoint_every: f64,
    /// Progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareTyped {
    /// A result
    #[arg(value_name = "A.h5")]
    pub(crate) a: PathBuf,
    /// Another result, or a simulated scan, whose truth is taken
    #[arg(value_name = "B.h5|TRUTH.cxi")]
    pub(crate) b: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatternWord {
    /// Fermat's spiral
    Fermat,
    /// Rows and columns
    Raster,
    /// Concentric rings
    Round,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionWord {
    /// Single
    F32,
    /// Double
    F64,
}
