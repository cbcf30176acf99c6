//! Cases of `mri_direct_…` and `mri_ladder_…`.

use std::f64::consts::TAU;

use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_device::{Complex32, F32x4, U32x4};
use warpstride_kernels::mri::direct_adjoint::MriDirectAdjoint;
use warpstride_kernels::mri::direct_forward::MriDirectForward;
use warpstride_kernels::mri::direct_gather::MriDirectGather;
use warpstride_kernels::mri::direct_ladder_global::{
    MriLadderGather, MriLadderMu, MriLadderRegisters, MriLadderScatter, MriLadderSplit,
};
use warpstride_kernels::mri::direct_ladder_rows::{MriLadderCoils, MriLadderRotation};
use warpstride_kernels::mri::direct_ladder_staged::{
    MriLadderChunks, MriLadderHardware, MriLadderPack, MriLadderStructs, MriLadderVoxels,
};
use warpstride_kernels::mri::direct_sum_parts::MriDirectSumParts;
use warpstride_selftest::bench::Size;
use warpstride_selftest::bench::{Bench, Case, CaseDevice, wide};
use warpstride_selftest::random_data::Source;

type C = Complex<f64>;

/// Slices, rows, columns, images, samples, parts: a single voxel and sample, primes, even and odd,
/// more pairs and rows than a tile has, samples that do not fill a step, no samples.
const SMALL: [[usize; 6]; 7] = [
    [1, 1, 1, 1, 1, 1],
    [1, 7, 13, 3, 29, 2],
    [3, 5, 4, 2, 131, 3],
    [1, 2, 131, 1, 17, 1],
    [5, 14, 2, 1, 40, 2],
    [2, 3, 6, 5, 0, 1],
    [1, 6, 33, 4, 300, 5],
];

pub(crate) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    for [slices, rows, columns, images, samples, parts] in SMALL {
        Trial::new([slices, rows, columns], images, samples, parts).all(bench)?;
    }
    if size == Size::Device {
        Trial::new([1, 67, 260], 5, 2_000, 3).all(bench)?;
        Trial::new([9, 16, 65], 2, 3_333, 2).all(bench)?;
    }
    Ok(())
}

/// Random data on a random trajectory.
struct Trial {
    shape: [usize; 3],
    images: usize,
    samples: usize,
    parts: usize,
    /// k of every sample, cycles/pixel, exact in single precision.
    k: Vec<[f32; 3]>,
    /// (image, sample).
    data: Vec<Complex32>,
    /// φ of every sample.
    phi: Vec<Complex32>,
    /// (image, voxel).
    image: Vec<Complex32>,
}

impl Trial {
    fn new(shape: [usize; 3], images: usize, samples: usize, parts: usize) -> Self {
        let mut source = Source::new("mri_direct", &format!("{shape:?} {images} {samples}"));
        let k = source.reals(3 * samples, -0.5, 0.5);
        Self {
            shape,
            images,
            samples,
            parts,
            k: k.chunks(3).map(|k| [k[0], k[1], k[2]]).collect(),
            data: source.complex(images * samples),
            phi: source.complex(samples),
            image: source.complex(images * shape.iter().product::<usize>()),
        }
    }

    fn voxels(&self) -> usize {
        self.shape.iter().product()
    }

    fn name(&self) -> String {
        let [slices, rows, columns] = self.shape;
        format!(
            "{} × {slices} × {rows} × {columns}, {} samples",
            self.images, self.samples
        )
    }

    fn position(&self, voxel: usize) -> [f64; 3] {
        let [slices, rows, columns] = self.shape;
        let at = |n: usize, extent: usize| n as f64 - (extent / 2) as f64;
        [
            at(voxel % columns, columns),
            at(voxel / columns % rows, rows),
            at(voxel / columns / rows, slices),
        ]
    }

    /// exp(2πi k·x).
    fn wave(&self, sample: usize, voxel: usize) -> C {
        let terms = self.k[sample].into_iter().zip(self.position(voxel));
        let cycles: f64 = terms.map(|(k, x)| f64::from(k) * x).sum();
        C::cis(TAU * (cycles - cycles.round()))
    }

