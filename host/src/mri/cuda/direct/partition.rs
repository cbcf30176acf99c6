//! How the sums are cut into parts, so that small problems fill the device too. Plain data.

use crate::mri::Grid;
use warpstride_kernels::mri::direct_adjoint::{PAIRS, STEP};
use warpstride_kernels::mri::direct_forward::{ROWS, SAMPLES};
use warpstride_kernels::mri::direct_gather::{IMAGES, STAGED};

/// Rows that are made together.
const GROUP: usize = 4;
/// Pairs that a block of the forward does in a step.
const PAIRS_OF_A_STEP: usize = 8;
/// Targets of a block of the gather.
const THREADS: usize = 256;
/// What a block costs beside its steps (first tables, writing the sums), in steps.
const START: usize = 4;
/// Blocks of the adjoint (8192 voxels) whose sums can be written and added in the time of a step.
const SUMMED: usize = 40;
/// Most blocks of a multiprocessor where a tile is cut: bounds the memory of the parts (64 KiB a block of
/// the adjoint, 1 KiB of the forward).
const MOST: [usize; 2] = [16, 64];

/// A launch cut into tiles × parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Partition {
    /// Blocks that have all outputs between them.
    tiles: usize,
    /// Of the sums.
    pub(super) parts: usize,
    /// Elements that are written.
    pub(super) outputs: usize,
}

impl Partition {
    /// Of Fᴴ.
    pub(super) fn adjoint(grid: Grid, samples: usize, images: usize, multiprocessors: u32) -> Self {
        let [slices, rows, columns] = grid.shape;
        let groups = images * slices * rows.div_ceil(GROUP);
        let tiles =
            groups.div_ceil(ROWS as usize / GROUP) * columns.div_ceil(2).div_ceil(PAIRS as usize);
        let steps = samples.div_ceil(STEP as usize);
        let outputs = images * grid.voxels();
        let most = MOST[0] * multiprocessors as usize / tiles.max(1);
        Self::quickest(tiles, steps, most.min(steps), SUMMED, multiprocessors).with(outputs)
    }

    /// Of F.
    pub(super) fn forward(grid: Grid, samples: usize, images: usize, multiprocessors: u32) -> Self {
        let [slices, rows, columns] = grid.shape;
        let tiles = images * samples.div_ceil(SAMPLES as usize);
        let row_tiles = (slices * rows.div_ceil(GROUP)).div_ceil(ROWS as usize / GROUP);
        // As many products as a step of the adjoint.
        let steps = row_tiles * columns.div_ceil(2).div_ceil(PAIRS_OF_A_STEP);
        let most = MOST[1] * multiprocessors as usize / tiles.max(1);
        let summed = SUMMED * MOST[1];
        Self::quickest(tiles, steps, most.min(row_tiles), summed, multiprocessors)
            .with(images * samples)
    }

    /// Of Fᴴ with any phases.
    pub(super) fn gather_voxels(
        grid: Grid,
        samples: usize,
        images: usize,
        multiprocessors: u32,
    ) -> Self {
        Self::gather(grid.voxels(), samples, images, multiprocessors)
    }

    /// Of F with any phases.
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
        let most = MOST[1] * multiprocessors as usize / tiles.max(1);
        let summed = SUMMED * MOST[1];
        Self::quickest(tiles, steps, most.min(steps), summed, multiprocessors)
            .with(images * targets)
    }

    /// The number of parts that takes least time: the longest queue of a multiprocessor, and what the
    /// parts cost by themselves. The fewest where several are equal.
    fn quickest(
        tiles: usize,
        steps: usize,
        most: usize,
        summed: usize,
        multiprocessors: u32,
    ) -> Self {
        let time = |parts: usize| {
            let queue = (tiles * parts).div_ceil(multiprocessors.max(1) as usize);
            let adding = if parts > 1 {
                2 * START + tiles * parts / summed
            } else {
                0
            };
            queue * (steps.div_ceil(parts) + START) + adding
        };
        let parts = (1..=most.max(1)).min_by_key(|parts| time(*parts));
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

    /// Elements of the parts' sums before they are added.
    pub(super) fn kept(self) -> usize {
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
    fn a_large_problem_is_not_cut() {
        let partition = Partition::adjoint(Grid::three(128, 128, 128), 1 << 18, 1, 132);
        assert_eq!((partition.tiles, partition.kept()), (256, 0));
        // 12 coils.
        let partition = Partition::adjoint(Grid::three(128, 128, 128), 1 << 16, 12, 132);
        assert_eq!((partition.blocks(), partition.parts), (12 * 256, 1));
    }

    #[test]
    fn a_small_one_fills_the_device() {
        let grid = Grid::two(256, 256);
        let partition = Partition::adjoint(grid, 102_912, 1, 132);
        assert!(partition.blocks() >= 132);
        assert!(partition.blocks() <= 132 * MOST[0]);
        assert_eq!(partition.kept(), partition.parts * grid.voxels());
        let partition = Partition::forward(grid, 64, 1, 132);
        assert_eq!(partition.parts, 4, "as many as tiles of rows");
        let nothing = Partition::adjoint(grid, 0, 1, 132);
        assert_eq!(nothing.parts, 1);
    }

    #[test]
    fn the_longest_queue_is_near_the_even_share() {
        for tiles in [1, 5, 96, 131, 133, 300, 804] {
            let partition = Partition::quickest(tiles, 6432, 2112 / tiles, SUMMED, 132);
            let queue = partition.blocks().div_ceil(132) * 6432_usize.div_ceil(partition.parts);
            let even = tiles * 6432 / 132;
            assert!(
                queue <= even + even / 5 + 60,
                "{tiles}: {partition:?}, {queue} of {even}"
            );
        }
    }
}
