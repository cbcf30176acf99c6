//! `cargo xtask test`: everything that must hold before a change is merged.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::build_ptx::{self, ARCHITECTURES, Assembler, Mode};
use crate::host::{self, Host};
use crate::process;
use crate::workspace;

/// The steps, in the order in which they run: what is quick and what fails most comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// Formatting
    Fmt,
    /// Lints of every target, as errors
    Clippy,
    /// The committed PTX, rebuilt, compared, linted and assembled
    Ptx,
    /// The kernels against Rust-CUDA's published cuda_std
    Dialect,
    /// Unit, integration and documentation tests; the examples are built
    Tests,
    /// The API documentation
    Doc,
    /// Licences, sources and bans of dependencies
    Deny,
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Self::Fmt => "formatting",
            Self::Clippy => "clippy",
            Self::Ptx => "PTX: rebuild, compare, lint, assemble",
            Self::Dialect => "kernels against the published cuda_std",
            Self::Tests => "tests",
            Self::Doc => "API documentation",
            Self::Deny => "licences and sources of dependencies",
        }
    }

    fn run(self, assembler: Assembler) -> Result<()> {
        match self {
            Self::Fmt => process::run(host::cargo().args(["fmt", "--all", "--check"]))
                .context("run `cargo fmt --all`"),
            Self::Clippy => process::run(Host::prepare()?.cargo().args([
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ])),
            Self::Ptx => build_ptx::run(&ARCHITECTURES, Mode::Check, assembler),
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
            .context("a kernel uses what cuda_std does not have under that name or signature"),
            Self::Tests => process::run(Host::prepare()?.cargo().args(["test", "--workspace"])),
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

/// Runs `only`, or every step where it is empty, up to the first that fails.
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
    println!("\nAll of it holds:");
    for (step, took) in times {
        println!("  {:>5.0} s  {}", took.as_secs_f64(), step.title());
    }
    println!("  {:>5.0} s  together", begin.elapsed().as_secs_f64());
    Ok(())
}

/// As typed after `--only`.
fn name(step: Step) -> String {
    step.to_possible_value()
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}
