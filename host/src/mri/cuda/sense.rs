//! Mirrors cpu/sense.rs: E = F S, EᴴWE ρ = Σ_c conj(S_c) FᴴWF S_c ρ.

use super::{Direct, Nufft, Toeplitz};
use crate::gpu::{Buffer, Machine, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::coil_combine::MriCoilCombine;
use warpstride_kernels::mri::coil_images::MriCoilImages;
use warpstride_kernels::mri::weigh_samples::MriWeighSamples;

/// F on a machine.
pub(super) enum Encoding<M: Machine> {
    /// To a tolerance; the density weights are its own.
    Nufft(Box<Nufft<M>>),
    /// Exact.
    Direct {
        direct: Box<Direct<M>>,
        weights: Option<M::Buffer<f32>>,
    },
}

impl<M: Machine> Encoding<M> {
    fn forward(
        &mut self,
        machine: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        match self {
            Self::Nufft(nufft) => nufft.forward(machine, images, samples, batch),
            Self::Direct { direct, .. } => direct.forward(machine, images, samples, batch),
        }
    }

    /// `images = FᴴW samples`; `samples` may be multiplied by W.
    fn adjoint_weighted(
        &mut self,
        machine: &M,
        samples: &mut M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        match self {
            Self::Nufft(nufft) => nufft.adjoint_weighted(machine, samples, images, batch),
            Self::Direct { direct, weights } => {
                if let Some(weights) = weights {
                    let launch = MriWeighSamples {
                        weights: weights.read(),
                        values: samples.write(),
                        samples: direct.samples() as u32,
                        images: batch as u32,
                    };
                    machine.launch(&launch, Work::Elements(direct.samples()))?;
                }
                direct.adjoint(machine, samples, images, batch)
            }
        }
    }
}

/// FᴴWF of each of several images.
pub(super) enum Gram<M: Machine> {
    /// By the operator, there and back, through samples (image, sample).
    Encoded {
        encoding: Encoding<M>,
        samples: M::Buffer<Complex32>,
    },
    /// By one convolution.
    Toeplitz(Box<Toeplitz<M>>),
}

/// Coil maps, with room for what the coils see.
pub(super) struct Maps<M: Machine> {
    /// S, (coil, voxel)
    pub(super) maps: M::Buffer<Complex32>,
    /// S_c ρ, then FᴴWF S_c ρ, (coil, voxel); empty where the operator does without.
    pub(super) coil_images: M::Buffer<Complex32>,
}

/// E on a machine. Without maps every coil has an image of its own, E = F for each of them.
pub(super) struct Sense<M: Machine> {
    pub(super) gram: Gram<M>,
    pub(super) maps: Option<Maps<M>>,
    pub(super) coils: usize,
    pub(super) voxels: usize,
}

impl<M: Machine> Sense<M> {
    /// Queues `out = EᴴWE image`: (voxel), or (coil, voxel) without maps.
    pub(super) fn normal(
        &mut self,
        machine: &M,
        image: &M::Buffer<Complex32>,
        out: &mut M::Buffer<Complex32>,
    ) -> Result<()> {
        let coils = self.coils;
        match (&mut self.gram, &mut self.maps) {
            (Gram::Toeplitz(toeplitz), Some(maps)) => {
                toeplitz.gram(machine, image, out, &maps.maps, coils)
            }
            (Gram::Toeplitz(toeplitz), None) => toeplitz.apply(machine, image, out, coils),
            (Gram::Encoded { encoding, samples }, None) => {
                encoding.forward(machine, image, samples, coils)?;
                encoding.adjoint_weighted(machine, samples, out, coils)
            }
            (Gram::Encoded { encoding, samples }, Some(maps)) => {
                let split = MriCoilImages {
                    image: image.read(),
                    maps: maps.maps.read(),
                    images: maps.coil_images.write(),
                    voxels: self.voxels as u32,
                    coils: coils as u32,
                };
                machine.launch(&split, Work::Elements(self.voxels))?;
                encoding.forward(machine, &maps.coil_images, samples, coils)?;
                encoding.adjoint_weighted(machine, samples, &mut maps.coil_images, coils)?;
                combine(machine, maps, out, self.voxels, coils)
            }
        }
    }
}

/// Queues `b = EᴴW samples`; `samples` may be multiplied by W.
pub(super) fn right_hand_side<M: Machine>(
    machine: &M,
    encoding: &mut Encoding<M>,
    samples: &mut M::Buffer<Complex32>,
    maps: Option<&mut Maps<M>>,
    b: &mut M::Buffer<Complex32>,
    (voxels, coils): (usize, usize),
) -> Result<()> {
    match maps {
        None => encoding.adjoint_weighted(machine, samples, b, coils),
        Some(maps) if maps.coil_images.is_empty() => {
            let mut coil_images = machine.alloc("images of the coils", coils * voxels)?;
            encoding.adjoint_weighted(machine, samples, &mut coil_images, coils)?;
            std::mem::swap(&mut maps.coil_images, &mut coil_images);
            combine(machine, maps, b, voxels, coils)?;
            machine.synchronize()?;
            std::mem::swap(&mut maps.coil_images, &mut coil_images);
            Ok(())
        }
        Some(maps) => {
            encoding.adjoint_weighted(machine, samples, &mut maps.coil_images, coils)?;
            combine(machine, maps, b, voxels, coils)
        }
    }
}

/// Queues `image = Σ_c conj(S_c) coil_images_c`.
fn combine<M: Machine>(
    machine: &M,
    maps: &Maps<M>,
    image: &mut M::Buffer<Complex32>,
    voxels: usize,
    coils: usize,
) -> Result<()> {
    let launch = MriCoilCombine {
        images: maps.coil_images.read(),
        maps: maps.maps.read(),
        image: image.write(),
        voxels: voxels as u32,
        coils: coils as u32,
    };
    machine.launch(&launch, Work::Elements(voxels))
}
