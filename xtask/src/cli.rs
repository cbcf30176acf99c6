//! The commands and their options.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::build_ptx::{self, Assembler, Mode};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
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
    match Cli::parse().command {
        Command::BuildPtx {
            check,
            arch,
            no_ptxas,
        } => build_ptx::run(
            &arch,
            if check { Mode::Check } else { Mode::Write },
            if no_ptxas {
                Assembler::Off
            } else {
                Assembler::IfThere
            },
        ),
    }
}
