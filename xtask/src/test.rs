//! `cargo xtask test`: checks everything that must hold before a change is merged.

use std::fs::{self, File};
use std::io::{self, Seek};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::build_ptx::{self, Assembler, Mode};
use crate::executables;
use crate::host::{self, Host};
use crate::mpi;
use crate::python;
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
    /// The committed PTX, rebuilt, compared, linted and assembled
    Ptx,
    /// The kernels against Rust-CUDA's published cuda_std
    Dialect,
    /// Unit, integration and documentation tests; the examples are built. With processes of MPI if
    /// one is installed
    Tests,
    /// Programs outside the workspace: one calls the library, one a science alone, one has a kernel
    /// of its own; every crate is packed
    Outside,
    /// The Python package: its tests, examples and types, if there is a Python
    Python,
    /// Each science alone, as a library; Jacobi as a program without HDF5
    Features,
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
            Self::Python => "the Python package",
            Self::Outside => "programs outside the workspace",
            Self::Doc => "API documentation",
            Self::Deny => "licences and sources of dependencies",
        }
    }

    fn run(self, assembler: Assembler) -> Result<()> {
        match self {
            Self::Fmt => process::run(host::cargo().args(["fmt", "--all", "--check"]))
                .context("run `cargo fmt --all`"),
            Self::Words => words::run(),
            Self::Clippy => clippy(),
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
            Self::Tests => tests(),
            Self::Python => python::run(),
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

fn clippy() -> Result<()> {
    let mut command = Host::prepare()?.cargo();
    command.args(["clippy", "--workspace", "--all-targets"]);
    mpi::add_to(&mut command);
    process::run(command.args(["--", "-D", "warnings"]))
}

/// One build for all tests: the program that they start has the feature `mpi` too.
fn tests() -> Result<()> {
    let mut command = Host::prepare()?.cargo();
    command.args(["test", "--workspace"]);
    mpi::add_to(&mut command);
    process::run(&mut command)
}

/// Checks that each science builds without the others, and without its features, without warnings
/// of the compiler; Clippy's own lints have been checked with all sciences. What is not there (no
/// CMake, no HDF5) is not looked for.
fn features() -> Result<()> {
    let sciences = ["jacobi", "mri", "ptycho", "sas", "series"];
    for (package, feature) in [("warpstride-cli", "jacobi")]
        .into_iter()
        .chain(sciences[1..].iter().map(|science| ("warpstride", *science)))
    {
        process::run(
            host::cargo()
                .args(["clippy", "--quiet", "--package", package])
                .args(["--no-default-features", "--features", feature])
                .args(["--", "-A", "clippy::all", "-D", "warnings"]),
        )
        .with_context(|| format!("{package} does not build with only the feature {feature}"))?;
    }
    let mut alone = host::cargo();
    alone.args(["clippy", "--quiet"]);
    for science in sciences {
        alone.args(["--package", &format!("warpstride-{science}")]);
    }
    process::run(alone.args(["--", "-A", "clippy::all", "-D", "warnings"]))
        .context("the sciences do not build without their features")
}

/// Runs the programs that call the library and one of its crates, tests the one of
/// `docs/your-own-kernels.md`, and builds its PTX as a user would. They share the workspace's
/// target folder and profiles, so that packages from crates.io are compiled once.
fn outside() -> Result<()> {
    let outside = workspace::root().join("tests").join("outside");
    let profiles = workspace::target().join("profiles.toml");
    fs::write(&profiles, profiles_of_the_workspace()?)?;
    let cargo = |program: &str, command: &str| {
        let mut cargo = host::cargo();
        cargo
            .current_dir(outside.join(program))
            .env("CARGO_TARGET_DIR", workspace::target())
            .arg("--config")
            .arg(&profiles)
            .args([command, "--locked"]);
        cargo
    };
    process::run(&mut cargo("scattering", "run"))?;
    process::run(&mut cargo("reconstruct", "run"))?;
    process::run(cargo("mandelbrot", "test").arg("--workspace"))?;
    process::run(cargo("mandelbrot", "run").args(["--", "--backend", "emulator"]))?;
    let build_ptx = executables::build(host::cargo().args([
        "build",
        "--workspace",
        "--bin",
        "warpstride-build-ptx",
    ]))?;
    let build_ptx = build_ptx.first().context("cargo built no executable")?;
    let mandelbrot = outside.join("mandelbrot");
    process::run(
        Command::new(&build_ptx.path)
            .env("CARGO_TARGET_DIR", workspace::target().join("outside"))
            .args(["--no-ptxas", "--manifest-path"])
            .arg(mandelbrot.join("kernels").join("Cargo.toml"))
            .arg("--output")
            .arg(mandelbrot.join("mandelbrot.ptx")),
    )?;
    packages()
}

/// The profiles of the workspace, as a file of Cargo's configuration.
fn profiles_of_the_workspace() -> Result<String> {
    let manifest = fs::read_to_string(workspace::root().join("Cargo.toml"))?;
    let mut manifest: toml::Table = toml::from_str(&manifest)?;
    manifest.retain(|name, _| name == "profile");
    Ok(toml::to_string(&manifest)?)
}

/// Packs every crate as for a registry: its files are there, and the versions of its dependencies.
fn packages() -> Result<()> {
    let mut command = host::cargo();
    command.args(["package", "--workspace", "--quiet", "--offline"]);
    command.args(["--no-verify", "--no-metadata", "--exclude-lockfile"]);
    command.arg("--allow-dirty");
    for package in ["benches", "python", "tests"] {
        command.args(["--exclude", &format!("warpstride-{package}")]);
    }
    process::run(command.args(["--exclude", "xtask"])).context("a crate cannot be packed")
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

/// Steps that run in a second process while the others run, so that the cores are busy while one of
/// the two waits for a download, a test or the end of a compilation. The first three build in
/// folders of their own; Python's packages are installed after them, and what follows begins when
/// Cargo has built the tests, or before.
const BACKGROUND: [Step; 6] = [
    Step::Ptx,
    Step::Dialect,
    Step::Outside,
    Step::Python,
    Step::Features,
    Step::Doc,
];

/// Runs `only`, or every step if it is empty, until one fails.
pub(crate) fn run(only: &[Step], assembler: Assembler) -> Result<()> {
    let steps: Vec<Step> = Step::value_variants()
        .iter()
        .copied()
        .filter(|step| only.is_empty() || only.contains(step))
        .collect();
    let (background, foreground): (Vec<Step>, Vec<Step>) =
        steps.iter().partition(|step| BACKGROUND.contains(step));
    let begin = Instant::now();
    let times = if background.is_empty() || foreground.is_empty() {
        in_turn(&steps, assembler)?
    } else {
        let process = Background::start(&background, assembler)?;
        let times = in_turn(&foreground, assembler)?;
        process.finish()?;
        times
    };
    println!("\nAll checks passed:");
    for (step, took) in times {
        println!("  {:>5.0} s  {}", took.as_secs_f64(), step.title());
    }
    println!("  {:>5.0} s  in total", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Runs `steps` one after the other until one fails. Returns what each took.
fn in_turn(steps: &[Step], assembler: Assembler) -> Result<Vec<(Step, Duration)>> {
    let mut times = Vec::new();
    for (index, &step) in steps.iter().enumerate() {
        println!("\n=== {} of {}: {}", index + 1, steps.len(), step.title());
        let start = Instant::now();
        let outcome = step.run(assembler);
        let took = start.elapsed();
        println!("=== {}: {:.0} s", step.title(), took.as_secs_f64());
        times.push((step, took));
        outcome.with_context(|| format!("step `{}` failed", name(step)))?;
    }
    Ok(times)
}

/// A process that runs some of the steps; its output is shown at the end.
struct Background {
    process: Child,
    output: File,
    names: String,
}

impl Background {
    fn start(steps: &[Step], assembler: Assembler) -> Result<Self> {
        let names = steps.iter().map(|&step| name(step)).collect::<Vec<_>>();
        let names = names.join(",");
        println!("\n=== {names}: at the same time; their output comes last");
        let output = tempfile::tempfile().context("cannot make a temporary file")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["test", "--only", &names]);
        if assembler == Assembler::Off {
            command.arg("--no-ptxas");
        }
        let process = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .spawn()
            .with_context(|| format!("cannot start `{}`", process::shown(&command)))?;
        Ok(Self {
            process,
            output,
            names,
        })
    }

    /// Waits for the process and shows what it printed.
    fn finish(mut self) -> Result<()> {
        let status = self.process.wait()?;
        println!("\n=== {}", self.names);
        self.output.rewind()?;
        io::copy(&mut self.output, &mut io::stdout().lock())?;
        if !status.success() {
            bail!("one of the steps {} failed ({status})", self.names);
        }
        Ok(())
    }
}

impl Drop for Background {
    /// After a failure of another step the process is of no use.
    fn drop(&mut self) {
        // It may have ended by itself, which is no failure.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The step's name as an argument of `--only`.
fn name(step: Step) -> String {
    step.to_possible_value()
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}
