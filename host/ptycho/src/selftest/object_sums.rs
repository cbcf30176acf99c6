//! The kernels around the fused step: `ptycho_fluence`, `ptycho_object_from_sums`,
//! `ptycho_roll_frames`, whose waves are in single precision or in bf16, `ptycho_wave_limit`, and
//! the sums of several devices: `ptycho_add_ranks`.

use super::fused_step::exponent;
use super::shape::{Shape, Source};
use super::waves::{self, STORED, Waves};
use crate::GpuWaves;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    fluence::{FLUENCE_ROWS, PtychoFluence, fluence_tiles},
    object_from_sums::PtychoObjectFromSums,
    rank_sums::PtychoAddRanks,
    roll_frames::{PtychoRollFrames, PtychoRollFramesBf16},
    tile_frames::TILE_COLUMNS,
    wave_limit::{HEADROOM, PtychoWaveLimit},
};
use warpstride_selftest::bench::{Bench, Case, relative_error, wide};

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    fluence(bench, shape)?;
    for (weight, clip, update) in [
        (0.0, [0.0, -1.0], 1),
        (0.3, [0.4, 0.9], 1),
        (0.3, [0.0, 0.5], 0),
    ] {
        for count in [0, 1, 2] {
            from_sums(bench, shape, (weight, clip, update), count)?;
        }
    }
    for shift in [[0, 0], [1, -2], [-7, 3]] {
        for stored in STORED {
            roll(bench, shape, stored, shift)?;
        }
    }
    for ranks in [1, 2, 3] {
        of_ranks(bench, shape, ranks)?;
    }
    limit(bench, shape)
}

/// Where the windows of each tile begin, then the end; and their corners.
fn windows_of_tiles(shape: &Shape, corners: &[[u32; 2]]) -> (Vec<u32>, Vec<[u32; 2]>) {
    let touches = |first: u32, tile: u32, from: u32, length: u32| {
        from < first + tile && from + length > first
    };
    let (mut starts, mut listed) = (vec![0], Vec::new());
    for row in (0..shape.object_rows).step_by(FLUENCE_ROWS as usize) {
        for column in (0..shape.object_columns).step_by(TILE_COLUMNS as usize) {
            let of_tile = |&&[top, left]: &&[u32; 2]| {
                touches(row, FLUENCE_ROWS, top, shape.rows)
                    && touches(column, TILE_COLUMNS, left, shape.columns)
            };
            listed.extend(corners.iter().filter(of_tile));
            starts.push(listed.len() as u32);
        }
    }
    (starts, listed)
}

fn fluence<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    const WINDOWS: u32 = 21;
    const LIMIT: f32 = 3.5;
    let on = bench.on();
    let mut source = Source::new("fluence", &shape);
    let power = source.reals(shape.pixels(), 0.1, 1.0);
    let corners = source.corners(&shape);
    let mut reference = vec![0.0; shape.object_elements()];
    for at in shape.indices(&corners).filter(|at| at.first_mode) {
        reference[at.object] += f64::from(power[at.pixel]);
    }
    let power = on.upload(&power)?;
    let (begins, listed) = windows_of_tiles(&shape, &corners);
    let starts = on.upload(&begins)?;
    let corners = on.upload(&listed)?;
    let limit = on.upload(&[LIMIT])?;
    let tiles = fluence_tiles(shape.object_rows, shape.object_columns);
    bench.run(
        Case::of::<PtychoFluence<'_, Emulated>>(shape.to_string())
            .timed(shape.timed, 4 * shape.object_elements()),
        (
            on.poisoned::<f32>(shape.object_elements())?,
            on.poisoned::<u8>(shape.object_elements())?,
        ),
        |device, (fluence, quanta)| {
            // In two parts, as two devices have them.
            for [first, end] in [[0, tiles / 2], [tiles / 2, tiles]] {
                let launch = PtychoFluence {
                    fluence: fluence.write(),
                    quanta: quanta.write(),
                    limit: limit.read(),
                    windows: WINDOWS,
                    power: power.read(),
                    starts: starts.read(),
                    corners: corners.read(),
                    tiles,
                    listed: listed.len() as u32,
                    rows: shape.rows,
                    columns: shape.columns,
                    object_rows: shape.object_rows,
                    object_columns: shape.object_columns,
                    first,
                    end,
                };
                device.launch(&launch, Work::Blocks((end - first) as usize))?;
            }
            Ok(())
        },
        |on, (fluence, quanta)| {
            let mut found = vec![0_u8; reference.len()];
            on.download(quanta, &mut found)?;
            // A power of two with which the bound of a sum is one to two billion units.
            let right = found.iter().zip(&reference).all(|(exponent, fluence)| {
                let bound = (2.0 * f64::from(WINDOWS) * fluence).sqrt() * f64::from(LIMIT);
                let units = bound * (f64::from(*exponent) - 127.0).exp2();
                let normal = (1..255).contains(exponent);
                normal && (*fluence == 0.0 || (0.999e9..2.001e9).contains(&units))
            });
            let error = on.error(fluence, &reference)?;
            Ok(if right { error } else { f64::INFINITY })
        },
    )
}

