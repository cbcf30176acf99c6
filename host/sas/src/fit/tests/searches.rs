//! Searches run in batches, are reproducible, find the global minimum, and can be interrupted.

use super::*;
use crate::fit::{Method, Stop};
use warpstride_core::run::{End, Run, Steps};

/// 2 + sin(k q): χ² as a function of k has a minimum every few units.
fn wave(v: &Vector, q: f64) -> f64 {
    2.0 + (v.values[2] * q).sin()
}

fn waves(start: f64, bounds: (f64, f64)) -> (Vec<f64>, Problem) {
    let q = grid(0.0, 2.0, 60);
    let intensity: Vec<f64> = q
        .iter()
        .zip(noise(60, 1))
        .map(|(q, e)| 3.0 * (2.0 + (40.0 * q).sin()) + 0.05 * e)
        .collect();
    let free = [
        Free::within("porod_scale", bounds.0, bounds.1).from(start),
        Free::anywhere("scale"),
        Free::anywhere("background"),
    ];
    let data = measured(&q, intensity, vec![0.05; 60]);
    let of = problem(PLAIN, data, &[], &free).unwrap();
    (q, of)
}

#[test]
fn populations_and_several_starts_find_the_minimum_that_one_bad_start_misses() {
    let (q, of) = waves(36.0, (10.0, 80.0));
    let options = Options::default();
    let (single, _) = run(&of, &mut Analytic::new(wave, &q), options).unwrap();
    assert!((single.parameters[0].value - 40.0).abs() > 2.0 && single.converged);
    let population = Options {
        method: Method::Evolution,
        ..options
    };
    let many = Options {
        starts: 32,
        ..options
    };
    for options in [population, many] {
        let (found, _) = run(&of, &mut Analytic::new(wave, &q), options).unwrap();
        let k = &found.parameters[0];
        assert!(
            (k.value - 40.0).abs() < 5.0 * k.uncertainty.unwrap(),
            "{k:?}"
        );
        assert!((0.5..1.6).contains(&found.reduced_chi2.unwrap()));
    }
}

#[test]
fn distinct_minima_of_the_starts_are_reported_best_first() {
    let (q, of) = waves(20.0, (10.0, 80.0));
    let options = Options {
        starts: 32,
        ..Options::default()
    };
    let (found, _) = run(&of, &mut Analytic::new(wave, &q), options).unwrap();
    assert!(found.minima.len() > 3 && found.minima[0].chi2 == found.history.last().unwrap().chi2);
    assert!(
        found
            .minima
            .windows(2)
            .all(|pair| pair[0].chi2 <= pair[1].chi2)
    );
    let starts: usize = found.minima.iter().map(|m| m.starts).sum();
    assert!(starts <= 32);
}

