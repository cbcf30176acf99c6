//! Reads points from Parquet.

mod column;
mod pages;

use super::columns;
use super::reader::{Block, Shared, Source};
use super::series_key::SeriesKey;
use super::timestamp::Unit;
use super::typed::{NameCell, Table, TimeKind};
use super::{IoError, ReadOptions, allow, damaged, format_error};
use crate::system::catch_panic;
use column::Column;
use pages::CheckedFile;
use parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type};
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of rows decoded at once.
const ROWS: usize = 1 << 16;
/// Upper bound on the memory that a byte of the metadata may need.
const GROWTH: u128 = 64;
/// Bytes of the metadata's length and the signature, at the end.
const TAIL: u64 = 8;

/// A file whose metadata has been read.
pub(super) struct Parquet {
    table: Table,
    reader: SerializedFileReader<CheckedFile>,
    /// Indices of the columns: time, value, and those that name the series.
    columns: Vec<usize>,
    key: SeriesKey,
    /// The growth of pages in the open group, for [`CheckedFile`].
    growth: Arc<AtomicU64>,
    /// Index of the next row group.
    group: usize,
    open: Option<Group>,
}

/// Columns of a row group.
struct Group {
    time: Column,
    value: Column,
    /// The columns that name the series.
    series: Vec<Column>,
}

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
        let usable: Vec<usize> = (0..leaves.len())
            .filter(|leaf| {
                leaves[*leaf].path().parts().len() == 1 && leaves[*leaf].max_rep_level() == 0
            })
            .collect();
        let names: Vec<String> = usable
            .iter()
            .map(|leaf| leaves[*leaf].name().to_owned())
            .collect();
        let columns = columns::by_name(&file, &names, options, &mut shared.notes);
        let columns = columns.map_err(|error| with_nested(error, leaves, &usable))?;
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
        let kind = time_kind(leaf(time)).ok_or_else(|| {
            refuse(
                time,
                "timestamps (TIMESTAMP, DATE, integers, INT96 or text)",
            )
        })?;
        if !is_number(leaf(value)) {
            return Err(refuse(value, "numbers (DOUBLE, FLOAT or integers)"));
        }
        for series in columns.series.columns() {
            if !is_name(leaf(*series)) {
                return Err(refuse(*series, "text or integers"));
            }
        }
        columns.reject_texts(&file, |column| is_text(leaf(column)))?;
        let mut chosen = vec![usable[time], usable[value]];
        chosen.extend(columns.series.columns().iter().map(|c| usable[*c]));
        for group in reader.metadata().row_groups() {
            for column in &chosen {
                packed(&file, group.column(*column).compression())?;
            }
        }
        let single = match columns.series {
            SeriesKey::File => Some(shared.number_of_file(&file, name)?),
            SeriesKey::Column(_) | SeriesKey::Labels(_) => None,
        };
        let table = Table::new(file, &names[time], kind, single, options);
        Ok(Self {
            table,
            reader,
            columns: chosen,
            key: columns.series,
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
        let (Some(time), Some(value)) = (opened.next(), opened.next()) else {
            return Ok(false);
        };
        let series = opened.collect();
        self.open = Some(Group {
            time,
            value,
            series,
        });
        Ok(true)
    }

    /// Decodes the next rows of the open group; 0 at its end.
    fn decode(&mut self) -> Result<usize, IoError> {
        let Some(group) = &mut self.open else {
            return Ok(0);
        };
        let rows = catch_panic(|| {
            let rows = group.time.decode(ROWS)?;
            let values = group.value.decode(ROWS)?;
            let mut equal = rows == values;
            for series in &mut group.series {
                equal &= rows == series.decode(ROWS)?;
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
            self.table.end(shared);
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
        let Group {
            time,
            value,
            series,
        } = group;
        let (mut times, mut values) = (time.cells(), value.cells());
        let mut names: Vec<_> = series.iter().map(Column::cells).collect();
        let cells = (0..rows).map(|_| {
            let name = NameCell::of(&self.key, |position| names[position].next());
            (times.next(), values.next(), name)
        });
        let block = self.table.block(rows, cells, shared)?;
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

/// The error with the names of columns that are lists or structures, if it is about missing columns.
fn with_nested(error: IoError, leaves: &[ColumnDescPtr], usable: &[usize]) -> IoError {
    let mut nested: Vec<&str> = (0..leaves.len())
        .filter(|leaf| !usable.contains(leaf))
        .filter_map(|leaf| leaves[leaf].path().parts().first())
        .map(String::as_str)
        .collect();
    nested.dedup();
    match error {
        IoError::Option {
            file,
            option,
            reason,
        } if !nested.is_empty() => IoError::Option {
            reason: format!(
                "{reason}; lists and structures are not read: {}",
                columns::list(nested)
            ),
            file,
            option,
        },
        other => other,
    }
}

/// The message of an error without its category.
fn description(error: ParquetError) -> String {
    match error {
        ParquetError::General(description) | ParquetError::EOF(description) => description,
        other => other.to_string(),
    }
}

/// The type of a column, for messages.
fn type_of(column: &ColumnDescriptor) -> String {
    let physical = column.physical_type();
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => {
            format!("{physical}, decimal")
        }
        (Some(LogicalType::String), _) | (None, ConvertedType::UTF8) => "text".to_owned(),
        (Some(LogicalType::Time(_)), _) => format!("{physical}, time of day"),
        (Some(LogicalType::Timestamp(_)), _) => format!("{physical}, timestamp"),
        (Some(LogicalType::Float16), _) => "half precision".to_owned(),
        _ => physical.to_string(),
    }
}

/// How a column's type represents timestamps; `None` if it does not.
fn time_kind(column: &ColumnDescriptor) -> Option<TimeKind> {
    match (
        column.physical_type(),
        column.logical_type_ref(),
        column.converted_type(),
    ) {
        (Type::INT96, _, _) => Some(TimeKind::Julian),
        (Type::INT64, Some(LogicalType::Timestamp(stamp)), _) => {
            Some(TimeKind::SinceEpoch(match stamp.unit {
                TimeUnit::MILLIS => Unit::Milliseconds,
                TimeUnit::MICROS => Unit::Microseconds,
                TimeUnit::NANOS => Unit::Nanoseconds,
            }))
        }
        (Type::INT64, None, ConvertedType::TIMESTAMP_MILLIS) => {
            Some(TimeKind::SinceEpoch(Unit::Milliseconds))
        }
        (Type::INT64, None, ConvertedType::TIMESTAMP_MICROS) => {
            Some(TimeKind::SinceEpoch(Unit::Microseconds))
        }
        (Type::INT32, Some(LogicalType::Date), _) | (Type::INT32, None, ConvertedType::DATE) => {
            Some(TimeKind::Days)
        }
        _ if is_integer(column) || is_text(column) => Some(TimeKind::Inferred),
        _ => None,
    }
}

fn is_integer(column: &ColumnDescriptor) -> bool {
    use ConvertedType as C;
    let integers = [
        C::INT_8,
        C::INT_16,
        C::INT_32,
        C::INT_64,
        C::UINT_8,
        C::UINT_16,
        C::UINT_32,
        C::UINT_64,
    ];
    matches!(column.physical_type(), Type::INT32 | Type::INT64)
        && match column.logical_type_ref() {
            Some(kind) => matches!(kind, LogicalType::Integer(_)),
            None => {
                column.converted_type() == C::NONE || integers.contains(&column.converted_type())
            }
        }
}

fn is_number(column: &ColumnDescriptor) -> bool {
    let real = matches!(column.physical_type(), Type::FLOAT | Type::DOUBLE);
    real || is_integer(column)
}

fn is_text(column: &ColumnDescriptor) -> bool {
    column.physical_type() == Type::BYTE_ARRAY
        && !matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
        && column.converted_type() != ConvertedType::DECIMAL
}

fn is_name(column: &ColumnDescriptor) -> bool {
    is_text(column) || is_integer(column)
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
