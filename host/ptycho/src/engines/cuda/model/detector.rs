//! Mirrors cpu/model/detector.rs: G ∗ S + b of the frames of a batch, and what engines need beside
//! it.
//!
//! Intensities, factors and products of a few frames are in one array, which is blurred in place.
//! Launches that follow each other are those of [`crate::engines::cuda::memory::frames`],
//! [`crate::engines::cuda::projections::fourier_projection`] and
//! [`crate::engines::cuda::likelihood`] without a detector in separate parts.

mod measure;
mod stages;

use crate::Detector;
use crate::data::DetectorModel;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::layout::Layout;
use crate::model::detector::{Kernel, TERMS, measured_by, updated};
use crate::model::detector::{save_background, saved_background};
use crate::session::recipe::BackgroundFit;
use crate::{EngineError, EngineState, Problem, Step};
use ndarray::Array2;
use warpstride_cuda::gpu::{Buffer, Device, ReadBack, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::detector_blur::{PtychoDetectorBlur, VALUES};

/// The blur along one axis of frames.
struct AxisKernel<M: Device> {
    before: u32,
    weights: M::Buffer<f32>,
    /// Values of the axis, and the distance of neighbours.
    length: u32,
    stride: u32,
}

impl<M: Device> AxisKernel<M> {
    fn new(device: &M, of: &Kernel, [length, stride]: [usize; 2]) -> Result<Self> {
        let narrow: Vec<f32> = of.weights.iter().map(|w| *w as f32).collect();
        let mut weights = device.alloc("the detector's blur", narrow.len())?;
        device.upload(&mut weights, &narrow)?;
        Ok(Self {
            before: of.before as u32,
            weights,
            length: length as u32,
            stride: stride as u32,
        })
    }
}

/// The detector of an engine, and device memory for a few frames. Arrays of pixels are (row,
/// column), zero frequency at (0, 0).
pub(in crate::engines::cuda) struct DetectorBuffers<M: Device> {
    /// Rows and columns.
    shape: [usize; 2],
    /// Along rows' direction and columns' direction; none without blur.
    kernels: Option<[AxisKernel<M>; 2]>,
    blur: [f64; 2],
    has_background: bool,
    fit: BackgroundFit,
    from: usize,
    floor: f64,
    /// Photons, as the device has them.
    present: Vec<f64>,
    /// The background (row, column) on the device, photons; that of `present`.
    background: M::Buffer<f32>,
    /// (array, frame of the batch, row, column): intensities, then factors or products.
    values: M::Buffer<f32>,
    /// Scratch memory of the blur, as `values`.
    work: M::Buffer<f32>,
    /// (term, row, column) of [`TERMS`] sums over the frames of the iteration; empty if no
    /// background is fitted.
    sums: M::Buffer<f64>,
    /// Whether the batches of the present iteration add to them.
    collects: bool,
}

/// Some frames at a time.
struct Frames<'a, M: Device> {
    /// The order of the frames if they are those of a batch: the first wave is then that of its
    /// first frame, and frames have their scales.
    order: Option<&'a M::Buffer<u32>>,
    /// First frame in that order, and number of frames.
    first: u32,
    count: u32,
}

impl<'a, M: Device> Frames<'a, M> {
    /// Those of a batch in `order`.
    fn of(order: &'a M::Buffer<u32>, batch: Batch) -> Self {
        Self {
            order: Some(order),
            first: batch.first,
            count: batch.count,
        }
    }

    /// Pixels of all of them.
    fn elements(&self, layout: &Layout) -> usize {
        self.count as usize * layout.pixels() as usize
    }
}

/// Detector waves whose intensities are measured.
struct Source<'a, M: Device> {
    waves: &'a M::Buffer<Complex32>,
    /// Waves with which they are mixed, and the parts of both.
    mixed: Option<(&'a M::Buffer<Complex32>, [f32; 2])>,
}

impl<M: Device> DetectorBuffers<M> {
    /// Memory for the detector of a problem; none if frames are the intensities themselves.
    pub(in crate::engines::cuda) fn new(device: &M, problem: &Problem) -> Result<Option<Self>> {
        let Some(of) = &problem.detector else {
            return Ok(None);
        };
        let Detector {
            blur,
            background,
            fit,
            from,
            floor,
            has_background,
        } = of;
        let (rows, columns) = background.dim();
        let kernels = match of.kernels() {
            None => None,
            Some([along_rows, along_columns]) => Some([
                AxisKernel::new(device, &along_rows, [rows, columns])?,
                AxisKernel::new(device, &along_columns, [columns, 1])?,
            ]),
        };
        let pixels = rows * columns;
        let sums = if *fit == BackgroundFit::Off {
            0
        } else {
            pixels
        };
        let mut new = Self {
            shape: [rows, columns],
            kernels,
            blur: *blur,
            has_background: *has_background,
            fit: *fit,
            from: *from,
            floor: *floor,
            present: Vec::new(),
            background: device.alloc("the detector's background", pixels)?,
            values: device.alloc("intensities on the detector", 0)?,
            work: device.alloc("blurred intensities", 0)?,
            sums: device.alloc("sums of the detector's pixels", sums * TERMS)?,
            collects: false,
        };
        new.set(device, background.iter().copied())?;
        Ok(Some(new))
    }

