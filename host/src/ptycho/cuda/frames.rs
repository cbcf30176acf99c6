//! Device memory of the engines that work frame by frame, and the model of a few frames at a time.
//! Mirrors cpu/model.rs.

use super::annealing::TrialBuffers;
use super::buffers::{Buffers, Layout};
use super::exposure_points::{PointView, Points};
use super::frame_stream::{BlockWork, Metrics};
use super::fused_batches::Epoch;
use super::multislice::ThickWaves;
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
    frames_together(layout.frame_elements()).min((layout.frames as usize).max(1))
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
    /// Transforms of exit waves.
    pub(super) fft: M::Fft,
    /// Transforms of shifted probes, if there are fewer of them.
    pub(super) moved_fft: Option<M::Fft>,
    /// The points of exposures, if frames have several.
    pub(super) points: Option<Points<M>>,
    /// The points of all exposures, of exit waves at exact positions.
    all_points: Option<Points<M>>,
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
    /// Shifted probes (frame of the batch, point, mode, row, column).
    pub(super) probes: M::Buffer<Complex32>,
    /// Exit waves, their spectra, then what the counts ask of them (frame of the batch, point, object layer, mode, row, column).
    pub(super) chi: M::Buffer<Complex32>,
    /// Scratch memory, as shifted probes.
    pub(super) work: M::Buffer<Complex32>,
    /// Derivatives of waves by the rows, and b along a line, as exit waves; empty until it is used, and where `work` serves.
    pub(super) other: M::Buffer<Complex32>,
    /// Scratch memory of the refinement; empty until it is used.
    pub(super) more: M::Buffer<Complex32>,
    /// (frame): equations of the refinement of positions; none until it is used.
    pub(super) equations: Option<M::Buffer<[f32; 9]>>,
    /// Memory of trial positions; none until it is used.
    pub(super) trials: Option<TrialBuffers<M>>,
    /// Waves at the slices of a thick specimen; none until they are used.
    pub(super) thick: Option<ThickWaves<M>>,
    /// (mode, row, column): spectra of the probe, or of its direction.
    pub(super) probe_spectra: M::Buffer<Complex32>,
}

impl<M: Device> FrameBuffers<M> {
    /// Allocates memory for `size` frames.
    pub(super) fn new(device: &M, layout: &Layout, size: usize) -> Result<Self> {
        let [moved, waves] =
            [layout.moved_elements(), layout.frame_elements()].map(|elements| size * elements);
        let shape = [layout.rows as usize, layout.columns as usize];
        Ok(Self {
            size,
            exact: true,
            between_pixels: true,
            varies: false,
            of_probe: false,
            shape_spectra: device.alloc("the variations' spectra", 0)?,
            scaled: false,
            fft: device.plan_fft(&shape, size * layout.waves() as usize)?,
            moved_fft: (layout.object_layers > 1)
                .then(|| device.plan_fft(&shape, size * (layout.points * layout.modes) as usize))
                .transpose()?,
            points: (layout.points > 1)
                .then(|| Points::new(device, layout, size))
                .transpose()?,
            all_points: None,
            order: device.alloc("the order of the frames", layout.frames as usize)?,
            ranges: device.alloc("the batches", 0)?,
            present_ranges: Vec::new(),
            share_ends: device.alloc("the shares of the batches", 0)?,
            present_ends: Vec::new(),
            bounds: device.alloc("the bounds of the batches", 0)?,
            epochs: BTreeMap::new(),
            probes: device.alloc("a batch's probes", moved)?,
            chi: device.alloc("a batch's waves", waves)?,
            work: device.alloc("a batch's work waves", moved)?,
            other: device.alloc("other waves of a batch", 0)?,
            more: device.alloc("more work waves", 0)?,
            equations: None,
            trials: None,
            thick: None,
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

    /// Computes the points of the exposures of all frames, in the order that [`FrameBuffers::all`] has set.
    pub(super) fn set_all_points(
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

    /// The fractions of all frames in their order, or of the points that [`FrameBuffers::set_all_points`] has computed.
    pub(super) fn between_all<'a>(
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
            points,
            ..
        } = self;
        let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
        let between = between(*exact, &at);
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
    pub(super) fn deviation(
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
    pub(super) fn by_rows(&self) -> &M::Buffer<Complex32> {
        if self.other.is_empty() {
            &self.work
        } else {
            &self.other
        }
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
            points,
            ..
        } = self;
        let at = PointView::new(layout, buffers, points.as_ref(), (order, batch));
        let between = between(*exact, &at);
        let propagator = &buffers.propagator;
        propagator.propagate(device, fft, chi, between, Direction::Inverse)
    }
}

/// The fractions of the frames of a batch, or of their points, if they are at their `exact` positions.
pub(super) fn between<'a, M: Device>(
    exact: bool,
    at: &PointView<'a, M>,
) -> Option<BetweenPixels<'a, M>> {
    exact.then(|| BetweenPixels::of(at))
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

/// `to = from · grid` for every layer of the grid, or the sum over the layers of `from · conj(grid)`, in the windows of the frames.
pub(super) fn product<M: Device>(
    device: &M,
    layout: &Layout,
    at: &PointView<'_, M>,
    (to, to_first): (&mut M::Buffer<Complex32>, u32),
    // Without a first frame, all frames have the same.
    (from, from_first): (&M::Buffer<Complex32>, Option<u32>),
    grid: &M::Buffer<Complex32>,
    conjugate: bool,
) -> Result<()> {
    let layers = layout.object_layers;
    let (to_layers, from_layers) = if conjugate { (1, layers) } else { (layers, 1) };
    let from_start = from_first.unwrap_or(0) * at.points;
    device.launch(
        &PtychoWindowProduct {
            to: to.write(),
            from: from.read(),
            grid: grid.read(),
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
            to_first: to_first * at.points,
            from_first: from_start,
            conjugate: u32::from(conjugate),
            sources: from_first.map_or(1, |_| from_start + at.count),
            to_layers,
            from_layers,
        },
        Work::Blocks(at.count as usize * layout.parts as usize),
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
