//! The logarithms of the kernels of `ml`.

use warpstride_kernels::ptycho::likelihood_noise::{less_logarithm, ln};

#[test]
fn the_logarithm_is_that_of_std() {
    for k in -600..600 {
        let x = 1.013_f64.powi(k) * 1.000_1;
        let error = (ln(x) - x.ln()).abs();
        assert!(error <= 4e-16 * x.ln().abs().max(0.5), "{x}");
    }
    for x in [1.0, 1e-300, 1e300, 1e-20, 1.0 + 1e-12] {
        assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs(), "{x}");
    }
}

#[test]
fn the_loss_is_exact_near_0_and_for_dark_models() {
    let check = |d: f64, ratio: f64| {
        let (d, ratio) = (d as f32, ratio as f32);
        // As the function does, from d alone where the ratio is near 1.
        let near = (0.708..1.414).contains(&ratio);
        let exact = if near {
            f64::from(d) - f64::from(d).ln_1p()
        } else {
            f64::from(d) - f64::from(ratio).ln()
        };
        let found = f64::from(less_logarithm(d, ratio));
        assert!(
            (found - exact).abs() <= 2e-6 * exact,
            "{d}: {found} {exact}"
        );
    };
    for k in -1000..1000 {
        // Models from 1e-13 to 1e13 times the counts.
        let ratio = 1.03_f64.powi(k) * 1.000_1;
        check(ratio - 1.0, ratio);
    }
    for k in 0..60 {
        for sign in [-1.0, 1.0] {
            let d = sign * 0.3 * 0.7_f64.powi(k);
            check(d, 1.0 + d);
        }
    }
    assert!(less_logarithm(0.0, 1.0).abs() < 1e-30);
}
