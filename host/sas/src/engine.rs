//! The interface of all back ends.

use super::{SasError, Vector};
use warpstride_core::run::Setup;
use warpstride_cuda::cuda::DeviceBuffer;

/// A calculation on a back end.
pub trait Engine {
    /// Intensities of each vector at each point, 1/cm, including resolution and background. The
    /// result of a vector does not depend on the other vectors of the batch, on the number of
    /// threads or on the launch configuration.
    ///
    /// # Errors
    /// A vector outside its limits, or an error of the device.
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError>;

    /// Like [`Engine::evaluate`] into memory of the CUDA device that computes: intensities (vector,
    /// point) from element `at` on. Returns false, without a computation, on other back ends and
    /// for sums of models.
    ///
    /// # Errors
    /// As for [`Engine::evaluate`]; or the memory is too short or of another device.
    fn evaluate_to(
        &mut self,
        _vectors: &[Vector],
        _to: &mut DeviceBuffer<f64>,
        _at: usize,
    ) -> Result<bool, SasError> {
        Ok(false)
    }

    /// Back end, device and precision.
    fn setup(&self) -> Setup;

    /// Number of vectors that fill the device in one call; calls with more are allowed.
    fn batch(&self) -> usize;
}
