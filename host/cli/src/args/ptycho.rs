//! The options of `warpstride ptycho`.

mod beam;
mod export;
mod import;
mod model;
mod positions;
mod prepare;
mod scan;
mod simulate;

pub(crate) use beam::{BeamArgs, OpticsArgs};
pub(crate) use export::ExportArgs;
pub(crate) use import::ImportArgs;
pub(crate) use model::{DetectorArgs, LayerArgs, LinkArgs, NearFieldArgs, SliceArgs};
pub(crate) use positions::{FileOrderArg, PairArg, PositionArgs};
pub(crate) use prepare::PrepareArgs;
pub(crate) use scan::ScanArgs;
pub(crate) use simulate::{PatternArg, SimulateArgs};

use super::at_least_one::at_least_one;
use super::{BackendArg, PrecisionArg};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Subcommands of `warpstride ptycho`.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  warpstride ptycho simulate scan.cxi --frame 64 --positions 40
  warpstride ptycho reconstruct scan.cxi -o result.h5
  warpstride ptycho compare result.h5 scan.cxi")]
pub(crate) enum PtychoCommand {
    /// Simulate a scan of a test specimen with photon noise; the file also holds the ground truth
    #[command(after_help = "\
Examples:
  warpstride ptycho simulate scan.cxi
  warpstride ptycho simulate small.cxi --frame 64 --positions 40 \\
      --photons 1e6 --blur 0.7 --background 2
  warpstride ptycho simulate modes.cxi --probe-modes 3 --pattern round \\
      --overlap 0.8
  warpstride ptycho simulate fly.cxi --pattern raster --fly-shift 0,3
  warpstride ptycho simulate drift.cxi --probe-drift 0.05 --no-noise --seed 7
  warpstride ptycho simulate cone.cxi --near-field --focus-to-sample 4mm
  warpstride ptycho simulate thick.cxi --slices 2 --slice-distance 20um")]
    Simulate(SimulateArgs),
    /// Describe a scan file: contents, possible problems, and the memory a reconstruction needs
    #[command(after_help = "\
Examples:
  warpstride ptycho info scan.cxi
  warpstride ptycho info scan.cxi --probe-modes 5 --precision f64 --json
  warpstride ptycho info scan.cxi --voltage 300kV --pixel-angle 0.02/A \\
      --transform-positions swap,flip-rows
  warpstride ptycho info scan.cxi --centre auto --crop 256x256 --bin 2 \\
      --hot-pixels mask --dark dark.h5:/entry/data --report scan.html
  warpstride ptycho info thick.cxi --slices 2 --slice-distance 20um \\
      --blur 0.7 --background uniform
  warpstride ptycho info run_master.h5 --positions positions.csv
  warpstride ptycho info frames_*.mib --raster 64x64 --step 31.25A

Of an HDF5 file without a known layout, the datasets are listed, with a recipe that opens it.")]
    Info(Box<InfoArgs>),
    /// Reconstruct the object and the probe from a scan
    #[command(after_help = "\
Examples:
  warpstride ptycho reconstruct scan.cxi -o result.h5 --engine auto \\
      --probe-modes 3 --report result.html
  warpstride ptycho reconstruct scan.cxi -o result.h5 --engine dm:100 \\
      --engine raar:50 --set dm.alpha=0.9 --set probe.source=zone-plate \\
      --set probe.diameter=100e-6 --set probe.outermost_zone=50e-9 \\
      --set probe.defocus=0.4e-3 --start-object object.npy
  warpstride ptycho reconstruct thick.cxi -o result.h5 --engine lsqml:100 \\
      --slices 2 --slice-distance 26um --refine-slice-distance \\
      --profile timeline.json
  warpstride ptycho reconstruct scan.cxi -o result.h5 --engine lsqml:200 \\
      --refine-positions gradient --fit-frame-scales \\
      --transform-positions swap,rotate=30deg --near-field \\
      --focus-to-sample 3.65mm
  warpstride ptycho reconstruct scan.cxi -o result.h5 --engine lsqml:200 \\
      --fly-points 5 --fly-shift scan --object-modes 2 --find-orientation \\
      --backend cpu --report result.html
  warpstride ptycho reconstruct scan.cxi -o result.h5 --voltage 300kV \\
      --pixel-angle 0.0165mrad --semi-angle 1.03mrad --defocus -13.5um \\
      --find-rotation
  warpstride ptycho reconstruct scan.cxi -o better.h5 --start result.h5 \\
      --engine lsqml:100 --opr-modes 4 --blur 0.7 --background uniform

Without engines and recipe, trials choose both (--engine auto): more probe modes, refined positions,
intensity scales and a regulariser, each only if R_free falls. The result has the recipe. It begins
with dm, or with lsqml if the model has slices, object modes, a variable probe or blur.
With --start or --coarse there are no trials: the default engines run (dm:100 raar:50, or
lsqml:100 ml:50 with such a model).
--profile implies --backend cuda, unless --backend emulator is given. Ctrl-C saves a checkpoint and
the current result; --resume continues bit for bit.")]
    Reconstruct(Box<ReconstructArgs>),
    /// Reconstruct two halves of a scan apart, and find the resolution up to which they agree
    #[command(after_help = "\
Examples:
  warpstride ptycho resolution scan.cxi -o scan.h5
  warpstride ptycho resolution scan.cxi -o scan.h5 --engine lsqml:200 \\
      --probe-modes 3 --report resolution.html --plot frc.svg
  warpstride ptycho resolution scan.cxi -o scan.h5 --recipe recipe.toml --resume
  warpstride ptycho resolution scan.cxi -o scan.h5 --energy 8.8keV \\
      --distance 2m --pixel-size 75um

The resolution is half the period at which the Fourier ring correlation of the halves falls below
the half-bit or the one-bit threshold. Each half has one of every two neighbouring
frames, so that its reconstruction is worse than that of the whole scan.")]
    Resolution(Box<ResolutionArgs>),
    /// Write a scan in any supported layout as CXI, with its units, mask and orientation resolved
    #[command(after_help = "\
Examples:
  warpstride ptycho import scan.mat -o scan.cxi
  warpstride ptycho import scan.nxs -o scan.cxi --transform-positions swap
  warpstride ptycho import raw.h5 -o scan.cxi --recipe beamline.toml
  warpstride ptycho import frames.mib -o scan.cxi --recipe microscope.toml \\
      --raster 64x64 --step 31.25A
  warpstride ptycho import frames_*.h5 -o scan.cxi --positions positions.csv \\
      --energy 8.8keV --distance 2m --pixel-size 75um
  warpstride ptycho import scan.mat -o part.cxi --set data.frames=[0,100] \\
      --set 'data.units.positions=\"um\"'

The written file is read back and compared with what was read, and says how it was made. ptycho info raw.h5 prints a recipe
for a file whose layout is not known.")]
    Import(Box<ImportArgs>),
    /// Compare a result with another result, or with the ground truth of a simulated scan
    #[command(after_help = "\
Examples:
  warpstride ptycho compare result.h5 other.h5
  warpstride ptycho compare result.h5 scan.cxi
  warpstride ptycho compare result.h5 scan.cxi --json")]
    Compare(CompareArgs),
    /// Write the intensities that a result predicts for the frames of its scan
    #[command(after_help = "\
Examples:
  warpstride ptycho predict result.h5 scan.cxi -o model.cxi
  warpstride ptycho info model.cxi")]
    Predict(PredictArgs),
    /// Write object, probe and positions of a result as TIFF images, NumPy arrays and a table
    #[command(after_help = "\
Examples:
  warpstride ptycho export result.h5 --phase phase.tif --modulus modulus.tif
  warpstride ptycho export result.h5 --object object.npy --probe probe.npy
  warpstride ptycho export result.h5 --positions positions.csv
  warpstride ptycho reconstruct scan.cxi -o again.h5 --positions positions.csv")]
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Scan file: CXI, PtyPy's ptyd, MATLAB, NeXus, EMD, HDF5 with a recipe that names its
    /// datasets, or frames alone (.mib, .raw or .xml of an EMPAD, .tif, .npy, .npz) with --positions
    /// or --raster
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Recipe (TOML) from which the [data] options, the number of probe modes and the precision are
    /// taken
    #[arg(long, value_name = "R.toml")]
    pub(crate) recipe: Option<PathBuf>,
    /// Set one recipe option, such as data.swap_axes=true
    #[arg(long, value_name = "OPTION=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) scan: ScanArgs,
    /// Probe modes of the reconstruction whose memory is estimated [default: 1, or as in the
    /// recipe]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) probe_modes: Option<usize>,
    #[command(flatten)]
    pub(crate) layers: LayerArgs,
    #[command(flatten)]
    pub(crate) slices: SliceArgs,
    #[command(flatten)]
    pub(crate) detector: DetectorArgs,
    /// Variations of the first probe mode from frame to frame [default: 0, or as in the recipe]
    #[arg(long, value_name = "K")]
    pub(crate) opr_modes: Option<usize>,
    /// Its floating-point precision [default: f32, or as in the recipe]
    #[arg(long, value_enum)]
    pub(crate) precision: Option<PrecisionArg>,
    /// Its engine and iterations, such as lsqml:200; repeat for several [default: auto, or as in
    /// the recipe]
    #[arg(long, value_name = "NAME:N")]
    pub(crate) engine: Vec<String>,
    /// Device memory that it may take, such as 500M or 2GiB; says how a larger scan would travel to
    /// the GPU
    #[arg(long, value_name = "SIZE")]
    pub(crate) device_memory: Option<String>,
    /// Host memory that it may take, such as 4GiB [default: what is available]
    #[arg(long, value_name = "SIZE")]
    pub(crate) host_memory: Option<String>,
    /// Folder for a temporary file of the counts, if they need more; without it such a scan is
    /// refused
    #[arg(long, value_name = "FOLDER")]
    pub(crate) scratch: Option<PathBuf>,
    /// HTML file for the mean pattern with its mask and centre, the positions, and what is printed
    #[arg(long, value_name = "R.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReconstructArgs {
    /// Scan file: CXI, PtyPy's ptyd, MATLAB, NeXus, EMD, HDF5 with a recipe that names its
    /// datasets, or frames alone (.mib, .raw or .xml of an EMPAD, .tif, .npy, .npz) with --positions
    /// or --raster
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Result file to write (HDF5); pictures are written beside it
    #[arg(short, long, value_name = "OUT.h5")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    /// Try first which flip or swap of the positions fits the frames, and reconstruct with it
    #[arg(long, help_heading = "What to compute", conflicts_with = "coarse")]
    pub(crate) find_orientation: bool,
    /// Search first for the angle between the axes of scan and detector, and for the sense of the
    /// axes, from the centres of mass of the frames and from trials, and reconstruct with it
    #[arg(
        long,
        help_heading = "What to compute",
        conflicts_with_all = ["coarse", "find_orientation"]
    )]
    pub(crate) find_rotation: bool,
    /// Reconstruct with larger object pixels first, by these factors, such as 4,2,1: each result is
    /// the start of the next
    #[arg(
        long,
        value_name = "FACTORS",
        value_delimiter = ',',
        help_heading = "What to compute"
    )]
    pub(crate) coarse: Vec<usize>,
    /// Resume the run saved in a checkpoint, with its recipe
    #[arg(
        long,
        value_name = "CHECKPOINT",
        help_heading = "What to compute",
        conflicts_with_all = [
            "engine",
            "recipe",
            "set",
            "transform_positions",
            "voltage",
            "energy",
            "wavelength",
            "distance",
            "pixel_size",
            "pixel_angle",
            "semi_angle",
            "defocus",
            "c3",
            "astigmatism",
            "follow_links",
            "positions",
            "step",
            "near_field",
            "focus_to_sample",
            "every",
            "exclude",
            "dark",
            "flat",
            "mask",
            "bad_frames",
            "hot_pixels",
            "saturation",
            "monitor",
            "transform_frames",
            "centre",
            "crop",
            "pad",
            "bin",
            "slices",
            "slice_distance",
            "refine_slice_distance",
            "blur",
            "background",
            "find_orientation",
            "find_rotation",
            "probe_modes",
            "object_modes",
            "fly_points",
            "fly_shift",
            "opr_modes",
            "free_pixels",
            "stop",
            "metrics_every",
            "refine_positions",
            "fit_frame_scales",
            "start",
            "start_object",
            "coarse",
            "precision",
            "seed",
        ]
    )]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) compute: ComputeArgs,

    /// JSON file for metrics and history
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// HTML file for pictures, curves and parameters
    #[arg(long, value_name = "R.html", help_heading = "What to write")]
    pub(crate) report: Option<PathBuf>,
    /// Write a timeline of kernels and copies in the first iterations for Perfetto or
    /// chrome://tracing
    #[arg(long, value_name = "T.json", help_heading = "What to write")]
    pub(crate) profile: Option<PathBuf>,
    /// Number of iterations in the timeline
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        requires = "profile",
        help_heading = "What to write"
    )]
    pub(crate) profile_iterations: usize,
    /// Do not write OUT-modulus.png, OUT-phase.png, OUT-phase-stretched.png and OUT-probe.png
    #[arg(long, help_heading = "What to write")]
    pub(crate) no_pictures: bool,
    /// Checkpoint file to write [default: OUT.checkpoint, or the one resumed from]
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Seconds between checkpoints; 0 saves after every iteration
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60.0,
        allow_negative_numbers = true,
        help_heading = "What to write"
    )]
    pub(crate) checkpoint_every: f64,
    /// Print progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

