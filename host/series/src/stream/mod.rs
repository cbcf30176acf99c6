//! Aggregation of points that arrive in blocks and may exceed memory.
//!
//! ```text
//! blocks → Gather ─┬─ all in memory: one batch ─────────────────────────────────┐
//!                  └─ runs in a temporary file → portions of series and of time ─┴→ engine → Sink
//! ```
//!
//! A run contains the points that memory held at one time: grouped by series, each series sorted by
//! time, and points of equal time in the order of the input. Any series and time range can
//! therefore be merged from all runs, with the same result as a stable sort of the whole input.
//! Portions are chosen such that points, engine and results fit in memory. A series that does not
//! fit is split in time: every bucket is computed from all of its points, and rates use the
//! preceding point. The results have the same bits in the same order as in memory.

mod batch_memory;
mod error;
mod gather;
mod pending_columns;
mod portion;
mod resample;
mod run_file;
mod sink;
mod window;

pub use error::StreamError;
pub use gather::{Gather, Gathered, Limits};
pub use resample::Tally;
pub use sink::{Rows, Sink};

#[cfg(test)]
mod tests;
