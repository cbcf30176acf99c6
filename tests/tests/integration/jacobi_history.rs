//! The relaxation on the CPU against the published history of residual norms, computed in double
//! precision by another program.

use anyhow::{Result, ensure};
use warpstride::jacobi::cpu::CpuEngine;
use warpstride::jacobi::{Boundary, Engine, Norm, Problem, Real, Stopping};
use warpstride_tests::{shared_data, skipped};

/// Norms of 1000 sweeps of the textbook problem.
const HISTORY: &str = "jacobi/norm_f64_2048x2048_1000.json";

/// Number of compared sweeps: a few seconds without optimisation.
const SWEEPS: usize = 100;

fn norms<T: Real>() -> Result<Vec<Norm>> {
    let problem = Problem::<T>::new(2048, 2048, Boundary::Textbook)?;
    let stopping = Stopping {
        iterations: SWEEPS,
        ..Stopping::default()
    };
    let mut engine = CpuEngine::new(&problem, stopping, 0)?;
    let mut norms = Vec::new();
    while !engine.finished() {
        norms.extend(engine.advance()?.norms);
    }
    Ok(norms)
}

#[test]
fn every_norm_agrees_with_the_published_norm_of_its_sweep() -> Result<()> {
    let path = match shared_data(HISTORY) {
        Ok(path) => path,
        Err(why) => {
            skipped("the published history of norms", &why);
            return Ok(());
        }
    };
    let history: Vec<f64> = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    for (norms, tolerance) in [(norms::<f32>()?, 1e-5), (norms::<f64>()?, 1e-11)] {
        ensure!(norms.len() == SWEEPS);
        for (sweep, (found, published)) in norms.iter().zip(&history).enumerate() {
            ensure!(found.sweep == sweep);
            let error = (found.norm / published - 1.0).abs();
            ensure!(error < tolerance, "{found:?} for {published}: {error:e}");
        }
    }
    Ok(())
}
