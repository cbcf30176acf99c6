//! The options of `warpstride jacobi`.

use super::{BackendArg, PrecisionArg};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  warpstride jacobi --nx 2048 --ny 2048 -o field.npy --plot field.png
  warpstride jacobi --devices all --check-every 100 --efficiency
  warpstride jacobi --devices 0,1 --scheme events --profile timeline.json
  warpstride jacobi --boundary dirichlet --restart start.npy --source f.npy \\
      -o solution.npy
  warpstride jacobi --restart field.npy -o further.npy --iterations 5000 --json
  warpstride jacobi --nx 40 --ny 30 --backend emulator --devices 0,1,2 \\
      --scheme overlap

A sweep computes new = (E + W + N + S + f) / 4 in rows 1 to ny-2 and columns 1 to nx-2; the norm
is the square root of the sum of (new - old)^2 over them. --devices, --scheme, --p2p, --no-p2p,
--profile and --efficiency imply --backend cuda, unless --backend emulator is given. Ctrl-C saves
the field to -o, and --restart continues from it bit for bit.")]
pub(crate) struct JacobiArgs {
    /// Columns [default: as the input files, or 16384]
    #[arg(long, value_name = "N", help_heading = "What to compute")]
    pub(crate) nx: Option<usize>,
    /// Rows [default: as the input files, or 16384]
    #[arg(long, value_name = "N", help_heading = "What to compute")]
    pub(crate) ny: Option<usize>,
    /// Maximum number of sweeps
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        help_heading = "What to compute"
    )]
    pub(crate) iterations: usize,
    /// Stop when the residual norm is at most this; 0 stops when the squared changes are all 0
    #[arg(
        long,
        value_name = "NORM",
        default_value = "1e-8",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) tolerance: f64,
    /// Compute the norm every K sweeps
    #[arg(
        long,
        value_name = "K",
        default_value_t = 1,
        help_heading = "What to compute"
    )]
    pub(crate) check_every: usize,
    /// Precision of the field [default: that of the --restart file, or f32]
    #[arg(long, value_enum, help_heading = "What to compute")]
    pub(crate) precision: Option<PrecisionArg>,
    /// Boundary condition
    #[arg(long, value_enum, default_value_t = BoundaryArg::Textbook, help_heading = "What to compute")]
    pub(crate) boundary: BoundaryArg,
    /// Source term (Poisson's equation), a NumPy array (row, column)
    #[arg(long, value_name = "FILE.npy", help_heading = "What to compute")]
    pub(crate) source: Option<PathBuf>,
    /// Start field including its border, a NumPy array (row, column)
    #[arg(long, value_name = "FILE.npy", help_heading = "What to compute")]
    pub(crate) restart: Option<PathBuf>,

    /// Where to compute [default: auto]
    #[arg(long, value_enum, help_heading = "Where to compute")]
    pub(crate) backend: Option<BackendArg>,
    /// GPU numbers (0,2,3), or all [default: the first GPU]
    #[arg(long, value_name = "LIST|all", help_heading = "Where to compute")]
    pub(crate) devices: Option<String>,
    /// How the work of the devices is organised; auto selects the fastest
    #[arg(long, value_enum, default_value_t = SchemeArg::Auto, help_heading = "Where to compute")]
    pub(crate) scheme: SchemeArg,
    /// Sweeps per pass over the memory, 1 to 8, for the scheme temporal and for the CPU [default:
    /// depends on the grid]
    #[arg(long, value_name = "T", help_heading = "Where to compute")]
    pub(crate) time_block: Option<usize>,
    /// Send rows directly between devices, or fail [default: directly if all links are direct]
    #[arg(long, help_heading = "Where to compute", conflicts_with = "no_p2p")]
    pub(crate) p2p: bool,
    /// Send rows through host memory
    #[arg(long, help_heading = "Where to compute")]
    pub(crate) no_p2p: bool,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", help_heading = "Where to compute")]
    pub(crate) threads: Option<usize>,
    /// Also time the same sweeps on the first device alone
    #[arg(long, help_heading = "Where to compute", conflicts_with_all = ["csv", "quiet", "json_progress"])]
    pub(crate) efficiency: bool,

    /// Write the field, a NumPy array (row, column)
    #[arg(short, long, value_name = "FIELD.npy", help_heading = "What to write")]
    pub(crate) output: Option<PathBuf>,
    /// Interval between saves during the run; 0 saves only at the end and on Ctrl-C
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 300.0,
        allow_hyphen_values = true,
        requires = "output",
        help_heading = "What to write"
    )]
    pub(crate) save_every: f64,
    /// Write a picture of the field
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// Write a timeline of kernels and copies for Perfetto or chrome://tracing
    #[arg(long, value_name = "T.json", help_heading = "What to write")]
    pub(crate) profile: Option<PathBuf>,
    /// Print the norms as CSV instead of the table
    #[arg(long, help_heading = "What to write", conflicts_with_all = ["json", "json_progress", "quiet"])]
    pub(crate) csv: bool,
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
pub(crate) enum BoundaryArg {
    /// Left and right columns are fixed, rows are periodic
    Textbook,
    /// All four sides are fixed
    Dirichlet,
    /// Rows and columns are periodic
    Periodic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemeArg {
    /// The fastest scheme
    Auto,
    /// One default stream per device; the host waits for each device
    DefaultStream,
    /// One stream per direction; the host waits for streams
    Streams,
    /// Devices wait for each other's events
    Events,
    /// Outer rows first, sent while the rest is computed
    Overlap,
    /// As overlap, captured once as CUDA graphs
    Graphs,
    /// Several sweeps per pass over the memory
    Temporal,
}

impl SchemeArg {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::DefaultStream => "default-stream",
            Self::Streams => "streams",
            Self::Events => "events",
            Self::Overlap => "overlap",
            Self::Graphs => "graphs",
            Self::Temporal => "temporal",
        }
    }
}
