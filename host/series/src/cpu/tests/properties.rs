//! Properties that hold for arbitrary series.

use super::definition::definition;
use super::*;
use proptest::prelude::*;

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -100.0..100.0,
        3 => (-3..3_i32).prop_map(f64::from),
        1 => Just(-0.0),
        1 => Just(f64::NAN),
        1 => prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(f64::MAX), Just(-f64::MAX), Just(5e-324)],
        1 => any::<f64>(),
    ]
}

/// Points in any order, with duplicates.
fn series() -> impl Strategy<Value = Vec<(i64, f64)>> {
    let time = prop_oneof![4 => 0..400_i64, 1 => 0..=i64::MAX];
    prop::collection::vec((time, value()), 0..150)
}

fn steps() -> impl Strategy<Value = Vec<Granularity>> {
    let step = prop_oneof![1..60_u64, 1..=u64::MAX >> 1];
    prop::collection::btree_set(step, 1..4)
        .prop_map(|steps| steps.into_iter().map(Granularity::Fixed).collect())
}

fn duplicates() -> impl Strategy<Value = Duplicates> {
    prop_oneof![
        Just(Duplicates::Keep),
        Just(Duplicates::First),
        Just(Duplicates::Last)
    ]
}

fn policy() -> impl Strategy<Value = NanPolicy> {
    prop_oneof![Just(NanPolicy::Keep), Just(NanPolicy::Skip)]
}

proptest! {
    #[test]
    fn the_engine_equals_the_definition(
        series in prop::collection::vec(series(), 0..6), steps in steps(), nan in policy(),
        duplicates in duplicates(),
    ) {
        let plan = everything(&steps, nan).with_duplicates(duplicates);
        let batch = batch(&series);
        assert_same(&resample(&plan, &batch), &definition(&plan, &batch));
    }

    #[test]
    fn the_order_of_the_input_does_not_matter(
        points in series(), order in any::<u64>(), steps in steps(), nan in policy(),
    ) {
        let mut points = points;
        points.sort_by_key(|point| point.0);
        points.dedup_by_key(|point| point.0);
        let mut permuted = points.clone();
        permuted.sort_by_cached_key(|point| (point.0 as u64 ^ order).wrapping_mul(0x9e37_79b9_7f4a_7c15 | 1));
        let plan = everything(&steps, nan);
        assert_same(&resample(&plan, &batch(&[permuted])), &resample(&plan, &batch(&[points])));
    }

    #[test]
    fn sums_lie_within_the_bound(values in prop::collection::vec(-1e6..1e6_f64, 1..3000)) {
        let points = values.iter().enumerate().map(|(i, v)| (i as i64, *v)).collect();
        let plan = Resample::new(
            vec![Granularity::Fixed(1 << 40)], vec![Aggregate::of(Method::Sum)], NanPolicy::Keep,
        ).unwrap();
        let sum = resample(&plan, &batch(&[points])).buckets[0].columns[0].values[0];
        let one_by_one: f64 = values.iter().sum();
        let sizes: f64 = values.iter().map(|v| v.abs()).sum();
        prop_assert!((sum - one_by_one).abs() <= values.len() as f64 * f64::EPSILON * sizes);
    }
}
