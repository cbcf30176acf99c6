//! Positions in a table as text: one line for each frame, columns between commas, semicolons, tabs
//! or spaces.

mod grid;
mod names;

use crate::io::scan::found_positions::{FrameNumbers, Texts};
use names::{
    COLUMNS, FRAMES, LIKELY_FRAMES, ROWS, dense, is_one_of, is_time, letters, numbers_in, unit_in,
};
use ndarray::Array2;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use warpstride_core::text::{count, has_decimal_commas, is_decimal};
use warpstride_files::{InputFile, IoError};

/// Longest text that an error quotes.
const QUOTED: usize = 40;

/// Most names of columns that an error lists.
const LISTED: usize = 20;

/// What stands for a number that was not recorded.
const NO_NUMBER: [&str; 5] = ["nan", "na", "n/a", "null", "none"];

/// Longest line, bytes.
const LONGEST_LINE: usize = 1 << 16;

/// Bytes of memory for each byte of the text: cells are strings, and a line may have four bytes.
const BYTES_PER_BYTE: u128 = 60;

/// A text in Latin-1, whose bytes are the first 256 characters of Unicode. The error is a byte from
/// 0x80 to 0x9F, which is a character in other encodings, or `None` for data that are no text.
fn latin1(bytes: &[u8]) -> Result<String, Option<u8>> {
    let is_text = |byte: &u8| !byte.is_ascii_control() || matches!(byte, b'\n' | b'\r' | b'\t');
    if !bytes.iter().all(is_text) {
        return Err(None);
    }
    match bytes.iter().find(|byte| (0x80..0xa0).contains(*byte)) {
        Some(other) => Err(Some(*other)),
        None => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// Two coordinates (position, (row, column)), and their unit if the file says it.
pub(super) struct Coordinates {
    pub(super) values: Array2<f64>,
    /// What they are called.
    pub(super) names: [String; 2],
    pub(super) unit: Option<String>,
    /// The number of the frame of each position, if there is a column of them.
    pub(super) frames: Option<FrameNumbers>,
    /// Columns of texts, which may name the files of frames.
    pub(super) texts: Vec<Texts>,
}

/// Lines of cells.
pub(super) struct Table {
    file: String,
    /// Names of the columns, if the text has them.
    names: Option<Vec<String>>,
    /// Number of the line, from 1, and its cells.
    rows: Vec<(u64, Vec<String>)>,
    /// Whether numbers have decimal commas, which have been replaced by points.
    decimal_commas: bool,
}

impl Table {
    /// Reads a text, in UTF-8 or, which is noted, in Latin-1.
    pub(super) fn read(
        path: &Path,
        input: &InputFile,
        notes: &mut Vec<String>,
    ) -> Result<Self, IoError> {
        let open = |e: std::io::Error| IoError::Open {
            file: input.name().to_owned(),
            reason: e.to_string(),
        };
        let metadata = std::fs::metadata(path).map_err(open)?;
        let wrong = |found: &str| IoError::Format {
            file: input.name().to_owned(),
            expected: "a table of positions (text, .npy or HDF5)",
            found: found.to_owned(),
        };
        if !metadata.is_file() {
            return Err(wrong("a folder, device or pipe"));
        }
        input.allow("the table", BYTES_PER_BYTE * u128::from(metadata.len()))?;
        let mut bytes = Vec::new();
        // The file may grow while it is read.
        File::open(path)
            .and_then(|file| file.take(metadata.len()).read_to_end(&mut bytes))
            .map_err(open)?;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let bytes = error.into_bytes();
                let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
                let byte = bytes.get(at).copied().unwrap_or_default();
                let text = latin1(&bytes).map_err(|found| match found {
                    Some(control) => wrong(&format!(
                        "the byte 0x{byte:02X} in line {line}, which is not UTF-8, and 0x{control:02X}, which is not Latin-1 either: save it as UTF-8"
                    )),
                    None => wrong("other data"),
                })?;
                notes.push(format!(
                    "{}: read as Latin-1 (ISO 8859-1), as the byte 0x{byte:02X} in line {line} is not UTF-8: {}",
                    input.name(),
                    char::from(byte)
                ));
                text
            }
        };
        Self::parse(input.name(), &text)
    }

    fn parse(file: &str, text: &str) -> Result<Self, IoError> {
        let text = text.trim_start_matches('\u{feff}');
        let is_data = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let first = text.lines().find(is_data).unwrap_or_default();
        let delimiters: &[char] = match has_decimal_comma_rows(text.lines().filter(is_data)) {
            true => &[';', '\t'],
            false => &[',', ';', '\t'],
        };
        let delimiter = delimiters.iter().copied().find(|d| first.contains(*d));
        let damaged = |reason: String| IoError::Damaged {
            file: file.to_owned(),
            dataset: "the table".to_owned(),
            reason,
        };
        if let Some((line, number)) = text
            .lines()
            .zip(1_u64..)
            .find(|(l, _)| l.len() > LONGEST_LINE)
        {
            return Err(damaged(format!(
                "expected lines of at most {LONGEST_LINE} bytes, found {} in line {number}",
                line.len()
            )));
        }
        let mut rows: Vec<(u64, Vec<String>)> = Vec::new();
        if let Some(delimiter) = delimiter {
            let mut reader = csv::ReaderBuilder::new()
                .delimiter(delimiter as u8)
                .comment(Some(b'#'))
                .has_headers(false)
                .flexible(true)
                .trim(csv::Trim::All)
                .from_reader(text.as_bytes());
            for record in reader.records() {
                let record = record.map_err(|e| damaged(e.to_string()))?;
                let line = record.position().map_or(0, csv::Position::line);
                if record.iter().all(str::is_empty) {
                    continue;
                }
                rows.push((line, record.iter().map(str::to_owned).collect()));
            }
        } else {
            for (line, number) in text.lines().zip(1..) {
                if is_data(&line) {
                    let cells = line.split_whitespace();
                    // Names may be between commas where numbers have decimal commas.
                    let cells = cells.map(|cell| cell.trim_end_matches(',').to_owned());
                    rows.push((number, cells.collect()));
                }
            }
        }
        // Between commas, such a number is in quotation marks.
        let mut decimal_commas = false;
        let cells = rows.iter_mut().flat_map(|(_, cells)| cells);
        for cell in cells.filter(|cell| is_decimal(cell)) {
            *cell = cell.replace(',', ".");
            decimal_commas = true;
        }
        let numeric = |cells: &[String]| cells.iter().all(|cell| cell.parse::<f64>().is_ok());
        // NumPy writes names as a comment.
        let width = rows.first().map_or(0, |(_, cells)| cells.len());
        let comments = text.lines().take_while(|line| !is_data(line));
        let comment = comments.filter(|line| line.trim_start().starts_with('#'));
        let in_comment = comment.last().and_then(|line| {
            let line = line.trim_start().trim_start_matches('#');
            let cells: Vec<String> = match delimiter {
                Some(d) => line.split(d).map(|c| c.trim().to_owned()).collect(),
                None => line.split_whitespace().map(str::to_owned).collect(),
            };
            (cells.len() == width && !numeric(&cells)).then_some(cells)
        });
        let named = rows
            .first()
            .is_some_and(|(_, cells)| !numeric(cells) && !is_position(cells, in_comment.is_some()));
        let names = match named {
            true => Some(rows.remove(0).1),
            false => in_comment,
        };
        if rows.is_empty() {
            return Err(damaged("it has no lines with numbers".to_owned()));
        }
        // Delimiters at the end of a line are no columns.
        let width = |cells: &[String]| {
            let empty = cells.iter().rev().take_while(|cell| cell.is_empty());
            cells.len() - empty.count()
        };
        let columns = names.as_ref().map_or_else(|| width(&rows[0].1), Vec::len);
        if let Some((line, cells)) = rows.iter().find(|(_, cells)| width(cells) > columns) {
            return Err(damaged(format!(
                "expected {}, found {} in line {line}",
                count(columns, ["column", "columns"]),
                width(cells)
            )));
        }
        Ok(Self {
            file: file.to_owned(),
            names,
            rows,
            decimal_commas,
        })
    }

    fn refuse(&self, reason: String) -> IoError {
        IoError::Option {
            file: self.file.clone(),
            option: "data.positions.columns",
            reason,
        }
    }

    /// The row and the column coordinate, and the numbers of the frames, of which there are
    /// `frames_of_scan`, if there are columns of them.
    pub(super) fn coordinates(
        &self,
        given: Option<&[String; 2]>,
        frames_of_scan: usize,
        notes: &mut Vec<String>,
    ) -> Result<Coordinates, IoError> {
        let names = self.names.as_deref().unwrap_or_default();
        let chosen = match given {
            Some(given) => [self.column(&given[0])?, self.column(&given[1])?],
            None => {
                // Rows and columns beside x and y are the places of a raster.
                let of = |known: &[&str]| {
                    let called = |one| names.iter().position(|name| is_one_of(name, &[one]));
                    known.iter().find_map(|one| called(*one))
                };
                match (of(&ROWS), of(&COLUMNS)) {
                    (Some(row), Some(column)) => [row, column],
                    _ => return Err(self.refuse(self.question())),
                }
            }
        };
        let called = chosen.map(|n| {
            let name = names.get(n).filter(|name| !name.is_empty());
            name.map_or_else(|| format!("column {n}"), |name| quoted(name))
        });
        let units = chosen.map(|n| names.get(n).and_then(|name| unit_in(name)));
        if units[0] != units[1] {
            return Err(self.refuse(format!(
                "expected one unit of {} and {}, found different ones",
                called[0], called[1]
            )));
        }
        let mut values = Array2::zeros((self.rows.len(), 2));
        for ((line, cells), mut to) in self.rows.iter().zip(values.rows_mut()) {
            for (to, column) in to.iter_mut().zip(chosen) {
                *to = self.number(*line, cells, column)?;
            }
        }
        let texts = self.texts(chosen);
        let frames = (self.frames(names, chosen)?)
            .or_else(|| texts.iter().find_map(numbers_in))
            .or_else(|| self.grid(chosen, frames_of_scan, notes));
        if self.decimal_commas {
            notes.push(format!(
                "{}: the commas in numbers such as 0,5 are read as decimal points",
                self.file
            ));
        }
        if frames.is_none()
            && let Some((name, line)) = self.falling_time(chosen)
            && !texts
                .iter()
                .any(|texts| texts.column != name && all_differ(&texts.values))
        {
            notes.push(format!(
                "{}: the column {name} falls in line {line}, although positions are those of the frames in the order of the lines: if it has the times of the frames, sort the lines by it",
                self.file
            ));
        }
        let [unit, _] = units;
        Ok(Coordinates {
            values,
            names: called,
            unit,
            frames,
            texts,
        })
    }

    /// What is asked where it is not clear which columns have the coordinates.
    fn question(&self) -> String {
        let width = self.rows.first().map_or(0, |(_, cells)| cells.len());
        match &self.names {
            Some(names) => format!(
                "which columns have the row and the column coordinate? Expected y and x, or --position-columns ROW,COLUMN with two of {}",
                listed(names)
            ),
            None if width < 2 => format!(
                "expected two columns, with the row and the column coordinate, found {} (between commas, semicolons, tabs or spaces)",
                count(width, ["column", "columns"])
            ),
            None => format!(
                "which of {width} columns have the row and the column coordinate? Expected their names in the first line, or --position-columns ROW,COLUMN with their numbers from 0"
            ),
        }
    }

    /// The column of this name, or number.
    fn column(&self, name: &str) -> Result<usize, IoError> {
        let names = self.names.as_deref().unwrap_or_default();
        if let Some(found) = names.iter().position(|other| other == name) {
            return Ok(found);
        }
        let width = self.rows.first().map_or(0, |(_, cells)| cells.len());
        match name.parse::<usize>() {
            Ok(number) if number < width => Ok(number),
            _ if names.is_empty() => Err(self.refuse(format!(
                "expected numbers of columns, 0 to {}, found {name}",
                width.saturating_sub(1)
            ))),
            _ => Err(self.refuse(format!(
                "expected two of the columns {}, found {name}",
                listed(names)
            ))),
        }
    }

    fn number(&self, line: u64, cells: &[String], column: usize) -> Result<f64, IoError> {
        let wrong = |found: String| IoError::Row {
            file: self.file.clone(),
            unit: "line",
            number: line,
            found,
            expected: format!("a number in column {column}"),
        };
        let Some(cell) = cells.get(column) else {
            return Err(wrong(count(cells.len(), ["column", "columns"])));
        };
        // A position that was not recorded, of a frame that may be left out.
        if cell.is_empty() || NO_NUMBER.iter().any(|none| cell.eq_ignore_ascii_case(none)) {
            return Ok(f64::NAN);
        }
        let number = cell.parse::<f64>().ok().filter(|value| value.is_finite());
        let quoted = quoted(cell);
        number.ok_or_else(|| wrong(format!("\"{quoted}\"")))
    }

    /// The numbers of frames, of a column whose name says so or else of one that may have them.
    fn frames(
        &self,
        names: &[String],
        chosen: [usize; 2],
    ) -> Result<Option<FrameNumbers>, IoError> {
        let width = names
            .len()
            .max(self.rows.first().map_or(0, |(_, c)| c.len()));
        let others: Vec<usize> = (0..width).filter(|n| !chosen.contains(n)).collect();
        let name = |column: usize| names.get(column).map(|name| letters(name));
        let is_named = |column: &&usize, known: &[&str]| {
            name(**column).is_some_and(|name| known.contains(&name.as_str()))
        };
        let named = others.iter().filter(|column| is_named(column, &FRAMES));
        for column in named {
            match self.frame_numbers(*column, true) {
                // Names of files, and no numbers of which one is wrong.
                Err(_) if self.has_mostly_texts(*column) => {}
                read => return read.map(Some),
            }
        }
        let mut doubtful = None;
        for column in others {
            let Ok(numbers) = self.frame_numbers(column, false) else {
                continue;
            };
            let Some([least, most]) = dense(&numbers.values) else {
                continue;
            };
            let sorted = numbers.values.is_sorted();
            let in_order = sorted && most - least + 1.0 == numbers.values.len() as f64;
            let known = is_named(&&column, &LIKELY_FRAMES)
                || (column == 0 && names.first().is_some_and(|name| letters(name).is_empty()));
            match known {
                true if !in_order || least <= 1.0 => {
                    return Ok(Some(FrameNumbers {
                        doubtful: false,
                        ..numbers
                    }));
                }
                false if !in_order && doubtful.is_none() => doubtful = Some(numbers),
                _ => {}
            }
        }
        Ok(doubtful)
    }

    /// The name of a column of times, and the first line whose time is before that of the line
    /// before it.
    fn falling_time(&self, chosen: [usize; 2]) -> Option<(String, u64)> {
        let names = self.names.as_deref().unwrap_or_default().iter().enumerate();
        let mut times = names.filter(|(column, name)| !chosen.contains(column) && is_time(name));
        times.find_map(|(column, name)| {
            let falls = |pair: &[(u64, Vec<String>)]| {
                let [before, after] = [&pair[0], &pair[1]].map(|(_, cells)| cells.get(column));
                let (before, after) = before.zip(after)?;
                let falls = match (before.parse::<f64>(), after.parse::<f64>()) {
                    (Ok(before), Ok(after)) => after < before,
                    // Such as 2025-11-29T01:30:00.
                    (Err(_), Err(_)) => before.len() == after.len() && after < before,
                    _ => false,
                };
                falls.then_some(pair[1].0)
            };
            let line = self.rows.windows(2).find_map(falls)?;
            Some((quoted(name), line))
        })
    }

    /// Whether more than half of the cells of a column are texts with digits, as names of files
    /// are.
    fn has_mostly_texts(&self, column: usize) -> bool {
        let is_name = |(_, cells): &&(u64, Vec<String>)| {
            (cells.get(column)).is_some_and(|cell| {
                cell.parse::<f64>().is_err() && cell.contains(|c: char| c.is_ascii_digit())
            })
        };
        2 * self.rows.iter().filter(is_name).count() > self.rows.len()
    }

    /// The columns with a text in each line, of which some are not numbers.
    fn texts(&self, chosen: [usize; 2]) -> Vec<Texts> {
        let names = self.names.as_deref().unwrap_or_default();
        let width = self.rows.iter().map(|(_, cells)| cells.len()).max();
        let others = (0..width.unwrap_or(0)).filter(|column| !chosen.contains(column));
        let of_column = |column: usize| {
            let cell = |(_, cells): &(u64, Vec<String>)| cells.get(column).cloned();
            let values: Vec<String> = self.rows.iter().map(cell).collect::<Option<_>>()?;
            let is_text = |cell: &String| !cell.is_empty() && cell.parse::<f64>().is_err();
            values.iter().any(is_text).then(|| Texts {
                column: (names.get(column).filter(|name| !name.is_empty()))
                    .map_or_else(|| column.to_string(), |name| quoted(name)),
                values,
                lines: self.rows.iter().map(|(line, _)| *line).collect(),
            })
        };
        others.filter_map(of_column).collect()
    }

    /// The numbers of frames in a column, which its name says or not.
    fn frame_numbers(&self, column: usize, named: bool) -> Result<FrameNumbers, IoError> {
        let number = |(line, cells): &(u64, Vec<String>)| self.number(*line, cells, column);
        let names = self.names.as_deref().unwrap_or_default();
        Ok(FrameNumbers {
            column: (names.get(column).filter(|name| !name.is_empty()))
                .map_or_else(|| column.to_string(), |name| quoted(name)),
            doubtful: !named,
            is_path: false,
            values: self.rows.iter().map(number).collect::<Result<_, _>>()?,
            lines: self.rows.iter().map(|(line, _)| *line).collect(),
        })
    }
}

