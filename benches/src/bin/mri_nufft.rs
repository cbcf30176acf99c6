//! The NUFFT on one GPU: both types, 256² and 128³, with the times of their stages, and errors
//! relative to double-precision sums over a subset.
//!
//! `mri_nufft [SAMPLES]`, 2²¹ by default. `benches/cufinufft/compare.py` runs the same cases with
//! cuFINUFFT. Each time is the median over several repetitions of ten calls, measured with events,
//! without sorting the points. The stages are timed one by one with a synchronisation after each,
//! so their sum is larger.

use ndarray::Array2;
use num_complex::Complex;
use std::f64::consts::{PI, TAU};
use std::io::Write;
use std::time::Instant;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::mri::Grid;
use warpstride::mri::cuda::Nufft;
use warpstride_benches::median;
use warpstride_device::Complex32;

const CALLS: usize = 10;
const REPEATS: usize = 7;
/// Samples (and a quarter as many voxels) that are compared with the sums.
const SUBSET: usize = 200;

type C = Complex<f64>;

/// Numbers in −1 … 1 from a linear congruential generator, whose quality does not matter here.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn complex(&mut self, len: usize) -> Vec<Complex32> {
        (0..len)
            .map(|_| Complex32::new(self.next() as f32, self.next() as f32))
            .collect()
    }
}

fn trajectory(kind: &str, count: usize, axes: usize) -> Array2<f64> {
    let mut noise = Noise(1);
    Array2::from_shape_vec(
        (count, axes),
        (0..count)
            .flat_map(|m| {
                let readout = if axes == 2 { 512 } else { 256 };
                let (spoke, radius) = (
                    (m / readout) as f64,
                    (m % readout) as f64 / readout as f64 - 0.5,
                );
                let k = match kind {
                    "random" => [0.0; 3].map(|_| 0.5 * noise.next()),
                    "clustered" => [0.0; 3].map(|_| 0.2 + 0.01 * noise.next()),
                    _ if axes == 2 => {
                        let angle = spoke * PI * 0.5 * (5_f64.sqrt() - 1.0);
                        [radius * angle.cos(), radius * angle.sin(), 0.0]
                    }
                    _ => {
                        let height = 2.0 * (spoke * 0.4656).fract() - 1.0;
                        let angle = TAU * (spoke * 0.6823).fract();
                        let ring = (1.0 - height * height).sqrt();
                        [ring * angle.cos(), ring * angle.sin(), height].map(|e| e * radius)
                    }
                };
                k.into_iter().take(axes)
            })
            .collect(),
    )
    .unwrap_or_default()
}

/// Exact sums over the subset.
struct Reference {
    points: Vec<usize>,
    samples: Vec<C>,
    voxels: Vec<usize>,
    image: Vec<C>,
}

fn wide(value: &Complex32) -> C {
    C::new(value.re.into(), value.im.into())
}

fn relative(found: impl Iterator<Item = C>, expected: &[C]) -> f64 {
    let difference: f64 = found.zip(expected).map(|(a, b)| (a - b).norm_sqr()).sum();
    (difference / expected.iter().map(C::norm_sqr).sum::<f64>()).sqrt()
}

/// Computes `item` for all of `items` on all cores.
fn in_parallel(items: &[usize], item: impl Fn(usize) -> C + Sync) -> Vec<C> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut results = vec![C::default(); items.len()];
    let share = items.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        for (items, results) in items.chunks(share).zip(results.chunks_mut(share)) {
            let item = &item;
            scope.spawn(move || {
                for (index, result) in items.iter().zip(results) {
                    *result = item(*index);
                }
            });
        }
    });
    results
}

impl Reference {
    fn new(grid: Grid, k: &Array2<f64>, image: &[Complex32], samples: &[Complex32]) -> Self {
        let mut noise = Noise(99);
        let mut pick = |len: usize| ((noise.next() * 0.5 + 0.5) * len as f64) as usize % len;
        let points: Vec<usize> = (0..SUBSET).map(|_| pick(k.nrows())).collect();
        let voxels: Vec<usize> = (0..SUBSET / 4).map(|_| pick(grid.voxels())).collect();
        let [slices, rows, columns] = grid.shape;
        let middle = |n: usize, size: usize| n as f64 - (size / 2) as f64;
        let at = |m: usize, axis: usize| if axis < grid.axes { k[[m, axis]] } else { 0.0 };
        let forward = in_parallel(&points, |m| {
            let along = |axis: usize, size: usize| -> Vec<C> {
                (0..size)
                    .map(|n| C::from_polar(1.0, -TAU * (at(m, axis) * middle(n, size)).fract()))
                    .collect()
            };
            let (x, y, z) = (along(0, columns), along(1, rows), along(2, slices));
            let mut sum = C::default();
            for (row, values) in image.chunks(columns).enumerate() {
                let line: C = values.iter().zip(&x).map(|(v, e)| wide(v) * e).sum();
                sum += line * y[row % rows] * z[row / rows];
            }
            sum
        });
        let adjoint = in_parallel(&voxels, |n| {
            let position = [
                middle(n % columns, columns),
                middle(n / columns % rows, rows),
                middle(n / columns / rows, slices),
            ];
            let terms = samples.iter().enumerate();
            terms
                .map(|(m, value)| {
                    let cycles: f64 = (0..3).map(|axis| at(m, axis) * position[axis]).sum();
                    wide(value) * C::from_polar(1.0, TAU * cycles.fract())
                })
                .sum()
        });
        Self {
            points,
            samples: forward,
            voxels,
            image: adjoint,
        }
    }
}

