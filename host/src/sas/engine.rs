//! What every back end offers.

use super::{SasError, Vector};

/// How an engine computes, for summaries.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Setup {
    /// `cpu`, `cuda` or `emulator`.
    pub backend: &'static str,
    /// Name of the GPU; `None` on the CPU.
    pub device: Option<String>,
    /// `f64` or `f32`.
    pub precision: &'static str,
}

/// A calculation on a machine.
pub trait Engine {
    /// Intensities of each vector at each point, 1/cm, resolution and background included. The numbers of a vector
    /// do not depend on the others in the batch, on threads or on the launch.
    ///
    /// # Errors
    /// A vector out of its limits; the machine's.
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError>;

    /// How it computes.
    fn setup(&self) -> Setup;

    /// Vectors that fill the machine in one call; asking for more at once is allowed.
    fn batch(&self) -> usize;
}
