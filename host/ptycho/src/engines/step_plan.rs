//! How a GPU computes the iterations of projection engines.

use crate::{GpuStep, GpuWaves};
use std::fmt;
use warpstride_kernels::ptycho::column_tiles;
use warpstride_kernels::ptycho::pie_cluster_exact;
use warpstride_kernels::ptycho::rows_project::most_modes;

/// How a GPU computes the iterations of `dm`, `raar` and `ap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepPlan {
    /// One kernel for the whole step of a frame of `side` × `side` pixels; the probe is kept in
    /// shared memory beside its transform if it fits.
    Fused {
        /// Rows and columns of a frame.
        side: usize,
        /// Whether a block keeps the probe in shared memory.
        keeps: bool,
        /// How the exit waves are stored.
        waves: GpuWaves,
    },
    /// Three kernels, which transform groups of frames along columns and rows.
    Passes {
        /// How the exit waves are stored.
        waves: GpuWaves,
    },
    /// Separate kernels and transforms.
    Separate(Separate),
}

/// Why steps are not fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separate {
    /// `gpu.step = "unfused"`.
    Asked,
    /// Number of probe modes, and the largest one that is possible.
    Modes([usize; 2]),
    /// Rows and columns of a frame.
    Frame([usize; 2]),
    /// Bytes of shared memory that a block can have.
    SharedMemory(usize),
    /// Frames are at their exact positions.
    Subpixel,
    /// Frames are near fields.
    NearField,
    /// There are several object modes or points of an exposure.
    ExitWaves,
    /// The detector blurs or has a background.
    Detector,
}

/// Bytes of shared memory that a block has besides: for sums over the block, for roots of unity
/// (`pie_pass`), and for a phase ramp (`exact_frame`).
const SUMS: usize = 4096;

/// Shared memory of a block with compute capability 9.0 (CUDA programming guide), bytes.
const SHARED_MEMORY: usize = 227 << 10;

/// Rows and columns of the frames that a block holds in its registers.
const FRAMES: [usize; 2] = [64, 128];

/// Rows and columns of frames whose steps take passes over rows and columns.
const LENGTHS: [usize; 4] = [64, 128, 256, 512];

/// Bytes of the waves that such steps process together. Measured on an H200, 1457 frames of 256²
/// (764 MB), ms a step: 2.72 with 16 MiB, 2.39 with 64, 2.25 with 128, 2.05 with all.
const GROUP: usize = 512 << 20;

/// Frames that such steps process together, equally many in every group, of `elements` complex
/// numbers each.
pub(crate) fn group_of(frames: usize, elements: usize) -> usize {
    let most = GROUP / elements.max(1).saturating_mul(8);
    let groups = frames.div_ceil(most.max(1)).max(1);
    frames.div_ceil(groups).max(1)
}

/// Slices of the frames whose parts of a gradient on the probe are added up before the others: as
/// many as an H200 has multiprocessors.
const SLICES: u32 = 132;

/// Such slices of `frames` frames.
pub(crate) fn slices_of(frames: u32) -> u32 {
    SLICES.min(frames)
}

/// Bytes of the exchange of the transform of a frame that a block holds.
fn exchange(side: usize) -> usize {
    side * (side + side / 32) * 4
}

/// Bytes of shared memory that a block of a step in passes over frames of `rows` rows needs, with
/// 128 for sums over the block.
pub(crate) fn passes_memory(rows: usize) -> usize {
    column_tiles::shared_memory(rows) + 128
}

/// Whether a block with `shared_memory` bytes can hold such a frame in its registers.
pub(crate) fn holds_frame(side: usize, shared_memory: usize) -> bool {
    FRAMES.contains(&side) && exchange(side) + SUMS <= shared_memory
}

/// Whether it can hold such a frame and keep the sum of its modes' intensities in shared memory
/// besides.
pub(crate) fn holds_modes(side: usize, shared_memory: usize) -> bool {
    holds_frame(side, shared_memory) && exchange(side) + side * side * 4 + SUMS <= shared_memory
}

/// Whether it can keep a frame of complex numbers in shared memory besides.
pub(crate) fn keeps_frame(side: usize, shared_memory: usize) -> bool {
    FRAMES.contains(&side) && exchange(side) + side * side * 8 + SUMS <= shared_memory
}

/// Whether a cluster of blocks of compute capability `arch`/10 can hold such a frame in the
/// registers of several multiprocessors.
pub(crate) fn spreads_frame(side: usize, arch: u32, shared_memory: usize) -> bool {
    side == 128 && arch >= 90 && 4 * pie_cluster_exact::WORDS <= shared_memory
}

