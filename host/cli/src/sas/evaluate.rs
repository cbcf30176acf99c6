//! `warpstride sas evaluate`.

use super::files::Coordinates;
use super::model_config::{ModelConfig, PolydispersitySummary, TiedValue};
use super::points::PointsConfig;
use super::resolution::{ResolutionArg, ResolutionConfig};
use super::{files, table};
use crate::args::SasEvaluateArgs;
use crate::failure::Failure;
use crate::output::{facts, note, say, say_json};
use crate::paths::{self, OutputFile};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Instant;
use warpstride::report::picture::Picture;
use warpstride::run::{RunRecord, Setup};
use warpstride::sas::data::{Curve, Scattering, ScatteringImage};
use warpstride::sas::report::{ScatteringCurve, intensity_picture};
use warpstride::sas::resolution::Cloud;
use warpstride::sas::{Origin, Points, Ties, Vector, is_unsolved, unsolved};
use warpstride::system::Bytes;
use warpstride::system::Memory;
use warpstride::text::{count, significant};

/// Host memory per point, bytes: q, intensity, sums, rows of text or of JSON.
const BYTES_PER_POINT: u64 = 256;
/// Host memory per point of a pixel's cloud, bytes: qx and qy, weight and index in the matrix,
/// intensity.
const BYTES_PER_FINE_POINT: u64 = 48;

/// An evaluation with checked options.
#[derive(Debug)]
pub(crate) struct Evaluate {
    model: ModelConfig,
    points: PointsConfig,
    resolution: ResolutionConfig,
    output: Option<PathBuf>,
    plot: Option<PathBuf>,
    json: bool,
    quiet: bool,
}

/// Output of `--json`. Numbers that are not finite are `null`.
#[derive(Serialize)]
struct Evaluated<'a> {
    model: &'a str,
    #[serde(flatten)]
    points: Coordinates<'a>,
    /// 1/cm.
    intensity: &'a [f64],
    parameters: Map<String, Value>,
    polydispersity: Vec<PolydispersitySummary>,
    /// Parameters that follow from others.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tied: &'a [TiedValue],
    resolution: String,
    cutoff: f64,
    /// The seconds are those of the evaluation alone.
    #[serde(flatten)]
    record: RunRecord,
    /// Command that repeats the evaluation.
    command: &'a str,
}

impl Evaluate {
    /// Checks the options and the output files.
    pub(crate) fn from_args(args: SasEvaluateArgs) -> Result<Self, Failure> {
        let points = PointsConfig::from_args(
            args.q.as_deref(),
            args.points.as_deref(),
            args.q2d.as_deref(),
        )?;
        let resolution =
            ResolutionConfig::from_args(args.resolution.as_deref(), args.smear_on, false)?;
        if let (ResolutionArg::Slit { .. }, true) = (resolution.kind, points.pixels()) {
            return Err(Failure::usage(format!(
                "--resolution {}: expected pinhole:S for the pixels of {}, as a slit applies to curves only",
                resolution.kind.to_arg(),
                points.option
            )));
        }
        let (backend, pixels) = (args.backend.into(), points.pixels());
        let model = ModelConfig::from_args(&args.model, &args.model.set, &backend, pixels, &[])?;
        if points.pixels() && points.side.is_none() && args.plot.is_some() {
            return Err(Failure::usage(
                "--plot: expected a curve or --q2d MAX:N, found individual pixels",
            ));
        }
        if args.quiet && args.output.is_none() && args.plot.is_none() {
            return Err(Failure::usage(
                "--quiet: expected -o or --plot beside it, found neither: the result would be lost",
            ));
        }
        let outputs = [
            OutputFile::given("-o", args.output.as_deref(), files::FORMATS),
            OutputFile::given("--plot", args.plot.as_deref(), &[paths::PNG]),
        ];
        let outputs: Vec<OutputFile<'_>> = outputs.into_iter().flatten().collect();
        paths::check(&outputs, &model.inputs().collect::<Vec<_>>())?;
        Ok(Self {
            model,
            points,
            resolution,
            output: args.output,
            plot: args.plot,
            json: args.json,
            quiet: args.quiet,
        })
    }

