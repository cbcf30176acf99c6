//! The kernels `ptycho_object_direction`, `ptycho_probe_direction`, `ptycho_slice_sums`,
//! `ptycho_step_sums` and `ptycho_position_equations`.

use super::batch_waves::{Batch, Measured, SCALE, frequencies, ramp};
use super::shape::{Shape, Source};
use crate::MAGNITUDE_FLOOR;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    object_direction::PtychoObjectDirection, position_equations::PtychoPositionEquations,
    probe_direction::PtychoProbeDirection, slice_sums::PtychoSliceSums, step_sums::PtychoStepSums,
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide, wide};

/// Object pixels of a tile (rows, columns).
const TILE: [u32; 2] = [8, 32];

/// Threads per block of the probe's direction.
const BLOCK: usize = 256;

/// Whether the frames' scales are used, whether the sums are added to what is there, and whether
/// shares of the batch have slices of their own.
const PROBE_DIRECTIONS: [[bool; 3]; 4] = [
    [false, false, false],
    [true, false, false],
    [true, true, false],
    [false, false, true],
];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for (whole, chi_first, add) in [(false, 0, false), (false, 2, true), (true, 0, false)] {
        object(bench, shape, whole, chi_first, add)?;
    }
    for options in PROBE_DIRECTIONS {
        probe(bench, shape, options)?;
    }
    slices(bench, shape)?;
    steps(bench, shape, false)?;
    steps(bench, shape, true)?;
    equations(bench, shape)
}

/// Part of a case's description.
fn add_label(add: bool) -> &'static str {
    if add { ", added" } else { "" }
}

/// Sets what is there to 0 if it is overwritten. (Without frames nothing is.)
fn start<T: Copy + Default>(values: &mut [T], add: bool, shape: &Shape) {
    if !add && shape.frames > 0 {
        values.fill(T::default());
    }
}

/// The waves of the batch begin at frame `chi_first`.
fn object<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    whole: bool,
    chi_first: u32,
    add: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("object direction", &shape);
    let batch = if whole {
        Batch::whole(&mut source, &shape)
    } else {
        Batch::new(&mut source, &shape)
    };
    let elements = batch.elements(&shape);
    let skipped = chi_first as usize * shape.probe_elements();
    let shifted = source.complex(elements);
    let waves = source.complex(skipped + elements);
    let windows = source.corners(&shape);
    let sums = source.complex(shape.object_elements());
    let powers = source.reals(shape.object_elements(), 0.0, 1.0);
    let (mut numerators, mut denominators) = (all_wide(&sums), all_f64(&powers));
    start(&mut numerators, add, &shape);
    start(&mut denominators, add, &shape);
    for at in shape.indices(&batch.of(&windows)) {
        let p = wide(shifted[at.wave]);
        numerators[at.object] += p.conj() * wide(waves[skipped + at.wave]) * f64::from(SCALE);
        denominators[at.object] += p.norm_sqr();
    }
    let probes = on.upload(&shifted)?;
    let chi = on.upload(&waves)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        ..
    } = shape;
    let tiles = object_rows.div_ceil(TILE[0]) * object_columns.div_ceil(TILE[1]);
    let text = format!(
        "{shape}, {}, χ from frame {chi_first}{}",
        batch.label(),
        add_label(add)
    );
    bench.run(
        Case::of::<PtychoObjectDirection<'_, Emulated>>(text).timed(
            shape.timed,
            16 * elements + 12 * shape.object_elements() * (1 + usize::from(add)),
        ),
        (on.upload(&sums)?, on.upload(&powers)?),
        |device, (numerators, weights)| {
            let launch = PtychoObjectDirection {
                numerators: numerators.write(),
                weights: weights.write(),
                probes: probes.read(),
                chi: chi.read(),
                corners: corners.read(),
                order: order.read(),
                frames,
                first: batch.first,
                count: batch.count,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                chi_first,
                add: u32::from(add),
                layers: 1,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(tiles as usize))
        },
        |on, (sums, weights)| {
            Ok(on
                .error(sums, &numerators)?
                .max(on.error(weights, &denominators)?))
        },
    )
}

