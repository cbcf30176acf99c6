//! Mirrors cpu/multislice.rs: the waves in a thick specimen of several slices.
//!
//! The slices are stacked in rows: the object is one array of `slices · rows` × columns, and the window of a frame on slice s has its
//! corner `s · rows` further down. So the kernels of thin objects compute products, sums and directions of slices. Waves
//! travel between slices by the launch of near fields, with other factors.

use super::batch_engine::{self, BatchBuffers, find_largest, finish};
use super::batch_sums::{SumWindows, Waves, object_sums_with};
use super::buffers::{Buffers, Layout};
use super::exposure_points::PointView;
use super::frames::{Batch, FrameBuffers, ShiftTo, product};
use super::fused_batches::PARTS;
use crate::gpu::{Buffer, Device, Direction, ReadBack, Result};
use crate::ptycho::multislice::{Distances, SlicePlan, factor};
use crate::ptycho::step::{BatchMethod, Smoothness};
use crate::ptycho::{Problem, Step};
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    line_waves::PtychoLineWaves, near_field_factors::PtychoNearFieldFactors,
    step_sums::PtychoStepSums,
};

/// Fractions, order and transfer function if there are none.
type NoFrames<M> = (
    <M as Device>::Buffer<[f32; 2]>,
    <M as Device>::Buffer<u32>,
    <M as Device>::Buffer<Complex32>,
);

/// The waves at the first slice, and at those behind it.
type Incident<'a, M> = (
    &'a <M as Device>::Buffer<Complex32>,
    &'a [<M as Device>::Buffer<Complex32>],
);

/// The slices of a specimen, and how waves travel between them.
pub(super) struct SliceBuffers<M: Device> {
    plan: SlicePlan,
    pub(super) distances: Distances,
    /// κ (row, column), rad/m.
    kappa: Vec<Option<f64>>,
    /// Rows of a slice.
    rows: u32,
    /// (slice, frame): corners of the windows on all slices together.
    corners: Vec<M::Buffer<[u32; 2]>>,
    /// exp(iκΔz)/(rows · columns) of each distance.
    factors: Vec<M::Buffer<Complex32>>,
    /// iκ times that, if distances are refined.
    derivatives: Vec<M::Buffer<Complex32>>,
    /// Ones on the grid of all slices.
    ones: M::Buffer<Complex32>,
    shape: [u32; 3],
    none: NoFrames<M>,
}

/// Waves of a batch at the slices, (frame of the batch, mode, row, column).
pub(super) struct ThickWaves<M: Device> {
    /// At the second slice and those behind it; the shifted probes are those at the first.
    incident: Vec<M::Buffer<Complex32>>,
    /// χ at the last slice.
    exit: M::Buffer<Complex32>,
    /// First-order changes of waves, by the slices and by the probe.
    changes: [M::Buffer<Complex32>; 2],
    /// (frame of the batch, part).
    sums: M::Buffer<[f32; 5]>,
}

/// What the sums of the distances of an iteration are made of: the distance, the parts that count, the sign, and the sums.
type Pending<M> = (usize, usize, f64, <M as Device>::ReadBack<[f32; 5]>);

/// The sums of the distances of an iteration that the device has been asked for; none without refinement.
pub(super) struct DistanceSums<M: Device>(Option<Vec<Pending<M>>>);

