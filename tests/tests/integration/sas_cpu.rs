//! Intensities on the CPU compared with sums written as loops, with SASfit's curves, and with
//! themselves for other numbers of threads, other batches, other vector units and single precision.

use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::orientation::{directions, level};
use warpstride::sas::plan::Plan;
use warpstride::sas::{
    Calculation, Definition, Distribution, Engine, Points, Polydispersity, Precision, Vector,
};
use warpstride_kernels::sas::catalogue::{AnyModel, models};
use warpstride_kernels::sas::model::{Symmetry, Wave};
use warpstride_kernels::sas::simd::Units;
use warpstride_tests::{shared_data, skipped};

/// Intensities at each point.
fn intensities(calculation: &Calculation, vector: &Vector) -> Vec<f64> {
    let mut engine = CpuEngine::new(calculation.clone());
    engine
        .evaluate(std::slice::from_ref(vector))
        .unwrap()
        .remove(0)
}

/// A calculation and its vector: values of `set`, and distributions (name, width, distribution,
/// points, reach).
fn calculation_of(
    model: &str,
    points: Points,
    set: &[(&str, f64)],
    polydispersity: &[(&str, f64, Distribution, usize, f64)],
) -> (Calculation, Vector) {
    let mut calculation = Calculation::new(Definition::parse(model).unwrap(), points);
    let mut values = calculation.definition.defaults();
    for (name, value) in set {
        values[calculation.definition.parameter_index(name).unwrap()] = *value;
    }
    let mut widths = Vec::new();
    for (name, width, distribution, points, nsigma) in polydispersity {
        calculation.polydispersity.push(Polydispersity {
            is_given: true,
            parameter: calculation.definition.parameter_index(name).unwrap(),
            distribution: distribution.clone(),
            points: *points,
            nsigma: *nsigma,
        });
        widths.push(*width);
    }
    (calculation, Vector { values, widths })
}

fn logarithmic(first: f64, last: f64, n: usize) -> Points {
    let step = (last / first).ln() / (n - 1) as f64;
    Points::Curve((0..n).map(|i| first * (step * i as f64).exp()).collect())
}

/// `n`² pixels up to ±0.2 1/Å.
fn square(n: usize) -> Points {
    let at = |i: usize| -0.2 + 0.4 * i as f64 / (n - 1) as f64;
    let (qx, qy) = (0..n * n).map(|i| (at(i % n), at(i / n))).unzip();
    Points::Pixels { qx, qy }
}

const GAUSSIAN: Distribution = Distribution::Gaussian;

/// Sums over 128² pixels of an obliquely oriented cylinder match those of an independent program.
#[test]
fn images_of_cylinders_match_another_program() {
    let view = [("theta", 60.0), ("phi", 30.0)];
    let jitter = [
        ("theta", 15.0, GAUSSIAN, 15, 3.0),
        ("phi", 15.0, GAUSSIAN, 15, 3.0),
        ("radius", 0.1, GAUSSIAN, 10, 3.0),
    ];
    for (polydispersity, expected) in [
        (&jitter[..0], 135_081.131_3),
        (&jitter[..2], 141_258.951_6),
        (&jitter[..], 144_131.046_6),
    ] {
        let (calculation, vector) = calculation_of("cylinder", square(128), &view, polydispersity);
        let sum: f64 = intensities(&calculation, &vector).iter().sum();
        assert!((sum / expected - 1.0).abs() < 1e-8, "{sum}, {expected}");
    }
}

/// Half a unit of the sixth digit, the last one in SASfit's files.
fn half_a_digit(value: f64) -> f64 {
    0.5 * 10f64.powf(value.abs().log10().floor() - 5.0)
}

