//! `cargo xtask gpu-bundle`: one folder that runs on a computer with a GPU and without cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::demo;
use crate::executables::{self, Executable};
use crate::host::Host;
use warpstride_build_ptx::process;

/// The largest bundle that can be carried to the GPU in one piece, in bytes.
const LARGEST: u64 = 64 << 20;

/// The script that finds and runs all test programs and benches in the bundle.
const RUN: &str = include_str!("bundle/run.sh");

/// Test programs and tests whose name begins with this need a GPU; the others run where the bundle
/// is made.
const GPU_TESTS: &str = "gpu_";

/// Makes the bundle in `folder`, with the files and folders `data` beside the programs.
pub(crate) fn run(folder: &Path, data: &[PathBuf]) -> Result<()> {
    let host = Host::prepare()?;
    if folder.exists() && !folder.join("run.sh").is_file() {
        bail!(
            "{} exists and is no earlier bundle: name another folder with -o",
            folder.display()
        );
    }
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    for part in ["bin", "tests", "benches", "data"] {
        fs::create_dir_all(folder.join(part))?;
    }

    let program = folder.join("bin").join("warpstride");
    strip(&demo::program(host, "release")?, &program)?;
    let mut glibc = newest_glibc(&fs::read(&program)?);
    let tests = executables::build(host.cargo().args([
        "test",
        "--no-run",
        "--release",
        "--package",
        "warpstride-cli",
        "--package",
        "warpstride-cuda",
        "--package",
        "warpstride-tests",
    ]))?;
    let mut packed = 0;
    for test in tests.iter().filter(|executable| executable.harness) {
        if test.target.starts_with(GPU_TESTS) || has_gpu_tests(test)? {
            glibc = glibc.max(pack(test, &folder.join("tests"))?);
            packed += 1;
        }
    }
    println!("{packed} test programs that are named, or have tests named, {GPU_TESTS}*");
    for bench in benches(host)? {
        glibc = glibc.max(pack(&bench, &folder.join("benches"))?);
    }
    for path in data {
        copy(path, &folder.join("data"))?;
    }
    let script = folder.join("run.sh");
    fs::write(&script, RUN)?;
    executable(&script)?;

    let size = size_of(folder)?;
    println!(
        "{}: {:.1} MiB, needs glibc {}.{} or newer; run ./run.sh there",
        folder.display(),
        mebibytes(size),
        glibc.0,
        glibc.1
    );
    if size > LARGEST {
        bail!(
            "the bundle is larger than {:.0} MiB: give it less data",
            mebibytes(LARGEST)
        );
    }
    Ok(())
}

/// Builds the measuring programs.
pub(crate) fn benches(host: &Host) -> Result<Vec<Executable>> {
    let built = executables::build(host.cargo().args([
        "build",
        "--release",
        "--package",
        "warpstride-benches",
        "--bins",
    ]))?;
    Ok(built
        .into_iter()
        .filter(|executable| executable.kind == "bin")
        .collect())
}

fn has_gpu_tests(test: &Executable) -> Result<bool> {
    let list = process::output(Command::new(&test.path).arg("--list"))?;
    Ok(list.lines().any(|line| {
        line.split(": test")
            .next()
            .and_then(|name| name.rsplit("::").next())
            .is_some_and(|name| name.starts_with(GPU_TESTS))
    }))
}

/// Copies a program without its debug information, which the bundle does not need.
fn strip(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        bail!("two programs of the bundle are called {}", to.display());
    }
    let stripped = process::output(Command::new("strip").arg("-o").arg(to).arg(from));
    if let Err(error) = stripped {
        println!("copied whole: {error:#}");
        fs::copy(from, to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

/// Puts a stripped and compressed copy into `folder`. Returns the newest glibc version that the
/// program requires.
fn pack(program: &Executable, folder: &Path) -> Result<(u32, u32)> {
    let to = folder.join(&program.target);
    let packed = folder.join(format!("{}.gz", program.target));
    if packed.exists() {
        bail!("two programs of the bundle are called {}", to.display());
    }
    strip(&program.path, &to)?;
    let glibc = newest_glibc(&fs::read(&to)?);
    process::output(Command::new("gzip").arg(&to)).context("programs of the bundle are packed")?;
    Ok(glibc)
}

fn copy(from: &Path, folder: &Path) -> Result<()> {
    let name = from
        .file_name()
        .with_context(|| format!("{} has no name", from.display()))?;
    let to = folder.join(name);
    if from.is_dir() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(from)? {
            copy(&entry?.path(), &to)?;
        }
        return Ok(());
    }
    fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

#[cfg(unix)]
fn executable(script: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(script, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn executable(_script: &Path) -> Result<()> {
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

fn size_of(folder: &Path) -> Result<u64> {
    files(folder)?
        .iter()
        .map(|file| Ok(fs::metadata(file)?.len()))
        .sum()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a size to be read, to a tenth of a MiB"
)]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The newest symbol version `GLIBC_x.y` that `program` names.
fn newest_glibc(program: &[u8]) -> (u32, u32) {
    const PREFIX: &[u8] = b"GLIBC_";
    let number = |bytes: &[u8]| -> Option<(u32, usize)> {
        let digits = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let value = std::str::from_utf8(&bytes[..digits]).ok()?.parse().ok()?;
        Some((value, digits))
    };
    let versions = program
        .windows(PREFIX.len())
        .enumerate()
        .filter(|(_, window)| *window == PREFIX)
        .filter_map(|(at, _)| {
            let rest = &program[at + PREFIX.len()..];
            let (major, digits) = number(rest)?;
            let rest = rest[digits..].strip_prefix(b".")?;
            Some((major, number(rest)?.0))
        });
    versions.max().unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_is_found() {
        let program = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0GLIBC_2";
        assert_eq!(newest_glibc(program), (2, 34));
        assert_eq!(newest_glibc(b"static"), (0, 0));
    }

    #[test]
    fn programs_are_packed_once_under_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("program-1f");
        let content = [&b"\0GLIBC_2.31\0"[..], &[7; 9000]].concat();
        fs::write(&from, &content).unwrap();
        let program = Executable {
            target: "gpu_program".into(),
            kind: "test".into(),
            harness: true,
            path: from,
        };
        let to = folder.path().join("tests");
        fs::create_dir(&to).unwrap();
        assert_eq!(pack(&program, &to).unwrap(), (2, 31));
        let packed = to.join("gpu_program.gz");
        assert!(fs::metadata(&packed).unwrap().len() < 1000);
        let unpacked = Command::new("gunzip").arg("-c").arg(&packed).output();
        assert!(unpacked.unwrap().stdout == content);
        assert!(!to.join("gpu_program").exists());
        assert!(pack(&program, &to).is_err());
    }

    #[test]
    fn folders_are_copied_whole() {
        let from = tempfile::tempdir().unwrap();
        let to = tempfile::tempdir().unwrap();
        fs::create_dir(from.path().join("deep")).unwrap();
        fs::write(from.path().join("deep").join("scan.cxi"), b"12345").unwrap();
        copy(from.path(), to.path()).unwrap();
        assert_eq!(size_of(to.path()).unwrap(), 5);
        assert!(copy(&from.path().join("missing"), to.path()).is_err());
    }
}
