//! The kernels `ptycho_batch_sums` and `ptycho_batch_step_sums`.

use super::super::batch_waves::Batch;
use super::super::shape::{Shape, Source};
use super::values::ranges;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    batch_step_sums::PtychoBatchStepSums,
    batch_sums::PtychoBatchSums,
    pie_pass::{OBJECT, PROBE},
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide, wide};

/// An arbitrary factor on numerators.
const SCALE: f32 = 0.37;

/// `apart`: every frame has a probe of its own, and the sums on the probe are those of spectra.
pub(super) fn sums<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    updates: u32,
    apart: bool,
) -> Result<()> {
    for whole in [true, false] {
        sums_within(bench, shape, (updates, apart), whole)?;
    }
    Ok(())
}

/// The pixels under windows at `corners` (top, left, bottom, right), from a whole tile on.
pub(super) fn bounds_of(shape: &Shape, corners: &[[u32; 2]]) -> [u32; 4] {
    let axis = |axis: usize| corners.iter().map(move |corner| corner[axis]);
    let least = |of: usize| axis(of).min().unwrap_or(0);
    let most = |of: usize, length: u32| axis(of).max().map_or(0, |last| last + length);
    [
        least(0) / 8 * 8,
        least(1) / 32 * 32,
        most(0, shape.rows),
        most(1, shape.columns),
    ]
}

/// On the whole object, or within the bounds of the batch.
fn sums_within<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (updates, apart): (u32, bool),
    whole: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("batch sums", &shape);
    let batch = Batch::new(&mut source, &shape);
    let most = batch.count + 1;
    let waves = source.complex(most as usize * shape.probe_elements());
    let probes = if apart { most } else { 1 };
    let p = source.complex(probes as usize * shape.probe_elements());
    let o = source.complex(shape.object_elements());
    // Fewer and more than the frames of the batch.
    let slices = match (apart, shape.parts) {
        (false, _) => 0,
        (true, parts) if parts > 1 => batch.count / 2 + 1,
        (true, _) => batch.count + 1,
    };
    let summands = source.complex(slices as usize * shape.probe_elements());
    let windows = source.corners(&shape);
    let old = [
        source.complex(shape.object_elements()),
        source.complex(shape.probe_elements()),
    ];
    let old_weights = [
        source.reals(shape.object_elements(), 0.0, 1.0),
        source.reals(shape.pixels(), 0.0, 1.0),
    ];
    let mut numerators = old.each_ref().map(|values| all_wide(values));
    let mut weights = old_weights.each_ref().map(|values| all_f64(values));
    let bounds = if whole {
        [0, 0, shape.object_rows, shape.object_columns]
    } else {
        bounds_of(&shape, &batch.of(&windows))
    };
    let [top, left, bottom, right] = bounds.map(|n| n as usize);
    // The tiles within the bounds.
    let ends = [bottom.next_multiple_of(8), right.next_multiple_of(32)];
    let columns = shape.object_columns as usize;
    let within = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        (top..ends[0]).contains(&row) && (left..ends[1]).contains(&column)
    };
    let mut untouched = vec![false; shape.object_elements()];
    for (n, bit) in [OBJECT, PROBE].into_iter().enumerate() {
        for at in 0..numerators[n].len() {
            if n == 0 && !within(at) {
                untouched[at] = true;
            } else if updates & bit != 0 {
                let pixel = if n == 0 { at } else { at % shape.pixels() };
                (numerators[n][at], weights[n][pixel]) = (Complex::default(), 0.0);
            }
        }
    }
    for at in shape.indices(&batch.of(&windows)) {
        let own = if apart { at.wave } else { at.probe };
        let (probe, object) = (wide(p[own]), wide(o[at.object]));
        let chi = wide(waves[at.wave]) * f64::from(SCALE);
        if updates & OBJECT != 0 {
            numerators[0][at.object] += probe.conj() * chi;
            weights[0][at.object] += probe.norm_sqr();
        }
        if updates & PROBE != 0 {
            if !apart {
                numerators[1][at.probe] += object.conj() * chi;
            } else if at.frame < slices as usize {
                numerators[1][at.probe] += wide(summands[at.wave]) * f64::from(SCALE);
            }
            if at.probe < shape.pixels() {
                weights[1][at.probe] += object.norm_sqr();
            }
        }
    }
    let most_of = |n: usize, bit: u32| {
        let of_frames = |(at, weight): (usize, &f64)| {
            if n == 0 && untouched[at] {
                0.0
            } else {
                *weight
            }
        };
        let largest = weights[n]
            .iter()
            .enumerate()
            .map(of_frames)
            .fold(0.0, f64::max);
        if updates & bit != 0 { largest } else { 0.0 }
    };
    let largest_weights = [most_of(0, OBJECT), most_of(1, PROBE)];
    let probe = on.upload(&p)?;
    let spectra = on.upload(&summands)?;
    let chi = on.upload(&waves)?;
    let object = on.upload(&o)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&ranges(&batch))?;
    // An empty share among them.
    let third = batch.count / 3;
    let ends = [third, third, batch.count.saturating_sub(1), batch.count];
    let share_ends = on.upload(&[[9_u32; 4], ends, [0; 4]])?;
    let given_bounds = on.upload(&[[0; 4], bounds, [0; 4]])?;
    let tiles = shape.object_rows.div_ceil(8) * shape.object_columns.div_ceil(32);
    let blocks = tiles as usize + shape.pixels().div_ceil(32) * shape.modes as usize;
    bench.run(
        Case::of::<PtychoBatchSums<'_, Emulated>>(format!(
            "{shape}, {}, updates {updates}, {probes} probes, {slices} slices{}",
            batch.label(),
            if whole { "" } else { ", within bounds" }
        ))
        .timed(
            shape.timed && whole,
            8 * batch.elements(&shape) + 12 * (shape.object_elements() + shape.probe_elements()),
        ),
        (
            (on.upload(&old[0])?, on.upload(&old_weights[0])?),
            (on.upload(&old[1])?, on.upload(&old_weights[1])?),
            (on.upload(&[0_u32; 2])?, on.upload(&[[7_u32; 4]])?),
        ),
        |device, ((numerators, weights), (sums, probe_weights), (largest, bounds))| {
            let launch = PtychoBatchSums {
                numerators: numerators.write(),
                weights: weights.write(),
                sums: sums.write(),
                probe_weights: probe_weights.write(),
                largest: largest.write(),
                bounds: bounds.write(),
                probe: probe.read(),
                spectra: spectra.read(),
                chi: chi.read(),
                object: object.read(),
                corners: corners.read(),
                order: order.read(),
                ranges: ranges.read(),
                share_ends: share_ends.read(),
                given_bounds: given_bounds.read(),
                frames: shape.frames,
                most,
                batches: 3,
                batch: 1,
                probes,
                slices,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                updates,
                // Given, or found from the windows.
                given: if apart { 3 } else { 0 },
                whole: u32::from(whole),
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(blocks))
        },
        |on, (object, probe, (largest, found_bounds))| {
            let mut bits = [0_u32; 2];
            on.download(largest, &mut bits)?;
            let mut found = [[0_u32; 4]];
            on.download(found_bounds, &mut found)?;
            let mut worst: f64 = if found[0] == bounds { 0.0 } else { 1.0 };
            for (bits, most) in bits.iter().zip(largest_weights) {
                let found = f64::from(f32::from_bits(*bits));
                worst = worst.max((found - most).abs() / most.max(1e-30));
            }
            for (n, (sums, of)) in [object, probe].into_iter().enumerate() {
                worst = worst.max(on.error(sums, &numerators[n])?);
                worst = worst.max(on.error(of, &weights[n])?);
            }
            Ok(worst)
        },
    )
}

