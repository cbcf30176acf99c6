//! Mini-batches on regions of a scan, each with its own copy of object and probe: the same bits on
//! one, two and four devices, in blocks and after a restart; near the CPU in double precision; and
//! as good as without regions.

use crate::fused_step::{finished, relative};
use crate::ranks::{LARGE, SMALL, on_devices, prepared};
use num_complex::Complex;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    BatchOrder, Engine, PositionMethod, Problem, Ranks, Recipe, Reconstructor, SimulateOptions,
    UpdateVersion, simulate,
};

/// Batches of few frames, beside each other and all over their region.
fn in_regions(recipe: &mut Recipe) {
    for (number, engine) in recipe.engines.iter_mut().enumerate() {
        if engine.name.projects() {
            continue;
        }
        engine.regions = Some(4);
        engine.batch = Some(3 + number);
        engine.subpixel = Some(false);
    }
}

fn check(
    size: [usize; 3],
    engines: &[&str],
    (shared_memory, block): (usize, Option<usize>),
    change: fn(&mut Recipe),
) {
    let (problem, recipe) = prepared(size, engines, |recipe| {
        in_regions(recipe);
        change(recipe);
    });
    let expected = on_devices(1, &problem, &recipe, shared_memory, None);
    // Four devices have a region each, three have one or two; with blocks, one device has several
    // too.
    let devices: &[usize] = if block.is_some() { &[1, 3] } else { &[3, 4] };
    for &devices in devices {
        let found = on_devices(devices, &problem, &recipe, shared_memory, block);
        assert!(found == expected, "{devices} devices");
    }
    let double = Box::new(CpuEngine::<f64>::new(&problem));
    let mut run = finished(double, &problem, &recipe);
    let engine = run.engine();
    let object: Vec<Complex<f64>> = engine.object().unwrap().into_iter().collect();
    let probe: Vec<Complex<f64>> = engine.probe().unwrap().into_iter().collect();
    for (name, found, expected) in [
        ("object", &expected.object, &object),
        ("probe", &expected.probe, &probe),
    ] {
        let error = relative(found, expected);
        assert!(error < 2e-4, "{name}: {error}");
    }
}

#[test]
fn in_few_launches() {
    let engines = ["lsqml:3", "rpie:2", "dm:1", "lsqml:2"];
    check([64, 29, 1], &engines, (LARGE, None), |recipe| {
        recipe.engines[1].batch_order = Some(BatchOrder::Spread);
        recipe.engines[3].momentum = Some(0.0);
    });
}

#[test]
fn between_pixels_and_with_several_modes() {
    for (modes, shared_memory) in [(1, LARGE), (2, LARGE), (1, SMALL)] {
        let size = [64, 22, modes];
        check(
            size,
            &["lsqml:3", "rpie:1"],
            (shared_memory, None),
            |recipe| {
                for engine in &mut recipe.engines {
                    engine.subpixel = Some(true);
                }
            },
        );
    }
}

#[test]
fn in_separate_launches() {
    check(
        [24, 50, 2],
        &["lsqml:3", "rpie:2"],
        (LARGE, None),
        |recipe| {
            recipe.engines[1].subpixel = Some(true);
            recipe.engines[0].update_probe = false;
        },
    );
}

/// Blocks end within regions.
#[test]
fn with_counts_in_blocks() {
    check([24, 37, 1], &["lsqml:4"], (LARGE, Some(7)), |recipe| {
        recipe.engines[0].batch = Some(3);
    });
    check([64, 37, 1], &["lsqml:3"], (LARGE, Some(5)), |recipe| {
        recipe.engines[0].subpixel = Some(true);
    });
}

/// Every device has all frames then, in the order of the regions.
#[test]
fn with_refined_positions() {
    let engines = ["lsqml:4", "ml:2"];
    check([24, 40, 1], &engines, (LARGE, None), |recipe| {
        for engine in &mut recipe.engines {
            engine.subpixel = Some(true);
        }
        recipe.positions.refine = vec![PositionMethod::Gradient, PositionMethod::Annealing];
        recipe.positions.start = 1;
        recipe.fit_frame_scales = true;
    });
}

/// Regions with one frame, and with fewer batches than merges.
#[test]
fn of_few_frames() {
    check(
        [24, 5, 1],
        &["lsqml:3", "epie:2"],
        (LARGE, None),
        |recipe| {
            recipe.engines[1].batch = Some(1);
        },
    );
    check([64, 9, 1], &["epie:3"], (LARGE, None), |recipe| {
        recipe.engines[0].batch = Some(1);
    });
}

/// One of the engines divides batches, of which a device may have no frames.
#[test]
fn beside_engines_without_regions() {
    let engines = ["lsqml:2", "rpie:2", "lsqml:2"];
    for side in [24, 64] {
        check([side, 37, 1], &engines, (LARGE, None), |recipe| {
            recipe.engines[1].regions = Some(1);
            recipe.engines[1].batch = Some(16);
            recipe.engines[1].batch_order = Some(BatchOrder::Compact);
            recipe.engines[2].update_object = false;
        });
    }
}

/// A region with two batches and others with one, which has none before the first merge.
#[test]
fn of_regions_with_different_numbers_of_batches() {
    for side in [24, 64] {
        check([side, 6, 1], &["lsqml:4"], (LARGE, None), |recipe| {
            recipe.engines[0].batch = Some(1);
        });
    }
}

/// Devices that each compute everything would have equal results too.
#[test]
fn devices_have_some_of_the_regions() {
    let (problem, recipe) = prepared([24, 40, 1], &["lsqml:1"], in_regions);
    let packed = |size: usize| {
        crate::ranks::on_ranks(size, |ranks: Ranks| {
            let device = EmulatedDevice::with_shared_memory(LARGE);
            let version = UpdateVersion::Tiled;
            let engine = GpuEngine::among(device, &problem, version, None, (ranks, None)).unwrap();
            let engine: Box<dyn Engine> = Box::new(engine.with_divided_batches());
            let mut run = Reconstructor::new(engine, &problem, &recipe);
            run.engine().start_profile().unwrap();
            run.advance().unwrap();
            let spans = run.engine().take_profile().unwrap();
            let of = |name: &str| spans.iter().filter(|span| span.name.contains(name)).count();
            [of("ptycho_pack_region"), of("ptycho_merge_regions")]
        })
    };
    // Four merges: ten frames of a region in batches of three.
    let merges = 4;
    let expected = |copies: usize| [copies * merges, copies * (merges - 1) + 1];
    assert_eq!([1, 2, 4].map(packed), [4, 2, 1].map(expected));
}

/// R_free after the same number of iterations, of a scan whose regions have 100 frames, with so few
/// photons that noise limits it.
#[test]
fn the_free_pixels_fit_as_well_as_without_regions() {
    let options = SimulateOptions {
        frame: 32,
        positions: 400,
        photons: 1e5,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let reconstructed = |regions: usize| {
        let (_, mut recipe) = prepared([24, 4, 1], &["lsqml:20"], |_| ());
        recipe.engines[0].regions = Some(regions);
        recipe.engines[0].batch = Some(10);
        let problem = Problem::prepare(&scan, &recipe).unwrap();
        let engine = Box::new(CpuEngine::<f32>::new(&problem));
        let run = finished(engine, &problem, &recipe);
        run.progress().history.last().unwrap().r_free.unwrap()
    };
    let [without, with] = [1, 4].map(reconstructed);
    assert!(
        with < 1.1 * without,
        "{with} with regions, {without} without"
    );
}
