//! The kernels of batches at exact positions: `ptycho_exact_chi_*`, `…_modes_*`, `…_step_sums_*`,
//! `…_finish_*` and `…_advance_*`.

use super::super::batch_waves::{Batch, frequencies, ramp};
use super::super::shape::{Shape, Source};
use super::scan::{Scan, worst_metric};
use super::update::{ADVANCES, Advance, Advanced, DENOMINATORS, Divided, bounds};
use super::values::{narrow, ranges};
use crate::engines::step_plan::holds_modes;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    exact_advance::{PtychoExactAdvance64, PtychoExactAdvance128},
    exact_chi::{PtychoExactChi64, PtychoExactChi128},
    exact_finish::{PtychoExactFinish64, PtychoExactFinish128},
    exact_modes::{PtychoExactModes64, PtychoExactModes128},
    exact_step_sums::{PtychoExactStepSums64, PtychoExactStepSums128},
    pie_pass::{OBJECT, PROBE},
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide, wide};
use warpstride_selftest::transform::reference_transform;

/// `Case::of` the kernel of this size.
macro_rules! case_by_side {
    ($shape:expr, $text:expr, $small:ident | $large:ident) => {
        if $shape.rows == 64 {
            Case::of::<$small<'_, Emulated>>($text)
        } else {
            Case::of::<$large<'_, Emulated>>($text)
        }
    };
}

/// Launches the kernel of this size.
macro_rules! launch_by_side {
    ($device:expr, $shape:expr, $work:expr, $small:ident | $large:ident $fields:tt) => {
        if $shape.rows == 64 {
            $device.launch(&$small $fields, $work)
        } else {
            $device.launch(&$large $fields, $work)
        }
    };
}

fn side(shape: &Shape) -> [usize; 2] {
    [shape.rows as usize, shape.columns as usize]
}

/// Transforms every layer of (layer, row, column).
pub(super) fn transform(shape: &Shape, layers: &mut [Complex<f64>], direction: Direction) {
    for layer in layers.chunks_mut(shape.pixels()) {
        reference_transform(layer, side(shape), direction);
    }
}

/// The unnormalised transforms of layers, rounded.
pub(super) fn spectrum_of(shape: &Shape, layers: &[Complex<f64>]) -> Vec<Complex32> {
    let mut values = layers.to_vec();
    transform(shape, &mut values, Direction::Forward);
    values.iter().map(narrow).collect()
}

/// The layers whose unnormalised transforms are `spectra`, shifted.
pub(super) fn shifted(shape: &Shape, spectra: &[Complex32], shift: [f32; 2]) -> Vec<Complex<f64>> {
    shifted_from(shape, all_wide(spectra), shift)
}

/// [`shifted`], from spectra in double precision.
pub(super) fn shifted_from(
    shape: &Shape,
    mut spectra: Vec<Complex<f64>>,
    shift: [f32; 2],
) -> Vec<Complex<f64>> {
    let scale = 1.0 / shape.pixels() as f64;
    for (at, value) in spectra.iter_mut().enumerate() {
        *value *= ramp(frequencies(shape, at % shape.pixels()), shift) * scale;
    }
    transform(shape, &mut spectra, Direction::Inverse);
    spectra
}

/// The spectra, divided by the number of pixels, of layers shifted back.
pub(super) fn shifted_back(
    shape: &Shape,
    mut layers: Vec<Complex<f64>>,
    shift: [f32; 2],
) -> Vec<Complex<f64>> {
    let scale = 1.0 / shape.pixels() as f64;
    transform(shape, &mut layers, Direction::Forward);
    for (at, value) in layers.iter_mut().enumerate() {
        *value *= ramp(frequencies(shape, at % shape.pixels()), shift).conj() * scale;
    }
    layers
}

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let keeps = holds_modes(shape.rows as usize, bench.device().shared_memory());
    // More modes than blocks in the emulator.
    for modes in [1, if shape.rows == 64 { 5 } else { 3 }] {
        let shape = Shape { modes, ..shape };
        let few = shape.frames < 10;
        if modes > 1 && !keeps {
            bench.skip("ptycho_exact_modes_*", shape.rows);
        } else {
            chi(bench, shape, OBJECT | PROBE)?;
            if few {
                chi(bench, shape, OBJECT)?;
            }
        }
        step_sums(bench, shape)?;
        if !few || shape.frames == 0 {
            continue;
        }
        for (n, options) in (0..).zip(DENOMINATORS) {
            finish(bench, shape, options, n != 1)?;
        }
        for options in ADVANCES {
            advance(bench, shape, options)?;
        }
    }
    Ok(())
}