/// SASfit's curves agree with ours up to a constant factor to 1e-5. q is known only to the digits
/// of its files: on a steep flank half a unit of the last digit changes the intensity by 1.2e-5.
#[test]
fn curves_match_sasfit() {
    let mono: [(&str, f64, Distribution, usize, f64); 0] = [];
    let contrast = [("sld", 4.0), ("sld_solvent", 1.0), ("background", 0.0)];
    let with = |more: &[(&'static str, f64)]| [&contrast[..], more].concat();
    let ellipsoid = with(&[("radius_polar", 20.0), ("radius_equatorial", 10.0)]);
    let sphere = with(&[("radius", 20.0)]);
    let fine = |name, width, distribution| vec![(name, width, distribution, 400, 8.0)];
    let cases = [
        ("ellipsoid_IQM", "ellipsoid", &ellipsoid, mono.to_vec()),
        (
            "ellipsoid_IQD",
            "ellipsoid",
            &ellipsoid,
            fine("radius_polar", 0.1, GAUSSIAN),
        ),
        (
            "sphere_IQD",
            "sphere",
            &sphere,
            fine("radius", 0.1, GAUSSIAN),
        ),
        (
            "sphere_schulz_IQD",
            "sphere",
            &sphere,
            // SASfit's exponent is one less than (radius/σ)² − 1 = 99 for the file's 10 %.
            fine("radius", 1.0 / 99f64.sqrt(), Distribution::Schulz),
        ),
    ];
    for (file, model, set, polydispersity) in cases {
        let path = match shared_data(&format!("sas/sasfit_{file}.txt")) {
            Ok(path) => path,
            Err(why) => {
                skipped("SASfit's curves", &why);
                return;
            }
        };
        let text = std::fs::read_to_string(path).unwrap();
        let columns = |line: &str| -> Option<(f64, f64)> {
            let mut fields = line.split(';').map(|field| field.trim().parse().ok());
            Some((fields.next()??, fields.next()??))
        };
        let (q, theirs): (Vec<f64>, Vec<f64>) = text.lines().filter_map(columns).unzip();
        assert!(q.len() > 50, "{file}: {} points", q.len());
        let at = |side: f64| {
            let moved = q.iter().map(|q| q + side * half_a_digit(*q)).collect();
            let (calculation, vector) =
                calculation_of(model, Points::Curve(moved), set, &polydispersity);
            intensities(&calculation, &vector)
        };
        let (below, ours, above) = (at(-1.0), at(0.0), at(1.0));
        let mut ratios: Vec<f64> = theirs.iter().zip(&ours).map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        let factor = ratios[ratios.len() / 2];
        for (i, theirs) in theirs.iter().map(|theirs| theirs / factor).enumerate() {
            let least = below[i].min(ours[i]).min(above[i]) * (1.0 - 1e-5);
            let most = below[i].max(ours[i]).max(above[i]) * (1.0 + 1e-5);
            assert!(
                least <= theirs && theirs <= most,
                "{file}, q {}: {theirs}, expected {least} to {most}",
                q[i]
            );
        }
    }
}

/// ⟨F⟩ and ⟨F²⟩ of one particle, summed over directions.
fn averaged(form: &dyn AnyModel, values: &[f64], q: f64) -> (f64, f64) {
    let all = directions(form.symmetry(), level(q * form.largest_half_size(values)));
    let (mut f1, mut f2) = (0.0, 0.0);
    for i in 0..all.len() {
        let zero = Wave {
            q,
            across: 0.0,
            along: 0.0,
            a: 0.0,
            b: 0.0,
            c: 0.0,
        };
        let wave = match form.symmetry() {
            Symmetry::Isotropic => zero,
            Symmetry::Axial => Wave {
                across: q * all.b[i],
                along: q * all.c[i],
                ..zero
            },
            Symmetry::Triaxial => Wave {
                a: q * all.a[i],
                b: q * all.b[i],
                c: q * all.c[i],
                ..zero
            },
        };
        let form = form.form(&wave, values);
        f1 += all.weights[i] * form.amplitude;
        f2 += all.weights[i] * form.intensity;
    }
    (f1, f2)
}

/// Every model's default curve is the sum over directions on every vector unit; single precision is
/// close to it.
#[test]
fn curves_of_all_models_are_sums_over_directions() {
    let q = [0.0011, 0.007, 0.013, 0.04, 0.09, 0.21, 0.33];
    for form in models() {
        let name = form.info().name;
        let (mut calculation, vector) = calculation_of(name, Points::Curve(q.to_vec()), &[], &[]);
        let plan = Plan::new(&calculation, &vector).unwrap();
        let values = plan.particles.base();
        let expected = q.map(|q| {
            averaged(*form, values, q).1 / plan.averages.material + form.info().background
        });
        let near = |found: &[f64], tolerance: f64, what: &str| {
            for ((q, found), expected) in q.iter().zip(found).zip(&expected) {
                assert!(
                    (found - expected).abs() <= tolerance * expected.abs(),
                    "{name}, {what}, q {q}: {found}, expected {expected}"
                );
            }
        };
        for units in [Units::Plain, Units::Avx2, Units::Avx512] {
            let mut engine = CpuEngine::with_units(calculation.clone(), units);
            let found = engine.evaluate(std::slice::from_ref(&vector)).unwrap();
            near(&found[0], 1e-9, &format!("{units:?}"));
        }
        calculation.precision = Precision::F32;
        near(&intensities(&calculation, &vector), 2e-2, "f32");
    }
}

/// Every model's default image is the same on every vector unit.
#[test]
fn images_of_all_models_agree_on_all_vector_units() {
    for form in models() {
        let name = form.info().name;
        let (calculation, vector) = calculation_of(name, square(9), &[], &[]);
        let of = |units| {
            let mut engine = CpuEngine::with_units(calculation.clone(), units);
            engine
                .evaluate(std::slice::from_ref(&vector))
                .unwrap()
                .remove(0)
        };
        let plain = of(Units::Plain);
        // A model that diverges at q = 0 is infinite in the centre.
        let finite = plain.iter().copied().filter(|value| value.is_finite());
        let most = finite.fold(0.0, f64::max);
        for units in [Units::Avx2, Units::Avx512] {
            for (a, b) in of(units).iter().zip(&plain) {
                let near = *a == *b || (a - b).abs() <= 1e-9 * b.abs() + 1e-13 * most;
                assert!(
                    near || (a.is_nan() && b.is_nan()),
                    "{name}, {units:?}: {a}, {b}"
                );
            }
        }
    }
}

/// Results have the same bits with one thread and three, alone and in a batch, and with or without
/// other points.
#[test]
fn results_do_not_depend_on_threads_batches_or_other_points() {
    let polydispersity = [
        ("radius", 0.1, GAUSSIAN, 35, 3.0),
        ("length", 0.2, Distribution::Schulz, 20, 6.0),
    ];
    let (curve, vector) = calculation_of(
        "cylinder",
        logarithmic(0.001, 0.4, 50),
        &[],
        &polydispersity,
    );
    let jitter = [
        ("theta", 10.0, GAUSSIAN, 7, 3.0),
        ("radius", 0.1, GAUSSIAN, 80, 3.0),
    ];
    let (image, image_vector) = calculation_of("cylinder", square(24), &[], &jitter);
    for (calculation, vector) in [(curve, vector), (image, image_vector)] {
        let alone = intensities(&calculation, &vector);
        let mut other = vector.clone();
        other.values[calculation.definition.parameter_index("radius").unwrap()] = 31.0;
        let batch = [other.clone(), vector.clone(), other];
        let pool = |threads| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
        };
        for threads in [1, 3] {
            let mut engine = CpuEngine::new(calculation.clone());
            let found = pool(threads).install(|| engine.evaluate(&batch)).unwrap();
            assert!(found[1] == alone, "{threads} threads");
        }
        let cut = match &calculation.points {
            Points::Curve(q) => Points::Curve(q[3..30].to_vec()),
            Points::Pixels { qx, qy } => Points::Pixels {
                qx: qx[3..30].to_vec(),
                qy: qy[3..30].to_vec(),
            },
        };
        let mut fewer = calculation.clone();
        fewer.points = cut;
        assert!(intensities(&fewer, &vector) == alone[3..30]);
    }
}

/// Products with and without β, and with a cutoff, match sums written as loops.
#[test]
fn products_and_cutoffs_match_plain_sums() {
    let polydispersity = [
        ("radius", 0.3, GAUSSIAN, 25, 3.0),
        ("thickness", 0.2, GAUSSIAN, 9, 3.0),
    ];
    for (beta, cutoff) in [(0.0, 0.0), (1.0, 0.0), (1.0, 2e-3)] {
        let set = [
            ("structure_factor_mode", beta),
            ("radius_effective_mode", 1.0),
            ("volfraction", 0.15),
            ("scale", 0.7),
        ];
        let (mut calculation, vector) = calculation_of(
            "core_shell_sphere@hardsphere",
            logarithmic(0.002, 0.2, 9),
            &set,
            &polydispersity,
        );
        calculation.cutoff = cutoff;
        let found = intensities(&calculation, &vector);
        let plan = Plan::new(&calculation, &vector).unwrap();
        let form = calculation.definition.form();
        let structure = calculation.definition.structure().unwrap();
        let Points::Curve(q) = &calculation.points else {
            unreachable!()
        };
        let mut values = plan.particles.base().to_vec();
        let (mut kept, mut weights, mut volume, mut radius) = (0, 0.0, 0.0, 0.0);
        let (mut f1, mut f2) = (vec![0.0; q.len()], vec![0.0; q.len()]);
        for i in 0..plan.particles.len() {
            let weight = plan.particles.fill_values(i, &mut values);
            if weight <= cutoff {
                continue;
            }
            kept += 1;
            weights += weight;
            volume += weight * form.volume(&values).material;
            radius += weight * form.effective_radius(&values, 1);
            for (k, q) in q.iter().enumerate() {
                let (a, b) = averaged(form, &values, *q);
                f1[k] += weight * a;
                f2[k] += weight * b;
            }
        }
        assert_eq!(kept < plan.particles.len(), cutoff > 0.0);
        let mut hard = plan.product.as_ref().unwrap().mesh.base().to_vec();
        (hard[0], hard[1]) = (radius / weights, 0.15);
        for (k, q) in q.iter().enumerate() {
            let s = averaged(structure, &hard, *q).1;
            let (f1, f2) = (f1[k] / weights, f2[k] / weights);
            let both = if beta > 0.5 {
                f2 + f1 * f1 * (s - 1.0)
            } else {
                f2 * s
            };
            let expected = 0.7 * 0.15 * both / (volume / weights) + 0.001;
            assert!(
                (found[k] / expected - 1.0).abs() < 1e-11,
                "β {beta}, cutoff {cutoff}, q {q}: {}, {expected}",
                found[k]
            );
        }
    }
}

/// β is 1 for monodisperse spheres.
#[test]
fn beta_of_monodisperse_spheres_is_one() {
    let of = |beta: f64| {
        let set = [("structure_factor_mode", beta), ("volfraction", 0.3)];
        let (calculation, vector) =
            calculation_of("sphere@hardsphere", logarithmic(0.001, 0.1, 40), &set, &[]);
        intensities(&calculation, &vector)
    };
    for (a, b) in of(0.0).iter().zip(&of(1.0)) {
        assert!((a / b - 1.0).abs() < 1e-12);
    }
}

/// A magnetic sphere whose moment is parallel to the polarisation: for q parallel to both it
/// scatters as if it were not magnetic; for perpendicular q its density is ρ ± M, depending on the
/// spin.
#[test]
fn magnetic_spheres_scatter_by_the_perpendicular_moment() {
    let points = Points::Pixels {
        qx: vec![0.03, 0.0],
        qy: vec![0.0, 0.03],
    };
    let of = |sld: f64, moment: f64, up: f64| {
        let definition = Definition::parse("sphere").unwrap().with_magnetism();
        let calculation = Calculation::new(definition, points.clone());
        let mut vector = calculation.defaults();
        let set = [
            ("sld", sld),
            ("sld_M0", moment),
            ("sld_mtheta", 90.0),
            ("up_frac_i", up),
            ("up_frac_f", up),
        ];
        for (name, value) in set {
            vector.values[calculation.definition.parameter_index(name).unwrap()] = value;
        }
        intensities(&calculation, &vector)
    };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
    for (up, sign) in [(1.0, 1.0), (0.0, -1.0)] {
        let found = of(2.0, 1.5, up);
        assert!(near(found[0], of(2.0, 0.0, up)[0]));
        assert!(near(found[1], of(2.0 + sign * 1.5, 0.0, up)[1]));
    }
}
