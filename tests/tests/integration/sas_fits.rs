//! Fits of measured and simulated curves on the CPU give the parameters and χ² of sasmodels'
//! kernels and SciPy's least squares with the same settings (see docs/sas-fits.md).

use warpstride::run::{Interrupt, Run, Schedule, Silent};
use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::data::{Curve, Scattering};
use warpstride::sas::fit::{
    Fit, FitResult, Fitted, Free, Measured, Method, Options, Problem, Selection, Weighting,
};
use warpstride::sas::io::{ReadOptions, read_curve};
use warpstride::sas::resolution::{Pinhole, Sampling, Width};
use warpstride::sas::{Calculation, Definition, Distribution, Polydispersity, Resolution};
use warpstride_tests::{shared_data, skipped};

/// Relative tolerance of parameters.
const PARAMETERS: f64 = 0.005;
/// Relative tolerance of χ².
const CHI2: f64 = 0.02;

/// The curve in that file; `None`, with a message, if the shared data are not available.
fn curve(name: &str) -> Option<Curve> {
    match shared_data(&format!("sas/{name}")) {
        Ok(path) => Some(read_curve(&path, &ReadOptions::default()).unwrap()),
        Err(why) => {
            skipped(&format!("the fit of {name}"), &why);
            None
        }
    }
}

/// A model, its fixed and fitted parameters, and options.
struct Case<'a> {
    model: &'a str,
    set: &'a [(&'a str, f64)],
    polydispersity: Option<Distribution>,
    free: Vec<Free>,
    positive: bool,
    /// Sampling of the resolution; `None`: no resolution.
    sampling: Option<Sampling>,
    options: Options,
}

fn fit(curve: Curve, case: Case<'_>) -> FitResult {
    let selection = Selection {
        positive: case.positive,
        ..Selection::default()
    };
    let Scattering::Curve(mut curve) = selection.of(&Scattering::Curve(curve)).unwrap() else {
        panic!("a curve stays one")
    };
    let smearing = curve.smearing.take();
    let measured = Measured::new(&Scattering::Curve(curve.clone()), Weighting::Data).unwrap();
    let definition = Definition::parse(case.model).unwrap();
    let mut calculation = Calculation::new(definition, measured.points.clone());
    if let Some(sampling) = case.sampling {
        let Some(warpstride::sas::data::Smearing::Pinhole(width)) = smearing else {
            panic!("the file has a column dq")
        };
        let pinhole = Pinhole::new(Width::Each(width)).sampled(sampling);
        let resolution: Resolution = pinhole.resolution(&curve.q).unwrap();
        calculation.resolution = Some(resolution);
    }
    if let Some(distribution) = case.polydispersity {
        let (points, nsigma) = distribution.default_mesh();
        calculation.polydispersity.push(Polydispersity {
            is_given: false,
            parameter: calculation.definition.parameter_index("radius").unwrap(),
            distribution,
            points,
            nsigma,
        });
    }
    let mut base = calculation.defaults();
    for (name, value) in case.set {
        base.values[calculation.definition.parameter_index(name).unwrap()] = *value;
    }
    let mut engine = CpuEngine::new(calculation.clone());
    let problem = Problem::new(calculation, measured, base, &case.free).unwrap();
    let fit = Fit::new(problem, &mut engine, case.options).unwrap();
    let never = Schedule { every: None };
    let mut run = Run::new(fit);
    run.execute(&mut Silent, &Interrupt::new(), never).unwrap();
    let mut fit = run.into_steps();
    let (result, _) = fit.result().unwrap();
    result
}

fn parameter<'a>(result: &'a FitResult, name: &str) -> &'a Fitted {
    let found = result.parameters.iter().find(|p| p.name == name);
    found.unwrap_or_else(|| panic!("{name} was fitted"))
}

fn check(result: &FitResult, expected: &[(&str, f64)], chi2_per_point: Option<f64>) {
    assert!(result.converged, "{:?}", result.stop);
    for (name, value) in expected {
        let found = parameter(result, name).value;
        assert!(
            (found / value - 1.0).abs() <= PARAMETERS,
            "{name}: {found} is not {value}"
        );
    }
    if let Some(expected) = chi2_per_point {
        let found = result.chi2_per_point;
        assert!(
            (found / expected - 1.0).abs() <= CHI2,
            "χ² {found} is not {expected}"
        );
    }
}

fn with_scale_and_background(free: &[Free]) -> Vec<Free> {
    let linear = ["scale", "background"].map(Free::anywhere);
    free.iter().cloned().chain(linear).collect()
}

