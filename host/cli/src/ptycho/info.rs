//! `warpstride ptycho info`.

mod text;

use super::detector_arguments::{detector, origins as detector_origins};
use super::given::given_and_missing;
use super::interruption::stops_at_once;
use super::layer_arguments::layers;
use super::position_arguments::positions;
use super::recipe_arguments::{engines, names_automatic, precision, read_recipe, set, set_model};
use super::recipe_origin::RecipeOrigin;
use super::scan_arguments;
use super::slice_arguments::slices;
use super::unknown_layout::print_layout;
use crate::args::{InfoArgs, PositionArgs};
use crate::byte_size;
use crate::failure::Failure;
use crate::output::{say, say_json};
use crate::paths::{self, OutputFile};
use serde::Serialize;
use std::path::PathBuf;
use warpstride::ptycho::data::Scan;
use warpstride::ptycho::io::provenance::{Process, processes};
use warpstride::ptycho::io::scan::{self, MissingParts, ScanFile, missing_parts};
use warpstride::ptycho::report::report_of_scan;
use warpstride::ptycho::{
    CountCodes, Diagnosis, EngineSpec, NearFieldSummary, Overlap, Precision, ReadOptions, Recipe,
    StepPlan, StreamPlan, check_scan, chosen_note, diagnose_frames, host_besides, mask_bytes,
    masked_pixels, memory_estimate, planned_trials, suit_engines, template, unusable_illumination,
};
use warpstride::run::MemoryInfo;
use warpstride::system::Bytes;
use warpstride::system::Memory;
use warpstride::system::write_whole;
use warpstride::text::significant;

/// One electronvolt, J (CODATA 2018, exact).
const ELECTRONVOLT: f64 = 1.602_176_634e-19;

/// What an H200 receives from page-locked memory in a millisecond (measured, PCIe 5).
const BYTES_PER_MILLISECOND: f64 = 55e6;

/// The file to describe.
#[derive(Debug)]
pub(crate) struct Info {
    file: PathBuf,
    origin: RecipeOrigin,
    recipe: Recipe,
    /// Whether trials decide the rest of the recipe.
    automatic: bool,
    /// Most device memory in bytes.
    device_memory: Option<u64>,
    /// Most host memory in bytes.
    host_memory: Option<u64>,
    scratch: Option<PathBuf>,
    /// HTML file to write.
    report: Option<PathBuf>,
    json: bool,
    /// The error of a raster without a step, unless the positions are missing anyhow.
    stepless: Option<Failure>,
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
    /// Energy of the photons, or of the electrons if their voltage is known.
    energy_ev: f64,
    /// Voltage of electrons, V; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    voltage: Option<f64>,
    distance: f64,
    /// (row, column).
    detector_pixel: [f64; 2],
    /// (row, column).
    object_pixel: [f64; 2],
    /// Absent for far fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    near_field: Option<NearFieldSummary>,
}

/// Everything known about a scan; `--json` prints it.
#[derive(Serialize)]
pub(super) struct ScanInfo {
    file: String,
    frames: usize,
    rows: usize,
    columns: usize,
    bad_pixels: usize,
    bad_pixel_share: f64,
    /// Absent if wavelength, distance or pixel size is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    geometry: Option<ScanGeometry>,
    counts: Counts,
    /// Extent of the positions (row, column), m; absent without positions.
    extent: Option<[f64; 2]>,
    overlap: Option<Overlap>,
    /// Number of modes of the start probe in the file; 0 if it has none.
    illumination_modes: usize,
    simulated: bool,
    object_shape: Option<[usize; 2]>,
    probe_modes: usize,
    /// `f32` or `f64`.
    precision: &'static str,
    /// How a GPU of compute capability 9.0 computes projections.
    gpu_step: Option<String>,
    memory: Option<MemoryInfo>,
    /// How counts and exit waves travel to a GPU with the memory that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_counts: Option<String>,
    /// What is missing to reconstruct the frames, with the options that give it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<&'static str>,
    /// A command with plausible values of what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
    problems: Vec<String>,
    notes: Vec<String>,
    /// The runs that have made the file, the first one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processes: Vec<Process>,
}

