//! The inputs of all rungs, on the device.

use std::f64::consts::{PI, TAU};

use super::phantom::phantom;
use crate::cuda::direct::Direct;
use crate::{Grid, MriError, Trigonometry};
use ndarray::Array2;
use num_complex::Complex;
use serde::Serialize;
use warpstride_cuda::gpu::{Buffer, Device};
use warpstride_device::launch::Work;
use warpstride_device::{Complex32, F32x4};
use warpstride_kernels::mri::direct_ladder_global::MriLadderMu;
use warpstride_kernels::mri::direct_ladder_staged::MriLadderPack;

/// Number of voxels whose error is checked.
const CHECKED_VOXELS: usize = 64;

/// The problem for which the ladder is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LadderSize {
    /// Voxels.
    pub grid: Grid,
    /// Spokes through the centre of k-space.
    pub spokes: usize,
    /// Samples per spoke.
    pub readout: usize,
    /// Coils in the rungs where several coils share the phases.
    pub coils: usize,
}

impl Default for LadderSize {
    /// 256², 402 spokes of 256, 12 coils.
    fn default() -> Self {
        Self {
            grid: Grid::two(256, 256),
            spokes: 402,
            readout: 256,
            coils: 12,
        }
    }
}

/// The textbook's arrays.
pub(super) struct LadderInputs<M: Device> {
    pub(super) size: LadderSize,
    pub(super) samples: usize,
    /// (sample, axis), cycles/pixel.
    pub(super) trajectory: Array2<f64>,
    pub(super) truth: Vec<f64>,
    /// x, y, z of every voxel, pixels.
    pub(super) positions: [M::Buffer<f32>; 3],
    /// kx, ky, kz of every sample, cycles/pixel.
    pub(super) k: [M::Buffer<f32>; 3],
    /// The density weights, as the textbook's φ.
    pub(super) phi: M::Buffer<Complex32>,
    pub(super) data: M::Buffer<Complex32>,
    /// conj(φ) d.
    pub(super) mu: M::Buffer<Complex32>,
    /// k and Mu as an array of structures.
    pub(super) points: M::Buffer<F32x4>,
    /// Mu of every coil, (coil, sample): equal for all coils.
    pub(super) of_coils: M::Buffer<Complex32>,
    /// Indices of voxels, and their exact values.
    exact: Vec<(usize, Complex<f64>)>,
}

impl<M: Device> LadderInputs<M> {
    pub(super) fn new(device: &M, size: LadderSize) -> Result<Self, MriError> {
        let (grid, samples) = (size.grid, size.spokes * size.readout);
        let (trajectory, weights) = spokes(size);
        let direct = Direct::new(device, grid, &trajectory, None, Trigonometry::Accurate, 1)?;
        let truth = phantom(grid);
        let image: Vec<_> = truth.iter().map(|v| Complex::new(*v as f32, 0.0)).collect();
        let mut on_image = device.alloc("the phantom", grid.voxels())?;
        device.upload(&mut on_image, &image)?;
        let mut data = device.alloc("the data", samples)?;
        direct.forward(device, &on_image, &mut data, 1)?;

        let floats = |values: Vec<f64>| {
            let values: Vec<f32> = values.iter().map(|v| *v as f32).collect();
            let mut buffer = device.alloc("positions", values.len())?;
            device.upload(&mut buffer, &values)?;
            Ok::<_, MriError>(buffer)
        };
        let k = |axis: usize| {
            let of = |m: usize| trajectory.row(m).get(axis).copied().unwrap_or(0.0);
            floats((0..samples).map(of).collect())
        };
        let position =
            |axis: usize| floats((0..grid.voxels()).map(|n| at(size, n)[axis]).collect());
        let k = [k(0)?, k(1)?, k(2)?];
        let mut phi = device.alloc("density weights", samples)?;
        let complex: Vec<_> = weights
            .iter()
            .map(|w| Complex::new(*w as f32, 0.0))
            .collect();
        device.upload(&mut phi, &complex)?;

        let mut mu = device.alloc("Mu", samples)?;
        let launch = MriLadderMu {
            out: mu.write(),
            phi: phi.read(),
            data: data.read(),
            samples,
        };
        device.launch(&launch, Work::Elements(samples))?;
        let mut points = device.alloc("k-space", 2 * samples)?;
        let [kx, ky, kz] = k.each_ref().map(Buffer::read);
        let launch = MriLadderPack {
            out: points.write(),
            kx,
            ky,
            kz,
            mu: mu.read(),
            samples,
        };
        device.launch(&launch, Work::Elements(samples))?;

        let mut values = vec![Complex::new(0.0_f32, 0.0); samples];
        device.download(&mu, &mut values)?;
        let mut of_coils = device.alloc("Mu of the coils", samples * size.coils)?;
        device.upload(&mut of_coils, &values.repeat(size.coils))?;
        let exact = exact(size, &trajectory, &values);
        Ok(Self {
            size,
            samples,
            positions: [position(0)?, position(1)?, position(2)?],
            k,
            phi,
            data,
            mu,
            points,
            of_coils,
            exact,
            trajectory,
            truth,
        })
    }

