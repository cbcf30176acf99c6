//! The devices of this machine and their properties.

use serde::Serialize;

use super::context::{Context, MemoryInfo, device, device_count, init};
use super::error::{CudaError, Result, check};
use super::ffi::driver;
use super::peer;
use super::primary::Device;

/// The properties of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceInfo {
    /// Ordinal, from 0.
    pub ordinal: usize,
    /// Name of the model.
    pub name: String,
    /// Bytes of memory.
    pub memory_bytes: usize,
    /// Bytes of free memory at the time of the call.
    pub memory_free_bytes: usize,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Compute capability times ten: 90 is 9.0.
    pub compute_capability: u32,
    /// Maximum number of threads per block.
    pub threads_per_block: u32,
    /// Maximum bytes of shared memory per block.
    pub shared_per_block_bytes: usize,
    /// Bytes of L2 cache.
    pub l2_cache_bytes: usize,
    /// Newest CUDA version that the driver supports: 1000 × major + 10 × minor.
    pub driver_version: i32,
    /// Links to the other devices.
    pub peers: Vec<PeerLink>,
}

/// The link from one device to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PeerLink {
    /// Ordinal of the other device.
    pub ordinal: usize,
    /// Whether the memory of the other device can be accessed without the host.
    pub direct: bool,
}

/// Why [`list_devices`] found no device: no driver, no device, or an error of the driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct NoDeviceReason(#[from] pub CudaError);

/// Properties of a device that launches depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) multiprocessors: u32,
    pub(crate) compute_capability: u32,
    pub(crate) shared_per_block: usize,
}

/// Lists all devices of this machine; there is at least one.
///
/// # Errors
/// There is no driver or no device, or an error of the driver.
pub fn list_devices() -> std::result::Result<Vec<DeviceInfo>, NoDeviceReason> {
    init()?;
    let count = device_count()?;
    let devices = (0..count).map(device).collect::<Result<Vec<_>>>()?;
    Ok(devices
        .iter()
        .enumerate()
        .map(|(ordinal, _)| describe(ordinal, &devices))
        .collect::<Result<Vec<_>>>()?)
}

impl DeviceInfo {
    /// The properties of device `ordinal`.
    ///
    /// # Errors
    /// There is no driver or no device with this ordinal, or an error of the driver.
    pub fn of(ordinal: usize) -> Result<Self> {
        init()?;
        let devices = (0..device_count()?)
            .map(device)
            .collect::<Result<Vec<_>>>()?;
        device(ordinal)?;
        describe(ordinal, &devices)
    }
}

fn describe(ordinal: usize, devices: &[Device]) -> Result<DeviceInfo> {
    let this = devices[ordinal];
    let limits = limits(this)?;
    let MemoryInfo { free, total } = Context::new(ordinal)?.memory()?;
    let peers = devices
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != ordinal)
        .map(|(other, device)| {
            Ok(PeerLink {
                ordinal: other,
                direct: peer::can_access(this.as_raw(), device.as_raw())?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(DeviceInfo {
        ordinal,
        name: this.name()?,
        memory_bytes: total,
        memory_free_bytes: free,
        multiprocessors: limits.multiprocessors,
        compute_capability: limits.compute_capability,
        threads_per_block: number(this, driver::DEVICE_THREADS_PER_BLOCK)?,
        shared_per_block_bytes: limits.shared_per_block,
        l2_cache_bytes: number(this, driver::DEVICE_L2_CACHE_BYTES)? as usize,
        driver_version: driver_version()?,
        peers,
    })
}

pub(crate) fn limits(device: Device) -> Result<Limits> {
    let major = number(device, driver::DEVICE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = number(device, driver::DEVICE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Limits {
        multiprocessors: number(device, driver::DEVICE_MULTIPROCESSORS)?,
        compute_capability: 10 * major + minor,
        shared_per_block: number(device, driver::DEVICE_SHARED_PER_BLOCK)? as usize,
    })
}

/// Newest CUDA version that the driver supports: 1000 × major + 10 × minor.
pub(crate) fn driver_version() -> Result<i32> {
    let mut version = 0;
    // SAFETY: the address is of a live variable.
    let answer = unsafe { driver::cuDriverGetVersion(&raw mut version) };
    check(answer, "cuDriverGetVersion")?;
    Ok(version)
}

fn number(device: Device, attribute: u32) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the address is of a live variable; the device came from the driver.
    let answer =
        unsafe { driver::cuDeviceGetAttribute(&raw mut value, attribute, device.as_raw()) };
    check(answer, "cuDeviceGetAttribute")?;
    Ok(u32::try_from(value).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_device_equals_its_list_entry_and_the_next_ordinal_is_an_error() {
        match list_devices() {
            Ok(devices) => {
                for (ordinal, listed) in devices.iter().enumerate() {
                    let single = DeviceInfo::of(ordinal).unwrap();
                    assert_eq!((single.ordinal, &single.name), (ordinal, &listed.name));
                    assert_eq!(single.peers, listed.peers);
                }
                let (requested, found) = (devices.len(), devices.len());
                let error = DeviceInfo::of(requested).unwrap_err();
                assert_eq!(error, CudaError::Ordinal { requested, found });
            }
            Err(NoDeviceReason(error)) => {
                assert!(error.no_device(), "{error}");
                assert_eq!(DeviceInfo::of(0).unwrap_err(), error);
            }
        }
    }
}
