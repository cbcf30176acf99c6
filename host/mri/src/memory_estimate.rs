//! The memory that a reconstruction needs.

use super::{Grid, OperatorName};
use warpstride_core::run::{BackendKind, MemoryEstimate, MemoryRequestError};
use warpstride_core::system::Memory;
use warpstride_cuda::gpu::{CudaDevice, Device, EmulatedDevice};

/// What does not fit, for messages.
const WHAT: &str = "the reconstruction";

/// Bytes of a complex number in double precision, as problems hold them.
const DOUBLE: u128 = 16;
/// Bytes of a complex number in single precision, as GPUs hold them.
const SINGLE: u128 = 8;
/// Images that an iteration keeps: b, ρ, r, p, Ap; seven of FISTA, and seven of total variation in
/// three dimensions.
const IMAGES: u128 = 14;
/// Coils whose fine grids are held at once.
const BATCH: u128 = 16;
/// Fine cells a mode along an axis, at most.
const FINE: u128 = 2;

/// Sizes that determine the memory of a reconstruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySizes {
    voxels: u128,
    axes: u32,
    samples: u128,
    coils: u128,
    operator: OperatorName,
    /// Pipe and Menon's weights are sought.
    pipe: bool,
    /// GPUs that share the coils.
    devices: u128,
}

impl MemorySizes {
    /// An image of `grid` from `samples` a coil, with coil maps.
    #[must_use]
    pub fn new(grid: Grid, samples: usize, coils: usize, operator: OperatorName) -> Self {
        let voxels = grid
            .shape
            .iter()
            .fold(1, |n: u128, side| n.saturating_mul(*side as u128));
        Self {
            voxels,
            axes: grid.axes as u32,
            samples: samples as u128,
            coils: coils as u128,
            operator,
            pipe: false,
            devices: 1,
        }
    }

    /// The same with density weights by Pipe and Menon.
    #[must_use]
    pub fn with_pipe(self, pipe: bool) -> Self {
        Self { pipe, ..self }
    }

    /// The same on several GPUs, each with some of the coils; at most one GPU a coil is used.
    #[must_use]
    pub fn with_devices(self, devices: usize) -> Self {
        let devices = (devices as u128).clamp(1, self.coils.max(1));
        Self { devices, ..self }
    }

    /// What is there for a time before the iterations, in double precision on the host: the doubled
    /// grid with its fine grid, of the Toeplitz operator and of Pipe and Menon's weights; else the
    /// fine grid of the coil maps' images, with those.
    fn setup(&self) -> u128 {
        let fine = FINE.pow(self.axes) * DOUBLE;
        let doubled = 1_u128 << self.axes;
        let maps = fine.saturating_add(3 * DOUBLE).saturating_mul(self.coils);
        let each = if self.pipe || self.operator == OperatorName::Toeplitz {
            maps.max(doubled * (fine + 3 * DOUBLE))
        } else {
            maps
        };
        let points = 8 * u128::from(self.axes) + 16 + 2 * DOUBLE;
        self.voxels
            .saturating_mul(each)
            .saturating_add(self.samples.saturating_mul(points))
    }

    /// The problem itself: samples, trajectory and weights, maps.
    fn problem(&self) -> u128 {
        let places = 8 * (u128::from(self.axes) + 1);
        let one = |n: u128| n.saturating_mul(DOUBLE).saturating_mul(self.coils);
        one(self.samples)
            .saturating_add(one(self.voxels))
            .saturating_add(self.samples.saturating_mul(places))
    }

    /// What the operator and the iterations add, with complex numbers of so many bytes.
    fn work(&self, complex: u128) -> u128 {
        let times = |n: u128, m: u128| n.saturating_mul(m);
        let images = times(self.voxels, (IMAGES + 2 * self.coils) * complex);
        let samples = times(self.samples, 2 * self.coils * complex);
        let fine = times(self.voxels, FINE.pow(self.axes) * complex);
        let batch = self.coils.min(BATCH);
        // The points in the order of their bins, and that order.
        let points = times(self.samples, 8 * u128::from(self.axes) + 16);
        let operator = match self.operator {
            OperatorName::Direct => times(self.samples, 4 * u128::from(self.axes)),
            OperatorName::Nufft => times(fine, batch).saturating_add(points),
            OperatorName::Toeplitz => times(fine, batch + 1).saturating_add(points),
        };
        images.saturating_add(samples).saturating_add(operator)
    }