/// Whether texts differ, as names of files do.
fn all_differ(texts: &[String]) -> bool {
    texts.iter().collect::<HashSet<_>>().len() == texts.len()
}

/// Whether the cells of the first line are those of a position beside texts, and not names of
/// columns: two are numbers or, unless a comment has the names, numbers with a decimal point.
fn is_position(cells: &[String], has_names: bool) -> bool {
    let is_number = |cell: &&String| cell.parse::<f64>().is_ok_and(f64::is_finite);
    let numbers: Vec<&String> = cells.iter().filter(is_number).collect();
    numbers.len() >= 2 && (has_names || numbers.iter().any(|number| number.contains('.')))
}

/// Whether numbers have decimal commas: some lines have such numbers, and the commas of all but the
/// first, which may have names, are those of numbers.
fn has_decimal_comma_rows<'t>(lines: impl Iterator<Item = &'t str>) -> bool {
    let mut found = false;
    for (number, line) in lines.enumerate() {
        let decimal = has_decimal_commas(line);
        if line.contains(',') && !decimal && number > 0 {
            return false;
        }
        found |= decimal;
    }
    found
}

/// The beginning of a text in an error, on one line.
fn quoted(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(QUOTED).map(shown).collect()
}

/// Names of columns in an error.
fn listed(names: &[String]) -> String {
    let cut = |name: &String| quoted(name);
    let some: Vec<String> = names.iter().take(LISTED).map(cut).collect();
    match names.len().saturating_sub(LISTED) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

#[cfg(test)]
mod tests;
