//! Two columns with the places of a scan's points, such as `line` and `point`: the numbers of the
//! frames, row by row.

use super::names::letters;
use super::{Table, quoted};
use crate::io::scan::found_positions::FrameNumbers;
use std::collections::{BTreeSet, HashMap};

/// Names of the place along a row, of which only letters and digits are compared.
const FAST: [&str; 13] = [
    "point", "col", "column", "fast", "j", "x", "ix", "nx", "xi", "scanx", "xindex", "indexx",
    "colindex",
];

/// Places (row, point of a row) of the lines of a table.
type Places = Vec<(u64, u64)>;

impl Table {
    /// The numbers of the frames by two columns, apart from those `chosen`, with whole numbers that
    /// are the places of a raster, if the lines are not in the order of these places. Notes lines
    /// that follow another path of a scan, column by column or to and fro.
    pub(super) fn grid(
        &self,
        chosen: [usize; 2],
        frames_of_scan: usize,
        notes: &mut Vec<String>,
    ) -> Option<FrameNumbers> {
        let names = self.names.as_deref().unwrap_or_default();
        let width = names
            .len()
            .max(self.rows.first().map_or(0, |(_, c)| c.len()));
        let name = |column: usize| {
            (names.get(column).filter(|name| !name.is_empty()))
                .map_or_else(|| format!("column {column}"), |name| quoted(name))
        };
        let others: Vec<(usize, Vec<u64>)> = (0..width)
            .filter(|column| !chosen.contains(column))
            .filter_map(|column| Some((column, self.whole(column)?)))
            .collect();
        let pairs = others.iter().enumerate();
        let mut pairs =
            pairs.flat_map(|(n, first)| others[n + 1..].iter().map(move |of| (first, of)));
        let (slow, fast, places) = pairs.find_map(|(first, second)| {
            let is_fast = |of: &(usize, Vec<u64>)| {
                names
                    .get(of.0)
                    .is_some_and(|name| FAST.contains(&letters(name).as_str()))
            };
            let (slow, fast) = match is_fast(first) && !is_fast(second) {
                true => (second, first),
                false => (first, second),
            };
            let places: Places = slow.1.iter().copied().zip(fast.1.iter().copied()).collect();
            is_raster(&places).then_some((slow.0, fast.0, places))
        })?;
        if places.is_sorted() {
            return None;
        }
        let is_path = is_path(&places);
        let column = format!("{} and {} (row by row)", name(slow), name(fast));
        if is_path {
            notes.push(format!(
                "{}: the lines go column by column or to and fro through the places in {} and {}, and are taken for those of the frames in this order (--pair by-index takes the frames row by row)",
                self.file, name(slow), name(fast)
            ));
        }
        Some(FrameNumbers {
            column,
            doubtful: true,
            is_path,
            values: numbers(&places, frames_of_scan),
            lines: self.rows.iter().map(|(line, _)| *line).collect(),
        })
    }

    /// The whole numbers of a column, if it has no others.
    fn whole(&self, column: usize) -> Option<Vec<u64>> {
        let whole = |(_, cells): &(u64, Vec<String>)| {
            let value = cells.get(column)?.parse::<f64>().ok()?;
            (value.fract() == 0.0 && (0.0..1e9).contains(&value)).then_some(value as u64)
        };
        self.rows.iter().map(whole).collect()
    }
}

/// The least and the greatest of one of two numbers.
fn range(places: &Places, of: impl Fn(&(u64, u64)) -> u64) -> (u64, u64) {
    let numbers = || places.iter().map(&of);
    (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0))
}

/// Whether places are those of a raster with at least two rows and points: each once, and at least
/// half of all.
fn is_raster(places: &Places) -> bool {
    let (rows, points) = (range(places, |at| at.0), range(places, |at| at.1));
    let [rows, points] = [rows, points].map(|(least, most)| u128::from(most - least) + 1);
    let each: BTreeSet<&(u64, u64)> = places.iter().collect();
    rows > 1
        && points > 1
        && each.len() == places.len()
        && rows * points <= 2 * places.len() as u128
}

/// The number of each place in the raster, row by row; of a raster with gaps, of which there are as
/// many frames as places, among these.
fn numbers(places: &Places, frames: usize) -> Vec<f64> {
    let (first_row, last_row) = range(places, |at| at.0);
    let (first, last) = range(places, |at| at.1);
    let in_row = last - first + 1;
    if frames as u128 == u128::from(last_row - first_row + 1) * u128::from(in_row) {
        let of = |(row, point): &(u64, u64)| ((row - first_row) * in_row + point - first) as f64;
        return places.iter().map(of).collect();
    }
    let mut sorted = places.clone();
    sorted.sort_unstable();
    let ranks: HashMap<_, _> = sorted.into_iter().zip(0_u32..).collect();
    places.iter().map(|place| f64::from(ranks[place])).collect()
}

/// Whether lines follow one another as the points of a scan may: column by column, or to and fro
/// along rows or columns.
fn is_path(places: &Places) -> bool {
    let exchanged: Places = places.iter().map(|(row, point)| (*point, *row)).collect();
    let to_and_fro = |places: &Places| {
        let first = range(places, |at| at.0).0;
        let turned = places.iter().map(|(row, point)| {
            let along = i128::from(*point);
            (
                *row,
                if (row - first) % 2 == 1 {
                    -along
                } else {
                    along
                },
            )
        });
        turned.is_sorted()
    };
    exchanged.is_sorted() || to_and_fro(places) || to_and_fro(&exchanged)
}
