//! Building for the host: cargo with a C compiler and with a CMake that HDF5's build accepts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use warpstride_build_ptx::compiler::number_pair;
use warpstride_build_ptx::{debian, process, wheel};

use crate::workspace;

/// HDF5 2.x refuses older versions; Debian 12 has 3.25.1.
const OLDEST_CMAKE: &str = "3.26";

/// The wheel that is downloaded if no CMake is new enough.
const CMAKE_VERSION: &str = "4.4.4";

/// The tools that host builds need beside cargo.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    /// A CMake other than the one on PATH.
    cmake: Option<PathBuf>,
}

impl Host {
    /// Finds the tools that HDF5's build needs, and downloads or installs them if possible.
    pub(crate) fn prepare() -> Result<&'static Self> {
        static HOST: OnceLock<Host> = OnceLock::new();
        if let Some(host) = HOST.get() {
            return Ok(host);
        }
        c_compiler()?;
        let cmake = cmake()?;
        Ok(HOST.get_or_init(|| Self { cmake }))
    }

    /// The host's cargo in the checkout, for packages that build HDF5.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = cargo();
        if let Some(cmake) = &self.cmake {
            command.env("CMAKE", cmake);
        }
        command
    }

    /// A program that calls cargo and CMake, which it finds on PATH.
    pub(crate) fn command(&self, program: &Path) -> Result<Command> {
        let mut command = in_checkout(program);
        let folder = self.cmake.as_deref().and_then(Path::parent);
        if let Some(folder) = folder {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
            let path = std::env::join_paths(folders)
                .with_context(|| format!("{} cannot be on PATH", folder.display()))?;
            command.env("PATH", path);
        }
        Ok(command)
    }
}

/// The host's cargo in the checkout.
pub(crate) fn cargo() -> Command {
    in_checkout(&workspace::cargo())
}

fn in_checkout(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace::root());
    // `cargo run` describes this package in its child's environment; a build script must not read
    // that as its own description.
    for (name, _) in std::env::vars_os() {
        let of_this_package = [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_",
            "CARGO_CRATE_",
        ]
        .iter()
        .any(|prefix| name.to_string_lossy().starts_with(prefix));
        if of_this_package {
            command.env_remove(name);
        }
    }
    command
}

fn c_compiler() -> Result<()> {
    let missing: Vec<&str> = [("cc", "gcc"), ("make", "make")]
        .into_iter()
        .filter(|(program, _)| !process::answers(program))
        .map(|(_, package)| package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = [&missing[..], &["libc6-dev"]].concat();
    if debian::may_install() {
        return debian::install(&packages);
    }
    bail!(
        "HDF5 is built from source, which needs a C compiler and make (Debian: apt-get install {})",
        packages.join(" ")
    )
}

/// `None` if the CMake that the build finds by itself is new enough: naming it would make cargo
/// rebuild HDF5 after a plain `cargo build`.
fn cmake() -> Result<Option<PathBuf>> {
    if let Some(named) = std::env::var_os("CMAKE") {
        let version = cmake_version(Path::new(&named)).with_context(|| {
            format!(
                "the environment's CMAKE names {}, which cannot be used",
                named.to_string_lossy()
            )
        })?;
        if new_enough(&version)? {
            return Ok(None);
        }
        println!("CMake {version} (from the environment's CMAKE) is older than {OLDEST_CMAKE}");
    } else if let Ok(version) = cmake_version(Path::new("cmake")) {
        if new_enough(&version)? {
            return Ok(None);
        }
        println!("CMake {version} is older than {OLDEST_CMAKE}, which HDF5 needs");
    }
    // Not `bin/cmake`, a Python script that finds its module only where pip installs it by default.
    wheel::tool(
        &workspace::tools(),
        "cmake",
        "cmake",
        CMAKE_VERSION,
        "cmake/data/bin/cmake",
    )
    .map(Some)
    .with_context(|| {
        format!("HDF5 needs CMake {OLDEST_CMAKE} or newer: install one and name it in CMAKE")
    })
}

fn cmake_version(cmake: &Path) -> Result<String> {
    let printed = process::output(Command::new(cmake).arg("--version"))?;
    parse_cmake_version(&printed)
        .with_context(|| format!("{} --version prints no version", cmake.display()))
}

fn parse_cmake_version(printed: &str) -> Option<String> {
    let (_, rest) = printed.split_once("cmake version ")?;
    rest.split_whitespace().next().map(str::to_owned)
}

fn new_enough(version: &str) -> Result<bool> {
    Ok(number_pair(version)? >= number_pair(OLDEST_CMAKE)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cmake_versions_are_read() {
        let printed = "cmake version 3.25.1\n\nCMake suite maintained by Kitware\n";
        assert_eq!(parse_cmake_version(printed).unwrap(), "3.25.1");
        assert_eq!(parse_cmake_version("command not found"), None);
    }

    #[test]
    fn debian_12_is_too_old() {
        assert!(!new_enough("3.25.1").unwrap());
        assert!(new_enough("3.26.0-rc1").unwrap());
        assert!(new_enough("4.0.3").unwrap());
        assert!(new_enough(CMAKE_VERSION).unwrap());
        assert!(new_enough("git").is_err());
    }
}
