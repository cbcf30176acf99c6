use warpstride_kernels::sas::model::{Model, Values, Wave};

/// Contrast 3, width 10 Å, length 60 Å.
const VALUES: [f64; 4] = [4.0, 1.0, 10.0, 60.0];

fn amplitude(across: f64, along: f64) -> f64 {
    let values = <GaussianRod as Model>::Values::<f64>::read(|i| VALUES[i]);
    let wave = Wave {
        q: across.hypot(along),
        across,
        along,
        a: 0.0,
        b: 0.0,
        c: 0.0,
    };
    GaussianRod::form(&wave, &GaussianRod::prepare(&values)).amplitude
}

/// ∫ f from −reach to reach by 4000 even steps.
fn integral(reach: f64, f: impl Fn(f64) -> f64) -> f64 {
    let step = reach / 2000.0;
    let inner: f64 = (1..4000).map(|i| f(f64::from(i - 2000) * step)).sum();
    step * (inner + 0.5 * (f(-reach) + f(reach)))
}

/// The amplitude is the Fourier integral of the density, and at q = 0 contrast times volume.
#[test]
fn the_form_factor_is_the_transform_of_the_density() {
    let gauss = |x: f64| (-0.5 * (x / 10.0).powi(2)).exp();
    for (across, along) in [(0.0, 0.0), (0.1, 0.0), (0.0, 0.2), (0.07, 0.03)] {
        let x = integral(120.0, |x| gauss(x) * (across * x).cos());
        let y = integral(120.0, gauss);
        let z = integral(30.0, |z| (along * z).cos());
        let expected = 1e-2 * 3.0 * x * y * z;
        let found = amplitude(across, along);
        assert!(
            (found - expected).abs() < 1e-6 * 1e-2 * 3.0 * y * y * 60.0,
            "{across} {along}: expected {expected}, found {found}"
        );
    }
}
