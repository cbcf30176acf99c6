//! `cargo xtask demo`: from nothing to reconstructed pictures, of a specimen and of a phantom, to a fitted curve, and to
//! aggregates of a day of telemetry.

use std::fmt::Write as _;
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

    let ptychography = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    process::run(
        Command::new(&program)
            .args(["mri", "simulate"])
            .arg(file("phantom.h5"))
            .args(["--trajectory", "golden", "--spokes", "89", "--noise", "100"]),
    )?;
    process::run(
        Command::new(&program)
            .args(["mri", "reconstruct"])
            .arg(file("phantom.h5"))
            .arg("-o")
            .arg(file("image.h5"))
            .arg("--png")
            .arg(file("image.png"))
            .arg("--report")
            .arg(file("image.html"))
            .arg("--reference")
            .arg(file("phantom.h5"))
            .arg("--summary")
            .arg(file("image.json")),
    )?;
    let magnetic_resonance = begin.elapsed().as_secs_f64();

    let begin = Instant::now();
    process::run(
        Command::new(&program)
            .args(["sas", "evaluate", "cylinder@hardsphere"])
            .args(["--set", CURVE, "--pd", "radius=0.1:gaussian"])
            .args(["--resolution", "pinhole:0.05", "--q", "0.004:0.4:120:log"])
            .arg("-o")
            .arg(file("curve.csv"))
            .arg("--plot")
            .arg(file("curve.png")),
    )?;
    process::run(
        Command::new(&program)
            .args(["sas", "fit", "cylinder@hardsphere"])
            .arg(file("curve.csv"))
            .args(["--pd", "radius=0.2:gaussian"])
            .args(["--resolution", "pinhole:0.05"])
            .args(["--fit", "radius=10:60", "--fit", "radius_pd=0.02:0.4"])
            .args(["--fit", "length=50:600", "--fit", "volfraction=0.01:0.4"])
            .args(["--starts", "4"])
            .arg("--plot")
            .arg(file("fit.png"))
            .arg("--report")
            .arg(file("fit.html"))
            .arg("--summary")
            .arg(file("fit.json")),
    )?;
    let scattering = begin.elapsed().as_secs_f64();

    telemetry(&file("telemetry.csv"))?;
    let begin = Instant::now();
    for (output, granularity, aggregates) in [
        ("minutes.csv", "1m", "mean,max,95pct"),
        ("hours.csv", "1h,1d", "all"),
    ] {
        let mut command = Command::new(&program);
        command
            .args(["series", "resample"])
            .arg(file("telemetry.csv"))
            .arg("-o")
            .arg(file(output))
            .args(["--granularity", granularity, "--aggregate", aggregates]);
        if granularity == "1m" {
            command
                .arg("--plot")
                .arg(file("telemetry.png"))
                .arg("--summary")
                .arg(file("telemetry.json"));
        }
        process::run(&mut command)?;
    }
    let series = begin.elapsed().as_secs_f64();

    println!("\nPtychography: simulated and reconstructed in {ptychography:.1} s");
    println!("{}", summary(&file("summary.json"))?);
    println!("\nMagnetic resonance: simulated and reconstructed in {magnetic_resonance:.1} s");
    println!("{}", image_summary(&file("image.json"))?);
    println!("\nSmall-angle scattering: computed and fitted in {scattering:.1} s");
    println!("{}", fit_summary(&file("fit.json"))?);
    println!("\nTime series: a day of three series aggregated twice in {series:.1} s");
    println!("{}", series_summary(&file("telemetry.json"))?);
    println!("Pictures:");
    for picture in pictures(&folder)? {
        println!("  {}", picture.display());
    }
    println!(
        "Reports (open in a browser):\n  {}\n  {}\n  {}",
        file("report.html").display(),
        file("image.html").display(),
        file("fit.html").display()
    );
    Ok(())
}

