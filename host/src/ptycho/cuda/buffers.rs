//! Everything a run keeps on the device, allocated once.

use crate::gpu::{Machine, Result};
use crate::ptycho::{Problem, UpdateVersion};
use num_complex::Complex;
use warpstride_device::Complex32;

/// Pixels of a frame that one block works on at a time: with 256 threads 16 each, enough to pay for
/// a reduction, few enough that 1457 frames of 128 × 128 end evenly.
const PART: usize = 4096;

/// Threads that a probe update should have at least: two waves of an H200 at six blocks of 256.
const PROBE_THREADS: usize = 2 * 132 * 6 * 256;
/// More slices than this cost more to add up than they bring.
const MOST_SLICES: usize = 64;

/// Sizes as kernels take them. They do not depend on the device, so that neither do the sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) frames: u32,
    pub(super) modes: u32,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) object_rows: u32,
    pub(super) object_columns: u32,
    /// Parts of a frame for kernels that need not see it whole.
    pub(super) parts: u32,
    /// Runs of frames in a probe update.
    pub(super) slices: u32,
}

impl Layout {
    fn new(problem: &Problem) -> Self {
        let [frames, modes, rows, columns] = problem.shape();
        let [object_rows, object_columns] = problem.positions.object_shape;
        let pixels = rows * columns;
        let slices = PROBE_THREADS
            .div_ceil(modes * pixels)
            .min(MOST_SLICES)
            .min(frames)
            .max(1);
        // `Problem::new` has seen to it that each of these fits.
        let narrow = |n: usize| n as u32;
        Self {
            frames: narrow(frames),
            modes: narrow(modes),
            rows: narrow(rows),
            columns: narrow(columns),
            object_rows: narrow(object_rows),
            object_columns: narrow(object_columns),
            parts: narrow(pixels.div_ceil(PART)),
            slices: narrow(slices),
        }
    }

    pub(super) fn pixels(&self) -> u32 {
        self.rows * self.columns
    }

    pub(super) fn probe_elements(&self) -> usize {
        self.modes as usize * self.pixels() as usize
    }

    pub(super) fn object_elements(&self) -> usize {
        self.object_rows as usize * self.object_columns as usize
    }

    pub(super) fn wave_elements(&self) -> usize {
        self.frames as usize * self.probe_elements()
    }

    /// 1/(rows · columns): makes a forward and an inverse transform together unitary.
    pub(super) fn scale(&self) -> f32 {
        1.0 / self.pixels() as f32
    }
}

/// Device memory of a run. Who writes what is said behind each.
pub(super) struct Buffers<M: Machine> {
    /// (row, column); object update, centring.
    pub(super) object: M::Buffer<Complex32>,
    /// (mode, row, column); probe update, constraints, centring.
    pub(super) probe: M::Buffer<Complex32>,
    /// Ψ, bare transforms of the exit waves (frame, mode, row, column); Fourier projection, centring.
    pub(super) spectra: M::Buffer<Complex32>,
    /// (frame, mode, row, column): P·O and its bare transforms, then rows · columns · ψ; Fourier
    /// projection, metrics.
    pub(super) waves: M::Buffer<Complex32>,
    /// (frame, row, column), √counts, −1 where masked; constant.
    pub(super) magnitudes: M::Buffer<f32>,
    /// (frame); constant.
    pub(super) corners: M::Buffer<[u32; 2]>,
    /// (frame): deviation; Fourier projection.
    pub(super) errors: M::Buffer<f32>,
    /// (frame): Σ|Δψ|²; Fourier projection.
    pub(super) moved: M::Buffer<f32>,
    /// (frame); Fourier projection, metrics.
    pub(super) photon: M::Buffer<f32>,
    /// (frame); Fourier projection, metrics.
    pub(super) residual: M::Buffer<f32>,
    /// (row, column): Σ|P|²; before each object update and centring.
    pub(super) power: M::Buffer<f32>,
    /// (row, column): sums of the atomic object update, and work of centring.
    pub(super) object_work: M::Buffer<Complex32>,
    /// (row, column): sums of the atomic object update; empty for the tiled one.
    pub(super) object_weights: M::Buffer<f32>,
    /// (slice, mode, row, column); probe update, and work of the Fourier support
    /// (first slice).
    pub(super) probe_sums: M::Buffer<Complex32>,
    /// (slice, row, column); probe update.
    pub(super) probe_weights: M::Buffer<f32>,
    /// (mode, row, column): the probe before an update; probe update.
    pub(super) probe_before: M::Buffer<Complex32>,
    /// (row, column): 1 inside the probe's support; constraints.
    pub(super) support: M::Buffer<f32>,
    /// (row, column), zero frequency at (0, 0); constraints.
    pub(super) fourier_support: M::Buffer<f32>,
    /// 1 element: 1 when the alternations of an iteration have come to rest.
    pub(super) gate: M::Buffer<u32>,
    /// 1 element, always 0: the gate of what is not to be skipped.
    pub(super) open: M::Buffer<u32>,
    /// 2 elements: rows and columns to move by; centring.
    pub(super) shift: M::Buffer<i32>,
}

