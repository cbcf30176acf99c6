//! The driver functions that the CUDA layer calls. They return the code as a plain number.
//!
//! The symbols come from `warpstride-driver-shim`. Signatures: CUDA driver API reference.

use std::ffi::{c_char, c_int, c_uint, c_void};

pub(crate) type Handle = *mut c_void;
pub(crate) type DevicePtr = u64;

/// `CUDA_ERROR_OUT_OF_MEMORY`
pub(crate) const OUT_OF_MEMORY: u32 = 2;
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`
pub(crate) const UNSUPPORTED_PTX_VERSION: u32 = 222;
/// `CUDA_ERROR_NOT_READY`
pub(crate) const NOT_READY: u32 = 600;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`
pub(crate) const PEER_ACCESS_ALREADY_ENABLED: u32 = 704;

/// `CUDA_ERROR_TOO_MANY_PEERS`
pub(crate) const TOO_MANY_PEERS: u32 = 711;

/// `CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK`
pub(crate) const DEVICE_THREADS_PER_BLOCK: c_uint = 1;
/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`
pub(crate) const DEVICE_MULTIPROCESSORS: c_uint = 16;
/// `CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE`
pub(crate) const DEVICE_L2_CACHE_BYTES: c_uint = 38;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`
pub(crate) const DEVICE_COMPUTE_CAPABILITY_MAJOR: c_uint = 75;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR`
pub(crate) const DEVICE_COMPUTE_CAPABILITY_MINOR: c_uint = 76;
/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`
pub(crate) const DEVICE_SHARED_PER_BLOCK: c_uint = 97;

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`
pub(crate) const POINTER_MEMORY_TYPE: c_uint = 2;
/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`
pub(crate) const POINTER_DEVICE_ORDINAL: c_uint = 9;
/// `CU_MEMORYTYPE_DEVICE`
pub(crate) const MEMORY_OF_DEVICE: u32 = 2;

/// `CU_STREAM_NON_BLOCKING`: not ordered with the legacy default stream.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_EVENT_RECORD_EXTERNAL`: a captured record becomes a node of the graph.
pub(crate) const EVENT_RECORD_EXTERNAL: c_uint = 1;
/// `CU_MEMHOSTALLOC_PORTABLE`
pub(crate) const HOST_PORTABLE: c_uint = 1;
/// `CU_MEMHOSTALLOC_WRITECOMBINED`
pub(crate) const HOST_WRITE_COMBINED: c_uint = 4;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`
pub(crate) const CAPTURE_THREAD_LOCAL: c_uint = 1;

/// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`
pub(crate) const FUNC_MAX_THREADS: c_uint = 0;
/// `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`: static shared memory.
pub(crate) const FUNC_STATIC_SHARED: c_uint = 1;
/// `CU_FUNC_ATTRIBUTE_NUM_REGS`
pub(crate) const FUNC_REGISTERS: c_uint = 4;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
pub(crate) const FUNC_MAX_DYNAMIC_SHARED: c_uint = 8;

/// `CU_JIT_INFO_LOG_BUFFER`
pub(crate) const JIT_INFO_LOG: c_uint = 3;
/// `CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES`
pub(crate) const JIT_INFO_LOG_SIZE: c_uint = 4;
/// `CU_JIT_ERROR_LOG_BUFFER`
pub(crate) const JIT_ERROR_LOG: c_uint = 5;
/// `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`
pub(crate) const JIT_ERROR_LOG_SIZE: c_uint = 6;

