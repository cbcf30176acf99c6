//! `warpstride ptycho info`.

use super::overlap::Overlap;
use super::reconstruct::read_recipe;
use crate::cli::args::InfoTyped;
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say, say_json};
use serde::Serialize;
use std::path::PathBuf;
use warpstride::data::{Mask, PixelPositions, Scan};
use warpstride::io::{self, Bytes, Memory};
use warpstride::ptycho::{Plan, Recipe};
use warpstride::report::{length, significant};

/// Joule in an electronvolt (CODATA 2018, exact).
const ELECTRONVOLT: f64 = 1.602_176_634e-19;

/// Ptychography is commonly said to need this linear overlap.
const LEAST_OVERLAP: f64 = 0.5;
/// A mean pattern whose centre of mass is further off, as a share of the frame, was probably
/// stored with the zero frequency elsewhere.
const CENTRE_TOLERANCE: f64 = 0.1;

/// More masked pixels than a detector has gaps and dead ones.
const MOST_BAD: f64 = 0.5;
/// Fewer rows or columns are no diffraction pattern.
const LEAST_SIDE: usize = 8;

/// A file to look at.
#[derive(Debug)]
pub(crate) struct Info {
    file: PathBuf,
    recipe: Recipe,
    json: bool,
}

#[derive(Serialize)]
struct Counts {
    total: f64,
    mean: f64,
    max: f64,
    brightest_frame: usize,
    brightest_frame_total: f64,
}

#[derive(Serialize)]
struct ScanGeometry {
    wavelength: f64,
    energy_ev: f64,
    distance: f64,
    /// (row, column).
    detector_pixel: [f64; 2],
    /// (row, column).
    object_pixel: [f64; 2],
}

#[derive(Serialize)]
struct NeededMemory {
    cpu_bytes: u64,
    cuda_host_bytes: u64,
    cuda_device_bytes: u64,
    available_host_bytes: u64,
}

/// Everything that is known of a scan.
#[derive(Serialize)]
struct Found {
    file: String,
    frames: usize,
    rows: usize,
    columns: usize,
    bad_pixels: usize,
    bad_pixel_share: f64,
    geometry: ScanGeometry,
    counts: Counts,
    /// (row, column), m.
    extent: [f64; 2],
    overlap: Option<Overlap>,
    /// Modes of the start probe in the file.
    illumination_modes: usize,
    simulated: bool,
    object_shape: Option<[usize; 2]>,
    probe_modes: usize,
    memory: Option<NeededMemory>,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Info {
    /// Reads the recipe, if one was given.
    pub(crate) fn from_typed(typed: InfoTyped) -> Result<Self, Failure> {
        let recipe = typed
            .recipe
            .as_deref()
            .map_or_else(|| Ok(Recipe::default()), read_recipe)?;
        Ok(Self {
            file: typed.file,
            recipe,
            json: typed.json,
        })
    }

    /// Reads and prints; fails where the scan cannot be reconstructed.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let memory = Memory::available();
        let read = io::scan::read(&self.file, &self.recipe.data)?;
        let name = self.file.display().to_string();
        let [_, rows, columns] = read.scan.shape();
        let pixel = read.scan.object_pixel();
        let placed = PixelPositions::new(read.scan.positions(), pixel, [rows, columns], 0);
        let fatal = placed.as_ref().err().map(|e| format!("{name}: {e}"));
        let mut found = Found::new(name, &read.scan, self.recipe.probe_modes, read.notes);
        match placed {
            Ok(positions) => found.plan(positions.object_shape, &self.recipe, memory),
            Err(error) => found.problems.insert(0, error.to_string()),
        }
        if self.json {
            say_json(&found)?
        } else {
            say(&found.text())?
        }
        fatal.map_or(Ok(()), |sentence| Err(Failure::failed(sentence)))
    }
}

