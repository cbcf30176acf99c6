//! The direct operators F and Fᴴ on one GPU compared with their floor, and their error.
//!
//! `mri_direct [CASE …]` runs all cases if no argument is given: `cube` (128³ voxels × 2¹⁸
//! samples), `coils` (128³ × 2¹⁶, 12 images), `slice` (256² × 102 912), `slices` (the same, 12
//! images), `cardiac` (256² × 6400, 12 images), `small` (64² × 4096). Times are measured with
//! events, the median of several repetitions; the floor is 2 FMA per voxel and sample, 128 per
//! clock and multiprocessor, at the frequency `CLOCK_GHZ` (environment variable, default 1.83).
//! Errors are relative in the L2 norm, over some hundred random voxels or samples, compared with
//! sums in double precision.

use std::f64::consts::TAU;
use std::io::Write;

use ndarray::Array2;
use num_complex::Complex;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::mri::cuda::direct::Direct;
use warpstride::mri::{Grid, Trigonometry};
use warpstride_benches::median;
use warpstride_device::Complex32;

/// Elements whose error is checked.
const CHECKED: usize = 200;

struct Case {
    name: &'static str,
    grid: Grid,
    samples: usize,
    images: usize,
}

fn cases() -> [Case; 6] {
    let case = |name, grid, samples, images| Case {
        name,
        grid,
        samples,
        images,
    };
    [
        case("cube", Grid::three(128, 128, 128), 1 << 18, 1),
        case("coils", Grid::three(128, 128, 128), 1 << 16, 12),
        case("slice", Grid::two(256, 256), 102_912, 1),
        case("slices", Grid::two(256, 256), 102_912, 12),
        case("cardiac", Grid::two(256, 256), 6400, 12),
        case("small", Grid::two(64, 64), 4096, 1),
    ]
}

/// Uniform random numbers in −1 … 1, the same in every run.
struct Noise(u64);

