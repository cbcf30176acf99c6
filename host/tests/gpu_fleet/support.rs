//! Fleets for tests, and the time limit under which all of them run.

use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use warpstride::cuda::{DeviceBuffer, list_devices};
use warpstride::gpu::{CudaFleet, Fleet, GpuError, Lane};
use warpstride_device::launch::Work;

use super::fence_ptx::{PTX, Scale};

/// Most devices that a test uses.
const MOST: usize = 4;

/// Recordings of one test delay the frees of another, which one of them measures.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs a test and ends the whole program when it does not return in time: a thread that waits for
/// a device cannot be stopped.
pub(crate) fn within(limit: Duration, test: &'static str, work: impl FnOnce() + Send + 'static) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (tell, done) = channel();
    let worker = std::thread::spawn(move || {
        work();
        // Nobody listens only where the program is being ended.
        let _ = tell.send(());
    });
    if done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
        say(&format!("{test} did not end within {limit:?}"));
        std::process::exit(1);
    }
    if let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Past the test harness, which shows the output of failed tests only.
pub(crate) fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// The devices that there are, up to four; at least `least`, or a loud word that the test was
/// skipped.
pub(crate) fn ordinals(test: &str, least: usize) -> Option<Vec<usize>> {
    let found = match list_devices() {
        Ok(devices) => devices.len(),
        Err(why) if why.0.no_machine() => {
            say(&format!("SKIPPED {test}: {why}"));
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    if found < least {
        say(&format!(
            "SKIPPED {test}: it needs {least} devices, this machine has {found}"
        ));
        return None;
    }
    Some((0..found.min(MOST)).collect())
}

/// A fleet of those, with the test's kernel.
pub(crate) fn fleet(test: &str, least: usize) -> Option<CudaFleet> {
    let ordinals = ordinals(test, least)?;
    Some(CudaFleet::with_kernels(&ordinals, &[PTX]).unwrap())
}

/// Queues `data[i] *= factor` for the elements of `range`.
pub(crate) fn scale(
    fleet: &CudaFleet,
    (device, lane): (usize, Lane),
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
    fleet.launch(device, lane, &kernel, Work::Elements(count))
}

pub(crate) fn held<T: bytemuck::Pod + Send>(fleet: &CudaFleet, buffer: &DeviceBuffer<T>) -> Vec<T> {
    let mut values = vec![T::zeroed(); buffer.len()];
    fleet.download(buffer, 0, &mut values).unwrap();
    values
}
