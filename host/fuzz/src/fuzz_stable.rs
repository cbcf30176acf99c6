//! Fuzzes a reader with a stable compiler: `fuzz_stable TARGET SECONDS FOLDER [SEEDS]`.
//!
//! TARGET is one of `targets::NAMES`. FOLDER gets the inputs that were found; SEEDS is a folder of
//! files beside the seeds of the program. The exit code is 1 if anything was found.

use std::path::{Path, PathBuf};
use warpstride_fuzz::{corpora, folder, stable, targets};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, seconds, found, more @ ..] = &arguments[..] else {
        return Err("usage: fuzz_stable TARGET SECONDS FOLDER [SEEDS]".into());
    };
    if !targets::NAMES.contains(&target.as_str()) {
        return Err(format!("{target}: expected one of {:?}", targets::NAMES).into());
    }
    let folder = folder().ok_or("no temporary folder")?;
    let own = folder.path().join("seeds");
    corpora::write(&own, target)?;
    let mut seeds = Vec::new();
    for folder in more.iter().map(PathBuf::from).chain([own]) {
        for entry in std::fs::read_dir(folder)? {
            seeds.push(std::fs::read(entry?.path())?);
        }
    }
    if seeds.is_empty() {
        seeds.push(Vec::new());
    }
    let at = folder.path();
    let read = |bytes: &[u8]| drop(targets::exercise(target, bytes, at));
    let seconds: f64 = seconds.parse()?;
    let report = stable::run(&seeds, (seconds, 0x9e37_79b9), Path::new(found), read)?;
    eprintln!(
        "{target}: {} inputs from {} seeds in {:.0} s, the longest {:.3} s; {} found",
        report.runs,
        seeds.len(),
        report.seconds,
        report.longest,
        report.findings.len()
    );
    std::process::exit(i32::from(!report.findings.is_empty()))
}
