//! Copies between devices, and kernels that reach another device's memory.

use std::ops::Range;
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
/// The driver's. `Ok(false)`: the devices have no direct way (or `user` has as many peers as it can);
/// copies go through the host.
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
        driver::TOO_MANY_PEERS => return Ok(false),
        driver::PEER_ACCESS_ALREADY_ENABLED => {}
        code => check(code, "cuCtxEnablePeerAccess")?,
    }
    user.note_reached(owner);
    Ok(true)
}

/// Queues a copy of elements `range` of `from` to elements `at…` of `to`, two buffers of any two
/// devices, in a stream of one of them.
///
/// Where the stream's device was given access to the other's memory ([`enable_peer_access`]) the
/// copy can be captured: a graph keeps the memory of every device from being freed. Without access
/// the driver may copy through memory of its own on the host, and a capture is refused.
///
/// # Errors
/// Extents do not fit, the stream is of a third device, it is captured and the devices have no direct
/// way, or the driver's.
pub fn copy_range_between<T: Pod>(
    stream: &Stream,
    from: &DeviceBuffer<T>,
    range: Range<usize>,
    to: &mut DeviceBuffer<T>,
    at: usize,
) -> Result<()> {
    let context = stream.context();
    let here = |other: &Arc<Context>| context.same_device(other);
    if !here(to.context()) {
        context.expect_same(from.context(), "the source")?;
    }
    from.expect_range("copy between devices", &range)?;
    let end = at.saturating_add(range.len());
    to.expect_range("copy between devices", &(at..end))?;
    if range.is_empty() || size_of::<T>() == 0 {
        return Ok(());
    }
    let bytes = range.len() * size_of::<T>();
    let source = from.raw() + (range.start * size_of::<T>()) as driver::DevicePtr;
    let target = to.raw() + (at * size_of::<T>()) as driver::DevicePtr;
    if context.reaches(from.context()) && context.reaches(to.context()) {
        context.enter()?;
        // SAFETY: both ranges were just checked. Addresses are unified and the stream's context
        // reaches both; freeing either waits for this context, or for the end of the graph.
        let answer = unsafe { driver::cuMemcpyDtoDAsync_v2(target, source, bytes, stream.raw()) };
        return check(answer, "cuMemcpyDtoDAsync");
    }
    let _not_recorded = stream.refuse_capture("a copy between devices without a direct way")?;
    from.context().used_by(context);
    to.context().used_by(context);
    // SAFETY: both ranges were just checked, each in its own context; freeing either waits for this
    // stream's context, as the lines above noted.
    let answer = unsafe {
        driver::cuMemcpyPeerAsync(
            target,
            to.context().raw(),
            source,
            from.context().raw(),
            bytes,
            stream.raw(),
        )
    };
    check(answer, "cuMemcpyPeerAsync")
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
