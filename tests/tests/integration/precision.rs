//! Single and double precision use the same algorithm, so error metrics may differ only by
//! rounding. A sum of 10⁵ terms in f32 is accurate to about 10⁻⁵.

use warpstride::ptycho::{Precision, SimulateOptions, simulate};
use warpstride_tests::{on_cpu, recipe};

#[test]
fn the_first_five_iterations_agree_in_f32_and_f64() {
    for probe_modes in [1, 3] {
        for engine in ["dm:5", "raar:5"] {
            let scan = simulate(&SimulateOptions {
                frame: 48,
                positions: 25,
                probe_modes,
                ..SimulateOptions::default()
            })
            .unwrap();
            let mut recipe = recipe(&[engine]).unwrap();
            recipe.probe_modes = probe_modes;
            recipe.metrics_every = 1;
            let single = on_cpu(&scan, &recipe).unwrap();
            recipe.precision = Precision::F64;
            let double = on_cpu(&scan, &recipe).unwrap();
            assert!(double.double_precision && !single.double_precision);
            assert_ne!(
                single.object, double.object,
                "both runs used the same precision"
            );
            for (s, d) in single.history.iter().zip(&double.history) {
                let pairs = [
                    (s.err_fourier, d.err_fourier),
                    (s.err_exit.unwrap(), d.err_exit.unwrap()),
                    (s.r_factor.unwrap(), d.r_factor.unwrap()),
                ];
                for (s, d) in pairs {
                    assert!(
                        (s / d - 1.0).abs() < 1e-4,
                        "{engine}, {probe_modes}: {s} {d}"
                    );
                }
            }
            assert_eq!(double.history.len(), 5);
        }
    }
}
