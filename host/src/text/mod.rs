//! Formatting of numbers and tables as text, and errors of TOML texts.

mod count;
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
