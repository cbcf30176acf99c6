//! The Fourier transforms against rustfft in double precision, at every size that they serve.
//!
//! A transform of N values in single precision has a relative error of a few 10⁻⁸ log₂ N; 3·10⁻⁷ log₂ N is the most that
//! is allowed here. A wrong index, sign or factor gives errors of the order of 1.

#![cfg(feature = "fft")]

use warpstride_device::Complex32;
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};
use warpstride_device::launch::{Emulated, Launch, Read, Write};
use warpstride_fft::FftPlanner;
use warpstride_fft::num_complex::Complex;
use warpstride_kernels::fft::columns::{
    FftColumns64, FftColumns96, FftColumns128, FftColumns160, FftColumns192, FftColumns240,
    FftColumns256, FftColumns320, FftColumns384, FftColumns480, FftColumns512,
};
use warpstride_kernels::fft::frames::{
    FftFrames64, FftFrames64InPlace, FftFrames128, FftFrames128InPlace,
};
use warpstride_kernels::fft::rows::{
    FftRows64, FftRows64InPlace, FftRows96, FftRows96InPlace, FftRows128, FftRows128InPlace,
    FftRows160, FftRows160InPlace, FftRows192, FftRows192InPlace, FftRows240, FftRows240InPlace,
    FftRows256, FftRows256InPlace, FftRows320, FftRows320InPlace, FftRows384, FftRows384InPlace,
    FftRows480, FftRows480InPlace, FftRows512, FftRows512InPlace,
};

/// Numbers without a pattern in −1 … 1 (a linear congruence).
fn noise(len: usize, seed: u32) -> Vec<Complex32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| Complex32::new(next(), next())).collect()
}

/// exp(−2πi k/N), rounded from double precision.
fn roots(length: usize) -> Memory<Complex32> {
    let root = |k| {
        let (sin, cos) = (std::f64::consts::TAU * k as f64 / length as f64).sin_cos();
        Complex32::new(cos as f32, -sin as f32)
    };
    let values: Vec<_> = (0..length).map(root).collect();
    Memory::try_copy_of(&values).expect("memory")
}

fn wide(values: &[Complex32]) -> Vec<Complex<f64>> {
    let wide = |v: &Complex32| Complex::new(f64::from(v.re), f64::from(v.im));
    values.iter().map(wide).collect()
}

/// Transforms along the axis of `length` values in arrays (…, `length`, `inner`).
fn reference(values: &mut [Complex<f64>], length: usize, inner: usize, inverse: bool) {
    let mut planner = FftPlanner::<f64>::new();
    let plan = if inverse {
        planner.plan_fft_inverse(length)
    } else {
        planner.plan_fft_forward(length)
    };
    for array in values.chunks_mut(length * inner) {
        for column in 0..inner {
            let mut line: Vec<_> = array.iter().skip(column).step_by(inner).copied().collect();
            plan.process(&mut line);
            let places = array.iter_mut().skip(column).step_by(inner);
            places.zip(line).for_each(|(place, value)| *place = value);
        }
    }
}

/// Relative error in the norm of all values.
fn error(found: &[Complex32], expected: &[Complex<f64>]) -> f64 {
    let found = wide(found);
    let norm = |sum: f64| sum.sqrt();
    let difference = norm(
        found
            .iter()
            .zip(expected)
            .map(|(a, b)| (a - b).norm_sqr())
            .sum(),
    );
    let size = norm(expected.iter().map(Complex::norm_sqr).sum());
    if size == 0.0 {
        difference
    } else {
        difference / size
    }
}

/// Runs a launch in the emulator.
fn run<L: Launch<Emulated> + Sync>(launch: &L, grid: u32, order: Order) {
    let config = LaunchConfig::linear(launch, grid, L::INFO.block[0]);
    emulator::launch_in(launch, config, order).expect("a valid launch");
}

