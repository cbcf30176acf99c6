//! The recipe of a reconstruction: all options with their defaults as one TOML document.
//!
//! A recipe is resolved once (file, then `--engine`, then `--set`) and checked. The resolved text
//! is stored in the results file; used as a recipe, it repeats the run.

mod check_slices;
mod detector_options;
mod fly_options;
mod gpu_options;
mod probe_start;
mod slice_options;
#[cfg(test)]
mod tests;
mod variations;

pub use detector_options::{Background, BackgroundFit, Blur, DetectorOptions};
pub use fly_options::{FlyOptions, FlyPath, FlyPositions};
pub use gpu_options::{GpuOptions, GpuStep, GpuWaves, Updates};
pub use probe_start::{ApertureShape, ProbeSource, ProbeStart, StartOptions};
pub(crate) use slice_options::MOST_SLICES;
pub(crate) use slice_options::{LARGEST_DISTANCE, REFINE_FROM};
pub use slice_options::{SliceDistance, SliceOptions};

use super::recipe_error::RecipeError;
use crate::engines::name::{EngineName, MAX_ITERATIONS};
use crate::engines::spec::EngineSpec;
use crate::engines::step_plan::StepPlan;
use crate::model::variable_probe::FROM;
use crate::positions::refinement::PositionOptions;
use serde::{Deserialize, Serialize};
use warpstride_core::text::{TomlError, shortest};

/// Every how many iterations all metrics are computed, unless a recipe says otherwise.
const METRICS_EVERY: usize = 10;

/// Most modes of the object.
const MAX_OBJECT_MODES: usize = 16;

/// Whether an option that is written only if it is not 1 is left out.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde expects"
)]
fn is_one(value: &usize) -> bool {
    *value == 1
}

/// Floating-point precision on the CPU; the GPU computes in `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision (CPU only).
    F64,
}

/// When an engine ends before all its iterations are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopRule {
    /// Not at all, apart from `stop_below_change`.
    Off,
    /// When R_free has risen: its mean over 10 iterations is larger than that over the 10 before,
    /// and that one larger than that over the 10 before it. The next engine goes on.
    Auto,
    /// When R_free no longer falls: its mean over 10 iterations is not lower by at least 0.5 % than
    /// that over the 10 before. For `dm`, `raar` and `ap`, whose R_free rises and falls, the engine
    /// does all its iterations.
    Plateau,
}

fn none(count: &usize) -> bool {
    *count == 0
}

fn as_usual(iteration: &usize) -> bool {
    *iteration == FROM
}

/// All options of a reconstruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    /// Seed of the random number generator.
    pub seed: u64,
    /// Floating-point precision.
    pub precision: Precision,
    /// Number of mutually incoherent probe modes.
    pub probe_modes: usize,
    /// Number of mutually incoherent modes of the object.
    #[serde(skip_serializing_if = "is_one")]
    pub object_modes: usize,
    /// Number of variations of the first probe mode, for a probe that differs from frame to frame
    /// (orthogonal probe relaxation); 0: all frames have one probe.
    #[serde(skip_serializing_if = "none")]
    pub opr_modes: usize,
    /// First iteration of the run that updates them: `lsqml`, `epie` and `rpie` do, once the mean
    /// probe is formed.
    #[serde(skip_serializing_if = "as_usual")]
    pub opr_from: usize,
    /// Share of the valid pixels of each frame that are left out of every update, and on which
    /// R_free is computed; others in each frame, chosen by `seed`. The start values use them.
    pub free_pixels: f64,
    /// Whether rising R_free ends an engine; needs free pixels.
    pub stop: StopRule,
    /// Every how many iterations of the run a projection engine computes the exit-wave change, the
    /// photon error, R and R_free. Its first and last iterations always have them, and with `stop =
    /// "auto"` all iterations. Other engines have them in every iteration.
    pub metrics_every: usize,
    /// Whether the probe in the results includes the quadratic phase exp(−iπ(x² + y²)/(λz)) that
    /// the model omits, and thus is the physical wave at the specimen.
    pub physical_probe: bool,
    /// What the run starts from, besides the probe.
    #[serde(skip_serializing_if = "StartOptions::is_default")]
    pub start: StartOptions,
    /// Motion during the exposures.
    #[serde(skip_serializing_if = "FlyOptions::is_default")]
    pub fly: FlyOptions,
    /// Start probe.
    pub probe: ProbeStart,
    /// How the detector measures intensities.
    #[serde(skip_serializing_if = "DetectorOptions::is_default")]
    pub detector: DetectorOptions,
    /// Whether the frames' intensity scales are fitted.
    pub fit_frame_scales: bool,
    /// Refinement of the positions.
    pub positions: PositionOptions,
    /// Slices of a thick specimen.
    #[serde(skip_serializing_if = "SliceOptions::is_default")]
    pub slices: SliceOptions,
    /// Options of the GPU back ends.
    pub gpu: GpuOptions,
    /// How the scan file is read.
    pub data: crate::ReadOptions,
    /// Engines, in the order in which they run.
    pub engines: Vec<EngineSpec>,
}

