//! Why ranks cannot exchange data.

use thiserror::Error;

/// Why an operation between ranks, or their start, was not possible.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RankError {
    /// A rank called [`fail`](crate::Communicator::fail), or its thread panicked.
    #[error("rank {rank} failed: {message}")]
    Failed {
        /// The rank that failed.
        rank: usize,
        /// What it said.
        message: String,
    },
    /// A rank dropped its communicator although another one still waits for its data.
    #[error("rank {rank} has ended before the others")]
    Ended {
        /// The rank that has ended.
        rank: usize,
    },
    /// Two ranks called different operations.
    #[error(
        "rank {rank} called {called}, rank {other} called {expected}: \
         expected the same operations in the same order"
    )]
    Order {
        /// One of the two ranks.
        rank: usize,
        /// What it called.
        called: &'static str,
        /// The other rank.
        other: usize,
        /// What the other rank called.
        expected: &'static str,
    },
    /// The bytes of a rank are no whole number of values.
    #[error("rank {rank} sent {bytes} bytes: expected values of {size} bytes each")]
    Length {
        /// The rank that sent them.
        rank: usize,
        /// Their number.
        bytes: usize,
        /// Bytes of a value.
        size: usize,
    },
    /// MPI can be started once in the life of a process.
    #[error("MPI was started before in this process: it can be started only once")]
    StartedBefore,
    /// The installed MPI does not allow calls from any but the first thread.
    #[error("MPI provides the thread level {provided}: expected MPI_THREAD_SERIALIZED or higher")]
    ThreadLevel {
        /// The name of the highest thread level that MPI provides.
        provided: &'static str,
    },
}
