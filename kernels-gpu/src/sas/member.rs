//! What the kernels are told of each particle: its mesh of sizes, its sums, and how they are cut into tasks.
//!
//! A *member* is a set of parameter values with its mesh: a parameter vector, one of its spin cross sections, or its
//! structure factor. Everything here is decided on the host from the member alone, so the order of its sums depends
//! neither on the device nor on the other members.

use bytemuck::{Pod, Zeroable};

/// Most polydisperse parameters.
pub const AXES: usize = 5;

/// Kinds of rows: the orders of the orientation average.
pub const SEGMENTS: usize = 4;

/// [`SasMember::moments`] of what is not magnetic.
pub const NONE: u32 = u32::MAX;

/// Numbers of a density's moment in the table: 1 or 0 times the nuclear density, then k₀ … k₃ of k₀ + k₁ c² + k₂ c s +
/// k₃ s² with (c, s) = (qx, qy)/|q|.
pub const MOMENT: usize = 5;

/// Numbers of a wave vector's heading: c², c s, s², and 1 (0 where q has no direction, and nothing is scattered).
pub const HEADING: usize = 4;

/// The axis of a column that is one number for all of the mesh.
const CONSTANT: u32 = 7;

/// Where a value of a model is found: its place in the table (below 2²⁹), for the points of a mesh's axis, or for all
/// of the mesh.
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
    /// Its weights' place in the table.
    pub weights: u32,
    /// Its points.
    pub points: u32,
    /// From one of its points to the next in the mesh.
    pub stride: u32,
}

/// Rows (wave vectors) of a member whose sums are cut alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SasSegment {
    /// Rows of the segments before.
    pub first_row: u32,
    /// Tasks of the segments before.
    pub first_task: u32,
    /// First of its directions (rotations, for images) in their table.
    pub first_direction: u32,
    /// How many.
    pub directions: u32,
    /// Tasks along the directions.
    pub direction_blocks: u32,
    /// Directions of a task.
    pub block_directions: u32,
    /// Tasks along the mesh.
    pub mesh_blocks: u32,
    /// Mesh points of a task.
    pub block_mesh: u32,
}

/// See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SasMember {
    /// Items of the members before: warps' for curves, (mesh block, rotation block) for images.
    pub first_item: u32,
    /// Tasks.
    pub tasks: u32,
    /// Its first partial sum.
    pub first_partial: u32,
    /// Points of its mesh.
    pub mesh: u32,
    /// Axes of its mesh.
    pub axes: u32,
    /// First of its columns.
    pub columns: u32,
    /// Where in the table the moments of its densities begin, or [`NONE`].
    pub moments: u32,
    /// Logarithm to base 2 of the lanes that lie over mesh points.
    pub mesh_lanes: u32,
    /// The same over directions.
    pub direction_lanes: u32,
    /// Axes.
    pub axis: [SasAxis; AXES],
    /// Segments.
    pub segments: [SasSegment; SEGMENTS],
}

/// The last member whose first item is not after `item`; `count` is not 0.
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
