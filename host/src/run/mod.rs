//! The loop around every long computation: progress, Ctrl-C, checkpoints.

mod executor;
mod interrupt;
mod progress;

pub use executor::{End, Iterate, Schedule, execute};
pub use interrupt::Interrupt;
pub use progress::{Bar, JsonLines, Observer, Silent};
