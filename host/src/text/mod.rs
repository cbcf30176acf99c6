//! Formatting of numbers and tables as text, and errors of TOML texts.

mod count;
#[cfg(any(feature = "ptycho", feature = "sas"))]
mod decimal_comma;
mod numbers;
#[cfg(feature = "ptycho")]
mod quantity;
mod shell;
mod table;
#[cfg(any(feature = "ptycho", feature = "series"))]
mod toml_error;
mod visible;

pub use count::count;
#[cfg(feature = "ptycho")]
pub use count::ranges;
#[cfg(any(feature = "ptycho", feature = "sas"))]
pub(crate) use decimal_comma::{has_decimal_commas, is_decimal};
pub use numbers::{length, shortest, significant};
#[cfg(feature = "plots")]
pub(crate) use numbers::{round_below, trimmed};
#[cfg(feature = "ptycho")]
pub use quantity::{Dimension, Quantity};
pub use shell::shell_quoted;
pub use table::Table;
#[cfg(any(feature = "ptycho", feature = "series"))]
pub(crate) use toml_error::TomlError;
pub use visible::{is_invisible, shortened, visible};
