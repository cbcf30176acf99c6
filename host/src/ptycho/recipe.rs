//! What a reconstruction does: every option, with its default, as one TOML document.
//!
//! A recipe is resolved once (file, then `--engine`, then `--set`) and checked; the resolved text
//! goes into the results file and, given back as a recipe, repeats the run.

use serde::{Deserialize, Serialize};

/// Arithmetic of the CPU path; the GPU computes in `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision (CPU only).
    F64,
}

/// Where the start probe comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeSource {
    /// The file's, where it has one, else the mean pattern with a defocus found by trial.
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
    /// Where it comes from.
    pub source: ProbeSource,
    /// `aperture`: diameter of the lit disc on the detector, as a share of the frame's width.
    pub aperture: f64,
    /// `aperture` and `mean-pattern`: distance from the focus to the specimen, m.
    pub defocus: f64,
    /// Share of the probe's power that each extra mode starts with.
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

/// Engines of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Difference map (Thibault et al. 2009).
    Dm,
    /// Relaxed averaged alternating reflections (Luke 2005).
    Raar,
}

impl EngineName {
    /// As typed and as written to files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Raar => "raar",
        }
    }
}

/// A word in place of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerBoundWord {
    /// What photon noise leaves, estimated from the counts.
    Poisson,
    /// No bound: every valid magnitude is replaced.
    Off,
}

/// How far a frame's magnitudes may stay from the data: mean (af − √I)² over valid pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PowerBound {
    /// `"poisson"` or `"off"`.
    Word(PowerBoundWord),
    /// So many counts.
    Value(f64),
}

/// One engine and its options; unstated ones have the defaults below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSpec {
    /// Which.
    pub name: EngineName,
    /// How many iterations at most.
    pub iterations: usize,
    /// Difference map's α (only `dm`; default 1).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alpha: Option<f64>,
    /// RAAR's β (only `raar`; default 0.75).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beta: Option<f64>,
    /// Power bound of the Fourier projection.
    #[serde(default = "defaults::power_bound")]
    pub power_bound: PowerBound,
    /// The Poisson bound is multiplied by this (only used with `power_bound = "poisson"`).
    #[serde(default = "defaults::power_bound_factor")]
    pub power_bound_factor: f64,
    /// Most alternations of object and probe update an iteration.
    #[serde(default = "defaults::overlap_loops")]
    pub overlap_loops: usize,
    /// Alternations end when ‖ΔP‖/‖P‖ falls below this.
    #[serde(default = "defaults::overlap_tolerance")]
    pub overlap_tolerance: f64,
    /// The object is updated.
    #[serde(default = "defaults::yes")]
    pub update_object: bool,
    /// The probe is updated.
    #[serde(default = "defaults::yes")]
    pub update_probe: bool,
    /// First iteration of the whole run, from 1, that updates the probe.
    #[serde(default = "defaults::probe_from")]
    pub probe_from: usize,
    /// Weight of the present object, in units of the mean power of the probe.
    #[serde(default = "defaults::object_inertia")]
    pub object_inertia: f64,
    /// Weight of the present probe, in units of one frame per frame.
    #[serde(default = "defaults::probe_inertia")]
    pub probe_inertia: f64,
    /// |object| is kept between these two.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clip_object: Option<[f64; 2]>,
    /// The probe is zero outside a centred disc of this diameter, as a share of the frame's width
    /// and height.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_support: Option<f64>,
    /// The same for the probe's far field, as a share of the detector.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_fourier_support: Option<f64>,
    /// The probe, with object and exit waves, is moved back by whole pixels when its centre of mass
    /// is further than this from the centre, pixels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_centre_tolerance: Option<f64>,
    /// The engine ends early when the mean of err_fourier over 10 iterations falls by less than
    /// this share against the 10 before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stop_below_change: Option<f64>,
}

mod defaults {
    use super::{PowerBound, PowerBoundWord};

    pub(super) fn power_bound() -> PowerBound {
        PowerBound::Word(PowerBoundWord::Poisson)
    }
    pub(super) fn power_bound_factor() -> f64 {
        0.25
    }
    pub(super) fn overlap_loops() -> usize {
        1
    }
    pub(super) fn overlap_tolerance() -> f64 {
        0.05
    }
    pub(super) fn yes() -> bool {
        true
    }
    pub(super) fn probe_from() -> usize {
        2
    }
    pub(super) fn object_inertia() -> f64 {
        1e-4
    }
    pub(super) fn probe_inertia() -> f64 {
        1e-9
    }
}

