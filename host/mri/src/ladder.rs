//! The textbook's ladder for Fᴴd: each optimisation as a separate kernel, timed on a device, with
//! its effect on the image.
//!
//! The image is a phantom of ellipses, its data Fρ on radial spokes (3-D: on radii over a sphere),
//! and each rung computes FᴴWd with W the ramp. So all rungs produce the same image up to rounding
//! and trigonometry, and its distance from the phantom is that of gridding without iterations.

mod inputs;
mod phantom;

pub use inputs::LadderSize;

use crate::cuda::direct::Direct;
use crate::{MriError, Trigonometry};
use inputs::LadderInputs;
use num_complex::Complex;
use serde::Serialize;
use warpstride_cuda::gpu::{Buffer, Device};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::direct_ladder_global::{
    MriLadderGather, MriLadderRegisters, MriLadderScatter, MriLadderSplit,
};
use warpstride_kernels::mri::direct_ladder_rows::{MriLadderCoils, MriLadderRotation};
use warpstride_kernels::mri::direct_ladder_staged::{
    MriLadderChunks, MriLadderHardware, MriLadderStructs, MriLadderVoxels,
};

/// Duration in milliseconds above which a single run is enough.
const SINGLE_RUN_MS: f64 = 100.0;
/// Number of runs of which the median is taken.
const REPETITIONS: usize = 5;

/// The measurement of one rung.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LadderStep {
    /// A short name.
    pub name: &'static str,
    /// The optimisation that this rung adds.
    pub what: &'static str,
    /// Device time.
    pub milliseconds: f64,
    /// Voxels × samples × coils per second.
    pub pairs_per_second: f64,
    /// PSNR of the image against the phantom after the best complex scaling: 20
    /// log10(max|I₀|/√MSE).
    pub psnr_db: f64,
    /// ‖image − exact‖/‖exact‖, with the exact values computed in double precision at some voxels.
    pub error: f64,
}

/// Runs and measures all rungs.
///
/// # Errors
/// An error of the device, or a size that the direct operators reject.
pub fn ladder<M: Device>(device: &M, size: LadderSize) -> Result<Vec<LadderStep>, MriError> {
    let data = LadderInputs::new(device, size)?;
    let (voxels, samples) = (size.grid.voxels(), data.samples);
    let [slices, rows, columns] = size.grid.shape.map(|n| n as u32);
    let mut run = LadderRun {
        device,
        data: &data,
        re: device.alloc("an image's real part", voxels)?,
        im: device.alloc("an image's imaginary part", voxels)?,
        images: device.alloc("images", size.coils * voxels)?,
        steps: Vec::new(),
    };

    macro_rules! arrays {
        ($name:literal, $what:literal, $kernel:ident, $elements:expr; $($more:ident),*) => {
            run.measure_split($name, $what, |re, im| {
                device.zero(re)?;
                device.zero(im)?;
                let [x, y, z] = data.positions.each_ref().map(Buffer::read);
                let [kx, ky, kz] = data.k.each_ref().map(Buffer::read);
                let launch = $kernel {
                    re: re.write(),
                    im: im.write(),
                    x, y, z, kx, ky, kz,
                    $($more: data.$more.read(),)*
                    voxels,
                    samples,
                };
                device.launch(&launch, Work::Elements($elements))
            })?;
        };
    }
    arrays!("scatter", "one thread per sample, atomic additions to every voxel", MriLadderScatter, samples; phi, data);
    arrays!("gather", "one thread per voxel, no atomics", MriLadderGather, voxels; phi, data);
    arrays!("split", "Mu = conj(φ)d precomputed by its own kernel", MriLadderSplit, voxels; mu);
    arrays!("registers", "voxel and sums in registers: 5 memory accesses instead of 12", MriLadderRegisters, voxels; mu);

    run.measure_complex(
        "chunks",
        "k-space in chunks of shared memory (textbook: constant memory)",
        1,
        &|out| {
            let [x, y, z] = data.positions.each_ref().map(Buffer::read);
            let [kx, ky, kz] = data.k.each_ref().map(Buffer::read);
            let launch = MriLadderChunks {
                out: out.write(),
                x,
                y,
                z,
                kx,
                ky,
                kz,
                mu: data.mu.read(),
                voxels: voxels as u32,
                samples: samples as u32,
            };
            device.launch(&launch, Work::Blocks(voxels.div_ceil(256)))
        },
    )?;
    macro_rules! structs {
        ($name:literal, $what:literal, $kernel:ident, $own:literal) => {
            run.measure_complex($name, $what, 1, &|out| {
                let [x, y, z] = data.positions.each_ref().map(Buffer::read);
                let launch = $kernel {
                    out: out.write(),
                    x,
                    y,
                    z,
                    points: data.points.read(),
                    voxels: voxels as u32,
                    samples: samples as u32,
                };
                device.launch(&launch, Work::Blocks(voxels.div_ceil(256 * $own)))
            })?;
        };
    }
    structs!(
        "structs",
        "an array of structures: 2 memory accesses instead of 5",
        MriLadderStructs,
        1
    );
    structs!("hardware", "hardware sine and cosine", MriLadderHardware, 1);
    structs!(
        "voxels",
        "4 voxels per thread share the memory accesses",
        MriLadderVoxels,
        4
    );

    run.measure_complex(
        "rotation",
        "phase along a row by recurrence; one sine and cosine per 32 voxels",
        1,
        &|out| {
            let launch = MriLadderRotation {
                out: out.write(),
                points: data.points.read(),
                samples: samples as u32,
                slices,
                rows,
                columns,
            };
            let runs = size.grid.shape[0] * size.grid.shape[1] * size.grid.shape[2].div_ceil(32);
            device.launch(&launch, Work::Blocks(runs.div_ceil(256)))
        },
    )?;
    run.measure_complex(
        "coils",
        "the images of all coils share the phases",
        size.coils,
        &|out| {
            let launch = MriLadderCoils {
                out: out.write(),
                values: data.of_coils.read(),
                points: data.points.read(),
                samples: samples as u32,
                images: size.coils as u32,
                slices,
                rows,
                columns,
            };
            let runs = size.grid.shape[0] * size.grid.shape[1] * size.grid.shape[2].div_ceil(8);
            let tiles = runs.div_ceil(256) * size.coils.div_ceil(4);
            device.launch(&launch, Work::Blocks(tiles))
        },
    )?;
    for (name, what, trigonometry, coils) in [
        (
            "separable",
            "real matrix products over pairs of voxels (the operator of the library)",
            Trigonometry::Accurate,
            1,
        ),
        (
            "separable, hardware",
            "as before, with hardware sine and cosine",
            Trigonometry::Hardware,
            1,
        ),
        (
            "separable, coils",
            "as before, for the images of all coils",
            Trigonometry::Accurate,
            size.coils,
        ),
    ] {
        let direct = Direct::new(
            device,
            size.grid,
            &data.trajectory,
            None,
            trigonometry,
            coils,
        )?;
        run.measure_complex(name, what, coils, &|out| {
            direct.adjoint(device, &data.of_coils, out, coils)
        })?;
    }
    Ok(run.steps)
}

