//! Chunks that h5py and hdf5plugin wrote (`write_vectors.py`), whole and damaged.

use flate2::Crc;
use proptest::prelude::*;
use std::path::Path;
use warpstride_formats::chunk_filters::{FilterError, FilterSpec, Pipeline, Scratch};

/// A chunk and what it decodes to.
struct Vector {
    name: String,
    filters: Vec<FilterSpec>,
    element_size: usize,
    decoded: usize,
    mask: u32,
    raw: Vec<u8>,
    /// CRC-32 of the decoded bytes.
    checksum: u32,
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().expect("4 bytes"))
    }
}

/// The records of a file.
fn vectors(family: &str) -> Vec<Vector> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/{family}.bin"));
    let file = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut bytes = Bytes(&file);
    let mut vectors = Vec::new();
    while !bytes.0.is_empty() {
        let length = u16::from_le_bytes(bytes.take(2).try_into().expect("2 bytes"));
        let name = String::from_utf8_lossy(bytes.take(length.into())).into_owned();
        let [element_size, decoded, mask] = std::array::from_fn(|_| bytes.number());
        let filters = (0..bytes.number())
            .map(|_| FilterSpec {
                id: bytes.number(),
                optional: bytes.number() == 1,
                cd_values: (0..bytes.number()).map(|_| bytes.number()).collect(),
            })
            .collect();
        let raw = bytes.number() as usize;
        vectors.push(Vector {
            name: format!("{family}: {name}"),
            filters,
            element_size: element_size as usize,
            decoded: decoded as usize,
            mask,
            raw: bytes.take(raw).to_vec(),
            checksum: bytes.number(),
        });
    }
    vectors
}

fn all() -> Vec<Vector> {
    FAMILIES.iter().flat_map(|family| vectors(family)).collect()
}

const FAMILIES: [&str; 7] = [
    "bitshuffle",
    "lz4",
    "zstd",
    "blosc",
    "blosc2",
    "builtin",
    "masks",
];

fn pipeline(vector: &Vector) -> Pipeline {
    Pipeline::new(&vector.filters, vector.element_size, vector.decoded)
        .unwrap_or_else(|e| panic!("{}: {e}", vector.name))
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The CRC-32 that zlib computed of the bytes that HDF5 decoded is that of the bytes decoded here.
fn check(family: &str) {
    let vectors = vectors(family);
    assert!(!vectors.is_empty());
    let mut scratch = Scratch::default();
    let mut failed = Vec::new();
    for vector in &vectors {
        let mut out = vec![0xaa; vector.decoded];
        match pipeline(vector).decode(vector.mask, &vector.raw, &mut out, &mut scratch) {
            Ok(()) if checksum(&out) == vector.checksum => {}
            Ok(()) => failed.push(format!("{}: other bytes", vector.name)),
            Err(e) => failed.push(format!("{}: {e}", vector.name)),
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        vectors.len(),
        failed.join("\n")
    );
}

#[test]
fn bitshuffle_alone_with_lz4_and_with_zstandard() {
    check("bitshuffle");
}

#[test]
fn lz4() {
    check("lz4");
}

#[test]
fn zstandard() {
    check("zstd");
}

#[test]
fn blosc() {
    check("blosc");
}

#[test]
fn blosc2() {
    check("blosc2");
}

#[test]
fn filters_of_hdf5_and_their_chains() {
    check("builtin");
}

#[test]
fn skipped_filters() {
    check("masks");
}

/// A chunk never decodes to another size than its dataset's.
#[test]
fn another_decoded_size_is_refused() {
    let mut scratch = Scratch::default();
    for vector in all() {
        for decoded in [
            0,
            1,
            vector.decoded - 1,
            vector.decoded + 1,
            vector.decoded + 4096,
        ] {
            let pipeline =
                Pipeline::new(&vector.filters, vector.element_size, decoded).expect("filters");
            let mut out = vec![0; decoded];
            let result = pipeline.decode(vector.mask, &vector.raw, &mut out, &mut scratch);
            assert!(result.is_err(), "{} as {decoded} bytes", vector.name);
        }
    }
}

#[test]
fn memory_of_another_size_is_refused() {
    let pipeline = Pipeline::new(&[], 1, 8).expect("no filters");
    let refused = pipeline.decode(0, &[0; 8], &mut [0; 7], &mut Scratch::default());
    let expected = FilterError::Output {
        expected: 8,
        found: 7,
    };
    assert_eq!(refused, Err(expected));
}

/// A truncated chunk is an error, whichever byte it ends at.
#[test]
fn truncated_chunks_are_refused() {
    let mut scratch = Scratch::default();
    for vector in all() {
        let pipeline = pipeline(&vector);
        let mut out = vec![0; vector.decoded];
        for length in (0..vector.raw.len()).step_by(1 + vector.raw.len() / 97) {
            let result =
                pipeline.decode(vector.mask, &vector.raw[..length], &mut out, &mut scratch);
            // What is behind the last chunk of a frame is not read.
            if result.is_ok() && vector.filters.iter().any(|filter| filter.id == 32026) {
                assert_eq!(
                    checksum(&out),
                    vector.checksum,
                    "{} to {length}",
                    vector.name
                );
            } else {
                assert!(result.is_err(), "{} to {length}", vector.name);
            }
        }
    }
}

/// Sizes of 2^31 and more in the data are refused: the memory for decoded data has the size of the
/// dataset's chunk.
#[test]
fn huge_declared_sizes_are_refused() {
    let mut scratch = Scratch::default();
    for vector in all().iter().filter(|vector| vector.mask == 0) {
        for at in 0..16.min(vector.raw.len().saturating_sub(4)) {
            let mut raw = vector.raw.clone();
            raw[at..at + 4].fill(0x7f);
            let mut out = vec![0; vector.decoded];
            let _ = pipeline(vector).decode(vector.mask, &raw, &mut out, &mut scratch);
        }
    }
}

/// Compressed zeros of 64 MiB, for a chunk of 1 KiB: nothing is decompressed beyond its memory.
#[test]
fn decompression_bombs_are_refused() {
    use std::io::Write as _;
    let zeros = vec![0; 64 << 20];
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&zeros).expect("memory");
    let zlib = zlib.finish().expect("memory");
    let zstd = zstd::bulk::compress(&zeros, 3).expect("memory");
    // The same without its size in the header.
    let stream = zstd::stream::encode_all(&zeros[..], 3).expect("memory");
    let lz4 = lz4_flex::block::compress(&zeros);
    let declared = |size: u64, block: u32, data: &[u8]| {
        [
            &size.to_be_bytes()[..],
            &block.to_be_bytes(),
            &(data.len() as u32).to_be_bytes(),
            data,
        ]
        .concat()
    };
    let lz4_small = declared(1024, 1024, &lz4);
    let lz4_large = declared(64 << 20, 64 << 20, &lz4);
    let lz4_huge = declared(u64::MAX, u32::MAX, &lz4);
    let bits = |codec| vec![0, 4, 4, 0, codec];
    let mut scratch = Scratch::default();
    for (id, cd_values, raw) in [
        (1, vec![], &zlib),
        (32015, vec![], &zstd),
        (32015, vec![], &stream),
        (32004, vec![], &lz4_small),
        (32004, vec![], &lz4_large),
        (32004, vec![], &lz4_huge),
        (32008, bits(2), &lz4_small),
        (32008, bits(2), &lz4_large),
        (32008, bits(2), &lz4_huge),
        (32008, bits(3), &declared(1024, 1024, &zstd)),
        (32008, bits(3), &declared(1024, 1024, &stream)),
    ] {
        let filter = FilterSpec {
            id,
            cd_values,
            optional: false,
        };
        // Behind the other filters the limit is not exact, but near.
        for chain in [
            vec![filter.clone()],
            vec![filter.clone(), filter.clone()],
            vec![filter.clone(); 4],
        ] {
            let pipeline = Pipeline::new(&chain, 4, 1024).expect("filters");
            let refused = pipeline.decode(0, raw, &mut [0; 1024], &mut scratch);
            assert!(refused.is_err(), "filter {id}, {} times", chain.len());
        }
    }
}

/// One pipeline for all threads, each with its own memory.
#[test]
fn several_threads_decode_at_once() {
    let vectors = vectors("bitshuffle");
    let pipelines: Vec<_> = vectors.iter().map(pipeline).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut scratch = Scratch::default();
                for (vector, pipeline) in vectors.iter().zip(&pipelines) {
                    let mut out = vec![0; vector.decoded];
                    pipeline
                        .decode(vector.mask, &vector.raw, &mut out, &mut scratch)
                        .expect(&vector.name);
                    assert_eq!(checksum(&out), vector.checksum);
                }
            });
        }
    });
}

