//! Scientific computing on NVIDIA GPUs with every kernel written in Rust, and the same on the CPU.
//!
//! This version reconstructs ptychographic scans and samples of magnetic resonance, and relaxes
//! Laplace's and Poisson's equation on grids.
//!
//! # Ptychography
//! A [`data::Scan`] becomes a [`ptycho::Problem`]
//! (magnitudes, windows, start values), an engine iterates it on a machine, and a
//! [`ptycho::Reconstructor`] is the course of the run:
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
//! // `scan` from `io::scan::read` or `Scan::new`, `recipe` from `Recipe::default` or a file.
//! let problem = Problem::new(&scan, &recipe)?;
//! let mut run = Reconstructor::new(Box::new(CpuEngine::<f32>::new(&problem)), &problem, &recipe);
//! while !run.finished() {
//!     run.advance()?;
//! }
//! let object = run.engine().object()?; // (row, column), transmission
//! let r = run.place().history.iter().filter_map(|iteration| iteration.r_factor);
//! # assert_eq!(object.dim(), (problem.positions.object_shape[0], problem.positions.object_shape[1]));
//! # let r: Vec<f64> = r.collect();
//! # assert_eq!(r.len(), 30);
//! # assert!(r[29] < 0.1 * r[0], "{r:?}");
//! # Ok(())
//! # }
//! ```
//!
//! On a GPU the engine is a [`ptycho::cuda::GpuEngine`] on a [`gpu::CudaMachine`]; nothing else
//! changes. `docs/ptychography.md` has the mathematics.
//!
//! # Magnetic resonance
//! Samples of k-space, from a file or simulated, make an [`mri::Problem`]; with an [`mri::Recipe`] an
//! [`mri::Engine`] makes an image of it:
//!
//! ```
//! use warpstride::mri::cpu::CpuEngine;
//! use warpstride::mri::{Engine, Method, OperatorName, Problem, Recipe, grid_of};
//! use warpstride::mri::{SimulateOptions, metrics, simulate};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let options = SimulateOptions { matrix: 16, coils: 2, ..Default::default() };
//!
//! // Or `io::ismrmrd::read(path, &ReadOptions::default())?.kspace`.
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
//! };
//! let mut engine = CpuEngine::<f64>::new(&problem, &recipe)?;
//! while engine.done() < engine.planned() {
//!     engine.advance()?; // |r|²/|b|² of each iteration
//! }
//! let image = engine.image()?; // (slice, row, column)
//! let figures = metrics::compare(&image, &simulated.truth.image);
//! # assert!(figures.is_some_and(|figures| figures.nrmse < 0.4), "{figures:?}");
//! # Ok(())
//! # }
//! ```
//!
//! On a GPU the engine is an [`mri::cuda::GpuEngine`].
//!
//! # Relaxation
//! A [`jacobi::Problem`] and a [`jacobi::Stopping`] rule make a [`jacobi::Engine`]:
//!
//! ```
//! use warpstride::gpu::EmulatedFleet;
//! use warpstride::jacobi::cpu::CpuEngine;
//! use warpstride::jacobi::cuda::{FleetEngine, Plan};
//! use warpstride::jacobi::{Boundary, Engine, Problem, Stopping};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let problem = Problem::<f32>::new(40, 30, Boundary::Textbook)?; // columns, rows
//! let rule = Stopping { iterations: 20, ..Stopping::default() };
//! let mut on_cpu = CpuEngine::new(&problem, rule, 1)?;
//! let mut on_three = FleetEngine::new(EmulatedFleet::new(3), &problem, rule, Plan::default())?;
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
//! On GPUs the fleet is a [`gpu::CudaFleet`].
//!
//! # Rooms
//! The folder `examples/` has whole programs: from plain arrays, results and pictures, and the CUDA
//! fence for one's own work. `docs/architecture.md` has the plan of these rooms:
//!
//! * [`data`]: plain data with invariants
//! * [`io`]: formats, of scans, arrays and results
//! * [`ptycho`]: the mathematics of ptychography, on the CPU and on GPUs
//! * [`mri`]: images from k-space, on the CPU and on GPUs
//! * [`jacobi`]: the relaxation, on the CPU and over several GPUs
//! * [`run`]: the loop around a computation
//! * [`report`]: pictures, tables, timelines, the HTML report, the summary
//! * [`fft`]: transforms on the CPU
//! * [`gpu`]: what a pipeline of kernels needs from a machine, or from several devices
//! * [`cuda`]: the driver and its libraries
//! * [`selftest`]: every kernel against its definition, on any machine
//!
//! # Features
//! * `static` (default): HDF5 is built from source and linked in.
//! * `system-hdf5`: an installed libhdf5 is linked.

pub mod cuda;
pub mod data;
pub mod fft;
pub mod gpu;
pub mod io;
pub mod jacobi;
pub mod mri;
pub mod ptycho;
pub mod report;
pub mod run;
pub mod sas;
pub mod selftest;
pub mod series;
