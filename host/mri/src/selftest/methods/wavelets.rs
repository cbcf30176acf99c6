//! `mri_wavelet_pass`: analysis and synthesis.

use super::arrays::{C, indices, strides};
use crate::Grid;
use crate::cpu::{coarsest, levels};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::mri::soft_threshold::MriSoftThreshold;
use warpstride_kernels::mri::wavelet_pass::MriWaveletPass;
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};
use warpstride_selftest::random_data::Source;

/// Daubechies' taps from their definition.
fn taps() -> [[f64; 4]; 2] {
    let root = 3.0_f64.sqrt();
    let low = [1.0 + root, 3.0 + root, 3.0 - root, 1.0 - root].map(|h| h / 32.0_f64.sqrt());
    [low, [low[3], -low[2], low[1], -low[0]]]
}

/// The matrix of a forward pass along one axis, applied to a line.
fn analysed(line: &[C]) -> Vec<C> {
    let n = line.len();
    let [low, high] = taps();
    let of =
        |taps: [f64; 4], i: usize| -> C { (0..4).map(|k| line[(2 * i + k) % n] * taps[k]).sum() };
    let averages = (0..n / 2).map(|i| of(low, i));
    averages.chain((0..n / 2).map(|i| of(high, i))).collect()
}

/// Its transpose, which is its inverse.
fn synthesised(line: &[C]) -> Vec<C> {
    let n = line.len();
    let mut out = vec![C::default(); n];
    for (number, taps) in taps().into_iter().enumerate() {
        for i in 0..n / 2 {
            for (k, tap) in taps.into_iter().enumerate() {
                out[(2 * i + k) % n] += line[number * (n / 2) + i] * tap;
            }
        }
    }
    out
}

pub(super) fn wavelets<M: Device>(
    bench: &mut Bench<'_, M>,
    grid: Grid,
    images: usize,
) -> Result<()> {
    let on = bench.on();
    let shape = format!("{images} of {:?}", grid.shape);
    let values = Source::new("wavelets", &shape).complex(images * grid.voxels());
    let from = on.upload(&values)?;
    let [columns, rows, slices] = grid.along_k().map(|n| n as u32);
    let all_levels = levels(grid);
    for level in all_levels.first().iter().chain(all_levels.last().iter()) {
        let corner = [level.corner[2], level.corner[1], level.corner[0]];
        for axis in 0..3 {
            if !level.halved[2 - axis] {
                continue;
            }
            for inverse in [false, true] {
                let mut reference = all_wide(&values);
                for image in reference.chunks_mut(grid.voxels()) {
                    for n in 0..grid.voxels() {
                        let start = indices(n, grid);
                        let inside = (0..3).all(|a| start[a] < corner[a]);
                        if start[axis] > 0 || !inside {
                            continue;
                        }
                        let offsets = (0..corner[axis]).map(|i| n + i * strides(grid)[axis]);
                        let line: Vec<C> = offsets.clone().map(|at| image[at]).collect();
                        let line = if inverse {
                            synthesised(&line)
                        } else {
                            analysed(&line)
                        };
                        offsets.zip(line).for_each(|(at, value)| image[at] = value);
                    }
                }
                let direction = if inverse { "inverse" } else { "forward" };
                bench.run(
                    Case::of::<MriWaveletPass<'_, Emulated>>(format!(
                        "{shape}, corner {corner:?}, axis {axis}, {direction}"
                    )),
                    on.poisoned::<Complex32>(values.len())?,
                    |device, to| {
                        let launch = MriWaveletPass {
                            from: from.read(),
                            to: to.write(),
                            columns,
                            rows,
                            slices,
                            images: images as u32,
                            corner_columns: corner[0] as u32,
                            corner_rows: corner[1] as u32,
                            corner_slices: corner[2] as u32,
                            axis: axis as u32,
                            inverse: u32::from(inverse),
                        };
                        device.launch(&launch, Work::Elements(values.len()))
                    },
                    |on, to| on.error(to, &reference),
                )?;
            }
        }
    }
    let [corner_slices, corner_rows, corner_columns] = coarsest(grid, &all_levels);
    let corner = [corner_columns, corner_rows, corner_slices];
    let threshold = 0.6_f32;
    let reference: Vec<C> = values
        .iter()
        .enumerate()
        .map(|(n, value)| {
            let at = indices(n % grid.voxels(), grid);
            let value = wide(*value);
            if (0..3).all(|a| at[a] < corner[a]) {
                return value;
            }
            value * (1.0 - f64::from(threshold) / value.norm()).max(0.0)
        })
        .collect();
    bench.run(
        Case::of::<MriSoftThreshold<'_, Emulated>>(shape),
        on.upload(&values)?,
        |device, coefficients| {
            let launch = MriSoftThreshold {
                coefficients: coefficients.write(),
                columns,
                rows,
                slices,
                images: images as u32,
                corner_columns: corner[0] as u32,
                corner_rows: corner[1] as u32,
                corner_slices: corner[2] as u32,
                threshold,
            };
            device.launch(&launch, Work::Elements(values.len()))
        },
        |on, coefficients| on.error(coefficients, &reference),
    )
}
