//! Cases of `mri_nufft_…` and `mri_toeplitz_…`.
//!
//! Spreading and interpolation use polynomials with random coefficients: the cases check that every
//! point adds to and reads from its cells with its weights, not the quality of the kernel.

use crate::cuda::NufftSizes;
use crate::cuda::nufft::sorting::Sorting;
use crate::cuda::nufft::widths::{self, ImageBatch, Points};
use ndarray::Array2;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, KernelInfo, Launch, Work};
use warpstride_kernels::mri::nufft_gather::{MriNufftGather, MriNufftMerge, NO_SLOT};
use warpstride_kernels::mri::nufft_modes::{MriNufftCrop, MriNufftPad};
use warpstride_kernels::mri::nufft_tile::{NufftPoint, TileLayout, terms};
use warpstride_kernels::mri::toeplitz::{MriToeplitzCrop, MriToeplitzMultiply, MriToeplitzPad};
use warpstride_kernels::registry;
use warpstride_selftest::bench::Size;
use warpstride_selftest::bench::{Bench, Case, wide};
use warpstride_selftest::random_data::Source;

type C = Complex<f64>;

pub(crate) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    for width in 2..=8 {
        for (axes, voxels, count) in [(2, [20, 9, 1], 400), (3, [10, 5, 6], 120)] {
            points(bench, NufftSizes::new(voxels, axes, width), count, false)?;
        }
    }
    points(bench, NufftSizes::new([1, 1, 1], 2, 5), 0, false)?;
    if size == Size::Device {
        points(bench, NufftSizes::new([256, 256, 1], 2, 5), 1 << 20, true)?;
        points(bench, NufftSizes::new([128; 3], 3, 5), 1 << 20, true)?;
    }
    for (voxels, axes, images) in [
        ([1, 1, 1], 2, 1),
        ([9, 20, 1], 2, 3),
        ([17, 3, 1], 2, 0),
        ([5, 3, 9], 3, 2),
        ([8, 12, 1], 3, 1),
    ] {
        modes(bench, voxels, axes, images)?;
        tiles(bench, voxels, axes, images)?;
        for mapped in [false, true] {
            toeplitz(bench, voxels, images, mapped)?;
        }
    }
    Ok(())
}

