//! Arrays in the memory of a GPU: those of other libraries, where they lie, and results for them.

use super::element::{Element, name_of, name_of_typestr};
use super::stream::Consumer;
use crate::detached::detached;
use crate::errors::Failure;
use dlpark::ffi::{DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::{
    CudaStreamRequest, DlpackExporter, ExportRequest, export_dlpack, from_dlpack,
};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use ndarray::{ArrayD, IxDyn};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use warpstride::cuda::{CudaError, DeviceBuffer};
use warpstride::gpu::{CudaDevice, Device, GpuError};

fn failed(why: CudaError) -> PyErr {
    Failure::from(GpuError::Cuda(why)).into()
}

/// An array of another library as a buffer of `device`, and its shape. What is queued on the device
/// from now on comes after what the library has queued. Booleans are taken as uint8 if they are not
/// written to.
pub(super) fn imported<T: Element>(
    device: &CudaDevice,
    name: &str,
    array: &Bound<'_, PyAny>,
    written: bool,
) -> PyResult<(DeviceBuffer<T>, Vec<usize>)> {
    let refuse = |what: String| PyErr::from(Failure::Data(format!("{name}: expected {what}")));
    if !array.hasattr("__dlpack__")? && array.hasattr("__cuda_array_interface__")? {
        return described(device, name, array, written);
    }
    let stream = Consumer(device.stream());
    let imported = from_dlpack(array.as_borrowed(), Some(&stream), None)?;
    let read_only = imported.flags().contains(DlpackFlags::READ_ONLY);
    let (address, shape) = {
        let tensor = imported
            .validate()
            .map_err(|why| refuse(format!("an array of DLPack: {why}")))?;
        let (kind, ordinal) = (tensor.device().device_type, tensor.device().device_id);
        let here = device.context().ordinal();
        let memory = matches!(kind, DLDeviceType::CUDA | DLDeviceType::CUDAMANAGED);
        if !memory || usize::try_from(ordinal).ok() != Some(here) {
            return Err(refuse(format!(
                "memory of GPU {here}, found that of another device"
            )));
        }
        let found = tensor.dtype();
        let truths = found == DLDataType::BOOL && T::DLPACK == DLDataType::U8 && !written;
        if found != T::DLPACK && !truths {
            let (expected, found) = (T::NAME, name_of(found));
            return Err(refuse(format!("{expected}, found {found}")));
        }
        let strides = tensor.strides().unwrap_or_default().iter().copied();
        if !is_compact(strides, tensor.shape().iter().copied(), 1) {
            return Err(refuse(
                "a contiguous array (C order), found other strides".to_owned(),
            ));
        }
        if written && read_only {
            return Err(refuse(
                "an array that can be written to, found a read-only one".to_owned(),
            ));
        }
        let shape: Option<Vec<usize>> = (tensor.shape().iter())
            .map(|n| usize::try_from(*n).ok())
            .collect();
        let address = tensor.data_ptr().addr() as u64 + tensor.byte_offset();
        (address, shape.unwrap_or_default())
    };
    let len = shape.iter().product();
    // SAFETY: DLPack's contract: the memory stays until the managed tensor is dropped, and is
    // ordered in the stream that was given. The caller of Python keeps to using the array in order,
    // as with any of its library's functions.
    let buffer =
        unsafe { DeviceBuffer::foreign(device.context(), name, address, len, Box::new(imported)) };
    Ok((buffer.map_err(failed)?, shape))
}

/// Whether strides, of which there are none or one for each axis, are those of C order, the last
/// one `item`. Axes of length 1 may have any.
fn is_compact(
    strides: impl DoubleEndedIterator<Item = i64> + ExactSizeIterator,
    lengths: impl DoubleEndedIterator<Item = i64> + ExactSizeIterator,
    item: i64,
) -> bool {
    let mut expected = item;
    strides.zip(lengths).rev().all(|(stride, length)| {
        let fits = length <= 1 || stride == expected;
        expected = expected.saturating_mul(length.max(1));
        fits
    })
}

/// An array that has `__cuda_array_interface__` alone (version 2 or 3).
fn described<T: Element>(
    device: &CudaDevice,
    name: &str,
    array: &Bound<'_, PyAny>,
    written: bool,
) -> PyResult<(DeviceBuffer<T>, Vec<usize>)> {
    let refuse = |what: &str| PyErr::from(Failure::Data(format!("{name}: expected {what}")));
    let described = array.getattr("__cuda_array_interface__")?;
    let (address, read_only): (u64, bool) = described.get_item("data")?.extract()?;
    let shape: Vec<usize> = described.get_item("shape")?.extract()?;
    let get = |key: &str| described.call_method1("get", (key,));
    let found = get("typestr")?.extract::<String>()?;
    if found != T::TYPESTR && !(found == "|b1" && T::TYPESTR == "|u1" && !written) {
        let (expected, found) = (T::NAME, name_of_typestr(&found));
        return Err(refuse(&format!("{expected}, found {found}")));
    }
    let strides: Option<Vec<i64>> = get("strides")?.extract()?;
    let lengths = shape.iter().map(|length| *length as i64);
    let item = size_of::<T>() as i64;
    if !is_compact(strides.unwrap_or_default().into_iter(), lengths, item) {
        return Err(refuse("a contiguous array (C order), found other strides"));
    }
    if written && read_only {
        return Err(refuse(
            "an array that can be written to, found a read-only one",
        ));
    }
    if let Some(handle) = get("stream")?.extract::<Option<usize>>()? {
        // SAFETY: the interface's contract: the producer names a live stream of the device.
        unsafe { device.stream().wait_for_foreign(handle) }.map_err(failed)?;
    }
    let len = shape
        .iter()
        .try_fold(1_usize, |n, axis| n.checked_mul(*axis));
    let len = len.ok_or_else(|| refuse("a shape that memory can hold"))?;
    let owner = Box::new(array.clone().unbind());
    // SAFETY: the interface's contract: the memory stays as long as the object that described it.
    let buffer = unsafe { DeviceBuffer::foreign(device.context(), name, address, len, owner) };
    Ok((buffer.map_err(failed)?, shape))
}

/// Ends the use of an array of another library: its stream `then` waits for what was queued, or
/// else the host does.
pub(super) fn released<T: Element>(
    device: &CudaDevice,
    buffer: DeviceBuffer<T>,
    then: Option<usize>,
) -> PyResult<()> {
    if let Some(handle) = then {
        // SAFETY: the Python layer takes the handle from the array's library, whose current stream
        // it is.
        unsafe { device.stream().foreign_waits(handle) }.map_err(failed)?;
        // SAFETY: the library's stream comes after the work, as the line above has queued; no graph
        // has the address.
        drop(unsafe { buffer.into_owner() });
    }
    Ok(())
}

/// A buffer of elements of some type.
trait Elements: Send + Sync {
    /// Their type for DLPack and for CUDA's array interface.
    fn types(&self) -> (DLDataType, &'static str);
    /// The address of the first.
    fn address(&self) -> u64;
    /// A copy in the memory of the host.
    fn to_numpy<'py>(
        &self,
        py: Python<'py>,
        device: &CudaDevice,
        shape: &[usize],
    ) -> PyResult<Bound<'py, PyAny>>;
}

impl<T: Element> Elements for DeviceBuffer<T> {
    fn types(&self) -> (DLDataType, &'static str) {
        (T::DLPACK, T::TYPESTR)
    }

    fn address(&self) -> u64 {
        DeviceBuffer::address(self)
    }

    fn to_numpy<'py>(
        &self,
        py: Python<'py>,
        device: &CudaDevice,
        shape: &[usize],
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut host = vec![bytemuck::Zeroable::zeroed(); self.len()];
        detached(py, || device.download::<T, T::Host>(self, &mut host)).map_err(Failure::from)?;
        let array = ArrayD::from_shape_vec(IxDyn(shape), host).map_err(Failure::data)?;
        Ok(array.into_pyarray(py).into_any())
    }
}

