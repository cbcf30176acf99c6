//! The ladder's kernels where textbook code goes wrong: chunks that are not full, the values of the
//! chunk before, sums that were not set to zero, phases of hundreds of turns.

use crate::sums::{Wide, complex, error, noise};
use std::f64::consts::TAU;
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};
use warpstride_device::{Complex32, F32x4};
use warpstride_kernels::mri::direct_ladder_global::{MriLadderGather, MriLadderRegisters};
use warpstride_kernels::mri::direct_ladder_rows::MriLadderRotation;
use warpstride_kernels::mri::direct_ladder_staged::{
    MriLadderChunks, MriLadderHardware, MriLadderPack, MriLadderStructs, MriLadderVoxels,
};

/// Places and k of few bits, so that k·x is exact in single precision however many turns it makes.
struct Trial {
    x: [Vec<f32>; 3],
    k: [Vec<f32>; 3],
    phi: Vec<Complex32>,
    data: Vec<Complex32>,
}

impl Trial {
    fn new(voxels: usize, samples: usize, reach: f64) -> Self {
        let places = |seed| {
            noise(seed, voxels)
                .iter()
                .map(|v| (v * reach).round() as f32)
                .collect()
        };
        let k = |seed| {
            noise(seed, samples)
                .iter()
                .map(|v| (v * 31.9).trunc() as f32 / 64.0)
                .collect()
        };
        Self {
            x: [places(1), places(2), places(3)],
            k: [k(4), k(5), k(6)],
            phi: complex(7, samples),
            data: complex(8, samples),
        }
    }

    fn mu(&self) -> Vec<Complex32> {
        self.phi
            .iter()
            .zip(&self.data)
            .map(|(p, d)| p.conj() * *d)
            .collect()
    }

    fn expected(&self) -> Vec<Wide> {
        let mu = self.mu();
        (0..self.x[0].len())
            .map(|n| {
                let samples = mu.iter().enumerate();
                samples.fold((0.0, 0.0), |sum, (m, mu)| {
                    let turns: f64 = (0..3)
                        .map(|a| f64::from(self.k[a][m]) * f64::from(self.x[a][n]))
                        .sum();
                    let (sin, cos) = (TAU * (turns - turns.round())).sin_cos();
                    let (re, im) = (f64::from(mu.re), f64::from(mu.im));
                    (sum.0 + re * cos - im * sin, sum.1 + re * sin + im * cos)
                })
            })
            .collect()
    }

    /// Every rung's image, by its name.
    fn rungs(&self, order: Order) -> Vec<(&'static str, Vec<Complex32>)> {
        let (voxels, samples) = (self.x[0].len(), self.k[0].len());
        let floats = |v: &Vec<f32>| Memory::try_copy_of(v).expect("memory");
        let [x, y, z] = self.x.each_ref().map(floats);
        let [kx, ky, kz] = self.k.each_ref().map(floats);
        let phi = Memory::try_copy_of(&self.phi).expect("memory");
        let data = Memory::try_copy_of(&self.data).expect("memory");
        let mu = Memory::try_copy_of(&self.mu()).expect("memory");
        let mut found = Vec::new();
        macro_rules! apart {
            ($name:literal, $kernel:ident, $($field:ident = $from:ident),*) => {{
                let mut re = Memory::<f32>::try_poisoned(voxels).expect("memory");
                let mut im = Memory::<f32>::try_poisoned(voxels).expect("memory");
                let launch = $kernel {
                    re: re.write(), im: im.write(),
                    x: x.read(), y: y.read(), z: z.read(),
                    kx: kx.read(), ky: ky.read(), kz: kz.read(),
                    $($field: $from.read(),)*
                    voxels, samples,
                };
                let config = LaunchConfig::linear(&launch, 2, 64);
                emulator::launch_in(&launch, config, order).expect("a launch");
                assert_eq!((re.check_canaries(), im.check_canaries()), (Ok(()), Ok(())));
                let parts = re.as_slice().iter().zip(im.as_slice());
                found.push(($name, parts.map(|(re, im)| Complex32::new(*re, *im)).collect()));
            }};
        }
        apart!("gather", MriLadderGather, phi = phi, data = data);
        apart!("registers", MriLadderRegisters, mu = mu);

        let mut points = Memory::<F32x4>::try_poisoned(2 * samples).expect("memory");
        let launch = MriLadderPack {
            out: points.write(),
            kx: kx.read(),
            ky: ky.read(),
            kz: kz.read(),
            mu: mu.read(),
            samples,
        };
        emulator::launch(&launch, LaunchConfig::linear(&launch, 1, 32)).expect("a launch");
        assert_eq!(points.check_canaries(), Ok(()));
        macro_rules! together {
            ($name:literal, $launch:expr) => {{
                let mut out = Memory::<Complex32>::try_poisoned(voxels).expect("memory");
                let launch = $launch(out.write());
                let config = LaunchConfig::linear(&launch, 2, 96);
                emulator::launch_in(&launch, config, order).expect("a launch");
                assert_eq!(out.check_canaries(), Ok(()));
                found.push(($name, out.as_slice().to_vec()));
            }};
        }
        together!("chunks", |out| MriLadderChunks {
            out,
            x: x.read(),
            y: y.read(),
            z: z.read(),
            kx: kx.read(),
            ky: ky.read(),
            kz: kz.read(),
            mu: mu.read(),
            voxels: voxels as u32,
            samples: samples as u32,
        });
        macro_rules! structs {
            ($name:literal, $kernel:ident) => {
                together!($name, |out| $kernel {
                    out,
                    x: x.read(),
                    y: y.read(),
                    z: z.read(),
                    points: points.read(),
                    voxels: voxels as u32,
                    samples: samples as u32,
                });
            };
        }
        structs!("structs", MriLadderStructs);
        structs!("hardware", MriLadderHardware);
        structs!("voxels", MriLadderVoxels);
        found
    }
}

