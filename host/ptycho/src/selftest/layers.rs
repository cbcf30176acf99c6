//! The kernels `ptycho_copy_waves`, `ptycho_layer_power`, `ptycho_near_field_factors`,
//! `ptycho_phase_ramp_layers`, `ptycho_roll_layers` and `ptycho_scale_layers`.

use super::object_update::gate_label;
use super::shape::{Shape, Source};
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    copy_waves::PtychoCopyWaves, layer_power::PtychoLayerPower,
    near_field_factors::PtychoNearFieldFactors, phase_ramp_layers::PtychoPhaseRampLayers,
    roll_layers::PtychoRollLayers, scale_layers::PtychoScaleLayers,
};
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};

/// Shifts in rows and columns: none, small, larger than a frame, the extremes of i32.
const SHIFTS: [[i32; 2]; 4] = [[0, 0], [1, -2], [-300, 37], [i32::MIN, i32::MAX]];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    power(bench, shape)?;
    for closed in [false, true] {
        copy(bench, shape, closed)?;
        scale(bench, shape, closed)?;
        for (between, derivative) in [(false, 0), (true, 0), (true, 1), (true, 2)] {
            let case = Near {
                conjugate: closed,
                between,
                derivative,
            };
            near_field(bench, shape, case)?;
        }
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

/// How a case of the kernel of near fields differs.
#[derive(Clone, Copy)]
struct Near {
    conjugate: bool,
    /// Whether frames are between pixels.
    between: bool,
    derivative: u32,
}

fn near_field<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, case: Near) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.frames * shape.modes);
    let Near {
        conjugate,
        between,
        derivative,
    } = case;
    let mut source = Source::new("near field", &shape);
    let before = source.complex(shape.wave_elements());
    let of_pixels = source.complex(pixels);
    let beside = match derivative {
        0 => Vec::new(),
        _ => source.complex(shape.wave_elements()),
    };
    let frames = shape.frames as usize;
    // In reverse order, the last frame's layers left out.
    let order: Vec<u32> = (0..shape.frames).rev().collect();
    let fractions: Vec<[f32; 2]> = (0..frames)
        .map(|n| [0, 1].map(|axis| ((7 * n + 3 * axis + 2) % 11) as f32 / 11.0 - 0.5))
        .collect();
    let count = if between {
        shape.frames.saturating_sub(1)
    } else {
        0
    };
    let signed = |k: usize, n: usize| {
        let k = k as f64 - if 2 * k < n { 0.0 } else { n as f64 };
        k / n as f64
    };
    let one = |(at, wave)| {
        let (layer, pixel) = (at / pixels, at % pixels);
        let (row, column) = (
            pixel / shape.columns as usize,
            pixel % shape.columns as usize,
        );
        let frequency = [
            signed(row, shape.rows as usize),
            signed(column, shape.columns as usize),
        ];
        let member = layer / shape.modes as usize;
        let mut factor = wide(of_pixels[pixel]);
        if member < count as usize {
            let [down, across] = fractions[order[member] as usize].map(f64::from);
            factor *= Complex::cis(TAU * (frequency[0] * down + frequency[1] * across));
        }
        let value = wide(wave) * if conjugate { factor.conj() } else { factor };
        match derivative {
            0 => value,
            axis => {
                let by = TAU * frequency[axis as usize - 1];
                value + wide(beside[at]) * Complex::new(0.0, by)
            }
        }
    };
    let reference: Vec<Complex<f64>> = before.iter().copied().enumerate().map(one).collect();
    let factors = on.upload(&of_pixels)?;
    let others = on.upload(&beside)?;
    let of_frames = on.upload(if between { &fractions[..] } else { &[] })?;
    let in_order = on.upload(if between { &order[..] } else { &[] })?;
    let direction = if conjugate { "back" } else { "forward" };
    let place = if between { "between" } else { "whole" };
    bench.run(
        Case::of::<PtychoNearFieldFactors<'_, Emulated>>(format!(
            "{layers} × {pixels}, {direction}, {place} pixels, derivative {derivative}"
        ))
        .timed(
            shape.timed,
            16 * before.len() + 8 * beside.len() + 8 * pixels,
        ),
        on.upload(&before)?,
        |device, spectra| {
            let launch = PtychoNearFieldFactors {
                spectra: spectra.write(),
                beside: others.read(),
                factors: factors.read(),
                fractions: of_frames.read(),
                order: in_order.read(),
                frames: if between { shape.frames } else { 0 },
                first: 0,
                count,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                layers,
                beside_layers: if derivative == 0 { 0 } else { layers },
                derivative,
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
