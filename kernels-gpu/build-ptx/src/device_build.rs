//! Compiles a package for the device and generates PTX from it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::check::refuse;
use crate::compiler::{self, DeviceCompiler};
use crate::convergence;
use crate::dependencies;
use crate::ir::{self, BASE_ARCH};
use crate::kernel::Kernel;
use crate::linker::{self, Plan};
use crate::process;
use crate::ptx::{self, Version};

const TARGET: &str = "nvptx64-nvidia-cuda";

/// Options of `opt` and `llc` besides the architecture. They affect the bytes as much as the sources do.
pub const RECIPE: &str = "opt internalize,globaldce,default<O3>; llc -O3 --fp-contract=fast, no LSR; \
     unroll-threshold 2000, no runtime unrolling";

/// How both optimiser runs treat loops.
///
/// Loops over register arrays must be unrolled completely, or the arrays are put into local memory; LLVM's own threshold
/// (300 instructions) is too low for them. Loops of unknown length are left alone: unrolled twice, their addresses
/// cost more registers than a launch bound leaves, and `ptxas` unrolls where that pays.
const LOOPS: [&str; 2] = ["-unroll-threshold=2000", "-unroll-runtime=false"];

/// The code generator's loop strength reduction keeps a running pointer for every array, which took a kernel from 32
/// registers to 40; `ptxas` reduces address arithmetic where that pays.
const NO_STRENGTH_REDUCTION: &str = "-disable-lsr";

/// A cargo package with kernels.
#[derive(Debug, Clone)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its `Cargo.toml`.
    pub manifest: PathBuf,
    /// The folder of its workspace.
    pub root: PathBuf,
    /// Cargo's target folder of the workspace.
    pub target: PathBuf,
    /// Its library as cargo names the file.
    library: String,
    /// Its features.
    features: Vec<String>,
}

impl Package {
    /// Asks cargo about the package of the `Cargo.toml` at `manifest`.
    ///
    /// # Errors
    /// A file that cargo cannot read, or a package without a library.
    pub fn read(compiler: &DeviceCompiler, manifest: &Path) -> Result<Self> {
        let manifest = manifest
            .canonicalize()
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        let mut command = Command::new(&compiler.cargo);
        let printed = process::output(
            compiler::clean(&mut command)
                .env("RUSTC", &compiler.rustc)
                .args([
                    "metadata",
                    "--no-deps",
                    "--format-version",
                    "1",
                    "--manifest-path",
                ])
                .arg(&manifest),
        )?;
        Self::parse(&printed, &manifest)
    }

    fn parse(metadata: &str, manifest: &Path) -> Result<Self> {
        let metadata: Value =
            serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let package = metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|package| {
                package["manifest_path"]
                    .as_str()
                    .is_some_and(|path| Path::new(path) == manifest)
            })
            .with_context(|| {
                format!(
                    "{}: expected the Cargo.toml of a package",
                    manifest.display()
                )
            })?;
        let library = package["targets"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|target| {
                let types = target["crate_types"].as_array();
                types.is_some_and(|types| types.iter().any(|name| name == "lib"))
            })
            .with_context(|| {
                format!("{}: expected a package with a library", manifest.display())
            })?;
        Ok(Self {
            name: text(&package["name"]),
            manifest: manifest.to_owned(),
            root: text(&metadata["workspace_root"]).into(),
            target: text(&metadata["target_directory"]).into(),
            library: text(&library["name"]).replace('-', "_"),
            features: package["features"]
                .as_object()
                .into_iter()
                .flat_map(|features| features.keys().cloned())
                .collect(),
        })
    }

    /// The feature that enables code for compute capability 9.0 and later.
    #[must_use]
    pub fn hopper_feature(&self) -> &'static str {
        if self.features.iter().any(|name| name == "sm_90") {
            "sm_90"
        } else {
            "warpstride-device/sm_90"
        }
    }
}

/// Whether rustc may duplicate barriers (`convergence.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threading {
    /// The build whose PTX is used.
    On,
    /// The build that barriers are compared with.
    Off,
}

/// A package's builds in one target folder.
#[derive(Debug)]
pub struct DeviceBuild {
    compiler: DeviceCompiler,
    package: Package,
    threading: Threading,
    target: PathBuf,
    /// Held while cargo runs. Cargo locks its target folder too, but prints that it waits.
    cargo: Mutex<()>,
}

