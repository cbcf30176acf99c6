//! On the CPU: rayon and rustfft, single or double precision. The reference of [`super::cuda`].

pub mod density;
mod nufft;

pub use nufft::Nufft;
