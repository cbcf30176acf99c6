//! Engines of trial reconstructions: on the back end of the run, on one device.

use super::backend::{Engines, engines as engines_of};
use crate::devices_request::DevicesRequest;
use crate::failure::Failure;
use warpstride::ptycho::data::{PixelPositions, Scan};
use warpstride::ptycho::{Engine, MemoryRequest, Precision, Problem, Ranks, Recipe};
use warpstride::system::Memory;

/// Where trials are computed.
pub(super) struct TrialDevice {
    /// One device, or the CPU.
    pub(super) request: DevicesRequest,
    /// Most device memory in bytes.
    pub(super) device_memory: Option<u64>,
    /// The host's memory before the scan was read.
    pub(super) memory: Memory,
}

impl TrialDevice {
    /// An engine on the back end of the run.
    pub(super) fn engine(
        &self,
        scan: &Scan,
        problem: &Problem,
        recipe: &Recipe,
    ) -> Result<Box<dyn Engine>, Failure> {
        let [_, rows, columns] = scan.shape();
        let needed = self.request_of(scan, recipe)?;
        let alone = Ranks::alone();
        let cpu_only =
            (recipe.precision == Precision::F64).then_some("the GPU back end computes in f32 only");
        let kernels = || warpstride::ptycho::cuda::kernels_for(recipe, [rows, columns]);
        let backend = (self.request.open(cpu_only, kernels)?)
            .checked(|kind| needed.check(kind, self.memory, &alone))?;
        let chosen = engines_of(backend, problem, &needed, self.memory, &alone)?;
        match chosen.engine {
            Engines::One(engine, _) => Ok(engine),
            Engines::Several(_) => Err(Failure::failed(
                "trial reconstructions: expected one device, found several",
            )),
        }
    }

    /// Whether the CPU has the memory for a run of `recipe` on `scan`; why not, otherwise.
    pub(super) fn fits_cpu(&self, scan: &Scan, recipe: &Recipe) -> Result<(), Failure> {
        let needed = self.request_of(scan, recipe)?;
        let kind = warpstride::run::BackendKind::Cpu;
        Ok(needed.check(&kind, self.memory, &Ranks::alone())?)
    }

    fn request_of(&self, scan: &Scan, recipe: &Recipe) -> Result<MemoryRequest, Failure> {
        let [frames, rows, columns] = scan.shape();
        let positions = PixelPositions::new(
            scan.positions(),
            scan.object_pixel(),
            [rows, columns],
            recipe.margin(),
        )?;
        Ok(MemoryRequest {
            shape: [frames, recipe.probe_modes, rows, columns],
            object_shape: positions.object_shape,
            recipe: recipe.clone(),
            device_memory: self.device_memory,
            exchanged: 0,
            in_scratch: None,
        })
    }
}
