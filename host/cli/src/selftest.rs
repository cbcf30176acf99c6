//! `warpstride selftest`: compares every kernel and every engine with the CPU.

use super::args::{KernelBackendArg, SelftestArgs};
use super::backend::{for_kernels, gpu_option};
use super::failure::Failure;
use super::output::{ProgressStream, complain, say, say_json};
use serde::Serialize;
use std::collections::HashSet;
use warpstride::gpu::{CudaDevice, Device, EmulatedDevice};
use warpstride::run::{Bar, JsonLines, Observer};
use warpstride::science;
use warpstride::selftest::{self, CaseCallback, CaseResult, SelftestError};

/// The results, as printed in JSON.
#[derive(Debug, Serialize)]
struct Results {
    /// `cuda` or `emulator`.
    backend: &'static str,
    device: String,
    passed: bool,
    cases: Vec<CaseResult>,
}

/// Runs the self-test on the requested back end and prints the results.
pub(crate) fn run(args: &SelftestArgs) -> Result<(), Failure> {
    let cuda = || CudaDevice::new(args.backend.device.unwrap_or(0), &selftest::kernels());
    let results = match for_kernels(args.backend)? {
        KernelBackendArg::Emulator => emulated(args)?,
        KernelBackendArg::Cuda => {
            let device = cuda().map_err(|why| {
                Failure::failed(format!("{}: {why}", gpu_option(args.backend.device)))
            })?;
            run_on(args, &device, selftest::on_cuda)?
        }
        KernelBackendArg::Auto => match cuda() {
            Ok(device) => run_on(args, &device, selftest::on_cuda)?,
            Err(why) => {
                complain(&format!("falling back to the emulator on the CPU: {why}"));
                emulated(args)?
            }
        },
    };
    if args.json {
        say_json(&results)?;
    } else if !args.json_progress {
        let table = selftest::report(&results.cases);
        say(&format!(
            "{} ({})\n{table}",
            results.device, results.backend
        ))?;
    }
    if results.passed {
        return Ok(());
    }
    let failed = results.cases.iter().filter(|case| !case.passed).count();
    let all = results.cases.len();
    Err(Failure::failed(format!(
        "selftest: {failed} of {all} cases failed on {}",
        results.device
    )))
}

fn emulated(args: &SelftestArgs) -> Result<Results, Failure> {
    run_on(args, &EmulatedDevice::new(), selftest::on_emulator)
}

fn run_on<M: Device>(
    args: &SelftestArgs,
    device: &M,
    run: impl FnOnce(&M, &[String], CaseCallback<'_>) -> Result<Vec<CaseResult>, SelftestError>,
) -> Result<Results, Failure> {
    let mut observer: Box<dyn Observer<CaseResult>> = if args.json_progress {
        Box::new(JsonLines::new(ProgressStream))
    } else {
        Box::new(Bar::new(|case: &CaseResult| {
            format!("kernels, {} {}", case.kernel, case.shape)
        }))
    };
    let sciences = science::all().into_iter();
    let planned: HashSet<&str> = sciences
        .filter(|science| selftest::includes(&args.only, science.name))
        .flat_map(|science| (science.kernels)().iter().map(|kernel| kernel.entry))
        .collect();
    observer.start(planned.len(), 0);
    let mut kernels = HashSet::new();
    let cases = run(device, &args.only, &mut |case| {
        if planned.contains(&case.kernel) {
            kernels.insert(case.kernel);
        }
        observer.entry(case);
        observer.progress(kernels.len());
    });
    observer.end();
    let cases = cases?;
    Ok(Results {
        backend: device.backend(),
        device: device.device_name(),
        passed: cases.iter().all(|case| case.passed),
        cases,
    })
}
