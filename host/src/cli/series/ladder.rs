//! `warpstride series ladder`: each kernel of the earlier attempt, made right, beside the product's.

use crate::cli::args::{KernelBackendWord, SeriesLadderTyped};
use crate::cli::backend::for_kernels;
use crate::cli::failure::Failure;
use crate::cli::output::{note, say, say_json};
use crate::cli::paths;
use serde::Serialize;
use std::path::PathBuf;
use warpstride::gpu::{CudaMachine, EmulatedMachine, GpuError, Machine};
use warpstride::report::{Table, significant, write_whole};
use warpstride::series::ladder::{LadderStep, POINTS, QUEUES, ladder};

/// Points that the emulator aggregates in seconds.
const SMALL: usize = 5 << 10;

/// What was measured.
#[derive(Debug, Serialize)]
struct Climbed {
    /// `cuda` or `emulator`.
    backend: &'static str,
    device: String,
    points: usize,
    steps: Vec<LadderStep>,
}

/// A checked climb.
#[derive(Debug)]
pub(crate) struct Ladder {
    backend: KernelBackendWord,
    device: Option<usize>,
    output: Option<PathBuf>,
    json: bool,
}

impl Ladder {
    /// Checks options and output.
    pub(crate) fn from_typed(typed: SeriesLadderTyped) -> Result<Self, Failure> {
        let backend = for_kernels(typed.machine)?;
        if let Some(path) = &typed.output {
            paths::check(&[path], &[])?;
        }
        Ok(Self {
            backend,
            device: typed.machine.device,
            output: typed.output,
            json: typed.json,
        })
    }

    /// Climbs and tells.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let climbed = match self.backend {
            KernelBackendWord::Emulator => emulated()?,
            KernelBackendWord::Cuda => {
                let queues = self
                    .queues()
                    .map_err(|why| Failure::failed(format!("--backend cuda: {why}")))?;
                climb(&queues, POINTS)?
            }
            KernelBackendWord::Auto => match self.queues() {
                Ok(queues) => climb(&queues, POINTS)?,
                Err(why) => {
                    note(&format!("the emulator computes, on the CPU: {why}"));
                    emulated()?
                }
            },
        };
        if let Some(path) = &self.output {
            let text = serde_json::to_string_pretty(&climbed)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if self.json {
            say_json(&climbed)?;
        } else {
            say(&climbed.table())?;
        }
        match climbed.steps.iter().find(|step| !step.right) {
            None => Ok(()),
            Some(wrong) => Err(Failure::failed(format!(
                "{}: its sums are not those of the definition",
                wrong.name
            ))),
        }
    }

    fn queues(&self) -> Result<Vec<CudaMachine>, GpuError> {
        let device = self.device.unwrap_or(0);
        let mut queues = vec![CudaMachine::keeping(device, |kernel| {
            kernel.starts_with("series_")
        })?];
        while queues.len() < QUEUES {
            queues.push(queues[0].sibling()?);
        }
        Ok(queues)
    }
}

fn emulated() -> Result<Climbed, Failure> {
    let queues: Vec<EmulatedMachine> = (0..QUEUES).map(|_| EmulatedMachine::new()).collect();
    climb(&queues, SMALL)
}

fn climb<M: Machine>(queues: &[M], points: usize) -> Result<Climbed, Failure> {
    Ok(Climbed {
        backend: queues[0].backend(),
        device: queues[0].device_name(),
        points,
        steps: ladder(queues, points)?,
    })
}

impl Climbed {
    /// For people.
    fn table(&self) -> String {
        let mut table = Table::new(&[
            "step",
            "ms",
            "points/s",
            "share of floor",
            "sums",
            "what is new",
        ]);
        for step in &self.steps {
            table.row([
                step.name.to_owned(),
                significant(step.milliseconds, 3),
                significant(step.points_per_second, 3),
                format!("{} %", significant(100.0 * step.share_of_floor, 3)),
                if step.right { "right" } else { "wrong" }.to_owned(),
                step.what.to_owned(),
            ]);
        }
        let note = match self.backend {
            "emulator" => "The emulator's times say nothing of a GPU.\n",
            _ => "",
        };
        format!(
            "{} ({}): sums of buckets of 35 s over {} points, 5 s apart\n{note}\n{table}",
            self.device, self.backend, self.points
        )
    }
}
