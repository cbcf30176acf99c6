//! What the reader of time series promises of what it gives, and files to begin with.

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, RecordBatch, TimestampMillisecondArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warpstride::io::IoError;
use warpstride::series::io::{
    Ambiguous, OnError, ReadOptions, Reader, ResultFormat, ResultWriter, Run, TimeUnit, Timestamps,
    read_all_within,
};
use warpstride::series::{Aggregate, Granularity, Method, Zone};
use warpstride::system::Memory;

/// Limit of memory, small, so that a size without stored data is refused rather than filled with
/// zeros.
const MEMORY: u64 = 8 << 20;
/// A few bytes can stand for any number of rows; so many blocks are looked at.
const BLOCKS: usize = 24;
/// So many points are written and read again.
const POINTS: usize = 20_000;

/// Reads `path` in every way; what comes out is sound and survives its own files in `folder`.
///
/// # Panics
/// Where it is or does not.
pub fn exercise(path: &Path, folder: &Path) {
    let plain = ReadOptions::default();
    let skip = ReadOptions {
        on_error: OnError::Skip,
        ..plain.clone()
    };
    let numbered = ReadOptions {
        time_column: Some("2".to_owned()),
        value_column: Some("1".to_owned()),
        time_unit: TimeUnit::Microseconds,
        ..skip.clone()
    };
    let wide = ReadOptions {
        wide: true,
        ..skip.clone()
    };
    let local = ReadOptions {
        zone: Zone::named("Europe/Zurich").ok(),
        ambiguous: Ambiguous::Earlier,
        ..skip.clone()
    };
    let pattern = ReadOptions {
        time_format: "%d.%m.%Y %H:%M:%S%.f".parse().unwrap_or_default(),
        ..local.clone()
    };
    exercise_with(path, folder, [plain, skip, numbered, wide, local, pattern]);
}

/// The same for Prometheus' text format, whose options are fewer.
///
/// # Panics
/// Where it is or does not.
pub fn exercise_exposition(path: &Path, folder: &Path) {
    let plain = ReadOptions::default();
    let skip = ReadOptions {
        on_error: OnError::Skip,
        ..plain.clone()
    };
    let scraped = ReadOptions {
        scrape_time: Some(1_392_388_200_000_000_000),
        ..skip.clone()
    };
    exercise_with(path, folder, [plain, skip, scraped]);
}

fn exercise_with(path: &Path, folder: &Path, all: impl IntoIterator<Item = ReadOptions>) {
    for options in all {
        let inputs = [path.to_owned()];
        match stream(&inputs, &options) {
            Ok(Some(points)) if points <= POINTS => again(&inputs, &options, points, folder),
            Ok(_) => {}
            Err(e) => sentence(&e),
        }
    }
}

fn sentence(error: &IoError) {
    let text = error.to_string();
    assert!(
        !text.is_empty() && text.len() < 4000 && !text.contains('\n'),
        "{text}"
    );
}

/// Points of the inputs; `None` where there are many blocks.
fn stream(inputs: &[PathBuf], options: &ReadOptions) -> Result<Option<usize>, IoError> {
    let mut reader = Reader::open(inputs, options, Memory::limited(MEMORY))?;
    let mut points = 0;
    for _ in 0..BLOCKS {
        let Some(block) = reader.next() else {
            let skipped = reader.skipped();
            assert!(skipped.first.len() as u64 <= skipped.rows);
            assert!(options.on_error == OnError::Skip || skipped.rows == 0);
            return Ok(Some(points));
        };
        let block = block?;
        assert!(!block.is_empty() && block.values.len() == block.len());
        assert_eq!(block.series.len(), block.len());
        assert!(block.times.iter().all(|time| *time >= 0));
        for series in &block.series {
            assert!(reader.names().get(*series).is_some_and(|n| !n.is_empty()));
        }
        points += block.len();
    }
    Ok(None)
}

