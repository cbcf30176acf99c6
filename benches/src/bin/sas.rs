//! Small-angle scattering on one GPU compared with the lower bound of its arithmetic.
//!
//! `sas [cylinder] [batch] [image] [table] [models]`; without arguments the first four. `cylinder`:
//! 200 q, radius and length polydisperse, 35 × 35. `batch`: 64 parameter vectors of spheres in one
//! call and in 64 calls. `image`: cylinders on 128² pixels, 15 × 15 orientations × 10 radii.
//! `table`: these three with other divisions into tasks and other launch grids; every grid must
//! give the same bits. `models`: the default values of each model, 200 q, compared with the CPU.
//!
//! The time of a call is measured on the host, from parameters to intensities, as the median of
//! many calls; that of a kernel is measured with events. The lower bound is the number of
//! double-precision instructions of the form factor, counted (`counted.rs`) at the computed points,
//! divided by 64 per clock and multiprocessor at `CLOCK_GHZ` (environment variable; default 1.98,
//! which gives 33.5 TFLOP/s on an H200).

use std::io::Write;
use std::time::Instant;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::cuda::{GpuEngine, Tuning, kernels};
use warpstride::sas::orientation::{directions, level};
use warpstride::sas::plan::Plan;
use warpstride::sas::{
    Calculation, Definition, Distribution, Engine, Points, Polydispersity, Precision, Vector,
};
use warpstride_benches::counted::{Counted, count};
use warpstride_benches::median;
use warpstride_kernels::sas::catalogue::models;
use warpstride_kernels::sas::model::{Model, Symmetry, Values, Wave};
use warpstride_kernels::sas::models::cylinder::Cylinder;

const CALLS: usize = 60;

struct Case {
    name: &'static str,
    calculation: Calculation,
    vectors: Vec<Vector>,
}

fn curve() -> Points {
    let q = |i: usize| (1e-3_f64.ln() + (0.5_f64 / 1e-3).ln() * i as f64 / 199.0).exp();
    Points::Curve((0..200).map(q).collect())
}

fn add_polydispersity(
    calculation: &mut Calculation,
    name: &str,
    points: usize,
) -> anyhow::Result<()> {
    calculation.polydispersity.push(Polydispersity {
        parameter: calculation.definition.parameter_index(name)?,
        distribution: Distribution::Gaussian,
        points,
        nsigma: 3.0,
        is_given: true,
    });
    Ok(())
}

fn cylinder() -> anyhow::Result<Case> {
    let mut calculation = Calculation::new(Definition::parse("cylinder")?, curve());
    add_polydispersity(&mut calculation, "radius", 35)?;
    add_polydispersity(&mut calculation, "length", 35)?;
    let mut vector = calculation.defaults();
    vector.widths = vec![0.1, 0.1];
    Ok(Case {
        name: "cylinder",
        calculation,
        vectors: vec![vector],
    })
}

fn spheres(count: usize) -> anyhow::Result<Case> {
    let mut calculation = Calculation::new(Definition::parse("sphere")?, curve());
    add_polydispersity(&mut calculation, "radius", 35)?;
    let radius = calculation.definition.parameter_index("radius")?;
    let vectors = (0..count).map(|i| {
        let mut vector = calculation.defaults();
        vector.values[radius] += 0.1 * i as f64;
        vector.widths = vec![0.1];
        vector
    });
    Ok(Case {
        name: "spheres",
        vectors: vectors.collect(),
        calculation,
    })
}

fn image() -> anyhow::Result<Case> {
    let at = |i: usize| -0.2 + 0.4 * i as f64 / 127.0;
    let points = Points::Pixels {
        qx: (0..128 * 128).map(|i| at(i % 128)).collect(),
        qy: (0..128 * 128).map(|i| at(i / 128)).collect(),
    };
    let mut calculation = Calculation::new(Definition::parse("cylinder")?, points);
    add_polydispersity(&mut calculation, "radius", 10)?;
    add_polydispersity(&mut calculation, "theta", 15)?;
    add_polydispersity(&mut calculation, "phi", 15)?;
    let mut vector = calculation.defaults();
    vector.values[calculation.definition.parameter_index("phi")?] = 30.0;
    vector.widths = vec![0.1, 15.0, 15.0];
    Ok(Case {
        name: "image",
        calculation,
        vectors: vec![vector],
    })
}

