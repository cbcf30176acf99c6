//! `cargo xtask wheel`: the Python package as a wheel that runs on any Linux with glibc 2.28 or newer.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::host::Host;
use crate::workspace;
use warpstride_build_ptx::{process, wheel};

const MATURIN_VERSION: &str = "1.16.0";
const ZIG_VERSION: &str = "0.17.1";

/// The oldest system for which the wheel is built, as PyPI names it; maturin checks it.
const COMPATIBILITY: &str = "manylinux_2_28";

/// What a wheel is for.
pub(crate) enum Interpreter {
    /// CPython 3.10 and newer, with its global lock.
    Usual,
    /// CPython 3.15 and newer, free-threaded or with the lock.
    FreeThreaded,
}

impl Interpreter {
    /// The stable ABI, as the wheel's name has it.
    fn abi(&self) -> &'static str {
        match self {
            Self::Usual => "-cp310-abi3-",
            Self::FreeThreaded => "-cp315-abi3.abi3t-",
        }
    }

    /// The arguments of maturin; the interpreter that these name need not be installed.
    fn arguments(&self) -> &'static [&'static str] {
        match self {
            Self::Usual => &[],
            Self::FreeThreaded => &[
                "--features",
                "free-threaded",
                "--interpreter",
                "python3.15t",
            ],
        }
    }
}

/// The largest wheel, in bytes: a little more than what the program takes now (benches/runs/2026-11-28-wheel).
const LARGEST: u64 = 25 << 20;

/// Builds the wheel for `interpreter` in `folder`.
pub(crate) fn run(folder: &Path, interpreter: &Interpreter) -> Result<()> {
    let host = Host::prepare()?;
    let tools = workspace::tools();
    let maturin = wheel::tool(&tools, "maturin", "maturin", MATURIN_VERSION, "bin/maturin")?;
    let zig = wheel::tool(&tools, "zig", "ziglang", ZIG_VERSION, "ziglang/zig")?;
    println!(
        "Building the wheel (the whole program, optimised; this takes ten minutes or more the first time)"
    );
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // Maturin runs in another folder.
    let folder = fs::canonicalize(folder)?;
    // An earlier wheel stays until this one is complete.
    let building = tempfile::tempdir_in(&folder)?;
    process::run(
        host.command(&maturin)?
            .current_dir(workspace::root().join("python"))
            .env("CARGO_ZIGBUILD_ZIG_PATH", zig)
            .args([
                "build",
                "--locked",
                "--zig",
                "--compatibility",
                COMPATIBILITY,
                "--compression-level",
                "9",
            ])
            .args(interpreter.arguments())
            .arg("--out")
            .arg(building.path()),
    )?;
    let built = wheels(building.path(), interpreter.abi())?;
    let [wheel] = &built[..] else {
        bail!(
            "expected one wheel of the ABI {} in {}, found {}",
            interpreter.abi().trim_matches('-'),
            building.path().display(),
            built.len()
        );
    };
    let name = wheel.file_name().unwrap_or_default();
    if !name.to_string_lossy().contains(COMPATIBILITY) {
        bail!(
            "expected a wheel for {COMPATIBILITY}, found {}",
            name.display()
        );
    }
    let bytes = fs::metadata(wheel)?.len();
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    if bytes > LARGEST {
        bail!(
            "expected a wheel of at most {} MiB, found {mebibytes:.1}",
            LARGEST >> 20
        );
    }
    for earlier in wheels(&folder, interpreter.abi())? {
        fs::remove_file(&earlier)
            .with_context(|| format!("cannot remove {}", earlier.display()))?;
    }
    let kept = folder.join(name);
    fs::rename(wheel, &kept).with_context(|| format!("cannot make {}", kept.display()))?;
    println!("{}: {mebibytes:.1} MiB", kept.display());
    Ok(())
}

/// The package's wheels of this ABI in `folder`.
fn wheels(folder: &Path, abi: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("warpstride-") && name.contains(abi) && name.ends_with(".whl") {
            found.push(path);
        }
    }
    Ok(found)
}
