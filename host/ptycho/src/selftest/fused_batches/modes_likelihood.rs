//! The kernels `ptycho_modes_gradient_*` and `ptycho_modes_line_*`.

use super::super::shape::{Shape, Source};
use super::exact::{shifted, shifted_back, spectrum_of};
use super::likelihood::{NOISES, derived, line_of, lit, metrics_of, modelled, spectra};
use super::scan::{Scan, worst_metric};
use super::values::narrow;
use crate::Noise;
use crate::engines::step_plan::holds_modes;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    likelihood_noise::{AMPLITUDE, POISSON},
    modes_gradient::{PtychoModesGradient64, PtychoModesGradient128},
    modes_line::{PtychoModesLine64, PtychoModesLine128},
};
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};

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

/// What a case has.
#[derive(Clone, Copy)]
struct Options {
    noise: Noise,
    /// Factor on the probe.
    light: f32,
    /// Whether probes are shifted.
    shifted: bool,
}

impl Options {
    fn number(self) -> u32 {
        if self.noise == Noise::Poisson {
            POISSON
        } else {
            AMPLITUDE
        }
    }

    fn text(self, shape: &Shape) -> String {
        let Self {
            noise,
            light,
            shifted,
        } = self;
        let slices = slices(shape);
        format!("{shape}, {noise:?}, light {light}, shifted {shifted}, {slices} slices")
    }

    /// The layers that kernels take: their unnormalised transforms if probes are shifted.
    fn layers(self, shape: &Shape, values: &[Complex32]) -> Vec<Complex32> {
        if self.shifted {
            spectrum_of(shape, &all_wide(values))
        } else {
            values.to_vec()
        }
    }

    /// A frame's layers.
    fn placed(self, shape: &Shape, layers: &[Complex32], shift: [f32; 2]) -> Vec<Complex<f64>> {
        if self.shifted {
            shifted(shape, layers, shift)
        } else {
            all_wide(layers)
        }
    }
}

/// Fewer slices than frames where there are three, so that some have several frames.
fn slices(shape: &Shape) -> u32 {
    shape.frames.div_ceil(2).max(1)
}

/// D of a frame with the spectrum `f`, 0 where masked or free.
fn slopes_of(
    shape: &Shape,
    scan: &Scan,
    frame: usize,
    noise: Noise,
    f: &[Complex<f64>],
) -> Vec<f64> {
    let (pixels, _) = modelled(shape, scan, frame, f);
    let slope = |[intensity, measured]: &[f64; 2]| {
        if *measured < 0.0 {
            0.0
        } else {
            noise.slope(*intensity, *measured)
        }
    };
    pixels.iter().map(slope).collect()
}

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    if !holds_modes(shape.rows as usize, bench.device().shared_memory()) {
        bench.skip("ptycho_modes_*", shape.rows);
        return Ok(());
    }
    let counts: &[u32] = match (shape.rows, shape.frames) {
        (64, 3) => &[1, 2, 3, 5],
        (_, 0) => &[2],
        _ => &[3],
    };
    for modes in counts {
        let shape = Shape {
            modes: *modes,
            ..shape
        };
        for shifted in [false, true] {
            for (noise, light) in NOISES {
                let options = Options {
                    noise,
                    light,
                    shifted,
                };
                gradient(bench, shape, options)?;
                line(bench, shape, options)?;
            }
        }
    }
    Ok(())
}

