//! `mri_coil_…`: coil images and their sums.

use super::arrays::C;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::mri::coil_combine::MriCoilCombine;
use warpstride_kernels::mri::coil_images::MriCoilImages;
use warpstride_kernels::mri::weigh_samples::MriWeighSamples;
use warpstride_selftest::bench::{Bench, Case, wide};
use warpstride_selftest::random_data::Source;

pub(super) fn coil<M: Device>(
    bench: &mut Bench<'_, M>,
    length: usize,
    [coils, sets]: [usize; 2],
    timed: bool,
) -> Result<()> {
    let on = bench.on();
    let shape = match sets {
        1 => format!("{coils} coils of {length}"),
        _ => format!("{coils} coils of {length}, {sets} sets of maps"),
    };
    let mut source = Source::new("coils", &shape);
    let image = source.complex(sets * length);
    let maps = source.complex(sets * coils * length);
    let images = source.complex(coils * length);
    let weights = source.reals(length, 0.0, 2.0);
    let (voxels, count) = (length as u32, coils as u32);
    let [image_on, maps_on, images_on] =
        [on.upload(&image)?, on.upload(&maps)?, on.upload(&images)?];
    let weights_on = on.upload(&weights)?;
    let coil_images: Vec<C> = (0..coils * length)
        .map(|n| {
            let sets =
                (0..sets).map(|s| (maps[s * coils * length + n], image[s * length + n % length]));
            sets.map(|(s, value)| wide(s) * wide(value)).sum()
        })
        .collect();
    bench.run(
        Case::of::<MriCoilImages<'_, Emulated>>(shape.clone())
            .timed(timed, 8 * (sets + coils + sets * coils) * length),
        on.poisoned::<Complex32>(coils * length)?,
        |device, images| {
            let launch = MriCoilImages {
                image: image_on.read(),
                maps: maps_on.read(),
                images: images.write(),
                voxels,
                coils: count,
                sets: sets as u32,
            };
            device.launch(&launch, Work::Elements(length))
        },
        |on, images| on.error(images, &coil_images),
    )?;
    let combined: Vec<C> = (0..sets * length)
        .map(|n| {
            let (set, n) = (n / length, n % length);
            let offsets = (0..coils).map(|c| c * length + n);
            offsets
                .map(|at| wide(maps[set * coils * length + at]).conj() * wide(images[at]))
                .sum()
        })
        .collect();
    bench.run(
        Case::of::<MriCoilCombine<'_, Emulated>>(shape.clone())
            .timed(timed, 8 * (sets + coils + sets * coils) * length),
        on.poisoned::<Complex32>(sets * length)?,
        |device, image| {
            let launch = MriCoilCombine {
                images: images_on.read(),
                maps: maps_on.read(),
                image: image.write(),
                voxels,
                coils: count,
                sets: sets as u32,
            };
            device.launch(&launch, Work::Elements(length))
        },
        |on, image| on.error(image, &combined),
    )?;
    let weighed: Vec<C> = (0..coils * length)
        .map(|n| wide(images[n]) * f64::from(weights[n % length]))
        .collect();
    bench.run(
        Case::of::<MriWeighSamples<'_, Emulated>>(shape),
        on.upload(&images)?,
        |device, values| {
            let launch = MriWeighSamples {
                weights: weights_on.read(),
                values: values.write(),
                samples: voxels,
                images: count,
            };
            device.launch(&launch, Work::Elements(length))
        },
        |on, values| on.error(values, &weighed),
    )
}
