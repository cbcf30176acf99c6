//! A kernel that fails on one device while the others wait for it. The failure makes CUDA unusable
//! for its process, so it runs in a child process.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use warpstride_cuda::gpu::{CudaDeviceGroup, DeviceGroup, StreamId};
use warpstride_device::launch::{Cuda, Work, Write};

use super::MINUTE;
use super::ring::Ring;
use super::support::{ordinals, with_time_limit};
use super::test_ptx::{Scale, kernels};

/// Set in the environment of the child process.
const CHILD: &str = "WARPSTRIDE_TEST_FAILING_DEVICE";

/// Precedes the error in the output of the child.
const PREFIX: &str = "DRAINED: ";

/// Time limit of the child, including the start of the driver.
const LIMIT: Duration = Duration::from_secs(45);

#[test]
fn gpu_a_failing_device_is_named_in_the_error_and_nothing_hangs() {
    if std::env::var_os(CHILD).is_some() {
        return fail();
    }
    with_time_limit(MINUTE, "a failing device", || {
        let Some(ordinals) = ordinals("a failing device", 1) else {
            return;
        };
        let output = output_of_child();
        let line = output.lines().find_map(|line| {
            let at = line.find(PREFIX)?;
            Some(&line[at + PREFIX.len()..])
        });
        let line = line.unwrap_or_else(|| panic!("{output}"));
        let last = ordinals.len() - 1;
        assert!(line.starts_with(&format!("GPU {last}: ")), "{line}");
        assert!(line.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{line}");
    });
}

/// The output of the child after it exited by itself.
fn output_of_child() -> String {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args(["gpu_a_failing_device", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the process with the failing device hung");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut output = String::new();
    let stdout = child.stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    output
}

/// The last device writes to an invalid address, and all the others wait for it.
fn fail() {
    let ordinals = ordinals("the process that fails", 1).unwrap();
    let last = ordinals.len() - 1;
    let group = CudaDeviceGroup::new(&ordinals, &kernels()).unwrap();
    let mut ring = Ring::new(&group, |device| device % 2 == 0);
    ring.step(&group).unwrap();
    group.drain().unwrap();
    let invalid = std::ptr::without_provenance_mut(64);
    let kernel = Scale {
        // SAFETY: the address is deliberately invalid; the memory unit of the device rejects it
        // and no memory of this process is accessed.
        data: unsafe { Write::<Cuda, f32>::from_raw(invalid, 1000) },
        count: 1000,
        factor: 2.0,
    };
    let queued = group.launch(last, StreamId::Bulk, &kernel, Work::Elements(1000));
    // Later calls may already return the error.
    let queued = queued.and_then(|()| (0..5).try_for_each(|_| ring.step(&group)));
    let error = group.drain().and(queued).unwrap_err();
    let line = format!("{PREFIX}{error}\n");
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    drop((ring, group));
}
