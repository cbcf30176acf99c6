//! The kernels `ptycho_probe_update_tiled` and `ptycho_probe_update_atomic`, which have ψ in single
//! precision or in bf16, and `ptycho_probe_finish`.

use super::object_update::gate_label;
use super::shape::{Shape, Source};
use super::waves::{self, STORED, Waves};
use crate::GpuWaves;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    probe_finish::PtychoProbeFinish,
    probe_update_atomic::{PtychoProbeUpdateAtomic, PtychoProbeUpdateAtomicBf16},
    probe_update_tiled::{PtychoProbeUpdateTiled, PtychoProbeUpdateTiledBf16},
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide, wide};

/// Factor on the waves; its value is arbitrary.
const SCALE: f32 = 0.6;

/// Threads per block of the updates.
const BLOCK: usize = 256;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for (stored, closed) in STORED.into_iter().flat_map(|of| [(of, false), (of, true)]) {
        for add in [false, true] {
            tiled(bench, shape, stored, (closed, add))?;
        }
        atomic(bench, shape, stored, closed)?;
    }
    for (weight, closed) in [(0.0, false), (0.3, false), (0.3, true)] {
        finish(bench, shape, weight, closed)?;
    }
    Ok(())
}

/// Input arrays of a case.
struct Model {
    object: Vec<Complex32>,
    psi: Vec<Complex32>,
    corners: Vec<[u32; 2]>,
}

impl Model {
    fn new(source: &mut Source, shape: &Shape, stored: GpuWaves) -> Self {
        Self {
            object: source.complex(shape.object_elements()),
            psi: waves::stored(source.complex(shape.wave_elements()), stored),
            corners: source.corners(shape),
        }
    }

    /// Adds `Σ conj(O) ψ` to (slice, mode, pixel) and `Σ |O|²` to (slice, pixel), with the frames
    /// dealt in turn to `slices` slices, the last frame to the first.
    fn add_sums(
        &self,
        shape: &Shape,
        slices: u32,
        numerators: &mut [Complex<f64>],
        denominators: &mut [f64],
    ) {
        for at in shape.indices(&self.corners) {
            let slice = (shape.frames as usize - 1 - at.frame) % slices as usize;
            let o = wide(self.object[at.object]);
            numerators[slice * shape.probe_elements() + at.probe] +=
                o.conj() * wide(self.psi[at.wave]) * f64::from(SCALE);
            if at.first_mode {
                denominators[slice * shape.pixels() + at.pixel] += o.norm_sqr();
            }
        }
    }
}

/// Number of blocks of an update.
fn blocks(shape: &Shape) -> Work {
    Work::Blocks((shape.slices * shape.modes) as usize * shape.pixels().div_ceil(BLOCK))
}

/// Bytes that an update must read.
fn model_bytes(shape: &Shape, stored: GpuWaves) -> usize {
    waves::bytes(stored) * shape.wave_elements() + 8 * shape.object_elements()
}

