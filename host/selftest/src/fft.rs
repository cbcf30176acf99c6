//! The kernels of Fourier transforms, `fft_…`.

use crate::bench::Size;
use crate::bench::{Bench, Case, wide};
use crate::random_data::Source;
use crate::transform::reference_transform;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_cuda::gpu::{Device, Direction, FftPasses, KernelFft, Result};

/// The cases of the kernels of Fourier transforms.
///
/// # Errors
/// An error of the device.
pub fn cases<D: Device>(bench: &mut Bench<'_, D>, size: Size) -> Result<()> {
    for kernel in warpstride_kernels::fft::registry() {
        let Some((shape, passes)) = transform_by(kernel.entry, size) else {
            continue;
        };
        for direction in [Direction::Forward, Direction::Inverse] {
            let text = format!("{} × {shape:?}, {direction:?}", passes.batch());
            let case = Case::with(*kernel, text);
            transform(bench, size, case, &shape, &passes, direction)?;
        }
    }
    Ok(())
}

/// A transform that launches the kernel: of rows, along the columns of arrays with few of them, or
/// of frames.
fn transform_by(entry: &str, size: Size) -> Option<(Vec<usize>, FftPasses)> {
    let mut words = entry.strip_prefix("fft_")?.split('_');
    let what = words.next()?;
    let length = words.next()?.parse().ok()?;
    let shape = match what {
        "rows" => vec![length],
        // 64 × 64 is a frame.
        "columns" => vec![length, if length == 64 { 128 } else { 64 }],
        _ => vec![length, length],
    };
    let values = match size {
        Size::Small => 1 << 15,
        Size::Device => 1 << 23,
    };
    let elements: usize = shape.iter().product();
    // Frames are transformed in one pass from some batch on.
    let least = if entry.contains("frames_128") { 64 } else { 1 };
    let passes = FftPasses::new(&shape, (values / elements).max(least))?;
    passes.uses_kernel(entry).then_some((shape, passes))
}

fn transform<D: Device>(
    bench: &mut Bench<'_, D>,
    size: Size,
    case: Case,
    shape: &[usize],
    passes: &FftPasses,
    direction: Direction,
) -> Result<()> {
    let on = bench.on();
    let array: usize = shape.iter().product();
    let (elements, spare) = (array * passes.batch(), 3);
    let text = format!("{passes:?} {direction:?}");
    let data = Source::new("fft", &text).complex(elements + spare);
    // The factor keeps the size of the values, however often a transform in place is repeated.
    let scale = (array as f64).sqrt().recip();
    let mut reference: Vec<Complex<f64>> = data.iter().map(|v| wide(*v)).collect();
    let columns = shape.last().copied().unwrap_or(1);
    reference[..elements]
        .par_chunks_mut(array)
        .for_each(|values| {
            reference_transform(values, [array / columns, columns], direction);
            values.iter_mut().for_each(|v| *v *= scale);
        });
    let from = on.upload(&data)?;
    let plan = KernelFft::new(bench.device(), passes.clone())?;
    let in_place = case.kernel().ends_with("in_place");
    let from = (!in_place).then_some(&from);
    bench.run(
        case.timed(size == Size::Device, 16 * elements),
        on.upload(&data)?,
        |device, to| plan.queue(device, from, to, direction, scale as f32),
        |on, to| on.error(to, &reference),
    )
}
