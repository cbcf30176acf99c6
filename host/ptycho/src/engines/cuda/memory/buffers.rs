//! Device memory of a run, allocated once.

use super::frame_stream::FrameStream;
use super::layout::Layout;
use crate::engines::cuda::model::detector::DetectorBuffers;
use crate::engines::cuda::model::multislice::SliceBuffers;
use crate::engines::cuda::model::propagation::Propagator;
use crate::engines::cuda::model::variable_probe::VariationBuffers;
use crate::engines::interleaved::Interleaved;
use crate::{GpuWaves, Magnitudes, Problem, Ranks, StreamPlan, UpdateVersion};
use num_complex::Complex;
use std::sync::Arc;
use warpstride_cuda::gpu::{Buffer, Device, PendingCopy, Result};
use warpstride_device::Complex32;

/// Magnitudes that are uploaded together if they are not in memory: 64 MiB.
const PART_PIXELS: usize = 1 << 24;

/// Device buffers of a run. Each comment gives the shape and, after the semicolon, the stages that
/// write the buffer.
pub(in crate::engines::cuda) struct Buffers<M: Device> {
    /// (layer, row, column); object update, centring.
    pub(in crate::engines::cuda) object: M::Buffer<Complex32>,
    /// (mode, row, column); probe update, constraints, centring.
    pub(in crate::engines::cuda) probe: M::Buffer<Complex32>,
    /// To the detector.
    pub(in crate::engines::cuda) propagator: Propagator<M>,
    /// The slices of a thick specimen; `None` for a thin one.
    pub(in crate::engines::cuda) slices: Option<SliceBuffers<M>>,
    /// Ψ, unnormalised detector waves of the exit waves (frame, mode, row, column); empty unless a
    /// projection engine runs; Fourier projection, centring.
    pub(in crate::engines::cuda) spectra: M::Buffer<Complex32>,
    /// (frame, mode, row, column): P·O and its unnormalised transforms, then rows · columns · ψ; of
    /// the fused step ψ itself; empty unless a projection engine runs; Fourier projection, fused
    /// step, metrics.
    pub(in crate::engines::cuda) waves: M::Buffer<Complex32>,
    /// (frame, mode, row, column): ψ of the fused step as pairs of bf16, in place of `waves`;
    /// otherwise empty; fused step, centring.
    pub(in crate::engines::cuda) packed_waves: M::Buffer<u32>,
    /// (frame, row, column), √counts, negative where masked or free, of all frames or of those of a
    /// block; constant.
    pub(in crate::engines::cuda) magnitudes: M::Buffer<f32>,
    /// The counts, if not all of them are on the device.
    pub(in crate::engines::cuda) stream: Option<FrameStream<M>>,
    /// (frame); constant.
    pub(in crate::engines::cuda) corners: M::Buffer<[u32; 2]>,
    /// (frame): shift of the probe in its window, pixels.
    pub(in crate::engines::cuda) fractions: M::Buffer<[f32; 2]>,
    /// (frame), or one for all frames: path during the exposure, pixels; empty with one point;
    /// constant.
    pub(in crate::engines::cuda) paths: M::Buffer<[f32; 2]>,
    /// (frame): factor on the model intensities.
    pub(in crate::engines::cuda) scales: M::Buffer<f32>,
    /// (frame): mean square deviation of the magnitudes; Fourier projection.
    pub(in crate::engines::cuda) errors: M::Buffer<f32>,
    /// (frame): Σ|Δψ|²; Fourier projection.
    pub(in crate::engines::cuda) moved: M::Buffer<f32>,
    /// (frame): err_phot; Fourier projection, metrics.
    pub(in crate::engines::cuda) photon: M::Buffer<f32>,
    /// (frame): numerator of R; Fourier projection, metrics.
    pub(in crate::engines::cuda) residual: M::Buffer<f32>,
    /// (frame): numerator of R_free; Fourier projection, metrics.
    pub(in crate::engines::cuda) free: M::Buffer<f32>,
    /// (row, column): Σ|P|²; object update, centring.
    pub(in crate::engines::cuda) power: M::Buffer<f32>,
    /// (layer, row, column): sums of an object update with `object_weights`, and scratch memory of
    /// centring; object update, centring.
    pub(in crate::engines::cuda) object_work: M::Buffer<Complex32>,
    /// (row, column): weights of the atomic object update, and of the tiled one if exit waves
    /// travel in blocks or there are other devices, otherwise empty; object update.
    pub(in crate::engines::cuda) object_weights: M::Buffer<f32>,
    /// (slice, mode, row, column): sums of the probe update, and scratch memory of the Fourier
    /// support (first slice); probe update, constraints.
    pub(in crate::engines::cuda) probe_sums: M::Buffer<Complex32>,
    /// (slice, row, column); probe update.
    pub(in crate::engines::cuda) probe_weights: M::Buffer<f32>,
    /// (mode, row, column): the probe before an update, and scratch memory of centring; probe
    /// update, centring.
    pub(in crate::engines::cuda) probe_before: M::Buffer<Complex32>,
    /// (row, column): 1 inside the probe's support; constraints.
    pub(in crate::engines::cuda) support: M::Buffer<f32>,
    /// (row, column), zero frequency at (0, 0): 1 inside the Fourier support; constraints.
    pub(in crate::engines::cuda) fourier_support: M::Buffer<f32>,
    /// 1 element: 1 (closed) once the alternations of an iteration have converged, so that the
    /// kernels that read it do nothing; probe update.
    pub(in crate::engines::cuda) gate: M::Buffer<u32>,
    /// 1 element, always 0 (open): the gate of launches that are never skipped; constant.
    pub(in crate::engines::cuda) open: M::Buffer<u32>,
    /// 2 elements: shift in rows and columns; centring.
    pub(in crate::engines::cuda) shift: M::Buffer<i32>,
    /// (mode, mode): products of the modes; normalisation.
    pub(in crate::engines::cuda) gram: M::Buffer<[f64; 2]>,
    /// (mode, mode): shares of the modes in new modes; normalisation.
    pub(in crate::engines::cuda) mixture: M::Buffer<Complex32>,
    /// (layer, layer): shares of the object's modes in new modes; empty with one layer;
    /// normalisation.
    pub(in crate::engines::cuda) object_mixture: M::Buffer<Complex32>,
    /// 1 element: factor of the object; normalisation.
    pub(in crate::engines::cuda) object_factor: M::Buffer<Complex32>,
    /// The detector, unless frames are the intensities themselves.
    pub(in crate::engines::cuda) detector: Option<DetectorBuffers<M>>,
    /// Variations of the first probe mode, once an iteration has begun to form them; mini-batches.
    pub(in crate::engines::cuda) variations: Option<VariationBuffers<M>>,
}

