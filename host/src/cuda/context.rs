//! The device's primary context, shared by everything that lives on the device.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cust::device::Device;

use super::error::{CudaError, Result, check, from_cust};
use super::ffi::driver;
use super::{registry, retired};

/// What went wrong where nobody could be told: while something was dropped.
#[derive(Default)]
struct DropErrors {
    count: usize,
    last: Option<CudaError>,
}

/// Free and total device memory, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that can still be had.
    pub free: usize,
    /// Bytes that the device has.
    pub total: usize,
}

/// The primary context of one device; there is one of these per device at a time. Streams, buffers
/// and modules keep it alive.
pub struct Context {
    primary: cust::context::Context,
    device: Device,
    ordinal: usize,
    /// Contexts whose memory this one's work reaches directly.
    reached: Mutex<Vec<Weak<Context>>>,
    drop_errors: Mutex<DropErrors>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("device", &self.ordinal)
            .finish_non_exhaustive()
    }
}

/// Finds the driver, once, and starts it.
///
/// # Errors
/// No driver, or its refusal.
pub(crate) fn init() -> Result<()> {
    warpstride_driver_shim::load().map_err(|error| CudaError::NoDriver {
        reason: error.to_string(),
    })?;
    // SAFETY: no arguments but flags, of which none exist. Called before cust's own call so that
    // refusals newer than its bindings keep their number.
    let answer = unsafe { driver::cuInit(0) };
    match answer {
        warpstride_driver_shim::NO_DEVICE => Err(CudaError::NoDevice),
        code => {
            check(code, "cuInit")?;
            cust::init(cust::CudaFlags::empty()).map_err(|e| from_cust(e, "cuInit"))
        }
    }
}

/// Number of devices; at least one.
///
/// # Errors
/// [`CudaError::NoDevice`], or the driver's.
pub(crate) fn device_count() -> Result<usize> {
    match Device::num_devices().map_err(|e| from_cust(e, "cuDeviceGetCount"))? {
        0 => Err(CudaError::NoDevice),
        count => Ok(count as usize),
    }
}

/// The device of that number.
///
/// # Errors
/// There is none of that number.
pub(crate) fn device(ordinal: usize) -> Result<Device> {
    let found = device_count()?;
    let missing = CudaError::Ordinal {
        asked: ordinal,
        found,
    };
    if ordinal >= found {
        return Err(missing);
    }
    let number = u32::try_from(ordinal).map_err(|_| missing)?;
    Device::get_device(number).map_err(|e| from_cust(e, "cuDeviceGet"))
}

/// The value of a mutex, whether or not a thread panicked with it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    /// The primary context of device `ordinal` (numbered from 0): the one that is in use, where
    /// there is one.
    ///
    /// # Errors
    /// No driver, no device, no device of that number, or the driver's refusal.
    pub fn new(ordinal: usize) -> Result<Arc<Self>> {
        init()?;
        let device = device(ordinal)?;
        registry::context_of(ordinal, || {
            let primary = cust::context::Context::new(device)
                .map_err(|e| from_cust(e, "cuDevicePrimaryCtxRetain"))?;
            Ok(Self {
                primary,
                device,
                ordinal,
                reached: Mutex::default(),
                drop_errors: Mutex::default(),
            })
        })
    }

    /// The device's number.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    pub(crate) fn raw(&self) -> driver::Handle {
        self.primary.as_raw().cast()
    }

    /// Makes it the calling thread's context. Everything of the fence does this itself.
    pub(crate) fn enter(&self) -> Result<()> {
        // SAFETY: the handle is valid as long as `self.primary` holds the context.
        check(
            unsafe { driver::cuCtxSetCurrent(self.raw()) },
            "cuCtxSetCurrent",
        )
    }

    /// Waits for everything queued on the device by this process.
    ///
    /// # Errors
    /// What went wrong in any of it.
    pub fn synchronize(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: acts on the context just made current.
        check(unsafe { driver::cuCtxSynchronize() }, "cuCtxSynchronize")
    }

    /// Free and total memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory(&self) -> Result<MemoryInfo> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both addresses are of live variables.
        let answer = unsafe { driver::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
        check(answer, "cuMemGetInfo")?;
        Ok(MemoryInfo { free, total })
    }

    /// Whether both are the context of one device.
    #[must_use]
    pub fn same_device(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }

    /// Errors that happened while something was dropped: how many, and the last. Forgets them.
    pub fn take_drop_errors(&self) -> (usize, Option<CudaError>) {
        let mut errors = lock(&self.drop_errors);
        (std::mem::take(&mut errors.count), errors.last.take())
    }

    pub(crate) fn record_drop(&self, result: Result<()>) {
        if let Err(error) = result {
            let mut errors = lock(&self.drop_errors);
            errors.count += 1;
            errors.last = Some(error);
        }
    }

    pub(crate) fn expect_same(&self, other: &Self, what: &'static str) -> Result<()> {
        if self.same_device(other) {
            return Ok(());
        }
        Err(CudaError::OtherDevice {
            what,
            expected: self.ordinal,
            found: other.ordinal,
        })
    }

    /// Notes that streams of `peer` may use this context's memory from now on.
    pub(crate) fn used_by(&self, peer: &Self) {
        registry::note_user(self.ordinal, peer.ordinal);
    }

    /// Notes that work of this context reaches the memory of `owner` from now on.
    pub(crate) fn note_reached(&self, owner: &Arc<Self>) {
        let mut reached = lock(&self.reached);
        reached.retain(|known| known.strong_count() > 0);
        if !reached
            .iter()
            .any(|known| known.as_ptr() == Arc::as_ptr(owner))
        {
            reached.push(Arc::downgrade(owner));
        }
    }

    /// Whether work of this context reaches the memory of `owner` without the host. A context of the
    /// same device that came later is another one, so that lost access is not taken for granted.
    pub(crate) fn reaches(&self, owner: &Self) -> bool {
        self.same_device(owner)
            || lock(&self.reached)
                .iter()
                .any(|known| std::ptr::eq(known.as_ptr(), owner))
    }

    /// Waits until no work can use this context's memory, whatever became of the work; then this is
    /// the calling thread's context.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub(crate) fn wait_idle(&self) -> Result<()> {
        let mut all = Ok(());
        for user in registry::users_of(self.ordinal) {
            all = all.and(user.synchronize());
        }
        // The last, so that its context stays the current one.
        all.and(self.synchronize())
    }

    /// Runs `free` now, or when the last graph of the process is gone.
    pub(crate) fn retire(self: &Arc<Self>, free: impl FnOnce(&Self) + Send + 'static) {
        retired::retire(self, free);
    }

    /// The error for memory that could not be had; anything but "out of memory" as it is.
    pub(crate) fn memory_error(
        &self,
        code: u32,
        call: &'static str,
        place: &'static str,
        what: &str,
        needed: usize,
    ) -> CudaError {
        if code != driver::OUT_OF_MEMORY {
            return CudaError::from_code(code, call)
                .with_detail(format!("for {what}, {needed} bytes"));
        }
        let MemoryInfo { free, total } = self.memory().unwrap_or(MemoryInfo { free: 0, total: 0 });
        CudaError::OutOfMemory {
            place,
            what: what.to_owned(),
            needed,
            free,
            total,
            call,
        }
    }
}

/// `len × size_of::<T>()`, or the error that names what it was for.
pub(crate) fn bytes_of<T>(what: &str, len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>())
        .filter(|bytes| *bytes <= isize::MAX as usize)
        .ok_or_else(|| CudaError::TooLarge {
            what: what.to_owned(),
            len,
            element: size_of::<T>(),
        })
}
