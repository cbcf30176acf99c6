//! What stages of the engines compute with a detector: deviations of batches and of likelihoods,
//! sums along a line, equations of positions, the step of projections and metrics.

use super::{DetectorBuffers, Frames, Source};
use crate::Coefficients;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::{FrameBuffers, chunk};
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    detector_deviation::PtychoDetectorDeviation, detector_equations::PtychoDetectorEquations,
    detector_likelihood::PtychoDetectorLikelihood, detector_line::PtychoDetectorLine,
    detector_line_sums::PtychoDetectorLineSums, detector_products::PtychoDetectorProducts,
    detector_step::PtychoDetectorStep, detector_waves::PtychoDetectorWaves,
};

/// Arrays of the intensities along a line: A0 to A4.
const ALONG: usize = 5;
/// Arrays of the equations of positions: the intensity and its derivatives.
const PRODUCTS: usize = 3;

impl<M: Device> DetectorBuffers<M> {
    /// Writes what the detector measures of the model of a batch, whose waves are `chi`, to
    /// `values`.
    fn measure_batch(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, frames): (&Buffers<M>, &FrameBuffers<M>),
        batch: Batch,
    ) -> Result<()> {
        let source = Source {
            waves: &frames.chi,
            mixed: None,
        };
        let of = Frames::of(&frames.order, batch);
        self.measure(device, layout, buffers, &of, &source)
    }

    /// [`FrameBuffers::deviation`] with this detector.
    pub(in crate::engines::cuda) fn deviation(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, frames): (&mut Buffers<M>, &mut FrameBuffers<M>),
        batch: Batch,
    ) -> Result<()> {
        self.measure_batch(device, layout, (buffers, frames), batch)?;
        let of = Frames::of(&frames.order, batch);
        self.add_to_sums(device, layout, buffers, &of)?;
        // As cpu/model/detector.rs: the factors of the gradient would be blurred here, and converge
        // more slowly.
        self.compare(device, layout, buffers, &of, true, layout.scale())?;
        self.multiply(device, layout, (buffers, frames), batch, true)
    }

    /// Turns measured intensities in `values` into factors, and computes the metrics of the model,
    /// or the errors of reflected waves.
    fn compare(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        of: &Frames<'_, M>,
        of_model: bool,
        scale: f32,
    ) -> Result<()> {
        device.launch(
            &PtychoDetectorDeviation {
                measured: self.values.write(),
                magnitudes: buffers.magnitudes.read(),
                background: self.background.read(),
                order: of.order.unwrap_or(&buffers.open).read(),
                errors: buffers.errors.write(),
                photon: buffers.photon.write(),
                residual: buffers.residual.write(),
                free: buffers.free.write(),
                frames: layout.frames,
                first: of.first,
                count: of.count,
                pixels: layout.pixels(),
                ordered: u32::from(of.order.is_some()),
                of_model: u32::from(of_model),
                scale,
            },
            Work::Blocks(of.count as usize),
        )
    }

    /// Multiplies the waves of a batch by the factors in `values`; computes their power if `sums`.
    fn multiply(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, frames): (&mut Buffers<M>, &mut FrameBuffers<M>),
        batch: Batch,
        sums: bool,
    ) -> Result<()> {
        device.launch(
            &PtychoDetectorWaves {
                waves: frames.chi.write(),
                factors: self.values.read(),
                order: frames.order.read(),
                moved: buffers.moved.write(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.waves(),
                pixels: layout.pixels(),
                sums: u32::from(sums),
            },
            Work::Blocks(batch.count as usize),
        )
    }

    /// The losses of a batch for a `noise` as kernels number it, and if `metrics` also what the
    /// likelihood asks of its waves, in their place, and the frames' metrics.
    pub(in crate::engines::cuda) fn likelihood(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, frames): (&mut Buffers<M>, &mut FrameBuffers<M>),
        batch: Batch,
        losses: &mut M::Buffer<f64>,
        (noise, metrics): (u32, bool),
    ) -> Result<()> {
        self.measure_batch(device, layout, (buffers, frames), batch)?;
        let of = Frames::of(&frames.order, batch);
        if metrics {
            self.add_to_sums(device, layout, buffers, &of)?;
        }
        device.launch(
            &PtychoDetectorLikelihood {
                measured: self.values.write(),
                magnitudes: buffers.magnitudes.read(),
                background: self.background.read(),
                scales: buffers.scales.read(),
                order: frames.order.read(),
                losses: losses.write(),
                errors: buffers.errors.write(),
                moved: buffers.moved.write(),
                photon: buffers.photon.write(),
                residual: buffers.residual.write(),
                free: buffers.free.write(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                pixels: layout.pixels(),
                metrics: u32::from(metrics),
                noise,
                scale: layout.scale(),
            },
            Work::Blocks(batch.count as usize),
        )?;
        if !metrics {
            return Ok(());
        }
        self.blur(device, of.elements(layout), false)?;
        self.multiply(device, layout, (buffers, frames), batch, false)
    }

    /// Sums behind the objective along a line, of the frames of a batch with the waves f, a and b.
    pub(in crate::engines::cuda) fn line_sums(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, order): (&Buffers<M>, &M::Buffer<u32>),
        batch: Batch,
        [f, a, b]: [&M::Buffer<Complex32>; 3],
        (sums, noise): (&mut M::Buffer<[f64; 9]>, u32),
    ) -> Result<()> {
        let elements = batch.count as usize * layout.pixels() as usize;
        self.reserve(device, ALONG * elements)?;
        device.launch(
            &PtychoDetectorLine {
                along: self.values.write(),
                f: f.read(),
                a: a.read(),
                b: b.read(),
                count: batch.count,
                modes: layout.waves(),
                pixels: layout.pixels(),
            },
            Work::Elements(elements),
        )?;
        self.blur(device, ALONG * elements, false)?;
        device.launch(
            &PtychoDetectorLineSums {
                sums: sums.write(),
                along: self.values.read(),
                magnitudes: buffers.magnitudes.read(),
                background: self.background.read(),
                scales: buffers.scales.read(),
                order: order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                pixels: layout.pixels(),
                scale: layout.scale(),
                noise,
            },
            Work::Blocks(batch.count as usize),
        )
    }

    /// Equations of positions and scales, of the frames of a batch with their waves and
    /// derivatives.
    pub(in crate::engines::cuda) fn equations(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, frames): (&Buffers<M>, &FrameBuffers<M>),
        batch: Batch,
        equations: &mut M::Buffer<[f32; 9]>,
    ) -> Result<()> {
        let elements = batch.count as usize * layout.pixels() as usize;
        self.reserve(device, PRODUCTS * elements)?;
        device.launch(
            &PtychoDetectorProducts {
                products: self.values.write(),
                spectra: frames.chi.read(),
                by_row: frames.by_rows().read(),
                by_column: frames.more.read(),
                scales: buffers.scales.read(),
                order: frames.order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.waves(),
                pixels: layout.pixels(),
                scale: layout.scale(),
            },
            Work::Elements(elements),
        )?;
        self.blur(device, PRODUCTS * elements, false)?;
        device.launch(
            &PtychoDetectorEquations {
                equations: equations.write(),
                products: self.values.read(),
                magnitudes: buffers.magnitudes.read(),
                background: self.background.read(),
                order: frames.order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                pixels: layout.pixels(),
            },
            Work::Blocks(batch.count as usize),
        )
    }

    /// Does `work` on all frames in their order, a few at a time.
    fn each_chunk(
        layout: &Layout,
        mut work: impl FnMut(&Frames<'_, M>) -> Result<()>,
    ) -> Result<()> {
        let most = chunk(layout) as u32;
        let mut first = 0;
        while first < layout.frames {
            let count = most.min(layout.frames - first);
            let order = None;
            work(&Frames {
                order,
                first,
                count,
            })?;
            first += count;
        }
        Ok(())
    }

    /// Metrics of all frames' model, whose waves are in `buffers.waves`.
    pub(in crate::engines::cuda) fn metrics(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
    ) -> Result<()> {
        Self::each_chunk(layout, |of| self.model_metrics(device, layout, buffers, of))
    }

    fn model_metrics(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        of: &Frames<'_, M>,
    ) -> Result<()> {
        let source = Source {
            waves: &buffers.waves,
            mixed: None,
        };
        self.measure(device, layout, buffers, of, &source)?;
        self.compare(device, layout, buffers, of, true, 1.0)
    }

    /// The step of a projection engine and all metrics of the frames, with the waves of the model
    /// in `buffers.waves`.
    pub(in crate::engines::cuda) fn project(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        (coefficients, bound): (Coefficients, f64),
    ) -> Result<()> {
        let c = coefficients.c as f32;
        Self::each_chunk(layout, |of| {
            self.model_metrics(device, layout, buffers, of)?;
            let source = Source {
                waves: &buffers.spectra,
                mixed: Some((&buffers.waves, [1.0 - c, c])),
            };
            self.measure(device, layout, buffers, of, &source)?;
            self.compare(device, layout, buffers, of, false, 1.0)?;
            self.blur(device, of.elements(layout), false)?;
            device.launch(
                &PtychoDetectorStep {
                    spectra: buffers.spectra.write(),
                    model: buffers.waves.read(),
                    factors: self.values.read(),
                    errors: buffers.errors.read(),
                    moved: buffers.moved.write(),
                    frames: layout.frames,
                    first: of.first,
                    count: of.count,
                    modes: layout.waves(),
                    pixels: layout.pixels(),
                    scale: layout.scale(),
                    bound: bound as f32,
                    keep: coefficients.keep() as f32,
                    a: coefficients.a as f32,
                    b: coefficients.b as f32,
                    c,
                },
                Work::Blocks(of.count as usize),
            )
        })
    }
}
