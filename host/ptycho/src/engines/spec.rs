//! Options of one engine of a recipe.

use super::batch_shares::REGIONS;
use super::likelihood::{LikelihoodMethod, Noise};
use super::method::{BatchMethod, BatchUpdate, Method};
use super::name::{EngineName, MAX_ITERATIONS};
use super::updates::Smoothness;
use crate::{BatchOrder, RecipeError};
use serde::{Deserialize, Serialize};
use warpstride_core::text::shortest;

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
    /// Power bound of the Fourier projection (default `"poisson"`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power_bound: Option<PowerBound>,
    /// Factor on the Poisson bound (only used with `power_bound = "poisson"`; default 0.25).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power_bound_factor: Option<f64>,
    /// Largest number of alternations of object and probe updates per iteration (default 1).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub overlap_loops: Option<usize>,
    /// Value of ‖ΔP‖/‖P‖ below which the alternations end (default 0.05).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub overlap_tolerance: Option<f64>,
    /// Weight of the current object in the update, in units of the probe's mean power (default
    /// 1e-4).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub object_inertia: Option<f64>,
    /// Weight of the current probe in the update, relative to the number of frames (default 1e-9).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_inertia: Option<f64>,
    /// Most frames of a mini-batch (only `lsqml`, `epie` and `rpie`; default 100, `epie` 1).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batch: Option<usize>,
    /// Where the frames of a batch lie (default: `"spread"`, but for `lsqml` `"compact"` from 16
    /// batches on).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batch_order: Option<BatchOrder>,
    /// Regions of the scan whose mini-batches are worked on side by side, each with its own copy of
    /// object and probe: 1 or 4 (only `lsqml`, `epie` and `rpie`; default: 4 for large scans, 1 for
    /// others).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub regions: Option<usize>,
    /// Share of the last change that is repeated (only `lsqml`; default 0.5).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub momentum: Option<f64>,
    /// Weight of the regulariser Σ h·|O_n − O_i|² over neighbouring pixels (only `lsqml` and `ml`;
    /// default 0).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub regulariser: Option<f64>,
    /// δ of the regulariser's h = 1/√(1 + |O_n − O_i|²/δ²); 0: h = 1 (only `lsqml` and `ml`;
    /// default 0).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub regulariser_edge: Option<f64>,
    /// α of the object's update (only `rpie`; default 0.1).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub object_alpha: Option<f64>,
    /// Factor on the object's update (only `epie` and `rpie`; default 1).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub object_step: Option<f64>,
    /// Factor on the probe's update (only `epie` and `rpie`; default 0.2 and 1).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_step: Option<f64>,
    /// Noise whose likelihood is maximised (only `ml`; default `"poisson"`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub noise: Option<Noise>,
    /// Whether gradients are divided by the weights of object and probe (only `ml`; default true).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub preconditioner: Option<bool>,
    /// Standard deviation of the Gaussian that smooths the object's gradient, pixels; 0: none (only
    /// `ml`; default 0).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub smooth_gradient: Option<f64>,
    /// Factor on `smooth_gradient` after each iteration (only `ml`; default 1).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub smooth_gradient_decay: Option<f64>,
    /// Whether frames are at their exact positions, by shifting the probe by fractions of a pixel,
    /// or at the nearest pixel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subpixel: Option<bool>,
    /// Whether the object is updated.
    #[serde(default = "defaults::enabled")]
    pub update_object: bool,
    /// Whether the probe is updated.
    #[serde(default = "defaults::enabled")]
    pub update_probe: bool,
    /// First iteration of the whole run, counted from 1, that updates the probe.
    #[serde(default = "defaults::probe_from")]
    pub probe_from: usize,
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
    pub(super) fn enabled() -> bool {
        true
    }
    pub(super) fn probe_from() -> usize {
        2
    }
}

