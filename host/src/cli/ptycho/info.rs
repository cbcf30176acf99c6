//! `warpstride ptycho info`.

use super::overlap::Overlap;
use super::recipe_origin::RecipeOrigin;
use super::reconstruct::read_recipe;
use crate::cli::args::InfoArgs;
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say, say_json};
use crate::data::{Mask, PixelPositions, Scan};
use crate::ptycho::{Recipe, memory_estimate};
use crate::run::MemoryInfo;
use crate::system::Bytes;
use crate::system::Memory;
use crate::text::{count, length, significant};
use serde::Serialize;
use std::path::PathBuf;

/// One electronvolt, J (CODATA 2018, exact).
const ELECTRONVOLT: f64 = 1.602_176_634e-19;

/// Linear overlap that is commonly considered necessary for ptychography.
const MIN_OVERLAP: f64 = 0.5;
/// Distance of the mean pattern's centre of mass from the frame's centre, as a fraction of the
/// frame, beyond which the zero frequency was probably stored elsewhere.
const CENTRE_TOLERANCE: f64 = 0.1;

/// Largest plausible fraction of masked pixels: detector gaps and dead pixels are fewer.
const MAX_BAD_FRACTION: f64 = 0.5;
/// Fewest rows or columns that resolve a diffraction pattern.
const MIN_SIDE: usize = 8;

/// The file to describe.
#[derive(Debug)]
pub(crate) struct Info {
    file: PathBuf,
    origin: RecipeOrigin,
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

/// Everything known about a scan; `--json` prints it.
#[derive(Serialize)]
struct ScanInfo {
    file: String,
    frames: usize,
    rows: usize,
    columns: usize,
    bad_pixels: usize,
    bad_pixel_share: f64,
    geometry: ScanGeometry,
    counts: Counts,
    /// Extent of the positions (row, column), m.
    extent: [f64; 2],
    overlap: Option<Overlap>,
    /// Number of modes of the start probe in the file; 0 if it has none.
    illumination_modes: usize,
    simulated: bool,
    object_shape: Option<[usize; 2]>,
    probe_modes: usize,
    memory: Option<MemoryInfo>,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Info {
    /// Reads the recipe, if one was given.
    pub(crate) fn from_args(args: InfoArgs) -> Result<Self, Failure> {
        let recipe = args
            .recipe
            .as_deref()
            .map_or_else(|| Ok(Recipe::default()), read_recipe)?;
        Ok(Self {
            file: args.file,
            origin: RecipeOrigin::of_file(args.recipe.as_deref()),
            recipe,
            json: args.json,
        })
    }

    /// Reads the scan and prints its description; fails if the scan cannot be reconstructed.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let memory = Memory::available();
        let read = crate::ptycho::io::scan::read(&self.file, &self.recipe.data)
            .map_err(|error| self.origin.of_reading(error))?;
        let name = self.file.display().to_string();
        let [_, rows, columns] = read.scan.shape();
        let pixel = read.scan.object_pixel();
        let windows = PixelPositions::new(read.scan.positions(), pixel, [rows, columns], 0);
        let fatal = windows.as_ref().err().map(|e| format!("{name}: {e}"));
        let mut info = ScanInfo::new(name, &read.scan, self.recipe.probe_modes, read.notes);
        match windows {
            Ok(positions) => info.plan(positions.object_shape, &self.recipe, memory),
            Err(error) => info.problems.insert(0, error.to_string()),
        }
        if self.json {
            say_json(&info)?
        } else {
            say(&info.text())?
        }
        fatal.map_or(Ok(()), |message| Err(Failure::failed(message)))
    }
}

impl ScanInfo {
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
        let mut info = Self {
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
        info.problems = info.possible_problems(scan, &totals);
        info
    }

