//! The recipe of a reconstruction: all options with their defaults as one TOML document.
//!
//! A recipe is resolved once (file, then `--engine`, then `--set`) and checked. The resolved text
//! is stored in the results file; used as a recipe, it repeats the run.

use super::engine_spec::{EngineName, EngineSpec, MAX_ITERATIONS};
use super::recipe_line::line_of;
use super::refinement::PositionOptions;
use crate::text::{TomlError, shortest};
use serde::{Deserialize, Serialize};

/// Share of free pixels where neither engines nor a recipe are given.
const AUTOMATIC_FREE_PIXELS: f64 = 0.01;
/// Every how many iterations all metrics are computed, unless a recipe says otherwise.
const METRICS_EVERY: usize = 10;

/// Floating-point precision on the CPU; the GPU computes in `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision (CPU only).
    F64,
}

/// Source of the start probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeSource {
    /// The file's illumination, if it has one, otherwise the mean pattern with a defocus found by
    /// trial.
    Auto,
    /// The file's illumination.
    File,
    /// √(mean of all frames), back-transformed.
    MeanPattern,
    /// A circular aperture, focused and then propagated by `defocus`.
    Aperture,
}

/// The start probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeStart {
    /// Source of the probe.
    pub source: ProbeSource,
    /// For `aperture`: diameter of the lit disc on the detector, as a fraction of the frame's
    /// width.
    pub aperture: f64,
    /// For `aperture` and `mean-pattern`: distance from the focus to the specimen, m.
    pub defocus: f64,
    /// Initial fraction of the probe's power in each extra mode; all extra modes together start
    /// with at most half of the power.
    pub mode_power: f64,
}

impl Default for ProbeStart {
    fn default() -> Self {
        Self {
            source: ProbeSource::Auto,
            aperture: 0.5,
            defocus: 0.0,
            mode_power: 0.05,
        }
    }
}

/// How the GPU sums over overlapping windows in object and probe updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Updates {
    /// By tiles of the result; bit for bit reproducible.
    Tiled,
    /// By atomic additions; not bit for bit reproducible.
    Atomic,
    /// The version estimated to be faster at the run's sizes; not bit for bit reproducible
    /// if that is the atomic one.
    Fastest,
}

/// How the GPU computes the iterations of projection engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuStep {
    /// Fused into one kernel, if available for the sizes and options of the run.
    Auto,
    /// By separate kernels and transforms.
    Unfused,
}

/// Options of the GPU back ends (`cuda`, `emulator`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GpuOptions {
    /// How sums over overlapping windows are computed.
    pub updates: Updates,
    /// How projections are computed.
    pub step: GpuStep,
}

impl Default for GpuOptions {
    fn default() -> Self {
        Self {
            updates: Updates::Tiled,
            step: GpuStep::Auto,
        }
    }
}

/// When an engine ends before all its iterations are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopRule {
    /// Not at all, apart from `stop_below_change`.
    Off,
    /// When R_free has risen: its mean over 10 iterations is larger than that over the 10 before, and
    /// that one larger than that over the 10 before it. The next engine goes on.
    Auto,
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
    /// Share of the valid pixels of each frame that are left out of every update, and on which
    /// R_free is computed; others in each frame, chosen by `seed`. The start values use them.
    pub free_pixels: f64,
    /// Whether rising R_free ends an engine; needs free pixels.
    pub stop: StopRule,
    /// Every how many iterations of the run a projection engine computes the exit-wave change, the photon
    /// error, R and R_free. Its first and last iterations always have them, and with `stop = "auto"` all
    /// iterations. Other engines have them in every iteration.
    pub metrics_every: usize,
    /// Whether the probe in the results includes the quadratic phase exp(−iπ(x² + y²)/(λz)) that
    /// the model omits, and thus is the physical wave at the specimen.
    pub physical_probe: bool,
    /// Start probe.
    pub probe: ProbeStart,
    /// Whether the frames' intensity scales are fitted.
    pub fit_frame_scales: bool,
    /// Refinement of the positions.
    pub positions: PositionOptions,
    /// Options of the GPU back ends.
    pub gpu: GpuOptions,
    /// How the scan file is read.
    pub data: super::ReadOptions,
    /// Engines, in the order in which they run.
    pub engines: Vec<EngineSpec>,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            seed: 0,
            precision: Precision::F32,
            probe_modes: 1,
            free_pixels: 0.0,
            stop: StopRule::Off,
            metrics_every: METRICS_EVERY,
            physical_probe: false,
            probe: ProbeStart::default(),
            fit_frame_scales: false,
            positions: PositionOptions::default(),
            gpu: GpuOptions::default(),
            data: super::ReadOptions::default(),
            engines: vec![
                EngineSpec::new(EngineName::Dm, 100),
                EngineSpec::new(EngineName::Raar, 50),
            ],
        }
    }
}

