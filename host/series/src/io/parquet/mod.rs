//! Reads points from Parquet.

mod column;
mod pages;
mod types;

use super::block::Block;
use super::columns::{self, WideColumns};
use super::series_key::SeriesKey;
use super::source::{Shared, Source};
use super::typed::{LABELS_EXPECTED, NameCell, Table, TimeKind};
use super::zone_columns::ZoneColumn;
use super::{IoError, ReadOptions, allow, damaged, format_error};
use column::Column;
use pages::CheckedFile;
use parquet::basic::{Compression, Type};
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::{is_date, is_name, is_number, is_text, may_be_label, time_kind, type_of};
use warpstride_core::system::catch_panic;

/// Number of rows decoded at once.
const ROWS: usize = 1 << 16;
/// Upper bound on the memory that a byte of the metadata may need.
const GROWTH: u128 = 64;
/// Bytes of the usual largest page, decompressed, with what it was decompressed from.
const PAGE: i64 = 2 << 20;
/// Bytes of the metadata's length and the signature, at the end.
const TAIL: u64 = 8;

/// A file whose metadata has been read.
pub(super) struct Parquet {
    table: Table,
    reader: SerializedFileReader<CheckedFile>,
    /// Indices of the columns: time, value, those that name the series, and unused dates.
    columns: Vec<usize>,
    key: SeriesKey,
    /// The kinds of times of the columns that name series, then of unused dates.
    label_times: Vec<Option<TimeKind>>,
    /// The series of the columns after the first, if the table is wide.
    wide: Option<Vec<u32>>,
    /// The growth of pages in the open group, for [`CheckedFile`].
    growth: Arc<AtomicU64>,
    /// Index of the next row group.
    group: usize,
    open: Option<Group>,
}

/// Columns of a row group.
struct Group {
    time: Column,
    /// The values, then the columns that name the series; of a wide table the values of each
    /// series.
    others: Vec<Column>,
}

/// What a column of timestamps must be.
const TIMES_EXPECTED: &str = "timestamps (TIMESTAMP, DATE, integers, DOUBLE, INT96 or text), in another column that --time-column names or after a conversion";

/// What a column of values must be.
const VALUES_EXPECTED: &str = "numbers (DOUBLE, FLOAT or integers; decimals after a conversion to DOUBLE), or --value-column with another column";

