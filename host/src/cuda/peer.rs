//! Copies between devices, and kernels that reach another device's memory.

use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::Context;
use super::error::{Result, check};
use super::ffi::driver;
use super::stream::Stream;

/// Whether work of device `from` can be given access to the memory of device `to`.
pub(crate) fn can_access(from: i32, to: i32) -> Result<bool> {
    let mut can = 0;
    // SAFETY: the address is of a live variable; the driver checks the device numbers.
    let answer = unsafe { driver::cuDeviceCanAccessPeer(&raw mut can, from, to) };
    check(answer, "cuDeviceCanAccessPeer")?;
    Ok(can != 0)
}

/// Gives work of `user` access to the memory of `owner`, if the devices are linked so. Copies
/// between them then take the direct way. From then on freeing memory of `owner` also waits for the
/// work of `user`.
///
/// # Errors
/// The driver's. `Ok(false)`: the devices have no direct way; copies go through the host.
pub fn enable_peer_access(user: &Arc<Context>, owner: &Arc<Context>) -> Result<bool> {
    if user.same_device(owner) {
        return Ok(true);
    }
    if !can_access(user.device().as_raw(), owner.device().as_raw())? {
        return Ok(false);
    }
    owner.used_by(user);
    user.enter()?;
    // SAFETY: both contexts are alive; flags must be zero.
    match unsafe { driver::cuCtxEnablePeerAccess(owner.raw(), 0) } {
        driver::PEER_ACCESS_ALREADY_ENABLED => Ok(true),
        code => check(code, "cuCtxEnablePeerAccess").map(|()| true),
    }
}

/// Queues a copy between buffers of two devices in a stream of the target's device. What wrote
/// `from` is waited for through an event that the caller sets.
///
/// # Errors
/// Lengths differ, the stream is of another device or captured, or the driver's.
pub fn copy_between<T: Pod>(
    stream: &Stream,
    from: &DeviceBuffer<T>,
    to: &mut DeviceBuffer<T>,
) -> Result<()> {
    stream.context().expect_same(to.context(), "the target")?;
    let _not_recorded = stream.refuse_capture("a copy between devices")?;
    to.expect_range("copy between devices", &(0..from.len()))?;
    from.expect_range("copy between devices", &(0..to.len()))?;
    if from.bytes() == 0 {
        return Ok(());
    }
    from.context().used_by(stream.context());
    stream.context().enter()?;
    // SAFETY: both buffers have that many bytes in their contexts; freeing either waits for this
    // stream's context.
    let answer = unsafe {
        driver::cuMemcpyPeerAsync(
            to.raw(),
            to.context().raw(),
            from.raw(),
            from.context().raw(),
            from.bytes(),
            stream.raw(),
        )
    };
    check(answer, "cuMemcpyPeerAsync")
}
