//! `warpstride mri ladder`: the textbook's optimisation steps on this device.

use crate::args::{KernelBackendArg, MriLadderArgs};
use crate::backend::{for_kernels, gpu_option};
use crate::failure::Failure;
use crate::output::{complain, say, say_json};
use serde::Serialize;
use warpstride::gpu::{CudaDevice, Device, EmulatedDevice};
use warpstride::mri::Grid;
use warpstride::mri::ladder::{LadderSize, LadderStep, ladder};
use warpstride::text::{Table, significant};

/// The measured ladder.
#[derive(Debug, Serialize)]
struct LadderResult {
    /// `cuda` or `emulator`.
    backend: &'static str,
    device: String,
    size: LadderSize,
    steps: Vec<LadderStep>,
}

/// A problem that the emulator computes in seconds.
fn emulator_size() -> LadderSize {
    LadderSize {
        grid: Grid::two(32, 32),
        spokes: 12,
        readout: 32,
        coils: 2,
    }
}

/// Measures the ladder on the requested device and prints the table.
pub(crate) fn run(args: &MriLadderArgs) -> Result<(), Failure> {
    let device = args.backend.device.unwrap_or(0);
    let cuda = || CudaDevice::new(device, &warpstride::mri::cuda::kernels());
    let result = match for_kernels(args.backend)? {
        KernelBackendArg::Emulator => measure(&EmulatedDevice::new(), emulator_size())?,
        KernelBackendArg::Cuda => {
            let device = cuda().map_err(|why| {
                Failure::failed(format!("{}: {why}", gpu_option(args.backend.device)))
            })?;
            measure(&device, LadderSize::default())?
        }
        KernelBackendArg::Auto => match cuda() {
            Ok(device) => measure(&device, LadderSize::default())?,
            Err(why) => {
                complain(&format!("falling back to the emulator on the CPU: {why}"));
                measure(&EmulatedDevice::new(), emulator_size())?
            }
        },
    };
    if args.json {
        return say_json(&result);
    }
    say(&text(&result))
}

fn measure<M: Device>(device: &M, size: LadderSize) -> Result<LadderResult, Failure> {
    Ok(LadderResult {
        backend: device.backend(),
        device: device.device_name(),
        size,
        steps: ladder(device, size)?,
    })
}

fn text(result: &LadderResult) -> String {
    let mut table = Table::new(&[
        "step",
        "ms",
        "times",
        "pairs/s",
        "PSNR dB",
        "error",
        "new in this step",
    ]);
    let first = result
        .steps
        .first()
        .map_or(1.0, |step| step.pairs_per_second);
    for step in &result.steps {
        table.row([
            step.name.to_owned(),
            significant(step.milliseconds, 3),
            significant(step.pairs_per_second / first, 3),
            significant(step.pairs_per_second, 3),
            format!("{:.2}", step.psnr_db),
            significant(step.error, 2),
            step.what.to_owned(),
        ]);
    }
    let [slices, rows, columns] = result.size.grid.shape;
    let matrix = if slices == 1 {
        format!("{rows} x {columns}")
    } else {
        format!("{slices} x {rows} x {columns}")
    };
    let note = match result.backend {
        "emulator" => "The emulator's times do not predict those of a GPU.\n",
        _ => "",
    };
    format!(
        "{} ({}): {matrix} voxels, {} spokes of {} samples; {} coils in the steps that share phases\n{note}\n{table}",
        result.device, result.backend, result.size.spokes, result.size.readout, result.size.coils
    )
}
