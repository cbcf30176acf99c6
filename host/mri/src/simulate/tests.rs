use super::*;

fn small(path: Path, volume: bool) -> SimulateOptions {
    SimulateOptions {
        path,
        matrix: 16,
        coils: 3,
        volume,
        ..SimulateOptions::default()
    }
}

/// ∫ S_c ρ e^{−2πi k·x} by the midpoint rule, on a grid far finer than the image.
fn integral(options: &SimulateOptions, coil: usize, position: &[f64]) -> Complex<f64> {
    let axes = position.len();
    let phantom = Phantom::shepp_logan(axes);
    let coils = Coils::ring(options.coils, axes);
    let side: usize = if axes == 2 { 300 } else { 40 };
    let step = 2.0 / side as f64;
    let mut values = vec![Complex::new(0.0, 0.0); options.coils];
    let mut sum = Complex::new(0.0, 0.0);
    for number in 0..side.pow(axes as u32) {
        let mut x = [0.0; 3];
        let mut rest = number;
        for coordinate in x.iter_mut().take(axes) {
            *coordinate = ((rest % side) as f64 + 0.5) * step - 1.0;
            rest /= side;
        }
        let value = phantom.value(&x[..axes]);
        if value == 0.0 {
            continue;
        }
        coils.at(&x[..axes], &mut values);
        let half = options.matrix as f64 / 2.0;
        let cycles: f64 = (0..axes)
            .map(|a| if a == 1 { -1.0 } else { 1.0 } * position[a] * half * x[a])
            .sum();
        sum += values[coil] * Complex::from_polar(value, -TAU * cycles);
    }
    sum * (step * options.matrix as f64 / 2.0).powi(axes as i32)
}

#[test]
fn every_coils_samples_are_the_integral_over_its_map() {
    for (path, volume) in [
        (Path::Radial, false),
        (Path::Spiral, false),
        (Path::Golden, true),
    ] {
        let options = SimulateOptions {
            spokes: Some(3),
            samples: Some(8),
            ..small(path, volume)
        };
        let made = simulate(&options).unwrap();
        let largest = made
            .kspace
            .samples()
            .iter()
            .map(|v| v.norm())
            .fold(0.0, f64::max);
        for coil in 0..3 {
            for sample in [3, 4, 13] {
                let position = made.kspace.trajectory().row(sample).to_vec();
                let found = made.kspace.samples()[[coil, sample]];
                let difference = (found - integral(&options, coil, &position)).norm() / largest;
                assert!(
                    difference < if volume { 0.03 } else { 4e-3 },
                    "{path:?}: {difference}"
                );
            }
        }
    }
}

/// The sum over voxels is the integral up to details finer than the matrix: at the origin it is
/// almost exact.
#[test]
fn truth_and_samples_have_one_scale_and_one_orientation() {
    for volume in [false, true] {
        let options = SimulateOptions {
            matrix: 32,
            ..small(Path::Golden, volume)
        };
        let options = SimulateOptions {
            spokes: Some(5),
            ..options
        };
        let made = simulate(&options).unwrap();
        let image = &made.truth.image;
        let maps = &made.truth.coil_maps;
        for coil in 0..3 {
            for sample in 30..34 {
                let position = made.kspace.trajectory().row(sample);
                let sum: Complex<f64> = image
                    .indexed_iter()
                    .map(|((s, r, c), value)| {
                        let mut cycles =
                            position[0] * (c as f64 - 16.0) + position[1] * (r as f64 - 16.0);
                        if volume {
                            cycles += position[2] * (s as f64 - 16.0);
                        }
                        value * maps[[coil, s, r, c]] * Complex::cis(-TAU * cycles)
                    })
                    .sum();
                let exact = made.kspace.samples()[[coil, sample]];
                let difference = (sum - exact).norm() / exact.norm();
                assert!(difference < 0.03, "{sample}: {sum} {exact}");
            }
        }
    }
}

#[test]
fn noise_has_the_deviation_that_is_documented_and_comes_from_its_seed() {
    let quiet = small(Path::Radial, false);
    let noisy = |seed| {
        let options = SimulateOptions {
            snr: Some(20.0),
            seed,
            ..quiet.clone()
        };
        simulate(&options).unwrap().kspace
    };
    let clean = simulate(&quiet).unwrap().kspace;
    let (one, two) = (noisy(1), noisy(2));
    assert_eq!(one, noisy(1));
    assert_ne!(one, two);
    let difference = one.samples() - clean.samples();
    let count = 2 * difference.len();
    let variance = difference.iter().map(|v| v.norm_sqr()).sum::<f64>() / count as f64;
    // √(2/count) is one standard error.
    let image = simulate(&quiet).unwrap().truth.image;
    let largest = image.iter().map(|v| v.norm()).fold(0.0, f64::max);
    let expected = (largest * 16.0 / 20.0_f64).powi(2);
    let errors = (variance / expected - 1.0) / (2.0 / count as f64).sqrt();
    assert!(errors.abs() < 5.0, "{errors}");
}

#[test]
fn invalid_options_are_named() {
    let wrong = |change: fn(&mut SimulateOptions)| {
        let mut options = small(Path::Radial, false);
        change(&mut options);
        simulate(&options).unwrap_err().to_string()
    };
    assert!(wrong(|o| o.matrix = 0).contains("--matrix 0"));
    assert!(wrong(|o| o.coils = 0).contains("--coils 0"));
    assert!(wrong(|o| o.spokes = Some(0)).contains("--spokes 0"));
    assert!(wrong(|o| o.samples = Some(70_000)).contains("--samples 70000"));
    assert!(wrong(|o| o.snr = Some(f64::NAN)).contains("--noise NaN"));
    assert!(wrong(|o| o.snr = Some(-1.0)).contains("--noise -1"));
}
