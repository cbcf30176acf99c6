//! Self-test of the kernels of the relaxation: passes of every number of sweeps in both precisions,
//! with and without a source, against sweeps over a plain array.

use crate::Real;
use crate::cuda::{Geometry, GpuReal, Memory, Part, by_sweeps};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, KernelInfo, Launch, Work};
use warpstride_kernels::jacobi::fixed_columns::{JacobiFixedColumnsF32, JacobiFixedColumnsF64};
use warpstride_kernels::jacobi::norms::JacobiNorms;
use warpstride_kernels::registry;
use warpstride_selftest::bench::Size;
use warpstride_selftest::bench::{Bench, Case};

/// Maximum number of sweeps per pass.
const MAX_SWEEPS: usize = 8;

/// The shape of a block, and the rows that a launch computes.
#[derive(Debug, Clone, Copy)]
struct Shape {
    rows: usize,
    nx: usize,
    /// The block is its own neighbour.
    wraps: bool,
    periodic_columns: bool,
    /// Whether the rows beyond the block keep their values.
    fixed: bool,
    /// Rows on each side that this launch does not compute.
    outer: usize,
    strips: usize,
    timed: bool,
}

/// The last two have windows with only inner columns, and strips with more rows than the deepest
/// pass, for which the kernels skip some tests.
const SMALL: [Shape; 6] = [
    block_shape(9, 5, true, false, false, 0, 1),
    block_shape(8, 3, true, true, false, 0, 2),
    block_shape(10, 139, false, false, true, 2, 2),
    block_shape(8, 130, false, true, false, 0, 3),
    block_shape(41, 389, true, false, false, 0, 2),
    block_shape(39, 357, false, false, true, 0, 3),
];
const LARGE: [Shape; 4] = [
    block_shape(1000, 1031, true, false, false, 0, 60),
    block_shape(777, 2050, false, true, false, 8, 31),
    block_shape(1500, 517, false, false, true, 3, 97),
    Shape {
        timed: true,
        ..block_shape(2046, 4096, true, false, false, 0, 25)
    },
];

const fn block_shape(
    rows: usize,
    nx: usize,
    wraps: bool,
    periodic_columns: bool,
    fixed: bool,
    outer: usize,
    strips: usize,
) -> Shape {
    Shape {
        rows,
        nx,
        wraps,
        periodic_columns,
        fixed,
        outer,
        strips,
        timed: false,
    }
}

/// The cases of its kernels.
///
/// # Errors
/// An error of the device.
pub fn cases<D: Device>(bench: &mut Bench<'_, D>, size: Size) -> Result<()> {
    let large: &[Shape] = if size == Size::Device { &LARGE } else { &[] };
    for shape in SMALL.iter().chain(large) {
        for sweeps in 1..=MAX_SWEEPS {
            for source in [false, true] {
                passes_f32(bench, shape, sweeps, source)?;
                passes_f64(bench, shape, sweeps, source)?;
            }
        }
    }
    for (rows, stride) in [(1, 1), (5, 37), (12, 700), (3, 0)] {
        norms(bench, rows, stride)?;
    }
    for (rows, nx) in [(1, 1), (7, 5), (300, 9), (0, 4)] {
        columns_f32(bench, rows, nx)?;
        columns_f64(bench, rows, nx)?;
    }
    Ok(())
}

/// The rows of a block with `halo` rows on each side: those of its halos, or its own rows repeated
/// if it wraps.
struct PaddedRows<T> {
    nx: usize,
    halo: usize,
    values: Vec<T>,
}

impl<T: GpuReal> PaddedRows<T> {
    fn row(&self, y: usize) -> &[T] {
        &self.values[y * self.nx..][..self.nx]
    }
}

/// The expected result of a pass: the rows of the block, and for each sweep the sum of the squared
/// changes in rows `outer…rows − outer`.
fn expected_pass<T: GpuReal>(
    shape: &Shape,
    sweeps: usize,
    mut field: PaddedRows<T>,
    source: Option<&PaddedRows<T>>,
) -> (PaddedRows<T>, Vec<f64>) {
    let (nx, halo) = (field.nx, field.halo);
    let all = shape.rows + 2 * halo;
    let mut sums = Vec::new();
    for sweep in 0..sweeps {
        let mut new = field.values.clone();
        let mut sum = 0.0;
        for y in sweep + 1..all - sweep - 1 {
            if shape.fixed && (y < halo || y >= halo + shape.rows) {
                continue;
            }
            for x in 1..nx - 1 {
                let [north, south] = [y - 1, y + 1].map(|y| field.row(y)[x]);
                let mut value = (field.row(y)[x + 1] + field.row(y)[x - 1]) + north + south;
                if let Some(source) = source {
                    value = value + source.row(y)[x];
                }
                let value = value * T::nearest(0.25);
                if (halo + shape.outer..halo + shape.rows - shape.outer).contains(&y) {
                    sum += (value - field.row(y)[x]).widened().powi(2);
                }
                new[y * nx + x] = value;
            }
        }
        field.values = new;
        if shape.periodic_columns {
            set_ghost_columns(&mut field);
        }
        sums.push(sum);
    }
    (field, sums)
}