impl<M: Device> SliceBuffers<M> {
    /// Those of a problem with slices; `corners` are those of this device's frames.
    pub(super) fn new(device: &M, problem: &Problem, corners: &[[u32; 2]]) -> Result<Option<Self>> {
        let Some(plan) = &problem.slices else {
            return Ok(None);
        };
        let [_, modes, rows, columns] = problem.shape();
        let [object_rows, object_columns] = problem.positions.object_shape;
        let buffers = |what: &'static str, count: usize| -> Result<Vec<_>> {
            (0..count)
                .map(|_| device.alloc(what, rows * columns))
                .collect()
        };
        let gaps = plan.distances.len();
        let elements = plan.count() * object_rows * object_columns;
        let mut new = Self {
            distances: Distances::new(plan),
            kappa: plan.kappa(rows, columns),
            rows: object_rows as u32,
            corners: (0..plan.count())
                .map(|_| device.alloc("the slices' windows", corners.len()))
                .collect::<Result<_>>()?,
            factors: buffers("the transfer functions between slices", gaps)?,
            derivatives: buffers(
                "the derivatives of transfer functions",
                if plan.refine { gaps } else { 0 },
            )?,
            ones: device.alloc("ones", elements)?,
            shape: [modes, rows, columns].map(|n| n as u32),
            none: (
                device.alloc("no fractions", 0)?,
                device.alloc("no frames", 0)?,
                device.alloc("no waves", 0)?,
            ),
            plan: plan.clone(),
        };
        device.upload(&mut new.ones, &vec![Complex::new(1.0_f32, 0.0); elements])?;
        new.set_corners(device, corners)?;
        new.propagate_over_distances(device)?;
        Ok(Some(new))
    }

    /// Number of slices.
    pub(super) fn count(&self) -> usize {
        self.plan.count()
    }

    /// Uploads the windows of the frames.
    pub(super) fn set_corners(&mut self, device: &M, corners: &[[u32; 2]]) -> Result<()> {
        for (n, buffer) in (0..).zip(&mut self.corners) {
            let on_slice = corners
                .iter()
                .map(|[top, left]| [top + n * self.rows, *left]);
            device.upload(buffer, &on_slice.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Uploads the transfer functions of the present distances.
    pub(super) fn propagate_over_distances(&mut self, device: &M) -> Result<()> {
        let scale = 1.0 / self.kappa.len().max(1) as f64;
        let narrow = |v: Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        for (gap, distance) in self.distances.values.iter().enumerate() {
            let wide: Vec<Complex<f64>> = (self.kappa.iter())
                .map(|kappa| factor(*kappa, *distance) * scale)
                .collect();
            let values: Vec<Complex<f32>> = wide.iter().copied().map(narrow).collect();
            device.upload(&mut self.factors[gap], &values)?;
            if let Some(buffer) = self.derivatives.get_mut(gap) {
                let by = |(v, kappa): (&Complex<f64>, &Option<f64>)| {
                    narrow(v * Complex::new(0.0, kappa.unwrap_or(0.0)))
                };
                let values: Vec<_> = wide.iter().zip(&self.kappa).map(by).collect();
                device.upload(buffer, &values)?;
            }
        }
        Ok(())
    }

    /// Whether an iteration refines distances.
    fn refines(&self, iteration: usize) -> bool {
        self.plan.refine && iteration >= self.plan.refine_from
    }

    /// Where the sums of an iteration go.
    pub(super) fn start_sums(&self, iteration: usize) -> DistanceSums<M> {
        DistanceSums(self.refines(iteration).then(Vec::new))
    }

    /// Ends an iteration: moves the distances, if they are refined.
    pub(super) fn finish(&mut self, device: &M, sums: DistanceSums<M>) -> Result<()> {
        let Some(pending) = sums.0 else {
            return Ok(());
        };
        let mut total = vec![[0.0; 2]; self.plan.distances.len()];
        for (gap, parts, sign, sums) in pending {
            for [square, _, _, along, _] in sums.wait()?.into_iter().take(parts) {
                total[gap][0] += sign * f64::from(along);
                total[gap][1] += f64::from(square);
            }
        }
        self.distances.advance(&total);
        self.propagate_over_distances(device)
    }

    /// waves ← F⁻¹[factors · F waves], or with the conjugates of the factors.
    fn through(
        &self,
        device: &M,
        fft: &M::Fft,
        waves: &mut M::Buffer<Complex32>,
        factors: &M::Buffer<Complex32>,
        conjugate: bool,
    ) -> Result<()> {
        device.fft(fft, waves, Direction::Forward)?;
        let [modes, rows, columns] = self.shape;
        let pixels = factors.len();
        let layers = waves.len() / pixels.max(1);
        let (no_fractions, no_frames, no_waves) = &self.none;
        device.launch(
            &PtychoNearFieldFactors {
                spectra: waves.write(),
                beside: no_waves.read(),
                factors: factors.read(),
                fractions: no_fractions.read(),
                order: no_frames.read(),
                frames: 0,
                first: 0,
                count: 0,
                modes,
                rows,
                columns,
                layers: layers as u32,
                beside_layers: 0,
                derivative: 0,
                conjugate: u32::from(conjugate),
            },
            Work::Elements(layers * pixels),
        )?;
        device.fft(fft, waves, Direction::Inverse)
    }

    /// From behind slice `gap` to the next one.
    fn forward(
        &self,
        device: &M,
        fft: &M::Fft,
        waves: &mut M::Buffer<Complex32>,
        gap: usize,
    ) -> Result<()> {
        self.through(device, fft, waves, &self.factors[gap], false)
    }
}

impl<M: Device> ThickWaves<M> {
    fn new(device: &M, slices: usize, (size, waves): (usize, usize)) -> Result<Self> {
        let alloc = |what| device.alloc(what, waves);
        Ok(Self {
            incident: (1..slices)
                .map(|_| alloc("a batch's waves at the slices"))
                .collect::<Result<_>>()?,
            exit: alloc("a batch's deviations")?,
            changes: [alloc("changes of waves")?, alloc("changes of waves")?],
            sums: device.alloc("the distances' sums", size * PARTS as usize)?,
        })
    }
}

impl<M: Device> FrameBuffers<M> {
    /// Writes the waves at the slices, from the shifted probes on, and the exit waves behind the last one to `chi`.
    pub(super) fn thick_products(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, slices): (&Buffers<M>, &SliceBuffers<M>),
        batch: Batch,
    ) -> Result<()> {
        let Self {
            size,
            order,
            probes,
            chi,
            fft,
            thick,
            ..
        } = self;
        let thick = match thick {
            Some(thick) => thick,
            None => {
                let waves = (*size, probes.len());
                thick.insert(ThickWaves::new(device, slices.count(), waves)?)
            }
        };
        for slice in 0..slices.count() {
            let (before, behind) = thick.incident.split_at_mut(slice);
            let from = before.last().unwrap_or(probes);
            let to = behind.first_mut().unwrap_or(chi);
            product(
                device,
                layout,
                &at_slice(layout, buffers, &slices.corners[slice], (order, batch)),
                (to, 0),
                (from, Some(0)),
                &buffers.object,
                false,
            )?;
            if slice + 1 < slices.count() {
                slices.forward(device, fft, to, slice)?;
            }
        }
        Ok(())
    }
}

/// The frames of a batch with their windows on a slice.
fn at_slice<'a, M: Device>(
    layout: &Layout,
    buffers: &'a Buffers<M>,
    corners: &'a M::Buffer<[u32; 2]>,
    frames: (&'a M::Buffer<u32>, Batch),
) -> PointView<'a, M> {
    PointView {
        corners,
        ..PointView::new(layout, buffers, None, frames)
    }
}

