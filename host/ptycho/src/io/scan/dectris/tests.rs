//! Masters as an independent reader reads them, and such without units.

use super::*;
use crate::Pair;
use crate::data::Mask;
use crate::io::scan::pairing::StoredFrames;
use ndarray::{Array2, Array3};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::PathBuf;
use warpstride_core::system::Memory;

/// SHA-256 of the counts, as unsigned integers of 32 bits.
fn sum_of(counts: &Array3<f32>) -> String {
    let mut hash = Sha256::new();
    for count in counts {
        hash.update((*count as u32).to_le_bytes());
    }
    hash.finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn open(path: &Path) -> Source {
    Source::open_with_links(
        path,
        Memory::available(),
        warpstride_files::source::Follow::Inside,
    )
    .unwrap()
}

fn small() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("files/tests/data/linked/master.h5")
}

/// The sums are those of h5py with hdf5plugin.
#[test]
fn counts_and_mask_are_those_of_an_independent_reader() {
    let source = open(&small());
    assert!(is_one(&source));
    let Series {
        frames: stack,
        largest,
        ..
    } = series(&source, None).unwrap();
    assert_eq!((stack.shape(), largest), ([8, 6, 8], Some(65535.0)));
    let counts = stack.counts(0..8, &(0..6), &(0..8)).unwrap();
    assert_eq!(
        sum_of(&counts),
        "a534f73176267f730c571432a8734f08c43aefdc847e51e01411b5bd41f227fe"
    );
    let part = stack.counts(2..7, &(1..4), &(2..7)).unwrap();
    assert_eq!(part, counts.slice(ndarray::s![2..7, 1..4, 2..7]));
    let cutoff = cutoff(&source, largest).unwrap();
    assert_eq!(cutoff.least(), 4000.0);
    let mut notes = Vec::new();
    assert!(
        factors(&source, stack.shape(), &mut notes)
            .unwrap()
            .is_none()
    );
    assert!(
        notes.concat().contains("has corrected its counts"),
        "{notes:?}"
    );
    let geometry = geometry(
        &source,
        &UnitReader::new(&source, &ReadOptions::default()),
        &ReadOptions::default(),
        &mut notes,
    )
    .unwrap();
    let wavelength = geometry.wavelength.unwrap().1;
    assert_eq!(wavelength, 1.239_841_984_332_002_5 / 1e10);
    assert_eq!(geometry.distance.unwrap().1, 2.5);
    assert_eq!(geometry.pixel_size.unwrap().1, [75e-6; 2]);
    assert_eq!(centre(&source).unwrap(), Some([2.75, 4.25]));
}

#[test]
fn the_siemens_star_is_that_of_an_independent_reader() {
    let Some(path) = super::super::tests::real_file("formats/star_master.h5") else {
        return;
    };
    let source = open(&path);
    assert!(is_one(&source));
    let stack = series(&source, None).unwrap().frames;
    assert_eq!(stack.shape(), [160, 128, 128]);
    let counts = stack.counts(0..160, &(0..128), &(0..128)).unwrap();
    assert_eq!(
        sum_of(&counts),
        "68d9ed8e230cdefbf9383adb7205982c1a48d37b834f0eb0e104e666224c5057"
    );
    let mask = source
        .require("mask", &[&format!("{SPECIFIC}/pixel_mask")])
        .unwrap();
    assert!(mask.reals().unwrap().iter().all(|bits| *bits == 0.0));
    let options = ReadOptions::default();
    assert_eq!(
        geometry(
            &source,
            &UnitReader::new(&source, &options),
            &options,
            &mut Vec::new()
        )
        .unwrap()
        .wavelength
        .unwrap()
        .1,
        1.409 / 1e10
    );
}

/// A copy of the master without the attributes `units`, with this distance.
fn without_units(folder: &Path, distance: f64) -> PathBuf {
    let path = folder.join("master.h5");
    std::fs::copy(small(), &path).unwrap();
    let file = hdf5_metno::File::open_rw(&path).unwrap();
    for name in [WAVELENGTH, DISTANCE, PIXEL_ROWS, PIXEL_COLUMNS] {
        let dataset = file.dataset(name).unwrap();
        let value: f64 = dataset.read_scalar().unwrap();
        drop(dataset);
        file.unlink(name).unwrap();
        let value = if name == DISTANCE { distance } else { value };
        let dataset = file.new_dataset::<f64>().create(name).unwrap();
        dataset.write_scalar(&value).unwrap();
    }
    file.close().unwrap();
    path
}

