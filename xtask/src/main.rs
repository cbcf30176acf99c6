//! The project's own commands: `cargo xtask help`.

#![expect(
    clippy::print_stdout,
    reason = "a build tool's work is what it says on the terminal"
)]

mod bench;
mod build_ptx;
mod bundle;
mod cli;
mod demo;
mod executables;
mod host;
mod manifest;
mod mpi;
mod python;
mod test;
mod wheel;
mod words;
mod workers;
mod workspace;

use std::process::ExitCode;

use warpstride_build_ptx::linker;

fn main() -> ExitCode {
    // rustc calls this program as the device linker.
    if let Some(code) = linker::run_if_called_as_linker() {
        return code;
    }
    match cli::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            // Without a working standard error the exit code is all that can be reported.
            let _ = writeln!(std::io::stderr().lock(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
