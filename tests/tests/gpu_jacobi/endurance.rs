//! Long runs, and grids that are too large: nothing is leaked.

use super::{CASE, fleet, with_counts};
use ndarray::Array2;
use warpstride::cuda::CudaError;
use warpstride::gpu::{CudaFleet, EmulatedFleet, Fleet, GpuError};
use warpstride::jacobi::cuda::{FleetEngine, Plan, Scheme, launches};
use warpstride::jacobi::{Boundary, Engine, JacobiError, Problem, Stopping};
use warpstride_tests::skipped;

/// Sweeps of the long run.
const SWEEPS: usize = 100_000;
/// Sweeps of the run before it, after which the driver has what it keeps.
const FEW: usize = 2000;
/// Rows and columns.
const SHAPE: [usize; 2] = [64, 67];
/// The driver takes memory in pieces of 2 MiB; 100 bytes a sweep would be more than this.
const DEVICE_SLACK: usize = 8 << 20;
/// Growth of the host's memory in half of the sweeps; 100 bytes a sweep would be more.
const HOST_SLACK: usize = 4 << 20;

/// Free bytes of all devices.
fn free(fleet: &CudaFleet) -> Vec<usize> {
    let devices = 0..fleet.devices();
    devices
        .map(|device| fleet.memory(device).unwrap().0)
        .collect()
}

fn expect_back(before: &[usize], after: &[usize], what: &str) {
    for (before, after) in before.iter().zip(after) {
        assert!(
            after + DEVICE_SLACK >= *before,
            "{what}: {before} bytes free, then {after}"
        );
    }
}

/// Bytes of the process in memory, where the system says.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

/// A field that grows by ¼ everywhere in each sweep: it never stops to change, and all of its
/// values are exact.
fn growing() -> Problem<f32> {
    let [ny, nx] = SHAPE;
    let problem = Problem::new(nx, ny, Boundary::Periodic).unwrap();
    problem.with_source(Array2::ones((ny, nx))).unwrap()
}

/// As many devices with what [`relax_long`] launches.
fn fresh(count: usize) -> CudaFleet {
    let ordinals: Vec<usize> = (0..count).collect();
    CudaFleet::keeping(&ordinals, |kernel| launches::<f32>(true, kernel)).unwrap()
}

/// Growth of the host's memory in the second half of a run.
fn relax_long<F: Fleet>(fleet: F, plan: Plan, sweeps: usize) -> Option<usize> {
    let rule = Stopping {
        iterations: sweeps,
        tolerance: 0.0,
        check_every: 7,
    };
    let [ny, nx] = SHAPE;
    let norm = 0.25 * ((ny - 2) as f64 * (nx - 2) as f64).sqrt();
    let mut engine = FleetEngine::new(fleet, &growing(), rule, plan).unwrap();
    let (mut at_half, mut checks) = (None, 0);
    while !engine.finished() {
        for found in engine.advance().unwrap().norms {
            assert_eq!(found.sweep, 7 * checks);
            assert!((found.norm / norm - 1.0).abs() < 1e-14, "{found:?}");
            checks += 1;
        }
        if at_half.is_none() && 2 * engine.sweeps() >= sweeps {
            at_half = resident();
        }
    }
    let at_end = resident();
    assert_eq!((engine.sweeps(), checks), (sweeps, sweeps.div_ceil(7)));
    let expected = Array2::from_elem((ny, nx), 0.25 * sweeps as f32);
    assert_eq!(engine.field().unwrap(), expected);
    Some(at_end?.saturating_sub(at_half?))
}

#[test]
fn gpu_jacobi_a_hundred_thousand_sweeps_leak_nothing() {
    with_counts("100 000 sweeps", |counts| {
        for count in counts {
            let ordinals: Vec<usize> = (0..*count).collect();
            let alive = CudaFleet::keeping(&ordinals, |_| false).unwrap();
            for scheme in [Scheme::Overlap, Scheme::Graphs, Scheme::Temporal] {
                let plan = Plan {
                    scheme,
                    ..Plan::default()
                };
                let what = format!("{count} devices, {scheme:?}");
                relax_long(fresh(*count), plan, FEW);
                let before = free(&alive);
                let grown = relax_long(fresh(*count), plan, SWEEPS);
                expect_back(&before, &free(&alive), &what);
                match grown {
                    Some(grown) => assert!(grown <= HOST_SLACK, "{what}: {grown} bytes more"),
                    None => skipped("the host's memory", &"/proc/self/status does not say"),
                }
            }
        }
    });
}

#[test]
fn emulated_sweeps_of_the_long_run_give_what_it_expects() {
    relax_long(EmulatedFleet::new(3), Plan::default(), 50);
}

#[test]
fn gpu_jacobi_a_grid_beyond_the_memory_is_one_error_and_the_fleet_goes_on() {
    with_counts("out of memory", |counts| {
        let expected = CASE.expected::<f32>().unwrap();
        for count in counts {
            let fleet = fleet(*count).unwrap();
            let (_, total) = fleet.memory(0).unwrap();
            let nx = 1 << 20;
            let ny = 2 + count * (2 * total / (4 * nx));
            let problem = Problem::<f32>::new(nx, ny, Boundary::Textbook).unwrap();
            let before = free(&fleet);
            for scheme in [Scheme::DefaultStream, Scheme::Temporal] {
                let plan = Plan {
                    scheme,
                    ..Plan::default()
                };
                let error =
                    FleetEngine::new(&fleet, &problem, Stopping::default(), plan).unwrap_err();
                let JacobiError::Gpu(GpuError::OnDevice { device: 0, error }) = &error else {
                    panic!("{error}");
                };
                let GpuError::Cuda(CudaError::OutOfMemory { needed, free, .. }) = **error else {
                    panic!("{error}");
                };
                assert!(needed >= 2 * total / (4 * nx) * 4 * nx && needed > free);
                let words = error.to_string();
                for figure in [needed, free] {
                    assert!(words.contains(&figure.to_string()), "{words}");
                }
                expect_back(&before, &self::free(&fleet), &words);
                assert_eq!(CASE.differences(&fleet, plan, &expected).unwrap(), "");
            }
        }
    });
}
