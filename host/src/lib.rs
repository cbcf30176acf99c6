//! Scientific computing on NVIDIA GPUs with every kernel written in Rust, and on the CPU.
//!
//! The crate has five sciences: ptychography, magnetic resonance imaging, small-angle scattering,
//! time series, and Jacobi relaxation. In each, a problem (what is to be computed, from which data)
//! makes an engine, and the engine computes it step by step. The engine `cpu::CpuEngine` needs no
//! GPU; `cuda::GpuEngine` runs on any [`gpu::Device`]: a [`gpu::CudaDevice`], or the emulator, which
//! executes the same kernels on the CPU.
//!
//! # Ptychography
//! [`ptycho`] reconstructs a specimen, and the probe that illuminated it, from overlapping
//! diffraction patterns. A [`data::Scan`] becomes a [`ptycho::Problem`] (magnitudes, windows, start
//! values), and a [`ptycho::Reconstructor`] iterates the engines of a recipe:
//!
//! ```
//! use warpstride::ptycho::cpu::CpuEngine;
//! use warpstride::ptycho::{Problem, Recipe, Reconstructor};
//! # use warpstride::ptycho::{EngineName, EngineSpec, SimulateOptions, simulate};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scan = simulate(&SimulateOptions { frame: 32, positions: 12, ..Default::default() })?;
//! # let engines = vec![EngineSpec::new(EngineName::Dm, 20), EngineSpec::new(EngineName::Raar, 10)];
//! # let recipe = Recipe { engines, ..Recipe::default() };
//!
//! // `scan` from `ptycho::io::scan::read` or `Scan::new`, `recipe` from `Recipe::default` or a file.
//! let problem = Problem::prepare(&scan, &recipe)?;
//! let mut run = Reconstructor::new(Box::new(CpuEngine::<f32>::new(&problem)), &problem, &recipe);
//! while !run.finished() {
//!     run.advance()?;
//! }
//! let object = run.engine().object()?; // (row, column), transmission
//! let r = run.progress().history.iter().filter_map(|iteration| iteration.r_factor);
//! # assert_eq!(object.dim(), (problem.positions.object_shape[0], problem.positions.object_shape[1]));
//! # let r: Vec<f64> = r.collect();
//! # assert_eq!(r.len(), 5); // iterations 1, 10, 20, 21 and 30
//! # assert!(r[4] < 0.1 * r[0], "{r:?}");
//! # Ok(())
//! # }
//! ```
//!
//! `docs/ptychography.md` describes the mathematics.
//!
//! # Magnetic resonance imaging
//! [`mri`] reconstructs images from non-Cartesian samples of k-space. Samples from a file or a
//! simulation make an [`mri::Problem`], and an [`mri::Recipe`] selects the operator and the method:
//!
//! ```
//! use warpstride::mri::cpu::CpuEngine;
//! use warpstride::mri::{Engine, Method, OperatorName, Problem, Recipe, grid_of};
//! use warpstride::mri::{SimulateOptions, metrics, simulate};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let options = SimulateOptions { matrix: 16, coils: 2, ..Default::default() };
//!
//! // Or `mri::io::ismrmrd::read(path, &ReadOptions::default())?.kspace`.
//! let simulated = simulate(&options)?;
//! let kspace = &simulated.kspace;
//! let coils = kspace.coils();
//! let maps = simulated.truth.coil_maps.to_shape((coils, 16 * 16))?.to_owned();
//! let problem = Problem::new(
//!     grid_of(kspace),
//!     kspace.trajectory().clone(), // (sample, axis), cycles/pixel
//!     kspace.samples().clone(),    // (coil, sample)
//! )?
//! .with_maps(maps)?;
//! let recipe = Recipe {
//!     operator: OperatorName::Nufft,
//!     method: Method::Cg,
//!     iterations: 10,
//!     lambda: 0.0,
//!     tolerance: 1e-5,
//!     trigonometry: Default::default(),
//!     intensity_correction: false,
//!     min_residual: 0.0,
//!     min_iterations: 0,
//!     rounding: 0.0,
//! };
//! let mut engine = CpuEngine::<f64>::new(&problem, &recipe)?;
//! while engine.done() < engine.planned() {
//!     engine.advance()?; // |r|²/|b|² of each iteration
//! }
//! let image = engine.image()?; // (slice, row, column)
//! let metrics = metrics::compare(&image, &simulated.truth.image);
//! # assert!(metrics.is_some_and(|metrics| metrics.nrmse < 0.4), "{metrics:?}");
//! # Ok(())
//! # }
//! ```
//!
//! `docs/mri.md` describes the operators and the methods.
//!
//! # Small-angle scattering
//! [`sas`] computes the intensities of models and fits them to data. A model and its points make a
//! [`sas::Calculation`], which an engine evaluates for any number of parameter vectors at once:
//!
//! ```
//! use warpstride::sas::cpu::CpuEngine;
//! use warpstride::sas::{Calculation, Definition, Engine, Points};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let definition = Definition::parse("sphere@hardsphere")?;
//! let radius = definition.parameter_index("radius")?;
//! let points = Points::Curve(vec![0.005, 0.01, 0.02, 0.04]); // q, 1/Å
//! let calculation = Calculation::new(definition, points);
//! let vectors = [50.0, 60.0].map(|length| {
//!     let mut vector = calculation.defaults();
//!     vector.values[radius] = length; // Å
//!     vector
//! });
//! let mut engine = CpuEngine::new(calculation);
//! let intensities = engine.evaluate(&vectors)?; // (vector, point), 1/cm
//! # assert_eq!((intensities.len(), intensities[0].len()), (2, 4));
//! assert!(intensities[1][0] > intensities[0][0]); // larger spheres scatter more
//! # Ok(())
//! # }
//! ```
//!
//! [`sas::fit`] searches for the parameters that agree with data. `docs/sas.md` describes the models,
//! `docs/sas-fits.md` the fits.
//!
//! # Time series
//! [`series`] aggregates many series over time buckets. A [`series::Batch`] holds the points, a
//! [`series::Resample`] the granularities and aggregates:
//!
//! ```
//! use warpstride::series::cpu::CpuEngine;
//! use warpstride::series::{Batch, Engine, NanPolicy, Resample};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! const SECOND: i64 = 1_000_000_000;
//! let times = vec![0, 30 * SECOND, 60 * SECOND, 90 * SECOND]; // nanoseconds since 1970
//! let batch = Batch::single(times, vec![1.0, 3.0, 5.0, 9.0])?;
//! let granularities = vec!["1m".parse()?];
//! let aggregates = vec!["mean".parse()?, "max".parse()?];
//! let plan = Resample::new(granularities, aggregates, NanPolicy::Keep)?;
//! let resampled = CpuEngine::new(plan).resample(&batch)?;
//! let minutes = &resampled.buckets[0]; // of the first granularity
//! assert_eq!(minutes.starts, [0, 60 * SECOND]);
//! assert_eq!(minutes.columns[0].values, [2.0, 7.0]); // the means
//! # Ok(())
//! # }
//! ```
//!
//! `series::stream` aggregates inputs larger than memory, and `series::store` keeps aggregates in a
//! file. `docs/series.md` and `docs/series-store.md` describe both.
//!
//! # Jacobi relaxation
//! [`jacobi`] solves Laplace's and Poisson's equation on a grid, on one or several GPUs. A
//! [`jacobi::Problem`] and a [`jacobi::Stopping`] rule make a [`jacobi::Engine`]:
//!
//! ```
//! use warpstride::gpu::EmulatedDeviceGroup;
//! use warpstride::jacobi::cpu::CpuEngine;
//! use warpstride::jacobi::cuda::{GroupEngine, Plan};
//! use warpstride::jacobi::{Boundary, Engine, Problem, Stopping};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let problem = Problem::<f32>::new(40, 30, Boundary::Textbook)?; // columns, rows
//! let rule = Stopping { iterations: 20, ..Stopping::default() };
//! let mut on_cpu = CpuEngine::new(&problem, rule, 1)?;
//! let mut on_three = GroupEngine::new(EmulatedDeviceGroup::new(3), &problem, rule, Plan::default())?;
//! let engines: [&mut dyn Engine<f32>; 2] = [&mut on_cpu, &mut on_three];
//! for engine in engines {
//!     let mut norms = Vec::new();
//!     while !engine.finished() {
//!         norms.extend(engine.advance()?.norms);
//!     }
//!     // √(ny − 1) / 4 in real arithmetic.
//!     assert!((norms[0].norm - 29.0_f64.sqrt() / 4.0).abs() < 1e-6);
//! }
//! assert_eq!(on_cpu.field()?, on_three.field()?); // (row, column), bit for bit
//! # Ok(())
//! # }
//! ```
//!
//! On GPUs the group is a [`gpu::CudaDeviceGroup`]. `docs/multi-gpu.md` describes how the devices
//! work together.
//!
//! # Modules
//! Each module uses only the modules in its row; `tests/dependencies.rs` checks the table. [`cuda`]
//! (the driver and its libraries) and [`gpu`] (devices and groups of devices, real or emulated) are
//! the crate `warpstride-cuda`, [`ranks`] (threads or processes that compute together) is `warpstride-ranks`. There are no cycles. `science` lists the
//! sciences, `selftest` has their cases and `cli` their commands. `docs/architecture.md` describes the modules.
//!
//! | module | uses |
//! |---|---|
//! | `system` | |
//! | `text` | |
//! | `data` | `system`, `text` |
//! | `fft` | |
//! | `io` | `data`, `system`, `text` |
//! | `run` | `cuda`, `gpu`, `system` |
//! | `report` | `system`, `text` |
//! | `kernels` | `cuda` |
//! | `jacobi` | `cuda`, `gpu`, `io`, `kernels`, `report`, `run`, `system`, `text` |
//! | `mri` | `cuda`, `data`, `fft`, `gpu`, `io`, `kernels`, `report`, `run`, `system`, `text` |
//! | `ptycho` | `cuda`, `data`, `fft`, `gpu`, `io`, `kernels`, `ranks`, `report`, `run`, `system`, `text` |
//! | `sas` | `cuda`, `data`, `gpu`, `io`, `kernels`, `report`, `run`, `system`, `text` |
//! | `series` | `cuda`, `gpu`, `io`, `kernels`, `report`, `run`, `system`, `text` |
//! | `science` | `jacobi`, `kernels`, `mri`, `ptycho`, `sas`, `series` |
//! | `selftest` | `cuda`, `fft`, `gpu`, `jacobi`, `kernels`, `mri`, `ptycho`, `sas`, `science`, `series`, `text` |
//! | `cli` | `cuda`, `data`, `gpu`, `io`, `jacobi`, `mri`, `ptycho`, `ranks`, `report`, `run`, `sas`, `science`, `selftest`, `series`, `system`, `text` |
//!
//! The folder `examples/` has whole programs: reconstructions from plain arrays, and results with
//! pictures.
//!
//! # Features
//! All but `system-hdf5` are on by default.
//!
//! * `jacobi`, `mri`, `ptycho`, `sas`, `series`: the sciences
//! * `parquet`: Parquet and Arrow files of time series
//! * `store`: the store of time series
//! * `plots`: pictures and HTML reports
//! * `cli`: the program
//! * `hdf5`: HDF5 files, by one of the next two
//! * `static`: the C library is built from source and linked in
//! * `system-hdf5`: an installed libhdf5 is linked

#![cfg_attr(
    not(all(
        feature = "jacobi",
        feature = "mri",
        feature = "ptycho",
        feature = "sas",
        feature = "series",
        feature = "hdf5",
        feature = "plots",
        feature = "cli"
    )),
    allow(
        dead_code,
        unused_imports,
        reason = "a build without some features leaves out who uses these parts"
    )
)]

#[cfg(feature = "cli")]
pub mod cli;
pub mod science;
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
