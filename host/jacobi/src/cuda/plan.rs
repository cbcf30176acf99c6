//! The plan of a relaxation on a device group: scheme, sweeps per pass and route of the halos.

use serde::Serialize;
use warpstride_core::text::count;

/// Maximum number of sweeps per pass for which there are kernels.
pub(super) const MAX_SWEEPS: usize = 8;

/// The rungs of the ladder, from the slowest to the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// All work on the legacy default stream; the host waits for whole devices after each step.
    DefaultStream,
    /// Separate streams for computing and for sending up and down; the host waits for streams.
    Streams,
    /// The same streams, ordered by events; the host waits only for a batch of sweeps.
    Events,
    /// The rows next to the neighbours are computed first, on streams of high priority, and sent
    /// while the bulk is computed.
    Overlap,
    /// As `Overlap`, with each batch captured as a graph.
    Graphs,
    /// As `Graphs`, with several sweeps per pass over the memory and halos of as many rows.
    Temporal,
}

impl Scheme {
    /// All schemes, in the order of the ladder.
    pub const ALL: [Self; 6] = [
        Self::DefaultStream,
        Self::Streams,
        Self::Events,
        Self::Overlap,
        Self::Graphs,
        Self::Temporal,
    ];

    /// The fastest scheme, according to the measurements in `docs/multi-gpu.md`.
    #[must_use]
    pub fn best() -> Self {
        Self::Temporal
    }

    /// The name on the command line.
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

    /// Whether batches are captured as graphs.
    pub(super) fn uses_graphs(self) -> bool {
        matches!(self, Self::Graphs | Self::Temporal)
    }
}

/// How to run a relaxation on a device group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The scheme.
    pub scheme: Scheme,
    /// Sweeps per pass, 1 to 8; more than 1 only with [`Scheme::Temporal`]. 0 selects a number that
    /// suits the grid.
    pub time_block: usize,
    /// Whether halos are sent directly between devices. `None` sends them directly if all
    /// neighbours have direct links.
    pub p2p: Option<bool>,
    /// Whether the operations of the devices are timed.
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

/// An invalid plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is no kernel for this number of sweeps.
    #[error("sweeps per pass: expected 1 to {MAX_SWEEPS}, found {requested}")]
    TimeBlock {
        /// The requested number of sweeps.
        requested: usize,
    },
    /// Several sweeps per pass with a scheme that does one.
    #[error(
        "sweeps per pass: expected 1 with the scheme {} (temporal does several), found {requested}",
        scheme.name()
    )]
    OneSweep {
        /// The scheme.
        scheme: Scheme,
        /// The requested number of sweeps.
        requested: usize,
    },
    /// Direct sends between devices without a direct link.
    #[error(
        "expected a direct link from GPU {from} to GPU {to}, found none: halos must be sent through the host"
    )]
    NoLink {
        /// Ordinal of a device.
        from: usize,
        /// Ordinal of its neighbour.
        to: usize,
    },
}

impl Plan {
    /// The number of sweeps per pass for blocks of `nx` columns and at least `rows` rows, with a
    /// note if it differs from the requested number.
    ///
    /// # Errors
    /// The requested number is not possible.
    pub(super) fn sweeps_per_pass(
        &self,
        nx: usize,
        rows: usize,
    ) -> Result<(usize, Option<String>), PlanError> {
        let requested = self.time_block;
        if requested > MAX_SWEEPS {
            return Err(PlanError::TimeBlock { requested });
        }
        if self.scheme != Scheme::Temporal {
            return match requested {
                0 | 1 => Ok((1, None)),
                _ => Err(PlanError::OneSweep {
                    scheme: self.scheme,
                    requested,
                }),
            };
        }
        let depth = match requested {
            0 => default_depth(nx, rows),
            some => some,
        };
        let sweeps = depth.min(rows);
        let note = (sweeps < requested).then(|| {
            format!(
                "time block {sweeps} instead of {requested}: the smallest block has {}",
                count(rows, ["row", "rows"])
            )
        });
        Ok((sweeps, note))
    }
}

/// The fastest number of sweeps per pass measured on an H200. If a block has few rows, the rows
/// that neighbouring strips both compute cost more than the memory traffic that a deeper pass
/// saves.
fn default_depth(nx: usize, rows: usize) -> usize {
    if nx.saturating_mul(rows) < 16 << 20 {
        4
    } else {
        MAX_SWEEPS
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
    fn only_the_last_scheme_has_passes_of_several_sweeps() {
        for scheme in Scheme::ALL {
            let two = plan(scheme, 2).sweeps_per_pass(100, 100);
            if scheme == Scheme::Temporal {
                assert_eq!(two, Ok((2, None)));
            } else {
                assert_eq!(
                    two,
                    Err(PlanError::OneSweep {
                        scheme,
                        requested: 2
                    })
                );
                assert_eq!(plan(scheme, 0).sweeps_per_pass(9, 9), Ok((1, None)));
            }
            let nine = plan(scheme, 9).sweeps_per_pass(100, 100);
            assert_eq!(nine, Err(PlanError::TimeBlock { requested: 9 }));
        }
    }

    #[test]
    fn a_pass_never_extends_beyond_the_neighbouring_block() {
        for rows in 1..20 {
            for requested in 0..=MAX_SWEEPS {
                let (sweeps, note) = plan(Scheme::Temporal, requested)
                    .sweeps_per_pass(5000, rows)
                    .unwrap();
                assert!((1..=rows).contains(&sweeps));
                assert_eq!(note.is_some(), requested > rows);
            }
        }
    }
}
