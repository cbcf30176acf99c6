//! The device linker: rustc hands it LLVM bitcode, it writes one module of textual IR with what the kernels need.
//!
//! rustc's linker flavour `llbc` knows only objects, libraries and exported names. The rest (where the LLVM tools are,
//! where the module goes) is in a plan, a JSON file whose path is in the environment. Code is generated later
//! ([`crate::Linked::generate`]), so that cargo's lock is free for the next build meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{ir, kernel, process};

/// The environment variable that holds the plan's path.
pub(crate) const PLAN_VARIABLE: &str = "WARPSTRIDE_LINK_PLAN";

/// The linked module, in the plan's folder.
pub(crate) const MODULE: &str = "linked.ll";

/// The descriptions of its kernels, beside it.
pub(crate) const KERNELS: &str = "kernels.json";

/// What the linker must know beside rustc's arguments.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Folder of `llvm-link` and `llvm-ar`.
    pub(crate) llvm: PathBuf,
    /// Folder for [`MODULE`] and [`KERNELS`].
    pub(crate) output: PathBuf,
}

/// Links and returns the exit code if rustc has called this program as its linker; `None` otherwise.
///
/// A program that builds PTX calls this first in `main`.
#[must_use]
pub fn run_if_called_as_linker() -> Option<ExitCode> {
    let plan = std::env::var_os(PLAN_VARIABLE)?;
    Some(match link(plan.as_ref(), std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            // Without a working standard error the exit code is all that can be reported.
            let _ = writeln!(std::io::stderr().lock(), "error: {error:#}");
            ExitCode::FAILURE
        }
    })
}

/// What rustc passes to a linker of the `llbc` flavour.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    objects: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    exported: BTreeSet<String>,
    output: PathBuf,
}

impl Arguments {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut parsed = Self::default();
        let mut arguments = arguments;
        let mut output = None;
        while let Some(argument) = arguments.next() {
            let mut value = |option: &str| {
                arguments.next().with_context(|| {
                    format!("the device linker's option {option}: expected a value")
                })
            };
            match argument.as_str() {
                "--export-symbol" => {
                    parsed.exported.insert(value("--export-symbol")?);
                }
                "-o" => output = Some(PathBuf::from(value("-o")?)),
                // The architecture is in the plan; search folders matter to libraries named with
                // `-l`, which device code has none of.
                "-L" | "--target" | "--target-cpu" => {
                    value(&argument)?;
                }
                option if option.starts_with("-O") || option == "--debug" => {}
                option if option.starts_with('-') => {
                    bail!(
                        "rustc calls the device linker with an unknown option {option}: use the compiler that docs/toolchain.md names"
                    )
                }
                path => match Path::new(path).extension().and_then(|e| e.to_str()) {
                    Some("rlib" | "a") => parsed.libraries.push(path.into()),
                    Some("o" | "bc") => parsed.objects.push(path.into()),
                    _ => bail!(
                        "{path}: expected an object (.o, .bc) or a library (.rlib, .a) as input of the device linker"
                    ),
                },
            }
        }
        parsed.output = output.context("rustc calls the device linker without an output (-o)")?;
        if parsed.objects.is_empty() {
            bail!("rustc calls the device linker without objects");
        }
        Ok(parsed)
    }
}

/// Links as rustc asks.
fn link(plan: &Path, arguments: impl Iterator<Item = String>) -> Result<()> {
    let plan: Plan = serde_json::from_slice(
        &fs::read(plan).with_context(|| format!("cannot read the link plan {}", plan.display()))?,
    )?;
    let arguments = Arguments::parse(arguments)?;
    let scratch = tempfile::tempdir()?;
    let module = link_modules(&plan, &arguments, scratch.path())?;
    let (module, kernels) = kernel::take(&ir::share(&module)?)?;
    for entry in ir::entries(&module) {
        if !kernels.iter().any(|kernel| kernel.entry == entry) {
            bail!(
                "{entry}: expected a kernel with the attribute #[kernel] of this version of warpstride-device"
            );
        }
    }
    fs::write(
        plan.output.join(KERNELS),
        serde_json::to_vec_pretty(&kernels)?,
    )?;
    fs::write(plan.output.join(MODULE), module)?;
    // rustc and cargo expect their output to exist.
    fs::write(&arguments.output, "")
        .with_context(|| format!("cannot write {}", arguments.output.display()))
}

/// One module of the objects, what they need of the libraries, and what they need of [`ir::ADDRESS_SPACES`].
fn link_modules(plan: &Plan, arguments: &Arguments, scratch: &Path) -> Result<String> {
    let own = scratch.join("own.bc");
    process::output(
        Command::new(plan.llvm.join("llvm-link"))
            .args(&arguments.objects)
            .arg("-o")
            .arg(&own),
    )?;
    let address_spaces = scratch.join("address_spaces.ll");
    fs::write(&address_spaces, ir::ADDRESS_SPACES)?;
    let linked = scratch.join("linked.ll");
    // Libraries give only what the kernels call, so that other names in them cannot clash and the text stays small.
    process::output(
        Command::new(plan.llvm.join("llvm-link"))
            .args(["-S", "--only-needed"])
            .arg(&own)
            .args(members(plan, &arguments.libraries, scratch)?)
            .arg(&address_spaces)
            .arg("-o")
            .arg(&linked),
    )?;
    Ok(fs::read_to_string(&linked)?)
}

/// The bitcode files inside `libraries`.
fn members(plan: &Plan, libraries: &[PathBuf], scratch: &Path) -> Result<Vec<PathBuf>> {
    let mut members = Vec::new();
    for (index, library) in libraries.iter().enumerate() {
        let folder = scratch.join(format!("library{index}"));
        fs::create_dir(&folder)?;
        process::output(
            Command::new(plan.llvm.join("llvm-ar"))
                .arg("x")
                .arg(library)
                .current_dir(&folder),
        )?;
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "o") {
                members.push(path);
            }
        }
    }
    members.sort();
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments> {
        Arguments::parse(arguments.iter().map(|&argument| argument.to_owned()))
    }

    #[test]
    fn rustc_arguments_are_understood() {
        let arguments = parse(&[
            "--export-symbol",
            "saxpy",
            "k.rcgu.o",
            "libcompiler_builtins.rlib",
            "-L",
            "raw-dylibs",
            "--target",
            "nvptx64-nvidia-cuda",
            "--target-cpu",
            "sm_80",
            "-o",
            "k.ptx",
            "-O3",
            "--debug",
        ])
        .unwrap();
        assert_eq!(
            arguments,
            Arguments {
                objects: vec!["k.rcgu.o".into()],
                libraries: vec!["libcompiler_builtins.rlib".into()],
                exported: ["saxpy".to_owned()].into(),
                output: "k.ptx".into(),
            }
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (arguments, part) in [
            (
                &["k.o", "-o", "k.ptx", "--gc-everything"][..],
                "--gc-everything",
            ),
            (&["k.o", "-o"], "-o: expected a value"),
            (&["k.o"], "without an output"),
            (&["-o", "k.ptx"], "without objects"),
            (&["k.so", "-o", "k.ptx"], "k.so"),
        ] {
            let error = parse(arguments).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