fn chi<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, updates: u32) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("exact chi", &shape);
    let scan = Scan::new(&mut source, shape);
    let batch = Batch::new(&mut source, &shape);
    let shifts = source.fractions(&shape);
    let spectrum = spectrum_of(&shape, &all_wide(&scan.probe));
    let most = batch.count + 1;
    let before = [0; 5].map(|_| source.reals(shape.frames as usize, 0.0, 1.0));
    // The metrics of the other frames must stay, and so must the waves after the last frame.
    let mut metrics = before.each_ref().map(|values| all_f64(values));
    let old = [0; 3].map(|_| source.complex(most as usize * shape.probe_elements()));
    let mut waves = old.each_ref().map(|values| all_wide(values));
    let object = all_wide(&scan.object);
    for (member, frame) in batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        let probe = shifted(&shape, &spectrum, shifts[frame]);
        let (chi, found) = scan.chi(frame, &probe, &object);
        let conj = |at: usize| object[scan.place(frame, at % shape.pixels())].conj();
        let project = |(at, chi): (usize, &Complex<f64>)| conj(at) * chi;
        let projected = chi.iter().enumerate().map(project).collect();
        let back = shifted_back(&shape, projected, shifts[frame]);
        for (n, values) in [chi, probe, back].iter().enumerate() {
            if n < 2 || updates & PROBE != 0 {
                waves[n][member * values.len()..][..values.len()].copy_from_slice(values);
            }
        }
        for (metric, found) in metrics.iter_mut().zip(found) {
            metric[frame] = found;
        }
    }
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&ranges(&batch))?;
    let fractions = on.upload(&shifts)?;
    let probe_spectrum = on.upload(&spectrum)?;
    let uploaded = scan.on(on)?;
    let [errors, moved, photon, residual, free] = before.each_ref().map(|values| on.upload(values));
    let [old_chi, old_probes, old_spectra] = old.each_ref().map(|values| on.upload(values));
    let text = format!("{shape}, {}, updates {updates}", batch.label());
    let case = if shape.modes == 1 {
        case_by_side!(shape, text, PtychoExactChi64 | PtychoExactChi128)
    } else {
        case_by_side!(shape, text, PtychoExactModes64 | PtychoExactModes128)
    };
    bench.run(
        case.timed(shape.timed, 28 * batch.elements(&shape)),
        (
            (old_chi?, old_probes?, old_spectra?),
            on.poisoned::<u32>(2)?,
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device, ((chi, probes, spectra), largest, [errors, moved, photon, residual, free])| {
            macro_rules! launch {
                ($small:ident | $large:ident, $spectra:ident $(, $modes:ident)?) => {
                    launch_by_side!(
                        device,
                        shape,
                        Work::Blocks(most as usize),
                        $small
                            | $large {
                                chi: chi.write(),
                                probes: probes.write(),
                                spectra: spectra.write(),
                                largest: largest.write(),
                                errors: errors.write(),
                                moved: moved.write(),
                                photon: photon.write(),
                                residual: residual.write(),
                                free: free.write(),
                                $spectra: probe_spectrum.read(),
                                object: uploaded.object.read(),
                                magnitudes: uploaded.magnitudes.read(),
                                scales: uploaded.scales.read(),
                                corners: uploaded.corners.read(),
                                fractions: fractions.read(),
                                order: order.read(),
                                ranges: ranges.read(),
                                roots: uploaded.roots.read(),
                                frames: shape.frames,
                                most,
                                batches: 3,
                                batch: 1,
                                $($modes: shape.modes,)?
                                object_rows: shape.object_rows,
                                object_columns: shape.object_columns,
                                updates,
                            }
                    )
                };
            }
            if shape.modes == 1 {
                launch!(PtychoExactChi64 | PtychoExactChi128, probe_spectrum)
            } else {
                launch!(
                    PtychoExactModes64 | PtychoExactModes128,
                    probe_spectra,
                    modes
                )
            }
        },
        |on, ((chi, probes, spectra), largest, found)| {
            let mut worst = on.error(largest, &[0, 0])?;
            // Without an update of the probe, what is left of the spectra does not matter.
            let count = if updates & PROBE != 0 { 3 } else { 2 };
            for (found, expected) in [chi, probes, spectra].into_iter().zip(&waves).take(count) {
                worst = worst.max(on.error(found, expected)?);
            }
            Ok(worst.max(worst_metric(on, found, &metrics)?))
        },
    )
}

