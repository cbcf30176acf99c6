//! The points of Arrow tables: a column of times, one of values, and those that name the series.

use super::table::{Label, Labels, Series, TimeColumn};
use crate::errors::Failure;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_select::take::take;
use std::collections::HashMap;
use std::sync::Arc;
use warpstride::series::io::{
    Rounded, Sentinels, TimeUnit as Unit, UnusedDates, is_among, is_date, is_hours, is_usual_time,
    is_usual_value, iso, january_of_1970, may_be_label, moment, time_label,
};
use warpstride::series::{AxisError, Batch, BucketAxis};

const DAY: i64 = 86_400_000_000_000;

/// The columns that were asked for; the others follow from their types.
pub(super) struct ColumnNames<'a> {
    pub(super) time: Option<&'a str>,
    /// The unit of times that are numbers; `None`: they are timestamps.
    pub(super) unit: Option<Unit>,
    pub(super) value: Option<&'a str>,
    pub(super) by: Option<&'a [String]>,
}

/// Points as they come, with the numbers of their series.
pub(super) struct Points {
    time: usize,
    unit: Option<Unit>,
    value: usize,
    by: Vec<usize>,
    column: TimeColumn,
    labels: Labels,
    /// Numbers of the series by their labels.
    numbers: HashMap<Box<[u8]>, u32>,
    series: Vec<u32>,
    times: Vec<i64>,
    values: Vec<f64>,
    /// Values that stand for missing ones.
    missing: Vec<f64>,
    rows: usize,
    /// Cells without a value.
    nulls: usize,
    /// Columns with the times of day or the hours of dates, by their names.
    of_day: Vec<String>,
    /// Integers that double precision rounds.
    rounded: Rounded,
    /// Columns that nothing is read from.
    unused: Vec<String>,
    /// Those of them that have dates or times: (index, name).
    date_columns: Vec<(usize, String)>,
    dates: UnusedDates,
}