/// Number of evaluations of cylinders, and of their double-precision instructions, from a sample of
/// the mesh.
fn arithmetic(case: &Case) -> anyhow::Result<(f64, f64)> {
    const SAMPLE: usize = 49;
    let plan = Plan::new(&case.calculation, &case.vectors[0])?;
    let mut values = plan.particles.base().to_vec();
    let step = (plan.particles.len() / SAMPLE).max(1);
    let (mut evaluations, mut instructions, mut particles) = (0_u64, 0_u64, 0_u64);
    let none = Wave {
        q: Counted(0.0),
        across: Counted(0.0),
        along: Counted(0.0),
        a: Counted(0.0),
        b: Counted(0.0),
        c: Counted(0.0),
    };
    for index in (0..plan.particles.len()).step_by(step) {
        let _ = plan.particles.fill_values(index, &mut values);
        let values = <Cylinder as Model>::Values::<Counted>::read(|i| Counted(values[i]));
        let state = Cylinder::prepare(&values);
        particles += 1;
        let mut form_factor = |across: f64, along: f64| {
            let wave = Wave {
                across: Counted(across),
                along: Counted(along),
                ..none
            };
            evaluations += 1;
            // Two products for the wave vector, two sums with weights.
            instructions += 4 + count(|| {
                let _ = Cylinder::form(&wave, &state);
            });
        };
        match case.calculation.fine_points() {
            Points::Curve(q) => {
                for q in q {
                    let rule = directions(Symmetry::Axial, level(q * plan.averages.half_size));
                    for (across, along) in rule.b.iter().zip(&rule.c) {
                        form_factor(q * across, q * along);
                    }
                }
            }
            Points::Pixels { qx, qy } => {
                for (x, y) in qx.iter().zip(qy).step_by(61) {
                    for rotation in &plan.rotations {
                        let [a, b, c] = rotation.rows.map(|row| row[0] * x + row[1] * y);
                        form_factor(a.hypot(b), c);
                    }
                }
            }
        }
    }
    let all = match case.calculation.fine_points() {
        Points::Pixels { qx, .. } => {
            (qx.len() * plan.rotations.len() * plan.particles.len()) as f64
        }
        Points::Curve(_) => evaluations as f64 / particles as f64 * plan.particles.len() as f64,
    };
    let mut each = instructions as f64 / evaluations as f64;
    if matches!(case.calculation.fine_points(), Points::Pixels { .. }) {
        // The rotation takes six products instead of two, and the length across the axis three
        // operations and a square root.
        each += 6.0 - 2.0 + 2.0 + 9.0;
    }
    Ok((all, all * each))
}

fn wall(
    engine: &mut impl Engine,
    vectors: &[Vector],
    calls: usize,
) -> anyhow::Result<(f64, Vec<Vec<f64>>)> {
    let result = engine.evaluate(vectors)?;
    for _ in 0..3 {
        engine.evaluate(vectors)?;
    }
    let mut times = Vec::new();
    for _ in 0..calls {
        let start = Instant::now();
        engine.evaluate(vectors)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((median(times), result))
}

fn largest_relative_error(found: &[Vec<f64>], expected: &[Vec<f64>]) -> f64 {
    let pairs = || found.iter().flatten().zip(expected.iter().flatten());
    pairs()
        .map(|(a, b)| ((a - b) / b).abs())
        .fold(0.0, f64::max)
}

struct Trial<'m, W> {
    device: &'m CudaDevice,
    clock: f64,
    out: W,
}

