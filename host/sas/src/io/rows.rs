//! Rows of numbers in a text: the longest block of lines with the same number of columns, and a few
//! broken lines among them.

use super::decimal_comma::quotes_decimal_commas;
use super::{IoError, not_scattering, shorten};

/// Maximum number of columns.
pub(super) const MAX_COLUMNS: usize = 64;
/// Most consecutive lines without numbers between rows that belong together.
const MOST_BROKEN: usize = 3;
/// Most blocks of rows that are joined.
const MOST_BLOCKS: usize = 1000;
/// One line in so many rows may be broken.
const ROWS_PER_BROKEN: usize = 10;
/// A line of words weighs as much as so many rows with missing values.
const WORDS: usize = 4;

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
pub(super) struct Block {
    /// First line, from 0.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// First numbers of the first and of the last line.
    start: f64,
    end: f64,
}

/// Parses a number, including Fortran's `1.5D-03`.
fn number(token: &str) -> Option<f64> {
    let token = unquoted(token);
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

/// A token without the quotation marks around it.
fn unquoted(token: &str) -> &str {
    let of = |mark: char| token.strip_prefix(mark)?.strip_suffix(mark);
    of('"').or_else(|| of('\'')).unwrap_or(token).trim()
}

/// The line without a trailing comment. A percent sign behind a digit is no comment: `5%`.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    let mut is_comment = |c: char| {
        let percent_of = c == '%' && before.is_ascii_digit();
        before = c;
        matches!(c, '#' | '%' | '!') && !percent_of
    };
    let end = line.find(&mut is_comment).unwrap_or(line.len());
    line.get(..end).unwrap_or(line)
}

/// Passes the numbers of a line to `each` and returns their count; `None` if an item is not a
/// number.
pub(super) fn numbers(line: &str, mut each: impl FnMut(usize, f64)) -> Option<usize> {
    let line = without_comment(line).trim();
    let mut count = 0;
    let mut fields = line.split([',', ';', '|']).peekable();
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
                block.end = first_number(line);
            }
            (Line::Numbers(columns), _) if columns > 1 => {
                if let Some(done) = open.replace(Block {
                    first: at,
                    last: at,
                    rows: 1,
                    columns,
                    start: first_number(line),
                    end: first_number(line),
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
pub(super) fn longest(file: &str, text: &str) -> Result<Block, IoError> {
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
            not_scattering(file, without_numbers(text))
        }
    })
}

/// What a text without rows of numbers holds.
fn without_numbers(text: &str) -> String {
    let mut lines = text.lines().enumerate();
    let percent = |line: &str| {
        let mut tokens = line.split([' ', '\t', ',', ';']);
        let shares = tokens.any(|token| token.strip_suffix('%').and_then(number).is_some());
        shares && line.split_whitespace().next().and_then(number).is_some()
    };
    match lines.find(|(_, line)| quotes_decimal_commas(line) || percent(line)) {
        Some((at, line)) if line.contains('%') => format!(
            "percent signs behind numbers in line {}: write them without the sign, below the name err(%)",
            at + 1
        ),
        Some((at, _)) => format!("decimal commas in line {}: use decimal points", at + 1),
        None if text.trim_start().starts_with(['{', '[']) => {
            "JSON; write q, I and its uncertainty as columns of text".to_owned()
        }
        None => "no line with two or more numbers between blanks, tabs, commas, semicolons or bars"
            .to_owned(),
    }
}

/// The longest block with those before and after it that continue it beyond a few broken lines.
pub(super) fn with_broken_lines(text: &str, mut data: Block) -> Block {
    let mut others: Vec<Block> = Vec::new();
    blocks(text, |block| {
        if block.columns == data.columns && others.len() <= MOST_BLOCKS {
            others.push(block);
        }
    });
    if !(2..=MOST_BLOCKS).contains(&others.len()) {
        return data;
    }
    let lines: Vec<&str> = text.lines().collect();
    let columns = data.columns;
    let broken_between = |one: &Block, other: &Block| -> Option<usize> {
        let between = lines.get(one.last + 1..other.first)?;
        let broken: Vec<&&str> = between
            .iter()
            .filter(|line| kind_of(line) != Line::Nothing)
            .collect();
        if broken.is_empty() {
            return None;
        }
        let missing = broken.iter().all(|line| is_missing_row(line, columns));
        if broken.len() > MOST_BROKEN && !missing {
            return None;
        }
        // Another set of data begins with its own q.
        let step = (other.start - one.end).signum();
        let follows = |block: &Block| block.rows == 1 || (block.end - block.start).signum() == step;
        let continues = one.rows > 1 && other.rows > 1 && follows(one) && follows(other);
        let rows = broken.iter().all(|line| is_broken_row(line, columns));
        let weight = match missing {
            true => broken.len(),
            false => WORDS * broken.len(),
        };
        (rows || continues).then_some(weight)
    };
    let mut broken = 0;
    let mut join = |one: Block, other: Block| -> Option<Block> {
        let found = broken_between(&one, &other)?;
        let rows = one.rows + other.rows;
        if (broken + found) * ROWS_PER_BROKEN > WORDS * rows {
            return None;
        }
        broken += found;
        Some(Block {
            first: one.first,
            last: other.last,
            rows,
            columns: one.columns,
            start: one.start,
            end: other.end,
        })
    };
    let Some(at) = others.iter().position(|block| block.first == data.first) else {
        return data;
    };
    for other in &others[at + 1..] {
        match join(data, *other) {
            Some(joined) => data = joined,
            None => break,
        }
    }
    for other in others[..at].iter().rev() {
        match join(*other, data) {
            Some(joined) => data = joined,
            None => break,
        }
    }
    data
}

