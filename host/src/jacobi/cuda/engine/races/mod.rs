//! Whether everything that the schemes queue is in order: all work is noticed, none is done.
//!
//! Two pieces of work that touch the same row, one of them writing, must be ordered by the lanes'
//! own order, by marks and pushes, or by the host. Whatever a real device does in another order than
//! that of the calls is then harmless. The emulator cannot show the lack of an order.

mod fleet;
mod order;
mod reach;
mod touched;

use std::collections::BTreeMap;

use super::FleetEngine;
use crate::gpu::Fleet as _;
use crate::jacobi::cuda::{Plan, Scheme};
use crate::jacobi::{Boundary, Engine as _, Problem, Stopping};
use fleet::{Behaviour, Call, RaceFleet};
use order::Race;

/// Columns: one vector, so that elements of a field are rows.
const NX: usize = 4;
/// Passes of a batch: marks are used again after two.
const PASSES: usize = 4;
/// Whole batches of a run: each of three fields is the first of one, and one again.
const BATCHES: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Case {
    scheme: Scheme,
    depth: usize,
    devices: usize,
    rows: usize,
    boundary: Boundary,
    direct: bool,
    check_every: usize,
    /// Memory for two fields only.
    tight: bool,
    converges_after: Option<usize>,
}

struct Run {
    races: Vec<Race>,
    calls: Vec<Call>,
}

impl Case {
    /// Some whole batches, one that is shorter, and one with a pass of fewer sweeps; after it
    /// converged the batch once more up to there.
    fn run(&self, without: Option<usize>) -> Run {
        let fleet = RaceFleet::new(Behaviour {
            devices: self.devices,
            tight: self.tight,
            converges_after: self.converges_after,
            without,
        });
        let problem = Problem::<f32>::new(NX, self.rows + 2, self.boundary).unwrap();
        let most = PASSES * self.depth;
        let rule = Stopping {
            iterations: BATCHES * most + self.depth + 1,
            tolerance: 1e-8,
            check_every: self.check_every,
        };
        let plan = Plan {
            scheme: self.scheme,
            time_block: self.depth,
            p2p: (self.devices > 1).then_some(self.direct),
            profile: false,
        };
        let mut engine = FleetEngine::new(fleet, &problem, rule, plan).unwrap();
        assert_eq!(engine.setup.time_block, self.depth);
        engine.lengths.most = most;
        for block in &mut engine.blocks.blocks {
            let sums = most * block.sums_stride as usize;
            block.sums = engine.fleet.alloc(block.device, "sums", sums).unwrap();
            block.totals = engine.fleet.alloc(block.device, "totals", most).unwrap();
        }
        if self.scheme.records() {
            engine.recorded.clear();
            engine.record().unwrap();
        }
        while !engine.finished() {
            engine.advance().unwrap();
        }
        assert_eq!(engine.converged, self.converges_after.is_some());
        Run {
            races: engine.fleet.races(),
            calls: engine.fleet.calls(),
        }
    }
}

/// Rows of all blocks where the smallest has `fewest` and none, one, or all but one are larger.
fn rows(fewest: usize, devices: usize) -> impl Iterator<Item = usize> {
    let mut larger = vec![0, 1, devices - 1];
    larger.retain(|larger| *larger < devices);
    larger.sort_unstable();
    larger.dedup();
    larger
        .into_iter()
        .map(move |larger| devices * fewest + larger)
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (scheme, depth) in Scheme::ALL.into_iter().flat_map(|scheme| {
        let deepest = if scheme == Scheme::Temporal { 8 } else { 1 };
        (1..=deepest).map(move |depth| (scheme, depth))
    }) {
        for devices in 1..=5 {
            for rows in (depth..=4 * depth).flat_map(|fewest| rows(fewest, devices)) {
                for boundary in [Boundary::Textbook, Boundary::Dirichlet] {
                    for direct in [true, false] {
                        let nth = cases.len();
                        cases.push(Case {
                            scheme,
                            depth,
                            devices,
                            rows,
                            boundary,
                            direct,
                            check_every: [1, 2, 3][nth % 3],
                            tight: nth % 7 == 0,
                            converges_after: (nth % 5 < 3).then_some(nth % (3 * depth)),
                        });
                    }
                }
            }
        }
    }
    cases
}

#[test]
fn all_that_touches_a_row_is_in_order() {
    for case in cases() {
        let races = case.run(None).races;
        if let Some(first) = races.first() {
            panic!("{case:?}: {} races, the first: {first}", races.len());
        }
    }
}

/// Small runs of several batches of several passes.
fn small_cases(scheme: Scheme) -> Vec<Case> {
    let deepest = if scheme == Scheme::Temporal { 3 } else { 1 };
    let mut cases = Vec::new();
    for (depth, devices) in (1..=deepest).flat_map(|depth| [(depth, 2), (depth, 3)]) {
        for fewest in depth..=3 * depth {
            for boundary in [Boundary::Textbook, Boundary::Dirichlet] {
                for direct in [true, false] {
                    cases.push(Case {
                        scheme,
                        depth,
                        devices,
                        rows: devices * fewest + 1,
                        boundary,
                        direct,
                        check_every: 1,
                        tight: false,
                        converges_after: None,
                    });
                }
            }
        }
    }
    cases
}

/// Statements that order something, of which no single execution is needed in any small run.
fn not_needed(scheme: Scheme) -> Vec<Call> {
    let mut all: BTreeMap<Call, bool> = BTreeMap::new();
    for case in small_cases(scheme) {
        for (n, call) in case.run(None).calls.into_iter().enumerate() {
            let needed = all.entry(call).or_default();
            *needed = *needed || !case.run(Some(n)).races.is_empty();
        }
    }
    all.retain(|_, needed| !*needed);
    all.into_keys().collect()
}

/// The search finds what is left out: each statement, at least once, or else the others are
/// stronger.
#[test]
fn whatever_order_is_left_out_is_missed() {
    for scheme in Scheme::ALL {
        let expected: &[&str] = match scheme {
            // Each pass begins with a wait for the pushes: the host waits to show what it costs.
            Scheme::Streams => &[
                "the host waits for bottom",
                "the host waits for bulk",
                "the host waits for top",
            ],
            _ => &[],
        };
        let found = not_needed(scheme);
        let whats: Vec<&str> = found.iter().map(|call| call.what.as_str()).collect();
        assert_eq!(whats, expected, "{scheme:?}: {found:?}");
    }
}
