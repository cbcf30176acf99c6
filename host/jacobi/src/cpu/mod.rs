//! The relaxation on the CPU: an optimised engine, whose field every GPU must match bit for bit.
//!
//! A pass over the memory does several sweeps. The rows are divided into bands, one per task. A
//! band is processed in tiles of columns, and each tile streams down its rows with one level of
//! rows per sweep, which stay in the cache (`tile.rs`). A tile computes the values that it needs of
//! its neighbours' later levels itself, so tiles are independent.
//!
//! Neither the field nor a norm depends on the number of threads, the bands, the tiles or the
//! sweeps per pass, because the additions of a cell, of a row's change (`change.rs`) and over the
//! rows have a fixed order.

mod change;
mod engine;
mod padded;
mod pass;
mod relax;
#[cfg(test)]
mod tests;
mod tile;

pub use engine::CpuEngine;
