//! Division of the sums of one vector into tasks: plain data, from the vector's own sizes.
//!
//! The division fixes the order of the sums and depends neither on the device nor on other vectors,
//! so a vector's intensities have the same bits wherever and in whatever batch it is computed.

use warpstride_kernels::sas::member::SEGMENTS;

/// Overrides of the division into tasks and of the launch grid, for measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tuning {
    /// Evaluations of the form factor per thread; `None`: from the size of the vector's sums.
    pub evaluations: Option<usize>,
    /// Blocks of the model's launch; `None`: chosen by [`warpstride_cuda::cuda::partition`].
    pub blocks: Option<u32>,
}

/// Least and most evaluations per thread: more of them amortise the preparation of a particle,
/// fewer fill the device with small vectors (measured on an H200 with `benches/src/bin/sas.rs`).
const EVALUATIONS_PER_THREAD: (usize, usize) = (4, 20);
/// Threads per vector up to which each has the least number of evaluations: half of what a large
/// device holds.
const TARGET_THREADS: usize = 1 << 17;
/// The same for pixels, whose partial sums are larger.
const TARGET_PIXEL_THREADS: usize = 1 << 19;
/// Maximum number of partial sums per wave vector.
const MAX_PARTS: usize = 1024;
/// Sufficient share of lanes with work.
const GOOD_OCCUPANCY: f64 = 0.85;
/// Share of the best occupancy that is accepted as equivalent.
const NEAR_BEST: f64 = 0.95;
/// Base-2 logarithm of the lanes of a warp.
const LOG2_WARP: u32 = 5;

/// Blocks of a segment's rows, as in `SasSegment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Blocks {
    pub(super) direction_blocks: usize,
    pub(super) block_directions: usize,
    pub(super) mesh_blocks: usize,
    pub(super) block_mesh: usize,
}

/// Division of a member's sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Partition {
    /// Base-2 logarithms of the numbers of lanes over the mesh and over directions.
    pub(super) mesh_lanes: u32,
    pub(super) direction_lanes: u32,
    pub(super) segments: [Blocks; SEGMENTS],
}

/// Share of lanes with work if `count` items are distributed over 2^`lanes` lanes.
fn occupancy(count: usize, lanes: u32) -> f64 {
    count as f64 / (count.div_ceil(1 << lanes) << lanes) as f64
}

/// Divides a curve with `rows` wave vectors for each quadrature rule, of so many `directions`.
pub(super) fn partition_curve(
    mesh: usize,
    rows: [usize; SEGMENTS],
    directions: [usize; SEGMENTS],
    tuning: Tuning,
) -> Partition {
    let used = || rows.iter().zip(&directions).filter(|(rows, _)| **rows > 0);
    let isotropic = used().all(|(_, directions)| *directions <= 1);
    let work = used()
        .map(|(rows, directions)| rows * directions)
        .sum::<usize>()
        * mesh;
    let (least, most) = EVALUATIONS_PER_THREAD;
    let evaluations =
        (tuning.evaluations).unwrap_or_else(|| (work / TARGET_THREADS).clamp(least, most));
    let (mesh_lanes, direction_lanes) = if isotropic {
        let lanes = (0..=LOG2_WARP)
            .rev()
            .find(|lanes| occupancy(mesh, *lanes) >= GOOD_OCCUPANCY);
        (lanes.unwrap_or(0), 0)
    } else {
        let score = |mesh_lanes: u32| {
            let (mut needed, mut taken) = (0.0, 0.0);
            for (rows, directions) in used() {
                let evaluated = (rows * directions) as f64;
                needed += evaluated;
                taken += evaluated / occupancy(*directions, LOG2_WARP - mesh_lanes);
            }
            occupancy(mesh, mesh_lanes) * needed / taken
        };
        let best = (0..=LOG2_WARP).map(score).fold(0.0, f64::max);
        // Among the good choices, the one with the most lanes over the mesh prepares the fewest
        // particles.
        let widest = (0..=LOG2_WARP)
            .rev()
            .find(|lanes| score(*lanes) >= NEAR_BEST * best);
        let widest = widest.unwrap_or(0);
        (widest, LOG2_WARP - widest)
    };
    let mut segments = [Blocks::default(); SEGMENTS];
    for ((blocks, rows), directions) in segments.iter_mut().zip(rows).zip(directions) {
        if rows > 0 {
            *blocks = partition_row(mesh, directions, mesh_lanes, direction_lanes, evaluations);
        }
    }
    Partition {
        mesh_lanes,
        direction_lanes,
        segments,
    }
}

