//! The kernels of the fused step, `ptycho_fused_step_*` and `ptycho_fused_metrics_*`, at the sizes
//! of frames that they are for.

use super::fourier::{COEFFICIENTS, deviation, mean, model_metrics};
use super::shape::{Shape, Source};
use super::waves::{self, STORED, Waves};
use crate::engines::step_plan::{holds_frame, keeps_frame};
use crate::{GpuWaves, MAGNITUDE_FLOOR};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_fft::Fft2;
use warpstride_kernels::ptycho::fused_metrics::{PtychoFusedMetrics64, PtychoFusedMetrics128};
use warpstride_kernels::ptycho::fused_step::{
    PtychoFusedStep64, PtychoFusedStep64Bf16, PtychoFusedStep64Moved, PtychoFusedStep64MovedBf16,
    PtychoFusedStep128, PtychoFusedStep128Bf16, PtychoFusedStep128Moved,
    PtychoFusedStep128MovedBf16,
};
use warpstride_selftest::bench::Size;
use warpstride_selftest::bench::{Bench, Case, CaseDevice, all_wide, wide};

/// Units in 1 of the sum of an object pixel: rounding to a unit is negligible, and the sums of all
/// shapes fit.
pub(super) fn quantum(pixel: usize) -> f32 {
    [524_288.0, 1_048_576.0, 262_144.0][pixel % 3]
}

/// The exponent of a power of two, as f32 has it.
pub(super) fn exponent(power: f32) -> u8 {
    (power.to_bits() >> 23) as u8
}

/// Frames, rows and columns of a frame, object.
const SMALL: [(u32, u32, [u32; 2]); 5] = [
    (0, 64, [70, 66]),
    (1, 64, [64, 64]),
    (7, 64, [71, 97]),
    (1, 128, [131, 128]),
    (3, 128, [150, 137]),
];
/// More frames than a device has blocks at a time.
const LARGE: [(u32, u32, [u32; 2]); 2] = [(700, 64, [400, 411]), (160, 128, [640, 600])];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    for shape in shapes(size) {
        let shared_memory = bench.device().shared_memory();
        if !holds_frame(shape.rows as usize, shared_memory) {
            bench.skip("ptycho_fused_*", shape.rows);
            continue;
        }
        if !keeps_frame(shape.rows as usize, shared_memory) {
            bench.skip("ptycho_fused_step_*, which keep A", shape.rows);
        }
        let all = [0.0, 1e3, 1e-3];
        // The definition of a large case takes seconds.
        for bound in if shape.timed { &all[2..] } else { &all[..] } {
            let bound = *bound;
            for (coefficients, stored) in COEFFICIENTS
                .into_iter()
                .flat_map(|of| STORED.map(|stored| (of, stored)))
            {
                let scan = Scan::new("fused", shape, stored);
                let after = scan.after(bound, coefficients);
                for keeps in stash_options(bench.device(), shape) {
                    step(bench, &scan, &after, keeps, (bound, coefficients))?;
                }
            }
        }
        for stored in STORED {
            exceeding(bench, shape, stored)?;
        }
        metrics(bench, shape)?;
    }
    Ok(())
}

/// Whether a frame is kept in shared memory: both, if there is enough.
fn stash_options<M: Device>(device: &M, shape: Shape) -> Vec<bool> {
    let both = keeps_frame(shape.rows as usize, device.shared_memory());
    if both { vec![true, false] } else { vec![false] }
}

/// Shapes that the fused kernels are tested for.
pub(super) fn shapes(size: Size) -> Vec<Shape> {
    let large: &[_] = if size == Size::Device { &LARGE } else { &[] };
    let small = SMALL.iter().map(|sizes| (sizes, false));
    small
        .chain(large.iter().map(|sizes| (sizes, true)))
        .map(|((frames, side, object), timed)| Shape {
            frames: *frames,
            modes: 1,
            rows: *side,
            columns: *side,
            object_rows: object[0],
            object_columns: object[1],
            parts: 3,
            slices: 1,
            timed,
        })
        .collect()
}