/// The arguments of a kernel: source and target, or null and the data for one in place, and the rest.
struct Arguments<'a> {
    from: Read<'a, Emulated, Complex32>,
    to: Write<'a, Emulated, Complex32>,
    roots: Read<'a, Emulated, Complex32>,
    count: u32,
    columns: u32,
    sign: f32,
    scale: f32,
}

/// Launches a kernel over a number of items.
type Run = dyn Fn(Arguments<'_>, u32, Order);

/// A kernel of one length: its launch, and along which axes it transforms.
struct Kernel {
    name: &'static str,
    length: usize,
    /// Values of an item: a row, a frame, or an array of columns.
    item: usize,
    /// (length, inner extent) of each axis.
    axes: Vec<(usize, usize)>,
    columns: u32,
    run: Box<Run>,
}

impl Kernel {
    fn check(&self, count: u32, inverse: bool, grid: u32, order: Order) {
        // The values behind the last item must not be changed.
        let spare = 5;
        let len = count as usize * self.item;
        let start = noise(len + spare, 7 + count);
        let from = Memory::try_copy_of(&start).expect("memory");
        let mut to = Memory::try_copy_of(&start).expect("memory");
        let table = roots(self.length);
        let scale = 0.5;
        let arguments = Arguments {
            from: from.read(),
            to: to.write(),
            roots: table.read(),
            count,
            columns: self.columns,
            sign: if inverse { -1.0 } else { 1.0 },
            scale,
        };
        (self.run)(arguments, grid, order);
        assert_eq!(to.check_canaries(), Ok(()));
        let mut expected = wide(&start);
        let part = &mut expected[..len];
        for (length, inner) in &self.axes {
            reference(part, *length, *inner, inverse);
        }
        part.iter_mut().for_each(|v| *v *= f64::from(scale));
        let what = format!("{}, {count} items, inverse: {inverse}", self.name);
        let found = error(&to.as_slice()[..len], part);
        let values: usize = self.axes.iter().map(|(length, _)| length).product();
        assert!(found <= 3e-7 * (values as f64).log2(), "{what}: {found:e}");
        assert_eq!(to.as_slice()[len..], start[len..], "{what}");
        assert_eq!(from.as_slice(), start, "{what}");
    }

    fn check_all(&self) {
        for (count, inverse, grid, order) in [
            (0, false, 1, Order::Ascending),
            (1, true, 1, Order::Descending),
            (3, false, 2, Order::Ascending),
            (17, true, 3, Order::Descending),
        ] {
            let few = self.item > 8192 && count > 3;
            self.check(if few { 2 } else { count }, inverse, grid, order);
        }
    }
}

macro_rules! kernels {
    (rows $kernel:ident, $in_place:ident, $length:literal) => {{
        let shared = |name, run| Kernel {
            name,
            length: $length,
            item: $length,
            axes: vec![($length, 1)],
            columns: 0,
            run,
        };
        [
            shared(
                stringify!($kernel),
                Box::new(|a: Arguments<'_>, grid, order| {
                    let Arguments {
                        from,
                        to,
                        roots,
                        count: rows,
                        sign,
                        scale,
                        ..
                    } = a;
                    run(
                        &$kernel {
                            from,
                            to,
                            roots,
                            rows,
                            sign,
                            scale,
                        },
                        grid,
                        order,
                    );
                }),
            ),
            shared(
                stringify!($in_place),
                Box::new(|a: Arguments<'_>, grid, order| {
                    let Arguments {
                        to: data,
                        roots,
                        count: rows,
                        sign,
                        scale,
                        ..
                    } = a;
                    run(
                        &$in_place {
                            data,
                            roots,
                            rows,
                            sign,
                            scale,
                        },
                        grid,
                        order,
                    );
                }),
            ),
        ]
    }};
    (frames $kernel:ident, $in_place:ident, $length:literal) => {{
        let shared = |name, run| Kernel {
            name,
            length: $length,
            item: $length * $length,
            axes: vec![($length, 1), ($length, $length)],
            columns: 0,
            run,
        };
        [
            shared(
                stringify!($kernel),
                Box::new(|a: Arguments<'_>, grid, order| {
                    let Arguments {
                        from,
                        to,
                        roots,
                        count,
                        sign,
                        scale,
                        ..
                    } = a;
                    run(
                        &$kernel {
                            from,
                            to,
                            roots,
                            count,
                            sign,
                            scale,
                        },
                        grid,
                        order,
                    );
                }),
            ),
            shared(
                stringify!($in_place),
                Box::new(|a: Arguments<'_>, grid, order| {
                    let Arguments {
                        to: data,
                        roots,
                        count,
                        sign,
                        scale,
                        ..
                    } = a;
                    run(
                        &$in_place {
                            data,
                            roots,
                            count,
                            sign,
                            scale,
                        },
                        grid,
                        order,
                    );
                }),
            ),
        ]
    }};
    (columns $kernel:ident, $length:literal, $columns:literal) => {
        Kernel {
            name: stringify!($kernel),
            length: $length,
            item: $length * $columns,
            axes: vec![($length, $columns)],
            columns: $columns,
            run: Box::new(|a: Arguments<'_>, grid, order| {
                let Arguments {
                    to: data,
                    roots,
                    count,
                    columns,
                    sign,
                    scale,
                    ..
                } = a;
                run(
                    &$kernel {
                        data,
                        roots,
                        count,
                        columns,
                        sign,
                        scale,
                    },
                    grid,
                    order,
                );
            }),
        }
    };
}

