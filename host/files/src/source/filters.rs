//! Filters of compressed datasets.

use super::chunks::spec;
use super::shape::Decoder;
use super::{IoError, Source};
use hdf5_metno as hdf5;
use hdf5_metno::filters::Filter;
use warpstride_formats::chunk_filters::Pipeline;

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
    /// Refuses a dataset of elements of `item` bytes whose filters neither the decoder nor the
    /// plugins of the HDF5 library can undo.
    pub(super) fn check_filters(
        &self,
        path: &str,
        filters: &[Filter],
        (decoder, item): (Decoder, usize),
    ) -> Result<(), IoError> {
        let own = |filter: &Filter| {
            let spec = spec(filter, item);
            decoder == Decoder::Own && spec.is_some_and(|of| Pipeline::new(&[of], item, 0).is_ok())
        };
        let Some(first) = filters.iter().find(|filter| !filter.decode_enabled()) else {
            return Ok(());
        };
        let unknown = filters.iter().find(|filter| !own(filter));
        let (expected, advice) = match decoder {
            Decoder::Hdf5 => (
                "no compression, gzip, shuffle or Fletcher 32",
                "write the data again with gzip, for example with h5repack -f GZIP=4 where that filter is installed",
            ),
            Decoder::Own => (
                "no compression, gzip, shuffle, Fletcher 32, LZF, LZ4, bitshuffle, Zstandard, Blosc or Blosc2",
                "write the data again with gzip, for example with h5repack -f GZIP=4 where that filter is installed",
            ),
        };
        match unknown {
            None => Ok(()),
            Some(filter) => Err(IoError::Unsupported {
                file: self.name().to_owned(),
                dataset: path.to_owned(),
                expected,
                found: named(
                    if decoder == Decoder::Own {
                        filter
                    } else {
                        first
                    }
                    .id(),
                ),
                advice,
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
