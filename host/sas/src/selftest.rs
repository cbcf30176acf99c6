//! Kernels of scattering models: the device's intensities compared with averages written as plain
//! loops.
//!
//! Each case is a complete evaluation, because the partial sums that a kernel writes depend on how
//! the work is divided. Every model is computed on a curve and, if it has an orientation, on
//! pixels, for two parameter vectors at once. Features that do not depend on the model (meshes of
//! one to five axes, weights that are zero or cut off, products, resolution, magnetism, odd numbers
//! of points, batches) are tested with a few models.

use crate::cuda::GpuEngine;
use crate::orientation::{directions, level};
use crate::plan::Plan;
use crate::{
    Calculation, Definition, Distribution, Engine, Points, Polydispersity, Precision, Resolution,
    Role, SasError, Vector,
};
use warpstride_cuda::gpu::{Device, GpuError};
use warpstride_kernels::registry;
use warpstride_kernels::sas::catalogue::models;
use warpstride_kernels::sas::model::{Symmetry, Wave};
use warpstride_selftest::bench::Size;
use warpstride_selftest::bench::{Bench, Case};

/// Tolerances relative to the largest intensities: some hundred roundings in double precision; in
/// single precision the rounding of the wave vector counts too.
const TOLERANCES: [(Precision, f64, &str); 2] = [
    (Precision::F64, 1e-11, "f64"),
    (Precision::F32, 5e-5, "f32"),
];

/// Reference: every particle and direction, one after the other, in double precision.
fn definition(calculation: &Calculation, vector: &Vector) -> Result<Vec<f64>, SasError> {
    let plan = Plan::new(calculation, vector)?;
    let form = calculation.definition.form();
    let points: Vec<(f64, f64)> = match calculation.fine_points() {
        Points::Curve(q) => q.iter().map(|q| (*q, 0.0)).collect(),
        Points::Pixels { qx, qy } => qx.iter().copied().zip(qy.iter().copied()).collect(),
    };
    let flat = matches!(calculation.fine_points(), Points::Pixels { .. });
    let (mut amplitudes, mut intensities) = (Vec::new(), Vec::new());
    for (x, y) in points {
        let q = x.hypot(y);
        let waves = waves(form.symmetry(), &plan, flat, (x, y));
        let (mut first, mut second) = (0.0, 0.0);
        for channel in 0..plan.channels.len().max(1) {
            let mut values = plan.particles.base().to_vec();
            for index in 0..plan.particles.len() {
                let weight = plan.particles.fill_values(index, &mut values);
                if !form.volume(&values).material.is_finite() {
                    continue;
                }
                let mut effective = values.clone();
                let mut share = 1.0;
                if let Some(channel) = plan.channels.get(channel) {
                    share = channel.weight;
                    for (sld, index) in form.slds().iter().enumerate() {
                        effective[*index] = channel.sld(sld, values[*index], (x / q, y / q));
                    }
                }
                for (wave, of_wave, rotation_weight) in &waves {
                    if plan.above_cutoff(weight * rotation_weight) && weight * rotation_weight > 0.0
                    {
                        let form = form.form(wave, &effective);
                        first += share * weight * of_wave * form.amplitude;
                        second += share * weight * of_wave * form.intensity;
                    }
                }
            }
        }
        amplitudes.push(first);
        intensities.push(second);
    }
    Ok(plan.intensities(calculation, &amplitudes, &intensities))
}