impl Recipe {
    /// Layers of the object (layer, row, column).
    #[must_use]
    pub fn object_layers(&self) -> usize {
        if self.slices.are_on() {
            return self.slices.count;
        }
        self.object_modes
    }

    /// Exit waves of a frame for each probe mode: object modes times points of an exposure.
    #[must_use]
    pub fn waves_of_mode(&self) -> usize {
        self.object_modes.saturating_mul(self.fly.points)
    }
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            seed: 0,
            precision: Precision::F32,
            probe_modes: 1,
            object_modes: 1,
            fly: FlyOptions::default(),
            opr_modes: 0,
            opr_from: FROM,
            free_pixels: 0.0,
            stop: StopRule::Off,
            metrics_every: METRICS_EVERY,
            physical_probe: false,
            start: StartOptions::default(),
            probe: ProbeStart::default(),
            detector: DetectorOptions::default(),
            fit_frame_scales: false,
            positions: PositionOptions::default(),
            slices: SliceOptions::default(),
            gpu: GpuOptions::default(),
            data: crate::ReadOptions::default(),
            engines: vec![
                EngineSpec::new(EngineName::Dm, 100),
                EngineSpec::new(EngineName::Raar, 50),
            ],
        }
    }
}

impl Recipe {
    /// Parses a TOML document.
    ///
    /// # Errors
    /// Returns an error that names the line and the key.
    pub fn from_toml(text: &str) -> Result<Self, RecipeError> {
        let recipe: Self = toml::from_str(text)
            .map_err(|e| RecipeError(Box::new(TomlError::new(&e, Some(text)))))?;
        Ok(recipe.with_engine_defaults())
    }

    /// One sentence for each option that has no effect on a run on `backend` with `shape` (frames,
    /// modes, rows, columns).
    #[must_use]
    pub fn without_effect(&self, backend: &str, shape: [usize; 4]) -> Vec<String> {
        let mut sentences = self.gpu_options_without_effect(backend, shape);
        let planned = self
            .engines
            .iter()
            .fold(0_usize, |sum, e| sum.saturating_add(e.iterations));
        if self.metrics_every != METRICS_EVERY {
            let reason = if self.stop == StopRule::Auto {
                Some("the stopping rule needs R_free of every iteration")
            } else if !self.engines.iter().any(|e| e.name.projects()) {
                Some("only projection engines (dm, raar, ap) leave metrics out")
            } else {
                None
            };
            sentences.extend(reason.map(|reason| {
                let every = self.metrics_every;
                format!("metrics_every = {every} has no effect: {reason}")
            }));
        }
        sentences.extend(self.fly.without_effect());
        sentences.extend(self.slices.without_effect(planned));
        let refines = !self.positions.refine.is_empty() || self.fit_frame_scales;
        if refines && self.positions.start > planned {
            sentences.push(format!(
                "positions.start = {} is after the last iteration, which is {planned}: neither positions nor scales are refined",
                self.positions.start
            ));
        }
        sentences.extend(self.variations_without_effect());
        sentences.extend(self.background_without_effect(planned));
        let mut last = 0_usize;
        for engine in &self.engines {
            last = last.saturating_add(engine.iterations);
            let default = EngineSpec::new(engine.name, 1).probe_from;
            if engine.update_probe && engine.probe_from != default && engine.probe_from > last {
                let name = engine.name.as_str();
                sentences.push(format!(
                    "{name}.probe_from = {} is after the last iteration of {name}, which is {last}: it does not update the probe",
                    engine.probe_from
                ));
            }
        }
        sentences
    }

