//! `warpstride mri ladder`: the textbook's optimisation steps on this device.

use crate::cli::args::{KernelBackendWord, MriLadderTyped};
use crate::cli::backend::for_kernels;
use crate::cli::failure::Failure;
use crate::cli::output::{complain, say, say_json};
use serde::Serialize;
use warpstride::gpu::{CudaMachine, EmulatedMachine, Machine};
use warpstride::mri::Grid;
use warpstride::mri::ladder::{LadderSize, LadderStep, ladder};
use warpstride::report::{Table, significant};

/// What was measured.
#[derive(Debug, Serialize)]
struct Climbed {
    /// `cuda` or `emulator`.
    backend: &'static str,
    device: String,
    size: LadderSize,
    steps: Vec<LadderStep>,
}

/// What the emulator climbs in seconds.
fn small() -> LadderSize {
    LadderSize {
        grid: Grid::two(32, 32),
        spokes: 12,
        readout: 32,
        coils: 2,
    }
}

/// Runs on the machine that was asked for and prints the table.
pub(crate) fn run(typed: &MriLadderTyped) -> Result<(), Failure> {
    let device = typed.machine.device.unwrap_or(0);
    let cuda = || CudaMachine::keeping(device, |kernel| kernel.starts_with("mri_"));
    let climbed = match for_kernels(typed.machine)? {
        KernelBackendWord::Emulator => climb(&EmulatedMachine::new(), small())?,
        KernelBackendWord::Cuda => {
            let machine =
                cuda().map_err(|why| Failure::failed(format!("--backend cuda: {why}")))?;
            climb(&machine, LadderSize::default())?
        }
        KernelBackendWord::Auto => match cuda() {
            Ok(machine) => climb(&machine, LadderSize::default())?,
            Err(why) => {
                complain(&format!("the emulator computes, on the CPU: {why}"));
                climb(&EmulatedMachine::new(), small())?
            }
        },
    };
    if typed.json {
        return say_json(&climbed);
    }
    say(&text(&climbed))
}

fn climb<M: Machine>(machine: &M, size: LadderSize) -> Result<Climbed, Failure> {
    Ok(Climbed {
        backend: machine.backend(),
        device: machine.device_name(),
        size,
        steps: ladder(machine, size)?,
    })
}

fn text(of: &Climbed) -> String {
    let mut table = Table::new(&[
        "step",
        "ms",
        "times",
        "pairs/s",
        "PSNR dB",
        "error",
        "what is new",
    ]);
    let first = of.steps.first().map_or(1.0, |step| step.pairs_per_second);
    for step in &of.steps {
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
    let [slices, rows, columns] = of.size.grid.shape;
    let matrix = if slices == 1 {
        format!("{rows} x {columns}")
    } else {
        format!("{slices} x {rows} x {columns}")
    };
    let note = match of.backend {
        "emulator" => "The emulator's times say nothing of a GPU.\n",
        _ => "",
    };
    format!(
        "{} ({}): {matrix} voxels, {} spokes of {} samples; {} coils share phases where the step says so\n{note}\n{table}",
        of.device, of.backend, of.size.spokes, of.size.readout, of.size.coils
    )
}
