//! Access to Arrow arrays cell by cell.

use crate::io::timestamp::Unit;
use crate::io::typed::{Cell, TimeKind};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use std::sync::Arc;

/// The type of the cells of a dictionary, or of any other column.
fn plain(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, value) => value,
        other => other,
    }
}

/// How a column's type represents timestamps; `None` if it does not.
pub(super) fn time_kind(kind: &DataType) -> Option<TimeKind> {
    Some(match plain(kind) {
        DataType::Timestamp(unit, zone) => {
            let unit = match unit {
                TimeUnit::Second => Unit::Seconds,
                TimeUnit::Millisecond => Unit::Milliseconds,
                TimeUnit::Microsecond => Unit::Microseconds,
                TimeUnit::Nanosecond => Unit::Nanoseconds,
            };
            match zone {
                Some(_) => TimeKind::SinceEpoch(unit),
                None => TimeKind::Naive(unit),
            }
        }
        DataType::Date64 => TimeKind::Naive(Unit::Milliseconds),
        DataType::Date32 => TimeKind::Days,
        DataType::Float64 => TimeKind::Inferred,
        other if is_integer(other) || is_text(other) => TimeKind::Inferred,
        _ => return None,
    })
}

fn is_integer(kind: &DataType) -> bool {
    use DataType as D;
    matches!(
        plain(kind),
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64
    )
}

