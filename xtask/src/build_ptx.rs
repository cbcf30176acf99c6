//! `cargo xtask build-ptx`: the kernels to PTX, judged, and written or compared.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail};
use warpstride_device::launch::KernelInfo;

use crate::compiler::{self, DeviceCompiler};
use crate::ir::LaunchBound;
use crate::linker::{self, Plan};
use crate::manifest::{self, Build, Manifest};
use crate::{lint, meetings, process, ptxas, workspace};

/// The architectures whose PTX is committed: the oldest one supported, which serves every newer
/// card, and Hopper, whose build may use what only it has.
pub(crate) const ARCHITECTURES: [u32; 2] = [80, 90];

const TARGET: &str = "nvptx64-nvidia-cuda";
const PACKAGE: &str = "warpstride-kernels";

/// What to do with the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write it into the repository.
    Write,
    /// Compare it with what the repository holds.
    Check,
}

/// How much the assembler's judgement counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assembler {
    /// Without it the command fails.
    Required,
    /// Without it the command says so and goes on.
    IfThere,
    /// Not asked.
    Off,
}

/// Whether rustc does what may make two barriers of one ([`meetings`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threading {
    On,
    Off,
}

/// One architecture's result.
struct Built {
    arch: u32,
    ptx: String,
    record: Build,
}

