//! The kernels that normalise object and probe: `ptycho_gram`, `ptycho_mix_layers` and
//! `ptycho_scale_to_power`.

use super::shape::{Shape, Source};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    gram::PtychoGram, mix_layers::PtychoMixLayers, scale_to_power::PtychoScaleToPower,
};
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};

/// Σ |P|² before, the power asked for, and whether there is momentum.
const POWERS: [(f64, f64, bool); 5] = [
    (2.5, 0.3, false),
    (0.7, 40.0, true),
    (0.0, 1.0, true),
    (f64::NAN, 1.0, false),
    (f64::INFINITY, 1.0, false),
];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    gram(bench, shape)?;
    mix(bench, shape)?;
    if shape.modes == 1 {
        for options in POWERS {
            scale_to_power(bench, shape, options)?;
        }
    }
    Ok(())
}

fn gram<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.modes);
    let probe = Source::new("gram", &shape).complex(shape.probe_elements());
    let modes: Vec<Vec<Complex<f64>>> = probe.chunks(pixels).map(all_wide).collect();
    let reference: Vec<[f64; 2]> = modes
        .iter()
        .flat_map(|left| modes.iter().map(move |right| (left, right)))
        .map(|(left, right)| {
            let products = left.iter().zip(right).map(|(a, b)| a.conj() * b);
            let sum: Complex<f64> = products.sum();
            [sum.re, sum.im]
        })
        .collect();
    let values = on.upload(&probe)?;
    bench.run(
        Case::of::<PtychoGram<'_, Emulated>>(format!("{layers} × {pixels}"))
            .within(1e-11)
            .timed(shape.timed, 8 * probe.len()),
        on.poisoned::<[f64; 2]>(reference.len())?,
        |device, gram| {
            let launch = PtychoGram {
                gram: gram.write(),
                values: values.read(),
                layers,
                pixels: pixels as u32,
            };
            device.launch(&launch, Work::Blocks(reference.len()))
        },
        |on, gram| on.largest_error(gram, &reference),
    )
}

fn mix<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.modes);
    let mut source = Source::new("mix", &shape);
    let old = source.complex(shape.probe_elements());
    let shares = source.complex((layers * layers) as usize);
    let one = |at: usize| {
        let of_layer = shares.chunks(layers as usize).nth(at / pixels);
        let modes = old.iter().skip(at % pixels).step_by(pixels);
        let terms = of_layer.into_iter().flatten().zip(modes);
        terms.map(|(share, mode)| wide(*share) * wide(*mode)).sum()
    };
    let reference: Vec<Complex<f64>> = (0..old.len()).map(one).collect();
    let from = on.upload(&old)?;
    let mixture = on.upload(&shares)?;
    bench.run(
        Case::of::<PtychoMixLayers<'_, Emulated>>(format!("{layers} × {pixels}"))
            .timed(shape.timed, 16 * old.len()),
        on.poisoned::<Complex32>(old.len())?,
        |device, to| {
            let launch = PtychoMixLayers {
                to: to.write(),
                from: from.read(),
                mixture: mixture.read(),
                layers,
                pixels: pixels as u32,
            };
            device.launch(&launch, Work::Elements(old.len()))
        },
        |on, to| on.error(to, &reference),
    )
}

fn scale_to_power<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (found, power, has_momentum): (f64, f64, bool),
) -> Result<()> {
    let on = bench.on();
    let lengths = [shape.object_elements(), shape.pixels()];
    let velocities = lengths.map(|len| if has_momentum { len } else { 0 });
    let mut source = Source::new("scale to power", &shape);
    let before = lengths.map(|len| source.complex(len));
    let speed = velocities.map(|len| source.complex(len));
    let factor = if found > 0.0 && found.is_finite() {
        (power / found).sqrt()
    } else {
        1.0
    };
    let scaled = |values: &[Complex32], by: f64| -> Vec<Complex<f64>> {
        values.iter().map(|v| wide(*v) * by).collect()
    };
    let factors = [1.0 / factor, factor];
    let reference = [0, 1].map(|n| [&before[n], &speed[n]].map(|of| scaled(of, factors[n])));
    let gram = on.upload(&[[found, 0.0]])?;
    let total = lengths[0] + lengths[1];
    bench.run(
        Case::of::<PtychoScaleToPower<'_, Emulated>>(format!(
            "{} + {}, {found} to {power}, momentum {has_momentum}",
            lengths[0], lengths[1]
        ))
        .timed(shape.timed, 16 * (total + velocities[0] + velocities[1])),
        (
            (on.upload(&before[0])?, on.upload(&before[1])?),
            (on.upload(&speed[0])?, on.upload(&speed[1])?),
        ),
        |device, ((object, probe), (object_velocity, probe_velocity))| {
            let launch = PtychoScaleToPower {
                object: object.write(),
                probe: probe.write(),
                object_velocity: object_velocity.write(),
                probe_velocity: probe_velocity.write(),
                gram: gram.read(),
                elements: lengths[0] as u32,
                pixels: lengths[1] as u32,
                velocities: velocities[0] as u32,
                probe_velocities: velocities[1] as u32,
                power,
            };
            device.launch(&launch, Work::Elements(total))
        },
        |on, ((object, probe), (of_object, of_probe))| {
            let mut worst = on.error(object, &reference[0][0])?;
            worst = worst.max(on.error(of_object, &reference[0][1])?);
            worst = worst.max(on.error(probe, &reference[1][0])?);
            Ok(worst.max(on.error(of_probe, &reference[1][1])?))
        },
    )
}
