//! The vector steps of MRI's methods: `mri_cg_…`, `mri_fista_…`, `mri_coil_…`, `mri_variation_…`,
//! `mri_wavelet_pass` and what is between them.

use super::Size;
use super::bench::{Bench, Case, all_wide, wide};
use super::shape::Source;
use crate::gpu::{Buffer, Machine, Result};
use crate::mri::Grid;
use crate::mri::cpu::{coarsest, levels};
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::cg_curvature::MriCgCurvature;
use warpstride_kernels::mri::cg_direction::MriCgDirection;
use warpstride_kernels::mri::cg_step::MriCgStep;
use warpstride_kernels::mri::coil_combine::MriCoilCombine;
use warpstride_kernels::mri::coil_images::MriCoilImages;
use warpstride_kernels::mri::fista_ahead::MriFistaAhead;
use warpstride_kernels::mri::fista_point::MriFistaPoint;
use warpstride_kernels::mri::scaled_copy::MriScaledCopy;
use warpstride_kernels::mri::soft_threshold::MriSoftThreshold;
use warpstride_kernels::mri::squares::MriSquares;
use warpstride_kernels::mri::variation_ascend::MriVariationAscend;
use warpstride_kernels::mri::variation_primal::MriVariationPrimal;
use warpstride_kernels::mri::wavelet_pass::MriWaveletPass;
use warpstride_kernels::mri::weigh_samples::MriWeighSamples;

type C = Complex<f64>;

pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    let lengths: &[usize] = match size {
        Size::Small => &[0, 1, 255, 1009],
        Size::Device => &[0, 1, 255, 1009, 65_536, 1 << 21],
    };
    for length in lengths {
        let timed = *length > 2000;
        conjugate_gradients(bench, *length, timed)?;
        fista(bench, *length, timed)?;
        for coils in [1, 5] {
            coil(bench, *length, coils, timed)?;
        }
    }
    let mut grids = vec![
        Grid::two(1, 1),
        Grid::two(6, 8),
        Grid::two(7, 20),
        Grid::three(4, 6, 5),
    ];
    if size == Size::Device {
        grids.push(Grid::two(256, 256));
        grids.push(Grid::three(64, 48, 80));
    }
    for grid in grids {
        for images in [1, 3] {
            variation(bench, grid, images)?;
            wavelets(bench, grid, images)?;
        }
    }
    Ok(())
}

/// The stretch sums of `value(n)`, as the kernels cut them.
fn stretches(length: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let each = length.div_ceil(PARTIAL_SUMS);
    (0..PARTIAL_SUMS)
        .map(|part| {
            let first = (part * each).min(length);
            (first..(first + each).min(length)).map(&value).sum()
        })
        .collect()
}

