//! Outputs of a reconstruction: result, pictures, summary, report, and a summary on the terminal.

use super::files::{Files, remove};
use crate::failure::Failure;
use crate::output::facts;
use std::path::Path;
use warpstride::gpu::MAX_PROFILE_SPANS;
use warpstride::ptycho::data::{Reconstruction, Scan};
use warpstride::ptycho::io::provenance::Process;
use warpstride::ptycho::io::results;
use warpstride::ptycho::quality::{Comparison, Reference, compare};
use warpstride::ptycho::report::{Pictures, report};
use warpstride::ptycho::{OrientationSearch, Profile, RotationSearch, SlicesSummary, Summary};
use warpstride::run::{self, RunRecord};
use warpstride::system::write_whole;
use warpstride::text::{count, length, significant};

/// A run that is complete or was interrupted.
pub(super) struct FinishedRun<'a> {
    pub(super) result: Reconstruction,
    pub(super) scan: &'a Scan,
    /// Where it was computed, inputs, times, and the notes so far.
    pub(super) record: RunRecord,
    /// Doubtful properties of the scan.
    pub(super) problems: Vec<String>,
    /// The search for the orientation, if there was one.
    pub(super) orientation: Option<OrientationSearch>,
    /// The search for the rotation, if there was one.
    pub(super) rotation: Option<RotationSearch>,
    /// The runs that have made the scan.
    pub(super) processes: Vec<Process>,
    /// What the device did, if it was profiled.
    pub(super) profile: Option<Profile>,
    pub(super) files: &'a Files,
    /// Whether the focus of the probe is searched for without a summary or report.
    pub(super) focus: bool,
    pub(super) interrupted: bool,
}

