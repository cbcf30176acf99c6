//! What is asked for, and what is refused.

use super::*;
use crate::sas::fit::{Method, Target};
use crate::sas::{Distribution, Spread};

fn three_points() -> Measured {
    measured(&[0.1, 0.2, 0.3], vec![1.0; 3], vec![1.0; 3])
}

#[test]
fn bad_wishes_are_refused_in_a_sentence() {
    let within = Free::within;
    let cases: [(&[Free], &str); 11] = [
        (&[], "nothing to fit"),
        (&[Free::anywhere("raduis")], "no parameter raduis"),
        (&[within("radius", 100.0, 20.0)], "first bound must be less"),
        (&[within("radius", 20.0, 20.0)], "first bound must be less"),
        (
            &[within("radius", f64::NAN, 20.0)],
            "first bound must be less",
        ),
        (&[within("radius", -1.0, 20.0)], "must stay from 0"),
        (
            &[within("radius", 1.0, 20.0).from(30.0)],
            "start 30 lies outside",
        ),
        (
            &[Free::anywhere("radius"), Free::anywhere("radius")],
            "twice",
        ),
        (&[within("radius_pd", 0.1, 0.2)], "--pd radius="),
        (
            &[within("sld", 0.0, 1.0).from(f64::NAN)],
            "start NaN lies outside",
        ),
        (
            &["scale", "background", "sld", "radius"].map(Free::anywhere),
            "4 parameters cannot be fitted to 3 points",
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
    assert!(refused.unwrap_err().to_string().contains("radius = -3"));
}

#[test]
fn what_counts_is_not_fitted() {
    for (model, name) in [
        ("core_multi_shell", "n"),
        ("pearl_necklace", "num_pearls"),
        ("multilayer_vesicle", "n_shells"),
    ] {
        let refused = problem(model, three_points(), &[], &[Free::anywhere(name)]).unwrap_err();
        assert!(refused.to_string().contains("whole numbers"), "{refused}");
    }
}

#[test]
fn wishes_are_read() {
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
                .contains("is expected"),
            "{bad}"
        );
    }
}

#[test]
fn starts_are_the_value_where_bounds_have_it_and_their_middle_elsewhere() {
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
fn widths_are_fitted_where_there_is_a_spread() {
    let data = three_points();
    let mut calculation =
        Calculation::new(Definition::parse("sphere").unwrap(), data.points.clone());
    let parameter = calculation.definition.place("radius").unwrap();
    calculation.spreads.push(Spread {
        parameter,
        distribution: Distribution::Schulz,
        points: 80,
        nsigma: 8.0,
    });
    let base = calculation.defaults();
    let free = [Free::anywhere("radius_pd"), Free::anywhere("scale")];
    let of = Problem::new(calculation, data, base, &free).unwrap();
    assert_eq!(of.parameters()[0].target, Target::Width(0));
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
fn a_population_needs_finite_bounds_and_memory_has_an_end() {
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
fn an_engine_of_other_points_is_refused() {
    let of = problem("sphere", three_points(), &[], &[Free::anywhere("scale")]).unwrap();
    let refused = run(
        &of,
        &mut Analytic::new(|_, q| q, &[0.1, 0.2]),
        Options::default(),
    );
    assert!(refused.unwrap_err().to_string().contains("other points"));
}
