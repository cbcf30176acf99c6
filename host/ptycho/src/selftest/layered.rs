//! Kernels with objects of several layers, and `ptycho_exposure_points` and
//! `ptycho_layered_line_waves`.

use super::batch_waves::{Batch, SCALE};
use super::shape::{PixelIndices, Shape, Source};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    exposure_points::PtychoExposurePoints, layered_line_waves::PtychoLayeredLineWaves,
    object_direction::PtychoObjectDirection, window_product::PtychoWindowProduct,
    window_residual::PtychoWindowResidual,
};
use warpstride_selftest::bench::{Bench, Case, wide};

/// Object pixels of a tile (rows, columns).
const TILE: [u32; 2] = [8, 32];
/// Layers of the object.
const LAYERS: u32 = 3;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for conjugate in [false, true] {
        product(bench, shape, conjugate)?;
    }
    residual(bench, shape)?;
    object_direction(bench, shape)?;
    line_waves(bench, shape)?;
    for (points, same) in [(1, false), (3, false), (4, true)] {
        exposure_points(bench, shape, points, same)?;
    }
    Ok(())
}

/// The wave behind a layer, of a value of a shifted probe of the batch.
fn behind(at: &PixelIndices, layer: usize, shape: &Shape) -> usize {
    let of_frame = shape.probe_elements();
    let frame = at.wave / of_frame.max(1);
    (frame * LAYERS as usize + layer) * of_frame + at.wave % of_frame.max(1)
}

fn label(shape: &Shape, batch: &Batch) -> String {
    format!("{shape}, {}, {LAYERS} layers", batch.label())
}

fn product<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, conjugate: bool) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("layered product", &shape);
    let batch = Batch::new(&mut source, &shape);
    let elements = batch.elements(&shape);
    let layered = elements * LAYERS as usize;
    let size = shape.object_elements();
    let (from_len, to_len) = if conjugate {
        (layered, elements)
    } else {
        (elements, layered)
    };
    let waves = source.complex(from_len);
    let values = source.complex(size * LAYERS as usize);
    let windows = source.corners(&shape);
    let mut reference = vec![Complex::<f64>::default(); to_len];
    for at in shape.indices(&batch.of(&windows)) {
        for layer in 0..LAYERS as usize {
            let o = wide(values[layer * size + at.object]);
            let wave = behind(&at, layer, &shape);
            if conjugate {
                reference[at.wave] += wide(waves[wave]) * o.conj();
            } else {
                reference[wave] = wide(waves[at.wave]) * o;
            }
        }
    }
    let from = on.upload(&waves)?;
    let grid = on.upload(&values)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let text = format!(
        "{}{}",
        label(&shape, &batch),
        if conjugate { ", conjugate" } else { "" }
    );
    bench.run(
        Case::of::<PtychoWindowProduct<'_, Emulated>>(text),
        on.poisoned::<Complex32>(to_len)?,
        |device, to| {
            let launch = PtychoWindowProduct {
                to: to.write(),
                from: from.read(),
                grid: grid.read(),
                corners: corners.read(),
                order: order.read(),
                frames: shape.frames,
                first: batch.first,
                count: batch.count,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                parts: shape.parts,
                to_first: 0,
                from_first: 0,
                conjugate: u32::from(conjugate),
                sources: batch.count,
                to_layers: if conjugate { 1 } else { LAYERS },
                from_layers: if conjugate { LAYERS } else { 1 },
            };
            device.launch(&launch, Work::Blocks((batch.count * shape.parts) as usize))
        },
        |on, to| on.error(to, &reference),
    )
}