/// Why a recipe is invalid: the option (with its line in a document), what was expected, and what
/// was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecipeError(Box<TomlError>);

impl RecipeError {
    /// `option` is a path, such as `dm.alpha`.
    pub(super) fn new(
        option: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self(Box::new(TomlError {
            line: None,
            key: option.into(),
            expected: expected.into(),
            found: found.into(),
        }))
    }

    /// Path of the option, such as `dm.alpha`; empty for the recipe as a whole.
    #[must_use]
    pub fn option(&self) -> &str {
        &self.0.key
    }

    /// Adds the line of the option in `text`, if it has one.
    #[must_use]
    pub fn in_text(mut self, text: &str) -> Self {
        self.0.line = self.0.line.or_else(|| line_of(text, &self.0.key));
        self
    }

    /// The error of the value of an option: `--set dm.alpha=9: expected 0.001 to 2`.
    #[must_use]
    pub fn of_option(&self, option: &str) -> String {
        format!("{option}: expected {}", self.0.expected)
    }
}

impl Recipe {
    /// The recipe of a run for which neither engines nor a recipe are given: the default one, with free
    /// pixels, so that the run reports R_free.
    #[must_use]
    pub fn automatic() -> Self {
        Self {
            free_pixels: AUTOMATIC_FREE_PIXELS,
            ..Self::default()
        }
    }

    /// Parses a TOML document.
    ///
    /// # Errors
    /// Returns an error that names the line and the key.
    pub fn from_toml(text: &str) -> Result<Self, RecipeError> {
        let recipe: Self = toml::from_str(text)
            .map_err(|e| RecipeError(Box::new(TomlError::new(&e, Some(text)))))?;
        Ok(recipe.with_engine_defaults())
    }

    /// One sentence for each option that has no effect on a run on `backend`.
    #[must_use]
    pub fn without_effect(&self, backend: &str) -> Vec<String> {
        let mut sentences = Vec::new();
        if backend == "cpu" && self.gpu != GpuOptions::default() {
            sentences.push("gpu.updates has no effect on the CPU".to_owned());
        }
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
        let refines = !self.positions.refine.is_empty() || self.fit_frame_scales;
        if refines && self.positions.start > planned {
            sentences.push(format!(
                "positions.start = {} is after the last iteration, which is {planned}: neither positions nor scales are refined",
                self.positions.start
            ));
        }
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
            "auto without free pixels".to_owned(),
        )?;
        within(
            (1..=MAX_ITERATIONS).contains(&self.metrics_every),
            "metrics_every",
            &format!("1 to {MAX_ITERATIONS}"),
            self.metrics_every.to_string(),
        )?;
        let p = &self.probe;
        within(
            p.aperture > 0.0 && p.aperture <= 1.0,
            "probe.aperture",
            "more than 0, at most 1",
            shortest(p.aperture),
        )?;
        within(
            (-10.0..=10.0).contains(&p.defocus),
            "probe.defocus",
            "-10 to 10 (metres)",
            shortest(p.defocus),
        )?;
        within(
            p.mode_power > 0.0 && p.mode_power <= 0.5,
            "probe.mode_power",
            "more than 0, at most 0.5",
            shortest(p.mode_power),
        )?;
        within(
            !self.engines.is_empty(),
            "engines",
            "at least one engine, such as dm:100",
            "[]".to_owned(),
        )?;
        self.positions.check()?;
        self.data.check()?;
        self.engines.iter().try_for_each(EngineSpec::check)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptycho::{PowerBound, PowerBoundSetting};

    #[test]
    fn a_resolved_recipe_reads_back_equal() {
        let recipe = Recipe::default();
        assert_eq!(
            Recipe::from_toml(&recipe.to_toml().unwrap()).unwrap(),
            recipe
        );
    }

    #[test]
    fn set_reaches_engines_sections_and_top() {
        let mut recipe = Recipe::default();
        recipe.set("dm.alpha=0.9").unwrap();
        recipe.set("raar.power_bound=off").unwrap();
        recipe.set("dm.clip_object=[0.1, 1.2]").unwrap();
        recipe.set("probe.source=mean-pattern").unwrap();
        recipe.set("gpu.updates=atomic").unwrap();
        recipe.set("data.constants.wavelength=1e-10").unwrap();
        recipe.set("seed = 7").unwrap();
        assert_eq!(recipe.engines[0].alpha, Some(0.9));
        assert_eq!(recipe.engines[0].clip_object, Some([0.1, 1.2]));
        assert_eq!(
            recipe.engines[1].power_bound,
            Some(PowerBound::Setting(PowerBoundSetting::Off))
        );
        assert_eq!(
            (recipe.probe.source, recipe.seed),
            (ProbeSource::MeanPattern, 7)
        );
        assert_eq!(recipe.gpu.updates, Updates::Atomic);
        assert_eq!(recipe.data.constants.wavelength, Some(1e-10));
        recipe.check().unwrap();
    }

