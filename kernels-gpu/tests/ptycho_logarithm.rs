//! The logarithm of the kernels of `ml`.

use warpstride_kernels::ptycho::likelihood_noise::ln;

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
