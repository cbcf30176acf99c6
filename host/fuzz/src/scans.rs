//! The readers of scans, results and checkpoints.
//!
//! If the first byte is even, the rest is the file; if it is odd, the rest is the generator's
//! choices. The readers must return within 8 MiB of memory.

use std::path::Path;
use warpstride::ptycho::io::scan::{self, Format, MaskPolarity, Paths, ReadOptions};
use warpstride::ptycho::io::{checkpoint, provenance, results};
use warpstride::system::Memory;

/// Limit of memory, small, so that a size without stored data is refused rather than filled with
/// zeros.
const MEMORY: u64 = 8 << 20;

fn options() -> [ReadOptions; 4] {
    let part = ReadOptions {
        frames: Some([0, 2]),
        crop: Some([3, 2]),
        swap_axes: true,
        flip_rows: true,
        ..ReadOptions::default()
    };
    let ptyd = ReadOptions {
        format: Format::Ptyd,
        ..ReadOptions::default()
    };
    let detector = "/entry_1/instrument_1/detector_1";
    let paths = Paths {
        frames: format!("{detector}/data"),
        positions: "/entry_1/sample_1/geometry_1/translation".into(),
        position_order: [1, 0],
        position_unit: Some(warpstride::ptycho::PositionUnit::Metres(1e-6)),
        mask: Some(format!("{detector}/mask")),
        mask_marks: MaskPolarity::Valid,
        probe: Some("/entry_1/instrument_1/source_1/illumination".to_owned()),
        wavelength: None,
        energy: Some("/meta/energy".to_owned()),
        distance: Some(format!("{detector}/distance")),
        pixel_size: Some("/meta/psize".into()),
    };
    let plain = ReadOptions {
        format: Format::Hdf5,
        paths: Some(paths),
        ..ReadOptions::default()
    };
    [ReadOptions::default(), part, ptyd, plain]
}

/// Reads a file as a scan in every layout, a result and a checkpoint.
pub fn exercise(data: &[u8], folder: &Path) -> Option<()> {
    let (mode, rest) = data.split_first()?;
    let path = folder.join("image");
    if mode % 2 == 0 {
        std::fs::write(&path, rest).ok()?;
    } else {
        crate::structure::build(&path, rest).ok()?;
    }
    let limit = Memory::limited(MEMORY);
    for options in options() {
        if let Err(e) = scan::read_within(&path, &options, limit) {
            assert!(!e.to_string().is_empty());
        }
    }
    let _ = results::read_within(&path, limit);
    let _ = checkpoint::read_within(&path, limit);
    let _ = provenance::processes(&path, limit);
    Some(())
}
