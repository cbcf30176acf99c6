//! The textbook's ladder for Fᴴd: each optimisation as a kernel of its own, timed on a machine, with
//! what it does to the image.
//!
//! The image is a phantom of ellipses, its data Fρ on radial spokes (3-D: on radii all over a sphere),
//! and each rung computes FᴴWd with W the ramp. So every rung has the same image but for rounding and
//! trigonometry, and its distance from the phantom is that of gridding without iterations.

mod phantom;
mod rungs;

use crate::gpu::{Buffer, Machine};
use crate::mri::cuda::direct::Direct;
use crate::mri::{Grid, MriError, Trigonometry};
use num_complex::Complex;
use rungs::Data;
use serde::Serialize;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::direct_ladder_global::{
    MriLadderGather, MriLadderRegisters, MriLadderScatter, MriLadderSplit,
};
use warpstride_kernels::mri::direct_ladder_rows::{MriLadderCoils, MriLadderRotation};
use warpstride_kernels::mri::direct_ladder_staged::{
    MriLadderChunks, MriLadderHardware, MriLadderStructs, MriLadderVoxels,
};

/// Milliseconds from which on one run is enough.
const LONG: f64 = 100.0;
/// Runs of which the median counts.
const RUNS: usize = 5;

/// What the ladder is climbed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LadderSize {
    /// Voxels.
    pub grid: Grid,
    /// Spokes through the centre of k-space.
    pub spokes: usize,
    /// Samples of a spoke.
    pub readout: usize,
    /// Coils of the rungs that share phases among them.
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

/// One rung.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LadderStep {
    /// In one word.
    pub name: &'static str,
    /// What is new.
    pub what: &'static str,
    /// The device's time.
    pub milliseconds: f64,
    /// Voxels × samples × coils a second.
    pub pairs_per_second: f64,
    /// Of the image against the phantom, after the best complex scaling: 20 log10(max|I₀|/√MSE).
    pub psnr_db: f64,
    /// ‖image − exact‖/‖exact‖, exact: double precision on some voxels.
    pub error: f64,
}

/// Climbs the ladder.
///
/// # Errors
/// The machine's; sizes that the direct operators refuse.
pub fn ladder<M: Machine>(machine: &M, size: LadderSize) -> Result<Vec<LadderStep>, MriError> {
    let data = Data::new(machine, size)?;
    let (voxels, samples) = (size.grid.voxels(), data.samples);
    let [slices, rows, columns] = size.grid.shape.map(|n| n as u32);
    let mut climb = Climb {
        machine,
        data: &data,
        re: machine.alloc("an image's real part", voxels)?,
        im: machine.alloc("an image's imaginary part", voxels)?,
        images: machine.alloc("images", size.coils * voxels)?,
        steps: Vec::new(),
    };

    macro_rules! arrays {
        ($name:literal, $what:literal, $kernel:ident, $elements:expr; $($more:ident),*) => {
            climb.apart($name, $what, |re, im| {
                machine.zero(re)?;
                machine.zero(im)?;
                let [x, y, z] = data.places.each_ref().map(Buffer::read);
                let [kx, ky, kz] = data.k.each_ref().map(Buffer::read);
                let launch = $kernel {
                    re: re.write(),
                    im: im.write(),
                    x, y, z, kx, ky, kz,
                    $($more: data.$more.read(),)*
                    voxels,
                    samples,
                };
                machine.launch(&launch, Work::Elements($elements))
            })?;
        };
    }
    arrays!("scatter", "a thread a sample, atomic additions to every voxel", MriLadderScatter, samples; phi, data);
    arrays!("gather", "a thread a voxel, no atomics", MriLadderGather, voxels; phi, data);
    arrays!("split", "Mu = conj(φ)d before, by itself", MriLadderSplit, voxels; mu);
    arrays!("registers", "voxel and sums in registers: 12 accesses become 5", MriLadderRegisters, voxels; mu);

    climb.together(
        "chunks",
        "k-space by chunks in shared memory (the textbook: constant memory)",
        1,
        &|out| {
            let [x, y, z] = data.places.each_ref().map(Buffer::read);
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
            machine.launch(&launch, Work::Blocks(voxels.div_ceil(256)))
        },
    )?;
    macro_rules! structs {
        ($name:literal, $what:literal, $kernel:ident, $own:literal) => {
            climb.together($name, $what, 1, &|out| {
                let [x, y, z] = data.places.each_ref().map(Buffer::read);
                let launch = $kernel {
                    out: out.write(),
                    x,
                    y,
                    z,
                    points: data.points.read(),
                    voxels: voxels as u32,
                    samples: samples as u32,
                };
                machine.launch(&launch, Work::Blocks(voxels.div_ceil(256 * $own)))
            })?;
        };
    }
    structs!(
        "structs",
        "an array of structures: 5 accesses become 2",
        MriLadderStructs,
        1
    );
    structs!(
        "hardware",
        "the device's sine and cosine",
        MriLadderHardware,
        1
    );
    structs!(
        "voxels",
        "4 voxels a thread share the accesses",
        MriLadderVoxels,
        4
    );

    climb.together(
        "rotation",
        "along a row the phase turns by a product; a seed for 32 voxels",
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
            machine.launch(&launch, Work::Blocks(runs.div_ceil(256)))
        },
    )?;
    climb.together(
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
            machine.launch(&launch, Work::Blocks(tiles))
        },
    )?;
    for (name, what, trigonometry, coils) in [
        (
            "separable",
            "real matrix products of pairs of voxels: the product",
            Trigonometry::Accurate,
            1,
        ),
        (
            "separable, hardware",
            "the same with the device's sine and cosine",
            Trigonometry::Hardware,
            1,
        ),
        (
            "separable, coils",
            "the same, the images of all coils",
            Trigonometry::Accurate,
            size.coils,
        ),
    ] {
        let direct = Direct::new(
            machine,
            size.grid,
            &data.trajectory,
            None,
            trigonometry,
            coils,
        )?;
        climb.together(name, what, coils, &|out| {
            direct.adjoint(machine, &data.of_coils, out, coils)
        })?;
    }
    Ok(climb.steps)
}

