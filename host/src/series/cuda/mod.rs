//! The GPU's half: series to buckets and their aggregates on any [`Machine`](crate::gpu::Machine).
//!
//! In the order in which a batch meets them: `prepare.rs` (what the host learns of it), `chunks.rs` (how it is cut),
//! `packed.rs` and `coded.rs` (how a chunk travels), `lane.rs` (a chunk on one queue of the device, whose steps back are in
//! `lane/back.rs`): `sort.rs` and
//! `duplicates.rs` (points in the order of time), `rates.rs` (differences), `buckets.rs` (where they begin, and methods
//! of one pass), `order.rs` (order statistics); `results.rs` (the way back), `engine.rs` (all chunks over all queues).
//!
//! Until buckets are found no stage waits for the host: buffers have room for as many as there can be, and how many
//! there are is read on the device. That number travels back then, with what is known of the longest bucket's length:
//! which decides whether there is more to do for long ones, what kernels order statistics need, and how much of the
//! results travels.

mod buckets;
mod chunks;
mod coded;
mod duplicates;
mod engine;
mod keep;
mod lane;
mod order;
mod packed;
mod prepare;
mod rates;
mod resident;
mod results;
mod sort;
mod stages;
mod times;
mod wanted;

pub use engine::{Fetched, GpuEngine, Staged, needs};
pub use resident::{Columns, Heads, Points, Room};
pub use results::TableResult;
pub use times::StageTime;
pub(crate) use times::median;
