//! Where and how an engine computes.

use serde::Serialize;

/// Where and how an engine computes: part of every summary, result and report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Setup {
    /// `cpu`, `cuda` or `emulator`.
    pub backend: &'static str,
    /// The name of the device; of several devices their names, separated by commas.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: &'static str,
}