impl Info {
    /// Reads the recipe, if one was given.
    pub(crate) fn from_args(args: InfoArgs) -> Result<Self, Failure> {
        let report = OutputFile::given("--report", args.report.as_deref(), &[paths::HTML]);
        let mut inputs = vec![args.file.as_path()];
        inputs.extend(args.recipe.as_deref());
        inputs.extend(args.scan.positions.more.iter().map(PathBuf::as_path));
        paths::check(report.as_slice(), &inputs)?;
        let origin = RecipeOrigin::of(args.recipe.as_deref(), &args.set)
            .with_reading(&args.scan)
            .with_model(
                (args.probe_modes, args.opr_modes),
                &args.layers,
                &args.slices,
            )
            .with_computation(&args.engine, args.precision)
            .with(detector_origins(&args.detector));
        origin.check_single()?;
        let mut recipe = args
            .recipe
            .as_deref()
            .map_or_else(|| Ok(Recipe::default()), read_recipe)?;
        let sets_engines = (args.set.iter()).any(|set| {
            let path = set.split('=').next().unwrap_or_default();
            path.trim() == "engines"
        });
        let automatic = names_automatic(&args.engine, args.recipe.as_deref()) && !sets_engines;
        if automatic {
            let template = template();
            recipe = Recipe {
                engines: template.engines,
                stop: template.stop,
                free_pixels: template.free_pixels.max(recipe.free_pixels),
                ..recipe
            };
        }
        recipe.probe_modes = args.probe_modes.unwrap_or(recipe.probe_modes);
        layers(&args.layers, &mut recipe)?;
        slices(&args.slices, &mut recipe.slices)?;
        detector(&args.detector, &mut recipe.detector)?;
        recipe.opr_modes = args.opr_modes.unwrap_or(recipe.opr_modes);
        recipe.precision = args.precision.map_or(recipe.precision, precision);
        if !automatic && !sets_engines && !args.engine.is_empty() {
            recipe.engines = engines(&args.engine)?;
        }
        let mut scan = args.scan;
        let stepless = take_stepless(&mut scan.positions);
        scan_arguments::scan(&scan, &mut recipe.data)?;
        if automatic {
            set_model(&mut recipe, &args.set)?;
            suit_engines(&mut recipe);
        }
        set(&mut recipe, &args.set)?;
        let device_memory = byte_size::parse("--device-memory", args.device_memory.as_deref())?;
        let host_memory = byte_size::parse("--host-memory", args.host_memory.as_deref())?;
        recipe.check().map_err(|error| origin.failure(&error))?;
        Ok(Self {
            file: args.file,
            origin,
            recipe,
            automatic,
            device_memory,
            host_memory,
            scratch: args.scratch,
            report: args.report,
            json: args.json,
            stepless,
        })
    }

    /// Describes frames of which something is missing to reconstruct them; `None` if nothing is.
    fn incomplete(&mut self, memory: Memory) -> Result<Option<ScanInfo>, Failure> {
        let missing = missing_parts(&self.file, &self.recipe.data, memory)
            .map_err(|error| self.origin.of_reading(error))?;
        let Some(missing) = missing else {
            return Ok(None);
        };
        if !missing.has_no_positions()
            && let Some(error) = self.stepless.take()
        {
            return Err(error);
        }
        let scratch = self.scratch.as_deref();
        match scan::read_with_scratch(&self.file, &missing.options, memory, scratch) {
            Ok(read) => self.frames_alone(read, missing).map(Some),
            Err(error) => match missing.with(error) {
                Some(error) => Err(self.origin.of_reading(error)),
                None => Ok(None),
            },
        }
    }

    /// What is known of frames that miss something.
    fn frames_alone(&self, read: ScanFile, missing: MissingParts) -> Result<ScanInfo, Failure> {
        let name = self.file.display().to_string();
        let diagnosis = Diagnosis {
            overlap: None,
            problems: diagnose_frames(&read.scan).map_err(Failure::failed)?,
        };
        let mut info = ScanInfo::new(name, &read.scan, &self.recipe, diagnosis, read.notes);
        info.extent = None;
        if !missing.has_geometry() {
            info.geometry = None;
        }
        info.missing = missing.nouns();
        info.command = Some(given_and_missing(&missing.arguments));
        if let Some(path) = &self.report {
            let path = path.display();
            (info.notes).push(format!("{path} was not written, as something is missing"));
        }
        Ok(info)
    }

