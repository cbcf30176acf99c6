//! Formatting of numbers and tables as text.

mod numbers;
mod table;

#[cfg(feature = "plots")]
pub(crate) use numbers::round_below;
pub use numbers::{length, significant};
pub use table::Table;
