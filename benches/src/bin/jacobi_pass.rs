//! Benchmark of the pass kernels alone, on one GPU, against their floor, with several numbers of
//! strips.
//!
//! Usage: `jacobi_pass [SIDE …]`; the default sides are 16384 and 2048. Each measurement is the
//! median over several repetitions of ten passes between two fields, timed by events.

use std::io::Write;
use warpstride::cuda::DeviceBuffer;
use warpstride::gpu::{CudaDevice, Device};
use warpstride_benches::median;
use warpstride_device::F32x4;
use warpstride_device::launch::Work;
use warpstride_kernels::jacobi::pass;

const PASSES: usize = 10;
const REPEATS: usize = 5;

struct Trial<'a> {
    device: &'a CudaDevice,
    fields: [DeviceBuffer<F32x4>; 2],
    sums: DeviceBuffer<f64>,
    side: u32,
    halo: u32,
}

macro_rules! kernel {
    ($name:ident, $trial:ident, $strips:ident, $norm_mask:ident, $blocks:ident, $stride:ident) => {{
        let [a, b] = &mut $trial.fields;
        for pass in 0..PASSES {
            let (input, out) = if pass % 2 == 0 {
                (&*a, &mut *b)
            } else {
                (&*b, &mut *a)
            };
            $trial.device.launch(
                &pass::$name {
                    out: out.write(),
                    input: input.read(),
                    sums: $trial.sums.write(),
                    rows: $trial.side - 2,
                    halo: $trial.halo,
                    pitch: $trial.side.div_ceil(4),
                    nx: $trial.side,
                    first_row: 0,
                    end_row: $trial.side - 2,
                    strips: $strips,
                    wraps: 1,
                    periodic_columns: 0,
                    held_below: i32::MIN / 2,
                    held_from: i32::MAX / 2,
                    wanted: $norm_mask,
                    sums_stride: $stride,
                    sums_offset: 0,
                },
                Work::Grid([$blocks, 1, 1]),
            )?;
        }
        Ok(())
    }};
}

impl Trial<'_> {
    /// The time in milliseconds of a pass of `sweeps` sweeps.
    fn time(&mut self, sweeps: u32, strips: u32, norm_mask: u32) -> anyhow::Result<f64> {
        let own = match sweeps {
            1 => 128,
            2..=4 => 120,
            _ => 112,
        };
        let items = self.side.div_ceil(own) * strips;
        let (blocks, stride) = (items.div_ceil(4), items);
        let mut times = Vec::new();
        for _ in 0..REPEATS {
            let device = self.device;
            let trial = &mut *self;
            let ms = device.time_ms(&mut || match sweeps {
                1 => kernel!(JacobiLaplaceF32T1, trial, strips, norm_mask, blocks, stride),
                2 => kernel!(JacobiLaplaceF32T2, trial, strips, norm_mask, blocks, stride),
                3 => kernel!(JacobiLaplaceF32T3, trial, strips, norm_mask, blocks, stride),
                4 => kernel!(JacobiLaplaceF32T4, trial, strips, norm_mask, blocks, stride),
                5 => kernel!(JacobiLaplaceF32T5, trial, strips, norm_mask, blocks, stride),
                6 => kernel!(JacobiLaplaceF32T6, trial, strips, norm_mask, blocks, stride),
                7 => kernel!(JacobiLaplaceF32T7, trial, strips, norm_mask, blocks, stride),
                _ => kernel!(JacobiLaplaceF32T8, trial, strips, norm_mask, blocks, stride),
            })?;
            times.push(f64::from(ms) / PASSES as f64);
        }
        Ok(median(times))
    }
}

fn main() -> anyhow::Result<()> {
    let sides: Vec<u32> = std::env::args()
        .skip(1)
        .map(|a| a.parse())
        .collect::<Result<_, _>>()?;
    let sides = if sides.is_empty() {
        vec![16384, 2048]
    } else {
        sides
    };
    let start = std::time::Instant::now();
    let device = CudaDevice::new(
        0,
        &warpstride::selftest::kernels().only(|name| name.starts_with("jacobi_")),
    )?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}; modules loaded in {:.2} s",
        device.device_name(),
        start.elapsed().as_secs_f64()
    )?;
    for side in sides {
        let halo = 8;
        let len = (side as usize + 2 * halo as usize) * side.div_ceil(4) as usize;
        let mut trial = Trial {
            device: &device,
            fields: [device.alloc("a", len)?, device.alloc("b", len)?],
            sums: device.alloc("sums", 8 * 200_000)?,
            side,
            halo,
        };
        let cells = f64::from(side).powi(2);
        writeln!(
            out,
            "{side}²: floor of one sweep at 4.3 TB/s {:.1} µs",
            8e6 * cells / 4.3e12
        )?;
        for sweeps in 1..=8_u32 {
            let own = match sweeps {
                1 => 128,
                2..=4 => 120,
                _ => 112,
            };
            let windows = side.div_ceil(own);
            let resident = 132 * 4 * [6, 6, 5, 4, 4, 3, 3, 3][sweeps as usize - 1];
            for waves in [1_u32, 2, 3, 4, 8] {
                let strips = (waves * resident / windows).max(1);
                if strips > side / 4 {
                    continue;
                }
                let all = (1 << sweeps) - 1;
                let every = trial.time(sweeps, strips, all)?;
                let none = trial.time(sweeps, strips, 0)?;
                writeln!(
                    out,
                    "T {sweeps} waves {waves} strips {strips:4}: pass {:8.1} µs, per sweep {:7.2} µs with norms, {:7.2} without; {:.2} Tcells/s",
                    1e3 * every,
                    1e3 * every / f64::from(sweeps),
                    1e3 * none / f64::from(sweeps),
                    cells * f64::from(sweeps) / every / 1e9
                )?;
            }
        }
    }
    Ok(())
}
