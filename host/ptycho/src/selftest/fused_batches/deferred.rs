//! The kernel `ptycho_deferred_momentum`, bit for bit: the roundings of a pass over the object for
//! each batch.

use super::super::batch_waves::Batch;
use super::super::shape::{Shape, Source};
use super::sums::bounds_of;
use rand::RngExt;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{deferred_momentum::PtychoDeferredMomentum, tile_frames::tiles};
use warpstride_selftest::bench::{Bench, Case};

/// Batches of the iteration before: in as many a velocity of 1 becomes 0 by roundings, if the
/// momentum is 1/2.
const BEFORE: u32 = 170;

/// Momentum, limits of the object's modulus (none if the upper one is negative), and whether all
/// tiles catch up.
pub(super) const OPTIONS: [(f32, [f32; 2], bool); 4] = [
    (0.5, [0.0, -1.0], false),
    (0.9, [0.3, 0.8], false),
    (0.5, [0.2, 0.9], true),
    (0.97, [0.0, -1.0], true),
];

/// One batch that does not touch a value and its velocity.
fn passed(
    [value, velocity]: [Complex32; 2],
    momentum: f32,
    [low, high]: [f32; 2],
) -> [Complex32; 2] {
    let velocity = Complex32::new(
        f32::mul_add(velocity.re, momentum, 0.0),
        f32::mul_add(velocity.im, momentum, 0.0),
    );
    let sum = Complex32::new(value.re + velocity.re, value.im + velocity.im);
    let modulus = f32::mul_add(sum.re, sum.re, sum.im * sum.im).sqrt();
    let wanted = modulus.max(low).min(high);
    let value = if high < 0.0 || wanted == modulus {
        sum
    } else if modulus > 0.0 {
        let factor = wanted / modulus;
        Complex32::new(sum.re * factor, sum.im * factor)
    } else {
        Complex32::new(wanted, 0.0)
    };
    [value, velocity]
}

/// Velocities of all sizes, also such that become 0 by rounding, and values with zeros of both
/// signs.
fn values(source: &mut Source, len: usize) -> [Vec<Complex32>; 2] {
    let [mut object, mut velocity] = [source.complex(len), source.complex(len)];
    for at in 0..len {
        let factor = [1.0, 1e-3, 0.0, 1e-7, 1e-38, 1e-44, -0.0][at % 7];
        velocity[at] = velocity[at].scale(factor);
        match at % 5 {
            1 => object[at].re = -0.0,
            2 => object[at].im = 0.0,
            3 => object[at] = Complex32::new(-0.0, -0.0),
            _ => {}
        }
    }
    [object, velocity]
}

/// Differing words of a buffer.
fn differences<M: Device>(
    bench: &Bench<'_, M>,
    found: &M::Buffer<Complex32>,
    expected: &[Complex32],
) -> Result<f64> {
    let mut values = vec![Complex32::ZERO; expected.len()];
    bench.on().download(found, &mut values)?;
    let words = |of: &Complex32| [of.re.to_bits(), of.im.to_bits()];
    let pairs = values.iter().zip(expected);
    Ok(pairs.filter(|(a, b)| words(a) != words(b)).count() as f64)
}

pub(super) fn momentum<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (momentum, limits, whole): (f32, [f32; 2], bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("deferred momentum", &shape);
    let batch = Batch::new(&mut source, &shape);
    let windows = source.corners(&shape);
    let [rows, columns] = [shape.object_rows, shape.object_columns];
    let [object, velocity] = values(&mut source, shape.object_elements());
    let count = tiles(rows as usize, columns as usize);
    // Tiles with all batches, with none, and with some.
    let applied: Vec<u32> = (0..count)
        .map(|tile| match tile % 4 {
            0 => 0,
            1 => BEFORE,
            _ => source.random.random_range(0..BEFORE),
        })
        .collect();
    let [top, left, bottom, right] = if whole {
        [0, 0, rows, columns]
    } else {
        bounds_of(&shape, &batch.of(&windows))
    };
    let across = columns.div_ceil(32);
    let is_within = |tile: u32| {
        let (row, column) = (tile / across * 8, tile % across * 32);
        (top..bottom).contains(&row) && (left..right).contains(&column)
    };
    let mut expected = [object.clone(), velocity.clone()];
    for at in 0..object.len() {
        let (row, column) = (at as u32 / columns, at as u32 % columns);
        let tile = row / 8 * across + column / 32;
        if is_within(tile) {
            let mut pair = [object[at], velocity[at]];
            for _ in applied[tile as usize]..BEFORE {
                pair = passed(pair, momentum, limits);
            }
            [expected[0][at], expected[1][at]] = pair;
        }
    }
    let after = if whole { BEFORE } else { BEFORE + 1 };
    let counts: Vec<u32> = (0..)
        .zip(&applied)
        .map(|(tile, count)| if is_within(tile) { after } else { *count })
        .collect();
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&super::values::ranges(&batch))?;
    let given_bounds = on.upload(&[[0_u32; 4]; 0])?;
    let mut outputs = (
        on.upload(&object)?,
        on.upload(&velocity)?,
        on.upload(&applied)?,
    );
    let launch = PtychoDeferredMomentum {
        object: outputs.0.write(),
        velocity: outputs.1.write(),
        applied: outputs.2.write(),
        corners: corners.read(),
        order: order.read(),
        ranges: ranges.read(),
        given_bounds: given_bounds.read(),
        frames: shape.frames,
        most: batch.count + 1,
        batches: ranges.len() as u32,
        batch: 1,
        rows: shape.rows,
        columns: shape.columns,
        object_rows: rows,
        object_columns: columns,
        before: BEFORE,
        given: 0,
        whole: u32::from(whole),
        momentum,
        clip_low: limits[0],
        clip_high: limits[1],
    };
    bench.device().launch(&launch, Work::Turns(count))?;
    let words = differences(bench, &outputs.0, &expected[0])?
        + differences(bench, &outputs.1, &expected[1])?;
    let mut found = vec![0; count];
    on.download(&outputs.2, &mut found)?;
    let wrong = found.iter().zip(&counts).filter(|(a, b)| a != b).count();
    let case = Case::of::<PtychoDeferredMomentum<'_, Emulated>>(format!(
        "{shape}, batch {}, all tiles {whole}, momentum {momentum}, limits {limits:?}: words and counters that differ",
        batch.label()
    ))
    .exact();
    bench.compare(case, &[words + wrong as f64], &[0.0]);
    Ok(())
}
