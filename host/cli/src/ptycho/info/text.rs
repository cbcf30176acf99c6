//! The description of a scan for the terminal.

use super::{ScanGeometry, ScanInfo};
use crate::output::facts;
use std::path::Path;
use warpstride::ptycho::NearFieldSummary;
use warpstride::system::Bytes;
use warpstride::text::{count, length, shortest, significant};

/// What to try where the positions' axes may differ from those of the frames.
const ORIENTATION: &str = "if R stays high or the object looks blurred, let ptycho reconstruct --find-orientation try flips and swaps";

impl ScanInfo {
    /// Names and values of what is known.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let by = |v: [f64; 2]| format!("{} x {}", length(v[0], 4), length(v[1], 4));
        let bytes = |n: u64| Bytes(u128::from(n)).to_string();
        let counts = &self.counts;
        let mut lines = vec![
            ("file", self.file.clone()),
            (
                "frames",
                format!("{} of {} x {} pixels", self.frames, self.rows, self.columns),
            ),
            (
                "bad pixels",
                format!(
                    "{} ({} %)",
                    self.bad_pixels,
                    significant(100.0 * self.bad_pixel_share, 3)
                ),
            ),
        ];
        if let Some(geometry) = &self.geometry {
            lines.extend(of_geometry(geometry));
        }
        lines.extend([
            (
                "scan",
                self.extent.map_or_else(|| "no positions".to_owned(), by),
            ),
            (
                "counts",
                format!(
                    "{} in total, {} per pixel on average, {} at most",
                    significant(counts.total, 4),
                    significant(counts.mean, 4),
                    significant(counts.max, 4)
                ),
            ),
            (
                "brightest frame",
                format!(
                    "{} with {} counts",
                    counts.brightest_frame,
                    significant(counts.brightest_frame_total, 4)
                ),
            ),
        ]);
        if let Some(o) = &self.overlap {
            let share = if o.linear > 0.0 {
                format!("{:.0} % linear", 100.0 * o.linear)
            } else {
                "none".to_owned()
            };
            let text = format!(
                "{share} (step {}, {} width {})",
                length(o.step, 3),
                o.width_of,
                length(o.width, 3)
            );
            lines.push(("overlap", text));
        }
        let modes = self.illumination_modes;
        lines.push((
            "illumination",
            if modes == 0 {
                "none in the file".to_owned()
            } else {
                format!("{} in the file", count(modes, ["mode", "modes"]))
            },
        ));
        lines.push((
            "truth",
            if self.simulated {
                "in the file"
            } else {
                "unknown"
            }
            .to_owned(),
        ));
        if let (Some([rows, columns]), Some(memory)) = (self.object_shape, &self.memory) {
            lines.push(("object", format!("{rows} x {columns} pixels")));
            lines.push(("orientation", ORIENTATION.to_owned()));
            lines.push((
                "memory, CPU",
                format!(
                    "{} with {} in {}; {} is available",
                    bytes(memory.estimate.cpu),
                    count(self.probe_modes, ["probe mode", "probe modes"]),
                    self.precision,
                    bytes(memory.available_host_bytes)
                ),
            ));
            lines.push((
                "memory, GPU",
                format!(
                    "{} on the device, {} on the host",
                    bytes(memory.estimate.gpu_device),
                    bytes(memory.estimate.gpu_host)
                ),
            ));
        }
        if let Some(step) = &self.gpu_step {
            lines.push(("step, GPU", step.clone()));
        }
        if let Some(counts) = &self.gpu_counts {
            lines.push(("counts, GPU", counts.clone()));
        }
        lines
    }

    /// The table for the terminal; `report` is the file that has been written.
    pub(in crate::ptycho) fn text(&self, report: Option<&Path>) -> String {
        let mut lines = self.facts();
        lines.extend(self.notes.iter().map(|note| ("note", note.clone())));
        lines.extend(
            self.missing
                .iter()
                .map(|what| ("missing", (*what).to_owned())),
        );
        lines.extend(self.command.iter().map(|command| {
            let text = format!(
                "with the values of the measurement in the place of these, this runs: {command}"
            );
            ("command", text)
        }));
        lines.extend(
            self.problems
                .iter()
                .map(|problem| ("problem", problem.clone())),
        );
        if self.problems.is_empty() && self.missing.is_empty() {
            lines.push(("problems", "none found".to_owned()));
        }
        for process in &self.processes {
            lines.push(("made by", process.to_string()));
            lines.extend(process.notes.iter().map(|note| ("its note", note.clone())));
        }
        lines.extend(report.map(|path| ("written", path.display().to_string())));
        facts(&lines)
    }
}

/// Names and values of the beam and the detector.
fn of_geometry(geometry: &ScanGeometry) -> [(&'static str, String); 5] {
    let by = |v: [f64; 2]| format!("{} x {}", length(v[0], 4), length(v[1], 4));
    let beam = match geometry.voltage {
        Some(volts) => format!("electrons of {} kV", shortest(volts / 1e3)),
        None => format!("{} keV", significant(geometry.energy_ev / 1e3, 4)),
    };
    [
        (
            "wavelength",
            format!("{} ({beam})", length(geometry.wavelength, 5)),
        ),
        ("distance", length(geometry.distance, 4)),
        ("detector pixel", by(geometry.detector_pixel)),
        ("propagation", propagation(geometry.near_field.as_ref())),
        ("object pixel", by(geometry.object_pixel)),
    ]
}

/// How waves travel to the detector.
fn propagation(near_field: Option<&NearFieldSummary>) -> String {
    let Some(near) = near_field else {
        return "far field".to_owned();
    };
    let [rows, columns] = near.fresnel_number.map(|number| significant(number, 3));
    let numbers = if rows == columns {
        rows
    } else {
        format!("{rows} (rows), {columns} (columns)")
    };
    let numbers = format!("Fresnel number of an object pixel {numbers}");
    match near.focus_to_sample {
        None => format!("near field, parallel beam; {numbers}"),
        Some(z1) => format!(
            "near field, cone beam with its focus {} before the specimen: magnification {}, effective distance {}; {numbers}",
            length(z1, 4),
            significant(near.magnification, 4),
            length(near.effective_distance, 4)
        ),
    }
}
