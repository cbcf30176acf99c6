//! The CPU half: the field that every GPU must match bit for bit, and fast itself.
//!
//! A pass over the memory does several sweeps. The rows are shared in bands, one task each; a band
//! is done in tiles of columns, and each tile streams down its rows with one level of rows per
//! sweep, which stay in the cache (`tile.rs`). What a tile needs of its neighbours' later levels it
//! computes itself, so that tiles know nothing of each other.
//!
//! Neither the field nor a norm depends on the number of threads, the bands, the tiles or the sweeps
//! per pass: a cell's additions have one order, and so have those of a row's change (`change.rs`)
//! and of the rows.

mod change;
mod engine;
mod padded;
mod pass;
mod relax;
#[cfg(test)]
mod tests;
mod tile;

pub use engine::CpuEngine;