impl Parquet {
    /// Reads the metadata. Without a series column, all points belong to the series `name`.
    pub(super) fn open(
        file: String,
        name: &str,
        (opened, length): (File, u64),
        options: &ReadOptions,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        let broken = |e: &dyn std::fmt::Display| damaged(&file, "Parquet metadata", e);
        let checked = CheckedFile::new(opened, length, shared.memory);
        if length < 2 * TAIL {
            return Err(broken(&"the file is truncated"));
        }
        let tail = checked.bytes(length - TAIL, TAIL as usize);
        let tail = tail.map_err(|e| broken(&e))?;
        let size = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
        if &tail[4..] == b"PARE" {
            return Err(format_error(&file, "encrypted Parquet; decrypt the file"));
        }
        if &tail[4..] != b"PAR1" || u64::from(size) > length - TAIL {
            return Err(broken(&"the footer is missing; the file may be truncated"));
        }
        allow(
            &file,
            "Parquet metadata",
            u128::from(size) * GROWTH,
            shared.memory,
        )?;
        let growth = checked.growth();
        let reader = catch_panic(|| SerializedFileReader::new(checked))
            .ok_or_else(|| broken(&"the metadata is damaged"))?
            .map_err(|e| broken(&e))?;
        let leaves = reader.metadata().file_metadata().schema_descr().columns();
        let usable = usable(leaves);
        let names: Vec<String> = usable.iter().map(|leaf| name_of(&leaves[*leaf])).collect();
        if options.wide {
            let wide = WideColumns::by_name(&file, &names, options, &mut shared.notes)?;
            return Self::open_wide(
                file,
                &names,
                &usable,
                (reader, growth),
                &wide,
                options,
                shared,
            );
        }
        let has_numbers = |column: usize| {
            let leaf = &leaves[usable[column]];
            leaf.max_rep_level() == 0
                && matches!(
                    leaf.physical_type(),
                    Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE
                )
        };
        let columns = columns::by_name(&file, &names, options, &mut shared.notes, has_numbers)?;
        let (time, value) = (columns.time, columns.value);
        let leaf = |column: usize| &leaves[usable[column]];
        let refuse = |column: usize, expected: &'static str| IoError::Type {
            file: file.clone(),
            dataset: format!(
                "column {} ({})",
                super::shorten(&names[column]),
                type_of(leaf(column))
            ),
            expected,
        };
        let kind = time_kind(leaf(time)).ok_or_else(|| refuse(time, TIMES_EXPECTED))?;
        if !is_number(leaf(value)) {
            return Err(refuse(value, VALUES_EXPECTED));
        }
        for series in columns.series.columns() {
            if !is_name(leaf(*series)) {
                return Err(refuse(*series, LABELS_EXPECTED));
            }
        }
        columns.reject_labels(
            &file,
            |column| may_be_label(leaf(column)),
            |column| is_text(leaf(column)),
            |column| is_name(leaf(column)),
        )?;
        let hours = columns.hours(&names);
        if let Some(hours) = hours.as_ref().filter(|_| kind == TimeKind::Days) {
            return Err(hours.refusal(&file));
        }
        columns.note_unused(&file, &mut shared.notes, |column| is_name(leaf(column)));
        let mut chosen = vec![usable[time], usable[value]];
        chosen.extend(columns.series.columns().iter().map(|c| usable[*c]));
        let unused = columns.unused.iter();
        let dates: Vec<_> = unused.filter(|(c, _)| is_date(leaf(*c))).collect();
        chosen.extend(dates.iter().map(|(column, _)| usable[*column]));
        let labels = columns.series.columns().iter();
        let labels = labels.chain(dates.iter().map(|(column, _)| column));
        let may_be_zone = |zone: &ZoneColumn| {
            let leaf = leaf(zone.column);
            is_text(leaf) || is_number(leaf)
        };
        let mut zones = columns.zones(&names, &[], options);
        zones.retain(may_be_zone);
        chosen.extend(zones.iter().map(|zone| usable[zone.column]));
        let labels = labels.chain(zones.iter().map(|zone| &zone.column));
        let label_times = labels.map(|column| time_kind(leaf(*column))).collect();
        let dates = dates.iter().map(|(_, name)| name.clone()).collect();
        for group in reader.metadata().row_groups() {
            for column in &chosen {
                packed(&file, group.column(*column).compression())?;
            }
        }
        let single = match columns.series {
            SeriesKey::File => Some(shared.number_of_file(&file, name)?),
            SeriesKey::Column(_) | SeriesKey::Labels(_) => None,
        };
        let table = Table::new(file, &names[time], kind, single, options)
            .with_dates(dates)
            .with_zones(zones)
            .with_hours(hours);
        Ok(Self {
            table,
            reader,
            columns: chosen,
            key: columns.series,
            label_times,
            wide: None,
            growth,
            group: 0,
            open: None,
        })
    }

    /// Opens a wide table with the columns `usable`.
    fn open_wide(
        file: String,
        names: &[String],
        usable: &[usize],
        (reader, growth): (SerializedFileReader<CheckedFile>, Arc<AtomicU64>),
        wide: &WideColumns,
        options: &ReadOptions,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        let metadata = reader.metadata();
        let leaves = metadata.file_metadata().schema_descr().columns();
        let leaf = |column: usize| &leaves[usable[column]];
        let refuse = |column: usize, expected: &'static str| IoError::Type {
            file: file.clone(),
            dataset: format!(
                "column {} ({})",
                super::shorten(&names[column]),
                type_of(leaf(column))
            ),
            expected,
        };
        let kind = time_kind(leaf(wide.time)).ok_or_else(|| refuse(wide.time, TIMES_EXPECTED))?;
        let values = wide.values.iter().map(|(column, _)| *column);
        if let Some(column) = values
            .chain(wide.unnamed.iter().copied())
            .find(|column| wide.unnamed.contains(column) || !is_number(leaf(*column)))
        {
            return Err(refuse(column, columns::WIDE_EXPECTED));
        }
        let mut chosen = vec![usable[wide.time]];
        chosen.extend(wide.values.iter().map(|(column, _)| usable[*column]));
        for group in metadata.row_groups() {
            // Every column has a page in memory.
            let mut needed = 0;
            for column in &chosen {
                let chunk = group.column(*column);
                packed(&file, chunk.compression())?;
                needed += chunk.uncompressed_size().clamp(0, PAGE);
            }
            let needed = u128::from(needed.unsigned_abs());
            allow(&file, "pages of all columns", needed, shared.memory)?;
        }
        let numbers = wide.numbers(&file, shared)?;
        let table = Table::new(file, &names[wide.time], kind, None, options)
            .with_hours(wide.hours(names))
            .with_zones(wide.zones(names, options));
        Ok(Self {
            table,
            reader,
            columns: chosen,
            key: SeriesKey::File,
            label_times: Vec::new(),
            wide: Some(numbers),
            growth,
            group: 0,
            open: None,
        })
    }

    fn broken(&self, reason: impl std::fmt::Display) -> IoError {
        let what = format!("row group {}", self.group + 1);
        damaged(&self.table.file, &what, reason)
    }

    /// Opens the next row group; false at the end.
    fn next_group(&mut self) -> Result<bool, IoError> {
        if self.group >= self.reader.metadata().num_row_groups() {
            return Ok(false);
        }
        let (reader, group, columns) = (&self.reader, self.group, &self.columns);
        let believed = &self.growth;
        let open = catch_panic(|| {
            let row_group = reader.get_row_group(group)?;
            let schema = reader.metadata().file_metadata().schema_descr();
            let packed = |leaf: usize| growth(row_group.metadata().column(leaf).compression());
            let most = columns.iter().copied().map(packed).max();
            believed.store(most.unwrap_or(1), Ordering::Relaxed);
            let column = |leaf: &usize| {
                Column::new(row_group.get_column_reader(*leaf)?, &schema.column(*leaf))
            };
            columns
                .iter()
                .map(column)
                .collect::<Result<Vec<_>, ParquetError>>()
        });
        let opened = open
            .ok_or_else(|| self.broken("the row group is damaged"))?
            .map_err(|e| self.broken(description(e)))?;
        let mut opened = opened.into_iter();
        let Some(time) = opened.next() else {
            return Ok(false);
        };
        self.open = Some(Group {
            time,
            others: opened.collect(),
        });
        Ok(true)
    }

    /// Decodes the next rows of the open group; 0 at its end.
    fn decode(&mut self) -> Result<usize, IoError> {
        let Some(group) = &mut self.open else {
            return Ok(0);
        };
        let most = match &self.wide {
            Some(series) => columns::wide_rows(ROWS, series.len()),
            None => ROWS,
        };
        let rows = catch_panic(|| {
            let rows = group.time.decode(most)?;
            let mut equal = true;
            for column in &mut group.others {
                equal &= rows == column.decode(most)?;
            }
            Ok::<_, ParquetError>((rows, equal))
        });
        let (rows, equal) = rows
            .ok_or_else(|| self.broken("the row group is damaged"))?
            .map_err(|e| self.broken(description(e)))?;
        if !equal {
            return Err(self.broken("its columns have different lengths"));
        }
        Ok(rows)
    }
}

