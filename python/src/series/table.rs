//! The table of a granularity: labels of the series, starts of the buckets, aggregates.

use crate::arrays::elements;
use crate::detached::detached;
use crate::errors::Failure;
use crate::files::check_ending;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, TimestampNanosecondType};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    TimestampNanosecondArray,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyTuple};
use std::collections::HashSet;
use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::Arc;
use warpstride::series::{Aggregate, Batch, BucketAxis, Buckets, Resample, Resampled};
use warpstride::system::write_whole;

/// The column of the times.
pub(super) struct TimeColumn {
    pub(super) name: String,
    pub(super) zone: Option<Arc<str>>,
    /// The axis that the starts of buckets lie on, if it is not that of UTC.
    pub(super) axis: Option<BucketAxis>,
}

/// Points of many series, and what names these.
pub(super) struct Series {
    pub(super) batch: Batch,
    pub(super) labels: Labels,
    pub(super) time: TimeColumn,
}

/// The name of a capsule with a stream of the Arrow C data interface.
pub(super) const STREAM: &CStr = c"arrow_array_stream";

/// A label of a series.
#[derive(Debug, Clone)]
pub(super) enum Label {
    None,
    Text(String),
    Integer(i64),
}

/// The labels of all series.
pub(super) struct Labels {
    /// Name, and whether its labels are integers.
    columns: Vec<(String, bool)>,
    /// (column, series)
    cells: Vec<Vec<Label>>,
}

impl Labels {
    pub(super) fn new(columns: impl Iterator<Item = (String, bool)>) -> Self {
        let columns: Vec<_> = columns.collect();
        Self {
            cells: columns.iter().map(|_| Vec::new()).collect(),
            columns,
        }
    }

    /// The labels of a series, for messages.
    pub(super) fn of(&self, series: usize) -> String {
        let named = self.columns.iter().zip(&self.cells);
        let texts = named.map(|((name, _), cells)| match cells.get(series) {
            Some(Label::Text(text)) => format!("{name}={text}"),
            Some(Label::Integer(number)) => format!("{name}={number}"),
            Some(Label::None) | None => format!("{name}="),
        });
        texts.collect::<Vec<_>>().join(",")
    }

    /// Adds a series.
    pub(super) fn push(&mut self, labels: impl Iterator<Item = Label>) {
        for (column, label) in self.cells.iter_mut().zip(labels) {
            column.push(label);
        }
    }

    /// The labels of each bucket.
    fn arrays(&self, offsets: &[usize]) -> Vec<(String, ArrayRef)> {
        let named = self.columns.iter().zip(&self.cells);
        named
            .map(|((name, integers), cells)| {
                let buckets = cells.iter().zip(offsets.windows(2));
                let repeated =
                    buckets.flat_map(|(cell, pair)| std::iter::repeat_n(cell, pair[1] - pair[0]));
                let array: ArrayRef = if *integers {
                    let number = |cell: &Label| match cell {
                        Label::Integer(number) => Some(*number),
                        Label::None | Label::Text(_) => None,
                    };
                    Arc::new(repeated.map(number).collect::<Int64Array>())
                } else {
                    let text = |cell: &'_ Label| match cell {
                        Label::Text(text) => Some(text.clone()),
                        Label::None | Label::Integer(_) => None,
                    };
                    Arc::new(repeated.map(text).collect::<StringArray>())
                };
                (name.clone(), array)
            })
            .collect()
    }
}

/// The tables of all granularities of a plan.
pub(super) fn tables(
    plan: &Resample,
    resampled: &Resampled,
    labels: &Labels,
    time: &TimeColumn,
) -> Result<Vec<Table>, Failure> {
    let granularities = plan.granularities().iter();
    granularities
        .map(|granularity| {
            let of = |rate: bool| {
                let mut all = resampled.buckets.iter();
                all.find(|buckets| buckets.granularity == *granularity && buckets.rate == rate)
            };
            let (values, rates) = (of(false), of(true));
            let Some(buckets) = values.or(rates) else {
                return Err(Failure::Internal("a granularity has no buckets".to_owned()));
            };
            table(plan, (buckets, rates), labels, time)
        })
        .collect()
}