/// The type of the cells of a dictionary, or of any other column.
fn plain(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The cells of a column, without a dictionary unless it is one of texts.
fn unpacked(array: &ArrayRef) -> Result<ArrayRef, Failure> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) if !is_text(array.data_type()) => {
            let cells = take(dictionary.values(), dictionary.keys(), None);
            cells.map_err(|why| Failure::Data(format!("the table: {why}")))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn is_number(kind: &DataType) -> bool {
    let kind = plain(kind);
    kind.is_integer()
        || matches!(
            kind,
            DataType::Float16 | DataType::Float32 | DataType::Float64
        )
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Whether times in a stated unit may have this type.
fn is_count(kind: &DataType) -> bool {
    plain(kind).is_integer() || *plain(kind) == DataType::Float64
}

/// Whether the cells of this column are times of day or hours.
fn is_of_day(field: &Field) -> bool {
    let kind = plain(field.data_type());
    matches!(kind, DataType::Time32(_) | DataType::Time64(_))
        || kind.is_integer() && is_hours(field.name())
}

/// Whether labels of this type are formatted as texts.
fn is_formatted(kind: &DataType) -> bool {
    *plain(kind) == DataType::Boolean || is_date(kind)
}

/// The column of this name, or the only one that `suits`.
fn chosen(
    schema: &Schema,
    (name, role, expected): (Option<&str>, &str, &str),
    suits: impl Fn(usize, &DataType) -> bool,
) -> Result<usize, Failure> {
    let fields = schema.fields();
    let names = || {
        let all = fields
            .iter()
            .map(|field| format!("{} ({})", field.name(), field.data_type()));
        all.collect::<Vec<_>>().join(", ")
    };
    if let Some(name) = name {
        let Ok(found) = schema.index_of(name) else {
            return Err(Failure::Data(format!(
                "{role} {name:?}: expected a column of the table: {}",
                names()
            )));
        };
        let kind = fields[found].data_type();
        if !suits(found, kind) {
            return Err(Failure::Data(format!(
                "{role} {name:?}: expected {expected}, found {kind}"
            )));
        }
        return Ok(found);
    }
    let all = fields.iter().enumerate();
    let suiting = all.filter(|(at, field)| suits(*at, field.data_type()));
    let suiting: Vec<usize> = suiting.map(|(at, _)| at).collect();
    match suiting[..] {
        [only] => Ok(only),
        _ => Err(Failure::Data(format!(
            "{role}: expected one column of {expected}, found {} in {}; name the column with {role}=",
            suiting.len(),
            names()
        ))),
    }
}

impl Points {
    /// Points of tables with this schema.
    pub(super) fn new(
        schema: &Schema,
        names: &ColumnNames<'_>,
        missing: &[f64],
    ) -> Result<Self, Failure> {
        let unit = names.unit;
        let expected = match unit {
            None => "timestamps (Timestamp or Date; integers and float64 need time_format)",
            Some(_) => "integers or float64, as time_format says",
        };
        // Numbers that have a role are no times, and a usual name tells times from other numbers.
        let has_role = |name: &String| {
            names.value == Some(name) || names.by.is_some_and(|by| by.contains(name))
        };
        let is_other = |field: &Field| has_role(field.name()) || is_usual_value(field.name());
        let usual = || {
            let mut named = (schema.fields().iter())
                .filter(|of| is_count(of.data_type()) && !has_role(of.name()))
                .filter(|of| is_usual_time(of.name()));
            let first = named.next()?;
            named.next().is_none().then(|| first.name().as_str())
        };
        let named = names.time.or_else(|| unit.and_then(|_| usual()));
        let role = (named, "time", expected);
        let time = chosen(schema, role, |at, kind| match unit {
            None => is_date(kind),
            Some(_) => is_count(kind) && (named.is_some() || !is_other(schema.field(at))),
        })?;
        let by = match names.by {
            Some(by) => by
                .iter()
                .map(|name| {
                    let role = (
                        Some(name.as_str()),
                        "by",
                        "text, integers, booleans, dates or times",
                    );
                    chosen(schema, role, |_, kind| {
                        is_text(kind) || plain(kind).is_integer() || is_formatted(kind)
                    })
                })
                .collect::<Result<Vec<usize>, Failure>>()?,
            None => {
                let all = schema.fields().iter().enumerate();
                all.filter(|(_, field)| is_text(field.data_type()))
                    .map(|(at, _)| at)
                    .collect()
            }
        };
        let value = (names.value, "value", "numbers");
        let value = chosen(schema, value, |at, kind| {
            is_number(kind) && at != time && !by.contains(&at)
        })?;
        let (mut unused, mut date_columns) = (Vec::new(), Vec::new());
        if names.by.is_none() {
            let all = schema.fields().iter().enumerate();
            let others = all.filter(|(at, _)| *at != time && *at != value && !by.contains(at));
            let (labels, numbers): (Vec<_>, Vec<_>) =
                others.partition(|(_, field)| may_be_label(field.data_type()));
            if !labels.is_empty() {
                let labels: Vec<String> = labels
                    .iter()
                    .map(|(_, field)| format!("{} ({})", field.name(), field.data_type()))
                    .collect();
                return Err(Failure::Data(format!(
                    "by: expected the columns that tell series apart, as these may do so: {}; name those that do, after flattening structures, or none (by=[])",
                    labels.join(", ")
                )));
            }
            unused.extend(numbers.iter().map(|(_, field)| field.name().clone()));
            let dates = numbers.iter().filter(|(_, of)| is_date(of.data_type()));
            date_columns.extend(dates.map(|(at, field)| (*at, field.name().clone())));
        }
        let field = schema.field(time);
        let zone = match plain(field.data_type()) {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let of_day = schema.fields().iter().enumerate().filter(|(at, field)| {
            *at != time && *at != value && !by.contains(at) && is_of_day(field)
        });
        let of_day = of_day.map(|(_, field)| field.name().clone()).collect();
        let columns = by.iter().map(|at| schema.field(*at));
        Ok(Self {
            time,
            unit,
            value,
            column: TimeColumn {
                name: field.name().clone(),
                zone,
                axis: None,
            },
            labels: Labels::new(
                columns.map(|of| (of.name().clone(), plain(of.data_type()).is_integer())),
            ),
            by,
            numbers: HashMap::new(),
            series: Vec::new(),
            times: Vec::new(),
            values: Vec::new(),
            missing: missing.to_vec(),
            rows: 0,
            nulls: 0,
            of_day,
            rounded: Rounded::default(),
            unused,
            date_columns,
            dates: UnusedDates::default(),
        })
    }

    /// Adds the rows of a table; a row without a value is no point.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let (first, rows) = (self.rows, batch.num_rows());
        let column = |at: usize| unpacked(batch.columns().get(at).ok_or_else(mismatch)?);
        let (times, values) = (column(self.time)?, column(self.value)?);
        if let Some(row) = (0..rows).find(|row| times.is_null(*row) && values.is_valid(*row)) {
            return Err(Failure::Data(format!(
                "{}: expected a time in each row, found none in row {}",
                self.column.name,
                first + row
            )));
        }
        let nanoseconds = nanoseconds(&times, self.unit).map_err(|row| {
            Failure::Data(format!(
                "{}: expected a time from 1970 to 2262, found another in row {}",
                self.column.name,
                first + row
            ))
        })?;
        let numbers = numbers(&values, &mut self.rounded).ok_or_else(mismatch)?;
        let missing = self.missing.clone();
        let kept = |row: &usize| values.is_valid(*row) && !is_among(&missing, numbers[*row]);
        let points = self.times.len();
        if values.null_count() == 0 && missing.is_empty() {
            self.times.extend_from_slice(&nanoseconds);
            self.values.extend_from_slice(&numbers);
        } else {
            self.times
                .extend((0..rows).filter(kept).map(|row| nanoseconds[row]));
            self.values
                .extend((0..rows).filter(kept).map(|row| numbers[row]));
        }
        if !self.by.is_empty() {
            let labels = self
                .by
                .iter()
                .map(|at| LabelCells::of(&column(*at)?).ok_or_else(mismatch));
            let labels = labels.collect::<Result<Vec<_>, Failure>>()?;
            let mut key = Vec::new();
            for row in (0..rows).filter(kept) {
                let number = self.number(&labels, row, &mut key)?;
                self.series.push(number);
            }
        }
        for (at, _) in &self.date_columns {
            let cells = column(*at)?;
            let unit = date_unit(cells.data_type());
            let dates = dates(&cells).ok_or_else(mismatch)?;
            for (point, row) in (points..).zip((0..rows).filter(kept)) {
                if cells.is_valid(row) {
                    let series = self.series.get(point).copied().unwrap_or_default();
                    let date = dates[row].wrapping_mul(unit).cast_unsigned();
                    self.dates.add(*at, series, date, self.times[point]);
                }
            }
        }
        self.rows += rows;
        self.nulls += values.null_count();
        Ok(())
    }

    /// The number of the series of a row.
    fn number(
        &mut self,
        labels: &[LabelCells],
        row: usize,
        key: &mut Vec<u8>,
    ) -> Result<u32, Failure> {
        key.clear();
        for cells in labels {
            cells.append(row, key);
        }
        if let Some(number) = self.numbers.get(key.as_slice()) {
            return Ok(*number);
        }
        let number = u32::try_from(self.numbers.len())
            .map_err(|_| Failure::data("by: expected at most 2³² series, found more"))?;
        self.numbers.insert(key.as_slice().into(), number);
        self.labels
            .push(labels.iter().map(|cells| cells.label(row)));
        Ok(number)
    }

    /// Fails if an unused column of dates tells series apart.
    fn check_dates(&self) -> Result<(), Failure> {
        let labels = self.dates.labels();
        let labels = self
            .date_columns
            .iter()
            .filter(|(at, _)| labels.contains(at));
        let labels: Vec<&str> = labels.map(|(_, name)| name.as_str()).collect();
        if labels.is_empty() {
            return Ok(());
        }
        let labels = labels.join(", ");
        Err(Failure::Data(format!(
            "by: expected the columns that tell series apart, as points of different dates in {labels} lie side by side in time; name them, or none (by=[])"
        )))
    }

    /// Fails if the times are dates alone, beside a column of times of day or hours.
    pub(super) fn check_of_day(&self) -> Result<(), Failure> {
        let is_dates = !self.times.is_empty() && self.times.iter().all(|time| time % DAY == 0);
        let Some(other) = self.of_day.first().filter(|_| is_dates) else {
            return Ok(());
        };
        let dates = &self.column.name;
        Err(Failure::Data(format!(
            "time: expected whole times, found dates in {dates} and times of day in {other}; combine the columns to one of timestamps, or drop {other} from the table"
        )))
    }

    /// Doubts about the table, one sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let unused = (!self.unused.is_empty()).then(|| {
            format!(
                "unused columns: {}; name those that tell series apart with by=",
                self.unused.join(", ")
            )
        });
        let latest = self.times.iter().max().copied();
        let early = latest
            .filter(|_| self.unit.is_none())
            .and_then(january_of_1970);
        let early = early.map(|why| format!("{}: {why}", self.column.name));
        let nulls = match self.nulls {
            0 => None,
            1 => Some("1 cell without a value (null) is no point".to_owned()),
            count => Some(format!(
                "{count} cells without a value (null) are no points"
            )),
        };
        unused
            .into_iter()
            .chain(nulls)
            .chain(self.rounded.note())
            .chain(early)
            .chain(Sentinels::of(&self.values).notes(|number| format!("missing_values=[{number}]")))
            .collect()
    }

    /// Places the points on the axis of buckets of local time, whose zone the times have from then
    /// on.
    pub(super) fn place(&mut self, axis: BucketAxis) -> Result<(), Failure> {
        for time in &mut self.times {
            *time = axis.place(*time).map_err(|why| misplaced(axis, why))?;
        }
        self.column.zone = Some(axis.zone().name().into());
        self.column.axis = Some(axis);
        Ok(())
    }

    /// The points, series after series.
    pub(super) fn into_series(self) -> Result<Series, Failure> {
        self.check_dates()?;
        let batch = if self.by.is_empty() {
            Batch::single(self.times, self.values)?
        } else {
            let mut offsets = vec![0_usize; self.numbers.len() + 1];
            for series in &self.series {
                offsets[*series as usize + 1] += 1;
            }
            for at in 1..offsets.len() {
                offsets[at] += offsets[at - 1];
            }
            let mut next = offsets.clone();
            let (mut times, mut values) = (vec![0; self.times.len()], vec![0.0; self.times.len()]);
            for ((series, time), value) in self.series.iter().zip(&self.times).zip(&self.values) {
                let to = &mut next[*series as usize];
                (times[*to], values[*to]) = (*time, *value);
                *to += 1;
            }
            Batch::new(times, values, offsets)?
        };
        Ok(Series {
            batch,
            labels: self.labels,
            time: self.column,
        })
    }
}