/// Writes a day of points, one a second and series: a temperature with its daily course, a load with its peaks, and
/// requests that come in waves.
fn telemetry(path: &Path) -> Result<()> {
    const BEGIN: u64 = 1_767_225_600; // 2026-01-01
    const DAY: u32 = 86_400;
    let mut text = String::from("series,timestamp,value\n");
    let mut noise = 1_u64;
    for second in 0..DAY {
        // Knuth's linear congruential generator (MMIX).
        let mut random = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005);
            noise = noise.wrapping_add(1_442_695_040_888_963_407);
            (noise >> 40) as f64 / f64::from(1_u32 << 24) - 0.5
        };
        let day = f64::from(second) / f64::from(DAY) * std::f64::consts::TAU;
        let temperature = 24.0 - 6.0 * day.cos() + random();
        let peak = if second / 1800 % 7 == 3 { 25.0 } else { 0.0 };
        let load = 30.0 - 15.0 * day.cos() + peak + 8.0 * random();
        let requests = 20.0 + 8.0 * (12.0 * day).sin() + 10.0 * random();
        let time = BEGIN + u64::from(second);
        for (name, value) in [
            ("temperature", temperature),
            ("load", load),
            ("requests", requests),
        ] {
            writeln!(text, "{name},{time},{value:.3}")?;
        }
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The curve that is fitted.
const CURVE: &str = "radius=25,length=220,volfraction=0.15,scale=1,background=0.01";

/// What a run's summary says.
struct Told {
    path: PathBuf,
    value: serde_json::Value,
}

impl Told {
    fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| format!("the run left no {}", path.display()))?;
        let value = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not JSON", path.display()))?;
        let path = path.to_owned();
        Ok(Self { path, value })
    }

    fn number(&self, name: &str) -> Result<f64> {
        self.value[name]
            .as_f64()
            .with_context(|| format!("{} states no {name}", self.path.display()))
    }

    fn word(&self, name: &str) -> &str {
        self.value[name].as_str().unwrap_or("unnamed")
    }
}

/// Of the fit: the truth, and what was found.
fn fit_summary(path: &Path) -> Result<String> {
    let told = Told::read(path)?;
    let mut found = Vec::new();
    for parameter in told.value["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or("unnamed");
        let value = parameter["value"].as_f64();
        let value = value.with_context(|| format!("{} states no {name}", path.display()))?;
        found.push(format!("{name}={value:.4}"));
    }
    Ok(format!(
        "Truth: {CURVE},radius_pd=0.1\nFound: {}",
        found.join(",")
    ))
}

/// Of the telemetry, in one line.
fn series_summary(path: &Path) -> Result<String> {
    let told = Told::read(path)?;
    Ok(format!(
        "Backend {}, {} points of {} series, {:.1} million points a second",
        told.word("backend"),
        told.number("points")?,
        told.number("series")?,
        told.number("points_per_second")? / 1e6
    ))
}

/// Of the specimen, in two lines.
fn summary(path: &Path) -> Result<String> {
    let told = Told::read(path)?;
    Ok(format!(
        "Backend {}, {} iterations, {:.1} ms each, R factor {:.4}\n\
         Relative L2 error against the truth, ambiguities removed: {:.4}",
        told.word("backend"),
        told.number("iterations")?,
        told.number("ms_per_iteration")?,
        told.number("r_factor")?,
        told.number("relative_l2")?
    ))
}

/// Of the phantom, in two lines.
fn image_summary(path: &Path) -> Result<String> {
    let told = Told::read(path)?;
    Ok(format!(
        "Backend {}, {} with {}, {} iterations, {:.1} ms each\n\
         Against the truth: NRMSE {:.3}, PSNR {:.1} dB, SSIM {:.3}",
        told.word("backend"),
        told.word("method"),
        told.word("operator"),
        told.number("iterations")?,
        told.number("ms_per_iteration")?,
        told.number("nrmse")?,
        told.number("psnr")?,
        told.number("ssim")?
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
    fn the_telemetry_is_told_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.json");
        telemetry(&folder.path().join("t.csv")).unwrap();
        let text = fs::read_to_string(folder.path().join("t.csv")).unwrap();
        assert_eq!(text.lines().count(), 3 * 86_400 + 1);
        fs::write(
            &path,
            r#"{"backend": "cpu", "points": 259200, "series": 3, "points_per_second": 5.24e6}"#,
        )
        .unwrap();
        let told = series_summary(&path).unwrap();
        assert_eq!(
            told,
            "Backend cpu, 259200 points of 3 series, 5.2 million points a second"
        );
    }

    #[test]
    fn the_image_is_told_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.json");
        fs::write(
            &path,
            r#"{"backend": "cpu", "method": "cg", "operator": "toeplitz", "iterations": 15, "ms_per_iteration": 20.04, "nrmse": 0.2, "psnr": 25.51, "ssim": 0.9}"#,
        )
        .unwrap();
        let told = image_summary(&path).unwrap();
        assert!(
            told.contains("cg with toeplitz, 15 iterations, 20.0 ms each"),
            "{told}"
        );
        assert!(told.contains("PSNR 25.5 dB"), "{told}");
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
