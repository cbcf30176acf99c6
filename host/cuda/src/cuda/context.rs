//! The primary context of a device, shared by everything that lives on the device.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::deferred_free;
use super::deferred_free::Owner;
use super::error::{CudaError, Result, check};
use super::ffi::driver;
use super::lock::lock;
use super::primary::{self, Device, PrimaryContext};
use super::registry::Registry;

static CONTEXTS: Registry<Context> = Registry::new();

/// Errors of `Drop` implementations, which cannot return them.
#[derive(Default)]
struct DropErrors {
    count: usize,
    last: Option<CudaError>,
}

/// Free and total device memory, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that can still be allocated.
    pub free: usize,
    /// Bytes of the whole device.
    pub total: usize,
}

/// The primary context of one device.
///
/// Each device has at most one `Context` at a time; streams, buffers and modules keep it alive.
pub struct Context {
    primary: ManuallyDrop<PrimaryContext>,
    device: Device,
    ordinal: usize,
    /// Contexts whose memory the work of this one accesses directly.
    accessible: Mutex<Vec<Weak<Context>>>,
    /// Its work may never finish, so waiting for it might not return.
    abandoned: AtomicBool,
    drop_errors: Mutex<DropErrors>,
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.is_abandoned() {
            return;
        }
        // SAFETY: dropped once, here, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.primary) };
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("device", &self.ordinal)
            .finish_non_exhaustive()
    }
}

/// Loads the driver and initialises it, once per process.
///
/// # Errors
/// There is no driver, or it refuses to start.
pub(crate) fn init() -> Result<()> {
    warpstride_driver_shim::load().map_err(|error| CudaError::NoDriver {
        reason: error.to_string(),
    })?;
    // SAFETY: no arguments but flags, of which none exist. Called before cust's own call, if there
    // is one, so that error codes newer than its bindings keep their number.
    let answer = unsafe { driver::cuInit(0) };
    match answer {
        warpstride_driver_shim::NO_DEVICE => Err(CudaError::NoDevice),
        code => {
            check(code, "cuInit")?;
            primary::init()
        }
    }
}

/// Number of devices; at least one.
///
/// # Errors
/// [`CudaError::NoDevice`], or an error of the driver.
pub(crate) fn device_count() -> Result<usize> {
    match Device::count()? {
        0 => Err(CudaError::NoDevice),
        count => Ok(count as usize),
    }
}

/// The device with this ordinal.
///
/// # Errors
/// There is no such device.
pub(crate) fn device(ordinal: usize) -> Result<Device> {
    let found = device_count()?;
    let missing = CudaError::Ordinal {
        requested: ordinal,
        found,
    };
    if ordinal >= found {
        return Err(missing);
    }
    let number = u32::try_from(ordinal).map_err(|_| missing)?;
    Device::with_ordinal(number)
}

impl Context {
    /// The primary context of device `ordinal` (numbered from 0). If the process already has one,
    /// that one is returned.
    ///
    /// # Errors
    /// There is no driver, no device or no device with this ordinal, or the driver refuses.
    pub fn new(ordinal: usize) -> Result<Arc<Self>> {
        init()?;
        let device = device(ordinal)?;
        CONTEXTS.get_or_create(ordinal, || {
            Ok(Self {
                primary: ManuallyDrop::new(PrimaryContext::new(device)?),
                device,
                ordinal,
                accessible: Mutex::default(),
                abandoned: AtomicBool::new(false),
                drop_errors: Mutex::default(),
            })
        })
    }

    /// The ordinal of the device.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// The UUID of the device, which no other device of any host has.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn device_uuid(&self) -> Result<[u8; 16]> {
        let mut uuid = [0; 16];
        // SAFETY: the address is of a live variable of the size of `CUuuid`.
        let answer = unsafe { driver::cuDeviceGetUuid(&raw mut uuid, self.device.as_raw()) };
        check(answer, "cuDeviceGetUuid")?;
        Ok(uuid)
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    pub(crate) fn raw(&self) -> driver::Handle {
        self.primary.raw()
    }

    /// Makes this the calling thread's current context. Every function of the CUDA layer does this
    /// itself.
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
    /// The error of any of that work.
    pub fn synchronize(&self) -> Result<()> {
        self.expect_waitable()?;
        self.enter()?;
        // SAFETY: acts on the context just made current.
        check(unsafe { driver::cuCtxSynchronize() }, "cuCtxSynchronize")
    }

    /// Makes every later wait for this context's work an error, because that work itself waits for
    /// a device that failed. Memory that the work may use is leaked, as are its streams and graphs.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Refuses to wait for work that may never finish.
    pub(crate) fn expect_waitable(&self) -> Result<()> {
        if self.is_abandoned() {
            let device = self.ordinal;
            return Err(CudaError::Abandoned { device });
        }
        Ok(())
    }

