//! Columns of numbers after any header: the longest block of lines with the same number of columns
//! is the data.
//!
//! Columns of a curve are q, I, σ(I), σ(q). Columns of an image are qx, qy, I, σ(I), and in files
//! of NIST also qz, σ of q along and across its direction, and the shadow factor of the beam stop.
//! Separators are blanks, tabs, commas, semicolons and bars. If a header line names the columns,
//! they are those that it names.

use super::check::{self, RawCurve, RawImage};
use super::column_order::ColumnOrder;
use super::decimal_comma::refuse_decimal_commas;
use super::header::Header;
use super::names::Role;
use super::rows::{self, MAX_COLUMNS, data_rows, numbers};
use super::{IoError, Kind, Memory, ReadOptions, allow, name_of};
use crate::data::Scattering;
use warpstride_core::text::count;

pub(super) use super::rows::check_start;

/// Columns that are read if the header does not name them.
const UNNAMED_COLUMNS: usize = 8;
/// Least number of pixels of an image that its values alone identify.
const FEW_PIXELS: usize = 9;

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
    let data = rows::with_broken_lines(text, rows::longest(file, text)?);
    refuse_decimal_commas(file, data_rows(text, data))?;
    rows::complete(file, text, data)?;
    let data = rows::with_missing_rows(text, data);
    let header = Header::of(
        text.lines().take(data.first),
        text.lines().skip(data.last + 1),
        data.columns,
    );
    let used = match header.columns {
        Some(_) => data.columns,
        None => data.columns.min(UNNAMED_COLUMNS),
    };
    // Text, columns, line numbers and the order of rows, with 8 bytes each, and a copy of the
    // columns while they are sorted.
    let memory_of_rows = (2 * used + 4) as u128 * 8 * data.rows as u128;
    let needed = text.len() as u128 + memory_of_rows;
    allow(file, "the columns", needed, memory)?;
    let mut columns: Vec<Vec<f64>> = (0..used).map(|_| Vec::with_capacity(data.rows)).collect();
    let mut lines: Vec<u32> = Vec::with_capacity(data.rows);
    let mut broken: Vec<usize> = Vec::new();
    let mut row = [0.0; MAX_COLUMNS];
    for (at, line) in data_rows(text, data) {
        if numbers(line, |column, value| row[column] = value) != Some(data.columns) {
            broken.push(at);
            continue;
        }
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
        lines.push(at as u32);
    }
    header.check(file, columns.first().map_or(&[], Vec::as_slice))?;
    header.check_unit(file, options)?;
    let mut notes = header.notes_on_units(options);
    if let Some(first) = broken.first() {
        notes.push(format!(
            "{} without {} numbers left out (line {first})",
            count(broken.len(), ["line", "lines"]),
            data.columns
        ));
    }
    let kind = match options.kind {
        Some(kind) => kind,
        None if header.image || looks_like_image(&header, &columns) => Kind::Image,
        None => Kind::Curve,
    };
    notes.extend(header.note_on_columns(kind == Kind::Curve && options.kind.is_none()));
    let label = |row: usize| match lines.get(row) {
        Some(line) => format!("line {line}"),
        None => format!("row {}", row + 1),
    };
    match kind {
        Kind::Curve => {
            refuse_components(file, &header, &columns, options)?;
            let raw = curve(columns, &header, options, notes, file);
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
            let raw = image(columns, &header, options, notes, file);
            check::image(file, raw, &label).map(Scattering::Image)
        }
    }
}

/// Whether columns that the header does not name are those of an image: the first two are often
/// negative, or form a grid.
fn looks_like_image(header: &Header, columns: &[Vec<f64>]) -> bool {
    let [x, y, _, ..] = columns else {
        return false;
    };
    header.columns.is_none() && are_components(x, y)
}

/// Whether two columns are the components of q of an image: often negative, or a grid.
fn are_components(x: &[f64], y: &[f64]) -> bool {
    let below = |column: &[f64]| column.iter().filter(|v| **v < 0.0).count();
    let negative = below(x).min(below(y));
    let often = x.len() >= FEW_PIXELS && 5 * negative >= x.len() && are_alike(x, y);
    often || (negative > 0 && repeats(x, y)) || is_grid(x, y)
}

