//! How a relaxation is to run on a fleet.

use serde::Serialize;

/// Most sweeps of a pass that there are kernels for.
pub(super) const MOST_SWEEPS: usize = 8;

/// The rungs of the ladder, from the slowest to the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Everything on the legacy default stream; the host waits for whole devices after each step.
    DefaultStream,
    /// Streams for computing, pushing up and pushing down; the host waits for streams.
    Streams,
    /// The same streams ordered by events; the host waits only for a batch of sweeps.
    Events,
    /// The rows next to the neighbours first, on streams of high priority, and the pushes of their
    /// results beside the bulk of the work.
    Overlap,
    /// As `Overlap`, each batch recorded as one graph.
    Graphs,
    /// As `Graphs`, with several sweeps in one pass over the memory and halos of as many rows.
    Temporal,
}

impl Scheme {
    /// All, in the order of the ladder.
    pub const ALL: [Self; 6] = [
        Self::DefaultStream,
        Self::Streams,
        Self::Events,
        Self::Overlap,
        Self::Graphs,
        Self::Temporal,
    ];

    /// The fastest, by the measurements in `docs/multi-gpu.md`.
    #[must_use]
    pub fn best() -> Self {
        Self::Temporal
    }

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DefaultStream => "default-stream",
            Self::Streams => "streams",
            Self::Events => "events",
            Self::Overlap => "overlap",
            Self::Graphs => "graphs",
            Self::Temporal => "temporal",
        }
    }

    /// Whether the outer rows of a block are computed before its bulk.
    pub(super) fn overlaps(self) -> bool {
        matches!(self, Self::Overlap | Self::Graphs | Self::Temporal)
    }

    /// Whether batches are recorded.
    pub(super) fn records(self) -> bool {
        matches!(self, Self::Graphs | Self::Temporal)
    }
}

/// What to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The rung.
    pub scheme: Scheme,
    /// Sweeps of a pass, 1 to 8; more than 1 with [`Scheme::Temporal`] only. 0: chosen by the grid.
    pub time_block: usize,
    /// Whether halos go from device to device without the host. `None`: where all neighbours are
    /// linked so.
    pub p2p: Option<bool>,
    /// Whether the work of the devices is timed.
    pub profile: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            scheme: Scheme::best(),
            time_block: 0,
            p2p: None,
            profile: false,
        }
    }
}

/// Why a plan cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No kernel for so many sweeps.
    #[error("a pass has 1 to {MOST_SWEEPS} sweeps, not {asked}")]
    TimeBlock {
        /// Sweeps asked for.
        asked: usize,
    },
    /// A pass of several sweeps on a rung that has none.
    #[error(
        "the scheme {} does one sweep a pass: {asked} need the scheme temporal",
        scheme.name()
    )]
    OneSweep {
        /// The rung.
        scheme: Scheme,
        /// Sweeps asked for.
        asked: usize,
    },
    /// Peer copies where there is no link.
    #[error("GPU {from} has no direct link to GPU {to}: halos must go through the host")]
    NoLink {
        /// Number of a device.
        from: usize,
        /// Number of its neighbour.
        to: usize,
    },
}

impl Plan {
    /// Sweeps of a pass for blocks of `nx` columns and at least `rows` rows, with a note where that
    /// is not what was asked for.
    ///
    /// # Errors
    /// What was asked for cannot be.
    pub(super) fn sweeps_of_a_pass(
        &self,
        nx: usize,
        rows: usize,
    ) -> Result<(usize, Option<String>), PlanError> {
        let asked = self.time_block;
        if asked > MOST_SWEEPS {
            return Err(PlanError::TimeBlock { asked });
        }
        if self.scheme != Scheme::Temporal {
            return match asked {
                0 | 1 => Ok((1, None)),
                _ => Err(PlanError::OneSweep {
                    scheme: self.scheme,
                    asked,
                }),
            };
        }
        let wanted = match asked {
            0 => suited(nx, rows),
            some => some,
        };
        let sweeps = wanted.min(rows);
        let note = (sweeps < asked).then(|| {
            format!("time block {sweeps} instead of {asked}: the smallest block has {rows} row(s)")
        });
        Ok((sweeps, note))
    }
}

/// The fastest depth measured on an H200: where the rows of a block are few, the rows that
/// neighbouring strips compute twice cost more than the memory that a deeper pass saves.
fn suited(nx: usize, rows: usize) -> usize {
    if nx.saturating_mul(rows) < 16 << 20 {
        4
    } else {
        MOST_SWEEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(scheme: Scheme, time_block: usize) -> Plan {
        Plan {
            scheme,
            time_block,
            ..Plan::default()
        }
    }

    #[test]
    fn only_the_last_rung_has_passes_of_several_sweeps() {
        for scheme in Scheme::ALL {
            let two = plan(scheme, 2).sweeps_of_a_pass(100, 100);
            if scheme == Scheme::Temporal {
                assert_eq!(two, Ok((2, None)));
            } else {
                assert_eq!(two, Err(PlanError::OneSweep { scheme, asked: 2 }));
                assert_eq!(plan(scheme, 0).sweeps_of_a_pass(9, 9), Ok((1, None)));
            }
            let nine = plan(scheme, 9).sweeps_of_a_pass(100, 100);
            assert_eq!(nine, Err(PlanError::TimeBlock { asked: 9 }));
        }
    }

    #[test]
    fn a_pass_never_reaches_beyond_the_neighbouring_block() {
        for rows in 1..20 {
            for asked in 0..=MOST_SWEEPS {
                let (sweeps, note) = plan(Scheme::Temporal, asked)
                    .sweeps_of_a_pass(5000, rows)
                    .unwrap();
                assert!((1..=rows).contains(&sweeps));
                assert_eq!(note.is_some(), asked > rows);
            }
        }
    }
}
