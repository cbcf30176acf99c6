//! Batched transforms along two or three axes with cuFFT.
//!
//! All plans of a workspace share a work area, which grows when a plan needs more. This is sound
//! because they also share a stream, so no two of them run at once.

use std::ffi::{c_longlong, c_void};
use std::fmt;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::error::{CudaError, Result};
use super::ffi::cufft::{self, CuFft, check, cufft};
use super::lock::lock;
use super::stream::Stream;

/// The direction of a transform. Both directions are plain sums without a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FftDirection {
    /// Exponent −2πi.
    Forward,
    /// Exponent +2πi.
    Inverse,
}

/// A stream and a work area that several plans share.
pub struct FftWorkspace {
    stream: Arc<Stream>,
    area: Mutex<DeviceBuffer<u8>>,
}

impl fmt::Debug for FftWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FftWorkspace")
            .field("stream", &self.stream)
            .field("bytes", &lock(&self.area).len())
            .finish()
    }
}

impl FftWorkspace {
    /// Creates a workspace with an empty work area, whose plans run in `stream`.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn new(stream: &Arc<Stream>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            stream: Arc::clone(stream),
            area: Mutex::new(DeviceBuffer::zeroed(
                stream.context(),
                "work area of the transforms",
                0,
            )?),
        }))
    }

    /// Bytes of the shared work area.
    #[must_use]
    pub fn bytes(&self) -> usize {
        lock(&self.area).len()
    }

    /// Plans a transform of `batch` contiguous arrays of shape (row, column) or (slice, row,
    /// column) in complex single precision.
    ///
    /// # Errors
    /// cuFFT was not found or rejects the size, or device memory is exhausted.
    pub fn plan(self: &Arc<Self>, shape: &[usize], batch: usize) -> Result<FftPlan> {
        let api = cufft()?;
        self.stream.context().enter()?;
        let request = || Some(format!("{batch} transforms of {shape:?}"));
        let size_error = |call| CudaError::Library {
            library: "cuFFT",
            call,
            code: 8,
            name: "CUFFT_INVALID_SIZE",
            detail: request(),
        };
        let elements = shape
            .iter()
            .try_fold(batch, |product, n| product.checked_mul(*n))
            .filter(|elements| *elements > 0 && matches!(shape.len(), 2 | 3))
            .ok_or_else(|| size_error("cufftMakePlanMany64"))?;
        let number = |n| c_longlong::try_from(n).map_err(|_| size_error("cufftMakePlanMany64"));

        let mut handle = 0;
        // SAFETY: the address is of a live variable.
        let answer = unsafe { (api.create)(&raw mut handle) };
        check(answer, "cufftCreate", request)?;
        // From here on, dropping the plan destroys the handle.
        let mut plan = FftPlan {
            api,
            handle,
            elements,
            work_bytes: 0,
            area_in_use: Mutex::new(0),
            workspace: Arc::clone(self),
        };
        // SAFETY: the plan exists; the work area is set before it runs.
        let answer = unsafe { (api.set_auto_allocation)(handle, 0) };
        check(answer, "cufftSetAutoAllocation", request)?;
        let mut sizes = shape
            .iter()
            .map(|n| number(*n))
            .collect::<Result<Vec<_>>>()?;
        let rank = if sizes.len() == 3 { 3 } else { 2 };
        let distance = number(elements / batch)?;
        let null = std::ptr::null_mut();
        // SAFETY: as many sizes as the rank; null embeddings mean arrays without gaps.
        let answer = unsafe {
            (api.make_plan_many)(
                handle,
                rank,
                sizes.as_mut_ptr(),
                null,
                1,
                distance,
                null,
                1,
                distance,
                cufft::C2C,
                number(batch)?,
                &raw mut plan.work_bytes,
            )
        };
        check(answer, "cufftMakePlanMany64", request)?;
        // SAFETY: plan and stream exist; the workspace keeps the stream as long as the plan.
        let answer = unsafe { (api.set_stream)(handle, self.stream.raw()) };
        check(answer, "cufftSetStream", request)?;
        self.grow(plan.work_bytes)?;
        Ok(plan)
    }

    /// Replaces the work area with a larger one. The old one is freed when the work that uses it is
    /// done; plans pick up the new address the next time they run.
    fn grow(&self, bytes: usize) -> Result<()> {
        let mut area = lock(&self.area);
        if area.len() < bytes {
            let larger =
                DeviceBuffer::zeroed(self.stream.context(), "work area of the transforms", bytes)?;
            *area = larger;
        }
        Ok(())
    }
}

