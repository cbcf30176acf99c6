//! `warpstride sas evaluate`.

use super::files::Coordinates;
use super::origin::Origin;
use super::points::Where;
use super::smearing::{Smear, Smearer};
use super::wanted::{Distributed, Wanted};
use super::{files, table};
use crate::cli::args::SasEvaluateTyped;
use crate::cli::failure::Failure;
use crate::cli::output::{facts, note, say, say_json};
use crate::cli::paths;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Instant;
use warpstride::data::{Curve, Scattering, ScatteringImage};
use warpstride::io::{Bytes, Memory};
use warpstride::report::{ScatteringCurve, intensity_picture, significant};
use warpstride::sas::resolution::Cloud;
use warpstride::sas::{Points, Setup};

/// Bytes that a point takes: q, intensity, sums, rows of text or of JSON.
const BYTES_OF_A_POINT: u64 = 256;
/// Bytes that a point of a pixel's cloud takes: q twice, its weight and place in the matrix, intensity.
const BYTES_OF_A_FINE_POINT: u64 = 48;

/// A checked evaluation.
#[derive(Debug)]
pub(crate) struct Evaluate {
    wanted: Wanted,
    at: Where,
    smear: Smearer,
    output: Option<PathBuf>,
    plot: Option<PathBuf>,
    json: bool,
    quiet: bool,
}

/// What `--json` prints. Numbers that are not finite are `null`.
#[derive(Serialize)]
struct Evaluated<'a> {
    model: &'a str,
    #[serde(flatten)]
    points: Coordinates<'a>,
    /// 1/cm.
    intensity: &'a [f64],
    parameters: Map<String, Value>,
    polydispersity: Vec<Distributed>,
    resolution: String,
    cutoff: f64,
    #[serde(flatten)]
    setup: Setup,
    /// Of the evaluation alone.
    seconds: f64,
    setup_seconds: f64,
    /// The command that does it again.
    command: &'a str,
    version: &'static str,
    written: Vec<String>,
    notes: &'a [String],
}

impl Evaluate {
    /// Checks options and outputs.
    pub(crate) fn from_typed(typed: SasEvaluateTyped) -> Result<Self, Failure> {
        let at = Where::from_typed(
            typed.q.as_deref(),
            typed.points.as_deref(),
            typed.q2d.as_deref(),
        )?;
        let smear = Smearer::from_typed(typed.resolution.as_deref(), typed.smear_on, false)?;
        if let (Smear::Slit { .. }, true) = (smear.smear, at.pixels()) {
            return Err(Failure::usage(format!(
                "--resolution {}: a slit smears curves; {} asks for an image, which pinhole:S can smear",
                smear.smear.words(),
                at.words
            )));
        }
        let wanted = Wanted::from_typed(&typed.model, typed.machine, at.pixels(), &[])?;
        if at.pixels() && at.side.is_none() && typed.plot.is_some() {
            return Err(Failure::usage(
                "--plot: single pixels make no picture; --q2d MAX:N is expected",
            ));
        }
        if typed.quiet && typed.output.is_none() && typed.plot.is_none() {
            return Err(Failure::usage(
                "--quiet: nothing would be printed or written; -o or --plot is expected with it",
            ));
        }
        if let Some(path) = &typed.output {
            files::check_kind(path)?;
        }
        if let Some(path) = &typed.plot {
            paths::check_picture("--plot", path)?;
        }
        let outputs: Vec<&Path> = [&typed.output, &typed.plot]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect();
        paths::check(&outputs, &wanted.inputs().collect::<Vec<_>>())?;
        Ok(Self {
            wanted,
            at,
            smear,
            output: typed.output,
            plot: typed.plot,
            json: typed.json,
            quiet: typed.quiet,
        })
    }

    /// Computes and writes.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.fits(Memory::available())?;
        self.wanted.machine.start()?;
        let begun = Instant::now();
        let (mut calculation, vector) = self.wanted.calculation(self.at.points.clone())?;
        calculation.resolution = self.smear.of_points(
            &self.at.points,
            self.wanted.size(&self.wanted.values.values),
        )?;
        let distributions = self.wanted.distributed(&calculation.spreads, &vector);
        let origin = Origin::of(&calculation);
        let (mut engine, chosen) = self.wanted.machine.engine(calculation)?;
        let setup_seconds = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let mut computed = engine.evaluate(std::slice::from_ref(&vector))?;
        let seconds = begun.elapsed().as_secs_f64();
        let Some(mut intensity) = computed.pop() else {
            return Err(Failure::failed("the engine computed nothing"));
        };
        origin.make_infinite(&vector, &mut intensity);
        let setup = engine.setup();

