//! The kernels `ptycho_object_update_tiled`, `ptycho_object_sums_tiled` and
//! `ptycho_object_update_atomic`, which have ψ in single precision or in bf16, and
//! `ptycho_object_finish`.

use super::shape::{Shape, Source};
use super::waves::{self, STORED, Waves};
use crate::GpuWaves;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    object_finish::PtychoObjectFinish,
    object_sums_tiled::{PtychoObjectSumsTiled, PtychoObjectSumsTiledBf16},
    object_update_atomic::{PtychoObjectUpdateAtomic, PtychoObjectUpdateAtomicBf16},
    object_update_tiled::{PtychoObjectUpdateTiled, PtychoObjectUpdateTiledBf16},
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide, wide};

/// Weight, limits of the modulus (none if the upper one is negative), whether the gate is closed.
const OPTIONS: [(f32, [f32; 2], bool); 3] = [
    (0.0, [0.0, -1.0], false),
    (0.3, [0.4, 0.9], false),
    (0.3, [0.0, 0.5], true),
];

/// Factor on the waves; its value is arbitrary.
const SCALE: f32 = 0.6;

/// Object pixels of a tile (rows, columns).
const TILE: [u32; 2] = [8, 32];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for options in OPTIONS {
        for stored in STORED {
            tiled(bench, shape, stored, options)?;
        }
        finish(bench, shape, options)?;
    }
    for (stored, closed) in STORED.into_iter().flat_map(|of| [(of, false), (of, true)]) {
        atomic(bench, shape, stored, closed)?;
        for add in [false, true] {
            tiled_sums(bench, shape, stored, (closed, add))?;
        }
    }
    Ok(())
}

/// Input arrays of a case, and the sums over the frames.
struct Model {
    probe: Vec<Complex32>,
    power: Vec<f32>,
    psi: Vec<Complex32>,
    corners: Vec<[u32; 2]>,
    numerator: Vec<Complex<f64>>,
    denominator: Vec<f64>,
}

impl Model {
    /// The power is independent of the probe, so that the test shows which of them is read.
    fn new(source: &mut Source, shape: &Shape, stored: GpuWaves) -> Self {
        let mut new = Self {
            probe: source.complex(shape.probe_elements()),
            power: source.reals(shape.pixels(), 0.1, 1.0),
            psi: waves::stored(source.complex(shape.wave_elements()), stored),
            corners: source.corners(shape),
            numerator: vec![Complex::default(); shape.object_elements()],
            denominator: vec![0.0; shape.object_elements()],
        };
        for at in shape.indices(&new.corners) {
            new.numerator[at.object] +=
                wide(new.probe[at.probe]).conj() * wide(new.psi[at.wave]) * f64::from(SCALE);
            if at.first_mode {
                new.denominator[at.object] += f64::from(new.power[at.pixel]);
            }
        }
        new
    }
}

/// The object before an update, including a zero, whose phase is undefined when it is clipped.
fn object_before(source: &mut Source, shape: &Shape) -> Vec<Complex32> {
    let mut object = source.complex(shape.object_elements());
    object[shape.object_elements() / 2] = Complex32::ZERO;
    object
}

/// The update by its definition, from the sums.
fn updated(
    before: &[Complex32],
    numerator: &[Complex<f64>],
    denominator: &[f64],
    (weight, [low, high], closed): (f32, [f32; 2], bool),
) -> Vec<Complex<f64>> {
    let [weight, low, high] = [weight, low, high].map(f64::from);
    let one = |((before, numerator), denominator): ((&Complex32, &Complex<f64>), &f64)| {
        let total = denominator + weight;
        let before = wide(*before);
        let value = if total > 0.0 {
            (before * weight + numerator) / total
        } else {
            before
        };
        if closed {
            before
        } else if high < 0.0 {
            value
        } else if value.norm() > 0.0 {
            value * (value.norm().clamp(low, high) / value.norm())
        } else {
            Complex::new(low, 0.0)
        }
    };
    before
        .iter()
        .zip(numerator)
        .zip(denominator)
        .map(one)
        .collect()
}

fn described(shape: &Shape, (weight, [low, high], closed): (f32, [f32; 2], bool)) -> String {
    let clip = if high < 0.0 {
        String::new()
    } else {
        format!(", |O| {low} to {high}")
    };
    format!("{shape}, weight {weight}{clip}{}", gate_label(closed))
}

