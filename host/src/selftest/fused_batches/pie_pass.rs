//! The kernels `ptycho_pie_pass_64` and `…_128`.

use super::super::batch_waves::Batch;
use super::super::bench::{Bench, Case, all_wide};
use super::super::shape::{Shape, Source};
use super::clipped;
use super::scan::Scan;
use crate::gpu::{Buffer, Device, Result};
use num_complex::Complex;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::pie_pass::{OBJECT, PROBE, PtychoPiePass64, PtychoPiePass128};

/// Updates, α and step of object and probe, and limits of the object's modulus.
pub(super) const PASSES: [(u32, [[f32; 2]; 3]); 3] = [
    (OBJECT | PROBE, [[1.0, 1.0], [1.0, 0.2], [0.0, -1.0]]),
    (OBJECT | PROBE, [[0.1, 0.6], [0.9, 0.7], [0.3, 1.1]]),
    (PROBE, [[1.0, 0.5], [1.0, 1.0], [0.3, 1.1]]),
];

/// The largest squared modulus.
fn strongest(values: impl Iterator<Item = Complex<f64>>) -> f64 {
    values.map(|v| v.norm_sqr()).fold(0.0, f64::max)
}

pub(super) fn pass<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (updates, [alpha, step, limits]): (u32, [[f32; 2]; 3]),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("pie pass", &shape);
    let scan = Scan::new(&mut source, shape);
    let support = source.support(shape.pixels());
    let order = Batch::whole(&mut source, &shape).order;
    let (mut p, mut o) = (all_wide(&scan.probe), all_wide(&scan.object));
    let mut metrics: [Vec<f64>; 5] = Default::default();
    metrics.fill(vec![0.0; shape.frames as usize]);
    let factor = |n: usize, weight: f64, most: f64| {
        let alpha = f64::from(alpha[n]);
        f64::from(step[n]) / ((1.0 - alpha) * weight + alpha * most)
    };
    for frame in order.iter().map(|frame| *frame as usize) {
        let (values, found) = scan.chi(frame, &p, &o);
        for (metric, found) in metrics.iter_mut().zip(found) {
            metric[frame] = found;
        }
        let of_probe = strongest(p.iter().copied());
        let of_object = strongest((0..shape.pixels()).map(|pixel| o[scan.place(frame, pixel)]));
        for (pixel, value) in values.into_iter().enumerate() {
            let at = scan.place(frame, pixel);
            let (old_p, old_o) = (p[pixel], o[at]);
            if updates & OBJECT != 0 {
                let change = old_p.conj() * value * factor(0, old_p.norm_sqr(), of_probe);
                o[at] = old_o + change;
            }
            if updates & PROBE != 0 {
                let change = old_o.conj() * value * factor(1, old_o.norm_sqr(), of_object);
                p[pixel] = (old_p + change) * f64::from(support[pixel]);
            }
        }
        if updates & OBJECT != 0 {
            o.iter_mut()
                .for_each(|value| *value = clipped(*value, limits));
        }
    }
    let support = on.upload(&support)?;
    let magnitudes = on.upload(&scan.magnitudes)?;
    let scales = on.upload(&scan.scales)?;
    let corners = on.upload(&scan.corners)?;
    let order = on.upload(&order)?;
    let roots = on.upload(&scan.roots)?;
    let frames = shape.frames as usize;
    let [errors, moved, photon, residual, free] = [0; 5].map(|_| on.poisoned::<f32>(frames));
    let text = format!("{shape}, updates {updates}, alpha {alpha:?}, step {step:?}");
    let case = if shape.rows == 64 {
        Case::of::<PtychoPiePass64<'_, Emulated>>(text)
    } else {
        Case::of::<PtychoPiePass128<'_, Emulated>>(text)
    };
    bench.run(
        case,
        (
            on.upload(&scan.object)?,
            on.upload(&scan.probe)?,
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device, (object, probe, [errors, moved, photon, residual, free])| {
            macro_rules! launch {
                ($kernel:ident) => {
                    device.launch(
                        &$kernel {
                            object: object.write(),
                            probe: probe.write(),
                            errors: errors.write(),
                            moved: moved.write(),
                            photon: photon.write(),
                            residual: residual.write(),
                            free: free.write(),
                            support: support.read(),
                            magnitudes: magnitudes.read(),
                            scales: scales.read(),
                            corners: corners.read(),
                            order: order.read(),
                            roots: roots.read(),
                            frames: shape.frames,
                            object_rows: shape.object_rows,
                            object_columns: shape.object_columns,
                            object_alpha: alpha[0],
                            probe_alpha: alpha[1],
                            object_step: step[0],
                            probe_step: step[1],
                            clip_low: limits[0],
                            clip_high: limits[1],
                            updates,
                        },
                        Work::Blocks(2),
                    )
                };
            }
            if shape.rows == 64 {
                launch!(PtychoPiePass64)
            } else {
                launch!(PtychoPiePass128)
            }
        },
        |on, (object, probe, found)| {
            let mut worst = on.error(object, &o)?.max(on.error(probe, &p)?);
            for (found, metrics) in found.iter().zip(&metrics) {
                worst = worst.max(on.error(found, metrics)?);
            }
            Ok(worst)
        },
    )
}
