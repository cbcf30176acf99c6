//! `warpstride mri info`.

use super::sample_source::{SampleArgs, SampleSource};
use crate::args::MriInfoArgs;
use crate::failure::Failure;
use crate::output::{facts, say, say_json};
use serde::Serialize;
use warpstride::mri::data::{ImageIndex, KSpace};
use warpstride::mri::io::ismrmrd::{KSpaceFile, LeftOut};
use warpstride::mri::{Coverage, Density, MemorySizes, Method, OperatorName, diagnose, grid_of};
use warpstride::run::MemoryInfo;
use warpstride::system::Bytes;
use warpstride::system::Memory;
use warpstride::text::{length, significant};

/// A checked `mri info` command.
#[derive(Debug)]
pub(crate) struct Info {
    source: SampleSource,
    json: bool,
}

#[derive(Clone, Serialize)]
struct OperatorMemory {
    operator: OperatorName,
    #[serde(flatten)]
    memory: MemoryInfo,
}

/// The description of a file.
#[derive(Serialize)]
struct FileInfo {
    file: String,
    /// Slices, rows, columns.
    matrix: [usize; 3],
    axes: usize,
    /// Slices, rows, columns, m.
    field_of_view: Option<[f64; 3]>,
    /// The trajectory's name in the header, or its file.
    trajectory: String,
    coils: usize,
    acquisitions: usize,
    readouts: usize,
    /// Shortest and longest readout.
    samples_per_readout: [usize; 2],
    samples: usize,
    /// Time from one sample to the next, s.
    sample_time: Option<f64>,
    /// Root mean square and largest modulus of the signal.
    signal_rms: f64,
    signal_max: f64,
    coverage: Coverage,
    left_out: Vec<LeftOut>,
    /// The images that are selected, if several may be; what is described is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<Vec<ImageIndex>>,
    /// Memory of each operator in single precision, with coil maps.
    memory: Vec<OperatorMemory>,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Info {
    /// Checks the arguments.
    pub(crate) fn from_args(args: MriInfoArgs) -> Result<Self, Failure> {
        Ok(Self {
            json: args.json,
            source: SampleSource::from_args(SampleArgs {
                file: args.file,
                trajectory: args.trajectory,
                matrix: args.matrix,
                k_unit: args.k_unit,
                exclude_coils: args.exclude_coils,
                group: args.group,
                select: args.select,
                combine: args.combine,
            })?,
        })
    }

    /// Reads the file and prints its description.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let memory = Memory::available();
        let images = self.source.images(memory)?;
        let first = images.as_ref().and_then(|images| images.first().copied());
        let read = self.source.read(first, memory)?;
        let mut info = FileInfo::new(self.source.file().display().to_string(), read, memory)?;
        info.images = images;
        if self.json {
            say_json(&info)
        } else {
            say(&info.text())
        }
    }
}

