//! Waves of a batch: products with the object, waves on the detector, and what the counts ask of
//! them.

use super::FrameBuffers;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::exposure_points::PointView;
use crate::engines::cuda::model::propagation::BetweenPixels;
use crate::engines::cuda::model::window_product::product;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::magnitude_deviation::PtychoMagnitudeDeviation;

impl<M: Device> FrameBuffers<M> {
    /// Writes the unnormalised detector waves of `probes`·O to `chi`.
    pub(in crate::engines::cuda) fn model(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
    ) -> Result<()> {
        self.model_of(device, layout, buffers, batch, false)
    }

    /// Whether all frames of a batch have the same probe, that of the buffers: at whole pixels,
    /// without factors and variations of the frames.
    pub(in crate::engines::cuda) fn same_probe(&self) -> bool {
        !self.exact && !self.scaled && !self.varies
    }

    /// [`Self::model`], or with `same_probe` the detector waves of the probe itself, times O.
    pub(in crate::engines::cuda) fn model_of(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
        same_probe: bool,
    ) -> Result<()> {
        match &buffers.slices {
            Some(slices) => self.thick_products(device, layout, (buffers, slices), batch)?,
            None => self.products(device, layout, buffers, batch, same_probe)?,
        }
        let Self {
            order,
            chi,
            fft,
            exact,
            points,
            ..
        } = self;
        let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
        let between = between(*exact, &at);
        let propagator = &buffers.propagator;
        propagator.propagate(device, fft, chi, between, Direction::Forward)
    }

    /// Writes what [`Self::model`] writes, but in the near field the spectra of the detector waves:
    /// [`Self::model_beside`] needs them, and [`Self::finish_model`] makes detector waves of them.
    pub(in crate::engines::cuda) fn begin_model(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
    ) -> Result<()> {
        self.products(device, layout, buffers, batch, false)?;
        let Self {
            order,
            chi,
            fft,
            exact,
            points,
            ..
        } = self;
        let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
        let between = between(*exact, &at);
        let propagator = &buffers.propagator;
        propagator.begin(device, fft, chi, between, None)
    }

    /// Completes [`Self::begin_model`].
    pub(in crate::engines::cuda) fn finish_model(
        &mut self,
        device: &M,
        buffers: &Buffers<M>,
    ) -> Result<()> {
        let Self { chi, fft, .. } = self;
        buffers.propagator.finish(device, fft, chi)
    }

    /// Writes `probes`·O, or with `same_probe` the probe itself times O, to `chi`.
    fn products(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
        same_probe: bool,
    ) -> Result<()> {
        let Self {
            order,
            probes,
            chi,
            points,
            ..
        } = self;
        let (from, first) = if same_probe {
            (&buffers.probe, None)
        } else {
            (&*probes, Some(0))
        };
        let object = &buffers.object;
        let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
        product(device, layout, &at, (chi, 0), (from, first), object, false)
    }

    /// Writes the spectra of conj(O)·`chi` to `work`, or conj(O)·`chi` itself at whole pixels.
    pub(in crate::engines::cuda) fn back_projected(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
    ) -> Result<()> {
        let Self {
            order,
            chi,
            work,
            fft,
            moved_fft,
            exact,
            points,
            ..
        } = self;
        let (from, object) = (&*chi, &buffers.object);
        let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
        product(
            device,
            layout,
            &at,
            (work, 0),
            (from, Some(0)),
            object,
            true,
        )?;
        if !*exact {
            return Ok(());
        }
        let fft = moved_fft.as_ref().unwrap_or(fft);
        device.fft(fft, work, Direction::Forward)
    }

    /// Writes the derivatives of the unnormalised detector waves by the frames' rows to `work` or,
    /// if `second`, by their columns to `more`, from those of the shifted probes in `probes` and
    /// the waves of [`Self::begin_model`].
    pub(in crate::engines::cuda) fn model_beside(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
        second: bool,
    ) -> Result<()> {
        let Self {
            order,
            probes,
            chi,
            work,
            other,
            more,
            fft,
            exact,
            points,
            ..
        } = self;
        if second && more.is_empty() {
            *more = device.alloc("more work waves", chi.len())?;
        }
        let to = match (second, work.len() == chi.len()) {
            (true, _) => more,
            (false, true) => work,
            (false, false) => {
                if other.is_empty() {
                    *other = device.alloc("other waves of a batch", chi.len())?;
                }
                other
            }
        };
        let (from, object) = (&*probes, &buffers.object);
        let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
        product(device, layout, &at, (to, 0), (from, Some(0)), object, false)?;
        let between = between(*exact, &at);
        let propagator = &buffers.propagator;
        let derivative = Some((&*chi, if second { 2 } else { 1 }));
        propagator.begin(device, fft, to, between, derivative)?;
        propagator.finish(device, fft, to)
    }

    /// Turns the model's spectra in `chi` into what the counts ask of them, and computes the
    /// metrics of the frames.
    pub(in crate::engines::cuda) fn deviation(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        batch: Batch,
    ) -> Result<()> {
        if let Some(mut detector) = buffers.detector.take() {
            let done = detector.deviation(device, layout, (buffers, self), batch);
            buffers.detector = Some(detector);
            return done;
        }
        device.launch(
            &PtychoMagnitudeDeviation {
                spectra: self.chi.write(),
                magnitudes: buffers.magnitudes.read(),
                scales: buffers.scales.read(),
                order: self.order.read(),
                errors: buffers.errors.write(),
                moved: buffers.moved.write(),
                photon: buffers.photon.write(),
                residual: buffers.residual.write(),
                free: buffers.free.write(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.waves(),
                pixels: layout.pixels(),
                scale: layout.scale(),
            },
            Work::Blocks(batch.count as usize),
        )
    }

    /// Where [`FrameBuffers::model_beside`] has written the derivatives by the rows.
    pub(in crate::engines::cuda) fn by_rows(&self) -> &M::Buffer<Complex32> {
        if self.other.is_empty() {
            &self.work
        } else {
            &self.other
        }
    }

    /// Propagates `chi` back; χ is then at the specimen.
    pub(in crate::engines::cuda) fn back(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
    ) -> Result<()> {
        let Self {
            order,
            fft,
            chi,
            exact,
            points,
            ..
        } = self;
        let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
        let between = between(*exact, &at);
        let propagator = &buffers.propagator;
        propagator.propagate(device, fft, chi, between, Direction::Inverse)
    }
}

/// The fractions of the frames of a batch, or of their points, if they are at their `exact`
/// positions.
pub(in crate::engines::cuda) fn between<'a, M: Device>(
    exact: bool,
    at: &PointView<'a, M>,
) -> Option<BetweenPixels<'a, M>> {
    exact.then(|| at.between_pixels())
}
