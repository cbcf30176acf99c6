//! Device memory of the engines that work frame by frame, and the model of a few frames at a time.
//! Mirrors cpu/model.rs.

use super::annealing::TrialBuffers;
use super::buffers::{Buffers, Layout};
use super::frame_stream::{BlockWork, Metrics};
use super::fused_batches::Epoch;
use super::propagation::BetweenPixels;
use super::variable_probe::VariationBuffers;
use crate::gpu::{Buffer, Device, Direction, Result};
use crate::ptycho::batch_shares::{SHARES, share_ends};
use crate::ptycho::frames_together;
use std::collections::BTreeMap;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    copy_waves::PtychoCopyWaves, magnitude_deviation::PtychoMagnitudeDeviation,
    shifted_spectra::PtychoShiftedSpectra, window_product::PtychoWindowProduct,
};

/// Frames whose waves are in memory together where the engine has no batches of its own.
pub(super) fn chunk(layout: &Layout) -> usize {
    frames_together(layout.probe_elements()).min((layout.frames as usize).max(1))
}

/// Some of the frames: `order[first..first + count]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    /// Its place among the batches.
    pub(super) number: u32,
    pub(super) first: u32,
    pub(super) count: u32,
    /// The places in it where its shares end.
    pub(super) ends: [u32; SHARES],
}

/// Lists of frames of a device as batches whose frames follow each other.
pub(super) fn batches(layout: &Layout, lists: &[Vec<u32>]) -> Vec<Batch> {
    let mut first = 0;
    let batch = |(number, list): (u32, &Vec<u32>)| {
        let count = list.len() as u32;
        first += count;
        Batch {
            number,
            first: first - count,
            count,
            ends: share_ends(list, [layout.frames, layout.shares]),
        }
    };
    (0..).zip(lists).map(batch).collect()
}

/// Buffers for `size` frames at a time. Shapes are (frame of the batch, mode, row, column) unless
/// they are stated.
pub(super) struct FrameBuffers<M: Device> {
    pub(super) size: usize,
    /// Whether probes are shifted; otherwise «spectra» of probes are the probes themselves, and nothing
    /// is transformed to shift them.
    pub(super) exact: bool,
    /// Whether any frame is between pixels.
    pub(super) between_pixels: bool,
    /// Whether the frames' probes have variations.
    pub(super) varies: bool,
    /// Whether `probe_spectra` are those of the probe, which has the variations, and not of its direction.
    of_probe: bool,
    /// (variation, row, column): spectra of the variations' shapes, or the shapes; empty without them.
    pub(super) shape_spectra: M::Buffer<Complex32>,
    /// Whether shifted probes have the roots of the frames' scales as factors.
    pub(super) scaled: bool,
    pub(super) fft: M::Fft,
    /// (frame): frames in the order of the batches.
    pub(super) order: M::Buffer<u32>,
    /// (batch): first frame in this order, and number of frames.
    pub(super) ranges: M::Buffer<[u32; 2]>,
    /// What `ranges` holds.
    present_ranges: Vec<[u32; 2]>,
    /// (batch): where its shares end.
    pub(super) share_ends: M::Buffer<[u32; SHARES]>,
    /// What `share_ends` holds.
    present_ends: Vec<[u32; SHARES]>,
    /// (batch): the object's pixels under its windows, if other devices have some of them; otherwise empty.
    pub(super) bounds: M::Buffer<[u32; 4]>,
    /// The launches of an epoch, or of each group of batches on a region, if they have been captured; they use these buffers.
    pub(super) epochs: BTreeMap<usize, Epoch<M>>,
    /// Shifted probes.
    pub(super) probes: M::Buffer<Complex32>,
    /// Exit waves, their spectra, then what the counts ask of them.
    pub(super) chi: M::Buffer<Complex32>,
    /// Scratch memory.
    pub(super) work: M::Buffer<Complex32>,
    /// Scratch memory of the refinement; empty until it is used.
    pub(super) more: M::Buffer<Complex32>,
    /// (frame): equations of the refinement of positions; none until it is used.
    pub(super) equations: Option<M::Buffer<[f32; 9]>>,
    /// Memory of trial positions; none until it is used.
    pub(super) trials: Option<TrialBuffers<M>>,
    /// (mode, row, column): spectra of the probe, or of its direction.
    pub(super) probe_spectra: M::Buffer<Complex32>,
}