/// What a reconstruction computes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "What to compute")]
pub(crate) struct RecipeArgs {
    /// Engine (dm, raar, ap, ml, lsqml, epie, rpie) and iterations; repeat to run several in order.
    /// auto: trials choose engines, probe modes, refinements and regulariser by R_free [default:
    /// auto, or as in the recipe; resolution: dm:100 raar:50]
    #[arg(long, value_name = "NAME:N")]
    pub(crate) engine: Vec<String>,
    /// Recipe with all options of the run (TOML); the recipe stored in a result repeats that run
    #[arg(long, value_name = "R.toml")]
    pub(crate) recipe: Option<PathBuf>,
    /// Set one recipe option, such as dm.alpha=0.9, or probe.source=gaussian and
    /// probe.waist_radius=300e-9
    #[arg(long, value_name = "OPTION=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) scan: ScanArgs,
    #[command(flatten)]
    pub(crate) optics: OpticsArgs,
    #[command(flatten)]
    pub(crate) slices: SliceArgs,
    /// Refine the distances between slices
    #[arg(long)]
    pub(crate) refine_slice_distance: bool,
    #[command(flatten)]
    pub(crate) detector: DetectorArgs,
    /// Mutually incoherent probe modes [default: 1, with auto those that lower R_free]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) probe_modes: Option<usize>,
    #[command(flatten)]
    pub(crate) layers: LayerArgs,
    /// Variations of the first probe mode from frame to frame (orthogonal probe relaxation), 1 to
    /// 16, for a beam that drifts; lsqml, rpie and epie find them [default: 0]
    #[arg(long, value_name = "K")]
    pub(crate) opr_modes: Option<usize>,
    /// Share of each frame's pixels that no update sees, for R_free, such as 0.02
    /// [default: 0.01 to 0.05 with auto, else 0]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) free_pixels: Option<f64>,
    /// Whether an engine ends when R_free has risen or no longer falls; needs --free-pixels
    /// [default: off, with --engine auto: plateau]
    #[arg(long, value_enum)]
    pub(crate) stop: Option<StopArg>,
    /// Compute R, R_free, the photon error and the exit-wave change in every K-th iteration of dm,
    /// raar and ap, such as 1; with --stop auto in all [default: 10]
    #[arg(long, value_name = "K", value_parser = at_least_one)]
    pub(crate) metrics_every: Option<usize>,
    /// Refine the positions by these methods, such as gradient,affine [default: none]
    #[arg(long, value_enum, value_name = "METHODS", value_delimiter = ',')]
    pub(crate) refine_positions: Vec<PositionMethodArg>,
    /// Fit a factor on the intensities of each frame, for beams whose brightness varies
    #[arg(long)]
    pub(crate) fit_frame_scales: bool,
    /// Start with object, probe, positions and scales of an earlier result, whose frames may have
    /// another size
    #[arg(long, value_name = "RESULT.h5")]
    pub(crate) start: Option<PathBuf>,
    /// Start with this object, a complex image (row, column): a .npy file, or a dataset of an HDF5
    /// file, by default that of a result
    #[arg(long, value_name = "FILE[:/DATASET]", conflicts_with = "start")]
    pub(crate) start_object: Option<String>,
    /// Floating-point precision on the CPU [default: f32]
    #[arg(long, value_enum)]
    pub(crate) precision: Option<PrecisionArg>,
    /// Seed of the random number generator
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Where a reconstruction is computed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Where to compute")]
pub(crate) struct ComputeArgs {
    /// Back end [default: auto, or the back end of the resumed run]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendArg>,
    /// GPU number [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<usize>,
    /// GPU numbers (0,2,3), or all, which divide the frames [default: one GPU]
    #[arg(long, value_name = "LIST|all", conflicts_with = "device")]
    pub(crate) devices: Option<String>,
    /// Most device memory that the run may take, such as 500M or 2GiB: counts and exit waves that
    /// need more stay in host memory, and blocks of frames travel to the GPU [default: what is
    /// free]
    #[arg(long, value_name = "SIZE")]
    pub(crate) device_memory: Option<String>,
    /// Most host memory that the run may take, such as 4GiB: counts that need more are in a
    /// temporary file when a GPU computes [default: what is available]
    #[arg(long, value_name = "SIZE")]
    pub(crate) host_memory: Option<String>,
    /// Folder of that temporary file, best on a fast local drive [default: the folder of the
    /// result]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) scratch: Option<PathBuf>,
    /// Number of CPU threads [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ResolutionArgs {
    /// Scan file: CXI, PtyPy's ptyd, MATLAB, NeXus, EMD, HDF5 with a recipe that names its
    /// datasets, or frames alone (.mib, .raw or .xml of an EMPAD, .tif, .npy, .npz) with --positions
    /// or --raster
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Name of the results of the halves, which are written to OUT-half1.h5 and OUT-half2.h5
    #[arg(short, long, value_name = "OUT.h5")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    /// Keep halves that an earlier run of the same command has finished, and resume those that it
    /// has begun
    #[arg(long, help_heading = "What to compute")]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) compute: ComputeArgs,