/// What was expected and found of a time that has no place on an axis.
fn misplaced(axis: BucketAxis, why: AxisError) -> Failure {
    let zone = axis.zone().name();
    Failure::Data(match why {
        AxisError::OutOfRange(time) => format!(
            "the table: expected times from 1970 to 2262 on the clocks of {zone}, found {}",
            iso(time)
        ),
        AxisError::TwoDays(time) => format!(
            "the table: expected times whose day in {zone} does not change back, found {}, near which clocks were set back over midnight",
            iso(time)
        ),
        AxisError::OtherOffset(time) => format!(
            "the table: expected times from 1990 on, before which clocks of {zone} had another offset, or buckets of whole days alone, found {}",
            iso(time)
        ),
        AxisError::OddNanosecond(time) => format!(
            "the table: expected whole multiples of 2 ns where clocks of {zone} were set back, found {}",
            iso(time)
        ),
    })
}

fn mismatch() -> Failure {
    Failure::data("the table: expected batches of one schema, found another column")
}

/// Times in nanoseconds since 1970, 0 for none; or the row of a time that is out of range.
/// `of_numbers` is the unit of numbers.
fn nanoseconds(array: &ArrayRef, of_numbers: Option<Unit>) -> Result<Vec<i64>, usize> {
    fn scaled<T: ArrowPrimitiveType>(array: &ArrayRef, unit: i64) -> Result<Vec<i64>, usize>
    where
        T::Native: TryInto<i64>,
    {
        let array = array.as_primitive::<T>();
        let one = |(row, value): (usize, Option<T::Native>)| match value {
            None => Ok(0),
            Some(value) => {
                let value: i64 = value.try_into().map_err(|_| row)?;
                value.checked_mul(unit).filter(|time| *time >= 0).ok_or(row)
            }
        };
        array.iter().enumerate().map(one).collect()
    }
    if let Some(of_numbers) = of_numbers {
        let unit = match of_numbers {
            Unit::Auto | Unit::Seconds => 1_000_000_000,
            Unit::Milliseconds => 1_000_000,
            Unit::Microseconds => 1000,
            Unit::Nanoseconds => 1,
        };
        return match array.data_type() {
            DataType::Int8 => scaled::<Int8Type>(array, unit),
            DataType::Int16 => scaled::<Int16Type>(array, unit),
            DataType::Int32 => scaled::<Int32Type>(array, unit),
            DataType::Int64 => scaled::<Int64Type>(array, unit),
            DataType::UInt8 => scaled::<UInt8Type>(array, unit),
            DataType::UInt16 => scaled::<UInt16Type>(array, unit),
            DataType::UInt32 => scaled::<UInt32Type>(array, unit),
            DataType::UInt64 => scaled::<UInt64Type>(array, unit),
            // As the command reads the shortest decimals.
            DataType::Float64 => {
                let one = |(row, value): (usize, Option<f64>)| match value {
                    None => Ok(0),
                    Some(value) => moment(&value.to_string(), of_numbers)
                        .ok()
                        .filter(|time| *time >= 0)
                        .ok_or(row),
                };
                let cells = array.as_primitive::<Float64Type>().iter();
                cells.enumerate().map(one).collect()
            }
            _ => Err(0),
        };
    }
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            scaled::<TimestampSecondType>(array, 1_000_000_000)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            scaled::<TimestampMillisecondType>(array, 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            scaled::<TimestampMicrosecondType>(array, 1000)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => scaled::<TimestampNanosecondType>(array, 1),
        DataType::Date32 => scaled::<Date32Type>(array, DAY),
        DataType::Date64 => scaled::<Date64Type>(array, 1_000_000),
        _ => Err(0),
    }
}