impl<W: Write> Trial<'_, W> {
    fn floor_ms(&self, instructions: f64) -> f64 {
        instructions / (64.0 * f64::from(self.device.multiprocessors()) * self.clock * 1e6)
    }

    fn form_factor(&mut self, case: &Case, bar: f64) -> anyhow::Result<()> {
        let (evaluations, instructions) = arithmetic(case)?;
        let floor = self.floor_ms(instructions);
        writeln!(
            self.out,
            "{}: {evaluations:.3e} evaluations, {:.0} double-precision instructions each; floor {floor:.3} ms",
            case.name,
            instructions / evaluations,
        )?;
        let expected = CpuEngine::new(case.calculation.clone()).evaluate(&case.vectors)?;
        for precision in [Precision::F64, Precision::F32] {
            let mut calculation = case.calculation.clone();
            calculation.precision = precision;
            let start = Instant::now();
            for _ in 0..20 {
                Plan::new(&calculation, &case.vectors[0])?;
            }
            let planning = start.elapsed().as_secs_f64() * 1e3 / 20.0;
            let mut engine = GpuEngine::new(self.device, calculation)?;
            let (ms, found) = wall(&mut engine, &case.vectors, CALLS)?;
            let stages = engine.time_stages(&case.vectors)?;
            let precision_name = engine.setup().precision;
            write!(
                self.out,
                "  {precision_name}: {ms:.3} ms a call ({planning:.3} of it planning), error {:.1e}; kernels:",
                largest_relative_error(&found, &expected),
            )?;
            for (stage, ms) in &stages {
                write!(self.out, " {stage} {ms:.4}")?;
            }
            writeln!(self.out, " ms")?;
            if precision == Precision::F64 {
                let kernel = f64::from(stages[0].1);
                writeln!(
                    self.out,
                    "  bar {bar} ms: {}; share of the floor: call {:.0} %, kernel {:.0} %",
                    if ms <= bar { "met" } else { "MISSED" },
                    100.0 * floor / ms,
                    100.0 * floor / kernel,
                )?;
            }
        }
        Ok(())
    }

    fn batch(&mut self) -> anyhow::Result<()> {
        let case = spheres(64)?;
        let mut engine = GpuEngine::new(self.device, case.calculation.clone())?;
        let (together, all) = wall(&mut engine, &case.vectors, CALLS)?;
        let stages = engine.time_stages(&case.vectors)?;
        let mut each = Vec::new();
        for vector in &case.vectors {
            each.push(wall(&mut engine, std::slice::from_ref(vector), 5)?);
        }
        let apart: f64 = each.iter().map(|(ms, _)| ms).sum();
        let same = each
            .iter()
            .zip(&all)
            .all(|((_, form_factor), of_all)| form_factor[0] == *of_all);
        let expected = CpuEngine::new(case.calculation.clone()).evaluate(&case.vectors)?;
        writeln!(
            self.out,
            "spheres: 64 vectors in one call {together:.3} ms, in 64 calls {apart:.3} ms: {:.1} times (bar 10); error {:.1e}{}",
            apart / together,
            largest_relative_error(&all, &expected),
            if same {
                ", the same bits"
            } else {
                ", NOT THE SAME BITS"
            },
        )?;
        writeln!(self.out, "  kernels of the batch: {stages:?}")?;
        Ok(())
    }

    fn table(&mut self, case: &Case) -> anyhow::Result<()> {
        const BLOCKS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
        let mut engine = GpuEngine::new(self.device, case.calculation.clone())?;
        engine.evaluate(&case.vectors)?;
        let usual = engine.time_stages(&case.vectors)?[0].1;
        writeln!(
            self.out,
            "{}: kernel {usual:.4} ms with the default; below: ms for blocks per multiprocessor (resident × over-scheduling) {BLOCKS:?}",
            case.name
        )?;
        for evaluations in [2, 4, 8, 12, 16, 20, 28, 40, 80, 160] {
            write!(self.out, "  {evaluations:3} evaluations a thread:")?;
            let mut first: Option<Vec<Vec<f64>>> = None;
            let mut same = true;
            for blocks in BLOCKS.map(Some).into_iter().chain([None]) {
                let tuning = Tuning {
                    evaluations: Some(evaluations),
                    blocks: blocks.map(|n| n * self.device.multiprocessors()),
                };
                let mut engine =
                    GpuEngine::new(self.device, case.calculation.clone())?.with_tuning(tuning);
                let found = engine.evaluate(&case.vectors)?;
                same &= first.get_or_insert_with(|| found.clone()) == &found;
                write!(self.out, " {:7.4}", engine.time_stages(&case.vectors)?[0].1)?;
            }
            writeln!(
                self.out,
                " (last: the partition's){}",
                if same { "" } else { " NOT THE SAME BITS" }
            )?;
        }
        Ok(())
    }

    fn models(&mut self) -> anyhow::Result<()> {
        for model in models() {
            let name = model.info().name;
            let start = Instant::now();
            let device = CudaDevice::new(0, &kernels(&[name]))?;
            let loading = start.elapsed().as_secs_f64() * 1e3;
            let calculation = Calculation::new(Definition::parse(name)?, curve());
            let vectors = [calculation.defaults()];
            let expected = CpuEngine::new(calculation.clone()).evaluate(&vectors)?;
            let (ms, found) = wall(&mut GpuEngine::new(&device, calculation)?, &vectors, 20)?;
            writeln!(
                self.out,
                "  {name:32} {ms:8.3} ms  error {:.1e}  loaded in {loading:.0} ms",
                largest_relative_error(&found, &expected)
            )?;
        }
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    let mut parts: Vec<String> = std::env::args().skip(1).collect();
    if parts.is_empty() {
        parts = ["cylinder", "batch", "image", "table"]
            .map(String::from)
            .to_vec();
    }
    let clock = std::env::var("CLOCK_GHZ")
        .ok()
        .and_then(|text| text.parse().ok());
    let start = Instant::now();
    let device = CudaDevice::new(0, &kernels(&["cylinder", "sphere"]))?;
    let loading = start.elapsed().as_secs_f64() * 1e3;
    let mut trial = Trial {
        device: &device,
        clock: clock.unwrap_or(1.98),
        out: std::io::stdout().lock(),
    };
    writeln!(
        trial.out,
        "{}, {} multiprocessors; kernels loaded in {loading:.0} ms",
        device.device_name(),
        device.multiprocessors(),
    )?;
    for part in &parts {
        match part.as_str() {
            "cylinder" => trial.form_factor(&cylinder()?, 0.8)?,
            "batch" => trial.batch()?,
            "image" => trial.form_factor(&image()?, 1.5)?,
            "table" => {
                for case in [cylinder()?, spheres(1)?, spheres(64)?, image()?] {
                    trial.table(&case)?;
                }
            }
            "models" => trial.models()?,
            other => anyhow::bail!("{other}: expected cylinder, batch, image, table or models"),
        }
    }
    Ok(())
}