/// Input arrays of a case.
struct Scan {
    shape: Shape,
    stored: GpuWaves,
    psi: Vec<Complex32>,
    probe: Vec<Complex32>,
    object: Vec<Complex32>,
    magnitudes: Vec<f32>,
    corners: Vec<[u32; 2]>,
    weights: Vec<f32>,
    roots: Vec<Complex32>,
}

/// What a step should leave.
#[derive(Default)]
struct After {
    psi: Vec<Complex<f64>>,
    errors: Vec<f64>,
}

impl Scan {
    fn new(name: &str, shape: Shape, stored: GpuWaves) -> Self {
        let mut source = Source::new(name, &shape);
        let magnitudes = source.magnitudes(&shape);
        let weight = |frame: &[f32]| {
            let valid = frame.iter().filter(|m| **m >= 0.0).count();
            if valid > 0 { 1.0 / valid as f32 } else { 0.0 }
        };
        let root = |k| {
            let root = Complex::cis(-std::f64::consts::TAU * f64::from(k) / f64::from(shape.rows));
            Complex32::new(root.re as f32, root.im as f32)
        };
        Self {
            psi: waves::stored(source.complex(shape.wave_elements()), stored),
            probe: source.complex(shape.probe_elements()),
            object: source.complex(shape.object_elements()),
            corners: source.corners(&shape),
            weights: magnitudes.chunks(shape.pixels()).map(weight).collect(),
            roots: (0..shape.rows).map(root).collect(),
            magnitudes,
            shape,
            stored,
        }
    }

    /// P·O of every pixel, frame after frame.
    fn exit_waves(&self) -> Vec<Complex<f64>> {
        let product = |at: super::shape::PixelIndices| {
            wide(self.probe[at.probe]) * wide(self.object[at.object])
        };
        self.shape.indices(&self.corners).map(product).collect()
    }

    /// (|f|², m) of a frame's pixels.
    fn pixels(&self, frame: usize, spectrum: &[Complex<f64>]) -> Vec<[f64; 2]> {
        let measured = &self.magnitudes[frame * self.shape.pixels()..];
        let pairs = spectrum.iter().zip(measured);
        pairs.map(|(f, m)| [f.norm_sqr(), f64::from(*m)]).collect()
    }

    /// The step by its definition.
    fn after(&self, bound: f32, coefficients: [f32; 4]) -> After {
        let [keep, a, b, c] = coefficients.map(f64::from);
        let side = self.shape.rows as usize;
        let mut fft = Fft2::<f64>::new(side, side);
        let mut after = After::default();
        let exit = self.exit_waves();
        for (frame, exit) in exit.chunks(side * side).enumerate() {
            let psi = &self.psi[frame * side * side..][..side * side];
            let pairs = || psi.iter().map(|v| wide(*v)).zip(exit);
            let mut wave: Vec<_> = pairs().map(|(psi, a)| psi * (1.0 - c) + a * c).collect();
            fft.forward(&mut wave);
            let pixels = self.pixels(frame, &wave);
            let error = mean(&pixels, deviation);
            let kept = match f64::from(bound) {
                0.0 => 0.0,
                bound if error <= bound => 1.0,
                bound => (bound / error).sqrt(),
            };
            for (f, [power, measured]) in wave.iter_mut().zip(&pixels) {
                if *measured >= 0.0 {
                    let af = power.sqrt();
                    *f *= kept + (1.0 - kept) * measured / (af + MAGNITUDE_FLOOR);
                }
            }
            fft.inverse(&mut wave);
            let next: Vec<_> = (pairs().zip(&wave))
                .map(|((psi, exit), projected)| psi * keep + exit * a + projected * b)
                .collect();
            after.errors.push(error);
            after.psi.extend(next);
        }
        after
    }

    /// The object's sums and Σ|Δψ|² of the new waves `psi`.
    fn sums(&self, psi: &[Complex<f64>]) -> (Vec<Complex<f64>>, Vec<f64>) {
        let mut sums = vec![Complex::default(); self.shape.object_elements()];
        let mut moved = vec![0.0; self.shape.frames as usize];
        for at in self.shape.indices(&self.corners) {
            sums[at.object] += wide(self.probe[at.probe]).conj() * psi[at.wave];
            moved[at.frame] += (psi[at.wave] - wide(self.psi[at.wave])).norm_sqr();
        }
        (sums, moved)
    }
}