fn conjugate_gradients<M: Machine>(
    bench: &mut Bench<'_, M>,
    length: usize,
    timed: bool,
) -> Result<()> {
    let on = bench.on();
    let shape = format!("{length} voxels");
    let mut source = Source::new("cg", &shape);
    let [p, q, x, r] = [0; 4].map(|_| source.complex(length));
    let lambda = 0.25_f32;
    let voxels = length as u32;
    let [p_on, r_on] = [on.upload(&p)?, on.upload(&r)?];
    let q_new: Vec<C> = p
        .iter()
        .zip(&q)
        .map(|(p, q)| wide(*q) + wide(*p) * f64::from(lambda))
        .collect();
    let curvature = stretches(length, |n| (wide(p[n]).conj() * q_new[n]).re);
    bench.run(
        Case::of::<MriCgCurvature<'_, Emulated>>(shape.clone()),
        (
            on.upload(&q)?,
            on.poisoned::<f64>(PARTIAL_SUMS)?,
            on.upload(&[u32::MAX])?,
        ),
        |machine, (q, curvature, iteration)| {
            let launch = MriCgCurvature {
                direction: p_on.read(),
                applied: q.write(),
                curvature: curvature.write(),
                iteration: iteration.write(),
                voxels,
                lambda,
            };
            machine.launch(&launch, Work::Blocks(PARTIAL_SUMS))
        },
        |on, (q, sums, iteration)| {
            Ok(on
                .error(q, &q_new)?
                .max(on.error(sums, &curvature)?)
                .max(on.error(iteration, &[0])?))
        },
    )?;

    // |r|² of 3 iterations, the second of which is under way.
    let history = [7.0, 5.0, 0.0];
    for curvature in [4.0, 0.0] {
        let sums: Vec<f64> = (0..PARTIAL_SUMS)
            .map(|_| curvature / PARTIAL_SUMS as f64)
            .collect();
        let alpha = if curvature > 0.0 {
            5.0 / curvature
        } else {
            0.0
        };
        let step = |from: &[Complex32], by: &[Complex32], sign: f64| -> Vec<C> {
            let each = from.iter().zip(by);
            each.map(|(a, b)| wide(*a) + wide(*b) * (sign * alpha))
                .collect()
        };
        let (x_new, r_new) = (step(&x, &p, 1.0), step(&r, &q, -1.0));
        let squares = stretches(length, |n| r_new[n].norm_sqr());
        let (q_on, sums_on) = (on.upload(&q)?, on.upload(&sums)?);
        let (history_on, iteration) = (on.upload(&history)?, on.upload(&[1_u32])?);
        bench.run(
            Case::of::<MriCgStep<'_, Emulated>>(format!("{shape}, curvature {curvature}")),
            (
                on.upload(&x)?,
                on.upload(&r)?,
                on.poisoned::<f64>(PARTIAL_SUMS)?,
            ),
            |machine, (x, r, squares)| {
                let launch = MriCgStep {
                    image: x.write(),
                    residual: r.write(),
                    direction: p_on.read(),
                    applied: q_on.read(),
                    curvature: sums_on.read(),
                    squares: squares.write(),
                    history: history_on.read(),
                    iteration: iteration.read(),
                    voxels,
                    entries: 3,
                };
                machine.launch(&launch, Work::Blocks(PARTIAL_SUMS))
            },
            |on, (x, r, sums)| {
                Ok(on
                    .error(x, &x_new)?
                    .max(on.error(r, &r_new)?)
                    .max(on.error(sums, &squares)?))
            },
        )?;
    }

    let sums: Vec<f64> = vec![2.0 / PARTIAL_SUMS as f64; PARTIAL_SUMS];
    let (sums_on, iteration) = (on.upload(&sums)?, on.upload(&[1_u32])?);
    let direction: Vec<C> = r
        .iter()
        .zip(&p)
        .map(|(r, p)| wide(*r) + wide(*p) * (2.0 / 5.0))
        .collect();
    bench.run(
        Case::of::<MriCgDirection<'_, Emulated>>(shape.clone()).timed(timed, 24 * length),
        (on.upload(&p)?, on.upload(&history)?),
        |machine, (direction, history)| {
            let launch = MriCgDirection {
                direction: direction.write(),
                residual: r_on.read(),
                squares: sums_on.read(),
                history: history.write(),
                iteration: iteration.read(),
                voxels,
                entries: 3,
            };
            machine.launch(&launch, Work::Elements(length.max(1)))
        },
        |on, (found, history)| {
            Ok(on
                .error(found, &direction)?
                .max(on.error(history, &[7.0, 5.0, 2.0])?))
        },
    )
}