/// Refuses an image whose header gives its components of q other names than qx and qy.
fn refuse_components(
    file: &str,
    header: &Header,
    columns: &[Vec<f64>],
    options: &ReadOptions,
) -> Result<(), IoError> {
    let pair = header
        .column(Role::Q)
        .and_then(|at| Some((columns.get(at)?, columns.get(at + 1)?)));
    let is_image = pair.is_some_and(|(x, y)| are_components(x, y));
    if !is_image || columns.len() < 3 || options.kind.is_some() {
        return Ok(());
    }
    Err(IoError::Value {
        file: file.to_owned(),
        dataset: "the columns".to_owned(),
        found: "the grid or the signs of the components of q of an image, which the header does not call qx and qy"
            .to_owned(),
        expected: "q and I of a curve; for an image, the names qx, qy and I in the header".to_owned(),
    })
}

/// Whether two columns have similar extents.
fn are_alike(x: &[f64], y: &[f64]) -> bool {
    let extent = |column: &[f64]| column.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let (x, y) = (extent(x), extent(y));
    x.max(y) < 10.0 * x.min(y)
}

/// Whether qx or qy is often the same in consecutive rows, as on a grid.
fn repeats(x: &[f64], y: &[f64]) -> bool {
    let same = |c: &[f64]| c.windows(2).filter(|pair| pair[0] == pair[1]).count();
    x.len() >= 4 && same(x).max(same(y)) >= x.len() / 4
}

/// Whether the columns are all pairs of several values of qx and of qy.
fn is_grid(x: &[f64], y: &[f64]) -> bool {
    let distinct = |column: &[f64]| {
        let mut values = column.to_vec();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len()
    };
    x.len() >= FEW_PIXELS && repeats(x, y) && {
        let (across, down) = (distinct(x), distinct(y));
        across > 2 && down > 2 && across.checked_mul(down) == Some(x.len())
    }
}

fn scaled(mut column: Vec<f64>, factor: f64) -> Vec<f64> {
    if factor != 1.0 {
        column.iter_mut().for_each(|v| *v *= factor);
    }
    column
}

/// The standard deviations of `column`; with a factor of I if the header says that they are shares.
fn deviations(
    sigma: Option<Vec<f64>>,
    column: Option<usize>,
    intensity: &[f64],
    header: &Header,
    notes: &mut Vec<String>,
) -> Option<Vec<f64>> {
    let Some(factor) = column.and_then(|column| header.relative(column)) else {
        return sigma;
    };
    notes.push(format!(
        "the uncertainties are {} of the intensities, as the header names them: they are multiplied by them",
        if factor == 1.0 { "shares" } else { "percent" }
    ));
    let pairs = sigma?.into_iter().zip(intensity);
    Some(pairs.map(|(share, i)| factor * share * i.abs()).collect())
}

fn curve(
    columns: Vec<Vec<f64>>,
    header: &Header,
    options: &ReadOptions,
    mut notes: Vec<String>,
    file: &str,
) -> RawCurve {
    let order = ColumnOrder::of_curve(header, &columns);
    let [of_q, of_intensity, of_sigma, of_width] = order.columns();
    notes.extend(header.note_on_q(of_q));
    notes.extend(header.note_on_intensity(of_intensity));
    let [q, intensity, sigma, width] = order.take(header, columns, &mut notes);
    let intensity = intensity.unwrap_or_default();
    let width = width.zip(of_width);
    let width = width.map(|(c, at)| scaled(c, header.factor_of(at, options)));
    RawCurve {
        q: scaled(q.unwrap_or_default(), header.factor(options)),
        sigma: deviations(sigma, of_sigma, &intensity, header, &mut notes),
        intensity,
        width,
        slit: None,
        title: name_of(file),
        notes,
    }
}

fn image(
    columns: Vec<Vec<f64>>,
    header: &Header,
    options: &ReadOptions,
    mut notes: Vec<String>,
    file: &str,
) -> RawImage {
    let order = ColumnOrder::of_image(header, &columns);
    let places = order.columns();
    let of_sigma = places[3];
    notes.extend(header.note_on_axes([places[0], places[1]], options));
    let taken = order.take(header, columns, &mut notes);
    let [qx, qy, intensity, sigma, along, across] = taken;
    if along.is_some() != across.is_some() {
        notes.push(
            "the header names one of the two widths of the resolution: it is not used".to_owned(),
        );
    }
    let q = |column: Vec<f64>, place: usize| match places[place] {
        Some(at) => scaled(column, header.factor_of(at, options)),
        None => column,
    };
    let intensity = intensity.unwrap_or_default();
    RawImage {
        qx: q(qx.unwrap_or_default(), 0),
        qy: q(qy.unwrap_or_default(), 1),
        sigma: deviations(sigma, of_sigma, &intensity, header, &mut notes),
        intensity,
        widths: along
            .zip(across)
            .map(|(along, across)| (q(along, 4), q(across, 5))),
        title: name_of(file),
        notes,
    }
}