    #[test]
    fn assignments_are_refused_with_what_was_expected() {
        for (wrong, text) in [
            (
                "dm.gamma=1",
                "expected one of the keys name, iterations, alpha",
            ),
            ("foo=1", "expected one of the keys seed, precision"),
            ("dm.alpha", "expected OPTION=VALUE, such as dm.alpha=0.9"),
            ("=3", "expected OPTION=VALUE"),
            (
                "probe.x=2",
                "expected one of the keys source, aperture, defocus or mode_power",
            ),
            (
                "probe.source=lens",
                "expected auto, file, mean-pattern or aperture",
            ),
            ("dm.alpha=high", "expected a number"),
            (
                "dm.power_bound=[1]",
                "expected \"poisson\", \"off\" or a number of counts",
            ),
            ("seed=-1", "expected a whole number, 0 or more"),
            ("a.b.c=1", "expected one of the keys seed, precision"),
            (
                "seed.b=1",
                "expected a section before the dot, and seed is none",
            ),
            ("data.frames=5", "expected an array of 2 values"),
            (
                "data.frames=[0, 1, 2]",
                "expected an array with fewer values",
            ),
            (
                "data.no_data=none",
                "expected \"auto\", \"off\" or an array of counts",
            ),
        ] {
            let error = Recipe::default().set(wrong).unwrap_err();
            let shown = error.of_option(&format!("--set {wrong}"));
            let start = format!("--set {wrong}: {text}");
            assert!(shown.starts_with(&start), "{shown}");
            assert_eq!(shown.lines().count(), 1, "{shown}");
        }
        let mut recipe = Recipe::default();
        recipe.engines.truncate(1);
        assert_eq!(
            recipe
                .set("raar.beta=0.5")
                .unwrap_err()
                .of_option("--set raar.beta=0.5"),
            "--set raar.beta=0.5: expected an engine of the recipe, which does not run raar"
        );
        for (wrong, expected) in [
            (
                "foo:3",
                "engine: expected dm, raar, ap, lsqml, epie, rpie or ml before the colon, found foo:3",
            ),
            (
                "dm",
                "engine: expected NAME:ITERATIONS, such as dm:100, found dm",
            ),
            (
                "dm:-3",
                "engine: expected 1 to 10000000 iterations, found dm:-3",
            ),
            (
                "dm:0",
                "engine: expected 1 to 10000000 iterations, found dm:0",
            ),
        ] {
            assert_eq!(EngineSpec::parse(wrong).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn an_option_of_the_other_engine_is_refused() {
        let mut recipe = Recipe::default();
        recipe.set("dm.beta=0.5").unwrap();
        assert_eq!(
            recipe.check().unwrap_err().to_string(),
            "dm.beta: expected an option of dm (beta is one of raar), found 0.5"
        );
    }

    #[test]
    fn the_edge_of_a_regulariser_needs_its_weight() {
        let mut recipe = Recipe {
            engines: vec![EngineSpec::parse("ml:5").unwrap()],
            ..Recipe::default()
        };
        recipe.set("ml.regulariser_edge=0.1").unwrap();
        assert_eq!(
            recipe.check().unwrap_err().to_string(),
            "ml.regulariser_edge: expected 0, or ml.regulariser above 0, which uses it, found 0.1"
        );
        recipe.set("ml.regulariser=2").unwrap();
        recipe.check().unwrap();
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for wrong in [
            "dm.alpha=-1",
            "dm.alpha=nan",
            "probe_modes=0",
            "metrics_every=0",
            "probe.aperture=7",
            "dm.overlap_loops=0",
            "dm.iterations=0",
            "dm.clip_object=[2, 1]",
            "probe.defocus=1e300",
            "engines=[]",
            "data.frames=[5, 2]",
            "data.crop=[0, 8]",
            "data.constants.wavelength=1",
            "data.constants.distance=-1",
            "data.format=hdf5",
        ] {
            let mut recipe = Recipe::default();
            recipe.set(wrong).unwrap();
            let error = recipe.check().expect_err(wrong);
            let (option, _) = wrong.split_once('=').unwrap();
            assert_eq!(error.option(), option, "{error}");
        }
    }
}
