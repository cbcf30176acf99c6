//! The commands and their options.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::build_ptx::{self, Assembler, Mode};
use crate::host::Host;
use crate::process;
use crate::test::Step;
use crate::{bench, bundle, demo, test, workspace};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build, simulate a scan, reconstruct it, and say where the pictures are
    Demo,
    /// Everything that must hold before a change is merged
    Test {
        /// Only these steps
        #[arg(long, value_enum, value_delimiter = ',')]
        only: Vec<Step>,
        /// Do not assemble the PTX with ptxas
        #[arg(long)]
        no_ptxas: bool,
    },
    /// Compile the kernels to PTX into kernels-gpu/ptx, and judge the result
    BuildPtx {
        /// Compare with the committed files instead of writing them
        #[arg(long)]
        check: bool,
        /// Architectures to build
        #[arg(long, value_delimiter = ',', value_parser = architecture, default_values_t = build_ptx::ARCHITECTURES)]
        arch: Vec<u32>,
        /// Do not assemble with ptxas
        #[arg(long)]
        no_ptxas: bool,
    },
    /// Collect a folder that runs on a GPU machine without cargo
    GpuBundle {
        /// The folder; an earlier bundle there is replaced
        #[arg(short, long, default_value_os_t = workspace::root().join("gpu-bundle"))]
        output: PathBuf,
        /// Files and folders to take along, under data/
        #[arg(long, num_args = 1..)]
        data: Vec<PathBuf>,
    },
    /// Build the measurements and run them
    Bench(bench::Options),
    /// Run cargo with the CMake and C compiler that the other commands use, for example
    /// `cargo xtask cargo build --release`
    Cargo {
        /// What cargo is to do
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<OsString>,
    },
}

fn architecture(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("sm_").unwrap_or(text);
    number
        .parse()
        .ok()
        .filter(|arch| build_ptx::ARCHITECTURES.contains(arch))
        .ok_or_else(|| format!("known are {:?}", build_ptx::ARCHITECTURES))
}

/// Does what was typed.
pub(crate) fn main() -> Result<()> {
    let assembler = |off: bool, otherwise| if off { Assembler::Off } else { otherwise };
    match Cli::parse().command {
        Command::Demo => demo::run(),
        Command::Test { only, no_ptxas } => {
            test::run(&only, assembler(no_ptxas, Assembler::Required))
        }
        Command::BuildPtx {
            check,
            arch,
            no_ptxas,
        } => build_ptx::run(
            &arch,
            if check { Mode::Check } else { Mode::Write },
            assembler(no_ptxas, Assembler::IfThere),
        ),
        Command::GpuBundle { output, data } => bundle::run(&output, &data),
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
    fn architectures_are_checked() {
        assert_eq!(architecture("80"), Ok(80));
        assert_eq!(architecture("sm_90"), Ok(90));
        assert!(architecture("75").is_err());
        assert!(architecture("hopper").is_err());
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
