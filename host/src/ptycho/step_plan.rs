//! How a GPU computes the iterations of projection engines.

use super::GpuStep;
use std::fmt;

/// How a GPU computes the iterations of `dm`, `raar` and `ap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepPlan {
    /// One kernel for the whole step of a frame of `side` × `side` pixels; the frame is kept in shared memory beside its
    /// transform if it fits.
    Fused {
        /// Rows and columns of a frame.
        side: usize,
        /// Whether a block keeps the frame in shared memory.
        keeps: bool,
    },
    /// Separate kernels and transforms.
    Separate(Separate),
}

/// Why steps are not fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separate {
    /// `gpu.step = "unfused"`.
    Asked,
    /// Number of probe modes.
    Modes(usize),
    /// Rows and columns of a frame.
    Frame([usize; 2]),
    /// Bytes of shared memory that a block can have.
    SharedMemory(usize),
    /// Frames are at their exact positions.
    Subpixel,
}

/// Bytes of shared memory that a block has besides: for sums over the block, and for roots of unity (`pie_pass`).
const SUMS: usize = 2048;

/// Shared memory of a block with compute capability 9.0 (CUDA programming guide), bytes.
const SHARED_MEMORY: usize = 227 << 10;

/// Rows and columns of the frames that a block holds in its registers.
const FRAMES: [usize; 2] = [64, 128];

/// Bytes of the exchange of the transform of such a frame.
fn exchange(side: usize) -> usize {
    side * (side + side / 32) * 4
}

/// Whether a block with `shared_memory` bytes can hold such a frame in its registers.
pub(crate) fn holds_frame(side: usize, shared_memory: usize) -> bool {
    FRAMES.contains(&side) && exchange(side) + SUMS <= shared_memory
}

/// Whether it can keep a frame of complex numbers in shared memory besides.
pub(crate) fn keeps_frame(side: usize, shared_memory: usize) -> bool {
    FRAMES.contains(&side) && exchange(side) + side * side * 8 + SUMS <= shared_memory
}

impl StepPlan {
    /// The plan for a scan of `shape` (frames, modes, rows, columns) at whole-pixel positions, where a block can have
    /// `shared_memory` bytes.
    #[must_use]
    pub fn new(step: GpuStep, [_, modes, rows, columns]: [usize; 4], shared_memory: usize) -> Self {
        if step == GpuStep::Unfused {
            return Self::Separate(Separate::Asked);
        }
        if rows != columns || !FRAMES.contains(&rows) {
            return Self::Separate(Separate::Frame([rows, columns]));
        }
        if modes != 1 {
            Self::Separate(Separate::Modes(modes))
        } else if holds_frame(rows, shared_memory) {
            Self::Fused {
                side: rows,
                keeps: keeps_frame(rows, shared_memory),
            }
        } else {
            Self::Separate(Separate::SharedMemory(shared_memory))
        }
    }

    /// The plan on a device of compute capability 9.0, for descriptions without a device.
    #[must_use]
    pub fn on_hopper(step: GpuStep, shape: [usize; 4]) -> Self {
        Self::new(step, shape, SHARED_MEMORY)
    }

    /// The plan of engines at exact positions, from that for whole pixels.
    #[must_use]
    pub fn at_exact_positions(self) -> Self {
        match self {
            Self::Fused { .. } => Self::Separate(Separate::Subpixel),
            Self::Separate(reason) => Self::Separate(reason),
        }
    }

    /// Whether steps are fused.
    #[must_use]
    pub fn is_fused(self) -> bool {
        matches!(self, Self::Fused { .. })
    }
}

impl fmt::Display for StepPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self {
            Self::Fused { side, keeps } => {
                let kept = if *keeps {
                    ""
                } else {
                    ", frames read twice to save shared memory"
                };
                return write!(f, "fused into one kernel, {side} x {side}{kept}");
            }
            Self::Separate(reason) => reason,
        };
        f.write_str("separate kernels and transforms: ")?;
        match reason {
            Separate::Asked => f.write_str("gpu.step is \"unfused\""),
            Separate::Modes(modes) => write!(f, "{modes} probe modes, the fused step is for one"),
            Separate::Frame([rows, columns]) => write!(
                f,
                "frames of {rows} x {columns}, the fused step is for 64 x 64 and 128 x 128"
            ),
            Separate::SharedMemory(bytes) => write!(
                f,
                "a block can have {} KiB of shared memory, too little for the fused step",
                bytes >> 10
            ),
            Separate::Subpixel => {
                f.write_str("exact positions, the fused step is for whole pixels")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_depends_on_shape_and_shared_memory() {
        let on = |side, kib: usize| StepPlan::new(GpuStep::Auto, [9, 1, side, side], kib << 10);
        let fused = |side, keeps| StepPlan::Fused { side, keeps };
        let without = StepPlan::Separate(Separate::SharedMemory(48 << 10));
        // Compute capability 9.0, 8.0, 8.6, and less than any.
        assert_eq!(
            [227, 163, 99, 48].map(|kib| on(128, kib)),
            [
                fused(128, true),
                fused(128, false),
                fused(128, false),
                without
            ]
        );
        assert_eq!(
            [227, 163, 99, 48].map(|kib| on(64, kib)),
            [
                fused(64, true),
                fused(64, true),
                fused(64, true),
                fused(64, false)
            ]
        );
        assert!([32, 65, 256].iter().all(|side| !on(*side, 227).is_fused()));
    }

    #[test]
    fn a_plan_says_why_steps_are_not_fused() {
        let of = |step, shape| StepPlan::on_hopper(step, shape).to_string();
        for (step, shape, expected) in [
            (
                GpuStep::Auto,
                [9, 1, 64, 64],
                "fused into one kernel, 64 x 64",
            ),
            (GpuStep::Auto, [9, 3, 64, 64], "3 probe modes"),
            (GpuStep::Auto, [9, 1, 64, 128], "frames of 64 x 128"),
            (GpuStep::Unfused, [9, 1, 64, 64], "gpu.step is \"unfused\""),
        ] {
            let text = of(step, shape);
            assert!(text.contains(expected), "{text}");
        }
    }
}
