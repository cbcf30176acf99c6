//! The separable kernels on Cartesian grids.

use crate::sums::{self, Shape, complex, error, inner, steps, trajectory, turns};
use warpstride_device::Complex32;
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};
use warpstride_kernels::mri::direct_adjoint::MriDirectAdjoint;
use warpstride_kernels::mri::direct_forward::MriDirectForward;
use warpstride_kernels::mri::direct_sum_parts::MriDirectSumParts;

/// A launch of either operator.
#[derive(Clone, Copy)]
struct Trial {
    shape: Shape,
    images: usize,
    samples: usize,
    parts: usize,
    grid: u32,
    order: Order,
    hardware: u32,
}

impl Trial {
    fn of(shape: Shape, images: usize, samples: usize) -> Self {
        Self {
            shape,
            images,
            samples,
            parts: 1,
            grid: 3,
            order: Order::Ascending,
            hardware: 0,
        }
    }

    fn voxels(&self) -> usize {
        self.images * self.shape.iter().product::<usize>()
    }

    fn sum_parts(&self, values: Memory<Complex32>, count: usize) -> Vec<Complex32> {
        assert_eq!(values.check_canaries(), Ok(()));
        let mut out = Memory::try_poisoned(count).expect("memory");
        let launch = MriDirectSumParts {
            out: out.write(),
            values: values.read(),
            parts: self.parts as u32,
            count,
        };
        let config = LaunchConfig::linear(&launch, 2, 64);
        emulator::launch(&launch, config).expect("a launch");
        assert_eq!(out.check_canaries(), Ok(()));
        out.as_slice().to_vec()
    }
}

macro_rules! operator {
    ($name:ident, $kernel:ident, $count:expr) => {
        impl Trial {
            fn $name(&self, values: &[Complex32], k: &[[f64; 3]]) -> Vec<Complex32> {
                let count: usize = $count(self);
                let mut out = Memory::try_poisoned(self.parts * count).expect("memory");
                let values = Memory::try_copy_of(values).expect("memory");
                let turns = Memory::try_copy_of(&turns(k)).expect("memory");
                let steps = Memory::try_copy_of(&steps(k)).expect("memory");
                let launch = $kernel {
                    out: out.write(),
                    values: values.read(),
                    turns: turns.read(),
                    steps: steps.read(),
                    samples: self.samples as u32,
                    images: self.images as u32,
                    slices: self.shape[0] as u32,
                    rows: self.shape[1] as u32,
                    columns: self.shape[2] as u32,
                    parts: self.parts as u32,
                    hardware: self.hardware,
                };
                let mut config = LaunchConfig::linear(&launch, self.grid, 32);
                config.block = [32, 8, 1];
                emulator::launch_in(&launch, config, self.order).expect("a launch");
                self.sum_parts(out, count)
            }
        }
    };
}

operator!(adjoint, MriDirectAdjoint, |trial: &Trial| trial.voxels());
operator!(forward, MriDirectForward, |trial: &Trial| trial.images
    * trial.samples);

/// One, primes, even and odd, flat and long; more pairs and rows than a block has; samples that are
/// no multiple of a step, none at all, more than are summed at once.
fn trials() -> Vec<Trial> {
    let of = Trial::of;
    let mut trials = vec![
        of([1, 1, 1], 1, 1),
        of([1, 3, 5], 1, 7),
        of([1, 1, 17], 3, 16),
        of([1, 19, 1], 1, 33),
        of([1, 2, 2], 5, 40),
        of([1, 7, 131], 2, 37),
        of([1, 70, 6], 1, 129),
        of([3, 5, 4], 3, 50),
        of([5, 2, 7], 1, 131),
        of([2, 6, 136], 1, 18),
        of([1, 5, 4], 1, 1100),
        of([1, 4, 3], 2, 0),
    ];
    let several = |trial: Trial, parts, order| Trial {
        parts,
        order,
        ..trial
    };
    trials.push(several(of([1, 9, 11], 2, 200), 3, Order::Ascending));
    trials.push(several(of([4, 33, 6], 1, 20), 5, Order::Descending));
    trials
}

#[test]
fn adjoint_equals_the_definition() {
    for trial in trials() {
        let k = trajectory(trial.samples);
        let values = complex(1, trial.images * trial.samples);
        let expected = sums::adjoint(&values, &k, trial.shape, trial.images);
        let error = error(&trial.adjoint(&values, &k), &expected);
        assert!(
            error <= 5e-7,
            "{:?} × {}: {error:.1e}",
            trial.shape,
            trial.samples
        );
    }
}

#[test]
fn forward_equals_the_definition() {
    for trial in trials() {
        let k = trajectory(trial.samples);
        let values = complex(2, trial.voxels());
        let expected = sums::forward(&values, &k, trial.shape, trial.images);
        let error = error(&trial.forward(&values, &k), &expected);
        assert!(
            error <= 5e-7,
            "{:?} × {}: {error:.1e}",
            trial.shape,
            trial.samples
        );
    }
}

#[test]
fn forward_and_adjoint_are_adjoint() {
    for trial in trials() {
        let k = trajectory(trial.samples);
        let image = complex(3, trial.voxels());
        let data = complex(4, trial.images * trial.samples);
        let there = inner(&trial.forward(&image, &k), &data);
        let back = inner(&image, &trial.adjoint(&data, &k));
        let away = (there.0 - back.0).hypot(there.1 - back.1);
        let norm = |v: &[Complex32]| inner(v, v).0.sqrt();
        // Of ‖F‖ ≤ √(voxels · samples).
        let most =
            (trial.voxels() as f64 * trial.samples as f64).sqrt() * norm(&image) * norm(&data);
        assert!(
            away <= 1e-7 * most,
            "{:?}: {there:?}, {back:?}",
            trial.shape
        );
    }
}

#[test]
fn order_of_threads_and_grid_change_no_bit() {
    for trial in [Trial::of([2, 9, 130], 2, 70), Trial::of([1, 66, 3], 1, 150)] {
        let k = trajectory(trial.samples);
        let data = complex(5, trial.images * trial.samples);
        let image = complex(6, trial.voxels());
        let other = Trial {
            grid: 1,
            order: Order::Descending,
            ..trial
        };
        assert_eq!(trial.adjoint(&data, &k), other.adjoint(&data, &k));
        assert_eq!(trial.forward(&image, &k), other.forward(&image, &k));
    }
}

/// The emulator's sine is exact but rounded, so this shows the way there, not the instruction's error.
#[test]
fn hardware_trigonometry_takes_the_same_way() {
    let trial = Trial {
        hardware: 1,
        ..Trial::of([2, 5, 21], 1, 60)
    };
    let k = trajectory(trial.samples);
    let values = complex(1, trial.samples);
    let expected = sums::adjoint(&values, &k, trial.shape, 1);
    assert!(error(&trial.adjoint(&values, &k), &expected) <= 1e-6);
    let values = complex(2, trial.voxels());
    let expected = sums::forward(&values, &k, trial.shape, 1);
    assert!(error(&trial.forward(&values, &k), &expected) <= 1e-6);
}
