//! Mirrors cpu/projections/fourier_projection.rs: the exit-wave update in Fourier space.

use crate::Coefficients;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    exit_wave_build::{PtychoExitWaveBuild, PtychoExitWaveBuildBf16},
    fourier_step::PtychoFourierStep,
};

/// Computes `waves = P·O`, or `packed_waves`.
pub(in crate::engines::cuda) fn build<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
) -> Result<()> {
    mix(device, layout, buffers, [1.0, 0.0])
}

/// Computes `waves`, or `packed_waves` if the exit waves are stored there, `= c_po P·O + c_psi
/// spectra`; without spectra, `c_po P·O`.
pub(in crate::engines::cuda) fn mix<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    [c_po, c_psi]: [f32; 2],
) -> Result<()> {
    let psi_frames = if buffers.spectra.is_empty() {
        0
    } else {
        layout.frames
    };
    macro_rules! build {
        ($kernel:ident, $waves:ident) => {
            device.launch(
                &$kernel {
                    aux: buffers.$waves.write(),
                    psi: buffers.spectra.read(),
                    probe: buffers.probe.read(),
                    object: buffers.object.read(),
                    corners: buffers.corners.read(),
                    frames: layout.frames,
                    modes: layout.modes,
                    rows: layout.rows,
                    columns: layout.columns,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                    parts: layout.parts,
                    c_po,
                    c_psi,
                    psi_frames,
                },
                Work::Blocks(layout.frames as usize * layout.parts as usize),
            )
        };
    }
    if buffers.packed() {
        build!(PtychoExitWaveBuildBf16, packed_waves)
    } else {
        build!(PtychoExitWaveBuild, waves)
    }
}

/// Writes the unnormalised detector waves of P·O to `waves`.
pub(in crate::engines::cuda) fn model_spectra<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
) -> Result<()> {
    build(device, layout, buffers)?;
    let Buffers {
        propagator, waves, ..
    } = buffers;
    propagator.propagate(device, fft, waves, None, Direction::Forward)
}

/// Computes Ψ ← (1−a−b) Ψ + a F[P·O] + b Π[(1−c) Ψ + c F[P·O]] and all metrics of the frames.
pub(in crate::engines::cuda) fn advance<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    coefficients: Coefficients,
    bound: f64,
) -> Result<()> {
    if let Some(mut detector) = buffers.detector.take() {
        let done = detector.project(device, layout, buffers, (coefficients, bound));
        buffers.detector = Some(detector);
        return done;
    }
    device.launch(
        &PtychoFourierStep {
            spectra: buffers.spectra.write(),
            model: buffers.waves.read(),
            magnitudes: buffers.magnitudes.read(),
            errors: buffers.errors.write(),
            moved: buffers.moved.write(),
            photon: buffers.photon.write(),
            residual: buffers.residual.write(),
            free: buffers.free.write(),
            frames: layout.frames,
            modes: layout.waves(),
            pixels: layout.pixels(),
            scale: layout.scale(),
            bound: bound as f32,
            keep: coefficients.keep() as f32,
            a: coefficients.a as f32,
            b: coefficients.b as f32,
            c: coefficients.c as f32,
        },
        Work::Blocks(layout.frames as usize),
    )
}

/// Performs one step of every frame, from the transforms of P·O in `waves`; leaves rows · columns ·
/// ψ there. `frames` of frames at exact positions, whose model they have made.
pub(in crate::engines::cuda) fn project<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
    frames: Option<&FrameBuffers<M>>,
    (coefficients, bound): (Coefficients, f64),
) -> Result<()> {
    advance(device, layout, buffers, coefficients, bound)?;
    back(device, layout, buffers, fft, frames)
}

/// Propagates the detector waves back; leaves rows · columns · ψ in `waves`. `frames` of frames at
/// exact positions, whose model they have made.
pub(in crate::engines::cuda) fn back<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
    frames: Option<&FrameBuffers<M>>,
) -> Result<()> {
    let Buffers {
        propagator,
        spectra,
        waves,
        fractions,
        ..
    } = buffers;
    let between = frames.map(|frames| frames.between_all(layout, fractions));
    propagator.propagate_to(device, fft, (spectra, waves), between, Direction::Inverse)
}