/// Wave vectors in the particle's frame, their weights, and the orientation's share of the weights.
fn waves(
    symmetry: Symmetry,
    plan: &Plan,
    flat: bool,
    (x, y): (f64, f64),
) -> Vec<(Wave<f64>, f64, f64)> {
    let q = x.hypot(y);
    let none = Wave {
        q,
        across: 0.0,
        along: 0.0,
        a: 0.0,
        b: 0.0,
        c: 0.0,
    };
    let of = |a: f64, b: f64, c: f64| match symmetry {
        Symmetry::Isotropic => none,
        Symmetry::Axial => Wave {
            across: a.hypot(b),
            along: c,
            ..none
        },
        Symmetry::Triaxial => Wave { a, b, c, ..none },
    };
    if symmetry == Symmetry::Isotropic {
        return vec![(none, 1.0, 1.0)];
    }
    if flat {
        let rotations = plan.rotations.iter();
        return rotations
            .map(|rotation| {
                let [a, b, c] = rotation.rows.map(|row| row[0] * x + row[1] * y);
                (of(a, b, c), rotation.weight, rotation.weight)
            })
            .collect();
    }
    let rule = directions(symmetry, level(q * plan.averages.half_size));
    (0..rule.len())
        .map(|i| {
            let a = rule.a.get(i).copied().unwrap_or(0.0);
            let wave = of(q * a, q * rule.b[i], q * rule.c[i]);
            (wave, rule.weights[i], 1.0)
        })
        .collect()
}

/// The entry of a kernel in the registry.
fn entry(name: &str) -> &'static str {
    let mut names = registry().iter().map(|kernel| kernel.entry);
    names
        .find(|entry| *entry == name)
        .unwrap_or("a kernel that is not in the registry")
}

/// A Gaussian distribution with `points` mesh points.
fn gaussian(parameter: usize, points: usize) -> Polydispersity {
    Polydispersity {
        parameter,
        distribution: Distribution::Gaussian,
        points,
        nsigma: 2.0,
        is_given: true,
    }
}

/// Compares the device with the reference for a batch of vectors.
fn compare<M: Device>(
    bench: &mut Bench<'_, M>,
    kernel: &'static str,
    shape: String,
    calculation: &Calculation,
    vectors: &[Vector],
) -> Result<(), GpuError> {
    let tolerance = TOLERANCES
        .iter()
        .find(|(p, ..)| *p == calculation.precision);
    let tolerance = tolerance.map_or(0.0, |(_, tolerance, _)| *tolerance);
    let found = GpuEngine::new(bench.device(), calculation.clone())
        .and_then(|mut engine| engine.evaluate(vectors));
    let found = match found {
        Err(SasError::Gpu(error)) => return Err(error),
        found => found,
    };
    let expected: Result<Vec<_>, _> = vectors.iter().map(|v| definition(calculation, v)).collect();
    // An error yields NaN, with which no case passes.
    let (found, expected) = match (found, expected) {
        (Ok(found), Ok(expected)) => (found.concat(), expected.concat()),
        _ => (vec![f64::NAN], vec![1.0]),
    };
    bench.compare(
        Case::named(kernel, shape).within(tolerance),
        &found,
        &expected,
    );
    Ok(())
}

/// Pixels off the axes.
fn pixels(count: usize) -> Points {
    let at = |i: usize, rotation: f64| 0.02 * (1.0 + i as f64) * (rotation + 1.7 * i as f64).cos();
    Points::Pixels {
        qx: (0..count).map(|i| at(i, 0.0)).collect(),
        qy: (0..count).map(|i| at(i, 4.5)).collect(),
    }
}

fn curve(count: usize) -> Points {
    Points::Curve(
        (0..count)
            .map(|i| 0.003 * 1.9_f64.powi(i as i32 % 7) + 1e-4 * i as f64)
            .collect(),
    )
}

/// Distributions of two sizes, and in two dimensions of one angle.
fn some_polydispersity(definition: &Definition, flat: bool) -> Vec<Polydispersity> {
    let rows = definition.rows().iter().enumerate();
    let candidates = rows.filter(|(_, row)| row.polydisperse && row.default > 0.0);
    let (mut polydispersity, mut sizes) = (Vec::new(), 0);
    for (index, row) in candidates {
        match row.role {
            Role::Form(_) if sizes < 2 => {
                sizes += 1;
                polydispersity.push(gaussian(index, 4 - sizes));
            }
            Role::Angle(0) if flat => polydispersity.push(gaussian(index, 2)),
            _ => {}
        }
    }
    polydispersity
}

