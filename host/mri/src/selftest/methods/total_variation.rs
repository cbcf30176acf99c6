//! `mri_tv_…`: the dual steps of total variation.

use super::arrays::{C, indices, strides};
use crate::Grid;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::mri::tv_dual_step::MriTvDualStep;
use warpstride_kernels::mri::tv_primal::MriTvPrimal;
use warpstride_selftest::bench::{Bench, Case, wide};
use warpstride_selftest::random_data::Source;

pub(super) fn total_variation<M: Device>(
    bench: &mut Bench<'_, M>,
    grid: Grid,
    images: usize,
) -> Result<()> {
    let on = bench.on();
    let shape = format!("{images} of {:?}", grid.shape);
    let mut source = Source::new("variation", &shape);
    let (voxels, axes) = (grid.voxels(), grid.axes);
    let z = source.complex(images * voxels);
    let [dual, extrapolated] = [0; 2].map(|_| source.complex(images * axes * voxels));
    let [columns, rows, slices] = grid.along_k().map(|n| n as u32);
    let (weight, step, momentum) = (0.7_f32, 0.9_f32, 0.3_f32);
    let (z_on, dual_on) = (on.upload(&z)?, on.upload(&dual)?);
    let at = |image: usize, axis: usize, n: usize| (image * axes + axis) * voxels + n;
    let primal: Vec<C> = (0..images * voxels)
        .map(|all| {
            let (image, n) = (all / voxels, all % voxels);
            let mut sum = C::default();
            for axis in 0..axes {
                if indices(n, grid)[axis] > 0 {
                    sum += wide(dual[at(image, axis, n - strides(grid)[axis])]);
                }
                sum -= wide(dual[at(image, axis, n)]);
            }
            wide(z[all]) - sum * f64::from(weight)
        })
        .collect();
    bench.run(
        Case::of::<MriTvPrimal<'_, Emulated>>(shape.clone()),
        on.poisoned::<Complex32>(images * voxels)?,
        |device, out| {
            let launch = MriTvPrimal {
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
            device.launch(&launch, Work::Elements(images * voxels))
        },
        |on, out| on.error(out, &primal),
    )?;
    let mut dual_new = vec![C::default(); dual.len()];
    let mut extrapolated_new = dual_new.clone();
    for all in 0..images * voxels {
        let (image, n) = (all / voxels, all % voxels);
        let r: Vec<C> = (0..axes)
            .map(|axis| {
                let mut r = wide(extrapolated[at(image, axis, n)]);
                if indices(n, grid)[axis] + 1 < grid.along_k()[axis] {
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
            extrapolated_new[at(image, axis, n)] = p + (p - old) * f64::from(momentum);
        }
    }
    bench.run(
        Case::of::<MriTvDualStep<'_, Emulated>>(shape),
        (on.upload(&dual)?, on.upload(&extrapolated)?),
        |device, (dual, extrapolated)| {
            let launch = MriTvDualStep {
                dual: dual.write(),
                ahead: extrapolated.write(),
                image: z_on.read(),
                columns,
                rows,
                slices,
                axes: axes as u32,
                images: images as u32,
                step,
                momentum,
            };
            device.launch(&launch, Work::Elements(images * voxels))
        },
        |on, (dual, extrapolated)| {
            Ok(on
                .error(dual, &dual_new)?
                .max(on.error(extrapolated, &extrapolated_new)?))
        },
    )
}
