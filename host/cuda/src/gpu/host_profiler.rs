//! The timeline of emulated devices, by the clock of the host.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::ProfileSpan;
use super::profile::MAX_PROFILE_SPANS;

/// Times operations that are done when their call returns, once it has been started.
#[derive(Default)]
pub(super) struct HostProfiler {
    profile: Mutex<Option<Profile>>,
}

struct Profile {
    origin: Instant,
    spans: Vec<ProfileSpan>,
}

/// An operation that is being done; it ends when this is dropped.
#[must_use]
pub(super) struct RunningSpan<'a> {
    profiler: &'a HostProfiler,
    device: usize,
    stream: &'static str,
    name: &'static str,
    bytes: Option<usize>,
    start: Instant,
}

impl fmt::Debug for HostProfiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostProfiler").finish_non_exhaustive()
    }
}

impl HostProfiler {
    fn profile(&self) -> MutexGuard<'_, Option<Profile>> {
        self.profile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Times all operations from now on.
    pub(super) fn start(&self) {
        *self.profile() = Some(Profile {
            origin: Instant::now(),
            spans: Vec::new(),
        });
    }

    /// The operations since the last call; later ones are timed too.
    pub(super) fn take(&self) -> Vec<ProfileSpan> {
        let mut profile = self.profile();
        profile
            .as_mut()
            .map_or_else(Vec::new, |profile| std::mem::take(&mut profile.spans))
    }

    /// The operations since the last call; later ones are not timed.
    pub(super) fn stop(&self) -> Vec<ProfileSpan> {
        let profile = self.profile().take();
        profile.map_or_else(Vec::new, |profile| profile.spans)
    }

    /// Begins an operation in `stream`. Nothing is noted if the profiler was not started.
    pub(super) fn begin(
        &self,
        (device, stream): (usize, &'static str),
        name: &'static str,
        bytes: Option<usize>,
    ) -> Option<RunningSpan<'_>> {
        self.profile().as_ref()?;
        Some(RunningSpan {
            profiler: self,
            device,
            stream,
            name,
            bytes,
            start: Instant::now(),
        })
    }
}

impl Drop for RunningSpan<'_> {
    fn drop(&mut self) {
        let end = Instant::now();
        let mut profile = self.profiler.profile();
        let Some(profile) = profile.as_mut() else {
            return;
        };
        if profile.spans.len() >= MAX_PROFILE_SPANS {
            return;
        }
        let us = |time: Instant| 1e6 * (time - profile.origin).as_secs_f64();
        let (start_us, end_us) = (us(self.start), us(end));
        profile.spans.push(ProfileSpan {
            device: self.device,
            stream: self.stream,
            name: self.name,
            bytes: self.bytes,
            start_us,
            end_us,
        });
    }
}
