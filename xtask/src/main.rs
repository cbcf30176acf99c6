//! The project's own commands: `cargo xtask help`.

#![expect(
    clippy::print_stdout,
    reason = "a build tool's work is what it says on the terminal"
)]

mod bench;
mod build_ptx;
mod bundle;
mod cli;
mod compiler;
mod debian;
mod demo;
mod executables;
mod host;
mod ir;
mod linker;
mod lint;
mod manifest;
mod meetings;
mod process;
mod ptx;
mod ptxas;
mod test;
mod wheel;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    // rustc calls this very executable as the device linker; the plan tells the two uses apart.
    let outcome = match std::env::var_os(linker::PLAN_VARIABLE) {
        Some(plan) => linker::main(plan.as_ref(), std::env::args().skip(1)),
        None => cli::main(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            // Nothing is left to do where even this cannot be written.
            let _ = writeln!(std::io::stderr().lock(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