fn step_sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("exact step sums", &shape);
    let scan = Scan::new(&mut source, shape);
    let batch = Batch::new(&mut source, &shape);
    let shifts = source.fractions(&shape);
    let most = batch.count + 1;
    let waves = source.complex(most as usize * shape.probe_elements());
    let p = source.complex(most as usize * shape.probe_elements());
    let change = source.complex(shape.probe_elements());
    let spectrum = spectrum_of(&shape, &all_wide(&change));
    let along = source.complex(shape.object_elements());
    let old = source.complex(most as usize * shape.probe_elements());
    let mut changes = all_wide(&old);
    // Sums after the last frame must stay.
    let modes = shape.modes as usize;
    let mut reference = vec![[0.5; 5]; most as usize * modes];
    for (member, frame) in batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        let of_frame = shifted(&shape, &spectrum, shifts[frame]);
        reference[member * modes..][..modes].fill([0.0; 5]);
        for (n, change) in of_frame.iter().enumerate() {
            let at = member * of_frame.len() + n;
            let place = scan.place(frame, n % shape.pixels());
            let (a, b) = (
                wide(along[place]) * wide(p[at]),
                change * wide(scan.object[place]),
            );
            let chi = wide(waves[at]);
            let product = |x: Complex<f64>, y: Complex<f64>| (x.conj() * y).re;
            let terms = [
                product(a, a),
                product(a, b),
                product(b, b),
                product(a, chi),
                product(b, chi),
            ];
            let sums = &mut reference[member * modes + n / shape.pixels()];
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += term;
            }
        }
        changes[member * of_frame.len()..][..of_frame.len()].copy_from_slice(&of_frame);
    }
    let probes = on.upload(&p)?;
    let chi = on.upload(&waves)?;
    let direction_spectra = on.upload(&spectrum)?;
    let direction = on.upload(&along)?;
    let fractions = on.upload(&shifts)?;
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&ranges(&batch))?;
    let uploaded = scan.on(on)?;
    let text = format!("{shape}, {}", batch.label());
    let case = case_by_side!(shape, text, PtychoExactStepSums64 | PtychoExactStepSums128);
    bench.run(
        case.timed(shape.timed, 32 * batch.elements(&shape)),
        (
            on.upload(&vec![[0.5_f32; 5]; most as usize * modes])?,
            on.upload(&old)?,
        ),
        |device, (sums, changes)| {
            launch_by_side!(
                device,
                shape,
                Work::Blocks(most as usize),
                PtychoExactStepSums64
                    | PtychoExactStepSums128 {
                        sums: sums.write(),
                        changes: changes.write(),
                        probes: probes.read(),
                        direction_spectra: direction_spectra.read(),
                        chi: chi.read(),
                        object: uploaded.object.read(),
                        direction: direction.read(),
                        corners: uploaded.corners.read(),
                        fractions: fractions.read(),
                        order: order.read(),
                        ranges: ranges.read(),
                        roots: uploaded.roots.read(),
                        frames: shape.frames,
                        most,
                        batches: 3,
                        batch: 1,
                        modes: shape.modes,
                        object_rows: shape.object_rows,
                        object_columns: shape.object_columns,
                    }
            )
        },
        |on, (sums, found)| {
            let worst = on.largest_error(sums, &reference)?;
            Ok(worst.max(on.error(found, &changes)?))
        },
    )
}