/// Without the sums of the probe if the model is dark.
fn gradient<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, options: Options) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("modes gradient", &shape);
    let scan = lit(Scan::new(&mut source, shape), options.light);
    let shifts = source.fractions(&shape);
    let values = options.layers(&shape, &scan.probe);
    let summed = options.light >= 1.0;
    let (mut model, mut probes) = (Vec::new(), Vec::new());
    let mut metrics: [Vec<f64>; 5] = Default::default();
    for (frame, shift) in shifts.iter().enumerate() {
        let probe = options.placed(&shape, &values, *shift);
        let f = spectra(&shape, &scan, &[(&probe, &scan.object)], frame);
        for (metric, found) in metrics.iter_mut().zip(metrics_of(&shape, &scan, frame, &f)) {
            metric.push(found);
        }
        model.extend(f);
        if options.shifted {
            probes.extend(probe);
        }
    }
    let slices = slices(&shape);
    let old = source.complex(slices as usize * shape.probe_elements());
    let uploaded = scan.on(on)?;
    let fractions = on.upload(&shifts)?;
    let layers = on.upload(&values)?;
    let kept = if options.shifted { shape.frames } else { 0 };
    let count = shape.frames as usize;
    let [errors, moved, photon, residual, free] = [0; 5].map(|_| on.poisoned::<f32>(count));
    let text = options.text(&shape);
    let case = if shape.rows == 64 {
        Case::of::<PtychoModesGradient64<'_, Emulated>>(text)
    } else {
        Case::of::<PtychoModesGradient128<'_, Emulated>>(text)
    };
    let waves = || on.poisoned::<Complex32>(shape.wave_elements());
    let bytes = 16 * shape.wave_elements() + 8 * probes.len() + 8 * shape.frame_elements();
    bench.run(
        case.timed(shape.timed, bytes),
        (
            (
                waves()?,
                waves()?,
                on.poisoned::<Complex32>(probes.len())?,
                on.upload(&old)?,
            ),
            (
                on.poisoned::<f32>(shape.frame_elements())?,
                on.poisoned::<f64>(count)?,
            ),
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device,
         (
            (xi, spectra, probes, sums),
            (slopes, losses),
            [errors, moved, photon, residual, free],
        )| {
            launch_by_side!(
                device,
                shape,
                Work::Blocks(slices as usize),
                PtychoModesGradient64
                    | PtychoModesGradient128 {
                        xi: xi.write(),
                        spectra: spectra.write(),
                        probes: probes.write(),
                        sums: sums.write(),
                        slopes: slopes.write(),
                        losses: losses.write(),
                        errors: errors.write(),
                        moved: moved.write(),
                        photon: photon.write(),
                        residual: residual.write(),
                        free: free.write(),
                        layers: layers.read(),
                        object: uploaded.object.read(),
                        magnitudes: uploaded.magnitudes.read(),
                        scales: uploaded.scales.read(),
                        corners: uploaded.corners.read(),
                        fractions: fractions.read(),
                        roots: uploaded.roots.read(),
                        frames: shape.frames,
                        kept,
                        slices,
                        modes: shape.modes,
                        object_rows: shape.object_rows,
                        object_columns: shape.object_columns,
                        summed: u32::from(summed),
                        noise: options.number(),
                    }
            )
        },
        |on, ((xi, spectra, found_probes, found_sums), (found_slopes, found_losses), found)| {
            let mut worst = on.error(spectra, &model)?;
            worst = worst.max(on.error(found_probes, &probes)?);
            // From the spectra that the kernel has found: where they are near 0, ξ of Poisson noise
            // is as their inverse.
            let mut f = vec![Complex32::default(); model.len()];
            on.download(spectra, &mut f)?;
            let (mut waves, mut slopes, mut losses) = (Vec::new(), Vec::new(), Vec::new());
            let mut sums = all_wide(&old);
            let length = shape.probe_elements();
            for (frame, f) in all_wide(&f).chunks(length).enumerate() {
                let (of_frame, loss) = derived(&shape, &scan, frame, options.noise, f);
                slopes.extend(slopes_of(&shape, &scan, frame, options.noise, f));
                if summed {
                    let conj = |n: usize| wide(scan.object[scan.place(frame, n)]).conj();
                    let projected: Vec<_> = (of_frame.iter().enumerate())
                        .map(|(n, xi)| conj(n % shape.pixels()) * xi)
                        .collect();
                    let back = if options.shifted {
                        shifted_back(&shape, projected, shifts[frame])
                    } else {
                        projected
                    };
                    let slice = frame % slices as usize;
                    let to = &mut sums[slice * length..][..length];
                    if frame == slice {
                        to.fill(Complex::default());
                    }
                    (to.iter_mut().zip(back)).for_each(|(sum, value)| *sum += value);
                }
                waves.extend(of_frame);
                losses.push(loss);
            }
            worst = worst.max(on.error(xi, &waves)?);
            worst = worst.max(on.error(found_sums, &sums)?);
            worst = worst.max(on.error(found_slopes, &slopes)?);
            worst = worst.max(on.error(found_losses, &losses)?);
            Ok(worst.max(worst_metric(on, found, &metrics)?))
        },
    )
}

