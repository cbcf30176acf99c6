//! `mri_cg_…`: the vector steps of conjugate gradients.

use super::arrays::{C, partial_sums};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::cg_curvature::MriCgCurvature;
use warpstride_kernels::mri::cg_direction::MriCgDirection;
use warpstride_kernels::mri::cg_step::MriCgStep;
use warpstride_selftest::bench::{Bench, Case, wide};
use warpstride_selftest::random_data::Source;

pub(super) fn conjugate_gradients<M: Device>(
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
    let curvature = partial_sums(length, |n| (wide(p[n]).conj() * q_new[n]).re);
    bench.run(
        Case::of::<MriCgCurvature<'_, Emulated>>(shape.clone()),
        (
            on.upload(&q)?,
            on.poisoned::<f64>(PARTIAL_SUMS)?,
            on.upload(&[u32::MAX])?,
        ),
        |device, (q, curvature, iteration)| {
            let launch = MriCgCurvature {
                direction: p_on.read(),
                applied: q.write(),
                curvature: curvature.write(),
                iteration: iteration.write(),
                voxels,
                lambda,
            };
            device.launch(&launch, Work::Blocks(PARTIAL_SUMS))
        },
        |on, (q, sums, iteration)| {
            Ok(on
                .error(q, &q_new)?
                .max(on.error(sums, &curvature)?)
                .max(on.error(iteration, &[0])?))
        },
    )?;

    // |r|² of 3 iterations, of which the second is in progress.
    let history = [7.0, 5.0, 0.0];
    // |r|² before the step is 5, in iteration 1.
    for (curvature, enough, least, rounding) in [
        (4.0, 4.9, 0, 0.0),
        (0.0, 0.0, 0, 0.0),
        (4.0, 5.0, 1, 0.0),
        (4.0, 5.0, 2, 4.9),
        (4.0, 0.0, 2, 5.0),
    ] {
        let sums: Vec<f64> = (0..PARTIAL_SUMS)
            .map(|_| curvature / PARTIAL_SUMS as f64)
            .collect();
        let goes_on = rounding < 5.0 && (enough < 5.0 || least > 1);
        let alpha = if curvature > 0.0 && goes_on {
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
        let squares = partial_sums(length, |n| r_new[n].norm_sqr());
        let (q_on, sums_on) = (on.upload(&q)?, on.upload(&sums)?);
        let (history_on, iteration) = (on.upload(&history)?, on.upload(&[1_u32])?);
        bench.run(
            Case::of::<MriCgStep<'_, Emulated>>(format!(
                "{shape}, curvature {curvature}, enough {enough} from {least}, rounding {rounding}"
            )),
            (
                on.upload(&x)?,
                on.upload(&r)?,
                on.poisoned::<f64>(PARTIAL_SUMS)?,
            ),
            |device, (x, r, squares)| {
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
                    enough,
                    least,
                    rounding,
                };
                device.launch(&launch, Work::Blocks(PARTIAL_SUMS))
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
        |device, (direction, history)| {
            let launch = MriCgDirection {
                direction: direction.write(),
                residual: r_on.read(),
                squares: sums_on.read(),
                history: history.write(),
                iteration: iteration.read(),
                voxels,
                entries: 3,
            };
            device.launch(&launch, Work::Elements(length.max(1)))
        },
        |on, (found, history)| {
            Ok(on
                .error(found, &direction)?
                .max(on.error(history, &[7.0, 5.0, 2.0])?))
        },
    )
}
