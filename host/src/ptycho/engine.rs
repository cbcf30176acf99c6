//! What both back ends do: one step at a time, figures fetched late, state given and taken.

use super::{ModelErrors, Step, StepErrors};
use crate::fft::Real;
use ndarray::{Array2, Array3};
use num_complex::Complex;

/// Why an engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The machine.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
    /// A saved state of another run.
    #[error("the saved {what} has {found} values, this run needs {expected}")]
    State {
        /// Which array.
        what: &'static str,
        /// Saved.
        found: usize,
        /// Needed.
        expected: usize,
    },
    /// A saved state of another precision.
    #[error("the saved state is in another precision than this run")]
    Precision,
}

/// A projection engine: state plus one step. The loop is [`super::Reconstructor`]'s.
pub trait Engine {
    /// `cpu`, `cuda` or `emulator`.
    fn backend(&self) -> &'static str;

    /// Name of the device.
    fn device(&self) -> String;

    /// Queues one iteration; need not wait for it.
    ///
    /// # Errors
    /// The machine's.
    fn step(&mut self, step: &Step) -> Result<(), EngineError>;

    /// Figures of the iterations that are finished, in order; of every queued one with `all`,
    /// which waits.
    ///
    /// # Errors
    /// The machine's.
    fn errors(&mut self, all: bool) -> Result<Vec<StepErrors>, EngineError>;

    /// err_phot and R of the present object and probe; waits.
    ///
    /// # Errors
    /// The machine's.
    fn metrics(&mut self) -> Result<ModelErrors, EngineError>;

    /// (row, column).
    ///
    /// # Errors
    /// The machine's.
    fn object(&mut self) -> Result<Array2<Complex<f64>>, EngineError>;

    /// (mode, row, column), √photons.
    ///
    /// # Errors
    /// The machine's.
    fn probe(&mut self) -> Result<Array3<Complex<f64>>, EngineError>;

    /// Everything that the next step depends on.
    ///
    /// # Errors
    /// The machine's.
    fn save(&mut self) -> Result<EngineState, EngineError>;

    /// Goes back to a saved state.
    ///
    /// # Errors
    /// Another shape or precision, or the machine's.
    fn restore(&mut self, state: &EngineState) -> Result<(), EngineError>;
}

/// Complex values in the precision of their engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Single precision.
    F32(Vec<Complex<f32>>),
    /// Double precision.
    F64(Vec<Complex<f64>>),
}

impl Values {
    fn of<T: Real>(values: &[Complex<T>]) -> Self {
        match bytemuck::try_cast_slice(values) {
            Ok(single) if size_of::<T>() == size_of::<f32>() => Self::F32(single.to_vec()),
            _ => Self::F64(
                values
                    .iter()
                    .map(|v| Complex::new(v.re.wide(), v.im.wide()))
                    .collect(),
            ),
        }
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn copy_to<T: Real>(
        &self,
        what: &'static str,
        to: &mut [Complex<T>],
    ) -> Result<(), EngineError> {
        if self.len() != to.len() {
            return Err(EngineError::State {
                what,
                found: self.len(),
                expected: to.len(),
            });
        }
        match (self, size_of::<T>() == size_of::<f32>()) {
            (Self::F32(v), true) => {
                for (to, v) in to.iter_mut().zip(v) {
                    *to = Complex::new(T::of(f64::from(v.re)), T::of(f64::from(v.im)));
                }
            }
            (Self::F64(v), false) => {
                for (to, v) in to.iter_mut().zip(v) {
                    *to = Complex::new(T::of(v.re), T::of(v.im));
                }
            }
            _ => return Err(EngineError::Precision),
        }
        Ok(())
    }
}

/// Everything that the next step depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineState {
    /// (row, column)
    pub object: Values,
    /// (mode, row, column)
    pub probe: Values,
    /// Bare transforms of the exit waves (frame, mode, row, column), zero frequency at (0, 0): the same
    /// for every back end, so that a run can go on on another one (then not bit for bit).
    pub exit: Values,
}

impl EngineState {
    /// Copies the three arrays.
    #[must_use]
    pub fn from_parts<T: Real>(
        object: &[Complex<T>],
        probe: &[Complex<T>],
        exit: &[Complex<T>],
    ) -> Self {
        Self {
            object: Values::of(object),
            probe: Values::of(probe),
            exit: Values::of(exit),
        }
    }

    /// Copies into the three arrays.
    ///
    /// # Errors
    /// Another length or precision.
    pub fn copy_to<T: Real>(
        &self,
        object: &mut [Complex<T>],
        probe: &mut [Complex<T>],
        exit: &mut [Complex<T>],
    ) -> Result<(), EngineError> {
        self.object.copy_to("object", object)?;
        self.probe.copy_to("probe", probe)?;
        self.exit.copy_to("set of exit waves", exit)
    }
}
