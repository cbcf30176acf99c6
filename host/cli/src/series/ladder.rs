//! `warpstride series ladder`: the kernels of an earlier version, corrected, compared with the
//! current kernel.

use crate::args::{KernelBackendArg, SeriesLadderArgs};
use crate::backend::{for_kernels, gpu_option};
use crate::failure::Failure;
use crate::output::{note, say, say_json};
use crate::paths::{self, OutputFile};
use serde::Serialize;
use std::path::PathBuf;
use warpstride::gpu::{CudaDevice, Device, EmulatedDevice, GpuError};
use warpstride::series::ladder::{LadderStep, POINTS, QUEUES, ladder};
use warpstride::system::write_whole;
use warpstride::text::{Table, significant};

/// Number of points that the emulator aggregates in a few seconds.
const SMALL: usize = 5 << 10;

/// The measurements of a ladder run.
#[derive(Debug, Serialize)]
struct LadderResult {
    /// `cuda` or `emulator`.
    backend: &'static str,
    device: String,
    points: usize,
    steps: Vec<LadderStep>,
}

/// The checked arguments of `warpstride series ladder`.
#[derive(Debug)]
pub(crate) struct Ladder {
    backend: KernelBackendArg,
    device: Option<usize>,
    output: Option<PathBuf>,
    json: bool,
}

impl Ladder {
    /// Checks the options and the output path.
    pub(crate) fn from_args(args: SeriesLadderArgs) -> Result<Self, Failure> {
        let backend = for_kernels(args.backend)?;
        let output = OutputFile::given("-o", args.output.as_deref(), &[paths::JSON]);
        paths::check(output.as_slice(), &[])?;
        Ok(Self {
            backend,
            device: args.backend.device,
            output: args.output,
            json: args.json,
        })
    }

    /// Runs and times all steps, and prints or writes the measurements.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let result = match self.backend {
            KernelBackendArg::Emulator => emulated()?,
            KernelBackendArg::Cuda => {
                let queues = self.queues().map_err(|why| {
                    Failure::failed(format!("{}: {why}", gpu_option(self.device)))
                })?;
                measure(&queues, POINTS)?
            }
            KernelBackendArg::Auto => match self.queues() {
                Ok(queues) => measure(&queues, POINTS)?,
                Err(why) => {
                    note(&format!("falling back to the emulator: {why}"));
                    emulated()?
                }
            },
        };
        if let Some(path) = &self.output {
            let text = serde_json::to_string_pretty(&result)? + "\n";
            write_whole(path, text.as_bytes())?;
        }
        if self.json {
            say_json(&result)?;
        } else {
            say(&result.table())?;
        }
        match result.steps.iter().find(|step| !step.right) {
            None => Ok(()),
            Some(wrong) => Err(Failure::failed(format!(
                "{}: sums differ from the definition",
                wrong.name
            ))),
        }
    }

    fn queues(&self) -> Result<Vec<CudaDevice>, GpuError> {
        let device = self.device.unwrap_or(0);
        let mut queues = vec![CudaDevice::new(
            device,
            &warpstride::series::cuda::kernels(),
        )?];
        while queues.len() < QUEUES {
            queues.push(queues[0].sibling()?);
        }
        Ok(queues)
    }
}

fn emulated() -> Result<LadderResult, Failure> {
    let queues: Vec<EmulatedDevice> = (0..QUEUES).map(|_| EmulatedDevice::new()).collect();
    measure(&queues, SMALL)
}

fn measure<M: Device>(queues: &[M], points: usize) -> Result<LadderResult, Failure> {
    Ok(LadderResult {
        backend: queues[0].backend(),
        device: queues[0].device_name(),
        points,
        steps: ladder(queues, points)?,
    })
}

impl LadderResult {
    /// The measurements as a table of text.
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
            "emulator" => "Times of the emulator do not predict times of a GPU.\n",
            _ => "",
        };
        format!(
            "{} ({}): sums of 35 s buckets over {} points, 5 s apart\n{note}\n{table}",
            self.device, self.backend, self.points
        )
    }
}