    /// Reads the scan and prints its description; fails if the scan cannot be reconstructed.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let _part = stops_at_once("stopped before the scan was described".to_owned())?;
        let memory = byte_size::host_limit(self.host_memory);
        let scratch = self.scratch.as_deref();
        if let Some(layout) = scan::unknown_layout(&self.file, &self.recipe.data, memory)
            .map_err(|error| self.origin.of_reading(error))?
        {
            let frames = match layout.complete {
                true => Ok(None),
                false => self.incomplete(memory),
            };
            return print_layout(&layout, frames, self.json);
        }
        let read = match scan::read_with_scratch(&self.file, &self.recipe.data, memory, scratch) {
            Ok(read) => read,
            Err(error) => {
                let Some(info) = self.incomplete(memory)? else {
                    return Err(self.origin.of_reading(error));
                };
                return match self.json {
                    true => say_json(&info),
                    false => say(&info.text(None)),
                };
            }
        };
        if let Some(error) = self.stepless {
            return Err(error);
        }
        // The file may say so.
        self.recipe.data.near_field = Some(read.scan.geometry().is_near_field());
        let name = self.file.display().to_string();
        let checks = check_scan(&read.scan, &self.recipe).map_err(Failure::failed)?;
        let refused = checks.object_shape.as_ref().err();
        let fatal = refused.map(|error| self.origin.of_problem(&name, error));
        let diagnosis = Diagnosis {
            overlap: checks.overlap,
            problems: checks.problems,
        };
        let mut info = ScanInfo::new(name, &read.scan, &self.recipe, diagnosis, read.notes);
        info.processes = processes(&self.file, memory);
        (info.problems)
            .extend(unusable_illumination(&read.scan, &self.recipe).map(|error| error.to_string()));
        if self.automatic {
            let planned = planned_trials(&read.scan, &self.recipe);
            let note = format!("reconstruct without --engine is automatic: {planned}");
            info.notes.push(note);
        }
        if let Ok(object_shape) = checks.object_shape {
            info.plan(object_shape, &self.recipe, memory);
            if let Some(limit) = self.device_memory {
                let limits = (limit, memory);
                info.stream(object_shape, &self.recipe, &read.scan, limits);
            }
        }
        if let Some(path) = &self.report {
            let options = toml::to_string(&self.recipe.data).unwrap_or_default();
            let made = info.processes.iter().map(|of| format!("made by {of}"));
            let notes: Vec<String> = info.notes.iter().cloned().chain(made).collect();
            let texts = [&*notes, &*info.problems];
            let page = report_of_scan(&info.file, &read.scan, &info.facts(), texts, &options)?;
            write_whole(path, page.as_bytes())?;
        }
        if self.json {
            say_json(&info)?
        } else {
            say(&info.text(self.report.as_deref()))?
        }
        fatal.map_or(Ok(()), Err)
    }
}

/// Takes a raster without a step, with which no positions can be made; returns its error.
fn take_stepless(args: &mut PositionArgs) -> Option<Failure> {
    if args.step.is_some() || args.positions.is_some() {
        return None;
    }
    let error = positions(args, &mut ReadOptions::default()).err()?;
    let without = PositionArgs {
        raster: None,
        rotation: None,
        snake: false,
        ..args.clone()
    };
    // Another error is reported with the others.
    positions(&without, &mut ReadOptions::default()).ok()?;
    *args = without;
    Some(error)
}

impl ScanInfo {
    fn new(
        file: String,
        scan: &Scan,
        recipe: &Recipe,
        diagnosis: Diagnosis,
        notes: Vec<String>,
    ) -> Self {
        let [frames, rows, columns] = scan.shape();
        let geometry = scan.geometry();
        let pixel = scan.object_pixel();
        let totals = &scan.sums().of_frames;
        let (bad, of) = masked_pixels(scan);
        let total = scan.sums().total();
        let brightest = (0..frames)
            .max_by(|a, b| totals[*a].total_cmp(&totals[*b]))
            .unwrap_or(0);
        let extent = [0, 1].map(|axis| {
            let column = scan.positions().column(axis);
            let low = column.iter().copied().fold(f64::INFINITY, f64::min);
            column.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low
        });
        let Diagnosis { overlap, problems } = diagnosis;
        let counts = Counts {
            total,
            mean: total / (frames * rows * columns) as f64,
            max: f64::from(scan.sums().largest),
            brightest_frame: scan.stored_frames(&[brightest])[0],
            brightest_frame_total: totals.get(brightest).copied().unwrap_or(0.0),
        };
        Self {
            file,
            frames,
            rows,
            columns,
            bad_pixels: bad,
            bad_pixel_share: bad as f64 / of as f64,
            geometry: Some(ScanGeometry {
                wavelength: geometry.wavelength,
                energy_ev: (scan.voltage()).unwrap_or_else(|| geometry.energy() / ELECTRONVOLT),
                voltage: scan.voltage(),
                distance: geometry.distance,
                detector_pixel: geometry.pixel_size,
                object_pixel: pixel,
                near_field: NearFieldSummary::new(geometry),
            }),
            counts,
            extent: Some(extent),
            overlap,
            illumination_modes: scan.probe().map_or(0, |p| p.dim().0),
            simulated: scan.simulation().is_some(),
            object_shape: None,
            probe_modes: recipe.probe_modes,
            precision: match recipe.precision {
                Precision::F32 => "f32",
                Precision::F64 => "f64",
            },
            gpu_step: None,
            memory: None,
            gpu_counts: None,
            missing: Vec::new(),
            command: None,
            problems,
            notes,
            processes: Vec::new(),
        }
    }

