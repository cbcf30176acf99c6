//! First the launches compared with plain sums in double precision, at sizes without common
//! divisors and for all kinds of points; then properties that do not follow from that: adjointness
//! to rounding, bit-identical repetition, and batches computed in parts.

use super::super::plain_sums::{C, adjoint, error, forward, narrow, noise, product};
use super::*;
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::f64::consts::PI;
use warpstride_cuda::gpu::{EmulatedDevice, FftPasses};

/// (sample, axis): points of the given kind.
fn trajectory(kind: &str, count: usize, axes: usize) -> Array2<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let mut next = move || random.random_range(-0.5..=0.5_f64);
    match kind {
        "random" => Array2::from_shape_simple_fn((count, axes), next),
        // Spokes through the centre; no samples in the corners.
        "radial" => Array2::from_shape_fn((count, axes), |(sample, axis)| {
            let spoke = (sample / 16) as f64;
            let radius = (sample % 16) as f64 / 16.0 - 0.5;
            let (angle, tilt) = (
                PI * 0.618 * spoke,
                if axes == 3 { spoke * 0.37 } else { 0.0 },
            );
            let direction = [
                angle.cos() * tilt.cos(),
                angle.sin() * tilt.cos(),
                tilt.sin(),
            ];
            radius * direction[axis]
        }),
        // All within a thousandth of a cell, at the corner of k-space, where the grid wraps.
        "clustered" => Array2::from_shape_simple_fn((count, axes), || -0.5 + 1e-5 * next()),
        "ends" => Array2::from_shape_fn((count, axes), |(sample, axis)| {
            [-0.5, 0.5, 0.0, 0.25][(sample >> (2 * axis)) % 4]
        }),
        other => panic!("{other}"),
    }
}

struct Case {
    grid: Grid,
    trajectory: Array2<f64>,
    image: Vec<C>,
    samples: Vec<C>,
}

impl Case {
    fn new(grid: Grid, kind: &str, count: usize) -> Self {
        Self {
            grid,
            trajectory: trajectory(kind, count, grid.axes),
            image: noise(1, grid.voxels()),
            samples: noise(2, count),
        }
    }

    fn nufft(&self, device: &EmulatedDevice, tolerance: f64) -> Nufft<EmulatedDevice> {
        Nufft::new(
            device,
            self.grid,
            self.trajectory.view(),
            None,
            tolerance,
            1,
        )
        .unwrap()
    }
}

/// The result of a call for one image or series of samples.
fn run(
    device: &EmulatedDevice,
    from: &[C],
    len: usize,
    call: impl FnOnce(
        &<EmulatedDevice as Device>::Buffer<Complex32>,
        &mut <EmulatedDevice as Device>::Buffer<Complex32>,
    ),
) -> Vec<Complex32> {
    let mut given = device.alloc("given", from.len()).unwrap();
    device.upload(&mut given, &narrow(from)).unwrap();
    let mut out = device.alloc("out", len).unwrap();
    // NaN in the output reveals values that are not written.
    device.upload(&mut out, &vec![f32::NAN; 2 * len]).unwrap();
    call(&given, &mut out);
    let mut values = vec![Complex32::ZERO; len];
    device.download(&out, &mut values).unwrap();
    values
}

fn check(case: &Case, tolerance: f64, what: &str) {
    let device = EmulatedDevice::new();
    let mut nufft = case.nufft(&device, tolerance);
    let (voxels, count) = (case.image.len(), case.samples.len());
    let found = run(&device, &case.image, count, |image, samples| {
        nufft.forward(&device, image, samples, 1).unwrap();
    });
    let difference = error(&found, &forward(case.grid, &case.trajectory, &case.image));
    assert!(
        difference <= 3.0 * tolerance,
        "{what}, forward: {difference:e} at {tolerance:e}"
    );
    let found = run(&device, &case.samples, voxels, |samples, image| {
        nufft.adjoint(&device, samples, image, 1).unwrap();
    });
    let difference = error(&found, &adjoint(case.grid, &case.trajectory, &case.samples));
    assert!(
        difference <= 3.0 * tolerance,
        "{what}, adjoint: {difference:e} at {tolerance:e}"
    );
}

#[test]
fn both_types_equal_the_plain_sums_at_odd_sizes() {
    for (grid, count) in [
        (Grid::two(1, 1), 5),
        (Grid::two(7, 5), 0),
        (Grid::two(7, 5), 1),
        (Grid::two(13, 29), 700),
        (Grid::two(1, 40), 100),
        (Grid::three(1, 1, 1), 3),
        (Grid::three(3, 5, 4), 1),
        (Grid::three(7, 2, 11), 300),
    ] {
        for tolerance in [1e-3, 1e-5] {
            check(
                &Case::new(grid, "random", count),
                tolerance,
                &format!("{grid:?} × {count}"),
            );
        }
    }
}

#[test]
fn the_error_is_at_most_three_tolerances_for_all_kinds_of_points() {
    for grid in [Grid::two(18, 23), Grid::three(6, 9, 7)] {
        for kind in ["random", "radial", "clustered", "ends"] {
            let case = Case::new(grid, kind, 600);
            for tolerance in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
                check(&case, tolerance, &format!("{kind}, {grid:?}"));
            }
        }
    }
}