/// Part of a case's description.
pub(super) fn gate_label(closed: bool) -> &'static str {
    if closed { ", gate closed" } else { "" }
}

fn tiled<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    stored: GpuWaves,
    options: (f32, [f32; 2], bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("tiled object", &shape);
    let model = Model::new(&mut source, &shape, stored);
    let before = object_before(&mut source, &shape);
    let reference = updated(&before, &model.numerator, &model.denominator, options);
    let (weight, [clip_low, clip_high], closed) = options;
    let probe = on.upload(&model.probe)?;
    let power = on.upload(&model.power)?;
    let psi = Waves::upload(on, &model.psi, stored)?;
    let corners = on.upload(&model.corners)?;
    let gate = on.gate(closed)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        ..
    } = shape;
    let tiles = object_rows.div_ceil(TILE[0]) * object_columns.div_ceil(TILE[1]);
    bench.run(
        waves::case(
            "ptycho_object_update_tiled",
            stored,
            described(&shape, options),
        )
        .timed(
            shape.timed && !closed,
            waves::bytes(stored) * shape.wave_elements() + 16 * shape.object_elements(),
        ),
        on.upload(&before)?,
        |device, object| {
            macro_rules! update {
                ($kernel:ident, $psi:ident) => {
                    device.launch(
                        &$kernel {
                            scale: SCALE,
                            object: object.write(),
                            probe: probe.read(),
                            power: power.read(),
                            psi: $psi.read(),
                            corners: corners.read(),
                            gate: gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            weight,
                            clip_low,
                            clip_high,
                        },
                        Work::Blocks(tiles as usize),
                    )
                };
            }
            match &psi {
                Waves::F32(psi) => update!(PtychoObjectUpdateTiled, psi),
                Waves::Bf16(psi) => update!(PtychoObjectUpdateTiledBf16, psi),
            }
        },
        |on, object| on.error(object, &reference),
    )
}

/// The sums of a block of frames; with `add`, the kernel adds to existing ones.
fn tiled_sums<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    stored: GpuWaves,
    (closed, add): (bool, bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("tiled object sums", &shape);
    let model = Model::new(&mut source, &shape, stored);
    let elements = shape.object_elements();
    let sums = source.complex(elements);
    let weights = source.reals(elements, 0.0, 1.0);
    let (mut numerators, mut denominators) = (all_wide(&sums), all_f64(&weights));
    if !closed {
        let start = if add { f64::from(SCALE) } else { 0.0 };
        for (sum, more) in numerators.iter_mut().zip(&model.numerator) {
            *sum = *sum * start + more;
        }
        for (sum, more) in denominators.iter_mut().zip(&model.denominator) {
            *sum = more + if add { *sum } else { 0.0 };
        }
    }
    let outputs = if add || closed {
        (on.upload(&sums)?, on.upload(&weights)?)
    } else {
        (on.poisoned(elements)?, on.poisoned(elements)?)
    };
    let probe = on.upload(&model.probe)?;
    let power = on.upload(&model.power)?;
    let psi = Waves::upload(on, &model.psi, stored)?;
    let corners = on.upload(&model.corners)?;
    let gate = on.gate(closed)?;
    let tiles = shape.object_rows.div_ceil(TILE[0]) * shape.object_columns.div_ceil(TILE[1]);
    let added = if add { ", added" } else { "" };
    bench.run(
        waves::case(
            "ptycho_object_sums_tiled",
            stored,
            format!("{shape}{}{added}", gate_label(closed)),
        )
        .timed(
            shape.timed && !closed,
            waves::bytes(stored) * shape.wave_elements() + if add { 24 } else { 12 } * elements,
        ),
        outputs,
        |device, (numerators, weights)| {
            macro_rules! sums {
                ($kernel:ident, $psi:ident) => {
                    device.launch(
                        &$kernel {
                            numerators: numerators.write(),
                            weights: weights.write(),
                            probe: probe.read(),
                            power: power.read(),
                            psi: $psi.read(),
                            corners: corners.read(),
                            gate: gate.read(),
                            frames: shape.frames,
                            modes: shape.modes,
                            rows: shape.rows,
                            columns: shape.columns,
                            object_rows: shape.object_rows,
                            object_columns: shape.object_columns,
                            add: u32::from(add),
                            scale: SCALE,
                        },
                        Work::Blocks(tiles as usize),
                    )
                };
            }
            match &psi {
                Waves::F32(psi) => sums!(PtychoObjectSumsTiled, psi),
                Waves::Bf16(psi) => sums!(PtychoObjectSumsTiledBf16, psi),
            }
        },
        |on, (numerator, weight)| {
            Ok(on
                .error(numerator, &numerators)?
                .max(on.error(weight, &denominators)?))
        },
    )
}