/// The sums in units of 1.
pub(super) fn unpacked(sums: &[u64]) -> Vec<Complex32> {
    let one = |(pixel, sum): (usize, &u64)| {
        let quantum = quantum(pixel);
        let re = *sum as i32;
        let im = (sum.wrapping_sub(i64::from(re) as u64) >> 32) as i32;
        Complex32::new(re as f32 / quantum, im as f32 / quantum)
    };
    sums.iter().enumerate().map(one).collect()
}

/// Device arrays of a step.
struct Arrays<M: Device> {
    psi: Waves<M>,
    sums: M::Buffer<u64>,
    exceeding: M::Buffer<u32>,
    errors: M::Buffer<f32>,
    moved: M::Buffer<f32>,
}

impl<M: Device> Arrays<M> {
    fn new(on: CaseDevice<'_, M>, scan: &Scan) -> Result<Self> {
        let frames = scan.shape.frames as usize;
        Ok(Self {
            psi: Waves::upload(on, &scan.psi, scan.stored)?,
            sums: on.upload(&vec![0_u64; scan.shape.object_elements()])?,
            exceeding: on.upload(&[0_u32])?,
            errors: on.poisoned(frames)?,
            moved: on.poisoned(frames)?,
        })
    }
}

/// Launches the kernel for the frames' size that keeps the probe in shared memory or does not.
fn launch<M: Device>(
    device: &M,
    on: CaseDevice<'_, M>,
    scan: &Scan,
    keeps: bool,
    (limit, bound, [_, _, b, c]): (f32, f32, [f32; 4]),
    arrays: &mut Arrays<M>,
) -> Result<()> {
    let probe = on.upload(&scan.probe)?;
    let object = on.upload(&scan.object)?;
    let magnitudes = on.upload(&scan.magnitudes)?;
    let weights = on.upload(&scan.weights)?;
    let corners = on.upload(&scan.corners)?;
    let roots = on.upload(&scan.roots)?;
    let pixels = 0..scan.shape.object_elements();
    let quanta: Vec<u8> = pixels.map(quantum).map(exponent).collect();
    let quanta = on.upload(&quanta)?;
    let limit = on.upload(&[limit])?;
    let Shape {
        frames,
        rows: side,
        object_rows,
        object_columns,
        ..
    } = scan.shape;
    macro_rules! step {
        ($kernel:ident, $psi:ident) => {
            device.launch(
                &$kernel {
                    psi: $psi.write(),
                    probe: probe.read(),
                    object: object.read(),
                    magnitudes: magnitudes.read(),
                    weights: weights.read(),
                    corners: corners.read(),
                    roots: roots.read(),
                    sums: arrays.sums.write(),
                    quanta: quanta.read(),
                    limit: limit.read(),
                    exceeding: arrays.exceeding.write(),
                    errors: arrays.errors.write(),
                    moved: arrays.moved.write(),
                    frames,
                    side,
                    object_rows,
                    object_columns,
                    pause: 500,
                    bound,
                    b,
                    c,
                },
                Work::Blocks(frames as usize),
            )
        };
    }
    match (&mut arrays.psi, side, keeps) {
        (Waves::F32(psi), 64, true) => step!(PtychoFusedStep64, psi),
        (Waves::F32(psi), 64, false) => step!(PtychoFusedStep64Moved, psi),
        (Waves::F32(psi), _, true) => step!(PtychoFusedStep128, psi),
        (Waves::F32(psi), _, false) => step!(PtychoFusedStep128Moved, psi),
        (Waves::Bf16(psi), 64, true) => step!(PtychoFusedStep64Bf16, psi),
        (Waves::Bf16(psi), 64, false) => step!(PtychoFusedStep64MovedBf16, psi),
        (Waves::Bf16(psi), _, true) => step!(PtychoFusedStep128Bf16, psi),
        (Waves::Bf16(psi), _, false) => step!(PtychoFusedStep128MovedBf16, psi),
    }
}

