//! The decomposition of the fine grid into pencils along x.
//!
//! The grid is cut into bands along y and along z; a pencil is the intersection of one band of
//! each, with all x. A sample belongs to the pencil of the first cell that it touches, and touches
//! up to a kernel's width of cells beyond the pencil. Bands are at least that thick and their
//! number is one or even, so that pencils whose two bands have the same parities touch different
//! rows.

use super::super::super::Grid;
use super::super::super::nufft::SpreadingKernel;

/// Smallest thickness of a band in cells, for two and three axes: a pencil of 2·10² cells should
/// stay in a core's second-level cache, with as few as possible of the cells that it shares with
/// other pencils.
const MIN_THICKNESS: [usize; 2] = [16, 16];

/// The fine grid and its pencils.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    /// Cells of the fine grid along x, y, z.
    pub(super) cells: [usize; 3],
    /// Cells that a sample touches along each axis: the kernel's width, or 1.
    pub(super) touched: [usize; 3],
    /// Bands along y and z.
    pub(super) bands: [Bands; 2],
}

/// Bands along an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bands {
    /// 1 or an even number.
    pub(super) count: usize,
    cells: usize,
    touched: usize,
}

impl Bands {
    fn new(cells: usize, touched: usize, thickness: usize) -> Self {
        // Band numbers are stored in 16 bits.
        let fitting = (cells / thickness.max(touched)).min(1 << 15);
        let count = if fitting < 2 { 1 } else { fitting & !1 };
        Self {
            count,
            cells,
            touched,
        }
    }

    pub(super) fn start(&self, band: usize) -> usize {
        band * self.cells / self.count
    }

    /// The band that contains a cell.
    pub(super) fn of(&self, cell: usize) -> usize {
        let near = cell * self.count / self.cells;
        // start() rounds down, so the cell may already belong to the next band.
        if near + 1 < self.count && self.start(near + 1) <= cell {
            near + 1
        } else {
            near
        }
    }

    /// Cells that the samples of a band may touch.
    pub(super) fn height(&self, band: usize) -> usize {
        self.start(band + 1) - self.start(band) + self.touched - 1
    }

    /// For every cell, the band of this parity that touches it and the cell's distance from the
    /// band's start.
    pub(super) fn owners(&self, parity: usize) -> Vec<Option<(usize, usize)>> {
        let mut owners = vec![None; self.cells];
        for band in (parity..self.count).step_by(2) {
            let start = self.start(band);
            for along in 0..self.height(band).min(self.cells) {
                owners[(start + along) % self.cells] = Some((band, along));
            }
        }
        owners
    }

    /// Number of groups within which pencils can be computed in parallel.
    pub(super) fn parities(&self) -> usize {
        self.count.min(2)
    }
}

impl Layout {
    pub(super) fn new(grid: Grid, kernel: &SpreadingKernel) -> Self {
        let modes = grid.along_k();
        let encoded = |axis: usize| axis < grid.axes;
        let cells = std::array::from_fn(|a| if encoded(a) { kernel.fine(modes[a]) } else { 1 });
        let touched = std::array::from_fn(|a| if encoded(a) { kernel.width() } else { 1 });
        let thickness = MIN_THICKNESS[grid.axes - 2];
        Self {
            cells,
            touched,
            bands: [1, 2].map(|a| Bands::new(cells[a], touched[a], thickness)),
        }
    }

    /// Number of cells of the fine grid.
    pub(super) fn count(&self) -> usize {
        self.cells.iter().product()
    }

    pub(super) fn pencils(&self) -> usize {
        self.bands[0].count * self.bands[1].count
    }

    /// (band along y, band along z).
    pub(super) fn bands_of(&self, pencil: usize) -> (usize, usize) {
        (pencil % self.bands[0].count, pencil / self.bands[0].count)
    }

    /// The pencil of a band along y and one along z.
    pub(super) fn pencil(&self, (y, z): (usize, usize)) -> usize {
        z * self.bands[0].count + y
    }

    /// Rows along y and z of the array of a pencil.
    pub(super) fn heights(&self, pencil: usize) -> (usize, usize) {
        let (y, z) = self.bands_of(pencil);
        (self.bands[0].height(y), self.bands[1].height(z))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_of_a_parity_touch_different_cells() {
        for cells in [4, 12, 30, 33, 64, 100, 512] {
            for touched in [1, 2, 5, 14] {
                let bands = Bands::new(cells, touched, 16);
                for cell in 0..cells {
                    let band = bands.of(cell);
                    assert!((bands.start(band)..bands.start(band + 1)).contains(&cell));
                }
                for parity in 0..bands.parities() {
                    let total: usize = (parity..bands.count)
                        .step_by(2)
                        .map(|band| bands.height(band).min(cells))
                        .sum();
                    let owners = bands.owners(parity);
                    assert_eq!(owners.iter().flatten().count(), total, "{cells} {touched}");
                }
            }
        }
    }
}