/// The kernel adds to existing sums.
fn atomic<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    stored: GpuWaves,
    closed: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("atomic object", &shape);
    let model = Model::new(&mut source, &shape, stored);
    let sums = source.complex(shape.object_elements());
    let weights = source.reals(shape.object_elements(), 0.0, 1.0);
    let mut numerators = all_wide(&sums);
    let mut denominators = all_f64(&weights);
    if !closed {
        numerators
            .iter_mut()
            .zip(&model.numerator)
            .for_each(|(sum, more)| *sum += more);
        denominators
            .iter_mut()
            .zip(&model.denominator)
            .for_each(|(sum, more)| *sum += more);
    }
    let probe = on.upload(&model.probe)?;
    let power = on.upload(&model.power)?;
    let psi = Waves::upload(on, &model.psi, stored)?;
    let corners = on.upload(&model.corners)?;
    let gate = on.gate(closed)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        parts,
        ..
    } = shape;
    bench.run(
        waves::case(
            "ptycho_object_update_atomic",
            stored,
            format!("{shape}, {parts} parts{}", gate_label(closed)),
        )
        .timed(
            shape.timed && !closed,
            waves::bytes(stored) * shape.wave_elements() + 24 * shape.object_elements(),
        ),
        (on.upload(&sums)?, on.upload(&weights)?),
        |device, (numerator, denominator)| {
            macro_rules! update {
                ($kernel:ident, $psi:ident) => {
                    device.launch(
                        &$kernel {
                            scale: SCALE,
                            numerator: numerator.write(),
                            denominator: denominator.write(),
                            probe: probe.read(),
                            power: power.read(),
                            psi: $psi.read(),
                            corners: corners.read(),
                            gate: gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            parts,
                        },
                        Work::Blocks(frames as usize * parts as usize),
                    )
                };
            }
            match &psi {
                Waves::F32(psi) => update!(PtychoObjectUpdateAtomic, psi),
                Waves::Bf16(psi) => update!(PtychoObjectUpdateAtomicBf16, psi),
            }
        },
        |on, (numerator, denominator)| {
            Ok(on
                .error(numerator, &numerators)?
                .max(on.error(denominator, &denominators)?))
        },
    )
}

fn finish<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    options: (f32, [f32; 2], bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("object finish", &shape);
    let before = object_before(&mut source, &shape);
    let mut sums = source.complex(shape.object_elements());
    let mut weights = source.reals(shape.object_elements(), 0.1, 1.0);
    // A pixel that no frame illuminates.
    let dark = shape.object_elements() / 2;
    sums[dark] = Complex32::ZERO;
    weights[dark] = 0.0;
    let reference = updated(&before, &all_wide(&sums), &all_f64(&weights), options);
    let (weight, [clip_low, clip_high], closed) = options;
    let numerator = on.upload(&sums)?;
    let denominator = on.upload(&weights)?;
    let gate = on.gate(closed)?;
    bench.run(
        Case::of::<PtychoObjectFinish<'_, Emulated>>(described(&shape, options))
            .timed(shape.timed && !closed, 28 * shape.object_elements()),
        on.upload(&before)?,
        |device, object| {
            let launch = PtychoObjectFinish {
                object: object.write(),
                numerator: numerator.read(),
                denominator: denominator.read(),
                gate: gate.read(),
                plane: shape.object_elements() as u32,
                pixels: shape.object_elements() as u32,
                weight,
                clip_low,
                clip_high,
            };
            device.launch(&launch, Work::Elements(shape.object_elements()))
        },
        |on, object| on.error(object, &reference),
    )
}
