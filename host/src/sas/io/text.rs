//! Columns of numbers after any header: the longest block of lines with the same number of columns
//! is the data.
//!
//! Columns of a curve are q, I, σ(I), σ(q). Columns of an image are qx, qy, I, σ(I), and in files
//! of NIST also qz, σ of q along and across its direction, and the shadow factor of the beam stop.
//! Separators are blanks, tabs, commas and semicolons. If a header line names the columns in another
//! order, that order is used.

use super::check::{self, RawCurve, RawImage};
use super::column_order::ColumnOrder;
use super::decimal_comma::refuse_decimal_commas;
use super::header::{Header, Role};
use super::{IoError, Kind, Memory, ReadOptions, allow, name_of, not_scattering, shorten};
use crate::data::Scattering;

/// Maximum number of columns.
const MAX_COLUMNS: usize = 64;
/// Columns of an image as NIST writes it.
const NIST_COLUMNS: usize = 8;

/// Kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Empty, or a comment.
    Nothing,
    /// Words, or numbers with an empty field between them.
    Text,
    /// This many numbers.
    Numbers(usize),
}

/// A block of lines with the same number of columns; blank lines and comments between them do not
/// count.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Block {
    /// First line, from 0.
    first: usize,
    last: usize,
    rows: usize,
    columns: usize,
    /// First number of the first line.
    start: f64,
}

/// Parses a number, including Fortran's `1.5D-03`.
fn number(token: &str) -> Option<f64> {
    // No number is longer; this bounds the time to parse one token.
    if token.len() > 400 {
        return None;
    }
    token.parse().ok().or_else(|| {
        let starts = token.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        let marks = token.matches(['d', 'D']).count();
        (starts && marks == 1)
            .then(|| token.replace(['d', 'D'], "e").parse().ok())
            .flatten()
    })
}

/// The line without a trailing comment.
fn without_comment(line: &str) -> &str {
    let end = line.find(['#', '%', '!']).unwrap_or(line.len());
    line.get(..end).unwrap_or(line)
}

/// Passes the numbers of a line to `each` and returns their count; `None` if an item is not a
/// number.
fn numbers(line: &str, mut each: impl FnMut(usize, f64)) -> Option<usize> {
    let line = without_comment(line).trim();
    let mut count = 0;
    let mut fields = line.split([',', ';']).peekable();
    while let Some(field) = fields.next() {
        let before = count;
        for token in field.split_whitespace() {
            if count == MAX_COLUMNS {
                return None;
            }
            each(count, number(token)?);
            count += 1;
        }
        // An empty field would shift those after it; only the last may be empty (`1;2;`).
        if count == before && fields.peek().is_some() {
            return None;
        }
    }
    Some(count)
}

/// The first number of a line of numbers.
fn first_number(line: &str) -> f64 {
    let mut first = f64::NAN;
    numbers(line, |column, value| {
        if column == 0 {
            first = value;
        }
    });
    first
}

fn kind_of(line: &str) -> Line {
    if without_comment(line).trim().is_empty() {
        return Line::Nothing;
    }
    match numbers(line, |_, _| ()) {
        None | Some(0) => Line::Text,
        Some(n) => Line::Numbers(n),
    }
}

/// Passes the blocks to `each` in order. Lines with a single number form no block; returns whether
/// there are any.
fn blocks(text: &str, mut each: impl FnMut(Block)) -> bool {
    let mut open: Option<Block> = None;
    let mut single = false;
    for (at, line) in text.lines().enumerate() {
        match (kind_of(line), &mut open) {
            (Line::Nothing, _) => {}
            (Line::Numbers(columns), Some(block)) if block.columns == columns => {
                block.last = at;
                block.rows += 1;
            }
            (Line::Numbers(columns), _) if columns > 1 => {
                if let Some(done) = open.replace(Block {
                    first: at,
                    last: at,
                    rows: 1,
                    columns,
                    start: first_number(line),
                }) {
                    each(done);
                }
            }
            (other, _) => {
                single |= other == Line::Numbers(1);
                if let Some(done) = open.take() {
                    each(done);
                }
            }
        }
    }
    if let Some(done) = open {
        each(done);
    }
    single
}