impl<M: Device> FrameBuffers<M> {
    /// Allocates memory for `size` frames.
    pub(super) fn new(device: &M, layout: &Layout, size: usize) -> Result<Self> {
        let waves = size * layout.probe_elements();
        let shape = [layout.rows as usize, layout.columns as usize];
        Ok(Self {
            size,
            exact: true,
            between_pixels: true,
            varies: false,
            of_probe: false,
            shape_spectra: device.alloc("the variations' spectra", 0)?,
            scaled: false,
            fft: device.plan_fft(&shape, size * layout.modes as usize)?,
            order: device.alloc("the order of the frames", layout.frames as usize)?,
            ranges: device.alloc("the batches", 0)?,
            present_ranges: Vec::new(),
            share_ends: device.alloc("the shares of the batches", 0)?,
            present_ends: Vec::new(),
            bounds: device.alloc("the bounds of the batches", 0)?,
            epochs: BTreeMap::new(),
            probes: device.alloc("a batch's probes", waves)?,
            chi: device.alloc("a batch's waves", waves)?,
            work: device.alloc("a batch's work waves", waves)?,
            more: device.alloc("more work waves", 0)?,
            equations: None,
            trials: None,
            probe_spectra: device.alloc("the probe's spectra", layout.probe_elements())?,
        })
    }

    /// Whether fused launches shift probes by fractions of a pixel.
    pub(super) fn shifts(&self) -> bool {
        self.exact && self.between_pixels
    }

    /// Sets the order of the frames from lists of at most `size`; returns the batches.
    pub(super) fn set_order(
        &mut self,
        device: &M,
        layout: &Layout,
        lists: &[Vec<u32>],
    ) -> Result<Vec<Batch>> {
        device.upload(&mut self.order, &lists.concat())?;
        let batches = batches(layout, lists);
        let ranges: Vec<[u32; 2]> = batches.iter().map(|b| [b.first, b.count]).collect();
        let ends: Vec<[u32; SHARES]> = batches.iter().map(|b| b.ends).collect();
        if self.ranges.len() != ranges.len() {
            self.epochs.clear();
            self.ranges = device.alloc("the batches", ranges.len())?;
            self.share_ends = device.alloc("the shares of the batches", ends.len())?;
        }
        if self.present_ranges != ranges {
            device.upload(&mut self.ranges, &ranges)?;
            self.present_ranges = ranges;
        }
        if self.present_ends != ends {
            device.upload(&mut self.share_ends, &ends)?;
            self.present_ends = ends;
        }
        Ok(batches)
    }

    /// All frames in their order, as many at a time as there is memory for.
    pub(super) fn all(&mut self, device: &M, layout: &Layout) -> Result<Vec<Batch>> {
        self.set_order(device, layout, &self.lists(layout))
    }

    /// Does `work` on `lists` of frames: at once, or on one block after the other if not all counts are on the device; then
    /// layout, buffers and batches are those of a block ([`super::frame_stream::FrameStream::each`]).
    pub(super) fn each(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        lists: &[Vec<u32>],
        metrics: Metrics,
        work: &mut BlockWork<'_, M>,
    ) -> Result<()> {
        let Some(mut stream) = buffers.stream.take() else {
            let batches = self.set_order(device, layout, lists)?;
            return work(layout, buffers, self, &batches);
        };
        let done = stream.each(device, layout, (buffers, self), lists, metrics, work);
        buffers.stream = Some(stream);
        done
    }

    /// All frames in lists of as many as there is memory for.
    pub(super) fn lists(&self, layout: &Layout) -> Vec<Vec<u32>> {
        let frames: Vec<u32> = (0..layout.frames).collect();
        frames.chunks(self.size).map(<[u32]>::to_vec).collect()
    }

