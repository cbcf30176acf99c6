//! FᴴWF in both forms, and EᴴWE.

use super::*;

fn the_convolution_equals_forward_and_adjoint<T: Real>(tolerance: f64) {
    for (grid, samples) in [
        (Grid::two(16, 16), 300),
        (Grid::two(7, 20), 90),
        (Grid::two(20, 9), 41),
        (Grid::two(1, 6), 10),
        (Grid::three(4, 6, 8), 200),
        (Grid::three(5, 3, 18), 100),
        (Grid::three(1, 4, 5), 30),
    ] {
        let k = trajectory(samples, grid.axes);
        let w = weights(samples);
        let mut expected = complex::<T>(3 * grid.voxels(), 0.11);
        let mut found = expected.clone();
        encoded(grid, &k, &w).apply(&mut expected);
        convolved(grid, &k, &w).apply(&mut found);
        let error = difference(&found, &expected);
        assert!(error < tolerance, "{grid:?} {error:e}");
    }
}

#[test]
fn one_convolution_equals_forward_and_adjoint() {
    the_convolution_equals_forward_and_adjoint::<f64>(1e-13);
    the_convolution_equals_forward_and_adjoint::<f32>(1e-6);
}

#[test]
fn a_convolution_rejects_another_grid_and_other_weights() {
    let grid = Grid::two(6, 8);
    let k = trajectory(20, 2);
    let doubled = Direct::new(grid.doubled(), k.view(), None).unwrap();
    let made = |grid, weights: Option<&[f64]>| Toeplitz::<f64>::new(grid, &doubled, weights);
    assert!(made(grid, Some(&[1.0; 19])).is_err());
    assert!(made(Grid::two(6, 6), None).is_err());
    let mut images = [complex::<f64>(48, 0.1), complex::<f64>(48, 0.1)];
    made(grid, None).unwrap().apply(&mut images[0]);
    made(grid, Some(&[1.0; 20])).unwrap().apply(&mut images[1]);
    assert_eq!(images[0], images[1]);
}

#[test]
fn for_cartesian_samples_the_operator_is_the_number_of_voxels() {
    // All frequencies j/N: FᴴF = N² exactly, so that Q is N² at 0 and nothing else.
    let grid = Grid::two(8, 8);
    let frequency = |(m, a): (usize, usize)| [m % 8, m / 8][a] as f64 / 8.0 - 0.5;
    let k = Array2::from_shape_fn((64, 2), frequency);
    let image = complex::<f64>(64, 0.3);
    let mut found = image.clone();
    convolved(grid, &k, &[1.0; 64]).apply(&mut found);
    for (found, rho) in found.iter().zip(&image) {
        assert!((found - rho * 64.0).norm() < 1e-11);
    }
}

#[test]
fn with_coils_the_operator_equals_the_sum_over_coils() {
    for sets in [1, 3] {
        equals_the_sum_over_coils(sets);
    }
}

/// ⟨ρ, EᴴWE ρ'⟩ = Σ_c ⟨F Σ_s S_sc ρ_s, W F Σ_s S_sc ρ'_s⟩
fn equals_the_sum_over_coils(sets: usize) {
    let grid = Grid::two(9, 12);
    let (k, w) = (trajectory(70, 2), weights(70));
    let s = maps(grid, sets * 4);
    let s = s.into_shape_with_order((sets, 4, 108)).unwrap();
    let [a, b] = [0.2, 0.6].map(|seed| complex::<f64>(sets * 108, seed));
    let direct = Direct::<f64>::new(grid, k.view(), None).unwrap();
    let mut expected = 0.0;
    for coil in s.axis_iter(Axis(1)) {
        let samples = |images: &[Complex<f64>]| {
            let mut measured = vec![Complex::default(); 108];
            for (s, image) in coil.rows().into_iter().zip(images.chunks(108)) {
                for (to, (s, v)) in measured.iter_mut().zip(s.iter().zip(image)) {
                    *to += s * v;
                }
            }
            let mut samples = vec![Complex::default(); 70];
            direct.forward(&measured, &mut samples);
            samples
        };
        let weighted: Vec<_> = samples(&b).iter().zip(&w).map(|(d, w)| d * w).collect();
        expected += real_product(&samples(&a), &weighted);
    }
    for gram in [encoded(grid, &k, &w), convolved(grid, &k, &w)] {
        let mut out = vec![Complex::default(); sets * 108];
        Sense::new(gram, Some(&s)).normal(&b, &mut out);
        assert!((real_product(&a, &out) / expected - 1.0).abs() < 1e-12);
    }
}

#[test]
fn corrected_maps_have_a_uniform_intensity() {
    let mut s = maps(Grid::two(4, 5), 3);
    s.column_mut(7).fill(Complex::default());
    let others = maps(Grid::two(4, 5), 3).mapv(|s| s * 2.0);
    let corrected = intensity_corrected(&stack![Axis(0), s, others]);
    for (set, of_set) in corrected.outer_iter().enumerate() {
        for (n, square) in intensity(of_set).iter().enumerate() {
            let expected = if (set, n) == (0, 7) { 0.0 } else { 1.0 };
            assert!((square - expected).abs() < 1e-14);
        }
    }
}
