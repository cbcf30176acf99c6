//! The summary of a run for other programs.

use crate::data::{DetectorModel, Geometry, HistoryEntry, Reconstruction, Scan, SliceStack};
use crate::model::multislice::at_limit;
use crate::positions::frame_statistics::affine_fit;
use crate::quality::Comparison;
use crate::{
    AffineFit, AutomaticRecipe, Displacements, FocusSearch, OrientationSearch, ProbeSize,
    RotationSearch, ScaleSpread,
};
use serde::Serialize;
use warpstride_core::run::RunRecord;
use warpstride_core::text::{count, length, significant};

/// What `--summary` writes. Numbers that are missing or not finite are `null` in JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// What the summaries of all sciences have: where it was computed, files, times, notes.
    #[serde(flatten)]
    pub record: RunRecord,
    /// Doubtful properties of the scan, as `ptycho info` finds them.
    pub problems: Vec<String>,
    /// The search for the orientation of the positions; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orientation: Option<OrientationSearch>,
    /// The search for the rotation between scan and detector; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationSearch>,
    /// What the automatic recipe tried and kept; absent if the recipe was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic: Option<AutomaticRecipe>,
    /// Engines in the order they ran, with the iterations that each did: `dm:40,raar:40`.
    pub engine: String,
    /// How a GPU computed the last projection; absent on a CPU and without projections.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// Iterations of all engines together.
    pub iterations: usize,
    /// Mean time of an iteration, ms.
    pub ms_per_iteration: Option<f64>,
    /// Last R computed: Σ w (√I_model − √I)² / Σ w I.
    pub r_factor: Option<f64>,
    /// R_free after the last iteration; `null` without free pixels.
    pub r_free: Option<f64>,
    /// Last photon error computed.
    pub err_phot: Option<f64>,
    /// Last Fourier error.
    pub err_fourier: Option<f64>,
    /// Last change of the exit waves computed.
    pub err_exit: Option<f64>,
    /// Frames of the scan.
    pub frames: usize,
    /// Probe modes.
    pub probe_modes: usize,
    /// Share of each mode in the probe's power, strongest first.
    pub mode_power: Vec<f64>,
    /// Share of each object mode in the power behind the probe, strongest first; absent for one
    /// mode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub object_mode_power: Vec<f64>,
    /// Points of each exposure of a fly scan; absent for a step scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure_points: Option<usize>,
    /// Variations of the first probe mode from frame to frame; absent without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable_probe: Option<VariableProbeSummary>,
    /// Size of the probe; absent if it has no power.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_size: Option<ProbeSize>,
    /// The search for the probe's focus; absent if there was none, or the probe has no power.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_focus: Option<FocusSearch>,
    /// Distances of the refined positions from the recorded ones; absent if they were not refined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displacements: Option<Displacements>,
    /// The affine map, m, that takes the recorded to the refined positions; absent if they were not
    /// refined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affine: Option<AffineFit>,
    /// Spread of the frames' intensity scales; absent if they were not fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_scales: Option<ScaleSpread>,
    /// The detector's blur and background; absent if frames are the intensities themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detector: Option<DetectorSummary>,
    /// Object shape (rows, columns).
    pub object_shape: [usize; 2],
    /// Object pixel (row, column), m.
    pub pixel: [f64; 2],
    /// The propagation to a near field; absent for far fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_field: Option<NearFieldSummary>,
    /// The slices of a thick specimen; absent for a thin one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<SlicesSummary>,
    /// One entry an iteration.
    pub history: Vec<HistoryEntry>,
    /// ‖w (O − truth)‖ / ‖w truth‖ without the ambiguities; absent where the truth is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_l2: Option<f64>,
    /// Half period, m, to which object and truth agree at half a bit; absent where the truth is
    /// unknown or they do not agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution_half_bit: Option<f64>,
    /// The same at one bit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution_one_bit: Option<f64>,
}

/// The slices of a thick specimen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlicesSummary {
    /// Number of slices.
    pub count: usize,
    /// Distance from each slice to the next, m.
    pub distances: Vec<f64>,
    /// The distances at the start, m.
    pub start_distances: Vec<f64>,
    /// Whether each distance is at the limit of its refinement, half or twice that at the start.
    pub at_limit: Vec<bool>,
}