/// Reads the same points at once, writes them, and reads what was written.
fn again(inputs: &[PathBuf], options: &ReadOptions, points: usize, folder: &Path) {
    let read = read_all_within(inputs, options, Memory::limited(MEMORY));
    let read = read.expect("what was read is read again");
    let batch = &read.batch;
    assert_eq!((batch.len(), batch.series()), (points, read.names.len()));
    let bits = |values: &[f64]| -> Vec<u64> {
        let one = |v: &f64| if v.is_nan() { f64::NAN } else { *v };
        values.iter().map(|v| one(v).to_bits()).collect()
    };
    // A series without points has no rows.
    let filled = |s: &usize| batch.offsets()[*s] < batch.offsets()[s + 1];
    let names: Vec<&String> = (0..batch.series())
        .filter(filled)
        .map(|s| &read.names[s])
        .collect();
    for (name, timestamps) in [
        ("again.csv", Timestamps::Nanoseconds),
        ("again.iso.csv", Timestamps::Iso),
        ("again.parquet", Timestamps::Iso),
    ] {
        let path = folder.join(name);
        let format = ResultFormat::of(&path, timestamps);
        let mut writer = ResultWriter::create(&path, format).expect("a file is begun");
        let runs = (0..batch.series()).map(|series| {
            let place = batch.offsets()[series]..batch.offsets()[series + 1];
            Run {
                series: &read.names[series],
                granularity: Granularity::Fixed(1),
                aggregate: Aggregate::of(Method::Last),
                starts: &batch.times()[place.clone()],
                values: &batch.values()[place],
                counts: None,
                axis: None,
            }
        });
        writer.append_runs(runs).expect("rows are written");
        assert_eq!(writer.rows(), points as u64);
        writer.finish().expect("the file is finished");
        let memory = Memory::limited(8 * MEMORY);
        let columns = ReadOptions {
            ignored_columns: ["granularity_s", "aggregate"].map(str::to_owned).into(),
            series_column: Some("series".to_owned()),
            ..ReadOptions::default()
        };
        let back = read_all_within(&[path], &columns, memory);
        let back = back.expect("what was written is read");
        assert_eq!(back.names.iter().collect::<Vec<_>>(), names);
        assert_eq!(back.batch.times(), batch.times());
        assert_eq!(bits(back.batch.values()), bits(batch.values()));
    }
}

/// Texts of all kinds, plain and compressed.
///
/// # Errors
/// The system's.
pub fn lines(folder: &Path) -> Result<(), Box<dyn Error>> {
    let texts = [
        "timestamp,value\n2014-02-14 14:30:00,3.5\n2014-02-14 14:30:10,-2\n",
        "a,1392388200,1\n\"b,\"\"c\"\"\nd\",1392388210,2\na,1392388220,3\n",
        "value;time\r\n3.5;1392388200000\r\n-2;1392388210000\r\n",
        "t\tv\n0\tnan\n1\t1e-5\n2\tinf\n2.5\t0.1000000000000000055\n",
        "series,granularity_s,aggregate,timestamp_ns,value\na,60,mean,0,1\n",
        "time,value\n2014-02-14T14:30:00.123456789+01:00,1\n1969-12-31,2\nx,3\n2262-04-12,4\n1,\n",
        "time,a,b,\n1392388200,1,,\n1392388201,NA,2,\n2024-10-27 02:30,3,x,\n",
        "timestamp,value\n2024-10-27 02:30,1\n27.10.2024 02:30:00.5,2\n2024-03-31 02:30,3\n",
        "\u{feff}\"time\",\"value\"\n\"2014-02-14\",\"1\"\n\n5,5,5\n",
    ];
    for (i, text) in texts.iter().enumerate() {
        std::fs::write(folder.join(format!("text{i}")), text)?;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes())?;
        std::fs::write(folder.join(format!("text{i}.gz")), packed.finish()?)?;
        let packed = zstd::stream::encode_all(text.as_bytes(), 1)?;
        std::fs::write(folder.join(format!("text{i}.zst")), packed)?;
    }
    Ok(())
}

