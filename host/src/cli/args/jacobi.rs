//! The options of `warpstride jacobi`.

use super::{BackendWord, PrecisionWord};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct JacobiTyped {
    /// Columns [default: those of the files that are read, else 16384]
    #[arg(long, value_name = "N", help_heading = "What to compute")]
    pub(crate) nx: Option<usize>,
    /// Rows [default: those of the files that are read, else 16384]
    #[arg(long, value_name = "N", help_heading = "What to compute")]
    pub(crate) ny: Option<usize>,
    /// Most sweeps
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        help_heading = "What to compute"
    )]
    pub(crate) iterations: usize,
    /// Stop when the residual norm is not greater; 0: when no change is large enough to count
    #[arg(
        long,
        value_name = "NORM",
        default_value = "1e-8",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) tolerance: f64,
    /// Compute the norm in every so-many-th sweep
    #[arg(
        long,
        value_name = "K",
        default_value_t = 1,
        help_heading = "What to compute"
    )]
    pub(crate) check_every: usize,
    /// Arithmetic of the field
    #[arg(long, value_enum, default_value_t = PrecisionWord::F32, help_heading = "What to compute")]
    pub(crate) precision: PrecisionWord,
    /// What holds at the border
    #[arg(long, value_enum, default_value_t = BoundaryWord::Textbook, help_heading = "What to compute")]
    pub(crate) boundary: BoundaryWord,
    /// A source term (Poisson's equation): an array (row, column) of NumPy
    #[arg(long, value_name = "FILE.npy", help_heading = "What to compute")]
    pub(crate) source: Option<PathBuf>,
    /// Start from a field, with its border: an array (row, column) of NumPy
    #[arg(long, value_name = "FILE.npy", help_heading = "What to compute")]
    pub(crate) restart: Option<PathBuf>,

    /// Where to compute [default: auto]
    #[arg(long, value_enum, help_heading = "Where to compute")]
    pub(crate) backend: Option<BackendWord>,
    /// Numbers of the GPUs (0,2,3), or all [default: the first]
    #[arg(long, value_name = "LIST|all", help_heading = "Where to compute")]
    pub(crate) devices: Option<String>,
    /// How the devices work together; auto is the fastest
    #[arg(long, value_enum, default_value_t = SchemeWord::Auto, help_heading = "Where to compute")]
    pub(crate) scheme: SchemeWord,
    /// Sweeps of a pass over the memory, 1 to 8, for the scheme temporal and for the CPU [default:
    /// as many as suit the grid]
    #[arg(long, value_name = "T", help_heading = "Where to compute")]
    pub(crate) time_block: Option<usize>,
    /// Send rows from device to device, or fail [default: where there is a direct link]
    #[arg(long, help_heading = "Where to compute", conflicts_with = "no_p2p")]
    pub(crate) p2p: bool,
    /// Send rows through the host's memory
    #[arg(long, help_heading = "Where to compute")]
    pub(crate) no_p2p: bool,
    /// Threads of the CPU [default: all]
    #[arg(long, value_name = "N", help_heading = "Where to compute")]
    pub(crate) threads: Option<usize>,
    /// Time the same sweeps on the first device alone as well
    #[arg(long, help_heading = "Where to compute", conflicts_with_all = ["csv", "quiet", "json_progress"])]
    pub(crate) efficiency: bool,

    /// The field, an array (row, column) of NumPy
    #[arg(short, long, value_name = "FIELD.npy", help_heading = "What to write")]
    pub(crate) output: Option<PathBuf>,
    /// Save it so often on the way; 0: at the end and on Ctrl-C only
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 300.0,
        allow_hyphen_values = true,
        requires = "output",
        help_heading = "What to write"
    )]
    pub(crate) save_every: f64,
    /// A picture of the field
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// A timeline of kernels and copies, for Perfetto or chrome://tracing
    #[arg(long, value_name = "T.json", help_heading = "What to write")]
    pub(crate) profile: Option<PathBuf>,
    /// Print the norms as CSV instead of the table
    #[arg(long, help_heading = "What to write", conflicts_with_all = ["json", "json_progress", "quiet"])]
    pub(crate) csv: bool,
    /// Print all figures as JSON instead of the table
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
pub(crate) enum BoundaryWord {
    /// Left and right keep their values, rows are periodic
    Textbook,
    /// All four sides keep their values
    Dirichlet,
    /// Rows and columns are periodic
    Periodic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemeWord {
    /// The fastest
    Auto,
    /// One default stream, the host waits for each device
    DefaultStream,
    /// A stream for each direction, the host waits
    Streams,
    /// Devices wait for each other by events
    Events,
    /// Boundary rows first, sent while the rest is computed
    Overlap,
    /// The same, recorded once and replayed
    Graphs,
    /// Several sweeps in one pass over the memory
    Temporal,
}

impl SchemeWord {
    /// As typed.
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
