//! Errors of devices and device groups.

/// An error of a device or a device group.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// An error of the CUDA layer.
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),
    /// An argument of a launch is too short.
    #[error(transparent)]
    Extent(#[from] warpstride_device::launch::ExtentError),
    /// The emulator detected an error in a launch.
    #[error(transparent)]
    Emulator(#[from] warpstride_device::emulator::EmulatorError),
    /// The sizes of a buffer and of the other side of a copy differ.
    #[error("{what}: expected {buffer} bytes (the size of the buffer), found {host}")]
    Size {
        /// The operation.
        what: &'static str,
        /// Bytes of the buffer.
        buffer: usize,
        /// Bytes of the other side.
        host: usize,
    },
    /// An allocation of host memory failed.
    #[error("out of host memory: {what} needs {needed} bytes; reduce the size of the problem")]
    HostMemory {
        /// The purpose of the memory.
        what: &'static str,
        /// Bytes requested.
        needed: usize,
    },
    /// The emulator detected that a kernel wrote outside of a buffer.
    #[error(
        "kernel {kernel} wrote outside of a buffer: byte {offset} of the buffer for {buffer}, which has \
         {bytes} bytes"
    )]
    Overrun {
        /// Name of the kernel.
        kernel: &'static str,
        /// The purpose of the buffer.
        buffer: &'static str,
        /// Offset in bytes from the start of the buffer; negative before the start.
        offset: isize,
        /// Bytes of the buffer.
        bytes: usize,
    },
    /// An error on one device of a group.
    #[error("GPU {device}: {error}")]
    OnDevice {
        /// The ordinal of the device.
        device: usize,
        /// The error on this device.
        error: Box<GpuError>,
    },
    /// Data for the device that the host cannot read.
    #[error("{0}")]
    HostData(String),
    /// Memory that an earlier error has taken away.
    #[error("{what}: the device memory was lost by an earlier error")]
    Lost {
        /// The purpose of the memory.
        what: &'static str,
    },
    /// A group without devices was requested.
    #[error("expected at least one device in a group, found none")]
    NoDevices,
    /// A device was listed twice.
    #[error("expected each device at most once, found GPU {device} twice")]
    DeviceTwice {
        /// The ordinal of the device.
        device: usize,
    },
    /// An index that the group does not have.
    #[error("device index {device}: expected a number below {devices}, the devices of the group")]
    NotInGroup {
        /// The requested index.
        device: usize,
        /// The number of devices.
        devices: usize,
    },
    /// The environment asks for transforms by something unknown.
    #[error("the variable WARPSTRIDE_FFT: expected own, cufft or auto, found {found:?}")]
    FftVariable {
        /// The variable's value.
        found: String,
    },
    /// An exchange with the devices of other threads or processes failed.
    #[error("{reason}")]
    Exchange {
        /// Why.
        reason: String,
    },
    /// A transform that is empty, exceeds the address space, or has neither two nor three axes.
    #[error("unsupported transform: {batch} arrays of shape {shape:?}")]
    TransformSize {
        /// Shape of an array, the slowest axis first.
        shape: Vec<usize>,
        /// The number of arrays.
        batch: usize,
    },
}

impl GpuError {
    /// The same error with the ordinal of the device on which it occurred.
    #[must_use]
    pub fn on(self, device: usize) -> Self {
        match self {
            named @ Self::OnDevice { .. } => named,
            error => Self::OnDevice {
                device,
                error: Box::new(error),
            },
        }
    }
}

/// The result of an operation on a device.
pub type Result<T> = std::result::Result<T, GpuError>;
