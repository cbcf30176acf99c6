//! Where aggregates go.

use crate::cli::args::{ResampleTyped, TimestampsWord};
use crate::cli::failure::Failure;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use warpstride::io::series::{Names, ResultFormat, ResultWriter, Run, Timestamps};
use warpstride::report::{Picture, SeriesCurves};
use warpstride::run::Interrupt;
use warpstride::series::stream::{self, Sink, StreamError};
use warpstride::series::{Aggregate, Granularity};

/// Standard output.
const STANDARD: &str = "-";

/// The output, checked.
#[derive(Debug)]
pub(super) struct Out {
    path: PathBuf,
    format: ResultFormat,
    timestamps: Timestamps,
}

impl Out {
    pub(super) fn from_typed(typed: &ResampleTyped) -> Result<Self, Failure> {
        Self::new(typed.output.clone(), typed.timestamps)
    }

    pub(super) fn new(path: PathBuf, timestamps: TimestampsWord) -> Result<Self, Failure> {
        let timestamps = match timestamps {
            TimestampsWord::Ns => Timestamps::Nanoseconds,
            TimestampsWord::Iso => Timestamps::Iso,
        };
        let ending = path
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or("")
            .to_lowercase();
        let standard = path == Path::new(STANDARD);
        if !standard && !["csv", "txt", "parquet", "pq"].contains(&ending.as_str()) {
            return Err(Failure::usage(format!(
                "-o {}: a name that ends in .csv (text) or .parquet is expected, or - for standard output",
                path.display()
            )));
        }
        let format = ResultFormat::of(&path, timestamps);
        if format == ResultFormat::Parquet && timestamps == Timestamps::Iso {
            return Err(Failure::usage(
                "--timestamps iso is about CSV: Parquet has timestamps of its own kind",
            ));
        }
        Ok(Self {
            path,
            format,
            timestamps,
        })
    }

    /// Begins it.
    pub(super) fn create(&self) -> Result<ResultWriter, Failure> {
        Ok(match self.path() {
            Some(path) => ResultWriter::create(path, self.format)?,
            None => ResultWriter::to_standard_output(self.timestamps)?,
        })
    }

    /// Whether it is standard output.
    pub(super) fn is_standard(&self) -> bool {
        self.path == Path::new(STANDARD)
    }

    /// The file, if it is one.
    pub(super) fn path(&self) -> Option<&Path> {
        (!self.is_standard()).then_some(&self.path)
    }

    /// For sentences.
    pub(super) fn words(&self) -> String {
        match self.path() {
            Some(path) => path.display().to_string(),
            None => "standard output".to_owned(),
        }
    }

    /// Where temporary files go: beside the output, for there must be room anyway.
    pub(super) fn folder(&self) -> PathBuf {
        match self.path().map(Path::parent) {
            None => std::env::temp_dir(),
            Some(Some(folder)) if !folder.as_os_str().is_empty() => folder.to_owned(),
            Some(_) => PathBuf::from("."),
        }
    }
}

/// Writes rows, and keeps the curve of one aggregate.
pub(super) struct Rows<'n> {
    writer: ResultWriter,
    names: &'n Names,
    curves: Option<(SeriesCurves, Granularity, Aggregate)>,
    interrupt: Interrupt,
    spent: Duration,
}

/// What was written.
pub(super) struct Finished {
    pub(super) rows: u64,
    /// That not all series are in the picture.
    pub(super) note: Option<String>,
    pub(super) seconds: f64,
}

impl<'n> Rows<'n> {
    /// Begins the output. `curve` is the aggregate of which a curve is wanted.
    pub(super) fn create(
        out: &Out,
        names: &'n Names,
        curve: Option<(Granularity, Aggregate)>,
        interrupt: Interrupt,
    ) -> Result<Self, Failure> {
        let writer = out.create()?;
        let curves = curve.map(|(granularity, aggregate)| {
            let title = format!("{aggregate}, {granularity}");
            (
                SeriesCurves::new(title, granularity),
                granularity,
                aggregate,
            )
        });
        Ok(Self {
            writer,
            names,
            curves,
            interrupt,
            spent: Duration::ZERO,
        })
    }

    /// The picture, if one is wanted.
    pub(super) fn picture(&self) -> Option<Result<Picture, String>> {
        let (curves, ..) = self.curves.as_ref()?;
        Some(curves.png().map_err(|why| why.to_string()))
    }

    /// Makes the output whole.
    pub(super) fn finish(self) -> Result<Finished, Failure> {
        let begun = Instant::now();
        let rows = self.writer.rows();
        self.writer.finish()?;
        Ok(Finished {
            rows,
            note: self.curves.and_then(|(curves, ..)| curves.note()),
            seconds: (self.spent + begun.elapsed()).as_secs_f64(),
        })
    }
}

impl Sink for Rows<'_> {
    fn take<'r>(
        &mut self,
        rows: &mut dyn Iterator<Item = stream::Rows<'r>>,
    ) -> Result<(), StreamError> {
        let begun = Instant::now();
        let (names, interrupt, curves) = (self.names, &self.interrupt, &mut self.curves);
        let name = |series: usize| {
            u32::try_from(series)
                .ok()
                .and_then(|n| names.get(n))
                .unwrap_or("?")
        };
        let mut stopped = false;
        let runs = rows.map_while(|of| {
            stopped = interrupt.requested();
            if let Some((curves, granularity, aggregate)) = curves
                && (of.granularity, of.aggregate) == (*granularity, *aggregate)
            {
                let (starts, values): (Vec<_>, Vec<_>) = of.present().unzip();
                curves.add(of.series, name(of.series), &starts, &values);
            }
            let run = Run {
                series: name(of.series),
                granularity: of.granularity,
                aggregate: of.aggregate,
                starts: of.starts,
                values: of.values,
                counts: of.counts,
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
