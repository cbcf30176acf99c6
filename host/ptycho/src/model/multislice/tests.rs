use super::*;
use crate::Problem;
use crate::{EngineSpec, NearField, PositionMethod, SimulateOptions, simulate};

fn plan() -> SlicePlan {
    SlicePlan {
        wavelength: 1.24e-10,
        pixel: [1e-8, 0.8e-8],
        distances: vec![20e-6, 30e-6],
        same: false,
        refine: true,
        refine_from: 1,
    }
}

fn thick(distance: Option<SliceDistance>, engines: &[&str]) -> Recipe {
    Recipe {
        slices: SliceOptions {
            count: 3,
            distance,
            ..SliceOptions::default()
        },
        engines: engines
            .iter()
            .map(|text| EngineSpec::parse(text).unwrap())
            .collect(),
        ..Recipe::default()
    }
}

/// K of near fields is the transfer function of slices too.
#[test]
fn the_transfer_function_is_that_of_near_fields() {
    let plan = plan();
    let near = NearField {
        wavelength: plan.wavelength,
        distance: 20e-6,
        pixel: plan.pixel,
    };
    let expected = near.transfer(9, 12);
    for (kappa, expected) in plan.kappa(9, 12).into_iter().zip(&expected) {
        assert!((factor(kappa, 20e-6) - expected).norm() < 1e-9);
    }
}

#[test]
fn light_that_leaves_the_window_is_noted() {
    let plan = plan();
    // λΔz/Δ² is 58 columns.
    assert!(plan.note([64, 64]).is_none() && plan.spread([64, 64]) > 0.9);
    assert!(
        plan.note([64, 32]).unwrap().contains("is 1.82"),
        "{:?}",
        plan.note([64, 32])
    );
}

/// Steps to one side grow, those that change sides shrink; no step is larger than 3 %, and no
/// distance beyond a factor of 2.
#[test]
fn distances_are_relaxed_within_their_limits() {
    let mut distances = Distances::new(&plan());
    distances.advance(&[[1e-9, 1.0], [-1e-9, 1.0]]);
    assert!((distances.values[0] - (20e-6 + 1e-8)).abs() < 1e-15);
    assert!((distances.values[1] - (30e-6 - 1e-8)).abs() < 1e-15);
    distances.advance(&[[1e-9, 1.0], [1e-9, 1.0]]);
    assert!((distances.values[0] - (20e-6 + 2.25e-8)).abs() < 1e-15);
    assert!((distances.values[1] - (30e-6 - 0.5e-8)).abs() < 1e-15);
    let before = distances.clone();
    distances.advance(&[[0.0, 0.0], [f64::NAN, 1.0]]);
    assert_eq!(distances, before);
    distances.advance(&[[1.0, 1.0], [-1.0, 1.0]]);
    assert!((distances.values[0] / before.values[0] - 1.03).abs() < 1e-12);
    for _ in 0..100 {
        distances.advance(&[[1.0, 1.0], [-1.0, 1.0]]);
    }
    assert_eq!(distances.values, [40e-6, 15e-6]);
    let mut same = Distances::new(&SlicePlan {
        same: true,
        distances: vec![20e-6; 2],
        ..plan()
    });
    same.advance(&[[3e-9, 1.0], [-1e-9, 3.0]]);
    assert_eq!(same.values[0], same.values[1]);
    assert!((same.values[0] - (20e-6 + 0.5e-8)).abs() < 1e-15);
}

#[test]
fn saved_distances_are_taken_unless_they_are_those_of_another_run() {
    let mut distances = Distances::new(&plan());
    distances.advance(&[[1e-9, 1.0], [-1e-9, 1.0]]);
    let (name, saved) = distances.state();
    assert_eq!(name, Distances::STATE);
    let mut other = Distances::new(&plan());
    assert!(other.restore(Some(&saved)).is_some());
    assert_eq!(other, distances);
    assert!(other.restore(None).is_none());
    let far = Values::F64(vec![Complex::new(1.0, 1.0); 4]);
    let short = Values::F64(vec![Complex::new(20e-6, 1.0); 2]);
    for wrong in [far, short] {
        assert!(other.restore(Some(&wrong)).is_none());
    }
    assert_eq!(other, distances);
}

