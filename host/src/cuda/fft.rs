//! Batched transforms of two or three axes by cuFFT.
//!
//! Plans of one workspace share one work area, which grows when a plan needs more; that is sound
//! because they share a stream, so that no two of them run at once.

use std::ffi::{c_longlong, c_void};
use std::fmt;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::lock;
use super::error::{CudaError, Result};
use super::ffi::cufft::{self, CuFft, check, cufft};
use super::stream::Stream;

/// Direction of a transform; both are plain sums without a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FftDirection {
    /// exp(−2πi …).
    Forward,
    /// exp(+2πi …).
    Inverse,
}

/// The stream and the work area of a set of plans.
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
    /// An empty work area; plans run in `stream`.
    ///
    /// # Errors
    /// The driver's.
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

    /// Bytes of device memory that the plans share.
    #[must_use]
    pub fn bytes(&self) -> usize {
        lock(&self.area).len()
    }

    /// Plans an in-place transform of `batch` arrays (row, column) or (slice, row, column), complex
    /// single precision, one after the other.
    ///
    /// # Errors
    /// cuFFT is missing or refuses the size, or device memory runs out.
    pub fn plan(self: &Arc<Self>, shape: &[usize], batch: usize) -> Result<FftPlan> {
        let api = cufft()?;
        self.stream.context().enter()?;
        let asked = || Some(format!("{batch} transforms of {shape:?}"));
        let refused = |call| CudaError::Library {
            library: "cuFFT",
            call,
            code: 8,
            name: "CUFFT_INVALID_SIZE",
            detail: asked(),
        };
        let elements = shape
            .iter()
            .try_fold(batch, |product, n| product.checked_mul(*n))
            .filter(|elements| *elements > 0 && matches!(shape.len(), 2 | 3))
            .ok_or_else(|| refused("cufftMakePlanMany64"))?;
        let number = |n| c_longlong::try_from(n).map_err(|_| refused("cufftMakePlanMany64"));

        let mut handle = 0;
        // SAFETY: the address is of a live variable.
        let answer = unsafe { (api.create)(&raw mut handle) };
        check(answer, "cufftCreate", asked)?;
        // From here on dropping the plan destroys the handle.
        let mut plan = FftPlan {
            api,
            handle,
            elements,
            work_bytes: 0,
            area_in_use: Mutex::new(0),
            workspace: Arc::clone(self),
        };
        // SAFETY: the plan exists; the work area is given by us, below.
        let answer = unsafe { (api.set_auto_allocation)(handle, 0) };
        check(answer, "cufftSetAutoAllocation", asked)?;
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
        check(answer, "cufftMakePlanMany64", asked)?;
        // SAFETY: plan and stream exist; the workspace keeps the stream as long as the plan.
        let answer = unsafe { (api.set_stream)(handle, self.stream.raw()) };
        check(answer, "cufftSetStream", asked)?;
        self.grow(plan.work_bytes)?;
        Ok(plan)
    }

    /// Replaces the area by a larger one. The old one is freed when the work that uses it is done;
    /// plans notice the new address at their next run.
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
    /// Address of the work area that cuFFT was told last. The lock also keeps two threads from
    /// using the handle at once, which cuFFT forbids.
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
    /// Bytes of the work area that it needs.
    #[must_use]
    pub fn work_bytes(&self) -> usize {
        self.work_bytes
    }

    /// Queues the transform of the plan's arrays at the beginning of `data`, in place. `C` is a complex number of two `f32`.
    ///
    /// # Errors
    /// `data` is too short, of another device or of another element size, or cuFFT's.
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

    /// As [`FftPlan::execute`], from one buffer into another; `from` keeps its values.
    ///
    /// # Errors
    /// As [`FftPlan::execute`], for either buffer.
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
            // only after the work that uses it, and this check tells cuFFT a new address before
            // the next run.
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
        // SAFETY: the caller's.
        let answer = unsafe { (self.api.exec_c2c)(self.handle, from.cast(), to.cast(), sign) };
        check(answer, "cufftExecC2C", || None)
    }
}

impl Drop for FftPlan {
    fn drop(&mut self) {
        let (api, handle) = (self.api, self.handle);
        self.workspace.stream.context().retire(move |context| {
            let idle = context.wait_idle();
            context.record_drop(idle);
            // SAFETY: created once, destroyed once, when no work uses it and no graph holds it.
            let answer = unsafe { (api.destroy)(handle) };
            context.record_drop(check(answer, "cufftDestroy", || None));
        });
    }
}