impl Found {
    fn new(file: String, scan: &Scan, probe_modes: usize, notes: Vec<String>) -> Self {
        let [frames, rows, columns] = scan.shape();
        let geometry = scan.geometry();
        let pixel = scan.object_pixel();
        let totals: Vec<f64> = scan
            .frames()
            .outer_iter()
            .map(|frame| frame.iter().map(|v| f64::from(*v)).sum())
            .collect();
        let bad_of = |frame: usize| rows * columns - scan.mask().valid_in(frame);
        let (bad, of) = match scan.mask() {
            Mask::Shared(_) => (bad_of(0), rows * columns),
            Mask::PerFrame(_) => ((0..frames).map(bad_of).sum(), frames * rows * columns),
        };
        let total: f64 = totals.iter().sum();
        let brightest = (0..frames)
            .max_by(|a, b| totals[*a].total_cmp(&totals[*b]))
            .unwrap_or(0);
        let extent = [0, 1].map(|axis| {
            let column = scan.positions().column(axis);
            let low = column.iter().copied().fold(f64::INFINITY, f64::min);
            column.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low
        });
        let overlap = Overlap::estimate(scan.positions(), scan.probe(), [rows, columns], pixel);
        let counts = Counts {
            total,
            mean: total / (frames * rows * columns) as f64,
            max: f64::from(scan.frames().iter().copied().fold(0.0, f32::max)),
            brightest_frame: brightest,
            brightest_frame_total: totals.get(brightest).copied().unwrap_or(0.0),
        };
        let mut found = Self {
            file,
            frames,
            rows,
            columns,
            bad_pixels: bad,
            bad_pixel_share: bad as f64 / of as f64,
            geometry: ScanGeometry {
                wavelength: geometry.wavelength,
                energy_ev: geometry.energy() / ELECTRONVOLT,
                distance: geometry.distance,
                detector_pixel: geometry.pixel_size,
                object_pixel: pixel,
            },
            counts,
            extent,
            overlap,
            illumination_modes: scan.probe().map_or(0, |p| p.dim().0),
            simulated: scan.simulation().is_some(),
            object_shape: None,
            probe_modes,
            memory: None,
            problems: Vec::new(),
            notes,
        };
        found.problems = found.doubts(scan, &totals);
        found
    }

    /// What an experimenter should look at before blaming the program.
    fn doubts(&self, scan: &Scan, totals: &[f64]) -> Vec<String> {
        let mut doubts = Vec::new();
        match &self.overlap {
            None => doubts.push("a single frame: nothing overlaps".to_owned()),
            Some(o) if o.linear < LEAST_OVERLAP => doubts.push(format!(
                "the linear overlap is about {:.0} % of the {}'s width: {:.0} % or more is usual",
                100.0 * o.linear,
                o.width_of,
                100.0 * LEAST_OVERLAP
            )),
            Some(_) => {}
        }
        let list = |frames: Vec<usize>, what: &str| {
            let shown: Vec<String> = frames.iter().take(5).map(ToString::to_string).collect();
            let more = if frames.len() > 5 { ", …" } else { "" };
            (!frames.is_empty())
                .then(|| format!("{} frames {what}: {}{more}", frames.len(), shown.join(", ")))
        };
        let per_frame = matches!(scan.mask(), Mask::PerFrame(_));
        let masked: Vec<usize> = (0..self.frames)
            .filter(|frame| per_frame && scan.mask().valid_in(*frame) == 0)
            .collect();
        let dark = (0..self.frames)
            .filter(|f| totals[*f] == 0.0 && !masked.contains(f))
            .collect();
        doubts.extend(list(masked, "have no valid pixel"));
        doubts.extend(list(dark, "have no count"));
        doubts.extend(list(repeated(scan), "are at the place of an earlier one"));
        if self.bad_pixel_share > MOST_BAD {
            doubts.push(format!(
                "{} % of the pixels are masked as bad",
                significant(100.0 * self.bad_pixel_share, 3)
            ));
        }
        if self.rows.min(self.columns) < LEAST_SIDE {
            doubts.push(format!(
                "frames of {} x {} pixels hardly resolve a diffraction pattern",
                self.rows, self.columns
            ));
        }
        if let Some(bits) = full_scale(self.counts.max) {
            let at = scan
                .frames()
                .iter()
                .filter(|v| f64::from(**v) == self.counts.max);
            doubts.push(format!(
                "{} pixels hold 2^{bits} - 1, with which detectors mark bad or saturated ones: they are not masked",
                at.count()
            ));
        }
        let mean = scan.mean_frame();
        let whole = mean.sum();
        let moment = |of: &dyn Fn(usize, usize) -> f64| {
            mean.indexed_iter()
                .map(|((r, c), v)| v * of(r, c))
                .sum::<f64>()
                / whole
        };
        let centre = [moment(&|r, _| r as f64), moment(&|_, c| c as f64)];
        let shape = [self.rows, self.columns];
        let off = (0..2).any(|axis| {
            let expected = (shape[axis] / 2) as f64;
            (centre[axis] - expected).abs() > CENTRE_TOLERANCE * shape[axis] as f64
        });
        if off {
            doubts.push(format!(
                "the centre of mass of all frames is at row {:.1}, column {:.1}: the zero frequency is expected at {}, {}",
                centre[0], centre[1], self.rows / 2, self.columns / 2
            ));
        }
        doubts
    }

