//! The kernels' description of each particle: its mesh of sizes, its sums, and their division into tasks.
//!
//! A *member* is a set of parameter values with its mesh: a parameter vector, one of its spin cross sections, or its
//! structure factor. The host decides everything here from the member alone, so the order of its sums depends neither
//! on the device nor on the other members.

use bytemuck::{Pod, Zeroable};

/// The most polydisperse parameters.
pub const AXES: usize = 5;

/// Kinds of rows: the orders of the orientation average.
pub const SEGMENTS: usize = 4;

/// The value of [`SasMember::moments`] for members that are not magnetic.
pub const NONE: u32 = u32::MAX;

/// Numbers for a density's moment in the table: 1 or 0 times the nuclear density, then k₀ … k₃ of k₀ + k₁ c² + k₂ c s
/// + k₃ s² with (c, s) = (qx, qy)/|q|.
pub const MOMENT: usize = 5;

/// Numbers in a wave vector's heading: c², c s, s², and 1 (0 if q has no direction, where nothing is scattered).
pub const HEADING: usize = 4;

/// The axis of a column that is constant over the mesh.
const CONSTANT: u32 = 7;

/// The column of a model's value: its index in the table (below 2²⁹), for the points of a mesh's axis, or for the
/// whole mesh.
#[must_use]
pub const fn column(place: u32, axis: Option<u32>) -> u32 {
    place << 3
        | match axis {
            Some(axis) => axis,
            None => CONSTANT,
        }
}

/// An axis of a mesh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SasAxis {
    /// Index of its weights in the table.
    pub weights: u32,
    /// Number of its points.
    pub points: u32,
    /// Distance between its points in the mesh.
    pub stride: u32,
}

/// Rows (wave vectors) of a member whose sums are divided in the same way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SasSegment {
    /// Number of rows in earlier segments.
    pub first_row: u32,
    /// Number of tasks in earlier segments.
    pub first_task: u32,
    /// Index of its first direction (rotation, for images) in the table of directions.
    pub first_direction: u32,
    /// Number of its directions.
    pub directions: u32,
    /// Tasks along the directions.
    pub direction_blocks: u32,
    /// Directions in a task.
    pub block_directions: u32,
    /// Tasks along the mesh.
    pub mesh_blocks: u32,
    /// Mesh points in a task.
    pub block_mesh: u32,
}

/// A member; see the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SasMember {
    /// Number of items of earlier members: warps' items for curves, (mesh block, rotation block) for images.
    pub first_item: u32,
    /// Number of tasks.
    pub tasks: u32,
    /// Index of its first partial sum.
    pub first_partial: u32,
    /// Number of points in its mesh.
    pub mesh: u32,
    /// Number of axes of its mesh.
    pub axes: u32,
    /// Index of its first column.
    pub columns: u32,
    /// Where the moments of its densities begin in the table, or [`NONE`].
    pub moments: u32,
    /// Base-2 logarithm of the number of lanes that cover mesh points.
    pub mesh_lanes: u32,
    /// Base-2 logarithm of the number of lanes that cover directions.
    pub direction_lanes: u32,
    /// The axes of the mesh.
    pub axis: [SasAxis; AXES],
    /// The segments.
    pub segments: [SasSegment; SEGMENTS],
}

/// The last member whose first item is not after `item`; `count` must not be 0.
#[inline(always)]
pub(super) unsafe fn member_of(
    members: *const SasMember,
    count: u32,
    item: u32,
) -> *const SasMember {
    let (mut low, mut high) = (0, count);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if (*members.add(middle as usize)).first_item <= item {
            low = middle;
        } else {
            high = middle;
        }
    }
    members.add(low as usize)
}