/// Default α.
const ALPHA: f64 = 1.0;
/// Default β.
const BETA: f64 = 0.75;

impl EngineSpec {
    /// An engine with default options.
    #[must_use]
    pub fn new(name: EngineName, iterations: usize) -> Self {
        Self {
            name,
            iterations,
            alpha: (name == EngineName::Dm).then_some(ALPHA),
            beta: (name == EngineName::Raar).then_some(BETA),
            power_bound: defaults::power_bound(),
            power_bound_factor: defaults::power_bound_factor(),
            overlap_loops: defaults::overlap_loops(),
            overlap_tolerance: defaults::overlap_tolerance(),
            update_object: true,
            update_probe: true,
            probe_from: defaults::probe_from(),
            object_inertia: defaults::object_inertia(),
            probe_inertia: defaults::probe_inertia(),
            clip_object: None,
            probe_support: None,
            probe_fourier_support: None,
            probe_centre_tolerance: None,
            stop_below_change: None,
        }
    }

    /// Reads `NAME:ITERATIONS`, as `--engine` takes it.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, RecipeError> {
        let bad = |why: &str| RecipeError(format!("engine {text:?}: {why}"));
        let (name, count) = text
            .split_once(':')
            .ok_or_else(|| bad("expected NAME:ITERATIONS, for example dm:100"))?;
        let name = match name {
            "dm" => EngineName::Dm,
            "raar" => EngineName::Raar,
            _ => return Err(bad("unknown engine; this version has dm and raar")),
        };
        let count = count
            .parse()
            .map_err(|_| bad("the iterations must be a whole number"))?;
        Ok(Self::new(name, count))
    }

    /// Coefficients (a, b, c) of one step, see [`crate::ptycho::Coefficients`].
    #[must_use]
    pub fn coefficients(&self) -> crate::ptycho::Coefficients {
        match self.name {
            EngineName::Dm => crate::ptycho::Coefficients::dm(self.alpha.unwrap_or(ALPHA)),
            EngineName::Raar => crate::ptycho::Coefficients::raar(self.beta.unwrap_or(BETA)),
        }
    }

    /// The bound in counts; 0 for none.
    #[must_use]
    pub fn bound(&self, poisson: f64) -> f64 {
        match self.power_bound {
            PowerBound::Word(PowerBoundWord::Poisson) => poisson * self.power_bound_factor,
            PowerBound::Word(PowerBoundWord::Off) => 0.0,
            PowerBound::Value(v) => v,
        }
    }

    fn check(&self) -> Result<(), String> {
        let name = self.name.as_str();
        let within = |option: &str, value: f64, low: f64, high: f64| {
            if value >= low && value <= high {
                Ok(())
            } else {
                Err(format!(
                    "{name}.{option} is {value}: expected {low} to {high}"
                ))
            }
        };
        match (self.name, self.alpha, self.beta) {
            (EngineName::Dm, _, Some(_)) => return Err("dm has no option beta".into()),
            (EngineName::Raar, Some(_), _) => return Err("raar has no option alpha".into()),
            (EngineName::Dm, Some(alpha), None) => within("alpha", alpha, 1e-3, 2.0)?,
            (EngineName::Raar, None, Some(beta)) => within("beta", beta, 1e-3, 1.0)?,
            _ => {}
        }
        if let PowerBound::Value(v) = self.power_bound {
            within("power_bound", v, 0.0, f64::from(f32::MAX))?;
        }
        within("power_bound_factor", self.power_bound_factor, 0.0, 100.0)?;
        within("overlap_loops", self.overlap_loops as f64, 1.0, 100.0)?;
        within("overlap_tolerance", self.overlap_tolerance, 0.0, 1.0)?;
        within("probe_from", self.probe_from as f64, 1.0, 1e9)?;
        within("object_inertia", self.object_inertia, 0.0, 1e6)?;
        within("probe_inertia", self.probe_inertia, 0.0, 1e6)?;
        within("iterations", self.iterations as f64, 0.0, 1e7)?;
        if let Some([low, high]) = self.clip_object {
            within("clip_object", low, 0.0, 1e6)?;
            within("clip_object", high, low, 1e6)?;
        }
        for (option, value) in [
            ("probe_support", self.probe_support),
            ("probe_fourier_support", self.probe_fourier_support),
        ] {
            if let Some(v) = value {
                within(option, v, 1e-3, 2.0)?;
            }
        }
        if let Some(v) = self.probe_centre_tolerance {
            within("probe_centre_tolerance", v, 0.5, 1e6)?;
        }
        if let Some(v) = self.stop_below_change {
            within("stop_below_change", v, 0.0, 1.0)?;
        }
        Ok(())
    }
}

