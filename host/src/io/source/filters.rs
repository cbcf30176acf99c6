//! Filters of compressed datasets.

use super::{IoError, Source};
use hdf5_metno as hdf5;
use hdf5_metno::filters::Filter;

/// Names of filters that detectors and programs use, by their number in the HDF Group's list of
/// registered filters.
const NAMES: [(i32, &str); 13] = [
    (4, "szip"),
    (307, "bzip2"),
    (32000, "LZF"),
    (32001, "Blosc"),
    (32004, "LZ4"),
    (32008, "bitshuffle"),
    (32009, "SPDP"),
    (32013, "ZFP"),
    (32015, "Zstandard"),
    (32017, "SZ"),
    (32018, "FCIDECOMP"),
    (32024, "SZ3"),
    (32026, "Blosc2"),
];

impl Source {
    /// Refuses a dataset whose filters this program, and the plugins of its HDF5 library, cannot undo.
    pub(super) fn check_filters(&self, path: &str, filters: &[Filter]) -> Result<(), IoError> {
        match filters.iter().find(|filter| !filter.decode_enabled()) {
            None => Ok(()),
            Some(filter) => Err(IoError::Unsupported {
                file: self.name.clone(),
                dataset: path.to_owned(),
                expected: "no compression, gzip, shuffle or Fletcher 32",
                found: named(filter.id()),
                advice: "write the data again with gzip, for example with h5repack -f GZIP=4 where that filter is installed",
            }),
        }
    }
}

/// `the filter bitshuffle (number 32008)`.
fn named(id: hdf5::filters::H5Z_filter_t) -> String {
    match NAMES.iter().find(|(number, _)| *number == id) {
        Some((_, name)) => format!("the filter {name} (number {id})"),
        None => format!("a filter with the number {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_named_by_their_number() {
        assert_eq!(named(32008), "the filter bitshuffle (number 32008)");
        assert_eq!(named(300), "a filter with the number 300");
    }
}
