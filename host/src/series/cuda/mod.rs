//! The GPU's half: series to buckets and their aggregates on any [`Machine`](crate::gpu::Machine).
//!
//! In the order in which a batch meets them: `coded.rs` (timestamps on their way), `sort.rs` and `duplicates.rs` (points
//! in the order of time), `rates.rs` (differences), `heads.rs` (where buckets begin), `reduce.rs` (methods of one
//! pass), `order.rs` (order statistics). No stage waits for the host: how many buckets there are is read on the
//! device, and buffers have room for as many as there can be.

mod chunks;
mod prepare;
mod resident;

pub use resident::{Columns, Heads, Points, Room};