    /// Whether batches add to the sums of the iteration: if it updates the background.
    pub(in crate::engines::cuda) fn begin(&mut self, device: &M, step: &Step) -> Result<()> {
        self.collects =
            self.fit != BackgroundFit::Off && !step.is_projection() && step.iteration >= self.from;
        if self.collects {
            device.zero(&mut self.sums)?;
        }
        Ok(())
    }

    /// Updates the background from the sums of the iteration, if there are any; waits for the
    /// device then.
    pub(in crate::engines::cuda) fn finish(&mut self, device: &M) -> Result<()> {
        if !std::mem::take(&mut self.collects) {
            return Ok(());
        }
        let sums = device.read_back(&self.sums)?.wait()?;
        let pixels = self.present.len();
        let of_pixel = |pixel: usize| std::array::from_fn(|term| sums[term * pixels + pixel]);
        let of_pixels: Vec<[f64; TERMS]> = (0..pixels).map(of_pixel).collect();
        let next = updated(self.fit, self.shape, &self.present, &of_pixels);
        self.set(device, next)
    }

    /// Sets the background.
    fn set(&mut self, device: &M, background: impl IntoIterator<Item = f64>) -> Result<()> {
        let narrow: Vec<f32> = background.into_iter().map(|b| b as f32).collect();
        device.upload(&mut self.background, &narrow)?;
        self.present = narrow.into_iter().map(f64::from).collect();
        Ok(())
    }

    fn in_rows(&self) -> Array2<f64> {
        let [rows, columns] = self.shape;
        Array2::from_shape_fn((rows, columns), |(r, c)| self.present[r * columns + c])
    }

    /// What a result has of it.
    pub(in crate::engines::cuda) fn model(&self) -> DetectorModel {
        measured_by(self.blur, self.has_background.then(|| self.in_rows()))
    }

    /// Adds the background to `state`.
    pub(in crate::engines::cuda) fn save(&self, state: &mut EngineState) {
        if self.fit != BackgroundFit::Off {
            save_background(&self.in_rows(), state);
        }
    }

    /// Takes the background of `state`, if it has one.
    pub(in crate::engines::cuda) fn restore(
        &mut self,
        device: &M,
        state: &EngineState,
    ) -> std::result::Result<(), EngineError> {
        if let Some(background) = saved_background(state, self.present.len())? {
            self.set(device, background)?;
        }
        self.collects = false;
        Ok(())
    }

    /// Allocates memory for so many values, unless there is as much.
    fn reserve(&mut self, device: &M, elements: usize) -> Result<()> {
        if self.values.len() < elements {
            // Freed before more is taken.
            self.values = device.alloc("intensities on the detector", 0)?;
            self.values = device.alloc("intensities on the detector", elements)?;
        }
        if self.kernels.is_some() && self.work.len() < elements {
            self.work = device.alloc("blurred intensities", 0)?;
            self.work = device.alloc("blurred intensities", elements)?;
        }
        Ok(())
    }

    /// Blurs the first `elements` of `values`, of whole frames; then adds the background if `add`.
    fn blur(&mut self, device: &M, elements: usize, add: bool) -> Result<()> {
        let Self {
            kernels: Some(kernels),
            values,
            work,
            background,
            present,
            ..
        } = self
        else {
            return Ok(());
        };
        let pixels = present.len() as u32;
        let pass = |kernel: &AxisKernel<M>, to: &mut M::Buffer<f32>, from: &M::Buffer<f32>, add| {
            device.launch(
                &PtychoDetectorBlur {
                    to: to.write(),
                    from: from.read(),
                    weights: kernel.weights.read(),
                    background: background.read(),
                    elements,
                    taps: kernel.weights.len() as u32,
                    before: kernel.before,
                    length: kernel.length,
                    stride: kernel.stride,
                    pixels,
                    add: u32::from(add),
                },
                Work::Elements(elements.div_ceil(VALUES)),
            )
        };
        let [along_rows, along_columns] = kernels;
        pass(along_rows, work, values, false)?;
        pass(along_columns, values, work, add)
    }
}