/// Batches from which on those of `lsqml` are compact.
const COMPACT_FROM: usize = 16;
/// Default α.
const ALPHA: f64 = 1.0;
/// Default β.
const BETA: f64 = 0.75;
/// Default α of rPIE's object update.
const OBJECT_ALPHA: f64 = 0.1;
/// Default momentum of LSQ-ML.
const MOMENTUM: f64 = 0.5;

impl EngineSpec {
    /// An engine with default options.
    #[must_use]
    pub fn new(name: EngineName, iterations: usize) -> Self {
        let mut new = Self {
            name,
            iterations,
            alpha: None,
            beta: None,
            power_bound: None,
            power_bound_factor: None,
            overlap_loops: None,
            overlap_tolerance: None,
            object_inertia: None,
            probe_inertia: None,
            batch: None,
            batch_order: None,
            regions: None,
            momentum: None,
            regulariser: None,
            regulariser_edge: None,
            object_alpha: None,
            object_step: None,
            probe_step: None,
            noise: None,
            preconditioner: None,
            smooth_gradient: None,
            smooth_gradient_decay: None,
            subpixel: None,
            update_object: true,
            update_probe: true,
            probe_from: defaults::probe_from(),
            clip_object: None,
            probe_support: None,
            probe_fourier_support: None,
            probe_centre_tolerance: None,
            stop_below_change: None,
        };
        new.fill_defaults();
        new
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
        let name = EngineName::from_name(name)
            .ok_or_else(|| bad("dm, raar, ap, lsqml, epie, rpie or ml before the colon"))?;
        let count = count.parse().ok();
        let count = count
            .filter(|count| (1..=MAX_ITERATIONS).contains(count))
            .ok_or_else(|| bad(&format!("1 to {MAX_ITERATIONS} iterations")))?;
        Ok(Self::new(name, count))
    }

    /// Fills in the defaults that depend on the engine.
    pub(crate) fn fill_defaults(&mut self) {
        use EngineName::{Ap, Dm, Epie, Lsqml, Ml, Raar, Rpie};
        fn fill<T>(option: &mut Option<T>, default: T) {
            option.get_or_insert(default);
        }
        fill(&mut self.subpixel, !self.name.projects());
        match self.name {
            Dm => fill(&mut self.alpha, ALPHA),
            Raar => fill(&mut self.beta, BETA),
            Rpie => fill(&mut self.object_alpha, OBJECT_ALPHA),
            Lsqml => {
                fill(&mut self.momentum, MOMENTUM);
                fill(&mut self.regulariser, 0.0);
                fill(&mut self.regulariser_edge, 0.0);
            }
            Ml => {
                fill(&mut self.noise, Noise::Amplitude);
                fill(&mut self.preconditioner, true);
                fill(&mut self.smooth_gradient, 0.0);
                fill(&mut self.smooth_gradient_decay, 1.0);
                fill(&mut self.regulariser, 0.0);
                fill(&mut self.regulariser_edge, 0.0);
            }
            Ap | Epie => {}
        }
        if self.name.projects() {
            fill(
                &mut self.power_bound,
                PowerBound::Setting(PowerBoundSetting::Poisson),
            );
            fill(&mut self.power_bound_factor, 0.25);
            fill(&mut self.overlap_loops, 1);
            fill(&mut self.overlap_tolerance, 0.05);
            fill(&mut self.object_inertia, 1e-4);
            fill(&mut self.probe_inertia, 1e-9);
        }
        match self.name {
            Lsqml => {
                fill(&mut self.batch, 100);
            }
            Epie | Rpie => {
                let single = self.name == Epie;
                fill(&mut self.batch, if single { 1 } else { 100 });
                fill(&mut self.batch_order, BatchOrder::Spread);
                fill(&mut self.object_step, 1.0);
                fill(&mut self.probe_step, if single { 0.2 } else { 1.0 });
            }
            Dm | Raar | Ap | Ml => {}
        }
    }

