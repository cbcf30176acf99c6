//! The options of `warpstride mri`.

use super::{KernelMachineTyped, MachineTyped, PrecisionWord};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum MriCommand {
    /// Make the samples of a phantom, exactly; the truth and the coil maps are stored in the file
    #[command(after_help = "\
Examples:
  warpstride mri simulate phantom.h5
  warpstride mri simulate golden.h5 --trajectory golden --spokes 55 --noise 30
  warpstride mri simulate spiral.h5 --trajectory spiral --matrix 128 --coils 4 --seed 7
  warpstride mri simulate volume.h5 --3d --matrix 48 --coils 4")]
    Simulate(MriSimulateTyped),
    /// Say what a file holds, what is left out of it, and how much memory each operator needs
    #[command(after_help = "\
Examples:
  warpstride mri info raw.h5
  warpstride mri info raw.h5 --json
  warpstride mri info raw.h5 --group dataset_2 --select slice=3,repetition=0")]
    Info(MriInfoTyped),
    /// Reconstruct an image from samples of k-space
    #[command(after_help = "\
Examples:
  warpstride mri reconstruct raw.h5 -o image.h5 --png image.png
  warpstride mri reconstruct raw.h5 -o image.h5 --method cg --iterations 15 --density none
  warpstride mri reconstruct raw.h5 -o image.npy --method wavelet --lambda 2e-3 --report report.html
  warpstride mri reconstruct phantom.h5 -o image.h5 --reference phantom.h5 --summary s.json
  warpstride mri reconstruct raw.h5 -o image.h5 --operator direct --off-resonance hertz.npy

Ctrl-C saves the image so far.")]
    Reconstruct(Box<MriReconstructTyped>),
    /// Time the textbook's optimisation steps on this device, with what each costs in precision
    #[command(after_help = "\
Examples:
  warpstride mri ladder
  warpstride mri ladder --json
  warpstride mri ladder --backend emulator")]
    Ladder(MriLadderTyped),
}

