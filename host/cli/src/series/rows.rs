//! The output of an aggregation: a file or standard output.

use super::points::PointsRead;
use crate::args::{ResampleArgs, TimestampsArg};
use crate::failure::Failure;
use crate::paths::{self, Format, OutputFile};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use warpstride::report::Picture;
use warpstride::run::Interrupt;
use warpstride::series::io::{LabelColumns, Names, ResultFormat, ResultWriter, Run, Timestamps};
use warpstride::series::report::SeriesCurves;
use warpstride::series::stream::{self, Sink, StreamError};
use warpstride::series::{Aggregate, BucketAxis, Granularity, Zone};

/// The path that stands for standard output.
const STANDARD: &str = "-";
/// The formats of aggregates.
const FORMATS: &[Format] = &[paths::ROWS, paths::PARQUET];

/// The checked output options.
#[derive(Debug)]
pub(super) struct OutputConfig {
    path: PathBuf,
    format: ResultFormat,
    timestamps: Timestamps,
    /// Whether labels are columns of their own.
    label_columns: bool,
}

impl OutputConfig {
    /// `zone` is that of `--timezone`.
    pub(super) fn from_args(args: &ResampleArgs, zone: Option<Zone>) -> Result<Self, Failure> {
        Self::new(
            args.output.clone(),
            (args.timestamps, zone),
            args.label_columns,
        )
    }

    pub(super) fn new(
        path: PathBuf,
        (timestamps, zone): (TimestampsArg, Option<Zone>),
        label_columns: bool,
    ) -> Result<Self, Failure> {
        let timestamps = match (timestamps, zone) {
            (TimestampsArg::Ns, _) => Timestamps::Nanoseconds,
            (TimestampsArg::Iso, None) => Timestamps::Iso,
            (TimestampsArg::Iso, Some(zone)) => Timestamps::Local(zone),
        };
        if path != Path::new(STANDARD) {
            paths::check_name(&OutputFile::new("-o", &path, FORMATS))?;
        }
        let format = ResultFormat::of(&path, timestamps);
        if format == ResultFormat::Parquet && timestamps != Timestamps::Nanoseconds {
            return Err(Failure::usage(
                "--timestamps iso: expected a CSV output, found Parquet, which has its own timestamp type",
            ));
        }
        Ok(Self {
            path,
            format,
            timestamps,
            label_columns,
        })
    }

    /// Creates the file for the series `names`, or starts writing to standard output.
    pub(super) fn create<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<ResultWriter, Failure> {
        let labels = self.label_columns.then(|| LabelColumns::new(names));
        let labels = labels
            .transpose()
            .map_err(|why| Failure::failed(format!("--label-columns: {why}")))?;
        Ok(match self.path() {
            Some(path) => ResultWriter::create_with_labels(path, self.format, labels)?,
            None => ResultWriter::to_standard_output_with_labels(self.timestamps, labels)?,
        })
    }

    /// Whether the output is standard output.
    pub(super) fn is_standard(&self) -> bool {
        self.path == Path::new(STANDARD)
    }

    /// The output file, if any.
    pub(super) fn path(&self) -> Option<&Path> {
        (!self.is_standard()).then_some(&self.path)
    }

    /// The output file, if any, to be checked.
    pub(super) fn file(&self) -> Option<OutputFile<'_>> {
        OutputFile::given("-o", self.path(), FORMATS)
    }

    /// A name of the output for messages.
    pub(super) fn description(&self) -> String {
        match self.path() {
            Some(path) => path.display().to_string(),
            None => "standard output".to_owned(),
        }
    }

    /// Folder for temporary files: next to the output, whose file system needs free space anyway.
    pub(super) fn folder(&self) -> PathBuf {
        match self.path().map(Path::parent) {
            None => std::env::temp_dir(),
            Some(Some(folder)) if !folder.as_os_str().is_empty() => folder.to_owned(),
            Some(_) => PathBuf::from("."),
        }
    }
}

/// Writes the rows, and collects the curves of one aggregate for a plot.
pub(super) struct RowWriter<'n> {
    writer: ResultWriter,
    names: &'n Names,
    /// The axis of the buckets' starts.
    axis: Option<BucketAxis>,
    /// (series), whether a value of the input is NaN or infinite.
    not_finite: &'n [bool],
    /// Aggregates of finite values that are not finite.
    overflows: u64,
    curves: Option<(SeriesCurves, Granularity, Aggregate)>,
    interrupt: Interrupt,
    spent: Duration,
}

