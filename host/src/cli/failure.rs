//! How a command ends when it does not end well.

/// One sentence and, by its kind, an exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input, or something that did not work: 1.
    Failed(String),
    /// Typed wrongly: 2.
    Usage(String),
    /// Ended by Ctrl-C, everything saved: 130.
    Interrupted(String),
}

impl Failure {
    /// Typed wrongly.
    pub(crate) fn usage(reason: impl std::fmt::Display) -> Self {
        Self::Usage(reason.to_string())
    }

    /// Did not work.
    pub(crate) fn failed(reason: impl std::fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }
}

/// The library's errors name file, dataset, found and expected themselves.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}
