//! The CPU half: the reference that the GPU is tested against, and fast itself.
//!
//! Every sum runs in an order that does not depend on the number of threads, so that the same
//! input gives the same bits on any machine with the same arithmetic.

mod centring;
mod constraints;
mod engine;
mod fourier_projection;
mod object_update;
mod probe_update;

pub(crate) use centring::centring_shift;
pub(crate) use constraints::{disc, disc_at_origin};
pub use engine::CpuEngine;