    /// Coefficients (a, b, c) of one step of a projection engine; see [`crate::Coefficients`].
    #[must_use]
    pub fn coefficients(&self) -> crate::Coefficients {
        match self.name {
            EngineName::Dm => crate::Coefficients::dm(self.alpha.unwrap_or(ALPHA)),
            EngineName::Raar => crate::Coefficients::raar(self.beta.unwrap_or(BETA)),
            _ => crate::Coefficients::ap(),
        }
    }

    /// Where the frames of a batch lie in a scan of so many frames. Compact batches of `lsqml`
    /// cover a large scan sooner; of a few of them each sees a large part of the object only, and
    /// parts with phases that do not fit together can remain (docs/ptychography.md, section 4a).
    #[must_use]
    pub fn order_of_batches(&self, frames: usize) -> BatchOrder {
        let size = self.batch.unwrap_or(1);
        let large = self.name == EngineName::Lsqml && frames / size.max(1) >= COMPACT_FROM;
        self.batch_order.unwrap_or(match large {
            true => BatchOrder::Compact,
            false => BatchOrder::Spread,
        })
    }

    /// What an iteration of a scan of so many frames does.
    #[must_use]
    pub fn method(&self, frames: usize) -> Method {
        let smoothness = Smoothness {
            weight: self.regulariser.unwrap_or(0.0),
            edge: self.regulariser_edge.unwrap_or(0.0),
        };
        let update = match self.name {
            EngineName::Dm | EngineName::Raar | EngineName::Ap => return Method::Projection,
            EngineName::Lsqml => BatchUpdate::LeastSquares {
                momentum: self.momentum.unwrap_or(MOMENTUM),
                smoothness,
            },
            EngineName::Ml => {
                return Method::Likelihood(LikelihoodMethod {
                    noise: self.noise.unwrap_or(Noise::Amplitude),
                    preconditioner: self.preconditioner.unwrap_or(true),
                    smooth_gradient: self.smooth_gradient.unwrap_or(0.0),
                    smooth_gradient_decay: self.smooth_gradient_decay.unwrap_or(1.0),
                    smoothness,
                });
            }
            EngineName::Epie | EngineName::Rpie => BatchUpdate::Pie {
                object_alpha: self.object_alpha.unwrap_or(1.0),
                probe_alpha: 1.0,
                object_step: self.object_step.unwrap_or(1.0),
                probe_step: self.probe_step.unwrap_or(1.0),
            },
        };
        Method::Batches(BatchMethod {
            size: self.batch.unwrap_or(1),
            order: self.order_of_batches(frames),
            update,
            regions: false,
        })
    }

    /// The power bound in counts; 0 if off.
    #[must_use]
    pub fn bound(&self, poisson: f64) -> f64 {
        match self.power_bound {
            Some(PowerBound::Setting(PowerBoundSetting::Poisson)) => {
                poisson * self.power_bound_factor.unwrap_or(1.0)
            }
            Some(PowerBound::Setting(PowerBoundSetting::Off)) | None => 0.0,
            Some(PowerBound::Value(v)) => v,
        }
    }

