//! The `warpstride` program; everything it can do is in the library of the same name.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