/// The default values and another vector, both polydisperse.
fn two_vectors(calculation: &Calculation) -> [Vector; 2] {
    let rows = calculation.definition.rows();
    let width = |size: f64, angle: f64| -> Vec<f64> {
        let polydispersity = calculation.polydispersity.iter();
        polydispersity
            .map(|polydispersity| match rows[polydispersity.parameter].role {
                Role::Angle(_) => angle,
                _ => size,
            })
            .collect()
    };
    let first = Vector {
        values: calculation.definition.defaults(),
        widths: width(0.1, 10.0),
    };
    let mut second = Vector {
        widths: width(0.05, 0.0),
        ..first.clone()
    };
    for (value, row) in second.values.iter_mut().zip(rows) {
        if row.sld || row.role == Role::Background {
            *value += 0.25;
        }
    }
    [first, second]
}

/// Every model, in both precisions, on a curve and on pixels.
/// The cases of its kernels.
///
/// # Errors
/// An error of the device.
pub fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    for model in models() {
        let name = model.info().name;
        let Ok(definition) = Definition::parse(name) else {
            continue;
        };
        for (precision, _, suffix) in TOLERANCES {
            for flat in [false, true] {
                if flat && model.symmetry() == Symmetry::Isotropic {
                    continue;
                }
                let dimensions = if flat { "_2d" } else { "" };
                let kernel = entry(&format!("sas_{name}{dimensions}_{suffix}"));
                let points = if flat { pixels(5) } else { curve(3) };
                let mut calculation = Calculation::new(definition.clone(), points);
                calculation.precision = precision;
                calculation.polydispersity = some_polydispersity(&definition, flat);
                let vectors = two_vectors(&calculation);
                let shape = format!("{} spreads", calculation.polydispersity.len());
                compare(bench, kernel, shape, &calculation, &vectors)?;
            }
        }
    }
    model_independent_cases(bench, size)
}

/// Cases that do not depend on the model.
fn model_independent_cases<M: Device>(
    bench: &mut Bench<'_, M>,
    size: Size,
) -> Result<(), GpuError> {
    let of = |name: &str, points: Points| {
        Definition::parse(name).map(|definition| Calculation::new(definition, points))
    };
    let large = size == Size::Device;
    for (precision, _, suffix) in TOLERANCES {
        let finish_curve = entry(&format!("sas_finish_curve_{suffix}"));
        let finish_image = entry(&format!("sas_finish_image_{suffix}"));
        // (Points, particles).
        let mut sizes = vec![(1, 1), (37, 1), (2, 37), (1, 129)];
        if large {
            sizes.extend([(199, 1225), (64, 35)]);
        }
        for (points, particles) in sizes {
            for name in ["sphere", "cylinder"] {
                let Ok(mut calculation) = of(name, curve(points)) else {
                    continue;
                };
                calculation.precision = precision;
                let radius = calculation
                    .definition
                    .parameter_index("radius")
                    .unwrap_or_default();
                calculation.polydispersity = vec![gaussian(radius, particles)];
                let first = Vector {
                    widths: vec![0.2],
                    ..calculation.defaults()
                };
                let mut narrow = first.clone();
                narrow.widths[0] = 0.0;
                let shape = format!("{name}, {points} points, {particles} particles, 3 vectors");
                compare(
                    bench,
                    finish_curve,
                    shape,
                    &calculation,
                    &[first.clone(), narrow, first],
                )?;
            }
        }
        five_axes(bench, finish_curve, precision)?;
        for (name, set) in [
            ("sphere@hardsphere", "structure_factor_mode"),
            ("cylinder@hardsphere", "radius_effective_mode"),
        ] {
            for points in [curve(5), pixels(7)] {
                let flat = matches!(points, Points::Pixels { .. });
                let Ok(mut calculation) = of(name, points) else {
                    continue;
                };
                calculation.precision = precision;
                let radius = calculation
                    .definition
                    .parameter_index("radius")
                    .unwrap_or_default();
                calculation.polydispersity = vec![gaussian(radius, 3)];
                let first = Vector {
                    widths: vec![0.1],
                    ..calculation.defaults()
                };
                let mut second = first.clone();
                if let Ok(index) = calculation.definition.parameter_index(set) {
                    second.values[index] = 1.0;
                }
                let kernel = if flat && name.starts_with("cylinder") {
                    finish_image
                } else {
                    finish_curve
                };
                compare(
                    bench,
                    kernel,
                    name.to_owned(),
                    &calculation,
                    &[first, second],
                )?;
            }
        }
        magnetic(bench, precision, [finish_curve, finish_image])?;
    }
    smeared(bench)
}

