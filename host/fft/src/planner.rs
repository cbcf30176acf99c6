//! Plans of transforms, and transpositions, compiled in this crate alone.

use std::fmt;
use std::sync::Arc;

use rustfft::FftDirection;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftNum};

/// A precision with compiled transforms: `f32` or `f64`.
pub trait Precision: FftNum {
    /// Makes rustfft's planner, which chooses the CPU's vector instructions.
    #[doc(hidden)]
    fn planner() -> Box<dyn Plan<Self>>;

    /// [`transpose()`].
    #[doc(hidden)]
    fn transpose(from: &[Complex<Self>], to: &mut [Complex<Self>], width: usize, height: usize);
}

/// What a planner does.
#[doc(hidden)]
pub trait Plan<T>: Send {
    fn plan(&mut self, length: usize, direction: FftDirection) -> Arc<dyn Fft<T>>;
}

macro_rules! precision {
    ($real:ty) => {
        impl Plan<$real> for rustfft::FftPlanner<$real> {
            fn plan(&mut self, length: usize, direction: FftDirection) -> Arc<dyn Fft<$real>> {
                self.plan_fft(length, direction)
            }
        }

        impl Precision for $real {
            fn planner() -> Box<dyn Plan<Self>> {
                Box::new(rustfft::FftPlanner::<$real>::new())
            }

            fn transpose(
                from: &[Complex<Self>],
                to: &mut [Complex<Self>],
                width: usize,
                height: usize,
            ) {
                transpose::transpose(from, to, width, height);
            }
        }
    };
}

precision!(f32);
precision!(f64);

/// Writes the array `from` of `height` rows and `width` columns to `to`, (column, row). Compiled in
/// this crate, as transforms are.
///
/// # Panics
/// If the length of an array is not `width` · `height`.
pub fn transpose<T: Precision>(
    from: &[Complex<T>],
    to: &mut [Complex<T>],
    width: usize,
    height: usize,
) {
    T::transpose(from, to, width, height);
}

/// Plans transforms of any length. Plans of one planner share their tables.
pub struct FftPlanner<T: Precision>(Box<dyn Plan<T>>);

impl<T: Precision> Default for FftPlanner<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Precision> fmt::Debug for FftPlanner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FftPlanner").finish_non_exhaustive()
    }
}

impl<T: Precision> FftPlanner<T> {
    /// Makes a planner.
    #[must_use]
    pub fn new() -> Self {
        Self(T::planner())
    }

    /// Plans Σ a_n exp(−2πi kn/N) for N = `length`, without a scale.
    #[must_use]
    pub fn plan_fft_forward(&mut self, length: usize) -> Arc<dyn Fft<T>> {
        self.0.plan(length, FftDirection::Forward)
    }

    /// Plans Σ a_n exp(+2πi kn/N) for N = `length`, without a scale.
    #[must_use]
    pub fn plan_fft_inverse(&mut self, length: usize) -> Arc<dyn Fft<T>> {
        self.0.plan(length, FftDirection::Inverse)
    }
}
