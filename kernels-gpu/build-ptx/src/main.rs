//! Builds the `#[kernel]`s of any crate to PTX: `warpstride-build-ptx --help`.

#![expect(clippy::print_stdout, reason = "a build tool reports on the terminal")]

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result};
use clap::Parser;
use warpstride_build_ptx::{
    DeviceBuild, Package, Threading, check, check_barriers, compiler, linker, ptxas,
};

/// Build the #[kernel]s of a crate to PTX, check them, and assemble them with ptxas
#[derive(Debug, Parser)]
#[command(name = "warpstride-build-ptx", version)]
struct Cli {
    /// Cargo.toml of the crate, which has a library
    #[arg(long, default_value = "Cargo.toml")]
    manifest_path: PathBuf,
    /// The PTX file to write
    #[arg(short, long)]
    output: PathBuf,
    /// Compute capability, times ten, that the PTX is for; it runs on every later one
    #[arg(long, default_value_t = 80)]
    arch: u32,
    /// Features of the crate, separated by commas, in place of its default features
    #[arg(long)]
    features: Option<String>,
    /// Do not assemble with ptxas: registers and spills are not checked
    #[arg(long)]
    no_ptxas: bool,
}

fn main() -> ExitCode {
    if let Some(code) = linker::run_if_called_as_linker() {
        return code;
    }
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            // Without a working standard error the exit code is all that can be reported.
            let _ = writeln!(std::io::stderr().lock(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    let compiler = compiler::find()?;
    println!("Device compiler: {compiler}");
    let package = Package::read(&compiler, &cli.manifest_path)?;
    let ptxas = if cli.no_ptxas {
        None
    } else {
        Some(ptxas::find(&package.target.join("tools"))?)
    };
    let more: &[&str] = if cli.arch >= 90 {
        &[package.hopper_feature()]
    } else {
        &[]
    };
    let folder = package.target.join("nvptx");
    let generate = |threading, name: &str| -> Result<_> {
        let build = DeviceBuild::new(&compiler, &package, threading, folder.join(name))?;
        let linked = build.link(&package.name, cli.features.as_deref(), more)?;
        let file = folder.join(format!("{}-{name}.ptx", package.name));
        linked.generate(&compiler, cli.arch, &linked.kernels_for(cli.arch), &file)?;
        Ok((linked, file))
    };
    println!(
        "Building {} for sm_{}, and once more to compare barriers",
        package.name, cli.arch
    );
    let (built, straight) = thread::scope(|scope| {
        let straight = scope.spawn(|| generate(Threading::Off, "straight"));
        let built = generate(Threading::On, "built");
        let straight = straight.join();
        (built, straight.unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let ((linked, file), (_, straight)) = (built?, straight?);
    check_barriers(&file, &straight)?;
    let kernels = linked.kernels_for(cli.arch);
    print!(
        "{}",
        check(&file, cli.arch, &kernels, ptxas.as_deref(), &[cli.arch])?
    );
    copy(&file, &cli.output)?;
    println!("{}: {} kernels", cli.output.display(), kernels.len());
    for kernel in linked.kernels.iter().filter(|kernel| kernel.gains_from(90)) {
        if cli.arch < 90 {
            println!(
                "{}: a text for --arch 90 has a faster or the only variant of this kernel",
                kernel.entry
            );
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot write {}", to.display()))
}