#[test]
fn rows_equal_rustfft() {
    for kernel in [
        kernels!(rows FftRows64, FftRows64InPlace, 64),
        kernels!(rows FftRows96, FftRows96InPlace, 96),
        kernels!(rows FftRows128, FftRows128InPlace, 128),
        kernels!(rows FftRows160, FftRows160InPlace, 160),
        kernels!(rows FftRows192, FftRows192InPlace, 192),
        kernels!(rows FftRows240, FftRows240InPlace, 240),
        kernels!(rows FftRows256, FftRows256InPlace, 256),
        kernels!(rows FftRows320, FftRows320InPlace, 320),
        kernels!(rows FftRows384, FftRows384InPlace, 384),
        kernels!(rows FftRows480, FftRows480InPlace, 480),
        kernels!(rows FftRows512, FftRows512InPlace, 512),
    ]
    .as_flattened()
    {
        kernel.check_all();
    }
}

/// Numbers of columns that tiles divide, and others.
#[test]
fn columns_equal_rustfft() {
    for kernel in [
        kernels!(columns FftColumns64, 64, 64),
        kernels!(columns FftColumns64, 64, 21),
        kernels!(columns FftColumns96, 96, 16),
        kernels!(columns FftColumns96, 96, 37),
        kernels!(columns FftColumns128, 128, 32),
        kernels!(columns FftColumns128, 128, 3),
        kernels!(columns FftColumns160, 160, 16),
        kernels!(columns FftColumns160, 160, 37),
        kernels!(columns FftColumns192, 192, 16),
        kernels!(columns FftColumns192, 192, 5),
        kernels!(columns FftColumns240, 240, 16),
        kernels!(columns FftColumns240, 240, 19),
        kernels!(columns FftColumns256, 256, 32),
        kernels!(columns FftColumns256, 256, 17),
        kernels!(columns FftColumns320, 320, 16),
        kernels!(columns FftColumns320, 320, 17),
        kernels!(columns FftColumns384, 384, 16),
        kernels!(columns FftColumns384, 384, 1),
        kernels!(columns FftColumns480, 480, 16),
        kernels!(columns FftColumns480, 480, 18),
        kernels!(columns FftColumns512, 512, 16),
        kernels!(columns FftColumns512, 512, 9),
    ] {
        kernel.check_all();
    }
}

#[test]
fn frames_equal_rustfft() {
    for kernel in [
        kernels!(frames FftFrames64, FftFrames64InPlace, 64),
        kernels!(frames FftFrames128, FftFrames128InPlace, 128),
    ]
    .as_flattened()
    {
        kernel.check_all();
    }
}
