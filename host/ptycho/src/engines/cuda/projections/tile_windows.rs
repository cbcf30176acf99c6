//! The windows that touch each tile of the object, for the fluence.

use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::ptycho::fluence::{FLUENCE_ROWS, fluence_tiles};
use warpstride_kernels::ptycho::tile_frames::TILE_COLUMNS;

/// The windows of each tile, in the order of the frames.
pub(in crate::engines::cuda) struct TileWindows<M: Device> {
    /// (tile): where its windows begin; then the end.
    pub(in crate::engines::cuda) starts: M::Buffer<u32>,
    /// Corners of the windows of all tiles, one tile after the other.
    pub(in crate::engines::cuda) corners: M::Buffer<[u32; 2]>,
}

/// The tiles that the window at `corner` touches.
fn tiles_of(layout: &Layout, [top, left]: [u32; 2]) -> impl Iterator<Item = usize> {
    let across = layout.object_columns.div_ceil(TILE_COLUMNS);
    let range = |first: u32, length: u32, tile: u32| first / tile..(first + length).div_ceil(tile);
    let columns = range(left, layout.columns, TILE_COLUMNS);
    range(top, layout.rows, FLUENCE_ROWS).flat_map(move |row| {
        columns
            .clone()
            .map(move |column| (row * across + column) as usize)
    })
}

/// Where the windows of each tile begin, then the end; and the corners.
fn list(layout: &Layout, corners: &[[u32; 2]]) -> (Vec<u32>, Vec<[u32; 2]>) {
    let tiles = fluence_tiles(layout.object_rows, layout.object_columns) as usize;
    let mut starts = vec![0_u32; tiles + 1];
    for tile in corners.iter().flat_map(|corner| tiles_of(layout, *corner)) {
        starts[tile + 1] += 1;
    }
    for tile in 0..tiles {
        starts[tile + 1] += starts[tile];
    }
    let mut next = starts.clone();
    let mut listed = vec![[0; 2]; starts[tiles] as usize];
    for corner in corners {
        for tile in tiles_of(layout, *corner) {
            listed[next[tile] as usize] = *corner;
            next[tile] += 1;
        }
    }
    (starts, listed)
}

impl<M: Device> TileWindows<M> {
    /// Windows at `corners`.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        layout: &Layout,
        corners: &[[u32; 2]],
    ) -> Result<Self> {
        let (starts, listed) = list(layout, corners);
        let mut new = Self {
            starts: device.alloc("the tiles' windows", starts.len())?,
            corners: device.alloc("the windows of all tiles", listed.len())?,
        };
        device.upload(&mut new.starts, &starts)?;
        device.upload(&mut new.corners, &listed)?;
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_lists_the_windows_that_touch_it_in_their_order() {
        let layout = Layout {
            frames: 4,
            scan_frames: 4,
            modes: 1,
            rows: 33,
            columns: 7,
            object_rows: 70,
            object_columns: 65,
            object_layers: 1,
            points: 1,
            parts: 1,
            slices: 1,
            shares: 4,
        };
        let corners = [[37, 58], [0, 0], [31, 25], [32, 26]];
        let (starts, listed) = list(&layout, &corners);
        // Three rows of three tiles of 32 × 32 pixels.
        let expected: [&[usize]; 9] = [
            &[1, 2],
            &[],
            &[],
            &[1, 2, 3],
            &[0, 3],
            &[0],
            &[3],
            &[0, 3],
            &[0],
        ];
        let numbers = |frames: &[usize]| frames.iter().map(|f| corners[*f]).collect::<Vec<_>>();
        for (tile, expected) in expected.iter().enumerate() {
            let of_tile = &listed[starts[tile] as usize..starts[tile + 1] as usize];
            assert_eq!(of_tile, numbers(expected), "tile {tile}");
        }
        assert_eq!(starts[9] as usize, listed.len());
    }
}
