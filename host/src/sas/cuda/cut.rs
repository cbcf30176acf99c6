//! How the sums of one vector are cut into tasks: plain data, from the vector's own sizes.
//!
//! Nothing here looks at the device or at other vectors: the cut is the order of the sums, and intensities are to be
//! the same bits wherever and with whatever a vector is computed.

use warpstride_kernels::sas::member::SEGMENTS;

/// What the cut of the work and the grid of a launch may be, for measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tuning {
    /// Evaluations of the form factor by one thread of a task; `None`: from the size of the vector's sums.
    pub evaluations: Option<usize>,
    /// Blocks of the model's launch; `None`: [`crate::cuda::partition`]'s.
    pub blocks: Option<u32>,
}

/// Evaluations of one thread of a task: more of them spread what a particle costs before its first one, fewer fill
/// the device with small vectors (measured on an H200; `benches/src/bin/sas.rs`).
const EVALUATIONS: (usize, usize) = (4, 20);
/// Threads that a vector should have before they get more than the fewest evaluations: half of what a large device
/// holds.
const THREADS: usize = 1 << 17;
/// The same for pixels, whose partial sums are larger.
const PIXEL_THREADS: usize = 1 << 19;
/// Most partial sums of a wave vector.
const MOST_PARTS: usize = 1024;
/// Share of lanes with work that is good enough.
const BUSY: f64 = 0.85;
/// Share of the best cut's busy lanes that is as good.
const NEARLY: f64 = 0.95;
/// Lanes of a warp, to base 2.
const WARP: u32 = 5;

/// The cut of a segment's rows: as in `SasSegment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Blocks {
    pub(super) direction_blocks: usize,
    pub(super) block_directions: usize,
    pub(super) mesh_blocks: usize,
    pub(super) block_mesh: usize,
}

/// The cut of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// Logarithms to base 2.
    pub(super) mesh_lanes: u32,
    pub(super) direction_lanes: u32,
    pub(super) segments: [Blocks; SEGMENTS],
}

/// `count` in turns of `lanes`: the share of lanes that have work.
fn busy(count: usize, lanes: u32) -> f64 {
    count as f64 / (count.div_ceil(1 << lanes) << lanes) as f64
}

/// Of a curve with `rows` wave vectors for each rule, of so many `directions`.
pub(super) fn of_curve(
    mesh: usize,
    rows: [usize; SEGMENTS],
    directions: [usize; SEGMENTS],
    tuning: Tuning,
) -> Cut {
    let used = || rows.iter().zip(&directions).filter(|(rows, _)| **rows > 0);
    let isotropic = used().all(|(_, directions)| *directions <= 1);
    let work = used()
        .map(|(rows, directions)| rows * directions)
        .sum::<usize>()
        * mesh;
    let (least, most) = EVALUATIONS;
    let evaluations = (tuning.evaluations).unwrap_or_else(|| (work / THREADS).clamp(least, most));
    let (mesh_lanes, direction_lanes) = if isotropic {
        let lanes = (0..=WARP).rev().find(|lanes| busy(mesh, *lanes) >= BUSY);
        (lanes.unwrap_or(0), 0)
    } else {
        let score = |mesh_lanes: u32| {
            let (mut wanted, mut taken) = (0.0, 0.0);
            for (rows, directions) in used() {
                let evaluated = (rows * directions) as f64;
                wanted += evaluated;
                taken += evaluated / busy(*directions, WARP - mesh_lanes);
            }
            busy(mesh, mesh_lanes) * wanted / taken
        };
        let best = (0..=WARP).map(score).fold(0.0, f64::max);
        // The widest over the mesh of those that are good: fewest particles are prepared.
        let widest = (0..=WARP)
            .rev()
            .find(|lanes| score(*lanes) >= NEARLY * best);
        let widest = widest.unwrap_or(0);
        (widest, WARP - widest)
    };
    let mut segments = [Blocks::default(); SEGMENTS];
    for ((blocks, rows), directions) in segments.iter_mut().zip(rows).zip(directions) {
        if rows > 0 {
            *blocks = cut_row(mesh, directions, mesh_lanes, direction_lanes, evaluations);
        }
    }
    Cut {
        mesh_lanes,
        direction_lanes,
        segments,
    }
}

fn cut_row(
    mesh: usize,
    directions: usize,
    mesh_lanes: u32,
    direction_lanes: u32,
    evaluations: usize,
) -> Blocks {
    // In turns of the task's lanes.
    let (mesh_turns, turns) = (
        mesh.div_ceil(1 << mesh_lanes),
        directions.div_ceil(1 << direction_lanes),
    );
    let evenly = |turns: usize, of: usize| turns.div_ceil(turns.div_ceil(of.max(1)).max(1));
    let along = evenly(turns, evaluations).max(1);
    let mut across = evenly(mesh_turns, evaluations / along).max(1);
    let direction_blocks = turns.div_ceil(along);
    while direction_blocks * mesh_turns.div_ceil(across) > MOST_PARTS && across < mesh_turns {
        across *= 2;
    }
    Blocks {
        direction_blocks,
        block_directions: along << direction_lanes,
        mesh_blocks: mesh_turns.div_ceil(across),
        block_mesh: across << mesh_lanes,
    }
}

/// Of an image: every pixel has a thread for each block.
pub(super) fn of_image(mesh: usize, rotations: usize, pixels: usize, tuning: Tuning) -> Blocks {
    let all = mesh * rotations;
    let evaluations = tuning.evaluations.unwrap_or_else(|| {
        let shared = (all as f64 * pixels as f64 / PIXEL_THREADS as f64) as usize;
        shared.max(EVALUATIONS.0)
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

    /// Blocks tile mesh and directions: none is empty, none lies beyond.
    #[test]
    fn blocks_tile() {
        for mesh in [1, 2, 31, 35, 37, 80, 1225, 42_875, 1 << 20] {
            for directions in [1, 20, 76, 500, 5000, 99_856] {
                let cut = of_curve(mesh, [7, 0, 0, 1], [directions, 5, 9, 1], Tuning::default());
                assert!(cut.mesh_lanes + cut.direction_lanes <= WARP);
                assert_eq!(cut.segments[1], Blocks::default());
                for (blocks, directions) in [(cut.segments[0], directions), (cut.segments[3], 1)] {
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
                let image = of_image(mesh, directions, 1000, Tuning::default());
                assert!(image.mesh_blocks * image.block_mesh >= mesh);
                assert!(image.direction_blocks * image.block_directions >= directions);
            }
        }
    }

    /// Lanes are over the mesh where it is large, over directions where there is one particle, and fewer than a warp
    /// where neither is there.
    #[test]
    fn lanes_have_work() {
        let lanes = |mesh, directions| {
            let rows = [100, 80, 20, 0];
            let cut = of_curve(mesh, rows, directions, Tuning::default());
            (cut.mesh_lanes, cut.direction_lanes)
        };
        let axial = [20, 76, 500, 5000];
        assert_eq!(lanes(1225, axial), (5, 0));
        assert_eq!(lanes(1, axial).0, 0);
        assert_eq!(lanes(1, [1; 4]), (0, 0));
        assert_eq!(lanes(35, [1; 4]), (3, 0));
        assert_eq!(lanes(80, [1; 4]), (4, 0));
    }
}
