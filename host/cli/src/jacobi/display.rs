//! The output of `warpstride jacobi`.

use crate::output::facts;
use warpstride::jacobi::{Norm, RunSummary};
use warpstride::text::{Table, shortest, significant};

/// Maximum number of norms in the table.
const MAX_NORMS: usize = 12;

/// The summary as text.
pub(super) fn table(of: &RunSummary) -> String {
    let mut lines = vec![
        ("grid", format!("{} x {} (ny x nx)", of.ny, of.nx)),
        ("boundary", format!("{:?}", of.boundary).to_lowercase()),
        ("back end", of.record.setup.to_string()),
    ];
    if !of.execution.devices.is_empty() {
        let numbers: Vec<String> = of
            .execution
            .devices
            .iter()
            .map(ToString::to_string)
            .collect();
        lines.push(("devices", numbers.join(", ")));
    }
    let block = match of.execution.time_block {
        0 | 1 => String::new(),
        sweeps => format!(", {sweeps} sweeps per pass"),
    };
    lines.push(("scheme", format!("{}{block}", of.execution.scheme)));
    if let Some(direct) = of.execution.p2p {
        let route = if direct {
            "sent directly between devices"
        } else {
            "sent through the host"
        };
        lines.push(("halos", route.to_owned()));
    }
    let reason = if of.converged {
        format!(" (tolerance {} met)", significant(of.tolerance, 3))
    } else {
        String::new()
    };
    lines.push(("sweeps", format!("{}{reason}", of.iterations)));
    lines.push((
        "time",
        format!(
            "{} s, after {} s of set-up",
            significant(of.record.seconds, 4),
            significant(of.record.setup_seconds, 3)
        ),
    ));
    lines.push((
        "speed",
        format!("{} cells/s", significant(of.cells_per_second, 4)),
    ));
    if let (Some(share), Some(floor)) = (of.share_of_floor, of.floor_seconds) {
        lines.push((
            "memory floor",
            format!(
                "{} s, {} % reached",
                significant(floor, 3),
                significant(100.0 * share, 3)
            ),
        ));
    }
    if let (Some(efficiency), Some(single)) = (of.efficiency, of.single_seconds) {
        lines.push((
            "efficiency",
            format!(
                "{} % ({} s on one device)",
                significant(100.0 * efficiency, 3),
                significant(single, 4)
            ),
        ));
    }
    for gap in of.idle_gap_us.iter().flatten() {
        let number = of
            .execution
            .devices
            .get(gap.device)
            .copied()
            .unwrap_or(gap.device);
        lines.push((
            "idle gap",
            format!(
                "{} µs (median), {} µs at most, device {number}",
                significant(gap.median, 3),
                significant(gap.max, 3)
            ),
        ));
    }
    // The other notes are on standard error.
    for note in &of.execution.notes {
        lines.push(("note", note.clone()));
    }
    let mut name = "written";
    for path in &of.record.outputs {
        lines.push((std::mem::take(&mut name), path.clone()));
    }
    let mut norms = Table::new(&["sweep", "norm"]);
    for norm in thinned(&of.norms) {
        norms.row([norm.sweep.to_string(), significant(norm.norm, 7)]);
    }
    format!("{}\n{norms}", facts(&lines))
}

/// CSV with the columns `sweep` and `norm`, and all digits of every norm.
pub(super) fn csv(norms: &[Norm]) -> String {
    let lines = norms
        .iter()
        .map(|norm| format!("{},{}\n", norm.sweep, shortest(norm.norm)));
    std::iter::once("sweep,norm\n".to_owned())
        .chain(lines)
        .collect()
}

/// Every norm whose index is a multiple of a round step, and the last: at most [`MAX_NORMS`]. The
/// step is the smallest of 1, 2, 5, 10, 20, … for which they are that few.
fn thinned(norms: &[Norm]) -> Vec<Norm> {
    let last = norms.len().saturating_sub(1);
    let steps = (0..).flat_map(|power| [1, 2, 5].map(|factor: usize| (factor, power)));
    let step = steps
        .map(|(factor, power)| factor.saturating_mul(10_usize.saturating_pow(power)))
        .find(|step| last.div_ceil(*step) < MAX_NORMS)
        .unwrap_or(1);
    let mut kept: Vec<Norm> = norms.iter().step_by(step).copied().collect();
    if !last.is_multiple_of(step) {
        kept.extend(norms.last().copied());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn norms(count: usize) -> Vec<Norm> {
        (0..count)
            .map(|sweep| Norm {
                sweep,
                norm: 1.0 / (sweep + 1) as f64,
            })
            .collect()
    }

    #[test]
    fn long_histories_keep_their_ends_and_their_order() {
        assert_eq!(thinned(&norms(0)), []);
        assert_eq!(thinned(&norms(12)), norms(12));
        for (count, expected) in [
            (13, vec![0, 2, 4, 6, 8, 10, 12]),
            (18, vec![0, 2, 4, 6, 8, 10, 12, 14, 16, 17]),
            (24, vec![0, 5, 10, 15, 20, 23]),
            (
                1001,
                vec![0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000],
            ),
            (1102, vec![0, 200, 400, 600, 800, 1000, 1101]),
        ] {
            let kept: Vec<usize> = thinned(&norms(count)).iter().map(|n| n.sweep).collect();
            assert_eq!(kept, expected);
        }
        for count in 1..3000 {
            let kept = thinned(&norms(count));
            assert!(kept.len() <= MAX_NORMS);
            assert_eq!(kept.last().map(|n| n.sweep), Some(count - 1));
        }
    }

    #[test]
    fn csv_has_all_digits() {
        let mut norms = norms(3);
        norms[0].norm = 1e308;
        let text = csv(&norms);
        assert_eq!(text, "sweep,norm\n0,1e308\n1,0.5\n2,0.3333333333333333\n");
    }
}