    /// ‖image − exact‖/‖exact‖ over the checked voxels.
    pub(super) fn error(&self, image: &[Complex<f32>]) -> f64 {
        let [mut difference, mut norm] = [0.0, 0.0];
        for (voxel, exact) in &self.exact {
            let found = image[*voxel];
            let found = Complex::new(f64::from(found.re), f64::from(found.im));
            difference += (found - exact).norm_sqr();
            norm += exact.norm_sqr();
        }
        (difference / norm).sqrt()
    }
}

/// x, y, z of a voxel, pixels.
fn at(size: LadderSize, voxel: usize) -> [f64; 3] {
    let [slices, rows, columns] = size.grid.shape;
    let position = |n: usize, extent: usize| n as f64 - (extent / 2) as f64;
    [
        position(voxel % columns, columns),
        position(voxel / columns % rows, rows),
        position(voxel / columns / rows, slices),
    ]
}

/// Fᴴ at some voxels in double precision, with k rounded as in the kernels.
fn exact(
    size: LadderSize,
    trajectory: &Array2<f64>,
    values: &[Complex<f32>],
) -> Vec<(usize, Complex<f64>)> {
    let voxels = size.grid.voxels();
    let count = voxels.min(CHECKED_VOXELS);
    (0..count)
        .map(|i| {
            // Voxels at golden-ratio distances, which do not lie along a row or a column.
            let voxel = i * (voxels * 618 / 1000).max(1) % voxels;
            let position = at(size, voxel);
            let terms = trajectory.rows().into_iter().zip(values);
            let sum = terms.map(|(k, value)| {
                let cycles: f64 = k.iter().zip(position).map(|(k, x)| k * x).sum();
                let value = Complex::new(f64::from(value.re), f64::from(value.im));
                value * Complex::cis(TAU * (cycles - cycles.round()))
            });
            (voxel, sum.sum())
        })
        .collect()
}

/// Trajectory (sample, axis), k rounded to single precision because the textbook's arrays are, and
/// the ramp with a quarter step at the centre.
fn spokes(size: LadderSize) -> (Array2<f64>, Vec<f64>) {
    let (axes, readout) = (size.grid.axes, size.readout);
    let golden = PI * (5.0_f64.sqrt() - 1.0) / 2.0;
    let direction = |spoke: usize| {
        if axes == 2 {
            let (sin, cos) = (PI * spoke as f64 / size.spokes as f64).sin_cos();
            return [cos, sin, 0.0];
        }
        let z = (spoke as f64 + 0.5) / size.spokes as f64;
        let (sin, cos) = (2.0 * golden * spoke as f64).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z]
    };
    let along = |sample: usize| (sample as f64 - (readout / 2) as f64) / readout as f64;
    let trajectory = Array2::from_shape_fn((size.spokes * readout, axes), |(m, axis)| {
        f64::from((along(m % readout) * direction(m / readout)[axis]) as f32)
    });
    let weights = (0..size.spokes * readout).map(|m| {
        let k = along(m % readout).abs().max(0.25 / readout as f64);
        k.powi(axes as i32 - 1)
    });
    let weights = weights.collect();
    (trajectory, weights)
}