impl StepPlan {
    /// The plan for a scan of `shape` (frames, modes, rows, columns) at whole-pixel positions,
    /// where a block can have `shared_memory` bytes; with exit waves in single precision.
    #[must_use]
    pub fn new(step: GpuStep, [_, modes, rows, columns]: [usize; 4], shared_memory: usize) -> Self {
        if step == GpuStep::Unfused {
            return Self::Separate(Separate::Asked);
        }
        if modes == 1 && rows == columns && holds_frame(rows, shared_memory) {
            Self::Fused {
                side: rows,
                keeps: keeps_frame(rows, shared_memory),
                waves: GpuWaves::F32,
            }
        } else if !(LENGTHS.contains(&rows) && LENGTHS.contains(&columns)) {
            Self::Separate(Separate::Frame([rows, columns]))
        } else if modes > most_modes(columns as u32) as usize {
            let most = most_modes(columns as u32) as usize;
            Self::Separate(Separate::Modes([modes, most]))
        } else if passes_memory(rows) > shared_memory {
            Self::Separate(Separate::SharedMemory(shared_memory))
        } else {
            Self::Passes {
                waves: GpuWaves::F32,
            }
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
            Self::Fused { .. } | Self::Passes { .. } => Self::Separate(Separate::Subpixel),
            Self::Separate(reason) => Self::Separate(reason),
        }
    }

    /// The plan for near fields, from that for far fields: separate kernels.
    #[must_use]
    pub fn in_field(self, near: bool) -> Self {
        if near && self.is_fused() {
            Self::Separate(Separate::NearField)
        } else {
            self
        }
    }

    /// The plan for so many exit waves of each probe mode: object modes times points of an
    /// exposure.
    #[must_use]
    pub fn with_exit_waves(self, waves: usize) -> Self {
        if waves > 1 && self.is_fused() {
            Self::Separate(Separate::ExitWaves)
        } else {
            self
        }
    }

    /// The plan for a detector that `blurs` or has a background, from that for an ideal one:
    /// separate kernels.
    #[must_use]
    pub fn with_detector(self, blurs: bool) -> Self {
        if blurs && self.is_fused() {
            Self::Separate(Separate::Detector)
        } else {
            self
        }
    }

    /// The same plan with exit waves stored as `waves`; separate kernels always have them in single
    /// precision.
    #[must_use]
    pub fn with_waves(self, waves: GpuWaves) -> Self {
        match self {
            Self::Fused { side, keeps, .. } => Self::Fused { side, keeps, waves },
            Self::Passes { .. } => Self::Passes { waves },
            Self::Separate(reason) => Self::Separate(reason),
        }
    }

    /// How the exit waves are stored.
    #[must_use]
    pub fn waves(self) -> GpuWaves {
        match self {
            Self::Fused { waves, .. } | Self::Passes { waves } => waves,
            Self::Separate(_) => GpuWaves::F32,
        }
    }

    /// Whether steps are fused, into one kernel or three.
    #[must_use]
    pub fn is_fused(self) -> bool {
        !matches!(self, Self::Separate(_))
    }
}

