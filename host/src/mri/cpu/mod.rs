//! On the CPU: rayon and rustfft, single or double precision. The reference of [`super::cuda`].
//!
//! Sums run in an order that does not depend on the number of threads.

mod conjugate_gradients;
pub mod direct;
mod engine;
mod lines;
mod sense;
mod toeplitz;
mod vectors;

pub use conjugate_gradients::ConjugateGradients;
pub use direct::Direct;
pub use engine::CpuEngine;
pub use sense::{Gram, Sense, intensity, intensity_corrected};
pub use toeplitz::Toeplitz;
pub use vectors::{largest_modulus, norm_squared, real_product};
