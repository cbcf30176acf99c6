//! `copy_waves`, `layer_power`, `phase_ramp_layers`, `roll_layers` and `scale_layers`.

use super::bench::{Bench, Case, all_wide, wide};
use super::object_update::gate_word;
use super::shape::{Shape, Source};
use crate::gpu::{Buffer, Machine, Result};
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    copy_waves::CopyWaves, layer_power::LayerPower, phase_ramp_layers::PhaseRampLayers,
    roll_layers::RollLayers, scale_layers::ScaleLayers,
};

/// By rows and columns: not at all, a little, by more than a frame, as far as numbers go.
const SHIFTS: [[i32; 2]; 4] = [[0, 0], [1, -2], [-300, 37], [i32::MIN, i32::MAX]];

pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    power(bench, shape)?;
    for shut in [false, true] {
        copy(bench, shape, shut)?;
        scale(bench, shape, shut)?;
    }
    for shift in SHIFTS {
        ramp(bench, shape, shift)?;
        for back in [0, 1] {
            roll(bench, shape, shift, back)?;
        }
    }
    Ok(())
}

fn copy<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape, shut: bool) -> Result<()> {
    let on = bench.on();
    let elements = shape.wave_elements();
    let mut source = Source::new("copy", &shape);
    let [old, new] = [0, 1].map(|_| source.complex(elements));
    let reference = all_wide(if shut { &old } else { &new });
    let from = on.upload(&new)?;
    let gate = on.gate(shut)?;
    bench.run(
        Case::of::<CopyWaves<'_, Emulated>>(format!("{elements} elements{}", gate_word(shut)))
            .exact()
            .timed(shape.timed && !shut, 16 * elements),
        on.upload(&old)?,
        |machine, to| {
            let elements = elements as u32;
            let launch = CopyWaves {
                to: to.write(),
                from: from.read(),
                gate: gate.read(),
                elements,
            };
            machine.launch(&launch, Work::Elements(elements as usize))
        },
        |on, to| on.error(to, &reference),
    )
}

fn power<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.modes);
    let probe = Source::new("power", &shape).complex(shape.probe_elements());
    let of_modes = |pixel| probe.iter().skip(pixel).step_by(pixels);
    let reference: Vec<f64> = (0..pixels)
        .map(|pixel| of_modes(pixel).map(|p| wide(*p).norm_sqr()).sum())
        .collect();
    let waves = on.upload(&probe)?;
    bench.run(
        Case::of::<LayerPower<'_, Emulated>>(format!("{layers} × {pixels}"))
            .timed(shape.timed, 8 * probe.len() + 4 * pixels),
        on.poisoned::<f32>(pixels)?,
        |machine, power| {
            let (waves, power) = (waves.read(), power.write());
            let launch = LayerPower {
                waves,
                power,
                layers,
                pixels: pixels as u32,
            };
            machine.launch(&launch, Work::Elements(pixels))
        },
        |on, power| on.error(power, &reference),
    )
}

fn scale<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape, shut: bool) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.modes);
    let factor = 0.7_f32;
    let mut source = Source::new("scale", &shape);
    let before = source.complex(shape.probe_elements());
    let inside = source.support(pixels);
    let one = |(at, wave)| {
        let factor = f64::from(factor) * f64::from(inside[at % pixels]);
        wide(wave) * if shut { 1.0 } else { factor }
    };
    let reference: Vec<Complex<f64>> = before.iter().copied().enumerate().map(one).collect();
    let weights = on.upload(&inside)?;
    let gate = on.gate(shut)?;
    bench.run(
        Case::of::<ScaleLayers<'_, Emulated>>(format!("{layers} × {pixels}{}", gate_word(shut)))
            .timed(shape.timed && !shut, 16 * before.len() + 4 * pixels),
        on.upload(&before)?,
        |machine, waves| {
            let launch = ScaleLayers {
                waves: waves.write(),
                weights: weights.read(),
                gate: gate.read(),
                layers,
                pixels: pixels as u32,
                factor,
            };
            machine.launch(&launch, Work::Elements(before.len()))
        },
        |on, waves| on.error(waves, &reference),
    )
}

fn roll<M: Machine>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    shift: [i32; 2],
    back: u32,
) -> Result<()> {
    let on = bench.on();
    let Shape {
        rows,
        columns,
        modes: layers,
        ..
    } = shape;
    let elements = shape.probe_elements();
    let mut source = Source::new("roll", &shape);
    let [old, new] = [0, 1].map(|_| source.complex(elements));
    let mut reference = all_wide(if shift == [0, 0] { &old } else { &new });
    if shift != [0, 0] && back == 0 {
        // To where it goes, not from where it comes.
        let moved = |place: usize, by: i32, len: u32| {
            (place as i64 + i64::from(by)).rem_euclid(i64::from(len)) as usize
        };
        for (at, wave) in new.iter().enumerate() {
            let (line, column) = (at / columns as usize, at % columns as usize);
            let (layer, row) = (line / rows as usize, line % rows as usize);
            let row = moved(row, shift[0], rows);
            let column = moved(column, shift[1], columns);
            reference[(layer * rows as usize + row) * columns as usize + column] = wide(*wave);
        }
    }
    let from = on.upload(&new)?;
    let by = on.upload(&shift)?;
    let way = if back == 0 { "out" } else { "home" };
    bench.run(
        Case::of::<RollLayers<'_, Emulated>>(format!(
            "{layers} × {rows} × {columns}, by {shift:?}, {way}"
        ))
        .exact()
        .timed(shape.timed && shift != [0, 0], 16 * elements),
        on.upload(&old)?,
        |machine, to| {
            let (to, from, shift) = (to.write(), from.read(), by.read());
            let launch = RollLayers {
                to,
                from,
                shift,
                layers,
                rows,
                columns,
                back,
            };
            machine.launch(&launch, Work::Elements(elements))
        },
        |on, to| on.error(to, &reference),
    )
}

fn ramp<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape, shift: [i32; 2]) -> Result<()> {
    let on = bench.on();
    let Shape { rows, columns, .. } = shape;
    let layers = shape.frames * shape.modes;
    let before = Source::new("ramp", &shape).complex(shape.wave_elements());
    let turns = |k: usize, by: i32, len: u32| {
        (k as i64 * i64::from(by)).rem_euclid(i64::from(len)) as f64 / f64::from(len)
    };
    let one = |(at, wave)| {
        let (line, column) = (at / columns as usize, at % columns as usize);
        let turns = turns(line % rows as usize, shift[0], rows) + turns(column, shift[1], columns);
        wide(wave) * Complex::cis(-TAU * turns)
    };
    let reference: Vec<Complex<f64>> = before.iter().copied().enumerate().map(one).collect();
    let by = on.upload(&shift)?;
    bench.run(
        Case::of::<PhaseRampLayers<'_, Emulated>>(format!(
            "{layers} × {rows} × {columns}, by {shift:?}"
        ))
        .timed(shape.timed && shift != [0, 0], 16 * before.len()),
        on.upload(&before)?,
        |machine, spectra| {
            let (spectra, shift) = (spectra.write(), by.read());
            let launch = PhaseRampLayers {
                spectra,
                shift,
                layers,
                rows,
                columns,
            };
            machine.launch(&launch, Work::Elements(before.len()))
        },
        |on, spectra| on.error(spectra, &reference),
    )
}
