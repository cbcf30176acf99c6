//! The passes of a transform, and their results in the emulator against rustfft in double
//! precision.

use super::*;
use crate::gpu::EmulatedDevice;
use warpstride_fft::FftPlanner;
use warpstride_fft::num_complex::Complex;

#[test]
fn only_the_lengths_of_the_kernels_are_served() {
    for shape in [
        &[64, 512][..],
        &[128, 64, 256],
        &[96, 480],
        &[160, 192, 240],
    ] {
        assert!(FftPasses::new(shape, 3).is_some(), "{shape:?}");
    }
    for shape in [&[64, 100][..], &[1024, 64], &[32, 32], &[], &[64; 4]] {
        assert_eq!(FftPasses::new(shape, 3), None, "{shape:?}");
    }
    assert_eq!(FftPasses::new(&[512, 512], usize::MAX), None);
}

#[test]
fn large_batches_of_small_frames_take_one_pass() {
    let passes = |shape: &[usize], batch| FftPasses::new(shape, batch).unwrap().passes;
    assert_eq!(passes(&[128, 128], 100), [Pass::Frames(128)]);
    let two = [Pass::Rows(128, 128), Pass::Columns(128, 1, 128)];
    assert_eq!(passes(&[128, 128], 1), two);
    let three = [
        Pass::Rows(256, 64 * 128),
        Pass::Columns(128, 64, 256),
        Pass::Columns(64, 1, 128 * 256),
    ];
    assert_eq!(passes(&[64, 128, 256], 1), three);
}

#[test]
fn kernels_are_selected_by_name() {
    let passes = FftPasses::new(&[64, 512], 1).unwrap();
    let kernels = warpstride_kernels::fft::registry();
    let used = kernels.iter().map(|info| info.entry);
    let used: Vec<_> = used.filter(|name| passes.uses_kernel(name)).collect();
    let expected = ["fft_columns_64", "fft_rows_512", "fft_rows_512_in_place"];
    assert_eq!(used, expected);
}

/// Numbers without a pattern in −1 … 1 (a linear congruence).
fn noise(len: usize) -> Vec<Complex32> {
    let mut state = 5_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| Complex32::new(next(), next())).collect()
}

fn wide(values: &[Complex32]) -> Vec<Complex<f64>> {
    let wide = |v: &Complex32| Complex::new(f64::from(v.re), f64::from(v.im));
    values.iter().map(wide).collect()
}

/// Transforms every axis of the arrays.
fn reference(values: &mut [Complex<f64>], shape: &[usize], direction: Direction) {
    let mut planner = FftPlanner::<f64>::new();
    let mut inner = 1;
    for length in shape.iter().rev() {
        let plan = match direction {
            Direction::Forward => planner.plan_fft_forward(*length),
            Direction::Inverse => planner.plan_fft_inverse(*length),
        };
        for part in values.chunks_mut(length * inner) {
            for column in 0..inner {
                let mut line: Vec<_> = part.iter().skip(column).step_by(inner).copied().collect();
                plan.process(&mut line);
                let places = part.iter_mut().skip(column).step_by(inner);
                places.zip(line).for_each(|(place, value)| *place = value);
            }
        }
        inner *= length;
    }
}

/// Compares a transform with the reference, in place and out of place; the value behind the arrays
/// must not change.
fn check(shape: &[usize], passes: &FftPasses, direction: Direction) {
    let device = EmulatedDevice::new();
    let array: usize = shape.iter().product();
    let (elements, scale) = (array * passes.batch, 0.25);
    let data = noise(elements + 1);
    let mut expected = wide(&data);
    reference(&mut expected[..elements], shape, direction);
    let expected_part = expected[..elements].iter_mut();
    expected_part.for_each(|v| *v *= f64::from(scale));

    let plan = KernelFft::new(&device, passes.clone()).unwrap();
    let mut from = device.alloc::<Complex32>("source", data.len()).unwrap();
    device.upload(&mut from, &data).unwrap();
    for in_place in [false, true] {
        let mut to = device.alloc::<Complex32>("target", data.len()).unwrap();
        device.upload(&mut to, &data).unwrap();
        let source = (!in_place).then_some(&from);
        plan.queue(&device, source, &mut to, direction, scale)
            .unwrap();
        let mut found = vec![Complex32::ZERO; data.len()];
        device.download(&to, &mut found).unwrap();
        let (found, norm) = (wide(&found), |sum: f64| sum.sqrt());
        let pairs = found.iter().zip(&expected);
        let difference = norm(pairs.map(|(a, b)| (a - b).norm_sqr()).sum());
        let error = difference / norm(expected.iter().map(Complex::norm_sqr).sum());
        let limit = 3e-7 * (array as f64).log2();
        assert!(error <= limit, "{passes:?}, {direction:?}: {error:e}");
        assert_eq!(found[elements], expected[elements]);
    }
}

#[test]
fn frames_equal_rustfft_in_one_pass_and_in_two() {
    for (shape, batch) in [
        ([64, 64], 0),
        ([64, 64], 1),
        ([64, 64], 7),
        ([128, 128], 1),
        ([128, 128], 65),
    ] {
        let passes = FftPasses::new(&shape, batch).unwrap();
        check(&shape, &passes, Direction::Forward);
        check(&shape, &passes, Direction::Inverse);
    }
}

/// The grids of MRI have two or three axes, and coils.
#[test]
fn grids_equal_rustfft() {
    for (shape, batch) in [
        (&[256, 512][..], 1),
        (&[512, 256], 1),
        (&[64, 64, 128], 1),
        (&[512], 1),
        (&[192, 256], 1),
        (&[480, 96], 1),
        (&[96, 160], 3),
        (&[160, 192], 2),
        (&[96, 160, 64], 1),
        (&[64, 96, 160], 2),
    ] {
        let passes = FftPasses::new(shape, batch).unwrap();
        check(shape, &passes, Direction::Forward);
        check(shape, &passes, Direction::Inverse);
    }
}

/// Rows, and columns of arrays of few.
#[test]
fn every_length_equals_rustfft() {
    for length in LENGTHS {
        for (shape, batch) in [(&[length][..], 9), (&[length, 96], 1)] {
            let passes = FftPasses::new(shape, batch).unwrap();
            check(shape, &passes, Direction::Forward);
            check(shape, &passes, Direction::Inverse);
        }
    }
}