    fn plan(&mut self, object_shape: [usize; 2], recipe: &Recipe, available: Memory) {
        let shape = [self.frames, self.probe_modes, self.rows, self.columns];
        let plan = Plan::new(shape, object_shape, recipe.precision);
        if plan.cpu_bytes > available.limit() {
            self.problems.push(format!(
                "the CPU back end needs {} of memory, but {} may be used",
                Bytes(u128::from(plan.cpu_bytes)),
                Bytes(u128::from(available.limit()))
            ));
        }
        self.object_shape = Some(object_shape);
        self.memory = Some(NeededMemory {
            cpu_bytes: plan.cpu_bytes,
            cuda_host_bytes: plan.gpu_host_bytes,
            cuda_device_bytes: plan.gpu_device_bytes,
            available_host_bytes: available.limit(),
        });
    }

    fn text(&self) -> String {
        let by = |v: [f64; 2]| format!("{} x {}", length(v[0], 4), length(v[1], 4));
        let bytes = |n: u64| Bytes(u128::from(n)).to_string();
        let geometry = &self.geometry;
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
            (
                "wavelength",
                format!(
                    "{} ({} keV)",
                    length(geometry.wavelength, 5),
                    significant(geometry.energy_ev / 1e3, 4)
                ),
            ),
            ("distance", length(geometry.distance, 4)),
            ("detector pixel", by(geometry.detector_pixel)),
            ("object pixel", by(geometry.object_pixel)),
            ("scan", by(self.extent)),
            (
                "counts",
                format!(
                    "{} in all, {} a pixel, {} at most",
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
        ];
        if let Some(o) = &self.overlap {
            let share = format!(
                "{:.0} % linear (step {}, {} {})",
                100.0 * o.linear,
                length(o.step, 3),
                o.width_of,
                length(o.width, 3)
            );
            lines.push(("overlap", share));
        }
        let modes = self.illumination_modes;
        lines.push((
            "illumination",
            if modes == 0 {
                "not in the file".to_owned()
            } else {
                format!("{modes} in the file")
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
            lines.push((
                "memory, CPU",
                format!(
                    "{} with {} probe modes; {} may be used",
                    bytes(memory.cpu_bytes),
                    self.probe_modes,
                    bytes(memory.available_host_bytes)
                ),
            ));
            lines.push((
                "memory, GPU",
                format!(
                    "{} on the device, {} on the host",
                    bytes(memory.cuda_device_bytes),
                    bytes(memory.cuda_host_bytes)
                ),
            ));
        }
        lines.extend(self.notes.iter().map(|note| ("note", note.clone())));
        lines.extend(
            self.problems
                .iter()
                .map(|problem| ("problem", problem.clone())),
        );
        if self.problems.is_empty() {
            lines.push(("problems", "none found".to_owned()));
        }
        facts(&lines)
    }
}

/// Frames whose position an earlier frame has too.
fn repeated(scan: &Scan) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    scan.positions()
        .rows()
        .into_iter()
        .enumerate()
        .filter(|(_, p)| !seen.insert([p[0].to_bits(), p[1].to_bits()]))
        .map(|(frame, _)| frame)
        .collect()
}

/// `bits` where `count` is the largest integer of that many bits, as f32 has it.
fn full_scale(count: f64) -> Option<u32> {
    [15, 16, 31, 32, 63, 64]
        .into_iter()
        .find(|bits| count == f64::from((2_f64.powi(*bits as i32) - 1.0) as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_of_every_integer_type_are_known_after_the_rounding_to_f32() {
        for (marker, bits) in [
            (u16::MAX as f32, 16),
            (i32::MAX as f32, 31),
            (u32::MAX as f32, 32),
            (u64::MAX as f32, 64),
        ] {
            assert_eq!(full_scale(f64::from(marker)), Some(bits));
        }
        assert_eq!(full_scale(65534.0), None);
        assert_eq!(full_scale(0.0), None);
    }
}
