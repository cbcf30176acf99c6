//! `mri_fista_…` and `mri_soft_threshold`: the proximal gradient steps.

use super::arrays::{C, partial_sums};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::fista_extrapolate::MriFistaExtrapolate;
use warpstride_kernels::mri::fista_point::MriFistaPoint;
use warpstride_kernels::mri::scaled_copy::MriScaledCopy;
use warpstride_kernels::mri::squares::MriSquares;
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};
use warpstride_selftest::random_data::Source;

pub(super) fn fista<M: Device>(bench: &mut Bench<'_, M>, length: usize, timed: bool) -> Result<()> {
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
        |device, (next, iteration)| {
            let launch = MriFistaPoint {
                next: next.write(),
                ahead: y_on.read(),
                applied_ahead: a_y_on.read(),
                b: b_on.read(),
                iteration: iteration.write(),
                voxels,
                step,
            };
            device.launch(&launch, Work::Elements(length.max(1)))
        },
        |on, (next, iteration)| Ok(on.error(next, &point)?.max(on.error(iteration, &[0])?)),
    )?;

    let momenta = [0.0_f32, 0.4];
    let (momenta_on, iteration) = (on.upload(&momenta)?, on.upload(&[1_u32])?);
    let extrapolate = |next: &[Complex32], now: &[Complex32]| -> Vec<C> {
        let each = next.iter().zip(now);
        each.map(|(next, now)| wide(*next) + (wide(*next) - wide(*now)) * f64::from(momenta[1]))
            .collect()
    };
    let (y_new, a_y_new) = (extrapolate(&next, &x), extrapolate(&a_next, &a_x));
    let mut squares = vec![0.0; PARTIAL_SUMS];
    squares.extend(partial_sums(length, |n| {
        (wide(b[n]) - wide(a_next[n])).norm_sqr()
    }));
    let first_row = vec![0.0_f64; 2 * PARTIAL_SUMS];
    bench.run(
        Case::of::<MriFistaExtrapolate<'_, Emulated>>(shape.clone()),
        (
            (on.upload(&y)?, on.upload(&x)?),
            (on.upload(&a_y)?, on.upload(&a_x)?),
            on.upload(&first_row)?,
        ),
        |device, ((y, x), (a_y, a_x), squares)| {
            let launch = MriFistaExtrapolate {
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
                rows: 2,
            };
            device.launch(&launch, Work::Blocks(PARTIAL_SUMS))
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
        |device, to| {
            let launch = MriScaledCopy {
                from: y_on.read(),
                to: to.write(),
                voxels,
                factor: 1.75,
            };
            device.launch(&launch, Work::Elements(length))
        },
        |on, to| on.error(to, &scaled),
    )?;
    let squares = partial_sums(length, |n| wide(y[n]).norm_sqr());
    bench.run(
        Case::of::<MriSquares<'_, Emulated>>(shape).timed(timed, 8 * length),
        on.poisoned::<f64>(PARTIAL_SUMS)?,
        |device, sums| {
            let launch = MriSquares {
                values: y_on.read(),
                squares: sums.write(),
                voxels,
            };
            device.launch(&launch, Work::Blocks(PARTIAL_SUMS))
        },
        |on, sums| on.error(sums, &squares),
    )
}
