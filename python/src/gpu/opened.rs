//! The GPUs that were opened.

use crate::errors::Failure;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use warpstride::cuda::Kernels;
use warpstride::gpu::CudaDevice;

/// The GPUs that were opened, by their numbers. They stay open: loading kernels takes longer than a
/// transform.
type Opened = Mutex<BTreeMap<usize, Arc<CudaDevice>>>;

/// Those with the kernels of MRI.
static WITH_KERNELS_OF_MRI: Opened = Mutex::new(BTreeMap::new());

/// Those without kernels, for copies and the order of streams.
static WITHOUT_KERNELS: Opened = Mutex::new(BTreeMap::new());

fn opened(list: &Opened, ordinal: usize, kernels: &Kernels) -> Result<Arc<CudaDevice>, Failure> {
    let mut opened = list.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = opened.get(&ordinal) {
        return Ok(Arc::clone(device));
    }
    let device = Arc::new(CudaDevice::new(ordinal, kernels)?);
    opened.insert(ordinal, Arc::clone(&device));
    Ok(device)
}

/// The GPU of this number (from 0) with the kernels of MRI.
pub(super) fn with_kernels_of_mri(ordinal: usize) -> Result<Arc<CudaDevice>, Failure> {
    opened(
        &WITH_KERNELS_OF_MRI,
        ordinal,
        &warpstride::mri::cuda::kernels(),
    )
}

/// The GPU of this number (from 0) for copies.
pub(super) fn without_kernels(ordinal: usize) -> Result<Arc<CudaDevice>, Failure> {
    opened(&WITHOUT_KERNELS, ordinal, &Kernels::default())
}
