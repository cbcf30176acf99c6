//! What a reconstruction does: every option, with its default, as one TOML document.
//!
//! A recipe is resolved once (file, then `--engine`, then `--set`) and checked; the resolved text
//! goes into the results file and, given back as a recipe, repeats the run.

use super::engine_spec::EngineSpec;
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
    /// Share of the probe's power that each extra mode starts with; all of them together start with
    /// half of it at most.
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
    /// The results' probe gets the quadratic phase exp(−iπ(x² + y²)/(λz)) that the model leaves out:
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
                EngineSpec::new(super::EngineName::Dm, 100),
                EngineSpec::new(super::EngineName::Raar, 50),
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
            [sections @ .., key] => {
                let mut section = &mut table;
                for name in sections {
                    section = section
                        .entry(*name)
                        .or_insert_with(|| toml::Value::Table(toml::Table::new()))
                        .as_table_mut()
                        .ok_or_else(|| bad(format!("{name} has no options of its own")))?;
                }
                section.insert((*key).into(), value);
            }
            [] => return Err(bad("expected OPTION=VALUE".into())),
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
            if !(-10.0..=10.0).contains(&p.defocus) {
                return Err(format!(
                    "probe.defocus is {:e}: expected metres, at most 10 either way",
                    p.defocus
                ));
            }
            if !(p.mode_power > 0.0 && p.mode_power <= 0.5) {
                return Err(format!(
                    "probe.mode_power is {}: expected above 0, up to 0.5",
                    p.mode_power
                ));
            }
            if self.engines.is_empty() {
                return Err(
                    "the recipe has no engine: expected one or more, for example dm:100".into(),
                );
            }
            self.engines.iter().try_for_each(EngineSpec::check)
        };
        check().map_err(RecipeError)
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
    use crate::ptycho::{PowerBound, PowerBoundWord};

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
            PowerBound::Word(PowerBoundWord::Off)
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
            "dm.iterations=0",
            "dm.clip_object=[2, 1]",
            "probe.defocus=1e300",
            "engines=[]",
        ] {
            let mut recipe = Recipe::default();
            recipe.set(wrong).unwrap();
            assert!(recipe.check().is_err(), "{wrong}");
        }
    }
}