    pub(crate) fn check(&self) -> Result<(), RecipeError> {
        let name = self.name.as_str();
        let within = |option: &str, value: f64, low: f64, high: f64| {
            if value >= low && value <= high {
                return Ok(());
            }
            let expected = format!("{} to {}", shortest(low), shortest(high));
            let option = format!("{name}.{option}");
            Err(RecipeError::new(option, expected, shortest(value)))
        };
        use EngineName::{Ap, Dm, Epie, Lsqml, Ml, Raar, Rpie};
        let projections = &[Dm, Raar, Ap][..];
        let batched = &[Lsqml, Epie, Rpie][..];
        // Numbers with their limits, and the engines that have the option.
        let numbers = [
            ("alpha", self.alpha, 1e-3, 2.0, &[Dm][..]),
            ("beta", self.beta, 1e-3, 1.0, &[Raar]),
            (
                "power_bound_factor",
                self.power_bound_factor,
                0.0,
                100.0,
                projections,
            ),
            (
                "overlap_loops",
                self.overlap_loops.map(|n| n as f64),
                1.0,
                100.0,
                projections,
            ),
            (
                "overlap_tolerance",
                self.overlap_tolerance,
                0.0,
                1.0,
                projections,
            ),
            ("object_inertia", self.object_inertia, 0.0, 1e6, projections),
            ("probe_inertia", self.probe_inertia, 0.0, 1e6, projections),
            ("batch", self.batch.map(|n| n as f64), 1.0, 1e9, batched),
            ("momentum", self.momentum, 0.0, 0.99, &[Lsqml]),
            ("regulariser", self.regulariser, 0.0, 1e9, &[Lsqml, Ml]),
            (
                "regulariser_edge",
                self.regulariser_edge,
                0.0,
                1e3,
                &[Lsqml, Ml],
            ),
            ("smooth_gradient", self.smooth_gradient, 0.0, 100.0, &[Ml]),
            (
                "smooth_gradient_decay",
                self.smooth_gradient_decay,
                0.0,
                1.0,
                &[Ml],
            ),
            ("object_alpha", self.object_alpha, 1e-3, 1.0, &[Rpie]),
            ("object_step", self.object_step, 0.0, 2.0, &[Epie, Rpie]),
            ("probe_step", self.probe_step, 0.0, 2.0, &[Epie, Rpie]),
        ];
        for (option, value, low, high, engines) in numbers {
            let Some(value) = value else { continue };
            self.belongs(option, engines, shortest(value))?;
            within(option, value, low, high)?;
        }
        if let Some(count) = self.regions {
            self.belongs("regions", batched, count.to_string())?;
            let smooth = self.regulariser.is_some_and(|weight| weight > 0.0);
            let expected = match smooth {
                // It acts on the whole object in each batch.
                true => "1, because there is a regulariser",
                false => "1 or 4",
            };
            if count != 1 && (smooth || count != REGIONS) {
                let option = format!("{name}.regions");
                return Err(RecipeError::new(option, expected, count.to_string()));
            }
        }
        if let Some(edge) = self.regulariser_edge
            && edge > 0.0
            && self.regulariser == Some(0.0)
        {
            let option = format!("{name}.regulariser_edge");
            let expected = format!("0, or {name}.regulariser above 0, which uses it");
            return Err(RecipeError::new(option, expected, shortest(edge)));
        }
        if let Some(order) = self.batch_order {
            let found = if order == BatchOrder::Spread {
                "spread"
            } else {
                "compact"
            };
            self.belongs("batch_order", batched, found.to_owned())?;
        }
        if let Some(noise) = self.noise {
            self.belongs("noise", &[Ml], noise.as_str().to_owned())?;
        }
        if let Some(on) = self.preconditioner {
            self.belongs("preconditioner", &[Ml], on.to_string())?;
        }
        if let Some(bound) = self.power_bound {
            let found = match bound {
                PowerBound::Value(v) => shortest(v),
                PowerBound::Setting(PowerBoundSetting::Poisson) => "poisson".to_owned(),
                PowerBound::Setting(PowerBoundSetting::Off) => "off".to_owned(),
            };
            self.belongs("power_bound", projections, found)?;
        }
        if let Some(PowerBound::Value(v)) = self.power_bound {
            within("power_bound", v, 0.0, f64::from(f32::MAX))?;
        }
        within("probe_from", self.probe_from as f64, 1.0, 1e9)?;
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

    /// Refuses an option that this engine does not have.
    fn belongs(
        &self,
        option: &str,
        engines: &[EngineName],
        found: String,
    ) -> Result<(), RecipeError> {
        if engines.contains(&self.name) {
            return Ok(());
        }
        let name = self.name.as_str();
        let owners: Vec<&str> = engines.iter().map(|engine| engine.as_str()).collect();
        let expected = format!(
            "an option of {name} ({option} is one of {})",
            owners.join(", ")
        );
        Err(RecipeError::new(
            format!("{name}.{option}"),
            expected,
            found,
        ))
    }
}
