//! Aggregation on the CPU: the reference, and the fast path where there is no GPU.
//!
//! Series are cut into pieces of equal numbers of points, which threads take (`heads` finds the buckets that begin
//! in a piece, `reduce` fills their rows of the columns). Short buckets are reduced eight at a time, one in each
//! lane of vector registers; long ones by the chunks of [`warpstride_kernels::series::sums`]. No result depends on
//! the number of threads.

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