    /// Fᴴ of `values` (image, sample).
    fn adjoint(&self, values: &[C]) -> Vec<C> {
        let mut out = vec![C::default(); values.len() / self.samples.max(1) * self.voxels()];
        if self.samples == 0 {
            return vec![C::default(); self.images * self.voxels()];
        }
        for sample in 0..self.samples {
            for voxel in 0..self.voxels() {
                let wave = self.wave(sample, voxel);
                for (image, data) in values.chunks(self.samples).enumerate() {
                    out[image * self.voxels() + voxel] += wave * data[sample];
                }
            }
        }
        out
    }

    /// F of the image.
    fn forward(&self) -> Vec<C> {
        let mut out = vec![C::default(); self.images * self.samples];
        for sample in 0..self.samples {
            for voxel in 0..self.voxels() {
                let wave = self.wave(sample, voxel).conj();
                for image in 0..self.images {
                    let value = wide(self.image[image * self.voxels() + voxel]);
                    out[image * self.samples + sample] += wave * value;
                }
            }
        }
        out
    }

    fn all<M: Device>(&self, bench: &mut Bench<'_, M>) -> Result<()> {
        let data: Vec<C> = self.data.iter().copied().map(wide).collect();
        let (image, samples) = (self.adjoint(&data), self.forward());
        self.separable(bench, &image, &samples)?;
        self.gather(bench, &image, &samples)?;
        self.ladder(bench)?;
        self.rows(bench, &image)
    }

