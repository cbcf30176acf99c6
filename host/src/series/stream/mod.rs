//! Points that come block by block and may be more than memory holds.
//!
//! ```text
//! blocks → Gather ─┬─ all in memory: one batch ─────────────────────────────────┐
//!                  └─ runs in a temporary file → portions of series and of time ─┴→ engine → Sink
//! ```
//!
//! A run is what memory held at a time: its points by series, within a series by time, and points of one time in the
//! order of the input. So any series and any stretch of time can be taken out of all runs, and are what a stable sort
//! of the whole input has there. Portions are cut so that points, engine and results fit. A series that does not fit is
//! cut in time: every bucket is computed from all of its points, and rates see the last point before them. Results
//! are the same bits in the same order as in memory.

mod error;
mod gather;
mod need;
mod portion;
mod resample;
mod run_file;
mod waiting;
mod window;

pub use error::StreamError;
pub use gather::{Gather, Gathered, Limits};
pub use resample::{Rows, Sink, Tally};

#[cfg(test)]
mod tests;
