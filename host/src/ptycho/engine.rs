//! The engine interface of all back ends: single steps, metrics read back asynchronously, and
//! state that can be saved and restored.

use super::ranks::Ranks;
use super::{ModelErrors, Step, StepErrors, StepPlan, StreamPlan};
use crate::cuda::DeviceBuffer;
use crate::data::ModelParts;
use crate::gpu::ProfileSpan;
use crate::run::Setup;
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use warpstride_device::Complex32;

mod state;

pub use state::{EngineState, Values, WaveSpace};

/// Why an engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
    /// The saved state belongs to another run.
    #[error("the saved {what}: expected {expected} values, found {found}")]
    State {
        /// Name of the array.
        what: &'static str,
        /// Number of saved values.
        found: usize,
        /// Number of values of this run.
        expected: usize,
    },
    /// Saved positions or scales that no run has.
    #[error(
        "the saved frames: expected positions within {bound} pixels of the scan's and scales above 0, found others"
    )]
    Frames {
        /// Largest distance on an axis, object pixels.
        bound: f64,
    },
    /// Slices of a thick specimen, where not all counts are on the device.
    #[error(
        "slices: expected enough device memory for the counts of all frames, found less; take fewer frames, or --backend cpu"
    )]
    StreamedSlices,
    /// The object of a thick specimen in the memory of a device, where it is not multiplied.
    #[error("the object in the memory of a GPU: expected a specimen without slices, found slices")]
    Sliced,
    /// Saved distances between slices that the run does not have.
    #[error(
        "the saved distances between slices: expected those of this run, within a factor of 2 of its start, found others"
    )]
    Distances,
    /// The shares of the object's sums were larger than fixed-point numbers can hold.
    #[error(
        "iteration {iteration}: a value of the exit waves is more than {headroom} times as large as the scan's counts explain, beyond the range of the fused step's sums; start from another probe or object, or compute with --set gpu.step=unfused"
    )]
    Sums {
        /// Number of the iteration in the run.
        iteration: usize,
        /// How much larger than expected values may be.
        headroom: f32,
    },
    /// An engine with exit waves of all frames, where not all counts are on the device and the plan has no exit waves.
    #[error(
        "dm, raar and ap keep exit waves of all frames, for which the plan of blocks of frames has no memory (StreamPlan::with_waves)"
    )]
    Streamed,
    /// Several object modes or points of an exposure, where not all counts are on the device.
    #[error(
        "several object modes or points of an exposure: expected the counts and exit waves of all frames in the device's memory for dm, raar and ap, and its counts for paths that differ between frames, found less memory"
    )]
    LayeredBlocks,
    /// Another rank has failed, or cannot be reached.
    #[error(transparent)]
    Ranks(#[from] crate::ranks::RankError),
    /// The ranks have different inputs.
    #[error(
        "the ranks: expected the same scan, recipe and program on all of them, found sums of other shapes"
    )]
    Unlike,
    /// The saved state has another precision.
    #[error("the saved state: expected the precision of this run, found another")]
    Precision,
}

/// A projection engine: its state and a single step. [`super::Reconstructor`] runs the loop.
pub trait Engine {
    /// Where and how it computes.
    fn setup(&self) -> Setup;

    /// How the last projection was computed, on a GPU; `None` elsewhere, and before it.
    fn plan(&self) -> Option<StepPlan> {
        None
    }

    /// How counts travel to a GPU that does not hold them all.
    fn streaming(&self) -> Option<StreamPlan> {
        None
    }

    /// The ranks among which the frames are divided.
    fn ranks(&self) -> Ranks {
        Ranks::alone()
    }

    /// Whether the last iteration of a run that is resumed had frames at their exact positions; before [`Engine::restore`].
    fn set_exact(&mut self, _exact: bool) {}

    /// Queues one iteration and may return before it has finished.
    ///
    /// # Errors
    /// Returns the device's error.
    fn step(&mut self, step: &Step) -> Result<(), EngineError>;