    fn separable<M: Device>(
        &self,
        bench: &mut Bench<'_, M>,
        image: &[C],
        samples: &[C],
    ) -> Result<()> {
        let on = bench.on();
        let fraction = |k: f32| (f64::from(k) / 2.0 * 4_294_967_296.0).round() as i64 as u32;
        let cycles = self
            .k
            .iter()
            .map(|[x, y, z]| U32x4([fraction(*x), fraction(*y), fraction(*z), 0]));
        let steps = self.k.iter().map(|[x, y, _]| {
            let [(xs, xc), (ys, yc)] = [x, y].map(|k| (TAU * f64::from(*k)).sin_cos());
            F32x4([xc, xs, yc, ys].map(|v| v as f32))
        });
        let cycles = on.upload(&cycles.collect::<Vec<_>>())?;
        let steps = on.upload(&steps.collect::<Vec<_>>())?;
        let [slices, rows, columns] = self.shape.map(|n| n as u32);
        let (data, of_image) = (on.upload(&self.data)?, on.upload(&self.image)?);
        for (parts, hardware) in [(1, 0), (self.parts, 0), (self.parts, 1)] {
            macro_rules! operator {
                ($kernel:ident, $values:ident, $reference:expr) => {
                    bench.run(
                        Case::of::<$kernel<'_, Emulated>>(format!(
                            "{}, {parts} parts{}",
                            self.name(),
                            if hardware == 1 { ", hardware" } else { "" }
                        )),
                        on.poisoned::<Complex32>(parts * $reference.len())?,
                        |device, out| {
                            let launch = $kernel {
                                out: out.write(),
                                values: $values.read(),
                                turns: cycles.read(),
                                steps: steps.read(),
                                samples: self.samples as u32,
                                images: self.images as u32,
                                slices,
                                rows,
                                columns,
                                parts: parts as u32,
                                hardware,
                            };
                            device.launch(&launch, Work::Blocks(5 * parts))
                        },
                        |on, out| of_parts(on, out, $reference, parts),
                    )?;
                };
            }
            operator!(MriDirectAdjoint, data, image);
            operator!(MriDirectForward, of_image, samples);
        }

        let values = wide_all(&self.data);
        let count = values.len() / self.parts;
        let summed: Vec<C> = (0..count)
            .map(|i| (0..self.parts).map(|part| values[part * count + i]).sum())
            .collect();
        bench.run(
            Case::of::<MriDirectSumParts<'_, Emulated>>(self.name()),
            on.poisoned::<Complex32>(count)?,
            |device, out| {
                let launch = MriDirectSumParts {
                    out: out.write(),
                    values: data.read(),
                    parts: self.parts as u32,
                    count,
                };
                device.launch(&launch, Work::Elements(count))
            },
            |on, out| on.error(out, &summed),
        )
    }

    /// k in units of 2⁻³², the voxels' coordinates in units of 2⁻¹⁵: |p| below 2¹⁶ pixels.
    fn gather<M: Device>(
        &self,
        bench: &mut Bench<'_, M>,
        image: &[C],
        samples: &[C],
    ) -> Result<()> {
        let on = bench.on();
        let (mut of_voxels, mut of_samples) = (Vec::new(), Vec::new());
        for axis in 0..3 {
            let coordinates = (0..self.voxels()).map(|n| self.position(n)[axis]);
            of_voxels.extend(coordinates.map(|x| (x * 32_768.0) as i32));
            let k = self.k.iter().map(|k| f64::from(k[axis]) * 4_294_967_296.0);
            of_samples.extend(k.map(|k| k.round().clamp(-2_147_483_647.0, 2_147_483_647.0) as i32));
        }
        // Two more functions that cancel each other; the fifth is not held in registers.
        for sign in [1, -1] {
            of_voxels.extend((0..self.voxels()).map(|n| sign * (n as i32 % 7) * 32_768));
            of_samples.extend((0..self.samples).map(|m| (m as i32 % 11) << 27));
        }
        let (voxels, points) = (on.upload(&of_voxels)?, on.upload(&of_samples)?);
        let shifts = on.upload(&[15_u32; 5])?;
        let (data, of_image) = (on.upload(&self.data)?, on.upload(&self.image)?);
        for hardware in [0, 1] {
            for adjoint in [true, false] {
                let (reference, values, sides, counts) = if adjoint {
                    let counts = [self.voxels(), self.samples];
                    (image, &data, [&voxels, &points], counts)
                } else {
                    let counts = [self.samples, self.voxels()];
                    (samples, &of_image, [&points, &voxels], counts)
                };
                bench.run(
                    Case::of::<MriDirectGather<'_, Emulated>>(format!(
                        "{}, {}{}",
                        self.name(),
                        if adjoint { "adjoint" } else { "forward" },
                        if hardware == 1 { ", hardware" } else { "" }
                    )),
                    on.poisoned::<Complex32>(self.parts * reference.len())?,
                    |device, out| {
                        let launch = MriDirectGather {
                            out: out.write(),
                            values: values.read(),
                            of_targets: sides[0].read(),
                            of_sources: sides[1].read(),
                            shifts: shifts.read(),
                            targets: counts[0] as u32,
                            sources: counts[1] as u32,
                            functions: 5,
                            images: self.images as u32,
                            parts: self.parts as u32,
                            conjugate: u32::from(!adjoint),
                            hardware,
                        };
                        device.launch(&launch, Work::Blocks(5))
                    },
                    |on, out| of_parts(on, out, reference, self.parts),
                )?;
            }
        }
        Ok(())
    }

    /// Cases of the textbook's kernels.
    fn ladder<M: Device>(&self, bench: &mut Bench<'_, M>) -> Result<()> {
        let on = bench.on();
        let (voxels, samples) = (self.voxels(), self.samples);
        let first: Vec<C> = wide_all(&self.data[..samples]);
        let mu: Vec<C> = self
            .phi
            .iter()
            .zip(&first)
            .map(|(p, d)| wide(*p).conj() * d)
            .collect();
        let image = &self.adjoint(&mu)[..voxels];
        let along = |axis: usize| -> Vec<f32> {
            (0..voxels).map(|n| self.position(n)[axis] as f32).collect()
        };
        let of_k = |axis: usize| -> Vec<f32> { self.k.iter().map(|k| k[axis]).collect() };
        let [x, y, z] = [
            on.upload(&along(0))?,
            on.upload(&along(1))?,
            on.upload(&along(2))?,
        ];
        let [kx, ky, kz] = [
            on.upload(&of_k(0))?,
            on.upload(&of_k(1))?,
            on.upload(&of_k(2))?,
        ];
        let (phi, data) = (on.upload(&self.phi)?, on.upload(&self.data[..samples])?);
        let narrow = |v: &C| Complex32::new(v.re as f32, v.im as f32);
        let of_mu = on.upload(&mu.iter().map(narrow).collect::<Vec<_>>())?;

        bench.run(
            Case::of::<MriLadderMu<'_, Emulated>>(self.name()),
            on.poisoned::<Complex32>(samples)?,
            |device, out| {
                let launch = MriLadderMu {
                    out: out.write(),
                    phi: phi.read(),
                    data: data.read(),
                    samples,
                };
                device.launch(&launch, Work::Elements(samples))
            },
            |on, out| on.error(out, &mu),
        )?;
        let packed = packed(&self.k, &mu);
        bench.run(
            Case::of::<MriLadderPack<'_, Emulated>>(self.name()),
            on.poisoned::<F32x4>(2 * samples)?,
            |device, out| {
                let launch = MriLadderPack {
                    out: out.write(),
                    kx: kx.read(),
                    ky: ky.read(),
                    kz: kz.read(),
                    mu: of_mu.read(),
                    samples,
                };
                device.launch(&launch, Work::Elements(samples))
            },
            |on, out| {
                let mut found = vec![F32x4::default(); 2 * samples];
                on.download(out, &mut found)?;
                let [found, expected] = [&found, &packed].map(|all| flat(all));
                let away: f64 = found
                    .iter()
                    .zip(&expected)
                    .map(|(a, b)| (a - b).powi(2))
                    .sum();
                let norm: f64 = expected.iter().map(|v| v * v).sum();
                Ok(relative(away, norm))
            },
        )?;

        macro_rules! arrays {
            ($kernel:ident, $elements:expr, $start:expr; $($more:ident = $from:ident),*) => {
                bench.run(
                    Case::of::<$kernel<'_, Emulated>>(self.name()),
                    ($start, $start),
                    |device, (re, im)| {
                        let launch = $kernel {
                            re: re.write(),
                            im: im.write(),
                            x: x.read(),
                            y: y.read(),
                            z: z.read(),
                            kx: kx.read(),
                            ky: ky.read(),
                            kz: kz.read(),
                            $($more: $from.read(),)*
                            voxels,
                            samples,
                        };
                        device.launch(&launch, Work::Elements($elements))
                    },
                    |on, (re, im)| {
                        let [mut real, mut imaginary] = [vec![0.0_f32; voxels], vec![0.0_f32; voxels]];
                        on.download(re, &mut real)?;
                        on.download(im, &mut imaginary)?;
                        let parts = real.iter().zip(&imaginary);
                        let found = parts.map(|(re, im)| C::new((*re).into(), (*im).into()));
                        Ok(distance(found, image))
                    },
                )?;
            };
        }
        arrays!(MriLadderScatter, samples, on.upload(&vec![0.0_f32; voxels])?; phi = phi, data = data);
        arrays!(MriLadderGather, voxels, on.poisoned::<f32>(voxels)?; phi = phi, data = data);
        arrays!(MriLadderSplit, voxels, on.poisoned::<f32>(voxels)?; mu = of_mu);
        arrays!(MriLadderRegisters, voxels, on.poisoned::<f32>(voxels)?; mu = of_mu);

        bench.run(
            Case::of::<MriLadderChunks<'_, Emulated>>(self.name()),
            on.poisoned::<Complex32>(voxels)?,
            |device, out| {
                let launch = MriLadderChunks {
                    out: out.write(),
                    x: x.read(),
                    y: y.read(),
                    z: z.read(),
                    kx: kx.read(),
                    ky: ky.read(),
                    kz: kz.read(),
                    mu: of_mu.read(),
                    voxels: voxels as u32,
                    samples: samples as u32,
                };
                device.launch(&launch, Work::Blocks(3))
            },
            |on, out| on.error(out, image),
        )?;
        let points = on.upload(&packed)?;
        macro_rules! structs {
            ($kernel:ident) => {
                bench.run(
                    Case::of::<$kernel<'_, Emulated>>(self.name()),
                    on.poisoned::<Complex32>(voxels)?,
                    |device, out| {
                        let launch = $kernel {
                            out: out.write(),
                            x: x.read(),
                            y: y.read(),
                            z: z.read(),
                            points: points.read(),
                            voxels: voxels as u32,
                            samples: samples as u32,
                        };
                        device.launch(&launch, Work::Blocks(3))
                    },
                    |on, out| on.error(out, image),
                )?;
            };
        }
        structs!(MriLadderStructs);
        structs!(MriLadderHardware);
        structs!(MriLadderVoxels);
        let [slices, rows, columns] = self.shape.map(|n| n as u32);
        bench.run(
            Case::of::<MriLadderRotation<'_, Emulated>>(self.name()),
            on.poisoned::<Complex32>(voxels)?,
            |device, out| {
                let launch = MriLadderRotation {
                    out: out.write(),
                    points: points.read(),
                    samples: samples as u32,
                    slices,
                    rows,
                    columns,
                };
                device.launch(&launch, Work::Blocks(3))
            },
            |on, out| on.error(out, image),
        )
    }

    fn rows<M: Device>(&self, bench: &mut Bench<'_, M>, image: &[C]) -> Result<()> {
        let on = bench.on();
        let points = on.upload(&packed(&self.k, &vec![C::default(); self.samples]))?;
        let data = on.upload(&self.data)?;
        let [slices, rows, columns] = self.shape.map(|n| n as u32);
        bench.run(
            Case::of::<MriLadderCoils<'_, Emulated>>(self.name()),
            on.poisoned::<Complex32>(image.len())?,
            |device, out| {
                let launch = MriLadderCoils {
                    out: out.write(),
                    values: data.read(),
                    points: points.read(),
                    samples: self.samples as u32,
                    images: self.images as u32,
                    slices,
                    rows,
                    columns,
                };
                device.launch(&launch, Work::Blocks(3))
            },
            |on, out| on.error(out, image),
        )
    }
}

