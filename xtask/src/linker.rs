//! The device linker: rustc hands it LLVM bitcode, it writes PTX.
//!
//! rustc's `llbc` linker flavour knows no more than objects, libraries and exported names. What a
//! kernel needs besides (launch bounds, tools, architecture) comes in a plan, a JSON file whose
//! path is in the environment.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::ir::{self, LaunchBound};
use crate::process;
use crate::ptx::{self, Version};

/// The environment variable that holds the plan's path.
pub(crate) const PLAN_VARIABLE: &str = "WARPSTRIDE_LINK_PLAN";

/// Options of `opt` and `llc` beside the architecture; part of the manifest, because they decide
/// the bytes as much as the sources do.
pub(crate) const RECIPE: &str = "opt internalize,globaldce,default<O3>; llc -O3 --fp-contract=fast, no LSR; \
     unroll-threshold 2000, no runtime unrolling";

/// How both optimiser runs treat loops.
///
/// Loops over register arrays must be unrolled completely, or the arrays land in local memory;
/// LLVM's own threshold (300 instructions) stops too early for them. Loops of unknown length are
/// left alone: unrolled twice, their addresses cost more registers than a launch bound leaves,
/// and `ptxas` unrolls what profits.
pub(crate) const LOOPS: [&str; 2] = ["-unroll-threshold=2000", "-unroll-runtime=false"];

/// The code generator's loop strength reduction keeps a running pointer for every array, which took
/// a kernel of 32 registers to 40; `ptxas` adds up addresses where that pays.
const NO_STRENGTH_REDUCTION: &str = "-disable-lsr";

/// What the linker is told beside rustc's arguments.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Folder of `llvm-link`, `opt`, `llc` and their kin.
    pub(crate) llvm: PathBuf,
    /// Compute capability times ten (80, 90).
    pub(crate) arch: u32,
    pub(crate) bounds: Vec<LaunchBound>,
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
                arguments
                    .next()
                    .with_context(|| format!("the device linker's option {option} lacks its value"))
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
                    bail!("the device linker does not know rustc's option {option}")
                }
                path => match Path::new(path).extension().and_then(|e| e.to_str()) {
                    Some("rlib" | "a") => parsed.libraries.push(path.into()),
                    Some("o" | "bc") => parsed.objects.push(path.into()),
                    _ => bail!("the device linker cannot tell what {path} is"),
                },
            }
        }
        parsed.output = output.context("the device linker was given no output (-o)")?;
        if parsed.objects.is_empty() {
            bail!("the device linker was given no objects");
        }
        Ok(parsed)
    }
}

/// Links as rustc asks.
pub(crate) fn main(plan: &Path, arguments: impl Iterator<Item = String>) -> Result<()> {
    let plan: Plan = serde_json::from_slice(
        &fs::read(plan).with_context(|| format!("cannot read the link plan {}", plan.display()))?,
    )?;
    let arguments = Arguments::parse(arguments)?;
    let scratch = tempfile::tempdir()?;
    Linker {
        plan: &plan,
        scratch: scratch.path(),
    }
    .link(&arguments)
}

struct Linker<'a> {
    plan: &'a Plan,
    scratch: &'a Path,
}

impl Linker<'_> {
    fn tool(&self, name: &str) -> Command {
        Command::new(self.plan.llvm.join(name))
    }

    fn link(&self, arguments: &Arguments) -> Result<()> {
        let own = self.scratch.join("own.bc");
        process::output(
            self.tool("llvm-link")
                .args(&arguments.objects)
                .arg("-o")
                .arg(&own),
        )?;
        let dynamic_shared = self.scratch.join("dynamic_shared.ll");
        fs::write(&dynamic_shared, ir::DYNAMIC_SHARED)?;
        let linked = self.scratch.join("linked.ll");
        // Only what the kernels call is taken from libraries, so that names of the rest cannot
        // clash and the text stays small.
        process::output(
            self.tool("llvm-link")
                .args(["-S", "--only-needed"])
                .arg(&own)
                .args(self.members(&arguments.libraries)?)
                .arg(&dynamic_shared)
                .arg("-o")
                .arg(&linked),
        )?;

        let bounds: Vec<_> = self
            .plan
            .bounds
            .iter()
            .filter(|bound| arguments.exported.contains(&bound.entry))
            .cloned()
            .collect();
        let edited = self.scratch.join("edited.ll");
        let module = ir::share(&fs::read_to_string(&linked)?)?;
        fs::write(&edited, ir::bound(&module, &bounds))?;

        let optimised = self.scratch.join("optimised.bc");
        let exported: Vec<&str> = arguments.exported.iter().map(String::as_str).collect();
        process::output(
            self.tool("opt")
                .arg("-passes=internalize,globaldce,default<O3>")
                .arg(format!(
                    "-internalize-public-api-list={}",
                    exported.join(",")
                ))
                .arg(format!("-mcpu=sm_{}", self.plan.arch))
                .args(LOOPS)
                .arg(&edited)
                .arg("-o")
                .arg(&optimised),
        )?;
        fs::write(&arguments.output, self.generate(&optimised)?)
            .with_context(|| format!("cannot write {}", arguments.output.display()))
    }

    /// The bitcode files inside `libraries`.
    fn members(&self, libraries: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let mut members = Vec::new();
        for (index, library) in libraries.iter().enumerate() {
            let folder = self.scratch.join(format!("library{index}"));
            fs::create_dir(&folder)?;
            process::output(
                self.tool("llvm-ar")
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

    /// PTX of the lowest version that has what the code uses.
    fn generate(&self, optimised: &Path) -> Result<String> {
        let lowest = Version::lowest_for(self.plan.arch)?;
        let ptx = self.generate_as(optimised, lowest)?;
        let needed = ptx::needed_version(&ptx).max(lowest);
        if needed == lowest {
            return Ok(ptx);
        }
        self.generate_as(optimised, needed)
    }

    fn generate_as(&self, optimised: &Path, version: Version) -> Result<String> {
        process::output(
            self.tool("llc")
                .arg(format!("-mcpu=sm_{}", self.plan.arch))
                .arg(format!("-mattr=+ptx{}{}", version.major, version.minor))
                .args(["-O3", "--fp-contract=fast", NO_STRENGTH_REDUCTION])
                .args(["-o", "-"])
                .arg(optimised),
        )
    }
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
            (&["k.o", "-o"], "-o lacks its value"),
            (&["k.o"], "no output"),
            (&["-o", "k.ptx"], "no objects"),
            (&["k.so", "-o", "k.ptx"], "k.so"),
        ] {
            let error = parse(arguments).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