fn case(scan: &Scan, keeps: bool, text: String) -> Case {
    let moved = if keeps { "" } else { "_moved" };
    let kernel = format!("ptycho_fused_step_{}{moved}", scan.shape.rows);
    waves::case(&kernel, scan.stored, text)
}

fn step<M: Device>(
    bench: &mut Bench<'_, M>,
    scan: &Scan,
    after: &After,
    keeps: bool,
    (bound, coefficients): (f32, [f32; 4]),
) -> Result<()> {
    let on = bench.on();
    let [keep, a, b, _] = coefficients;
    let shape = scan.shape;
    let text = format!("{shape}, bound {bound}, ψ {keep}, PO {a}, Π {b}");
    bench.run(
        case(scan, keeps, text),
        Arrays::<M>::new(on, scan)?,
        |device, arrays| launch(device, on, scan, keeps, (1e9, bound, coefficients), arrays),
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
            if !keeps {
                worst = worst.max(on.error(&arrays.moved, &moved)?);
            }
            Ok(worst)
        },
    )
}

/// Every thread of every frame sees exit waves beyond a limit of 0.
fn exceeding<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, stored: GpuWaves) -> Result<()> {
    let on = bench.on();
    let scan = Scan::new("exceeding", shape, stored);
    let threads = shape.pixels() as u32 / 32;
    for keeps in stash_options(bench.device(), shape) {
        bench.run(
            case(&scan, keeps, format!("{shape}, waves beyond the limit")).exact(),
            Arrays::<M>::new(on, &scan)?,
            |device, arrays| {
                let options = (0.0, 0.0, COEFFICIENTS[0]);
                launch(device, on, &scan, keeps, options, arrays)
            },
            |on, arrays| on.error(&arrays.exceeding, &[shape.frames * threads]),
        )?;
    }
    Ok(())
}

fn metrics<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let scan = Scan::new("fused metrics", shape, GpuWaves::F32);
    let side = shape.rows as usize;
    let mut fft = Fft2::<f64>::new(side, side);
    let (mut photons, mut residuals, mut frees) = (Vec::new(), Vec::new(), Vec::new());
    for (frame, wave) in scan.exit_waves().chunks_mut(side * side).enumerate() {
        fft.forward(wave);
        let [photon, residual, free] = model_metrics(&scan.pixels(frame, wave));
        photons.push(photon);
        residuals.push(residual);
        frees.push(free);
    }
    let frames = shape.frames as usize;
    let probe = on.upload(&scan.probe)?;
    let object = on.upload(&scan.object)?;
    let magnitudes = on.upload(&scan.magnitudes)?;
    let corners = on.upload(&scan.corners)?;
    let roots = on.upload(&scan.roots)?;
    macro_rules! run {
        ($kernel:ident) => {
            bench.run(
                Case::of::<$kernel<'_, Emulated>>(shape.to_string())
                    .timed(shape.timed, 4 * scan.magnitudes.len()),
                (
                    on.poisoned::<f32>(frames)?,
                    on.poisoned::<f32>(frames)?,
                    on.poisoned::<f32>(frames)?,
                ),
                |device, (photon, residual, free)| {
                    let launch = $kernel {
                        probe: probe.read(),
                        object: object.read(),
                        magnitudes: magnitudes.read(),
                        corners: corners.read(),
                        roots: roots.read(),
                        photon: photon.write(),
                        residual: residual.write(),
                        free: free.write(),
                        frames: shape.frames,
                        side: shape.rows,
                        object_rows: shape.object_rows,
                        object_columns: shape.object_columns,
                    };
                    device.launch(&launch, Work::Blocks(frames))
                },
                |on, (photon, residual, free)| {
                    Ok(on
                        .error(photon, &photons)?
                        .max(on.error(residual, &residuals)?)
                        .max(on.error(free, &frees)?))
                },
            )
        };
    }
    if shape.rows == 64 {
        run!(PtychoFusedMetrics64)
    } else {
        run!(PtychoFusedMetrics128)
    }
}