/// The data with the rows without values on either side, `0.001 NA NA`, which are counted as broken
/// lines.
pub(super) fn with_missing_rows(text: &str, mut data: Block) -> Block {
    let lines: Vec<&str> = text.lines().collect();
    let rising = (data.end - data.start).signum();
    // A number in the place of q continues the data.
    let is_row = |at: usize, beside: f64, direction: f64| {
        let line = lines[at];
        let first = fields(line).first().and_then(|field| number(field));
        let continues = first.is_none_or(|q| (q - beside) * direction > 0.0);
        is_missing_row(line, data.columns) && continues
    };
    let after = (data.last + 1..lines.len()).filter(|at| kind_of(lines[*at]) != Line::Nothing);
    for at in after.take_while(|at| is_row(*at, data.end, rising)) {
        data.last = at;
    }
    let before = (0..data.first)
        .rev()
        .filter(|at| kind_of(lines[*at]) != Line::Nothing);
    for at in before.take_while(|at| is_row(*at, data.start, -rising)) {
        data.first = at;
    }
    data
}

/// What stands for a value that is missing.
const MISSING: [&str; 10] = [
    "", "na", "n/a", "nan", "null", "none", "-", "--", "---", "missing",
];

/// Whether a line is a row with missing values: numbers, and words that stand for none.
fn is_missing_row(line: &str, columns: usize) -> bool {
    let fields = fields(line);
    let is_missing = |field: &&str| MISSING.contains(&field.to_lowercase().as_str());
    let is_value = |field: &&str| number(field).is_some();
    fields.len() == columns
        && fields.iter().any(is_missing)
        && fields
            .iter()
            .all(|field| is_missing(field) || is_value(field))
}

/// The fields of a line without its comment.
fn fields(line: &str) -> Vec<&str> {
    let line = without_comment(line).trim();
    let separator = [',', ';', '\t', '|']
        .into_iter()
        .find(|c| line.contains(*c));
    match separator {
        Some(separator) => line
            .split(separator)
            .map(|field| unquoted(field.trim()))
            .collect(),
        None => line.split_whitespace().map(unquoted).collect(),
    }
}

/// Whether a line has as many fields as a row, one or more of them numbers.
fn is_broken_row(line: &str, columns: usize) -> bool {
    let is_number = |field: &&str| number(field).is_some();
    let fields = fields(line);
    fields.len() == columns && fields.iter().any(is_number)
}

/// Refuses the first part of a longer text if no rows begin there.
pub(in crate::io) fn check_start(file: &str, start: &str) -> Result<(), IoError> {
    // The last line may be cut.
    let whole = start.rfind('\n').map_or("", |end| &start[..end]);
    longest(file, whole).map(drop)
}

/// Refuses numbers outside the data block that look like data, because a broken line must not
/// truncate a curve.
pub(super) fn complete(file: &str, text: &str, data: Block) -> Result<(), IoError> {
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
        expected: format!(
            "a row of {} numbers: remove such lines, or write each set of data to a file of its own",
            data.columns
        ),
    })
}

/// The rows of the data without their comments, each with the number of its line from 1.
pub(super) fn data_rows(text: &str, data: Block) -> impl Iterator<Item = (usize, &str)> {
    let lines = text
        .lines()
        .enumerate()
        .take(data.last + 1)
        .skip(data.first);
    let lines = lines.map(|(at, line)| (at + 1, without_comment(line).trim()));
    lines.filter(|(_, line)| !line.is_empty())
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
            ("\"0.1\",\"2\",'3'", Line::Numbers(3)),
            ("\"0,1\",\"2,5\"", Line::Text),
            ("0.1 2 5%", Line::Text),
            ("0.1 2 % three", Line::Numbers(2)),
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

    #[test]
    fn broken_lines_among_many_rows_belong_to_them() {
        let rows = |from: u32| -> String {
            let rows = (from..from + 10).map(|i| format!("0.{i} 2 1\n"));
            rows.collect()
        };
        for broken in ["0.2 x 1", "0.2 --- ---", "beam lost"] {
            let text = format!("q I s\n{}{broken}\n{}", rows(10), rows(30));
            let data = with_broken_lines(&text, longest("a", &text).unwrap());
            assert_eq!((data.first, data.last, data.rows), (1, 21, 20), "{broken}");
            assert!(complete("a", &text, data).is_ok());
        }
        // A second set of data begins with a smaller q.
        let text = format!("{}second\n{}", rows(30), rows(10));
        let data = with_broken_lines(&text, longest("a", &text).unwrap());
        assert_eq!((data.first, data.rows), (11, 10));
        assert!(complete("a", &text, data).is_err());
    }
}