    /// Computes the spectra of the current probe.
    pub(super) fn transform_probe(
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
    pub(super) fn find_variations(&mut self, buffers: &Buffers<M>) {
        let of = buffers.variations.as_ref();
        self.varies = of.is_some_and(VariationBuffers::in_model);
    }

    /// Computes the spectra of the first layers of `layers`, as many as the probe has; `open` is the
    /// open gate.
    pub(super) fn transform_layers(
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

    /// Shifts the layers whose spectra are `probe_spectra` to every frame of the batch; writes them,
    /// or their derivatives by the shift (1 rows, 2 columns), to `probes` or to `work`.
    pub(super) fn shift(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
        to: ShiftTo,
        derivative: u32,
    ) -> Result<()> {
        let to = match to {
            ShiftTo::Probes => &mut self.probes,
            ShiftTo::Work => &mut self.work,
        };
        device.launch(
            &PtychoShiftedSpectra {
                to: to.write(),
                spectra: self.probe_spectra.read(),
                fractions: buffers.fractions.read(),
                scales: buffers.scales.read(),
                order: self.order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                parts: layout.parts,
                derivative,
                scaled: u32::from(self.scaled),
                scale: if self.exact { layout.scale() } else { 1.0 },
            },
            Work::Blocks(batch.count as usize * layout.parts as usize),
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
        device.fft(&self.fft, to, Direction::Inverse)
    }

    /// Factor on the sums of `back_projected`, before [`FrameBuffers::layers_from`].
    pub(super) fn layers_scale(&self, layout: &Layout) -> f32 {
        if self.exact { layout.scale() } else { 1.0 }
    }

    /// Transforms the first layers of `spectra`, sums of `back_projected`, to layers in place.
    pub(super) fn layers_from(
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

    /// Writes the unnormalised detector waves of `probes`·O to `chi`.
    pub(super) fn model(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
    ) -> Result<()> {
        self.model_of(device, layout, buffers, batch, false)
    }

    /// Whether all frames of a batch have the same probe, that of the buffers: at whole pixels, without factors and variations of
    /// the frames.
    pub(super) fn same_probe(&self) -> bool {
        !self.exact && !self.scaled && !self.varies
    }

    /// [`Self::model`], or with `same_probe` the detector waves of the probe itself, times O.
    pub(super) fn model_of(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        batch: Batch,
        same_probe: bool,
    ) -> Result<()> {
        self.products(device, layout, buffers, batch, same_probe)?;
        let Self {
            order,
            chi,
            fft,
            exact,
            ..
        } = self;
        let between = between(*exact, layout, buffers, (order, batch));
        let propagator = &buffers.propagator;
        propagator.propagate(device, fft, chi, between, Direction::Forward)
    }

    /// Writes what [`Self::model`] writes, but in the near field the spectra of the detector waves: [`Self::model_beside`] needs
    /// them, and [`Self::finish_model`] makes detector waves of them.
    pub(super) fn begin_model(
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
            ..
        } = self;
        let between = between(*exact, layout, buffers, (order, batch));
        let propagator = &buffers.propagator;
        propagator.begin(device, fft, chi, between, None)
    }

    /// Completes [`Self::begin_model`].
    pub(super) fn finish_model(&mut self, device: &M, buffers: &Buffers<M>) -> Result<()> {
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
            order, probes, chi, ..
        } = self;
        let (from, first) = if same_probe {
            (&buffers.probe, None)
        } else {
            (&*probes, Some(0))
        };
        let object = &buffers.object;
        product(
            device,
            layout,
            &buffers.corners,
            (order, batch),
            (chi, 0),
            (from, first),
            object,
            false,
        )
    }

    /// Writes the spectra of conj(O)·`chi` to `work`, or conj(O)·`chi` itself at whole pixels.
    pub(super) fn back_projected(
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
            exact,
            ..
        } = self;
        let (from, object) = (&*chi, &buffers.object);
        product(
            device,
            layout,
            &buffers.corners,
            (order, batch),
            (work, 0),
            (from, Some(0)),
            object,
            true,
        )?;
        if !*exact {
            return Ok(());
        }
        device.fft(fft, work, Direction::Forward)
    }

    /// Writes the derivatives of the unnormalised detector waves by the frames' rows to `work` or, if `second`, by their columns to
    /// `more`, from those of the shifted probes in `probes` and the waves of [`Self::begin_model`].
    pub(super) fn model_beside(
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
            more,
            fft,
            exact,
            ..
        } = self;
        if second && more.is_empty() {
            *more = device.alloc("more work waves", work.len())?;
        }
        let to = if second { more } else { work };
        let (from, object) = (&*probes, &buffers.object);
        product(
            device,
            layout,
            &buffers.corners,
            (order, batch),
            (to, 0),
            (from, Some(0)),
            object,
            false,
        )?;
        let between = between(*exact, layout, buffers, (order, batch));
        let propagator = &buffers.propagator;
        let derivative = Some((&*chi, if second { 2 } else { 1 }));
        propagator.begin(device, fft, to, between, derivative)?;
        propagator.finish(device, fft, to)
    }