        let mut notes: Vec<String> = chosen.into_iter().collect();
        notes.extend(
            self.wanted
                .values
                .without_effect(&self.wanted.definition, self.at.pixels()),
        );
        notes.extend(doubts(&intensity));
        let command = self.command(&vector, &setup);
        let written = self.write(&intensity, &command, &setup)?;
        if !self.quiet {
            notes.iter().for_each(|sentence| note(sentence));
        }
        if self.json {
            return say_json(&Evaluated {
                model: self.wanted.definition.name(),
                points: Coordinates::of(&self.at.points),
                intensity: &intensity,
                parameters: self.wanted.parameters(&vector),
                polydispersity: distributions,
                resolution: self.smear.smear.words(),
                cutoff: self.wanted.cutoff,
                setup,
                seconds,
                setup_seconds,
                command: &command,
                version: env!("CARGO_PKG_VERSION"),
                written,
                notes: &notes,
            });
        }
        if self.quiet {
            return Ok(());
        }
        if written.is_empty() {
            return say(&table::columns(&self.at.points, &intensity));
        }
        let mut lines = vec![
            ("model", self.wanted.definition.name().to_owned()),
            ("points", self.at.points.len().to_string()),
            ("back end", files::machine_words(&setup)),
            ("time", format!("{} s", significant(seconds, 3))),
        ];
        let mut name = "written";
        for path in written {
            lines.push((std::mem::take(&mut name), path));
        }
        say(&facts(&lines))
    }

    fn fits(&self, memory: Memory) -> Result<(), Failure> {
        let pixels = self.at.pixels() && self.smear.smear != Smear::None;
        let cloud = if pixels { Cloud::default().len() } else { 0 };
        let of_a_point = BYTES_OF_A_POINT + cloud as u64 * BYTES_OF_A_FINE_POINT;
        let needed = self.at.points.len() as u64 * of_a_point;
        if needed > memory.limit() {
            return Err(Failure::failed(format!(
                "{}: {} points need {} of memory, but {} may be used; take fewer",
                self.at.words,
                self.at.points.len(),
                Bytes(u128::from(needed)),
                Bytes(u128::from(memory.limit()))
            )));
        }
        Ok(())
    }

    /// The command that computes the same again.
    fn command(&self, vector: &warpstride::sas::Vector, setup: &Setup) -> String {
        let smear = self.smear.words();
        format!(
            "warpstride sas evaluate {} {} {}{smear} --precision {} --backend {}",
            self.wanted.definition.name(),
            self.at.words,
            self.wanted.options(vector, self.at.pixels()),
            setup.precision,
            setup.backend
        )
    }

    /// Gives the names of what was written.
    fn write(
        &self,
        intensity: &[f64],
        command: &str,
        setup: &Setup,
    ) -> Result<Vec<String>, Failure> {
        let mut written = Vec::new();
        let title = self.wanted.definition.name();
        if let Some(path) = &self.output {
            let scattering = match &self.at.points {
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
            let process = [
                (
                    "program",
                    format!("warpstride {}", env!("CARGO_PKG_VERSION")),
                ),
                ("model", title.to_owned()),
                ("command", command.to_owned()),
                ("back end", files::machine_words(setup)),
                ("units", "q 1/Ang, intensity 1/cm".to_owned()),
            ];
            files::write(path, &scattering, &process)?;
            written.push(path.display().to_string());
        }
        if let Some(path) = &self.plot {
            let picture = match &self.at.points {
                Points::Curve(q) => ScatteringCurve::of_model(q, intensity)
                    .png()
                    .map_err(|e| Failure::failed(format!("--plot: {e}"))),
                Points::Pixels { qx, qy } => intensity_picture(title, qx, qy, intensity)
                    .map_err(|e| Failure::failed(format!("--plot: {e}"))),
            }?;
            picture.write(path)?;
            written.push(path.display().to_string());
        }
        Ok(written)
    }
}

/// What is strange about intensities.
fn doubts(intensity: &[f64]) -> Option<String> {
    let strange = intensity.iter().filter(|v| !v.is_finite()).count();
    (strange > 0).then(|| {
        format!(
            "{strange} of {} intensities are no finite numbers",
            intensity.len()
        )
    })
}
