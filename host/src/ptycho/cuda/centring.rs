//! Mirrors cpu/centring.rs: probe, object and exit waves move back together.

use super::buffers::{Buffers, Layout};
use super::object_update::probe_power;
use crate::gpu::{Buffer, Machine, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    centring_shift::CentringShift, phase_ramp_layers::PhaseRampLayers, roll_layers::RollLayers,
};

/// Moves by whole pixels when the probe's centre of mass is further than `tolerance` pixels from the
/// centre; the host does not learn of it.
pub(super) fn centre<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    tolerance: f64,
) -> Result<()> {
    probe_power(machine, layout, buffers)?;
    machine.launch(
        &CentringShift {
            power: buffers.power.read(),
            shift: buffers.shift.write(),
            rows: layout.rows,
            columns: layout.columns,
            tolerance: tolerance as f32,
        },
        Work::Blocks(1),
    )?;
    let frame = [layout.rows, layout.columns];
    let object = [layout.object_rows, layout.object_columns];
    let Buffers {
        object: o,
        object_work,
        probe,
        probe_before,
        spectra,
        shift,
        ..
    } = buffers;
    roll::<M>(machine, o, object_work, shift, 1, object)?;
    roll::<M>(machine, probe, probe_before, shift, layout.modes, frame)?;
    machine.launch(
        &PhaseRampLayers {
            spectra: spectra.write(),
            shift: shift.read(),
            layers: layout.frames * layout.modes,
            rows: layout.rows,
            columns: layout.columns,
        },
        Work::Elements(layout.wave_elements()),
    )
}

fn roll<M: Machine>(
    machine: &M,
    waves: &mut M::Buffer<Complex32>,
    work: &mut M::Buffer<Complex32>,
    shift: &M::Buffer<i32>,
    layers: u32,
    [rows, columns]: [u32; 2],
) -> Result<()> {
    let elements = Work::Elements(layers as usize * rows as usize * columns as usize);
    let (to, from) = (work.write(), waves.read());
    let out = RollLayers {
        to,
        from,
        shift: shift.read(),
        layers,
        rows,
        columns,
        back: 0,
    };
    machine.launch(&out, elements)?;
    let (to, from) = (waves.write(), work.read());
    let home = RollLayers {
        to,
        from,
        shift: shift.read(),
        layers,
        rows,
        columns,
        back: 1,
    };
    machine.launch(&home, elements)
}
