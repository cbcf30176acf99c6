//! The kernels `ptycho_copy_region`, `ptycho_pack_region` and `ptycho_merge_regions`.

use super::shape::{Shape, Source};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    region_merge::{
        NO_ENTRY, PtychoCopyRegion, PtychoMergeRegions, PtychoPackRegion, region_values,
    },
    tile_frames::{TILE_COLUMNS, TILE_ROWS, tiles},
};
use warpstride_selftest::bench::{Bench, Case, all_wide};

/// Values in front of those of a region.
const BEFORE: usize = 5;
/// Pixels of a tile.
const TILE: usize = (TILE_ROWS * TILE_COLUMNS) as usize;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    copy(bench, shape)?;
    for momentum in [false, true] {
        pack(bench, shape, momentum)?;
        merge(bench, shape, momentum)?;
    }
    Ok(())
}

/// From the middle of the object to its last row, and all but its first column.
fn copy<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("copied regions", &shape);
    let object = source.complex(shape.object_elements());
    let top = shape.object_rows / 2;
    let [rows, columns] = [shape.object_rows - top, shape.object_columns - 1];
    let pixel = |at: u32| {
        let (row, column) = (top + at / columns.max(1), at % columns.max(1));
        wide(object[(row * shape.object_columns + column + 1) as usize])
    };
    let expected: Vec<Complex<f64>> = (0..rows * columns).map(pixel).collect();
    let from = on.upload(&object)?;
    bench.run(
        Case::of::<PtychoCopyRegion<'_, Emulated>>(format!("{shape}")).exact(),
        on.poisoned::<Complex32>(expected.len())?,
        |device, to| {
            let launch = PtychoCopyRegion {
                to: to.write(),
                from: from.read(),
                top,
                left: 1,
                rows,
                columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
            };
            device.launch(&launch, Work::Elements(expected.len()))
        },
        |on, to| on.error(to, &expected),
    )
}

/// The pixels of a tile, row by row; none where they are beyond the object.
fn pixels_of(shape: &Shape, tile: usize) -> Vec<Option<usize>> {
    let [rows, columns] = [shape.object_rows, shape.object_columns].map(|n| n as usize);
    let [height, width] = [TILE_ROWS, TILE_COLUMNS].map(|n| n as usize);
    let across = columns.div_ceil(width);
    let first = [tile / across * height, tile % across * width];
    (0..TILE)
        .map(|n| {
            let [row, column] = [first[0] + n / width, first[1] + n % width];
            (row < rows && column < columns).then_some(row * columns + column)
        })
        .collect()
}

fn tile_count(shape: &Shape) -> usize {
    tiles(shape.object_rows as usize, shape.object_columns as usize)
}

/// Object, probe, and their momentum, empty without.
fn arrays(shape: &Shape, source: &mut Source, momentum: bool) -> [[Vec<Complex32>; 2]; 2] {
    let lengths = [shape.object_elements(), shape.probe_elements()];
    let values = lengths.map(|length| source.complex(length));
    let velocities = lengths.map(|length| source.complex(if momentum { length } else { 0 }));
    [values, velocities]
}

fn pack<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, momentum: bool) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("packed regions", &shape);
    let elements = shape.probe_elements();
    let [[object, probe], [velocity, probe_velocity]] = arrays(&shape, &mut source, momentum);
    // Every second tile, from the last one on.
    let chosen: Vec<u32> = (0..tile_count(&shape) as u32).rev().step_by(2).collect();
    let shares = source.reals(chosen.len(), 0.1, 1.0);
    let length = region_values(chosen.len(), elements, momentum);
    let before = source.complex(BEFORE + length);
    let mut expected = all_wide(&before[..BEFORE]);
    let grids = [Some(&object), momentum.then_some(&velocity)];
    for grid in grids.into_iter().flatten() {
        for (tile, share) in chosen.iter().zip(&shares) {
            let value = |pixel: Option<usize>| match pixel {
                Some(pixel) => wide(grid[pixel]) * f64::from(*share),
                None => Complex::default(),
            };
            let pixels = pixels_of(&shape, *tile as usize);
            expected.extend(pixels.into_iter().map(value));
        }
    }
    expected.extend(all_wide(&probe));
    expected.extend(all_wide(&probe_velocity));
    let (object, velocity) = (on.upload(&object)?, on.upload(&velocity)?);
    let (probe, probe_velocity) = (on.upload(&probe)?, on.upload(&probe_velocity)?);
    let (chosen, shares) = (on.upload(&chosen)?, on.upload(&shares)?);
    bench.run(
        Case::of::<PtychoPackRegion<'_, Emulated>>(format!("{shape}, momentum {momentum}")),
        on.upload(&before)?,
        |device, packed| {
            let launch = PtychoPackRegion {
                capacity: packed.len() as u32,
                packed: packed.write(),
                object: object.read(),
                velocity: velocity.read(),
                probe: probe.read(),
                probe_velocity: probe_velocity.read(),
                tiles: chosen.read(),
                shares: shares.read(),
                first: BEFORE as u32,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                elements: elements as u32,
                velocities: velocity.len() as u32,
                probe_velocities: probe_velocity.len() as u32,
                entries: chosen.len() as u32,
            };
            device.launch(&launch, Work::Elements(length))
        },
        |on, packed| on.error(packed, &expected),
    )
}

