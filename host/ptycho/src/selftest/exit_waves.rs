//! The kernels `ptycho_exit_wave_build`, which writes waves in single precision or in bf16, and
//! `ptycho_widen_waves`.

use super::shape::{Shape, Source};
use super::waves::{self, STORED, Waves};
use crate::GpuWaves;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::exit_wave_build::{PtychoExitWaveBuild, PtychoExitWaveBuildBf16};
use warpstride_kernels::ptycho::widen_waves::PtychoWidenWaves;
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for weights in [[1.0, 0.0], [2.0, -1.0]] {
        for stored in STORED {
            build(bench, shape, stored, weights)?;
        }
    }
    widen(bench, shape)
}

/// Input arrays of a case.
struct Model {
    psi: Vec<Complex32>,
    probe: Vec<Complex32>,
    object: Vec<Complex32>,
    corners: Vec<[u32; 2]>,
}

impl Model {
    fn new(source: &mut Source, shape: &Shape) -> Self {
        Self {
            psi: source.complex(shape.wave_elements()),
            probe: source.complex(shape.probe_elements()),
            object: source.complex(shape.object_elements()),
            corners: source.corners(shape),
        }
    }

    /// ψ and P·O of each element in order.
    fn waves(&self, shape: &Shape) -> impl Iterator<Item = [Complex<f64>; 2]> {
        shape.indices(&self.corners).map(|at| {
            let exit = wide(self.probe[at.probe]) * wide(self.object[at.object]);
            [wide(self.psi[at.wave]), exit]
        })
    }
}

/// Bytes of the probe and the object that a launch reads.
fn model_bytes(shape: &Shape) -> usize {
    8 * (shape.probe_elements() + shape.object_elements())
}

fn build<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    stored: GpuWaves,
    [c_po, c_psi]: [f32; 2],
) -> Result<()> {
    let (on, reads_psi) = (bench.on(), c_psi != 0.0);
    let model = Model::new(&mut Source::new("build", &shape), &shape);
    let reference: Vec<Complex<f64>> = model
        .waves(&shape)
        .map(|[psi, exit]| exit * f64::from(c_po) + psi * f64::from(c_psi))
        .collect();
    // What must not be read is not there.
    let psi = if reads_psi {
        on.upload(&model.psi)?
    } else {
        on.upload(&[])?
    };
    let probe = on.upload(&model.probe)?;
    let object = on.upload(&model.object)?;
    let corners = on.upload(&model.corners)?;
    let text = format!("{shape}, {} parts, {c_po} PO + {c_psi} ψ", shape.parts);
    let psi_frames = if reads_psi { shape.frames } else { 0 };
    let value = waves::bytes(stored) + if reads_psi { 8 } else { 0 };
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
        waves::case("ptycho_exit_wave_build", stored, text).timed(
            shape.timed,
            value * shape.wave_elements() + model_bytes(&shape),
        ),
        Waves::poisoned(on, shape.wave_elements(), stored)?,
        |device, aux| {
            macro_rules! build {
                ($kernel:ident, $aux:ident) => {
                    device.launch(
                        &$kernel {
                            aux: $aux.write(),
                            psi: psi.read(),
                            probe: probe.read(),
                            object: object.read(),
                            corners: corners.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            parts,
                            c_po,
                            c_psi,
                            psi_frames,
                        },
                        Work::Blocks(frames as usize * parts as usize),
                    )
                };
            }
            match aux {
                Waves::F32(aux) => build!(PtychoExitWaveBuild, aux),
                Waves::Bf16(aux) => build!(PtychoExitWaveBuildBf16, aux),
            }
        },
        |on, aux| aux.error(on, &reference),
    )
}

fn widen<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let elements = shape.wave_elements();
    let values = Source::new("widen", &shape).complex(elements);
    let values = waves::stored(values, GpuWaves::Bf16);
    let pairs: Vec<u32> = values.iter().map(waves::pair).collect();
    let from = on.upload(&pairs)?;
    bench.run(
        Case::of::<PtychoWidenWaves<'_, Emulated>>(shape.to_string())
            .exact()
            .timed(shape.timed, 12 * elements),
        on.poisoned::<Complex32>(elements)?,
        |device, to| {
            let launch = PtychoWidenWaves {
                to: to.write(),
                from: from.read(),
                elements,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, to| on.error(to, &all_wide(&values)),
    )
}
