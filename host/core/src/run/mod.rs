//! What all sciences share: where a computation runs ([`BackendRequest`], [`Setup`]), whether it
//! fits ([`MemoryEstimate`]), the loop around it with progress, Ctrl-C and checkpoints ([`Run`]),
//! what its summary says ([`RunRecord`]), and the file of its devices' profile ([`timeline()`]).

mod backend;
mod interrupt;
mod memory_estimate;
mod progress;
#[expect(
    clippy::module_inception,
    reason = "the file is named by what it holds, a run"
)]
mod run;
mod run_record;
mod setup;
mod timeline;

pub use backend::{
    Backend, BackendKind, BackendName, BackendRequest, EngineChoice, OpenError, RequestError,
};
pub use interrupt::Interrupt;
#[cfg(feature = "terminal")]
pub use interrupt::NothingToSave;
pub use memory_estimate::{MemoryEstimate, MemoryInfo, MemoryRequestError, OutOfMemory};
#[cfg(feature = "terminal")]
pub use progress::Bar;
pub use progress::{JsonLines, Observer, Silent};
pub use run::{End, Run, Schedule, Steps};
pub use run_record::RunRecord;
pub use setup::Setup;
pub use timeline::timeline;
