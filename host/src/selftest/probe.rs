//! What is judged of the probe as a whole: `probe_change` and `centring_shift`.

use super::bench::{Bench, Case, wide};
use super::shape::{Shape, Source};
use crate::gpu::{Buffer, Machine, Result};
use crate::ptycho::cpu::centring_shift;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{centring_shift::CentringShift, probe_change::ProbeChange};

pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    // ‖ΔP‖/‖P‖ is 1/4. A gate once shut stays shut.
    for (tolerance, shut) in [(0.2, false), (0.3, false), (0.2, true)] {
        change(bench, shape, tolerance, shut)?;
    }
    // Always beyond, always within, and a dark probe.
    for (tolerance, brightness) in [(0.0, 1.0), (1e6, 1.0), (0.0, 0.0)] {
        centring(bench, shape, tolerance, brightness)?;
    }
    Ok(())
}

fn change<M: Machine>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    tolerance: f32,
    shut: bool,
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
    let reference = u32::from(shut || moved < f64::from(tolerance).powi(2) * norm);
    let before = on.upload(&start)?;
    let after = on.upload(&end)?;
    let gate = if shut { "shut" } else { "open" };
    bench.run(
        Case::of::<ProbeChange<'_, Emulated>>(format!(
            "{elements} elements, change 0.25 against {tolerance}, gate {gate}"
        ))
        .exact()
        .timed(shape.timed, 16 * elements),
        on.gate(shut)?,
        |machine, gate| {
            let launch = ProbeChange {
                before: before.read(),
                after: after.read(),
                gate: gate.write(),
                elements: elements as u32,
                tolerance,
            };
            machine.launch(&launch, Work::Blocks(1))
        },
        |on, gate| on.error(gate, &[reference]),
    )
}

fn centring<M: Machine>(
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
        // Brighter on the lower right.
        *power *= (row * row) as f32 + 2.0 * column as f32 + 1.0;
        let place = [1.0, row as f64, column as f64];
        sums.iter_mut()
            .zip(place)
            .for_each(|(sum, by)| *sum += by * f64::from(*power));
    }
    let centre = [rows as usize / 2, columns as usize / 2];
    let reference = centring_shift(sums, centre, f64::from(tolerance));
    let power = on.upload(&powers)?;
    bench.run(
        Case::of::<CentringShift<'_, Emulated>>(format!(
            "{rows} × {columns}, moves {reference:?}, tolerance {tolerance}"
        ))
        .exact()
        .timed(shape.timed, 4 * shape.pixels()),
        on.poisoned::<i32>(2)?,
        |machine, shift| {
            let launch = CentringShift {
                power: power.read(),
                shift: shift.write(),
                rows,
                columns,
                tolerance,
            };
            machine.launch(&launch, Work::Blocks(1))
        },
        |on, shift| on.error(shift, &reference),
    )
}
