//! The kernels of the step in passes over rows and columns: `ptycho_columns_reflect_*`,
//! `ptycho_rows_project_*`, `ptycho_columns_finish_*`, `ptycho_frame_factors`, `ptycho_tile_sums`
//! and `ptycho_rows_metrics_*`.
//!
//! Each kernel is tested with what the definitions of those before it give, the last one of a step
//! with their results.

mod arrays;
mod scan;

use super::fourier::{COEFFICIENTS, model_metrics};
use super::fused_step::unpacked;
use super::shape::{Shape, Source};
use super::waves::{self, STORED, Waves};
use crate::GpuWaves;
use crate::engines::step_plan::passes_memory;
use arrays::{Arrays, layer_tiles};
use num_complex::Complex;
use scan::{Scan, groups};
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_fft::Fft2;
use warpstride_kernels::ptycho::columns_finish::{PtychoFrameFactors, PtychoTileSums};
use warpstride_kernels::ptycho::rows_metrics::{PtychoRowsMetricsSums, ROW_SUMS};
use warpstride_selftest::bench::Size;
use warpstride_selftest::bench::{Bench, Case, all_wide};

/// Frames, modes, rows and columns of a frame, object.
const SMALL: [([u32; 4], [u32; 2]); 16] = [
    ([0, 2, 64, 64], [70, 66]),
    ([3, 1, 64, 64], [71, 97]),
    ([3, 2, 64, 64], [71, 97]),
    ([1, 16, 64, 64], [64, 64]),
    ([3, 3, 64, 128], [79, 131]),
    ([1, 5, 128, 64], [129, 66]),
    ([1, 1, 128, 128], [131, 128]),
    ([3, 2, 128, 128], [150, 137]),
    ([1, 16, 64, 128], [64, 130]),
    ([3, 1, 256, 64], [270, 71]),
    ([1, 3, 64, 256], [66, 257]),
    ([3, 5, 64, 256], [70, 300]),
    ([1, 8, 64, 512], [65, 512]),
    ([1, 2, 512, 64], [513, 65]),
    ([1, 1, 256, 256], [256, 260]),
    ([1, 1, 512, 512], [515, 512]),
];
/// More tiles than a device has blocks at a time.
const LARGE: [([u32; 4], [u32; 2]); 6] = [
    ([300, 2, 64, 64], [300, 311]),
    ([100, 5, 128, 128], [400, 411]),
    ([40, 3, 256, 256], [500, 520]),
    ([9, 2, 512, 512], [640, 600]),
    ([20, 8, 128, 256], [300, 400]),
    ([20, 7, 512, 64], [640, 200]),
];

/// Coefficients keep, a, b and c of alternating projections.
const ALTERNATING: [f32; 4] = [0.0, 0.0, 1.0, 1.0];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    for shape in shapes(size) {
        // The tile of a block, and sums over the block.
        if bench.device().shared_memory() < passes_memory(shape.rows as usize) {
            bench.skip("ptycho_columns_*", shape.rows);
            continue;
        }
        for stored in STORED {
            of_waves(bench, &Scan::new(shape, stored))?;
        }
        let scan = Scan::new(shape, GpuWaves::F32);
        project(bench, &scan)?;
        metrics(bench, &scan)?;
        tile_sums(bench, shape)?;
        for bound in [0.0, 1e-3, 1e3] {
            frame_factors(bench, &scan, bound)?;
        }
    }
    Ok(())
}

/// The kernels that read or write ψ.
fn of_waves<M: Device>(bench: &mut Bench<'_, M>, scan: &Scan) -> Result<()> {
    for c in [1.0, REFLECTED] {
        reflect(bench, scan, c)?;
    }
    let all = [0.0, 1e3, 1e-3];
    // The definition of a large case takes seconds.
    for bound in if scan.shape.timed {
        &all[2..]
    } else {
        &all[..]
    } {
        for coefficients in COEFFICIENTS.into_iter().chain([ALTERNATING]) {
            for moves in [false, true] {
                step(bench, scan, *bound, coefficients, moves)?;
            }
        }
    }
    exceeding(bench, scan)
}

/// Coefficient c of the reflection, the same in all [`COEFFICIENTS`].
const REFLECTED: f32 = COEFFICIENTS[0][3];