fn line<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, options: Options) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("line of modes", &shape);
    let scan = lit(Scan::new(&mut source, shape), options.light);
    let shifts = source.fractions(&shape);
    let values = options.layers(&shape, &scan.probe);
    let along = options.layers(&shape, &source.complex(shape.probe_elements()));
    let on_object = source.complex(shape.object_elements());
    let (o, d) = (&scan.object[..], &on_object[..]);
    let mut waves: [Vec<Complex32>; 3] = Default::default();
    let (mut reference, mut of_pixels) = (Vec::new(), Vec::new());
    for (frame, shift) in shifts.iter().enumerate() {
        let p = options.placed(&shape, &values, *shift);
        let h = options.placed(&shape, &along, *shift);
        let f = spectra(&shape, &scan, &[(&p, o)], frame);
        let (xi, _) = derived(&shape, &scan, frame, options.noise, &f);
        let a = spectra(&shape, &scan, &[(&p, d), (&h, o)], frame);
        let b = spectra(&shape, &scan, &[(&h, d)], frame);
        reference.push(line_of(&shape, &scan, frame, options.noise, [&f, &a, &b]));
        let slopes = slopes_of(&shape, &scan, frame, options.noise, &f);
        of_pixels.extend(slopes.iter().map(|d| *d as f32));
        for (to, from) in waves.iter_mut().zip([xi, f, p]) {
            to.extend(from.iter().map(narrow));
        }
    }
    let probes = if options.shifted { shape.frames } else { 1 };
    if !options.shifted {
        waves[2].clone_from(&scan.probe);
    }
    let slices = slices(&shape);
    let [xi, spectra, probe] = waves.each_ref().map(|values| on.upload(values));
    let (xi, spectra, probe) = (xi?, spectra?, probe?);
    let slopes = on.upload(&of_pixels)?;
    let layers = on.upload(&along)?;
    let direction = on.upload(&on_object)?;
    let fractions = on.upload(&shifts)?;
    let uploaded = scan.on(on)?;
    let text = options.text(&shape);
    let case = if shape.rows == 64 {
        Case::of::<PtychoModesLine64<'_, Emulated>>(text)
    } else {
        Case::of::<PtychoModesLine128<'_, Emulated>>(text)
    };
    let bytes = 8 * (waves.iter().map(Vec::len).sum::<usize>() + shape.frame_elements());
    bench.run(
        case.timed(shape.timed, bytes),
        (
            on.poisoned::<[f64; 3]>(reference.len())?,
            on.poisoned::<Complex32>(slices as usize * shape.pixels())?,
        ),
        |device, (sums, changes)| {
            launch_by_side!(
                device,
                shape,
                Work::Blocks(slices as usize),
                PtychoModesLine64
                    | PtychoModesLine128 {
                        sums: sums.write(),
                        changes: changes.write(),
                        xi: xi.read(),
                        spectra: spectra.read(),
                        slopes: slopes.read(),
                        probe: probe.read(),
                        layers: layers.read(),
                        object: uploaded.object.read(),
                        direction: direction.read(),
                        magnitudes: uploaded.magnitudes.read(),
                        scales: uploaded.scales.read(),
                        corners: uploaded.corners.read(),
                        fractions: fractions.read(),
                        roots: uploaded.roots.read(),
                        frames: shape.frames,
                        probes,
                        slices,
                        modes: shape.modes,
                        object_rows: shape.object_rows,
                        object_columns: shape.object_columns,
                        shifted: u32::from(options.shifted),
                        noise: options.number(),
                    }
            )
        },
        |on, (sums, _)| on.largest_error(sums, &reference),
    )
}
