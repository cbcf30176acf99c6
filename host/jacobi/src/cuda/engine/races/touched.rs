//! The memory that a launch accesses, derived from its arguments.

use std::ops::Range;

use warpstride_device::F32x4;
use warpstride_device::launch::{Argument, Emulated, Launch};

use super::order::{Access, Touch};
use crate::cuda::kernels::GpuReal;

/// The first sweep of a launch within its batch, if known, and the memory that the launch accesses.
pub(super) type Touched = (Option<usize>, Vec<Touch>);

/// Supports the kernels of a relaxation in single precision without a source.
pub(super) fn touched<L: Launch<Emulated>>(
    launch: &L,
    sums_of: impl Fn(usize) -> usize,
) -> Touched {
    let entry = L::INFO.entry;
    if let Some(sweeps) = entry.strip_prefix("jacobi_laplace_f32_t") {
        let sweeps = sweeps.parse().expect("a number of sweeps");
        return pass(sweeps, arguments(launch), sums_of);
    }
    match entry {
        "jacobi_norms" => (None, norms(arguments(launch))),
        "jacobi_fixed_columns_f32" => (None, columns(arguments(launch))),
        other => panic!("unknown memory accesses of kernel {other}"),
    }
}

/// The addresses and the numbers among the arguments of a kernel.
type Arguments<const P: usize, const N: usize> = ([usize; P], [i128; N]);

/// The arguments of a kernel with `P` pointers followed by `N` integers.
fn arguments<const P: usize, const N: usize>(launch: &impl Launch<Emulated>) -> Arguments<P, N> {
    let given = launch.arguments();
    assert_eq!(given.len(), P + N);
    let address = |i: usize| match given[i] {
        Argument::Address(address) => address,
        other => panic!("argument {i} is {other:?}"),
    };
    let number = |i: usize| match given[P + i] {
        Argument::Integer(number) => number,
        other => panic!("argument {} is {other:?}", P + i),
    };
    (std::array::from_fn(address), std::array::from_fn(number))
}

fn touch<T>(access: Access, address: usize, elements: Range<usize>) -> Touch {
    let at = |element: usize| address + element * size_of::<T>();
    Touch {
        bytes: at(elements.start)..at(elements.end),
        access,
    }
}

/// A pass reads its rows and one row beyond them on each side per sweep, and writes its rows and
/// the sums of its strips for the sweeps whose norm is computed.
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
        norm_mask,
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
    for t in (0..sweeps).filter(|t| norm_mask >> t & 1 != 0) {
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
