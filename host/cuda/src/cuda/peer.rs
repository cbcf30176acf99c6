//! Peer access: copies between devices, and kernels that use another device's memory.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::Context;
use super::error::{Result, check};
use super::ffi::driver;
use super::stream::Stream;

/// Whether peer access from device `from` to the memory of device `to` is possible.
pub(crate) fn can_access(from: i32, to: i32) -> Result<bool> {
    let mut can = 0;
    // SAFETY: the address is of a live variable; the driver checks the device numbers.
    let answer = unsafe { driver::cuDeviceCanAccessPeer(&raw mut can, from, to) };
    check(answer, "cuDeviceCanAccessPeer")?;
    Ok(can != 0)
}

/// Gives work of `user` access to the memory of `owner`, if possible.
///
/// Returns whether it is: `false` if the devices have no direct link or `user` already has the
/// maximum number of peers; copies then go through the host. With access, copies between the two
/// are direct, and freeing memory of `owner` also waits for the work of `user`.
///
/// # Errors
/// An error of the driver.
pub fn enable_peer_access(user: &Arc<Context>, owner: &Arc<Context>) -> Result<bool> {
    if user.same_device(owner) {
        return Ok(true);
    }
    if !can_access(user.device().as_raw(), owner.device().as_raw())? {
        return Ok(false);
    }
    owner.add_user(user);
    user.enter()?;
    // SAFETY: both contexts are alive; flags must be zero.
    match unsafe { driver::cuCtxEnablePeerAccess(owner.raw(), 0) } {
        driver::TOO_MANY_PEERS => return Ok(false),
        driver::PEER_ACCESS_ALREADY_ENABLED => {}
        code => check(code, "cuCtxEnablePeerAccess")?,
    }
    user.add_accessible(owner);
    Ok(true)
}

/// Queues a copy of elements `range` of `from` to elements `at..` of `to` in a stream of the device
/// of either buffer.
///
/// If the stream's device has access to the other's memory ([`enable_peer_access`]), the copy can
/// be captured, because graphs keep the memory of all devices from being freed. Without access the
/// driver may copy through host memory, and a capture is an error.
///
/// # Errors
/// A range exceeds its buffer, the stream belongs to a third device, the stream is being captured
/// without peer access, or an error of the driver.
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
    if context.can_access(from.context()) && context.can_access(to.context()) {
        context.enter()?;
        // SAFETY: both ranges were just checked. Addresses are unified and the stream's context
        // can access both; freeing either waits for this context, or for the end of the graph.
        let answer = unsafe { driver::cuMemcpyDtoDAsync_v2(target, source, bytes, stream.raw()) };
        return check(answer, "cuMemcpyDtoDAsync");
    }
    let _no_capture = stream.refuse_capture("a copy between devices without peer access")?;
    from.context().add_user(context);
    to.context().add_user(context);
    // SAFETY: both ranges were just checked, each in its own context; freeing either waits for this
    // stream's context, as registered above.
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

/// Queues a copy between buffers of two devices in a stream of the target's device. The caller
/// orders it after the work that writes `from`, by an event.
///
/// # Errors
/// The lengths differ, the stream belongs to another device or is being captured, or an error of
/// the driver.
pub fn copy_between<T: Pod>(
    stream: &Stream,
    from: &DeviceBuffer<T>,
    to: &mut DeviceBuffer<T>,
) -> Result<()> {
    stream.context().expect_same(to.context(), "the target")?;
    let _no_capture = stream.refuse_capture("a copy between devices")?;
    to.expect_range("copy between devices", &(0..from.len()))?;
    from.expect_range("copy between devices", &(0..to.len()))?;
    if from.bytes() == 0 {
        return Ok(());
    }
    from.context().add_user(stream.context());
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
