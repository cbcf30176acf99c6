//! Formatting of numbers and tables as text, and errors of TOML texts.

mod count;
mod decimal_comma;
mod numbers;
mod quantity;
mod shell;
mod table;
#[cfg(feature = "toml")]
mod toml_error;
mod visible;

pub use count::count;
pub use count::ranges;
pub use decimal_comma::{has_decimal_commas, is_decimal};
pub use numbers::{length, shortest, significant};
pub use numbers::{round_below, trimmed};
pub use quantity::{Dimension, Quantity};
pub use shell::shell_quoted;
pub use table::Table;
#[cfg(feature = "toml")]
pub use toml_error::TomlError;
pub use visible::{is_invisible, shortened, visible};