fn probe<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    [scaled, add, apart]: [bool; 3],
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("probe direction", &shape);
    let batch = Batch::new(&mut source, &shape);
    let slices = if apart { 8 } else { shape.slices };
    // Where the shares end, one of them empty.
    let third = batch.count / 3;
    let ends = [third, third, batch.count - batch.count / 4, batch.count];
    let transformed = source.complex(batch.elements(&shape));
    let values = source.complex(shape.object_elements());
    let windows = source.corners(&shape);
    let (shifts, factors) = (source.fractions(&shape), source.scales(&shape));
    let before = source.complex(slices as usize * shape.probe_elements());
    let powers = source.reals(slices as usize * shape.pixels(), 0.0, 1.0);
    let (mut numerators, mut denominators) = (all_wide(&before), all_f64(&powers));
    if !add {
        numerators.fill(Complex::default());
        denominators.fill(0.0);
    }
    let length = Shape::slice_length(batch.count as usize, slices);
    for at in shape.indices(&batch.of(&windows)) {
        let frame = batch.frames()[at.frame] as usize;
        let slice = if apart {
            let share = ends.iter().filter(|end| at.frame >= **end as usize).count();
            let first = if share == 0 { 0 } else { ends[share - 1] };
            let of_share = Shape::slice_length((ends[share] - first) as usize, 2);
            2 * share + (at.frame - first as usize) / of_share
        } else {
            at.frame / length
        };
        let scale = if scaled {
            f64::from(factors[frame])
        } else {
            1.0
        };
        let back = ramp(frequencies(&shape, at.pixel), shifts[frame]).conj();
        numerators[slice * shape.probe_elements() + at.probe] +=
            back * wide(transformed[at.wave]) * scale.sqrt();
        if at.first_mode {
            denominators[slice * shape.pixels() + at.pixel] +=
                wide(values[at.object]).norm_sqr() * scale;
        }
    }
    let spectra = on.upload(&transformed)?;
    let object = on.upload(&values)?;
    let corners = on.upload(&windows)?;
    let fractions = on.upload(&shifts)?;
    // Scales that must not be read are NaN.
    let scales = if scaled {
        on.upload(&factors)?
    } else {
        on.poisoned(factors.len())?
    };
    let order = on.upload(&batch.order)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        ..
    } = shape;
    let blocks = (slices * modes) as usize * shape.pixels().div_ceil(BLOCK);
    let text = format!(
        "{shape}, {}, {slices} slices{}{}{}",
        batch.label(),
        if apart { " of shares" } else { "" },
        if scaled { ", scaled" } else { "" },
        add_label(add)
    );
    bench.run(
        Case::of::<PtychoProbeDirection<'_, Emulated>>(text).timed(
            shape.timed,
            8 * (transformed.len() + values.len())
                + (8 * before.len() + 4 * powers.len()) * (1 + usize::from(add)),
        ),
        (on.upload(&before)?, on.upload(&powers)?),
        |device, (sums, weights)| {
            let launch = PtychoProbeDirection {
                sums: sums.write(),
                weights: weights.write(),
                spectra: spectra.read(),
                object: object.read(),
                corners: corners.read(),
                fractions: fractions.read(),
                scales: scales.read(),
                order: order.read(),
                frames,
                first: batch.first,
                count: batch.count,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                slices,
                scaled: u32::from(scaled),
                add: u32::from(add),
                apart: u32::from(apart),
                end_0: ends[0],
                end_1: ends[1],
                layers: 1,
                end_2: ends[2],
            };
            device.launch(&launch, Work::Blocks(blocks))
        },
        |on, (sums, weights)| {
            Ok(on
                .error(sums, &numerators)?
                .max(on.error(weights, &denominators)?))
        },
    )
}

/// The slices other than the first must stay.
fn slices<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("slices", &shape);
    let (slices, elements, pixels) = (shape.slices, shape.probe_elements(), shape.pixels());
    let before = source.complex(slices as usize * elements);
    let powers = source.reals(slices as usize * pixels, 0.0, 1.0);
    let (mut numerators, mut denominators) = (all_wide(&before), all_f64(&powers));
    for (at, value) in before.iter().enumerate().skip(elements) {
        numerators[at % elements] += wide(*value);
    }
    for (at, value) in powers.iter().enumerate().skip(pixels) {
        denominators[at % pixels] += f64::from(*value);
    }
    for value in &mut numerators[..elements] {
        *value *= f64::from(SCALE);
    }
    bench.run(
        Case::of::<PtychoSliceSums<'_, Emulated>>(format!(
            "{slices} slices of {} × {pixels}",
            shape.modes
        ))
        .timed(
            shape.timed,
            8 * (before.len() + elements) + 4 * (powers.len() + pixels),
        ),
        (on.upload(&before)?, on.upload(&powers)?),
        |device, (sums, weights)| {
            let launch = PtychoSliceSums {
                sums: sums.write(),
                weights: weights.write(),
                slices,
                elements: elements as u32,
                pixels: pixels as u32,
                apart: u32::from(shape.slices > 4),
                scale: SCALE,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, (sums, weights)| {
            Ok(on
                .error(sums, &numerators)?
                .max(on.error(weights, &denominators)?))
        },
    )
}

