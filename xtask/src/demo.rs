//! `cargo xtask demo`: builds the program and runs `warpstride demo`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::host::Host;
use crate::workspace;
use warpstride_build_ptx::process;

/// Builds the host program in a profile of the workspace and returns its path.
pub(crate) fn program(host: &Host, profile: &str) -> Result<PathBuf> {
    let built = crate::executables::build(
        host.cargo()
            .args(["build", "--profile", profile, "--package", "warpstride-cli"])
            .args(["--bin", "warpstride"]),
    )?;
    built
        .into_iter()
        .find(|executable| executable.target == "warpstride")
        .map(|executable| executable.path)
        .context("cargo built no executable warpstride")
}

/// Runs the command.
pub(crate) fn run() -> Result<()> {
    let host = Host::prepare()?;
    println!(
        "Building warpstride quickly, that is, with little optimisation (HDF5 from source takes a minute or two the \
         first time)"
    );
    let program = program(host, "demo")?;
    process::run(
        Command::new(program)
            .args(["demo", "-o"])
            .arg(workspace::root().join("demo-output")),
    )?;
    println!(
        "\nThe times above are those of a build with little optimisation. For your own data, build with \
         `cargo xtask cargo build --release`."
    );
    Ok(())
}
