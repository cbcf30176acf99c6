//! The kernel compared with quadrature and with its own definition.

use super::*;

const OVERSAMPLINGS: [f64; 3] = [1.25, 1.5, 2.0];

/// ∫ φ(d) cos(2πξd) dd by Gauss–Chebyshev quadrature: d = (w/2) cos θ makes the integrand smooth
/// and periodic, so that the trapezium rule converges faster than any power.
fn quadrature(kernel: &SpreadingKernel, frequency: f64) -> f64 {
    let half = 0.5 * kernel.width() as f64;
    let nodes = 400;
    (0..nodes)
        .map(|i| {
            let theta = PI * (f64::from(i) + 0.5) / f64::from(nodes);
            let d = half * theta.cos();
            kernel.value(d) * (2.0 * PI * frequency * d).cos() * half * theta.sin()
        })
        .sum::<f64>()
        * PI
        / f64::from(nodes)
}

#[test]
fn its_transform_is_the_integral() {
    for oversampling in OVERSAMPLINGS {
        for width in NARROWEST..=WIDEST {
            let kernel = SpreadingKernel::of_width(width, oversampling, 1e-3);
            for frequency in [0.0, 0.1, 0.25, 0.4, 0.75, 1.3] {
                let (exact, sum) = (kernel.fourier(frequency), quadrature(&kernel, frequency));
                // The even extension of the integrand has a kink at 0 and π, because of φ(w/2).
                let edge = kernel.value(0.5 * width as f64) * width as f64 * 1e-4;
                assert!(
                    (exact - sum).abs() < 1e-14 * kernel.fourier(0.0) + edge,
                    "{width} {frequency}: {exact} {sum}"
                );
            }
        }
    }
}

#[test]
fn i0_is_the_mean_of_exponentials() {
    // I₀(x) = (1/2π) ∫ exp(x cos θ) dθ, and the trapezium rule is exact for periodic functions.
    for x in [0.0, 0.5, 3.0, 11.0, 37.0] {
        let n = 200;
        let mean = (0..n)
            .map(|i| (x * (2.0 * PI * f64::from(i) / f64::from(n)).cos()).exp())
            .sum::<f64>()
            / f64::from(n);
        assert!((bessel_i0(x) / mean - 1.0).abs() < 1e-13, "{x}");
    }
}

#[test]
fn the_pieces_are_the_kernel() {
    for (tolerance, oversampling) in [(1e-2, 1.25), (1e-4, 2.0), (1e-6, 1.5), (1e-12, 2.0)] {
        let kernel = SpreadingKernel::new::<f64>(tolerance, oversampling, 2).unwrap();
        let pieces = kernel.pieces();
        assert!(pieces.error < tolerance);
        assert!(
            pieces.degree < HIGHEST_DEGREE,
            "{tolerance}: it did not fit"
        );
        let w = kernel.width() as f64;
        for step in 0..500 {
            let x = 40.0 + 0.013 * f64::from(step);
            let first = (x - 0.5 * w).ceil();
            let t = 2.0 * (first - (x - 0.5 * w)) - 1.0;
            assert!((-1.0..=1.0).contains(&t));
            for piece in 0..kernel.width() {
                let exact = kernel.value(first + piece as f64 - x);
                let difference = (pieces.value(piece, t) - exact).abs();
                assert!(difference <= 1.05 * pieces.error + 1e-15, "{tolerance} {x}");
            }
        }
    }
}

/// The measured error agrees with the estimate: a point at x, spread on an axis and transformed,
/// gives Σ_j φ̂(k + jn) exp(−2πi (k + jn) x / n), which divided by φ̂(k) should be exp(−2πi kx/n).
#[test]
fn the_estimate_is_the_error_of_one_axis() {
    for oversampling in OVERSAMPLINGS {
        for tolerance in [1e-2, 1e-4, 1e-6, 1e-8] {
            let Ok(kernel) = SpreadingKernel::new::<f64>(tolerance, oversampling, 1) else {
                panic!("{tolerance} {oversampling}");
            };
            let modes = 240;
            let fine = kernel.fine(modes);
            assert!((fine as f64 / modes as f64 - oversampling).abs() < 1e-12);
            let (mut error, mut count) = (0.0, 0.0);
            let factors = kernel.deapodisation(modes, fine);
            for step in 0..20 {
                let x = 30.0 + 0.05 * f64::from(step);
                let first = (x - 0.5 * kernel.width() as f64).ceil();
                for (mode, factor) in factors.iter().enumerate() {
                    let k = mode as f64 - (modes / 2) as f64;
                    let (mut re, mut im) = (0.0, 0.0);
                    for j in 0..kernel.width() {
                        let d = first + j as f64 - x;
                        let (s, c) = (2.0 * PI * k * d / fine as f64).sin_cos();
                        re += kernel.value(d) * c * factor;
                        im += kernel.value(d) * s * factor;
                    }
                    error += (re - 1.0_f64).powi(2) + im * im;
                    count += 1.0;
                }
            }
            let measured = (error / count).sqrt();
            let (estimated, _) = kernel.aliasing(1);
            assert!(measured <= tolerance, "{tolerance}: {measured}");
            let ratio = measured / estimated;
            assert!(
                (0.7..1.3).contains(&ratio),
                "{tolerance} {oversampling}: {ratio}"
            );
        }
    }
}

#[test]
fn smaller_tolerances_need_wider_kernels_and_some_are_rejected() {
    let mut width = 0;
    for digits in 1..13 {
        let kernel = SpreadingKernel::new::<f64>(10_f64.powi(-digits), 2.0, 3).unwrap();
        assert!(kernel.width() >= width);
        width = kernel.width();
    }
    for (oversampling, tolerance) in [(2.0, 1e-15), (1.25, 1e-12), (2.0, 1.0), (2.0, f64::NAN)] {
        let refused = SpreadingKernel::new::<f64>(tolerance, oversampling, 2);
        assert!(
            matches!(refused, Err(MriError::Tolerance { .. })),
            "{tolerance}"
        );
    }
    let refused = SpreadingKernel::new::<f32>(1e-7, 2.0, 2);
    assert!(refused.unwrap_err().to_string().contains("f32"));
    assert!(SpreadingKernel::new::<f32>(1e-6, 2.0, 3).is_ok());
    assert!(SpreadingKernel::new::<f64>(1e-12, 2.0, 3).is_ok());
}

#[test]
fn fine_grids_have_small_factors() {
    let kernel = SpreadingKernel::new::<f64>(1e-4, 2.0, 2).unwrap();
    for modes in [1, 2, 7, 31, 64, 97, 251, 256, 1009] {
        let fine = kernel.fine(modes);
        assert!(fine >= 2 * modes && fine >= 2 * kernel.width());
        assert!(smooth(fine) && fine.is_multiple_of(2));
    }
}