fn fista<M: Machine>(bench: &mut Bench<'_, M>, length: usize, timed: bool) -> Result<()> {
    let on = bench.on();
    let shape = format!("{length} voxels");
    let mut source = Source::new("fista", &shape);
    let [y, a_y, b, x, a_x, next, a_next] = [0; 7].map(|_| source.complex(length));
    let voxels = length as u32;
    let step = 0.3_f32;
    let [y_on, a_y_on, b_on, next_on, a_next_on] = [
        on.upload(&y)?,
        on.upload(&a_y)?,
        on.upload(&b)?,
        on.upload(&next)?,
        on.upload(&a_next)?,
    ];
    let point: Vec<C> = (0..length)
        .map(|n| wide(y[n]) - (wide(a_y[n]) - wide(b[n])) * f64::from(step))
        .collect();
    bench.run(
        Case::of::<MriFistaPoint<'_, Emulated>>(shape.clone()),
        (on.poisoned::<Complex32>(length)?, on.upload(&[u32::MAX])?),
        |machine, (next, iteration)| {
            let launch = MriFistaPoint {
                next: next.write(),
                ahead: y_on.read(),
                applied_ahead: a_y_on.read(),
                b: b_on.read(),
                iteration: iteration.write(),
                voxels,
                step,
            };
            machine.launch(&launch, Work::Elements(length.max(1)))
        },
        |on, (next, iteration)| Ok(on.error(next, &point)?.max(on.error(iteration, &[0])?)),
    )?;

    let momenta = [0.0_f32, 0.4];
    let (momenta_on, iteration) = (on.upload(&momenta)?, on.upload(&[1_u32])?);
    let ahead = |next: &[Complex32], now: &[Complex32]| -> Vec<C> {
        let each = next.iter().zip(now);
        each.map(|(next, now)| wide(*next) + (wide(*next) - wide(*now)) * f64::from(momenta[1]))
            .collect()
    };
    let (y_new, a_y_new) = (ahead(&next, &x), ahead(&a_next, &a_x));
    let mut squares = vec![0.0; PARTIAL_SUMS];
    squares.extend(stretches(length, |n| {
        (wide(b[n]) - wide(a_next[n])).norm_sqr()
    }));
    let first_row = vec![0.0_f64; 2 * PARTIAL_SUMS];
    bench.run(
        Case::of::<MriFistaAhead<'_, Emulated>>(shape.clone()),
        (
            (on.upload(&y)?, on.upload(&x)?),
            (on.upload(&a_y)?, on.upload(&a_x)?),
            on.upload(&first_row)?,
        ),
        |machine, ((y, x), (a_y, a_x), squares)| {
            let launch = MriFistaAhead {
                ahead: y.write(),
                now: x.write(),
                next: next_on.read(),
                applied_ahead: a_y.write(),
                applied_now: a_x.write(),
                applied_next: a_next_on.read(),
                b: b_on.read(),
                momenta: momenta_on.read(),
                squares: squares.write(),
                iteration: iteration.read(),
                voxels,
                iterations: 2,
            };
            machine.launch(&launch, Work::Blocks(PARTIAL_SUMS))
        },
        |on, ((y, x), (a_y, a_x), sums)| {
            Ok(on
                .error(y, &y_new)?
                .max(on.error(x, &all_wide(&next))?)
                .max(on.error(a_y, &a_y_new)?)
                .max(on.error(a_x, &all_wide(&a_next))?)
                .max(on.error(sums, &squares)?))
        },
    )?;

    let scaled: Vec<C> = y.iter().map(|v| wide(*v) * 1.75).collect();
    bench.run(
        Case::of::<MriScaledCopy<'_, Emulated>>(shape.clone()).timed(timed, 16 * length),
        on.poisoned::<Complex32>(length)?,
        |machine, to| {
            let launch = MriScaledCopy {
                from: y_on.read(),
                to: to.write(),
                voxels,
                factor: 1.75,
            };
            machine.launch(&launch, Work::Elements(length))
        },
        |on, to| on.error(to, &scaled),
    )?;
    let squares = stretches(length, |n| wide(y[n]).norm_sqr());
    bench.run(
        Case::of::<MriSquares<'_, Emulated>>(shape).timed(timed, 8 * length),
        on.poisoned::<f64>(PARTIAL_SUMS)?,
        |machine, sums| {
            let launch = MriSquares {
                values: y_on.read(),
                squares: sums.write(),
                voxels,
            };
            machine.launch(&launch, Work::Blocks(PARTIAL_SUMS))
        },
        |on, sums| on.error(sums, &squares),
    )
}

fn coil<M: Machine>(
    bench: &mut Bench<'_, M>,
    length: usize,
    coils: usize,
    timed: bool,
) -> Result<()> {
    let on = bench.on();
    let shape = format!("{coils} coils of {length}");
    let mut source = Source::new("coils", &shape);
    let image = source.complex(length);
    let [maps, images] = [0; 2].map(|_| source.complex(coils * length));
    let weights = source.reals(length, 0.0, 2.0);
    let (voxels, count) = (length as u32, coils as u32);
    let [image_on, maps_on, images_on] =
        [on.upload(&image)?, on.upload(&maps)?, on.upload(&images)?];
    let weights_on = on.upload(&weights)?;
    let seen: Vec<C> = (0..coils * length)
        .map(|n| wide(maps[n]) * wide(image[n % length]))
        .collect();
    bench.run(
        Case::of::<MriCoilImages<'_, Emulated>>(shape.clone())
            .timed(timed, (8 + 16 * coils) * length),
        on.poisoned::<Complex32>(coils * length)?,
        |machine, images| {
            let launch = MriCoilImages {
                image: image_on.read(),
                maps: maps_on.read(),
                images: images.write(),
                voxels,
                coils: count,
            };
            machine.launch(&launch, Work::Elements(length))
        },
        |on, images| on.error(images, &seen),
    )?;
    let together: Vec<C> = (0..length)
        .map(|n| {
            let places = (0..coils).map(|c| c * length + n);
            places
                .map(|at| wide(maps[at]).conj() * wide(images[at]))
                .sum()
        })
        .collect();
    bench.run(
        Case::of::<MriCoilCombine<'_, Emulated>>(shape.clone())
            .timed(timed, (8 + 16 * coils) * length),
        on.poisoned::<Complex32>(length)?,
        |machine, image| {
            let launch = MriCoilCombine {
                images: images_on.read(),
                maps: maps_on.read(),
                image: image.write(),
                voxels,
                coils: count,
            };
            machine.launch(&launch, Work::Elements(length))
        },
        |on, image| on.error(image, &together),
    )?;
    let weighed: Vec<C> = (0..coils * length)
        .map(|n| wide(images[n]) * f64::from(weights[n % length]))
        .collect();
    bench.run(
        Case::of::<MriWeighSamples<'_, Emulated>>(shape),
        on.upload(&images)?,
        |machine, values| {
            let launch = MriWeighSamples {
                weights: weights_on.read(),
                values: values.write(),
                samples: voxels,
                images: count,
            };
            machine.launch(&launch, Work::Elements(length))
        },
        |on, values| on.error(values, &weighed),
    )
}

