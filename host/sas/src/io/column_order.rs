//! The columns that are read: the first ones in their usual order, or those that the header names.

use super::header::Header;
use super::names::Role;
use super::shorten;

/// What the columns of a curve are, in their usual order.
const CURVE: [(Role, &str); 4] = [
    (Role::Q, "q"),
    (Role::Intensity, "I"),
    (Role::Sigma, "its uncertainty"),
    (Role::Width, "the resolution"),
];
/// What the columns of an image are.
const IMAGE: [(Role, &str); 6] = [
    (Role::Qx, "qx"),
    (Role::Qy, "qy"),
    (Role::Intensity, "I"),
    (Role::Sigma, "its uncertainty"),
    (Role::WidthAlong, "the resolution along q"),
    (Role::WidthAcross, "the resolution across q"),
];
/// The same in files of NIST, with and without uncertainties; the resolution follows qz.
const NIST: [Option<usize>; 6] = [Some(0), Some(1), Some(2), Some(3), Some(5), Some(6)];
const NIST_WITHOUT: [Option<usize>; 6] = [Some(0), Some(1), Some(2), None, Some(4), Some(5)];

const NAMED: &str = "as the header names them";

/// The columns of `N` quantities among all columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnOrder<const N: usize> {
    columns: [Option<usize>; N],
    meanings: [(Role, &'static str); N],
    usual: [Option<usize>; N],
    all: usize,
    /// Why the columns are not the usual ones.
    why: &'static str,
}

impl ColumnOrder<4> {
    /// q, I, σ(I) and σ(q) of a curve with these columns. Row numbers before q are passed over.
    pub(super) fn of_curve(header: &Header, columns: &[Vec<f64>]) -> Self {
        let all = columns.len();
        let usual = [0, 1, 2, 3].map(|i| Some(i).filter(|i| *i < all));
        let counted = matches!(columns, [rows, q, _, ..] if counts_rows(rows) && ascends(q));
        let first = usize::from(counted);
        let found = match header.column(Role::Q) {
            Some(_) => CURVE.map(|(role, _)| header.column(role)),
            None => [0, 1, 2, 3].map(|i| Some(i + first).filter(|i| *i < all)),
        };
        Self {
            columns: found,
            meanings: CURVE,
            usual,
            all,
            why: match header.column(Role::Q) {
                Some(_) => NAMED,
                None => "as column 1 counts the rows",
            },
        }
    }
}

impl ColumnOrder<6> {
    /// qx, qy, I, σ(I) and the resolution of an image with these columns.
    pub(super) fn of_image(header: &Header, columns: &[Vec<f64>]) -> Self {
        let all = columns.len();
        // The shadow of the beam stop, from 0 to 1, ends the rows.
        let is_shadow = |at: usize| {
            let column = columns.get(at).filter(|_| all == at + 1);
            column.is_some_and(|c| c.contains(&1.0) && c.iter().all(|v| (0.0..=1.0).contains(v)))
        };
        let usual = match all {
            7 if is_shadow(6) => NIST_WITHOUT,
            7 | 8 => NIST,
            _ => [0, 1, 2, 3, all, all].map(|i| Some(i).filter(|i| *i < all)),
        };
        let mut columns = match header.column(Role::Qx) {
            Some(_) => IMAGE.map(|(role, _)| header.column(role)),
            None => usual,
        };
        // Of the widths in NIST's places, one name may be unknown.
        let is_width = |at: usize| header.name(at).is_some_and(|name| name.starts_with("sig"));
        if matches!(all, 7 | 8)
            && (columns[4].is_none() || columns[5].is_none())
            && columns[..2] == usual[..2]
            && usual[4..].iter().flatten().all(|at| is_width(*at))
        {
            columns[4..].copy_from_slice(&usual[4..]);
        }
        Self {
            columns,
            meanings: IMAGE,
            usual,
            all,
            why: NAMED,
        }
    }
}

/// Whether a column counts rows: 0, 1, 2, … or 1, 2, 3, ….
fn counts_rows(column: &[f64]) -> bool {
    let first = column.first().copied().unwrap_or(f64::NAN);
    let mut numbered = column.iter().enumerate();
    column.len() > 9
        && (first == 0.0 || first == 1.0)
        && numbered.all(|(row, value)| *value == first + row as f64)
}

/// Whether the values are positive and each is greater than the one before.
fn ascends(column: &[f64]) -> bool {
    column.first().is_some_and(|q| *q > 0.0) && column.windows(2).all(|pair| pair[1] > pair[0])
}

impl<const N: usize> ColumnOrder<N> {
    /// The column of each quantity, from 0.
    pub(super) fn columns(&self) -> [Option<usize>; N] {
        self.columns
    }

    /// The quantities out of all columns, with notes on an unusual order and on columns that are
    /// not used.
    pub(super) fn take(
        &self,
        header: &Header,
        mut columns: Vec<Vec<f64>>,
        notes: &mut Vec<String>,
    ) -> [Option<Vec<f64>>; N] {
        let named = self.columns.iter().zip(&self.usual).zip(&self.meanings);
        let others = |((column, usual), _): &((&Option<usize>, &Option<usize>), _)| {
            column.is_some() && column != usual
        };
        if named.clone().any(|of| others(&of)) {
            let list: Vec<String> = named
                .filter_map(|((column, _), (_, name))| {
                    Some(format!("{name} is column {}", (*column)? + 1))
                })
                .collect();
            notes.push(format!("{}, {}", self.why, list.join(", ")));
        }
        let unused: Vec<usize> = (0..self.all)
            .filter(|i| !self.columns.contains(&Some(*i)))
            .map(|i| i + 1)
            .collect();
        // Images of NIST have qz and the shadow of the beam stop, which are not needed.
        let is_nist = N == IMAGE.len() && self.columns == self.usual && matches!(self.all, 7 | 8);
        match unused[..] {
            _ if is_nist => {}
            [] => {}
            [one] => notes.push(match header.name(one - 1) {
                Some(name) => format!("column {one} ({}) is not used", shorten(name)),
                None => format!("column {one} is not used"),
            }),
            [first, .., last] if last - first + 1 == unused.len() => {
                notes.push(format!("columns {first} to {last} are not used"));
            }
            _ => {
                let list: Vec<String> = unused.iter().map(usize::to_string).collect();
                notes.push(format!(
                    "columns {} are not used",
                    shorten(&list.join(", "))
                ));
            }
        }
        self.columns
            .map(|column| columns.get_mut(column?).map(std::mem::take))
    }
}