fn of_ranks<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, ranks: usize) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("ranks", &shape);
    let elements = shape.object_elements();
    let numerators = source.complex(ranks * elements);
    let weights = source.reals(ranks * elements, 0.1, 2.0);
    let of = |element: usize| (0..ranks).map(move |rank| rank * elements + element);
    let expected: Vec<_> = (0..elements)
        .map(|n| of(n).map(|at| wide(numerators[at])).sum())
        .collect();
    let expected_weights: Vec<f64> = (0..elements)
        .map(|n| of(n).map(|at| f64::from(weights[at])).sum())
        .collect();
    let (all, all_weights) = (on.upload(&numerators)?, on.upload(&weights)?);
    let gate = on.gate(false)?;
    let text = format!("{shape}, {ranks} ranks");
    bench.run(
        Case::of::<PtychoAddRanks<'_, Emulated>>(text.clone()),
        (
            on.upload(&vec![Complex32::ZERO; elements])?,
            on.upload(&vec![7.0_f32; elements])?,
        ),
        |device, (to, to_weights)| {
            let launch = PtychoAddRanks {
                numerators: to.write(),
                weights: to_weights.write(),
                all_numerators: all.read(),
                all_weights: all_weights.read(),
                gate: gate.read(),
                ranks: ranks as u32,
                elements: elements as u32,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, (to, to_weights)| {
            let [of_numerators, of_weights] = [
                on.error(to, &expected)?,
                on.error(to_weights, &expected_weights)?,
            ];
            Ok(of_numerators.max(of_weights))
        },
    )
}

/// The sums of `count` + 1 devices on a part of the object.
fn from_sums<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (weight, [low, high], update): (f32, [f32; 2], u32),
    count: usize,
) -> Result<()> {
    let quantum = |pixel: usize| [1024.0_f32, 65_536.0][pixel % 2];
    let on = bench.on();
    let mut source = Source::new("from sums", &shape);
    let elements = shape.object_elements();
    let before = source.complex(elements);
    let parts = source.complex(elements);
    let fluence = source.reals(elements, 0.1, 2.0);
    // Sums up to the largest that fit, of both signs.
    let integer = |v: f32| (v * 2.1e9) as i32;
    let packed = |v: &Complex32| {
        let [re, im] = [v.re, v.im].map(|v| i64::from(integer(v)));
        ((im << 32) + re) as u64
    };
    // What the other devices have are any numbers; the device's own are what is left to the sum.
    let own = match count {
        0 => 0..elements,
        _ => elements / 3..elements - elements / 4,
    };
    let number = |n: usize| (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let others: Vec<u64> = (0..count * own.len()).map(number).collect();
    let of_others = |pixel: usize| -> u64 {
        let places = (0..count).map(|n| n * own.len() + (pixel - own.start));
        places.fold(0, |sum: u64, at| sum.wrapping_add(others[at]))
    };
    let all = parts.iter().map(packed).enumerate();
    let sums: Vec<u64> = all
        .map(|(pixel, sum)| {
            let rest = if own.contains(&pixel) {
                of_others(pixel)
            } else {
                0
            };
            sum.wrapping_sub(rest)
        })
        .collect();
    let reference: Vec<_> = (before.iter().zip(&parts).zip(&fluence).enumerate())
        .map(|(pixel, ((before, sum), fluence))| {
            let before = wide(*before);
            if update == 0 || !own.contains(&pixel) {
                return before;
            }
            let [re, im] =
                [sum.re, sum.im].map(|v| f64::from(integer(v)) / f64::from(quantum(pixel)));
            let value = (before * f64::from(weight) + Complex::new(re, im))
                / (f64::from(*fluence) + f64::from(weight));
            if high < 0.0 {
                value
            } else {
                value * (value.norm().clamp(f64::from(low), f64::from(high)) / value.norm())
            }
        })
        .collect();
    let fluence = on.upload(&fluence)?;
    let quanta: Vec<u8> = (0..elements).map(quantum).map(exponent).collect();
    let quanta = on.upload(&quanta)?;
    let clip = if high < 0.0 { "" } else { ", clipped" };
    let text = format!("{shape}, weight {weight}{clip}, update {update}, {count} others");
    let others = on.upload(&others)?;
    bench.run(
        Case::of::<PtychoObjectFromSums<'_, Emulated>>(text),
        (on.upload(&before)?, on.upload(&sums)?),
        |device, (object, sums)| {
            let launch = PtychoObjectFromSums {
                object: object.write(),
                sums: sums.write(),
                fluence: fluence.read(),
                quanta: quanta.read(),
                others: others.read(),
                pixels: elements as u32,
                first: own.start as u32,
                own: own.len() as u32,
                count: count as u32,
                update,
                weight,
                clip_low: low,
                clip_high: high,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, (object, sums)| {
            let mut left = vec![1_u64; elements];
            on.download(sums, &mut left)?;
            let cleared = left.iter().all(|sum| *sum == 0);
            let error = on.error(object, &reference)?;
            Ok(if cleared { error } else { f64::INFINITY })
        },
    )
}

fn roll<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    stored: GpuWaves,
    shift: [i32; 2],
) -> Result<()> {
    let on = bench.on();
    let waves = Source::new("roll", &shape).complex(shape.wave_elements());
    let waves = waves::stored(waves, stored);
    let [rows, columns] = [shape.rows as usize, shape.columns as usize];
    let reference: Vec<_> = (0..waves.len())
        .map(|at| {
            let (layer, row, column) = (at / (rows * columns), at / columns % rows, at % columns);
            let from = |place: usize, by: i32, of: usize| {
                (place as i64 - i64::from(by)).rem_euclid(of as i64) as usize
            };
            let (row, column) = (from(row, shift[0], rows), from(column, shift[1], columns));
            wide(waves[(layer * rows + row) * columns + column])
        })
        .collect();
    let by = on.upload(&shift)?;
    let layers = shape.frames * shape.modes;
    bench.run(
        waves::case(
            "ptycho_roll_frames",
            stored,
            format!("{shape}, by {shift:?}"),
        )
        .exact(),
        Waves::upload(on, &waves, stored)?,
        |device, waves| {
            macro_rules! roll {
                ($kernel:ident, $waves:ident) => {
                    device.launch(
                        &$kernel {
                            waves: $waves.write(),
                            shift: by.read(),
                            layers,
                            rows: shape.rows,
                            columns: shape.columns,
                        },
                        Work::Blocks(layers as usize),
                    )
                };
            }
            match waves {
                Waves::F32(waves) => roll!(PtychoRollFrames, waves),
                Waves::Bf16(waves) => roll!(PtychoRollFramesBf16, waves),
            }
        },
        |on, waves| Ok(relative_error(&waves.values(on)?, &reference)),
    )
}

fn limit<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let power = Source::new("limit", &shape).reals(shape.pixels(), 0.1, 1.0);
    let counts = 1e4_f32;
    let total: f64 = power.iter().map(|v| f64::from(*v)).sum();
    let most = power
        .iter()
        .fold(0.0_f64, |most, v| most.max(f64::from(*v)));
    let reference = f64::from(HEADROOM) * (most * f64::from(counts) / total).sqrt();
    let power = on.upload(&power)?;
    bench.run(
        Case::of::<PtychoWaveLimit<'_, Emulated>>(shape.to_string()),
        (on.poisoned::<f32>(1)?, on.poisoned::<u32>(1)?),
        |device, (limit, exceeding)| {
            let launch = PtychoWaveLimit {
                power: power.read(),
                limit: limit.write(),
                exceeding: exceeding.write(),
                pixels: shape.pixels() as u32,
                counts,
            };
            device.launch(&launch, Work::Blocks(1))
        },
        |on, (limit, exceeding)| {
            Ok(on
                .error(limit, &[reference])?
                .max(on.error(exceeding, &[0])?))
        },
    )
}