#[test]
fn what_slices_do_not_go_with_is_refused() {
    let same = Some(SliceDistance::Same(20e-6));
    assert!(thick(same.clone(), &["lsqml:5", "ml:3"]).check().is_ok());
    let each = Some(SliceDistance::Each(vec![20e-6, 1e-5]));
    assert!(thick(each, &["lsqml:5"]).check().is_ok());
    let refused = |recipe: &Recipe, text: &str| {
        let error = recipe.check().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    for engine in ["dm", "raar", "ap", "epie", "rpie"] {
        let recipe = thick(same.clone(), &[&format!("{engine}:5"), "lsqml:2"]);
        refused(&recipe, "only the engines lsqml and ml");
    }
    refused(&thick(None, &["lsqml:5"]), "slices.distance");
    for wrong in [0.0, -1.0, 2.0, f64::NAN] {
        let recipe = thick(Some(SliceDistance::Same(wrong)), &["lsqml:5"]);
        refused(&recipe, "slices.distance");
    }
    let each = Some(SliceDistance::Each(vec![20e-6]));
    refused(&thick(each, &["lsqml:5"]), "a list of 2");
    let good = thick(same, &["lsqml:5"]);
    let mut recipe = good.clone();
    recipe.positions.refine = vec![PositionMethod::Gradient];
    refused(&recipe, "positions.refine");
    let mut recipe = good.clone();
    recipe.data.near_field = Some(true);
    refused(&recipe, "data.near_field");
    let mut recipe = good.clone();
    recipe.engines[0].regulariser = Some(1.0);
    refused(&recipe, "lsqml.regulariser");
    let mut recipe = good.clone();
    recipe.slices.count = 65;
    refused(&recipe, "slices.count");
    let text = good.to_toml().unwrap();
    assert_eq!(Recipe::from_toml(&text).unwrap(), good);
    assert!(!Recipe::default().to_toml().unwrap().contains("slices"));
    let mut set = Recipe::default();
    for assignment in [
        "slices.count=2",
        "slices.distance=[1e-6]",
        "slices.refine_distance=true",
    ] {
        set.set(assignment).unwrap();
    }
    assert_eq!(set.slices.distances(), [1e-6]);
}

/// A start object is the product of its shares.
#[test]
fn a_start_object_is_shared_by_the_slices() {
    let options = SimulateOptions {
        frame: 16,
        positions: 4,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let recipe = thick(Some(SliceDistance::Same(1e-6)), &["lsqml:5"]);
    let mut problem = Problem::prepare(&scan, &recipe).unwrap();
    assert_eq!(problem.object_layers(), 3);
    let truth = &scan.simulation().unwrap().object;
    problem.object.assign(truth);
    problem.share_object();
    let mut product = problem.object.clone();
    for layer in problem.more_layers.outer_iter() {
        product.zip_mut_with(&layer, |to, v| *to *= v);
    }
    for (found, expected) in product.iter().zip(truth) {
        assert!((found - expected).norm() < 1e-12);
    }
}

/// Distances that began with those of an earlier result, far from the recipe's, go on with their
/// own start.
#[test]
fn saved_distances_have_their_start() {
    let mut earlier = plan();
    earlier.distances.iter_mut().for_each(|d| *d *= 5.0);
    earlier.same = !earlier.same;
    let mut distances = Distances::new(&earlier);
    distances.advance(&[[1e-9, 1.0], [-1e-9, 1.0]]);
    let (_, saved) = distances.state();
    let mut other = Distances::new(&plan());
    assert!(other.restore(Some(&saved)).is_some());
    assert_eq!(other, distances);
    let Values::F64(values) = saved else {
        unreachable!("distances are in double precision");
    };
    for (at, by) in [(0, 10.0), (1, f64::NAN)] {
        let mut wrong = values.clone();
        if at == 0 {
            wrong[0].re *= by;
        } else {
            wrong[1].im = by;
        }
        assert!(other.restore(Some(&Values::F64(wrong))).is_none());
    }
    assert_eq!(other, distances);
}