pub(super) fn step_sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("batch step sums", &shape);
    let batch = Batch::new(&mut source, &shape);
    let most = batch.count + 1;
    let parts = shape.parts;
    let waves = source.complex(most as usize * shape.pixels());
    let [p, change] = [0; 2].map(|_| source.complex(shape.pixels()));
    let [o, along] = [0; 2].map(|_| source.complex(shape.object_elements()));
    let windows = source.corners(&shape);
    let share = Shape::slice_length(shape.pixels(), parts);
    let mut reference = vec![[0.0; 5]; (batch.count * parts) as usize];
    for at in shape.indices(&batch.of(&windows)) {
        let a = wide(along[at.object]) * wide(p[at.probe]);
        let b = wide(change[at.probe]) * wide(o[at.object]);
        let chi = wide(waves[at.wave]);
        let product = |x: Complex<f64>, y: Complex<f64>| (x.conj() * y).re;
        let terms = [
            product(a, a),
            product(a, b),
            product(b, b),
            product(a, chi),
            product(b, chi),
        ];
        let part = at.frame * parts as usize + at.pixel / share;
        for (sum, term) in reference[part].iter_mut().zip(terms) {
            *sum += term;
        }
    }
    // Sums after the last frame must stay.
    let old = vec![[0.5_f32; 5]; parts as usize];
    let mut all = vec![[0.0_f32; 5]; reference.len()];
    all.extend(old);
    reference.extend(vec![[0.5; 5]; parts as usize]);
    let probe = on.upload(&p)?;
    let probe_direction = on.upload(&change)?;
    let chi = on.upload(&waves)?;
    let object = on.upload(&o)?;
    let direction = on.upload(&along)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&ranges(&batch))?;
    bench.run(
        Case::of::<PtychoBatchStepSums<'_, Emulated>>(format!(
            "{shape}, {}, {parts} parts",
            batch.label()
        ))
        .timed(shape.timed, 8 * batch.elements(&shape) + 16 * o.len()),
        on.upload(&all)?,
        |device, sums| {
            let launch = PtychoBatchStepSums {
                sums: sums.write(),
                probe: probe.read(),
                probe_direction: probe_direction.read(),
                chi: chi.read(),
                object: object.read(),
                direction: direction.read(),
                corners: corners.read(),
                order: order.read(),
                ranges: ranges.read(),
                frames: shape.frames,
                most,
                batches: 3,
                batch: 1,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                parts,
            };
            device.launch(&launch, Work::Blocks((most * parts) as usize))
        },
        |on, sums| on.largest_error(sums, &reference),
    )
}
