//! The kernels `ptycho_copy_waves`, `ptycho_layer_power`, `ptycho_near_field_factors`, `ptycho_phase_ramp_layers`,
//! `ptycho_roll_layers` and `ptycho_scale_layers`.

use super::bench::{Bench, Case, all_wide, wide};
use super::object_update::gate_label;
use super::shape::{Shape, Source};
use crate::gpu::{Buffer, Device, Result};
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    copy_waves::PtychoCopyWaves, layer_power::PtychoLayerPower,
    near_field_factors::PtychoNearFieldFactors, phase_ramp_layers::PtychoPhaseRampLayers,
    roll_layers::PtychoRollLayers, scale_layers::PtychoScaleLayers,
};

/// Shifts in rows and columns: none, small, larger than a frame, the extremes of i32.
const SHIFTS: [[i32; 2]; 4] = [[0, 0], [1, -2], [-300, 37], [i32::MIN, i32::MAX]];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    power(bench, shape)?;
    for closed in [false, true] {
        copy(bench, shape, closed)?;
        scale(bench, shape, closed)?;
        near_field(bench, shape, closed)?;
    }
    for shift in SHIFTS {
        ramp(bench, shape, shift)?;
        for back in [0, 1] {
            roll(bench, shape, shift, back)?;
        }
    }
    Ok(())
}

fn copy<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, closed: bool) -> Result<()> {
    let on = bench.on();
    let elements = shape.wave_elements();
    let mut source = Source::new("copy", &shape);
    let [old, new] = [0, 1].map(|_| source.complex(elements));
    let reference = all_wide(if closed { &old } else { &new });
    let from = on.upload(&new)?;
    let gate = on.gate(closed)?;
    bench.run(
        Case::of::<PtychoCopyWaves<'_, Emulated>>(format!(
            "{elements} elements{}",
            gate_label(closed)
        ))
        .exact()
        .timed(shape.timed && !closed, 16 * elements),
        on.upload(&old)?,
        |device, to| {
            let elements = elements as u32;
            let launch = PtychoCopyWaves {
                to: to.write(),
                from: from.read(),
                gate: gate.read(),
                elements,
            };
            device.launch(&launch, Work::Elements(elements as usize))
        },
        |on, to| on.error(to, &reference),
    )
}

fn power<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.modes);
    let probe = Source::new("power", &shape).complex(shape.probe_elements());
    let of_modes = |pixel| probe.iter().skip(pixel).step_by(pixels);
    let reference: Vec<f64> = (0..pixels)
        .map(|pixel| of_modes(pixel).map(|p| wide(*p).norm_sqr()).sum())
        .collect();
    let waves = on.upload(&probe)?;
    bench.run(
        Case::of::<PtychoLayerPower<'_, Emulated>>(format!("{layers} × {pixels}"))
            .timed(shape.timed, 8 * probe.len() + 4 * pixels),
        on.poisoned::<f32>(pixels)?,
        |device, power| {
            let (waves, power) = (waves.read(), power.write());
            let launch = PtychoLayerPower {
                waves,
                power,
                layers,
                pixels: pixels as u32,
            };
            device.launch(&launch, Work::Elements(pixels))
        },
        |on, power| on.error(power, &reference),
    )
}

fn scale<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, closed: bool) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.modes);
    let factor = 0.7_f32;
    let mut source = Source::new("scale", &shape);
    let before = source.complex(shape.probe_elements());
    let inside = source.support(pixels);
    let one = |(at, wave)| {
        let factor = f64::from(factor) * f64::from(inside[at % pixels]);
        wide(wave) * if closed { 1.0 } else { factor }
    };
    let reference: Vec<Complex<f64>> = before.iter().copied().enumerate().map(one).collect();
    let weights = on.upload(&inside)?;
    let gate = on.gate(closed)?;
    bench.run(
        Case::of::<PtychoScaleLayers<'_, Emulated>>(format!(
            "{layers} × {pixels}{}",
            gate_label(closed)
        ))
        .timed(shape.timed && !closed, 16 * before.len() + 4 * pixels),
        on.upload(&before)?,
        |device, waves| {
            let launch = PtychoScaleLayers {
                waves: waves.write(),
                weights: weights.read(),
                gate: gate.read(),
                layers,
                pixels: pixels as u32,
                factor,
            };
            device.launch(&launch, Work::Elements(before.len()))
        },
        |on, waves| on.error(waves, &reference),
    )
}

fn near_field<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, conjugate: bool) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.frames * shape.modes);
    let mut source = Source::new("near field", &shape);
    let before = source.complex(shape.wave_elements());
    let of_pixels = source.complex(pixels);
    let one = |(at, wave)| {
        let factor = wide(of_pixels[at % pixels]);
        wide(wave) * if conjugate { factor.conj() } else { factor }
    };
    let reference: Vec<Complex<f64>> = before.iter().copied().enumerate().map(one).collect();
    let factors = on.upload(&of_pixels)?;
    let direction = if conjugate { "back" } else { "forward" };
    bench.run(
        Case::of::<PtychoNearFieldFactors<'_, Emulated>>(format!(
            "{layers} × {pixels}, {direction}"
        ))
        .timed(shape.timed, 16 * before.len() + 8 * pixels),
        on.upload(&before)?,
        |device, spectra| {
            let launch = PtychoNearFieldFactors {
                spectra: spectra.write(),
                factors: factors.read(),
                layers,
                pixels: pixels as u32,
                conjugate: u32::from(conjugate),
            };
            device.launch(&launch, Work::Elements(before.len()))
        },
        |on, spectra| on.error(spectra, &reference),
    )
}

fn roll<M: Device>(
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
        // Index of the destination, where the kernel computes that of the source.
        let moved = |index: usize, by: i32, len: u32| {
            (index as i64 + i64::from(by)).rem_euclid(i64::from(len)) as usize
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
    let stage = if back == 0 { "to scratch" } else { "back" };
    bench.run(
        Case::of::<PtychoRollLayers<'_, Emulated>>(format!(
            "{layers} × {rows} × {columns}, by {shift:?}, {stage}"
        ))
        .exact()
        .timed(shape.timed && shift != [0, 0], 16 * elements),
        on.upload(&old)?,
        |device, to| {
            let (to, from, shift) = (to.write(), from.read(), by.read());
            let launch = PtychoRollLayers {
                to,
                from,
                shift,
                layers,
                rows,
                columns,
                back,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, to| on.error(to, &reference),
    )
}

fn ramp<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, shift: [i32; 2]) -> Result<()> {
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
        Case::of::<PtychoPhaseRampLayers<'_, Emulated>>(format!(
            "{layers} × {rows} × {columns}, by {shift:?}"
        ))
        .timed(shape.timed && shift != [0, 0], 16 * before.len()),
        on.upload(&before)?,
        |device, spectra| {
            let (spectra, shift) = (spectra.write(), by.read());
            let launch = PtychoPhaseRampLayers {
                spectra,
                shift,
                layers,
                rows,
                columns,
            };
            device.launch(&launch, Work::Elements(before.len()))
        },
        |on, spectra| on.error(spectra, &reference),
    )
}
