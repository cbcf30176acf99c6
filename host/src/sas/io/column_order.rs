//! The columns of a curve that are q, I, σ(I) and σ(q): the first four, or as the header names them.

use super::header::{Header, Role};
use super::{IoError, shorten};

/// What the columns of a curve are, in their usual order.
const USUAL: [(Role, &str); 4] = [
    (Role::Q, "q"),
    (Role::Intensity, "I"),
    (Role::Sigma, "its uncertainty"),
    (Role::Width, "the resolution"),
];

/// Columns of q, I, σ(I) and σ(q), among all columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnOrder {
    columns: [Option<usize>; 4],
    all: usize,
}

impl ColumnOrder {
    /// The order of a curve with `all` columns.
    ///
    /// # Errors
    /// The header names an angle, and no q.
    pub(super) fn of_curve(header: &Header, all: usize, file: &str) -> Result<Self, IoError> {
        let usual = [0, 1, 2, 3].map(|i| Some(i).filter(|i| *i < all));
        let columns = match (header.column(Role::Q), header.column(Role::Angle)) {
            (Some(_), _) => USUAL.map(|(role, _)| header.column(role)),
            (None, Some(column)) => {
                return Err(IoError::Value {
                    file: file.to_owned(),
                    dataset: format!("column {}", column + 1),
                    found: "an angle, as the header says".to_owned(),
                    expected: "q in 1/Å or 1/nm, which needs the wavelength".to_owned(),
                });
            }
            (None, None) => usual,
        };
        Ok(Self { columns, all })
    }

    /// Refuses an image whose columns the header names in another order than qx, qy, I.
    pub(super) fn check_image(header: &Header, file: &str) -> Result<(), IoError> {
        match (header.image, &header.roles) {
            (false, Some(roles)) if roles.contains(&Role::Qx) => Err(IoError::Value {
                file: file.to_owned(),
                dataset: "the names of the columns".to_owned(),
                found: "another order in the header".to_owned(),
                expected: "Qx, Qy, I, its uncertainty".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// q, I, σ(I) and σ(q) out of all columns, with notes on an unusual order and on columns that
    /// are not used.
    pub(super) fn take(
        &self,
        mut columns: Vec<Vec<f64>>,
        notes: &mut Vec<String>,
    ) -> [Option<Vec<f64>>; 4] {
        let others = |(at, column): (usize, &Option<usize>)| column.is_some_and(|c| c != at);
        if self.columns.iter().enumerate().any(others) {
            let named: Vec<String> = (self.columns.iter().zip(USUAL))
                .filter_map(|(column, (_, name))| {
                    Some(format!("{name} is column {}", (*column)? + 1))
                })
                .collect();
            notes.push(format!("as the header names them, {}", named.join(", ")));
        }
        let unused: Vec<usize> = (0..self.all)
            .filter(|i| !self.columns.contains(&Some(*i)))
            .map(|i| i + 1)
            .collect();
        match unused[..] {
            [] => {}
            [one] => notes.push(format!("column {one} is not used")),
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
