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

mod automatic;
mod checks;
pub mod data;
mod engines;
pub mod io;
mod model;
mod positions;
pub mod quality;
#[cfg(feature = "plots")]
pub mod report;
mod science;
#[cfg(feature = "selftest")]
pub mod selftest;
mod session;
mod simulate;
mod start;

pub use automatic::central_part::central_part;
pub use automatic::orientation::{
    Decision, Evidence, Orientation, OrientationSearch, StartOfTrials, Trial, TrialR, TrialResult,
    TwinDecision, is_own_twin,
};
pub use automatic::recipe::{
    AutomaticRecipe, Decided, Tried, suit_engines, template, template_of, untried_engines,
};
pub use automatic::rotation::{
    CentreField, CentreRotation, Rotation, RotationDecision, RotationSearch, RotationTrial,
    RotationTwin,
};
pub use automatic::trials::{Chosen, TrialHost, choose_recipe, planned_trials};
pub use checks::bad_frames::BadFrames;
pub use checks::diagnosis::{Diagnosis, diagnose, diagnose_frames, masked_pixels};
pub use checks::scan::{ScanChecks, check_scan};
pub use engines::batches::BatchOrder;
pub use engines::engine::{Engine, EngineState, Values, WaveSpace};
pub use engines::error::EngineError;
pub use engines::likelihood::{LikelihoodMethod, Noise};
pub use engines::method::{BatchMethod, BatchUpdate, Coefficients, Method};
pub use engines::name::EngineName;
pub use engines::ranks::Ranks;
pub use engines::reconstructor::{FrameStart, Progress, Reconstructor};
pub use engines::regions::chosen_note;
pub use engines::spec::{EngineSpec, PowerBound, PowerBoundSetting};
pub use engines::step::{ModelErrors, Step, StepErrors, StepMetrics};
pub use engines::step_plan::StepPlan;
pub use engines::stream_plan::StreamPlan;
pub use engines::update_version::UpdateVersion;
pub use engines::updates::Smoothness;
pub use engines::{cpu, cuda};
pub use model::count_codes::CountCodes;
pub use model::detector::{Detector, detector_problems};
pub use model::magnitudes::{DeviceMagnitudes, Magnitudes, StoredMagnitudes};
pub use model::multislice::{SlicePlan, slices_note};
pub use model::near_field::{NearField, NearFieldMisfit};
pub use model::predict::{PredictError, Prediction, predict};
pub use model::problem::Problem;
pub use model::problem_error::ProblemError;
pub use positions::affine::AffineFit;
pub use positions::frame_parameters::Frames;
pub use positions::frame_statistics::{Displacements, ScaleSpread};
pub use positions::overlap::Overlap;
pub use positions::refinement::{PositionMethod, PositionOptions, Refinement};
pub use positions::units::PositionRemedy;
pub use quality::absorption::absorption_correlation;
pub use quality::free_pixels::free_share;
pub use quality::probe_focus::{Focus, FocusSearch, NoFocus};
pub use quality::probe_size::ProbeSize;
pub use science::SCIENCE;
pub use session::checkpointing::{CheckpointError, SavedRun, fingerprint};
use session::memory_estimate::frames_together;
pub use session::memory_estimate::{host_besides, mask_bytes, memory_estimate};
pub use session::memory_request::WHAT;
pub use session::memory_request::{MemoryRequest, free_memory};
pub use session::profile::Profile;
pub use session::quantities;
pub use session::quantities::{Degrees, ShortLength};
pub use session::read_options::{
    BadFrameSetting, Centre, CentreSetting, Constants, Datasets, EmptyFrames, FaultSetting,
    FileOrder, FrameTransform, HotPixelSetting, HotPixels, MAX_COARSE, MaskPolarity,
    NegativeCounts, NoData, NoDataSetting, Pair, PositionFile, PositionUnit, Raster, RasterStep,
    ReadOptions, Saturation, Units,
};
pub(crate) use session::recipe::MOST_SLICES;
pub use session::recipe::{
    ApertureShape, Background, BackgroundFit, Blur, DetectorOptions, FlyOptions, FlyPath,
    FlyPositions, GpuOptions, GpuStep, GpuWaves, Precision, ProbeSource, ProbeStart, Recipe,
    SliceDistance, SliceOptions, StartOptions, StopRule, Updates,
};
pub use session::recipe_error::RecipeError;
pub use session::result::{Origin, result};
pub use session::run::{ReconstructionSteps, Run, RunError};
pub use session::summary::{
    DetectorSummary, NearFieldSummary, SlicesSummary, Summary, VariableProbeSummary,
};
pub use simulate::{Pattern, SimulateError, SimulateOptions, simulate};
pub use start::earlier_result::EarlierResultError;
pub use start::object::{StartObject, StartObjectError};
pub use start::{StartError, StartProbe, unusable as unusable_illumination};
pub use warpstride_kernels::ptycho::magnitude_floor::MAGNITUDE_FLOOR;
