//! The kernels `ptycho_pie_pass_*`, `ptycho_pie_cluster_128` and `ptycho_pie_cluster_exact_128`.

use super::super::batch_waves::Batch;
use super::super::shape::{Shape, Source};
use super::exact::{shifted_back, shifted_from, spectrum_of, transform};
use super::scan::{Scan, worst_metric};
use super::values::clipped;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    pie_cluster::PtychoPieCluster128,
    pie_cluster_exact::PtychoPieClusterExact128,
    pie_pass::{PtychoPiePass64, PtychoPiePass128},
};
use warpstride_selftest::bench::{Bench, Case, all_wide};

/// The kernels of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Block,
    Cluster,
    /// A cluster, at exact positions.
    ExactCluster,
}

/// Whether the probe has a support, α and step of object and probe (0: no update), and limits of
/// the object's modulus.
pub(super) const PASSES: [(bool, [[f32; 2]; 3]); 6] = [
    (false, [[0.6, 1.0], [1.0, 0.7], [0.0, -1.0]]),
    (true, [[1.0, 1.0], [1.0, 0.2], [0.0, -1.0]]),
    (true, [[0.1, 0.6], [0.9, 0.7], [0.3, 1.1]]),
    (true, [[1.0, 0.5], [0.0, 1.0], [0.0, -1.0]]),
    (false, [[0.3, 1.0], [1.0, 0.0], [0.3, 1.1]]),
    (true, [[0.3, 1.0], [1.0, 0.0], [0.0, -1.0]]),
];

/// The largest squared modulus.
fn strongest(values: impl Iterator<Item = Complex<f64>>) -> f64 {
    values.map(|v| v.norm_sqr()).fold(0.0, f64::max)
}

pub(super) fn pass<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (supported, [alpha, step, limits]): (bool, [[f32; 2]; 3]),
    by: By,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("pie pass", &shape);
    let scan = Scan::new(&mut source, shape);
    let support = source.support(shape.pixels());
    let order = Batch::whole(&mut source, &shape).order;
    let shifts = source.fractions(&shape);
    let spectrum = spectrum_of(&shape, &all_wide(&scan.probe));
    let (mut p, mut o) = (all_wide(&scan.probe), all_wide(&scan.object));
    let moved = |p: &[Complex<f64>], frame: usize| {
        if by != By::ExactCluster {
            return p.to_vec();
        }
        let mut spectrum = p.to_vec();
        transform(&shape, &mut spectrum, Direction::Forward);
        shifted_from(&shape, spectrum, shifts[frame])
    };
    let moved_back = |direction: Vec<Complex<f64>>, frame: usize| {
        if by != By::ExactCluster {
            return direction;
        }
        let mut back = shifted_back(&shape, direction, shifts[frame]);
        transform(&shape, &mut back, Direction::Inverse);
        back
    };
    let mut metrics: [Vec<f64>; 5] = Default::default();
    metrics.fill(vec![0.0; shape.frames as usize]);
    let factor = |n: usize, weight: f64, most: f64| {
        let alpha = f64::from(alpha[n]);
        f64::from(step[n]) / ((1.0 - alpha) * weight + alpha * most)
    };
    for frame in order.iter().map(|frame| *frame as usize) {
        let of_frame = moved(&p, frame);
        let (values, found) = scan.chi(frame, &of_frame, &o);
        for (metric, found) in metrics.iter_mut().zip(found) {
            metric[frame] = found;
        }
        let of_probe = strongest(of_frame.iter().copied());
        let window = |pixel: usize| o[scan.place(frame, pixel)];
        let window: Vec<Complex<f64>> = (0..shape.pixels()).map(window).collect();
        let of_object = strongest(window.iter().copied());
        let projected = window.iter().zip(&values).map(|(o, chi)| o.conj() * chi);
        let direction = moved_back(projected.collect(), frame);
        for (pixel, value) in values.into_iter().enumerate() {
            let at = scan.place(frame, pixel);
            let (probe, old_p, old_o) = (of_frame[pixel], p[pixel], o[at]);
            if step[0] != 0.0 {
                let change = probe.conj() * value * factor(0, probe.norm_sqr(), of_probe);
                o[at] = old_o + change;
            }
            // The support also holds without a step.
            let change = direction[pixel] * factor(1, old_o.norm_sqr(), of_object);
            let inside = if supported {
                f64::from(support[pixel])
            } else {
                1.0
            };
            p[pixel] = (old_p + change) * inside;
        }
        if step[0] != 0.0 {
            o.iter_mut()
                .for_each(|value| *value = clipped(*value, limits));
        }
    }
    let support = on.upload(&support)?;
    let order = on.upload(&order)?;
    let fractions = on.upload(&shifts)?;
    // Behind the last frame it is that of the new probe, for a pass over other frames.
    let mut new_spectrum = p.clone();
    transform(&shape, &mut new_spectrum, Direction::Forward);
    let uploaded = scan.on(on)?;
    let frames = shape.frames as usize;
    let [errors, moved, photon, residual, free] = [0; 5].map(|_| on.poisoned::<f32>(frames));
    let text = format!("{shape}, support {supported}, alpha {alpha:?}, step {step:?}");
    let case = match (shape.rows, by) {
        (64, _) => Case::of::<PtychoPiePass64<'_, Emulated>>(text),
        (_, By::Block) => Case::of::<PtychoPiePass128<'_, Emulated>>(text),
        (_, By::Cluster) => Case::of::<PtychoPieCluster128<'_, Emulated>>(text),
        (_, By::ExactCluster) => Case::of::<PtychoPieClusterExact128<'_, Emulated>>(text),
    };
    bench.run(
        case,
        (
            on.upload(&scan.object)?,
            on.upload(&scan.probe)?,
            [errors?, moved?, photon?, residual?, free?],
            on.upload(&spectrum)?,
        ),
        |device, (object, probe, [errors, moved, photon, residual, free], probe_spectrum)| {
            macro_rules! launch {
                ($kernel:ident, $work:expr $(, $more:ident . $access:ident)*) => {
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
                            magnitudes: uploaded.magnitudes.read(),
                            scales: uploaded.scales.read(),
                            corners: uploaded.corners.read(),
                            $($more: $more.$access(),)*
                            order: order.read(),
                            roots: uploaded.roots.read(),
                            frames: shape.frames,
                            object_rows: shape.object_rows,
                            object_columns: shape.object_columns,
                            object_alpha: alpha[0],
                            probe_alpha: alpha[1],
                            object_step: step[0],
                            probe_step: step[1],
                            clip_low: limits[0],
                            clip_high: limits[1],
                            supported: u32::from(supported),
                            later: 0,
                        },
                        $work,
                    )
                };
            }
            match (shape.rows, by) {
                (64, _) => launch!(PtychoPiePass64, Work::Blocks(2)),
                (_, By::Block) => launch!(PtychoPiePass128, Work::Blocks(2)),
                (_, By::Cluster) => launch!(PtychoPieCluster128, Work::Clusters(2)),
                (_, By::ExactCluster) => launch!(
                    PtychoPieClusterExact128,
                    Work::Clusters(2),
                    probe_spectrum.write,
                    fractions.read
                ),
            }
        },
        |on, (object, probe, found, probe_spectrum)| {
            let mut worst = on.error(object, &o)?.max(on.error(probe, &p)?);
            if by == By::ExactCluster {
                worst = worst.max(on.error(probe_spectrum, &new_spectrum)?);
            }
            Ok(worst.max(worst_metric(on, found, &metrics)?))
        },
    )
}