    /// Why a fitted background is not updated, if it is not.
    fn background_without_effect(&self, planned: usize) -> Option<String> {
        let from = self.detector.background_from;
        if !self.detector.fits_background() {
            let default = DetectorOptions::default().background_from;
            return (from != default).then(|| {
                format!("detector.background_from = {from} has no effect: no background is fitted")
            });
        }
        let kept = match &self.start.result {
            None => "the background stays at its first estimate, the mean of the darkest pixels",
            Some(_) => {
                "the background stays that of the earlier result, or if it has none, the mean of the darkest pixels"
            }
        };
        if from > planned {
            return Some(format!(
                "detector.background_from = {from} is after the last iteration, which is {planned}: {kept}"
            ));
        }
        (self.engines.iter().all(|e| e.name.projects())).then(|| {
            format!("dm, raar and ap do not update the background (detector.background): {kept}")
        })
    }

    /// [`Self::without_effect`] of the options of GPUs.
    fn gpu_options_without_effect(&self, backend: &str, shape: [usize; 4]) -> Vec<String> {
        let (gpu, default) = (&self.gpu, GpuOptions::default());
        if backend == "cpu" {
            let options = [
                ("updates", gpu.updates != default.updates),
                ("step", gpu.step != default.step),
                ("waves", gpu.waves != default.waves),
            ];
            let others = options.into_iter().filter(|(_, other)| *other);
            return others
                .map(|(option, _)| format!("gpu.{option} has no effect on the CPU"))
                .collect();
        }
        let plan = StepPlan::on_hopper(gpu.step, shape)
            .in_field(self.data.is_near_field())
            .with_exit_waves(self.waves_of_mode())
            .with_detector(!self.detector.is_ideal());
        let projects = |engine: &&EngineSpec| engine.name.projects();
        let whole = |engine: &EngineSpec| engine.subpixel != Some(true);
        let mut projecting = self.engines.iter().filter(projects).peekable();
        let reason = if gpu.waves == default.waves {
            return Vec::new();
        } else if projecting.peek().is_none() {
            "only projection engines (dm, raar, ap) keep exit waves".to_owned()
        } else if plan.is_fused() && projecting.any(whole) {
            return Vec::new();
        } else {
            plan.at_exact_positions().to_string()
        };
        vec![format!("gpu.waves has no effect: {reason}")]
    }

    /// The resolved recipe as a TOML document.
    ///
    /// # Errors
    /// Returns an error if a value cannot be written as TOML (a seed of 2⁶³ or more).
    pub fn to_toml(&self) -> Result<String, RecipeError> {
        toml::to_string(self)
            .map_err(|e| RecipeError::new("", "values that TOML can hold", e.to_string()))
    }

    /// Applies `PATH=VALUE`: `dm.alpha=0.9` sets an option of every engine of that name, `seed=7`
    /// and `probe.source=aperture` set options of the recipe.
    ///
    /// # Errors
    /// Returns an error if there is no such engine or option, or if the value has the wrong type.
    pub fn set(&mut self, assignment: &str) -> Result<(), RecipeError> {
        let (path, text) = assignment.split_once('=').unwrap_or((assignment, ""));
        let (path, text) = (path.trim(), text.trim());
        let bad = |expected: String| RecipeError::new(path, expected, text);
        if path.is_empty() || !assignment.contains('=') {
            return Err(bad("OPTION=VALUE, such as dm.alpha=0.9".to_owned()));
        }
        let value = parse_value(text);
        let keys: Vec<&str> = path.split('.').collect();
        let mut table = toml::Table::try_from(&*self).map_err(|e| bad(e.to_string()))?;
        match keys.as_slice() {
            [engine, option] if EngineName::from_name(engine).is_some() => {
                let mut found = false;
                for spec in table
                    .get_mut("engines")
                    .and_then(|e| e.as_array_mut())
                    .into_iter()
                    .flatten()
                {
                    let Some(spec) = spec.as_table_mut() else {
                        continue;
                    };
                    if spec.get("name").and_then(|n| n.as_str()) == Some(*engine) {
                        spec.insert((*option).into(), value.clone());
                        found = true;
                    }
                }
                if !found {
                    return Err(bad(format!(
                        "an engine of the recipe, which does not run {engine}"
                    )));
                }
            }
            [sections @ .., key] => {
                let mut section = &mut table;
                for name in sections {
                    section = section
                        .entry(*name)
                        .or_insert_with(|| toml::Value::Table(toml::Table::new()))
                        .as_table_mut()
                        .ok_or_else(|| {
                            bad(format!("a section before the dot, and {name} is none"))
                        })?;
                }
                section.insert((*key).into(), value);
            }
            [] => {}
        }
        *self = table.try_into().map_err(|e: toml::de::Error| {
            let TomlError { expected, .. } = TomlError::new(&e, None);
            bad(expected)
        })?;
        Ok(())
    }