    /// Properties of the data that often explain a poor reconstruction.
    fn possible_problems(&self, scan: &Scan, totals: &[f64]) -> Vec<String> {
        let mut problems = Vec::new();
        match &self.overlap {
            None => problems.push("the scan has a single frame, so nothing overlaps".to_owned()),
            Some(o) if o.linear < MIN_OVERLAP => problems.push(format!(
                "the linear overlap is about {:.0} % of the {}'s width: expected {:.0} % or more",
                100.0 * o.linear,
                o.width_of,
                100.0 * MIN_OVERLAP
            )),
            Some(_) => {}
        }
        let list = |frames: Vec<usize>, what: &str| {
            let shown: Vec<String> = frames.iter().take(5).map(ToString::to_string).collect();
            let more = if frames.len() > 5 { ", …" } else { "" };
            (!frames.is_empty()).then(|| {
                let frames = count(frames.len(), ["frame", "frames"]);
                format!("{frames} {what}: {}{more}", shown.join(", "))
            })
        };
        let per_frame = matches!(scan.mask(), Mask::PerFrame(_));
        let masked: Vec<usize> = (0..self.frames)
            .filter(|frame| per_frame && scan.mask().valid_in(*frame) == 0)
            .collect();
        let dark = (0..self.frames)
            .filter(|f| totals[*f] == 0.0 && !masked.contains(f))
            .collect();
        problems.extend(list(masked, "without a valid pixel"));
        problems.extend(list(dark, "without any counts"));
        problems.extend(list(repeated(scan), "at the position of an earlier frame"));
        if self.bad_pixel_share > MAX_BAD_FRACTION {
            problems.push(format!(
                "{} % of the pixels are masked as bad",
                significant(100.0 * self.bad_pixel_share, 3)
            ));
        }
        if self.rows.min(self.columns) < MIN_SIDE {
            problems.push(format!(
                "frames of {} x {} pixels are too small to resolve a diffraction pattern",
                self.rows, self.columns
            ));
        }
        if let Some(bits) = full_scale(self.counts.max) {
            let at = scan
                .frames()
                .iter()
                .filter(|v| f64::from(**v) == self.counts.max);
            problems.push(format!(
                "{} with 2^{bits} - 1, a value that detectors use for bad or saturated pixels, not masked",
                count(at.count(), ["pixel", "pixels"])
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
            problems.push(format!(
                "the centre of mass of all frames is at row {:.1}, column {:.1}: expected the zero frequency at {}, {}",
                centre[0], centre[1], self.rows / 2, self.columns / 2
            ));
        }
        problems
    }

    fn plan(&mut self, object_shape: [usize; 2], recipe: &Recipe, available: Memory) {
        let shape = [self.frames, self.probe_modes, self.rows, self.columns];
        let estimate = memory_estimate(shape, object_shape, recipe.precision);
        if estimate.cpu > available.limit() {
            self.problems.push(format!(
                "the CPU back end needs {} of memory, but {} is available",
                Bytes(u128::from(estimate.cpu)),
                Bytes(u128::from(available.limit()))
            ));
        }
        self.object_shape = Some(object_shape);
        self.memory = Some(MemoryInfo::new(estimate, available));
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
        ];
        if let Some(o) = &self.overlap {
            let text = format!(
                "{:.0} % linear (step {}, {} width {})",
                100.0 * o.linear,
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
            lines.push((
                "memory, CPU",
                format!(
                    "{} with {}; {} is available",
                    bytes(memory.estimate.cpu),
                    count(self.probe_modes, ["probe mode", "probe modes"]),
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

/// Frames at exactly the position of an earlier frame.
fn repeated(scan: &Scan) -> Vec<usize> {
    let mut known = std::collections::HashSet::new();
    scan.positions()
        .rows()
        .into_iter()
        .enumerate()
        .filter(|(_, p)| !known.insert([p[0].to_bits(), p[1].to_bits()]))
        .map(|(frame, _)| frame)
        .collect()
}

/// Number of bits if `count` is the largest integer of that many bits, rounded to f32.
fn full_scale(count: f64) -> Option<u32> {
    [15, 16, 31, 32, 63, 64]
        .into_iter()
        .find(|bits| count == f64::from((2_f64.powi(*bits as i32) - 1.0) as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_scale_values_of_all_integer_types_are_recognised_after_rounding_to_f32() {
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