/// The table of a granularity with the given buckets. Those of rates are some of those of values:
/// each difference is at the time of a point.
fn table(
    plan: &Resample,
    (buckets, rates): (&Buckets, Option<&Buckets>),
    labels: &Labels,
    time: &TimeColumn,
) -> Result<Table, Failure> {
    let mut columns = labels.arrays(&buckets.offsets);
    let starts = buckets.starts.iter();
    let starts = starts.map(|start| time.axis.map_or(*start, |axis| axis.start(*start)));
    let starts = TimestampNanosecondArray::from_iter_values(starts);
    let starts = starts.with_timezone_opt(time.zone.clone());
    columns.push((time.name.clone(), Arc::new(starts) as ArrayRef));
    for aggregate in plan.aggregates() {
        let values = match (aggregate.rate, buckets.rate, rates) {
            (true, false, Some(rates)) => beside(buckets, rates, aggregate),
            _ => own(buckets, aggregate),
        };
        let values = values.ok_or_else(|| Failure::Internal(format!("no column {aggregate}")))?;
        columns.push((aggregate.to_string(), Arc::new(values) as ArrayRef));
    }
    let batch = batch(columns)?;
    Ok(Table { batch })
}

/// The columns as a table.
fn batch(columns: Vec<(String, ArrayRef)>) -> Result<RecordBatch, Failure> {
    let mut names = HashSet::new();
    if let Some((twice, _)) = columns.iter().find(|(name, _)| !names.insert(name)) {
        return Err(Failure::Data(format!(
            "expected a table with columns of different names (labels, time, values or aggregates), found two named {twice}"
        )));
    }
    let fields = columns.iter().map(|(name, array)| {
        let nullable = !matches!(array.data_type(), DataType::Timestamp(..));
        Field::new(name, array.data_type().clone(), nullable)
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).map_err(Failure::data)
}

/// An aggregate of each bucket; null where there are too few points for it.
fn own(buckets: &Buckets, aggregate: &Aggregate) -> Option<Float64Array> {
    let column = buckets
        .columns
        .iter()
        .find(|column| column.aggregate == *aggregate)?;
    let least = aggregate.method.min_values();
    if least <= 1 {
        return Some(Float64Array::from(column.values.clone()));
    }
    let values = column.values.iter().zip(&buckets.counts);
    Some(
        values
            .map(|(value, count)| (*count >= least).then_some(*value))
            .collect(),
    )
}

/// An aggregate of the rates, for each bucket of values; null if it has none.
fn beside(buckets: &Buckets, rates: &Buckets, aggregate: &Aggregate) -> Option<Float64Array> {
    let of_rates = own(rates, aggregate)?;
    let mut values = vec![None; buckets.starts.len()];
    for (series, pair) in buckets.offsets.windows(2).enumerate() {
        let range = rates.offsets.get(series).copied()?..rates.offsets.get(series + 1).copied()?;
        let mut rate = range.start;
        for bucket in pair[0]..pair[1] {
            if rate < range.end && rates.starts.get(rate) == buckets.starts.get(bucket) {
                if let Some(value) = values.get_mut(bucket) {
                    *value = of_rates.is_valid(rate).then(|| of_rates.value(rate));
                }
                rate += 1;
            }
        }
    }
    Some(values.into_iter().collect())
}

/// Points, or aggregates of buckets: a table for any library with the Arrow PyCapsule interface.
///
/// `table["name"]` is a column: times as datetime64[ns], numbers as float64 with NaN for null,
/// labels as a list. `polars.DataFrame(table)`, `pyarrow.table(table)` and others take the whole.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import warpstride as ws
/// >>> table = ws.series.table(np.datetime64("2026-01-01", "s") + np.arange(3), [1.0, 2.0, 4.0])
/// >>> len(table), table.column_names, table["value"].tolist()
/// (3, ['time', 'value'], [1.0, 2.0, 4.0])
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(super) struct Table {
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    /// The table as a stream of the Arrow C data interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to leave the request for another schema unfulfilled.
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column: times as datetime64, numbers as an array with NaN for null, labels as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(array) = self.batch.column_by_name(name) else {
            return Err(pyo3::exceptions::PyKeyError::new_err(name.to_owned()));
        };
        match array.data_type() {
            DataType::Timestamp(..) => {
                let times = array.as_primitive::<TimestampNanosecondType>().values();
                let times = PyArray1::from_slice(py, times);
                times.call_method1("view", ("datetime64[ns]",))
            }
            DataType::Float64 => {
                let numbers = array.as_primitive::<Float64Type>().iter();
                let numbers = numbers.map(|value| value.unwrap_or(f64::NAN));
                Ok(PyArray1::from_iter(py, numbers).into_any())
            }
            DataType::Int64 => {
                let labels = array.as_primitive::<Int64Type>().iter();
                Ok(PyList::new(py, labels.collect::<Vec<_>>())?.into_any())
            }
            _ => {
                let labels = array.as_string::<i32>().iter();
                Ok(PyList::new(py, labels.collect::<Vec<_>>())?.into_any())
            }
        }
    }

    /// A table of points: times (point) in nanoseconds since 1970, values (point), and columns of
    /// labels (point).
    #[staticmethod]
    fn of_points(
        times: PyReadonlyArray1<'_, i64>,
        values: PyReadonlyArray1<'_, f64>,
        labels: Vec<(String, Vec<Option<String>>)>,
    ) -> PyResult<Self> {
        let times = elements("times", &times.as_array())?;
        let times = TimestampNanosecondArray::from(times);
        let values = elements("values", &values.as_array())?;
        let values = Float64Array::from(values);
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (name, texts) in labels {
            columns.push((name, Arc::new(StringArray::from(texts))));
        }
        columns.push(("time".to_owned(), Arc::new(times)));
        columns.push(("value".to_owned(), Arc::new(values)));
        Ok(Self {
            batch: batch(columns)?,
        })
    }

    /// Writes an Arrow IPC file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        check_ending(
            path.clone(),
            ["arrow", "ipc", "feather"].map(str::to_owned).to_vec(),
        )?;
        let write = || -> Result<(), Failure> {
            let mut bytes = Vec::new();
            let written = FileWriter::try_new(&mut bytes, &self.batch.schema())
                .and_then(|mut writer| writer.write(&self.batch).and_then(|()| writer.finish()));
            written.map_err(|why| Failure::Internal(why.to_string()))?;
            write_whole(&path, &bytes).map_err(|why| Failure::File(why.to_string()))
        };
        Ok(detached(py, write)?)
    }

    /// The columns as an `xarray.Dataset` over rows.
    fn to_xarray<'py>(table: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let helper = table.py().import("warpstride._files")?;
        helper.call_method1("table_to_xarray", (table,))
    }

    /// The table of these bytes of an Arrow IPC stream.
    #[staticmethod]
    fn from_ipc(bytes: &[u8]) -> PyResult<Self> {
        let reader = StreamReader::try_new(bytes, None);
        let batch = reader.and_then(|mut reader| reader.next().transpose());
        match batch {
            Ok(Some(batch)) => Ok(Self { batch }),
            Ok(None) => Err(Failure::data("expected a table, found none").into()),
            Err(why) => Err(Failure::data(why).into()),
        }
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let mut bytes = Vec::new();
        let written = StreamWriter::try_new(&mut bytes, &self.batch.schema())
            .and_then(|mut writer| writer.write(&self.batch).and_then(|()| writer.finish()));
        written.map_err(|why| Failure::Internal(why.to_string()))?;
        let make = py.get_type::<Self>().getattr("from_ipc")?;
        Ok((make, PyTuple::new(py, [PyBytes::new(py, &bytes)])?))
    }

    fn __repr__(&self) -> String {
        format!(
            "<warpstride.series.Table: {} rows; {}>",
            self.batch.num_rows(),
            self.column_names().join(", ")
        )
    }
}
