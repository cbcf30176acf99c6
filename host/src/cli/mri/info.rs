//! `warpstride mri info`.

use super::read_options;
use crate::cli::args::MriInfoTyped;
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say, say_json};
use serde::Serialize;
use std::path::PathBuf;
use warpstride::data::KSpace;
use warpstride::io::ismrmrd::{self, KSpaceFile, LeftOut, ReadOptions};
use warpstride::io::{Bytes, Memory};
use warpstride::mri::{Coverage, Need, OperatorName, grid_of};
use warpstride::report::{length, significant};

/// Beyond this, even many coils leave streaks.
const MOST_UNDERSAMPLING: f64 = 12.0;

/// A file to look at.
#[derive(Debug)]
pub(crate) struct Info {
    file: PathBuf,
    options: ReadOptions,
    json: bool,
}

#[derive(Clone, Serialize)]
struct OperatorNeed {
    operator: OperatorName,
    cpu_bytes: u64,
    cuda_host_bytes: u64,
    cuda_device_bytes: u64,
}

/// Everything that is known of the samples.
#[derive(Serialize)]
struct Found {
    file: String,
    /// Slices, rows, columns.
    matrix: [usize; 3],
    axes: usize,
    /// Slices, rows, columns, m.
    field_of_view: Option<[f64; 3]>,
    /// As the header has it.
    trajectory: String,
    coils: usize,
    acquisitions: usize,
    readouts: usize,
    /// Shortest and longest.
    samples_per_readout: [usize; 2],
    samples: usize,
    /// From a sample to the next, s.
    sample_time: Option<f64>,
    /// Root mean square of the signal, and its largest modulus.
    signal_rms: f64,
    signal_max: f64,
    coverage: Coverage,
    left_out: Vec<LeftOut>,
    /// Single precision, with coil maps.
    memory: Vec<OperatorNeed>,
    available_host_bytes: u64,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Info {
    /// Checks what was typed.
    pub(crate) fn from_typed(typed: MriInfoTyped) -> Result<Self, Failure> {
        Ok(Self {
            options: read_options(&typed.group, typed.select.as_deref())?,
            file: typed.file,
            json: typed.json,
        })
    }

    /// Reads and prints.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let memory = Memory::available();
        let read = ismrmrd::read(&self.file, &self.options)?;
        let found = Found::new(self.file.display().to_string(), read, memory)?;
        if self.json {
            say_json(&found)
        } else {
            say(&found.text())
        }
    }
}

impl Found {
    fn new(file: String, read: KSpaceFile, memory: Memory) -> Result<Self, Failure> {
        let kspace = &read.kspace;
        let extent = kspace.extent();
        // One byte a voxel.
        let voxels = extent
            .matrix
            .iter()
            .fold(1_u128, |n, side| n * *side as u128);
        if voxels > u128::from(memory.limit()) {
            return Err(Failure::failed(format!(
                "{file}: the image of {} voxels does not fit into {} of memory",
                sizes(extent.matrix),
                Bytes(u128::from(memory.limit()))
            )));
        }
        let lengths = || kspace.readouts().iter().map(|r| r.samples.len());
        let operators = [
            OperatorName::Direct,
            OperatorName::Nufft,
            OperatorName::Toeplitz,
        ];
        let power: f64 = kspace.samples().iter().map(|v| v.norm_sqr()).sum();
        let mut found = Self {
            matrix: extent.matrix,
            axes: extent.axes,
            field_of_view: extent.field_of_view,
            trajectory: read.trajectory.clone(),
            coils: kspace.coils(),
            acquisitions: read.acquisitions,
            readouts: kspace.readouts().len(),
            samples_per_readout: [lengths().min().unwrap_or(0), lengths().max().unwrap_or(0)],
            samples: kspace.count(),
            sample_time: sample_time(kspace),
            signal_rms: (power / kspace.samples().len() as f64).sqrt(),
            signal_max: kspace
                .samples()
                .iter()
                .map(|v| v.norm())
                .fold(0.0, f64::max),
            coverage: Coverage::new(kspace),
            memory: operators
                .map(|operator| {
                    let need = Need::new(grid_of(kspace), kspace.count(), kspace.coils(), operator);
                    OperatorNeed {
                        operator,
                        cpu_bytes: need.cpu(4),
                        cuda_host_bytes: need.gpu_host(),
                        cuda_device_bytes: need.gpu_device(),
                    }
                })
                .to_vec(),
            available_host_bytes: memory.limit(),
            left_out: read.left_out,
            notes: read.notes,
            problems: Vec::new(),
            file,
        };
        found.problems = found.doubts();
        Ok(found)
    }

