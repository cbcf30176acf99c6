//! Compresses the PTX texts of the enabled sciences for `include_bytes!` in `src/lib.rs`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Each text beside this file, and the science whose feature includes it.
const TEXTS: &[(&str, &str)] = &[
    ("fft", "fft"),
    ("jacobi", "jacobi"),
    ("mri", "mri"),
    ("ptycho", "ptycho"),
    ("ptycho_sm90", "ptycho"),
    ("sas", "sas"),
    ("series", "series"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let level = match env::var("PROFILE").as_deref() {
        Ok("release") => RELEASE,
        _ => QUICK,
    };
    let out =
        PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR: expected a folder, found nothing")?);
    for (text, science) in TEXTS {
        let feature = format!("CARGO_FEATURE_{}", science.to_uppercase());
        if env::var_os(feature).is_some() {
            println!("cargo::rerun-if-changed={text}.ptx");
            compress(Path::new(&format!("{text}.ptx")), level, &out)?;
        }
    }
    Ok(())
}

/// Writes `NAME.zst` and `NAME.length` (a Rust expression, the bytes of the text) into `out`.
fn compress(path: &Path, level: i32, out: &Path) -> Result<(), Box<dyn Error>> {
    let text =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if !text.is_ascii() {
        return Err(format!("{}: expected ASCII text", path.display()).into());
    }
    let name = path.file_stem().map(Path::new).unwrap_or(path);
    let packed = zstd::bulk::compress(&text, level)
        .map_err(|error| format!("cannot compress {}: {error}", path.display()))?;
    fs::write(out.join(name.with_extension("zst")), packed)?;
    fs::write(
        out.join(name.with_extension("length")),
        text.len().to_string(),
    )?;
    Ok(())
}

/// Zstandard's level for optimised programs: all texts (23.9 MB) become 2.23 MB, in half a minute.
/// Level 22 would save 10 kB more; deflate's level 6 gives 4.33 MB.
const RELEASE: i32 = 19;

/// The level for other programs.
const QUICK: i32 = 3;
