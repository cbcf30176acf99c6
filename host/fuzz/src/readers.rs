//! Readers of scans: layouts of HDF5 files, tables of positions, recipes and quantities. Whatever
//! the bytes are, they must be read or refused in one sentence within the limit of memory.
//!
//! | target | bytes |
//! |---|---|
//! | `scan_layouts` | an HDF5 file |
//! | `positions_table` | which columns and unit (one byte), a table |
//! | `quantities` | a text: quantities of every dimension, and a recipe |

use std::path::Path;
use warpstride::io::IoError;
use warpstride::ptycho::io::scan::{self, Constants, Format, ReadOptions};
use warpstride::ptycho::{PositionFile, Recipe};
use warpstride::system::Memory;
use warpstride::text::{Dimension, Quantity};

/// Limit of memory, small, so that a size without stored data is refused rather than filled with
/// zeros.
const MEMORY: u64 = 8 << 20;
/// Longest sentence.
const LONGEST: usize = 8000;

fn sentence(text: &str) {
    assert!(!text.is_empty() && text.len() < LONGEST, "{text}");
    assert!(!text.contains('\n'), "{text}");
}

fn constants() -> Constants {
    Constants {
        wavelength: Some(1e-10),
        distance: Some(1.0),
        pixel_size: Some([75e-6; 2]),
        ..Constants::default()
    }
}

/// Options with which a file without a known layout, or without positions and geometry, can be
/// read.
fn options(text: &str) -> ReadOptions {
    let recipe = Recipe::from_toml(text).expect("a recipe");
    ReadOptions {
        constants: constants(),
        ..recipe.data
    }
}

/// Lists an HDF5 file, and reads it as each layout.
pub fn layouts(bytes: &[u8], folder: &Path) -> Option<()> {
    let path = folder.join("scan.h5");
    std::fs::write(&path, bytes).ok()?;
    let memory = Memory::limited(MEMORY);
    let raster = options("[data.raster]\npoints = [4, 3]\nstep = \"1um\"\n");
    let paths = options(
        "[data.paths]\nframes = \"/data\"\npositions = [\"/y\", \"/x\"]\nposition_unit = \"um\"\n",
    );
    if let Ok(Some(listed)) = scan::unknown_layout(&path, &ReadOptions::default(), memory) {
        let _ = Recipe::from_toml(&listed.recipe);
    }
    let of = |format| ReadOptions {
        format,
        ..raster.clone()
    };
    for options in [
        ReadOptions::default(),
        raster.clone(),
        paths,
        of(Format::Matlab),
        of(Format::Nexus),
        of(Format::Emd),
        of(Format::Dectris),
    ] {
        refused_or(scan::read_within(&path, &options, memory));
    }
    Some(())
}

fn refused_or<T>(read: Result<T, IoError>) -> Option<T> {
    read.map_err(|e| sentence(&e.to_string())).ok()
}

/// Reads a table of positions for 12 frames.
pub fn table(bytes: &[u8], folder: &Path) -> Option<()> {
    let (kind, text) = bytes.split_first()?;
    let (frames, table) = (folder.join("frames.npy"), folder.join("positions.txt"));
    if !frames.is_file() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 2, 2), }";
        let header = format!("{header:<117}\n");
        let mut array = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        array.extend(header.bytes());
        array.extend([0, 0, 128, 63].repeat(48));
        std::fs::write(&frames, array).ok()?;
    }
    std::fs::write(&table, text).ok()?;
    let options = ReadOptions {
        constants: constants(),
        positions: Some(PositionFile {
            file: table.to_str()?.to_owned(),
            columns: (kind % 2 == 1).then(|| ["1".to_owned(), "0".to_owned()]),
            unit: (kind % 3 == 0).then(|| "um".to_owned()),
        }),
        ..ReadOptions::default()
    };
    let read = refused_or(scan::read_within(
        &frames,
        &options,
        Memory::limited(MEMORY),
    ))?;
    assert_eq!(read.scan.positions().dim(), (12, 2));
    Some(())
}

/// Reads a text as quantities and as a recipe.
pub fn quantities(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for dimension in [
        Dimension::Length,
        Dimension::Angle,
        Dimension::ReciprocalLength,
        Dimension::Energy,
        Dimension::Voltage,
    ] {
        match Quantity::parse(&text, dimension) {
            Ok(read) => assert!(read.value.is_finite()),
            Err(reason) => assert!(!reason.is_empty()),
        }
    }
    if let Ok(recipe) = Recipe::from_toml(&text) {
        assert!(recipe.check().is_err() || Recipe::from_toml(&text).is_ok());
    }
}

/// Seeds of a target.
#[must_use]
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let texts: &[&str] = match target {
        "positions_table" => &[
            "\u{0}frame,x_um,y_um\n0,1,2\n1,3,4\n2,1,2\n3,3,4\n4,1,2\n5,3,4\n6,1,2\n7,3,4\n8,1,2\n9,3,4\n10,1,2\n11,3,4\n",
            "\u{1}1 2\n3 4\n5 6\n7 8\n9 10\n11 12\n13 14\n1 2\n3 4\n5 6\n7 8\n9 1e-3\n",
            "\u{2}# comment\n# x (mm);y (mm)\n1;2\n3;4\n1;2\n3;4\n1;2\n3;4\n1;2\n3;4\n1;2\n3;4\n1;2\n3;4\n",
            "\u{3}\"y [um]\"\tother\tX [um]\r\n2\tq\t1\r\n\r\n4\tq\t3\r\n",
        ],
        "quantities" => &[
            "31.25A",
            "-120 deg",
            "0.02/A",
            "8.8keV",
            "300kV",
            "1/nm",
            "1e400",
            "[data]\nframes = [0, 10]\ncrop = [8, 8]\nbin = 2\ncentre = \"auto\"\ntransform_frames = [\"rotate=90\"]\n[data.constants]\nenergy = \"8.8keV\"\ndistance = \"2m\"\npixel_size = \"75um\"\n",
            "[data.raster]\npoints = [4, 3]\nstep = [\"1um\", \"2um\"]\nrotation = \"-120deg\"\nsnake = true\n[probe]\nmodes = 2\n",
            "[data.paths]\nframes = \"/a\"\npositions = [\"/y\", \"/x\"]\nposition_unit = \"um\"\n[data.units]\npositions = \"pixel\"\n[[engines]]\nname = \"dm\"\niterations = 3\n",
        ],
        _ => &[],
    };
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
