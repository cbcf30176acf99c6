//! The kernels `ptycho_probe_change` and `ptycho_centring_shift`, which reduce over the whole
//! probe.

use super::shape::{Shape, Source};
use crate::engines::cpu::centring_shift;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    centring_shift::PtychoCentringShift, probe_change::PtychoProbeChange,
};
use warpstride_selftest::bench::{Bench, Case, wide};

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    // ‖ΔP‖/‖P‖ is 1/4. A closed gate stays closed.
    for (tolerance, closed) in [(0.2, false), (0.3, false), (0.2, true)] {
        change(bench, shape, tolerance, closed)?;
    }
    // Always beyond the tolerance, always within it, and a dark probe.
    for (tolerance, brightness) in [(0.0, 1.0), (1e6, 1.0), (0.0, 0.0)] {
        centring(bench, shape, tolerance, brightness)?;
    }
    Ok(())
}

fn change<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    tolerance: f32,
    closed: bool,
) -> Result<()> {
    let on = bench.on();
    let elements = shape.probe_elements();
    let start = Source::new("change", &shape).complex(elements);
    let end: Vec<_> = start.iter().map(|p| p.scale(0.75)).collect();
    let moved: f64 = start
        .iter()
        .zip(&end)
        .map(|(a, b)| (wide(*a) - wide(*b)).norm_sqr())
        .sum();
    let norm: f64 = start.iter().map(|p| wide(*p).norm_sqr()).sum();
    let reference = u32::from(closed || moved < f64::from(tolerance).powi(2) * norm);
    let before = on.upload(&start)?;
    let after = on.upload(&end)?;
    let gate = if closed { "closed" } else { "open" };
    bench.run(
        Case::of::<PtychoProbeChange<'_, Emulated>>(format!(
            "{elements} elements, change 0.25 against {tolerance}, gate {gate}"
        ))
        .exact()
        .timed(shape.timed, 16 * elements),
        on.gate(closed)?,
        |device, gate| {
            let launch = PtychoProbeChange {
                before: before.read(),
                after: after.read(),
                gate: gate.write(),
                elements: elements as u32,
                tolerance,
            };
            device.launch(&launch, Work::Blocks(1))
        },
        |on, gate| on.error(gate, &[reference]),
    )
}

fn centring<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    tolerance: f32,
    brightness: f32,
) -> Result<()> {
    let on = bench.on();
    let Shape { rows, columns, .. } = shape;
    let mut powers = Source::new("centring", &shape).reals(shape.pixels(), 0.0, brightness);
    let mut sums = [0.0; 3];
    for (pixel, power) in powers.iter_mut().enumerate() {
        let [row, column] = [pixel / columns as usize, pixel % columns as usize];
        // Brighter towards the lower right.
        *power *= (row * row) as f32 + 2.0 * column as f32 + 1.0;
        let factors = [1.0, row as f64, column as f64];
        sums.iter_mut()
            .zip(factors)
            .for_each(|(sum, factor)| *sum += factor * f64::from(*power));
    }
    let centre = [rows as usize / 2, columns as usize / 2];
    let reference = centring_shift(sums, centre, f64::from(tolerance));
    let power = on.upload(&powers)?;
    bench.run(
        Case::of::<PtychoCentringShift<'_, Emulated>>(format!(
            "{rows} × {columns}, moves {reference:?}, tolerance {tolerance}"
        ))
        .exact()
        .timed(shape.timed, 4 * shape.pixels()),
        on.poisoned::<i32>(2)?,
        |device, shift| {
            let launch = PtychoCentringShift {
                power: power.read(),
                shift: shift.write(),
                rows,
                columns,
                tolerance,
            };
            device.launch(&launch, Work::Blocks(1))
        },
        |on, shift| on.error(shift, &reference),
    )
}