fn shapes(size: Size) -> Vec<Shape> {
    let large: &[_] = if size == Size::Device { &LARGE } else { &[] };
    let small = SMALL.iter().map(|sizes| (sizes, false));
    small
        .chain(large.iter().map(|sizes| (sizes, true)))
        .map(|((waves, object), timed)| Shape {
            frames: waves[0],
            modes: waves[1],
            rows: waves[2],
            columns: waves[3],
            object_rows: object[0],
            object_columns: object[1],
            parts: 1,
            slices: 1,
            timed,
        })
        .collect()
}

/// Transforms `lines` of `length` values, with a factor.
fn transform(lines: &mut [Complex<f64>], length: u32, direction: Direction, factor: f64) {
    let mut fft = Fft2::<f64>::new(1, length as usize);
    for line in lines.chunks_mut(length as usize) {
        match direction {
            Direction::Forward => fft.forward(line),
            Direction::Inverse => fft.inverse(line),
        }
        line.iter_mut().for_each(|v| *v *= factor);
    }
}

/// The unnormalised transforms along the columns of every layer.
fn along_columns(mut layers: Vec<Complex<f64>>, shape: Shape) -> Vec<Complex<f64>> {
    let [rows, columns] = [shape.rows, shape.columns].map(|n| n as usize);
    let mut turned = vec![Complex::default(); shape.pixels()];
    for layer in layers.chunks_mut(shape.pixels()) {
        warpstride_fft::transpose(layer, &mut turned, columns, rows);
        let factor = f64::from(shape.rows).sqrt();
        transform(&mut turned, shape.rows, Direction::Forward, factor);
        warpstride_fft::transpose(&turned, layer, rows, columns);
    }
    layers
}

/// The same with a unitary transform along rows besides: spectra of the frames.
fn along_rows(columns: &[Complex<f64>], shape: Shape) -> Vec<Complex<f64>> {
    let mut spectra = columns.to_vec();
    let factor = f64::from(shape.rows).sqrt().recip();
    transform(&mut spectra, shape.columns, Direction::Forward, factor);
    spectra
}

/// A case of the kernel with this name for lines of this length.
fn case(kernel: &str, length: u32, stored: GpuWaves, text: String) -> Case {
    waves::case(&format!("{kernel}_{length}"), stored, text)
}

/// The first kernel; with c = 1 it does not read ψ.
fn reflect<M: Device>(bench: &mut Bench<'_, M>, scan: &Scan, c: f32) -> Result<()> {
    let on = bench.on();
    let shape = scan.shape;
    let mut arrays = Arrays::new(on, scan, None)?;
    if c == 1.0 {
        arrays.psi = Waves::poisoned(on, shape.wave_elements(), scan.stored)?;
    }
    let reference = along_columns(scan.reflected(c), shape);
    let text = format!("{shape}, c {c}");
    let bytes = 8 + waves::bytes(scan.stored);
    bench.run(
        case("ptycho_columns_reflect", shape.rows, scan.stored, text)
            .timed(shape.timed, bytes * shape.wave_elements()),
        arrays,
        |device, arrays| arrays.reflect(device, shape, c),
        |on, arrays| arrays.worst(on, &reference),
    )
}

/// The second kernel: what the projection changes.
fn project<M: Device>(bench: &mut Bench<'_, M>, scan: &Scan) -> Result<()> {
    let on = bench.on();
    let shape = scan.shape;
    let before = along_columns(scan.reflected(REFLECTED), shape);
    let mut waves = along_rows(&before, shape);
    let mut row_errors = Vec::new();
    for (frame, spectra) in waves.chunks(shape.probe_elements()).enumerate() {
        let pixels = scan.pixels(frame, spectra);
        let rows = pixels.chunks(shape.columns as usize);
        row_errors.extend(rows.map(|row| model_metrics(row)[1]));
    }
    let reflected = waves.clone();
    scan.replace(&mut waves, 0.0);
    let changes = waves.iter_mut().zip(&reflected);
    changes.for_each(|(wave, reflected)| *wave -= reflected);
    let factor = f64::from(shape.columns).sqrt();
    transform(&mut waves, shape.columns, Direction::Inverse, factor);
    let bytes = 16 * waves.len() + 4 * scan.magnitudes.len();
    bench.run(
        case(
            "ptycho_rows_project",
            shape.columns,
            GpuWaves::F32,
            shape.to_string(),
        )
        .timed(shape.timed, bytes),
        Arrays::new(on, scan, Some(&before))?,
        |device, arrays| arrays.project(device, shape),
        |on, arrays| {
            let errors = on.error(&arrays.row_errors, &row_errors)?;
            Ok(arrays.worst(on, &waves)?.max(errors))
        },
    )
}

