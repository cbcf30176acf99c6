//! Ptychography: a specimen and its illumination from overlapping diffraction patterns.
//!
//! A [`Scan`](crate::data::Scan) becomes a [`Problem`] (magnitudes, windows, start values); an
//! engine of [`cpu`] or [`cuda`] iterates it, and [`Reconstructor`] is the course of it.

mod checkpointing;
mod course;
pub mod cpu;
pub mod cuda;
mod engine;
mod engine_spec;
mod outcome;
mod plan;
mod probe_search;
mod problem;
pub mod quality;
mod recipe;
mod reconstructor;
mod simulate;
mod start;
mod step;

pub use checkpointing::{CheckpointError, SavedRun, fingerprint};
pub use course::{Course, CourseError};
pub use engine::{Engine, EngineError, EngineState, Values};
pub use engine_spec::{EngineName, EngineSpec, PowerBound, PowerBoundWord};
pub use outcome::{Origin, outcome};
pub use plan::{Plan, UpdateVersion};
pub use problem::{Problem, ProblemError};
pub use recipe::{GpuOptions, Precision, ProbeSource, ProbeStart, Recipe, RecipeError, Updates};
pub use reconstructor::{Place, Reconstructor};
pub use simulate::{Pattern, SimulateError, SimulateOptions, simulate};
pub use start::StartError;
pub use step::{Coefficients, MAGNITUDE_FLOOR, ModelErrors, Step, StepErrors};