impl FileInfo {
    fn new(file: String, read: KSpaceFile, memory: Memory) -> Result<Self, Failure> {
        let kspace = &read.kspace;
        let extent = kspace.extent();
        // At least one byte per voxel is needed.
        let voxels = extent
            .matrix
            .iter()
            .fold(1_u128, |n, side| n * *side as u128);
        if voxels > u128::from(memory.limit()) {
            return Err(Failure::failed(format!(
                "{file}: the image of {} voxels does not fit into {} of available memory",
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
        let mut info = Self {
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
            coverage: Coverage::new(kspace)?,
            memory: operators
                .map(|operator| {
                    let sizes =
                        MemorySizes::new(grid_of(kspace), kspace.count(), kspace.coils(), operator);
                    OperatorMemory {
                        operator,
                        memory: MemoryInfo::new(sizes.estimate(4), memory),
                    }
                })
                .to_vec(),
            left_out: read.left_out,
            images: None,
            notes: read.notes,
            problems: Vec::new(),
            file,
        };
        info.problems = diagnose(&read.kspace, &info.coverage);
        info.problems.extend(info.memory_problem());
        Ok(info)
    }

    fn memory_problem(&self) -> Option<String> {
        let fits = |of: &OperatorMemory| of.memory.estimate.cpu <= of.memory.available_host_bytes;
        let OperatorMemory { memory, .. } = self.memory.first()?;
        (!self.memory.iter().any(fits)).then(|| {
            format!(
                "the CPU back end needs {} of memory, but {} is available",
                Bytes(u128::from(memory.estimate.cpu)),
                Bytes(u128::from(memory.available_host_bytes))
            )
        })
    }

    fn text(&self) -> String {
        let view = self.field_of_view.map_or_else(
            || "unknown".to_owned(),
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
            "unknown"
        } else {
            &self.trajectory
        };
        let mut lines = vec![("file", self.file.clone())];
        if let Some(images) = &self.images {
            lines.push(("images", described(images)));
        }
        lines.extend([
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
                    "{} of {}, {} in total",
                    self.readouts,
                    if each == "1" {
                        "1 sample".to_owned()
                    } else {
                        format!("{each} samples")
                    },
                    self.samples
                ),
            ),
            (
                "sample time",
                self.sample_time.map_or_else(
                    || "unknown".to_owned(),
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
        ]);
        if let Some(spokes) = &self.coverage.spokes {
            lines.push((
                "spokes",
                format!(
                    "{}; Nyquist's criterion requires {} at their ends",
                    spokes.measured,
                    spokes.nyquist.ceil()
                ),
            ));
        }
        let adjoint = Density::choose(None, Method::Adjoint, &self.coverage);
        let because = adjoint.note.map(|_| self.coverage.spokes.as_ref()?.uneven);
        lines.push((
            "density",
            match because.flatten() {
                None => format!("{} for --method adjoint", adjoint.density.name()),
                Some(uneven) => {
                    format!(
                        "{} for --method adjoint, as {uneven}",
                        adjoint.density.name()
                    )
                }
            },
        ));
        lines.push((
            "signal",
            format!(
                "rms {}, maximum {}",
                significant(self.signal_rms, 3),
                significant(self.signal_max, 3)
            ),
        ));
        for of in &self.memory {
            let bytes = |n: u64| Bytes(u128::from(n)).to_string();
            let estimate = of.memory.estimate;
            let name = match of.operator {
                OperatorName::Direct => "memory, direct",
                OperatorName::Nufft => "memory, nufft",
                OperatorName::Toeplitz => "memory, toeplitz",
            };
            lines.push((
                name,
                format!(
                    "{} on the CPU; {} on a GPU and {} on its host",
                    bytes(estimate.cpu),
                    bytes(estimate.gpu_device),
                    bytes(estimate.gpu_host)
                ),
            ));
        }
        lines.extend(self.problems.iter().map(|p| ("problem", p.clone())));
        lines.extend(self.notes.iter().map(|n| ("note", n.clone())));
        facts(&lines)
    }
}

/// How many images there are, with the range of each counter in which they differ.
fn described(images: &[ImageIndex]) -> String {
    let Some(first) = images.first() else {
        return "0".to_owned();
    };
    let mut parts = Vec::new();
    for (at, (name, _)) in first.counters().into_iter().enumerate() {
        let values = images.iter().map(|index| index.counters()[at].1);
        if let (Some(low), Some(high)) = (values.clone().min(), values.max())
            && low != high
        {
            parts.push(format!("{name} {low} to {high}"));
        }
    }
    if parts.is_empty() {
        return images.len().to_string();
    }
    let differ = parts.join(", ");
    format!("{} ({differ}); what follows is of the first", images.len())
}

/// `256 x 256`, preceded by the number of slices if there are several.
fn sizes([slices, rows, columns]: [usize; 3]) -> String {
    if slices == 1 {
        return format!("{rows} x {columns}");
    }
    format!("{slices} x {rows} x {columns}")
}

/// The sample interval, if all readouts have the same.
fn sample_time(kspace: &KSpace) -> Option<f64> {
    let first = kspace.readouts().first()?.interval;
    let same = kspace.readouts().iter().all(|r| r.interval == first);
    (same && first > 0.0).then_some(first)
}
