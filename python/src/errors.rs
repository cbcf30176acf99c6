//! What goes wrong, as one of three exceptions with the command line's sentence.

use crate::wording::{in_python, unmarked, verbatim};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use std::path::Path;
use warpstride::cuda::{CudaError, NoDeviceReason};
use warpstride::gpu::GpuError;
use warpstride::io::IoError;
use warpstride::jacobi::JacobiError;
use warpstride::mri::MriError;
use warpstride::ptycho::EngineError;
use warpstride::run::{MemoryRequestError, OpenError, OutOfMemory, RequestError};
use warpstride::sas::SasError;
use warpstride::selftest::{EngineCaseError, SelftestError};
use warpstride::series::SeriesError;
use warpstride::system::ScratchError;

create_exception!(
    warpstride,
    DataError,
    PyValueError,
    "Data or options with which nothing can be computed; the text names what was expected and what was found.

Examples
--------
>>> import warpstride as ws
>>> try:
...     ws.ptycho.DM(0)
... except ws.DataError as error:
...     print(error)
iterations: expected a whole number from 1 to 10000000, found 0
>>> issubclass(ws.DataError, ValueError)
True
"
);
create_exception!(
    warpstride,
    DeviceError,
    PyRuntimeError,
    "A GPU that was asked for and cannot be used, or that failed.

Examples
--------
>>> import warpstride as ws
>>> issubclass(ws.DeviceError, RuntimeError)
True
"
);
create_exception!(
    warpstride,
    OutOfMemoryError,
    PyMemoryError,
    "A computation that does not fit into the memory of the host or of a device.

Examples
--------
>>> import warpstride as ws
>>> issubclass(ws.OutOfMemoryError, MemoryError)
True
"
);

create_exception!(
    warpstride,
    ForkError,
    PyRuntimeError,
    "A computation in a process that was forked after a first computation, whose threads it has not. Processes that are started with
``spawn`` or ``forkserver`` of `multiprocessing`, or forked before the first computation, can compute.

Examples
--------
>>> import warpstride as ws
>>> issubclass(ws.ForkError, RuntimeError)
True
"
);

/// Why a computation failed: what its thread hands to Python's.
#[derive(Debug)]
pub(crate) enum Failure {
    /// [`DataError`].
    Data(String),
    /// [`DeviceError`].
    Device(String),
    /// [`OutOfMemoryError`].
    Memory(String),
    /// [`ForkError`].
    Forked(String),
    /// `OSError`: a file cannot be written.
    File(String),
    /// `RuntimeError`: an error of this package.
    Internal(String),
}

impl Failure {
    /// A [`DataError`].
    pub(crate) fn data(why: impl ToString) -> Self {
        Self::Data(why.to_string())
    }

    /// A [`DataError`] of a file, whose name is kept as it was given.
    pub(crate) fn of_file(path: &Path, why: &dyn std::fmt::Display) -> Self {
        Self::Data(verbatim(&why.to_string(), &path.display().to_string()))
    }

    /// A file that cannot be written.
    pub(crate) fn unwritten(why: &IoError) -> Self {
        Self::File(why.to_string())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Data(text)
            | Self::Device(text)
            | Self::Memory(text)
            | Self::Forked(text)
            | Self::File(text)
            | Self::Internal(text) => f.write_str(&unmarked(text)),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Data(text) => DataError::new_err(in_python(&text)),
            Failure::Device(text) => DeviceError::new_err(in_python(&text)),
            Failure::Memory(text) => OutOfMemoryError::new_err(in_python(&text)),
            Failure::Forked(text) => ForkError::new_err(text),
            Failure::File(text) => PyOSError::new_err(text),
            Failure::Internal(text) => PyRuntimeError::new_err(text),
        }
    }
}

/// Whether the memory of a device or of the host was too small.
fn lacks_memory(error: &GpuError) -> bool {
    match error {
        GpuError::Cuda(CudaError::OutOfMemory { .. } | CudaError::TooLarge { .. })
        | GpuError::HostMemory { .. } => true,
        GpuError::OnDevice { error, .. } => lacks_memory(error),
        _ => false,
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        let text = error.to_string();
        if lacks_memory(&error) {
            Self::Memory(text)
        } else {
            Self::Device(text)
        }
    }
}

impl From<NoDeviceReason> for Failure {
    fn from(error: NoDeviceReason) -> Self {
        Self::Device(error.to_string())
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::Device(error.to_string())
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::data(error)
    }
}

impl From<OutOfMemory> for Failure {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error.to_string())
    }
}

impl From<SasError> for Failure {
    fn from(error: SasError) -> Self {
        match error {
            SasError::Gpu(error) => error.into(),
            error => Self::data(error),
        }
    }
}

impl From<MriError> for Failure {
    fn from(error: MriError) -> Self {
        match error {
            MriError::Gpu(error) => error.into(),
            MriError::HostMemory { .. } => Self::Memory(error.to_string()),
            error => Self::data(error),
        }
    }
}

impl From<JacobiError> for Failure {
    fn from(error: JacobiError) -> Self {
        match error {
            JacobiError::Gpu(error) => error.into(),
            JacobiError::HostMemory { .. } => Self::Memory(error.to_string()),
            error => Self::data(error),
        }
    }
}

impl From<SeriesError> for Failure {
    fn from(error: SeriesError) -> Self {
        match error {
            SeriesError::Gpu(error) => error.into(),
            SeriesError::DeviceMemory(_) | SeriesError::HostMemory { .. } => {
                Self::Memory(error.to_string())
            }
            error => Self::data(error),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Gpu(error) => error.into(),
            error => Self::data(error),
        }
    }
}

impl From<MemoryRequestError> for Failure {
    fn from(error: MemoryRequestError) -> Self {
        match error {
            MemoryRequestError::Memory(error) => (*error).into(),
            MemoryRequestError::Gpu(error) => error.into(),
        }
    }
}

/// A temporary file that cannot be used.
impl From<ScratchError> for Failure {
    fn from(error: ScratchError) -> Self {
        Self::File(error.to_string())
    }
}

/// A file that cannot be read.
impl From<IoError> for Failure {
    fn from(error: IoError) -> Self {
        let text = match error.file() {
            Some(file) => verbatim(&error.to_string(), file),
            None => error.to_string(),
        };
        match error {
            IoError::TooLarge { .. }
            | IoError::ArrayTooLarge { .. }
            | IoError::AcquisitionsTooLarge { .. }
            | IoError::ScatteringTooLarge { .. }
            | IoError::SeriesTooLarge { .. } => Self::Memory(text),
            _ => Self::Data(text),
        }
    }
}

impl From<SelftestError> for Failure {
    fn from(error: SelftestError) -> Self {
        match error {
            SelftestError::Gpu(error) => error.into(),
            SelftestError::Engines(EngineCaseError::Engine(error)) => error.into(),
            error => Self::Internal(error.to_string()),
        }
    }
}