/// An array in the memory of a GPU, for `cupy.from_dlpack`, `torch.from_dlpack`,
/// `jax.dlpack.from_dlpack` and anything that takes `__cuda_array_interface__`.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(crate) struct DeviceArray {
    device: Arc<CudaDevice>,
    elements: Arc<dyn Elements>,
    shape: Vec<usize>,
}

impl DeviceArray {
    /// `shape` has as many elements as the buffer, which work of `device` has written or will
    /// write.
    pub(super) fn new<T: Element>(
        device: &Arc<CudaDevice>,
        buffer: DeviceBuffer<T>,
        shape: Vec<usize>,
    ) -> Self {
        Self {
            device: Arc::clone(device),
            elements: Arc::new(buffer),
            shape,
        }
    }

    fn exported<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        let prepared = Dynamic::compact(self.shape.clone()).prepare_as::<M>();
        let prepared = prepared.map_err(|why| Failure::Internal(why.to_string()))?;
        let mut tensor = prepared.initialize(Box::new(Arc::clone(&self.elements)));
        let address = usize::try_from(self.elements.address()).unwrap_or_default();
        tensor.set_data(std::ptr::without_provenance_mut(address));
        tensor.set_device(self.device());
        tensor.set_dtype(self.elements.types().0);
        // SAFETY: the data are those of the buffer that the tensor keeps, as many as the shape
        // says.
        Ok(unsafe { tensor.finish() })
    }
}

impl DlpackExporter for DeviceArray {
    fn device(&self) -> DLDevice {
        DLDevice::cuda(i32::try_from(self.device.context().ordinal()).unwrap_or(i32::MAX))
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    fn prepare_export(&self, _: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        let handle = match request.cuda_stream()? {
            CudaStreamRequest::NoSync => return Ok(()),
            // No stream means the legacy default one.
            CudaStreamRequest::Omitted | CudaStreamRequest::LegacyDefault => 1,
            CudaStreamRequest::PerThreadDefault => 2,
            CudaStreamRequest::Pointer(handle) => handle,
        };
        // SAFETY: DLPack's contract: the consumer names a live stream of the device.
        unsafe { self.device.stream().foreign_waits(handle) }.map_err(failed)
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.exported()
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.exported()
    }
}

#[pymethods]
impl DeviceArray {
    /// Lengths of the axes.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    /// CUDA and the number of the GPU, as DLPack names them.
    fn __dlpack_device__(&self) -> (u32, i32) {
        DlpackExporter::device(self).into()
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let request = ExportRequest::parse(stream.as_ref(), max_version, dl_device, copy)?;
        export_dlpack(self, py, request)
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let described = PyDict::new(py);
        described.set_item("version", 3)?;
        described.set_item("shape", pyo3::types::PyTuple::new(py, &self.shape)?)?;
        described.set_item("typestr", self.elements.types().1)?;
        described.set_item("data", (self.elements.address(), false))?;
        described.set_item("strides", py.None())?;
        // Consumers order themselves after this stream.
        described.set_item("stream", self.device.stream().address())?;
        Ok(described)
    }

    /// A copy in the memory of the host.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.elements.to_numpy(py, &self.device, &self.shape)
    }
}