/// The metrics from exit waves, and the sums of their parts.
fn metrics<M: Device>(bench: &mut Bench<'_, M>, scan: &Scan) -> Result<()> {
    let on = bench.on();
    let shape = scan.shape;
    let exit = along_columns(scan.reflected(1.0), shape);
    let spectra = along_rows(&exit, shape);
    let mut row_sums: Vec<[f64; ROW_SUMS]> = Vec::new();
    let mut metrics: [Vec<f64>; 3] = Default::default();
    for (frame, spectra) in spectra.chunks(shape.probe_elements()).enumerate() {
        let pixels = scan.pixels(frame, spectra);
        for row in pixels.chunks(shape.columns as usize) {
            let [photon, residual, free] = model_metrics(row);
            let valid = row.iter().filter(|[_, m]| *m >= 0.0).count() as f64;
            row_sums.push([photon * valid, residual, valid, free]);
        }
        let of_frame = metrics.iter_mut().zip(model_metrics(&pixels));
        of_frame.for_each(|(metric, value)| metric.push(value));
    }
    let bytes = 8 * exit.len() + 4 * scan.magnitudes.len();
    bench.run(
        case(
            "ptycho_rows_metrics",
            shape.columns,
            GpuWaves::F32,
            shape.to_string(),
        )
        .timed(shape.timed, bytes),
        Arrays::new(on, scan, Some(&exit))?,
        |device, arrays| arrays.metrics(device, shape),
        |on, arrays| {
            let mut found = vec![0.0_f32; row_sums.len() * ROW_SUMS];
            on.download(&arrays.row_sums, &mut found)?;
            let found = on.upload(found.as_chunks::<ROW_SUMS>().0)?;
            on.largest_error(&found, &row_sums)
        },
    )?;
    let values: Vec<f32> = row_sums.as_flattened().iter().map(|v| *v as f32).collect();
    let values = on.upload(&values)?;
    let metric = || on.poisoned::<f32>(shape.frames as usize);
    bench.run(
        Case::of::<PtychoRowsMetricsSums<'_, Emulated>>(shape.to_string()),
        [metric()?, metric()?, metric()?],
        |device, [photon, residual, free]| {
            let launch = PtychoRowsMetricsSums {
                row_sums: values.read(),
                photon: photon.write(),
                residual: residual.write(),
                free: free.write(),
                frames: shape.frames,
                rows: shape.rows,
            };
            device.launch(&launch, Work::Blocks(shape.frames as usize))
        },
        |on, found| {
            let pairs = found.iter().zip(&metrics);
            pairs
                .map(|(found, metric)| on.error(found, metric))
                .try_fold(0.0, |worst, error| Ok(error?.max(worst)))
        },
    )
}

/// A whole step, of which the last kernel is tested.
fn step<M: Device>(
    bench: &mut Bench<'_, M>,
    scan: &Scan,
    bound: f32,
    coefficients: [f32; 4],
    moves: bool,
) -> Result<()> {
    let on = bench.on();
    let [keep, a, b, c] = coefficients;
    let shape = scan.shape;
    let after = scan.after(bound, coefficients);
    let limit = on.upload(&[1e9])?;
    let with = if moves { ", with Σ|Δψ|²" } else { "" };
    let text = format!("{shape}, bound {bound}, ψ {keep}, PO {a}, Π {b}{with}");
    bench.run(
        case("ptycho_columns_finish", shape.rows, scan.stored, text),
        Arrays::new(on, scan, None)?,
        |device, arrays| {
            arrays.reflect(device, shape, c)?;
            arrays.project(device, shape)?;
            arrays.finish(device, shape, &limit, (bound, coefficients), moves)
        },
        |on, arrays| {
            let mut sums = vec![0_u64; shape.object_elements()];
            on.download(&arrays.sums, &mut sums)?;
            let sums = on.upload(&unpacked(&sums))?;
            // Those of the waves as they are stored, so that a different rounding of one of them
            // changes both.
            let (expected, moved) = scan.sums(&all_wide(&arrays.psi.values(on)?));
            let mut worst = (arrays.psi.error(on, &after.psi)?)
                .max(on.error(&sums, &expected)?)
                .max(on.error(&arrays.errors, &after.errors)?)
                .max(on.error(&arrays.exceeding, &[0])?);
            if moves {
                worst = worst.max(on.error(&arrays.moved, &moved)?);
            }
            Ok(worst)
        },
    )
}

