//! Errors that stop a launch in the emulator.

use std::fmt;

use crate::launch::ExtentError;

/// The reason why the emulator stopped a launch. The same launch always gives the same error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmulatorError {
    /// The device would refuse the launch.
    Refused {
        /// Entry name.
        kernel: &'static str,
        /// What the launch asked for, and what is possible.
        reason: String,
    },
    /// An argument is too short.
    Extent(ExtentError),
    /// Threads of a block wait for each other at different positions, or for a thread that has ended.
    Divergence {
        /// Entry name.
        kernel: &'static str,
        /// Block (x, y, z); the first one of the cluster.
        block: [u32; 3],
        /// Blocks of the cluster.
        cluster: u32,
        /// Where the threads wait: the lowest thread of each group, the number of threads, and the position.
        groups: Vec<String>,
    },
    /// A block wrote to the shared memory of another block of its cluster that had ended.
    WrittenLate {
        /// Entry name.
        kernel: &'static str,
        /// The block that had ended (x, y, z).
        block: [u32; 3],
    },
    /// The kernel panicked.
    Panic {
        /// Entry name.
        kernel: &'static str,
        /// Block (x, y, z).
        block: [u32; 3],
        /// Thread (x, y, z).
        thread: [u32; 3],
        /// The panic's message.
        message: String,
    },
    /// No memory is left for the stack of a thread.
    Stack {
        /// Entry name.
        kernel: &'static str,
        /// The operating system's reason.
        reason: String,
    },
}

impl From<ExtentError> for EmulatorError {
    fn from(error: ExtentError) -> Self {
        Self::Extent(error)
    }
}

impl fmt::Display for EmulatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { kernel, reason } => write!(f, "kernel {kernel}: {reason}"),
            Self::Extent(error) => error.fmt(f),
            Self::Divergence {
                kernel,
                block: [x, y, z],
                cluster,
                groups,
            } => {
                let cluster = match cluster {
                    1 => String::new(),
                    blocks => format!("cluster of {blocks} from "),
                };
                write!(
                    f,
                    "kernel {kernel}, {cluster}block ({x}, {y}, {z}): its threads disagree on a barrier: {}",
                    groups.join("; ")
                )
            }
            Self::WrittenLate {
                kernel,
                block: [x, y, z],
            } => write!(
                f,
                "kernel {kernel}, block ({x}, {y}, {z}): another block of its cluster wrote to its shared memory \
                 after it had ended: expected a cluster::sync before the end"
            ),
            Self::Panic {
                kernel,
                block: [x, y, z],
                thread: [i, j, k],
                message,
            } => write!(
                f,
                "kernel {kernel}, block ({x}, {y}, {z}), thread ({i}, {j}, {k}) panicked: {message}"
            ),
            Self::Stack { kernel, reason } => {
                write!(
                    f,
                    "kernel {kernel}: no memory for the stack of a thread: {reason}"
                )
            }
        }
    }
}

impl std::error::Error for EmulatorError {}