fn finish<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    options: (u32, [f32; 2], [f32; 2]),
    transforms: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("exact finish", &shape);
    let scan = Scan::new(&mut source, shape);
    let (updates, [extra, floor], alpha) = options;
    let mut data = Divided::new(&mut source, &shape, options);
    // What the kernel divides is the sum's inverse transform.
    let sum = spectrum_of(&shape, &all_wide(&data.before[1]));
    let scale = 1.0 / shape.pixels() as f64;
    let mut layer: Vec<Complex<f64>> = sum.iter().map(|v| wide(*v) * scale).collect();
    let sum: Vec<Complex32> = layer.iter().map(narrow).collect();
    layer = all_wide(&sum);
    transform(&shape, &mut layer, Direction::Inverse);
    data.before[1] = layer.iter().map(narrow).collect();
    let reference = data.reference();
    let mut spectrum = all_wide(&source.complex(shape.probe_elements()));
    let old: Vec<Complex32> = spectrum.iter().map(narrow).collect();
    if transforms {
        spectrum = reference[1].clone();
        transform(&shape, &mut spectrum, Direction::Forward);
    }
    let elements = shape.object_elements();
    let largest = on.upload(&data.most().map(f32::to_bits))?;
    let bounds = on.upload(&[bounds(&shape)])?;
    let [of_object, of_probe] = data.weights.each_ref().map(|of| on.upload(of));
    let (of_object, of_probe) = (of_object?, of_probe?);
    let uploaded = scan.on(on)?;
    let text = format!(
        "{shape}, updates {updates}, extra {extra}, floor {floor}, alpha {alpha:?}, transforms {transforms}"
    );
    let case = case_by_side!(shape, text, PtychoExactFinish64 | PtychoExactFinish128);
    bench.run(
        case.timed(shape.timed, 20 * (elements + shape.pixels())),
        (
            on.upload(&data.before[0])?,
            on.upload(&sum)?,
            on.upload(&old)?,
        ),
        |device, (object, probe, probe_spectrum)| {
            launch_by_side!(
                device,
                shape,
                Work::Elements(elements),
                PtychoExactFinish64
                    | PtychoExactFinish128 {
                        object: object.write(),
                        probe: probe.write(),
                        probe_spectrum: probe_spectrum.write(),
                        weights: of_object.read(),
                        probe_weights: of_probe.read(),
                        largest: largest.read(),
                        bounds: bounds.read(),
                        roots: uploaded.roots.read(),
                        elements: elements as u32,
                        columns: shape.object_columns,
                        modes: shape.modes,
                        updates,
                        transforms: u32::from(transforms),
                        extra,
                        floor,
                        object_alpha: alpha[0],
                        probe_alpha: alpha[1],
                    }
            )
        },
        |on, (object, probe, found)| {
            let worst = on.error(object, &reference[0])?;
            let worst = worst.max(on.error(probe, &reference[1])?);
            Ok(worst.max(on.error(found, &spectrum)?))
        },
    )
}

fn advance<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, options: Advance) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("exact advance", &shape);
    let scan = Scan::new(&mut source, shape);
    let (updates, momentum, limits, deferred) = options;
    let data = Advanced::new(&mut source, &shape, options);
    let reference = data.reference();
    let old = source.complex(shape.probe_elements());
    let mut spectrum = all_wide(&old);
    if updates & PROBE != 0 {
        spectrum = reference[1][0].clone();
        transform(&shape, &mut spectrum, Direction::Forward);
    }
    let [along_object, along_probe] = data.change.each_ref().map(|values| on.upload(values));
    let (along_object, along_probe) = (along_object?, along_probe?);
    let support = on.upload(&data.support)?;
    let steps = on.upload(&data.sizes)?;
    let bounds = on.upload(&[bounds(&shape)])?;
    let uploaded = scan.on(on)?;
    let [elements, pixels] = data.before.each_ref().map(Vec::len);
    let velocities = data.speed.each_ref().map(|values| values.len() as u32);
    let text = format!(
        "{shape}, updates {updates}, momentum {momentum}, limits {limits:?}, deferred {deferred}"
    );
    let case = case_by_side!(shape, text, PtychoExactAdvance64 | PtychoExactAdvance128);
    bench.run(
        case.timed(
            shape.timed && !deferred,
            24 * (elements + pixels) + 16 * (velocities[0] + velocities[1]) as usize,
        ),
        (
            (on.upload(&data.before[0])?, on.upload(&data.before[1])?),
            (on.upload(&data.speed[0])?, on.upload(&data.speed[1])?),
            on.upload(&old)?,
        ),
        |device, ((object, probe), (object_velocity, probe_velocity), probe_spectrum)| {
            launch_by_side!(
                device,
                shape,
                Work::Elements(elements),
                PtychoExactAdvance64
                    | PtychoExactAdvance128 {
                        object: object.write(),
                        probe: probe.write(),
                        probe_spectrum: probe_spectrum.write(),
                        object_velocity: object_velocity.write(),
                        probe_velocity: probe_velocity.write(),
                        object_direction: along_object.read(),
                        probe_direction: along_probe.read(),
                        support: support.read(),
                        steps: steps.read(),
                        bounds: bounds.read(),
                        roots: uploaded.roots.read(),
                        elements: elements as u32,
                        columns: shape.object_columns,
                        modes: shape.modes,
                        velocities: velocities[0],
                        probe_velocities: velocities[1],
                        updates,
                        deferred: u32::from(deferred),
                        momentum,
                        clip_low: limits[0],
                        clip_high: limits[1],
                    }
            )
        },
        |on, ((object, probe), (of_object, of_probe), found)| {
            let mut worst = on.error(object, &reference[0][0])?;
            worst = worst.max(on.error(of_object, &reference[0][1])?);
            worst = worst.max(on.error(probe, &reference[1][0])?);
            worst = worst.max(on.error(of_probe, &reference[1][1])?);
            Ok(worst.max(on.error(found, &spectrum)?))
        },
    )
}
