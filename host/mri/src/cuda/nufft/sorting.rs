//! Points sorted into tiles of the fine grid, and the plan that follows from them. Plain data.

use ndarray::ArrayView2;
use rayon::prelude::*;
use warpstride_kernels::mri::nufft_gather::{MERGED, NO_SLOT};
use warpstride_kernels::mri::nufft_tile::{FRACTION_BITS, NufftPoint, NufftSubproblem, TileLayout};

/// Most points of a subproblem. Small enough that a tile with many points becomes the work of
/// several warps, large enough that copying the tile costs less than its points.
const MAX_POINTS: usize = 256;

/// Bits of a sorting key that hold a point's position within its tile of 16 × 16 cells.
const INSIDE_BITS: u32 = 8;

/// Sizes of the fine grid and of its tiles: x, y, z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NufftSizes {
    /// Axes of k-space.
    pub axes: usize,
    /// Cells that a point touches along an axis.
    pub width: usize,
    /// Cells of the fine grid.
    pub fine: [usize; 3],
    /// Number of tiles.
    pub tiles: [usize; 3],
}

impl NufftSizes {
    /// Sizes for images of `voxels` (x, y, z): at least twice the voxels, whole tiles, factors 2,
    /// 3, 5 and 7.
    #[must_use]
    pub fn new(voxels: [usize; 3], axes: usize, width: usize) -> Self {
        let own = TileLayout::new(width as u32, axes as u32).own;
        let mut fine = [1; 3];
        let mut tiles = [1; 3];
        for axis in 0..axes {
            let tile = own[axis] as usize;
            let mut count = (2 * voxels[axis]).div_ceil(tile).max(1);
            while !smooth(count) {
                count += 1;
            }
            tiles[axis] = count;
            fine[axis] = count * tile;
        }
        Self {
            axes,
            width,
            fine,
            tiles,
        }
    }

    /// Number of cells of the fine grid of an image.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.fine.iter().product()
    }

    /// Complex numbers in the copy of a tile.
    #[must_use]
    pub fn slot_cells(&self) -> usize {
        TileLayout::new(self.width as u32, self.axes as u32).slot_cells()
    }
}

fn smooth(mut n: usize) -> bool {
    for prime in [2, 3, 5, 7] {
        while n.is_multiple_of(prime) {
            n /= prime;
        }
    }
    n == 1
}

/// Sums of copies that one launch computes: those of `merges[first..first + count]`, whose copies
/// are `stride` slots apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MergeLevel {
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) stride: usize,
}

/// The points in the order of their tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sorting {
    pub(crate) points: Vec<NufftPoint>,
    /// The slot of a subproblem has the same number.
    pub(crate) subproblems: Vec<NufftSubproblem>,
    /// (z, y, x): the slot that holds the sum of a tile's subproblems.
    pub(crate) slot_of_tile: Vec<u32>,
    /// First slot and number of copies of each sum.
    pub(crate) merges: Vec<[u32; 2]>,
    pub(crate) levels: Vec<MergeLevel>,
}

/// First cell along an axis of `cells`, and its distance from the kernel's edge in 2⁻²⁸ cells.
fn locate(k: f64, cells: usize, width: usize) -> (usize, u32) {
    let edge = (k - k.floor()) * cells as f64 - 0.5 * width as f64;
    let first = edge.ceil();
    let steps = f64::from(1_u32 << FRACTION_BITS);
    let fraction = ((first - edge) * steps).round().min(steps - 1.0);
    // The edge is at most one grid length outside on either side.
    let cell = (first as i64).rem_euclid(cells as i64) as usize;
    (cell, fraction as u32)
}

impl Sorting {
    /// Sorts `trajectory` (sample, axis), in cycles/pixel.
    pub(crate) fn new(sizes: &NufftSizes, trajectory: ArrayView2<'_, f64>) -> Self {
        let own = TileLayout::new(sizes.width as u32, sizes.axes as u32).own;
        let [across, down, _] = sizes.tiles;
        let mut keyed: Vec<(u64, NufftPoint)> = (0..trajectory.nrows())
            .into_par_iter()
            .map(|sample| {
                let mut tile = [0; 3];
                let mut inside = 0;
                let mut point = NufftPoint {
                    place: [0; 3],
                    sample: sample as u32,
                };
                for axis in 0..sizes.axes {
                    let k = trajectory[[sample, axis]];
                    let (cell, fraction) = locate(k, sizes.fine[axis], sizes.width);
                    let own = own[axis] as usize;
                    tile[axis] = cell / own;
                    point.place[axis] = ((cell % own) as u32) << FRACTION_BITS | fraction;
                    if sizes.axes == 2 {
                        inside |= (cell % own) << (4 * axis);
                    }
                }
                let tile = (tile[2] * down + tile[1]) * across + tile[0];
                ((tile as u64) << INSIDE_BITS | inside as u64, point)
            })
            .collect();
        // With two axes points of one cell are adjacent. With three there is rarely more than one
        // in a cell, and samples of a tile keep their order: along a spoke they are neighbours in
        // memory too.
        keyed.par_sort_unstable_by_key(|(key, point)| (*key, point.sample));

        let mut sorting = Self {
            points: keyed.par_iter().map(|(_, point)| *point).collect(),
            subproblems: Vec::new(),
            slot_of_tile: vec![NO_SLOT; sizes.tiles.iter().product()],
            merges: Vec::new(),
            levels: Vec::new(),
        };
        let mut split = Vec::new();
        let mut first = 0;
        for of_tile in keyed.chunk_by(|(a, _), (b, _)| a >> INSIDE_BITS == b >> INSIDE_BITS) {
            let tile = (of_tile[0].0 >> INSIDE_BITS) as usize;
            let slot = sorting.subproblems.len();
            sorting.slot_of_tile[tile] = slot as u32;
            let tile = [tile % across, tile / across % down, tile / across / down];
            let count = of_tile.len();
            let subproblems = count.div_ceil(MAX_POINTS);
            for subproblem in 0..subproblems {
                let cut = |n: usize| n * count / subproblems;
                sorting.subproblems.push(NufftSubproblem {
                    first: (first + cut(subproblem)) as u32,
                    points: (cut(subproblem + 1) - cut(subproblem)) as u32,
                    origin: std::array::from_fn(|axis| tile[axis] as u32 * own[axis]),
                });
            }
            if subproblems > 1 {
                split.push((slot, subproblems));
            }
            first += count;
        }
        sorting.plan_merges(&split);
        sorting
    }

    /// Plans sums of [`MERGED`] copies, then of those sums, and so on until one slot per tile is
    /// left. `split`: first slot and number of slots of the tiles that have several.
    fn plan_merges(&mut self, split: &[(usize, usize)]) {
        let merged = MERGED as usize;
        let mut stride = 1;
        loop {
            let first = self.merges.len();
            for &(slot, subproblems) in split {
                let left = subproblems.div_ceil(stride);
                if left > 1 {
                    for sum in 0..left.div_ceil(merged) {
                        let copies = merged.min(left - sum * merged);
                        let slot = slot + sum * merged * stride;
                        self.merges.push([slot as u32, copies as u32]);
                    }
                }
            }
            let count = self.merges.len() - first;
            if count == 0 {
                return;
            }
            self.levels.push(MergeLevel {
                first,
                count,
                stride,
            });
            stride *= merged;
        }
    }
}

#[cfg(test)]
mod tests;