#[test]
fn the_adjoint_is_exact_to_rounding() {
    let device = EmulatedDevice::new();
    for grid in [Grid::two(15, 10), Grid::three(5, 6, 9)] {
        let case = Case::new(grid, "random", 400);
        for tolerance in [1e-1, 1e-4] {
            let mut nufft = case.nufft(&device, tolerance);
            let fm = run(&device, &case.image, 400, |image, samples| {
                nufft.forward(&device, image, samples, 1).unwrap();
            });
            let fhd = run(&device, &case.samples, grid.voxels(), |samples, image| {
                nufft.adjoint(&device, samples, image, 1).unwrap();
            });
            let (left, right) = (
                product(&fm, &narrow(&case.samples)),
                product(&narrow(&case.image), &fhd),
            );
            let scale = product(&fm, &fm).re.sqrt() * (400.0_f64 * 2.0 / 3.0).sqrt();
            assert!(
                (left - right).norm() < 2e-6 * scale,
                "{left} {right} of {scale}"
            );
        }
    }
}

#[test]
fn a_batch_equals_its_images_one_by_one_and_weights_are_factors() {
    let device = EmulatedDevice::new();
    let grid = Grid::two(12, 9);
    let case = Case::new(grid, "random", 300);
    let weights = Array1::from_shape_fn(300, |sample| 0.1 + (sample % 7) as f64);
    let (voxels, batch) = (grid.voxels(), 3);
    let view = case.trajectory.view();
    let mut nufft = Nufft::new(&device, grid, view, Some(weights.view()), 1e-5, 5).unwrap();
    // Batches of two, as if memory were short, and one more image.
    nufft.batch_size = 2;
    nufft.transforms[0] = device.plan_fft(&[32, 32], 2).unwrap();
    let samples = noise(3, batch * 300);
    let images = noise(4, batch * voxels);
    let batched = run(&device, &samples, batch * voxels, |samples, images| {
        nufft
            .adjoint_weighted(&device, samples, images, batch)
            .unwrap();
    });
    for (one, series) in batched.chunks(voxels).zip(samples.chunks(300)) {
        let weighted: Vec<C> = series.iter().zip(&weights).map(|(v, w)| v * w).collect();
        assert!(error(one, &adjoint(grid, &case.trajectory, &weighted)) < 3e-5);
    }
    let batched = run(&device, &images, batch * 300, |images, samples| {
        nufft.forward(&device, images, samples, batch).unwrap();
    });
    for (one, image) in batched.chunks(300).zip(images.chunks(voxels)) {
        assert!(error(one, &forward(grid, &case.trajectory, image)) < 3e-5);
    }
    let mut out = device.alloc("out", 6 * voxels).unwrap();
    let given = device.alloc("given", 6 * 300).unwrap();
    assert!(nufft.adjoint(&device, &given, &mut out, 6).is_err());
}

#[test]
fn wrong_shapes_and_unreachable_tolerances_are_rejected() {
    let device = EmulatedDevice::new();
    let grid = Grid::two(4, 4);
    let flat = Array2::zeros((3, 2));
    let new = |grid, trajectory: &Array2<f64>, weights: Option<&Array1<f64>>, tolerance| {
        let weights = weights.map(|weights| weights.view());
        Nufft::new(&device, grid, trajectory.view(), weights, tolerance, 1).map(|_| ())
    };
    assert!(new(grid, &flat, None, 1e-4).is_ok());
    assert!(new(Grid::three(2, 2, 2), &flat, None, 1e-4).is_err());
    assert!(new(grid, &flat, Some(&Array1::zeros(2)), 1e-4).is_err());
    for tolerance in [1e-9, 0.0, -1.0, 1.0, f64::NAN] {
        let error = new(grid, &flat, None, tolerance).unwrap_err();
        assert!(matches!(error, MriError::Tolerance { .. }), "{error}");
    }
    for value in [f64::NAN, f64::INFINITY] {
        let error = new(grid, &Array2::from_elem((3, 2), value), None, 1e-4).unwrap_err();
        assert!(error.to_string().contains("expected finite"), "{error}");
    }
    assert!(new(Grid::two(0, 4), &flat, None, 1e-4).is_err());
    // Before a list of 2³⁴ tiles is made.
    let error = new(Grid::two(1 << 20, 1 << 20), &flat, None, 1e-4).unwrap_err();
    assert!(
        error.to_string().contains("out of device memory"),
        "{error}"
    );
}

/// The emulator transforms by rustfft, so that only the shapes are tested here. The values:
/// `gpu::kernel_fft`'s tests.
#[test]
fn the_fine_grids_of_usual_images_have_own_transforms() {
    for voxels in [32, 48, 64, 80, 96, 120, 128, 160, 192, 240, 256] {
        for (axes, others) in [(2, [48, 1]), (3, [48, 80])] {
            let sizes = NufftSizes::new([voxels, others[0], others[1]], axes, 6);
            let [columns, rows, slices] = sizes.fine;
            let shape = [slices, rows, columns];
            let expected = [[1, 96], [160, 96]][axes - 2];
            assert_eq!(shape, [expected[0], expected[1], 2 * voxels]);
            let coils = 12;
            assert!(FftPasses::new(&shape[3 - axes..], coils).is_some());
        }
    }
    // 2 · 50 cells are not whole tiles.
    assert_eq!(NufftSizes::new([50, 150, 1], 2, 6).fine, [112, 320, 1]);
}