    /// What an experimenter should look at before blaming the program.
    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.signal_max == 0.0 {
            doubts.push("every sample is 0".to_owned());
        }
        for (k, axis) in self.coverage.reach.iter().zip(["kx", "ky", "kz"]) {
            if *k == 0.0 {
                doubts.push(format!(
                    "{axis} is 0 everywhere: nothing is encoded along it"
                ));
            } else if *k < 0.25 {
                doubts.push(format!(
                    "|{axis}| reaches {} cycles/pixel only: the matrix is more than twice as fine as the measurement",
                    significant(*k, 3)
                ));
            }
        }
        if self.coverage.undersampling > MOST_UNDERSAMPLING {
            doubts.push(format!(
                "k-space is undersampled {} times: streaks are to be expected",
                significant(self.coverage.undersampling, 3)
            ));
        }
        if let Some(need) = self.memory.first()
            && self
                .memory
                .iter()
                .all(|n| n.cpu_bytes > self.available_host_bytes)
        {
            doubts.push(format!(
                "the CPU back end needs {} of memory, but {} may be used",
                Bytes(u128::from(need.cpu_bytes)),
                Bytes(u128::from(self.available_host_bytes))
            ));
        }
        doubts
    }

    fn text(&self) -> String {
        let view = self.field_of_view.map_or_else(
            || "not said".to_owned(),
            |[z, y, x]| {
                let slice = if self.axes == 3 { " x " } else { ", slice " };
                format!("{} x {}{slice}{}", length(y, 4), length(x, 4), length(z, 4))
            },
        );
        let [short, long] = self.samples_per_readout;
        let each = if short == long {
            short.to_string()
        } else {
            format!("{short} to {long}")
        };
        let reach: Vec<String> = self
            .coverage
            .reach
            .iter()
            .map(|k| significant(*k, 4))
            .collect();
        let name = if self.trajectory.is_empty() {
            "not named"
        } else {
            &self.trajectory
        };
        let mut lines = vec![
            ("file", self.file.clone()),
            (
                "matrix",
                format!("{} ({}-D)", sizes(self.matrix), self.axes),
            ),
            ("field of view", view),
            ("trajectory", name.to_owned()),
            ("coils", self.coils.to_string()),
            (
                "readouts",
                format!(
                    "{} of {each} samples, {} in all",
                    self.readouts, self.samples
                ),
            ),
            (
                "sample time",
                self.sample_time.map_or_else(
                    || "not said".to_owned(),
                    |s| format!("{} µs", significant(s * 1e6, 3)),
                ),
            ),
            ("largest |k|", format!("{} cycles/pixel", reach.join(", "))),
            (
                "sampling",
                format!(
                    "{} of {} cells of k-space hold a sample: undersampled {} times",
                    self.coverage.visited,
                    self.coverage.cells,
                    significant(self.coverage.undersampling, 3)
                ),
            ),
        ];
        if let Some(spokes) = &self.coverage.spokes {
            lines.push((
                "spokes",
                format!(
                    "{}; Nyquist asks for {} at their ends",
                    spokes.measured,
                    spokes.nyquist.ceil()
                ),
            ));
        }
        lines.push((
            "signal",
            format!(
                "{} rms, {} at most",
                significant(self.signal_rms, 3),
                significant(self.signal_max, 3)
            ),
        ));
        for left in &self.left_out {
            lines.push(("left out", format!("{} {}", left.acquisitions, left.what)));
        }
        for need in &self.memory {
            let bytes = |n: u64| Bytes(u128::from(n)).to_string();
            let name = match need.operator {
                OperatorName::Direct => "memory, direct",
                OperatorName::Nufft => "memory, nufft",
                OperatorName::Toeplitz => "memory, toeplitz",
            };
            lines.push((
                name,
                format!(
                    "{} on the CPU; {} on a GPU and {} on its host",
                    bytes(need.cpu_bytes),
                    bytes(need.cuda_device_bytes),
                    bytes(need.cuda_host_bytes)
                ),
            ));
        }
        lines.extend(self.problems.iter().map(|p| ("problem", p.clone())));
        lines.extend(self.notes.iter().map(|n| ("note", n.clone())));
        facts(&lines)
    }
}

/// `256 x 256`, slices only where there are several.
fn sizes([slices, rows, columns]: [usize; 3]) -> String {
    if slices == 1 {
        return format!("{rows} x {columns}");
    }
    format!("{slices} x {rows} x {columns}")
}

/// The interval that all readouts have.
fn sample_time(kspace: &KSpace) -> Option<f64> {
    let first = kspace.readouts().first()?.interval;
    let same = kspace.readouts().iter().all(|r| r.interval == first);
    (same && first > 0.0).then_some(first)
}