fn residual<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("layered residual", &shape);
    let batch = Batch::new(&mut source, &shape);
    let elements = batch.elements(&shape);
    let size = shape.object_elements();
    let waves = source.complex(elements * LAYERS as usize);
    let shifted = source.complex(elements);
    let values = source.complex(size * LAYERS as usize);
    let windows = source.corners(&shape);
    let mut reference = vec![Complex::<f64>::default(); elements];
    for at in shape.indices(&batch.of(&windows)) {
        for layer in 0..LAYERS as usize {
            let o = wide(values[layer * size + at.object]);
            let psi = wide(waves[behind(&at, layer, &shape)]) * f64::from(SCALE);
            reference[at.wave] += o.conj() * (psi - wide(shifted[at.wave]) * o);
        }
    }
    let psi = on.upload(&waves)?;
    let probes = on.upload(&shifted)?;
    let object = on.upload(&values)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    bench.run(
        Case::of::<PtychoWindowResidual<'_, Emulated>>(label(&shape, &batch)),
        on.poisoned::<Complex32>(elements)?,
        |device, to| {
            let launch = PtychoWindowResidual {
                to: to.write(),
                psi: psi.read(),
                probes: probes.read(),
                object: object.read(),
                corners: corners.read(),
                order: order.read(),
                frames: shape.frames,
                first: batch.first,
                count: batch.count,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                parts: shape.parts,
                psi_first: 0,
                layers: LAYERS,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks((batch.count * shape.parts) as usize))
        },
        |on, to| on.error(to, &reference),
    )
}

fn object_direction<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("layered object direction", &shape);
    let batch = Batch::whole(&mut source, &shape);
    let elements = batch.elements(&shape);
    let size = shape.object_elements();
    let shifted = source.complex(elements);
    let waves = source.complex(elements * LAYERS as usize);
    let windows = source.corners(&shape);
    let mut numerators = vec![Complex::<f64>::default(); size * LAYERS as usize];
    let mut denominators = vec![0.0; size];
    // Without frames nothing is written.
    let before = source.complex(numerators.len());
    if batch.count == 0 {
        return Ok(());
    }
    for at in shape.indices(&batch.of(&windows)) {
        let p = wide(shifted[at.wave]);
        denominators[at.object] += p.norm_sqr();
        for layer in 0..LAYERS as usize {
            let wave = wide(waves[behind(&at, layer, &shape)]);
            numerators[layer * size + at.object] += p.conj() * wave * f64::from(SCALE);
        }
    }
    let probes = on.upload(&shifted)?;
    let chi = on.upload(&waves)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let tiles = shape.object_rows.div_ceil(TILE[0]) * shape.object_columns.div_ceil(TILE[1]);
    bench.run(
        Case::of::<PtychoObjectDirection<'_, Emulated>>(label(&shape, &batch)),
        (on.upload(&before)?, on.poisoned::<f32>(size)?),
        |device, (numerators, weights)| {
            let launch = PtychoObjectDirection {
                numerators: numerators.write(),
                weights: weights.write(),
                probes: probes.read(),
                chi: chi.read(),
                corners: corners.read(),
                order: order.read(),
                frames: shape.frames,
                first: batch.first,
                count: batch.count,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                chi_first: 0,
                add: 0,
                layers: LAYERS,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks((tiles * LAYERS) as usize))
        },
        |on, (sums, weights)| {
            let error = on.error(sums, &numerators)?;
            Ok(error.max(on.error(weights, &denominators)?))
        },
    )
}

fn line_waves<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("layered line waves", &shape);
    let batch = Batch::new(&mut source, &shape);
    let elements = batch.elements(&shape);
    let size = shape.object_elements();
    let [p, change] = [0, 1].map(|_| source.complex(elements));
    let [o, h] = [0, 1].map(|_| source.complex(size * LAYERS as usize));
    let windows = source.corners(&shape);
    let all = elements * LAYERS as usize;
    let mut waves = [0, 1, 2].map(|_| vec![Complex::<f64>::default(); all]);
    for at in shape.indices(&batch.of(&windows)) {
        let [p, change] = [wide(p[at.wave]), wide(change[at.wave])];
        for layer in 0..LAYERS as usize {
            let place = layer * size + at.object;
            let [o, h] = [wide(o[place]), wide(h[place])];
            let wave = behind(&at, layer, &shape);
            let values = [p * o, p * h + change * o, change * h];
            for (to, value) in waves.iter_mut().zip(values) {
                to[wave] = value;
            }
        }
    }
    let probes = on.upload(&p)?;
    let changes = on.upload(&change)?;
    let object = on.upload(&o)?;
    let direction = on.upload(&h)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    bench.run(
        Case::of::<PtychoLayeredLineWaves<'_, Emulated>>(label(&shape, &batch))
            .timed(shape.timed, 16 * elements + 24 * all + 16 * o.len()),
        (
            on.poisoned::<Complex32>(all)?,
            on.poisoned::<Complex32>(all)?,
            on.poisoned::<Complex32>(all)?,
        ),
        |device, (f, mixed, b)| {
            let launch = PtychoLayeredLineWaves {
                f: f.write(),
                mixed: mixed.write(),
                b: b.write(),
                probes: probes.read(),
                changes: changes.read(),
                object: object.read(),
                direction: direction.read(),
                corners: corners.read(),
                order: order.read(),
                frames: shape.frames,
                first: batch.first,
                count: batch.count,
                layers: LAYERS,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                parts: shape.parts,
            };
            device.launch(&launch, Work::Blocks((batch.count * shape.parts) as usize))
        },
        |on, (f, mixed, b)| {
            let error = on.error(f, &waves[0])?.max(on.error(mixed, &waves[1])?);
            Ok(error.max(on.error(b, &waves[2])?))
        },
    )
}

