//! Ptychography: reconstruction of a specimen and its illumination from overlapping diffraction
//! patterns.
//!
//! A [`Scan`](crate::data::Scan) is prepared as a [`Problem`] (magnitudes, windows, start values).
//! An engine of [`cpu`] or [`cuda`] performs single iterations, and [`Reconstructor`] runs them.
//!
//! # Example
//! ```
//! use warpstride_ptycho::cpu::CpuEngine;
//! use warpstride_ptycho::{Problem, Recipe, Reconstructor};
//! # use warpstride_ptycho::{EngineName, EngineSpec, SimulateOptions, simulate};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scan = simulate(&SimulateOptions { frame: 32, positions: 12, ..Default::default() })?;
//! # let engines = vec![EngineSpec::new(EngineName::Dm, 20), EngineSpec::new(EngineName::Raar, 10)];
//! # let recipe = Recipe { engines, ..Recipe::default() };
//!
//! // `scan` from `io::scan::read` or `Scan::new`, `recipe` from `Recipe::default` or a file.
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

#![cfg_attr(
    not(all(feature = "hdf5", feature = "plots", feature = "selftest")),
    allow(
        dead_code,
        unused_imports,
        reason = "a build without some features leaves out who uses these parts"
    )
)]

mod absorption;
mod affine;
mod automatic;
mod bad_frames;
mod batch_shares;
mod batches;
mod central_part;
mod checkpointing;
mod count_codes;
pub mod cpu;
pub mod cuda;
pub mod data;
pub(crate) mod detector;
mod diagnosis;
mod earlier_result;
mod engine;
mod engine_error;
mod engine_name;
mod engine_spec;
#[cfg(test)]
mod every_engine;
mod fly;
mod frame_parameters;
mod frame_statistics;
pub(crate) mod free_pixels;
mod intensity_ramp;
mod interleaved;
mod interpolation;
pub mod io;
#[cfg(test)]
mod layered_engines;
pub(crate) mod likelihood;
mod magnitudes;
mod memory_estimate;
mod memory_request;
mod method;
mod metrics_schedule;
mod multislice;
mod near_field;
pub(crate) mod normalisation;
mod object_layout;
mod object_modes;
mod orientation;
mod overlap;
mod position_units;
mod predict;
mod probe_focus;
pub(crate) mod probe_grid;
mod probe_size;
mod probe_slices;
mod problem;
mod problem_error;
mod profile;
pub mod quality;
pub mod quantities;
mod ranks;
mod read_options;
mod recipe;
mod recipe_error;
mod recipe_line;
mod reconstructor;
mod refinement;
pub(crate) mod regions;
#[cfg(feature = "plots")]
pub mod report;
mod result;
mod roll;
mod rotation;
mod run;
mod scan_checks;
mod science;
#[cfg(feature = "selftest")]
pub mod selftest;
mod simulate;
mod start;
mod start_object;
mod start_search;
mod start_slices;
mod step;
pub(crate) mod step_plan;
mod stream_plan;
#[cfg(test)]
mod streamed_models;
mod summary;
mod update_version;
pub(crate) mod updates;
pub(crate) mod variable_probe;

pub use absorption::absorption_correlation;
pub use affine::AffineFit;
pub use automatic::{
    AutomaticRecipe, AutomaticSearch, Decided, MOST_ITERATIONS, MOST_TRIALS,
    Trial as AutomaticTrial, TrialData, Tried, reasons, suit_engines, template, untried_engines,
    work,
};
pub use bad_frames::BadFrames;
pub use batches::BatchOrder;
pub use central_part::central_part;
pub use checkpointing::{CheckpointError, SavedRun, fingerprint};
pub use count_codes::CountCodes;
pub use detector::{Detector, detector_problems};
pub use diagnosis::{Diagnosis, diagnose, diagnose_frames, masked_pixels};
pub use earlier_result::{EarlierResultError, FrameStart};
pub use engine::{Engine, EngineState, Values, WaveSpace};
pub use engine_error::EngineError;
pub use engine_name::EngineName;
pub use engine_spec::{EngineSpec, PowerBound, PowerBoundSetting};
pub use frame_parameters::Frames;
pub use frame_statistics::{Displacements, ScaleSpread};
pub use free_pixels::free_share;
pub use likelihood::{LikelihoodMethod, Noise};
pub use magnitudes::{DeviceMagnitudes, Magnitudes, StoredMagnitudes};
use memory_estimate::frames_together;
pub use memory_estimate::{host_besides, mask_bytes, memory_estimate};
pub use memory_request::WHAT;
pub use memory_request::{MemoryRequest, free_memory};
pub use method::{BatchMethod, BatchUpdate, Coefficients, Method};
pub use multislice::{SlicePlan, slices_note};
pub use near_field::{NearField, NearFieldMisfit};
pub use orientation::{
    Decision, Evidence, Orientation, OrientationSearch, StartOfTrials, Trial, TrialR, TrialResult,
    TwinDecision, is_own_twin,
};
pub use overlap::Overlap;
pub use position_units::PositionRemedy;
pub use predict::{PredictError, Prediction, predict};
pub use probe_focus::{Focus, FocusSearch, NoFocus};
pub use probe_size::ProbeSize;
pub use problem::Problem;
pub use problem_error::ProblemError;
pub use profile::Profile;
pub use quantities::{Degrees, ShortLength};
pub use ranks::Ranks;
pub use read_options::{
    BadFrameSetting, Centre, CentreSetting, Constants, Datasets, EmptyFrames, FaultSetting,
    FileOrder, FrameTransform, HotPixelSetting, HotPixels, MAX_COARSE, MaskPolarity,
    NegativeCounts, NoData, NoDataSetting, Pair, PositionFile, PositionUnit, Raster, RasterStep,
    ReadOptions, Saturation, Units,
};
pub(crate) use recipe::MOST_SLICES;
pub use recipe::{
    ApertureShape, Background, BackgroundFit, Blur, DetectorOptions, FlyOptions, FlyPath,
    FlyPositions, GpuOptions, GpuStep, GpuWaves, Precision, ProbeSource, ProbeStart, Recipe,
    SliceDistance, SliceOptions, StartOptions, StopRule, Updates,
};
pub use recipe_error::RecipeError;
pub use reconstructor::{Progress, Reconstructor};
pub use refinement::{PositionMethod, PositionOptions, Refinement};
pub use regions::chosen_note;
pub use result::{Origin, result};
pub use rotation::{
    CentreField, CentreRotation, Rotation, RotationDecision, RotationSearch, RotationTrial,
    RotationTwin,
};
pub use run::{ReconstructionSteps, Run, RunError};
pub use scan_checks::{ScanChecks, check_scan};
pub use science::SCIENCE;
pub use simulate::{Pattern, SimulateError, SimulateOptions, simulate};
pub use start::{StartError, StartProbe, unusable as unusable_illumination};
pub use start_object::{StartObject, StartObjectError};
pub use step::{ModelErrors, Step, StepErrors, StepMetrics};
pub use step_plan::StepPlan;
pub use stream_plan::StreamPlan;
pub use summary::{
    DetectorSummary, NearFieldSummary, SlicesSummary, Summary, VariableProbeSummary,
};
pub use update_version::UpdateVersion;
pub use updates::Smoothness;
pub use warpstride_kernels::ptycho::magnitude_floor::MAGNITUDE_FLOOR;