    /// Turns the model's spectra in `chi` into what the counts ask of them, and computes the
    /// metrics of the frames.
    pub(super) fn deviation(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        batch: Batch,
    ) -> Result<()> {
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
                modes: layout.modes,
                pixels: layout.pixels(),
                scale: layout.scale(),
            },
            Work::Blocks(batch.count as usize),
        )
    }

    /// Propagates `chi` back; χ is then at the specimen.
    pub(super) fn back(
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
            ..
        } = self;
        let between = between(*exact, layout, buffers, (order, batch));
        let propagator = &buffers.propagator;
        propagator.propagate(device, fft, chi, between, Direction::Inverse)
    }
}

/// The fractions of the frames of a batch, if they are at their `exact` positions.
pub(super) fn between<'a, M: Device>(
    exact: bool,
    layout: &Layout,
    buffers: &'a Buffers<M>,
    order: (&'a M::Buffer<u32>, Batch),
) -> Option<BetweenPixels<'a, M>> {
    exact.then(|| BetweenPixels::batch(layout, &buffers.fractions, order))
}

/// Copies as many elements as `to` has; `open` is the open gate.
pub(super) fn copy_layers<M: Device>(
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

/// Where shifted layers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShiftTo {
    Probes,
    Work,
}

/// `to = from · grid` or `from · conj(grid)` in the windows of the frames.
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and where their frames begin"
)]
pub(super) fn product<M: Device>(
    device: &M,
    layout: &Layout,
    corners: &M::Buffer<[u32; 2]>,
    (order, batch): (&M::Buffer<u32>, Batch),
    (to, to_first): (&mut M::Buffer<Complex32>, u32),
    // Without a first frame, all frames have the same.
    (from, from_first): (&M::Buffer<Complex32>, Option<u32>),
    grid: &M::Buffer<Complex32>,
    conjugate: bool,
) -> Result<()> {
    device.launch(
        &PtychoWindowProduct {
            to: to.write(),
            from: from.read(),
            grid: grid.read(),
            corners: corners.read(),
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
            to_first,
            from_first: from_first.unwrap_or(0),
            conjugate: u32::from(conjugate),
            sources: from_first.map_or(1, |first| first + batch.count),
        },
        Work::Blocks(batch.count as usize * layout.parts as usize),
    )
}

/// err_phot, R and R_free of every frame with its shifted probe, in `buffers`.
pub(super) fn all_errors<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    frames: &mut FrameBuffers<M>,
    probe_fft: &M::Fft,
) -> Result<()> {
    frames.scaled = false;
    frames.transform_probe(device, buffers, probe_fft)?;
    let lists = frames.lists(layout);
    frames.each(
        device,
        layout,
        buffers,
        &lists,
        Metrics::Written,
        &mut |layout, buffers, frames, batches| {
            for batch in batches {
                frames.shift(device, layout, buffers, *batch, ShiftTo::Probes, 0)?;
                frames.model(device, layout, buffers, *batch)?;
                frames.deviation(device, layout, buffers, *batch)?;
            }
            Ok(())
        },
    )
}
