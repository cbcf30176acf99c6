//! BART arrays: two `.hdr` texts and the bytes of their `.cfl` files.

use std::path::Path;
use warpstride::io::IoError;
use warpstride::io::cfl::{CflFile, DIMENSIONS};
use warpstride::mri::io::bart::{self, BartFiles, MatrixSize};
use warpstride::mri::io::images;
use warpstride::mri::io::ismrmrd::Selection;
use warpstride::system::Memory;

/// Limit of memory, small, so that a size without stored data is refused.
const MEMORY: u64 = 1 << 20;
/// The most bytes to which an array is filled up, so that dimensions and file agree.
const MOST: u64 = 1 << 16;

/// Takes a text preceded by its length, two bytes, little-endian.
fn text<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (text, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    *bytes = rest;
    Some(text)
}

/// Writes the pair `path`; an array that is too short for its header is filled up.
fn write(path: &Path, header: &[u8], data: &[u8]) -> Option<()> {
    std::fs::write(path.with_extension("hdr"), header).ok()?;
    std::fs::write(path, data).ok()?;
    if let Err(IoError::Truncated { expected, .. }) = CflFile::open(path)
        && expected <= MOST
    {
        let mut data = data.to_vec();
        data.resize(expected as usize, 0);
        std::fs::write(path, data).ok()?;
    }
    Some(())
}

/// Reads samples and trajectory with all options, and the arrays as images and maps.
pub fn exercise(mut bytes: &[u8], folder: &Path) -> Option<()> {
    let [samples, trajectory] = ["ksp.cfl", "traj.cfl"].map(|name| folder.join(name));
    let (first, second) = (text(&mut bytes)?, text(&mut bytes)?);
    let (data, positions) = bytes.split_at(bytes.len() / 16 * 8);
    write(&samples, first, data)?;
    write(&trajectory, second, positions)?;
    let memory = Memory::limited(MEMORY);
    if let Ok(mut file) = CflFile::open(&samples) {
        let count: usize = file.dimensions().iter().product();
        assert_eq!(count, file.count());
        assert!(file.shape().len() <= DIMENSIONS);
        if let Ok(array) = file.read_reversed(3, memory) {
            assert_eq!(array.len(), count);
        }
    }
    for select in ["slice=0", "all", "repetition=1"] {
        for matrix in [None, MatrixSize::parse("8x8"), MatrixSize::parse("4x8x8")] {
            let files = BartFiles {
                samples: samples.clone(),
                trajectory: trajectory.clone(),
                matrix,
                select: Selection::parse(select).ok()?,
                k_unit: None,
                exclude_coils: Vec::new(),
            };
            let images = bart::images(&files).unwrap_or_default();
            let first = images.first().copied();
            match bart::read_within(&files, first, memory) {
                Ok(read) => {
                    let kspace = read.kspace;
                    let used = kspace.count() * kspace.coils();
                    assert!((used * 16) as u64 <= MEMORY);
                    assert!(kspace.trajectory().iter().all(|k| k.abs() <= 0.5));
                }
                Err(e) => assert!(!e.to_string().is_empty() && !e.to_string().contains('\n')),
            }
        }
    }
    let _ = images::read_within(&samples, memory);
    let _ = images::read_coil_maps(&samples, memory);
    Some(())
}

/// Records of valid files, of one and of several images, of Cartesian samples and of sizes that no
/// file has.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let wave = (0..600_u16).map(|n| (f32::from(n) * 0.37).sin());
    let data: Vec<u8> = wave.flat_map(f32::to_le_bytes).collect();
    let header = |sides: &str| format!("# Dimensions\n{sides}\n");
    let several = "1 6 4 2 1 2 1 1 1 1 2 1 1 2 2 1";
    [
        [header("1 6 4 2"), header("3 6 4")],
        [header(several), header("3 6 4")],
        [header(several), header("3 6 4 1 1 2 1 1 1 1 1 1 1 2")],
        [header("8 8 1 2"), header("3 64")],
        [header("4294967296 4294967296 1"), header("-3 6 1000000000")],
        [
            "# Command\nx\n# Dimensions\n1 12 1 1\n# Files\n".to_owned(),
            header("3 12"),
        ],
    ]
    .iter()
    .map(|texts| {
        let mut record = Vec::new();
        for text in texts {
            record.extend((text.len() as u16).to_le_bytes());
            record.extend(text.as_bytes());
        }
        record.extend(&data);
        record
    })
    .collect()
}
