//! Start probe for a scan without one: the mean pattern with a defocus found by trial.
//!
//! The mean pattern gives the modulus of the probe's far field; defocus is nearly always the
//! largest part of the missing phase. A few frames are reconstructed with each of several defocus
//! distances, and the distance with the smallest R is chosen.

use crate::automatic::central_part::central_part;
use crate::data::Scan;
use crate::engines::cpu::CpuEngine;
use crate::model::object_layout::ObjectLayout;
use crate::session::recipe::{ProbeSource, Recipe};
use crate::start;
use crate::{Engine, EngineName, EngineSpec, Problem, ProblemError, StartProbe, Step, StepMetrics};
use ndarray::{Array2, Axis};
use num_complex::Complex;
use warpstride_core::system::ScratchError;
use warpstride_core::text::significant;

/// Frames of a trial: those nearest to the scan's centre, which overlap.
const FRAMES: usize = 48;
/// Iterations of a trial.
const ITERATIONS: usize = 12;
/// Beam widths on the specimen, as fractions of the window, that are tried before and behind the
/// focus; a probe wider than about half its window would be undersampled.
const WIDTHS: [f64; 6] = [0.08, 0.16, 0.25, 0.35, 0.46, 0.58];

impl StartProbe {
    /// The start probe of a scan and a recipe. If neither gives one, a few frames are reconstructed
    /// with each of several defocus distances of the mean pattern, on the CPU.
    ///
    /// # Errors
    /// The scan cannot be reconstructed with the recipe, the recipe's probe cannot be made, or the
    /// counts cannot be read.
    pub fn new(scan: &Scan, recipe: &Recipe) -> Result<Self, ProblemError> {
        ObjectLayout::new(scan, recipe)?;
        if let Some(given) = Self::given(scan, recipe)? {
            return Ok(given);
        }
        let (main, defocus) = search(scan)?;
        let note = format!(
            "start probe: none in the scan; the mean pattern with a defocus of {} m fits best (set probe.source and probe.defocus to override it)",
            significant(defocus, 3)
        );
        Ok(Self::scaled(
            main.insert_axis(Axis(0)),
            scan,
            recipe,
            vec![note],
        ))
    }
}

impl Problem {
    /// Prepares `scan` for `recipe`, from the start probe of both ([`StartProbe::new`]).
    ///
    /// # Errors
    /// Returns [`ProblemError`] if the scan cannot be reconstructed.
    pub fn prepare(scan: &Scan, recipe: &Recipe) -> Result<Self, ProblemError> {
        Self::new(scan, recipe, StartProbe::new(scan, recipe)?)
    }
}

/// Returns the unscaled start probe (row, column) and its distance from the focus, m.
fn search(scan: &Scan) -> Result<(Array2<Complex<f64>>, f64), ScratchError> {
    let pattern = start::mean_pattern(scan);
    let unit = defocus_of_full_width(scan);
    let Some(part) = central_part(scan, FRAMES)? else {
        return Ok((pattern, 0.0));
    };
    let trial = |width: f64| {
        let mut probe = pattern.clone();
        start::propagate(&mut probe, scan, width * unit);
        let misfit = misfit(&part, &probe).unwrap_or(f64::INFINITY);
        (misfit, width, probe)
    };
    let best = |a: (f64, f64, _), b: (f64, f64, _)| if b.0 < a.0 { b } else { a };
    let mut found = trial(0.0);
    for width in WIDTHS.iter().flat_map(|w| [*w, -*w]) {
        found = best(found, trial(width));
    }
    // Refine by about half the distance to the neighbouring trials.
    let coarse = found.1;
    for width in [coarse - 0.045, coarse + 0.045] {
        found = best(found, trial(width));
    }
    Ok((found.2, found.1 * unit))
}

/// The defocus, m, at which the beam's geometric width equals the window's: a ray through detector
/// pixel q meets the specimen at q · λ z/(n Δ²) pixels.
fn defocus_of_full_width(scan: &Scan) -> f64 {
    let [_, rows, columns] = scan.shape();
    let (mut sum, mut power) = (0.0, 0.0);
    for ((r, c), v) in scan.mean_frame().indexed_iter() {
        let y = (r as f64 - (rows / 2) as f64) / rows as f64;
        let x = (c as f64 - (columns / 2) as f64) / columns as f64;
        sum += v * (x * x + y * y);
        power += v;
    }
    // A uniform disc of diameter d has the mean square radius d²/8.
    let lit = (8.0 * sum / power.max(f64::MIN_POSITIVE))
        .sqrt()
        .clamp(0.02, 1.0);
    let pixel = scan.object_pixel()[0];
    rows as f64 * pixel * pixel / (scan.geometry().wavelength * lit)
}

/// R after a short difference map from `probe`.
fn misfit(part: &Scan, probe: &Array2<Complex<f64>>) -> Option<f64> {
    let probe = probe.clone().insert_axis(Axis(0));
    let (frames, mask) = (part.frames().ok()?.into_owned(), part.mask().clone());
    let (positions, geometry) = (part.positions().clone(), *part.geometry());
    let scan = Scan::new(frames, Some(mask), positions, geometry, Some(probe)).ok()?;
    let mut recipe = Recipe::default();
    recipe.probe.source = ProbeSource::File;
    let start = StartProbe::given(&scan, &recipe).ok()??;
    let problem = Problem::new(&scan, &recipe, start).ok()?;
    let spec = EngineSpec::new(EngineName::Dm, ITERATIONS);
    let mut engine = CpuEngine::<f32>::new(&problem);
    for iteration in 1..=ITERATIONS {
        let step = Step {
            metrics: StepMetrics::NONE,
            ..Step::new(&spec, &problem, iteration)
        };
        engine.step(&step).ok()?;
    }
    engine
        .metrics()
        .ok()
        .map(|model| model.r_factor)
        .filter(|r| r.is_finite())
}