/// Number of a voxel along the axes column, row, slice.
fn place(n: usize, grid: Grid) -> [usize; 3] {
    let [columns, rows, _] = grid.along_k();
    [n % columns, n / columns % rows, n / columns / rows]
}

fn strides(grid: Grid) -> [usize; 3] {
    let [columns, rows, _] = grid.along_k();
    [1, columns, columns * rows]
}

fn variation<M: Machine>(bench: &mut Bench<'_, M>, grid: Grid, images: usize) -> Result<()> {
    let on = bench.on();
    let shape = format!("{images} of {:?}", grid.shape);
    let mut source = Source::new("variation", &shape);
    let (voxels, axes) = (grid.voxels(), grid.axes);
    let z = source.complex(images * voxels);
    let [dual, ahead] = [0; 2].map(|_| source.complex(images * axes * voxels));
    let [columns, rows, slices] = grid.along_k().map(|n| n as u32);
    let (weight, step, momentum) = (0.7_f32, 0.9_f32, 0.3_f32);
    let (z_on, dual_on) = (on.upload(&z)?, on.upload(&dual)?);
    let at = |image: usize, axis: usize, n: usize| (image * axes + axis) * voxels + n;
    let primal: Vec<C> = (0..images * voxels)
        .map(|all| {
            let (image, n) = (all / voxels, all % voxels);
            let mut sum = C::default();
            for axis in 0..axes {
                if place(n, grid)[axis] > 0 {
                    sum += wide(dual[at(image, axis, n - strides(grid)[axis])]);
                }
                sum -= wide(dual[at(image, axis, n)]);
            }
            wide(z[all]) - sum * f64::from(weight)
        })
        .collect();
    bench.run(
        Case::of::<MriVariationPrimal<'_, Emulated>>(shape.clone()),
        on.poisoned::<Complex32>(images * voxels)?,
        |machine, out| {
            let launch = MriVariationPrimal {
                out: out.write(),
                z: z_on.read(),
                dual: dual_on.read(),
                columns,
                rows,
                slices,
                axes: axes as u32,
                images: images as u32,
                weight,
            };
            machine.launch(&launch, Work::Elements(images * voxels))
        },
        |on, out| on.error(out, &primal),
    )?;
    let mut dual_new = vec![C::default(); dual.len()];
    let mut ahead_new = dual_new.clone();
    for all in 0..images * voxels {
        let (image, n) = (all / voxels, all % voxels);
        let r: Vec<C> = (0..axes)
            .map(|axis| {
                let mut r = wide(ahead[at(image, axis, n)]);
                if place(n, grid)[axis] + 1 < grid.along_k()[axis] {
                    let next = z[all + strides(grid)[axis]];
                    r += (wide(next) - wide(z[all])) * f64::from(step);
                }
                r
            })
            .collect();
        let modulus = r.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        for (axis, r) in r.iter().enumerate() {
            let p = r / modulus.max(1.0);
            let old = wide(dual[at(image, axis, n)]);
            dual_new[at(image, axis, n)] = p;
            ahead_new[at(image, axis, n)] = p + (p - old) * f64::from(momentum);
        }
    }
    bench.run(
        Case::of::<MriVariationAscend<'_, Emulated>>(shape),
        (on.upload(&dual)?, on.upload(&ahead)?),
        |machine, (dual, ahead)| {
            let launch = MriVariationAscend {
                dual: dual.write(),
                ahead: ahead.write(),
                image: z_on.read(),
                columns,
                rows,
                slices,
                axes: axes as u32,
                images: images as u32,
                step,
                momentum,
            };
            machine.launch(&launch, Work::Elements(images * voxels))
        },
        |on, (dual, ahead)| Ok(on.error(dual, &dual_new)?.max(on.error(ahead, &ahead_new)?)),
    )
}

