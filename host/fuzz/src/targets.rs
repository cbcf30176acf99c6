//! The targets by name: what each does with the bytes of an input.

use crate::{arrays, bart, formats, markup, readers, samples, scans, scattering, series, sound};
use std::path::Path;

/// The names of all targets.
pub const NAMES: [&str; 22] = [
    "bart_reader",
    "cansas_reader",
    "chunk_filters",
    "columns_reader",
    "cxi_reader",
    "empad_reader",
    "hdf5_structure",
    "ismrmrd_reader",
    "ismrmrd_sequences",
    "mib_reader",
    "npy_reader",
    "numpy_reader",
    "nxcansas_reader",
    "positions_table",
    "quantities",
    "scan_layouts",
    "series_columnar",
    "series_csv",
    "series_exposition",
    "series_remote_read",
    "tiff_reader",
    "xml_attributes",
];

/// Gives `bytes` to a target, in a temporary folder of its own.
///
/// # Panics
/// A reader is at fault, or there is no target of this name.
pub fn run(target: &str, bytes: &[u8]) {
    if let Some(folder) = crate::folder() {
        let _ = exercise(target, bytes, folder.path());
    }
}

/// Gives `bytes` to a target, which writes its files to `folder`. `None` if the bytes are no input
/// of it.
///
/// # Panics
/// As [`run`].
pub fn exercise(target: &str, bytes: &[u8], folder: &Path) -> Option<()> {
    match target {
        "bart_reader" => bart::exercise(bytes, folder),
        "cansas_reader" => {
            let (mode, rest) = bytes.split_first()?;
            let path = folder.join("a.xml");
            if mode % 2 == 0 {
                std::fs::write(&path, rest).ok()?;
            } else {
                std::fs::write(&path, scattering::xml(rest)).ok()?;
            }
            sound::exercise(&path, folder);
            Some(())
        }
        "chunk_filters" => formats::chunk(bytes),
        "columns_reader" => {
            let path = folder.join("a.txt");
            std::fs::write(&path, bytes).ok()?;
            sound::exercise(&path, folder);
            Some(())
        }
        "cxi_reader" => scans::exercise(bytes, folder),
        "empad_reader" => formats::empad(bytes, folder),
        "hdf5_structure" => formats::structure(bytes, folder),
        "ismrmrd_reader" => {
            let path = built(bytes, folder, crate::acquisitions::build)?;
            samples::exercise(&path, &folder.join("again.h5"));
            Some(())
        }
        "ismrmrd_sequences" => {
            let path = folder.join("a.h5");
            crate::acquisitions::build_with_changed_sequences(&path, bytes).ok()?;
            samples::exercise(&path, &folder.join("again.h5"));
            Some(())
        }
        "mib_reader" => formats::mib(bytes, folder),
        "npy_reader" => arrays::exercise(bytes, folder),
        "numpy_reader" => formats::numpy(bytes, folder),
        "nxcansas_reader" => {
            let path = built(bytes, folder, scattering::build)?;
            sound::exercise(&path, folder);
            Some(())
        }
        "positions_table" => readers::table(bytes, folder),
        "quantities" => {
            readers::quantities(bytes);
            Some(())
        }
        "scan_layouts" => readers::layouts(bytes, folder),
        "series_columnar" | "series_csv" => {
            let path = folder.join("a.csv");
            std::fs::write(&path, bytes).ok()?;
            series::exercise(&path, folder);
            Some(())
        }
        "series_exposition" => {
            let path = folder.join("a.prom");
            std::fs::write(&path, bytes).ok()?;
            series::exercise_exposition(&path, folder);
            Some(())
        }
        "series_remote_read" => {
            for name in ["a.pb", "a.snappy"] {
                let path = folder.join(name);
                std::fs::write(&path, bytes).ok()?;
                series::exercise_exposition(&path, folder);
            }
            Some(())
        }
        "tiff_reader" => formats::tiff(bytes, folder),
        "xml_attributes" => {
            let (format, choices) = bytes.split_first()?;
            markup::exercise(format % 2 == 1, choices, folder);
            Some(())
        }
        _ => panic!("no target {target}"),
    }
}

/// An HDF5 file: the bytes after the first, or, if it is odd, what `build` makes of them.
fn built(
    bytes: &[u8],
    folder: &Path,
    build: fn(&Path, &[u8]) -> hdf5_metno::Result<()>,
) -> Option<std::path::PathBuf> {
    let (mode, rest) = bytes.split_first()?;
    let path = folder.join("a.h5");
    if mode % 2 == 0 {
        std::fs::write(&path, rest).ok()?;
    } else {
        build(&path, rest).ok()?;
    }
    Some(path)
}