/// The data: the longest block; of equally long ones, the last.
fn longest(file: &str, text: &str) -> Result<Block, IoError> {
    let mut best: Option<Block> = None;
    let single = blocks(text, |s| {
        if best.is_none_or(|b| s.rows >= b.rows) {
            best = Some(s);
        }
    });
    best.ok_or_else(|| {
        if single {
            IoError::Value {
                file: file.to_owned(),
                dataset: "the number of columns".to_owned(),
                found: "1".to_owned(),
                expected: "2 to 4 (q, I, its uncertainty, resolution)".to_owned(),
            }
        } else {
            not_scattering(file, "no line with two or more numbers")
        }
    })
}

/// Refuses the first part of a longer text if no rows begin there.
pub(super) fn check_start(file: &str, start: &str) -> Result<(), IoError> {
    // The last line may be cut.
    let whole = start.rfind('\n').map_or("", |end| &start[..end]);
    longest(file, whole).map(drop)
}

/// Refuses numbers outside the data block that look like data, because a broken line must not
/// truncate a curve.
fn complete(file: &str, text: &str, data: Block) -> Result<(), IoError> {
    let mut lost: Option<Block> = None;
    blocks(text, |s| {
        let alike = s.last < data.first && s.columns == data.columns;
        // A single row may belong to the header (`0 0 0 0`), unless its first number could be the q
        // before the first one.
        let before = alike && (s.rows > 1 || (s.start > 0.0 && s.start <= data.start));
        let after = s.first > data.last;
        if before || after {
            lost.get_or_insert(s);
        }
    });
    let Some(lost) = lost else {
        return Ok(());
    };
    // The line that ends the earlier block.
    let (end, next) = if lost.first > data.last {
        (data.last, lost.first)
    } else {
        (lost.last, data.first)
    };
    let broken = text
        .lines()
        .enumerate()
        .skip(end + 1)
        .find(|(_, line)| kind_of(line) != Line::Nothing);
    let (at, line) = broken.unwrap_or((next, ""));
    Err(IoError::Value {
        file: file.to_owned(),
        dataset: format!("line {}", at + 1),
        found: format!("\"{}\" among the rows", shorten(line)),
        expected: format!("a row of {} numbers", data.columns),
    })
}

/// The rows of the data without their comments, each with the number of its line from 1.
fn data_rows(text: &str, data: Block) -> impl Iterator<Item = (usize, &str)> {
    let lines = text
        .lines()
        .enumerate()
        .take(data.last + 1)
        .skip(data.first);
    let lines = lines.map(|(at, line)| (at + 1, without_comment(line).trim()));
    lines.filter(|(_, line)| !line.is_empty())
}