fn exposure_points<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    points: u32,
    same: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("exposure points", &shape);
    let batch = Batch::new(&mut source, &shape);
    let fractions = source.fractions(&shape);
    let scales = source.scales(&shape);
    let windows = source.corners(&shape);
    let mut paths = source.fractions(&shape);
    if same {
        paths = vec![[0.7, -1.1]];
    }
    let count = batch.count as usize * points as usize;
    let (mut at, mut shares, mut places, mut order_of) = (vec![], vec![], vec![], vec![]);
    for frame in batch.frames().iter().map(|frame| *frame as usize) {
        let path = paths[if same { 0 } else { frame }];
        for point in 0..points {
            let part = (f64::from(point) - 0.5 * f64::from(points - 1)) / f64::from(points);
            at.extend([0, 1].map(|n| f64::from(fractions[frame][n]) + part * f64::from(path[n])));
            shares.push(f64::from(scales[frame]) / f64::from(points));
            places.push(windows[frame]);
            order_of.push(order_of.len() as u32);
        }
    }
    let uploaded = (on.upload(&windows)?, on.upload(&fractions)?);
    let (of_frames, path, order) = (
        on.upload(&scales)?,
        on.upload(&paths)?,
        on.upload(&batch.order)?,
    );
    let text = format!(
        "{shape}, {}, {points} points{}",
        batch.label(),
        if same { ", one path" } else { "" }
    );
    bench.run(
        Case::of::<PtychoExposurePoints<'_, Emulated>>(text),
        (
            (
                on.upload(&vec![[0_u32; 2]; count])?,
                on.upload(&vec![[0_f32; 2]; count])?,
            ),
            (
                on.poisoned::<f32>(count)?,
                on.upload(&vec![u32::MAX; count])?,
            ),
        ),
        |device, ((point_corners, point_fractions), (point_scales, point_order))| {
            let launch = PtychoExposurePoints {
                point_corners: point_corners.write(),
                point_fractions: point_fractions.write(),
                point_scales: point_scales.write(),
                point_order: point_order.write(),
                corners: uploaded.0.read(),
                fractions: uploaded.1.read(),
                scales: of_frames.read(),
                paths: path.read(),
                order: order.read(),
                frames: shape.frames,
                path_frames: paths.len() as u32,
                first: batch.first,
                count: batch.count,
                points,
                scaled: 1,
            };
            device.launch(&launch, Work::Elements(count))
        },
        |on, ((point_corners, point_fractions), (point_scales, point_order))| {
            let mut windows = vec![[0; 2]; count];
            let mut found = vec![[0.0_f32; 2]; count];
            let mut numbers = vec![0; count];
            on.download(point_corners, &mut windows)?;
            on.download(point_fractions, &mut found)?;
            on.download(point_order, &mut numbers)?;
            let exact = windows == places && numbers == order_of;
            let pairs = found.iter().flatten().zip(&at);
            let error = pairs
                .map(|(a, b)| (f64::from(*a) - b).abs())
                .fold(0.0, f64::max);
            let error = if exact { error } else { f64::INFINITY };
            Ok(error.max(on.error(point_scales, &shares)?))
        },
    )
}