/// On the way.
struct Climb<'a, M: Machine> {
    machine: &'a M,
    data: &'a Data<M>,
    re: M::Buffer<f32>,
    im: M::Buffer<f32>,
    images: M::Buffer<Complex32>,
    steps: Vec<LadderStep>,
}

type Launch<'a, B> = &'a dyn Fn(&mut B) -> crate::gpu::Result<()>;

impl<M: Machine> Climb<'_, M> {
    /// A rung with real and imaginary part in arrays of their own.
    fn apart(
        &mut self,
        name: &'static str,
        what: &'static str,
        launch: impl Fn(&mut M::Buffer<f32>, &mut M::Buffer<f32>) -> crate::gpu::Result<()>,
    ) -> Result<(), MriError> {
        let (re, im) = (&mut self.re, &mut self.im);
        let milliseconds = time(self.machine, &mut || launch(re, im))?;
        let voxels = self.data.size.grid.voxels();
        let [mut real, mut imaginary] = [vec![0.0_f32; voxels], vec![0.0_f32; voxels]];
        self.machine.download(&self.re, &mut real)?;
        self.machine.download(&self.im, &mut imaginary)?;
        let parts = real.iter().zip(&imaginary);
        let image: Vec<_> = parts.map(|(re, im)| Complex::new(*re, *im)).collect();
        self.note(name, what, milliseconds, 1, &image);
        Ok(())
    }

    /// A rung with complex images, of which the first counts.
    fn together(
        &mut self,
        name: &'static str,
        what: &'static str,
        coils: usize,
        launch: Launch<'_, M::Buffer<Complex32>>,
    ) -> Result<(), MriError> {
        let images = &mut self.images;
        let milliseconds = time(self.machine, &mut || launch(images))?;
        let mut image = vec![Complex::new(0.0_f32, 0.0); images.len()];
        self.machine.download(&self.images, &mut image)?;
        image.truncate(self.data.size.grid.voxels());
        self.note(name, what, milliseconds, coils, &image);
        Ok(())
    }

    fn note(
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

/// Milliseconds of some work: the median of several runs, of one where that is long.
fn time<M: Machine>(
    machine: &M,
    work: &mut dyn FnMut() -> crate::gpu::Result<()>,
) -> Result<f64, MriError> {
    let first = f64::from(machine.time_ms(work)?);
    if first > LONG {
        return Ok(first);
    }
    let mut times = (0..RUNS)
        .map(|_| machine.time_ms(work))
        .collect::<crate::gpu::Result<Vec<f32>>>()?;
    times.sort_by(f32::total_cmp);
    Ok(f64::from(times[RUNS / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::EmulatedMachine;

    /// Every rung has the same image; no rung but the hardware's may cost anything of it.
    #[test]
    fn all_rungs_lead_to_the_same_image() {
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
            let steps = ladder(&EmulatedMachine::new(), size).expect("a ladder");
            assert_eq!(steps.len(), 13);
            for step in &steps {
                assert!(step.error <= 5e-6, "{step:?}");
                let away = (step.psnr_db - steps[0].psnr_db).abs();
                assert!(away <= 1e-3, "{step:?}");
                assert!(step.pairs_per_second > 0.0);
            }
        }
    }
}