/// The whole command.
pub(crate) fn run(architectures: &[u32], mode: Mode, assembler: Assembler) -> Result<()> {
    let compiler = compiler::find()?;
    println!(
        "Device compiler: {} ({}), LLVM tools {} in {}",
        compiler.rustc_version,
        compiler.rustc.display(),
        compiler.llvm_version,
        compiler.llvm.display()
    );
    let ptxas = match assembler {
        Assembler::Off => None,
        Assembler::Required => Some(ptxas::find()?),
        Assembler::IfThere => match ptxas::find() {
            Ok(path) => Some(path),
            Err(error) => {
                println!("WARNING: registers, spills and assembling are NOT checked: {error:#}");
                None
            }
        },
    };
    let (compiler, ptxas) = (&compiler, ptxas.as_deref());
    // At once, for each is mostly one core's work: optimised as one unit, then assembled.
    let results = thread::scope(|scope| {
        let builds: Vec<_> = architectures
            .iter()
            .map(|&arch| scope.spawn(move || built_and_judged(compiler, arch, mode, ptxas)))
            .collect();
        builds
            .into_iter()
            .map(|build| {
                build
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect::<Result<Vec<Built>>>()
    })?;
    match mode {
        Mode::Write => write(&results),
        Mode::Check => results.iter().try_for_each(check),
    }
}

fn built_and_judged(
    compiler: &DeviceCompiler,
    arch: u32,
    mode: Mode,
    ptxas: Option<&Path>,
) -> Result<Built> {
    let built = build(compiler, arch)?;
    judge(&built, ptxas)?;
    // A committed file was judged so when it was written.
    if mode == Mode::Write {
        println!("Building {PACKAGE} for sm_{arch} once more, to compare barriers");
        meetings::check_flags(&compiler.rustc, &target_folder(arch, Threading::Off))?;
        let (straight, _) = compile(compiler, arch, Threading::Off)?;
        refuse(arch, meetings::complaints(&built.ptx, &straight)?)?;
    }
    Ok(built)
}

/// An error where there are complaints.
fn refuse(arch: u32, complaints: Vec<String>) -> Result<()> {
    if complaints.is_empty() {
        return Ok(());
    }
    bail!(
        "the PTX for sm_{arch} ({}) is not as it must be:\n  {}",
        target_folder(arch, Threading::On)
            .join(file_name(arch))
            .display(),
        complaints.join("\n  ")
    )
}

/// The kernels that exist on compute capability `arch` / 10.
fn kernels_of(arch: u32) -> Vec<&'static KernelInfo> {
    warpstride_kernels::registry()
        .iter()
        .filter(|info| info.min_arch <= arch)
        .collect()
}

fn file_name(arch: u32) -> String {
    format!("warpstride_sm{arch}.ptx")
}

/// Where `arch` is built: a folder of its own, or cargo would build `core` again for each in turn.
fn target_folder(arch: u32, threading: Threading) -> PathBuf {
    let name = match threading {
        Threading::On => format!("sm_{arch}"),
        Threading::Off => format!("sm_{arch}-straight"),
    };
    workspace::target().join("nvptx").join(name)
}

fn build(compiler: &DeviceCompiler, arch: u32) -> Result<Built> {
    println!("Building {PACKAGE} for sm_{arch}");
    let (ptx, list) = compile(compiler, arch, Threading::On)?;
    let files = sources(
        &fs::read_to_string(&list)
            .with_context(|| format!("the build left no dependency list {}", list.display()))?,
    )?;
    let (sources_sha256, sources) = manifest::hash_sources(&workspace::root(), &files)?;
    let record = Build {
        file: file_name(arch),
        sha256: manifest::sha256(ptx.as_bytes()),
        rustc: compiler.rustc_version.clone(),
        llvm: compiler.llvm_version.clone(),
        recipe: linker::RECIPE.to_owned(),
        sources_sha256,
        sources,
    };
    Ok(Built { arch, ptx, record })
}

/// The PTX, and where cargo lists the files that it is made of.
fn compile(
    compiler: &DeviceCompiler,
    arch: u32,
    threading: Threading,
) -> Result<(String, PathBuf)> {
    let target = target_folder(arch, threading);
    fs::create_dir_all(&target)?;
    let plan = target.join("link-plan.json");
    let bounds = kernels_of(arch)
        .iter()
        .map(|info| LaunchBound {
            entry: info.entry.to_owned(),
            block: info.block,
            min_blocks: info.min_blocks,
        })
        .collect();
    fs::write(
        &plan,
        serde_json::to_vec_pretty(&Plan {
            llvm: compiler.llvm.clone(),
            arch,
            bounds,
        })?,
    )?;

    let release = target.join(TARGET).join("release");
    forget(&release)?;
    process::run(&mut cargo(compiler, arch, threading, &target, &plan)?)
        .context("the kernels do not compile for the device")?;

    let stem = PACKAGE.replace('-', "_");
    let output = release.join(format!("{stem}.ptx"));
    let ptx = fs::read_to_string(&output)
        .with_context(|| format!("the build left no {}", output.display()))?;
    Ok((ptx, release.join(format!("{stem}.d"))))
}

fn cargo(
    compiler: &DeviceCompiler,
    arch: u32,
    threading: Threading,
    target: &Path,
    plan: &Path,
) -> Result<Command> {
    let mut command = Command::new(&compiler.cargo);
    compiler::clean(&mut command);
    command
        .current_dir(workspace::root())
        .args(["rustc", "--package", PACKAGE, "--lib", "--release"])
        .args(["--crate-type", "cdylib", "--target", TARGET])
        .arg("-Zbuild-std=core")
        .arg("--target-dir")
        .arg(target);
    if arch >= 90 {
        command.args(["--features", "sm_90"]);
    }
    command
        .env("RUSTC", &compiler.rustc)
        // The target's ABI, assembly and intrinsics are unstable features of a stable compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags(compiler, arch, threading)?)
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

/// rustc's flags, in cargo's encoding that keeps spaces in paths whole.
fn flags(compiler: &DeviceCompiler, arch: u32, threading: Threading) -> Result<OsString> {
    let mut flags = vec![
        OsString::from(format!("-Ctarget-cpu=sm_{arch}")),
        OsString::from(format!("-Cllvm-args={}", linker::LOOPS.join(" "))),
    ];
    if threading == Threading::Off {
        flags.extend(meetings::STRAIGHT.map(OsString::from));
    }
    let mut remap = |from: &Path, to: &str| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push("=");
        flag.push(to);
        flags.push(flag);
    };
    remap(&workspace::root(), "warpstride");
    remap(&compiler.library, "rust");
    if let Some(home) = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
    {
        remap(&home, "cargo");
    }
    Ok(flags.join(std::ffi::OsStr::new("\u{1f}")))
}

/// Makes cargo compile and link the kernels again: it does not know that the linker and its plan
/// are inputs.
fn forget(release: &Path) -> Result<()> {
    let fingerprints = release.join(".fingerprint");
    if !fingerprints.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(fingerprints)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PACKAGE) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The files of the checkout that went into the device code, from cargo's dependency list, with
/// the packages' own descriptions.
fn sources(list: &str) -> Result<Vec<PathBuf>> {
    let root = workspace::root();
    let kernels = root.join("kernels-gpu");
    let mut files: Vec<PathBuf> = Vec::new();
    for file in manifest::dependency_list(list) {
        let file = if file.is_absolute() {
            file
        } else {
            root.join(file)
        };
        if !file.starts_with(&kernels) {
            continue;
        }
        let package = file
            .ancestors()
            .map(|folder| folder.join("Cargo.toml"))
            .find(|description| description.is_file())
            .with_context(|| format!("{} belongs to no package", file.display()))?;
        files.extend([file, package]);
    }
    files.sort();
    files.dedup();
    if files.is_empty() {
        bail!("the build's dependency list names no file under kernels-gpu");
    }
    Ok(files)
}

/// Lints, and the assembler's table.
fn judge(built: &Built, ptxas: Option<&Path>) -> Result<()> {
    let kernels = kernels_of(built.arch);
    // Kept where the messages' line numbers can be looked up, good or not.
    let file = target_folder(built.arch, Threading::On).join(file_name(built.arch));
    fs::write(&file, &built.ptx)?;
    let mut complaints: Vec<String> = lint::check(&built.ptx, built.arch, &kernels)?
        .iter()
        .map(ToString::to_string)
        .collect();
    if let Some(ptxas) = ptxas {
        let usages = ptxas::assemble(ptxas, &file, built.arch)?;
        println!("sm_{}\n{}", built.arch, ptxas::table(&usages, &kernels));
        complaints.extend(ptxas::complaints(&usages, &kernels));
    }
    refuse(built.arch, complaints)?;
    println!(
        "sm_{}: {} kernels, {} bytes, no findings",
        built.arch,
        kernels.len(),
        built.ptx.len()
    );
    Ok(())
}

fn write(results: &[Built]) -> Result<()> {
    let folder = workspace::ptx();
    fs::create_dir_all(&folder)?;
    let path = folder.join("manifest.json");
    let mut manifest = Manifest::read(&path)?;
    for built in results {
        let file = folder.join(&built.record.file);
        fs::write(&file, &built.ptx).with_context(|| format!("cannot write {}", file.display()))?;
        manifest
            .builds
            .insert(format!("sm_{}", built.arch), built.record.clone());
    }
    manifest.write(&path)?;
    println!("Written to {}", folder.display());
    Ok(())
}

/// Compares `built` with the committed file and its record.
fn check(built: &Built) -> Result<()> {
    const REMEDY: &str = "run `cargo xtask build-ptx` and commit kernels-gpu/ptx";
    let folder = workspace::ptx();
    let manifest = Manifest::read(&folder.join("manifest.json"))?;
    let name = format!("sm_{}", built.arch);
    let Some(committed) = manifest.builds.get(&name) else {
        bail!("the manifest has no record of {name}: {REMEDY}");
    };
    let file = folder.join(&committed.file);
    let bytes =
        fs::read(&file).with_context(|| format!("cannot read {}: {REMEDY}", file.display()))?;
    if manifest::sha256(&bytes) != committed.sha256 {
        bail!(
            "{} is not the file that the manifest records: {REMEDY}",
            committed.file
        );
    }
    let changed = committed.changed_sources(&built.record);
    if !changed.is_empty() || committed.sources_sha256 != built.record.sources_sha256 {
        bail!(
            "{} was built from other sources (changed: {}): {REMEDY}",
            committed.file,
            changed.join(", ")
        );
    }
    if committed.recipe != built.record.recipe {
        bail!(
            "{} was built with other options ({}): {REMEDY}",
            committed.file,
            committed.recipe
        );
    }
    if !committed.same_compiler(&built.record) {
        println!(
            "NOTE: {} was built with {} and LLVM {}; here are {} and LLVM {}. The bytes may \
             differ and were not compared; the sources are the same, and this compiler's PTX passed every check.",
            committed.file, committed.rustc, committed.llvm, built.record.rustc, built.record.llvm
        );
        return Ok(());
    }
    if committed.sha256 != built.record.sha256 {
        bail!(
            "{}: the same sources and compiler gave other bytes: {REMEDY}",
            committed.file
        );
    }
    println!("{}: rebuilt, equal byte for byte", committed.file);
    Ok(())
}
