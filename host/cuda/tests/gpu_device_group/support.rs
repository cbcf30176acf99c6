//! Device groups for tests, and the time limit of every test.

use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use warpstride_cuda::cuda::{DeviceBuffer, list_devices};
use warpstride_cuda::gpu::{CudaDeviceGroup, DeviceGroup, GpuError, StreamId};
use warpstride_device::launch::Work;

use super::test_ptx::{Scale, kernels};

/// Maximum number of devices of a test.
const MAX_DEVICES: usize = 4;

/// Graphs of one test would defer the frees of another, which one of the tests measures.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs a test and terminates the program if it does not return in time, because a thread that
/// waits for a device cannot be stopped.
pub(crate) fn with_time_limit(
    limit: Duration,
    test: &'static str,
    work: impl FnOnce() + Send + 'static,
) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (finished, done) = channel();
    let worker = std::thread::spawn(move || {
        work();
        // The receiver is gone only if the program is being terminated.
        let _ = finished.send(());
    });
    if done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
        print_line(&format!("{test} did not end within {limit:?}"));
        std::process::exit(1);
    }
    if let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Not `eprintln!`, whose output the test harness shows for failed tests only.
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The ordinals of up to four devices. If there are fewer than `minimum`, prints that the test is
/// skipped and returns `None`.
pub(crate) fn ordinals(test: &str, minimum: usize) -> Option<Vec<usize>> {
    let found = match list_devices() {
        Ok(devices) => devices.len(),
        Err(why) if why.0.no_device() => {
            print_line(&format!("SKIPPED {test}: {why}"));
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    if found < minimum {
        print_line(&format!(
            "SKIPPED {test}: it needs {minimum} devices, this machine has {found}"
        ));
        return None;
    }
    Some((0..found.min(MAX_DEVICES)).collect())
}

/// A group of these devices with the test kernel.
pub(crate) fn group(test: &str, minimum: usize) -> Option<CudaDeviceGroup> {
    let ordinals = ordinals(test, minimum)?;
    Some(CudaDeviceGroup::new(&ordinals, &kernels()).unwrap())
}

/// Queues `data[i] *= factor` for the elements of `range`.
pub(crate) fn scale(
    group: &CudaDeviceGroup,
    (device, stream): (usize, StreamId),
    data: &mut DeviceBuffer<f32>,
    range: std::ops::Range<usize>,
    factor: f32,
) -> Result<(), GpuError> {
    let count = range.len();
    let kernel = Scale {
        data: data.write_range(range)?,
        count: count as u32,
        factor,
    };
    group.launch(device, stream, &kernel, Work::Elements(count))
}

pub(crate) fn contents<T: bytemuck::Pod + Send>(
    group: &CudaDeviceGroup,
    buffer: &DeviceBuffer<T>,
) -> Vec<T> {
    let mut values = vec![T::zeroed(); buffer.len()];
    group.download(buffer, 0, &mut values).unwrap();
    values
}