/// How a GPU sums over overlapping windows in object and probe updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Updates {
    /// By tiles of the result: the same bits every time.
    Tiled,
    /// By atomic additions: not the same bits every time.
    Atomic,
    /// Whichever is expected to be faster at the run's sizes: not the same bits every time where that
    /// is the atomic one.
    Fastest,
}

/// What only the GPU back ends (`cuda`, `emulator`) heed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GpuOptions {
    /// Sums over overlapping windows.
    pub updates: Updates,
}

impl Default for GpuOptions {
    fn default() -> Self {
        Self {
            updates: Updates::Tiled,
        }
    }
}

/// A whole reconstruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    /// Seed of all random choices.
    pub seed: u64,
    /// Arithmetic.
    pub precision: Precision,
    /// Mutually incoherent probe modes.
    pub probe_modes: usize,
    /// The results' probe gets the quadratic phase exp(+iπ(x² + y²)/(λz)) that the model leaves out:
    /// the physical wave at the specimen.
    pub physical_probe: bool,
    /// Start probe.
    pub probe: ProbeStart,
    /// GPU only.
    pub gpu: GpuOptions,
    /// How the file is read.
    pub data: crate::io::scan::ReadOptions,
    /// Run in this order.
    pub engines: Vec<EngineSpec>,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            seed: 0,
            precision: Precision::F32,
            probe_modes: 1,
            physical_probe: false,
            probe: ProbeStart::default(),
            gpu: GpuOptions::default(),
            data: crate::io::scan::ReadOptions::default(),
            engines: vec![
                EngineSpec::new(EngineName::Dm, 100),
                EngineSpec::new(EngineName::Raar, 50),
            ],
        }
    }
}

/// What is wrong with a recipe, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecipeError(pub String);

impl Recipe {
    /// Reads a TOML document.
    ///
    /// # Errors
    /// The place and the reason.
    pub fn from_toml(text: &str) -> Result<Self, RecipeError> {
        let recipe: Self = toml::from_str(text).map_err(|e| RecipeError(one_line(&e)))?;
        Ok(recipe.with_engine_defaults())
    }

    /// The resolved document.
    ///
    /// # Errors
    /// A value that TOML cannot hold (a seed above 2⁶³).
    pub fn to_toml(&self) -> Result<String, RecipeError> {
        toml::to_string(self).map_err(|e| RecipeError(format!("the recipe cannot be written: {e}")))
    }

