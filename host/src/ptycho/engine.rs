//! What both back ends do: one step at a time, figures fetched late, state given and taken.

use super::{ModelErrors, Step, StepErrors};
use crate::fft::Real;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::any::Any;

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
    /// Takes `values` without a copy.
    fn taking<T: Real>(mut values: Vec<Complex<T>>) -> Self {
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

    /// The values in the precision `T`, where there are `expected` of them.
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
    /// Bare transforms of the exit waves (frame, mode, row, column), zero frequency at (0, 0): the same
    /// for every back end, so that a run can go on on another one (then not bit for bit).
    pub exit: Values,
}

impl EngineState {
    /// Takes the three arrays.
    #[must_use]
    pub fn from_parts<T: Real>(
        object: Vec<Complex<T>>,
        probe: Vec<Complex<T>>,
        exit: Vec<Complex<T>>,
    ) -> Self {
        Self {
            object: Values::taking(object),
            probe: Values::taking(probe),
            exit: Values::taking(exit),
        }
    }

    /// Object, probe and exit waves, which have `lengths` values.
    ///
    /// # Errors
    /// Another length or precision.
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
    fn a_state_gives_back_what_it_took_in_its_precision_only() {
        let line = |n: usize| -> Vec<Complex<f32>> {
            (0..n).map(|i| Complex::new(i as f32, -0.5)).collect()
        };
        let exit = line(7);
        let place = exit.as_ptr();
        let state = EngineState::from_parts(line(3), line(2), exit);
        let [object, probe, exit] = state.parts::<f32>([3, 2, 7]).unwrap();
        assert_eq!((object, probe), (&line(3)[..], &line(2)[..]));
        // The exit waves are most of a run's memory: they must not be there twice.
        assert_eq!(exit.as_ptr(), place);
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
