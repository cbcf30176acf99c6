//! The contents of a store do not depend on the division of points into batches.

use super::{Folder, Points, contents, expected, ingest, policy};
use crate::store::Policy;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

const AGGREGATES: [&str; 12] = [
    "count", "sum", "mean", "min", "max", "first", "last", "nunique", "std", "median", "90.5pct",
    "rate:sum",
];

fn policies() -> impl Strategy<Value = Policy> {
    let archives = prop::sample::select(vec![
        vec![("10ns", 1000), ("60ns", 1000)],
        // Steps that do not divide each other, and timespans shorter than the window.
        vec![("7ns", 9), ("30ns", 5), ("100ns", 3)],
        vec![("7ns", 9000), ("30ns", 9000), ("100ns", 9000)],
        vec![("40ns", 70)],
    ]);
    let with_rates = [&AGGREGATES[..], &["rate:std", "rate:median", "rate:mean"]].concat();
    let aggregates = prop::sample::select(vec![
        with_rates,
        AGGREGATES[..11].to_vec(),
        vec!["rate:max", "std"],
    ]);
    (0..5_u64, aggregates, archives)
        .prop_map(|(window, aggregates, archives)| policy(window, &aggregates, &archives))
}

fn series() -> impl Strategy<Value = Vec<(i64, f64)>> {
    let value = prop_oneof![
        8 => -1e3..1e3_f64,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -0.0, 0.0, f64::MAX, 1.5]),
    ];
    let step = prop_oneof![6 => 1..12_i64, 1 => 1..400_i64];
    prop::collection::vec((step, value), 1..120).prop_map(|steps| {
        let mut time = 0;
        let points = steps.into_iter().map(|(step, value)| {
            time += step;
            (time + 1_000_000, value)
        });
        points.collect()
    })
}

/// A random order in which no point is older than its window, for any division into batches.
fn shuffled(policy: &Policy, points: &[(i64, f64)], random: &mut TestRng) -> Vec<(i64, f64)> {
    let mut rest = points.to_vec();
    let mut order: Vec<(i64, f64)> = Vec::new();
    let mut last = 0;
    while let Some((oldest, _)) = rest.first().copied() {
        // Points that may precede the oldest of the rest.
        let possible =
            rest.partition_point(|point| policy.window_start(point.0.max(last)) <= oldest);
        let next = rest.remove((random.next_u64() % possible.max(1) as u64) as usize);
        last = last.max(next.0);
        order.push(next);
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn batches_in_any_order_give_the_same_store(
        policy in policies(),
        series in prop::collection::vec(series(), 1..4),
        batches in 1..9_usize,
        seed in any::<[u8; 32]>(),
    ) {
        let folder = Folder::new();
        let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut whole = Points::new();
        let mut parts = vec![Points::new(); batches];
        for (number, points) in series.into_iter().enumerate() {
            let name = format!("s{number}");
            let order = shuffled(&policy, &points, &mut random);
            // Split at random positions; some batches have no points of a series.
            let mut cuts: Vec<usize> = (0..batches - 1)
                .map(|_| (random.next_u64() % (order.len() as u64 + 1)) as usize)
                .collect();
            cuts.extend([0, order.len()]);
            cuts.sort_unstable();
            for (part, cut) in parts.iter_mut().zip(cuts.windows(2)) {
                part.insert(name.clone(), order[cut[0]..cut[1]].to_vec());
            }
            whole.insert(name, points);
        }
        let done = ingest(&folder.path("parts"), &policy, &parts);
        prop_assert!(done.iter().all(|done| done.refused + done.replaced + done.duplicates == 0));
        ingest(&folder.path("whole"), &policy, std::slice::from_ref(&whole));
        let expected = expected(&policy, &whole);
        prop_assert_eq!(&contents(&folder.path("whole")), &expected);
        prop_assert_eq!(&contents(&folder.path("parts")), &expected);
    }
}