/// Texts in Prometheus' format.
///
/// # Errors
/// The system's.
pub fn expositions(folder: &Path) -> Result<(), Box<dyn Error>> {
    let texts = [
        "# HELP up x\n# TYPE up gauge\nup{host=\"a\",job=\"\\\\\\\"\\n\"} 1 1392388200000\nup 2\n",
        "{\"my.metric\",\"a b\"=\"c\",} +Inf 1\n\r\n#\nup{} NaN 2\na:b\t1e5\t3\n",
    ];
    for (i, text) in texts.iter().enumerate() {
        std::fs::write(folder.join(format!("text{i}")), text)?;
    }
    Ok(())
}

/// Small tables as Parquet and Arrow.
///
/// # Errors
/// The system's or the libraries'.
pub fn tables(folder: &Path) -> Result<(), Box<dyn Error>> {
    let starts = [0, 60_000_000_000, 120_000_000_000];
    let run = |series, values| Run {
        series,
        granularity: Granularity::Fixed(60_000_000_000),
        aggregate: Aggregate::of(Method::Mean),
        starts: &starts,
        values,
        counts: None,
        axis: None,
    };
    let mut writer = ResultWriter::create(&folder.join("written"), ResultFormat::Parquet)?;
    writer.append_runs([run("a", &[1.0, 2.0, 3.0]), run("b", &[0.5, f64::NAN, 0.0])])?;
    writer.finish()?;
    let properties = WriterProperties::builder;
    for (i, properties) in [
        properties(),
        properties().set_dictionary_enabled(false),
        properties().set_compression(Compression::SNAPPY),
        properties().set_compression(Compression::LZ4_RAW),
        properties().set_compression(Compression::GZIP(Default::default())),
        properties().set_writer_version(WriterVersion::PARQUET_2_0),
    ]
    .into_iter()
    .enumerate()
    {
        let bytes = parquet_of(properties.build())?;
        std::fs::write(folder.join(format!("parquet{i}")), bytes)?;
    }
    let names: DictionaryArray<Int8Type> = ["a", "b", "a"].into_iter().map(Some).collect();
    let times = TimestampMillisecondArray::from(vec![Some(1000), None, Some(2000)]);
    let values = Float64Array::from(vec![Some(1.0), Some(2.0), None]);
    let columns: [(&str, ArrayRef); 3] = [
        ("series", Arc::new(names)),
        ("timestamp", Arc::new(times)),
        ("value", Arc::new(values)),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let schema = batch.schema();
    let kinds = [
        None,
        Some(CompressionType::LZ4_FRAME),
        Some(CompressionType::ZSTD),
    ];
    for (i, packed) in kinds.into_iter().enumerate() {
        let options = || IpcWriteOptions::default().try_with_compression(packed);
        let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options()?)?;
        writer.write(&batch)?;
        writer.finish()?;
        std::fs::write(folder.join(format!("arrow{i}")), writer.into_inner()?)?;
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options()?)?;
        writer.write(&batch)?;
        writer.finish()?;
        std::fs::write(folder.join(format!("stream{i}")), writer.into_inner()?)?;
    }
    Ok(())
}

/// A table with columns that may be null.
fn parquet_of(properties: WriterProperties) -> Result<Vec<u8>, Box<dyn Error>> {
    let schema = parquet::schema::parser::parse_message_type(
        "message m { optional binary name (STRING); optional int64 time (TIMESTAMP(MICROS,true)); optional double value; }",
    )?;
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let levels = Some(&[1, 1, 0, 1, 1][..]);
    let names = ["a", "b", "a", "b"].map(ByteArray::from);
    let mut column = group.next_column()?.ok_or("no column")?;
    column
        .typed::<ByteArrayType>()
        .write_batch(&names, levels, None)?;
    column.close()?;
    let mut column = group.next_column()?.ok_or("no column")?;
    column
        .typed::<Int64Type>()
        .write_batch(&[1, 2, 4, 5], levels, None)?;
    column.close()?;
    let mut column = group.next_column()?.ok_or("no column")?;
    column
        .typed::<DoubleType>()
        .write_batch(&[0.5, 1.5, 2.5, 3.5], levels, None)?;
    column.close()?;
    group.close()?;
    Ok(writer.into_inner()?)
}
