//! The GPU's instructions: LLVM's intrinsics where they exist (LLVM then knows which of them a whole warp must reach
//! together), otherwise inline assembly.

use core::arch::asm;

pub(crate) use core::arch::nvptx::{
    _block_dim_x as block_dim_x, _block_dim_y as block_dim_y, _block_dim_z as block_dim_z,
    _block_idx_x as block_idx_x, _block_idx_y as block_idx_y, _block_idx_z as block_idx_z,
    _grid_dim_x as grid_dim_x, _grid_dim_y as grid_dim_y, _grid_dim_z as grid_dim_z,
    _syncthreads as sync_threads, _thread_idx_x as thread_idx_x, _thread_idx_y as thread_idx_y,
    _thread_idx_z as thread_idx_z,
};

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier0.popc"]
    pub(crate) fn barrier_count(predicate: u32) -> u32;
    #[link_name = "llvm.nvvm.barrier0.and"]
    pub(crate) fn barrier_and(predicate: u32) -> u32;
    #[link_name = "llvm.nvvm.barrier0.or"]
    pub(crate) fn barrier_or(predicate: u32) -> u32;
    #[link_name = "llvm.nvvm.membar.gl"]
    pub(crate) fn device_fence();

    #[link_name = "llvm.nvvm.barrier.cluster.arrive.aligned"]
    pub(crate) fn cluster_arrive();
    #[link_name = "llvm.nvvm.barrier.cluster.wait.aligned"]
    pub(crate) fn cluster_wait();
    #[link_name = "llvm.nvvm.read.ptx.sreg.cluster.ctarank"]
    pub(crate) fn cluster_block_rank() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.cluster.nctarank"]
    pub(crate) fn cluster_blocks() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.clusterid.x"]
    pub(crate) fn cluster_index() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nclusterid.x"]
    pub(crate) fn clusters() -> u32;

    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    pub(crate) fn lane_id() -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    pub(crate) fn sync_warp(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    pub(crate) fn shuffle_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    pub(crate) fn shuffle_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    pub(crate) fn shuffle_xor(mask: u32, value: u32, lane_mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    pub(crate) fn shuffle_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.add"]
    pub(crate) fn redux_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    pub(crate) fn redux_max(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    pub(crate) fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    pub(crate) fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    pub(crate) fn vote_ballot(mask: u32, predicate: bool) -> u32;

    #[link_name = "llvm.sqrt.f32"]
    pub(crate) fn sqrt_f32(x: f32) -> f32;
    #[link_name = "llvm.sqrt.f64"]
    pub(crate) fn sqrt_f64(x: f64) -> f64;
    #[link_name = "llvm.fma.f32"]
    pub(crate) fn fma_f32(a: f32, b: f32, c: f32) -> f32;
    #[link_name = "llvm.fma.f64"]
    pub(crate) fn fma_f64(a: f64, b: f64, c: f64) -> f64;
    #[link_name = "llvm.nvvm.mul.rn.f"]
    pub(crate) fn mul_f32(a: f32, b: f32) -> f32;
    #[link_name = "llvm.nvvm.mul.rn.d"]
    pub(crate) fn mul_f64(a: f64, b: f64) -> f64;
    #[link_name = "llvm.rint.f32"]
    pub(crate) fn rint_f32(x: f32) -> f32;
    #[link_name = "llvm.rint.f64"]
    pub(crate) fn rint_f64(x: f64) -> f64;
    #[link_name = "llvm.floor.f32"]
    pub(crate) fn floor_f32(x: f32) -> f32;
    #[link_name = "llvm.floor.f64"]
    pub(crate) fn floor_f64(x: f64) -> f64;
    #[link_name = "llvm.ceil.f32"]
    pub(crate) fn ceil_f32(x: f32) -> f32;
    #[link_name = "llvm.ceil.f64"]
    pub(crate) fn ceil_f64(x: f64) -> f64;

    #[link_name = "llvm.nvvm.rsqrt.approx.f"]
    pub(crate) fn rsqrt_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.sqrt.approx.f"]
    pub(crate) fn sqrt_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.sin.approx.f"]
    pub(crate) fn sin_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.cos.approx.f"]
    pub(crate) fn cos_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.div.approx.f"]
    pub(crate) fn div_approx(a: f32, b: f32) -> f32;

    #[link_name = "llvm.nvvm.f2i.rn"]
    pub(crate) fn round_to_i32(x: f32) -> i32;

    /// The block's dynamic shared memory, which the device linker supplies.
    pub(crate) safe fn warpstride_dynamic_shared() -> *mut u8;
    /// `mapa` on an address in shared memory, which the device linker supplies because Rust has no address spaces.
    pub(crate) fn warpstride_map_shared(address: *mut u8, rank: u32) -> *mut u8;
}

/// # Safety
///
/// There are no requirements.
#[inline(always)]
pub(crate) unsafe fn pause(nanoseconds: u32) {
    // SAFETY: the thread waits; nothing else changes.
    unsafe {
        asm!(
            "nanosleep.u32 {t};",
            t = in(reg32) nanoseconds,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// There are no requirements.
#[inline(always)]
pub(crate) unsafe fn hidden(value: u32) -> u32 {
    let same;
    // SAFETY: a copy between registers.
    unsafe {
        asm!(
            "mov.b32 {s}, {v};",
            s = out(reg32) same,
            v = in(reg32) value,
            options(nomem, nostack, preserves_flags)
        );
    }
    same
}

/// `value + (%warpid >> 31)`. The shifted register is 0, but its value may change during a kernel (PTX ISA, special
/// registers), so the assembler keeps no earlier result.
#[inline(always)]
pub(crate) unsafe fn recomputed(value: u32) -> u32 {
    let same;
    // SAFETY: reads a special register and adds it.
    unsafe {
        asm!(
            "mov.u32 {s}, %warpid;",
            "shr.u32 {s}, {s}, 31;",
            "add.u32 {s}, {s}, {v};",
            s = out(reg32) same,
            v = in(reg32) value,
            options(nomem, nostack, preserves_flags)
        );
    }
    same
}

/// # Safety
///
/// `address` must be in global memory, valid and aligned.
#[inline(always)]
pub(crate) unsafe fn add_global_f32(address: *mut f32, value: f32) {
    // SAFETY: one atomic write at the caller's valid global address.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {a}; red.global.add.f32 [%g], {v}; }}",
            a = in(reg64) address,
            v = in(reg32) value,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// The same as for [`add_global_f32`].
#[inline(always)]
pub(crate) unsafe fn add_global_f64(address: *mut f64, value: f64) {
    // SAFETY: one atomic write at the caller's valid global address.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {a}; red.global.add.f64 [%g], {v}; }}",
            a = in(reg64) address,
            v = in(reg64) value,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// `address` must be in global memory, valid and aligned.
#[inline(always)]
pub(crate) unsafe fn add_global_u64(address: *mut u64, value: u64) {
    // SAFETY: one atomic write at the caller's valid global address.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {a}; red.global.add.u64 [%g], {v}; }}",
            a = in(reg64) address,
            v = in(reg64) value,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// `address` must be in global memory and valid.
#[inline(always)]
pub(crate) unsafe fn prefetch_l2(address: *const u8) {
    // SAFETY: changes no memory; the address is valid.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {a}; prefetch.global.L2 [%g]; }}",
            a = in(reg64) address,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// There are no requirements.
#[inline(always)]
pub(crate) unsafe fn pack_f16x2(low: f32, high: f32) -> u32 {
    let pair;
    // SAFETY: arithmetic.
    unsafe {
        asm!(
            "cvt.rn.f16x2.f32 {p}, {h}, {l};",
            p = out(reg32) pair,
            h = in(reg32) high,
            l = in(reg32) low,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    pair
}

/// # Safety
///
/// There are no requirements.
#[inline(always)]
pub(crate) unsafe fn unpack_f16x2(pair: u32) -> (f32, f32) {
    let (low, high);
    // SAFETY: arithmetic.
    unsafe {
        asm!(
            "{{ .reg .b16 %l, %h; mov.b32 {{%l, %h}}, {p}; cvt.f32.f16 {a}, %l; cvt.f32.f16 {b}, %h; }}",
            p = in(reg32) pair,
            a = out(reg32) low,
            b = out(reg32) high,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    (low, high)
}

/// # Safety
///
/// There are no requirements.
#[inline(always)]
pub(crate) unsafe fn pack_bf16x2(low: f32, high: f32) -> u32 {
    let pair;
    // SAFETY: arithmetic.
    unsafe {
        asm!(
            "cvt.rn.bf16x2.f32 {p}, {h}, {l};",
            p = out(reg32) pair,
            h = in(reg32) high,
            l = in(reg32) low,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    pair
}

/// # Safety
///
/// The same as for [`add_global_f32`], for two values; `address` must be aligned to 8 bytes.
#[cfg(feature = "sm_90")]
#[inline(always)]
pub(crate) unsafe fn add_global_v2_f32(address: *mut f32, re: f32, im: f32) {
    // SAFETY: one atomic write of 8 bytes at the caller's valid, aligned global address.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {a}; red.global.add.v2.f32 [%g], {{{r}, {i}}}; }}",
            a = in(reg64) address,
            r = in(reg32) re,
            i = in(reg32) im,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// `address` must be in shared memory, valid and aligned.
#[inline(always)]
pub(crate) unsafe fn add_shared_f32(address: *mut f32, value: f32) {
    // SAFETY: one atomic write at the caller's valid shared address.
    unsafe {
        asm!(
            "{{ .reg .b64 %s; cvta.to.shared.u64 %s, {a}; red.shared.add.f32 [%s], {v}; }}",
            a = in(reg64) address,
            v = in(reg32) value,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// `to` must be in shared and `from` in global memory, both valid for 8 bytes and aligned to them.
#[inline(always)]
pub(crate) unsafe fn copy_to_shared_b64(to: *mut u64, from: *const u64) {
    // SAFETY: copies 8 bytes between the caller's valid addresses.
    unsafe {
        asm!(
            "{{ .reg .b64 %s, %g; cvta.to.shared.u64 %s, {t}; cvta.to.global.u64 %g, {f}; cp.async.ca.shared.global [%s], [%g], 8; }}",
            t = in(reg64) to,
            f = in(reg64) from,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// The same as for [`copy_to_shared_b64`] if `there` is not 0; otherwise nothing is copied.
#[inline(always)]
pub(crate) unsafe fn copy_to_shared_if_b64(there: u32, to: *mut u64, from: *const u64) {
    // SAFETY: copies 8 bytes between the caller's valid addresses, or nothing.
    unsafe {
        asm!(
            "{{ .reg .b64 %s, %g; .reg .pred %q; setp.ne.u32 %q, {p}, 0; cvta.to.shared.u64 %s, {t}; cvta.to.global.u64 %g, {f}; @%q cp.async.ca.shared.global [%s], [%g], 8; }}",
            p = in(reg32) there,
            t = in(reg64) to,
            f = in(reg64) from,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// The same as for [`copy_to_shared_b64`], for 16 bytes at the given offsets in bytes from the addresses.
#[inline(always)]
pub(crate) unsafe fn copy_to_shared_b128<const TO: usize, const FROM: usize>(
    to: *mut u64,
    from: *const u64,
) {
    // SAFETY: copies 16 bytes between the caller's valid addresses.
    unsafe {
        asm!(
            "{{ .reg .b64 %s, %g; cvta.to.shared.u64 %s, {t}; cvta.to.global.u64 %g, {f}; cp.async.cg.shared.global [%s+{a}], [%g+{b}], 16; }}",
            t = in(reg64) to,
            f = in(reg64) from,
            a = const TO,
            b = const FROM,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
///
/// There are no requirements.
#[inline(always)]
pub(crate) unsafe fn wait_for_copies() {
    // SAFETY: waits for this thread's own copies.
    unsafe {
        asm!("cp.async.wait_all;", options(nostack, preserves_flags));
    }
}

/// # Safety
///
/// `address` must be in global memory, valid and aligned, and constant during the launch.
#[inline(always)]
pub(crate) unsafe fn load_read_only_b32(address: *const u32) -> u32 {
    let value: u32;
    // SAFETY: reads 4 bytes at the caller's valid global address, which is not written.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {a}; ld.global.nc.b32 {v}, [%g]; }}",
            a = in(reg64) address,
            v = out(reg32) value,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    value
}

/// # Safety
///
/// The same as for [`load_read_only_b32`], for 8 bytes, aligned to 8.
#[inline(always)]
pub(crate) unsafe fn load_read_only_v2(address: *const u32) -> [u32; 2] {
    let (a, b): (u32, u32);
    // SAFETY: reads 8 bytes at the caller's valid, aligned global address, which is not written.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {p}; ld.global.nc.v2.b32 {{{a}, {b}}}, [%g]; }}",
            p = in(reg64) address,
            a = out(reg32) a,
            b = out(reg32) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    [a, b]
}

/// # Safety
///
/// The same as for [`load_read_only_b32`], for 16 bytes, aligned to 16.
#[inline(always)]
pub(crate) unsafe fn load_read_only_v4(address: *const u32) -> [u32; 4] {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: reads 16 bytes at the caller's valid, aligned global address, which is not written.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {p}; ld.global.nc.v4.b32 {{{a}, {b}, {c}, {d}}}, [%g]; }}",
            p = in(reg64) address,
            a = out(reg32) a,
            b = out(reg32) b,
            c = out(reg32) c,
            d = out(reg32) d,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    [a, b, c, d]
}

/// The value at `address`, or 0 if `there` is 0. The compiler does not move the load: for values that are loaded
/// ahead of their use.
///
/// # Safety
///
/// The same as for [`load_read_only_b32`] if `there` is not 0.
#[inline(always)]
pub(crate) unsafe fn load_read_only_if_b32(there: u32, address: *const u32) -> u32 {
    let value: u32;
    // SAFETY: reads 4 bytes at the caller's valid global address, which is not written, or nothing.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; .reg .pred %q; setp.ne.u32 %q, {t}, 0; mov.b32 {v}, 0; cvta.to.global.u64 %g, {a}; @%q ld.global.nc.b32 {v}, [%g]; }}",
            t = in(reg32) there,
            a = in(reg64) address,
            v = out(reg32) value,
            options(nostack, preserves_flags)
        );
    }
    value
}

/// The value that is visible to all threads of the device.
///
/// # Safety
///
/// `address` must be in global memory, valid and aligned.
#[inline(always)]
pub(crate) unsafe fn load_device_u64(address: *const u64) -> u64 {
    let value: u64;
    // SAFETY: reads 8 bytes at the caller's valid global address.
    unsafe {
        asm!(
            "{{ .reg .b64 %g; cvta.to.global.u64 %g, {a}; ld.relaxed.gpu.global.b64 {v}, [%g]; }}",
            a = in(reg64) address,
            v = out(reg64) value,
            options(nostack, preserves_flags)
        );
    }
    value
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the kernel with an error that the driver reports.
    unsafe { core::arch::nvptx::trap() }
}
