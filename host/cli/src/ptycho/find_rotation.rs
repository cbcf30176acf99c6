//! `--find-rotation`: the angle between scan and detector, from the centres of mass and from short
//! reconstructions.

use super::find_orientation::TrialSettings;
use super::interruption::stops_at_once;
use crate::failure::Failure;
use ndarray::Array3;
use num_complex::Complex;
use std::time::Instant;
use warpstride::ptycho::data::Scan;
use warpstride::ptycho::{
    CentreField, EngineName, EngineSpec, ProbeSource, Problem, Rotation, RotationDecision,
    RotationSearch, StartOfTrials, TrialResult, central_part, is_own_twin,
};
use warpstride::run::Interrupt;

/// Frames of a trial. Many frames and few iterations: angles far from the right one displace far
/// frames most, and noisy frames that are fitted longer have an R_free that depends on their noise.
const FRAMES: usize = 400;
/// Iterations of a trial.
const ITERATIONS: usize = 6;
/// Share of free pixels, at least: angles may differ by less than a hundredth of R_free.
const FREE_PIXELS: f64 = 0.05;

/// Searches for the rotation; `None` if it was interrupted.
pub(super) fn search(
    settings: &TrialSettings<'_>,
    interrupt: &Interrupt,
) -> Result<Option<RotationSearch>, Failure> {
    let begun = Instant::now();
    let scan = settings.scan;
    if scan.geometry().is_near_field() {
        return Err(Failure::usage(format!(
            "--find-rotation: {}: expected far fields, whose centres of mass tell the rotation, found near fields",
            settings.name
        )));
    }
    let centres = CentreField::of(scan)?.rotation();
    let Some(part) = central_part(scan, settings.most_frames(FRAMES))? else {
        return Err(Failure::failed(format!(
            "{}: no frames to try",
            settings.name
        )));
    };
    let start = settings.start(false);
    let mut recipe = settings.recipe(start, ITERATIONS);
    recipe.free_pixels = recipe.free_pixels.max(FREE_PIXELS);
    recipe.engines = vec![EngineSpec::new(EngineName::Lsqml, ITERATIONS)];
    let mut search = RotationSearch {
        centres,
        frames: part.shape()[0],
        iterations: ITERATIONS,
        start,
        trials: Vec::new(),
        decision: RotationDecision::Unclear,
        seconds: 0.0,
    };
    let mut part = match start {
        // The search for a probe must not find one.
        StartOfTrials::Searched => with_probe(&part, None)?,
        _ => part,
    };
    // The search for a probe may take far longer than an iteration.
    let before_iterations = stops_at_once(settings.stopped.clone())?;
    let mut tells_twins = start != StartOfTrials::Searched;
    let likely = (centres.as_ref())
        .filter(|c| c.is_clear())
        .map(|c| c.rotation);
    if start == StartOfTrials::Searched {
        // The search for a probe at each angle would take far longer than the trials.
        if let Some(rotation) = likely
            && let Ok(problem) = Problem::prepare(&turned(&part, rotation)?, &recipe)
        {
            part = with_probe(&part, Some(problem.probe))?;
            recipe.probe.source = ProbeSource::File;
        }
    } else if let Some(rotation) = likely
        && let Ok(problem) = Problem::prepare(&turned(&part, rotation)?, &recipe)
    {
        tells_twins = !is_own_twin(&problem.probe);
    }
    drop(before_iterations);
    let done = search.run(
        tells_twins,
        |rotation| -> Result<Option<TrialResult>, Failure> {
            let scan = turned(&part, rotation)?;
            let found = settings.trial(&scan, &recipe, interrupt)?;
            Ok(found.map(|(result, _)| result))
        },
    )?;
    search.seconds = begun.elapsed().as_secs_f64();
    Ok(done.then_some(search))
}

/// The part of the scan with its positions turned.
fn turned(part: &Scan, rotation: Rotation) -> Result<Scan, Failure> {
    let positions = rotation.applied_to(part.positions());
    let (frames, mask) = (part.frames()?.into_owned(), part.mask().clone());
    let probe = part.probe().cloned();
    Scan::new(frames, Some(mask), positions, *part.geometry(), probe).map_err(Failure::failed)
}

/// The part of the scan with another probe.
fn with_probe(part: &Scan, probe: Option<Array3<Complex<f64>>>) -> Result<Scan, Failure> {
    let (frames, mask) = (part.frames()?.into_owned(), part.mask().clone());
    let positions = part.positions().clone();
    Scan::new(frames, Some(mask), positions, *part.geometry(), probe).map_err(Failure::failed)
}
