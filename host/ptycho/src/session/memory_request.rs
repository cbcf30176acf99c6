//! The memory that a reconstruction needs on one device or several, and how counts travel where it
//! is too small.

use crate::{CountCodes, EngineSpec, Ranks, Recipe, StreamPlan, host_besides, memory_estimate};
use warpstride_core::run::{BackendKind, MemoryEstimate, MemoryRequestError, OutOfMemory};
use warpstride_core::system::{Bytes, Memory, can_allocate};
use warpstride_cuda::gpu::{CudaDevice, EmulatedDevice, GpuError};

/// What does not fit, for messages.
pub const WHAT: &str = "the reconstruction";

/// The sizes of a reconstruction, from which follows the memory that it needs on one device or
/// several.
#[derive(Debug, Clone)]
pub struct MemoryRequest {
    /// (frames, modes, rows, columns)
    pub shape: [usize; 4],
    /// (rows, columns)
    pub object_shape: [usize; 2],
    /// The recipe, with the field of the scan (`data.near_field`).
    pub recipe: Recipe,
    /// Most device memory in bytes.
    pub device_memory: Option<u64>,
    /// Bytes of device memory for what several devices exchange.
    pub exchanged: u64,
    /// Bytes of the masks, if the counts are in a temporary file.
    pub in_scratch: Option<u64>,
}

/// Bytes of free device memory that blocks of counts leave free besides a fiftieth, for what the
/// estimate does not count.
const RESERVE: u64 = 256 << 20;

/// Bytes of free memory of a GPU.
///
/// # Errors
/// It does not say so.
pub fn free_memory(device: &CudaDevice) -> Result<u64, GpuError> {
    Ok(device.context().memory().map_err(GpuError::from)?.free as u64)
}

/// A back end of one device or several.
type Kind = BackendKind<Vec<CudaDevice>, Vec<EmulatedDevice>>;

impl MemoryRequest {
    /// Bytes of each back end.
    #[must_use]
    pub fn estimate(&self) -> MemoryEstimate {
        memory_estimate(self.shape, self.object_shape, &self.recipe)
    }

    /// Whether every engine is divided among several devices.
    fn divides(&self) -> bool {
        let divided = |engine: &EngineSpec| engine.name.projects() && engine.subpixel != Some(true);
        self.recipe.engines.iter().all(divided)
    }

    /// Bytes that each of `devices` devices needs besides what it would need alone for its frames:
    /// the sums of all devices, and the counts of its own frames beside those of all.
    fn exchanged(&self, devices: usize) -> u64 {
        if devices <= 1 {
            return 0;
        }
        let wide = |n: usize| n as u64;
        let [frames, modes, rows, columns] = self.shape.map(wide);
        let pixels = rows.saturating_mul(columns);
        let object = wide(self.object_shape[0]).saturating_mul(wide(self.object_shape[1]));
        // Numbers in fixed point of 8 bytes, sums and weights of 12, also those of the device
        // itself.
        let sums = object.saturating_mul(20 * (wide(devices) + 1));
        let probe = (24 * pixels).saturating_mul(12 * (modes + 1));
        let own = frames.div_ceil(wide(devices)).saturating_mul(4 * pixels);
        let own = if self.divides() { 0 } else { own };
        sums.saturating_add(probe).saturating_add(own)
    }

    /// What each of `devices` devices needs: all frames if an engine is not divided.
    #[must_use]
    pub fn of_device(&self, devices: usize) -> Self {
        let [frames, modes, rows, columns] = self.shape;
        let among = if self.divides() { devices } else { 1 };
        Self {
            shape: [frames.div_ceil(among.max(1)), modes, rows, columns],
            exchanged: self.exchanged(devices),
            recipe: self.recipe.clone(),
            ..*self
        }
    }

    /// What the processes of a host need together on the CPU: each of them all counts, but only the
    /// exit waves of its frames.
    #[must_use]
    pub fn of_processes(&self, ranks: &Ranks) -> MemoryEstimate {
        let [frames, modes, rows, columns] = self.shape;
        let own = frames.div_ceil(ranks.size());
        let estimate =
            memory_estimate([own, modes, rows, columns], self.object_shape, &self.recipe);
        // The scan, √counts, and these in the order of the engine.
        let others = ((frames - own) as u64).saturating_mul((rows * columns) as u64 * 12);
        MemoryEstimate {
            cpu: (estimate.cpu.saturating_add(others)).saturating_mul(ranks.local_size() as u64),
            ..estimate
        }
    }