impl<M: Device> Buffers<M> {
    /// Allocates everything and uploads magnitudes, corners, object and probe; with `stream` the
    /// magnitudes stay in page-locked host memory, and those of `ready` are on the device already.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        problem: &Problem,
        version: UpdateVersion,
        (stream, ready): (Option<StreamPlan>, Option<M::Buffer<f32>>),
        ranks: &Ranks,
    ) -> Result<(Layout, Self)> {
        let division = Interleaved::new(problem.shape()[0], [ranks.rank(), ranks.size()])
            .with_regions(problem.regions.clone());
        let own = division.own();
        let layout = Layout::new(problem, ranks, own.len());
        // The slices of a probe update are those of this device.
        let stream = stream.map(|plan| plan.in_multiples_of(layout.slices as usize));
        let frames = layout.frames as usize;
        let pixels = layout.pixels() as usize;
        let pairs = layout.modes as usize * layout.modes as usize;
        let slices = match version {
            UpdateVersion::Tiled => layout.slices as usize,
            UpdateVersion::Atomic => 1,
        };
        let weights = match version {
            UpdateVersion::Tiled
                if ranks.size() == 1 && stream.is_none_or(|plan| plan.wave_blocks().is_none()) =>
            {
                0
            }
            _ => layout.object_pixels(),
        };
        let layers = match layout.object_layers as usize {
            1 => 0,
            layers => layers,
        };
        let narrow = |path: &[f64; 2]| path.map(|v| v as f32);
        let mut paths: Vec<[f32; 2]> = problem.fly.paths().iter().map(narrow).collect();
        if paths.windows(2).all(|pair| pair[0] == pair[1]) {
            paths.truncate(1);
        } else {
            paths = division.pick(&paths);
        }
        let resident = if stream.is_some() { 0 } else { frames * pixels };
        let is_ready = ready.is_some();
        let magnitudes = match ready {
            Some(ready) => ready,
            None => device.alloc("the magnitudes", resident)?,
        };
        let mut new = Self {
            propagator: Propagator::new(device, problem)?,
            slices: SliceBuffers::new(device, problem, &division.pick(&problem.positions.corners))?,
            spectra: device.alloc("the exit waves' spectra", 0)?,
            waves: device.alloc("the exit waves", 0)?,
            packed_waves: device.alloc("the exit waves in bf16", 0)?,
            magnitudes,
            stream: None,
            object: device.alloc("the object", layout.object_elements())?,
            probe: device.alloc("the probe", layout.probe_elements())?,
            corners: device.alloc("the positions", frames)?,
            fractions: device.alloc("the positions' fractions", frames)?,
            paths: device.alloc("the paths of the exposures", paths.len())?,
            scales: device.alloc("the intensity scales", frames)?,
            errors: device.alloc("the frames' errors", frames)?,
            moved: device.alloc("the exit waves' errors", frames)?,
            photon: device.alloc("the frames' photon errors", frames)?,
            residual: device.alloc("the frames' residuals", frames)?,
            free: device.alloc("the frames' residuals of free pixels", frames)?,
            power: device.alloc("the probe's power", pixels)?,
            object_work: device.alloc("the object's sums", layout.object_elements())?,
            object_weights: device.alloc("the object's weights", weights)?,
            probe_sums: device.alloc("the probe's sums", slices * layout.probe_elements())?,
            probe_weights: device.alloc("the probe's weights", slices * pixels)?,
            probe_before: device.alloc("the probe's copy", layout.probe_elements())?,
            support: device.alloc("the probe's support", pixels)?,
            fourier_support: device.alloc("the probe's Fourier support", pixels)?,
            gate: device.alloc("a gate", 1)?,
            open: device.alloc("a gate", 1)?,
            shift: device.alloc("a shift", 2)?,
            gram: device.alloc("the modes' products", pairs)?,
            mixture: device.alloc("the modes' mixture", pairs)?,
            object_mixture: device.alloc("the object modes' mixture", layers * layers)?,
            object_factor: device.alloc("the object's factor", 1)?,
            detector: DetectorBuffers::new(device, problem)?,
            variations: None,
        };
        let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        let object: Vec<Complex<f32>> = problem.object_values().map(narrow).collect();
        let probe: Vec<Complex<f32>> = problem.probe.iter().map(narrow).collect();
        device.upload(&mut new.object, &object)?;
        device.upload(&mut new.probe, &probe)?;
        device.upload(&mut new.corners, &division.pick(&problem.positions.corners))?;
        device.upload(&mut new.paths, &paths)?;
        device.upload(&mut new.support, &vec![1.0_f32; pixels])?;
        device.upload(&mut new.scales, &vec![1.0_f32; frames])?;
        if let Some(start) = problem
            .start_variations
            .as_ref()
            .filter(|_| own.len() == problem.shape()[0])
        {
            new.variations = Some(VariationBuffers::of(device, &layout, start)?);
        }
        if let Some(plan) = stream {
            let magnitudes = (&problem.magnitudes, &own[..]);
            new.stream = Some(FrameStream::new(device, &layout, plan, magnitudes)?);
        } else if !is_ready {
            upload(device, &mut new.magnitudes, (&problem.magnitudes, &own))?;
        }
        Ok((layout, new))
    }

    /// Allocates the exit waves in single precision and their spectra, unless there are some.
    pub(in crate::engines::cuda) fn alloc_waves(
        &mut self,
        device: &M,
        layout: &Layout,
    ) -> Result<()> {
        if self.spectra.len() != layout.wave_elements() {
            self.spectra = device.alloc("the exit waves' spectra", layout.wave_elements())?;
        }
        self.alloc_real_waves(device, layout, GpuWaves::F32)
    }

    /// Allocates the exit waves, if there are none that are stored so, and frees those that are
    /// stored otherwise.
    pub(in crate::engines::cuda) fn alloc_real_waves(
        &mut self,
        device: &M,
        layout: &Layout,
        stored: GpuWaves,
    ) -> Result<()> {
        let elements = layout.wave_elements();
        let [single, packed] = match stored {
            GpuWaves::F32 => [elements, 0],
            GpuWaves::Bf16 => [0, elements],
        };
        // Memory is freed before more is taken.
        if self.packed_waves.len() != packed {
            self.packed_waves = device.alloc("the exit waves in bf16", 0)?;
        }
        if self.waves.len() != single {
            self.waves = device.alloc("the exit waves", 0)?;
            self.waves = device.alloc("the exit waves", single)?;
        }
        if self.packed_waves.len() != packed {
            self.packed_waves = device.alloc("the exit waves in bf16", packed)?;
        }
        Ok(())
    }

    /// Whether the exit waves are stored in bf16.
    pub(in crate::engines::cuda) fn packed(&self) -> bool {
        !self.packed_waves.is_empty()
    }

    /// The factor from `waves`, after a projection, to ψ.
    pub(in crate::engines::cuda) fn wave_scale(&self, layout: &Layout) -> f32 {
        if self.spectra.is_empty() {
            1.0
        } else {
            layout.scale()
        }
    }

    /// Frees the spectra only.
    pub(in crate::engines::cuda) fn free_spectra(&mut self, device: &M) -> Result<()> {
        self.spectra = device.alloc("the exit waves' spectra", 0)?;
        Ok(())
    }

    /// Frees the exit waves and their spectra.
    pub(in crate::engines::cuda) fn free_waves(&mut self, device: &M) -> Result<()> {
        self.spectra = device.alloc("the exit waves' spectra", 0)?;
        self.waves = device.alloc("the exit waves", 0)?;
        self.packed_waves = device.alloc("the exit waves in bf16", 0)?;
        Ok(())
    }
}