/// Nanoseconds in the unit of dates or times.
fn date_unit(kind: &DataType) -> i64 {
    match kind {
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1,
        DataType::Date32 => DAY,
        _ => 1_000_000,
    }
}

/// A number of each date or time; of null, any.
fn dates(array: &ArrayRef) -> Option<Vec<i64>> {
    macro_rules! numbers {
        ($type:ty) => {{
            let numbers = array.as_primitive_opt::<$type>()?.values();
            Some(numbers.iter().map(|number| i64::from(*number)).collect())
        }};
    }
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => numbers!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => numbers!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => numbers!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => numbers!(TimestampNanosecondType),
        DataType::Date32 => numbers!(Date32Type),
        DataType::Date64 => numbers!(Date64Type),
        _ => None,
    }
}

/// Values in double precision; of null, any.
fn numbers(array: &ArrayRef, rounded: &mut Rounded) -> Option<Vec<f64>> {
    // Values below null are not looked at.
    macro_rules! integers {
        ($type:ty) => {{
            let array = array.as_primitive_opt::<$type>()?;
            let cells = array.iter();
            let values = cells.map(|cell| cell.map_or(0.0, |n| rounded.integer(i128::from(n))));
            return Some(values.collect());
        }};
    }
    match array.data_type() {
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt64 => integers!(UInt64Type),
        _ => {}
    }
    macro_rules! of_types {
        ($($kind:ident: $type:ty: $convert:expr),+) => {
            match array.data_type() {
                $(DataType::$kind => {
                    let array = array.as_primitive_opt::<$type>()?;
                    Some(array.values().iter().map($convert).collect())
                })+
                _ => None,
            }
        };
    }
    of_types!(
        Float64: Float64Type: |v| *v,
        Float32: Float32Type: |v| f64::from(*v),
        Float16: Float16Type: |v| v.to_f64(),
        Int8: Int8Type: |v| f64::from(*v),
        Int16: Int16Type: |v| f64::from(*v),
        Int32: Int32Type: |v| f64::from(*v),
        UInt8: UInt8Type: |v| f64::from(*v),
        UInt16: UInt16Type: |v| f64::from(*v),
        UInt32: UInt32Type: |v| f64::from(*v)
    )
}

