//! The kernels of scattering models: the machine's intensities against the averages written as plain loops.
//!
//! A kernel's case is a whole evaluation, because what it writes (partial sums, cut by the size of the problem) means
//! nothing by itself. Every model is computed on a curve and, where it has an axis, on pixels, for two parameter
//! vectors at once; what does not depend on the model (meshes of one to five axes, weights that are zero or cut
//! away, products, resolution, magnetism, odd numbers of points, batches) for a few of them.

use super::Size;
use super::bench::{Bench, Case};
use crate::gpu::{GpuError, Machine};
use crate::sas::cuda::GpuEngine;
use crate::sas::orientation::{directions, level};
use crate::sas::plan::Plan;
use crate::sas::{
    Calculation, Definition, Distribution, Engine, Points, Precision, Resolution, Role, SasError,
    Spread, Vector,
};
use warpstride_kernels::registry;
use warpstride_kernels::sas::catalogue::models;
use warpstride_kernels::sas::model::{Symmetry, Wave};

/// Relative to the largest intensities: double precision leaves some hundred roundings, of single precision the
/// wave vector's own counts too.
const TOLERANCES: [(Precision, f64, &str); 2] = [
    (Precision::F64, 1e-11, "f64"),
    (Precision::F32, 5e-5, "f32"),
];

