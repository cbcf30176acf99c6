//! `mri_variation_…`: the dual steps of total variation.

use super::super::bench::{Bench, Case, wide};
use super::super::shape::Source;
use super::{C, place, strides};
use crate::gpu::{Buffer, Machine, Result};
use crate::mri::Grid;
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::mri::variation_ascend::MriVariationAscend;
use warpstride_kernels::mri::variation_primal::MriVariationPrimal;

pub(super) fn variation<M: Machine>(
    bench: &mut Bench<'_, M>,
    grid: Grid,
    images: usize,
) -> Result<()> {
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