    /// Whether abandoned work may use this context's memory.
    fn is_used_by_abandoned_work(&self) -> bool {
        let abandoned = |user: &Arc<Self>| user.is_abandoned();
        self.is_abandoned() || CONTEXTS.users_of(self.ordinal).iter().any(abandoned)
    }

    /// Free and total memory of the device.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn memory(&self) -> Result<MemoryInfo> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both addresses are of live variables.
        let answer = unsafe { driver::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
        check(answer, "cuMemGetInfo")?;
        Ok(MemoryInfo { free, total })
    }

    /// Whether both contexts belong to the same device.
    #[must_use]
    pub fn same_device(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }

    /// The number of errors that occurred while objects were dropped, and the last one. Resets
    /// both.
    pub fn take_drop_errors(&self) -> (usize, Option<CudaError>) {
        let mut errors = lock(&self.drop_errors);
        (std::mem::take(&mut errors.count), errors.last.take())
    }

    /// Keeps an error for [`Context::take_drop_errors`].
    pub(crate) fn record_drop(&self, result: Result<()>) {
        if let Err(error) = result {
            let mut errors = lock(&self.drop_errors);
            errors.count += 1;
            errors.last = Some(error);
        }
    }

    /// # Errors
    /// The contexts belong to different devices; `what` names the object of `other` in the message.
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

    /// Registers that streams of `peer` may use this context's memory from now on.
    pub(crate) fn add_user(&self, peer: &Self) {
        CONTEXTS.add_user(self.ordinal, peer.ordinal);
    }

    /// Registers that work of this context can access the memory of `owner` from now on.
    pub(crate) fn add_accessible(&self, owner: &Arc<Self>) {
        let mut accessible = lock(&self.accessible);
        accessible.retain(|other| other.strong_count() > 0);
        if !accessible
            .iter()
            .any(|other| other.as_ptr() == Arc::as_ptr(owner))
        {
            accessible.push(Arc::downgrade(owner));
        }
    }

    /// Whether work of this context can access the memory of `owner` without the host. A later
    /// context of the same device is a different one and has to be given access again.
    pub(crate) fn can_access(&self, owner: &Self) -> bool {
        self.same_device(owner)
            || lock(&self.accessible)
                .iter()
                .any(|other| std::ptr::eq(other.as_ptr(), owner))
    }

    /// Waits until no work can use this context's memory, whether or not that work succeeded. After
    /// that this is the calling thread's current context.
    ///
    /// # Errors
    /// The first error of that work.
    pub(crate) fn wait_idle(&self) -> Result<()> {
        let mut all = Ok(());
        for user in CONTEXTS.users_of(self.ordinal) {
            all = all.and(user.synchronize());
        }
        // Last, so that this context stays the current one.
        all.and(self.synchronize())
    }

    /// Runs `free` now, or when the last graph of the process is gone. If abandoned work may still
    /// use the memory, `free` is not run and the memory is leaked.
    pub(crate) fn defer_free(self: &Arc<Self>, free: impl FnOnce(&Self) + Send + 'static) {
        self.defer_release(move |context| {
            free(context);
            None
        });
    }

    /// Like [`Context::defer_free`] for memory of another library: drops the owner that `free`
    /// returns.
    pub(super) fn defer_release(
        self: &Arc<Self>,
        free: impl FnOnce(&Self) -> Option<Owner> + Send + 'static,
    ) {
        let context = Arc::clone(self);
        deferred_free::free_or_defer(move || {
            if context.is_used_by_abandoned_work() {
                None
            } else {
                free(&context)
            }
        });
    }

    /// The error of a failed allocation: [`CudaError::OutOfMemory`], or the driver's error for any
    /// other code.
    pub(crate) fn memory_error(
        &self,
        code: u32,
        call: &'static str,
        kind: &'static str,
        what: &str,
        needed: usize,
    ) -> CudaError {
        if code != driver::OUT_OF_MEMORY {
            return CudaError::from_code(code, call)
                .with_detail(format!("for {what}, {needed} bytes"));
        }
        let MemoryInfo { free, total } = self.memory().unwrap_or(MemoryInfo { free: 0, total: 0 });
        CudaError::OutOfMemory {
            kind,
            what: what.to_owned(),
            needed,
            free,
            total,
            call,
        }
    }
}

/// `len × size_of::<T>()`, or an error that names the purpose.
pub(crate) fn bytes_of<T>(what: &str, len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>())
        .filter(|bytes| *bytes <= isize::MAX as usize)
        .ok_or_else(|| CudaError::TooLarge {
            what: what.to_owned(),
            len,
            element: size_of::<T>(),
        })
}
