//! Mirrors cpu/sense.rs: E = F S, EᴴWE ρ = Σ_c conj(S_c) FᴴWF S_c ρ.

use super::{Direct, Nufft, Toeplitz};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::coil_combine::MriCoilCombine;
use warpstride_kernels::mri::coil_images::MriCoilImages;
use warpstride_kernels::mri::weigh_samples::MriWeighSamples;

/// F on a device.
pub(super) enum Encoding<M: Device> {
    /// To a tolerance; it includes the density weights.
    Nufft(Box<Nufft<M>>),
    /// Exact.
    Direct {
        direct: Box<Direct<M>>,
        weights: Option<M::Buffer<f32>>,
    },
}

impl<M: Device> Encoding<M> {
    fn forward(
        &mut self,
        device: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        match self {
            Self::Nufft(nufft) => nufft.forward(device, images, samples, batch),
            Self::Direct { direct, .. } => direct.forward(device, images, samples, batch),
        }
    }

    /// `images = FᴴW samples`; may overwrite `samples` by W `samples`.
    fn adjoint_weighted(
        &mut self,
        device: &M,
        samples: &mut M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        match self {
            Self::Nufft(nufft) => nufft.adjoint_weighted(device, samples, images, batch),
            Self::Direct { direct, weights } => {
                if let Some(weights) = weights {
                    let launch = MriWeighSamples {
                        weights: weights.read(),
                        values: samples.write(),
                        samples: direct.samples() as u32,
                        images: batch as u32,
                    };
                    device.launch(&launch, Work::Elements(direct.samples()))?;
                }
                direct.adjoint(device, samples, images, batch)
            }
        }
    }
}

/// FᴴWF, applied to each of several images.
pub(super) enum Gram<M: Device> {
    /// By the forward and the adjoint operator, through samples (image, sample).
    Encoded {
        encoding: Encoding<M>,
        samples: M::Buffer<Complex32>,
    },
    /// By one convolution.
    Toeplitz(Box<Toeplitz<M>>),
}

/// Coil maps, with a buffer for the coil images.
pub(super) struct Maps<M: Device> {
    /// S, (set, coil, voxel)
    pub(super) maps: M::Buffer<Complex32>,
    pub(super) sets: usize,
    /// Σ_s S_sc ρ_s, then FᴴWF of it, (coil, voxel); empty if the operator does not need it.
    pub(super) coil_images: M::Buffer<Complex32>,
    /// The convolved coil images of several sets; empty if the operator does not need it.
    pub(super) convolved: M::Buffer<Complex32>,
}

/// E on a device. Without maps every coil has an image of its own, with E = F for each of them.
pub(super) struct Sense<M: Device> {
    pub(super) gram: Gram<M>,
    pub(super) maps: Option<Maps<M>>,
    pub(super) coils: usize,
    pub(super) voxels: usize,
}

impl<M: Device> Sense<M> {
    /// Queues `out = EᴴWE image`: (set, voxel), or (coil, voxel) without maps.
    pub(super) fn normal(
        &mut self,
        device: &M,
        image: &M::Buffer<Complex32>,
        out: &mut M::Buffer<Complex32>,
    ) -> Result<()> {
        let coils = self.coils;
        match (&mut self.gram, &mut self.maps) {
            (Gram::Toeplitz(toeplitz), Some(maps)) if maps.sets == 1 => {
                toeplitz.gram(device, image, out, &maps.maps, coils)
            }
            (Gram::Toeplitz(toeplitz), Some(maps)) => {
                split(device, maps, image, self.voxels, coils)?;
                toeplitz.apply(device, &maps.coil_images, &mut maps.convolved, coils)?;
                combine(device, maps, &maps.convolved, out, self.voxels, coils)
            }
            (Gram::Toeplitz(toeplitz), None) => toeplitz.apply(device, image, out, coils),
            (Gram::Encoded { encoding, samples }, None) => {
                encoding.forward(device, image, samples, coils)?;
                encoding.adjoint_weighted(device, samples, out, coils)
            }
            (Gram::Encoded { encoding, samples }, Some(maps)) => {
                split(device, maps, image, self.voxels, coils)?;
                encoding.forward(device, &maps.coil_images, samples, coils)?;
                encoding.adjoint_weighted(device, samples, &mut maps.coil_images, coils)?;
                combine(device, maps, &maps.coil_images, out, self.voxels, coils)
            }
        }
    }
}

/// Queues `b = EᴴW samples`; may overwrite `samples` by W `samples`.
pub(super) fn right_hand_side<M: Device>(
    device: &M,
    encoding: &mut Encoding<M>,
    samples: &mut M::Buffer<Complex32>,
    maps: Option<&mut Maps<M>>,
    b: &mut M::Buffer<Complex32>,
    (voxels, coils): (usize, usize),
) -> Result<()> {
    match maps {
        None => encoding.adjoint_weighted(device, samples, b, coils),
        Some(maps) if maps.coil_images.is_empty() => {
            let mut coil_images = device.alloc("images of the coils", coils * voxels)?;
            encoding.adjoint_weighted(device, samples, &mut coil_images, coils)?;
            combine(device, maps, &coil_images, b, voxels, coils)?;
            device.synchronize()
        }
        Some(maps) => {
            encoding.adjoint_weighted(device, samples, &mut maps.coil_images, coils)?;
            combine(device, maps, &maps.coil_images, b, voxels, coils)
        }
    }
}

/// Queues `maps.coil_images = Σ_s S_sc image_s`.
fn split<M: Device>(
    device: &M,
    maps: &mut Maps<M>,
    image: &M::Buffer<Complex32>,
    voxels: usize,
    coils: usize,
) -> Result<()> {
    let launch = MriCoilImages {
        image: image.read(),
        maps: maps.maps.read(),
        images: maps.coil_images.write(),
        voxels: voxels as u32,
        coils: coils as u32,
        sets: maps.sets as u32,
    };
    device.launch(&launch, Work::Elements(voxels))
}

/// Queues `image_s = Σ_c conj(S_sc) coil_images_c`.
fn combine<M: Device>(
    device: &M,
    maps: &Maps<M>,
    coil_images: &M::Buffer<Complex32>,
    image: &mut M::Buffer<Complex32>,
    voxels: usize,
    coils: usize,
) -> Result<()> {
    let launch = MriCoilCombine {
        images: coil_images.read(),
        maps: maps.maps.read(),
        image: image.write(),
        voxels: voxels as u32,
        coils: coils as u32,
        sets: maps.sets as u32,
    };
    device.launch(&launch, Work::Elements(voxels))
}
