//! Race detection for the schemes: all operations are recorded, none is run.
//!
//! Two operations that access the same row, at least one of them writing, must be ordered by their
//! stream, by events and sends, or by the host. Then any order in which a real device runs them is
//! correct. The emulator cannot detect a missing order, because it runs all operations in the order
//! of the calls.

mod group;
mod order;
mod reach;
mod touched;

use std::collections::BTreeMap;

use super::GroupEngine;
use crate::cuda::{Plan, Scheme};
use crate::{Boundary, Engine as _, Problem, Stopping};
use group::{Behaviour, Call, RaceGroup};
use order::Race;
use warpstride_cuda::gpu::DeviceGroup as _;

/// Columns: one vector, so that the elements of a field are rows.
const NX: usize = 4;
/// Passes per batch: events are reused after two.
const PASSES: usize = 4;
/// Whole batches of a run: each of three fields is the first of a batch, and one of them twice.
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
    /// Whether there is memory for only two fields.
    two_fields: bool,
    converges_after: Option<usize>,
}

struct Recording {
    races: Vec<Race>,
    calls: Vec<Call>,
}

impl Case {
    /// Records a run of several whole batches, a shorter one, and one with a pass of fewer sweeps.
    /// If it converges, the last batch is repeated up to the sweep of convergence.
    fn record(&self, omitted_call: Option<usize>) -> Recording {
        let group = RaceGroup::new(Behaviour {
            devices: self.devices,
            two_fields: self.two_fields,
            converges_after: self.converges_after,
            omitted_call,
        });
        let problem = Problem::<f32>::new(NX, self.rows + 2, self.boundary).unwrap();
        let max = PASSES * self.depth;
        let rule = Stopping {
            iterations: BATCHES * max + self.depth + 1,
            tolerance: 1e-8,
            check_every: self.check_every,
        };
        let plan = Plan {
            scheme: self.scheme,
            time_block: self.depth,
            p2p: (self.devices > 1).then_some(self.direct),
            profile: false,
        };
        let mut engine = GroupEngine::new(group, &problem, rule, plan).unwrap();
        assert_eq!(engine.execution.time_block, self.depth);
        engine.lengths.max = max;
        for block in &mut engine.blocks.blocks {
            let sums = max * block.sums_stride as usize;
            block.sums = engine.group.alloc(block.device, "sums", sums).unwrap();
            block.totals = engine.group.alloc(block.device, "totals", max).unwrap();
        }
        if self.scheme.uses_graphs() {
            engine.graphs.clear();
            engine.capture_batches().unwrap();
        }
        while !engine.finished() {
            engine.advance().unwrap();
        }
        assert_eq!(engine.converged, self.converges_after.is_some());
        Recording {
            races: engine.group.races(),
            calls: engine.group.calls(),
        }
    }
}

/// Total numbers of rows for which the smallest block has `fewest` rows, and no block, one block,
/// or all but one are larger.
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
        for devices in 1..=4 {
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
                            two_fields: nth % 7 == 0,
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
fn all_accesses_to_a_row_are_ordered() {
    for case in cases() {
        let races = case.record(None).races;
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
                        two_fields: false,
                        converges_after: None,
                    });
                }
            }
        }
    }
    cases
}

/// Ordering calls in the source of which no single execution is needed in any small run.
fn redundant_calls(scheme: Scheme) -> Vec<Call> {
    let mut all: BTreeMap<Call, bool> = BTreeMap::new();
    for case in small_cases(scheme) {
        for (n, call) in case.record(None).calls.into_iter().enumerate() {
            let needed = all.entry(call).or_default();
            *needed = *needed || !case.record(Some(n)).races.is_empty();
        }
    }
    all.retain(|_, needed| !*needed);
    all.into_keys().collect()
}

/// Omitting an ordering call causes a race in at least one small run, unless the other calls
/// already imply the order.
#[test]
fn omitting_an_ordering_call_causes_a_race() {
    for scheme in Scheme::ALL {
        let expected: &[&str] = match scheme {
            // Each pass begins with a wait for the sends; the host waits only to show its cost.
            Scheme::Streams => &[
                "the host waits for bottom",
                "the host waits for bulk",
                "the host waits for top",
            ],
            _ => &[],
        };
        let found = redundant_calls(scheme);
        let whats: Vec<&str> = found.iter().map(|call| call.what.as_str()).collect();
        assert_eq!(whats, expected, "{scheme:?}: {found:?}");
    }
}
