//! `warpstride selftest`: every kernel and every engine against the CPU.

use super::args::{KernelBackendWord, SelftestTyped};
use super::backend::for_kernels;
use super::failure::Failure;
use super::output::{complain, say, say_json};
use serde::Serialize;
use std::collections::HashSet;
use warpstride::gpu::{CudaMachine, EmulatedMachine, Machine};
use warpstride::run::{Bar, JsonLines, Observer};
use warpstride::selftest::{self, CaseResult, Seen, SelftestError};
use warpstride_kernels::registry;

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    /// `cuda` or `emulator`.
    backend: &'static str,
    device: String,
    passed: bool,
    cases: Vec<CaseResult>,
}

/// Runs on the machine that was asked for and prints the results.
pub(crate) fn run(typed: &SelftestTyped) -> Result<(), Failure> {
    let cuda = || CudaMachine::new(typed.machine.device.unwrap_or(0));
    let findings = match for_kernels(typed.machine)? {
        KernelBackendWord::Emulator => emulated(typed)?,
        KernelBackendWord::Cuda => {
            let machine =
                cuda().map_err(|why| Failure::failed(format!("--backend cuda: {why}")))?;
            found(typed, &machine, selftest::on_cuda)?
        }
        KernelBackendWord::Auto => match cuda() {
            Ok(machine) => found(typed, &machine, selftest::on_cuda)?,
            Err(why) => {
                complain(&format!("the emulator computes, on the CPU: {why}"));
                emulated(typed)?
            }
        },
    };
    if typed.json {
        say_json(&findings)?;
    } else if !typed.json_progress {
        let table = selftest::report(&findings.cases);
        say(&format!(
            "{} ({})\n{table}",
            findings.device, findings.backend
        ))?;
    }
    if findings.passed {
        return Ok(());
    }
    let failed = findings.cases.iter().filter(|case| !case.passed).count();
    let all = findings.cases.len();
    Err(Failure::failed(format!(
        "selftest: {failed} of {all} cases failed on {}",
        findings.device
    )))
}

fn emulated(typed: &SelftestTyped) -> Result<Findings, Failure> {
    found(typed, &EmulatedMachine::new(), selftest::on_emulator)
}

fn found<M: Machine>(
    typed: &SelftestTyped,
    machine: &M,
    run: impl FnOnce(&M, Seen<'_>) -> Result<Vec<CaseResult>, SelftestError>,
) -> Result<Findings, Failure> {
    let mut observer: Box<dyn Observer<CaseResult>> = if typed.json_progress {
        Box::new(JsonLines::new(std::io::stdout()))
    } else {
        Box::new(Bar::new(|case: &CaseResult| {
            format!("kernels, {} {}", case.kernel, case.shape)
        }))
    };
    observer.start(registry().len(), 0);
    let mut kernels = HashSet::new();
    let cases = run(machine, &mut |case| {
        if registry().iter().any(|kernel| kernel.entry == case.kernel) {
            kernels.insert(case.kernel);
        }
        observer.entry(case);
        observer.progress(kernels.len());
    });
    observer.end();
    let cases = cases?;
    Ok(Findings {
        backend: machine.backend(),
        device: machine.device_name(),
        passed: cases.iter().all(|case| case.passed),
        cases,
    })
}
