//! The launches of a batch at exact positions, and of one with several modes, whose shifts are 0 at
//! whole pixels.

use super::{alpha, updates};
use crate::Step;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::batches::batch_engine::{BatchBuffers, Run};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::projections::object_update::clip_limits;
use crate::engines::method::{BatchMethod, BatchUpdate};
use crate::engines::updates::FLOOR;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::fft::frame::VALUES;
use warpstride_kernels::ptycho::{
    exact_advance::{PtychoExactAdvance64, PtychoExactAdvance128, TOGETHER},
    exact_chi::{PtychoExactChi64, PtychoExactChi128},
    exact_finish::{PtychoExactFinish64, PtychoExactFinish128},
    exact_modes::{PtychoExactModes64, PtychoExactModes128},
    exact_step_sums::{PtychoExactStepSums64, PtychoExactStepSums128},
};

/// Blocks that process the modes of the probe and `elements` values of the object, eight a thread.
fn items(elements: usize, side: u32, modes: u32) -> usize {
    let threads = (side * side / VALUES as u32) as usize;
    modes as usize + elements.div_ceil(threads * TOGETHER)
}

impl<M: Device> Run<'_, M> {
    /// χ of a batch with the shifted probes, the spectra of what the probe's direction is the sum
    /// of, and the metrics of the batch's frames.
    pub(super) fn exact_chi(&mut self, step: &Step, batch: Batch) -> Result<()> {
        let Some(fused) = &mut self.batches.fused else {
            return Ok(());
        };
        let FrameBuffers {
            size,
            order,
            ranges,
            probes,
            chi,
            work,
            probe_spectra,
            ..
        } = &mut *self.frames;
        let (buffers, layout) = (&mut *self.buffers, self.layout);
        macro_rules! launch {
            ($small:ident | $large:ident, $spectra:ident $(, $modes:ident)?) => {
                launch_by_side!(
                    self.device,
                    fused.side,
                    Work::Blocks(*size),
                    $small
                        | $large {
                            chi: chi.write(),
                            probes: probes.write(),
                            spectra: work.write(),
                            largest: fused.largest.write(),
                            errors: buffers.errors.write(),
                            moved: buffers.moved.write(),
                            photon: buffers.photon.write(),
                            residual: buffers.residual.write(),
                            free: buffers.free.write(),
                            $spectra: probe_spectra.read(),
                            object: buffers.object.read(),
                            magnitudes: buffers.magnitudes.read(),
                            scales: buffers.scales.read(),
                            corners: buffers.corners.read(),
                            fractions: buffers.fractions.read(),
                            order: order.read(),
                            ranges: ranges.read(),
                            roots: fused.roots.read(),
                            frames: layout.frames,
                            most: *size as u32,
                            batches: ranges.len() as u32,
                            batch: batch.number,
                            $($modes: layout.modes,)?
                            object_rows: layout.object_rows,
                            object_columns: layout.object_columns,
                            updates: updates(step),
                        }
                )
            };
        }
        if layout.modes > 1 {
            launch!(
                PtychoExactModes64 | PtychoExactModes128,
                probe_spectra,
                modes
            )
        } else {
            launch!(PtychoExactChi64 | PtychoExactChi128, probe_spectrum)
        }
    }

    /// Divides the numerators; `extra` is added to the object's weights.
    pub(super) fn exact_divide(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        extra: f64,
    ) -> Result<()> {
        let BatchBuffers {
            object,
            object_weights,
            probe,
            probe_weights,
            bounds,
            fused: Some(fused),
            ..
        } = &mut *self.batches
        else {
            return Ok(());
        };
        let elements = self.layout.object_elements();
        let least_squares = matches!(method.update, BatchUpdate::LeastSquares { .. });
        launch_by_side!(
            self.device,
            fused.side,
            Work::Blocks(items(elements, fused.side, self.layout.modes)),
            PtychoExactFinish64
                | PtychoExactFinish128 {
                    object: object.write(),
                    probe: probe.write(),
                    probe_spectrum: fused.change_spectrum.write(),
                    weights: object_weights.read(),
                    probe_weights: probe_weights.read(),
                    largest: fused.largest.read(),
                    bounds: bounds.read(),
                    roots: fused.roots.read(),
                    elements: elements as u32,
                    columns: self.layout.object_columns,
                    modes: self.layout.modes,
                    updates: updates(step),
                    transforms: u32::from(least_squares),
                    extra: extra as f32,
                    floor: FLOOR as f32,
                    object_alpha: alpha(method.object_denominator()),
                    probe_alpha: alpha(method.probe_denominator()),
                }
        )
    }

    /// The sums behind the frames' steps.
    pub(super) fn exact_step_sums(&mut self, batch: Batch) -> Result<()> {
        let BatchBuffers {
            object,
            step_sums,
            fused: Some(fused),
            ..
        } = &mut *self.batches
        else {
            return Ok(());
        };
        let FrameBuffers {
            size,
            order,
            ranges,
            probes,
            chi,
            work,
            ..
        } = &mut *self.frames;
        let (buffers, layout) = (&*self.buffers, self.layout);
        launch_by_side!(
            self.device,
            fused.side,
            Work::Blocks(*size * layout.modes as usize),
            PtychoExactStepSums64
                | PtychoExactStepSums128 {
                    sums: step_sums.write(),
                    changes: work.write(),
                    probes: probes.read(),
                    direction_spectra: fused.change_spectrum.read(),
                    chi: chi.read(),
                    object: buffers.object.read(),
                    direction: object.read(),
                    corners: buffers.corners.read(),
                    fractions: buffers.fractions.read(),
                    order: order.read(),
                    ranges: ranges.read(),
                    roots: fused.roots.read(),
                    frames: layout.frames,
                    most: *size as u32,
                    batches: ranges.len() as u32,
                    batch: batch.number,
                    modes: layout.modes,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                }
        )
    }

    /// Changes object and probe along their directions, and transforms the new probe.
    pub(super) fn exact_advance(&mut self, step: &Step, method: &BatchMethod) -> Result<()> {
        let momentum = method.momentum();
        let deferred = u32::from(self.deferred.is_some());
        let counts = self.batches.velocities(momentum);
        let BatchBuffers {
            object,
            probe,
            steps,
            bounds,
            object_velocity,
            probe_velocity,
            fused: Some(fused),
            ..
        } = &mut *self.batches
        else {
            return Ok(());
        };
        let (device, layout) = (self.device, self.layout);
        let [clip_low, clip_high] = clip_limits(step.clip_object);
        let elements = layout.object_elements();
        let Buffers {
            object: values,
            probe: of_probe,
            support,
            ..
        } = &mut *self.buffers;
        launch_by_side!(
            device,
            fused.side,
            Work::Blocks(items(elements, fused.side, layout.modes)),
            PtychoExactAdvance64
                | PtychoExactAdvance128 {
                    object: values.write(),
                    probe: of_probe.write(),
                    probe_spectrum: self.frames.probe_spectra.write(),
                    object_velocity: object_velocity.write(),
                    probe_velocity: probe_velocity.write(),
                    object_direction: object.read(),
                    probe_direction: probe.read(),
                    support: support.read(),
                    steps: steps.read(),
                    bounds: bounds.read(),
                    roots: fused.roots.read(),
                    elements: elements as u32,
                    columns: layout.object_columns,
                    modes: layout.modes,
                    velocities: counts[0],
                    probe_velocities: counts[1],
                    updates: updates(step),
                    deferred,
                    momentum: momentum as f32,
                    clip_low,
                    clip_high,
                }
        )?;
        if self.constrain_spectrum(step)? {
            self.transform_probe()?;
        }
        Ok(())
    }

    /// Computes the transform of the probe.
    pub(super) fn transform_probe(&mut self) -> Result<()> {
        let to = &mut self.frames.probe_spectra;
        (self.device).fft_to(self.probe_fft, &self.buffers.probe, to, Direction::Forward)
    }
}