fn wide(value: Complex32) -> Complex<f64> {
    Complex::new(f64::from(value.re), f64::from(value.im))
}

fn merge<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, momentum: bool) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("merged regions", &shape);
    let elements = shape.probe_elements();
    let [values, velocities] = arrays(&shape, &mut source, momentum);
    // All tiles but the second, of none to four regions.
    let chosen: Vec<u32> = (0..tile_count(&shape) as u32)
        .filter(|tile| *tile != 1)
        .collect();
    let mut counts = [0_usize; 4];
    let entry = |tile: &u32| {
        let mut numbers = [NO_ENTRY; 4];
        for region in (0..4).filter(|region| (tile >> region) & 1 == 0) {
            numbers[region] = counts[region] as u32;
            counts[region] += 1;
        }
        numbers
    };
    let entries: Vec<[u32; 4]> = chosen.iter().map(entry).collect();
    let lengths = counts.map(|count| region_values(count, elements, momentum));
    let begins: [usize; 4] = std::array::from_fn(|region| lengths[..region].iter().sum());
    let all = source.complex(lengths.iter().sum());
    let mut grids = [all_wide(&values[0]), all_wide(&velocities[0])];
    for (number, grid) in grids.iter_mut().enumerate().take(1 + usize::from(momentum)) {
        for (tile, numbers) in chosen.iter().zip(&entries) {
            for (within, pixel) in pixels_of(&shape, *tile as usize).into_iter().enumerate() {
                let part = |region: usize| {
                    let first = begins[region] + number * counts[region] * TILE;
                    let known = numbers[region] != NO_ENTRY;
                    known.then(|| wide(all[first + numbers[region] as usize * TILE + within]))
                };
                if let Some(pixel) = pixel {
                    grid[pixel] = (0..4).filter_map(part).sum();
                }
            }
        }
    }
    let mean = |number: usize| -> Vec<Complex<f64>> {
        let of = |at: usize| -> Complex<f64> {
            let part = |region: usize| {
                let ends = begins[region] + lengths[region];
                let last = if momentum { 2 } else { 1 };
                wide(all[ends - (last - number) * elements + at])
            };
            (0..4).map(part).sum::<Complex<f64>>() / 4.0
        };
        (0..elements).map(of).collect()
    };
    let probes = [mean(0), if momentum { mean(1) } else { Vec::new() }];
    let regions: Vec<[u32; 2]> = (begins.iter().zip(counts))
        .map(|(begin, count)| [*begin as u32, count as u32])
        .collect();
    let (all, regions) = (on.upload(&all)?, on.upload(&regions)?);
    let (chosen, entries) = (on.upload(&chosen)?, on.upload(&entries)?);
    bench.run(
        Case::of::<PtychoMergeRegions<'_, Emulated>>(format!("{shape}, momentum {momentum}")),
        (
            (on.upload(&values[0])?, on.upload(&velocities[0])?),
            (on.upload(&values[1])?, on.upload(&velocities[1])?),
        ),
        |device, ((object, velocity), (probe, probe_velocity))| {
            let launch = PtychoMergeRegions {
                velocities: velocity.len() as u32,
                probe_velocities: probe_velocity.len() as u32,
                object: object.write(),
                velocity: velocity.write(),
                probe: probe.write(),
                probe_velocity: probe_velocity.write(),
                all: all.read(),
                regions: regions.read(),
                tiles: chosen.read(),
                entries: entries.read(),
                length: all.len() as u32,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                elements: elements as u32,
                count: chosen.len() as u32,
            };
            let length = region_values(chosen.len(), elements, momentum);
            device.launch(&launch, Work::Elements(length))
        },
        |on, ((object, velocity), (probe, probe_velocity))| {
            let mut worst = 0.0_f64;
            for (found, expected) in [
                (object, &grids[0]),
                (velocity, &grids[1]),
                (probe, &probes[0]),
                (probe_velocity, &probes[1]),
            ] {
                worst = worst.max(on.error(found, expected)?);
            }
            Ok(worst)
        },
    )
}