/// With `same`, all frames have the same probe and the same change of it.
fn steps<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, same: bool) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("step sums", &shape);
    let batch = Batch::new(&mut source, &shape);
    let elements = batch.elements(&shape);
    let of_probe = if same {
        shape.probe_elements()
    } else {
        elements
    };
    let [shifted, changes] = [0; 2].map(|_| source.complex(of_probe));
    let waves = source.complex(elements);
    let [values, steps] = [0; 2].map(|_| source.complex(shape.object_elements()));
    let windows = source.corners(&shape);
    let parts = shape.parts;
    let of_part = shape.pixels().div_ceil(parts as usize);
    let mut reference = vec![[0.0; 5]; (batch.count * parts) as usize];
    for at in shape.indices(&batch.of(&windows)) {
        let own = if same { at.wave % of_probe } else { at.wave };
        let a = wide(steps[at.object]) * wide(shifted[own]);
        let b = wide(changes[own]) * wide(values[at.object]);
        let chi = wide(waves[at.wave]);
        let product = |x: Complex<f64>, y: Complex<f64>| (x.conj() * y).re;
        let terms = [
            product(a, a),
            product(a, b),
            product(b, b),
            product(a, chi),
            product(b, chi),
        ];
        let part = at.wave % shape.pixels() / of_part;
        for (sum, term) in (reference[at.frame * parts as usize + part].iter_mut()).zip(terms) {
            *sum += term;
        }
    }
    let probes = on.upload(&shifted)?;
    let probe_changes = on.upload(&changes)?;
    let chi = on.upload(&waves)?;
    let object = on.upload(&values)?;
    let direction = on.upload(&steps)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        ..
    } = shape;
    bench.run(
        Case::of::<PtychoStepSums<'_, Emulated>>(format!(
            "{shape}, {}{}",
            batch.label(),
            if same { ", the same probe for all" } else { "" }
        ))
        .timed(
            shape.timed,
            8 * elements + 16 * of_probe + 16 * values.len(),
        ),
        on.poisoned::<[f32; 5]>(reference.len())?,
        |device, sums| {
            let launch = PtychoStepSums {
                sums: sums.write(),
                probes: probes.read(),
                probe_changes: probe_changes.read(),
                chi: chi.read(),
                object: object.read(),
                direction: direction.read(),
                corners: corners.read(),
                order: order.read(),
                frames,
                first: batch.first,
                count: batch.count,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                layers: 1,
                sources: if same { 1 } else { batch.count },
                parts,
            };
            device.launch(&launch, Work::Blocks((batch.count * parts) as usize))
        },
        |on, sums| on.error(sums, &reference),
    )
}

/// Sums of a frame, from the modelled intensities and measured magnitudes of its `pixels`, its
/// spectra and their derivatives; `factor` is that of the intensities.
fn frame_equations(
    pixels: &[[f64; 2]],
    factor: f64,
    [spectra, by_row, by_column]: [&[Complex32]; 3],
) -> [f64; 9] {
    let mut sums = [0.0; 9];
    for (pixel, [intensity, measured]) in pixels.iter().enumerate() {
        if *measured < 0.0 {
            continue;
        }
        let root = intensity.sqrt();
        let product = |derivative: &[Complex32]| -> f64 {
            let each = spectra.iter().zip(derivative);
            let modes = each.skip(pixel).step_by(pixels.len());
            let sum: f64 = modes.map(|(f, d)| (wide(*f).conj() * wide(*d)).re).sum();
            sum * factor / (root + MAGNITUDE_FLOOR)
        };
        let jacobian = [product(by_row), product(by_column), root / 2.0];
        let [r, c, s] = jacobian;
        let [pr, pc, ps] = jacobian.map(|v| v * (measured - root));
        let terms = [r * r, r * c, c * c, r * s, c * s, s * s, pr, pc, ps];
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }
    sums
}

fn equations<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("equations", &shape);
    let batch = Batch::new(&mut source, &shape);
    let data = Measured::new(&mut source, &shape, &batch);
    let [rows, columns] = [0; 2].map(|_| source.complex(data.spectra.len()));
    let before: Vec<[f32; 9]> = (0..shape.frames)
        .map(|_| {
            let values = source.reals(9, 0.0, 1.0);
            std::array::from_fn(|n| values[n])
        })
        .collect();
    // The equations of the other frames must stay.
    let mut reference: Vec<[f64; 9]> = before.iter().map(|e| e.map(f64::from)).collect();
    for (member, frame) in batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        let range = member * shape.probe_elements()..(member + 1) * shape.probe_elements();
        let spectra = &data.spectra[range.clone()];
        reference[frame] = frame_equations(
            &data.pixels(&shape, frame, spectra),
            data.factor(frame),
            [spectra, &rows[range.clone()], &columns[range]],
        );
    }
    let spectra = on.upload(&data.spectra)?;
    let by_row = on.upload(&rows)?;
    let by_column = on.upload(&columns)?;
    let magnitudes = on.upload(&data.magnitudes)?;
    let scales = on.upload(&data.scales)?;
    let order = on.upload(&batch.order)?;
    let Shape { frames, modes, .. } = shape;
    let pixels = shape.pixels() as u32;
    bench.run(
        Case::of::<PtychoPositionEquations<'_, Emulated>>(format!("{shape}, {}", batch.label()))
            .timed(
                shape.timed,
                24 * data.spectra.len() + 4 * (batch.count * pixels) as usize,
            ),
        on.upload(&before)?,
        |device, equations| {
            let launch = PtychoPositionEquations {
                equations: equations.write(),
                spectra: spectra.read(),
                by_row: by_row.read(),
                by_column: by_column.read(),
                magnitudes: magnitudes.read(),
                scales: scales.read(),
                order: order.read(),
                frames,
                first: batch.first,
                count: batch.count,
                modes,
                pixels,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(batch.count as usize))
        },
        |on, equations| on.error(equations, &reference),
    )
}
