//! The error of drawing a report.

/// The curves of a report could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the curves could not be drawn: {0}")]
pub struct ReportError(
    /// The reason, from the library that draws.
    pub String,
);
