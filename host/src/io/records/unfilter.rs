//! Undoes the filters of a chunk.

use flate2::read::ZlibDecoder;
use hdf5_metno::filters::Filter;
use std::io::Read;

/// Bytes of a Fletcher-32 checksum at the end of a chunk.
const CHECKSUM: usize = 4;

/// The bytes of a chunk of `count` records of `size` bytes before `filters` were applied to it, in this
/// order and without those whose bit is set in `skipped`; checksums are not verified. `None` if the chunk
/// is damaged, shorter, or has another filter.
pub(super) fn unfilter(
    stored: Vec<u8>,
    filters: &[Filter],
    skipped: u32,
    size: usize,
    count: usize,
) -> Option<Vec<u8>> {
    let whole = count.checked_mul(size)?;
    // Checksums of other filters in the pipeline come on top of the records.
    let most = whole.checked_add(filters.len() * CHECKSUM)?;
    let mut bytes = stored;
    for (number, filter) in filters.iter().enumerate().rev() {
        if number < 32 && skipped & (1 << number) != 0 {
            continue;
        }
        bytes = match filter {
            Filter::Deflate(_) => {
                let mut inflated = Vec::new();
                let mut decoder = ZlibDecoder::new(bytes.as_slice()).take(most as u64);
                decoder.read_to_end(&mut inflated).ok()?;
                inflated
            }
            Filter::Fletcher32 => {
                bytes.truncate(bytes.len().checked_sub(CHECKSUM)?);
                bytes
            }
            Filter::Shuffle => unshuffled(&bytes, size),
            _ => return None,
        };
    }
    (bytes.len() >= whole).then_some(bytes)
}

/// Bytes that the filter `shuffle` sorted by their place in the records, in the order of the records. What
/// does not fill a record stays at the end.
fn unshuffled(bytes: &[u8], size: usize) -> Vec<u8> {
    let count = bytes.len() / size;
    let mut records = bytes.to_vec();
    for (place, column) in bytes[..count * size].chunks_exact(count.max(1)).enumerate() {
        for (record, byte) in column.iter().enumerate() {
            records[record * size + place] = *byte;
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    fn deflated(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn filters_are_undone_from_the_last_to_the_first() {
        // Three records of two bytes, sorted by place: 1 2 | 3 4 | 5 6.
        let mut stored = deflated(&[1, 3, 5, 2, 4, 6]);
        stored.extend([9; CHECKSUM]);
        let filters = [Filter::Shuffle, Filter::Deflate(4), Filter::Fletcher32];
        let undone = unfilter(stored, &filters, 0, 2, 3);
        assert_eq!(undone, Some(vec![1, 2, 3, 4, 5, 6]));
        let plain = unfilter(deflated(&[1, 2, 3, 4]), &filters, 0b101, 2, 2);
        assert_eq!(plain, Some(vec![1, 2, 3, 4]));
    }

    #[test]
    fn damaged_chunks_and_other_filters_are_none() {
        let deflate = [Filter::Deflate(4)];
        assert_eq!(unfilter(vec![1, 2, 3], &deflate, 0, 2, 1), None);
        assert_eq!(unfilter(deflated(&[1]), &deflate, 0, 2, 1), None);
        assert_eq!(unfilter(vec![1, 2], &[Filter::NBit], 0, 2, 1), None);
        // No more than the records is taken of what claims to be much longer.
        let bomb = deflated(&vec![0; 1 << 20]);
        assert_eq!(unfilter(bomb, &deflate, 0, 2, 3).map(|b| b.len()), Some(10));
    }
}