impl Source for Parquet {
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Vec<Block>>, IoError> {
        if self.open.is_none() && !self.next_group()? {
            self.table.end(shared)?;
            return Ok(None);
        }
        let rows = self.decode()?;
        let Some(group) = &mut self.open else {
            return Ok(Some(Vec::new()));
        };
        if rows == 0 {
            self.open = None;
            self.group += 1;
            return Ok(Some(Vec::new()));
        }
        let mut times = group.time.cells();
        let mut others: Vec<_> = group.others.iter().map(Column::cells).collect();
        let block = match (&self.wide, &mut others[..]) {
            (Some(series), values) => self.table.wide_block(
                rows,
                series,
                |_| times.next(),
                |position, _| values[position].next(),
                shared,
            )?,
            (None, [values, rest @ ..]) => {
                let (names, dates) = rest.split_at_mut(self.key.columns().len());
                let cells = (0..rows).map(|_| {
                    let name = NameCell::of(&self.key, &self.label_times, |position| {
                        names[position].next()
                    });
                    let kinds = self.label_times.iter().skip(names.len());
                    let dates = dates.iter_mut().zip(kinds);
                    let dates = dates
                        .map(|(cells, kind)| cells.next().label_of(*kind))
                        .collect();
                    (times.next(), values.next(), name, dates)
                });
                self.table.block(rows, cells, shared)?
            }
            (None, []) => Block::default(),
        };
        Ok(Some(if block.is_empty() {
            Vec::new()
        } else {
            vec![block]
        }))
    }

    fn file(&self) -> &str {
        &self.table.file
    }

    fn unit(&self) -> super::TimeUnit {
        self.table.unit
    }
}

/// The columns: those at the top, parts of structures, and the first part of each list and map,
/// which stands for it.
fn usable(leaves: &[ColumnDescPtr]) -> Vec<usize> {
    let mut usable: Vec<usize> = Vec::new();
    for (leaf, column) in leaves.iter().enumerate() {
        let known = |other: &usize| name_of(&leaves[*other]) == name_of(column);
        if column.max_rep_level() == 0 || !usable.iter().any(known) {
            usable.push(leaf);
        }
    }
    usable
}

/// The name of a column: `labels.host` for a part of a structure, that of the whole for a list or a
/// map.
fn name_of(column: &ColumnDescriptor) -> String {
    let parts = column.path().parts();
    match column.max_rep_level() {
        0 => parts.join("."),
        _ => parts.first().cloned().unwrap_or_default(),
    }
}

/// The message of an error without its category.
fn description(error: ParquetError) -> String {
    match error {
        ParquetError::General(description) | ParquetError::EOF(description) => description,
        other => other.to_string(),
    }
}

/// Rejects unsupported compressions.
fn packed(file: &str, compression: Compression) -> Result<(), IoError> {
    let name = match compression {
        Compression::BROTLI(_) => "Brotli",
        Compression::LZO => "LZO",
        _ => return Ok(()),
    };
    Err(format_error(
        file,
        format!("{name} compression; write the file with zstd, snappy, lz4 or gzip"),
    ))
}

/// Upper bound on the bytes decompressed from a byte of a page, for decoders that do not stop at
/// the announced size.
fn growth(compression: Compression) -> u64 {
    match compression {
        // Deflate's longest match encodes 258 bytes in two bits.
        Compression::GZIP(_) => 1032,
        Compression::LZ4 => 255,
        _ => 1,
    }
}
