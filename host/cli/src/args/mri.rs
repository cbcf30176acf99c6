//! The options of `warpstride mri`.

use super::{DevicesArgs, KernelBackendArgs, PrecisionArg};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The subcommands of `warpstride mri`.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  warpstride mri simulate phantom.h5 --trajectory golden --spokes 55 --noise 30
  warpstride mri info phantom.h5
  warpstride mri reconstruct phantom.h5 -o image.h5 --png image.png \\
      --reference phantom.h5")]
pub(crate) enum MriCommand {
    /// Simulate the samples of a phantom analytically; the file also holds the truth and the coil
    /// maps
    #[command(after_help = "\
Examples:
  warpstride mri simulate phantom.h5
  warpstride mri simulate golden.h5 --trajectory golden --spokes 55 --noise 30
  warpstride mri simulate spiral.h5 --trajectory spiral --matrix 128 \\
      --coils 4 --seed 7
  warpstride mri simulate volume.h5 --3d --matrix 48 --coils 4")]
    Simulate(MriSimulateArgs),
    /// Describe a raw-data file: its acquisitions, those left out, and the memory each operator
    /// needs
    #[command(after_help = "\
Examples:
  warpstride mri info raw.h5
  warpstride mri info raw.h5 --json
  warpstride mri info raw.h5 --group dataset_2 --select slice=3,repetition=0
  warpstride mri info raw.h5 --select all
  warpstride mri info raw.h5 --k-unit radians-per-pixel
  warpstride mri info ksp.cfl --trajectory traj.cfl")]
    Info(MriInfoArgs),
    /// Reconstruct an image from k-space samples
    #[command(after_help = "\
Examples:
  warpstride mri reconstruct raw.h5 -o image.h5 --png image.png
  warpstride mri reconstruct raw.h5 -o image.h5 --method cg --iterations 15 \\
      --devices all
  warpstride mri reconstruct raw.h5 -o all.nii.gz --select all --coil-maps-once
  warpstride mri reconstruct raw.h5 -o image.npy --method wavelet \\
      --lambda 2e-3 --report report.html
  warpstride mri reconstruct phantom.h5 -o image.h5 --reference phantom.h5 \\
      --summary s.json
  warpstride mri reconstruct ksp.cfl --trajectory traj.cfl --matrix 256x256 \\
      -o image.cfl
  warpstride mri reconstruct raw.h5 -o image.h5 --operator direct \\
      --off-resonance hertz.npy

--devices divides the coils among several GPUs and implies --backend cuda, unless --backend
emulator is given. Ctrl-C saves the image, or the images, so far.")]
    Reconstruct(Box<MriReconstructArgs>),
    /// Time the textbook's optimisation steps on this device, with the accuracy of each
    #[command(after_help = "\
Examples:
  warpstride mri ladder
  warpstride mri ladder --json
  warpstride mri ladder --backend emulator")]
    Ladder(MriLadderArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MriSimulateArgs {
    /// Output file (ISMRMRD)
    #[arg(value_name = "OUT.h5")]
    pub(crate) out: PathBuf,
    /// Trajectory through k-space
    #[arg(long, value_enum, default_value_t = TrajectoryArg::Radial)]
    pub(crate) trajectory: TrajectoryArg,
    /// Voxels along each axis of the image [default: 256; 64 with --3d]
    #[arg(long, value_name = "N")]
    pub(crate) matrix: Option<usize>,
    /// Number of spokes or spiral interleaves [default: Nyquist's criterion]
    #[arg(long, value_name = "N")]
    pub(crate) spokes: Option<usize>,
    /// Samples per readout [default: Nyquist's criterion, twice that on a spoke]
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<usize>,
    /// Number of coils around the phantom
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) coils: usize,
    /// Add noise with this signal-to-noise ratio: maximum of the truth over the noise of a voxel
    /// [default: no noise]
    #[arg(long, value_name = "SNR", allow_negative_numbers = true)]
    pub(crate) noise: Option<f64>,
    /// Simulate a volume
    #[arg(long = "3d")]
    pub(crate) volume: bool,
    /// Seed of the random noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print errors only
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MriInfoArgs {
    /// Input file: ISMRMRD, or samples as a BART array (.cfl with its .hdr)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Positions of the samples in k-space as a BART array (.cfl), in cycles per field of view
    /// or --k-unit; for samples in a .cfl file
    #[arg(long, value_name = "TRAJ.cfl")]
    pub(crate) trajectory: Option<PathBuf>,
    /// Voxels of the image: rows and columns, of a volume also slices; the field of view stays
    /// [default: those of the header; for samples in a .cfl file twice the largest |k|]
    #[arg(long, value_name = "[SLICESx]ROWSxCOLUMNS")]
    pub(crate) matrix: Option<String>,
    /// Unit of the trajectory: cycles-per-pixel, -fov, -m, -cm, -mm, or radians-per-…, or
    /// fraction-of-kmax, which ends at 1
    /// [default: cycles-per-pixel; for samples in a .cfl file cycles-per-fov]
    #[arg(long, value_name = "UNIT")]
    pub(crate) k_unit: Option<String>,
    /// Coils to leave out, numbered from 0, such as 2,5
    #[arg(long, value_name = "N,…")]
    pub(crate) exclude_coils: Option<String>,
    /// Group of the file that holds data and xml
    #[arg(long, value_name = "NAME", default_value = "dataset")]
    pub(crate) group: String,
    /// Image to select if the file holds several, by slice, contrast, phase, repetition and set:
    /// slice=2,phase=0; slice=all is an image of each slice, all one of every counter's values
    /// [default: the first]
    #[arg(long, value_name = "COUNTER=N|all,…")]
    pub(crate) select: Option<String>,
    /// Join the samples of all repetitions to one image
    #[arg(long, value_name = "repetition")]
    pub(crate) combine: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MriReconstructArgs {
    /// Input file: ISMRMRD, or samples as a BART array (.cfl with its .hdr)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Positions of the samples in k-space as a BART array (.cfl), in cycles per field of view
    /// or --k-unit; for samples in a .cfl file
    #[arg(long, value_name = "TRAJ.cfl")]
    pub(crate) trajectory: Option<PathBuf>,
    /// Voxels of the image: rows and columns, of a volume also slices; the field of view stays
    /// [default: those of the header; for samples in a .cfl file twice the largest |k|]
    #[arg(long, value_name = "[SLICESx]ROWSxCOLUMNS")]
    pub(crate) matrix: Option<String>,
    /// Unit of the trajectory: cycles-per-pixel, -fov, -m, -cm, -mm, or radians-per-…, or
    /// fraction-of-kmax, which ends at 1
    /// [default: cycles-per-pixel; for samples in a .cfl file cycles-per-fov]
    #[arg(long, value_name = "UNIT")]
    pub(crate) k_unit: Option<String>,
    /// Coils to leave out, numbered from 0, such as 2,5
    #[arg(long, value_name = "N,…")]
    pub(crate) exclude_coils: Option<String>,
    /// Output image: HDF5, or a NumPy array if the name ends in .npy, a BART array if it ends in
    /// .cfl, NIfTI if it ends in .nii or .nii.gz
    #[arg(short, long, value_name = "OUT.h5|.npy|.cfl|.nii|.nii.gz")]
    pub(crate) output: PathBuf,
    /// Group of the file that holds data and xml
    #[arg(long, value_name = "NAME", default_value = "dataset")]
    pub(crate) group: String,
    /// Image to select if the file holds several, by slice, contrast, phase, repetition and set:
    /// slice=2,phase=0; slice=all is an image of each slice, all one of every counter's values
    /// [default: the first]
    #[arg(long, value_name = "COUNTER=N|all,…")]
    pub(crate) select: Option<String>,
    /// Join the samples of all repetitions to one image
    #[arg(long, value_name = "repetition")]
    pub(crate) combine: Option<String>,

    /// Reconstruction method
    #[arg(long, value_enum, default_value_t = MethodArg::Cg, help_heading = "What to compute")]
    pub(crate) method: MethodArg,
    /// Operator that transforms between image and samples
    #[arg(long, value_enum, default_value_t = OperatorArg::Auto, help_heading = "What to compute")]
    pub(crate) operator: OperatorArg,
    /// Number of iterations, at most [default: 15; none for --method adjoint]
    #[arg(long, value_name = "N", help_heading = "What to compute")]
    pub(crate) iterations: Option<usize>,
    /// Residual |r|²/|b|² at which cg stops before all iterations are done; 0 does them all
    /// [default: 1e-6, after 15 iterations]
    #[arg(
        long,
        value_name = "R",
        allow_negative_numbers = true,
        help_heading = "What to compute"
    )]
    pub(crate) min_residual: Option<f64>,
    /// Weight of the regulariser; for tv and wavelet in units of the largest gradient [default: cg
    /// 0; tv and wavelet 1e-3]
    #[arg(
        long,
        value_name = "L",
        allow_negative_numbers = true,
        help_heading = "What to compute"
    )]
    pub(crate) lambda: Option<f64>,
    /// Coil maps: espirit, low-pass or walsh (estimated from the centre of k-space), none, or a
    /// file that holds them (a result, simulated samples, .npy, .cfl)
    #[arg(
        long,
        value_name = "espirit|low-pass|walsh|none|FILE",
        default_value = "espirit",
        help_heading = "What to compute"
    )]
    pub(crate) coil_maps: String,
    /// Estimate the coil maps of each slice from its first image, and use them for its other
    /// contrasts, phases, repetitions and sets
    #[arg(long, help_heading = "What to compute")]
    pub(crate) coil_maps_once: bool,
    /// Density weights of the samples [default: none; for adjoint ramp on equal spokes in evenly
    /// spread directions, otherwise pipe]
    #[arg(long, value_enum, help_heading = "What to compute")]
    pub(crate) density: Option<DensityArg>,
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
    /// Floating-point precision; f64 runs on the CPU only
    #[arg(long, value_enum, default_value_t = PrecisionArg::F32, help_heading = "What to compute")]
    pub(crate) precision: PrecisionArg,
    /// Sine and cosine of the direct operator on a GPU
    #[arg(long, value_enum, default_value_t = TrigArg::Accurate, help_heading = "What to compute")]
    pub(crate) trig: TrigArg,
    /// Off-resonance map in Hz (.npy, .cfl, or HDF5 with /field/hertz); needs --operator direct
    #[arg(
        long,
        value_name = "MAP",
        conflicts_with = "field",
        help_heading = "What to compute"
    )]
    pub(crate) off_resonance: Option<PathBuf>,
    /// Phases of the samples over a basis of fields (HDF5); needs --operator direct
    #[arg(long, value_name = "FIELD.h5", help_heading = "What to compute")]
    pub(crate) field: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) backend: DevicesArgs,

    /// Reference image to compare with: simulated samples, a result, .npy or .cfl
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    pub(crate) reference: Option<PathBuf>,
    /// What the voxels of a NIfTI file hold [default: magnitude]
    #[arg(long, value_enum, help_heading = "What to write")]
    pub(crate) nifti: Option<NiftiArg>,
    /// Write metrics and residuals as JSON
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// Write picture, convergence curve and parameters as one HTML file
    #[arg(long, value_name = "R.html", help_heading = "What to write")]
    pub(crate) report: Option<PathBuf>,
    /// Write the modulus as a picture; of several images F-slice0.png, …
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) png: Option<PathBuf>,
    /// Print progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MriLadderArgs {
    #[command(flatten)]
    pub(crate) backend: KernelBackendArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrajectoryArg {
    /// Spokes at equal angles
    Radial,
    /// Spokes, each a golden angle after the previous one
    Golden,
    /// Interleaved Archimedean spirals; a stack of them for a volume
    Spiral,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperatorArg {
    /// direct if a field is given, otherwise toeplitz if the method iterates, otherwise nufft
    Auto,
    /// Exact sum
    Direct,
    /// Non-uniform FFT (spreading and FFT) to the tolerance
    Nufft,
    /// One convolution per iteration
    Toeplitz,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    /// One weighted adjoint transform (gridding)
    Adjoint,
    /// Conjugate gradients (CG-SENSE)
    Cg,
    /// Total variation (FISTA)
    Tv,
    /// Sparse wavelets (FISTA)
    Wavelet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NiftiArg {
    /// The modulus, in single precision
    Magnitude,
    /// The complex number, in single precision
    Complex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DensityArg {
    /// No weights
    None,
    /// |k|, for spokes
    Ramp,
    /// Pipe and Menon's fixed-point iteration, for any trajectory
    Pipe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrigArg {
    /// The device's instructions, after range reduction
    Hardware,
    /// Polynomials, accurate to rounding
    Accurate,
}
