//! The memory that a launch touches, by its own arguments.
#![expect(unsafe_code, reason = "reads the arguments of launches")]

use std::ops::Range;

use warpstride_device::F32x4;
use warpstride_device::launch::{Emulated, Launch};

use super::order::{Access, Touch};
use crate::jacobi::cuda::kernels::GpuReal;

/// Which sweep of its batch a launch begins with, where that can be seen, and what it touches.
pub(super) type Touched = (Option<usize>, Vec<Touch>);

/// Of the kernels of a relaxation in single precision without a source.
pub(super) fn touched<L: Launch<Emulated>>(
    launch: &L,
    sums_of: impl Fn(usize) -> usize,
) -> Touched {
    let entry = L::INFO.entry;
    if let Some(sweeps) = entry.strip_prefix("jacobi_laplace_f32_t") {
        let sweeps = sweeps.parse().expect("a number of sweeps");
        // SAFETY: out, input, sums, and 14 numbers.
        let arguments = unsafe { arguments::<3, 14, L>(launch) };
        return pass(sweeps, arguments, sums_of);
    }
    match entry {
        // SAFETY: totals, sums, and 6 numbers.
        "jacobi_norms" => (None, norms(unsafe { arguments::<2, 6, L>(launch) })),
        // SAFETY: field, values, and 3 numbers.
        "jacobi_fixed_columns_f32" => (None, columns(unsafe { arguments::<2, 3, L>(launch) })),
        other => panic!("what {other} touches is not known here"),
    }
}

/// Addresses, and numbers of 32 bits (as they are where they have a sign).
type Arguments<const P: usize, const N: usize> = ([usize; P], [u32; N]);

/// # Safety
/// The kernel has that many pointers and then that many numbers of 32 bits.
unsafe fn arguments<const P: usize, const N: usize, L: Launch<Emulated>>(
    launch: &L,
) -> Arguments<P, N> {
    launch.with_params(|params| {
        assert_eq!(params.len(), P + N, "{}", L::INFO.entry);
        // SAFETY: live values of the parameters' types, by the contract of `Launch`.
        let address = |i: usize| unsafe { *params[i].cast::<*const u8>() }.addr();
        // SAFETY: as above.
        let number = |i: usize| unsafe { *params[P + i].cast::<u32>() };
        (std::array::from_fn(address), std::array::from_fn(number))
    })
}

fn touch<T>(access: Access, address: usize, elements: Range<usize>) -> Touch {
    let at = |element: usize| address + element * size_of::<T>();
    Touch {
        bytes: at(elements.start)..at(elements.end),
        access,
    }
}

/// Reads its rows and as many beyond them as it has sweeps, writes its rows, and its strips' sums of
/// the wanted sweeps.
fn pass(
    sweeps: usize,
    ([out, input, sums], numbers): Arguments<3, 14>,
    sums_of: impl Fn(usize) -> usize,
) -> Touched {
    let [
        rows,
        halo,
        pitch,
        nx,
        first,
        end,
        strips,
        wraps,
        _,
        _,
        _,
        wanted,
        stride,
        offset,
    ] = numbers.map(|number| number as usize);
    let row = |y: usize| y * pitch..(y + 1) * pitch;
    let mut touched = Vec::new();
    if wraps != 0 {
        for y in rows + first - sweeps..rows + end + sweeps {
            touched.push(touch::<F32x4>(Access::Read, input, row(y % rows)));
        }
    } else {
        let read = (first + halo - sweeps) * pitch..(end + halo + sweeps) * pitch;
        touched.push(touch::<F32x4>(Access::Read, input, read));
    }
    let written = (first + halo) * pitch..(end + halo) * pitch;
    touched.push(touch::<F32x4>(Access::Write, out, written));
    let windows = nx.div_ceil(f32::own_columns(sweeps));
    for t in (0..sweeps).filter(|t| wanted >> t & 1 != 0) {
        let of_a_launch = offset..(offset + strips * windows).min(stride);
        let slots = t * stride + of_a_launch.start..t * stride + of_a_launch.end;
        touched.push(touch::<f64>(Access::Write, sums, slots));
    }
    let sweep = (sums - sums_of(sums)) / size_of::<f64>() / stride;
    (Some(sweep), touched)
}

fn norms(([totals, sums], numbers): Arguments<2, 6>) -> Vec<Touch> {
    let [rows, stride, count, first, every, sweeps] = numbers.map(|number| number as usize);
    let read = (0..sweeps).map(|i| first + i * every);
    let read = read.filter(|row| *row < rows).map(|row| {
        let numbers = row * stride..row * stride + count.min(stride);
        touch::<f64>(Access::Read, sums, numbers)
    });
    let written = touch::<f64>(Access::Write, totals, 0..sweeps);
    read.chain([written]).collect()
}

fn columns(([field, values], [rows, pitch, _]): Arguments<2, 3>) -> Vec<Touch> {
    let rows = rows as usize;
    vec![
        touch::<f32>(Access::Read, values, 0..rows),
        touch::<F32x4>(Access::Write, field, 0..rows * pitch as usize),
    ]
}
