//! Initialisation, devices and primary contexts, by the driver's own functions.
//! `primary_by_cust.rs` has the same by the crate `cust`.

use std::ffi::{CStr, c_char, c_int};

use super::error::{Result, check};
use super::ffi::driver;

/// Bytes of a device's name, with the zero at its end.
const NAME_BYTES: c_int = 256;

/// A device, as the driver numbers it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device(c_int);

/// Nothing is left to be done after `cuInit`.
pub(super) fn init() -> Result<()> {
    Ok(())
}

impl Device {
    /// The number of devices.
    pub(super) fn count() -> Result<u32> {
        let mut count = 0;
        // SAFETY: the address is of a live variable.
        let answer = unsafe { driver::cuDeviceGetCount(&raw mut count) };
        check(answer, "cuDeviceGetCount")?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// The device with this ordinal.
    pub(super) fn with_ordinal(ordinal: u32) -> Result<Self> {
        let mut device = 0;
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        // SAFETY: the address is of a live variable.
        let answer = unsafe { driver::cuDeviceGet(&raw mut device, ordinal) };
        check(answer, "cuDeviceGet")?;
        Ok(Self(device))
    }

    /// The name of its model.
    pub(super) fn name(self) -> Result<String> {
        let mut name: [c_char; NAME_BYTES as usize] = [0; NAME_BYTES as usize];
        // SAFETY: the address is of an array of so many bytes.
        let answer = unsafe { driver::cuDeviceGetName(name.as_mut_ptr(), NAME_BYTES, self.0) };
        check(answer, "cuDeviceGetName")?;
        let bytes = name.map(c_char::cast_unsigned);
        let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    pub(crate) fn as_raw(self) -> c_int {
        self.0
    }
}

/// The primary context of a device, which stays as long as this exists.
pub(super) struct PrimaryContext {
    handle: driver::Handle,
    device: Device,
}

// SAFETY: the driver's contexts can be used and released by any thread.
unsafe impl Send for PrimaryContext {}
// SAFETY: as above.
unsafe impl Sync for PrimaryContext {}

impl PrimaryContext {
    /// Retains the context.
    pub(super) fn new(device: Device) -> Result<Self> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the address is of a live variable; the device came from the driver.
        let answer = unsafe { driver::cuDevicePrimaryCtxRetain(&raw mut handle, device.0) };
        check(answer, "cuDevicePrimaryCtxRetain")?;
        Ok(Self { handle, device })
    }

    pub(super) fn raw(&self) -> driver::Handle {
        self.handle
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: retained once in `new`, and not used afterwards. An error would say that the
        // process ends.
        unsafe { driver::cuDevicePrimaryCtxRelease_v2(self.device.0) };
    }
}