    fn plan(&mut self, object_shape: [usize; 2], recipe: &Recipe, available: Memory) {
        let shape = [self.frames, self.probe_modes, self.rows, self.columns];
        let estimate = memory_estimate(shape, object_shape, recipe);
        if estimate.cpu > available.limit() {
            self.problems.push(format!(
                "the CPU back end needs {} of memory, but {} is available",
                Bytes(u128::from(estimate.cpu)),
                Bytes(u128::from(available.limit()))
            ));
        }
        self.object_shape = Some(object_shape);
        self.notes
            .extend(chosen_note(&recipe.engines, shape, object_shape));
        let projects = |engine: &EngineSpec| engine.name.projects();
        if recipe.engines.iter().any(projects) {
            let plan = StepPlan::on_hopper(recipe.gpu.step, shape)
                .in_field(recipe.data.is_near_field())
                .with_detector(!recipe.detector.is_ideal())
                .with_waves(recipe.gpu.waves);
            let exact = |engine: &EngineSpec| projects(engine) && engine.subpixel == Some(true);
            let whole = |engine: &EngineSpec| projects(engine) && !exact(engine);
            let whole = recipe.engines.iter().any(whole);
            let exact = recipe.engines.iter().any(exact);
            let note = if exact && plan.is_fused() {
                "; separate kernels at exact positions"
            } else {
                ""
            };
            self.gpu_step = Some(if whole {
                format!("{plan}{note}")
            } else {
                StepPlan::at_exact_positions(plan).to_string()
            });
        }
        self.memory = Some(MemoryInfo::new(estimate, available));
    }

    /// How the counts would be on a GPU of which `limit` bytes may be taken, on a host with memory
    /// `host`.
    fn stream(
        &mut self,
        object_shape: [usize; 2],
        recipe: &Recipe,
        scan: &Scan,
        (limit, host): (u64, Memory),
    ) {
        let shape = [self.frames, self.probe_modes, self.rows, self.columns];
        // A free pixel has its counts behind all others, which need as many codes again at most.
        let free = recipe.free_pixels > 0.0 || recipe.detector.fits_background();
        let codes = CountCodes::of_scan(scan, free);
        match StreamPlan::choose(shape, object_shape, recipe, codes, limit) {
            Ok(None) => self.gpu_counts = Some("all on the device".to_owned()),
            Ok(Some(plan)) => {
                let plan = match scan.scratch_folder() {
                    Some(_) => {
                        let besides = host_besides(shape, object_shape, recipe);
                        plan.within(besides.saturating_add(mask_bytes(scan)), host, 1)
                    }
                    None => plan,
                };
                let in_ms = |bytes: u64| significant(bytes as f64 / BYTES_PER_MILLISECOND, 3);
                let passes = in_ms(plan.count_bytes());
                let [to_device, _] = plan.wave_bytes();
                self.gpu_counts = Some(if plan.wave_blocks().is_some() {
                    let iteration = in_ms(plan.count_bytes().saturating_add(to_device));
                    format!(
                        "{plan}: at 55 GB/s a pass takes {passes} ms, an iteration of a projection engine {iteration} ms"
                    )
                } else {
                    format!("{plan}, in {passes} ms at 55 GB/s")
                });
            }
            Err(error) => self.problems.push(error.to_string()),
        }
    }
}