/// The definition: every particle and direction, one after the other, in double precision.
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
                let weight = plan.particles.read(index, &mut values);
                if !form.volume(&values).material.is_finite() {
                    continue;
                }
                let mut seen = values.clone();
                let mut share = 1.0;
                if let Some(channel) = plan.channels.get(channel) {
                    share = channel.weight;
                    for (sld, place) in form.slds().iter().enumerate() {
                        seen[*place] = channel.sld(sld, values[*place], (x / q, y / q));
                    }
                }
                for (wave, of_wave, turned) in &waves {
                    if plan.keeps(weight * turned) && weight * turned > 0.0 {
                        let form = form.form(wave, &seen);
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

/// Wave vectors in the particle's frame, their weights, and the orientation's among them.
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
        let turns = plan.turns.iter();
        return turns
            .map(|turn| {
                let [a, b, c] = turn.rows.map(|row| row[0] * x + row[1] * y);
                (of(a, b, c), turn.weight, turn.weight)
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

/// The registry's name of a kernel.
fn entry(name: &str) -> &'static str {
    let mut names = registry().iter().map(|kernel| kernel.entry);
    names
        .find(|entry| *entry == name)
        .unwrap_or("a kernel that the registry lacks")
}

/// A spread over some points.
fn spread(parameter: usize, points: usize) -> Spread {
    Spread {
        parameter,
        distribution: Distribution::Gaussian,
        points,
        nsigma: 2.0,
    }
}

/// Evaluates the vectors in one batch, with the machine and by the definition.
fn compare<M: Machine>(
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
    let found = GpuEngine::new(bench.machine(), calculation.clone())
        .and_then(|mut engine| engine.evaluate(vectors));
    let found = match found {
        Err(SasError::Gpu(error)) => return Err(error),
        found => found,
    };
    let expected: Result<Vec<_>, _> = vectors.iter().map(|v| definition(calculation, v)).collect();
    // A refusal has no values, which no case passes with.
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

/// Pixels that lie on no axis.
fn pixels(count: usize) -> Points {
    let at = |i: usize, turn: f64| 0.02 * (1.0 + i as f64) * (turn + 1.7 * i as f64).cos();
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

/// Two spreads of sizes, and in two dimensions one of angles.
fn some_spreads(definition: &Definition, flat: bool) -> Vec<Spread> {
    let rows = definition.rows().iter().enumerate();
    let may = rows.filter(|(_, row)| row.spreads && row.default > 0.0);
    let (mut spreads, mut sizes) = (Vec::new(), 0);
    for (place, row) in may {
        match row.role {
            Role::Form(_) if sizes < 2 => {
                sizes += 1;
                spreads.push(spread(place, 4 - sizes));
            }
            Role::Angle(0) if flat => spreads.push(spread(place, 2)),
            _ => {}
        }
    }
    spreads
}

/// The defaults and another vector, with spreads.
fn two_vectors(calculation: &Calculation) -> [Vector; 2] {
    let rows = calculation.definition.rows();
    let width = |size: f64, angle: f64| -> Vec<f64> {
        let spreads = calculation.spreads.iter();
        spreads
            .map(|spread| match rows[spread.parameter].role {
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
pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    for model in models() {
        let name = model.info().name;
        let Ok(definition) = Definition::parse(name) else {
            continue;
        };
        for (precision, _, word) in TOLERANCES {
            for flat in [false, true] {
                if flat && model.symmetry() == Symmetry::Isotropic {
                    continue;
                }
                let dimensions = if flat { "_2d" } else { "" };
                let kernel = entry(&format!("sas_{name}{dimensions}_{word}"));
                let points = if flat { pixels(5) } else { curve(3) };
                let mut calculation = Calculation::new(definition.clone(), points);
                calculation.precision = precision;
                calculation.spreads = some_spreads(&definition, flat);
                let vectors = two_vectors(&calculation);
                let shape = format!("{} spreads", calculation.spreads.len());
                compare(bench, kernel, shape, &calculation, &vectors)?;
            }
        }
    }
    whatever_model(bench, size)
}

/// What the kernels do alike for all models.
fn whatever_model<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    let of = |name: &str, points: Points| {
        Definition::parse(name).map(|definition| Calculation::new(definition, points))
    };
    let large = size == Size::Device;
    for (precision, _, word) in TOLERANCES {
        let finish_curve = entry(&format!("sas_finish_curve_{word}"));
        let finish_image = entry(&format!("sas_finish_image_{word}"));
        // Numbers of points and of particles.
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
                let radius = calculation.definition.place("radius").unwrap_or_default();
                calculation.spreads = vec![spread(radius, particles)];
                let one = Vector {
                    widths: vec![0.2],
                    ..calculation.defaults()
                };
                let mut narrow = one.clone();
                narrow.widths[0] = 0.0;
                let shape = format!("{name}, {points} points, {particles} particles, 3 vectors");
                compare(
                    bench,
                    finish_curve,
                    shape,
                    &calculation,
                    &[one.clone(), narrow, one],
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
                let radius = calculation.definition.place("radius").unwrap_or_default();
                calculation.spreads = vec![spread(radius, 3)];
                let one = Vector {
                    widths: vec![0.1],
                    ..calculation.defaults()
                };
                let mut other = one.clone();
                if let Ok(place) = calculation.definition.place(set) {
                    other.values[place] = 1.0;
                }
                let kernel = if flat && name.starts_with("cylinder") {
                    finish_image
                } else {
                    finish_curve
                };
                compare(bench, kernel, name.to_owned(), &calculation, &[one, other])?;
            }
        }
        magnetic(bench, precision, [finish_curve, finish_image])?;
    }
    smeared(bench)
}

/// Five polydisperse parameters, one of them with weights of zero, without and with a cutoff.
fn five_axes<M: Machine>(
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
        .filter(|place| rows[*place].spreads && matches!(rows[*place].role, Role::Form(_)));
    calculation.spreads = sizes
        .take(5)
        .zip([2, 1, 3, 2, 2])
        .map(|(p, n)| spread(p, n))
        .collect();
    let first = rows[calculation.spreads[0].parameter].default;
    calculation.spreads[0].distribution =
        Distribution::Array(vec![(first, 1.0), (2.0 * first, 0.0), (1.5 * first, 3.0)]);
    let vector = Vector {
        widths: vec![0.1; calculation.spreads.len()],
        ..calculation.defaults()
    };
    for cutoff in [0.0, 0.02] {
        calculation.cutoff = cutoff;
        let shape = format!("{} spreads, cutoff {cutoff}", calculation.spreads.len());
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

/// Polarised neutrons on spheres and on cylinders.
fn magnetic<M: Machine>(
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
        let mut turned = plain.clone();
        for (name, value) in [
            ("sld_M0", 3.0),
            ("sld_mtheta", 70.0),
            ("sld_mphi", 20.0),
            ("up_frac_i", 0.8),
            ("up_frac_f", 0.3),
        ] {
            if let Ok(place) = calculation.definition.place(name) {
                turned.values[place] = value;
            }
        }
        let shape = format!("{name}, magnetic");
        compare(bench, kernel, shape, &calculation, &[turned, plain])?;
    }
    Ok(())
}

/// Rows of no, one and many fine points.
fn smeared<M: Machine>(bench: &mut Bench<'_, M>) -> Result<(), GpuError> {
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
