//! Samples and coil maps that lie in the memory of the device that computes.

use super::sums::squares;
use crate::{MriError, Problem, ProblemError};
use warpstride_cuda::gpu::{Buffer, Device};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::weigh_samples::MriWeighSamples;

/// Arrays of a problem in the memory of a device, for
/// [`GpuEngine::of_device_arrays`](super::GpuEngine::of_device_arrays). They are copied there, and
/// not needed once the engine exists.
pub struct DeviceArrays<'a, M: Device> {
    /// (coil, sample).
    pub samples: &'a M::Buffer<Complex32>,
    /// S of some sets, (set, coil, voxel); `None`: every coil has an image of its own.
    pub maps: Option<&'a M::Buffer<Complex32>>,
}

impl<M: Device> DeviceArrays<'_, M> {
    /// Number of sets of maps, after a check of the lengths.
    pub(super) fn sets(&self, problem: &Problem) -> Result<Option<usize>, MriError> {
        let expect = |what, found: usize, expected: Vec<usize>, axes| {
            if found == expected.iter().product::<usize>() {
                return Ok(());
            }
            Err(ProblemError::Shape {
                what,
                found: vec![found],
                expected,
                axes,
            })
        };
        let (coils, count) = (problem.coils(), problem.trajectory().nrows());
        let axes = "(coil, sample)";
        expect("the data", self.samples.len(), vec![coils, count], axes)?;
        let Some(maps) = self.maps else {
            return Ok(None);
        };
        let voxels = problem.grid().voxels();
        let sets = (maps.len() / (coils * voxels)).max(1);
        let axes = "(set, coil, voxel)";
        expect("the coil maps", maps.len(), vec![sets, coils, voxels], axes)?;
        Ok(Some(sets))
    }

    /// Waits, and returns Σ w |d|²; refuses samples and maps that are not finite.
    pub(super) fn checked_signal(&self, device: &M, problem: &Problem) -> Result<f64, MriError> {
        let mut partial = device.alloc("sums", PARTIAL_SUMS)?;
        let plain = squares(device, self.samples, &mut partial)?;
        if !plain.is_finite() {
            return Err(ProblemError::NotFiniteOnDevice { what: "the data" }.into());
        }
        if let Some(maps) = self.maps
            && !squares(device, maps, &mut partial)?.is_finite()
        {
            let what = "the coil maps";
            return Err(ProblemError::NotFiniteOnDevice { what }.into());
        }
        let Some(weights) = problem.weights() else {
            return Ok(plain);
        };
        let roots: Vec<f32> = weights.iter().map(|w| w.sqrt() as f32).collect();
        let mut on_device = device.alloc("density weights", roots.len())?;
        device.upload(&mut on_device, &roots)?;
        let mut weighed = device.alloc("samples", self.samples.len())?;
        device.copy(self.samples, &mut weighed)?;
        let launch = MriWeighSamples {
            weights: on_device.read(),
            values: weighed.write(),
            samples: roots.len() as u32,
            images: problem.coils() as u32,
        };
        device.launch(&launch, Work::Elements(roots.len()))?;
        Ok(squares(device, &weighed, &mut partial)?)
    }
}

#[cfg(test)]
mod tests;