/// Every thread of every tile sees exit waves beyond a limit of 0.
fn exceeding<M: Device>(bench: &mut Bench<'_, M>, scan: &Scan) -> Result<()> {
    let on = bench.on();
    let shape = scan.shape;
    let threads = if shape.rows <= 128 { 128 } else { 256 };
    let count = shape.frames * layer_tiles(&shape) * threads;
    let limit = on.upload(&[0.0])?;
    let mut arrays = Arrays::new(on, scan, Some(&scan.reflected(0.0)))?;
    arrays.row_errors = on.upload(&vec![0.0; (shape.frames * shape.rows) as usize])?;
    let text = format!("{shape}, waves beyond the limit");
    bench.run(
        case("ptycho_columns_finish", shape.rows, scan.stored, text).exact(),
        arrays,
        |device, arrays| arrays.finish(device, shape, &limit, (0.0, COEFFICIENTS[0]), false),
        |on, arrays| on.error(&arrays.exceeding, &[count]),
    )
}

/// Errors of the frames, and their factors with a bound that some exceed, none or all.
fn frame_factors<M: Device>(bench: &mut Bench<'_, M>, scan: &Scan, bound: f32) -> Result<()> {
    const B: f32 = 0.75;
    let on = bench.on();
    let Shape { frames, rows, .. } = scan.shape;
    let values = Source::new("rows", &scan.shape).reals((frames * rows) as usize, 0.0, 1.0);
    let of_frame = values.chunks(rows as usize).zip(&scan.weights);
    let errors: Vec<f64> = of_frame
        .map(|(rows, weight)| {
            let sum: f64 = rows.iter().map(|v| f64::from(*v)).sum();
            sum * f64::from(*weight)
        })
        .collect();
    let unit = (scan.shape.pixels() as f64).sqrt().recip();
    let factors: Vec<[f64; 2]> = errors
        .iter()
        .map(|error| {
            let kept = match f64::from(bound) {
                0.0 => 0.0,
                bound if *error <= bound => 1.0,
                bound => (bound / error).sqrt(),
            };
            [f64::from(B) * (1.0 - kept) * unit, 0.0]
        })
        .collect();
    let row_errors = on.upload(&values)?;
    let weights = on.upload(&scan.weights)?;
    bench.run(
        Case::of::<PtychoFrameFactors<'_, Emulated>>(format!("{}, bound {bound}", scan.shape)),
        (
            on.poisoned::<f32>(frames as usize)?,
            on.poisoned::<[f32; 2]>(frames as usize)?,
        ),
        |device, (errors, factors)| {
            for [first, count] in groups(&scan.shape) {
                let launch = PtychoFrameFactors {
                    row_errors: row_errors.read(),
                    weights: weights.read(),
                    errors: errors.write(),
                    factors: factors.write(),
                    frames,
                    first,
                    count,
                    rows,
                    unit: unit as f32,
                    bound,
                    b: B,
                };
                device.launch(&launch, Work::Blocks(count.div_ceil(4) as usize))?;
            }
            Ok(())
        },
        |on, (found, changes)| {
            Ok(on
                .error(found, &errors)?
                .max(on.largest_error(changes, &factors)?))
        },
    )
}

fn tile_sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let (frames, tiles) = (shape.frames, layer_tiles(&shape));
    let values = Source::new("tiles", &shape).reals((frames * tiles) as usize, 0.0, 1.0);
    let of_frame = values.chunks(tiles as usize);
    let sums: Vec<f64> = of_frame
        .map(|tiles| tiles.iter().map(|v| f64::from(*v)).sum())
        .collect();
    let tile_moved = on.upload(&values)?;
    bench.run(
        Case::of::<PtychoTileSums<'_, Emulated>>(shape.to_string()),
        on.poisoned::<f32>(frames as usize)?,
        |device, moved| {
            let launch = PtychoTileSums {
                tile_moved: tile_moved.read(),
                moved: moved.write(),
                frames,
                tiles,
            };
            device.launch(&launch, Work::Elements(frames as usize))
        },
        |on, moved| on.error(moved, &sums),
    )
}