/// Booleans, dates and times as texts.
fn formatted(array: &ArrayRef) -> Option<StringArray> {
    if let Some(flags) = array.as_boolean_opt() {
        return Some(
            flags
                .iter()
                .map(|flag| flag.map(|flag| flag.to_string()))
                .collect(),
        );
    }
    if *array.data_type() != DataType::Date32 {
        let unit = date_unit(array.data_type());
        let is_utc = matches!(array.data_type(), DataType::Timestamp(_, Some(_)));
        let text = |number: i64| {
            let nanoseconds = number.checked_mul(unit);
            nanoseconds.map_or_else(|| number.to_string(), |time| time_label(time, is_utc))
        };
        let numbers = dates(array)?.into_iter().enumerate();
        let texts = numbers.map(|(row, number)| array.is_valid(row).then(|| text(number)));
        return Some(texts.collect());
    }
    let days = array.as_primitive_opt::<Date32Type>()?.iter();
    let date = |days: i32| {
        let start = i64::from(days).checked_mul(DAY)?;
        Some(
            iso(start)
                .chars()
                .take_while(|c| *c != 'T')
                .collect::<String>(),
        )
    };
    days.map(|days| match days {
        None => Some(None),
        Some(days) => date(days).map(Some),
    })
    .collect()
}

