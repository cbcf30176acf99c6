//! Scientific computing on NVIDIA GPUs with every kernel written in Rust, and on the CPU.
//!
//! The crate has five sciences: ptychography, magnetic resonance imaging, small-angle scattering,
//! time series, and Jacobi relaxation. In each, a problem (what is to be computed, from which data)
//! makes an engine, and the engine computes it step by step. The engine `cpu::CpuEngine` needs no
//! GPU; `cuda::GpuEngine` runs on any [`gpu::Device`]: a [`gpu::CudaDevice`], or the emulator,
//! which executes the same kernels on the CPU.
//!
//! # Crates
//! Each science is a crate of its own, which can be used without the others:
//!
//! | module | crate | content |
//! |---|---|---|
//! | `ptycho` | `warpstride-ptycho` | reconstructs a specimen from overlapping diffraction patterns |
//! | `mri` | `warpstride-mri` | reconstructs images from non-Cartesian samples of k-space |
//! | `sas` | `warpstride-sas` | computes models of small-angle scattering and fits them |
//! | `series` | `warpstride-series` | aggregates time series over buckets |
//! | `jacobi` | `warpstride-jacobi` | relaxes grids on one or several GPUs |
//! | [`run`], [`system`], [`text`] | `warpstride-core` | runs and back ends, memory and files, texts |
//! | [`io`] | `warpstride-files` | HDF5, NumPy's and BART's arrays |
//! | `report` | `warpstride-report` | pictures, curves, HTML pages |
//! | [`fft`] | `warpstride-fft` | Fourier transforms on the CPU |
//! | [`cuda`], [`gpu`] | `warpstride-cuda` | the driver and its libraries; devices, real or emulated |
//! | [`ranks`] | `warpstride-ranks` | threads or processes that compute together |
//!
//! [`science`] lists the sciences and `selftest` runs their cases. The program `warpstride` is the
//! crate `warpstride-cli`. `docs/architecture.md` describes the crates.
//!
//! The folder `examples/` has whole programs: reconstructions from plain arrays, and results with
//! pictures.
//!
//! # Features
//! The sciences, `parquet`, `store`, `plots` and `static` are on by default.
//!
//! * `jacobi`, `mri`, `ptycho`, `sas`, `series`: the sciences
//! * `parquet`: Parquet and Arrow files of time series
//! * `store`: the store of time series
//! * `plots`: pictures and HTML reports
//! * `static`: HDF5 files; the C library is built from source and linked in
//! * `system-hdf5`: HDF5 files; an installed libhdf5 is linked
//! * `selftest`: the self-test of the kernels and engines
//! * `terminal`: progress bars, and Ctrl-C
//! * `mpi`: several processes compute together
//! * `cust`: the driver's devices by the crate `cust`, which needs a CUDA toolkit or a patch

pub mod science;
#[cfg(feature = "selftest")]
pub mod selftest;

pub use warpstride_core::{run, system, text};
pub use warpstride_cuda::{cuda, gpu};
pub use warpstride_fft as fft;
pub use warpstride_files as io;
#[cfg(feature = "jacobi")]
pub use warpstride_jacobi as jacobi;
#[cfg(feature = "mri")]
pub use warpstride_mri as mri;
#[cfg(feature = "ptycho")]
pub use warpstride_ptycho as ptycho;
pub use warpstride_ranks as ranks;
#[cfg(feature = "plots")]
pub use warpstride_report as report;
#[cfg(feature = "sas")]
pub use warpstride_sas as sas;
#[cfg(feature = "series")]
pub use warpstride_series as series;
