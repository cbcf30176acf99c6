//! Small-angle scattering on the CPU: times of complete calls.
//!
//! `sas_cpu [--seconds S] [--threads N] [--plain] [CASE …]`; without cases all of them. A call runs
//! from parameters to intensities; its time is the minimum over the calls of S seconds.
//! `benches/sasmodels/compare.py` runs sasmodels on the same cases, for which `--plain` also prints
//! sums of intensities. G/s are 10⁹ evaluations of form factors per second.

use std::io::Write;
use std::time::{Duration, Instant};
use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::orientation::{directions, level};
use warpstride::sas::plan::Plan;
use warpstride::sas::{
    Calculation, Definition, Distribution, Engine, Points, Polydispersity, Vector,
};

const NAMES: [&str; 7] = [
    "sphere",
    "sphere-80",
    "cylinder",
    "cylinder-35x35",
    "ellipsoid-35",
    "parallelepiped",
    "cylinder-2d",
];

fn case(name: &str) -> anyhow::Result<(Calculation, Vector)> {
    let q = |i: usize| (1e-3_f64.ln() + (0.5_f64 / 1e-3).ln() * i as f64 / 199.0).exp();
    let curve = Points::Curve((0..200).map(q).collect());
    let pixel = |i: usize| -0.2 + 0.4 * i as f64 / 127.0;
    let (qx, qy) = (0..128 * 128)
        .map(|i| (pixel(i % 128), pixel(i / 128)))
        .unzip();
    let (model, points, polydispersity): (_, _, &[(&str, f64, usize)]) = match name {
        "sphere" => ("sphere", curve, &[]),
        "sphere-80" => ("sphere", curve, &[("radius", 0.1, 80)]),
        "cylinder" => ("cylinder", curve, &[]),
        "cylinder-35x35" => (
            "cylinder",
            curve,
            &[("radius", 0.1, 35), ("length", 0.1, 35)],
        ),
        "ellipsoid-35" => ("ellipsoid", curve, &[("radius_polar", 0.1, 35)]),
        "parallelepiped" => ("parallelepiped", curve, &[]),
        "cylinder-2d" => (
            "cylinder",
            Points::Pixels { qx, qy },
            &[("theta", 15.0, 15), ("phi", 15.0, 15), ("radius", 0.1, 10)],
        ),
        _ => anyhow::bail!("{name}: expected one of {}", NAMES.join(", ")),
    };
    let mut calculation = Calculation::new(Definition::parse(model)?, points);
    for (parameter, _, points) in polydispersity {
        calculation.polydispersity.push(Polydispersity {
            parameter: calculation.definition.parameter_index(parameter)?,
            distribution: Distribution::Gaussian,
            points: *points,
            nsigma: 3.0,
            is_given: true,
        });
    }
    let mut vector = calculation.defaults();
    vector.widths = polydispersity.iter().map(|(_, width, _)| *width).collect();
    Ok((calculation, vector))
}

/// Number of form factors that a call evaluates.
fn evaluations(calculation: &Calculation, vector: &Vector) -> anyhow::Result<f64> {
    let plan = Plan::new(calculation, vector)?;
    let form = calculation.definition.form();
    let mut values = plan.particles.base().to_vec();
    let mut count = 0;
    for index in 0..plan.particles.len() {
        plan.particles.fill_values(index, &mut values);
        count += match &calculation.points {
            Points::Pixels { qx, .. } => qx.len() * plan.rotations.len(),
            Points::Curve(q) => {
                let half_size = form.largest_half_size(&values);
                let nodes = |q: &f64| directions(form.symmetry(), level(q * half_size)).len();
                q.iter().map(nodes).sum()
            }
        };
    }
    Ok(count as f64)
}

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let (mut seconds, mut plain, mut names) = (2.0, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|n| n.parse::<f64>().ok());
        match argument.as_str() {
            "--seconds" => seconds = number().ok_or_else(|| anyhow::anyhow!("--seconds S"))?,
            "--threads" => {
                let n = number().ok_or_else(|| anyhow::anyhow!("--threads N"))?;
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n as usize);
                pool.build_global()?;
            }
            "--plain" => plain = true,
            _ => names.push(argument),
        }
    }
    if names.is_empty() {
        names = NAMES.map(String::from).to_vec();
    }
    for name in names {
        let (calculation, vector) = case(&name)?;
        let count = evaluations(&calculation, &vector)?;
        let mut engine = CpuEngine::new(calculation);
        let begin = Instant::now();
        let (mut best, mut sum) = (f64::INFINITY, 0.0);
        while best.is_infinite() || begin.elapsed() < Duration::from_secs_f64(seconds) {
            let start = Instant::now();
            let found = engine.evaluate(std::slice::from_ref(&vector))?;
            best = best.min(start.elapsed().as_secs_f64());
            sum = found[0].iter().sum();
        }
        if plain {
            writeln!(out, "{name} {best:e} {sum:e}")?;
        } else {
            let (ms, rate) = (1e3 * best, 1e-9 * count / best);
            writeln!(out, "{name:16} {ms:10.3} ms   {rate:6.3} G/s")?;
        }
    }
    Ok(())
}