/// Uploads the magnitudes of the frames `own`.
fn upload<M: Device>(
    device: &M,
    to: &mut M::Buffer<f32>,
    (magnitudes, own): (&Magnitudes, &[usize]),
) -> Result<()> {
    let [frames, rows, columns] = magnitudes.shape();
    let in_order = own.len() == frames && own.is_sorted();
    if let Some(all) = magnitudes.in_memory().filter(|_| in_order)
        && let Some(all) = all.as_standard_layout().as_slice()
    {
        return device.upload(to, all);
    }
    // In parts, of which the host has a few at a time.
    let pixels = rows * columns;
    let mut sent: Option<M::Sent> = None;
    for (number, part) in own.chunks((PART_PIXELS / pixels.max(1)).max(1)).enumerate() {
        let mut host = device.pinned("the magnitudes of some frames", part.len() * pixels)?;
        if let Some(values) = magnitudes.select(part)?.as_slice() {
            host.copy_from_slice(values);
        }
        let at = number * (PART_PIXELS / pixels.max(1)).max(1) * pixels;
        let length = host.len();
        let next = device.send(&Arc::new(host), 0..length, to, at)?;
        if let Some(sent) = sent.replace(next) {
            sent.wait()?;
        }
    }
    match sent {
        Some(sent) => sent.wait(),
        None => Ok(()),
    }
}