/// A linked module and its origin.
#[derive(Debug)]
pub struct Linked {
    module: PathBuf,
    /// The kernels of the package, sorted by name; the module has all of them, those for a later architecture too.
    pub kernels: Vec<Kernel>,
    /// The sources of the workspace that were compiled, with their `Cargo.toml`.
    pub sources: Vec<PathBuf>,
}

impl DeviceBuild {
    /// Builds of `package` in `target`, a folder that no other build uses.
    ///
    /// # Errors
    /// A compiler that does not know the flags of [`Threading::Off`].
    pub fn new(
        compiler: &DeviceCompiler,
        package: &Package,
        threading: Threading,
        target: PathBuf,
    ) -> Result<Self> {
        fs::create_dir_all(&target)
            .with_context(|| format!("cannot create {}", target.display()))?;
        if threading == Threading::Off {
            convergence::check_flags(&compiler.rustc, &target)?;
        }
        Ok(Self {
            compiler: compiler.clone(),
            package: package.clone(),
            threading,
            target,
            cargo: Mutex::new(()),
        })
    }

    /// Compiles and links the package. `name` distinguishes results in the target folder; `features` replaces the
    /// default features, if given; `more` is added to them.
    ///
    /// # Errors
    /// Code that does not compile for the device, or what the linker refuses.
    pub fn link(&self, name: &str, features: Option<&str>, more: &[&str]) -> Result<Linked> {
        let output = self.target.join("linked").join(name);
        fs::create_dir_all(&output)?;
        let plan = output.join("plan.json");
        fs::write(
            &plan,
            serde_json::to_vec_pretty(&Plan {
                llvm: self.compiler.llvm.clone(),
                output: output.clone(),
            })?,
        )?;
        let release = self.target.join(TARGET).join("release");
        let list = {
            let _one_at_a_time = self.cargo.lock().unwrap_or_else(PoisonError::into_inner);
            forget(&release, &self.package.name)?;
            let mut command = self.cargo(&plan)?;
            if let Some(features) = features {
                command.args(["--no-default-features", "--features", features]);
            }
            for feature in more {
                command.args(["--features", feature]);
            }
            process::run(&mut command).context("the kernels do not compile for the device")?;
            let list = release.join(format!("{}.d", self.package.library));
            fs::read_to_string(&list)
                .with_context(|| format!("the build left no dependency list {}", list.display()))?
        };
        let kernels = fs::read(output.join(linker::KERNELS))
            .context("the build did not call the device linker")?;
        Ok(Linked {
            module: output.join(linker::MODULE),
            kernels: serde_json::from_slice(&kernels)?,
            sources: dependencies::sources(&list, &self.package.root)?,
        })
    }

    fn cargo(&self, plan: &Path) -> Result<Command> {
        let mut command = Command::new(&self.compiler.cargo);
        compiler::clean(&mut command);
        command
            .current_dir(&self.package.root)
            .args(["rustc", "--lib", "--release", "--manifest-path"])
            .arg(&self.package.manifest)
            .args(["--crate-type", "cdylib", "--target", TARGET])
            .arg("-Zbuild-std=core")
            .arg("--target-dir")
            .arg(&self.target)
            .env("RUSTC", &self.compiler.rustc)
            // The target's ABI, assembly and intrinsics are unstable features, which a stable compiler refuses
            // otherwise.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags())
            .env(
                "CARGO_TARGET_NVPTX64_NVIDIA_CUDA_LINKER",
                std::env::current_exe()?,
            )
            .env(linker::PLAN_VARIABLE, plan)
            .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
            .env("CARGO_PROFILE_RELEASE_LTO", "fat")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0");
        Ok(command)
    }

    /// rustc's flags, in cargo's encoding, which allows spaces in paths.
    fn flags(&self) -> OsString {
        let mut flags = vec![
            OsString::from(format!("-Ctarget-cpu=sm_{BASE_ARCH}")),
            OsString::from(format!("-Cllvm-args={}", LOOPS.join(" "))),
        ];
        if self.threading == Threading::Off {
            flags.extend(convergence::STRAIGHT.map(OsString::from));
        }
        let mut remap = |from: &Path, to: &str| {
            let mut flag = OsString::from("--remap-path-prefix=");
            flag.push(from);
            flag.push("=");
            flag.push(to);
            flags.push(flag);
        };
        remap(&self.package.root, "warpstride");
        remap(&self.compiler.library, "rust");
        if let Some(home) = std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
        {
            remap(&home, "cargo");
        }
        flags.join(OsStr::new("\u{1f}"))
    }
}