/// A planned transform.
pub struct FftPlan {
    api: &'static CuFft,
    handle: cufft::Plan,
    elements: usize,
    work_bytes: usize,
    /// The address last passed to cuFFT as the work area. The lock also prevents two threads from
    /// using the handle at once, which cuFFT does not allow.
    area_in_use: Mutex<u64>,
    workspace: Arc<FftWorkspace>,
}

impl fmt::Debug for FftPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FftPlan")
            .field("elements", &self.elements)
            .field("work_bytes", &self.work_bytes)
            .finish_non_exhaustive()
    }
}

impl FftPlan {
    /// Bytes of work area that the plan needs.
    #[must_use]
    pub fn work_bytes(&self) -> usize {
        self.work_bytes
    }

    /// Queues an in-place transform of the arrays at the beginning of `data`. `C` is a complex
    /// number of two `f32`; another element size does not compile.
    ///
    /// # Errors
    /// `data` is too short or belongs to another device, or an error of cuFFT.
    pub fn execute<C: Pod>(
        &self,
        data: &mut DeviceBuffer<C>,
        direction: FftDirection,
    ) -> Result<()> {
        let stream = &self.workspace.stream;
        self.expect_data(data)?;
        stream.context().enter()?;
        let address = std::ptr::without_provenance_mut(data.raw() as usize);
        // SAFETY: the data has the plan's number of complex numbers (checked above) and is freed
        // only after the work; in place is allowed for complex to complex.
        unsafe { self.queue(address, address, direction) }
    }

    /// Like [`FftPlan::execute`], but from one buffer into another; `from` keeps its values.
    ///
    /// # Errors
    /// As for [`FftPlan::execute`], for either buffer.
    pub fn execute_to<C: Pod>(
        &self,
        from: &DeviceBuffer<C>,
        to: &mut DeviceBuffer<C>,
        direction: FftDirection,
    ) -> Result<()> {
        self.expect_data(from)?;
        self.expect_data(to)?;
        self.workspace.stream.context().enter()?;
        let source = std::ptr::without_provenance_mut(from.raw() as usize);
        let target = std::ptr::without_provenance_mut(to.raw() as usize);
        // SAFETY: both have the plan's number of complex numbers (checked above) and are freed only
        // after the work; a complex-to-complex transform out of place does not write its input.
        unsafe { self.queue(source, target, direction) }
    }

    fn expect_data<C: Pod>(&self, data: &DeviceBuffer<C>) -> Result<()> {
        const { assert!(size_of::<C>() == 8, "a complex number of two f32") };
        let stream = &self.workspace.stream;
        stream.context().expect_same(data.context(), "the data")?;
        data.expect_range("transform", &(0..self.elements))
    }

    /// # Safety
    /// Both addresses hold the plan's number of complex numbers on the stream's device until the
    /// work is done; the context is current.
    unsafe fn queue(
        &self,
        from: *mut c_void,
        to: *mut c_void,
        direction: FftDirection,
    ) -> Result<()> {
        let area = lock(&self.workspace.area);
        let mut in_use = lock(&self.area_in_use);
        if *in_use != area.raw() && self.work_bytes > 0 {
            // SAFETY: the area has at least `work_bytes` bytes, since it only grows; it is freed
            // only after the work that uses it, and a new address is set here before the next run.
            let answer = unsafe {
                (self.api.set_work_area)(
                    self.handle,
                    std::ptr::without_provenance_mut(area.raw() as usize),
                )
            };
            check(answer, "cufftSetWorkArea", || None)?;
            *in_use = area.raw();
        }
        let sign = match direction {
            FftDirection::Forward => cufft::FORWARD,
            FftDirection::Inverse => cufft::INVERSE,
        };
        // SAFETY: as the caller guarantees.
        let answer = unsafe { (self.api.exec_c2c)(self.handle, from.cast(), to.cast(), sign) };
        check(answer, "cufftExecC2C", || None)
    }
}

impl Drop for FftPlan {
    fn drop(&mut self) {
        let (api, handle) = (self.api, self.handle);
        self.workspace.stream.context().defer_free(move |context| {
            let idle = context.wait_idle();
            context.record_drop(idle);
            // SAFETY: created once, destroyed once, when no work uses it and no graph holds it.
            let answer = unsafe { (api.destroy)(handle) };
            context.record_drop(check(answer, "cufftDestroy", || None));
        });
    }
}
