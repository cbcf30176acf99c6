//! `cargo xtask wheel`: the Python package as a wheel that runs on any Linux with glibc 2.28 or
//! newer.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

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

/// The largest wheel, in bytes.
const LARGEST: u64 = 20_000_000;

/// LLVM inlines up to this cost, in the place of 225, what nothing asks to be inlined: 8 % of the
/// code less and the same speed (benches/runs/2026-11-28-wheel).
const INLINED: &str = "-Cllvm-args=-inline-threshold=50";

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
            .env("RUSTFLAGS", rust_flags())
            .args([
                "build",
                "--locked",
                "--zig",
                "--compatibility",
                COMPATIBILITY,
                "--compression-level",
                "1",
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
    let packed = building.path().join("packed");
    println!("Compressing the wheel (one to four minutes)");
    compressed(wheel, &packed).with_context(|| format!("cannot pack {}", name.display()))?;
    let bytes = fs::metadata(&packed)?.len();
    let megabytes = bytes as f64 / 1e6;
    if bytes > LARGEST {
        bail!(
            "expected a wheel of at most {:.0} MB, found {megabytes:.1}",
            LARGEST as f64 / 1e6
        );
    }
    for earlier in wheels(&folder, interpreter.abi())? {
        fs::remove_file(&earlier)
            .with_context(|| format!("cannot remove {}", earlier.display()))?;
    }
    let kept = folder.join(name);
    fs::rename(&packed, &kept).with_context(|| format!("cannot make {}", kept.display()))?;
    println!("{}: {megabytes:.1} MB", kept.display());
    Ok(())
}

/// The flags of the environment, and those of a wheel.
fn rust_flags() -> OsString {
    let mut flags = env::var_os("RUSTFLAGS").unwrap_or_default();
    if !flags.is_empty() {
        flags.push(" ");
    }
    flags.push(INLINED);
    flags
}

/// Levels of deflate above 9 are iterations of Zopfli: 3 % less than level 9.
const LEVEL: i64 = 10;
/// What Zopfli divides into blocks at a time, in bytes.
const COMPRESSED_AT_ONCE: usize = 2_000_000;

/// Writes the files of `wheel` to `packed`, compressed by Zopfli.
fn compressed(wheel: &Path, packed: &Path) -> Result<()> {
    let mut wheel = ZipArchive::new(File::open(wheel)?)?;
    let mut packed = ZipWriter::new(File::create(packed)?);
    for index in 0..wheel.len() {
        let mut file = wheel.by_index(index)?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(LEVEL))
            .with_zopfli_buffer(Some(COMPRESSED_AT_ONCE))
            .last_modified_time(file.last_modified().unwrap_or_default())
            .unix_permissions(file.unix_mode().unwrap_or(0o644));
        packed.start_file(file.name()?, options)?;
        io::copy(&mut file, &mut packed)?;
    }
    packed.finish()?.sync_all()?;
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