impl fmt::Display for StepPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stored = match self.waves() {
            GpuWaves::F32 => "",
            GpuWaves::Bf16 => ", exit waves in bf16",
        };
        let reason = match self {
            Self::Fused { side, keeps, .. } => {
                let kept = if *keeps {
                    ""
                } else {
                    ", the probe read from L2 to save shared memory"
                };
                return write!(f, "fused into one kernel, {side} x {side}{kept}{stored}");
            }
            Self::Passes { .. } => {
                return write!(
                    f,
                    "fused into three kernels, over columns, rows and columns{stored}"
                );
            }
            Self::Separate(reason) => reason,
        };
        f.write_str("separate kernels and transforms: ")?;
        match reason {
            Separate::Asked => f.write_str("gpu.step is \"unfused\""),
            Separate::Modes([modes, most]) => write!(
                f,
                "{modes} probe modes, the fused step of such frames is for at most {most}"
            ),
            Separate::Frame([rows, columns]) => write!(
                f,
                "frames of {rows} x {columns}, the fused step is for 64, 128, 256 or 512 rows and columns"
            ),
            Separate::SharedMemory(bytes) => write!(
                f,
                "a block can have {} KiB of shared memory, too little for the fused step",
                bytes >> 10
            ),
            Separate::Subpixel => {
                f.write_str("exact positions, the fused step is for whole pixels")
            }
            Separate::NearField => f.write_str("a near field, the fused step is for far fields"),
            Separate::ExitWaves => f.write_str(
                "several object modes or points of an exposure, the fused step has one exit wave for each probe mode",
            ),
            Separate::Detector => f.write_str(
                "blur or background of the detector, the fused step has neither",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_depends_on_shape_and_shared_memory() {
        let on = |side, kib: usize| StepPlan::new(GpuStep::Auto, [9, 1, side, side], kib << 10);
        let waves = GpuWaves::F32;
        let fused = |side, keeps| StepPlan::Fused { side, keeps, waves };
        let passes = StepPlan::Passes { waves };
        // Compute capability 9.0, 8.0, 8.6, and less than any.
        assert_eq!(
            [227, 163, 99, 48].map(|kib| on(128, kib)),
            [
                fused(128, true),
                fused(128, false),
                fused(128, false),
                passes
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
        let without = StepPlan::Separate(Separate::SharedMemory(48 << 10));
        assert_eq!([99, 48].map(|kib| on(512, kib)), [passes, without]);
        assert!([32, 65, 1024].iter().all(|side| !on(*side, 227).is_fused()));
    }

    #[test]
    fn several_modes_and_other_frames_take_passes() {
        let of = |shape| StepPlan::on_hopper(GpuStep::Auto, shape);
        for shape in [
            [9, 2, 64, 64],
            [9, 16, 128, 128],
            [9, 1, 256, 256],
            [9, 8, 512, 512],
            [9, 1, 64, 256],
            [9, 16, 512, 128],
        ] {
            assert!(matches!(of(shape), StepPlan::Passes { .. }), "{shape:?}");
        }
        assert!(!of([9, 17, 64, 64]).is_fused());
        assert!(!of([9, 9, 128, 256]).is_fused());
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
            (GpuStep::Auto, [9, 3, 64, 64], "fused into three kernels"),
            (GpuStep::Auto, [9, 20, 64, 64], "20 probe modes"),
            (GpuStep::Auto, [9, 1, 64, 96], "frames of 64 x 96"),
            (GpuStep::Unfused, [9, 1, 64, 64], "gpu.step is \"unfused\""),
        ] {
            let text = of(step, shape);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn near_fields_have_separate_kernels() {
        for (step, modes, expected) in [
            (GpuStep::Auto, 1, "a near field"),
            (GpuStep::Auto, 3, "a near field"),
            (GpuStep::Unfused, 1, "gpu.step is \"unfused\""),
        ] {
            let plan = StepPlan::on_hopper(step, [9, modes, 64, 64]);
            assert_eq!(plan.in_field(false), plan);
            let near = plan.in_field(true);
            assert!(!near.is_fused() && near.to_string().contains(expected));
            assert_eq!(near.at_exact_positions(), near);
        }
    }

    #[test]
    fn detectors_have_separate_kernels() {
        for (step, expected) in [
            (GpuStep::Auto, "blur or background of the detector"),
            (GpuStep::Unfused, "gpu.step is \"unfused\""),
        ] {
            let plan = StepPlan::on_hopper(step, [9, 1, 64, 64]);
            assert_eq!(plan.with_detector(false), plan);
            let of_detector = plan.with_detector(true);
            assert!(!of_detector.is_fused() && of_detector.to_string().contains(expected));
        }
    }

    #[test]
    fn waves_in_bf16_are_named_where_they_are_kept() {
        let of = |step, modes| StepPlan::on_hopper(step, [9, modes, 64, 64]);
        for modes in [1, 2] {
            let plan = of(GpuStep::Auto, modes);
            let half = plan.with_waves(GpuWaves::Bf16);
            assert_eq!(half.to_string(), format!("{plan}, exit waves in bf16"));
            assert_eq!(
                [plan, half].map(StepPlan::waves),
                [GpuWaves::F32, GpuWaves::Bf16]
            );
            let exact = [plan, half].map(StepPlan::at_exact_positions);
            assert_eq!(exact[0], exact[1]);
        }
        let separate = of(GpuStep::Unfused, 1);
        assert_eq!(separate.with_waves(GpuWaves::Bf16), separate);
    }

    #[test]
    fn groups_have_at_least_one_frame_and_at_most_all() {
        assert_eq!(group_of(1457, 256 * 256), 729);
        assert_eq!(group_of(10, 128 * 128), 10);
        assert_eq!(group_of(10, usize::MAX / 8), 1);
        assert_eq!(group_of(0, 0), 1);
    }
}