/// Counts and time of a finished output.
pub(super) struct RowsWritten {
    pub(super) rows: u64,
    /// Notes on values that are not finite, and on series that the picture does not show.
    pub(super) notes: Vec<String>,
    pub(super) seconds: f64,
}

impl<'n> RowWriter<'n> {
    /// Creates the output. `curve` is the aggregate to plot.
    pub(super) fn create(
        out: &OutputConfig,
        read: &'n PointsRead,
        axis: Option<BucketAxis>,
        curve: Option<(Granularity, Aggregate)>,
        interrupt: Interrupt,
    ) -> Result<Self, Failure> {
        let writer = out.create(read.names.iter())?;
        let curves = curve.map(|(granularity, aggregate)| {
            let title = format!("{aggregate}, {granularity}");
            (
                match axis.map(|axis| axis.zone()) {
                    Some(zone) => SeriesCurves::new(title, granularity).in_zone(zone),
                    None => SeriesCurves::new(title, granularity),
                },
                granularity,
                aggregate,
            )
        });
        Ok(Self {
            writer,
            names: &read.names,
            axis,
            not_finite: &read.not_finite,
            overflows: 0,
            curves,
            interrupt,
            spent: Duration::ZERO,
        })
    }

    /// The plot, if one was requested.
    pub(super) fn picture(&self) -> Option<Result<Picture, String>> {
        let (curves, ..) = self.curves.as_ref()?;
        Some(curves.png().map_err(|why| why.to_string()))
    }

    /// Completes the output.
    pub(super) fn finish(self) -> Result<RowsWritten, Failure> {
        let begun = Instant::now();
        let rows = self.writer.rows();
        self.writer.finish()?;
        let mut notes: Vec<String> = overflow_note(self.overflows).into_iter().collect();
        notes.extend(self.curves.and_then(|(curves, ..)| curves.note()));
        Ok(RowsWritten {
            rows,
            notes,
            seconds: (self.spent + begun.elapsed()).as_secs_f64(),
        })
    }
}

/// A note on aggregates of finite values that exceed the largest double.
fn overflow_note(overflows: u64) -> Option<String> {
    let exceed = match overflows {
        0 => return None,
        1 => "aggregate of finite values exceeds",
        _ => "aggregates of finite values exceed",
    };
    Some(format!(
        "{overflows} {exceed} 1.8e308, the largest double, and are infinite or NaN in the output"
    ))
}

impl Sink for RowWriter<'_> {
    fn take<'r>(
        &mut self,
        rows: &mut dyn Iterator<Item = stream::Rows<'r>>,
    ) -> Result<(), StreamError> {
        let begun = Instant::now();
        let (names, interrupt, curves) = (self.names, &self.interrupt, &mut self.curves);
        let (not_finite, overflows) = (self.not_finite, &mut self.overflows);
        let name = |series: usize| {
            u32::try_from(series)
                .ok()
                .and_then(|n| names.get(n))
                .unwrap_or("?")
        };
        let axis = self.axis;
        let mut stopped = false;
        let runs = rows.map_while(|of| {
            stopped = interrupt.requested();
            if let Some((curves, granularity, aggregate)) = curves
                && (of.granularity, of.aggregate) == (*granularity, *aggregate)
            {
                let moment = |start| axis.map_or(start, |axis| axis.start(start));
                let present = of.present().map(|(start, value)| (moment(start), value));
                let (starts, values): (Vec<_>, Vec<_>) = present.unzip();
                curves.add(of.series, name(of.series), &starts, &values);
            }
            if !not_finite.get(of.series).is_some_and(|marked| *marked) {
                let infinite = of.values.iter().any(|value| !value.is_finite());
                // Buckets with too few points are NaN and not written.
                if infinite {
                    let odd = of.present().filter(|(_, value)| !value.is_finite());
                    *overflows += odd.count() as u64;
                }
            }
            let run = Run {
                series: name(of.series),
                granularity: of.granularity,
                aggregate: of.aggregate,
                starts: of.starts,
                values: of.values,
                counts: of.counts,
                axis,
            };
            (!stopped).then_some(run)
        });
        let written = self.writer.append_runs(runs);
        self.spent += begun.elapsed();
        if stopped {
            return Err(StreamError::Stopped);
        }
        Ok(written?)
    }
}