/// Takes χ in `frames.chi` from the last slice to the first, and gives the waves at every slice and χ there to `on_slice`. The sums of
/// the distances are asked for with this sign.
pub(super) fn backward<M: Device>(
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

/// What [`backward`] does on each slice: its number, the windows on it with the order of the frames, the waves there, and χ.
pub(super) type OnSlice<'a, M> = dyn FnMut(
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
fn exit_sums<M: Device>(
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

/// The waves f ← f·O and their first-order changes a ← f·δO + a·O from slice to slice, to the last one; a is in `mixed` then, and `change` is scratch
/// memory. `incident` gives the waves f at a slice; `None`: those that have come from the one before.
pub(super) fn linear_changes<M: Device>(
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

impl<M: Device> batch_engine::Run<'_, M> {
    /// A pass of LSQ-ML over `batches`.
    pub(super) fn thick_pass(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        batches: &[Batch],
        distances: &mut DistanceSums<M>,
    ) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let bounds = [[0, 0, layout.object_rows, layout.object_columns]];
        device.upload(&mut self.batches.bounds, &bounds)?;
        for batch in batches.iter().copied() {
            let (frames, buffers) = (&mut *self.frames, &mut *self.buffers);
            frames.transform_probe(device, buffers, self.probe_fft)?;
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
            frames.model(device, layout, buffers, batch)?;
            frames.deviation(device, layout, buffers, batch)?;
            frames.back(device, layout, buffers, batch)?;
            if let Some(thick) = &mut frames.thick {
                device.copy(&frames.chi, &mut thick.exit)?;
            }
            self.thick_sums(step, batch, distances)?;
            if step.update_probe {
                self.sums_on_probe(batch)?;
            }
            self.thick_direction(step, method)?;
            self.probe_direction(step, method)?;
            self.thick_steps(step, batch)?;
            self.advance(step, method)?;
        }
        Ok(())
    }

    /// Numerators and weights of all slices.
    fn thick_sums(
        &mut self,
        step: &Step,
        batch: Batch,
        distances: &mut DistanceSums<M>,
    ) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let BatchBuffers {
            object,
            object_weights,
            ..
        } = &mut *self.batches;
        let mut first = true;
        let updates = step.update_object;
        let mut on_slice = |_: usize,
                            (corners, order): (&M::Buffer<[u32; 2]>, &M::Buffer<u32>),
                            incident: &M::Buffer<Complex32>,
                            chi: &M::Buffer<Complex32>| {
            if !updates {
                return Ok(());
            }
            let waves = Waves {
                chi,
                first: 0,
                scale: 1.0,
            };
            let add = !std::mem::take(&mut first);
            let windows = (corners, order);
            let sums = (&mut *object, &mut *object_weights);
            {
                let at = SumWindows::of_batch(layout, windows, batch);
                object_sums_with(device, layout, &at, (incident, &waves), sums, add)
            }
        };
        let from = (&*self.buffers, &mut *self.frames);
        backward(device, layout, from, batch, (distances, 1.0), &mut on_slice)
    }

    fn thick_direction(&mut self, step: &Step, method: &BatchMethod) -> Result<()> {
        let (device, elements) = (self.device, self.layout.object_elements());
        let BatchBuffers {
            object,
            object_weights,
            largest: [_, largest],
            ..
        } = &mut *self.batches;
        if !step.update_object {
            return device.zero(object);
        }
        find_largest(device, largest, object_weights, elements)?;
        let weights = (&*object_weights, &*largest, 0.0);
        let denominator = method.object_denominator();
        finish(device, object, weights, (1, elements), denominator)
    }

    /// The steps that are optimal in the mean of the batch, of all slices together and of the probe.
    fn thick_steps(&mut self, step: &Step, batch: Batch) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        if step.update_probe {
            let open = &self.buffers.open;
            let (frames, probe) = (&mut *self.frames, &self.batches.probe);
            frames.transform_layers(device, open, probe, self.probe_fft)?;
            frames.shift(device, layout, self.buffers, batch, ShiftTo::Work, 0)?;
        }
        let (buffers, direction) = (&*self.buffers, &self.batches.object);
        let FrameBuffers {
            order,
            probes,
            chi,
            work,
            fft,
            thick: Some(thick),
            ..
        } = &mut *self.frames
        else {
            return Ok(());
        };
        let Some(slices) = &buffers.slices else {
            return Ok(());
        };
        let ThickWaves {
            incident,
            exit,
            changes: [of_object, of_probe],
            ..
        } = thick;
        if step.update_probe {
            for slice in 0..slices.count() {
                product(
                    device,
                    layout,
                    &at_slice(layout, buffers, &slices.corners[slice], (order, batch)),
                    (of_probe, 0),
                    (work, Some(0)),
                    &buffers.object,
                    false,
                )?;
                if slice + 1 < slices.count() {
                    slices.forward(device, fft, of_probe, slice)?;
                    std::mem::swap(work, of_probe);
                }
            }
        } else {
            device.zero(of_probe)?;
        }
        if step.update_object {
            device.zero(of_object)?;
            let from = (buffers, &*order, &*fft);
            let waves = [&mut *work, &mut *chi, &mut *of_object];
            let at = Some((&*probes, &incident[..]));
            linear_changes(device, layout, from, batch, direction, waves, at)?;
        } else {
            device.zero(chi)?;
        }
        let from = (buffers, &*order);
        let waves = [&*chi, &*of_probe, &*exit];
        exit_sums(
            device,
            layout,
            from,
            batch,
            waves,
            &mut self.batches.step_sums,
        )?;
        let none = Smoothness {
            weight: 0.0,
            edge: 0.0,
        };
        self.step_mean(step, none, batch, PARTS)
    }
}
