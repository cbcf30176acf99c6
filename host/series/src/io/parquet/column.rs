//! Decodes a column of a row group piece by piece into cells.

use crate::io::typed::Cell;
use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96Type,
};
use parquet::errors::Result;
use parquet::schema::types::ColumnDescriptor;

/// A column of any supported type.
pub(super) enum Column {
    Int32(TypedColumn<Int32Type>, bool),
    Days(TypedColumn<Int32Type>),
    Int64(TypedColumn<Int64Type>, bool),
    Int96(TypedColumn<Int96Type>),
    Float(TypedColumn<FloatType>),
    Double(TypedColumn<DoubleType>),
    Text(TypedColumn<ByteArrayType>),
    /// Bytes without a type.
    Raw(TypedColumn<ByteArrayType>),
    Boolean(TypedColumn<BoolType>),
    Bytes(TypedColumn<FixedLenByteArrayType>),
}

/// A column of one type, and its most recently decoded rows.
pub(super) struct TypedColumn<T: DataType> {
    reader: ColumnReaderImpl<T>,
    nullable: bool,
    /// The level of a value; that of null is less, of a structure that is null by more than one.
    level: i16,
    /// (row), less than `level` if null; empty if the column is not nullable.
    levels: Vec<i16>,
    /// The values that are not null.
    values: Vec<T::T>,
}

impl<T: DataType> TypedColumn<T> {
    fn new(reader: ColumnReaderImpl<T>, column: &ColumnDescriptor) -> Self {
        Self {
            reader,
            nullable: column.max_def_level() > 0,
            level: column.max_def_level(),
            levels: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Decodes up to `rows` rows. Returns their number.
    fn decode(&mut self, rows: usize) -> Result<usize> {
        self.levels.clear();
        self.values.clear();
        let levels = self.nullable.then_some(&mut self.levels);
        let (read, ..) = self
            .reader
            .read_records(rows, levels, None, &mut self.values)?;
        Ok(read)
    }

    fn cells(&self) -> TypedCells<'_, T> {
        TypedCells {
            levels: self.nullable.then(|| self.levels.iter()),
            level: self.level,
            values: self.values.iter(),
        }
    }
}

/// Iterates over rows.
pub(super) struct TypedCells<'c, T: DataType> {
    levels: Option<std::slice::Iter<'c, i16>>,
    level: i16,
    values: std::slice::Iter<'c, T::T>,
}

impl<'c, T: DataType> TypedCells<'c, T> {
    /// The next value; `None` for null.
    #[inline]
    fn next(&mut self) -> Option<&'c T::T> {
        match self.levels.as_mut().map(Iterator::next) {
            Some(None) => None,
            Some(Some(level)) if *level < self.level => None,
            Some(Some(_)) | None => self.values.next(),
        }
    }
}

