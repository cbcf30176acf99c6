//! Spectra of the probe, and the probes of a batch, shifted to the positions of its frames.

use super::FrameBuffers;
use crate::engines::batch_shares::SHARES;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::exposure_points::{PointView, Points};
use crate::engines::cuda::model::propagation::BetweenPixels;
use crate::engines::cuda::model::variable_probe::VariationBuffers;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    copy_waves::PtychoCopyWaves, shifted_spectra::PtychoShiftedSpectra,
};

/// Where shifted layers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engines::cuda) enum ShiftTo {
    Probes,
    Work,
}

impl<M: Device> FrameBuffers<M> {
    /// Computes the spectra of the current probe.
    pub(in crate::engines::cuda) fn transform_probe(
        &mut self,
        device: &M,
        buffers: &Buffers<M>,
        probe_fft: &M::Fft,
    ) -> Result<()> {
        self.transform_layers(device, &buffers.open, &buffers.probe, probe_fft)?;
        self.find_variations(buffers);
        self.of_probe = true;
        match buffers.variations.as_ref().filter(|_| self.varies) {
            Some(of) => of.transform(device, self.exact, &mut self.shape_spectra),
            None => Ok(()),
        }
    }

    /// Notes whether the frames' probes have variations.
    pub(in crate::engines::cuda) fn find_variations(&mut self, buffers: &Buffers<M>) {
        let of = buffers.variations.as_ref();
        self.varies = of.is_some_and(VariationBuffers::in_model);
    }

    /// Computes the spectra of the first layers of `layers`, as many as the probe has; `open` is
    /// the open gate.
    pub(in crate::engines::cuda) fn transform_layers(
        &mut self,
        device: &M,
        open: &M::Buffer<u32>,
        layers: &M::Buffer<Complex32>,
        probe_fft: &M::Fft,
    ) -> Result<()> {
        self.of_probe = false;
        let to = &mut self.probe_spectra;
        if self.exact {
            return device.fft_to(probe_fft, layers, to, Direction::Forward);
        }
        copy_layers(device, open, layers, to)
    }

    /// Shifts the layers whose spectra are `probe_spectra` to every frame of the batch; writes
    /// them, or their derivatives by the shift (1 rows, 2 columns), to `probes` or to `work`.
    pub(in crate::engines::cuda) fn shift(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
        to: ShiftTo,
        derivative: u32,
    ) -> Result<()> {
        if let Some(points) = &mut self.points {
            points.set(device, layout, buffers, (&self.order, batch), self.scaled)?;
        }
        let at = PointView::new(layout, buffers, self.points.as_ref(), (&self.order, batch));
        let to = match to {
            ShiftTo::Probes => &mut self.probes,
            ShiftTo::Work => &mut self.work,
        };
        device.launch(
            &PtychoShiftedSpectra {
                to: to.write(),
                spectra: self.probe_spectra.read(),
                fractions: at.fractions.read(),
                scales: at.scales.read(),
                order: at.order.read(),
                frames: at.frames,
                first: at.first,
                count: at.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                parts: layout.parts,
                derivative,
                scaled: u32::from(self.scaled || at.shared),
                scale: if self.exact { layout.scale() } else { 1.0 },
            },
            Work::Blocks(at.count as usize * layout.parts as usize),
        )?;
        if let Some(of) = (buffers.variations.as_ref()).filter(|_| self.varies && self.of_probe) {
            let frames = (&buffers.fractions, &buffers.scales, &self.order);
            let scale = if self.exact { layout.scale() } else { 1.0 };
            let how = (derivative, self.scaled, scale);
            of.add(
                device,
                layout,
                frames,
                batch,
                (&self.shape_spectra, &mut *to),
                how,
            )?;
        }
        if !self.exact {
            return Ok(());
        }
        let fft = self.moved_fft.as_ref().unwrap_or(&self.fft);
        device.fft(fft, to, Direction::Inverse)
    }

    /// Computes the points of the exposures of all frames, in the order that [`FrameBuffers::all`]
    /// has set.
    pub(in crate::engines::cuda) fn set_all_points(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
    ) -> Result<()> {
        if self.points.is_none() {
            return Ok(());
        }
        let points = match &mut self.all_points {
            Some(points) => points,
            none => none.insert(Points::new(device, layout, layout.frames as usize)?),
        };
        let all = Batch {
            number: 0,
            first: 0,
            count: layout.frames,
            ends: [layout.frames; SHARES],
        };
        points.set(device, layout, buffers, (&self.order, all), true)
    }

    /// The fractions of all frames in their order, or of the points that
    /// [`FrameBuffers::set_all_points`] has computed.
    pub(in crate::engines::cuda) fn between_all<'a>(
        &'a self,
        layout: &Layout,
        fractions: &'a M::Buffer<[f32; 2]>,
    ) -> BetweenPixels<'a, M> {
        match &self.all_points {
            Some(points) => points.all(),
            None => BetweenPixels::all(layout, fractions, &self.order),
        }
    }

    /// Factor on the sums of `back_projected`, before [`FrameBuffers::layers_from`].
    pub(in crate::engines::cuda) fn layers_scale(&self, layout: &Layout) -> f32 {
        if self.exact { layout.scale() } else { 1.0 }
    }

    /// Transforms the first layers of `spectra`, sums of `back_projected`, to layers in place.
    pub(in crate::engines::cuda) fn layers_from(
        &self,
        device: &M,
        spectra: &mut M::Buffer<Complex32>,
        probe_fft: &M::Fft,
    ) -> Result<()> {
        if self.exact {
            device.fft(probe_fft, spectra, Direction::Inverse)
        } else {
            Ok(())
        }
    }
}

/// Copies as many elements as `to` has; `open` is the open gate.
pub(in crate::engines::cuda) fn copy_layers<M: Device>(
    device: &M,
    open: &M::Buffer<u32>,
    from: &M::Buffer<Complex32>,
    to: &mut M::Buffer<Complex32>,
) -> Result<()> {
    let elements = to.len();
    device.launch(
        &PtychoCopyWaves {
            to: to.write(),
            from: from.read(),
            gate: open.read(),
            elements: elements as u32,
        },
        Work::Elements(elements),
    )
}
