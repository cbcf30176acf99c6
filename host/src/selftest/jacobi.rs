//! The kernels of the relaxation: every depth of a pass in both precisions, with and without a
//! source, against sweeps over a plain array.

use super::Size;
use super::bench::{Bench, Case};
use crate::gpu::{Buffer, Machine, Result};
use crate::jacobi::Real;
use crate::jacobi::cuda::{Geometry, GpuReal, Memory, Part, by_sweeps};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use warpstride_device::launch::{Emulated, KernelInfo, Launch, Work};
use warpstride_kernels::jacobi::fixed_columns::{JacobiFixedColumnsF32, JacobiFixedColumnsF64};
use warpstride_kernels::jacobi::norms::JacobiNorms;
use warpstride_kernels::registry;

/// Deepest pass.
const MOST_SWEEPS: usize = 8;

/// A block, and what a launch computes of it.
#[derive(Debug, Clone, Copy)]
struct Form {
    rows: usize,
    nx: usize,
    /// The block is its own neighbour.
    wraps: bool,
    periodic_columns: bool,
    /// Rows from the first and before the last that keep their values.
    held: bool,
    /// Rows on both sides that this launch leaves alone.
    outer: usize,
    strips: usize,
    timed: bool,
}

/// The last two have windows of inner columns only, and strips of more rows than the deepest pass:
/// there the kernels leave tests out.
const SMALL: [Form; 6] = [
    form(9, 5, true, false, false, 0, 1),
    form(8, 3, true, true, false, 0, 2),
    form(10, 139, false, false, true, 2, 2),
    form(8, 130, false, true, false, 0, 3),
    form(41, 389, true, false, false, 0, 2),
    form(39, 357, false, false, true, 0, 3),
];
const LARGE: [Form; 4] = [
    form(1000, 1031, true, false, false, 0, 60),
    form(777, 2050, false, true, false, 8, 31),
    form(1500, 517, false, false, true, 3, 97),
    Form {
        timed: true,
        ..form(2046, 4096, true, false, false, 0, 25)
    },
];

const fn form(
    rows: usize,
    nx: usize,
    wraps: bool,
    periodic_columns: bool,
    held: bool,
    outer: usize,
    strips: usize,
) -> Form {
    Form {
        rows,
        nx,
        wraps,
        periodic_columns,
        held,
        outer,
        strips,
        timed: false,
    }
}

pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    let large: &[Form] = if size == Size::Device { &LARGE } else { &[] };
    for form in SMALL.iter().chain(large) {
        for sweeps in 1..=MOST_SWEEPS {
            for source in [false, true] {
                passes_f32(bench, form, sweeps, source)?;
                passes_f64(bench, form, sweeps, source)?;
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

/// The block's rows with its halos, or its own rows again where it wraps: `deep` rows on each side.
struct Sheet<T> {
    nx: usize,
    deep: usize,
    values: Vec<T>,
}

impl<T: GpuReal> Sheet<T> {
    fn row(&self, y: usize) -> &[T] {
        &self.values[y * self.nx..][..self.nx]
    }
}

/// What a pass must give: the rows of the block after it, and of each sweep the sum of the squared
/// changes in rows `outer…rows − outer`.
fn definition<T: GpuReal>(
    form: &Form,
    sweeps: usize,
    mut field: Sheet<T>,
    source: Option<&Sheet<T>>,
) -> (Sheet<T>, Vec<f64>) {
    let (nx, deep) = (field.nx, field.deep);
    let all = form.rows + 2 * deep;
    let mut sums = Vec::new();
    for sweep in 0..sweeps {
        let mut new = field.values.clone();
        let mut sum = 0.0;
        for y in sweep + 1..all - sweep - 1 {
            if form.held && (y < deep || y >= deep + form.rows) {
                continue;
            }
            for x in 1..nx - 1 {
                let [north, south] = [y - 1, y + 1].map(|y| field.row(y)[x]);
                let mut value = (field.row(y)[x + 1] + field.row(y)[x - 1]) + north + south;
                if let Some(source) = source {
                    value = value + source.row(y)[x];
                }
                let value = value * T::nearest(0.25);
                if (deep + form.outer..deep + form.rows - form.outer).contains(&y) {
                    sum += (value - field.row(y)[x]).widened().powi(2);
                }
                new[y * nx + x] = value;
            }
        }
        field.values = new;
        if form.periodic_columns {
            border(&mut field);
        }
        sums.push(sum);
    }
    (field, sums)
}

/// Gives the outer columns the values that they stand for.
fn border<T: GpuReal>(field: &mut Sheet<T>) {
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

/// Rows as the kernels have them.
fn quads<T: GpuReal>(values: &[T], nx: usize) -> Vec<T::Quad> {
    let rows = values.chunks(nx);
    rows.flat_map(|row| row.chunks(T::LANES).map(T::quad))
        .collect()
}

/// 0 where both are the same bits, else how many are not.
fn differing<T: GpuReal>(found: &[T], expected: &[T]) -> f64 {
    let bits = |value: &T| value.widened().to_bits();
    let pairs = found.iter().zip(expected);
    pairs.filter(|(a, b)| bits(a) != bits(b)).count() as f64
}

/// The entry of a pass.
fn entry(source: bool, precision: &str, sweeps: usize) -> KernelInfo {
    let kind = if source { "poisson" } else { "laplace" };
    let name = format!("jacobi_{kind}_{precision}_t{sweeps}");
    let found = registry().iter().find(|kernel| kernel.entry == name);
    *found.unwrap_or(&<JacobiNorms<'static, Emulated> as Launch<Emulated>>::INFO)
}

macro_rules! passes {
    ($name:ident, $real:ident) => {
        fn $name<M: Machine>(
            bench: &mut Bench<'_, M>,
            form: &Form,
            sweeps: usize,
            with_source: bool,
        ) -> Result<()> {
            let (on, nx) = (bench.on(), form.nx);
            let deep = if form.wraps { 0 } else { MOST_SWEEPS };
            let len = (form.rows + 2 * deep) * nx;
            let buffer = noise::<$real>(sweeps as u64, len);
            let given = noise::<$real>(99, len);
            // As the definition has it: a block that wraps with its rows again above and below.
            let sheet = |values: &[$real]| {
                let values = if form.wraps {
                    let first = form.rows * MOST_SWEEPS - MOST_SWEEPS;
                    let rows = (0..form.rows + 2 * MOST_SWEEPS).map(|y| (first + y) % form.rows);
                    rows.flat_map(|y| values[y * nx..][..nx].to_vec()).collect()
                } else {
                    values.to_vec()
                };
                let mut sheet = Sheet {
                    nx,
                    deep: MOST_SWEEPS,
                    values,
                };
                if form.periodic_columns {
                    border(&mut sheet);
                }
                sheet
            };
            let sources = with_source.then(|| sheet(&given));
            let (after, sums) = definition(form, sweeps, sheet(&buffer), sources.as_ref());

            let far = 4 * len as i32 + 100;
            let geometry = Geometry {
                rows: form.rows as u32,
                halo: deep as u32,
                pitch: nx.div_ceil(<$real>::LANES) as u32,
                nx: nx as u32,
                wraps: form.wraps,
                periodic_columns: form.periodic_columns,
                held_below: if form.held { 0 } else { -far },
                held_from: if form.held { form.rows as i32 } else { far },
            };
            let windows = nx.div_ceil(<$real>::own_columns(sweeps));
            let stride = windows * form.strips + 1;
            let info = entry(with_source, <$real>::NAME, sweeps);
            let shape = format!(
                "{} × {nx}{}{}{}{}",
                form.rows,
                if form.wraps { ", wraps" } else { "" },
                if form.periodic_columns { ", periodic" } else { "" },
                if form.held { ", held" } else { "" },
                if form.outer > 0 { ", inner rows" } else { "" },
            );
            let input = on.upload(&quads::<$real>(&buffer, nx))?;
            let source = on.upload(&quads::<$real>(&given, nx))?;
            let total = input.len();
            // Every sweep's norm, none, and one alone.
            let all = (1_u32 << sweeps) - 1;
            for wanted in [all, 0, 1 << (sweeps / 2)] {
                if form.timed && wanted != all {
                    continue;
                }
                let part = Part {
                    first_row: form.outer as u32,
                    end_row: (form.rows - form.outer) as u32,
                    strips: form.strips as u32,
                    wanted,
                    sums_stride: stride as u32,
                    sums_offset: 1,
                };
                let lanes = <$real>::LANES * size_of::<$real>();
                let streams = 2 + usize::from(with_source);
                let bytes = streams * total * lanes;
                bench.run(
                    Case::with(info, shape.clone()).exact().timed(form.timed, bytes),
                    (
                        on.poisoned::<<$real as GpuReal>::Quad>(total)?,
                        on.upload(&vec![0.0_f64; sweeps * stride])?,
                    ),
                    |machine, (out, sums)| {
                        let blocks = (windows * form.strips).div_ceil(4) as u32;
                        let memory = Memory {
                            input: input.read(),
                            out: out.write(),
                            source: with_source.then(|| source.read()),
                            sums: sums.write(),
                        };
                        by_sweeps!($real machine.launch () (Work::Grid([blocks, 1, 1])),
                            sweeps, geometry, part, memory,)
                    },
                    |on, (out, found)| {
                        let mut rows = vec![<$real as GpuReal>::Quad::default(); total];
                        on.download(out, &mut rows)?;
                        let pitch = geometry.pitch as usize;
                        let mut wrong = 0.0;
                        for y in form.outer..form.rows - form.outer {
                            let row: Vec<$real> = rows[(y + deep) * pitch..][..pitch]
                                .iter()
                                .flat_map(|quad| <$real>::values(quad).to_vec())
                                .collect();
                            wrong += differing(&row[..nx], after.row(y + after.deep));
                        }
                        let mut of_strips = vec![0.0; sweeps * stride];
                        on.download(found, &mut of_strips)?;
                        for (sweep, sums_of) in of_strips.chunks(stride).enumerate() {
                            let expected = if wanted >> sweep & 1 != 0 { sums[sweep] } else { 0.0 };
                            let sum: f64 = sums_of.iter().sum();
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

fn norms<M: Machine>(bench: &mut Bench<'_, M>, rows: usize, stride: usize) -> Result<()> {
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
        |machine, totals| {
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
            machine.launch(&launch, Work::Blocks(sweeps))
        },
        |on, totals| {
            let mut found = vec![0.0; sweeps];
            on.download(totals, &mut found)?;
            let pairs = found.iter().zip(&reference);
            // The numbers are of both signs: what counts is the rounding of the largest sums.
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
        fn $name<M: Machine>(bench: &mut Bench<'_, M>, rows: usize, nx: usize) -> Result<()> {
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
                |machine, field| {
                    let launch = $kernel {
                        field: field.write(),
                        values: column.read(),
                        rows: rows as u32,
                        pitch: nx.div_ceil(<$real>::LANES) as u32,
                        nx: nx as u32,
                    };
                    machine.launch(&launch, Work::Elements(rows))
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
                    Ok(differing(&values(&found), &values(&expected)))
                },
            )
        }
    };
}

columns!(columns_f32, f32, JacobiFixedColumnsF32);
columns!(columns_f64, f64, JacobiFixedColumnsF64);
