//! `warpstride selftest`: every kernel and every engine against the CPU.

use super::args::{KernelBackendWord, SelftestTyped};
use super::backend::for_kernels;
use super::failure::Failure;
use super::output::{complain, say, say_json};
use serde::Serialize;
use warpstride::gpu::{CudaMachine, EmulatedMachine, Machine};
use warpstride::selftest::{self, CaseResult, SelftestError};

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
        KernelBackendWord::Emulator => emulated()?,
        KernelBackendWord::Cuda => {
            let machine =
                cuda().map_err(|why| Failure::failed(format!("--backend cuda: {why}")))?;
            found(&machine, selftest::on_cuda)?
        }
        KernelBackendWord::Auto => match cuda() {
            Ok(machine) => found(&machine, selftest::on_cuda)?,
            Err(why) => {
                complain(&format!("the emulator computes, on the CPU: {why}"));
                emulated()?
            }
        },
    };
    if typed.json {
        say_json(&findings)?;
    } else {
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

fn emulated() -> Result<Findings, Failure> {
    found(&EmulatedMachine::new(), selftest::on_emulator)
}

fn found<M: Machine>(
    machine: &M,
    run: impl FnOnce(&M) -> Result<Vec<CaseResult>, SelftestError>,
) -> Result<Findings, Failure> {
    let cases = run(machine)?;
    Ok(Findings {
        backend: machine.backend(),
        device: machine.device_name(),
        passed: cases.iter().all(|case| case.passed),
        cases,
    })
}
