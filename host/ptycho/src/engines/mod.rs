//! The engines: what an iteration does to exit waves, object and probe, on the CPU and on GPUs.
//!
//! [`engine`] is the interface of all, [`name`] and [`spec`] say which there are and what options
//! they have, and [`reconstructor`] runs them in order. [`step`] and [`method`] are one iteration
//! as numbers; [`cpu`] and [`cuda`] compute it. What both share: [`updates`] of projections,
//! [`batches`] of frames and their [`regions`], and the directions and line searches of
//! [`likelihood`]. [`step_plan`], [`stream_plan`] and [`update_version`] choose how a GPU works,
//! and [`ranks`] divides frames among devices and processes.

pub(crate) mod batch_shares;
pub(crate) mod batches;
pub mod cpu;
pub mod cuda;
pub(crate) mod engine;
pub(crate) mod error;
#[cfg(test)]
mod every_engine;
pub(crate) mod interleaved;
#[cfg(test)]
mod layered_engines;
pub(crate) mod likelihood;
pub(crate) mod method;
pub(crate) mod name;
pub(crate) mod probe_slices;
pub(crate) mod ranks;
pub(crate) mod reconstructor;
pub(crate) mod regions;
pub(crate) mod spec;
pub(crate) mod step;
pub(crate) mod step_plan;
pub(crate) mod stream_plan;
#[cfg(test)]
mod streamed_models;
pub(crate) mod update_version;
pub(crate) mod updates;
