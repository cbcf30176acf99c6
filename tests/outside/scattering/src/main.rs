//! Computes how spheres scatter, compares the intensities with Rayleigh's formula, and prints a table
//! of them as CSV.

use anyhow::{Result, ensure};
use warpstride_sas::cpu::CpuEngine;
use warpstride_sas::{Calculation, Definition, Engine, Points};

/// Radii, Å.
const RADII: [f64; 3] = [20.0, 50.0, 120.0];
/// Scattering length densities of the sphere and of the solvent, 1e-6/Å².
const CONTRAST: [f64; 2] = [1.0, 6.0];

/// Intensity of a sphere divided by its volume, 1/cm; `q` in 1/Å (Lord Rayleigh 1911).
fn formula(q: f64, radius: f64) -> f64 {
    let x = q * radius;
    let volume = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
    let amplitude = 3.0 * (x.sin() - x * x.cos()) / x.powi(3);
    1e-4 * ((CONTRAST[0] - CONTRAST[1]) * amplitude).powi(2) * volume
}

fn main() -> Result<()> {
    let definition = Definition::parse("sphere")?;
    let index = |name| definition.parameter_index(name);
    let radius = index("radius")?;
    let fixed = [
        (index("scale")?, 1.0),
        (index("background")?, 0.0),
        (index("sld")?, CONTRAST[0]),
        (index("sld_solvent")?, CONTRAST[1]),
    ];
    let q: Vec<f64> = (1..=200).map(|i| 0.002 * f64::from(i)).collect();
    let calculation = Calculation::new(definition, Points::Curve(q.clone()));
    let vectors = RADII.map(|length| {
        let mut vector = calculation.defaults();
        for (parameter, value) in fixed.into_iter().chain([(radius, length)]) {
            vector.values[parameter] = value;
        }
        vector
    });
    let intensities = CpuEngine::new(calculation).evaluate(&vectors)?;
    for (length, computed) in RADII.into_iter().zip(&intensities) {
        let largest = formula(q[0], length);
        for (&q, intensity) in q.iter().zip(computed) {
            let expected = formula(q, length);
            ensure!(
                (intensity - expected).abs() < 1e-9 * largest,
                "radius {length}, q = {q}: {intensity} instead of {expected}"
            );
        }
    }
    let mut table = csv::Writer::from_writer(std::io::stdout());
    table.write_record(["q", "20", "50", "120"])?;
    for point in (0..q.len()).step_by(20) {
        let of_radii = intensities.iter().map(|computed| computed[point]);
        table.serialize((q[point], of_radii.collect::<Vec<f64>>()))?;
    }
    table.flush()?;
    Ok(())
}
