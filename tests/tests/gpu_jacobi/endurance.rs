//! Long runs, and grids that are too large: no memory is leaked.

use super::{CASE, group, with_counts};
use ndarray::Array2;
use warpstride::cuda::CudaError;
use warpstride::cuda::Kernels;
use warpstride::gpu::{CudaDeviceGroup, DeviceGroup, EmulatedDeviceGroup, GpuError};
use warpstride::jacobi::cuda::{GroupEngine, Plan, Scheme, kernels};
use warpstride::jacobi::{Boundary, Engine, JacobiError, Problem, Stopping};
use warpstride_tests::skipped;

/// Sweeps of the long run.
const SWEEPS: usize = 100_000;
/// Sweeps of the preceding run, after which the driver has made its permanent allocations.
const WARM_UP_SWEEPS: usize = 2000;
/// Rows and columns.
const SHAPE: [usize; 2] = [64, 67];
/// The driver allocates memory in units of 2 MiB; leaking 100 bytes per sweep would exceed this.
const DEVICE_SLACK: usize = 8 << 20;
/// Tolerated growth of host memory in half of the sweeps; leaking 100 bytes per sweep would exceed
/// it.
const HOST_SLACK: usize = 4 << 20;

/// Free bytes of all devices.
fn free(group: &CudaDeviceGroup) -> Vec<usize> {
    let devices = 0..group.devices();
    devices
        .map(|device| group.memory(device).unwrap().0)
        .collect()
}

fn expect_freed(before: &[usize], after: &[usize], what: &str) {
    for (before, after) in before.iter().zip(after) {
        assert!(
            after + DEVICE_SLACK >= *before,
            "{what}: {before} bytes free, then {after}"
        );
    }
}

/// The resident memory of the process in bytes, if the system reports it.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

/// A field that grows by ¼ everywhere in each sweep: it never stops changing, and all of its values
/// are exact.
fn growing() -> Problem<f32> {
    let [ny, nx] = SHAPE;
    let problem = Problem::new(nx, ny, Boundary::Periodic).unwrap();
    problem.with_source(Array2::ones((ny, nx))).unwrap()
}

/// A group of `count` devices with the kernels of [`relax_long`].
fn new_group(count: usize) -> CudaDeviceGroup {
    let ordinals: Vec<usize> = (0..count).collect();
    CudaDeviceGroup::new(&ordinals, &kernels::<f32>(true)).unwrap()
}

/// Runs a long relaxation, and returns the growth of host memory in its second half.
fn relax_long<G: DeviceGroup>(group: G, plan: Plan, sweeps: usize) -> Option<usize> {
    let rule = Stopping {
        iterations: sweeps,
        tolerance: 0.0,
        check_every: 7,
    };
    let [ny, nx] = SHAPE;
    let norm = 0.25 * ((ny - 2) as f64 * (nx - 2) as f64).sqrt();
    let mut engine = GroupEngine::new(group, &growing(), rule, plan).unwrap();
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

/// Runs long relaxations on every number of devices, and compares free memory.
fn expect_no_leak(scheme: Scheme) {
    with_counts("100 000 sweeps", move |counts| {
        let plan = Plan {
            scheme,
            ..Plan::default()
        };
        for count in counts {
            let ordinals: Vec<usize> = (0..*count).collect();
            let alive = CudaDeviceGroup::new(&ordinals, &Kernels::default()).unwrap();
            let what = format!("{count} devices, {scheme:?}");
            relax_long(new_group(*count), plan, WARM_UP_SWEEPS);
            let before = free(&alive);
            let grown = relax_long(new_group(*count), plan, SWEEPS);
            expect_freed(&before, &free(&alive), &what);
            match grown {
                Some(grown) => assert!(grown <= HOST_SLACK, "{what}: {grown} bytes more"),
                None => skipped("growth of host memory", &"/proc/self/status has no VmRSS"),
            }
        }
    });
}

#[test]
fn gpu_jacobi_a_hundred_thousand_sweeps_leak_nothing_with_overlap() {
    expect_no_leak(Scheme::Overlap);
}

#[test]
fn gpu_jacobi_a_hundred_thousand_sweeps_leak_nothing_with_graphs() {
    expect_no_leak(Scheme::Graphs);
}

#[test]
fn gpu_jacobi_a_hundred_thousand_sweeps_leak_nothing_with_deep_passes() {
    expect_no_leak(Scheme::Temporal);
}

#[test]
fn the_long_run_is_correct_in_the_emulator() {
    relax_long(EmulatedDeviceGroup::new(3), Plan::default(), 50);
}

#[test]
fn gpu_jacobi_a_grid_beyond_the_memory_is_one_error_and_the_group_stays_usable() {
    with_counts("out of memory", |counts| {
        let expected = CASE.expected::<f32>().unwrap();
        for count in counts {
            let group = group(*count).unwrap();
            let (_, total) = group.memory(0).unwrap();
            let nx = 1 << 20;
            let ny = 2 + count * (2 * total / (4 * nx));
            let problem = Problem::<f32>::new(nx, ny, Boundary::Textbook).unwrap();
            let before = free(&group);
            for scheme in [Scheme::DefaultStream, Scheme::Temporal] {
                let plan = Plan {
                    scheme,
                    ..Plan::default()
                };
                let error =
                    GroupEngine::new(&group, &problem, Stopping::default(), plan).unwrap_err();
                let JacobiError::Gpu(GpuError::OnDevice { device: 0, error }) = &error else {
                    panic!("{error}");
                };
                let GpuError::Cuda(CudaError::OutOfMemory { needed, free, .. }) = **error else {
                    panic!("{error}");
                };
                assert!(needed >= 2 * total / (4 * nx) * 4 * nx && needed > free);
                let text = error.to_string();
                for size in [needed, free] {
                    assert!(text.contains(&size.to_string()), "{text}");
                }
                expect_freed(&before, &self::free(&group), &text);
                assert_eq!(CASE.differences(&group, plan, &expected).unwrap(), "");
            }
        }
    });
}
