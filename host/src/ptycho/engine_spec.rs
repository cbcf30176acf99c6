//! One engine of a recipe and its options.

use super::RecipeError;
use serde::{Deserialize, Serialize};

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
#[serde(
    untagged,
    expecting = "expected \"poisson\", \"off\" or a number of counts"
)]
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

    /// States the defaults that depend on the engine.
    pub(super) fn fill_defaults(&mut self) {
        match self.name {
            EngineName::Dm => self.alpha = self.alpha.or(Some(ALPHA)),
            EngineName::Raar => self.beta = self.beta.or(Some(BETA)),
        }
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

    pub(super) fn check(&self) -> Result<(), String> {
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
        within("iterations", self.iterations as f64, 1.0, 1e7)?;
        if let Some([low, high]) = self.clip_object
            && !((0.0..=1e6).contains(&low) && (low..=1e6).contains(&high))
        {
            return Err(format!(
                "{name}.clip_object is [{low}, {high}]: expected [lowest, highest] of 0 to 1e6"
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
