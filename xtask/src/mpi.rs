//! The feature `mpi` in the lints and tests of `cargo xtask test`, where an MPI is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::workspace;
use warpstride_build_ptx::{process, wheel};

/// Folders in which distributions install libclang. The build of the bindings searches more, so
/// that `LIBCLANG_PATH` or an `llvm-config` is enough too.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
];

/// The wheel that is downloaded if there is no libclang.
const LIBCLANG_VERSION: &str = "18.1.1";

/// Lets `command` build with processes of MPI, or says what is not installed.
pub(crate) fn add_to(command: &mut Command) {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    for program in [&mpicc, "mpirun"] {
        if !process::answers(program) {
            skip(&format!("found no {program}"));
            return;
        }
    }
    if !has_libclang()
        && let Err(error) = download_libclang(command)
    {
        skip(&format!("found no libclang: {error:#}"));
        return;
    }
    command.args(["--features", "warpstride-cli/mpi"]);
}

fn skip(why: &str) {
    println!(
        "SKIPPED: {why}, so processes of MPI were NOT checked \
         (Debian: apt-get install libopenmpi-dev openmpi-bin libclang-dev; others: docs/clusters.md)"
    );
}

/// Lets `command` use PyPI's libclang, which lacks the compiler's own headers.
fn download_libclang(command: &mut Command) -> Result<()> {
    let library = wheel::tool(
        &workspace::tools(),
        "libclang",
        "libclang",
        LIBCLANG_VERSION,
        "clang/native/libclang.so",
    )?;
    let headers = process::output(Command::new("cc").arg("-print-file-name=include"))?;
    command.env("LIBCLANG_PATH", library);
    command.env(
        "BINDGEN_EXTRA_CLANG_ARGS",
        format!("-isystem{}", headers.trim()),
    );
    Ok(())
}

fn has_libclang() -> bool {
    if std::env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let mut folders: Vec<PathBuf> = LIBRARIES.iter().map(PathBuf::from).collect();
    if let Ok(folder) = process::output(Command::new("llvm-config").arg("--libdir")) {
        folders.push(folder.trim().into());
    }
    // Debian and Fedora have a folder for each version.
    let versions = ["/usr/lib", "/usr/lib64"].map(|folder| names(Path::new(folder)));
    let llvm = versions.into_iter().flatten().filter(|folder| {
        let name = folder.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("llvm")
    });
    folders.extend(llvm.map(|folder| folder.join("lib")));
    folders.iter().flat_map(|folder| names(folder)).any(|path| {
        path.file_name()
            .is_some_and(|name| is_libclang(&name.to_string_lossy()))
    })
}

/// The paths in `folder`; none if it does not exist.
fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Whether a file is libclang, with any version, and not one of the other libraries of Clang.
fn is_libclang(name: &str) -> bool {
    let rest = name.strip_prefix("libclang");
    let rest = rest
        .map(|rest| rest.trim_start_matches(|c: char| c == '-' || c == '.' || c.is_ascii_digit()));
    rest.is_some_and(|rest| rest.starts_with("so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_libraries_are_not_libclang() {
        for name in [
            "libclang.so",
            "libclang.so.1",
            "libclang-14.so.1",
            "libclang-14.0.6.so",
        ] {
            assert!(is_libclang(name), "{name}");
        }
        for name in [
            "libclang-cpp.so.14",
            "libclangAST.a",
            "libclang.a",
            "liblldb.so",
        ] {
            assert!(!is_libclang(name), "{name}");
        }
    }
}
