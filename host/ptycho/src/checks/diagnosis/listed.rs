//! Texts that list frames and pixels.

use ndarray::Array2;
use std::collections::{BTreeMap, BTreeSet};
use warpstride_core::text::{count, ranges};

/// What dead pixels without any counts, those with a few, and those with always the same do: of
/// one, and of several.
pub(crate) const NEVER: [&str; 2] = ["never counts", "never count"];
pub(crate) const HARDLY: [&str; 2] = ["hardly ever counts", "hardly ever count"];
pub(crate) const STUCK: [&str; 2] = [
    "has the same count in every frame",
    "have the same count in every frame",
];

/// Most frames, lines, rectangles or pixels that a text lists.
const LISTED: usize = 5;

/// `119 pixels never count (row 20, column 27)` if that is `what` they do: lines, rectangles, other
/// areas and single pixels as `in_file` places them; `None` without any.
pub(crate) fn listed_pixels(
    dead: &Array2<bool>,
    what: [&str; 2],
    [rows, columns]: [usize; 2],
    in_file: &dyn Fn([usize; 2]) -> [usize; 2],
) -> Option<String> {
    let mut left: BTreeSet<[usize; 2]> = (dead.indexed_iter())
        .filter(|(_, dead)| **dead)
        .map(|((row, column), _)| in_file([row, column]))
        .collect();
    let all = left.clone();
    let number = all.len();
    let mut parts = Vec::new();
    for (axis, side, names) in [
        (0, columns, ["row", "rows"]),
        (1, rows, ["column", "columns"]),
    ] {
        let mut pixels: BTreeMap<usize, usize> = BTreeMap::new();
        for place in &all {
            *pixels.entry(place[axis]).or_default() += 1;
        }
        let lines: Vec<usize> = (pixels.into_iter())
            .filter_map(|(line, pixels)| (pixels == side).then_some(line))
            .collect();
        if !lines.is_empty() {
            left.retain(|place| lines.binary_search(&place[axis]).is_err());
            parts.push(format!(
                "{} {}",
                names[usize::from(lines.len() > 1)],
                ranges(&lines)
            ));
        }
    }
    while let Some(first) = left.pop_first() {
        let mut group = vec![first];
        let mut next = 0;
        while let Some([row, column]) = group.get(next).copied() {
            let beside = [
                [row.wrapping_sub(1), column],
                [row + 1, column],
                [row, column.wrapping_sub(1)],
                [row, column + 1],
            ];
            group.extend(beside.into_iter().filter(|place| left.remove(place)));
            next += 1;
        }
        let ends = |axis: usize| {
            let of = group.iter().map(|place| place[axis]);
            (of.clone().min().unwrap_or(0), of.max().unwrap_or(0))
        };
        let ((top, bottom), (first, last)) = (ends(0), ends(1));
        parts.push(match group.len() {
            1 => format!("({top}, {first})"),
            _ => {
                let rows = span(["row", "rows"], top, bottom);
                let columns = span(["column", "columns"], first, last);
                match (bottom + 1 - top) * (last + 1 - first) == group.len() {
                    true => format!("{rows}, {columns}"),
                    false => format!("{} within {rows}, {columns}", group.len()),
                }
            }
        });
    }
    let more = if parts.len() > LISTED { ", …" } else { "" };
    parts.truncate(LISTED);
    let what = what[usize::from(number > 1)];
    let pixels = count(number, ["pixel", "pixels"]);
    (number > 0).then(|| format!("{pixels} {what} ({}{more})", parts.join(", ")))
}

/// `row 3`, `rows 3-5`.
fn span([one, several]: [&str; 2], first: usize, last: usize) -> String {
    match first == last {
        true => format!("{one} {first}"),
        false => format!("{several} {first}-{last}"),
    }
}

/// `3 frames without any counts: 4, 7, 8`.
pub(super) fn listed<T: ToString>(found: &[T], nouns: [&str; 2], what: &str) -> Option<String> {
    let shown: Vec<String> = found.iter().take(LISTED).map(ToString::to_string).collect();
    let more = if found.len() > LISTED { ", …" } else { "" };
    let found = (!found.is_empty()).then(|| count(found.len(), nouns))?;
    Some(format!("{found} {what}: {}{more}", shown.join(", ")))
}
