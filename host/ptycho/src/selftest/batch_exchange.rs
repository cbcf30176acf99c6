//! The kernels `ptycho_pack_sums` and `ptycho_add_sums`.

use super::shape::{Shape, Source};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    batch_exchange::{PtychoAddSums, PtychoPackSums, packed_values},
    pie_pass::{OBJECT, PROBE},
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide};

/// An arbitrary factor on the probe's sums.
const SCALE: f32 = 0.37;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for updates in [OBJECT | PROBE, OBJECT, PROBE] {
        pack(bench, shape, updates)?;
        for devices in [2, 4] {
            add(bench, shape, updates, devices)?;
        }
    }
    Ok(())
}

/// The middle of the object: bounds, and the places of their pixels.
fn middle(shape: &Shape) -> ([u32; 4], Vec<usize>) {
    let [rows, columns] = [shape.object_rows, shape.object_columns];
    let bounds = [
        rows / 4,
        columns / 3,
        rows - rows / 5,
        columns - columns / 4,
    ];
    let [top, left, bottom, right] = bounds;
    let of_row = |row: u32| (left..right).map(move |column| (row * columns + column) as usize);
    (bounds, (top..bottom).flat_map(of_row).collect())
}

fn pack<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, updates: u32) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("packed sums", &shape);
    let (elements, pixels) = (shape.probe_elements(), shape.pixels());
    let [numerators, sums] =
        [shape.object_elements(), elements].map(|length| source.complex(length));
    let [weights, probe_weights] =
        [shape.object_elements(), pixels].map(|length| source.reals(length, 0.1, 2.0));
    let (bounds, within) = middle(&shape);
    let length = packed_values(within.len(), elements, pixels);
    let before = source.reals(length + 3, 0.0, 1.0);
    let mut expected = all_f64(&before);
    let (of_object, of_probe) = expected.split_at_mut(3 * within.len());
    if updates & OBJECT != 0 {
        for (to, at) in of_object.chunks_exact_mut(3).zip(&within) {
            let values = [numerators[*at].re, numerators[*at].im, weights[*at]];
            to.copy_from_slice(&values.map(f64::from));
        }
    }
    if updates & PROBE != 0 {
        let parts = sums.iter().flat_map(|sum| [sum.re, sum.im]);
        for (to, value) in of_probe.iter_mut().zip(parts.chain(probe_weights.clone())) {
            *to = f64::from(value);
        }
    }
    let (numerators, weights) = (on.upload(&numerators)?, on.upload(&weights)?);
    let (sums, probe_weights) = (on.upload(&sums)?, on.upload(&probe_weights)?);
    let given_bounds = on.upload(&[[0; 4], bounds])?;
    bench.run(
        Case::of::<PtychoPackSums<'_, Emulated>>(format!("{shape}, updates {updates}")),
        on.upload(&before)?,
        |device, packed| {
            let capacity = packed.len() as u32;
            let launch = PtychoPackSums {
                packed: packed.write(),
                numerators: numerators.read(),
                weights: weights.read(),
                sums: sums.read(),
                probe_weights: probe_weights.read(),
                given_bounds: given_bounds.read(),
                capacity,
                batches: 2,
                batch: 1,
                object_elements: shape.object_elements() as u32,
                columns: shape.object_columns,
                elements: elements as u32,
                pixels: pixels as u32,
                updates,
            };
            device.launch(&launch, Work::Elements(length))
        },
        |on, packed| on.error(packed, &expected),
    )
}

fn add<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    updates: u32,
    devices: usize,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("sums of devices", &shape);
    let (elements, pixels) = (shape.probe_elements(), shape.pixels());
    let (bounds, within) = middle(&shape);
    let length = packed_values(within.len(), elements, pixels);
    let all = source.reals(devices * length, 0.1, 1.0);
    let total = |at: usize| -> f64 {
        let of_devices = (0..devices).map(|device| f64::from(all[device * length + at]));
        of_devices.sum()
    };
    let old = [shape.object_elements(), elements].map(|length| source.complex(length));
    let old_weights = [shape.object_elements(), pixels].map(|n| source.reals(n, 0.0, 0.1));
    let mut numerators = old.each_ref().map(|values| all_wide(values));
    let mut weights = old_weights.each_ref().map(|values| all_f64(values));
    let mut most = [0.0_f64; 2];
    if updates & OBJECT != 0 {
        for (n, at) in within.iter().enumerate() {
            numerators[0][*at] = Complex::new(total(3 * n), total(3 * n + 1));
            weights[0][*at] = total(3 * n + 2);
            most[0] = most[0].max(weights[0][*at]);
        }
    }
    if updates & PROBE != 0 {
        let first = 3 * within.len();
        for (n, sum) in numerators[1].iter_mut().enumerate() {
            let value = Complex::new(total(first + 2 * n), total(first + 2 * n + 1));
            *sum = value * f64::from(SCALE);
        }
        for (n, weight) in weights[1].iter_mut().enumerate() {
            *weight = total(first + 2 * elements + n);
            most[1] = most[1].max(*weight);
        }
    }
    let all = on.upload(&all)?;
    let given_bounds = on.upload(&[[0; 4], bounds])?;
    bench.run(
        Case::of::<PtychoAddSums<'_, Emulated>>(format!(
            "{shape}, updates {updates}, {devices} devices"
        )),
        (
            (on.upload(&old[0])?, on.upload(&old_weights[0])?),
            (on.upload(&old[1])?, on.upload(&old_weights[1])?),
            on.upload(&[0_u32; 2])?,
        ),
        |device, ((numerators, weights), (sums, probe_weights), largest)| {
            let launch = PtychoAddSums {
                numerators: numerators.write(),
                weights: weights.write(),
                sums: sums.write(),
                probe_weights: probe_weights.write(),
                largest: largest.write(),
                all: all.read(),
                given_bounds: given_bounds.read(),
                batches: 2,
                batch: 1,
                devices: devices as u32,
                length: length as u32,
                object_elements: shape.object_elements() as u32,
                columns: shape.object_columns,
                elements: elements as u32,
                pixels: pixels as u32,
                updates,
                scale: SCALE,
            };
            device.launch(&launch, Work::Elements(length))
        },
        |on, (object, probe, largest)| {
            let mut bits = [0_u32; 2];
            on.download(largest, &mut bits)?;
            let mut worst = 0.0_f64;
            for (bits, most) in bits.iter().zip(most) {
                let found = f64::from(f32::from_bits(*bits));
                worst = worst.max((found - most).abs() / most.max(1e-30));
            }
            for (n, (sums, of)) in [object, probe].into_iter().enumerate() {
                worst = worst.max(on.error(sums, &numerators[n])?);
                worst = worst.max(on.error(of, &weights[n])?);
            }
            Ok(worst)
        },
    )
}
