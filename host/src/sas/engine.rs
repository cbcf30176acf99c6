//! The interface of all back ends.

use super::{SasError, Vector};
use crate::run::Setup;

/// A calculation on a back end.
pub trait Engine {
    /// Intensities of each vector at each point, 1/cm, including resolution and background. The
    /// result of a vector does not depend on the other vectors of the batch, on the number of
    /// threads or on the launch configuration.
    ///
    /// # Errors
    /// A vector outside its limits, or an error of the device.
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError>;

    /// Back end, device and precision.
    fn setup(&self) -> Setup;

    /// Number of vectors that fill the device in one call; calls with more are allowed.
    fn batch(&self) -> usize;
}
