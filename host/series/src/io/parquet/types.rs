//! What columns of Parquet have by their types.

use crate::io::timestamp::Unit;
use crate::io::typed::TimeKind;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::schema::types::ColumnDescriptor;

/// Whether a column has dates or whole times.
pub(super) fn is_date(column: &ColumnDescriptor) -> bool {
    let is_moment = matches!(
        column.logical_type_ref(),
        Some(LogicalType::Date | LogicalType::Timestamp(_))
    ) || matches!(
        column.converted_type(),
        ConvertedType::DATE | ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS
    ) || column.physical_type() == Type::INT96;
    is_moment && column.max_rep_level() == 0
}

/// Whether any two cells of a column may tell series apart: all types but numbers, dates and times.
pub(super) fn may_be_label(column: &ColumnDescriptor) -> bool {
    let is_moment = matches!(
        column.logical_type_ref(),
        Some(
            LogicalType::Date
                | LogicalType::Time(_)
                | LogicalType::Timestamp(_)
                | LogicalType::Decimal(_)
                | LogicalType::Float16
                // A column of nulls alone.
                | LogicalType::Unknown
        )
    ) || matches!(
        column.converted_type(),
        ConvertedType::TIME_MILLIS
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS
            | ConvertedType::DATE
            | ConvertedType::DECIMAL
            | ConvertedType::INTERVAL
    );
    let is_other = is_moment || is_number(column) || column.physical_type() == Type::INT96;
    column.max_rep_level() > 0 || !is_other
}

/// The type of a column, for messages.
pub(super) fn type_of(column: &ColumnDescriptor) -> String {
    let physical = column.physical_type();
    if column.max_rep_level() > 0 {
        return "a list or a map".to_owned();
    }
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
pub(super) fn time_kind(column: &ColumnDescriptor) -> Option<TimeKind> {
    match (
        column.physical_type(),
        column.logical_type_ref(),
        column.converted_type(),
    ) {
        (Type::INT96, _, _) => Some(TimeKind::Julian),
        (Type::INT64, Some(LogicalType::Timestamp(stamp)), _) => {
            let unit = match stamp.unit {
                TimeUnit::MILLIS => Unit::Milliseconds,
                TimeUnit::MICROS => Unit::Microseconds,
                TimeUnit::NANOS => Unit::Nanoseconds,
            };
            Some(match stamp.is_adjusted_to_u_t_c {
                true => TimeKind::SinceEpoch(unit),
                false => TimeKind::Naive(unit),
            })
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
        (Type::DOUBLE, ..) if column.max_rep_level() == 0 => Some(TimeKind::Inferred),
        _ if is_integer(column) || is_text(column) => Some(TimeKind::Inferred),
        _ => None,
    }
}

pub(super) fn is_integer(column: &ColumnDescriptor) -> bool {
    use ConvertedType as C;
    if column.max_rep_level() > 0 {
        return false;
    }
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

pub(super) fn is_number(column: &ColumnDescriptor) -> bool {
    let real = matches!(column.physical_type(), Type::FLOAT | Type::DOUBLE);
    (real && column.max_rep_level() == 0) || is_integer(column)
}

pub(super) fn is_text(column: &ColumnDescriptor) -> bool {
    column.physical_type() == Type::BYTE_ARRAY
        && column.max_rep_level() == 0
        && !matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
        && column.converted_type() != ConvertedType::DECIMAL
}

pub(super) fn is_name(column: &ColumnDescriptor) -> bool {
    let is_flag = column.physical_type() == Type::BOOLEAN;
    let is_uuid = column.physical_type() == Type::FIXED_LEN_BYTE_ARRAY && may_be_label(column);
    column.max_rep_level() == 0
        && (is_text(column) || is_integer(column) || is_date(column) || is_flag || is_uuid)
}
