//! Mirrors cpu/model/propagation.rs: propagation of exit waves to the detector and back,
//! unnormalised as the transforms of cuFFT are.

use crate::Problem;
use crate::engines::cuda::memory::layout::Layout;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::near_field_factors::PtychoNearFieldFactors;

/// Propagates layers (layer, row, column) by a plan for their transforms.
pub(in crate::engines::cuda) struct Propagator<M: Device> {
    /// The transfer function with the shift to (0, 0), times 1/√(rows · columns) (row, column);
    /// empty in the far field.
    factors: M::Buffer<Complex32>,
    /// Exit waves of a point of a frame, rows and columns.
    shape: [u32; 3],
    /// What a launch takes for frames at whole pixels, and without a derivative; empty.
    none: Nothing<M>,
}

/// Empty buffers: fractions, frames, waves.
type Nothing<M> = (
    <M as Device>::Buffer<[f32; 2]>,
    <M as Device>::Buffer<u32>,
    <M as Device>::Buffer<Complex32>,
);

/// The frames of the first layers, whose probes are shifted by fractions of a pixel.
pub(in crate::engines::cuda) struct BetweenPixels<'a, M: Device> {
    /// (frame).
    pub(in crate::engines::cuda) fractions: &'a M::Buffer<[f32; 2]>,
    /// Frames in the order of the layers.
    pub(in crate::engines::cuda) order: &'a M::Buffer<u32>,
    pub(in crate::engines::cuda) frames: u32,
    pub(in crate::engines::cuda) first: u32,
    pub(in crate::engines::cuda) count: u32,
}

impl<'a, M: Device> BetweenPixels<'a, M> {
    /// Those of the first `count` frames of `order`.
    pub(in crate::engines::cuda) fn new(
        fractions: &'a M::Buffer<[f32; 2]>,
        order: &'a M::Buffer<u32>,
        count: u32,
    ) -> Self {
        Self {
            fractions,
            order,
            frames: count,
            first: 0,
            count,
        }
    }

    /// All frames in `order`.
    pub(in crate::engines::cuda) fn all(
        layout: &Layout,
        fractions: &'a M::Buffer<[f32; 2]>,
        order: &'a M::Buffer<u32>,
    ) -> Self {
        Self {
            fractions,
            order,
            frames: layout.frames,
            first: 0,
            count: layout.frames,
        }
    }
}

/// What a launch adds for the derivative of detector waves: the spectra of these, and 1 (rows) or 2
/// (columns).
type Derivative<'a, M> = (&'a <M as Device>::Buffer<Complex32>, u32);

impl<M: Device> Propagator<M> {
    /// Uploads the transfer function of the problem's near field, if it has one.
    pub(in crate::engines::cuda) fn new(device: &M, problem: &Problem) -> Result<Self> {
        let [_, modes, rows, columns] = problem.shape();
        let narrow = |v: Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        let scale = 1.0 / ((rows * columns) as f64).sqrt();
        let values: Vec<Complex<f32>> = (problem.near_field.iter())
            .flat_map(|near| near.factors([rows, columns]))
            .map(|v| narrow(v * scale))
            .collect();
        let mut factors = device.alloc("the transfer function", values.len())?;
        if !values.is_empty() {
            device.upload(&mut factors, &values)?;
        }
        Ok(Self {
            factors,
            shape: [problem.object_layers() * modes, rows, columns].map(|n| n as u32),
            none: (
                device.alloc("no fractions", 0)?,
                device.alloc("no frames", 0)?,
                device.alloc("no waves", 0)?,
            ),
        })
    }

    /// Whether waves travel to the near field, so that launches which transform waves themselves
    /// cannot be taken.
    pub(in crate::engines::cuda) fn is_near_field(&self) -> bool {
        !self.factors.is_empty()
    }

    /// Propagates `waves` to the detector, or back, in place.
    pub(in crate::engines::cuda) fn propagate(
        &self,
        device: &M,
        fft: &M::Fft,
        waves: &mut M::Buffer<Complex32>,
        between: Option<BetweenPixels<'_, M>>,
        direction: Direction,
    ) -> Result<()> {
        if !self.is_near_field() {
            return device.fft(fft, waves, direction);
        }
        device.fft(fft, waves, Direction::Forward)?;
        self.multiply(device, waves, between, direction, None)?;
        device.fft(fft, waves, Direction::Inverse)
    }

    /// Propagates `from` to the detector, or back, into `to`.
    pub(in crate::engines::cuda) fn propagate_to(
        &self,
        device: &M,
        fft: &M::Fft,
        (from, to): (&M::Buffer<Complex32>, &mut M::Buffer<Complex32>),
        between: Option<BetweenPixels<'_, M>>,
        direction: Direction,
    ) -> Result<()> {
        if !self.is_near_field() {
            return device.fft_to(fft, from, to, direction);
        }
        device.fft_to(fft, from, to, Direction::Forward)?;
        self.multiply(device, to, between, direction, None)?;
        device.fft(fft, to, Direction::Inverse)
    }

    /// The first part of the propagation of `waves` to the detector, which [`Propagator::finish`]
    /// completes: in the near field up to the spectra of the detector waves. With `derivative` the
    /// waves are the derivatives of shifted probes times the object, and that of the shift back is
    /// added.
    pub(in crate::engines::cuda) fn begin(
        &self,
        device: &M,
        fft: &M::Fft,
        waves: &mut M::Buffer<Complex32>,
        between: Option<BetweenPixels<'_, M>>,
        derivative: Option<Derivative<'_, M>>,
    ) -> Result<()> {
        device.fft(fft, waves, Direction::Forward)?;
        if !self.is_near_field() {
            return Ok(());
        }
        self.multiply(device, waves, between, Direction::Forward, derivative)
    }

    /// The rest of the propagation after [`Propagator::begin`].
    pub(in crate::engines::cuda) fn finish(
        &self,
        device: &M,
        fft: &M::Fft,
        waves: &mut M::Buffer<Complex32>,
    ) -> Result<()> {
        if !self.is_near_field() {
            return Ok(());
        }
        device.fft(fft, waves, Direction::Inverse)
    }

    /// From spectra at one end to those at the other.
    fn multiply(
        &self,
        device: &M,
        spectra: &mut M::Buffer<Complex32>,
        between: Option<BetweenPixels<'_, M>>,
        direction: Direction,
        derivative: Option<Derivative<'_, M>>,
    ) -> Result<()> {
        let pixels = self.factors.len();
        let layers = spectra.len() / pixels;
        let [modes, rows, columns] = self.shape;
        let (no_fractions, no_frames, no_waves) = &self.none;
        let at = between.unwrap_or(BetweenPixels {
            fractions: no_fractions,
            order: no_frames,
            frames: 0,
            first: 0,
            count: 0,
        });
        let (beside, derivative) = derivative.unwrap_or((no_waves, 0));
        device.launch(
            &PtychoNearFieldFactors {
                spectra: spectra.write(),
                beside: beside.read(),
                factors: self.factors.read(),
                fractions: at.fractions.read(),
                order: at.order.read(),
                frames: at.frames,
                first: at.first,
                count: at.count,
                modes,
                rows,
                columns,
                layers: layers as u32,
                beside_layers: (beside.len() / pixels) as u32,
                derivative,
                conjugate: u32::from(direction == Direction::Inverse),
            },
            Work::Elements(layers * pixels),
        )
    }
}