/// The state while the rungs are measured.
struct LadderRun<'a, M: Device> {
    device: &'a M,
    data: &'a LadderInputs<M>,
    re: M::Buffer<f32>,
    im: M::Buffer<f32>,
    images: M::Buffer<Complex32>,
    steps: Vec<LadderStep>,
}

type Launch<'a, B> = &'a dyn Fn(&mut B) -> warpstride_cuda::gpu::Result<()>;

impl<M: Device> LadderRun<'_, M> {
    /// Measures a rung with real and imaginary parts in separate arrays.
    fn measure_split(
        &mut self,
        name: &'static str,
        what: &'static str,
        launch: impl Fn(&mut M::Buffer<f32>, &mut M::Buffer<f32>) -> warpstride_cuda::gpu::Result<()>,
    ) -> Result<(), MriError> {
        let (re, im) = (&mut self.re, &mut self.im);
        let milliseconds = time(self.device, &mut || launch(re, im))?;
        let voxels = self.data.size.grid.voxels();
        let [mut real, mut imaginary] = [vec![0.0_f32; voxels], vec![0.0_f32; voxels]];
        self.device.download(&self.re, &mut real)?;
        self.device.download(&self.im, &mut imaginary)?;
        let parts = real.iter().zip(&imaginary);
        let image: Vec<_> = parts.map(|(re, im)| Complex::new(*re, *im)).collect();
        self.record_step(name, what, milliseconds, 1, &image);
        Ok(())
    }

    /// Measures a rung with complex images, of which the first is checked.
    fn measure_complex(
        &mut self,
        name: &'static str,
        what: &'static str,
        coils: usize,
        launch: Launch<'_, M::Buffer<Complex32>>,
    ) -> Result<(), MriError> {
        let images = &mut self.images;
        let milliseconds = time(self.device, &mut || launch(images))?;
        let mut image = vec![Complex::new(0.0_f32, 0.0); images.len()];
        self.device.download(&self.images, &mut image)?;
        image.truncate(self.data.size.grid.voxels());
        self.record_step(name, what, milliseconds, coils, &image);
        Ok(())
    }

    fn record_step(
        &mut self,
        name: &'static str,
        what: &'static str,
        milliseconds: f64,
        coils: usize,
        image: &[Complex<f32>],
    ) {
        let pairs = image.len() as f64 * self.data.samples as f64 * coils as f64;
        self.steps.push(LadderStep {
            name,
            what,
            milliseconds,
            pairs_per_second: pairs / (milliseconds * 1e-3),
            psnr_db: phantom::psnr(image, &self.data.truth),
            error: self.data.error(image),
        });
    }
}

/// Milliseconds that `work` takes: the median of several runs, or a single run if that is long.
fn time<M: Device>(
    device: &M,
    work: &mut dyn FnMut() -> warpstride_cuda::gpu::Result<()>,
) -> Result<f64, MriError> {
    let first = f64::from(device.time_ms(work)?);
    if first > SINGLE_RUN_MS {
        return Ok(first);
    }
    let mut times = (0..REPETITIONS)
        .map(|_| device.time_ms(work))
        .collect::<warpstride_cuda::gpu::Result<Vec<f32>>>()?;
    times.sort_by(f32::total_cmp);
    Ok(f64::from(times[REPETITIONS / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;
    use warpstride_cuda::gpu::EmulatedDevice;

    /// Every rung computes the same image; only hardware trigonometry may cost accuracy.
    #[test]
    fn all_rungs_compute_the_same_image() {
        for (grid, spokes, readout, coils) in [
            (Grid::two(9, 13), 7, 11, 5),
            (Grid::two(5, 36), 9, 31, 1),
            (Grid::three(4, 3, 5), 13, 6, 2),
        ] {
            let size = LadderSize {
                grid,
                spokes,
                readout,
                coils,
            };
            let steps = ladder(&EmulatedDevice::new(), size).expect("a ladder");
            assert_eq!(steps.len(), 13);
            for step in &steps {
                assert!(step.error <= 5e-6, "{step:?}");
                let difference = (step.psnr_db - steps[0].psnr_db).abs();
                assert!(difference <= 1e-3, "{step:?}");
                assert!(step.pairs_per_second > 0.0);
            }
        }
    }
}
