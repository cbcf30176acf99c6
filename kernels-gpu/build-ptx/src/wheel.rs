//! Downloads tools that PyPI has as wheels.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::process;

/// The executable whose path ends with `inside`, from `package` of exactly `version`, in the folder `tools`;
/// downloaded on the first call.
pub fn tool(
    tools: &Path,
    name: &str,
    package: &str,
    version: &str,
    inside: &str,
) -> Result<PathBuf> {
    let folder = tools.join(format!("{name}-{version}"));
    if let Some(tool) = find(&folder, Path::new(inside)) {
        return Ok(tool);
    }
    println!(
        "Downloading {package} {version} from PyPI into {}",
        folder.display()
    );
    let python = python()?;
    // Installed under another name and then renamed, so that an interrupted download is not taken for a complete one.
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
    .with_context(|| format!("cannot download {package} {version} from PyPI"))?;
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&partial, &folder)?;
    find(&folder, Path::new(inside))
        .with_context(|| format!("PyPI's {package} {version}: expected a file {inside}"))
}

/// A python3 with pip.
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
    bail!("found no python3 with pip: install it (Debian: apt-get install python3-pip)")
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