/// The kernel of the given step for a width.
fn entry(step: &str, sizes: &NufftSizes) -> KernelInfo {
    let name = format!("mri_nufft_{step}_{}d_w{}", sizes.axes, sizes.width);
    let found = registry().iter().find(|kernel| kernel.entry == name);
    *found.unwrap_or(&<MriNufftMerge<'static, Emulated> as Launch<Emulated>>::INFO)
}

/// The weights of a point along an axis, and the start of its footprint in the tile.
fn along(
    point: &NufftPoint,
    axis: usize,
    sizes: &NufftSizes,
    coefficients: &[f32],
) -> (usize, Vec<f64>) {
    if axis >= sizes.axes {
        return (0, vec![1.0]);
    }
    let argument = f64::from(point.argument(axis));
    let pieces = coefficients.chunks(terms(sizes.width));
    let weights = pieces
        .map(|row| {
            row.iter()
                .rev()
                .fold(0.0, |sum, c| sum * argument + f64::from(*c))
        })
        .collect();
    (point.cell(axis) as usize, weights)
}

/// Calls `take(x, y, z, weight)` for the cells of the tile that a point touches.
fn footprint(
    point: &NufftPoint,
    sizes: &NufftSizes,
    coefficients: &[f32],
    mut take: impl FnMut([usize; 3], f64),
) {
    let [x, y, z] = [0, 1, 2].map(|axis| along(point, axis, sizes, coefficients));
    for (dz, wz) in z.1.iter().enumerate() {
        for (dy, wy) in y.1.iter().enumerate() {
            for (dx, wx) in x.1.iter().enumerate() {
                take([x.0 + dx, y.0 + dy, z.0 + dz], wx * wy * wz);
            }
        }
    }
}

/// Spreading and interpolation of random points, a third of them in one cell.
fn points<M: Device>(
    bench: &mut Bench<'_, M>,
    sizes: NufftSizes,
    count: usize,
    timed: bool,
) -> Result<()> {
    let on = bench.on();
    let [x, y, z] = sizes.fine;
    let text = format!("{count} points, {x} × {y} × {z}");
    let mut source = Source::new("points", &text);
    let numbers = source.reals(count * sizes.axes, -0.5, 0.5);
    let trajectory = Array2::from_shape_fn((count, sizes.axes), |(sample, axis)| {
        if sample % 3 == 0 && !timed {
            0.13
        } else {
            f64::from(numbers[sample * sizes.axes + axis])
        }
    });
    let sorting = Sorting::new(&sizes, trajectory.view());
    let coefficients = source.reals(sizes.width * terms(sizes.width), -1.0, 1.0);
    let weights = source.reals(count, 0.0, 2.0);
    let (first_image, images) = if timed { (0, 1) } else { (1, 2) };
    let given = source.complex((first_image + images) * count);
    let points_on_device = Points::<M> {
        points: on.upload(&sorting.points)?,
        subproblems: on.upload(&sorting.subproblems)?,
        coefficients: on.upload(&coefficients)?,
        weights: on.upload(&weights)?,
    };
    let part = ImageBatch {
        first_image,
        images,
    };
    let layout = TileLayout::new(sizes.width as u32, sizes.axes as u32);
    let [pitch, tall] = [layout.slot_pitch as usize, layout.padded[1] as usize];

    let samples = on.upload(&given)?;
    for weighted in [false, true] {
        if timed && weighted {
            continue;
        }
        let mut slots = vec![C::default(); images * sorting.subproblems.len() * sizes.slot_cells()];
        let mut slot_iter = slots.chunks_mut(sizes.slot_cells());
        for image in first_image..first_image + images {
            for subproblem in &sorting.subproblems {
                let slot = slot_iter.next().unwrap_or_default();
                let own =
                    subproblem.first as usize..(subproblem.first + subproblem.points) as usize;
                for (point, weight) in sorting.points[own.clone()].iter().zip(&weights[own]) {
                    let factor = if weighted { f64::from(*weight) } else { 1.0 };
                    let value = wide(given[image * count + point.sample as usize]) * factor;
                    footprint(point, &sizes, &coefficients, |[x, y, z], weight| {
                        slot[(z * tall + y) * pitch + x] += value * weight;
                    });
                }
            }
        }
        let text = format!("{text}{}", if weighted { ", weighted" } else { "" });
        let bytes = 24 * count + 8 * slots.len();
        bench.run(
            Case::with(entry("spread", &sizes), text).timed(timed, bytes),
            on.poisoned::<Complex32>(slots.len())?,
            |device, out| {
                widths::spread(
                    device,
                    &sizes,
                    &points_on_device,
                    (&samples, out),
                    weighted,
                    part,
                )
            },
            |on, out| on.error(out, &slots),
        )?;
    }

    let fine_values = source.complex(images * sizes.cells());
    let mut expected: Vec<C> = given.iter().map(|value| wide(*value)).collect();
    for image in 0..images {
        for subproblem in &sorting.subproblems {
            let grid = &fine_values[image * sizes.cells()..][..sizes.cells()];
            for at in subproblem.first as usize..(subproblem.first + subproblem.points) as usize {
                let point = &sorting.points[at];
                let mut sum = C::default();
                footprint(point, &sizes, &coefficients, |cell, weight| {
                    let index: [usize; 3] = std::array::from_fn(|axis| {
                        (subproblem.origin[axis] as usize + cell[axis]) % sizes.fine[axis]
                    });
                    let at = (index[2] * sizes.fine[1] + index[1]) * sizes.fine[0] + index[0];
                    sum += wide(grid[at]) * weight;
                });
                expected[(first_image + image) * count + point.sample as usize] = sum;
            }
        }
    }
    let fine = on.upload(&fine_values)?;
    bench.run(
        Case::with(entry("interpolate", &sizes), text).timed(timed, 24 * count + 8 * sizes.cells()),
        on.upload(&given)?,
        |device, out| widths::interpolate(device, &sizes, &points_on_device, (&fine, out), part),
        |on, out| on.error(out, &expected),
    )
}

/// Merging of slots and adding of tiles to the fine grid.
fn tiles<M: Device>(
    bench: &mut Bench<'_, M>,
    voxels: [usize; 3],
    axes: usize,
    images: usize,
) -> Result<()> {
    let on = bench.on();
    let sizes = NufftSizes::new(voxels, axes, 2 + voxels[0] % 7);
    let layout = TileLayout::new(sizes.width as u32, axes as u32);
    let [x, y, z] = sizes.fine;
    let text = format!("{images} × {x} × {y} × {z}, width {}", sizes.width);
    let mut source = Source::new("tiles", &text);
    // Every other tile except the last has three slots, of which the first holds the sum after
    // merging.
    let count: usize = sizes.tiles.iter().product();
    let full: Vec<usize> = (0..count)
        .filter(|t| t % 2 == 0 || *t == count - 1)
        .collect();
    let slot_count = 3 * full.len();
    let mut slot_of_tile = vec![NO_SLOT; count];
    for (number, tile) in full.iter().enumerate() {
        slot_of_tile[*tile] = 3 * number as u32;
    }
    let cells = sizes.slot_cells();
    let given = source.complex(images * slot_count * cells);
    let values: Vec<C> = given.iter().map(|value| wide(*value)).collect();

    let merges: Vec<[u32; 2]> = (0..=full.len() as u32)
        .map(|n| if n == 0 { [0, 1] } else { [3 * (n - 1), 2] })
        .collect();
    let mut merged = values.clone();
    for image in 0..images {
        for [first, _] in &merges[1..] {
            let at = (image * slot_count + *first as usize) * cells;
            for cell in at..at + cells {
                merged[cell] += values[cell + 2 * cells];
            }
        }
    }
    let merges_there = on.upload(&merges)?;
    bench.run(
        Case::of::<MriNufftMerge<'_, Emulated>>(text.clone()),
        on.upload(&given)?,
        |device, slots| {
            let launch = MriNufftMerge {
                slots: slots.write(),
                merges: merges_there.read(),
                slot_count: slot_count as u32,
                cells: cells as u32,
                first_merge: 1,
                merge_count: full.len() as u32,
                stride: 2,
                images: images as u32,
            };
            device.launch(&launch, Work::Blocks(full.len() * images))
        },
        |on, slots| on.error(slots, &merged),
    )?;

    let mut fine = vec![C::default(); images * sizes.cells()];
    for image in 0..images {
        for (number, tile) in full.iter().enumerate() {
            let [across, down, _] = sizes.tiles;
            let index = [tile % across, tile / across % down, tile / across / down];
            let from = &values[(image * slot_count + 3 * number) * cells..][..cells];
            let [wide_x, tall, deep] = layout.padded.map(|n| n as usize);
            for cell in 0..wide_x * tall * deep {
                let inside = [cell % wide_x, cell / wide_x % tall, cell / wide_x / tall];
                let at: [usize; 3] = std::array::from_fn(|axis| {
                    (index[axis] * layout.own[axis] as usize + inside[axis]) % sizes.fine[axis]
                });
                let to = ((image * z + at[2]) * y + at[1]) * x + at[0];
                let row = inside[2] * tall + inside[1];
                fine[to] += from[row * layout.slot_pitch as usize + inside[0]];
            }
        }
    }
    let (slots, table) = (on.upload(&given)?, on.upload(&slot_of_tile)?);
    bench.run(
        Case::of::<MriNufftGather<'_, Emulated>>(text),
        on.poisoned::<Complex32>(fine.len())?,
        |device, out| {
            let launch = MriNufftGather {
                fine: out.write(),
                slots: slots.read(),
                slot_of_tile: table.read(),
                slot_count: slot_count as u32,
                tiles_x: sizes.tiles[0] as u32,
                tiles_y: sizes.tiles[1] as u32,
                tiles_z: sizes.tiles[2] as u32,
                width: sizes.width as u32,
                axes: axes as u32,
                images: images as u32,
            };
            device.launch(&launch, Work::Blocks(y * z * images))
        },
        |on, out| on.error(out, &fine),
    )
}

/// Padding and cropping, with a factor per voxel.
fn modes<M: Device>(
    bench: &mut Bench<'_, M>,
    voxels: [usize; 3],
    axes: usize,
    images: usize,
) -> Result<()> {
    let on = bench.on();
    let sizes = NufftSizes::new(voxels, axes, 5);
    let ([x, y, z], [columns, rows, slices]) = (sizes.fine, voxels);
    let text = format!("{images} × {columns} × {rows} × {slices}, in {x} × {y} × {z}");
    let mut source = Source::new("modes", &text);
    let first_image = 1;
    let given = source.complex((first_image + images) * columns * rows * slices);
    let factors = voxels.map(|n| source.reals(n, 0.5, 2.0));
    let fine_values = source.complex(images * sizes.cells());
    let mut fine = vec![C::default(); images * sizes.cells()];
    let mut cropped: Vec<C> = given.iter().map(|value| wide(*value)).collect();
    for (n, value) in given.iter().enumerate().skip(columns * rows * slices) {
        let voxel = [n % columns, n / columns % rows, n / columns / rows % slices];
        let image = n / (columns * rows * slices) - first_image;
        let cell: [usize; 3] = std::array::from_fn(|axis| {
            (voxel[axis] + sizes.fine[axis] - voxels[axis] / 2) % sizes.fine[axis]
        });
        let at = ((image * z + cell[2]) * y + cell[1]) * x + cell[0];
        let factor: f64 = (0..3)
            .map(|axis| f64::from(factors[axis][voxel[axis]]))
            .product();
        fine[at] = wide(*value) * factor;
        cropped[n] = wide(fine_values[at]) * factor;
    }
    let [along_x, along_y, along_z] = [0, 1, 2].map(|axis| on.upload(&factors[axis]));
    let (along_x, along_y, along_z) = (along_x?, along_y?, along_z?);
    let (given_there, fine_there) = (on.upload(&given)?, on.upload(&fine_values)?);
    bench.run(
        Case::of::<MriNufftPad<'_, Emulated>>(text.clone()),
        on.poisoned::<Complex32>(fine.len())?,
        |device, out| {
            let launch = MriNufftPad {
                fine: out.write(),
                voxels: given_there.read(),
                along_x: along_x.read(),
                along_y: along_y.read(),
                along_z: along_z.read(),
                columns: columns as u32,
                rows: rows as u32,
                slices: slices as u32,
                fine_columns: x as u32,
                fine_rows: y as u32,
                fine_slices: z as u32,
                first_image: first_image as u32,
                images: images as u32,
            };
            device.launch(&launch, Work::Blocks(y * z * images))
        },
        |on, out| on.error(out, &fine),
    )?;
    bench.run(
        Case::of::<MriNufftCrop<'_, Emulated>>(text),
        on.upload(&given)?,
        |device, out| {
            let launch = MriNufftCrop {
                voxels: out.write(),
                fine: fine_there.read(),
                along_x: along_x.read(),
                along_y: along_y.read(),
                along_z: along_z.read(),
                columns: columns as u32,
                rows: rows as u32,
                slices: slices as u32,
                fine_columns: x as u32,
                fine_rows: y as u32,
                fine_slices: z as u32,
                first_image: first_image as u32,
                images: images as u32,
            };
            device.launch(&launch, Work::Blocks(rows * slices * images))
        },
        |on, out| on.error(out, &cropped),
    )
}

/// The three launches of the Toeplitz operator, with the coils from the second on.
fn toeplitz<M: Device>(
    bench: &mut Bench<'_, M>,
    [columns, rows, slices]: [usize; 3],
    coils: usize,
    mapped: bool,
) -> Result<()> {
    let on = bench.on();
    let [x, y, z] = [2 * columns, 2 * rows + 1, 2 * slices - 1];
    let (voxels, cells) = (columns * rows * slices, x * y * z);
    let text = format!(
        "{coils} × {columns} × {rows} × {slices}{}",
        if mapped { ", maps" } else { "" }
    );
    let mut source = Source::new("toeplitz", &text);
    let (first_coil, all) = (1, 1 + coils);
    let images = source.complex(if mapped { voxels } else { all * voxels });
    let maps = source.complex(if mapped { all * voxels } else { 0 });
    let padded_values = source.complex(coils * cells);
    let spectrum = source.reals(cells, -2.0, 2.0);
    let cell_of = |n: usize| {
        let (column, row, slice) = (n % columns, n / columns % rows, n / columns / rows);
        (slice * y + row) * x + column
    };
    let mut padded = vec![C::default(); coils * cells];
    let mut cropped: Vec<C> = images.iter().map(|value| wide(*value)).collect();
    for coil in 0..coils {
        for n in 0..voxels {
            let at = coil * cells + cell_of(n);
            let seen = (first_coil + coil) * voxels + n;
            if mapped {
                let map = wide(maps[seen]);
                padded[at] = wide(images[n]) * map;
                cropped[n] += map.conj() * wide(padded_values[at]);
            } else {
                padded[at] = wide(images[seen]);
                cropped[seen] = wide(padded_values[at]);
            }
        }
    }
    let multiplied: Vec<C> = padded_values
        .iter()
        .enumerate()
        .map(|(n, value)| wide(*value) * f64::from(spectrum[n % cells]))
        .collect();
    let (images_there, maps_there) = (on.upload(&images)?, on.upload(&maps)?);
    let (padded_there, spectrum_there) = (on.upload(&padded_values)?, on.upload(&spectrum)?);
    bench.run(
        Case::of::<MriToeplitzPad<'_, Emulated>>(text.clone()),
        on.poisoned::<Complex32>(padded.len())?,
        |device, out| {
            let launch = MriToeplitzPad {
                padded: out.write(),
                images: images_there.read(),
                maps: maps_there.read(),
                columns: columns as u32,
                rows: rows as u32,
                slices: slices as u32,
                padded_columns: x as u32,
                padded_rows: y as u32,
                padded_slices: z as u32,
                first_coil: first_coil as u32,
                coils: coils as u32,
                mapped: u32::from(mapped),
            };
            device.launch(&launch, Work::Blocks(y * z * coils))
        },
        |on, out| on.error(out, &padded),
    )?;
    bench.run(
        Case::of::<MriToeplitzMultiply<'_, Emulated>>(text.clone()),
        on.upload(&padded_values)?,
        |device, out| {
            let launch = MriToeplitzMultiply {
                padded: out.write(),
                spectrum: spectrum_there.read(),
                cells,
                coils: coils as u32,
            };
            device.launch(&launch, Work::Elements(cells))
        },
        |on, out| on.error(out, &multiplied),
    )?;
    bench.run(
        Case::of::<MriToeplitzCrop<'_, Emulated>>(text),
        on.upload(&images)?,
        |device, out| {
            let launch = MriToeplitzCrop {
                out: out.write(),
                padded: padded_there.read(),
                maps: maps_there.read(),
                columns: columns as u32,
                rows: rows as u32,
                slices: slices as u32,
                padded_columns: x as u32,
                padded_rows: y as u32,
                padded_slices: z as u32,
                first_coil: first_coil as u32,
                coils: coils as u32,
                mapped: u32::from(mapped),
            };
            let lines = rows * slices * if mapped { 1 } else { coils };
            device.launch(&launch, Work::Blocks(lines))
        },
        |on, out| on.error(out, &cropped),
    )
}