/// Fewer samples than a chunk, one more, several chunks and a rest.
#[test]
fn chunks_need_not_be_full() {
    for samples in [1, 255, 256, 257, 700] {
        let trial = Trial::new(101, samples, 20.0);
        let expected = trial.expected();
        for (name, found) in trial.rungs(Order::Ascending) {
            let error = error(&found, &expected);
            assert!(error <= 1e-6, "{name}, {samples} samples: {error:.1e}");
        }
    }
}

/// Single precision in radians would be off by 10⁻⁴ there.
#[test]
fn hundreds_of_turns_cost_nothing() {
    let trial = Trial::new(67, 300, 1000.0);
    let expected = trial.expected();
    for (name, found) in trial.rungs(Order::Descending) {
        let error = error(&found, &expected);
        assert!(error <= 1e-6, "{name}: {error:.1e}");
    }
}

#[test]
fn no_sample_is_a_black_image() {
    let trial = Trial::new(10, 0, 5.0);
    for (name, found) in trial.rungs(Order::Ascending) {
        assert!(
            found.iter().all(|v| *v == Complex32::ZERO),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn runs_of_a_row_end_with_it() {
    for [slices, rows, columns] in [[1_usize, 3, 70], [2, 5, 31], [3, 1, 32], [1, 1, 1]] {
        let mut trial = Trial::new(slices * rows * columns, 40, 1.0);
        let at = |n: usize, extent: usize| n as f32 - (extent / 2) as f32;
        for n in 0..slices * rows * columns {
            trial.x[0][n] = at(n % columns, columns);
            trial.x[1][n] = at(n / columns % rows, rows);
            trial.x[2][n] = at(n / columns / rows, slices);
        }
        let mu = trial.mu();
        let points: Vec<F32x4> = (0..40)
            .flat_map(|m| {
                let [x, y, z] = [0, 1, 2].map(|a| trial.k[a][m]);
                let (sin, cos) = (TAU * f64::from(x)).sin_cos();
                let rest = F32x4([mu[m].re, mu[m].im, cos as f32, sin as f32]);
                [F32x4([x, y, z, 0.0]), rest]
            })
            .collect();
        let points = Memory::try_copy_of(&points).expect("memory");
        let mut out = Memory::<Complex32>::try_poisoned(slices * rows * columns).expect("memory");
        let launch = MriLadderRotation {
            out: out.write(),
            points: points.read(),
            samples: 40,
            slices: slices as u32,
            rows: rows as u32,
            columns: columns as u32,
        };
        let config = LaunchConfig::linear(&launch, 2, 32);
        emulator::launch(&launch, config).expect("a launch");
        assert_eq!(out.check_canaries(), Ok(()));
        let error = error(out.as_slice(), &trial.expected());
        assert!(error <= 2e-6, "{slices} × {rows} × {columns}: {error:.1e}");
    }
}