#[derive(Debug, Args)]
pub(crate) struct MriSimulateTyped {
    /// The samples to write (ISMRMRD)
    #[arg(value_name = "OUT.h5")]
    pub(crate) out: PathBuf,
    /// Path through k-space
    #[arg(long, value_enum, default_value_t = TrajectoryWord::Radial)]
    pub(crate) trajectory: TrajectoryWord,
    /// Voxels along each axis of the image [default: 256; 64 of a volume]
    #[arg(long, value_name = "N")]
    pub(crate) matrix: Option<usize>,
    /// Spokes, or interleaves of a spiral [default: what Nyquist's criterion asks for]
    #[arg(long, value_name = "N")]
    pub(crate) spokes: Option<usize>,
    /// Samples of a readout [default: what Nyquist's criterion asks for, twice over on a spoke]
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<usize>,
    /// Coils around the phantom
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) coils: usize,
    /// Add noise: the largest value of the truth over the noise of a voxel [default: none]
    #[arg(long, value_name = "SNR", allow_negative_numbers = true)]
    pub(crate) noise: Option<f64>,
    /// A volume
    #[arg(long = "3d")]
    pub(crate) volume: bool,
    /// Decides the noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct MriInfoTyped {
    /// The samples (ISMRMRD)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The group of the file with data and xml
    #[arg(long, value_name = "NAME", default_value = "dataset")]
    pub(crate) group: String,
    /// Which image, where there are several: slice=2,repetition=all [default: the first]
    #[arg(long, value_name = "COUNTER=N,…")]
    pub(crate) select: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MriReconstructTyped {
    /// The samples (ISMRMRD)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The image: HDF5, or an array of NumPy where the name ends in .npy
    #[arg(short, long, value_name = "OUT.h5|OUT.npy")]
    pub(crate) output: PathBuf,
    /// The group of the file with data and xml
    #[arg(long, value_name = "NAME", default_value = "dataset")]
    pub(crate) group: String,
    /// Which image, where there are several: slice=2,repetition=all [default: the first]
    #[arg(long, value_name = "COUNTER=N,…")]
    pub(crate) select: Option<String>,

    /// How the image is found
    #[arg(long, value_enum, default_value_t = MethodWord::Cg, help_heading = "What to compute")]
    pub(crate) method: MethodWord,
    /// How the transform between image and samples is computed
    #[arg(long, value_enum, default_value_t = OperatorWord::Auto, help_heading = "What to compute")]
    pub(crate) operator: OperatorWord,
    /// Iterations [default: 15; none for --method adjoint]
    #[arg(long, value_name = "N", help_heading = "What to compute")]
    pub(crate) iterations: Option<usize>,
    /// Weight of the regulariser; tv and wavelet take it in units of the largest gradient
    /// [default: cg 0; tv and wavelet 1e-3]
    #[arg(
        long,
        value_name = "L",
        allow_negative_numbers = true,
        help_heading = "What to compute"
    )]
    pub(crate) lambda: Option<f64>,
    /// Coil maps: auto (low-pass images), walsh, none, or a file that has them (a result,
    /// simulated samples, .npy)
    #[arg(
        long,
        value_name = "auto|walsh|none|FILE",
        default_value = "auto",
        help_heading = "What to compute"
    )]
    pub(crate) coil_maps: String,
    /// Weights of the samples [default: none; for adjoint ramp on spokes, else pipe]
    #[arg(long, value_enum, help_heading = "What to compute")]
    pub(crate) density: Option<DensityWord>,
    /// Solve for the image times the root sum of squares of the coil maps
    #[arg(long, help_heading = "What to compute")]
    pub(crate) intensity_correction: bool,
    /// Relative error of the NUFFT [default: 1e-5]
    #[arg(
        long,
        value_name = "E",
        allow_negative_numbers = true,
        help_heading = "What to compute"
    )]
    pub(crate) tolerance: Option<f64>,
    /// Arithmetic; f64 is the CPU's
    #[arg(long, value_enum, default_value_t = PrecisionWord::F32, help_heading = "What to compute")]
    pub(crate) precision: PrecisionWord,
    /// Sine and cosine of the direct operator on a GPU
    #[arg(long, value_enum, default_value_t = TrigWord::Accurate, help_heading = "What to compute")]
    pub(crate) trig: TrigWord,
    /// Map of the off-resonance, Hz (.npy, or HDF5 with /field/hertz): --operator direct
    #[arg(
        long,
        value_name = "MAP",
        conflicts_with = "field",
        help_heading = "What to compute"
    )]
    pub(crate) off_resonance: Option<PathBuf>,
    /// Phases of the samples over a basis of fields (HDF5): --operator direct
    #[arg(long, value_name = "FIELD.h5", help_heading = "What to compute")]
    pub(crate) field: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) machine: MachineTyped,

    /// An image to compare with: simulated samples, a result, or .npy
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    pub(crate) reference: Option<PathBuf>,
    /// Figures and residuals as JSON
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// Picture, curve and parameters as one HTML file
    #[arg(long, value_name = "R.html", help_heading = "What to write")]
    pub(crate) report: Option<PathBuf>,
    /// The modulus as a picture
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) png: Option<PathBuf>,
    /// Progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MriLadderTyped {
    #[command(flatten)]
    pub(crate) machine: KernelMachineTyped,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrajectoryWord {
    /// Spokes at even angles
    Radial,
    /// Spokes, each a golden angle further
    Golden,
    /// Interleaved spirals of Archimedes; a stack of them for a volume
    Spiral,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperatorWord {
    /// direct where only that works, else toeplitz where there are iterations, else nufft
    Auto,
    /// The sum itself, exactly
    Direct,
    /// Spreading and fast Fourier transform, to the tolerance
    Nufft,
    /// One convolution an iteration
    Toeplitz,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodWord {
    /// One transform back, weighted (gridding)
    Adjoint,
    /// Conjugate gradients (CG-SENSE)
    Cg,
    /// Total variation
    Tv,
    /// Sparse wavelets
    Wavelet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DensityWord {
    /// All alike
    None,
    /// The modulus of k, for spokes
    Ramp,
    /// Pipe and Menon's fixed point, for any trajectory
    Pipe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrigWord {
    /// The device's instructions, after reduction
    Hardware,
    /// Polynomials, to rounding
    Accurate,
}
