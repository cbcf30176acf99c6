//! The engine interface of all back ends: single steps, metrics read back asynchronously, and
//! state that can be saved and restored.

use super::{ModelErrors, Step, StepErrors};
use crate::fft::Real;
use crate::run::Setup;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::any::Any;

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
    /// The saved state has another precision.
    #[error("the saved state: expected the precision of this run, found another")]
    Precision,
}

/// A projection engine: its state and a single step. [`super::Reconstructor`] runs the loop.
pub trait Engine {
    /// Where and how it computes.
    fn setup(&self) -> Setup;

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

    /// The object (row, column).
    ///
    /// # Errors
    /// Returns the device's error.
    fn object(&mut self) -> Result<Array2<Complex<f64>>, EngineError>;

    /// The probe (mode, row, column), √photons.
    ///
    /// # Errors
    /// Returns the device's error.
    fn probe(&mut self) -> Result<Array3<Complex<f64>>, EngineError>;

    /// Saves everything that the next step depends on.
    ///
    /// # Errors
    /// Returns the device's error.
    fn save(&mut self) -> Result<EngineState, EngineError>;

    /// Restores a saved state.
    ///
    /// # Errors
    /// Returns an error if the shape or the precision differs, or the device's error.
    fn restore(&mut self, state: &EngineState) -> Result<(), EngineError>;
}

/// Complex values in the precision of the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Single precision.
    F32(Vec<Complex<f32>>),
    /// Double precision.
    F64(Vec<Complex<f64>>),
}

impl Values {
    /// Wraps `values` without copying them.
    fn from_vec<T: Real>(mut values: Vec<Complex<T>>) -> Self {
        let any: &mut dyn Any = &mut values;
        if let Some(single) = any.downcast_mut::<Vec<Complex<f32>>>() {
            return Self::F32(std::mem::take(single));
        }
        if let Some(double) = any.downcast_mut::<Vec<Complex<f64>>>() {
            return Self::F64(std::mem::take(double));
        }
        let wide = |v: &Complex<T>| Complex::new(v.re.wide(), v.im.wide());
        Self::F64(values.iter().map(wide).collect())
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values in precision `T`; fails unless there are `expected` of them.
    fn as_slice<T: Real>(
        &self,
        what: &'static str,
        expected: usize,
    ) -> Result<&[Complex<T>], EngineError> {
        if self.len() != expected {
            return Err(EngineError::State {
                what,
                found: self.len(),
                expected,
            });
        }
        let values = match (self, size_of::<T>() == size_of::<f32>()) {
            (Self::F32(v), true) => bytemuck::try_cast_slice(v),
            (Self::F64(v), false) => bytemuck::try_cast_slice(v),
            _ => return Err(EngineError::Precision),
        };
        values.map_err(|_| EngineError::Precision)
    }
}

/// Everything that the next step depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineState {
    /// (row, column)
    pub object: Values,
    /// (mode, row, column)
    pub probe: Values,
    /// Unnormalised transforms of the exit waves (frame, mode, row, column), zero frequency at (0,
    /// 0). The layout is the same for all back ends, so a run can resume on another back end
    /// (though not bit for bit).
    pub exit: Values,
}

impl EngineState {
    /// Wraps the three arrays without copying them.
    #[must_use]
    pub fn from_parts<T: Real>(
        object: Vec<Complex<T>>,
        probe: Vec<Complex<T>>,
        exit: Vec<Complex<T>>,
    ) -> Self {
        Self {
            object: Values::from_vec(object),
            probe: Values::from_vec(probe),
            exit: Values::from_vec(exit),
        }
    }

    /// Object, probe and exit waves, which must have `lengths` values.
    ///
    /// # Errors
    /// Returns an error if a length or the precision differs.
    pub fn parts<T: Real>(&self, lengths: [usize; 3]) -> Result<[&[Complex<T>]; 3], EngineError> {
        Ok([
            self.object.as_slice("object", lengths[0])?,
            self.probe.as_slice("probe", lengths[1])?,
            self.exit.as_slice("set of exit waves", lengths[2])?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_returns_its_arrays_uncopied_and_only_in_their_precision() {
        let line = |n: usize| -> Vec<Complex<f32>> {
            (0..n).map(|i| Complex::new(i as f32, -0.5)).collect()
        };
        let exit = line(7);
        let address = exit.as_ptr();
        let state = EngineState::from_parts(line(3), line(2), exit);
        let [object, probe, exit] = state.parts::<f32>([3, 2, 7]).unwrap();
        assert_eq!((object, probe), (&line(3)[..], &line(2)[..]));
        // The exit waves take most of a run's memory and must not be copied.
        assert_eq!(exit.as_ptr(), address);
        assert!(matches!(
            state.parts::<f64>([3, 2, 7]),
            Err(EngineError::Precision)
        ));
        assert!(matches!(
            state.parts::<f32>([3, 2, 8]),
            Err(EngineError::State {
                found: 7,
                expected: 8,
                ..
            })
        ));
        let double = vec![Complex::new(0.1, 0.2); 4];
        let state = EngineState::from_parts(double.clone(), double.clone(), double.clone());
        assert_eq!(state.exit, Values::F64(double));
    }
}