impl Column {
    pub(super) fn new(reader: ColumnReader, column: &ColumnDescriptor) -> Result<Self> {
        let signed = match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Integer(kind)), _) => kind.is_signed,
            (
                None,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => false,
            _ => true,
        };
        let is_date = matches!(column.logical_type_ref(), Some(LogicalType::Date))
            || column.converted_type() == ConvertedType::DATE;
        let is_raw =
            column.logical_type_ref().is_none() && column.converted_type() == ConvertedType::NONE;
        Ok(match reader {
            ColumnReader::Int32ColumnReader(r) if is_date => {
                Self::Days(TypedColumn::new(r, column))
            }
            ColumnReader::BoolColumnReader(r) => Self::Boolean(TypedColumn::new(r, column)),
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                Self::Bytes(TypedColumn::new(r, column))
            }
            ColumnReader::Int32ColumnReader(r) => Self::Int32(TypedColumn::new(r, column), signed),
            ColumnReader::Int64ColumnReader(r) => Self::Int64(TypedColumn::new(r, column), signed),
            ColumnReader::Int96ColumnReader(r) => Self::Int96(TypedColumn::new(r, column)),
            ColumnReader::FloatColumnReader(r) => Self::Float(TypedColumn::new(r, column)),
            ColumnReader::DoubleColumnReader(r) => Self::Double(TypedColumn::new(r, column)),
            ColumnReader::ByteArrayColumnReader(r) if is_raw => {
                Self::Raw(TypedColumn::new(r, column))
            }
            ColumnReader::ByteArrayColumnReader(r) => Self::Text(TypedColumn::new(r, column)),
        })
    }

    /// Decodes up to `rows` rows. Returns their number.
    pub(super) fn decode(&mut self, rows: usize) -> Result<usize> {
        match self {
            Self::Int32(column, _) | Self::Days(column) => column.decode(rows),
            Self::Boolean(column) => column.decode(rows),
            Self::Bytes(column) => column.decode(rows),
            Self::Int64(column, _) => column.decode(rows),
            Self::Int96(column) => column.decode(rows),
            Self::Float(column) => column.decode(rows),
            Self::Double(column) => column.decode(rows),
            Self::Text(column) | Self::Raw(column) => column.decode(rows),
        }
    }

    /// The most recently decoded rows.
    pub(super) fn cells(&self) -> Cells<'_> {
        match self {
            Self::Int32(column, signed) => Cells::Int32(column.cells(), *signed),
            Self::Days(column) => Cells::Days(column.cells()),
            Self::Boolean(column) => Cells::Boolean(column.cells()),
            Self::Bytes(column) => Cells::Bytes(column.cells()),
            Self::Int64(column, signed) => Cells::Int64(column.cells(), *signed),
            Self::Int96(column) => Cells::Int96(column.cells()),
            Self::Float(column) => Cells::Float(column.cells()),
            Self::Double(column) => Cells::Double(column.cells()),
            Self::Text(column) => Cells::Text(column.cells()),
            Self::Raw(column) => Cells::Raw(column.cells()),
        }
    }
}

/// Iterates over rows.
pub(super) enum Cells<'c> {
    Int32(TypedCells<'c, Int32Type>, bool),
    Days(TypedCells<'c, Int32Type>),
    Boolean(TypedCells<'c, BoolType>),
    Bytes(TypedCells<'c, FixedLenByteArrayType>),
    Int64(TypedCells<'c, Int64Type>, bool),
    Int96(TypedCells<'c, Int96Type>),
    Float(TypedCells<'c, FloatType>),
    Double(TypedCells<'c, DoubleType>),
    Text(TypedCells<'c, ByteArrayType>),
    Raw(TypedCells<'c, ByteArrayType>),
}

impl<'c> Cells<'c> {
    #[inline]
    pub(super) fn next(&mut self) -> Cell<'c> {
        let cell = match self {
            Self::Days(cells) => cells.next().map(|n| Cell::Day(i64::from(*n))),
            Self::Boolean(cells) => cells.next().map(|flag| Cell::Boolean(*flag)),
            Self::Bytes(cells) => cells.next().map(|bytes| Cell::Bytes(bytes.data())),
            Self::Int32(cells, true) => cells.next().map(|n| Cell::Integer(i64::from(*n))),
            Self::Int32(cells, false) => cells
                .next()
                .map(|n| Cell::Unsigned(u64::from(n.cast_unsigned()))),
            Self::Int64(cells, true) => cells.next().map(|n| Cell::Integer(*n)),
            Self::Int64(cells, false) => cells.next().map(|n| Cell::Unsigned(n.cast_unsigned())),
            Self::Int96(cells) => cells.next().map(|moment| match moment.data() {
                [low, high, day] => Cell::Julian(u64::from(*high) << 32 | u64::from(*low), *day),
                _ => Cell::Null,
            }),
            Self::Float(cells) => cells.next().map(|v| Cell::Real(f64::from(*v))),
            Self::Double(cells) => cells.next().map(|v| Cell::Real(*v)),
            Self::Text(cells) => cells.next().map(|text| Cell::Text(text.data())),
            Self::Raw(cells) => cells.next().map(|bytes| Cell::of_bytes(bytes.data())),
        };
        cell.unwrap_or(Cell::Null)
    }
}