impl FinishedRun<'_> {
    /// Writes the result, then everything derived from it; returns the summary for the terminal.
    pub(super) fn write(&self) -> Result<String, Failure> {
        self.check_finite()?;
        let files = self.files;
        let (truth, note) = self.against_truth();
        let mut record = self.record.clone();
        record.notes.extend(note.clone());
        record.notes.extend(self.profile_note());
        record.notes.extend(self.distance_note());
        let sources = record.inputs.iter().map(Path::new);
        let own = Process::of_this_program(sources, String::new(), &record.notes);
        results::write_with(&files.result, &self.result, (&self.processes, &own))?;
        let mut written = vec![files.result.display().to_string()];
        let mut summary = Summary::new(&self.result, record, truth.as_ref())
            .with_problems(self.problems.clone())
            .with_scales_of(self.scan)
            .with_orientation(self.orientation.clone())
            .with_rotation(self.rotation.clone());
        if self.focus || files.summary.is_some() || files.report.is_some() {
            summary = summary.with_focus(&self.result);
        }

        if files.pictures.is_some() || files.report.is_some() {
            let pictures = Pictures::new(&self.result)?;
            if let Some(paths) = &files.pictures {
                let drawn = [
                    Some(&pictures.modulus),
                    Some(&pictures.phase),
                    Some(&pictures.probe),
                    pictures.phase_stretched.as_ref(),
                ];
                for (path, picture) in paths.iter().zip(drawn) {
                    let Some(picture) = picture else {
                        remove(path)?;
                        continue;
                    };
                    write_whole(path, &picture.png)?;
                    written.push(path.display().to_string());
                }
            }
            if let Some(path) = &files.report {
                let page = report(
                    &self.result,
                    Some(self.scan),
                    &summary,
                    &pictures,
                    truth.as_ref(),
                )?;
                write_whole(path, page.as_bytes())?;
                written.push(path.display().to_string());
            }
        }
        if let (Some(path), Some(profile)) = (&files.profile, &self.profile) {
            write_whole(path, self.timeline(profile)?.as_bytes())?;
            written.push(path.display().to_string());
        }
        written.extend(files.summary.iter().map(|path| path.display().to_string()));
        summary.record.outputs = written;
        if let Some(path) = &files.summary {
            write_whole(path, summary.to_json()?.as_bytes())?;
        }
        Ok(self.text(&summary, note))
    }

    /// Refuses to write a result with NaN or infinite values.
    fn check_finite(&self) -> Result<(), Failure> {
        let Some(part) = self.result.not_finite() else {
            return Ok(());
        };
        Err(Failure::failed(format!(
            "the reconstruction diverged: {part} not finite after {}; {} was not written",
            count(self.result.history.len(), ["iteration", "iterations"]),
            self.files.result.display()
        )))
    }

    /// Comparison with the truth, if the scan has one; a note instead if it fails.
    fn against_truth(&self) -> (Option<Comparison>, Option<String>) {
        let Some(simulation) = self.scan.simulation() else {
            return (None, None);
        };
        let truth = Reference::Truth {
            simulation,
            pixel: self.scan.object_pixel(),
        };
        match compare(&self.result, truth) {
            Ok(comparison) => (Some(comparison), None),
            Err(error) => (None, Some(format!("not compared with the truth: {error}"))),
        }
    }

    /// The timeline of the device, JSON.
    fn timeline(&self, profile: &Profile) -> Result<String, Failure> {
        let setup = &self.record.setup;
        let Profile {
            first_iteration,
            iterations,
            spans,
            ..
        } = profile;
        let other = serde_json::json!({
            "backend": setup.backend,
            "first_iteration": first_iteration,
            "iterations": iterations,
        });
        let devices = std::slice::from_ref(&setup.device);
        Ok(run::timeline(devices, spans.iter().cloned(), &other)?)
    }

    /// A note if the device did more than it could note.
    fn profile_note(&self) -> Option<String> {
        let spans = &self.profile.as_ref()?.spans;
        (spans.len() >= MAX_PROFILE_SPANS)
            .then(|| format!("the timeline has the first {MAX_PROFILE_SPANS} operations only"))
    }

    /// A note if refined distances between slices are at their limit.
    fn distance_note(&self) -> Option<String> {
        let stack = self.result.parts.slices.as_ref()?;
        SlicesSummary::new(stack).note()
    }

    fn text(&self, summary: &Summary, note: Option<String>) -> String {
        let record = &summary.record;
        let metric = |value: Option<f64>| {
            value.map_or_else(|| "not computed".to_owned(), |v| significant(v, 4))
        };
        let mut lines = vec![
            ("engines", summary.engine.clone()),
            ("back end", record.setup.to_string()),
            ("R", metric(summary.r_factor)),
            ("err_phot", metric(summary.err_phot)),
        ];
        if !summary.plan.is_empty() {
            lines.insert(2, ("step", summary.plan.clone()));
        }
        if let Some(r_free) = summary.r_free {
            lines.push(("R_free", significant(r_free, 4)));
        }
        if let Some(l2) = summary.relative_l2 {
            lines.push((
                "relative L2",
                format!("{} against the truth", significant(l2, 3)),
            ));
        }
        if let Some(half_period) = summary.resolution_half_bit {
            lines.push((
                "resolution",
                format!(
                    "{} half period (half bit) against the truth",
                    length(half_period, 3)
                ),
            ));
        }
        if let Some(slices) = &summary.slices {
            lines.push(("slices", slices.to_string()));
        }
        if let Some(size) = &summary.probe_size {
            lines.push(("probe", size.to_string()));
        }
        if let Some(variable) = &summary.variable_probe {
            lines.push(("variable probe", variable.to_string()));
        }
        if !summary.object_mode_power.is_empty() {
            let shares = summary.object_mode_power.iter();
            let shares: Vec<String> = shares.map(|v| significant(100.0 * v, 3)).collect();
            lines.push((
                "object modes",
                format!("{} % of the power", shares.join(", ")),
            ));
        }
        if let Some(points) = summary.exposure_points {
            lines.push(("exposures", format!("{points} points each")));
        }
        if let Some(focus) = &summary.probe_focus {
            lines.push(("focus", focus.to_string()));
        }
        if let Some(displacements) = &summary.displacements {
            lines.push(("positions", format!("moved by {displacements}")));
        }
        if let Some(map) = &summary.affine {
            lines.push(("affine map", map.to_string()));
        }
        if let Some(scales) = &summary.frame_scales {
            lines.push(("frame scales", scales.to_string()));
        }
        lines.push(("warning", summary.scales_problem().unwrap_or_default()));
        if let Some(detector) = &summary.detector {
            lines.push(("detector", detector.to_string()));
        }
        lines.push(("note", note.unwrap_or_default()));
        lines.push(("note", self.profile_note().unwrap_or_default()));
        lines.push(("note", self.distance_note().unwrap_or_default()));
        lines.push(("iterations", summary.iterations.to_string()));
        lines.push((
            "time",
            match summary.ms_per_iteration {
                Some(per) => {
                    format!(
                        "{} s, {} ms per iteration",
                        significant(record.seconds, 3),
                        significant(per, 3)
                    )
                }
                None => format!("{} s", significant(record.seconds, 3)),
            },
        ));
        if self.interrupted {
            lines.push((
                "stopped",
                format!("checkpoint {}", self.files.checkpoint.display()),
            ));
        }
        let mut label = "written";
        for path in &record.outputs {
            lines.push((std::mem::take(&mut label), path.clone()));
        }
        lines.retain(|(_, value)| !value.is_empty());
        facts(&lines)
    }
}