/// kx, ky, kz, 0, Mu, exp(2πi kx) of every sample.
fn packed(k: &[[f32; 3]], mu: &[C]) -> Vec<F32x4> {
    let samples = k.iter().zip(mu);
    samples
        .flat_map(|([x, y, z], mu)| {
            let (sin, cos) = (TAU * f64::from(*x)).sin_cos();
            let rest = [mu.re, mu.im, cos, sin].map(|v| v as f32);
            [F32x4([*x, *y, *z, 0.0]), F32x4(rest)]
        })
        .collect()
}

fn flat(all: &[F32x4]) -> Vec<f64> {
    all.iter().flat_map(|four| four.0.map(f64::from)).collect()
}

fn wide_all(values: &[Complex32]) -> Vec<C> {
    values.iter().copied().map(wide).collect()
}

/// The relative error of the sum of the parts.
fn of_parts<M: Device>(
    on: CaseDevice<'_, M>,
    out: &M::Buffer<Complex32>,
    reference: &[C],
    parts: usize,
) -> Result<f64> {
    let mut found = vec![Complex32::ZERO; parts * reference.len()];
    on.download(out, &mut found)?;
    let sums = (0..reference.len()).map(|i| {
        (0..parts)
            .map(|part| wide(found[part * reference.len() + i]))
            .sum()
    });
    Ok(distance(sums, reference))
}

fn distance(found: impl Iterator<Item = C>, reference: &[C]) -> f64 {
    let away = found.zip(reference).map(|(f, r)| (f - r).norm_sqr()).sum();
    relative(away, reference.iter().map(C::norm_sqr).sum())
}

fn relative(away: f64, norm: f64) -> f64 {
    let error = (away / if norm > 0.0 { norm } else { 1.0 }).sqrt();
    if error.is_nan() { f64::INFINITY } else { error }
}