struct Trial<'a> {
    device: &'a CudaDevice,
    grid: Grid,
    kind: &'static str,
    k: Array2<f64>,
    image: Vec<Complex32>,
    samples: Vec<Complex32>,
    reference: Reference,
}

impl Trial<'_> {
    fn run(&self, tolerance: f64, stages: bool, out: &mut impl Write) -> anyhow::Result<()> {
        let device = self.device;
        let start = Instant::now();
        let mut nufft = Nufft::new(device, self.grid, self.k.view(), None, tolerance, 1)?;
        let sorting = start.elapsed().as_secs_f64();
        let count = self.samples.len();
        let voxels = self.image.len();
        let mut samples = device.alloc("samples", count)?;
        let mut image = device.alloc("image", voxels)?;
        let axes = self.grid.axes;

        device.upload(&mut samples, &self.samples)?;
        nufft.adjoint(device, &samples, &mut image, 1)?;
        let mut found = vec![Complex32::ZERO; voxels];
        device.download(&image, &mut found)?;
        let again = {
            nufft.adjoint(device, &samples, &mut image, 1)?;
            let mut again = vec![Complex32::ZERO; voxels];
            device.download(&image, &mut again)?;
            again == found
        };
        let picked = self.reference.voxels.iter().map(|n| wide(&found[*n]));
        let difference = relative(picked, &self.reference.image);
        let time = |work: &mut dyn FnMut() -> warpstride::gpu::Result<()>| {
            let mut times = Vec::new();
            for _ in 0..REPEATS {
                let ms = device.time_ms(&mut || (0..CALLS).try_for_each(|_| work()))?;
                times.push(f64::from(ms) / CALLS as f64);
            }
            anyhow::Ok(median(times))
        };
        let ms = time(&mut || nufft.adjoint(device, &samples, &mut image, 1))?;
        writeln!(
            out,
            "  {axes}-D {:9} {tolerance:7.0e} adjoint w {} {ms:8.3} ms {:7.2} G points/s  error {difference:.1e} = {:.2} tolerances{}; planned in {sorting:.2} s",
            self.kind,
            nufft.sizes().width,
            count as f64 / ms / 1e6,
            difference / tolerance,
            if again {
                ""
            } else {
                ", NOT THE SAME BITS AGAIN"
            },
        )?;
        if stages {
            let times = nufft.time_adjoint(device, &samples, &mut image, 1)?;
            writeln!(out, "      {}", stages_text(&times))?;
        }

        device.upload(&mut image, &self.image)?;
        nufft.forward(device, &image, &mut samples, 1)?;
        let mut found = vec![Complex32::ZERO; count];
        device.download(&samples, &mut found)?;
        let picked = self.reference.points.iter().map(|m| wide(&found[*m]));
        let difference = relative(picked, &self.reference.samples);
        let ms = time(&mut || nufft.forward(device, &image, &mut samples, 1))?;
        writeln!(
            out,
            "  {axes}-D {:9} {tolerance:7.0e} forward w {} {ms:8.3} ms {:7.2} G points/s  error {difference:.1e} = {:.2} tolerances",
            self.kind,
            nufft.sizes().width,
            count as f64 / ms / 1e6,
            difference / tolerance,
        )?;
        if stages {
            let times = nufft.time_forward(device, &image, &mut samples, 1)?;
            writeln!(out, "      {}", stages_text(&times))?;
        }
        Ok(())
    }
}

fn stages_text(times: &[(&str, f32)]) -> String {
    let texts = times.iter().map(|(name, ms)| format!("{name} {ms:.3}"));
    texts.collect::<Vec<_>>().join(", ")
}

fn main() -> anyhow::Result<()> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(1 << 21), |text| text.parse())?;
    let device = CudaDevice::new(0, &warpstride::mri::cuda::kernels())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}, {count} points", device.device_name())?;
    for grid in [Grid::two(256, 256), Grid::three(128, 128, 128)] {
        for kind in ["random", "radial", "clustered"] {
            let mut noise = Noise(2);
            let k = trajectory(kind, count, grid.axes);
            let image = noise.complex(grid.voxels());
            let samples = noise.complex(count);
            let trial = Trial {
                device: &device,
                grid,
                kind,
                reference: Reference::new(grid, &k, &image, &samples),
                k,
                image,
                samples,
            };
            for tolerance in [1e-4, 1e-2, 1e-3, 1e-5, 1e-6] {
                trial.run(tolerance, tolerance == 1e-4, &mut out)?;
            }
        }
    }
    Ok(())
}
