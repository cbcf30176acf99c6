//! Plain tables for the terminal.

use std::fmt;

/// A table with named columns; numbers are aligned right, text left.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Spaces between columns.
const GAP: &str = "  ";

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|h| (*h).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Cells beyond the header are shown, and missing ones are empty. Each cell is
    /// one line without characters on which a terminal would act.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let plain = |cell: C| super::visible(&cell.into()).into_owned();
        self.rows.push(cells.into_iter().map(plain).collect());
    }
}

/// Lines without trailing spaces, each with a newline.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let columns = lines().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
        let numeric = |column: usize| {
            let mut filled = self
                .rows
                .iter()
                .map(|r| cell(r, column))
                .filter(|c| !c.is_empty());
            let is_number = |c: &String| {
                c.split(' ')
                    .next()
                    .is_some_and(|first| first == "-" || first.parse::<f64>().is_ok())
            };
            filled.clone().next().is_some() && filled.all(|c| is_number(&c))
        };
        let layout: Vec<(usize, bool)> = (0..columns)
            .map(|c| {
                let width = lines().map(|row| cell(row, c).chars().count()).max();
                (width.unwrap_or(0), numeric(c))
            })
            .collect();
        for row in lines() {
            let mut line = String::new();
            for (column, (width, right)) in layout.iter().enumerate() {
                let text = cell(row, column);
                let padded = if *right {
                    format!("{text:>width$}")
                } else {
                    format!("{text:<width$}")
                };
                line += if column == 0 { "" } else { GAP };
                line += &padded;
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_aligned_left_and_numbers_right() {
        let mut table = Table::new(&["kernel", "ms", "share"]);
        table.row(["exit wave", "0.12", "97 %"]);
        table.row(["µ-step\n", "12.5", "-"]);
        table.row(["last"]);
        let expected = "\
kernel       ms  share
exit wave  0.12   97 %
µ-step     12.5      -
last
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn a_table_without_rows_is_its_header() {
        assert_eq!(Table::new(&["a", "b"]).to_string(), "a  b\n");
    }
}
