//! The stream of a GPU for producers of DLPack.

use crate::errors::Failure;
use dlpark::ffi::DLDevice;
use dlpark::python::consumer::stream::cuda;
use dlpark::python::{DlpackStream, StreamArg};
use pyo3::prelude::*;
use std::ffi::c_void;
use warpstride::cuda::Stream;
use warpstride::gpu::GpuError;

/// A stream that must not use an array before its producer has written it.
pub(super) struct Consumer<'a>(pub(super) &'a Stream);

// SAFETY: the handle is that of a live stream, which is borrowed; the import refuses arrays of
// other devices.
unsafe impl DlpackStream for Consumer<'_> {
    fn as_python_arg(&self, _: Python<'_>, _: DLDevice) -> PyResult<StreamArg> {
        Ok(cuda(std::ptr::without_provenance_mut(self.0.address())))
    }

    unsafe fn wait_for_producer(&self, device: DLDevice, producer: *mut c_void) -> PyResult<bool> {
        if usize::try_from(device.device_id).ok() != Some(self.0.context().ordinal()) {
            return Ok(false);
        }
        // SAFETY: by contract the handle is that of a live stream of this device.
        let ordered = unsafe { self.0.wait_for_foreign(producer.addr()) };
        ordered.map_err(|why| Failure::from(GpuError::Cuda(why)))?;
        Ok(true)
    }
}