    /// JSON file for the resolution and the ring correlation
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// HTML file for the ring correlation and pictures of both halves
    #[arg(long, value_name = "R.html", help_heading = "What to write")]
    pub(crate) report: Option<PathBuf>,
    /// Picture of the ring correlation (SVG)
    #[arg(long, value_name = "FRC.svg", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// Seconds between checkpoints; 0 saves after every iteration
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60.0,
        allow_negative_numbers = true,
        help_heading = "What to write"
    )]
    pub(crate) checkpoint_every: f64,
    /// Print progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// Result of a reconstruction
    #[arg(value_name = "RESULT.h5")]
    pub(crate) result: PathBuf,
    /// The scan of that reconstruction; it is read as for the reconstruction
    #[arg(value_name = "SCAN")]
    pub(crate) scan: PathBuf,
    /// Scan file to write (CXI), with the model intensities as frames
    #[arg(short, long, value_name = "FRAMES.cxi")]
    pub(crate) output: PathBuf,
    /// Print errors only
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Result to compare
    #[arg(value_name = "A.h5")]
    pub(crate) a: PathBuf,
    /// Another result, or a simulated scan that holds the ground truth
    #[arg(value_name = "B.h5|TRUTH.cxi")]
    pub(crate) b: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PositionMethodArg {
    /// A Gauss–Newton step of each frame
    Gradient,
    /// The affine map of the whole scan that fits the displacements of the frames; with another
    /// method, frames far from the map are drawn in
    Affine,
    /// The best of several random displacements of each frame
    Annealing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StopArg {
    /// All iterations are done
    Off,
    /// The next engine starts, or the run ends, when R_free has risen over two times ten iterations
    Auto,
    /// The same when R_free no longer falls from ten iterations to the next ten (not in dm, raar
    /// and ap)
    Plateau,
}
