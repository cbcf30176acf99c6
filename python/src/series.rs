//! Aggregation of time series, from and to Arrow tables.

mod columns;
mod table;

use crate::backend::request;
use crate::background::interruptible;
use crate::errors::Failure;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use columns::{ColumnNames, Points};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use table::{Labels, STREAM, Series, Table, tables};
use warpstride::run::{BackendKind, Interrupt};
use warpstride::series::cpu::CpuEngine;
use warpstride::series::cuda::{kernels, on_cuda, on_emulator};
use warpstride::series::io::{Rounded, TimeUnit, iso};
use warpstride::series::{
    Aggregate, BucketAxis, Duplicates, Engine, Granularity, NanPolicy, Resample, SeriesError, Zone,
};

/// Takes the stream out of the capsule that an `__arrow_c_stream__` has returned.
#[expect(
    unsafe_code,
    reason = "the Arrow C stream interface hands over a structure by its address"
)]
fn stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<RecordBatchStreamReader> {
    let address = capsule
        .pointer_checked(Some(STREAM))?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the Arrow PyCapsule interface a capsule of this name holds a valid
    // ArrowArrayStream, which its consumer may move out; a released structure is left behind, which
    // the capsule's destructor does not touch.
    let reader = unsafe { RecordBatchStreamReader::from_raw(address.as_ptr()) };
    Ok(reader.map_err(|why| Failure::Data(format!("the table: {why}")))?)
}

/// Where and how aggregates are computed.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    time: Option<String>,
    value: Option<String>,
    by: Option<Vec<String>>,
    nan: String,
    missing_values: Vec<f64>,
    duplicates: String,
    time_format: Option<String>,
    timezone: Option<String>,
    backend: String,
    device: Option<usize>,
}

fn parsed<T: std::str::FromStr<Err = SeriesError>>(texts: &[String]) -> Result<Vec<T>, Failure> {
    texts.iter().map(|text| Ok(text.parse::<T>()?)).collect()
}

/// An error of the lengths of buckets, which are the argument `every`.
fn of_every(error: Failure) -> Failure {
    match error {
        Failure::Data(text) => Failure::Data(match text.strip_prefix("granularity ") {
            Some(of_length) => format!("every {of_length}"),
            None => text.replace("at least one granularity", "at least one length (every)"),
        }),
        error => error,
    }
}

/// The unit of times that are numbers.
fn unit(time_format: Option<&str>) -> Result<Option<TimeUnit>, Failure> {
    Ok(Some(match time_format {
        None => return Ok(None),
        Some("unix") => TimeUnit::Seconds,
        Some("unix-ms") => TimeUnit::Milliseconds,
        Some("unix-us") => TimeUnit::Microseconds,
        Some("unix-ns") => TimeUnit::Nanoseconds,
        Some(other) => {
            return Err(Failure::Data(format!(
                "time_format {other:?}: expected unix, unix-ms, unix-us or unix-ns"
            )));
        }
    }))
}

/// The axis of buckets of local time.
fn axis(timezone: Option<&str>, plan: &Resample) -> Result<Option<BucketAxis>, Failure> {
    let Some(name) = timezone else {
        return Ok(None);
    };
    let refused = |why: String| Failure::Data(format!("timezone {name:?}: {why}"));
    let zone = Zone::named(name).map_err(refused)?;
    let axis = BucketAxis::new(zone, plan.granularities());
    Ok(Some(axis.map_err(|why| of_every(Failure::Data(why)))?))
}

fn engine(plan: &Resample, options: &Options) -> Result<Box<dyn Engine>, Failure> {
    let request = request(&options.backend, options.device, true, true)?;
    let backend = request.open(None, kernels)?;
    let chosen = backend.engine(
        || Ok(()),
        |kind| -> Result<Box<dyn Engine>, Failure> {
            Ok(match kind {
                BackendKind::Cpu => Box::new(CpuEngine::new(plan.clone())),
                BackendKind::Emulator(device) => on_emulator(device, plan.clone())?,
                BackendKind::Cuda(device) => on_cuda(*device, plan.clone())?,
            })
        },
    )?;
    Ok(chosen.engine)
}

