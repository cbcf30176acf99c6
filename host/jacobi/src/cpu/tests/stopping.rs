//! Runs end according to the rule for any number of sweeps per pass.

use super::{BOUNDARIES, all, problems, run};
use crate::cpu::CpuEngine;
use crate::{Boundary, Engine, JacobiError, Problem, Stopping};
use ndarray::Array2;

#[test]
fn the_first_sweep_that_meets_the_tolerance_is_the_last() {
    for boundary in BOUNDARIES {
        for problem in problems::<f32>((21, 30), boundary) {
            let history = run(&problem, all(60), 1).norms;
            for (last, check_every) in [(0, 1), (13, 1), (22, 2), (24, 5), (47, 3)] {
                // The tolerance is just met by the norm of sweep `last`, if that sweep is checked.
                let stopping = Stopping {
                    iterations: 60,
                    tolerance: history[last].norm,
                    check_every,
                };
                let expected = history
                    .iter()
                    .filter(|norm| stopping.checked(norm.sweep))
                    .position(|norm| stopping.met_by(norm.norm));
                let single = run(&problem, stopping, 1);
                assert_eq!(single.converged, expected.is_some());
                let checks = expected.map_or(stopping.checks(), |at| at + 1);
                assert_eq!(single.norms.len(), checks);
                if expected.is_some() {
                    assert_eq!(single.norms[checks - 1].sweep + 1, single.sweeps);
                }
                for time_block in 2..=9 {
                    let found = run(&problem, stopping, time_block);
                    assert_eq!(found.field, single.field);
                    assert_eq!(found.norms, single.norms);
                    assert_eq!(found.sweeps, single.sweeps);
                    assert_eq!(found.converged, single.converged);
                }
            }
        }
    }
}

#[test]
fn a_rule_without_iterations_does_no_sweep() {
    for boundary in BOUNDARIES {
        let problem = problems::<f64>((6, 8), boundary).remove(1);
        let mut expected = problem.start().unwrap().clone();
        problem.fill_ghosts(&mut expected);
        let mut engine = CpuEngine::new(&problem, all(0), 0).unwrap();
        assert!(engine.finished());
        assert!(engine.advance().unwrap().norms.is_empty());
        assert_eq!(engine.field().unwrap(), expected);
    }
}

#[test]
fn an_overflow_is_an_error_with_its_sweep() {
    let start = Array2::from_shape_fn((8, 8), |(y, x)| if (y + x) % 2 == 0 { 3e38 } else { 0.0 });
    let problem = Problem::<f32>::new(8, 8, Boundary::Periodic).unwrap();
    let problem = problem.with_start(start).unwrap();
    for time_block in [1, 3, 8] {
        let mut engine = CpuEngine::new(&problem, all(9), time_block).unwrap();
        let error = engine.advance().unwrap_err();
        assert!(
            matches!(error, JacobiError::NotFinite { sweep: 0, .. }),
            "{error}"
        );
    }
}
