//! Numbers of chunks are those of plain datasets and of HDF5's own decoder; damaged chunks are
//! refused.

use super::*;

/// Every filter, element type and shape of chunks of `tests/data/filtered.h5`, which h5py and
/// hdf5plugin wrote, whole and in part.
#[test]
fn filtered_numbers_are_those_of_the_plain_datasets() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/filtered.h5");
    let source = Source::open(&path, warpstride_core::system::Memory::available()).unwrap();
    let names = source.members("/plain").unwrap().unwrap();
    assert_eq!(names.len(), 12);
    for name in names {
        let filtered = source.numbers(&name).unwrap().unwrap();
        let plain = source.numbers(&format!("/plain/{name}")).unwrap().unwrap();
        if filtered.is_complex() {
            assert_eq!(filtered.complex().unwrap(), plain.complex().unwrap());
            continue;
        }
        assert_eq!(filtered.reals().unwrap(), plain.reals().unwrap(), "{name}");
        assert_eq!(
            filtered.unsigned().unwrap(),
            plain.unsigned().unwrap(),
            "{name}"
        );
        for part in [
            [0..6, 0..11, 0..13],
            [1..5, 2..11, 3..4],
            [5..6, 0..1, 0..13],
            [2..2, 0..1, 0..1],
        ] {
            let found = filtered.part(&part).unwrap();
            assert_eq!(found, plain.part(&part).unwrap(), "{name} {part:?}");
        }
    }
}

/// Filters that HDF5 has, too, by both decoders.
#[test]
fn numbers_with_the_filters_of_hdf5_are_those_that_hdf5_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gzip.h5");
    let file = hdf5::File::create(&path).unwrap();
    let counts = ndarray::Array3::from_shape_fn((9, 11, 13), |(n, r, c)| {
        ((n * 7919 + r * 131 + c * 17) % 1009) as i16 - 500
    });
    let dataset = file
        .new_dataset_builder()
        .chunk((2, 5, 13))
        .shuffle()
        .deflate(4)
        .fletcher32()
        .with_data(&counts);
    dataset.create("data").unwrap();
    // HDF5 closes a file when nothing of it is open any more.
    drop(dataset);
    file.close().unwrap();
    let all = warpstride_core::system::Memory::available();
    let source = Source::open(&path, all).unwrap();
    let numbers = source.numbers("/data").unwrap().unwrap();
    let expected = counts.mapv(f64::from).into_dyn();
    assert_eq!(numbers.reals().unwrap(), expected);
    let part = [3..8, 1..11, 2..3];
    let dataset = source.dataset("/data").unwrap().unwrap();
    let chunks = source.chunks("/data", &dataset, &[9, 11, 13]).unwrap();
    assert_eq!(chunks.is_some(), LISTED_AT_ONCE);
    let found = numbers.part(&part).unwrap();
    let cut = counts.slice(ndarray::s![3..8, 1..11, 2..3]);
    assert_eq!(found, cut.mapv(f32::from).into_dyn());
    // With too little memory for several chunks at once, HDF5 reads.
    let small = Source::open(&path, warpstride_core::system::Memory::limited(12_000)).unwrap();
    let numbers = small.numbers("/data").unwrap().unwrap();
    assert_eq!(numbers.reals().unwrap(), expected);
}

#[test]
fn damaged_chunks_and_small_memories_are_refused() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/filtered.h5");
    let bytes = std::fs::read(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.h5");
    let all = warpstride_core::system::Memory::available();
    let chunk = {
        std::fs::write(&path, &bytes).unwrap();
        let source = Source::open(&path, all).unwrap();
        let numbers = source.dataset("/bitshuffle_lz4").unwrap().unwrap();
        numbers.chunk_info(0).unwrap()
    };
    let mut damaged = bytes;
    // The size of the decoded chunk, which the filter stores first.
    damaged[chunk.addr as usize] = 0x7f;
    std::fs::write(&path, &damaged).unwrap();
    let source = Source::open(&path, all).unwrap();
    let error = source.numbers("/bitshuffle_lz4").unwrap().unwrap().reals();
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("/bitshuffle_lz4") && error.contains("chunk at [0, 0, 0]"),
        "{error}"
    );
    let source = Source::open(&path, warpstride_core::system::Memory::limited(4000)).unwrap();
    assert!(
        source
            .numbers("/lz4")
            .and_then(|of| of.unwrap().reals())
            .is_err()
    );
}