#[test]
fn schulz_spheres_are_recovered() {
    let Some(curve) = curve("PolySpheres.txt") else {
        return;
    };
    let case = |options| Case {
        model: "sphere",
        set: &[],
        polydispersity: Some(Distribution::Schulz),
        free: with_scale_and_background(&[
            Free::within("radius", 10.0, 200.0),
            Free::within("radius_pd", 0.02, 0.8),
        ]),
        positive: false,
        sampling: None,
        options,
    };
    let expected = [("radius", 59.995), ("radius_pd", 0.2002), ("scale", 1.6e-3)];
    let descent = fit(curve.clone(), case(Options::default()));
    check(&descent, &expected, None);
    // The data were simulated from these numbers and rounded, so no residual remains.
    assert!(descent.chi2_per_point < 1e-3);
    assert!(parameter(&descent, "background").value.abs() < 1e-5);
    let options = Options {
        method: Method::Evolution,
        generations: 60,
        ..Options::default()
    };
    let population = fit(curve, case(options));
    let (a, b) = (
        parameter(&descent, "radius"),
        parameter(&population, "radius"),
    );
    assert!((a.value - b.value).abs() < 0.01 * a.uncertainty.unwrap());
}

#[test]
fn microemulsion_drops_are_fitted_as_hard_spheres() {
    let Some(curve) = curve("AOT_Microemulsion-Drop_Contrast.xml") else {
        return;
    };
    let case = |positive| Case {
        model: "sphere@hardsphere",
        set: &[],
        polydispersity: Some(Distribution::Gaussian),
        free: with_scale_and_background(&[
            Free::within("radius", 10.0, 100.0),
            Free::within("radius_pd", 0.02, 0.6),
            Free::within("volfraction", 0.005, 0.6),
        ]),
        positive,
        sampling: None,
        options: Options::default(),
    };
    let expected = [
        ("radius", 30.09),
        ("radius_pd", 0.244),
        ("volfraction", 0.0775),
    ];
    let positive = fit(curve.clone(), case(true));
    check(&positive, &expected, Some(2.20));
    assert_eq!(positive.points, 134);
    // The two points below zero have little effect.
    let all = fit(curve, case(false));
    check(&all, &expected, Some(2.20));
    assert_eq!(all.points, 136);
}

#[test]
fn apoferritin_is_fitted_as_a_core_shell_sphere() {
    let Some(curve) = curve("apoferritin.txt") else {
        return;
    };
    let case = |positive, sampling| Case {
        model: "core_shell_sphere",
        // Core and solvent are equal: protein in D2O. With a free scale, only the ratio of the
        // contrasts matters.
        set: &[("sld_core", 6.3), ("sld_shell", 3.0), ("sld_solvent", 6.3)],
        polydispersity: None,
        free: with_scale_and_background(&[
            Free::within("radius", 10.0, 100.0),
            Free::within("thickness", 5.0, 60.0),
        ]),
        positive,
        sampling,
        options: Options {
            starts: 8,
            ..Options::default()
        },
    };
    let plain = fit(curve.clone(), case(true, None));
    check(&plain, &[("radius", 39.7), ("thickness", 24.4)], Some(2.07));
    assert_eq!(plain.points, 364);
    // With the resolution of the data, and with points below zero.
    let all = fit(curve, case(false, Some(Sampling::Data)));
    check(
        &all,
        &[("radius", 41.043), ("thickness", 22.665)],
        Some(2.0655),
    );
}

#[test]
fn latex_with_its_resolution_fits_better_on_a_fine_grid() {
    let Some(curve) = curve("latex_smeared.xml") else {
        return;
    };
    let case = |radius: (f64, f64), width: (f64, f64), sampling, starts| Case {
        model: "sphere",
        set: &[],
        polydispersity: Some(Distribution::Gaussian),
        free: with_scale_and_background(&[
            Free::within("radius", radius.0, radius.1),
            Free::within("radius_pd", width.0, width.1),
        ]),
        positive: false,
        sampling: Some(sampling),
        options: Options {
            starts,
            ..Options::default()
        },
    };
    // At the data's own q the fringes of such large spheres are not resolved, and χ² has a minimum
    // every few Å; this is the best one within these bounds.
    let coarse = fit(
        curve.clone(),
        case((1655.0, 1675.0), (0.205, 0.22), Sampling::Data, 24),
    );
    check(
        &coarse,
        &[("radius", 1667.4), ("radius_pd", 0.2116)],
        Some(0.3273),
    );
    // On a grid that resolves the fringes the agreement is better.
    let sampling = Sampling::Fine {
        per_sigma: 5.0,
        step: 2e-4,
    };
    let fine = fit(curve, case((1600.0, 1900.0), (0.01, 0.3), sampling, 4));
    assert!(fine.chi2_per_point < coarse.chi2_per_point);
}