/// Sets the outer columns to the values that they stand for.
fn set_ghost_columns<T: GpuReal>(field: &mut PaddedRows<T>) {
    let nx = field.nx;
    for row in field.values.chunks_mut(nx) {
        row[0] = row[nx - 2];
        row[nx - 1] = row[1];
    }
}

fn noise<T: GpuReal>(seed: u64, len: usize) -> Vec<T> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut next = || T::nearest(random.random_range(-1.0..1.0));
    (0..len).map(|_| next()).collect()
}

/// Rows as vectors, in the layout of the kernels.
fn quads<T: GpuReal>(values: &[T], nx: usize) -> Vec<T::Quad> {
    let rows = values.chunks(nx);
    rows.flat_map(|row| row.chunks(T::VECTOR_LEN).map(T::quad))
        .collect()
}

/// The number of values whose bits differ.
fn count_differing<T: GpuReal>(found: &[T], expected: &[T]) -> f64 {
    let bits = |value: &T| value.widened().to_bits();
    let pairs = found.iter().zip(expected);
    pairs.filter(|(a, b)| bits(a) != bits(b)).count() as f64
}

/// The properties of the kernel of a pass.
fn kernel_info(source: bool, precision: &str, sweeps: usize) -> KernelInfo {
    let kind = if source { "poisson" } else { "laplace" };
    let name = format!("jacobi_{kind}_{precision}_t{sweeps}");
    let found = registry().iter().find(|kernel| kernel.entry == name);
    *found.unwrap_or(&<JacobiNorms<'static, Emulated> as Launch<Emulated>>::INFO)
}

macro_rules! passes {
    ($name:ident, $real:ident) => {
        fn $name<D: Device>(
            bench: &mut Bench<'_, D>,
            shape: &Shape,
            sweeps: usize,
            with_source: bool,
        ) -> Result<()> {
            let (on, nx) = (bench.on(), shape.nx);
            let halo = if shape.wraps { 0 } else { MAX_SWEEPS };
            let len = (shape.rows + 2 * halo) * nx;
            let buffer = noise::<$real>(sweeps as u64, len);
            let source_values = noise::<$real>(99, len);
            // For the expected result, a block that wraps is extended with its own rows.
            let padded = |values: &[$real]| {
                let values = if shape.wraps {
                    let first = shape.rows * MAX_SWEEPS - MAX_SWEEPS;
                    let rows = (0..shape.rows + 2 * MAX_SWEEPS).map(|y| (first + y) % shape.rows);
                    rows.flat_map(|y| values[y * nx..][..nx].to_vec()).collect()
                } else {
                    values.to_vec()
                };
                let mut padded = PaddedRows {
                    nx,
                    halo: MAX_SWEEPS,
                    values,
                };
                if shape.periodic_columns {
                    set_ghost_columns(&mut padded);
                }
                padded
            };
            let sources = with_source.then(|| padded(&source_values));
            let (after, sums) = expected_pass(shape, sweeps, padded(&buffer), sources.as_ref());

            let far = 4 * len as i32 + 100;
            let geometry = Geometry {
                rows: shape.rows as u32,
                halo: halo as u32,
                pitch: nx.div_ceil(<$real>::VECTOR_LEN) as u32,
                nx: nx as u32,
                wraps: shape.wraps,
                periodic_columns: shape.periodic_columns,
                fixed_below: if shape.fixed { 0 } else { -far },
                fixed_from: if shape.fixed { shape.rows as i32 } else { far },
            };
            let windows = nx.div_ceil(<$real>::own_columns(sweeps));
            let stride = windows * shape.strips + 1;
            let info = kernel_info(with_source, <$real>::NAME, sweeps);
            let name = format!(
                "{} × {nx}{}{}{}{}",
                shape.rows,
                if shape.wraps { ", wraps" } else { "" },
                if shape.periodic_columns { ", periodic" } else { "" },
                if shape.fixed { ", fixed" } else { "" },
                if shape.outer > 0 { ", inner rows" } else { "" },
            );
            let input = on.upload(&quads::<$real>(&buffer, nx))?;
            let source = on.upload(&quads::<$real>(&source_values, nx))?;
            let total = input.len();
            // The norms of all sweeps, of none, and of one.
            let all = (1_u32 << sweeps) - 1;
            for norm_mask in [all, 0, 1 << (sweeps / 2)] {
                if shape.timed && norm_mask != all {
                    continue;
                }
                let part = Part {
                    first_row: shape.outer as u32,
                    end_row: (shape.rows - shape.outer) as u32,
                    strips: shape.strips as u32,
                    norm_mask,
                    sums_stride: stride as u32,
                    sums_offset: 1,
                };
                let vector_bytes = <$real>::VECTOR_LEN * size_of::<$real>();
                let streams = 2 + usize::from(with_source);
                let bytes = streams * total * vector_bytes;
                bench.run(
                    Case::with(info, name.clone()).exact().timed(shape.timed, bytes),
                    (
                        on.poisoned::<<$real as GpuReal>::Quad>(total)?,
                        on.upload(&vec![0.0_f64; sweeps * stride])?,
                    ),
                    |device, (out, sums)| {
                        let blocks = (windows * shape.strips).div_ceil(4) as u32;
                        let memory = Memory {
                            input: input.read(),
                            out: out.write(),
                            source: with_source.then(|| source.read()),
                            sums: sums.write(),
                        };
                        by_sweeps!($real device.launch () (Work::Grid([blocks, 1, 1])),
                            sweeps, geometry, part, memory,)
                    },
                    |on, (out, found)| {
                        let mut rows = vec![<$real as GpuReal>::Quad::default(); total];
                        on.download(out, &mut rows)?;
                        let pitch = geometry.pitch as usize;
                        let mut wrong = 0.0;
                        for y in shape.outer..shape.rows - shape.outer {
                            let row: Vec<$real> = rows[(y + halo) * pitch..][..pitch]
                                .iter()
                                .flat_map(|quad| <$real>::values(quad).to_vec())
                                .collect();
                            wrong += count_differing(&row[..nx], after.row(y + after.halo));
                        }
                        let mut strip_sums = vec![0.0; sweeps * stride];
                        on.download(found, &mut strip_sums)?;
                        for (sweep, sweep_sums) in strip_sums.chunks(stride).enumerate() {
                            let expected = if norm_mask >> sweep & 1 != 0 { sums[sweep] } else { 0.0 };
                            let sum: f64 = sweep_sums.iter().sum();
                            let close = (sum - expected).abs() <= 1e-6 * expected;
                            wrong += f64::from(u8::from(!close));
                        }
                        Ok(wrong)
                    },
                )?;
            }
            Ok(())
        }
    };
}

passes!(passes_f32, f32);
passes!(passes_f64, f64);

fn norms<D: Device>(bench: &mut Bench<'_, D>, rows: usize, stride: usize) -> Result<()> {
    let on = bench.on();
    let numbers = noise::<f64>(3, rows * stride);
    let (first, every) = (rows / 3, 2);
    let count = stride - stride / 5;
    let sweeps = (rows - first).div_ceil(every);
    let reference: Vec<f64> = (0..sweeps)
        .map(|sweep| {
            numbers[(first + sweep * every) * stride..][..count]
                .iter()
                .sum()
        })
        .collect();
    let sums = on.upload(&numbers)?;
    bench.run(
        Case::of::<JacobiNorms<'_, Emulated>>(format!("{rows} × {stride}")),
        on.poisoned::<f64>(sweeps)?,
        |device, totals| {
            let launch = JacobiNorms {
                totals: totals.write(),
                sums: sums.read(),
                rows: rows as u32,
                stride: stride as u32,
                count: count as u32,
                first: first as u32,
                every: every as u32,
                sweeps: sweeps as u32,
            };
            device.launch(&launch, Work::Blocks(sweeps))
        },
        |on, totals| {
            let mut found = vec![0.0; sweeps];
            on.download(totals, &mut found)?;
            let pairs = found.iter().zip(&reference);
            // The numbers have both signs, so the error is relative to the size of the largest
            // sums.
            let errors = pairs.map(|(a, b)| (a - b).abs() / (count as f64).sqrt().max(1.0));
            Ok(errors.fold(
                0.0,
                |worst, error| if error <= worst { worst } else { error },
            ))
        },
    )
}

macro_rules! columns {
    ($name:ident, $real:ident, $kernel:ident) => {
        fn $name<D: Device>(bench: &mut Bench<'_, D>, rows: usize, nx: usize) -> Result<()> {
            let on = bench.on();
            let values = noise::<$real>(7, rows);
            let mut expected = noise::<$real>(8, rows * nx);
            let before = quads::<$real>(&expected, nx);
            for (row, value) in expected.chunks_mut(nx).zip(&values) {
                row[0] = *value;
                row[nx - 1] = *value;
            }
            let expected = quads::<$real>(&expected, nx);
            let column = on.upload(&values)?;
            bench.run(
                Case::of::<$kernel<'_, Emulated>>(format!("{rows} × {nx}")).exact(),
                on.upload(&before)?,
                |device, field| {
                    let launch = $kernel {
                        field: field.write(),
                        values: column.read(),
                        rows: rows as u32,
                        pitch: nx.div_ceil(<$real>::VECTOR_LEN) as u32,
                        nx: nx as u32,
                    };
                    device.launch(&launch, Work::Elements(rows))
                },
                |on, field| {
                    let mut found = before.clone();
                    on.download(field, &mut found)?;
                    let values = |quads: &[<$real as GpuReal>::Quad]| -> Vec<$real> {
                        let quads = quads.iter();
                        quads
                            .flat_map(|quad| <$real>::values(quad).to_vec())
                            .collect()
                    };
                    Ok(count_differing(&values(&found), &values(&expected)))
                },
            )
        }
    };
}

columns!(columns_f32, f32, JacobiFixedColumnsF32);
columns!(columns_f64, f64, JacobiFixedColumnsF64);
