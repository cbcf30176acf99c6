//! `cargo xtask demo`: from nothing to a reconstructed picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::host::Host;
use crate::process;
use crate::workspace;

/// The host program, built in the given profile's release form.
pub(crate) fn program(host: &Host) -> Result<PathBuf> {
    let built = crate::executables::build(
        host.cargo()
            .args(["build", "--release", "--package", "warpstride"])
            .args(["--bin", "warpstride"]),
    )?;
    built
        .into_iter()
        .find(|executable| executable.target == "warpstride")
        .map(|executable| executable.path)
        .context("cargo built no executable warpstride")
}

/// The whole command.
pub(crate) fn run() -> Result<()> {
    let host = Host::prepare()?;
    println!("Building warpstride (HDF5 from source takes a minute or two the first time)");
    let program = program(host)?;
    let folder = workspace::root().join("demo-output");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let file = |name: &str| folder.join(name);
    let begin = Instant::now();

    process::run(
        Command::new(&program)
            .args(["ptycho", "simulate"])
            .arg(file("scan.cxi")),
    )?;
    process::run(
        Command::new(&program)
            .args(["ptycho", "reconstruct"])
            .arg(file("scan.cxi"))
            .arg("-o")
            .arg(file("reconstruction.h5"))
            .arg("--report")
            .arg(file("report.html"))
            .arg("--summary")
            .arg(file("summary.json")),
    )?;

    let seconds = begin.elapsed().as_secs_f64();
    println!("\nSimulated and reconstructed in {seconds:.1} s");
    println!("{}", summary(&file("summary.json"))?);
    println!("Pictures:");
    for picture in pictures(&folder)? {
        println!("  {}", picture.display());
    }
    println!(
        "Report (opens in a browser):\n  {}",
        file("report.html").display()
    );
    Ok(())
}

/// What the run's summary says, in two lines.
fn summary(path: &Path) -> Result<String> {
    let text = fs::read(path).with_context(|| format!("the run left no {}", path.display()))?;
    let summary: serde_json::Value =
        serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    let number = |name: &str| {
        summary[name]
            .as_f64()
            .with_context(|| format!("{} states no {name}", path.display()))
    };
    Ok(format!(
        "Backend {}, {} iterations, {:.1} ms each, R factor {:.4}\n\
         Relative L2 error against the truth, ambiguities removed: {:.4}",
        summary["backend"].as_str().unwrap_or("unnamed"),
        number("iterations")?,
        number("ms_per_iteration")?,
        number("r_factor")?,
        number("relative_l2")?
    ))
}

fn pictures(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pictures = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "png") {
            pictures.push(path);
        }
    }
    pictures.sort();
    Ok(pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_told_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        fs::write(
            &path,
            r#"{"backend": "cpu", "iterations": 80, "ms_per_iteration": 251.26, "r_factor": 0.01234, "relative_l2": 0.0234}"#,
        )
        .unwrap();
        let told = summary(&path).unwrap();
        assert!(
            told.contains("cpu, 80 iterations, 251.3 ms each, R factor 0.0123"),
            "{told}"
        );
        assert!(told.ends_with("0.0234"), "{told}");
    }

    #[test]
    fn a_summary_without_truth_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        fs::write(
            &path,
            r#"{"backend": "cpu", "iterations": 1, "ms_per_iteration": 1, "r_factor": 1}"#,
        )
        .unwrap();
        let error = summary(&path).unwrap_err().to_string();
        assert!(error.contains("states no relative_l2"), "{error}");
    }

    #[test]
    fn only_pictures_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.png", "a.png", "scan.cxi"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let listed = pictures(folder.path()).unwrap();
        assert_eq!(
            listed,
            [folder.path().join("a.png"), folder.path().join("b.png")]
        );
    }
}
