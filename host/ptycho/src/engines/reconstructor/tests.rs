//! What a resumed run has before its first iteration.

use super::*;
use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::{SimulateOptions, UpdateVersion, simulate};
use warpstride_cuda::gpu::EmulatedDevice;

/// A run that is stopped before its first iteration has the positions and the metrics of the saved
/// one.
#[test]
fn a_resumed_run_has_the_positions_of_its_last_iteration() {
    let options = SimulateOptions {
        frame: 16,
        positions: 9,
        position_error: 0.3,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    for engines in [["lsqml:2", "dm:2"], ["dm:2", "lsqml:2"]] {
        let recipe = Recipe {
            engines: engines
                .map(|text| EngineSpec::parse(text).unwrap())
                .to_vec(),
            ..Recipe::default()
        };
        let problem = Problem::prepare(&scan, &recipe).unwrap();
        let cpu = || -> Box<dyn Engine> { Box::new(CpuEngine::<f64>::new(&problem)) };
        let gpu = || -> Box<dyn Engine> {
            let (device, version) = (EmulatedDevice::new(), UpdateVersion::Tiled);
            Box::new(GpuEngine::streamed(device, &problem, version, None).unwrap())
        };
        for make in [&cpu as &dyn Fn() -> Box<dyn Engine>, &gpu] {
            for done in 1..=4 {
                let mut first = Reconstructor::new(make(), &problem, &recipe);
                for _ in 0..done {
                    first.advance().unwrap();
                }
                let state = first.engine().save().unwrap();
                let mut second = Reconstructor::new(make(), &problem, &recipe);
                second.resume(first.progress().clone(), &state).unwrap();
                let [a, b] = [&mut first, &mut second].map(|run| run.engine());
                assert_eq!(a.frames(), b.frames(), "{engines:?} {done}");
                let [a, b] = [a, b].map(|engine| engine.metrics().unwrap().r_factor);
                assert!((a / b - 1.0).abs() < 1e-4, "{engines:?} {done}: {a} {b}");
            }
        }
    }
}