impl SlicesSummary {
    /// That of a result's slices.
    #[must_use]
    pub fn new(of: &SliceStack) -> Self {
        Self {
            count: of.slices.dim().0,
            distances: of.distances.clone(),
            start_distances: of.start_distances.clone(),
            at_limit: at_limit(&of.distances, &of.start_distances),
        }
    }

    /// What to do if a distance is at the limit of its refinement.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let at = (self.at_limit.iter().zip(&self.distances)).filter(|(at, _)| **at);
        let mut at: Vec<String> = at.map(|(_, distance)| length(*distance, 4)).collect();
        at.dedup();
        (!at.is_empty()).then(|| {
            format!(
                "the refinement of the distances between slices has reached its limit, half or twice the distance at the start: {}; repeat the run from another --slice-distance, as the best one may be beyond",
                at.join(", ")
            )
        })
    }
}

/// The detector's blur and background.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DetectorSummary {
    /// Standard deviations of the blur (row direction, column direction), pixels.
    pub blur: [f64; 2],
    /// Mean background over the pixels, photons; absent without a background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<f64>,
    /// The least and the greatest background of a pixel, photons; absent without a background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_range: Option<[f64; 2]>,
}

impl DetectorSummary {
    fn new(of: &DetectorModel) -> Self {
        let background = of.background.as_ref();
        Self {
            blur: of.blur,
            background: background.and_then(|b| b.mean()),
            background_range: background.map(|b| {
                let start = [f64::INFINITY, f64::NEG_INFINITY];
                b.iter()
                    .fold(start, |[low, high], v| [low.min(*v), high.max(*v)])
            }),
        }
    }
}

impl std::fmt::Display for SlicesSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Equal distances are one number.
        let text = |distances: &[f64]| -> String {
            let equal = distances.windows(2).all(|pair| pair[0] == pair[1]);
            let shown = if equal { 1 } else { distances.len() };
            let lengths: Vec<String> = distances
                .iter()
                .take(shown)
                .map(|d| length(*d, 4))
                .collect();
            lengths.join(", ")
        };
        write!(f, "{}, {} apart", self.count, text(&self.distances))?;
        if self.distances != self.start_distances {
            write!(f, ", {} at the start", text(&self.start_distances))?;
        }
        Ok(())
    }
}

/// Variations of the first probe mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariableProbeSummary {
    /// Number of variations.
    pub variations: usize,
    /// Share of each variation in the power of all probe modes and variations, in the mean over the
    /// frames, strongest first.
    pub power: Vec<f64>,
    /// Largest such share of a single frame, of all variations together.
    pub largest: f64,
}

impl VariableProbeSummary {
    /// That of a result; `None` without variations.
    fn of(of: &Reconstruction) -> Option<Self> {
        let variable = of.parts.variable_probe.as_ref()?;
        let modes: f64 = of.probe.iter().map(num_complex::Complex::norm_sqr).sum();
        let power = variable.power();
        let share = |power: f64, of: f64| if power > 0.0 { power / of } else { 0.0 };
        let all = modes + power.sum();
        let of_frame = |c: ndarray::ArrayView1<'_, f64>| c.iter().map(|c| c * c).sum::<f64>();
        let frames = variable.coefficients.rows().into_iter().map(of_frame);
        let largest = frames.fold(0.0, f64::max);
        Some(Self {
            variations: variable.count(),
            power: power.iter().map(|p| share(*p, all)).collect(),
            largest: share(largest, modes + largest),
        })
    }
}

impl std::fmt::Display for VariableProbeSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: f64| significant(100.0 * share, 3);
        let shares: Vec<String> = self.power.iter().map(|share| percent(*share)).collect();
        write!(
            f,
            "{}, with {} % of the power, at most {} % of that of a frame",
            count(self.variations, ["variation", "variations"]),
            shares.join(", "),
            percent(self.largest)
        )
    }
}

impl std::fmt::Display for DetectorSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if self.blur.iter().any(|sigma| *sigma > 0.0) {
            let [rows, columns] = self.blur.map(|sigma| significant(sigma, 3));
            parts.push(if rows == columns {
                format!("blurred by {rows} pixels")
            } else {
                format!("blurred by {rows} x {columns} pixels")
            });
        }
        if let (Some(mean), Some([low, high])) = (self.background, self.background_range) {
            let range = if low < high {
                format!(" ({} to {})", significant(low, 3), significant(high, 3))
            } else {
                String::new()
            };
            parts.push(format!(
                "background {} photons in a pixel{range}",
                significant(mean, 4)
            ));
        }
        f.write_str(&parts.join(", "))
    }
}

