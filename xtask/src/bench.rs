//! `cargo xtask bench`: runs the measurements and records them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::host::Host;
use crate::{bundle, workspace};
use warpstride_build_ptx::process;

/// The measurements to run, and whether to record them.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only these programs of benches/
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Record the output in `benches/runs/<date>-<machine>/`
    #[arg(long)]
    record: bool,
    /// The computer's name in the record (default: the host name)
    #[arg(long, requires = "record")]
    machine: Option<String>,
    /// Passed on to every program
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Builds and runs the measuring programs.
pub(crate) fn run(options: &Options) -> Result<()> {
    let built = bundle::benches(Host::prepare()?)?;
    let names: Vec<&str> = built.iter().map(|bench| bench.target.as_str()).collect();
    if let Some(unknown) = options
        .only
        .iter()
        .find(|name| !names.contains(&name.as_str()))
    {
        bail!("--only {unknown}: expected one of {}", names.join(", "));
    }
    let record = if options.record {
        let folder = record_folder(options.machine.as_deref())?;
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Some(folder)
    } else {
        None
    };
    for bench in &built {
        if !options.only.is_empty() && !options.only.contains(&bench.target) {
            continue;
        }
        println!("\n=== {}", bench.target);
        let mut command = Command::new(&bench.path);
        command
            .args(&options.arguments)
            .current_dir(workspace::root());
        match &record {
            Some(folder) => recorded(&mut command, &folder.join(format!("{}.txt", bench.target)))?,
            None => process::run(&mut command)?,
        }
    }
    if let Some(folder) = record {
        println!("\nRecorded in {}", folder.display());
    }
    Ok(())
}

/// Runs `command`, showing its output and keeping it in `file`.
fn recorded(command: &mut Command, file: &Path) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", process::shown(command)))?;
    let mut kept = String::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{line}");
            kept.push_str(&line);
            kept.push('\n');
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!(
            "`{}` failed ({status}): not recorded",
            process::shown(command)
        );
    }
    // The record is written completely or not at all: an incomplete one would look like a
    // measurement.
    let mut partial =
        tempfile::NamedTempFile::new_in(file.parent().context("the record has no folder")?)?;
    partial.write_all(kept.as_bytes())?;
    partial.persist(file)?;
    Ok(())
}

fn record_folder(machine: Option<&str>) -> Result<PathBuf> {
    let machine = match machine {
        Some(name) => name.to_owned(),
        None => process::output(Command::new("uname").arg("-n"))
            .context("cannot read the computer's name: give one with --machine")?,
    };
    let date = process::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    Ok(workspace::root()
        .join("benches")
        .join("runs")
        .join(folder_name(date.trim(), &machine)))
}

/// `2026-01-31-some-machine`, from a name with arbitrary characters.
fn folder_name(date: &str, machine: &str) -> String {
    let words: Vec<String> = machine
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    format!("{date}-{}", words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_names_become_folder_names() {
        assert_eq!(
            folder_name("2026-01-31", "NVIDIA H200\n"),
            "2026-01-31-nvidia-h200"
        );
        assert_eq!(folder_name("2026-01-31", "../../x"), "2026-01-31-x");
    }

    #[test]
    fn only_a_program_that_succeeds_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bench.txt");
        assert!(recorded(Command::new("sh").args(["-c", "echo half; exit 3"]), &file).is_err());
        assert!(!file.exists());
        recorded(Command::new("sh").args(["-c", "echo 1.4 ms"]), &file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "1.4 ms\n");
    }
}