    /// Computes the intensities and writes the output.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.check_memory(Memory::available())?;
        self.model.backend.start()?;
        let begun = Instant::now();
        let (mut calculation, mut vector) = self.model.calculation(self.points.points.clone())?;
        Ties::new(&calculation, &self.model.ties)
            .and_then(|ties| ties.apply(&mut vector))
            .map_err(Failure::usage)?;
        let tied = self.model.tied(&calculation, &vector);
        calculation.resolution = self.resolution.of_points(
            &self.points.points,
            self.model.definition.diameter(&vector.values),
        )?;
        let cut = calculation.notes_on_distributions(&vector);
        let distributions = self
            .model
            .polydispersity_summary(&calculation.polydispersity, &vector);
        if is_unsolved(&calculation, &vector) {
            return Err(Failure::failed(unsolved(&calculation)));
        }
        let origin = Origin::of(&calculation);
        let chosen = self.model.backend.engine(calculation)?;
        let (mut engine, backend_note) = (chosen.engine, chosen.note);
        let setup_seconds = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let mut computed = engine.evaluate(std::slice::from_ref(&vector))?;
        let seconds = begun.elapsed().as_secs_f64();
        let Some(mut intensity) = computed.pop() else {
            return Err(Failure::failed("the engine returned no intensities"));
        };
        origin.make_infinite(&vector, &mut intensity);
        let setup = engine.setup();