    /// Applies `PATH=VALUE`: `dm.alpha=0.9` sets an option of every engine of that name,
    /// `seed=7` or `probe.source=aperture` one of the recipe.
    ///
    /// # Errors
    /// No such engine or option, or a value of the wrong kind.
    pub fn set(&mut self, assignment: &str) -> Result<(), RecipeError> {
        let bad = |why: String| RecipeError(format!("--set {assignment}: {why}"));
        let (path, value) = assignment
            .split_once('=')
            .ok_or_else(|| bad("expected OPTION=VALUE".into()))?;
        let value = parse_value(value.trim());
        let keys: Vec<&str> = path.trim().split('.').collect();
        let mut table = toml::Table::try_from(&*self).map_err(|e| bad(e.to_string()))?;
        match keys.as_slice() {
            [engine @ ("dm" | "raar"), option] => {
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
                    if spec.get("name").and_then(|n| n.as_str()) == Some(engine) {
                        spec.insert((*option).into(), value.clone());
                        found = true;
                    }
                }
                if !found {
                    return Err(bad(format!("the recipe has no engine {engine}")));
                }
            }
            [key] => {
                table.insert((*key).into(), value);
            }
            [section @ ("probe" | "gpu" | "data"), key] => {
                let entry = table
                    .entry(*section)
                    .or_insert_with(|| toml::Value::Table(toml::Table::new()));
                let section = entry.as_table_mut();
                section
                    .ok_or_else(|| bad("not a section".into()))?
                    .insert((*key).into(), value);
            }
            _ => {
                return Err(bad(
                    "no such option; expected for example dm.alpha, probe.source or seed".into(),
                ));
            }
        }
        *self = table
            .try_into()
            .map_err(|e: toml::de::Error| bad(one_line(&e)))?;
        Ok(())
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first option out of its range.
    pub fn check(&self) -> Result<(), RecipeError> {
        let check = || -> Result<(), String> {
            if !(1..=64).contains(&self.probe_modes) {
                return Err(format!(
                    "probe_modes is {}: expected 1 to 64",
                    self.probe_modes
                ));
            }
            if i64::try_from(self.seed).is_err() {
                return Err(format!(
                    "seed is {}: expected at most {}",
                    self.seed,
                    i64::MAX
                ));
            }
            let p = &self.probe;
            if !(p.aperture > 0.0 && p.aperture <= 1.0) {
                return Err(format!(
                    "probe.aperture is {}: expected above 0, up to 1",
                    p.aperture
                ));
            }
            if !p.defocus.is_finite() {
                return Err(format!("probe.defocus is {}: expected metres", p.defocus));
            }
            if !(p.mode_power > 0.0 && p.mode_power * (self.probe_modes.max(2) - 1) as f64 <= 0.9) {
                return Err(format!(
                    "probe.mode_power is {}: expected above 0, and at most 0.9 for all extra modes together",
                    p.mode_power
                ));
            }
            self.engines.iter().try_for_each(EngineSpec::check)
        };
        check().map_err(RecipeError)
    }

    fn with_engine_defaults(mut self) -> Self {
        for spec in &mut self.engines {
            match spec.name {
                EngineName::Dm => spec.alpha = spec.alpha.or(Some(ALPHA)),
                EngineName::Raar => spec.beta = spec.beta.or(Some(BETA)),
            }
        }
        self
    }
}

fn parse_value(text: &str) -> toml::Value {
    toml::from_str::<toml::Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.into()))
}

fn one_line(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let words: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| {
            !line.is_empty() && !line.starts_with('|') && !line.starts_with(char::is_numeric)
        })
        .collect();
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        recipe.set("seed = 7").unwrap();
        assert_eq!(recipe.engines[0].alpha, Some(0.9));
        assert_eq!(recipe.engines[0].clip_object, Some([0.1, 1.2]));
        assert_eq!(
            recipe.engines[1].power_bound,
            PowerBound::Word(PowerBoundWord::Off)
        );
        assert_eq!(
            (recipe.probe.source, recipe.seed),
            (ProbeSource::MeanPattern, 7)
        );
        assert_eq!(recipe.gpu.updates, Updates::Atomic);
        recipe.check().unwrap();
    }

    #[test]
    fn what_does_not_exist_is_refused_in_one_line() {
        for wrong in [
            "dm.gamma=1",
            "foo=1",
            "dm.alpha",
            "probe.x=2",
            "dm.alpha=high",
            "a.b.c=1",
        ] {
            let error = Recipe::default().set(wrong).unwrap_err().to_string();
            assert!(
                error.contains(wrong) && error.lines().count() == 1,
                "{error}"
            );
        }
        assert!(
            EngineSpec::parse("foo:3")
                .unwrap_err()
                .to_string()
                .contains("dm and raar")
        );
        assert!(EngineSpec::parse("dm:-3").is_err() && EngineSpec::parse("dm").is_err());
    }

    #[test]
    fn an_option_of_the_other_engine_is_refused() {
        let mut recipe = Recipe::default();
        recipe.set("dm.beta=0.5").unwrap();
        assert!(
            recipe
                .check()
                .unwrap_err()
                .to_string()
                .contains("dm has no option beta")
        );
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for wrong in [
            "dm.alpha=-1",
            "dm.alpha=nan",
            "probe_modes=0",
            "probe.aperture=7",
            "dm.overlap_loops=0",
        ] {
            let mut recipe = Recipe::default();
            recipe.set(wrong).unwrap();
            assert!(recipe.check().is_err(), "{wrong}");
        }
    }
}
