//! Options of the GPU back ends.

use serde::{Deserialize, Serialize};

/// How the GPU sums over overlapping windows in object and probe updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Updates {
    /// By tiles of the result; bit for bit reproducible.
    Tiled,
    /// By atomic additions; not bit for bit reproducible.
    Atomic,
    /// The version estimated to be faster at the run's sizes; not bit for bit reproducible
    /// if that is the atomic one.
    Fastest,
}

/// How the GPU computes the iterations of projection engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuStep {
    /// Fused into one kernel or three, if available for the sizes and options of the run.
    Auto,
    /// By separate kernels and transforms.
    Unfused,
}

/// How the GPU stores the exit waves of a fused step. All arithmetic is in single precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuWaves {
    /// In single precision, 8 bytes a value.
    F32,
    /// Rounded to bf16, the upper half of single precision, 4 bytes a value: real and imaginary
    /// part each have a relative error of at most 2⁻⁸, and the range of single precision.
    Bf16,
}

/// Options of the GPU back ends (`cuda`, `emulator`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GpuOptions {
    /// How sums over overlapping windows are computed. A fused step adds to the object in its own
    /// way, which always gives the same bits.
    pub updates: Updates,
    /// How projections are computed.
    pub step: GpuStep,
    /// How the exit waves are stored between the iterations of a fused step; without effect on
    /// other steps.
    pub waves: GpuWaves,
}

impl Default for GpuOptions {
    fn default() -> Self {
        Self {
            updates: Updates::Tiled,
            step: GpuStep::Auto,
            waves: GpuWaves::F32,
        }
    }
}
