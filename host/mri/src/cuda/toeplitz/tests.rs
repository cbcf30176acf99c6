//! T equals FᴴWF: compared with plain sums in sequence, with and without coils.

use super::super::plain_sums::{C, adjoint, error, forward, narrow, noise};
use super::*;
use ndarray::{Array2, Array3};
use warpstride_cuda::gpu::{EmulatedDevice, FftPasses};

#[test]
fn the_operator_equals_forward_sum_weights_and_adjoint_sum() {
    let device = EmulatedDevice::new();
    for grid in [
        Grid::two(1, 1),
        Grid::two(7, 5),
        Grid::two(10, 3),
        Grid::three(3, 5, 4),
    ] {
        let count = 60;
        let voxels = grid.voxels();
        let trajectory = Array2::from_shape_fn((count, grid.axes), |(m, axis)| {
            0.5 * (0.7 * (m * (axis + 2)) as f64).sin()
        });
        let weights: Vec<C> = (0..count).map(|m| C::from((1 + m % 5) as f64)).collect();
        let doubled = grid.doubled();
        let q = adjoint(doubled, &trajectory, &weights);
        let q = Array3::from_shape_vec(doubled.shape, q).unwrap();
        let coils = 3;
        let mut toeplitz = Toeplitz::new(&device, grid, q.view(), coils).unwrap();

        let gram = |image: &[C]| -> Vec<C> {
            let samples = forward(grid, &trajectory, image);
            let weighted: Vec<C> = samples.iter().zip(&weights).map(|(d, w)| d * w).collect();
            adjoint(grid, &trajectory, &weighted)
        };
        let images = noise(5, coils * voxels);
        let maps = noise(6, coils * voxels);
        let upload = |values: &[C]| {
            let mut buffer = device.alloc::<Complex32>("given", values.len()).unwrap();
            device.upload(&mut buffer, &narrow(values)).unwrap();
            buffer
        };
        let (images_there, maps_there) = (upload(&images), upload(&maps));
        let image_there = upload(&images[..voxels]);
        // All coils at once, two at a time, and one at a time.
        for batch_size in [3, 2, 1] {
            let cells = toeplitz.spectrum.len();
            toeplitz.batch_size = batch_size;
            toeplitz.cells = device.alloc("padded", batch_size * cells).unwrap();
            let shape = &toeplitz.padded[3 - grid.axes..];
            toeplitz.transforms[0] = device.plan_fft(shape, batch_size).unwrap();

            let mut out = device.alloc("out", coils * voxels).unwrap();
            toeplitz
                .apply(&device, &images_there, &mut out, coils)
                .unwrap();
            let mut found = vec![Complex32::ZERO; coils * voxels];
            device.download(&out, &mut found).unwrap();
            for (found, image) in found.chunks(voxels).zip(images.chunks(voxels)) {
                let difference = error(found, &gram(image));
                assert!(difference < 1e-6, "{grid:?}: {difference:e}");
            }

            let mut out = device.alloc("out", voxels).unwrap();
            toeplitz
                .gram(&device, &image_there, &mut out, &maps_there, coils)
                .unwrap();
            let mut expected = vec![C::default(); voxels];
            for map in maps.chunks(voxels) {
                let coil_image: Vec<C> = map.iter().zip(&images).map(|(s, v)| s * v).collect();
                for ((sum, value), s) in expected.iter_mut().zip(gram(&coil_image)).zip(map) {
                    *sum += s.conj() * value;
                }
            }
            let mut found = vec![Complex32::ZERO; voxels];
            device.download(&out, &mut found).unwrap();
            let difference = error(&found, &expected);
            assert!(difference < 1e-6, "{grid:?}, coils: {difference:e}");
        }
        assert!(
            toeplitz
                .apply(
                    &device,
                    &images_there,
                    &mut device.alloc("out", 1).unwrap(),
                    4
                )
                .is_err()
        );
    }
    let q = Array3::zeros([1, 3, 3]);
    assert!(Toeplitz::new(&device, Grid::two(3, 3), q.view(), 1).is_err());
}

/// The emulator transforms by rustfft, so that only the shapes are tested here.
#[test]
fn the_padded_grids_of_usual_images_have_own_transforms() {
    for voxels in [32, 48, 64, 80, 96, 120, 128, 160, 192, 240, 256] {
        for grid in [Grid::two(48, voxels), Grid::three(80, 48, voxels)] {
            let padded = padded_shape(grid);
            assert_eq!(padded[1..], [96, 2 * voxels]);
            let shape = &padded[3 - grid.axes..];
            let coils = 12;
            assert!(FftPasses::new(shape, coils).is_some(), "{shape:?}");
        }
    }
}