#[test]
fn each_round_and_the_final_result_is_one_call() {
    let (q, of) = waves(20.0, (10.0, 80.0));
    for (method, starts) in [
        (Method::LevenbergMarquardt, 1),
        (Method::LevenbergMarquardt, 8),
        (Method::Evolution, 1),
    ] {
        let options = Options {
            method,
            starts,
            ..Options::default()
        };
        let mut engine = Analytic::new(wave, &q);
        let (found, _) = run(&of, &mut engine, options).unwrap();
        assert_eq!(engine.calls, found.history.len() + 1);
        assert_eq!(
            (engine.calls, engine.vectors),
            (found.batches, found.evaluations)
        );
        assert!(
            found
                .history
                .windows(2)
                .all(|pair| pair[1].chi2 <= pair[0].chi2)
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_fit_and_another_seed_the_same_minimum() {
    let (q, of) = waves(20.0, (10.0, 80.0));
    for method in [Method::LevenbergMarquardt, Method::Evolution] {
        let options = Options {
            method,
            starts: 24,
            seed: 9,
            ..Options::default()
        };
        let fit = |options| {
            let (mut result, _) = run(&of, &mut Analytic::new(wave, &q), options).unwrap();
            result.record.seconds = 0.0;
            result
        };
        let (first, second) = (fit(options), fit(options));
        assert_eq!(first, second);
        let other = fit(Options {
            seed: 10,
            ..options
        });
        assert!((other.parameters[0].value - first.parameters[0].value).abs() < 1e-5);
    }
}

#[test]
fn a_best_scale_of_zero_is_reported_as_flat() {
    // sin 22 q is anticorrelated with sin 40 q, and the scale must not be negative.
    let (q, of) = waves(22.0, (10.0, 80.0));
    let (found, _) = run(&of, &mut Analytic::new(wave, &q), Options::default()).unwrap();
    assert_eq!((found.stop, found.converged), (Stop::Flat, false));
    assert!(
        found
            .record
            .notes
            .iter()
            .any(|n| n.contains("scale at the start"))
    );
}

#[test]
fn populations_reach_minima_at_bounds() {
    let (q, of) = waves(60.0, (41.0, 80.0));
    let options = Options {
        method: Method::Evolution,
        ..Options::default()
    };
    let (found, _) = run(&of, &mut Analytic::new(wave, &q), options).unwrap();
    assert_eq!(found.parameters[0].value, 41.0);
    assert!(found.parameters[0].at_bound.is_some());
}

#[test]
fn searches_avoid_values_where_the_model_is_not_finite() {
    // √(1 − k/30) is NaN for k above 30.
    let edge = |v: &Vector, q: f64| (1.0 - v.values[2] / 30.0).sqrt() * q;
    let q = grid(0.1, 2.0, 20);
    let intensity: Vec<f64> = q.iter().map(|q| 0.1 * q).collect();
    let free = [Free::within("porod_scale", 0.0, 60.0).from(5.0)];
    let data = measured(&q, intensity, vec![0.01; 20]);
    let of = problem(PLAIN, data.clone(), &[("background", 0.0)], &free).unwrap();
    let mut engine = Analytic::new(edge, &q);
    let (found, _) = run(&of, &mut engine, Options::default()).unwrap();
    near(found.parameters[0].value, 29.7, 1e-6);
    let beyond = [Free::within("porod_scale", 0.0, 60.0).from(50.0)];
    let of = problem(PLAIN, data, &[("background", 0.0)], &beyond).unwrap();
    let refused = run(&of, &mut engine, Options::default()).unwrap_err();
    assert!(
        refused.to_string().contains("no finite intensities"),
        "{refused}"
    );
    // Starts with finite intensities continue.
    let options = Options {
        starts: 8,
        ..Options::default()
    };
    let (found, _) = run(&of, &mut engine, options).unwrap();
    near(found.parameters[0].value, 29.7, 1e-6);
}

#[test]
fn an_interrupted_fit_has_the_best_so_far() {
    let (q, of) = waves(20.0, (10.0, 80.0));
    for method in [Method::LevenbergMarquardt, Method::Evolution] {
        let options = Options {
            method,
            starts: 4,
            ..Options::default()
        };
        let mut engine = Analytic::new(wave, &q);
        let mut fit = Fit::new(of.clone(), &mut engine, options).unwrap();
        assert!(fit.result().is_err());
        for _ in 0..3 {
            fit.advance().unwrap();
        }
        let interrupt = Interrupt::new();
        interrupt.request();
        let never = Schedule { every: None };
        let mut run = Run::new(fit);
        let end = run.execute(&mut Silent, &interrupt, never).unwrap();
        let mut fit = run.into_steps();
        let (found, _) = fit.result().unwrap();
        assert_eq!((end, found.stop), (End::Interrupted, Stop::Interrupted));
        assert_eq!(found.chi2, found.history[2].chi2);
        assert!(!found.converged && found.record.notes.iter().any(|n| n.contains("interrupted")));
    }
}

#[test]
fn reaching_the_maximum_of_iterations_is_reported() {
    let (q, of) = waves(36.0, (10.0, 80.0));
    let options = Options {
        iterations: 1,
        ..Options::default()
    };
    let (found, _) = run(&of, &mut Analytic::new(wave, &q), options).unwrap();
    assert_eq!((found.stop, found.converged), (Stop::Iterations, false));
}

#[test]
fn the_summary_has_all_fields_and_null_for_infinite_bounds() {
    let (q, of) = waves(36.0, (10.0, 80.0));
    let (found, _) = run(&of, &mut Analytic::new(wave, &q), Options::default()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&found.to_json().unwrap()).unwrap();
    for key in [
        "model",
        "method",
        "parameters",
        "covariance",
        "correlation",
        "chi2",
        "chi2_per_point",
        "reduced_chi2",
        "points",
        "iterations",
        "evaluations",
        "seconds",
        "stop",
        "notes",
        "backend",
        "precision",
        "minima",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
    assert_eq!(json["method"], "lm");
    assert_eq!(json["parameters"][0]["name"], "porod_scale");
    assert!(json["parameters"][0]["uncertainty"].as_f64().unwrap() > 0.0);
    assert!(json["parameters"][1]["high"].is_null());
}

/// Refuses values beyond a limit, as an engine does for a distribution without sizes.
struct Refusing(Analytic);

impl Engine for Refusing {
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        if vectors.iter().any(|v| v.values[2] > 30.0) {
            return Err(SasError::Refused("beyond 30".to_owned()));
        }
        self.0.evaluate(vectors)
    }

    fn setup(&self) -> Setup {
        self.0.setup()
    }

    fn batch(&self) -> usize {
        1
    }
}

#[test]
fn searches_avoid_vectors_that_the_model_refuses() {
    let line = |v: &Vector, q: f64| v.values[2] * q;
    let q = grid(0.1, 2.0, 20);
    let intensity: Vec<f64> = q.iter().map(|q| 29.0 * q).collect();
    for (start, starts) in [(2.0, 8), (50.0, 8), (50.0, 1)] {
        let free = [Free::within("porod_scale", 0.0, 90.0).from(start)];
        let data = measured(&q, intensity.clone(), vec![0.01; 20]);
        let of = problem(PLAIN, data, &[("background", 0.0)], &free).unwrap();
        let mut engine = Refusing(Analytic::new(line, &q));
        let options = Options {
            starts,
            ..Options::default()
        };
        let fit = Fit::new(of, &mut engine, options).unwrap();
        let never = Schedule { every: None };
        let mut run = Run::new(fit);
        run.execute(&mut Silent, &Interrupt::new(), never).unwrap();
        let mut fit = run.into_steps();
        match fit.result() {
            Ok((found, _)) => near(found.parameters[0].value, 29.0, 1e-6),
            Err(refused) => {
                assert_eq!((start, starts), (50.0, 1));
                assert!(refused.to_string().contains("(beyond 30)"), "{refused}");
            }
        }
    }
}
