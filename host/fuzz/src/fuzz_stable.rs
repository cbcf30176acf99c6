//! Fuzzes a reader with a stable compiler: `fuzz_stable TARGET SECONDS FOLDER [SEEDS]`.
//!
//! TARGET is one of `hdf5_structure`, `chunk_filters`, `mib_reader`, `empad_reader`, `tiff_reader`, `numpy_reader`, `scan_layouts`,
//! `positions_table` and `quantities`. FOLDER gets the inputs that were found; SEEDS is a folder of files beside the seeds of the
//! program. The exit code is 1 if anything was found.

use std::path::Path;
use warpstride_fuzz::{folder, formats, readers, stable};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, seconds, found, more @ ..] = &arguments[..] else {
        return Err("usage: fuzz_stable TARGET SECONDS FOLDER [SEEDS]".into());
    };
    let mut seeds = formats::seeds(target);
    seeds.extend(readers::seeds(target));
    for folder in more {
        for entry in std::fs::read_dir(folder)? {
            seeds.push(std::fs::read(entry?.path())?);
        }
    }
    if seeds.is_empty() {
        return Err(format!("{target}: expected a target, or a folder of seeds").into());
    }
    let folder = folder().ok_or("no temporary folder")?;
    let at = folder.path();
    let read = |bytes: &[u8]| match target.as_str() {
        "chunk_filters" => drop(formats::chunk(bytes)),
        "hdf5_structure" => drop(formats::structure(bytes, at)),
        "mib_reader" => drop(formats::mib(bytes, at)),
        "empad_reader" => drop(formats::empad(bytes, at)),
        "tiff_reader" => drop(formats::tiff(bytes, at)),
        "numpy_reader" => drop(formats::numpy(bytes, at)),
        "scan_layouts" => drop(readers::layouts(bytes, at)),
        "positions_table" => drop(readers::table(bytes, at)),
        _ => readers::quantities(bytes),
    };
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