/// The propagation to a near field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearFieldSummary {
    /// Distance from the focus of a cone beam to the specimen, m; `null` for a parallel beam.
    pub focus_to_sample: Option<f64>,
    /// Geometric magnification, 1 for a parallel beam.
    pub magnification: f64,
    /// Distance, m, over which a parallel beam propagates likewise.
    pub effective_distance: f64,
    /// Δ²/(λz) of an object pixel Δ (row, column) at the effective distance z.
    pub fresnel_number: [f64; 2],
}

impl NearFieldSummary {
    /// That of a result; `None` for far fields.
    fn of(of: &Reconstruction) -> Option<Self> {
        let of_pixel = Geometry {
            wavelength: of.wavelength,
            distance: of.distance,
            pixel_size: of.pixel,
            propagation: of.propagation,
        };
        let magnification = of_pixel.magnification();
        // The detector's pixel is the object's times the magnification.
        let geometry = Geometry {
            pixel_size: of.pixel.map(|side| side * magnification),
            ..of_pixel
        };
        Self::new(&geometry)
    }

    /// That of a scan's geometry; `None` for far fields.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Option<Self> {
        geometry.is_near_field().then(|| Self {
            focus_to_sample: geometry.focus_to_sample(),
            magnification: geometry.magnification(),
            effective_distance: geometry.effective_distance(),
            fresnel_number: geometry.fresnel_number(1, 1),
        })
    }
}

impl Summary {
    /// Sums up `of`, the record of its run, and its comparison with the truth if there is one.
    #[must_use]
    pub fn new(of: &Reconstruction, record: RunRecord, truth: Option<&Comparison>) -> Self {
        let last = of.history.last();
        let newest =
            |value: fn(&HistoryEntry) -> Option<f64>| of.history.iter().rev().find_map(value);
        Self {
            record,
            problems: Vec::new(),
            orientation: None,
            rotation: None,
            automatic: AutomaticRecipe::from_json(&of.trials),
            engine: engine_spans(&of.history)
                .iter()
                .map(|(name, [first, last])| format!("{name}:{}", last - first + 1))
                .collect::<Vec<_>>()
                .join(","),
            plan: of.plan.clone(),
            iterations: of.history.len(),
            ms_per_iteration: last.map(|h| 1e3 * h.seconds / of.history.len() as f64),
            r_factor: newest(|h| h.r_factor),
            r_free: newest(|h| h.r_free),
            err_phot: newest(|h| h.err_phot),
            err_fourier: last.map(|h| h.err_fourier),
            err_exit: newest(|h| h.err_exit),
            frames: of.corners.len(),
            probe_modes: of.probe.shape()[0],
            mode_power: of.mode_power.clone(),
            object_mode_power: (of.parts.object_modes.as_ref())
                .map_or_else(Vec::new, |modes| modes.power.clone()),
            exposure_points: of.parts.exposures.as_ref().map(|of| of.points),
            variable_probe: VariableProbeSummary::of(of),
            probe_size: ProbeSize::new(&of.probe, of.pixel),
            probe_focus: None,
            displacements: Displacements::new(of),
            affine: affine_fit(of),
            frame_scales: ScaleSpread::new(&of.frame_scales),
            detector: of.parts.detector.as_ref().map(DetectorSummary::new),
            object_shape: of.object.dim().into(),
            pixel: of.pixel,
            near_field: NearFieldSummary::of(of),
            slices: of.parts.slices.as_ref().map(SlicesSummary::new),
            history: of.history.clone(),
            relative_l2: truth.map(|t| t.relative_l2),
            resolution_half_bit: truth.and_then(|t| t.resolution_half_bit),
            resolution_one_bit: truth.and_then(|t| t.resolution_one_bit),
        }
    }