/// The cells of a column of labels.
enum LabelCells {
    Text(ArrayRef),
    Integers(Vec<Option<i64>>),
    /// Indices of texts.
    Dictionary(Vec<Option<usize>>, ArrayRef),
}

impl LabelCells {
    fn of(array: &ArrayRef) -> Option<Self> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let keys = dictionary.normalized_keys().into_iter().enumerate();
            let keys = keys.map(|(row, key)| array.is_valid(row).then_some(key));
            let values = dictionary.values();
            if !is_text(values.data_type()) {
                return None;
            }
            // A dictionary of null alone has no values.
            let keys = keys
                .map(|key| key.filter(|key| *key < values.len()))
                .collect();
            return Some(Self::Dictionary(keys, Arc::clone(values)));
        }
        if is_text(array.data_type()) {
            return Some(Self::Text(Arc::clone(array)));
        }
        if is_formatted(array.data_type()) {
            return Some(Self::Text(Arc::new(formatted(array)?)));
        }
        macro_rules! integers {
            ($($kind:ident: $type:ty),+) => {
                match array.data_type() {
                    $(DataType::$kind => {
                        let array = array.as_primitive_opt::<$type>()?;
                        array.iter().map(|cell| match cell {
                            None => Some(None),
                            Some(value) => Some(Some(i64::try_from(value).ok()?)),
                        }).collect()
                    })+
                    _ => None,
                }
            };
        }
        let cells: Option<Vec<Option<i64>>> = integers!(
            Int8: Int8Type, Int16: Int16Type, Int32: Int32Type, Int64: Int64Type,
            UInt8: UInt8Type, UInt16: UInt16Type, UInt32: UInt32Type, UInt64: UInt64Type
        );
        cells.map(Self::Integers)
    }

    fn text(array: &ArrayRef, row: usize) -> Option<&str> {
        if array.is_null(row) {
            return None;
        }
        match array.data_type() {
            DataType::Utf8 => Some(array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row)),
            DataType::Utf8View => Some(array.as_string_view().value(row)),
            _ => None,
        }
    }

    fn cell(&self, row: usize) -> Option<&str> {
        match self {
            Self::Text(array) => Self::text(array, row),
            Self::Dictionary(keys, values) => Self::text(values, keys.get(row).copied().flatten()?),
            Self::Integers(_) => None,
        }
    }

    /// Appends the cell to the key of a series; other cells give other keys.
    fn append(&self, row: usize, key: &mut Vec<u8>) {
        if let Self::Integers(cells) = self {
            match cells.get(row).copied().flatten() {
                None => key.push(0),
                Some(value) => {
                    key.push(1);
                    key.extend_from_slice(&value.to_le_bytes());
                }
            }
            return;
        }
        match self.cell(row) {
            None => key.push(0),
            Some(text) => {
                key.push(1);
                key.extend_from_slice(&text.len().to_le_bytes());
                key.extend_from_slice(text.as_bytes());
            }
        }
    }

    fn label(&self, row: usize) -> Label {
        match self {
            Self::Integers(cells) => {
                let cell = cells.get(row).copied().flatten();
                cell.map_or(Label::None, Label::Integer)
            }
            _ => self
                .cell(row)
                .map_or(Label::None, |text| Label::Text(text.to_owned())),
        }
    }
}
