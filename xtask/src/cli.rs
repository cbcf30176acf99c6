//! The commands and their options.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::build_ptx::{self, Assembler, Mode, Science};
use crate::host::Host;
use crate::test::Step;
use crate::wheel::Interpreter;
use crate::{bench, bundle, demo, test, wheel, workspace};
use warpstride_build_ptx::process;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the program and run an example of each science; prints where the pictures are
    Demo,
    /// Check everything that must hold before a change is merged
    Test {
        /// Only these steps
        #[arg(long, value_enum, value_delimiter = ',')]
        only: Vec<Step>,
        /// Do not assemble the PTX with ptxas
        #[arg(long)]
        no_ptxas: bool,
    },
    /// Compile the kernels of the sciences that have changed to PTX in kernels-gpu/ptx, and check
    /// the result
    BuildPtx {
        /// Build every science and compare with the committed files instead of writing them
        #[arg(long, conflicts_with = "all")]
        check: bool,
        /// Build every science, changed or not
        #[arg(long)]
        all: bool,
        /// Build only these sciences
        #[arg(long, value_enum, value_delimiter = ',')]
        only: Vec<Science>,
        /// Do not assemble with ptxas
        #[arg(long)]
        no_ptxas: bool,
    },
    /// Collect a folder that runs on a GPU machine without cargo
    GpuBundle {
        /// The folder; an earlier bundle there is replaced
        #[arg(short, long, default_value_os_t = workspace::root().join("gpu-bundle"))]
        output: PathBuf,
        /// Files and folders to include, under data/
        #[arg(long, num_args = 1..)]
        data: Vec<PathBuf>,
    },
    /// Build the Python package as a wheel
    Wheel {
        /// The folder; an earlier wheel of the same ABI there is replaced
        #[arg(short, long, default_value_os_t = workspace::target().join("wheels"))]
        output: PathBuf,
        /// For CPython 3.15 and newer, free-threaded or not, instead of 3.10 and newer with the
        /// lock
        #[arg(long)]
        free_threaded: bool,
    },
    /// Build the measurements and run them
    Bench(bench::Options),
    /// Run cargo with the CMake and C compiler that the other commands use, for example
    /// `cargo xtask cargo build --release`
    Cargo {
        /// Arguments of cargo
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<OsString>,
    },
}

/// Runs the command line.
pub(crate) fn main() -> Result<()> {
    let assembler = |off: bool, otherwise| if off { Assembler::Off } else { otherwise };
    match Cli::parse().command {
        Command::Demo => demo::run(),
        Command::Test { only, no_ptxas } => {
            test::run(&only, assembler(no_ptxas, Assembler::Required))
        }
        Command::BuildPtx {
            check,
            all,
            only,
            no_ptxas,
        } => build_ptx::run(
            &only,
            match (check, all) {
                (true, _) => Mode::Check,
                (_, true) => Mode::All,
                _ => Mode::Changed,
            },
            assembler(no_ptxas, Assembler::IfAvailable),
        ),
        Command::GpuBundle { output, data } => bundle::run(&output, &data),
        Command::Wheel {
            output,
            free_threaded: false,
        } => wheel::run(&output, &Interpreter::Usual),
        Command::Wheel {
            output,
            free_threaded: true,
        } => wheel::run(&output, &Interpreter::FreeThreaded),
        Command::Bench(options) => bench::run(&options),
        Command::Cargo { arguments } => process::run(Host::prepare()?.cargo().args(arguments)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn everything_after_cargo_goes_to_cargo() {
        let cli =
            Cli::try_parse_from(["xtask", "cargo", "test", "-p", "warpstride", "--", "--list"]);
        let Command::Cargo { arguments } = cli.unwrap().command else {
            panic!("another command");
        };
        assert_eq!(arguments, ["test", "-p", "warpstride", "--", "--list"]);
    }

    #[test]
    fn arguments_after_two_dashes_go_to_the_measurements() {
        let cli = Cli::try_parse_from(["xtask", "bench", "--record", "--", "--frames", "1457"]);
        assert!(matches!(cli.unwrap().command, Command::Bench(_)));
    }
}