impl<M: Machine> Buffers<M> {
    /// Allocates everything and uploads magnitudes, corners, object and probe.
    pub(super) fn new(
        machine: &M,
        problem: &Problem,
        version: UpdateVersion,
    ) -> Result<(Layout, Self)> {
        let layout = Layout::new(problem);
        let frames = layout.frames as usize;
        let pixels = layout.pixels() as usize;
        let slices = match version {
            UpdateVersion::Tiled => layout.slices as usize,
            UpdateVersion::Atomic => 1,
        };
        let weights = match version {
            UpdateVersion::Tiled => 0,
            UpdateVersion::Atomic => layout.object_elements(),
        };
        let mut new = Self {
            spectra: machine.alloc("the exit waves' spectra", layout.wave_elements())?,
            waves: machine.alloc("the exit waves", layout.wave_elements())?,
            magnitudes: machine.alloc("the magnitudes", frames * pixels)?,
            object: machine.alloc("the object", layout.object_elements())?,
            probe: machine.alloc("the probe", layout.probe_elements())?,
            corners: machine.alloc("the positions", frames)?,
            errors: machine.alloc("the frames' errors", frames)?,
            moved: machine.alloc("the exit waves' errors", frames)?,
            photon: machine.alloc("the frames' photon errors", frames)?,
            residual: machine.alloc("the frames' residuals", frames)?,
            power: machine.alloc("the probe's power", pixels)?,
            object_work: machine.alloc("the object's sums", layout.object_elements())?,
            object_weights: machine.alloc("the object's weights", weights)?,
            probe_sums: machine.alloc("the probe's sums", slices * layout.probe_elements())?,
            probe_weights: machine.alloc("the probe's weights", slices * pixels)?,
            probe_before: machine.alloc("the probe's copy", layout.probe_elements())?,
            support: machine.alloc("the probe's support", pixels)?,
            fourier_support: machine.alloc("the probe's Fourier support", pixels)?,
            gate: machine.alloc("a gate", 1)?,
            open: machine.alloc("a gate", 1)?,
            shift: machine.alloc("a shift", 2)?,
        };
        let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        let object: Vec<Complex<f32>> = problem.object.iter().map(narrow).collect();
        let probe: Vec<Complex<f32>> = problem.probe.iter().map(narrow).collect();
        machine.upload(&mut new.object, &object)?;
        machine.upload(&mut new.probe, &probe)?;
        machine.upload(&mut new.corners, &problem.positions.corners)?;
        machine.upload(&mut new.support, &vec![1.0_f32; pixels])?;
        let magnitudes = problem.magnitudes.as_standard_layout();
        if let Some(magnitudes) = magnitudes.as_slice() {
            machine.upload(&mut new.magnitudes, magnitudes)?;
        }
        Ok((layout, new))
    }
}
