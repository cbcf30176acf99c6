//! Scans whose counts are in a temporary file: engines have the same bits as with the counts in
//! memory, wherever the blocks come from.

use crate::fused_step::{finished, metrics};
use crate::ranks::on_ranks;
use crate::streamed_counts::{FRAMES, bits_of};
use tempfile::TempDir;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::data::{Mask, Scan};
use warpstride::ptycho::io::scan::{ReadOptions, read, read_with_scratch, write};
use warpstride::ptycho::{Problem, Recipe, SimulateOptions, StreamPlan, UpdateVersion, simulate};
use warpstride::system::Memory;
use warpstride_tests::recipe;

const SIDE: usize = 64;
const BATCH: usize = 6;

/// The scan in a file, read into memory and into a temporary file in the folder. Counts are whole
/// numbers, or thirds of them.
fn scans(whole: bool) -> (TempDir, [Scan; 2]) {
    let options = SimulateOptions {
        frame: SIDE,
        positions: FRAMES,
        photons: 1e6,
        position_error: 0.5,
        seed: 5,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let mut counts = scan.frames().unwrap().into_owned();
    let mut mask = ndarray::Array3::from_elem(counts.dim(), true);
    for ((frame, row, column), valid) in mask.indexed_iter_mut() {
        *valid = (31 * frame + 7 * row + column) % 97 != 3;
    }
    if !whole {
        counts.mapv_inplace(|count| count / 3.0);
    }
    let scan = Scan::new(
        counts,
        Some(Mask::PerFrame(mask)),
        scan.positions().clone(),
        *scan.geometry(),
        scan.probe().cloned(),
    )
    .unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("scan.cxi");
    write(&path, &scan).unwrap();
    let in_memory = read(&path, &ReadOptions::default()).unwrap().scan;
    assert_eq!(in_memory.frames().unwrap(), scan.frames().unwrap());
    // A reconstruction with all counts in memory takes up to 14 bytes a pixel.
    let limited = |bytes: usize, scratch| {
        let memory = Memory::limited(bytes as u64);
        let read = read_with_scratch(&path, &ReadOptions::default(), memory, scratch);
        read.unwrap().scan
    };
    let needed = 14 * FRAMES * SIDE * SIDE;
    assert_eq!(limited(needed - 1, None).scratch_folder(), None);
    assert_eq!(limited(needed, Some(folder.path())).scratch_folder(), None);
    let in_file = limited(needed - 1, Some(folder.path()));
    assert_eq!(in_file.scratch_folder(), Some(folder.path()));
    assert_eq!(in_file.frames().unwrap(), scan.frames().unwrap());
    assert_eq!(in_file.sums(), in_memory.sums());
    // Nothing but the scan has a name there.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    (folder, [in_memory, in_file])
}

fn recipe_of(engines: &[&str]) -> Recipe {
    let mut recipe = recipe(engines).unwrap();
    recipe.free_pixels = 0.02;
    for engine in &mut recipe.engines {
        engine.subpixel = Some(false);
        if !matches!(engine.name.as_str(), "ml" | "dm" | "raar") {
            engine.batch = Some(BATCH);
        }
    }
    recipe
}

/// With all counts on the device, with blocks from page-locked memory, and with blocks from the
/// file, in 16 and 32 bits.
fn check(whole: bool, engines: &[&str]) {
    let recipe = recipe_of(engines);
    let (_folder, scans) = scans(whole);
    let problems = scans.map(|scan| Problem::prepare(&scan, &recipe).unwrap());
    let [in_memory, in_file] = &problems;
    assert_eq!(in_memory.total_counts, in_file.total_counts);
    assert_eq!(in_memory.free_counts, in_file.free_counts);
    assert_eq!(in_memory.digest(""), in_file.digest(""));
    let codes = in_file.magnitudes.codes();
    assert_eq!(codes.is_some(), whole);
    assert_eq!(in_memory.magnitudes.codes().is_some(), whole);
    let waves = engines.iter().any(|engine| engine.starts_with("dm"));
    let bits = |problem, plan| bits_of(problem, &recipe, UpdateVersion::Tiled, plan);
    let expected = bits(in_memory, None);
    assert!(bits(in_file, None) == expected, "all on the device");
    for codes in [codes, None] {
        let plan = StreamPlan::new([FRAMES, SIDE * SIDE], BATCH, 2, codes);
        let plan = match waves {
            true => plan.with_waves(1, in_file.gpu_waves, 2),
            false => plan,
        };
        assert!(bits(in_file, Some(plan)) == expected, "{plan}");
        let from_file = plan.in_file();
        assert!(from_file.host_bytes() < plan.host_bytes() || waves);
        assert!(bits(in_file, Some(from_file)) == expected, "{from_file}");
    }
}

#[test]
fn batches_of_counts() {
    check(true, &["lsqml:3", "rpie:1", "epie:1"]);
}

#[test]
fn batches_of_fractions() {
    check(false, &["lsqml:2"]);
}

#[test]
fn projections() {
    check(true, &["dm:2", "raar:2"]);
}

/// Each of two devices reads its own frames.
#[test]
fn two_devices() {
    let recipe = recipe_of(&["dm:3"]);
    let (_folder, scans) = scans(true);
    let [in_memory, in_file] = scans.map(|scan| Problem::prepare(&scan, &recipe).unwrap());
    let object = |problem: &Problem, size: usize, plan: Option<StreamPlan>| {
        on_ranks(size, |ranks| {
            let (device, ranks) = (EmulatedDevice::new(), (ranks, None));
            let engine = GpuEngine::among(device, problem, UpdateVersion::Tiled, plan, ranks);
            let mut run = finished(Box::new(engine.unwrap()), problem, &recipe);
            run.engine().object().unwrap()
        })
    };
    let expected = object(&in_memory, 1, None);
    assert!(object(&in_file, 2, None) == expected);
    let own = [FRAMES.div_ceil(2), SIDE * SIDE];
    let plan = StreamPlan::new(own, BATCH, 2, in_file.magnitudes.codes());
    let plan = plan.with_waves(1, in_file.gpu_waves, 2).in_file();
    assert!(object(&in_file, 2, Some(plan)) == expected);
}

/// In blocks, `ml` adds in another order than with all counts on the device.
#[test]
fn conjugate_gradients() {
    let recipe = recipe_of(&["ml:3"]);
    let (_folder, scans) = scans(true);
    let [in_memory, in_file] = scans.map(|scan| Problem::prepare(&scan, &recipe).unwrap());
    let plan = StreamPlan::new([FRAMES, SIDE * SIDE], 7, 2, in_file.magnitudes.codes());
    let bits = |problem, plan| bits_of(problem, &recipe, UpdateVersion::Tiled, Some(plan));
    assert!(bits(&in_file, plan.in_file()) == bits(&in_memory, plan));
}

#[test]
fn the_cpu_reads_them_into_memory() {
    let recipe = recipe_of(&["dm:2", "lsqml:2"]);
    let (_folder, scans) = scans(true);
    let ends = scans.map(|scan| {
        let problem = Problem::prepare(&scan, &recipe).unwrap();
        let engine = Box::new(CpuEngine::<f64>::new(&problem));
        let run = finished(engine, &problem, &recipe);
        run.progress()
            .history
            .iter()
            .map(metrics)
            .collect::<Vec<_>>()
    });
    assert_eq!(ends[0], ends[1]);
}