    /// How counts travel from a host with memory `host` to each of its `devices` devices, with
    /// `free` bytes; `None` if all are there.
    ///
    /// # Errors
    /// Less memory than a run needs with any blocks of counts.
    pub fn stream(
        &self,
        free: u64,
        codes: Option<CountCodes>,
        (host, devices): (Memory, usize),
    ) -> Result<Option<StreamPlan>, OutOfMemory> {
        let plan = self.stream_in_memory(free, codes)?;
        Ok(plan.map(|plan| match self.in_scratch {
            Some(_) => plan.within(self.host_besides(), host, devices),
            None => plan,
        }))
    }

    /// Bytes of memory of an emulated device that needs `needed` bytes with everything there.
    fn emulated(&self, needed: u64) -> u64 {
        needed.min(self.device_memory.unwrap_or(u64::MAX))
    }

    /// The host's memory beside that of an emulated device, which is a part of it.
    #[must_use]
    pub fn beside_emulated(&self, host: Memory) -> Memory {
        let device = self.emulated(self.estimate().gpu_device);
        Memory::limited(host.limit().saturating_sub(device))
    }

    /// Bytes of host memory besides counts and √counts.
    fn host_besides(&self) -> u64 {
        let besides = host_besides(self.shape, self.object_shape, &self.recipe);
        besides.saturating_add(self.in_scratch.unwrap_or(0))
    }

    fn stream_in_memory(
        &self,
        free: u64,
        codes: Option<CountCodes>,
    ) -> Result<Option<StreamPlan>, OutOfMemory> {
        let choose = |limit: u64| {
            StreamPlan::choose(self.shape, self.object_shape, &self.recipe, codes, limit).map_err(
                |error| OutOfMemory {
                    needed: Bytes(error.needed.0.saturating_add(self.exchanged.into())),
                    available: Bytes(error.available.0.saturating_add(self.exchanged.into())),
                    ..error
                },
            )
        };
        let limit = self.device_memory.map_or(free, |limit| limit.min(free));
        let (limit, free) = (
            limit.saturating_sub(self.exchanged),
            free.saturating_sub(self.exchanged),
        );
        match choose(limit)? {
            None => Ok(None),
            // Blocks fill the memory up to the limit, and not all that is free can be had in large
            // pieces.
            Some(_) => choose(limit.min((free - free / 50).saturating_sub(RESERVE))),
        }
    }

    /// Checks that the system gives the `bytes` of a run on the CPU besides the counts that have
    /// been read.
    fn check_allocation(&self, bytes: u64) -> Result<(), OutOfMemory> {
        let [frames, _, rows, columns] = self.shape;
        let counts = (frames * rows * columns) as u64 * 4;
        let read = if self.in_scratch.is_some() { 0 } else { counts };
        can_allocate(bytes.saturating_sub(read)).map_err(|[needed, available]| OutOfMemory {
            what: WHAT,
            needed,
            whose: "host".to_owned(),
            backend: "the CPU back end",
            available,
            advice: self.estimate().advice.into(),
        })
    }

    /// Checks that the run fits before its data are prepared; `host` was available before they were
    /// read, and `ranks` processes divide the frames. Counts are taken to need 32 bits.
    ///
    /// # Errors
    /// It does not fit, or a GPU does not say how much memory is free.
    pub fn check(
        &self,
        kind: &Kind,
        host: Memory,
        ranks: &Ranks,
    ) -> Result<(), MemoryRequestError> {
        let mut estimate = self.estimate();
        if self.in_scratch.is_some() {
            estimate.gpu_host = self.host_besides();
        }
        let sharing = |devices: usize| devices * ranks.local_size();
        let pinned = |plan: Option<StreamPlan>| plan.map_or(0, |plan| plan.host_bytes());
        if matches!(kind, BackendKind::Emulator(_)) {
            estimate.gpu_device = self.emulated(estimate.gpu_device);
        }
        let streamed = |pinned: u64| MemoryEstimate {
            gpu_host: estimate.gpu_host.saturating_add(pinned),
            ..estimate
        };
        match kind {
            BackendKind::Cpu => {
                let estimate = self.of_processes(ranks);
                estimate.check_cpu(WHAT, host)?;
                self.check_allocation(estimate.cpu / ranks.local_size().max(1) as u64)?;
            }
            BackendKind::Emulator(devices) => {
                let own = self.of_device(devices.len() * ranks.size());
                let plan = own.stream(
                    u64::MAX,
                    None,
                    (self.beside_emulated(host), sharing(devices.len())),
                )?;
                let all = pinned(plan).saturating_mul(devices.len() as u64);
                streamed(all).check_emulator(WHAT, host)?;
            }
            BackendKind::Cuda(devices) => {
                let own = self.of_device(devices.len() * ranks.size());
                let mut all = 0_u64;
                for device in devices.iter() {
                    all = all.saturating_add(pinned(own.stream(
                        free_memory(device)?,
                        None,
                        (host, sharing(devices.len())),
                    )?));
                }
                streamed(all).check_gpu_host(WHAT, host)?;
            }
        }
        Ok(())
    }
}
