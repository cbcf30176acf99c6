//! Mirrors cpu/updates/centring.rs: shifts probe, object and exit waves together.

use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::multislice::SliceBuffers;
use crate::engines::cuda::projections::fused;
use crate::engines::cuda::projections::object_update::probe_power;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    centring_shift::PtychoCentringShift, phase_ramp_layers::PtychoPhaseRampLayers,
    roll_layers::PtychoRollLayers,
};

/// Shifts by whole pixels if the probe's centre of mass is further than `tolerance` pixels from the
/// centre; the device decides without synchronising with the host.
pub(in crate::engines::cuda) fn centre<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    tolerance: f64,
) -> Result<()> {
    centre_model(device, layout, buffers, tolerance)?;
    shift_waves(device, layout, buffers)
}

/// [`centre`] of object and probe only.
pub(in crate::engines::cuda) fn centre_model<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    tolerance: f64,
) -> Result<()> {
    probe_power(device, layout, buffers)?;
    device.launch(
        &PtychoCentringShift {
            power: buffers.power.read(),
            shift: buffers.shift.write(),
            rows: layout.rows,
            columns: layout.columns,
            tolerance: tolerance as f32,
        },
        Work::Blocks(1),
    )?;
    let frame = [layout.rows, layout.columns];
    // Slices are stacked in rows.
    let slices = buffers.slices.as_ref().map_or(1, SliceBuffers::count) as u32;
    let object = [layout.object_rows / slices, layout.object_columns];
    let Buffers {
        object: o,
        object_work,
        probe,
        probe_before,
        shift,
        variations,
        ..
    } = buffers;
    let layers = layout.object_layers * slices;
    roll::<M>(device, o, object_work, shift, layers, object)?;
    roll::<M>(device, probe, probe_before, shift, layout.modes, frame)?;
    if let Some(of) = variations {
        of.each(&mut |of| {
            for layers in &mut of.shapes {
                roll::<M>(device, layers, &mut of.sums, shift, of.count, frame)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Shifts the exit waves of the frames of `layout`, if there are any, by `shift`.
pub(in crate::engines::cuda) fn shift_waves<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
) -> Result<()> {
    let Buffers {
        spectra,
        waves,
        packed_waves,
        shift,
        ..
    } = buffers;
    if spectra.is_empty() {
        return if waves.is_empty() && packed_waves.is_empty() {
            Ok(())
        } else {
            fused::roll(device, layout, buffers)
        };
    }
    device.launch(
        &PtychoPhaseRampLayers {
            spectra: spectra.write(),
            shift: shift.read(),
            layers: layout.frames * layout.waves(),
            rows: layout.rows,
            columns: layout.columns,
        },
        Work::Elements(layout.wave_elements()),
    )
}

fn roll<M: Device>(
    device: &M,
    waves: &mut M::Buffer<Complex32>,
    work: &mut M::Buffer<Complex32>,
    shift: &M::Buffer<i32>,
    layers: u32,
    [rows, columns]: [u32; 2],
) -> Result<()> {
    let elements = Work::Elements(layers as usize * rows as usize * columns as usize);
    let (to, from) = (work.write(), waves.read());
    let to_work = PtychoRollLayers {
        to,
        from,
        shift: shift.read(),
        layers,
        rows,
        columns,
        back: 0,
    };
    device.launch(&to_work, elements)?;
    let (to, from) = (waves.write(), work.read());
    let copy_back = PtychoRollLayers {
        to,
        from,
        shift: shift.read(),
        layers,
        rows,
        columns,
        back: 1,
    };
    device.launch(&copy_back, elements)
}
