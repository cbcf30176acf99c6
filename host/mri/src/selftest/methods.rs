//! The vector steps of MRI's methods: `mri_cg_…`, `mri_fista_…`, `mri_coil_…`, `mri_tv_…`,
//! `mri_wavelet_pass` and the kernels between them.

mod arrays;
mod coils;
mod conjugate_gradients;
mod fista;
mod total_variation;
mod wavelets;

use crate::Grid;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_selftest::bench::Bench;
use warpstride_selftest::bench::Size;

pub(crate) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    let lengths: &[usize] = match size {
        Size::Small => &[0, 1, 255, 1009],
        Size::Device => &[0, 1, 255, 1009, 65_536, 1 << 21],
    };
    for length in lengths {
        let timed = *length > 2000;
        conjugate_gradients::conjugate_gradients(bench, *length, timed)?;
        fista::fista(bench, *length, timed)?;
        for sizes in [[1, 1], [5, 1], [5, 2], [3, 4]] {
            coils::coil(bench, *length, sizes, timed)?;
        }
    }
    let mut grids = vec![
        Grid::two(1, 1),
        Grid::two(6, 8),
        Grid::two(7, 20),
        Grid::three(4, 6, 5),
    ];
    if size == Size::Device {
        grids.push(Grid::two(256, 256));
        grids.push(Grid::three(64, 48, 80));
    }
    for grid in grids {
        for images in [1, 3] {
            total_variation::total_variation(bench, grid, images)?;
            wavelets::wavelets(bench, grid, images)?;
        }
    }
    Ok(())
}
