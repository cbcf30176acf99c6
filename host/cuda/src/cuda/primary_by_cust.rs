//! Initialisation, devices and primary contexts, by the crate `cust`. `primary.rs` has the same by
//! the driver's own functions.

use std::ffi::c_int;

use super::error::{CudaError, Result};
use super::ffi::driver;

/// A device, as the driver numbers it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device(cust::device::Device);

/// Initialises `cust`.
pub(super) fn init() -> Result<()> {
    cust::init(cust::CudaFlags::empty()).map_err(|e| from_cust(e, "cuInit"))
}

impl Device {
    /// The number of devices.
    pub(super) fn count() -> Result<u32> {
        cust::device::Device::num_devices().map_err(|e| from_cust(e, "cuDeviceGetCount"))
    }

    /// The device with this ordinal.
    pub(super) fn with_ordinal(ordinal: u32) -> Result<Self> {
        let device = cust::device::Device::get_device(ordinal);
        Ok(Self(device.map_err(|e| from_cust(e, "cuDeviceGet"))?))
    }

    /// The name of its model.
    pub(super) fn name(self) -> Result<String> {
        self.0.name().map_err(|e| from_cust(e, "cuDeviceGetName"))
    }

    pub(crate) fn as_raw(self) -> c_int {
        self.0.as_raw()
    }
}

/// The primary context of a device, which stays as long as this exists.
pub(super) struct PrimaryContext(cust::context::Context);

impl PrimaryContext {
    /// Retains the context.
    pub(super) fn new(device: Device) -> Result<Self> {
        let context = cust::context::Context::new(device.0);
        Ok(Self(
            context.map_err(|e| from_cust(e, "cuDevicePrimaryCtxRetain"))?,
        ))
    }

    pub(super) fn raw(&self) -> driver::Handle {
        self.0.as_raw().cast()
    }
}

/// An error of `cust`, whose enum has the driver's codes.
fn from_cust(error: cust::error::CudaError, call: &'static str) -> CudaError {
    CudaError::from_code(error as u32, call)
}