/// Makes cargo compile and link `package` again: it does not know that the linker and its plan are inputs.
fn forget(release: &Path, package: &str) -> Result<()> {
    let fingerprints = release.join(".fingerprint");
    if !fingerprints.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(fingerprints)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(package) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

impl Linked {
    /// The kernels that a text for `arch` (times ten) can have.
    #[must_use]
    pub fn kernels_for(&self, arch: u32) -> Vec<&Kernel> {
        self.kernels
            .iter()
            .filter(|kernel| kernel.min_arch <= arch)
            .collect()
    }

    /// Writes PTX for `arch` (times ten) with `kernels` into `file`, in the lowest PTX version that has what the code uses.
    ///
    /// # Errors
    /// An architecture that is not known, or what `opt` and `llc` refuse.
    pub fn generate(
        &self,
        compiler: &DeviceCompiler,
        arch: u32,
        kernels: &[&Kernel],
        file: &Path,
    ) -> Result<()> {
        if kernels.is_empty() {
            bail!("sm_{arch}: expected at least one #[kernel]");
        }
        let lowest = Version::lowest_for(arch)?;
        let bounded = file.with_extension("ll");
        let module = ir::retarget(&fs::read_to_string(&self.module)?, arch);
        fs::write(&bounded, ir::bound(&module, kernels))?;
        let optimised = file.with_extension("bc");
        let entries: Vec<&str> = kernels.iter().map(|kernel| kernel.entry.as_str()).collect();
        process::output(
            Command::new(compiler.llvm.join("opt"))
                .arg("-passes=internalize,globaldce,default<O3>")
                .arg(format!(
                    "-internalize-public-api-list={}",
                    entries.join(",")
                ))
                .arg(format!("-mcpu=sm_{arch}"))
                .args(LOOPS)
                .arg(&bounded)
                .arg("-o")
                .arg(&optimised),
        )?;
        let code = |version: Version| {
            process::output(
                Command::new(compiler.llvm.join("llc"))
                    .arg(format!("-mcpu=sm_{arch}"))
                    .arg(format!("-mattr=+ptx{}{}", version.major, version.minor))
                    .args(["-O3", "--fp-contract=fast", NO_STRENGTH_REDUCTION])
                    .args(["-o", "-"])
                    .arg(&optimised),
            )
        };
        let mut ptx = code(lowest)?;
        let needed = ptx::needed_version(&ptx).max(lowest);
        if needed != lowest {
            ptx = code(needed)?;
        }
        fs::write(file, ptx).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Makes sure that no kernel in the text `built` has more barriers, shuffles or votes than in `straight`, the text of
/// [`Threading::Off`].
///
/// # Errors
/// The kernels that have more, each with what to do.
pub fn check_barriers(built: &Path, straight: &Path) -> Result<()> {
    let complaints =
        convergence::complaints(&fs::read_to_string(built)?, &fs::read_to_string(straight)?)?;
    refuse(built, &complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{
        "packages": [{
            "name": "my-kernels",
            "manifest_path": "/w/my-kernels/Cargo.toml",
            "targets": [{"name": "my-kernels", "crate_types": ["lib"]}],
            "features": {}
        }],
        "workspace_root": "/w",
        "target_directory": "/w/target"
    }"#;

    #[test]
    fn packages_are_described_by_cargo() {
        let package = Package::parse(METADATA, Path::new("/w/my-kernels/Cargo.toml")).unwrap();
        assert_eq!(package.library, "my_kernels");
        assert_eq!(package.target, Path::new("/w/target"));
        assert_eq!(package.hopper_feature(), "warpstride-device/sm_90");
    }

    #[test]
    fn a_package_must_have_a_library() {
        let program = METADATA.replace("\"lib\"", "\"bin\"");
        let error = Package::parse(&program, Path::new("/w/my-kernels/Cargo.toml")).unwrap_err();
        assert!(error.to_string().contains("library"), "{error}");
        assert!(Package::parse(METADATA, Path::new("/w/Cargo.toml")).is_err());
    }
}
