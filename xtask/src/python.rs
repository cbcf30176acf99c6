//! The tests of the Python package: the extension module of the workspace's build, in a copy of the
//! package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::host::Host;
use crate::mpi;
use crate::workspace;
use warpstride_build_ptx::process;

/// The module's name in the package, and as Cargo names it.
const MODULE: [&str; 2] = ["_warpstride.abi3.so", "lib_warpstride.so"];

/// What the copy of the package has, of the folder `python`.
const COPIED: [&str; 4] = ["warpstride", "tests", "examples", "pyproject.toml"];

/// Fails without what the tests need; the packages of `tests/requirements.txt` need Python 3.11.
const CHECK: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";

/// Builds the extension module, and runs pytest and mypy; says so in one line if there is no Python
/// to do it with.
pub(crate) fn run() -> Result<()> {
    let folder = workspace::target().join("python");
    let found = process::output(Command::new("python3").args(["-c", CHECK])).is_ok();
    // Before the build, which may wait for that of the tests.
    let python = found.then(|| environment(&folder)).transpose()?;
    // As `cargo test --workspace`, so that what it has compiled is not compiled again.
    let mut build = Host::prepare()?.cargo();
    build.args(["build", "--workspace", "--lib"]);
    mpi::add_to(&mut build);
    process::run(&mut build)?;
    let Some(python) = python else {
        println!(
            "SKIPPED: Python 3.11 or newer with venv and pip is not installed, so the Python package was built but NOT tested"
        );
        return Ok(());
    };
    let package = workspace::root().join("python");
    for name in COPIED {
        replace(&package.join(name), &folder.join(name))?;
    }
    let [module, built] = MODULE;
    let built = workspace::target().join("debug").join(built);
    let module = folder.join("warpstride").join(module);
    fs::copy(&built, module).with_context(|| format!("expected {}", built.display()))?;
    for tool in [&["pytest", "-q"][..], &["mypy", "--strict"]] {
        process::run(
            Command::new(&python)
                .arg("-m")
                .args(tool)
                .current_dir(&folder)
                .env("PYTHONPATH", &folder)
                // What one process has compiled is not compiled again by the next.
                .env_remove("PYTHONDONTWRITEBYTECODE"),
        )?;
    }
    Ok(())
}

/// The interpreter of an environment with the packages of `tests/requirements.txt`, which is made
/// again if these change.
fn environment(folder: &Path) -> Result<PathBuf> {
    let (venv, stamp) = (folder.join("venv"), folder.join("installed.txt"));
    let python = venv.join("bin").join("python");
    fs::create_dir_all(folder)?;
    let requirements = workspace::root()
        .join("python")
        .join("tests")
        .join("requirements.txt");
    let wanted = fs::read_to_string(&requirements)?;
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    process::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&venv),
    )?;
    process::run(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                // The tests import a tenth of the modules.
                "--no-compile",
                "--disable-pip-version-check",
                "-r",
            ])
            .arg(&requirements),
    )?;
    fs::write(&stamp, wanted)?;
    Ok(python)
}

/// Copies a file, or a folder in the place of what is there.
fn replace(from: &Path, to: &Path) -> Result<()> {
    if from.is_file() {
        fs::copy(from, to)?;
        return Ok(());
    }
    if !from.is_dir() {
        bail!("expected {}", from.display());
    }
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != "__pycache__" {
            replace(&entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}
