//! Fitted parameters: parsing, start values, errors.

use super::*;
use crate::fit::{Method, Target};
use crate::{Distribution, Polydispersity};

fn three_points() -> Measured {
    measured(&[0.1, 0.2, 0.3], vec![1.0; 3], vec![1.0; 3])
}

#[test]
fn invalid_parameters_are_refused() {
    let within = Free::within;
    let cases: [(&[Free], &str); 11] = [
        (&[], "expected parameters to fit"),
        (&[Free::anywhere("raduis")], "raduis: expected a parameter"),
        (
            &[within("radius", 100.0, 20.0)],
            "first bound less than the second",
        ),
        (
            &[within("radius", 20.0, 20.0)],
            "first bound less than the second",
        ),
        (
            &[within("radius", f64::NAN, 20.0)],
            "first bound less than the second",
        ),
        (
            &[within("radius", -1.0, 20.0)],
            "expected bounds within 0 to",
        ),
        (
            &[within("radius", 1.0, 20.0).from(30.0)],
            "a start within the bounds, found 30",
        ),
        (
            &[Free::anywhere("radius"), Free::anywhere("radius")],
            "twice",
        ),
        (&[within("radius_pd", 0.1, 0.2)], "--pd radius="),
        (
            &[within("sld", 0.0, 1.0).from(f64::NAN)],
            "a start within the bounds, found NaN",
        ),
        (
            &["scale", "background", "sld", "radius"].map(Free::anywhere),
            "fitted parameters (4), found 3",
        ),
    ];
    for (free, word) in cases {
        let refused = problem("sphere", three_points(), &[], free).unwrap_err();
        assert!(refused.to_string().contains(word), "{refused}");
    }
    let refused = problem(
        "sphere",
        three_points(),
        &[("radius", -3.0)],
        &[Free::anywhere("scale")],
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("radius: expected")
    );
}

#[test]
fn integer_parameters_are_not_fitted() {
    for (model, name) in [
        ("core_multi_shell", "n"),
        ("pearl_necklace", "num_pearls"),
        ("multilayer_vesicle", "n_shells"),
    ] {
        let refused = problem(model, three_points(), &[], &[Free::anywhere(name)]).unwrap_err();
        assert!(
            refused.to_string().contains("found the integer"),
            "{refused}"
        );
    }
}

#[test]
fn parameters_are_parsed() {
    assert_eq!(
        Free::parse("radius=20:100").unwrap(),
        Free::within("radius", 20.0, 100.0)
    );
    assert_eq!(
        Free::parse("radius_pd=0.05:0.1:0.4").unwrap(),
        Free::within("radius_pd", 0.05, 0.4).from(0.1)
    );
    assert_eq!(Free::parse("scale").unwrap(), Free::anywhere("scale"));
    assert_eq!(
        Free::parse("background=-inf:1").unwrap(),
        Free::within("background", f64::NEG_INFINITY, 1.0)
    );
    for bad in [
        "",
        "=1:2",
        "radius=",
        "radius=1",
        "radius=a:b",
        "radius=1:2:3:4",
    ] {
        assert!(
            Free::parse(bad)
                .unwrap_err()
                .to_string()
                .contains("expected NAME, NAME=LOW:HIGH or NAME=LOW:START:HIGH"),
            "{bad}"
        );
    }
}

#[test]
fn the_default_start_is_the_value_within_bounds_or_their_middle() {
    let start = |free: Free| {
        problem("sphere", three_points(), &[], &[free])
            .unwrap()
            .start()[0]
    };
    assert_eq!(start(Free::within("radius", 20.0, 100.0)), 50.0);
    assert_eq!(start(Free::within("radius", 100.0, 200.0)), 150.0);
    assert!((start(Free::within("radius", 100.0, 10_000.0)) - 1000.0).abs() < 1e-9);
    assert_eq!(start(Free::within("radius", 20.0, 100.0).from(33.0)), 33.0);
}

#[test]
fn widths_of_distributions_are_fitted() {
    let data = three_points();
    let mut calculation =
        Calculation::new(Definition::parse("sphere").unwrap(), data.points.clone());
    let parameter = calculation.definition.parameter_index("radius").unwrap();
    calculation.polydispersity.push(Polydispersity {
        parameter,
        distribution: Distribution::Schulz,
        points: 80,
        nsigma: 8.0,
        is_given: false,
    });
    let base = calculation.defaults();
    let free = [Free::anywhere("radius_pd"), Free::anywhere("scale")];
    let of = Problem::new(calculation, data, base, &free).unwrap();
    assert_eq!(of.parameters()[0].targets, [Target::Width(0)]);
    assert_eq!(
        (of.parameters()[0].start, of.parameters()[0].bounds),
        (0.1, (0.0, 1.0))
    );
    assert_eq!(of.vector(&[0.3, 2.0]).widths, [0.3]);
    assert!(
        of.fixed()
            .iter()
            .all(|(name, _)| name != "radius_pd" && name != "scale")
    );
}

#[test]
fn populations_need_finite_bounds_and_memory_is_limited() {
    let of = problem("sphere", three_points(), &[], &[Free::anywhere("radius")]).unwrap();
    let mut engine = Analytic::new(|_, q| q, &[0.1, 0.2, 0.3]);
    let refused = |of: &Problem, options: Options, engine: &mut Analytic| {
        Fit::new(of.clone(), engine, options)
            .err()
            .unwrap()
            .to_string()
    };
    let population = Options {
        method: Method::Evolution,
        ..Options::default()
    };
    assert!(refused(&of, population, &mut engine).contains("radius has no finite bounds"));
    let of = problem(
        "sphere",
        three_points(),
        &[],
        &[Free::within("radius", 1.0, 2.0)],
    )
    .unwrap();
    let many = Options {
        starts: usize::MAX,
        ..Options::default()
    };
    assert!(refused(&of, many, &mut engine).contains("ask for fewer"));
    let none = Options {
        starts: 0,
        ..Options::default()
    };
    assert!(refused(&of, none, &mut engine).contains("at least one start"));
}

#[test]
fn an_engine_with_other_points_is_refused() {
    let of = problem("sphere", three_points(), &[], &[Free::anywhere("scale")]).unwrap();
    let refused = run(
        &of,
        &mut Analytic::new(|_, q| q, &[0.1, 0.2]),
        Options::default(),
    );
    assert!(refused.unwrap_err().to_string().contains("other points"));
}
