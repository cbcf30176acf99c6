//! Aggregation on the CPU: the reference, and the fast path without a GPU.
//!
//! The points are split into pieces of equal size, which threads process (`heads` finds the buckets
//! that begin in a piece, `reduce` fills their rows of the columns). Short buckets are reduced
//! eight at a time, one in each lane of the vector registers; long ones by the chunks of
//! [`warpstride_kernels::series::sums`]. No result depends on the number of threads.

mod block;
mod engine;
mod heads;
mod keys;
mod long;
mod memory;
mod network;
mod order;
mod prepare;
mod rates;
mod reduce;
mod select;
mod statistics;

pub use engine::CpuEngine;

#[cfg(test)]
mod tests;
