//! Options of one engine of a recipe.

use super::RecipeError;
use crate::text::shortest;
use serde::{Deserialize, Serialize};

/// Available engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Difference map (Thibault et al. 2009).
    Dm,
    /// Relaxed averaged alternating reflections (Luke 2005).
    Raar,
    /// Alternating projections.
    Ap,
}

impl EngineName {
    /// All engines.
    pub const ALL: [Self; 3] = [Self::Dm, Self::Raar, Self::Ap];

    /// The engine of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.as_str() == name)
    }

    /// Name on the command line and in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Raar => "raar",
            Self::Ap => "ap",
        }
    }
}

/// Named settings of the power bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerBoundSetting {
    /// Deviation caused by photon noise, estimated from the counts.
    Poisson,
    /// No bound: every valid magnitude is replaced.
    Off,
}

/// Allowed deviation of a frame's magnitudes from the data: mean (af − √I)² over valid pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"poisson\", \"off\" or a number of counts"
)]
pub enum PowerBound {
    /// `"poisson"` or `"off"`.
    Setting(PowerBoundSetting),
    /// Bound in counts.
    Value(f64),
}

/// One engine and its options; omitted options have the defaults below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSpec {
    /// Name of the engine.
    pub name: EngineName,
    /// Largest number of iterations.
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
    /// Factor on the Poisson bound (only used with `power_bound = "poisson"`).
    #[serde(default = "defaults::power_bound_factor")]
    pub power_bound_factor: f64,
    /// Largest number of alternations of object and probe updates per iteration.
    #[serde(default = "defaults::overlap_loops")]
    pub overlap_loops: usize,
    /// Value of ‖ΔP‖/‖P‖ below which the alternations end.
    #[serde(default = "defaults::overlap_tolerance")]
    pub overlap_tolerance: f64,
    /// Whether the object is updated.
    #[serde(default = "defaults::enabled")]
    pub update_object: bool,
    /// Whether the probe is updated.
    #[serde(default = "defaults::enabled")]
    pub update_probe: bool,
    /// First iteration of the whole run, counted from 1, that updates the probe.
    #[serde(default = "defaults::probe_from")]
    pub probe_from: usize,
    /// Weight of the current object in the update, in units of the probe's mean power.
    #[serde(default = "defaults::object_inertia")]
    pub object_inertia: f64,
    /// Weight of the current probe in the update, relative to the number of frames.
    #[serde(default = "defaults::probe_inertia")]
    pub probe_inertia: f64,
    /// Lower and upper limit to which |object| is clipped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clip_object: Option<[f64; 2]>,
    /// Diameter of a centred disc outside of which the probe is zero, as a fraction of the frame's
    /// width and height.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_support: Option<f64>,
    /// The same for the probe's far field, as a fraction of the detector.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_fourier_support: Option<f64>,
    /// Distance of the probe's centre of mass from the window's centre, pixels, beyond which probe,
    /// object and exit waves are shifted back by whole pixels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_centre_tolerance: Option<f64>,
    /// Relative decrease of the mean err_fourier over 10 iterations, compared with the previous 10,
    /// below which the engine ends early.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stop_below_change: Option<f64>,
}

mod defaults {
    use super::{PowerBound, PowerBoundSetting};

    pub(super) fn power_bound() -> PowerBound {
        PowerBound::Setting(PowerBoundSetting::Poisson)
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
    pub(super) fn enabled() -> bool {
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
/// Most iterations of an engine.
const MAX_ITERATIONS: usize = 10_000_000;

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

    /// Parses `NAME:ITERATIONS`, the value of `--engine`.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, RecipeError> {
        let bad = |expected: &str| RecipeError::new("engine", expected, text);
        let (name, count) = text
            .split_once(':')
            .ok_or_else(|| bad("NAME:ITERATIONS, such as dm:100"))?;
        let name =
            EngineName::from_name(name).ok_or_else(|| bad("dm, raar or ap before the colon"))?;
        let count = count.parse().ok();
        let count = count
            .filter(|count| (1..=MAX_ITERATIONS).contains(count))
            .ok_or_else(|| bad(&format!("1 to {MAX_ITERATIONS} iterations")))?;
        Ok(Self::new(name, count))
    }

    /// Fills in the defaults that depend on the engine.
    pub(super) fn fill_defaults(&mut self) {
        match self.name {
            EngineName::Dm => self.alpha = self.alpha.or(Some(ALPHA)),
            EngineName::Raar => self.beta = self.beta.or(Some(BETA)),
            EngineName::Ap => {}
        }
    }

    /// Coefficients (a, b, c) of one step; see [`crate::ptycho::Coefficients`].
    #[must_use]
    pub fn coefficients(&self) -> crate::ptycho::Coefficients {
        match self.name {
            EngineName::Dm => crate::ptycho::Coefficients::dm(self.alpha.unwrap_or(ALPHA)),
            EngineName::Raar => crate::ptycho::Coefficients::raar(self.beta.unwrap_or(BETA)),
            EngineName::Ap => crate::ptycho::Coefficients::ap(),
        }
    }

    /// The power bound in counts; 0 if off.
    #[must_use]
    pub fn bound(&self, poisson: f64) -> f64 {
        match self.power_bound {
            PowerBound::Setting(PowerBoundSetting::Poisson) => poisson * self.power_bound_factor,
            PowerBound::Setting(PowerBoundSetting::Off) => 0.0,
            PowerBound::Value(v) => v,
        }
    }

    pub(super) fn check(&self) -> Result<(), RecipeError> {
        let name = self.name.as_str();
        let within = |option: &str, value: f64, low: f64, high: f64| {
            if value >= low && value <= high {
                return Ok(());
            }
            let expected = format!("{} to {}", shortest(low), shortest(high));
            let option = format!("{name}.{option}");
            Err(RecipeError::new(option, expected, shortest(value)))
        };
        let foreign = |option: &str, other: EngineName, value: f64| {
            let expected = format!(
                "an option of {name} ({option} is one of {})",
                other.as_str()
            );
            Err(RecipeError::new(
                format!("{name}.{option}"),
                expected,
                shortest(value),
            ))
        };
        match (self.name, self.alpha, self.beta) {
            (EngineName::Dm | EngineName::Ap, _, Some(beta)) => {
                return foreign("beta", EngineName::Raar, beta);
            }
            (EngineName::Raar | EngineName::Ap, Some(alpha), _) => {
                return foreign("alpha", EngineName::Dm, alpha);
            }
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
        within(
            "iterations",
            self.iterations as f64,
            1.0,
            MAX_ITERATIONS as f64,
        )?;
        if let Some([low, high]) = self.clip_object
            && !((0.0..=1e6).contains(&low) && (low..=1e6).contains(&high))
        {
            return Err(RecipeError::new(
                format!("{name}.clip_object"),
                "[lower, upper] with 0 <= lower <= upper <= 1e6",
                format!("[{}, {}]", shortest(low), shortest(high)),
            ));
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