/// Daubechies' taps from their definition.
fn taps() -> [[f64; 4]; 2] {
    let root = 3.0_f64.sqrt();
    let low = [1.0 + root, 3.0 + root, 3.0 - root, 1.0 - root].map(|h| h / 32.0_f64.sqrt());
    [low, [low[3], -low[2], low[1], -low[0]]]
}

/// The matrix of a forward pass along one axis, applied to a line.
fn analysed(line: &[C]) -> Vec<C> {
    let n = line.len();
    let [low, high] = taps();
    let of =
        |taps: [f64; 4], i: usize| -> C { (0..4).map(|k| line[(2 * i + k) % n] * taps[k]).sum() };
    let averages = (0..n / 2).map(|i| of(low, i));
    averages.chain((0..n / 2).map(|i| of(high, i))).collect()
}

/// Its transpose, which is its inverse.
fn synthesised(line: &[C]) -> Vec<C> {
    let n = line.len();
    let mut out = vec![C::default(); n];
    for (number, taps) in taps().into_iter().enumerate() {
        for i in 0..n / 2 {
            for (k, tap) in taps.into_iter().enumerate() {
                out[(2 * i + k) % n] += line[number * (n / 2) + i] * tap;
            }
        }
    }
    out
}

fn wavelets<M: Machine>(bench: &mut Bench<'_, M>, grid: Grid, images: usize) -> Result<()> {
    let on = bench.on();
    let shape = format!("{images} of {:?}", grid.shape);
    let values = Source::new("wavelets", &shape).complex(images * grid.voxels());
    let from = on.upload(&values)?;
    let [columns, rows, slices] = grid.along_k().map(|n| n as u32);
    let all_levels = levels(grid);
    for level in all_levels.first().iter().chain(all_levels.last().iter()) {
        let corner = [level.corner[2], level.corner[1], level.corner[0]];
        for axis in 0..3 {
            if !level.halved[2 - axis] {
                continue;
            }
            for inverse in [false, true] {
                let mut reference = all_wide(&values);
                for image in reference.chunks_mut(grid.voxels()) {
                    for n in 0..grid.voxels() {
                        let begins = place(n, grid);
                        let inside = (0..3).all(|a| begins[a] < corner[a]);
                        if begins[axis] > 0 || !inside {
                            continue;
                        }
                        let places = (0..corner[axis]).map(|i| n + i * strides(grid)[axis]);
                        let line: Vec<C> = places.clone().map(|at| image[at]).collect();
                        let line = if inverse {
                            synthesised(&line)
                        } else {
                            analysed(&line)
                        };
                        places.zip(line).for_each(|(at, value)| image[at] = value);
                    }
                }
                let way = if inverse { "back" } else { "forth" };
                bench.run(
                    Case::of::<MriWaveletPass<'_, Emulated>>(format!(
                        "{shape}, corner {corner:?}, axis {axis}, {way}"
                    )),
                    on.poisoned::<Complex32>(values.len())?,
                    |machine, to| {
                        let launch = MriWaveletPass {
                            from: from.read(),
                            to: to.write(),
                            columns,
                            rows,
                            slices,
                            images: images as u32,
                            corner_columns: corner[0] as u32,
                            corner_rows: corner[1] as u32,
                            corner_slices: corner[2] as u32,
                            axis: axis as u32,
                            inverse: u32::from(inverse),
                        };
                        machine.launch(&launch, Work::Elements(values.len()))
                    },
                    |on, to| on.error(to, &reference),
                )?;
            }
        }
    }
    let [corner_slices, corner_rows, corner_columns] = coarsest(grid, &all_levels);
    let corner = [corner_columns, corner_rows, corner_slices];
    let threshold = 0.6_f32;
    let reference: Vec<C> = values
        .iter()
        .enumerate()
        .map(|(n, value)| {
            let at = place(n % grid.voxels(), grid);
            let value = wide(*value);
            if (0..3).all(|a| at[a] < corner[a]) {
                return value;
            }
            value * (1.0 - f64::from(threshold) / value.norm()).max(0.0)
        })
        .collect();
    bench.run(
        Case::of::<MriSoftThreshold<'_, Emulated>>(shape),
        on.upload(&values)?,
        |machine, coefficients| {
            let launch = MriSoftThreshold {
                coefficients: coefficients.write(),
                columns,
                rows,
                slices,
                images: images as u32,
                corner_columns: corner[0] as u32,
                corner_rows: corner[1] as u32,
                corner_slices: corner[2] as u32,
                threshold,
            };
            machine.launch(&launch, Work::Elements(values.len()))
        },
        |on, coefficients| on.error(coefficients, &reference),
    )
}
