//! What all sciences share: where a computation runs ([`BackendRequest`], [`Setup`]), whether it fits
//! ([`MemoryEstimate`]), and the loop around it with progress, Ctrl-C and checkpoints ([`Run`]).

mod backend;
mod interrupt;
mod memory_estimate;
mod progress;
#[expect(
    clippy::module_inception,
    reason = "the file is named by what it holds, a run"
)]
mod run;
mod setup;

pub use backend::{
    Backend, BackendKind, BackendName, BackendRequest, Made, OpenError, RequestError, fallback_note,
};
pub use interrupt::Interrupt;
pub use memory_estimate::{MemoryEstimate, OutOfMemory};
#[cfg(feature = "cli")]
pub use progress::Bar;
pub use progress::{JsonLines, Observer, Silent};
pub use run::{End, Run, Schedule, Steps};
pub use setup::Setup;