pub(super) fn is_text(kind: &DataType) -> bool {
    matches!(
        plain(kind),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

pub(super) fn is_number(kind: &DataType) -> bool {
    let real = matches!(
        plain(kind),
        DataType::Float16 | DataType::Float32 | DataType::Float64
    );
    real || is_integer(kind)
}

pub(super) fn is_name(kind: &DataType) -> bool {
    is_text(kind)
        || is_integer(kind)
        || is_date(kind)
        || matches!(
            plain(kind),
            DataType::Boolean
                | DataType::FixedSizeBinary(_)
                | DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
        )
}

/// Whether a column of this type has dates or whole times, which tell series apart if
/// [`UnusedDates`](crate::io::UnusedDates) says so.
#[must_use]
pub fn is_date(kind: &DataType) -> bool {
    matches!(
        plain(kind),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64
    )
}

/// Whether any two cells of a column of this type may tell series apart: all types but numbers,
/// dates and times.
#[must_use]
pub fn may_be_label(kind: &DataType) -> bool {
    let is_time = matches!(
        plain(kind),
        DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Duration(_)
            | DataType::Interval(_)
            | DataType::Null
    );
    !is_time
        && !is_date(kind)
        && !is_number(kind)
        && !matches!(
            plain(kind),
            DataType::Decimal128(..) | DataType::Decimal256(..)
        )
}

/// The columns of a table, with those of a structure under names such as `labels.host`.
pub(super) fn flat(fields: &Fields) -> Vec<FlatColumn> {
    let mut columns = Vec::new();
    for (position, field) in fields.iter().enumerate() {
        add_flat(field, field.name().clone(), &[position], &mut columns);
    }
    columns
}

/// A column, or a part of a structure.
#[derive(Clone)]
pub(super) struct FlatColumn {
    pub(super) name: String,
    pub(super) kind: DataType,
    /// Its position in the table, and in each structure.
    path: Vec<usize>,
}

fn add_flat(field: &Field, name: String, path: &[usize], columns: &mut Vec<FlatColumn>) {
    match field.data_type() {
        DataType::Struct(fields) if path.len() < DEEPEST && !fields.is_empty() => {
            for (position, part) in fields.iter().enumerate() {
                let path = [path, &[position]].concat();
                add_flat(part, format!("{name}.{}", part.name()), &path, columns);
            }
        }
        kind => columns.push(FlatColumn {
            name,
            kind: kind.clone(),
            path: path.to_vec(),
        }),
    }
}

impl FlatColumn {
    /// Its cells in a record batch. Those of a structure that is null are null.
    pub(super) fn of(&self, batch: &RecordBatch) -> Option<Cells> {
        let (first, rest) = self.path.split_first()?;
        let mut array = Arc::clone(batch.columns().get(*first)?);
        let mut nulls = array.nulls().cloned();
        for position in rest {
            let part = Arc::clone(array.as_struct_opt()?.columns().get(*position)?);
            nulls = NullBuffer::union(nulls.as_ref(), part.nulls());
            array = part;
        }
        let cells = Cells::of(&array)?;
        Some(match (rest.is_empty(), nulls) {
            (false, Some(nulls)) => Cells::Within(nulls, Box::new(cells)),
            _ => cells,
        })
    }
}

/// Most structures around a column.
const DEEPEST: usize = 8;

/// A column of a record batch.
pub(super) enum Cells {
    Integer(PrimitiveArray<Int64Type>),
    Unsigned(PrimitiveArray<UInt64Type>),
    Double(PrimitiveArray<Float64Type>),
    Text(StringArray),
    LargeText(LargeStringArray),
    View(StringViewArray),
    Day(PrimitiveArray<Date32Type>),
    Boolean(BooleanArray),
    Bytes(FixedSizeBinaryArray),
    Raw(BinaryArray),
    LargeRaw(LargeBinaryArray),
    RawView(BinaryViewArray),
    /// Cells of a structure, which are null where it is.
    Within(NullBuffer, Box<Cells>),
    /// A dictionary: for each row the index of its value, unless it is null.
    Coded(Vec<Option<usize>>, Box<Cells>),
}

impl Cells {
    /// Returns `None` for an unsupported type.
    pub(super) fn of(array: &ArrayRef) -> Option<Self> {
        use DataType as D;
        Some(match array.data_type() {
            D::Int8 => Self::Integer(widened::<Int8Type, _>(array)?),
            D::Int16 => Self::Integer(widened::<Int16Type, _>(array)?),
            D::Int32 => Self::Integer(widened::<Int32Type, _>(array)?),
            D::Date32 => Self::Day(array.as_primitive_opt::<Date32Type>()?.clone()),
            D::Boolean => Self::Boolean(array.as_boolean_opt()?.clone()),
            D::FixedSizeBinary(_) => Self::Bytes(array.as_fixed_size_binary_opt()?.clone()),
            D::Binary => Self::Raw(array.as_binary_opt::<i32>()?.clone()),
            D::LargeBinary => Self::LargeRaw(array.as_binary_opt::<i64>()?.clone()),
            D::BinaryView => Self::RawView(array.as_binary_view_opt()?.clone()),
            D::Int64 => Self::Integer(widened::<Int64Type, _>(array)?),
            D::Date64 => Self::Integer(widened::<Date64Type, _>(array)?),
            D::Timestamp(TimeUnit::Second, _) => {
                Self::Integer(widened::<TimestampSecondType, _>(array)?)
            }
            D::Timestamp(TimeUnit::Millisecond, _) => {
                Self::Integer(widened::<TimestampMillisecondType, _>(array)?)
            }
            D::Timestamp(TimeUnit::Microsecond, _) => {
                Self::Integer(widened::<TimestampMicrosecondType, _>(array)?)
            }
            D::Timestamp(TimeUnit::Nanosecond, _) => {
                Self::Integer(widened::<TimestampNanosecondType, _>(array)?)
            }
            D::UInt8 => Self::Unsigned(widened::<UInt8Type, _>(array)?),
            D::UInt16 => Self::Unsigned(widened::<UInt16Type, _>(array)?),
            D::UInt32 => Self::Unsigned(widened::<UInt32Type, _>(array)?),
            D::UInt64 => Self::Unsigned(widened::<UInt64Type, _>(array)?),
            D::Float16 => Self::Double(widened::<Float16Type, _>(array)?),
            D::Float32 => Self::Double(widened::<Float32Type, _>(array)?),
            D::Float64 => Self::Double(widened::<Float64Type, _>(array)?),
            D::Utf8 => Self::Text(array.as_string_opt::<i32>()?.clone()),
            D::LargeUtf8 => Self::LargeText(array.as_string_opt::<i64>()?.clone()),
            D::Utf8View => Self::View(array.as_string_view_opt()?.clone()),
            D::Dictionary(..) => {
                let dictionary = array.as_any_dictionary_opt()?;
                let keys = if dictionary.values().is_empty() {
                    vec![0; array.len()]
                } else {
                    dictionary.normalized_keys()
                };
                let valid = |row: usize| dictionary.keys().is_valid(row);
                let indices = keys.into_iter().enumerate();
                let indices = indices
                    .map(|(row, key)| valid(row).then_some(key))
                    .collect();
                match Self::of(dictionary.values())? {
                    Self::Coded(..) => return None,
                    values => Self::Coded(indices, Box::new(values)),
                }
            }
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn at(&self, row: usize) -> Cell<'_> {
        fn valid<'c>(array: &dyn Array, row: usize, cell: impl FnOnce() -> Cell<'c>) -> Cell<'c> {
            if row < array.len() && array.is_valid(row) {
                cell()
            } else {
                Cell::Null
            }
        }
        match self {
            Self::Integer(array) => valid(array, row, || Cell::Integer(array.value(row))),
            Self::Unsigned(array) => valid(array, row, || Cell::Unsigned(array.value(row))),
            Self::Double(array) => valid(array, row, || Cell::Real(array.value(row))),
            Self::Text(array) => valid(array, row, || Cell::Text(array.value(row).as_bytes())),
            Self::LargeText(array) => valid(array, row, || Cell::Text(array.value(row).as_bytes())),
            Self::View(array) => valid(array, row, || Cell::Text(array.value(row).as_bytes())),
            Self::Day(array) => valid(array, row, || Cell::Day(i64::from(array.value(row)))),
            Self::Boolean(array) => valid(array, row, || Cell::Boolean(array.value(row))),
            Self::Bytes(array) => valid(array, row, || Cell::Bytes(array.value(row))),
            Self::Raw(array) => valid(array, row, || Cell::of_bytes(array.value(row))),
            Self::LargeRaw(array) => valid(array, row, || Cell::of_bytes(array.value(row))),
            Self::RawView(array) => valid(array, row, || Cell::of_bytes(array.value(row))),
            Self::Within(nulls, cells) => match row < nulls.len() && nulls.is_valid(row) {
                true => cells.at(row),
                false => Cell::Null,
            },
            Self::Coded(indices, values) => match indices.get(row) {
                Some(Some(source)) => values.at(*source),
                _ => Cell::Null,
            },
        }
    }
}

/// The same numbers in a wider type.
fn widened<T, W>(array: &ArrayRef) -> Option<PrimitiveArray<W>>
where
    T: ArrowPrimitiveType,
    W: ArrowPrimitiveType,
    W::Native: From<T::Native>,
{
    Some(array.as_primitive_opt::<T>()?.unary(W::Native::from))
}
