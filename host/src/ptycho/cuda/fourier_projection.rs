//! Mirrors cpu/fourier_projection.rs: one engine step on the exit waves.

use super::buffers::{Buffers, Layout};
use crate::gpu::{Buffer, Direction, Machine, Result};
use crate::ptycho::Coefficients;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    exit_wave_build::ExitWaveBuild, exit_wave_update::ExitWaveUpdate,
    magnitude_update::MagnitudeUpdate,
};

/// `aux = c_po·P·O + c_psi·ψ`.
pub(super) fn build<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    [c_po, c_psi]: [f32; 2],
) -> Result<()> {
    let Layout { frames, modes, rows, columns, object_rows, object_columns, parts, .. } = *layout;
    machine.launch(
        &ExitWaveBuild {
            aux: buffers.aux.write(),
            psi: buffers.psi.read(),
            probe: buffers.probe.read(),
            object: buffers.object.read(),
            corners: buffers.corners.read(),
            frames,
            modes,
            rows,
            columns,
            object_rows,
            object_columns,
            parts,
            c_po,
            c_psi,
        },
        Work::Blocks(frames as usize * parts as usize),
    )
}

/// Each frame's deviation into `errors`, and its magnitudes moved towards the data.
pub(super) fn magnitudes<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    bound: f64,
) -> Result<()> {
    machine.launch(
        &MagnitudeUpdate {
            aux: buffers.aux.write(),
            magnitudes: buffers.magnitudes.read(),
            errors: buffers.errors.write(),
            frames: layout.frames,
            modes: layout.modes,
            pixels: layout.pixels(),
            scale: layout.scale(),
            bound: bound as f32,
        },
        Work::Blocks(layout.frames as usize),
    )
}

/// ψ ← (1−a−b) ψ + a P·O + b aux; Σ|Δψ|² into `moved`.
pub(super) fn combine<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    coefficients: Coefficients,
) -> Result<()> {
    let Layout { frames, modes, rows, columns, object_rows, object_columns, parts, .. } = *layout;
    machine.launch(
        &ExitWaveUpdate {
            psi: buffers.psi.write(),
            aux: buffers.aux.read(),
            probe: buffers.probe.read(),
            object: buffers.object.read(),
            corners: buffers.corners.read(),
            moved: buffers.moved.write(),
            frames,
            modes,
            rows,
            columns,
            object_rows,
            object_columns,
            parts,
            keep: coefficients.keep() as f32,
            a: coefficients.a as f32,
            b: coefficients.b as f32,
        },
        Work::Blocks(frames as usize * parts as usize),
    )
}

/// ψ ← (1−a−b) ψ + a P·O + b F⁻¹ Π F[(1−c) ψ + c P·O]; leaves the figures in `errors` and `moved`.
pub(super) fn project<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
    coefficients: Coefficients,
    bound: f64,
) -> Result<()> {
    let c = coefficients.c as f32;
    build(machine, layout, buffers, [c, 1.0 - c])?;
    machine.fft(fft, &mut buffers.aux, Direction::Forward)?;
    magnitudes(machine, layout, buffers, bound)?;
    machine.fft(fft, &mut buffers.aux, Direction::Inverse)?;
    combine(machine, layout, buffers, coefficients)
}
