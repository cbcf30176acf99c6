//! The engine interface of all back ends: single steps, metrics read back asynchronously, and
//! state that can be saved and restored.

use super::ranks::Ranks;
use crate::data::ModelParts;
use crate::positions::frame_parameters::Frames;
use crate::{EngineError, ModelErrors, Step, StepErrors, StepPlan, StreamPlan};
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use warpstride_core::run::Setup;
use warpstride_cuda::cuda::DeviceBuffer;
use warpstride_cuda::gpu::ProfileSpan;
use warpstride_device::Complex32;

mod state;

pub use state::{EngineState, Values, WaveSpace};

/// A projection engine: its state and a single step. [`crate::Reconstructor`] runs the loop.
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

    /// Whether the last iteration of a run that is resumed had frames at their exact positions;
    /// before [`Engine::restore`].
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

    /// The object (row, column); of one with layers the first, which is the strongest of several
    /// modes.
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

    /// Copies the object (row, column), of one with layers the first, and the probe (mode, row,
    /// column) to memory of the CUDA device that computes, and waits for the copies; returns false,
    /// without copies, on other back ends.
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

    /// Saves everything that the next step depends on. With several ranks, only the state of rank 0
    /// has the exit waves of all frames; that of another rank has those of its own frames, and only
    /// that rank can restore it.
    ///
    /// # Errors
    /// Returns the device's error.
    fn save(&mut self) -> Result<EngineState, EngineError>;

    /// Restores a saved state.
    ///
    /// # Errors
    /// Returns an error if the shape or the precision differs, or the device's error.
    fn restore(&mut self, state: &EngineState) -> Result<(), EngineError>;

    /// Times from now on what its device does; see
    /// [`Device::start_profile`](warpstride_cuda::gpu::Device::start_profile). An engine without a
    /// device, as on the CPU, times nothing.
    ///
    /// # Errors
    /// Returns the device's error.
    fn start_profile(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Ends what [`Engine::start_profile`] started, and returns the times of the device's
    /// operations.
    ///
    /// # Errors
    /// Returns the device's error.
    fn take_profile(&mut self) -> Result<Vec<ProfileSpan>, EngineError> {
        Ok(Vec::new())
    }
}
