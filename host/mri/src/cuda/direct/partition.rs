//! The partition of the sums into parts, so that small problems fill the device too. Plain data.

use crate::Grid;
use warpstride_kernels::mri::direct_adjoint::{PAIRS, STEP};
use warpstride_kernels::mri::direct_forward::{ROWS, SAMPLES};
use warpstride_kernels::mri::direct_gather::{IMAGES, STAGED};

/// Rows that are computed together.
const GROUP: usize = 4;
/// Pairs that a block of the forward operator processes in a step.
const PAIRS_OF_A_STEP: usize = 8;
/// Targets of a block of the gather.
const THREADS: usize = 256;
/// Overhead of a block (first tables, writing the sums), in steps.
const BLOCK_OVERHEAD: usize = 4;
/// Blocks of the adjoint (8192 voxels) whose sums can be written and added in the time of one step.
const BLOCKS_SUMMED_PER_STEP: usize = 40;
/// Most blocks per multiprocessor if a tile is split into parts: bounds the memory of the parts (64
/// KiB per block of the adjoint, 1 KiB of the forward operator).
const MAX_BLOCKS_PER_MULTIPROCESSOR: [usize; 2] = [16, 64];

/// A launch of tiles × parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Partition {
    /// Blocks that cover all outputs.
    tiles: usize,
    /// Parts of each sum.
    pub(super) parts: usize,
    /// Number of elements written.
    pub(super) outputs: usize,
}

impl Partition {
    /// Partition for Fᴴ.
    pub(super) fn adjoint(grid: Grid, samples: usize, images: usize, multiprocessors: u32) -> Self {
        let [slices, rows, columns] = grid.shape;
        let groups = images * slices * rows.div_ceil(GROUP);
        let tiles =
            groups.div_ceil(ROWS as usize / GROUP) * columns.div_ceil(2).div_ceil(PAIRS as usize);
        let steps = samples.div_ceil(STEP as usize);
        let outputs = images * grid.voxels();
        let max_parts = MAX_BLOCKS_PER_MULTIPROCESSOR[0] * multiprocessors as usize / tiles.max(1);
        Self::fastest(
            tiles,
            steps,
            max_parts.min(steps),
            BLOCKS_SUMMED_PER_STEP,
            multiprocessors,
        )
        .with(outputs)
    }

    /// Partition for F.
    pub(super) fn forward(grid: Grid, samples: usize, images: usize, multiprocessors: u32) -> Self {
        let [slices, rows, columns] = grid.shape;
        let tiles = images * samples.div_ceil(SAMPLES as usize);
        let row_tiles = (slices * rows.div_ceil(GROUP)).div_ceil(ROWS as usize / GROUP);
        // A step has as many products as a step of the adjoint.
        let steps = row_tiles * columns.div_ceil(2).div_ceil(PAIRS_OF_A_STEP);
        let max_parts = MAX_BLOCKS_PER_MULTIPROCESSOR[1] * multiprocessors as usize / tiles.max(1);
        let summed = BLOCKS_SUMMED_PER_STEP * MAX_BLOCKS_PER_MULTIPROCESSOR[1];
        Self::fastest(
            tiles,
            steps,
            max_parts.min(row_tiles),
            summed,
            multiprocessors,
        )
        .with(images * samples)
    }

    /// Partition for Fᴴ with any phases.
    pub(super) fn gather_voxels(
        grid: Grid,
        samples: usize,
        images: usize,
        multiprocessors: u32,
    ) -> Self {
        Self::gather(grid.voxels(), samples, images, multiprocessors)
    }

    /// Partition for F with any phases.
    pub(super) fn gather_samples(
        grid: Grid,
        samples: usize,
        images: usize,
        multiprocessors: u32,
    ) -> Self {
        Self::gather(samples, grid.voxels(), images, multiprocessors)
    }

    fn gather(targets: usize, sources: usize, images: usize, multiprocessors: u32) -> Self {
        let tiles = targets.div_ceil(THREADS) * images.div_ceil(IMAGES as usize);
        let steps = sources.div_ceil(STAGED as usize);
        let max_parts = MAX_BLOCKS_PER_MULTIPROCESSOR[1] * multiprocessors as usize / tiles.max(1);
        let summed = BLOCKS_SUMMED_PER_STEP * MAX_BLOCKS_PER_MULTIPROCESSOR[1];
        Self::fastest(tiles, steps, max_parts.min(steps), summed, multiprocessors)
            .with(images * targets)
    }

    /// The number of parts that takes the least time, which is the longest queue of a
    /// multiprocessor plus the overhead of the parts; the smallest if several are equal.
    fn fastest(
        tiles: usize,
        steps: usize,
        max_parts: usize,
        summed: usize,
        multiprocessors: u32,
    ) -> Self {
        let time = |parts: usize| {
            let queue = (tiles * parts).div_ceil(multiprocessors.max(1) as usize);
            let adding = if parts > 1 {
                2 * BLOCK_OVERHEAD + tiles * parts / summed
            } else {
                0
            };
            queue * (steps.div_ceil(parts) + BLOCK_OVERHEAD) + adding
        };
        let parts = (1..=max_parts.max(1)).min_by_key(|parts| time(*parts));
        Self {
            tiles,
            parts: parts.unwrap_or(1),
            outputs: 0,
        }
    }

    fn with(self, outputs: usize) -> Self {
        Self { outputs, ..self }
    }

    /// Blocks of the launch.
    pub(super) fn blocks(self) -> usize {
        self.tiles * self.parts
    }

    /// Elements of the partial sums before they are added.
    pub(super) fn partial_sums(self) -> usize {
        if self.parts > 1 {
            self.parts * self.outputs
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_problem_is_not_split() {
        let partition = Partition::adjoint(Grid::three(128, 128, 128), 1 << 18, 1, 132);
        assert_eq!((partition.tiles, partition.partial_sums()), (256, 0));
        // 12 coils.
        let partition = Partition::adjoint(Grid::three(128, 128, 128), 1 << 16, 12, 132);
        assert_eq!((partition.blocks(), partition.parts), (12 * 256, 1));
    }

    #[test]
    fn a_small_problem_fills_the_device() {
        let grid = Grid::two(256, 256);
        let partition = Partition::adjoint(grid, 102_912, 1, 132);
        assert!(partition.blocks() >= 132);
        assert!(partition.blocks() <= 132 * MAX_BLOCKS_PER_MULTIPROCESSOR[0]);
        assert_eq!(partition.partial_sums(), partition.parts * grid.voxels());
        let partition = Partition::forward(grid, 64, 1, 132);
        assert_eq!(partition.parts, 4, "as many as tiles of rows");
        let nothing = Partition::adjoint(grid, 0, 1, 132);
        assert_eq!(nothing.parts, 1);
    }

    #[test]
    fn the_longest_queue_is_close_to_the_mean() {
        for tiles in [1, 5, 96, 131, 133, 300, 804] {
            let partition =
                Partition::fastest(tiles, 6432, 2112 / tiles, BLOCKS_SUMMED_PER_STEP, 132);
            let queue = partition.blocks().div_ceil(132) * 6432_usize.div_ceil(partition.parts);
            let even = tiles * 6432 / 132;
            assert!(
                queue <= even + even / 5 + 60,
                "{tiles}: {partition:?}, {queue} of {even}"
            );
        }
    }
}