fn partition_row(
    mesh: usize,
    directions: usize,
    mesh_lanes: u32,
    direction_lanes: u32,
    evaluations: usize,
) -> Blocks {
    // Passes of the task's lanes over the mesh and over directions.
    let (mesh_passes, direction_passes) = (
        mesh.div_ceil(1 << mesh_lanes),
        directions.div_ceil(1 << direction_lanes),
    );
    let evenly = |direction_passes: usize, of: usize| {
        direction_passes.div_ceil(direction_passes.div_ceil(of.max(1)).max(1))
    };
    let along = evenly(direction_passes, evaluations).max(1);
    let mut across = evenly(mesh_passes, evaluations / along).max(1);
    let direction_blocks = direction_passes.div_ceil(along);
    while direction_blocks * mesh_passes.div_ceil(across) > MAX_PARTS && across < mesh_passes {
        across *= 2;
    }
    Blocks {
        direction_blocks,
        block_directions: along << direction_lanes,
        mesh_blocks: mesh_passes.div_ceil(across),
        block_mesh: across << mesh_lanes,
    }
}

/// Divides an image: every pixel has one thread per block.
pub(super) fn partition_image(
    mesh: usize,
    rotations: usize,
    pixels: usize,
    tuning: Tuning,
) -> Blocks {
    let all = mesh * rotations;
    let evaluations = tuning.evaluations.unwrap_or_else(|| {
        let shared = (all as f64 * pixels as f64 / TARGET_PIXEL_THREADS as f64) as usize;
        shared.max(EVALUATIONS_PER_THREAD.0)
    });
    let evenly = |count: usize, of: usize| count.div_ceil(count.div_ceil(of.max(1)).max(1));
    let along = evenly(rotations, evaluations).max(1);
    let across = evenly(mesh, evaluations / along).max(1);
    Blocks {
        direction_blocks: rotations.div_ceil(along),
        block_directions: along,
        mesh_blocks: mesh.div_ceil(across),
        block_mesh: across,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks tile the mesh and the directions: none is empty, none lies outside.
    #[test]
    fn blocks_tile() {
        for mesh in [1, 2, 31, 35, 37, 80, 1225, 42_875, 1 << 20] {
            for directions in [1, 20, 76, 500, 5000, 99_856] {
                let partition =
                    partition_curve(mesh, [7, 0, 0, 1], [directions, 5, 9, 1], Tuning::default());
                assert!(partition.mesh_lanes + partition.direction_lanes <= LOG2_WARP);
                assert_eq!(partition.segments[1], Blocks::default());
                for (blocks, directions) in [
                    (partition.segments[0], directions),
                    (partition.segments[3], 1),
                ] {
                    let tiles = |blocks: usize, each: usize, all: usize| {
                        blocks * each >= all && (blocks - 1) * each < all
                    };
                    assert!(
                        tiles(blocks.mesh_blocks, blocks.block_mesh, mesh),
                        "{blocks:?}"
                    );
                    assert!(
                        tiles(blocks.direction_blocks, blocks.block_directions, directions),
                        "{mesh} {directions} {blocks:?}"
                    );
                }
                let image = partition_image(mesh, directions, 1000, Tuning::default());
                assert!(image.mesh_blocks * image.block_mesh >= mesh);
                assert!(image.direction_blocks * image.block_directions >= directions);
            }
        }
    }

    /// Lanes are over the mesh if it is large, over directions if there is a single particle, and
    /// fewer than a warp if both are small.
    #[test]
    fn lanes_have_work() {
        let lanes = |mesh, directions| {
            let rows = [100, 80, 20, 0];
            let partition = partition_curve(mesh, rows, directions, Tuning::default());
            (partition.mesh_lanes, partition.direction_lanes)
        };
        let axial = [20, 76, 500, 5000];
        assert_eq!(lanes(1225, axial), (5, 0));
        assert_eq!(lanes(1, axial).0, 0);
        assert_eq!(lanes(1, [1; 4]), (0, 0));
        assert_eq!(lanes(35, [1; 4]), (3, 0));
        assert_eq!(lanes(80, [1; 4]), (4, 0));
    }
}
