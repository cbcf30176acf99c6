//! Errors that end a command.

/// Exit code for bad input or a failure.
pub(super) const FAILED: u8 = 1;
/// Exit code for wrong usage, as clap and most programs use.
pub(super) const WRONG_USAGE: u8 = 2;
/// Exit code after Ctrl-C: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// An error message of one sentence; its kind determines the exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input or a failure: exit code 1.
    Failed(String),
    /// Wrong usage: exit code 2.
    Usage(String),
    /// Stopped by Ctrl-C after saving: exit code 130.
    Interrupted(String),
    /// A failure of one of the processes that compute together, of which the others do not know:
    /// exit code 1.
    #[cfg(all(feature = "ptycho", feature = "hdf5"))]
    OfRank(String),
}

impl Failure {
    /// An error of usage.
    pub(crate) fn usage(reason: impl std::fmt::Display) -> Self {
        Self::Usage(reason.to_string())
    }

    /// A failure.
    pub(crate) fn failed(reason: impl std::fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }

    /// The exit code of the program that it ends.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => WRONG_USAGE,
            Self::Interrupted(_) => INTERRUPTED,
            _ => FAILED,
        }
    }
}

/// The library's errors already name file, dataset, found and expected values.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(text) | Self::Usage(text) | Self::Interrupted(text) => f.write_str(text),
            #[cfg(all(feature = "ptycho", feature = "hdf5"))]
            Self::OfRank(text) => f.write_str(text),
        }
    }
}