#[test]
fn unknown_filters_are_refused_unless_they_were_skipped() {
    let spec = |optional| FilterSpec {
        id: 32013,
        cd_values: Vec::new(),
        optional,
    };
    assert_eq!(
        Pipeline::new(&[spec(false)], 4, 8).err(),
        Some(FilterError::Unknown { id: 32013 })
    );
    let pipeline = Pipeline::new(&[spec(true)], 4, 8).expect("an optional filter");
    let mut out = [0; 8];
    let mut scratch = Scratch::default();
    assert_eq!(
        pipeline.decode(0, &[1; 8], &mut out, &mut scratch),
        Err(FilterError::Unknown { id: 32013 })
    );
    assert_eq!(pipeline.decode(1, &[1; 8], &mut out, &mut scratch), Ok(()));
    assert_eq!(out, [1; 8]);
}

/// Filters of any kind and order.
fn filters() -> impl Strategy<Value = Vec<FilterSpec>> {
    let ids = vec![1_u32, 2, 3, 32000, 32001, 32004, 32008, 32015, 32026];
    let filter = (
        prop::sample::select(ids),
        prop::collection::vec(0_u32..20, 0..6),
    );
    let specs = filter.prop_map(|(id, cd_values)| FilterSpec {
        id,
        cd_values,
        optional: false,
    });
    prop::collection::vec(specs, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(
        filters in filters(),
        size in 0_usize..20,
        decoded in 0_usize..600,
        mask in 0_u32..16,
        raw in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        if let Ok(pipeline) = Pipeline::new(&filters, size, decoded) {
            let mut out = vec![0; decoded];
            let _ = pipeline.decode(mask, &raw, &mut out, &mut Scratch::default());
        }
    }

    #[test]
    fn altered_chunks_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        near in any::<bool>(),
    ) {
        thread_local!(static ALL: Vec<Vector> = all());
        ALL.with(|all| {
            let vector = which.get(all);
            let mut raw = vector.raw.clone();
            // Headers are at the beginning.
            let length = if near { raw.len().min(40) } else { raw.len() };
            for (at, value) in &changes {
                raw[at.index(length)] = *value;
            }
            let mut out = vec![0; vector.decoded];
            let _ = pipeline(vector).decode(vector.mask, &raw, &mut out, &mut Scratch::default());
        });
    }
}