/// `CUDA_ERROR_NOT_FOUND`: also what the shim returns for a function that the driver lacks.
pub(crate) const NOT_FOUND: u32 = 500;

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`
pub(crate) const CLUSTER_DIMENSION: c_uint = 4;

/// `CUDA_MEMCPY2D`
#[repr(C)]
pub(crate) struct Copy2D {
    pub(crate) from: Side2D,
    pub(crate) to: Side2D,
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
}

/// The source or the target in `CUDA_MEMCPY2D`.
#[repr(C)]
pub(crate) struct Side2D {
    pub(crate) x_bytes: usize,
    pub(crate) y: usize,
    pub(crate) memory_type: c_uint,
    pub(crate) host: *mut c_void,
    pub(crate) device: DevicePtr,
    pub(crate) array: Handle,
    pub(crate) pitch: usize,
}

/// `CUlaunchConfig`
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) dynamic_shared_bytes: c_uint,
    pub(crate) stream: Handle,
    pub(crate) attributes: *const LaunchAttribute,
    pub(crate) attribute_count: c_uint,
}

/// `CUlaunchAttribute` with the dimensions of a cluster as its value, a union of 64 bytes.
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    pub(crate) id: c_uint,
    pub(crate) padding: c_uint,
    pub(crate) cluster: [c_uint; 3],
    pub(crate) rest: [c_uint; 13],
}

unsafe extern "C" {
    pub(crate) fn cuGetErrorName(code: u32, name: *mut *const c_char) -> u32;
    pub(crate) fn cuGetErrorString(code: u32, text: *mut *const c_char) -> u32;
    pub(crate) fn cuInit(flags: c_uint) -> u32;
    pub(crate) fn cuDriverGetVersion(version: *mut c_int) -> u32;
    #[cfg(not(feature = "cust"))]
    pub(crate) fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> u32;
    #[cfg(not(feature = "cust"))]
    pub(crate) fn cuDeviceGetCount(count: *mut c_int) -> u32;
    #[cfg(not(feature = "cust"))]
    pub(crate) fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int) -> u32;
    #[cfg(not(feature = "cust"))]
    pub(crate) fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) -> u32;
    #[cfg(not(feature = "cust"))]
    pub(crate) fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> u32;
    pub(crate) fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> u32;
    pub(crate) fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> u32;
    pub(crate) fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> u32;
    pub(crate) fn cuCtxSetCurrent(context: Handle) -> u32;
    pub(crate) fn cuCtxSynchronize() -> u32;
    pub(crate) fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> u32;
    pub(crate) fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) -> u32;

    pub(crate) fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32;
    pub(crate) fn cuMemAlloc_v2(address: *mut DevicePtr, bytes: usize) -> u32;
    pub(crate) fn cuMemFree_v2(address: DevicePtr) -> u32;
    pub(crate) fn cuPointerGetAttribute(
        value: *mut c_void,
        attribute: c_uint,
        address: DevicePtr,
    ) -> u32;
    pub(crate) fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) -> u32;
    pub(crate) fn cuMemFreeHost(address: *mut c_void) -> u32;
    pub(crate) fn cuMemsetD8_v2(address: DevicePtr, value: u8, bytes: usize) -> u32;
    pub(crate) fn cuMemsetD8Async(
        address: DevicePtr,
        value: u8,
        bytes: usize,
        stream: Handle,
    ) -> u32;
    pub(crate) fn cuMemcpyHtoDAsync_v2(
        to: DevicePtr,
        from: *const c_void,
        bytes: usize,
        stream: Handle,
    ) -> u32;
    pub(crate) fn cuMemcpyDtoHAsync_v2(
        to: *mut c_void,
        from: DevicePtr,
        bytes: usize,
        stream: Handle,
    ) -> u32;
    pub(crate) fn cuMemcpyDtoDAsync_v2(
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
        stream: Handle,
    ) -> u32;
    pub(crate) fn cuMemcpy2DAsync_v2(copy: *const Copy2D, stream: Handle) -> u32;
    pub(crate) fn cuMemcpyPeerAsync(
        to: DevicePtr,
        to_context: Handle,
        from: DevicePtr,
        from_context: Handle,
        bytes: usize,
        stream: Handle,
    ) -> u32;

    pub(crate) fn cuStreamCreateWithPriority(
        stream: *mut Handle,
        flags: c_uint,
        priority: c_int,
    ) -> u32;
    pub(crate) fn cuStreamDestroy_v2(stream: Handle) -> u32;
    pub(crate) fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> u32;
    pub(crate) fn cuStreamSynchronize(stream: Handle) -> u32;
    pub(crate) fn cuStreamQuery(stream: Handle) -> u32;
    pub(crate) fn cuStreamIsCapturing(stream: Handle, status: *mut c_uint) -> u32;
    pub(crate) fn cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) -> u32;
    pub(crate) fn cuStreamEndCapture(stream: Handle, graph: *mut Handle) -> u32;

    pub(crate) fn cuEventCreate(event: *mut Handle, flags: c_uint) -> u32;
    pub(crate) fn cuEventRecord(event: Handle, stream: Handle) -> u32;
    pub(crate) fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint) -> u32;
    pub(crate) fn cuEventQuery(event: Handle) -> u32;
    pub(crate) fn cuEventSynchronize(event: Handle) -> u32;
    pub(crate) fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) -> u32;
    pub(crate) fn cuEventDestroy_v2(event: Handle) -> u32;

    pub(crate) fn cuModuleLoadDataEx(
        module: *mut Handle,
        image: *const c_void,
        options: c_uint,
        names: *mut c_uint,
        values: *mut *mut c_void,
    ) -> u32;
    pub(crate) fn cuModuleUnload(module: Handle) -> u32;
    pub(crate) fn cuModuleGetFunction(
        function: *mut Handle,
        module: Handle,
        name: *const c_char,
    ) -> u32;
    pub(crate) fn cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: Handle)
    -> u32;
    pub(crate) fn cuFuncSetAttribute(function: Handle, attribute: c_uint, value: c_int) -> u32;
    pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: Handle,
        block_threads: c_int,
        dynamic_shared_bytes: usize,
    ) -> u32;
    pub(crate) fn cuOccupancyMaxActiveClusters(
        clusters: *mut c_int,
        function: Handle,
        config: *const LaunchConfig,
    ) -> u32;
    pub(crate) fn cuLaunchKernel(
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared_bytes: c_uint,
        stream: Handle,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> u32;

    pub(crate) fn cuGraphInstantiate_v2(
        executable: *mut Handle,
        graph: Handle,
        error_node: *mut Handle,
        log: *mut c_char,
        log_bytes: usize,
    ) -> u32;
    pub(crate) fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) -> u32;
    pub(crate) fn cuGraphLaunch(executable: Handle, stream: Handle) -> u32;
    pub(crate) fn cuGraphExecDestroy(executable: Handle) -> u32;
    pub(crate) fn cuGraphDestroy(graph: Handle) -> u32;
}
