//! Computes the Mandelbrot set by a kernel and compares every pixel with plain Rust:
//! `mandelbrot --backend cuda|emulator [--ptx mandelbrot.ptx]`.

use std::fs;

use anyhow::{Context, Result, bail};
use mandelbrot_kernels::MandelbrotCounts;
use warpstride_cuda::cuda::Kernels;
use warpstride_cuda::gpu::{Buffer, CudaDevice, Device, EmulatedDevice};
use warpstride_device::launch::Work;

const ROWS: u32 = 240;
const COLUMNS: u32 = 320;
const LIMIT: u32 = 200;
const LEFT: f32 = -2.2;
const TOP: f32 = 1.2;
const STEP: f32 = 0.01;

fn main() -> Result<()> {
    let (mut backend, mut ptx) = ("emulator".to_owned(), "mandelbrot.ptx".to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments
            .next()
            .with_context(|| format!("{option}: expected a value"))?;
        match option.as_str() {
            "--backend" => backend = value,
            "--ptx" => ptx = value,
            _ => bail!("{option}: expected --backend or --ptx"),
        }
    }
    match backend.as_str() {
        "emulator" => run(&EmulatedDevice::new()),
        "cuda" => {
            let text = fs::read_to_string(&ptx).with_context(|| format!("cannot read {ptx}"))?;
            run(&CudaDevice::new(0, &Kernels::new(80, text))?)
        }
        _ => bail!("--backend {backend}: expected cuda or emulator"),
    }
}

/// The same code runs on a GPU and in the emulator.
fn run<D: Device>(device: &D) -> Result<()> {
    let pixels = ROWS as usize * COLUMNS as usize;
    let mut buffer = device.alloc::<u32>("escape counts", pixels)?;
    device.launch(
        &MandelbrotCounts {
            counts: buffer.write(),
            rows: ROWS,
            columns: COLUMNS,
            limit: LIMIT,
            left: LEFT,
            top: TOP,
            step: STEP,
        },
        Work::Elements(pixels),
    )?;
    let mut counts = vec![0_u32; pixels];
    device.download(&buffer, &mut counts)?;

    for (pixel, &found) in counts.iter().enumerate() {
        let (row, column) = (pixel as u32 / COLUMNS, pixel as u32 % COLUMNS);
        let expected = escape_count(row, column);
        if found != expected {
            bail!("row {row}, column {column}: expected {expected} steps, found {found}");
        }
    }
    let inside = counts.iter().filter(|count| **count == LIMIT).count();
    println!(
        "{}: {COLUMNS} x {ROWS} pixels as in plain Rust, {inside} inside the set",
        device.device_name()
    );
    Ok(())
}

/// The definition.
fn escape_count(row: u32, column: u32) -> u32 {
    let c_re = (column as f32).mul_add(STEP, LEFT);
    let c_im = (row as f32).mul_add(-STEP, TOP);
    let (mut re, mut im) = (0.0_f32, 0.0_f32);
    for count in 0..LIMIT {
        if re.mul_add(re, im * im) > 4.0 {
            return count;
        }
        (re, im) = (
            re.mul_add(re, im.mul_add(-im, c_re)),
            (2.0 * re).mul_add(im, c_im),
        );
    }
    LIMIT
}