    /// Object pixels around the windows at the recorded positions, for positions that change.
    #[must_use]
    pub fn margin(&self) -> usize {
        match self.start.result {
            Some(_) => self.positions.widest_margin(),
            None => self.positions.margin(),
        }
    }

    /// Checks all values.
    ///
    /// # Errors
    /// Returns an error that names the first option out of range.
    pub fn check(&self) -> Result<(), RecipeError> {
        let within = |ok: bool, option: &str, expected: &str, found: String| {
            if ok {
                return Ok(());
            }
            Err(RecipeError::new(option, expected, found))
        };
        within(
            (1..=64).contains(&self.probe_modes),
            "probe_modes",
            "1 to 64",
            self.probe_modes.to_string(),
        )?;
        within(
            i64::try_from(self.seed).is_ok(),
            "seed",
            "at most 9223372036854775807",
            self.seed.to_string(),
        )?;
        within(
            (0.0..=0.5).contains(&self.free_pixels),
            "free_pixels",
            "0 to 0.5",
            shortest(self.free_pixels),
        )?;
        within(
            self.stop == StopRule::Off || self.free_pixels > 0.0,
            "stop",
            "off, or free_pixels above 0, on which R_free is computed",
            match self.stop {
                StopRule::Plateau => "plateau without free pixels".to_owned(),
                _ => "auto without free pixels".to_owned(),
            },
        )?;
        within(
            (1..=MAX_ITERATIONS).contains(&self.metrics_every),
            "metrics_every",
            &format!("1 to {MAX_ITERATIONS}"),
            self.metrics_every.to_string(),
        )?;
        within(
            (1..=MAX_OBJECT_MODES).contains(&self.object_modes),
            "object_modes",
            &format!("1 to {MAX_OBJECT_MODES}"),
            self.object_modes.to_string(),
        )?;
        self.fly.check()?;
        self.start.check()?;
        self.probe.check()?;
        self.detector.check(MAX_ITERATIONS)?;
        within(
            !self.engines.is_empty(),
            "engines",
            "at least one engine, such as dm:100",
            "[]".to_owned(),
        )?;
        self.positions.check()?;
        self.data.check()?;
        self.engines.iter().try_for_each(EngineSpec::check)?;
        self.check_slices()?;
        self.check_variations()?;
        let centring = |e: &EngineSpec| Some((e.name.as_str(), e.probe_centre_tolerance?));
        let centring = self.engines.iter().find_map(centring);
        if let (true, Some((engine, tolerance))) = (self.data.is_near_field(), centring) {
            let expected =
                "none with data.near_field, where the beam's place on the detector is measured";
            return Err(RecipeError::new(
                format!("{engine}.probe_centre_tolerance"),
                expected,
                shortest(tolerance),
            ));
        }
        let exact = self.engines.iter().any(|e| e.subpixel == Some(true));
        let expected = "an engine at exact positions (lsqml, epie, rpie, ml, or another with its option subpixel = true)";
        let names: Vec<&str> = self.engines.iter().map(|e| e.name.as_str()).collect();
        within(
            exact || self.positions.refine.is_empty(),
            "positions.refine",
            expected,
            names.join(", "),
        )?;
        within(
            exact || !self.fit_frame_scales,
            "fit_frame_scales",
            expected,
            names.join(", "),
        )?;
        // The projections at whole pixels have no scales.
        let first = self.engines.iter().position(|e| e.subpixel == Some(true));
        let after = &self.engines[first.unwrap_or(self.engines.len())..];
        let ignores = |e: &&EngineSpec| e.name.projects() && e.subpixel != Some(true);
        let ignoring = after.iter().find(ignores).map(|e| e.name.as_str());
        within(
            ignoring.is_none() || !self.fit_frame_scales,
            "fit_frame_scales",
            "projection engines (dm, raar, ap) before all others, or with their option subpixel = true, as they ignore the scales at whole pixels",
            format!("{} later", ignoring.unwrap_or_default()),
        )
    }

    fn with_engine_defaults(mut self) -> Self {
        self.engines.iter_mut().for_each(EngineSpec::fill_defaults);
        self
    }
}

fn parse_value(text: &str) -> toml::Value {
    toml::from_str::<toml::Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.into()))
}