    /// Adds what [`crate::diagnose`] finds in the scan.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<String>) -> Self {
        self.problems = problems;
        self
    }

    /// Says which frames of `scan`, with their numbers in its file, have fitted scales that ended
    /// at a limit.
    #[must_use]
    pub fn with_scales_of(mut self, scan: &Scan) -> Self {
        self.frame_scales = self.frame_scales.map(|scales| scales.of_frames(scan));
        self.problems.extend(self.scales_problem());
        self
    }

    /// A sentence on frames whose scales ended at a limit of their fit.
    #[must_use]
    pub fn scales_problem(&self) -> Option<String> {
        self.frame_scales.as_ref()?.problem()
    }

    /// Searches for the focus of the probe of the result `of`, which takes longer than the rest of
    /// the summary.
    #[must_use]
    pub fn with_focus(mut self, of: &Reconstruction) -> Self {
        self.probe_focus = FocusSearch::of_result(of);
        self
    }

    /// Adds the search for the rotation that preceded the run.
    #[must_use]
    pub fn with_rotation(mut self, search: Option<RotationSearch>) -> Self {
        self.rotation = search;
        self
    }

    /// Adds the search for the orientation that preceded the run.
    #[must_use]
    pub fn with_orientation(mut self, search: Option<OrientationSearch>) -> Self {
        self.orientation = search;
        self
    }

    /// As JSON, indented, with a newline at the end.
    ///
    /// # Errors
    /// None for what [`Self::new`] makes; the encoder's signature has one.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Runs of one engine: its name and its entries' first and last iteration.
pub(crate) fn engine_spans(history: &[HistoryEntry]) -> Vec<(&str, [usize; 2])> {
    history
        .chunk_by(|a, b| a.engine == b.engine)
        .filter_map(|run| {
            let (first, last) = (run.first()?, run.last()?);
            Some((first.engine.as_str(), [first.iteration, last.iteration]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_keys_of_the_contract_are_there_and_nothing_is_nan() {
        let mut of = sample::reconstruction();
        of.history[7].err_exit = Some(f64::NAN);
        let without = Summary::new(&of, sample::record(), None);
        assert!(!without.to_json().unwrap().contains("probe_focus"));
        let json = without.with_focus(&of).to_json().unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        for key in [
            "backend",
            "device",
            "engine",
            "problems",
            "iterations",
            "seconds",
            "ms_per_iteration",
            "r_factor",
            "err_phot",
            "err_fourier",
            "err_exit",
            "frames",
            "probe_modes",
            "probe_size",
            "history",
        ] {
            assert!(value.get(key).is_some(), "{key}");
        }
        assert_eq!(value["engine"], "dm:4,raar:4");
        assert_eq!(value["iterations"], 8);
        assert_eq!(value["ms_per_iteration"], 500.0);
        assert_eq!(value["seconds"], 4.0);
        assert_eq!(value["r_factor"], of.history[5].r_factor.unwrap());
        assert!(value["err_exit"].is_null() && value["history"][7]["err_exit"].is_null());
        assert_eq!(value["history"].as_array().unwrap().len(), 8);
        assert!(value.get("relative_l2").is_none());
        assert!(value["probe_size"]["fwhm"].as_f64().unwrap() > 1e-8);
        assert_eq!(value["probe_size"]["rms"].as_array().unwrap().len(), 2);
        let focus = &value["probe_focus"];
        assert!(focus["distance"].is_f64() && focus["size"]["fwhm"].as_f64().unwrap() > 1e-8);
        assert!(focus["curve"].as_array().unwrap().len() > 80);
        assert!(focus.get("none").is_none(), "{focus}");
    }

    #[test]
    fn what_was_refined_is_summed_up_and_nothing_else() {
        let mut of = sample::reconstruction();
        let json = |of: &Reconstruction| -> serde_json::Value {
            let text = Summary::new(of, sample::record(), None).to_json().unwrap();
            serde_json::from_str(&text).unwrap()
        };
        let without = json(&of);
        assert!(without.get("displacements").is_none());
        assert!(without.get("affine").is_none());
        assert!(without.get("frame_scales").is_none());
        of.positions[[1, 0]] += 3e-8;
        of.frame_scales = vec![0.5, 1.0, 1.5];
        let with = json(&of);
        let largest = with["displacements"]["largest_pixels"].as_f64().unwrap();
        assert!((largest - 1.5).abs() < 1e-9, "{with}");
        assert_eq!(with["affine"]["matrix"].as_array().unwrap().len(), 2);
        assert_eq!(with["frame_scales"]["range"], serde_json::json!([0.5, 1.5]));
    }

    #[test]
    fn a_run_without_iterations_has_no_metrics() {
        let mut of = sample::reconstruction();
        of.history.clear();
        let summary = Summary::new(&of, sample::record(), None);
        assert_eq!((summary.engine.as_str(), summary.iterations), ("", 0));
        assert_eq!(
            (summary.ms_per_iteration, summary.err_fourier),
            (None, None)
        );
    }
}