/// Five polydisperse parameters, one of them with weights of zero, without and with a cutoff.
fn five_axes<M: Device>(
    bench: &mut Bench<'_, M>,
    kernel: &'static str,
    precision: Precision,
) -> Result<(), GpuError> {
    let Ok(definition) = Definition::parse("core_shell_parallelepiped") else {
        return Ok(());
    };
    let mut calculation = Calculation::new(definition, curve(2));
    calculation.precision = precision;
    let rows = calculation.definition.rows();
    let sizes = (0..rows.len())
        .filter(|index| rows[*index].polydisperse && matches!(rows[*index].role, Role::Form(_)));
    calculation.polydispersity = sizes
        .take(5)
        .zip([2, 1, 3, 2, 2])
        .map(|(p, n)| gaussian(p, n))
        .collect();
    let first = rows[calculation.polydispersity[0].parameter].default;
    calculation.polydispersity[0].distribution =
        Distribution::Array(vec![(first, 1.0), (2.0 * first, 0.0), (1.5 * first, 3.0)]);
    let vector = Vector {
        widths: vec![0.1; calculation.polydispersity.len()],
        ..calculation.defaults()
    };
    for cutoff in [0.0, 0.02] {
        calculation.cutoff = cutoff;
        let shape = format!(
            "{} spreads, cutoff {cutoff}",
            calculation.polydispersity.len()
        );
        compare(
            bench,
            kernel,
            shape,
            &calculation,
            std::slice::from_ref(&vector),
        )?;
    }
    Ok(())
}

/// Polarised neutrons scattered by magnetic spheres and cylinders.
fn magnetic<M: Device>(
    bench: &mut Bench<'_, M>,
    precision: Precision,
    kernels: [&'static str; 2],
) -> Result<(), GpuError> {
    for (name, kernel) in [("sphere", kernels[0]), ("cylinder", kernels[1])] {
        let Ok(definition) = Definition::parse(name) else {
            continue;
        };
        let mut calculation = Calculation::new(definition.with_magnetism(), pixels(6));
        calculation.precision = precision;
        let plain = calculation.defaults();
        let mut rotation_weight = plain.clone();
        for (name, value) in [
            ("sld_M0", 3.0),
            ("sld_mtheta", 70.0),
            ("sld_mphi", 20.0),
            ("up_frac_i", 0.8),
            ("up_frac_f", 0.3),
        ] {
            if let Ok(index) = calculation.definition.parameter_index(name) {
                rotation_weight.values[index] = value;
            }
        }
        let shape = format!("{name}, magnetic");
        compare(
            bench,
            kernel,
            shape,
            &calculation,
            &[rotation_weight, plain],
        )?;
    }
    Ok(())
}

/// Rows with zero, one and many fine points.
fn smeared<M: Device>(bench: &mut Bench<'_, M>) -> Result<(), GpuError> {
    let Ok(definition) = Definition::parse("sphere") else {
        return Ok(());
    };
    let count = [1, 0, 41, 3];
    let mut calculation = Calculation::new(definition, curve(4));
    calculation.resolution = Some(Resolution {
        fine: curve(43),
        first: vec![42, 0, 2, 40],
        weights: (0..45).map(|i| 1.0 / f64::from(i + 2)).collect(),
        count: count.to_vec(),
    });
    let vectors = two_vectors(&calculation);
    compare(
        bench,
        entry("sas_smear"),
        "4 rows".to_owned(),
        &calculation,
        &vectors,
    )
}
