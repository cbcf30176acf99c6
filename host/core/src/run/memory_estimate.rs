//! The memory that a run needs, before any is allocated.

use crate::system::{Bytes, Memory};
use serde::Serialize;
use std::borrow::Cow;
use warpstride_cuda::gpu::GpuError;

/// Bytes that a run needs with each back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryEstimate {
    /// Host memory of the CPU back end.
    #[serde(rename = "cpu_bytes")]
    pub cpu: u64,
    /// Host memory of the GPU back end.
    #[serde(rename = "gpu_host_bytes")]
    pub gpu_host: u64,
    /// Device memory of the GPU back end.
    #[serde(rename = "gpu_device_bytes")]
    pub gpu_device: u64,
    /// How to need less.
    #[serde(skip)]
    pub advice: &'static str,
}

/// An estimate and what is available, as the `info` commands print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryInfo {
    /// What a run needs.
    #[serde(flatten)]
    pub estimate: MemoryEstimate,
    /// Host memory that may be used.
    pub available_host_bytes: u64,
}

impl MemoryInfo {
    /// An estimate beside the memory of the host.
    #[must_use]
    pub fn new(estimate: MemoryEstimate, host: Memory) -> Self {
        Self {
            estimate,
            available_host_bytes: host.limit(),
        }
    }
}

/// A run that needs more memory than is available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} needs {needed} of {whose} memory for {backend}, but {available} is available; {advice}"
)]
pub struct OutOfMemory {
    /// `the reconstruction`, `the relaxation`, …
    pub what: &'static str,
    /// Bytes needed.
    pub needed: Bytes,
    /// `host`, `device`, or `device 1`.
    pub whose: String,
    /// `the CPU back end`, `the GPU back end` or `the emulator`.
    pub backend: &'static str,
    /// Bytes that may be used.
    pub available: Bytes,
    /// How to need less.
    pub advice: Cow<'static, str>,
}

/// Why a run does not fit where it is to be computed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryRequestError {
    /// There is too little memory.
    #[error(transparent)]
    Memory(Box<OutOfMemory>),
    /// A GPU does not say how much is free.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

impl From<OutOfMemory> for MemoryRequestError {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(Box::new(error))
    }
}

impl MemoryEstimate {
    /// Checks that the host holds a run of `what` on the CPU.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn check_cpu(&self, what: &'static str, host: Memory) -> Result<(), OutOfMemory> {
        self.check(what, "the CPU back end", "host", self.cpu, host.limit())
    }

    /// Checks that the host holds its part of a run on a GPU.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn check_gpu_host(&self, what: &'static str, host: Memory) -> Result<(), OutOfMemory> {
        self.check(
            what,
            "the GPU back end",
            "host",
            self.gpu_host,
            host.limit(),
        )
    }

    /// Checks that a device with `free` bytes holds its part of a run.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn check_gpu_device(&self, what: &'static str, free: u64) -> Result<(), OutOfMemory> {
        self.check(what, "the GPU back end", "device", self.gpu_device, free)
    }

    /// Checks that GPU `number` of several, with `free` bytes, holds its part of a run.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn check_gpu_number(
        &self,
        what: &'static str,
        number: usize,
        free: u64,
    ) -> Result<(), OutOfMemory> {
        let whose = format!("device {number}");
        self.check(what, "the GPU back end", &whose, self.gpu_device, free)
    }

    /// Checks that the host holds a run in the emulator, whose device memory is host memory.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn check_emulator(&self, what: &'static str, host: Memory) -> Result<(), OutOfMemory> {
        let both = self.gpu_host.saturating_add(self.gpu_device);
        self.check(what, "the emulator", "host", both, host.limit())
    }

    fn check(
        &self,
        what: &'static str,
        backend: &'static str,
        whose: &str,
        needed: u64,
        available: u64,
    ) -> Result<(), OutOfMemory> {
        if needed <= available {
            return Ok(());
        }
        Err(OutOfMemory {
            what,
            needed: Bytes(u128::from(needed)),
            whose: whose.to_owned(),
            backend,
            available: Bytes(u128::from(available)),
            advice: Cow::Borrowed(self.advice),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_are_called_by_their_units() {
        let estimate = MemoryEstimate {
            cpu: 5,
            gpu_host: 6,
            gpu_device: 7,
            advice: "take less",
        };
        let info = MemoryInfo::new(estimate, Memory::limited(8));
        let expected = serde_json::json!({
            "cpu_bytes": 5,
            "gpu_host_bytes": 6,
            "gpu_device_bytes": 7,
            "available_host_bytes": 8,
        });
        assert_eq!(serde_json::to_value(info).unwrap(), expected);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_sizes() {
        let estimate = MemoryEstimate {
            cpu: 5,
            gpu_host: 1 << 30,
            gpu_device: 2 << 30,
            advice: "take less",
        };
        let host = Memory::limited(5);
        assert!(estimate.check_cpu("the run", host).is_ok());
        let error = estimate.check_emulator("the run", Memory::limited(1 << 30));
        assert_eq!(
            error.unwrap_err().to_string(),
            "the run needs 3.0 GiB of host memory for the emulator, but 1.0 GiB is available; take less"
        );
        assert!(estimate.check_gpu_device("the run", (2 << 30) - 1).is_err());
        assert!(
            estimate
                .check_gpu_host("the run", Memory::limited(1 << 30))
                .is_ok()
        );
    }
}
