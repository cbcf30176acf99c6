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

/// The stable ABI of Python 3.10, in the name of the wheel.
const ABI: &str = "-cp310-abi3-";

/// The largest wheel, in bytes.
const LARGEST: u64 = 20 << 20;

/// Builds the wheel in `folder`.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let host = Host::prepare()?;
    let tools = workspace::tools();
    let maturin = wheel::tool(&tools, "maturin", "maturin", MATURIN_VERSION, "bin/maturin")?;
    let zig = wheel::tool(&tools, "zig", "ziglang", ZIG_VERSION, "ziglang/zig")?;
    println!(
        "Building the wheel (the whole program, optimised; this takes ten minutes or more the first time)"
    );
    let earlier = wheels(folder)?;
    for wheel in earlier {
        fs::remove_file(&wheel).with_context(|| format!("cannot remove {}", wheel.display()))?;
    }
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
            ])
            .arg("--out")
            .arg(folder),
    )?;
    let built = wheels(folder)?;
    let [wheel] = &built[..] else {
        bail!(
            "expected one wheel in {}, found {}",
            folder.display(),
            built.len()
        );
    };
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    if !(name.contains(ABI) && name.contains(COMPATIBILITY)) {
        bail!("expected a wheel {ABI}{COMPATIBILITY}, found {name}");
    }
    let bytes = fs::metadata(wheel)?.len();
    println!(
        "{}: {:.1} MiB",
        wheel.display(),
        bytes as f64 / f64::from(1 << 20)
    );
    if bytes > LARGEST {
        bail!("expected a wheel of at most {} MiB", LARGEST >> 20);
    }
    Ok(())
}

/// The package's wheels in `folder`.
fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("warpstride-") && name.ends_with(".whl") {
            found.push(path);
        }
    }
    Ok(found)
}