/// Reads columns of numbers.
pub(super) fn read(
    file: &str,
    text: &str,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Scattering, IoError> {
    if options.select.is_some() {
        return Err(IoError::Option {
            file: file.to_owned(),
            option: "--select",
            reason: "expected no selection, found one: a file of columns holds one data set"
                .to_owned(),
        });
    }
    let data = longest(file, text)?;
    refuse_decimal_commas(file, data_rows(text, data))?;
    complete(file, text, data)?;
    let header = Header::of(
        text.lines().take(data.first),
        text.lines().skip(data.last + 1),
        data.columns,
    );
    let used = match header.roles {
        Some(_) => data.columns,
        None => data.columns.min(NIST_COLUMNS),
    };
    // Text, columns, line numbers and the order of rows, with 8 bytes each, and a copy of the
    // columns while they are sorted.
    let rows = (2 * used + 4) as u128 * 8 * data.rows as u128;
    allow(file, "the columns", text.len() as u128 + rows, memory)?;
    let mut columns: Vec<Vec<f64>> = (0..used).map(|_| Vec::with_capacity(data.rows)).collect();
    let mut lines: Vec<u32> = Vec::with_capacity(data.rows);
    for (at, line) in data_rows(text, data) {
        numbers(line, |column, value| {
            if let Some(column) = columns.get_mut(column) {
                column.push(value);
            }
        });
        lines.push(at as u32);
    }
    let factor = options.q_unit.unwrap_or_default().factor();
    let mut notes = header.notes_on_units(options);
    let negative = |column: &[f64]| column.iter().any(|v| *v < 0.0);
    let looks_like_image = header.image
        || header.column(Role::Qx).is_some()
        || (data.columns > 2
            && negative(&columns[0])
            && negative(&columns[1])
            && repeats(&columns));
    let kind = match options.kind {
        Some(kind) => kind,
        None if looks_like_image => Kind::Image,
        None => Kind::Curve,
    };
    notes.extend(header.note_on_columns(kind == Kind::Curve && options.kind.is_none()));
    let label = |row: usize| match lines.get(row) {
        Some(line) => format!("line {line}"),
        None => format!("row {}", row + 1),
    };
    match kind {
        Kind::Curve => {
            let order = ColumnOrder::of_curve(&header, data.columns, file)?;
            let raw = curve(columns, &order, factor, notes, file);
            check::curve(file, raw, &label).map(Scattering::Curve)
        }
        Kind::Image => {
            if data.columns < 3 {
                return Err(IoError::Value {
                    file: file.to_owned(),
                    dataset: "the number of columns".to_owned(),
                    found: data.columns.to_string(),
                    expected: "3 or 4 (qx, qy, I, its uncertainty)".to_owned(),
                });
            }
            ColumnOrder::check_image(&header, file)?;
            let raw = image(columns, data.columns, factor, notes, file);
            check::image(file, raw, &label).map(Scattering::Image)
        }
    }
}

/// Whether qx or qy is often the same in consecutive rows, as on a grid.
fn repeats(columns: &[Vec<f64>]) -> bool {
    let same = |c: &[f64]| c.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let rows = columns[0].len();
    rows >= 4 && same(&columns[0]).max(same(&columns[1])) >= rows / 4
}

fn scaled(mut column: Vec<f64>, factor: f64) -> Vec<f64> {
    if factor != 1.0 {
        column.iter_mut().for_each(|v| *v *= factor);
    }
    column
}

fn left_out(all: usize, taken: usize, notes: &mut Vec<String>) {
    match all - taken.min(all) {
        0 => {}
        1 => notes.push(format!("column {all} is not used")),
        _ => notes.push(format!("columns {} to {all} are not used", taken + 1)),
    }
}

fn curve(
    columns: Vec<Vec<f64>>,
    order: &ColumnOrder,
    factor: f64,
    mut notes: Vec<String>,
    file: &str,
) -> RawCurve {
    let [q, intensity, sigma, width] = order.take(columns, &mut notes);
    RawCurve {
        q: scaled(q.unwrap_or_default(), factor),
        intensity: intensity.unwrap_or_default(),
        sigma,
        width: width.map(|c| scaled(c, factor)),
        slit: None,
        title: name_of(file),
        notes,
    }
}

fn image(
    columns: Vec<Vec<f64>>,
    all: usize,
    factor: f64,
    mut notes: Vec<String>,
    file: &str,
) -> RawImage {
    let nist = (7..=NIST_COLUMNS).contains(&all);
    if !nist {
        left_out(all, 4, &mut notes);
    }
    let mut columns = columns.into_iter();
    let mut next = || columns.next().unwrap_or_default();
    let (qx, qy, intensity) = (scaled(next(), factor), scaled(next(), factor), next());
    let sigma = columns.next();
    let _qz = columns.next();
    let widths = columns.next().zip(columns.next()).filter(|_| nist);
    RawImage {
        qx,
        qy,
        intensity,
        sigma,
        widths: widths.map(|(along, across)| (scaled(along, factor), scaled(across, factor))),
        title: name_of(file),
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_lines_are_recognised() {
        for (line, kind) in [
            ("", Line::Nothing),
            ("  # 1 2 3", Line::Nothing),
            ("1 2 3", Line::Numbers(3)),
            ("0.01;6.3534e+008;-1;0;", Line::Numbers(4)),
            ("1,2,,3", Line::Text),
            (",1,2", Line::Text),
            ("1,\t2 ; 3", Line::Numbers(3)),
            ("1.5D-03 2", Line::Numbers(2)),
            ("nan 2", Line::Numbers(2)),
            ("3 (F12.5,2E16.6)", Line::Text),
            ("<X>\t<Y>", Line::Text),
            ("\t\t\t", Line::Nothing),
            ("1 2 # three", Line::Numbers(2)),
        ] {
            assert_eq!(kind_of(line), kind, "{line:?}");
        }
        assert_eq!(number("1.5D-03"), Some(1.5e-3));
        assert_eq!(number("-2d2"), Some(-200.0));
        assert_eq!(number("d"), None);
    }

    #[test]
    fn the_longest_block_is_the_data() {
        let text = "title 1\n 395 0 0\n 0 0\n 0 0\n words\n1 2\n\n3 4\n# c\n5 6\nend\n";
        let data = longest("a", text).unwrap();
        assert_eq!((data.first, data.last, data.rows), (5, 9, 3));
    }
}
