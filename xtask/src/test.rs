//! `cargo xtask test`: checks everything that must hold before a change is merged.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::build_ptx::{self, Assembler, Mode};
use crate::host::{self, Host};
use crate::words;
use crate::workspace;
use warpstride_build_ptx::process;

/// The steps in order: quick ones and those that fail most often come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// Formatting
    Fmt,
    /// Words that the project does not use
    Words,
    /// Lints of every target, as errors
    Clippy,
    /// Each science alone, as a library; Jacobi as a program without HDF5
    Features,
    /// The committed PTX, rebuilt, compared, linted and assembled
    Ptx,
    /// The kernels against Rust-CUDA's published cuda_std
    Dialect,
    /// Unit, integration and documentation tests; the examples are built
    Tests,
    /// The program outside the workspace that has a kernel of its own
    Outside,
    /// The API documentation
    Doc,
    /// Licences, sources and bans of dependencies
    Deny,
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Self::Fmt => "formatting",
            Self::Words => "words",
            Self::Clippy => "clippy",
            Self::Features => "each science alone",
            Self::Ptx => "PTX: rebuild, compare, lint, assemble",
            Self::Dialect => "kernels against the published cuda_std",
            Self::Tests => "tests",
            Self::Outside => "a program outside the workspace with its own kernel",
            Self::Doc => "API documentation",
            Self::Deny => "licences and sources of dependencies",
        }
    }

    fn run(self, assembler: Assembler) -> Result<()> {
        match self {
            Self::Fmt => process::run(host::cargo().args(["fmt", "--all", "--check"]))
                .context("run `cargo fmt --all`"),
            Self::Words => words::run(),
            Self::Clippy => process::run(Host::prepare()?.cargo().args([
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ])),
            Self::Features => features(),
            Self::Ptx => build_ptx::run(&[], Mode::Check, assembler),
            Self::Dialect => process::run(
                host::cargo()
                    .args(["check", "--manifest-path"])
                    .arg(
                        workspace::root()
                            .join("kernels-gpu")
                            .join("dialect-check")
                            .join("Cargo.toml"),
                    )
                    .arg("--target-dir")
                    .arg(workspace::target().join("dialect-check")),
            )
            .context("expected every kernel to use names and signatures of cuda_std"),
            Self::Tests => process::run(Host::prepare()?.cargo().args(["test", "--workspace"])),
            Self::Outside => outside(),
            Self::Doc => process::run(
                Host::prepare()?
                    .cargo()
                    .args(["doc", "--workspace", "--no-deps"])
                    .env("RUSTDOCFLAGS", "-D warnings"),
            ),
            Self::Deny => deny(),
        }
    }
}

/// Checks that each science builds without the others. What is not there (no CMake, no HDF5) is not looked for.
fn features() -> Result<()> {
    for features in ["jacobi,cli", "mri", "ptycho", "sas", "series"] {
        process::run(
            host::cargo()
                .args(["clippy", "--quiet", "--package", "warpstride"])
                .args(["--no-default-features", "--features", features])
                .args(["--", "-D", "warnings"]),
        )
        .with_context(|| format!("warpstride does not build with only the features {features}"))?;
    }
    Ok(())
}

/// Tests the program of `docs/your-own-kernels.md`, and builds its PTX as a user would.
fn outside() -> Result<()> {
    let folder = workspace::root()
        .join("tests")
        .join("outside")
        .join("mandelbrot");
    let cargo = || {
        let mut command = host::cargo();
        command.current_dir(&folder);
        command
    };
    process::run(cargo().args(["test", "--workspace"]))?;
    process::run(cargo().args(["run", "--", "--backend", "emulator"]))?;
    process::run(
        host::cargo()
            .args([
                "run",
                "--package",
                "warpstride-build-ptx",
                "--",
                "--no-ptxas",
                "--manifest-path",
            ])
            .arg(folder.join("kernels").join("Cargo.toml"))
            .arg("--output")
            .arg(folder.join("mandelbrot.ptx")),
    )
}

fn deny() -> Result<()> {
    if process::output(host::cargo().args(["deny", "--version"])).is_err() {
        println!(
            "SKIPPED: cargo-deny is not installed, so licences and sources were NOT checked \
             (cargo install --locked cargo-deny)"
        );
        return Ok(());
    }
    process::run(host::cargo().args(["deny", "check", "bans", "licenses", "sources"]))
}

/// Runs `only`, or every step if it is empty, until one fails.
pub(crate) fn run(only: &[Step], assembler: Assembler) -> Result<()> {
    let steps: Vec<Step> = Step::value_variants()
        .iter()
        .copied()
        .filter(|step| only.is_empty() || only.contains(step))
        .collect();
    let begin = Instant::now();
    let mut times: Vec<(Step, Duration)> = Vec::new();
    for (index, &step) in steps.iter().enumerate() {
        println!("\n=== {} of {}: {}", index + 1, steps.len(), step.title());
        let start = Instant::now();
        let outcome = step.run(assembler);
        let took = start.elapsed();
        println!("=== {}: {:.0} s", step.title(), took.as_secs_f64());
        times.push((step, took));
        outcome.with_context(|| format!("step `{}` failed", name(step)))?;
    }
    println!("\nAll checks passed:");
    for (step, took) in times {
        println!("  {:>5.0} s  {}", took.as_secs_f64(), step.title());
    }
    println!("  {:>5.0} s  in total", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The step's name as an argument of `--only`.
fn name(step: Step) -> String {
    step.to_possible_value()
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}
