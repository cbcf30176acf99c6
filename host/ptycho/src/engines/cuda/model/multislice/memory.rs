//! Device memory of a thick specimen: its slices, the waves at them, and the sums of the distances
//! between them.

use crate::Problem;
use crate::engines::cuda::batches::fused_batches::PARTS;
use crate::model::multislice::{Distances, SlicePlan, factor};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Direction, ReadBack, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::near_field_factors::PtychoNearFieldFactors;

/// Fractions, order and transfer function if there are none.
type NoFrames<M> = (
    <M as Device>::Buffer<[f32; 2]>,
    <M as Device>::Buffer<u32>,
    <M as Device>::Buffer<Complex32>,
);

/// The slices of a specimen, and how waves travel between them.
pub(in crate::engines::cuda) struct SliceBuffers<M: Device> {
    pub(super) plan: SlicePlan,
    pub(in crate::engines::cuda) distances: Distances,
    /// κ (row, column), rad/m.
    pub(super) kappa: Vec<Option<f64>>,
    /// Rows of a slice.
    pub(super) rows: u32,
    /// (slice, frame): corners of the windows on all slices together.
    pub(super) corners: Vec<M::Buffer<[u32; 2]>>,
    /// exp(iκΔz)/(rows · columns) of each distance.
    pub(super) factors: Vec<M::Buffer<Complex32>>,
    /// iκ times that, if distances are refined.
    pub(super) derivatives: Vec<M::Buffer<Complex32>>,
    /// Ones on the grid of all slices.
    pub(super) ones: M::Buffer<Complex32>,
    pub(super) shape: [u32; 3],
    pub(super) none: NoFrames<M>,
}

/// Waves of a batch at the slices, (frame of the batch, mode, row, column).
pub(in crate::engines::cuda) struct ThickWaves<M: Device> {
    /// At the second slice and those behind it; the shifted probes are those at the first.
    pub(super) incident: Vec<M::Buffer<Complex32>>,
    /// χ at the last slice.
    pub(super) exit: M::Buffer<Complex32>,
    /// First-order changes of waves, by the slices and by the probe.
    pub(super) changes: [M::Buffer<Complex32>; 2],
    /// (frame of the batch, part).
    pub(super) sums: M::Buffer<[f32; 5]>,
}

/// What the sums of the distances of an iteration are made of: the distance, the parts that count,
/// the sign, and the sums.
type Pending<M> = (usize, usize, f64, <M as Device>::ReadBack<[f32; 5]>);

/// The sums of the distances of an iteration that the device has been asked for; none without
/// refinement.
pub(in crate::engines::cuda) struct DistanceSums<M: Device>(pub(super) Option<Vec<Pending<M>>>);

impl<M: Device> SliceBuffers<M> {
    /// Those of a problem with slices; `corners` are those of this device's frames.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        problem: &Problem,
        corners: &[[u32; 2]],
    ) -> Result<Option<Self>> {
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
    pub(in crate::engines::cuda) fn count(&self) -> usize {
        self.plan.count()
    }

    /// Uploads the windows of the frames.
    pub(in crate::engines::cuda) fn set_corners(
        &mut self,
        device: &M,
        corners: &[[u32; 2]],
    ) -> Result<()> {
        for (n, buffer) in (0..).zip(&mut self.corners) {
            let on_slice = corners
                .iter()
                .map(|[top, left]| [top + n * self.rows, *left]);
            device.upload(buffer, &on_slice.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Uploads the transfer functions of the present distances.
    pub(in crate::engines::cuda) fn propagate_over_distances(&mut self, device: &M) -> Result<()> {
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
    pub(super) fn refines(&self, iteration: usize) -> bool {
        self.plan.refine && iteration >= self.plan.refine_from
    }

    /// Where the sums of an iteration go.
    pub(in crate::engines::cuda) fn start_sums(&self, iteration: usize) -> DistanceSums<M> {
        DistanceSums(self.refines(iteration).then(Vec::new))
    }

    /// Ends an iteration: moves the distances, if they are refined.
    pub(in crate::engines::cuda) fn finish(
        &mut self,
        device: &M,
        sums: DistanceSums<M>,
    ) -> Result<()> {
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
    pub(super) fn through(
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
    pub(super) fn forward(
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
    pub(super) fn new(device: &M, slices: usize, (size, waves): (usize, usize)) -> Result<Self> {
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
