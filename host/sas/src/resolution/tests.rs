//! The reference is the defining integral, in closed form or by Simpson's rule with steps whose own
//! error is far below the tolerance; it uses nothing of the matrix's quadrature.

use super::*;
use crate::points;

fn fine_q(of: &Resolution) -> &[f64] {
    match &of.fine {
        Points::Curve(q) => q,
        Points::Pixels { .. } => panic!("a curve's resolution has pixels"),
    }
}

fn smeared(of: &Resolution, model: impl Fn(f64) -> f64) -> Vec<f64> {
    let fine: Vec<f64> = fine_q(of).iter().map(|q| model(*q)).collect();
    of.apply(&fine)
}

fn log_q(first: f64, last: f64, n: usize) -> Vec<f64> {
    match points::logarithmic(first, last, n).unwrap() {
        Points::Curve(q) => q,
        Points::Pixels { .. } => panic!("pixels"),
    }
}

fn simpson(low: f64, high: f64, n: usize, f: impl Fn(f64) -> f64) -> f64 {
    let h = (high - low) / (2 * n) as f64;
    let inner: f64 = (1..2 * n)
        .map(|i| f(low + h * i as f64) * if i % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    (f(low) + inner + f(high)) * h / 3.0
}

/// The average over the truncated Gaussian, on both sides of the beam.
fn gaussian_average(q: f64, sigma: f64, reach: [f64; 2], model: impl Fn(f64) -> f64) -> f64 {
    let gauss = |t: f64| (-0.5 * ((t - q) / sigma).powi(2)).exp();
    let [low, high] = [q - reach[0] * sigma, q + reach[1] * sigma];
    let n = 3_000;
    simpson(low, high, n, |t| gauss(t) * model(t.abs())) / simpson(low, high, n, gauss)
}

fn guinier(rg: f64) -> impl Fn(f64) -> f64 {
    move |q| (-(q * rg).powi(2) / 3.0).exp()
}

fn sphere(radius: f64) -> impl Fn(f64) -> f64 {
    move |q| {
        let x = q * radius;
        let f = if x < 1e-2 {
            1.0 - x * x / 10.0
        } else {
            3.0 * (x.sin() - x * x.cos()) / x.powi(3)
        };
        f * f
    }
}

fn assert_close(found: f64, expected: f64, relative: f64, what: &str) {
    assert!(
        (found - expected).abs() <= relative * expected.abs(),
        "{what}: {found:e} is not {expected:e} within {relative:e}"
    );
}

/// Checks that rows sum to 1 and stay within the fine points, and that the fine points ascend.
fn assert_sound(of: &Resolution, rows: usize) {
    assert_eq!([of.first.len(), of.count.len()], [rows; 2]);
    let fine = of.fine.len();
    let mut weights = of.weights.as_slice();
    for (first, count) in of.first.iter().zip(&of.count) {
        assert!((first + count) as usize <= fine && *count > 0);
        let (row, rest) = weights.split_at(*count as usize);
        let sum: f64 = row.iter().sum();
        assert!((sum - 1.0).abs() < 1e-12, "a row adds up to {sum}");
        weights = rest;
    }
    assert!(weights.is_empty());
    if let Points::Curve(q) = &of.fine {
        assert!(q.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(q.iter().all(|q| *q > 0.0 && q.is_finite()));
    }
}

#[test]
fn a_constant_is_unchanged() {
    let q = log_q(1e-3, 0.5, 40);
    let each: Vec<f64> = q.iter().map(|q| 1e-3 + 0.02 * q).collect();
    for of in [
        Pinhole::new(Width::Relative(0.05)).resolution(&q).unwrap(),
        Pinhole::new(Width::Relative(0.9)).resolution(&q).unwrap(),
        Pinhole::new(Width::Each(each)).resolution(&q).unwrap(),
        Pinhole::new(Width::Relative(1e-4)).resolution(&q).unwrap(),
        Slit {
            length: Width::Same(0.117),
            width: Width::Same(0.0),
            step: f64::INFINITY,
        }
        .resolution(&q)
        .unwrap(),
        Slit {
            length: Width::Same(0.0),
            width: Width::Same(0.01),
            step: f64::INFINITY,
        }
        .resolution(&q)
        .unwrap(),
        Slit {
            length: Width::Same(0.1),
            width: Width::Same(0.002),
            step: f64::INFINITY,
        }
        .resolution(&q)
        .unwrap(),
    ] {
        assert_sound(&of, q.len());
        for i in smeared(&of, |_| 7.0) {
            assert!((i - 7.0).abs() < 1e-11);
        }
    }
}

#[test]
fn pinhole_averages_match_the_integral() {
    let q = log_q(2e-3, 0.4, 30);
    for (share, reach, tolerance) in [
        (0.01, [2.5, 3.0], 1e-8),
        (0.05, [2.5, 3.0], 2e-6),
        (0.05, [3.0, 3.0], 2e-6),
        (0.15, [2.5, 3.0], 5e-5),
    ] {
        let of = Pinhole::new(Width::Relative(share))
            .reaching(reach[0], reach[1])
            .resolution(&q)
            .unwrap();
        assert_sound(&of, q.len());
        let models: [(&str, &dyn Fn(f64) -> f64); 4] = [
            ("q^-4", &|q| q.powi(-4)),
            ("q^-1", &|q| 1.0 / q),
            ("Guinier", &guinier(10.0)),
            ("linear", &|q| 1.0 + q),
        ];
        for (name, model) in models {
            for (q, found) in q.iter().zip(smeared(&of, model)) {
                let expected = gaussian_average(*q, share * q, reach, model);
                assert_close(
                    found,
                    expected,
                    tolerance,
                    &format!("{name}, {share}, q = {q}"),
                );
            }
        }
    }
}

#[test]
fn fringes_are_averaged_correctly() {
    // Fringes of 2π/R = 0.0063 1/Å are narrower than σ from q = 0.04 on, as in
    // `100nmPinholeSphere.txt`.
    let q = log_q(1e-3, 0.2, 60);
    let sigma = |q: f64| 0.15 * q;
    let model = sphere(500.0);
    let expected: Vec<f64> = q
        .iter()
        .map(|q| gaussian_average(*q, sigma(*q), [2.5, 3.0], &model))
        .collect();
    let with = |sampling| {
        Pinhole::new(Width::Relative(0.15))
            .sampled(sampling)
            .resolution(&q)
            .unwrap()
    };
    let resolved = with(Sampling::Fine {
        per_sigma: 5.0,
        step: 5e-4,
    });
    for ((q, found), expected) in q.iter().zip(smeared(&resolved, &model)).zip(&expected) {
        assert_close(found, *expected, 1e-3, &format!("q = {q}"));
    }
}

#[test]
fn widths_beyond_the_beam_include_the_other_side() {
    // Widths as in `n_coreshell.txt`: larger than q at the lowest points.
    let q = log_q(1e-3, 0.1, 25);
    let widths: Vec<f64> = q.iter().map(|q| 1e-3_f64.hypot(0.06 * q)).collect();
    let of = Pinhole::new(Width::Each(widths.clone()))
        .resolution(&q)
        .unwrap();
    assert_sound(&of, q.len());
    let model = guinier(60.0);
    for ((q, sigma), found) in q.iter().zip(&widths).zip(smeared(&of, &model)) {
        let expected = gaussian_average(*q, *sigma, [2.5, 3.0], &model);
        assert_close(found, expected, 1e-4, &format!("q = {q}"));
    }
}

#[test]
fn bins_of_dense_data_agree_with_the_fine_grid() {
    let q = log_q(5e-3, 0.2, 2000);
    let pinhole = Pinhole::new(Width::Relative(0.05));
    let bins = pinhole
        .clone()
        .sampled(Sampling::Data)
        .resolution(&q)
        .unwrap();
    let model = guinier(20.0);
    let (fine, coarse) = (
        smeared(&pinhole.resolution(&q).unwrap(), &model),
        smeared(&bins, &model),
    );
    for (a, b) in fine.iter().zip(&coarse) {
        assert_close(*a, *b, 2e-3, "bins");
    }
    let sums = smeared(&bins, |_| 1.0);
    assert!(sums.iter().all(|s| (s - 1.0).abs() < 1e-12));
}

#[test]
fn smeared_steep_models_stay_positive() {
    // From one fine point to the next this falls by factors of up to 400.
    let q = log_q(1e-2, 0.5, 50);
    let of = Pinhole::new(Width::Relative(0.05)).resolution(&q).unwrap();
    for i in smeared(&of, guinier(60.0)) {
        assert!(i > 0.0, "{i}");
    }
}

#[test]
fn slit_averages_of_power_laws_match_closed_forms() {
    let q = log_q(3e-5, 0.006, 40);
    let length = 0.117;
    let of = Slit {
        length: Width::Same(length),
        width: Width::Same(0.0),
        step: f64::INFINITY,
    }
    .resolution(&q)
    .unwrap();
    assert_sound(&of, q.len());
    let angle = |q: f64| (length / q).atan();
    let inverse_square = smeared(&of, |q| q.powi(-2));
    let inverse_fourth = smeared(&of, |q| q.powi(-4));
    for (i, q) in q.iter().enumerate() {
        let square = angle(*q) / (q * length);
        let fourth = (length / (q * q + length * length) + angle(*q) / q) / (2.0 * q * q * length);
        assert_close(inverse_square[i], square, 1e-6, &format!("q^-2, q = {q}"));
        assert_close(inverse_fourth[i], fourth, 1e-5, &format!("q^-4, q = {q}"));
    }
}

/// Fringes of spheres of 1000 Å are 0.003 1/Å apart.
#[test]
fn slit_averages_resolve_fringes_with_suitable_steps() {
    let (size, length) = (2000.0, 0.05);
    let q = log_q(0.01, 0.2, 12);
    let model = |q: f64| 2.0 + (size * q).cos();
    let of = Slit {
        length: Width::Same(length),
        width: Width::Same(0.0),
        step: 0.1 * std::f64::consts::TAU / size,
    }
    .resolution(&q)
    .unwrap();
    assert_sound(&of, q.len());
    let found = smeared(&of, model);
    for (found, q) in found.iter().zip(&q) {
        // Midpoint rule with many intervals.
        let segments = 200_000;
        let at = |i: usize| length * (i as f64 + 0.5) / segments as f64;
        let sum: f64 = (0..segments).map(|i| model(q.hypot(at(i)))).sum();
        assert_close(*found, sum / segments as f64, 1e-3, &format!("q = {q}"));
    }
}

#[test]
fn slit_averages_with_a_width_match_closed_forms() {
    // exp(−a q²) separates into a product with one error function per direction.
    let a = 150_f64.powi(2) / 3.0;
    let root = a.sqrt();
    let q = log_q(1e-3, 0.02, 25);
    for (length, width) in [
        (0.02, 0.001),
        (0.0, 0.001),
        (0.0, 0.004),
        (0.05, 0.01),
        (0.01, 0.0),
    ] {
        let of = Slit {
            length: Width::Same(length),
            width: Width::Each(vec![width; q.len()]),
            step: f64::INFINITY,
        }
        .resolution(&q)
        .unwrap();
        assert_sound(&of, q.len());
        for (q, found) in q.iter().zip(smeared(&of, |q| (-a * q * q).exp())) {
            let scale = std::f64::consts::PI.sqrt() / (2.0 * root);
            let along = if width > 0.0 {
                let erf = |x: f64| libm::erf(root * x);
                scale * (erf(q + width) - erf(q - width)) / (2.0 * width)
            } else {
                (-a * q * q).exp()
            };
            let across = if length > 0.0 {
                scale * libm::erf(root * length) / length
            } else {
                1.0
            };
            let what = format!("L {length}, W {width}, q {q}");
            assert_close(found, along * across, 2e-5, &what);
        }
    }
}

#[test]
fn order_repetition_and_points_without_width_do_not_change_results() {
    let mut q = log_q(1e-3, 0.3, 20);
    let straight = Pinhole::new(Width::Relative(0.07)).resolution(&q).unwrap();
    q.reverse();
    q.push(q[3]);
    let turned = Pinhole::new(Width::Relative(0.07)).resolution(&q).unwrap();
    assert_sound(&turned, 21);
    assert_eq!(straight.fine, turned.fine);
    let model = guinier(10.0);
    let (a, b) = (smeared(&straight, &model), smeared(&turned, &model));
    for (i, value) in a.iter().enumerate() {
        assert_eq!(*value, b[19 - i]);
    }
    assert_eq!(b[3], b[20]);
    // Points without a width are computed exactly there.
    let mut widths: Vec<f64> = q.iter().map(|q| 0.07 * q).collect();
    widths[3] = 0.0;
    widths[5] = 1e-12;
    let mixed = Pinhole::new(Width::Each(widths)).resolution(&q).unwrap();
    assert_sound(&mixed, 21);
    let c = smeared(&mixed, &model);
    assert_eq!([c[3], c[5]], [model(q[3]), model(q[5])]);
    assert_close(c[4], b[4], 1e-9, "beside an exact point");
    let none = Pinhole::new(Width::Relative(0.0)).resolution(&q).unwrap();
    assert_eq!(
        smeared(&none, &model),
        q.iter().map(|q| model(*q)).collect::<Vec<_>>()
    );
}

#[test]
fn one_point_is_enough() {
    for of in [
        Pinhole::new(Width::Relative(0.05))
            .resolution(&[0.1])
            .unwrap(),
        Pinhole::new(Width::Relative(0.05))
            .sampled(Sampling::Data)
            .resolution(&[0.1])
            .unwrap(),
        Slit {
            length: Width::Same(0.01),
            width: Width::Same(0.01),
            step: f64::INFINITY,
        }
        .resolution(&[0.1])
        .unwrap(),
    ] {
        assert_sound(&of, 1);
    }
    let one = Cloud::default()
        .resolution(&[0.1], &[0.0], &[0.01], &[0.0])
        .unwrap();
    assert_sound(&one, 1);
}

#[test]
fn invalid_widths_are_refused() {
    let q = [0.01, 0.02];
    let each = |widths: &[f64]| Pinhole::new(Width::Each(widths.to_vec())).resolution(&q);
    let slit = |length: f64, width: f64| {
        Slit {
            length: Width::Same(length),
            width: Width::Same(width),
            step: f64::INFINITY,
        }
        .resolution(&q)
    };
    let relative = |share: f64| Pinhole::new(Width::Relative(share)).resolution(&q);
    let cloud = |along: f64| Cloud::default().resolution(&[0.1], &[0.1], &[along], &[0.0]);
    for (result, words) in [
        (each(&[0.001, f64::NAN]), "point 2"),
        (each(&[-0.001, 0.001]), "point 1"),
        (each(&[0.001, 1.0]), "0.04"),
        (each(&[0.001]), "each of the 2 points"),
        (relative(-0.1), "share"),
        (relative(f64::NAN), "share"),
        (relative(1.0), "share"),
        (slit(f64::INFINITY, 0.0), "length"),
        (slit(0.1, -1.0), "width"),
        (cloud(f64::NAN), "pixel 1"),
        (cloud(-1.0), "pixel 1"),
        (
            Pinhole::new(Width::Relative(0.1)).resolution(&[]),
            "at least one point, found none",
        ),
        (
            Pinhole::new(Width::Relative(0.1)).resolution(&[0.1, -0.1]),
            "point 2",
        ),
        (
            Pinhole::new(Width::Relative(0.1))
                .reaching(0.0, 3.0)
                .resolution(&q),
            "below",
        ),
    ] {
        let text = result.unwrap_err().to_string();
        assert!(
            text.contains(words) && text.starts_with("resolution: "),
            "{text}"
        );
        assert!(!text.contains('\n'));
    }
}

#[test]
fn sizes_are_limited() {
    let step = Sampling::Fine {
        per_sigma: 5.0,
        step: 1e-12,
    };
    let q = log_q(1e-3, 0.5, 10);
    let text = Pinhole::new(Width::Relative(0.1))
        .sampled(step)
        .resolution(&q)
        .unwrap_err()
        .to_string();
    assert!(text.contains("expected at most"), "{text}");
    let many = log_q(1e-3, 0.5, 300_000);
    let text = Pinhole::new(Width::Relative(0.1))
        .sampled(Sampling::Fine {
            per_sigma: 100.0,
            step: 1.0,
        })
        .resolution(&many)
        .unwrap_err()
        .to_string();
    assert!(text.contains("weights"), "{text}");
    let n = 1 << 20;
    let cloud = Cloud {
        radial: 64,
        azimuthal: 256,
        reach: 3.0,
    };
    let text = cloud
        .resolution(&vec![0.1; n], &vec![0.1; n], &vec![0.1; n], &vec![0.1; n])
        .unwrap_err()
        .to_string();
    assert!(text.contains("expected at most"), "{text}");
}

/// Mean of a function over a pixel's cloud.
fn over_cloud(of: &Resolution, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let Points::Pixels { qx, qy } = &of.fine else {
        panic!("an image's resolution has a curve");
    };
    let fine: Vec<f64> = qx.iter().zip(qy).map(|(x, y)| f(*x, *y)).collect();
    of.apply(&fine)
}

#[test]
fn clouds_have_the_moments_of_a_truncated_gaussian() {
    // On the diagonal, so that the directions along and across are rotated by 45° from qx and qy.
    let (q, along, across) = (0.1, 0.01, 0.004);
    let of = Cloud::default()
        .resolution(&[q, -q, 0.0], &[q, q, 0.0], &[along; 3], &[across; 3])
        .unwrap();
    assert_sound(&of, 3);
    // For exp(−t) on 0..T, T = reach²/2, the mean of t is the variance in each direction in units
    // of σ².
    let t = 4.5_f64;
    let variance = 1.0 - t * (-t).exp() / (1.0 - (-t).exp());
    let [xx, xy] = [
        variance * (along * along + across * across) / 2.0,
        variance * (along * along - across * across) / 2.0,
    ];
    let close = |found: f64, expected: f64| {
        assert!(
            (found - expected).abs() < 1e-14,
            "{found} is not {expected}"
        );
    };
    let second = over_cloud(&of, |x, y| (x - q) * (y - q));
    close(second[0], xy);
    let second = over_cloud(&of, |x, y| (x + q) * (y - q));
    close(second[1], -xy);
    close(over_cloud(&of, |x, _| (x - q) * (x - q))[0], xx);
    // At the centre, the direction along q is qx.
    close(over_cloud(&of, |x, _| x * x)[2], variance * along * along);
    close(over_cloud(&of, |_, y| y * y)[2], variance * across * across);
    for (mean, expected) in over_cloud(&of, |x, _| x).iter().zip([q, -q, 0.0]) {
        close(*mean, expected);
    }
    // Guinier's law compared with the same integral in polar coordinates.
    let model = |x: f64, y: f64| (-(x * x + y * y) * 30_f64.powi(2) / 3.0).exp();
    let ring = |r: f64| {
        simpson(0.0, std::f64::consts::TAU, 200, |phi| {
            let (a, b) = (along * r * phi.cos(), across * r * phi.sin());
            let root = 0.5_f64.sqrt();
            model(q + root * (a - b), q + root * (a + b))
        }) / std::f64::consts::TAU
    };
    let weight = |r: f64| r * (-0.5 * r * r).exp();
    let expected = simpson(0.0, 3.0, 400, |r| ring(r) * weight(r)) / simpson(0.0, 3.0, 400, weight);
    assert_close(over_cloud(&of, model)[0], expected, 1e-7, "Guinier");
}
