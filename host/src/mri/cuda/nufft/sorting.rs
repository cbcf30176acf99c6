//! Points sorted into tiles of the fine grid, and what is decided with them: plain data.

use ndarray::ArrayView2;
use rayon::prelude::*;
use warpstride_kernels::mri::nufft_gather::{MERGED, NO_SLOT};
use warpstride_kernels::mri::nufft_tile::{FRACTION_BITS, NufftHeap, NufftPoint, TileLayout};

/// Most points of a heap. Few enough that a tile with many becomes several warps' work, many enough
/// that the copy of the tile costs less than its points.
const HEAP: usize = 256;

/// Bits of a sorting key that say where in its tile of 16 × 16 cells a point is.
const INSIDE_BITS: u32 = 8;

/// Extents of the fine grid and of its tiles: x, y, z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NufftSizes {
    /// Axes of k-space.
    pub axes: usize,
    /// Cells that a point touches along an axis.
    pub width: usize,
    /// Fine cells.
    pub fine: [usize; 3],
    /// Tiles.
    pub tiles: [usize; 3],
}

impl NufftSizes {
    /// For images of `voxels` (x, y, z): at least twice the voxels, whole tiles, factors 2, 3, 5 and 7.
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

    /// Fine cells of an image.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.fine.iter().product()
    }

    /// Complex numbers of a tile's copy.
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

/// Sums of copies that one launch does: those of `merges[first..first + count]`, whose copies are
/// `stride` slots apart.
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
    /// A heap has the slot of its number.
    pub(crate) heaps: Vec<NufftHeap>,
    /// (z, y, x): the slot in which a tile's heaps end up.
    pub(crate) slot_of_tile: Vec<u32>,
    /// First slot and copies, for each sum.
    pub(crate) merges: Vec<[u32; 2]>,
    pub(crate) levels: Vec<MergeLevel>,
}

/// First cell along an axis of `cells`, and the distance behind the kernel's edge in 2⁻²⁸ cells.
fn place(k: f64, cells: usize, width: usize) -> (usize, u32) {
    let edge = (k - k.floor()) * cells as f64 - 0.5 * width as f64;
    let first = edge.ceil();
    let steps = f64::from(1_u32 << FRACTION_BITS);
    let fraction = ((first - edge) * steps).round().min(steps - 1.0);
    // The edge is less than a grid away on either side.
    let cell = (first as i64).rem_euclid(cells as i64) as usize;
    (cell, fraction as u32)
}

impl Sorting {
    /// `trajectory` (sample, axis) in cycles/pixel.
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
                    let (cell, fraction) = place(k, sizes.fine[axis], sizes.width);
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
        // With two axes points of one cell come after each other. With three there is rarely more than
        // one in a cell, and samples of a tile stay in their order: along a spoke they are neighbours in
        // memory too.
        keyed.par_sort_unstable_by_key(|(key, point)| (*key, point.sample));

        let mut sorting = Self {
            points: keyed.par_iter().map(|(_, point)| *point).collect(),
            heaps: Vec::new(),
            slot_of_tile: vec![NO_SLOT; sizes.tiles.iter().product()],
            merges: Vec::new(),
            levels: Vec::new(),
        };
        let mut split = Vec::new();
        let mut first = 0;
        for of_tile in keyed.chunk_by(|(a, _), (b, _)| a >> INSIDE_BITS == b >> INSIDE_BITS) {
            let tile = (of_tile[0].0 >> INSIDE_BITS) as usize;
            let slot = sorting.heaps.len();
            sorting.slot_of_tile[tile] = slot as u32;
            let place = [tile % across, tile / across % down, tile / across / down];
            let count = of_tile.len();
            let heaps = count.div_ceil(HEAP);
            for heap in 0..heaps {
                let cut = |n: usize| n * count / heaps;
                sorting.heaps.push(NufftHeap {
                    first: (first + cut(heap)) as u32,
                    points: (cut(heap + 1) - cut(heap)) as u32,
                    origin: std::array::from_fn(|axis| place[axis] as u32 * own[axis]),
                });
            }
            if heaps > 1 {
                split.push((slot, heaps));
            }
            first += count;
        }
        sorting.plan_merges(&split);
        sorting
    }

    /// Sums of [`MERGED`] copies, of those sums, and so on until one slot a tile is left. `split`:
    /// first slot and number of slots of the tiles that have several.
    fn plan_merges(&mut self, split: &[(usize, usize)]) {
        let merged = MERGED as usize;
        let mut stride = 1;
        loop {
            let first = self.merges.len();
            for &(slot, heaps) in split {
                let left = heaps.div_ceil(stride);
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
