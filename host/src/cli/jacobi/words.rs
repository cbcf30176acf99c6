//! What a relaxation prints.

use crate::cli::output::facts;
use warpstride::jacobi::{Norm, Outcome};
use warpstride::report::{Table, significant};

/// Most norms in the table.
const LINES: usize = 12;

/// For people.
pub(super) fn table(of: &Outcome, written: &[String]) -> String {
    let mut lines = vec![
        (
            "grid",
            format!("{} x {} (ny x nx), {}", of.ny, of.nx, of.precision),
        ),
        ("boundary", format!("{:?}", of.boundary).to_lowercase()),
        (
            "back end",
            format!("{} ({})", of.backend, distinct(&of.device_names)),
        ),
    ];
    if !of.devices.is_empty() {
        let numbers: Vec<String> = of.devices.iter().map(ToString::to_string).collect();
        lines.push(("devices", numbers.join(", ")));
    }
    let block = match of.time_block {
        0 | 1 => String::new(),
        sweeps => format!(", {sweeps} sweeps a pass"),
    };
    lines.push(("scheme", format!("{}{block}", of.scheme)));
    if let Some(direct) = of.p2p {
        let way = if direct {
            "from device to device"
        } else {
            "through the host"
        };
        lines.push(("halos", way.to_owned()));
    }
    let why = if of.converged {
        format!(" (the tolerance {} is met)", significant(of.tolerance, 3))
    } else {
        String::new()
    };
    lines.push(("sweeps", format!("{}{why}", of.sweeps)));
    lines.push((
        "time",
        format!(
            "{} s, and {} s before",
            significant(of.seconds, 4),
            significant(of.setup_seconds, 3)
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
                "{} s, {} % of it reached",
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
        let number = of.devices.get(gap.device).copied().unwrap_or(gap.device);
        lines.push((
            "idle gap",
            format!(
                "{} µs (median), {} µs at most, device {number}",
                significant(gap.median, 3),
                significant(gap.max, 3)
            ),
        ));
    }
    for note in &of.notes {
        lines.push(("note", note.clone()));
    }
    let mut name = "written";
    for path in written {
        lines.push((std::mem::take(&mut name), path.clone()));
    }
    let mut norms = Table::new(&["sweep", "norm"]);
    for norm in thinned(&of.norms) {
        norms.row([norm.sweep.to_string(), significant(norm.norm, 7)]);
    }
    format!("{}\n{norms}", facts(&lines))
}

/// `sweep,norm`; every norm to the last digit.
pub(super) fn csv(norms: &[Norm]) -> String {
    let lines = norms
        .iter()
        .map(|norm| format!("{},{}\n", norm.sweep, norm.norm));
    std::iter::once("sweep,norm\n".to_owned())
        .chain(lines)
        .collect()
}

/// The first, the last, and evenly some between.
fn thinned(norms: &[Norm]) -> Vec<Norm> {
    if norms.len() <= LINES {
        return norms.to_vec();
    }
    let last = norms.len() - 1;
    (0..LINES)
        .map(|line| norms[line * last / (LINES - 1)])
        .collect()
}

/// `4 x A, B`.
fn distinct(names: &[String]) -> String {
    let mut counted: Vec<(&String, usize)> = Vec::new();
    for name in names {
        match counted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counted.push((name, 1)),
        }
    }
    let words = counted.iter().map(|(name, count)| match count {
        1 => (*name).clone(),
        _ => format!("{count} x {name}"),
    });
    words.collect::<Vec<_>>().join(", ")
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
    fn long_histories_keep_their_ends_and_stay_in_order() {
        assert_eq!(thinned(&norms(0)), []);
        assert_eq!(thinned(&norms(12)), norms(12));
        for count in [13, 24, 1000] {
            let kept = thinned(&norms(count));
            assert_eq!(
                (kept.len(), kept[0].sweep, kept[11].sweep),
                (12, 0, count - 1)
            );
            assert!(kept.windows(2).all(|pair| pair[0].sweep < pair[1].sweep));
        }
    }

    #[test]
    fn csv_has_every_digit() {
        let text = csv(&norms(3));
        assert_eq!(text, "sweep,norm\n0,1\n1,0.5\n2,0.3333333333333333\n");
    }

    #[test]
    fn equal_devices_are_counted() {
        let names = ["A", "B", "A"].map(str::to_owned);
        assert_eq!(distinct(&names), "2 x A, B");
    }
}