impl Noise {
    fn real(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn complex(&mut self, len: usize) -> Vec<Complex<f32>> {
        (0..len)
            .map(|_| Complex::new(self.real() as f32, self.real() as f32))
            .collect()
    }

    fn below(&mut self, len: usize) -> usize {
        ((self.real() + 1.0) / 2.0 * len as f64) as usize % len
    }
}

fn position(grid: Grid, voxel: usize) -> [f64; 3] {
    let [slices, rows, columns] = grid.shape;
    let at = |n: usize, extent: usize| n as f64 - (extent / 2) as f64;
    [
        at(voxel % columns, columns),
        at(voxel / columns % rows, rows),
        at(voxel / columns / rows, slices),
    ]
}

/// exp(2πi k·x).
fn wave(grid: Grid, k: &Array2<f64>, sample: usize, voxel: usize) -> Complex<f64> {
    let terms = k.row(sample).into_iter().zip(position(grid, voxel));
    let cycles: f64 = terms.map(|(k, x)| k * x).sum();
    Complex::cis(TAU * (cycles - cycles.round()))
}

/// Σ_x ρ(x) exp(−2πi k·x) of one sample, by separate exponentials for each axis.
fn forward(grid: Grid, k: &Array2<f64>, sample: usize, image: &[Complex<f32>]) -> Complex<f64> {
    let [slices, rows, columns] = grid.shape;
    let axis = |axis: usize, extent: usize| -> Vec<Complex<f64>> {
        let k = k.row(sample).get(axis).copied().unwrap_or(0.0);
        (0..extent)
            .map(|n| Complex::cis(-TAU * k * (n as f64 - (extent / 2) as f64)))
            .collect()
    };
    let (x, y, z) = (axis(0, columns), axis(1, rows), axis(2, slices));
    let mut sum = Complex::new(0.0, 0.0);
    for (row, values) in image.chunks(columns).enumerate() {
        let of_row: Complex<f64> = values.iter().zip(&x).map(|(rho, x)| wide(*rho) * x).sum();
        sum += of_row * y[row % rows] * z[row / rows];
    }
    sum
}

fn wide(value: Complex<f32>) -> Complex<f64> {
    Complex::new(value.re.into(), value.im.into())
}

/// ‖found − Σ‖/‖Σ‖ over some elements, with `sum(image, element)` as Σ.
fn error(found: &[Complex<f32>], images: usize, sum: impl Fn(usize, usize) -> Complex<f64>) -> f64 {
    let len = found.len() / images;
    let mut noise = Noise(99);
    let [mut difference, mut norm] = [0.0, 0.0];
    for check in 0..CHECKED {
        let (image, element) = (check % images, noise.below(len));
        let exact = sum(image, element);
        difference += (wide(found[image * len + element]) - exact).norm_sqr();
        norm += exact.norm_sqr();
    }
    (difference / norm).sqrt()
}

fn time(
    device: &CudaDevice,
    mut work: impl FnMut() -> warpstride::gpu::Result<()>,
) -> anyhow::Result<f64> {
    let once = f64::from(device.time_ms(&mut work)?);
    let again = ((20.0 / once.max(1e-3)) as usize).clamp(1, 50);
    let mut times = Vec::new();
    for _ in 0..5 {
        let ms = device.time_ms(&mut || (0..again).try_for_each(|_| work()))?;
        times.push(f64::from(ms) / again as f64);
    }
    Ok(median(times))
}

fn main() -> anyhow::Result<()> {
    let requested: Vec<String> = std::env::args().skip(1).collect();
    let clock = std::env::var("CLOCK_GHZ").map_or(Ok(1.83), |text| text.parse::<f64>())?;
    let device = CudaDevice::new(
        0,
        &warpstride::mri::cuda::kernels().only(|name| name.starts_with("mri_direct")),
    )?;
    let multiprocessors = f64::from(device.multiprocessors());
    let most = multiprocessors * 128.0 * clock * 1e9 / 2.0;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}, {multiprocessors} multiprocessors, sm_{}: floor {most:.3e} pairs/s at {clock} GHz",
        device.device_name(),
        device.arch()
    )?;
    writeln!(
        out,
        "case     voxels × samples × images       way     trig        ms   pairs/s  floor   error"
    )?;
    for case in cases() {
        if !requested.is_empty() && !requested.iter().any(|name| name == case.name) {
            continue;
        }
        let (grid, samples, images) = (case.grid, case.samples, case.images);
        let voxels = grid.voxels();
        let mut noise = Noise(1);
        let k = Array2::from_shape_fn((samples, grid.axes), |_| noise.real() / 2.0);
        let (image, data) = (
            noise.complex(images * voxels),
            noise.complex(images * samples),
        );
        let mut on_image = device.alloc::<Complex32>("the image", image.len())?;
        let mut on_data = device.alloc::<Complex32>("the data", data.len())?;
        for trigonometry in [Trigonometry::Accurate, Trigonometry::Hardware] {
            let direct = Direct::new(&device, grid, &k, None, trigonometry, images)?;
            for adjoint in [true, false] {
                device.upload(&mut on_image, &image)?;
                device.upload(&mut on_data, &data)?;
                let mut output_image = device.alloc::<Complex32>("an image", image.len())?;
                let mut output_data = device.alloc::<Complex32>("data", data.len())?;
                let ms = time(&device, || {
                    if adjoint {
                        direct.adjoint(&device, &on_data, &mut output_image, images)
                    } else {
                        direct.forward(&device, &on_image, &mut output_data, images)
                    }
                })?;
                let error = if adjoint {
                    let mut found = image.clone();
                    device.download(&output_image, &mut found)?;
                    error(&found, images, |i, voxel| {
                        let terms = data[i * samples..][..samples].iter().enumerate();
                        terms
                            .map(|(m, d)| wide(*d) * wave(grid, &k, m, voxel))
                            .sum()
                    })
                } else {
                    let mut found = data.clone();
                    device.download(&output_data, &mut found)?;
                    error(&found, images, |i, sample| {
                        forward(grid, &k, sample, &image[i * voxels..][..voxels])
                    })
                };
                let pairs = voxels as f64 * samples as f64 * images as f64;
                let rate = pairs / (ms * 1e-3);
                writeln!(
                    out,
                    "{:8} {:>9} × {:>6} × {:>2}          {:8}{:9}{ms:9.4} {rate:9.3e} {:4.1} %  {error:.1e}",
                    case.name,
                    voxels,
                    samples,
                    images,
                    if adjoint { "adjoint" } else { "forward" },
                    if trigonometry == Trigonometry::Accurate {
                        "accurate"
                    } else {
                        "hardware"
                    },
                    100.0 * rate / most,
                )?;
                out.flush()?;
            }
        }
    }
    Ok(())
}