    /// Metrics of finished iterations, in order. With `all` it waits for every queued iteration.
    ///
    /// # Errors
    /// Returns the device's error.
    fn errors(&mut self, all: bool) -> Result<Vec<StepErrors>, EngineError>;

    /// Computes err_phot and R of the current object and probe; waits for the device.
    ///
    /// # Errors
    /// Returns the device's error.
    fn metrics(&mut self) -> Result<ModelErrors, EngineError>;

    /// The object (row, column); of one with layers the first, which is the strongest of several modes.
    ///
    /// # Errors
    /// Returns the device's error.
    fn object(&mut self) -> Result<Array2<Complex<f64>>, EngineError> {
        Ok(self.object_layers()?.index_axis_move(Axis(0), 0))
    }

    /// All layers of the object (layer, row, column), at least one.
    ///
    /// # Errors
    /// Returns the device's error.
    fn object_layers(&mut self) -> Result<Array3<Complex<f64>>, EngineError>;

    /// The probe (mode, row, column), √photons.
    ///
    /// # Errors
    /// Returns the device's error.
    fn probe(&mut self) -> Result<Array3<Complex<f64>>, EngineError>;

    /// The windows, positions and intensity scales of the frames.
    fn frames(&self) -> Frames;

    /// Copies the object (row, column), of one with layers the first, and the probe (mode, row, column) to memory of the CUDA
    /// device that computes, and waits for the copies; returns false, without copies, on other back ends.
    ///
    /// # Errors
    /// Memory of another length or another device, an object with slices, or the device's error.
    fn copy_model_to(
        &mut self,
        _object: &mut DeviceBuffer<Complex32>,
        _probe: &mut DeviceBuffer<Complex32>,
    ) -> Result<bool, EngineError> {
        Ok(false)
    }

    /// What the model has beyond object, probe and frames; nothing, unless the recipe asks for it.
    ///
    /// # Errors
    /// Returns the device's error.
    fn model_parts(&mut self) -> Result<ModelParts, EngineError> {
        Ok(ModelParts::default())
    }

    /// Saves everything that the next step depends on. With several ranks, only the state of rank 0 has the exit waves of
    /// all frames; that of another rank has those of its own frames, and only that rank can restore it.
    ///
    /// # Errors
    /// Returns the device's error.
    fn save(&mut self) -> Result<EngineState, EngineError>;

    /// Restores a saved state.
    ///
    /// # Errors
    /// Returns an error if the shape or the precision differs, or the device's error.
    fn restore(&mut self, state: &EngineState) -> Result<(), EngineError>;

    /// Times from now on what its device does; see [`Device::start_profile`](crate::gpu::Device::start_profile). An
    /// engine without a device, as on the CPU, times nothing.
    ///
    /// # Errors
    /// Returns the device's error.
    fn start_profile(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Ends what [`Engine::start_profile`] started, and returns the times of the device's operations.
    ///
    /// # Errors
    /// Returns the device's error.
    fn take_profile(&mut self) -> Result<Vec<ProfileSpan>, EngineError> {
        Ok(Vec::new())
    }
}

/// Windows, positions and intensity scales of the frames, as the model has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames {
    /// First row and column of each frame's window on the object.
    pub corners: Vec<[u32; 2]>,
    /// By how much the probe is shifted in each window, pixels; all 0 if the engine works with whole
    /// pixels.
    pub fractions: Vec<[f64; 2]>,
    /// Positions (row, column), object pixels: corners plus fractions, also where the engine works
    /// with whole pixels.
    pub positions: Vec<[f64; 2]>,
    /// Factors on the model intensities.
    pub scales: Vec<f64>,
}

impl Frames {
    /// Corners plus fractions: where the model has the frames.
    pub(super) fn exact(&self) -> Vec<[f64; 2]> {
        let position = |(corner, fraction): (&[u32; 2], &[f64; 2])| {
            [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis])
        };
        let pairs = self.corners.iter().zip(&self.fractions);
        pairs.map(position).collect()
    }
}
