//! `probe_update_tiled`, `probe_update_atomic` and `probe_finish`.

use super::bench::{Bench, Case, all_f64, all_wide, wide};
use super::object_update::gate_word;
use super::shape::{Shape, Source};
use crate::gpu::{Buffer, Machine, Result};
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    probe_finish::ProbeFinish, probe_update_atomic::ProbeUpdateAtomic,
    probe_update_tiled::ProbeUpdateTiled,
};

/// What the waves are multiplied by: any number.
const SCALE: f32 = 0.6;

/// Threads of a block of the updates.
const BLOCK: usize = 256;

pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for shut in [false, true] {
        tiled(bench, shape, shut)?;
        atomic(bench, shape, shut)?;
    }
    for (weight, shut) in [(0.0, false), (0.3, false), (0.3, true)] {
        finish(bench, shape, weight, shut)?;
    }
    Ok(())
}

/// The arrays of a case.
struct Model {
    object: Vec<Complex32>,
    psi: Vec<Complex32>,
    corners: Vec<[u32; 2]>,
}

impl Model {
    fn new(source: &mut Source, shape: &Shape) -> Self {
        Self {
            object: source.complex(shape.object_elements()),
            psi: source.complex(shape.wave_elements()),
            corners: source.corners(shape),
        }
    }

    /// Adds `Σ conj(O) ψ` to (slice, mode, pixel) and `Σ |O|²` to (slice, pixel), the frames in
    /// so many slices.
    fn add_sums(
        &self,
        shape: &Shape,
        slices: u32,
        numerators: &mut [Complex<f64>],
        denominators: &mut [f64],
    ) {
        let length = Shape::run_length(shape.frames as usize, slices);
        for place in shape.places(&self.corners) {
            let slice = place.frame / length;
            let o = wide(self.object[place.object]);
            numerators[slice * shape.probe_elements() + place.probe] +=
                o.conj() * wide(self.psi[place.wave]) * f64::from(SCALE);
            if place.first_mode {
                denominators[slice * shape.pixels() + place.pixel] += o.norm_sqr();
            }
        }
    }
}

/// Blocks of an update.
fn blocks(shape: &Shape) -> Work {
    Work::Blocks((shape.slices * shape.modes) as usize * shape.pixels().div_ceil(BLOCK))
}

/// Bytes that an update must read.
fn model_bytes(shape: &Shape) -> usize {
    8 * (shape.wave_elements() + shape.object_elements())
}

fn tiled<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape, shut: bool) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("tiled probe", &shape);
    let model = Model::new(&mut source, &shape);
    let slices = shape.slices;
    let [layers, weights] =
        [shape.probe_elements(), shape.pixels()].map(|len| slices as usize * len);
    let before = (source.complex(layers), source.reals(weights, 0.0, 1.0));
    let (mut sums, mut powers) = (vec![Complex::default(); layers], vec![0.0; weights]);
    let outputs = if shut {
        (sums, powers) = (all_wide(&before.0), all_f64(&before.1));
        (on.upload(&before.0)?, on.upload(&before.1)?)
    } else {
        model.add_sums(&shape, slices, &mut sums, &mut powers);
        (on.poisoned(layers)?, on.poisoned(weights)?)
    };
    let object = on.upload(&model.object)?;
    let psi = on.upload(&model.psi)?;
    let corners = on.upload(&model.corners)?;
    let gate = on.gate(shut)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        ..
    } = shape;
    bench.run(
        Case::of::<ProbeUpdateTiled<'_, Emulated>>(format!(
            "{shape}, {slices} slices{}",
            gate_word(shut)
        ))
        .timed(
            shape.timed && !shut,
            model_bytes(&shape) + 8 * layers + 4 * weights,
        ),
        outputs,
        |machine, (numerators, denominators)| {
            let launch = ProbeUpdateTiled {
                scale: SCALE,
                numerators: numerators.write(),
                denominators: denominators.write(),
                object: object.read(),
                psi: psi.read(),
                corners: corners.read(),
                gate: gate.read(),
                frames,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                slices,
            };
            machine.launch(&launch, blocks(&shape))
        },
        |on, (numerators, denominators)| {
            Ok(on
                .error(numerators, &sums)?
                .max(on.error(denominators, &powers)?))
        },
    )
}