        let mut notes: Vec<String> = backend_note.into_iter().collect();
        notes.extend(self.model.without_effect(self.points.pixels()));
        notes.extend(cut);
        notes.extend(warnings(&intensity));
        let command = self.command(&vector, &setup);
        // A picture that cannot be drawn must not lose the result.
        let plot = self.draw(&intensity);
        if plot.is_ok() {
            notes.extend(self.not_drawn(&intensity));
        }
        let outputs = self.write(&intensity, &command, &setup, &tied, &plot)?;
        if !self.quiet {
            notes.iter().for_each(|sentence| note(sentence));
        }
        let inputs = paths::names(self.model.inputs());
        let mut record = RunRecord::new(setup, seconds).after(inputs, setup_seconds, notes);
        record.outputs = outputs;
        self.print(&intensity, distributions, &tied, record, &command, &vector)?;
        plot.map(drop)
    }

    /// Prints the result: JSON, the intensities, or the names of the files that have them.
    fn print(
        &self,
        intensity: &[f64],
        polydispersity: Vec<PolydispersitySummary>,
        tied: &[TiedValue],
        record: RunRecord,
        command: &str,
        vector: &Vector,
    ) -> Result<(), Failure> {
        if self.json {
            return say_json(&Evaluated {
                model: self.model.definition.name(),
                points: Coordinates::of(&self.points.points),
                intensity,
                parameters: self.model.parameters(vector),
                polydispersity,
                tied,
                resolution: self.resolution.kind.to_arg(),
                cutoff: self.model.cutoff,
                record,
                command,
            });
        }
        if self.quiet {
            return Ok(());
        }
        if record.outputs.is_empty() {
            return say(&table::columns(&self.points.points, intensity));
        }
        let mut lines = vec![
            ("model", self.model.definition.name().to_owned()),
            ("points", self.points.points.len().to_string()),
            ("back end", record.setup.to_string()),
            ("time", format!("{} s", significant(record.seconds, 3))),
        ];
        let mut name = "written";
        for path in record.outputs {
            lines.push((std::mem::take(&mut name), path));
        }
        say(&facts(&lines))
    }

    fn check_memory(&self, memory: Memory) -> Result<(), Failure> {
        let pixels = self.points.pixels() && self.resolution.kind != ResolutionArg::None;
        let cloud = if pixels { Cloud::default().len() } else { 0 };
        let bytes_per_point = BYTES_PER_POINT + cloud as u64 * BYTES_PER_FINE_POINT;
        let needed = self.points.points.len() as u64 * bytes_per_point;
        if needed > memory.limit() {
            return Err(Failure::failed(format!(
                "{}: {} need {} of memory, but {} is available; request fewer points",
                self.points.option,
                count(self.points.points.len(), ["point", "points"]),
                Bytes(u128::from(needed)),
                Bytes(u128::from(memory.limit()))
            )));
        }
        Ok(())
    }

    /// The command that repeats the computation, quoted for a shell.
    fn command(&self, vector: &Vector, setup: &Setup) -> String {
        let resolution = self.resolution.to_arg();
        format!(
            "warpstride sas evaluate {} {} {}{resolution} --precision {} --backend {}",
            self.model.definition.name(),
            self.points.quoted_option(),
            self.model.options(vector, self.points.pixels()),
            setup.precision,
            setup.backend
        )
    }

    /// Draws the picture of `--plot`, if there is one.
    fn draw(&self, intensity: &[f64]) -> Result<Option<Picture>, Failure> {
        let Some(path) = &self.plot else {
            return Ok(None);
        };
        let option = format!("--plot {}", path.display());
        let title = self.model.definition.name();
        match &self.points.points {
            Points::Curve(q) => ScatteringCurve::of_model(q, intensity)
                .png()
                .map_err(|e| Failure::failed(format!("{option}: {e}"))),
            Points::Pixels { qx, qy } => intensity_picture(title, qx, qy, intensity)
                .map_err(|e| Failure::failed(format!("{option}: {e}"))),
        }
        .map(Some)
    }

    /// A note on intensities of a curve that its picture, whose axis is logarithmic, leaves out.
    fn not_drawn(&self, intensity: &[f64]) -> Option<String> {
        let hidden = intensity.iter().filter(|v| **v <= 0.0).count();
        (self.plot.is_some() && !self.points.pixels() && hidden > 0).then(|| {
            format!(
                "--plot: {hidden} of {} intensities are not positive, so they are left out of the logarithmic plot",
                intensity.len()
            )
        })
    }

    /// Writes the output files and returns their names.
    fn write(
        &self,
        intensity: &[f64],
        command: &str,
        setup: &Setup,
        tied: &[TiedValue],
        plot: &Result<Option<Picture>, Failure>,
    ) -> Result<Vec<String>, Failure> {
        let mut written = Vec::new();
        let title = self.model.definition.name();
        if let Some(path) = &self.output {
            let scattering = match &self.points.points {
                Points::Curve(q) => Scattering::Curve(Curve {
                    q: q.clone(),
                    intensity: intensity.to_vec(),
                    sigma: None,
                    smearing: None,
                    title: title.to_owned(),
                    notes: Vec::new(),
                }),
                Points::Pixels { qx, qy } => Scattering::Image(ScatteringImage {
                    qx: qx.clone(),
                    qy: qy.clone(),
                    intensity: intensity.to_vec(),
                    sigma: None,
                    resolution: None,
                    title: title.to_owned(),
                    notes: Vec::new(),
                }),
            };
            let mut process = vec![
                (
                    "program",
                    format!("warpstride {}", env!("CARGO_PKG_VERSION")),
                ),
                ("model", title.to_owned()),
                ("command", command.to_owned()),
                ("back end", setup.to_string()),
                ("units", "q 1/Ang, intensity 1/cm".to_owned()),
            ];
            if !tied.is_empty() {
                let lines = tied.iter().map(TiedValue::line).collect::<Vec<_>>();
                process.push(("tied", lines.join("; ")));
            }
            files::write(path, &scattering, &process)?;
            written.push(path.display().to_string());
        }
        if let (Some(path), Ok(Some(picture))) = (&self.plot, plot) {
            picture.write(path)?;
            written.push(path.display().to_string());
        }
        Ok(written)
    }
}

/// Notes if some intensities are not finite or negative.
fn warnings(intensity: &[f64]) -> Vec<String> {
    let note = |found: usize, what: &str| {
        let all = intensity.len();
        (found > 0).then(|| format!("{found} of {all} intensities are {what}"))
    };
    let not_finite = intensity.iter().filter(|v| !v.is_finite()).count();
    let negative = intensity.iter().filter(|v| **v < 0.0).count();
    let notes = [note(not_finite, "not finite"), note(negative, "negative")];
    notes.into_iter().flatten().collect()
}