#[test]
fn units_that_a_master_does_not_state_are_those_of_dectris() {
    let folder = tempfile::tempdir().unwrap();
    let found = |distance: f64, text: &str| {
        let source = open(&without_units(folder.path(), distance));
        let options: ReadOptions = toml::from_str(text).unwrap();
        let mut notes = Vec::new();
        let found = geometry(
            &source,
            &UnitReader::new(&source, &options),
            &options,
            &mut notes,
        )
        .map_err(|e| e.to_string())?;
        let distance = found.distance.map(|(_, metres)| metres);
        let wavelength = found.wavelength.unwrap().1;
        Ok::<_, String>((distance, wavelength, notes.join("\n")))
    };
    let (distance, wavelength, notes) = found(2.5, "").unwrap();
    assert_eq!(distance, Some(2.5));
    assert_eq!(wavelength, 1.239_841_984_332_002_5 / 1e10);
    for words in [
        "without an attribute units",
        "detector_distance is 2.5 m",
        "incident_wavelength is 1.239841984332",
        "x_pixel_size is 7.5e-5 m",
    ] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    // 2000 m is no distance, and 2000 mm is one.
    let refused = found(2000.0, "").unwrap_err();
    for words in [
        "detector_distance",
        "2000 without a unit: is it in mm or m?",
        "data.units.distance",
    ] {
        assert!(refused.contains(words), "{refused}");
    }
    let (distance, ..) = found(2000.0, "units.distance = \"mm\"").unwrap();
    assert_eq!(distance, Some(2.0));
    let (distance, _, notes) = found(2000.0, "constants.distance = 2.0").unwrap();
    assert_eq!(distance, None);
    assert!(!notes.contains("detector_distance"), "{notes}");
}

/// With positions of a table: the mask has the bits of `pixel_mask`, gaps and counts from the
/// cutoff on.
#[test]
fn a_scan_with_positions_of_a_table_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("positions.csv");
    let rows: String = (0..8).map(|n| format!("{n},{}\n", 2 * n)).collect();
    std::fs::write(&table, format!("x_um,y_um\n{rows}")).unwrap();
    let options = ReadOptions {
        positions: Some(crate::PositionFile {
            file: table.display().to_string(),
            columns: None,
            unit: None,
        }),
        ..ReadOptions::default()
    };
    let ScanFile { scan, notes, .. } = super::super::read(&small(), &options).unwrap();
    let Mask::PerFrame(valid) = scan.mask() else {
        panic!("one mask for all frames");
    };
    let mut hash = Sha256::new();
    hash.update(
        valid
            .iter()
            .map(|valid| u8::from(*valid))
            .collect::<Vec<_>>(),
    );
    let hash = hash.finalize();
    assert_eq!(hash[..4], [0x79, 0x78, 0xd5, 0xf2], "that of h5py");
    let sum: f32 = scan.frames().unwrap().iter().sum();
    assert_eq!(sum, 3718.0);
    let notes = notes.join("; ");
    assert!(
        notes.contains("2 pixels, in 2 frames, with counts from 4000 on"),
        "{notes}"
    );
    assert!(notes.contains("row 2.75, column 4.25"), "{notes}");
    let missing = super::super::read(&small(), &ReadOptions::default()).unwrap_err();
    assert!(
        missing.to_string().contains("--positions FILE"),
        "{missing}"
    );
}

/// A cutoff is one of the counts as stored: those below it may exceed it when they are multiplied.
#[test]
fn the_cutoff_is_compared_before_the_counts_are_multiplied() {
    let source = open(&small());
    let stack = series(&source, None).unwrap().frames;
    let stored = stack.counts(0..8, &(0..6), &(0..8)).unwrap();
    let cutoff = Cutoff::new("cutoff", 20.0).of_multiplied();
    let doubled = stack.multiplied(Array2::from_elem((6, 8), 2.0), cutoff.least());
    let counts = doubled.counts(0..8, &(0..6), &(0..8)).unwrap();
    let all: crate::data::Frames = counts.clone().into();
    let extremes = super::super::extremes::Extremes::of(&all, None).unwrap();
    let input = warpstride_files::InputFile::new(&small(), Memory::available());
    let mask = cutoff.mask(&input, ("counts", &all), (None, &extremes), &mut Vec::new());
    let Some(Mask::PerFrame(valid)) = mask.unwrap() else {
        panic!("expected a mask of each frame");
    };
    let both = stored.iter().zip(&counts).zip(&valid);
    assert!(
        both.clone()
            .all(|((stored, _), valid)| *valid == (*stored < 20.0))
    );
    let mut kept = both.filter(|((_, _), valid)| **valid);
    assert!(kept.clone().any(|((_, counts), _)| *counts > 20.0));
    assert!(kept.all(|((stored, counts), _)| *counts == 2.0 * stored));
}

#[test]
fn a_missing_file_of_frames_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["master.h5", "data_000001.h5", "data_000003.h5"] {
        std::fs::copy(small().with_file_name(name), folder.path().join(name)).unwrap();
    }
    let source = open(&folder.path().join("master.h5"));
    let refused = |pair| series(&source, pair).map(drop).unwrap_err().to_string();
    for pair in [None, Some(Pair::First)] {
        let error = refused(pair);
        assert!(
            error.contains("missing: data_000002.h5; ") && error.contains("--pair by-index"),
            "{error}"
        );
    }
    // Frames after a missing file keep their numbers.
    let by_index = series(&source, Some(Pair::ByIndex)).unwrap();
    let StoredFrames::Some { numbers, all } = by_index.stored else {
        panic!("expected some frames");
    };
    assert_eq!(numbers.len(), by_index.frames.shape()[0]);
    assert_eq!(
        numbers,
        [0, 1, 2, 6, 7],
        "the missing file is as long as the first"
    );
    assert!(all == 8, "{all}");
}