/// Adds to what is there already.
fn atomic<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape, shut: bool) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("atomic probe", &shape);
    let model = Model::new(&mut source, &shape);
    let sums = source.complex(shape.probe_elements());
    let weights = source.reals(shape.pixels(), 0.0, 1.0);
    let (mut numerators, mut denominators) = (all_wide(&sums), all_f64(&weights));
    if !shut {
        model.add_sums(&shape, 1, &mut numerators, &mut denominators);
    }
    let object = on.upload(&model.object)?;
    let psi = on.upload(&model.psi)?;
    let corners = on.upload(&model.corners)?;
    let gate = on.gate(shut)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        slices,
        ..
    } = shape;
    bench.run(
        Case::of::<ProbeUpdateAtomic<'_, Emulated>>(format!(
            "{shape}, {slices} slices{}",
            gate_word(shut)
        ))
        .timed(
            shape.timed && !shut,
            model_bytes(&shape) + 24 * shape.probe_elements(),
        ),
        (on.upload(&sums)?, on.upload(&weights)?),
        |machine, (numerator, denominator)| {
            let launch = ProbeUpdateAtomic {
                scale: SCALE,
                numerator: numerator.write(),
                denominator: denominator.write(),
                object: object.read(),
                psi: psi.read(),
                corners: corners.read(),
                gate: gate.read(),
                frames,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                slices,
            };
            machine.launch(&launch, blocks(&shape))
        },
        |on, (numerator, denominator)| {
            Ok(on
                .error(numerator, &numerators)?
                .max(on.error(denominator, &denominators)?))
        },
    )
}

fn finish<M: Machine>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    weight: f32,
    shut: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("probe finish", &shape);
    let (layer, pixels) = (shape.probe_elements(), shape.pixels());
    let before = source.complex(layer);
    let sums = source.complex(shape.slices as usize * layer);
    let mut weights = source.reals(shape.slices as usize * pixels, 0.1, 1.0);
    // A pixel that every frame sees through nothing.
    let dark = pixels / 2;
    weights
        .iter_mut()
        .skip(dark)
        .step_by(pixels)
        .for_each(|weight| *weight = 0.0);
    let inside = source.support(pixels);
    let one = |(at, before): (usize, &Complex32)| {
        let before = wide(*before);
        if shut {
            return before;
        }
        let numerator: Complex<f64> = sums
            .iter()
            .skip(at)
            .step_by(layer)
            .map(|sum| wide(*sum))
            .sum();
        let weights = weights.iter().skip(at % pixels).step_by(pixels);
        let total = weights.map(|w| f64::from(*w)).sum::<f64>() + f64::from(weight);
        let value = if total > 0.0 {
            (before * f64::from(weight) + numerator) / total
        } else {
            before
        };
        value * f64::from(inside[at % pixels])
    };
    let reference: Vec<Complex<f64>> = before.iter().enumerate().map(one).collect();
    let numerators = on.upload(&sums)?;
    let denominators = on.upload(&weights)?;
    let support = on.upload(&inside)?;
    let gate = on.gate(shut)?;
    bench.run(
        Case::of::<ProbeFinish<'_, Emulated>>(format!(
            "{shape}, {} slices, weight {weight}{}",
            shape.slices,
            gate_word(shut)
        ))
        .timed(
            shape.timed && !shut,
            8 * sums.len() + 4 * (weights.len() + pixels) + 16 * layer,
        ),
        on.upload(&before)?,
        |machine, probe| {
            let launch = ProbeFinish {
                probe: probe.write(),
                numerators: numerators.read(),
                denominators: denominators.read(),
                support: support.read(),
                gate: gate.read(),
                modes: shape.modes,
                pixels: pixels as u32,
                slices: shape.slices,
                weight,
            };
            machine.launch(&launch, Work::Elements(layer))
        },
        |on, probe| on.error(probe, &reference),
    )
}
