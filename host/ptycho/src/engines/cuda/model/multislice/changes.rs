//! The way of deviations from the last slice to the first, and the first-order changes of waves
//! from the first slice to the last: what batches and conjugate gradients
//! (cpu/model/multislice/likelihood.rs) both need.

use super::{DistanceSums, Incident, at_slice};
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::batches::fused_batches::PARTS;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::window_product::product;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{line_waves::PtychoLineWaves, step_sums::PtychoStepSums};

/// Takes χ in `frames.chi` from the last slice to the first, and gives the waves at every slice and
/// χ there to `on_slice`. The sums of the distances are asked for with this sign.
pub(in crate::engines::cuda) fn backward<M: Device>(
    device: &M,
    layout: &Layout,
    (buffers, frames): (&Buffers<M>, &mut FrameBuffers<M>),
    batch: Batch,
    (distances, sign): (&mut DistanceSums<M>, f64),
    on_slice: &mut OnSlice<'_, M>,
) -> Result<()> {
    let Some(slices) = &buffers.slices else {
        return Ok(());
    };
    let FrameBuffers {
        order,
        probes,
        chi,
        work,
        fft,
        thick: Some(thick),
        ..
    } = frames
    else {
        return Ok(());
    };
    for slice in (0..slices.count()).rev() {
        let incident = match slice {
            0 => &*probes,
            _ => &thick.incident[slice - 1],
        };
        on_slice(slice, (&slices.corners[slice], order), incident, chi)?;
        if slice == 0 {
            break;
        }
        let gap = slice - 1;
        product(
            device,
            layout,
            &at_slice(layout, buffers, &slices.corners[slice], (order, batch)),
            (work, 0),
            (chi, Some(0)),
            &buffers.object,
            true,
        )?;
        if let DistanceSums(Some(pending)) = &mut *distances {
            let before = match gap {
                0 => &*probes,
                _ => &thick.incident[gap - 1],
            };
            let [change, _] = &mut thick.changes;
            product(
                device,
                layout,
                &at_slice(layout, buffers, &slices.corners[gap], (order, batch)),
                (change, 0),
                (before, Some(0)),
                &buffers.object,
                false,
            )?;
            slices.through(device, fft, change, &slices.derivatives[gap], false)?;
            let sums = &mut thick.sums;
            let change = &thick.changes[0];
            exit_sums(
                device,
                layout,
                (buffers, order),
                batch,
                [change, change, work],
                sums,
            )?;
            let parts = batch.count as usize * PARTS as usize;
            pending.push((gap, parts, sign, device.read_back(sums)?));
        }
        slices.through(device, fft, work, &slices.factors[gap], true)?;
        std::mem::swap(work, chi);
    }
    Ok(())
}

/// What [`backward`] does on each slice: its number, the windows on it with the order of the
/// frames, the waves there, and χ.
pub(in crate::engines::cuda) type OnSlice<'a, M> = dyn FnMut(
        usize,
        (
            &<M as Device>::Buffer<[u32; 2]>,
            &<M as Device>::Buffer<u32>,
        ),
        &<M as Device>::Buffer<Complex32>,
        &<M as Device>::Buffer<Complex32>,
    ) -> Result<()>
    + 'a;

/// |a|², Re a*b, |b|², Re a*χ, Re b*χ of waves a, b and χ of each frame, in parts.
pub(super) fn exit_sums<M: Device>(
    device: &M,
    layout: &Layout,
    (buffers, order): (&Buffers<M>, &M::Buffer<u32>),
    batch: Batch,
    [a, b, chi]: [&M::Buffer<Complex32>; 3],
    sums: &mut M::Buffer<[f32; 5]>,
) -> Result<()> {
    let Some(slices) = &buffers.slices else {
        return Ok(());
    };
    device.launch(
        &PtychoStepSums {
            layers: 1,
            sums: sums.write(),
            probes: a.read(),
            probe_changes: b.read(),
            chi: chi.read(),
            // They multiply a and b.
            object: slices.ones.read(),
            direction: slices.ones.read(),
            corners: buffers.corners.read(),
            order: order.read(),
            frames: layout.frames,
            first: batch.first,
            count: batch.count,
            modes: layout.modes,
            rows: layout.rows,
            columns: layout.columns,
            object_rows: layout.object_rows,
            object_columns: layout.object_columns,
            sources: batch.count,
            parts: PARTS,
        },
        Work::Blocks(batch.count as usize * PARTS as usize),
    )
}

/// The waves f ← f·O and their first-order changes a ← f·δO + a·O from slice to slice, to the last
/// one; a is in `mixed` then, and `change` is scratch memory. `incident` gives the waves f at a
/// slice; `None`: those that have come from the one before.
pub(in crate::engines::cuda) fn linear_changes<M: Device>(
    device: &M,
    layout: &Layout,
    (buffers, order, fft): (&Buffers<M>, &M::Buffer<u32>, &M::Fft),
    batch: Batch,
    direction: &M::Buffer<Complex32>,
    [waves, mixed, change]: [&mut M::Buffer<Complex32>; 3],
    incident: Option<Incident<'_, M>>,
) -> Result<()> {
    let Some(slices) = &buffers.slices else {
        return Ok(());
    };
    for slice in 0..slices.count() {
        if let Some((probes, behind)) = incident {
            let from = match slice {
                0 => probes,
                _ => &behind[slice - 1],
            };
            device.copy(from, waves)?;
        }
        device.launch(
            &PtychoLineWaves {
                probes: waves.write(),
                mixed: mixed.write(),
                changes: change.write(),
                object: buffers.object.read(),
                direction: direction.read(),
                corners: slices.corners[slice].read(),
                order: order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                parts: layout.parts,
            },
            Work::Blocks(batch.count as usize * layout.parts as usize),
        )?;
        if slice + 1 < slices.count() {
            if incident.is_none() {
                slices.forward(device, fft, waves, slice)?;
            }
            slices.forward(device, fft, mixed, slice)?;
            std::mem::swap(mixed, change);
        }
    }
    Ok(())
}