/// The error of an aggregation, with the labels of a series with several points at one time.
fn of_series(error: SeriesError, labels: &Labels, axis: Option<BucketAxis>) -> Failure {
    let SeriesError::SameTime { series, time } = error else {
        return error.into();
    };
    let time = iso(axis.map_or(time, |axis| axis.start(time)));
    let labels = labels.of(series);
    let of = if labels.is_empty() { "" } else { " of " };
    Failure::Data(format!(
        "duplicates \"error\": expected one point{of}{labels} at each time, found several at {time}"
    ))
}

/// The aggregates of a stream of tables: one table for each granularity, and doubts about the
/// points.
#[pyfunction]
fn resample(
    py: Python<'_>,
    capsule: &Bound<'_, PyCapsule>,
    every: Vec<String>,
    agg: Vec<String>,
    options: Options,
) -> PyResult<(Vec<Table>, Vec<String>)> {
    let nan = match &*options.nan {
        "keep" => NanPolicy::Keep,
        "skip" => NanPolicy::Skip,
        other => return Err(Failure::Data(format!("nan {other:?}: expected keep or skip")).into()),
    };
    let duplicates = match &*options.duplicates {
        "keep" => Duplicates::Keep,
        "first" => Duplicates::First,
        "last" => Duplicates::Last,
        "error" => Duplicates::Error,
        other => {
            return Err(Failure::Data(format!(
                "duplicates {other:?}: expected keep, first, last or error"
            ))
            .into());
        }
    };
    let granularities: Vec<Granularity> = parsed(&every).map_err(of_every)?;
    let aggregates: Vec<Aggregate> = parsed(&agg)?;
    let plan = Resample::new(granularities, aggregates, nan);
    let plan = plan
        .map_err(|why| of_every(why.into()))?
        .with_duplicates(duplicates);
    let unit = unit(options.time_format.as_deref())?;
    let axis = axis(options.timezone.as_deref(), &plan)?;
    let reader = stream(capsule)?;
    let work = |interrupt: &Interrupt| -> Result<(Vec<Table>, Vec<String>), Failure> {
        let names = ColumnNames {
            time: options.time.as_deref(),
            unit,
            value: options.value.as_deref(),
            by: options.by.as_deref(),
        };
        let schema = reader.schema();
        let mut points = Points::new(&schema, &names, &options.missing_values)?;
        for batch in reader {
            if interrupt.requested() {
                return Ok((Vec::new(), Vec::new()));
            }
            points.add(&batch.map_err(|why| Failure::Data(format!("the table: {why}")))?)?;
        }
        points.check_of_day()?;
        let notes = points.notes();
        if let Some(axis) = axis {
            points.place(axis)?;
        }
        let Series {
            batch,
            labels,
            time,
        } = points.into_series()?;
        let resampled = engine(&plan, &options)?.resample(&batch);
        let resampled = resampled.map_err(|why| of_series(why, &labels, axis))?;
        drop(batch);
        let tables = tables(&plan, &resampled, &labels, &time)?;
        Ok((tables, notes))
    };
    interruptible(py, work)
}

/// Integers of 64 bits.
#[derive(FromPyObject)]
enum Integers<'py> {
    #[pyo3(transparent)]
    Signed(PyReadonlyArray1<'py, i64>),
    #[pyo3(transparent)]
    Unsigned(PyReadonlyArray1<'py, u64>),
}

/// A sentence on the integers that double precision rounds, if there are any.
#[pyfunction]
fn series_rounded(integers: Integers<'_>) -> Option<String> {
    let mut rounded = Rounded::default();
    let mut see = |number: i128| {
        rounded.integer(number);
    };
    match integers {
        Integers::Signed(of) => of.as_array().iter().for_each(|n| see(i128::from(*n))),
        Integers::Unsigned(of) => of.as_array().iter().for_each(|n| see(i128::from(*n))),
    }
    rounded.note()
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()?;
    module.add_function(wrap_pyfunction!(series_rounded, module)?)?;
    module.add_function(wrap_pyfunction!(resample, module)?)
}