/// With `add`, the kernel adds to existing sums.
fn tiled<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    stored: GpuWaves,
    (closed, add): (bool, bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("tiled probe", &shape);
    let model = Model::new(&mut source, &shape, stored);
    let slices = shape.slices;
    let [layers, weights] =
        [shape.probe_elements(), shape.pixels()].map(|len| slices as usize * len);
    let before = (source.complex(layers), source.reals(weights, 0.0, 1.0));
    let (mut sums, mut powers) = (vec![Complex::default(); layers], vec![0.0; weights]);
    let outputs = if closed {
        (sums, powers) = (all_wide(&before.0), all_f64(&before.1));
        (on.upload(&before.0)?, on.upload(&before.1)?)
    } else if add {
        let scaled = |v: &Complex32| wide(*v) * f64::from(SCALE);
        sums = before.0.iter().map(scaled).collect();
        powers = all_f64(&before.1);
        model.add_sums(&shape, slices, &mut sums, &mut powers);
        (on.upload(&before.0)?, on.upload(&before.1)?)
    } else {
        model.add_sums(&shape, slices, &mut sums, &mut powers);
        (on.poisoned(layers)?, on.poisoned(weights)?)
    };
    let object = on.upload(&model.object)?;
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
    bench.run(
        waves::case(
            "ptycho_probe_update_tiled",
            stored,
            format!(
                "{shape}, {slices} slices{}{}",
                gate_label(closed),
                if add { ", added" } else { "" }
            ),
        )
        .timed(
            shape.timed && !closed && !add,
            model_bytes(&shape, stored) + 8 * layers + 4 * weights,
        ),
        outputs,
        |device, (numerators, denominators)| {
            macro_rules! update {
                ($kernel:ident, $psi:ident) => {
                    device.launch(
                        &$kernel {
                            scale: SCALE,
                            numerators: numerators.write(),
                            denominators: denominators.write(),
                            object: object.read(),
                            psi: $psi.read(),
                            corners: corners.read(),
                            gate: gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            slices,
                            add: u32::from(add),
                        },
                        blocks(&shape),
                    )
                };
            }
            match &psi {
                Waves::F32(psi) => update!(PtychoProbeUpdateTiled, psi),
                Waves::Bf16(psi) => update!(PtychoProbeUpdateTiledBf16, psi),
            }
        },
        |on, (numerators, denominators)| {
            Ok(on
                .error(numerators, &sums)?
                .max(on.error(denominators, &powers)?))
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
    let mut source = Source::new("atomic probe", &shape);
    let model = Model::new(&mut source, &shape, stored);
    let sums = source.complex(shape.probe_elements());
    let weights = source.reals(shape.pixels(), 0.0, 1.0);
    let (mut numerators, mut denominators) = (all_wide(&sums), all_f64(&weights));
    if !closed {
        model.add_sums(&shape, 1, &mut numerators, &mut denominators);
    }
    let object = on.upload(&model.object)?;
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
        slices,
        ..
    } = shape;
    bench.run(
        waves::case(
            "ptycho_probe_update_atomic",
            stored,
            format!("{shape}, {slices} slices{}", gate_label(closed)),
        )
        .timed(
            shape.timed && !closed,
            model_bytes(&shape, stored) + 24 * shape.probe_elements(),
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
                            object: object.read(),
                            psi: $psi.read(),
                            corners: corners.read(),
                            gate: gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            slices,
                        },
                        blocks(&shape),
                    )
                };
            }
            match &psi {
                Waves::F32(psi) => update!(PtychoProbeUpdateAtomic, psi),
                Waves::Bf16(psi) => update!(PtychoProbeUpdateAtomicBf16, psi),
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
    weight: f32,
    closed: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("probe finish", &shape);
    let (layer, pixels) = (shape.probe_elements(), shape.pixels());
    let before = source.complex(layer);
    let sums = source.complex(shape.slices as usize * layer);
    let mut weights = source.reals(shape.slices as usize * pixels, 0.1, 1.0);
    // A pixel at which the object is zero in every frame.
    let dark = pixels / 2;
    weights
        .iter_mut()
        .skip(dark)
        .step_by(pixels)
        .for_each(|weight| *weight = 0.0);
    let inside = source.support(pixels);
    let one = |(at, before): (usize, &Complex32)| {
        let before = wide(*before);
        if closed {
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
    let gate = on.gate(closed)?;
    bench.run(
        Case::of::<PtychoProbeFinish<'_, Emulated>>(format!(
            "{shape}, {} slices, weight {weight}{}",
            shape.slices,
            gate_label(closed)
        ))
        .timed(
            shape.timed && !closed,
            8 * sums.len() + 4 * (weights.len() + pixels) + 16 * layer,
        ),
        on.upload(&before)?,
        |device, probe| {
            let launch = PtychoProbeFinish {
                probe: probe.write(),
                numerators: numerators.read(),
                denominators: denominators.read(),
                support: support.read(),
                gate: gate.read(),
                modes: shape.modes,
                pixels: pixels as u32,
                slices: shape.slices,
                weight,
                incremental: 0,
                devices: if shape.slices.is_multiple_of(2) { 2 } else { 1 },
            };
            device.launch(&launch, Work::Elements(layer))
        },
        |on, probe| on.error(probe, &reference),
    )
}