    /// The memory, with real numbers of `bytes` on the CPU.
    #[must_use]
    pub fn estimate(&self, bytes: usize) -> MemoryEstimate {
        let work = self.work(2 * bytes as u128).max(self.setup());
        // The file's values are there as long as the problem.
        let problem = self.problem().saturating_mul(2);
        let points = self.samples.saturating_mul(16);
        let of_device = Self {
            coils: self.coils.div_ceil(self.devices),
            ..*self
        };
        // Images that are added on the host, and their sum.
        let exchanged = match self.devices {
            1 => 0,
            devices => self.voxels.saturating_mul((devices + 1) * SINGLE),
        };
        MemoryEstimate {
            cpu: whole(problem.saturating_add(work)),
            gpu_host: whole(
                problem
                    .saturating_add(self.setup())
                    .saturating_add(exchanged),
            ),
            gpu_device: whole(of_device.work(SINGLE).saturating_add(points)),
            advice: "take fewer acquisitions (--select) or a smaller matrix",
        }
    }

    /// Checks that the reconstruction fits where it is computed, with coil maps or without and real
    /// numbers of `bytes` on the CPU. Without maps one device computes the images of all coils.
    /// `host` was available before the samples were read.
    ///
    /// # Errors
    /// There is too little memory, or a GPU does not say how much is free.
    pub fn check(
        &self,
        kind: &BackendKind<Vec<CudaDevice>, Vec<EmulatedDevice>>,
        maps: bool,
        bytes: usize,
        host: Memory,
    ) -> Result<(), MemoryRequestError> {
        let estimate = |devices: usize| {
            let devices = if maps { devices } else { 1 };
            self.with_devices(devices).estimate(bytes)
        };
        match kind {
            BackendKind::Cpu => estimate(1).check_cpu(WHAT, host)?,
            BackendKind::Emulator(devices) => {
                // The memory of emulated devices is that of the host.
                let each = estimate(devices.len());
                let all = MemoryEstimate {
                    gpu_device: each.gpu_device.saturating_mul(devices.len() as u64),
                    ..each
                };
                all.check_emulator(WHAT, host)?;
            }
            BackendKind::Cuda(devices) => {
                let estimate = estimate(devices.len());
                for device in devices.iter() {
                    let free = device.memory()?.0 as u64;
                    if devices.len() > 1 {
                        estimate.check_gpu_number(WHAT, device.info().ordinal, free)?;
                    } else {
                        estimate.check_gpu_device(WHAT, free)?;
                    }
                }
                estimate.check_gpu_host(WHAT, host)?;
            }
        }
        Ok(())
    }
}

fn whole(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_size_overflows_and_more_of_anything_needs_more() {
        let need = |side: usize, samples: usize, coils: usize| {
            MemorySizes::new(
                Grid::three(side, side, side),
                samples,
                coils,
                OperatorName::Nufft,
            )
            .estimate(8)
            .cpu
        };
        assert_eq!(need(usize::MAX, usize::MAX, usize::MAX), u64::MAX);
        let small = need(64, 1000, 4);
        assert!(
            small < need(65, 1000, 4) && small < need(64, 1001, 4) && small < need(64, 1000, 5)
        );
        // The fine grids of four coils, eight times the voxels, alone.
        assert!(small > 4 * 8 * 64 * 64 * 64 * 16);
    }

    #[test]
    fn what_does_not_fit_is_refused_where_it_is_computed() {
        let sizes = MemorySizes::new(Grid::two(64, 64), 1000, 8, OperatorName::Nufft);
        let need = sizes.estimate(4);
        let check = |kind: &BackendKind<_, _>, maps, bytes: u64| {
            let found = sizes.check(kind, maps, 4, Memory::limited(bytes));
            found.map_err(|why| why.to_string())
        };
        assert_eq!(check(&BackendKind::Cpu, true, need.cpu), Ok(()));
        let refused = check(&BackendKind::Cpu, true, need.cpu - 1).unwrap_err();
        assert!(refused.contains("the reconstruction needs"), "{refused}");
        let two = || BackendKind::Emulator(vec![EmulatedDevice::new(), EmulatedDevice::new()]);
        let shared = sizes.with_devices(2).estimate(4);
        let both = shared.gpu_host + 2 * shared.gpu_device;
        assert_eq!(check(&two(), true, both), Ok(()));
        assert!(check(&two(), true, both - 1).is_err());
        // Without maps one device has all coils.
        assert_eq!(
            check(&two(), false, need.gpu_host + 2 * need.gpu_device),
            Ok(())
        );
        assert!(check(&two(), false, both).is_err());
    }

    #[test]
    fn a_device_with_half_of_the_coils_needs_less() {
        let sizes = MemorySizes::new(Grid::two(64, 64), 1000, 8, OperatorName::Direct);
        let on = |devices| sizes.with_devices(devices).estimate(4);
        assert_eq!(on(1), sizes.estimate(4));
        // Maps and images of four coils less, and what the host adds.
        assert!(on(2).gpu_device < on(1).gpu_device - 4 * 64 * 64 * 2 * 8);
        assert!(on(2).gpu_host > on(1).gpu_host);
        assert_eq!(on(9), on(8));
    }
}
