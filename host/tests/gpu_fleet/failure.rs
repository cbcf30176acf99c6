//! A kernel that fails on one device while the others wait for it. What it fails in is lost, so it
//! runs in a process of its own.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use warpstride::gpu::{CudaFleet, Fleet, Lane};
use warpstride_device::launch::{Cuda, Work, Write};

use super::MINUTE;
use super::fence_ptx::{PTX, Scale};
use super::ring::Ring;
use super::support::{ordinals, within};

/// Says to the test that it is the process that fails.
const CHILD: &str = "WARPSTRIDE_TEST_FAILING_DEVICE";

/// Before the error in the child's output.
const WORD: &str = "DRAINED: ";

/// How long the child may take, the start of the driver included.
const LIMIT: Duration = Duration::from_secs(45);

#[test]
fn gpu_a_failing_device_is_named_and_nothing_hangs() {
    if std::env::var_os(CHILD).is_some() {
        return fail();
    }
    within(MINUTE, "a failing device", || {
        let Some(ordinals) = ordinals("a failing device", 1) else {
            return;
        };
        let output = output_of_child();
        let line = output.lines().find_map(|line| {
            let at = line.find(WORD)?;
            Some(&line[at + WORD.len()..])
        });
        let line = line.unwrap_or_else(|| panic!("{output}"));
        let last = ordinals.len() - 1;
        assert!(line.starts_with(&format!("GPU {last}: ")), "{line}");
        assert!(line.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{line}");
    });
}

/// What the child wrote, when it has ended by itself.
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

/// The last device writes where no memory is, and all the others wait for it.
fn fail() {
    let ordinals = ordinals("the process that fails", 1).unwrap();
    let last = ordinals.len() - 1;
    let fleet = CudaFleet::with_kernels(&ordinals, &[PTX]).unwrap();
    let mut ring = Ring::new(&fleet, |device| device % 2 == 0);
    ring.step(&fleet).unwrap();
    fleet.drain().unwrap();
    let nowhere = std::ptr::without_provenance_mut(64);
    let kernel = Scale {
        // SAFETY: it is not valid, which is the purpose; the device's unit for memory refuses it
        // and nothing of this process is touched.
        data: unsafe { Write::<Cuda, f32>::from_raw(nowhere, 1000) },
        count: 1000,
        factor: 2.0,
    };
    let queued = fleet.launch(last, Lane::Bulk, &kernel, Work::Elements(1000));
    // Later calls may learn of it at once.
    let queued = queued.and_then(|()| (0..5).try_for_each(|_| ring.step(&fleet)));
    let error = fleet.drain().and(queued).unwrap_err();
    let line = format!("{WORD}{error}\n");
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    drop((ring, fleet));
}
