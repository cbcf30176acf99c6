//! Services of the operating system that all modules use: available memory, the processor's name,
//! atomic and temporary files, and caught panics.

pub mod atomic_file;
mod catch_panic;
mod memory;
mod processor;
mod scratch_file;
pub mod temporary_file;
mod write_whole;

pub use atomic_file::WriteError;
pub use catch_panic::catch_panic;
pub use memory::can_allocate;
pub use memory::{Bytes, Memory};
pub use processor::processor;
pub use scratch_file::ScratchError;
pub use scratch_file::ScratchFile;
pub use write_whole::write_whole;
