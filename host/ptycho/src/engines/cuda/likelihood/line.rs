//! Mirrors cpu/likelihood/line.rs: the sums that give the objective along a line.

use super::squares::SlopeSquares;
use super::{Run, number};
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::frame_stream::Metrics;
use crate::engines::cuda::memory::frames::{FrameBuffers, ShiftTo, between};
use crate::engines::cuda::model::detector::DetectorBuffers;
use crate::engines::cuda::model::exposure_points::PointView;
use crate::engines::cuda::model::multislice::linear_changes;
use crate::engines::likelihood::Noise;
use warpstride_cuda::gpu::{Buffer, Device, Direction, ReadBack, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    layered_line_waves::PtychoLayeredLineWaves, line_sums::PtychoLineSums,
    line_waves::PtychoLineWaves,
};

/// What takes the place of the sums of detectors that measure the intensities themselves: a
/// detector, and the squares of slopes.
type EndOfLine<'a, M> = (
    Option<&'a mut DetectorBuffers<M>>,
    Option<&'a mut SlopeSquares<M>>,
);

impl<M: Device> Run<'_, M> {
    /// Sums of the coefficients over the pixels of all frames, along the direction, with separate
    /// launches.
    pub(super) fn separate_line_sums(&mut self, noise: Noise) -> Result<[f64; 9]> {
        let layered = self.layout.object_layers > 1;
        let elements = self.frames.chi.len();
        if self.frames.more.is_empty() {
            self.frames.more = self.device.alloc("more work waves", elements)?;
        }
        if layered && self.frames.other.is_empty() {
            self.frames.other = self.device.alloc("other waves of a batch", elements)?;
        }
        let mut total = self.sums_along(noise, &mut None)?;
        if self.buffers.slices.is_some() && noise == Noise::Gaussian {
            // The nine are those of a polynomial, whose third order is no curvature. As a rule the
            // second is positive, and no other is needed.
            total[3] = if total[2] > 0.0 {
                total[2]
            } else {
                let mut squares = Some(SlopeSquares::new(
                    self.device,
                    self.layout,
                    self.frames.size,
                )?);
                self.sums_along(noise, &mut squares)?[8]
            };
        }
        Ok(total)
    }

    /// The nine sums over all frames; with `squares` only the last is meant, and it is Σ ½ w A1².
    fn sums_along(
        &mut self,
        noise: Noise,
        squares: &mut Option<SlopeSquares<M>>,
    ) -> Result<[f64; 9]> {
        let mut sums: Vec<(M::ReadBack<[f64; 9]>, usize)> = Vec::new();
        self.each_block(Metrics::Unchanged, &mut |run, batches| {
            // Its memory is changed while that of the run is read.
            let mut detector = run.buffers.detector.take();
            let done = run.line_of_block(noise, batches, (detector.as_mut(), squares.as_mut()));
            run.buffers.detector = detector;
            done?;
            let of_block = run.device.read_back(&run.own.line)?;
            sums.push((of_block, run.layout.frames as usize));
            Ok(())
        })?;
        let mut total = [0.0; 9];
        for (of_block, frames) in sums {
            for sums in of_block.wait()?.iter().take(frames) {
                total.iter_mut().zip(sums).for_each(|(sum, v)| *sum += v);
            }
        }
        Ok(total)
    }

    /// Writes the sums of the frames of `batches`.
    fn line_of_block(
        &mut self,
        noise: Noise,
        batches: &[Batch],
        (mut detector, mut squares): EndOfLine<'_, M>,
    ) -> Result<()> {
        let layered = self.layout.object_layers > 1;
        let (device, layout, fft) = (self.device, self.layout, self.probe_fft);
        let (buffers, own) = (&*self.buffers, &mut *self.own);
        let frames = &mut *self.frames;
        for batch in batches.iter().copied() {
            frames.transform_probe(device, buffers, fft)?;
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
            frames.transform_layers(device, &buffers.open, &own.direction[1], fft)?;
            frames.shift(device, layout, buffers, batch, ShiftTo::Work, 0)?;
            let FrameBuffers {
                probes,
                chi,
                more,
                work,
                other,
                order,
                fft,
                exact,
                points,
                ..
            } = &mut *frames;
            let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
            let (f, b) = if layered {
                device.launch(
                    &PtychoLayeredLineWaves {
                        f: chi.write(),
                        mixed: more.write(),
                        b: other.write(),
                        probes: probes.read(),
                        changes: work.read(),
                        object: buffers.object.read(),
                        direction: own.direction[0].read(),
                        corners: at.corners.read(),
                        order: at.order.read(),
                        frames: at.frames,
                        first: at.first,
                        count: at.count,
                        layers: layout.object_layers,
                        modes: layout.modes,
                        rows: layout.rows,
                        columns: layout.columns,
                        object_rows: layout.object_rows,
                        object_columns: layout.object_columns,
                        parts: layout.parts,
                    },
                    Work::Blocks(at.count as usize * layout.parts as usize),
                )?;
                (chi, other)
            } else if buffers.slices.is_some() {
                let from = (buffers, &*order, &*fft);
                let waves = [&mut *probes, &mut *more, &mut *work];
                let direction = &own.direction[0];
                linear_changes(device, layout, from, batch, direction, waves, None)?;
                // There are no higher orders.
                device.zero(work)?;
                (probes, work)
            } else {
                device.launch(
                    &PtychoLineWaves {
                        probes: probes.write(),
                        mixed: more.write(),
                        changes: work.write(),
                        object: buffers.object.read(),
                        direction: own.direction[0].read(),
                        corners: at.corners.read(),
                        order: at.order.read(),
                        frames: at.frames,
                        first: at.first,
                        count: at.count,
                        modes: layout.modes,
                        rows: layout.rows,
                        columns: layout.columns,
                        object_rows: layout.object_rows,
                        object_columns: layout.object_columns,
                        parts: layout.parts,
                    },
                    Work::Blocks(at.count as usize * layout.parts as usize),
                )?;
                (probes, work)
            };
            for waves in [&mut *f, &mut *more, &mut *b] {
                let between = between(*exact, &at);
                (buffers.propagator).propagate(device, fft, waves, between, Direction::Forward)?;
            }
            if let Some(detector) = detector.as_deref_mut() {
                let (from, waves) = ((buffers, &*order), [&*f, &*more, &*b]);
                let to = (&mut own.line, number(noise));
                detector.line_sums(device, layout, from, batch, waves, to)?;
                continue;
            }
            if let Some(squares) = squares.as_deref_mut() {
                let from = (buffers, &*order);
                squares.sum(
                    device,
                    layout,
                    from,
                    batch,
                    [&*f, &*more, &*b],
                    &mut own.line,
                )?;
                continue;
            }
            device.launch(
                &PtychoLineSums {
                    sums: own.line.write(),
                    f: f.read(),
                    a: more.read(),
                    b: b.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    order: order.read(),
                    frames: layout.frames,
                    first: batch.first,
                    count: batch.count,
                    modes: layout.waves(),
                    pixels: layout.pixels(),
                    scale: layout.scale(),
                    noise: number(noise),
                },
                Work::Blocks(batch.count as usize),
            )?;
        }
        Ok(())
    }
}
