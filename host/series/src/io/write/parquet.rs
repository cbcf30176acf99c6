//! Writes results as Parquet with the columns of the CSV, in row groups.

use super::run::{Run, seconds};
use crate::io::LabelColumns;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type as Schema};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use warpstride_core::system::atomic_file::{Partial, refusal};
use warpstride_files::IoError;

/// Rows per row group.
const GROUP: usize = 1 << 20;
/// Number of strings passed to the encoder at once.
const TEXTS: usize = 1 << 13;

type Writer = SerializedFileWriter<BufWriter<File>>;

pub(super) struct ParquetRows {
    partial: Partial,
    writer: Writer,
    group: Group,
    /// Columns in place of `series`.
    labels: Option<LabelColumns>,
}

/// Rows that are not written yet.
#[derive(Default)]
struct Group {
    /// (column of text), consecutive runs of a string and its number of rows.
    texts: Vec<Vec<(ByteArray, usize)>>,
    starts: Vec<i64>,
    values: Vec<f64>,
}

impl ParquetRows {
    pub(super) fn create(path: &Path, labels: Option<LabelColumns>) -> Result<Self, IoError> {
        let partial = Partial::begin(path)?;
        let file = BufWriter::with_capacity(1 << 18, partial.file()?);
        let begun = schema(labels.as_ref()).and_then(|schema| {
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties()?))
        });
        Ok(Self {
            writer: begun.map_err(|e| refusal::<IoError>(path, &e))?,
            partial,
            group: Group::default(),
            labels,
        })
    }

    /// Appends `runs`. Returns the number of rows.
    pub(super) fn append<'r>(
        &mut self,
        runs: impl Iterator<Item = Run<'r>>,
    ) -> Result<u64, IoError> {
        let mut rows = 0;
        for run in runs {
            let mut from = 0;
            while from < run.len() {
                let end = run
                    .len()
                    .min(from + GROUP - self.group.starts.len().min(GROUP - 1));
                rows += self.group.add(&run.part(from, end), self.labels.as_ref()) as u64;
                from = end;
                if self.group.starts.len() >= GROUP {
                    self.flush()?;
                }
            }
        }
        Ok(rows)
    }

    fn flush(&mut self) -> Result<(), IoError> {
        let group = std::mem::take(&mut self.group);
        let written = write(&mut self.writer, &group);
        written.map_err(|e| refusal(self.partial.path(), &reason(&e)))
    }

    pub(super) fn finish(mut self) -> Result<(), IoError> {
        if !self.group.starts.is_empty() {
            self.flush()?;
        }
        let path = self.partial.path().to_owned();
        let ended = self.writer.into_inner().and_then(|file| {
            // Flushes the buffer explicitly, because dropping it would ignore errors.
            file.into_inner()
                .map_err(|e| ParquetError::External(Box::new(e.into_error())))
        });
        drop(ended.map_err(|e| refusal::<IoError>(&path, &reason(&e)))?);
        Ok(self.partial.finish()?)
    }
}

impl Group {
    fn add(&mut self, run: &Run<'_>, labels: Option<&LabelColumns>) -> usize {
        let before = self.starts.len();
        for (start, value) in run.rows() {
            self.starts.push(start);
            self.values.push(value);
        }
        let rows = self.starts.len() - before;
        if rows > 0 {
            let mut texts = match labels {
                None => vec![run.series.to_owned()],
                Some(labels) => labels.cells(run.series),
            };
            texts.push(seconds(run.granularity));
            texts.push(run.aggregate.to_string());
            self.texts.resize(texts.len(), Vec::new());
            for (column, text) in self.texts.iter_mut().zip(texts) {
                match column.last_mut() {
                    Some((last, count)) if last.data() == text.as_bytes() => *count += rows,
                    _ => column.push((ByteArray::from(text.into_bytes()), rows)),
                }
            }
        }
        rows
    }
}

/// The system's message in an error of the library.
fn reason(error: &ParquetError) -> String {
    match error {
        ParquetError::External(inner) => inner.to_string(),
        other => other.to_string(),
    }
}

fn schema(labels: Option<&LabelColumns>) -> Result<Schema, ParquetError> {
    let text = |name: &str| {
        Schema::primitive_type_builder(name, Type::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .build()
            .map(Arc::new)
    };
    let start = Schema::primitive_type_builder("timestamp", Type::INT64)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::NANOS)))
        .build()?;
    let value = Schema::primitive_type_builder("value", Type::DOUBLE)
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let mut fields = match labels {
        None => vec![text("series")?],
        Some(labels) => {
            let heads = labels.heads().iter();
            heads.map(|head| text(head)).collect::<Result<_, _>>()?
        }
    };
    fields.extend([
        text("granularity_s")?,
        text("aggregate")?,
        Arc::new(start),
        Arc::new(value),
    ]);
    Schema::group_type_builder("aggregates")
        .with_fields(fields)
        .build()
}

fn properties() -> Result<WriterProperties, ParquetError> {
    // Bucket starts mostly differ by a constant step; values rarely repeat.
    let start = ColumnPath::from("timestamp");
    let value = ColumnPath::from("value");
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_created_by(concat!("warpstride ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_column_dictionary_enabled(start.clone(), false)
        .set_column_encoding(start, Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled(value, false)
        .build())
}

fn write(writer: &mut Writer, group: &Group) -> Result<(), ParquetError> {
    let mut columns = writer.next_row_group()?;
    for runs in &group.texts {
        texts(&mut columns, runs)?;
    }
    column::<Int64Type>(&mut columns, [&group.starts[..]].into_iter())?;
    column::<DoubleType>(&mut columns, [&group.values[..]].into_iter())?;
    columns.close().map(drop)
}

fn texts(
    columns: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    runs: &[(ByteArray, usize)],
) -> Result<(), ParquetError> {
    let mut rows = runs
        .iter()
        .flat_map(|(text, count)| std::iter::repeat_n(text, *count).cloned());
    let mut some = Vec::with_capacity(TEXTS);
    let mut column = next(columns)?;
    loop {
        some.clear();
        some.extend(rows.by_ref().take(TEXTS));
        if some.is_empty() {
            return column.close();
        }
        column
            .typed::<ByteArrayType>()
            .write_batch(&some, None, None)?;
    }
}

fn column<'v, T: DataType>(
    columns: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    values: impl Iterator<Item = &'v [T::T]>,
) -> Result<(), ParquetError>
where
    T::T: 'v,
{
    let mut column = next(columns)?;
    for some in values {
        column.typed::<T>().write_batch(some, None, None)?;
    }
    column.close()
}

fn next<'g>(
    columns: &'g mut SerializedRowGroupWriter<'_, BufWriter<File>>,
) -> Result<parquet::file::writer::SerializedColumnWriter<'g>, ParquetError> {
    columns
        .next_column()?
        .ok_or_else(|| ParquetError::General("the table has fewer columns".to_owned()))
}
