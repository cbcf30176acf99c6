//! Ranks: threads of a process or processes of MPI that compute one result together and exchange
//! data.
//!
//! A [`Communicator`] is the view of one rank on all of them, with the collective operations
//! all-gather, gather and broadcast of MPI. [`threads`] makes the communicators of threads. With
//! the feature `mpi`, `mpi::Processes` is that of a process which `mpirun` or `srun` has started.
//! Code over `&dyn Communicator` runs with both, so its tests need no MPI.
//!
//! Every operation is collective and waits for all ranks: all of them call the same operations in
//! the same order. If one calls another operation, has ended or has failed, the others get an
//! error instead of waiting forever.
//!
//! ```
//! use warpstride_ranks::{Communicator, all_gather_values, threads};
//!
//! let ranks = threads(3).into_iter().map(|communicator| {
//!     std::thread::spawn(move || {
//!         let squares = [communicator.rank() * communicator.rank()];
//!         all_gather_values(&communicator, &squares)
//!     })
//! });
//! for rank in ranks.collect::<Vec<_>>() {
//!     assert_eq!(rank.join().unwrap()?, [[0], [1], [4]]);
//! }
//! # Ok::<(), warpstride_ranks::RankError>(())
//! ```

mod communicator;
mod error;
#[cfg(feature = "mpi")]
pub mod mpi;
mod operation;
mod threads;
mod values;

pub use communicator::Communicator;
pub use error::RankError;
pub use threads::{Threads, threads};
pub use values::{all_gather_values, broadcast_values, gather_values};
