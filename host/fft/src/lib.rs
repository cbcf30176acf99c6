//! Fourier transforms on the CPU: rustfft's in single and double precision, compiled once, and
//! unitary transforms of planes and pruned ones of grids that are made of them.
//!
//! rustfft is generic over the precision, so every crate that plans transforms compiles all of its
//! algorithms again. The planner here has the interface of rustfft's, and its algorithms are
//! compiled in this crate alone.

mod planes;
mod planner;
mod pruned;

pub use planes::{Fft2, FftScratch, Real, TransposedFft2};
pub use planner::{FftPlanner, Precision, transpose};
pub use pruned::{PrunedFft, Sign};
pub use rustfft::{Fft, FftNum, num_complex};
