//! Malformed files are refused with one sentence and never cause a panic.

use crate::io::results;
use crate::io::scan::{self, Format, Paths, ReadOptions};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Array3};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use warpstride_core::system::Memory;
use warpstride_files::IoError;
use warpstride_files::output;

#[expect(unreachable_pub, reason = "the fuzz target includes it from there")]
#[path = "../../../fuzz/src/structure.rs"]
mod structure;

const DETECTOR: &str = "/entry_1/instrument_1/detector_1";

/// The reader's error for a valid scan file after `change`.
fn error_after(change: impl Fn(&hdf5::File) -> hdf5::Result<()>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = valid_scan(folder.path());
    let file = hdf5::File::open_rw(&path).unwrap();
    change(&file).unwrap();
    file.close().unwrap();
    read_error(&path)
}

fn valid_scan(folder: &Path) -> PathBuf {
    let path = folder.join("valid.cxi");
    scan::write(&path, &scan::tests::small(3, false, 1.0)).unwrap();
    path
}

fn read_error(path: &Path) -> String {
    let text = scan::read(path, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    assert!(!text.contains('\n'), "{text}");
    text
}

/// Replaces the dataset `name`.
fn replace<D: ndarray::Dimension, T: hdf5::H5Type + Clone>(
    file: &hdf5::File,
    name: &str,
    values: &ndarray::Array<T, D>,
) -> hdf5::Result<()> {
    file.unlink(name)?;
    output::array(file, name, values)
}

fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

#[test]
fn truncated_files_and_other_formats_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = valid_scan(folder.path());
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 1, 7, 8, 50, 100, 800, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        read_error(&path);
    }
    assert_contains(&read_error(&path), &["truncated"]);
    std::fs::write(&path, "not a scan").unwrap();
    assert_contains(&read_error(&path), &["expected an HDF5 file"]);
    assert_contains(&read_error(folder.path()), &["folder"]);
    assert_contains(
        &read_error(&folder.path().join("none.cxi")),
        &["cannot be read"],
    );
}

#[test]
fn a_missing_dataset_is_named_with_the_paths_that_were_tried() {
    let text = error_after(|f| {
        f.unlink("/entry_1/data_1/data")?;
        f.unlink(&format!("{DETECTOR}/data"))
    });
    assert_contains(
        &text,
        &["expected frames", "/entry_1/data_1/data", "detector_1/data"],
    );
    let text = error_after(|f| f.unlink(&format!("{DETECTOR}/distance")));
    assert_contains(&text, &["distance", "constants.distance"]);
    // A broken link is reported as such, not as a missing dataset.
    let text = error_after(|f| f.unlink(&format!("{DETECTOR}/data")));
    assert_contains(&text, &["/entry_1/data_1/data", "link"]);
}

#[test]
fn wrong_ranks_lengths_types_and_values_are_named() {
    let data = format!("{DETECTOR}/data");
    let translation = "/entry_1/sample_1/geometry_1/translation";
    let rank = error_after(|f| replace(f, &data, &Array2::<u16>::zeros((5, 4))));
    assert_contains(&rank, &["5 x 4", "expected rank 3", "data"]);
    let count = error_after(|f| replace(f, translation, &Array2::<f64>::zeros((2, 3))));
    assert_contains(
        &count,
        &["each of 3 frames, found 2; --pair first", "translation"],
    );
    let kind = error_after(|f| replace(f, &data, &Array3::from_elem((3, 5, 4), [1_u8; 16])));
    assert_contains(&kind, &["data: expected", "found another element type"]);
    let negative = error_after(|f| replace(f, &data, &Array3::from_elem((3, 5, 4), -3_i64)));
    assert_contains(&negative, &["-3", "frame 0"]);
    let mut one_nan = Array3::from_elem((3, 5, 4), 1.0);
    one_nan[[1, 2, 3]] = f64::NAN;
    let nan = error_after(|f| replace(f, &data, &one_nan));
    assert_contains(&nan, &["NaN"]);
    let mask = format!("{DETECTOR}/mask");
    let masked = error_after(|f| replace(f, &mask, &Array2::from_elem((5, 4), 4_u32)));
    assert_contains(&masked, &["all masked as bad", "mask"]);
    let mask = error_after(|f| replace(f, &mask, &Array2::from_elem((4, 5), 0_u32)));
    assert_contains(&mask, &["4 x 5", "(5, 4)"]);
    let wavelength = "/entry_1/instrument_1/source_1/wavelength";
    let angstrom = error_after(|f| replace(f, wavelength, &Array1::from_elem(1, 1.4)));
    assert_contains(&angstrom, &["1.4", "without a unit: is it in"]);
    let probe = "/entry_1/instrument_1/source_1/illumination";
    let folder = tempfile::tempdir().unwrap();
    let path = valid_scan(folder.path());
    let file = hdf5::File::open_rw(&path).unwrap();
    replace(&file, probe, &Array2::from_elem((7, 7), 1.0)).unwrap();
    file.close().unwrap();
    // Another start probe may be wanted.
    let read = scan::read(&path, &ReadOptions::default()).unwrap();
    let reason = "has 7 x 7 pixels, and the frames have 5 x 4";
    assert_contains(
        read.scan.unusable_probe().unwrap(),
        &["illumination", reason],
    );
    assert_contains(&read.notes.join("\n"), &[reason]);
}

#[test]
fn every_numeric_type_is_read() {
    fn read<T: hdf5::H5Type + Clone + From<u8>>() {
        let folder = tempfile::tempdir().unwrap();
        let path = valid_scan(folder.path());
        let file = hdf5::File::open_rw(&path).unwrap();
        let counts = Array3::from_shape_fn((3, 5, 4), |(j, r, c)| T::from((j + r + c) as u8));
        replace(&file, &format!("{DETECTOR}/data"), &counts).unwrap();
        file.close().unwrap();
        let scan = scan::read(&path, &ReadOptions::default()).unwrap().scan;
        assert_eq!(scan.frames().unwrap()[[2, 4, 3]], 9.0);
        assert_eq!(scan.frames().unwrap()[[2, 2, 1]], 0.0, "masked");
    }
    read::<u8>();
    read::<u16>();
    read::<u32>();
    read::<u64>();
    read::<i16>();
    read::<i32>();
    read::<i64>();
    read::<f32>();
    read::<f64>();
}

#[test]
fn datasets_without_data_or_in_other_files_are_refused() {
    let data = format!("{DETECTOR}/data");
    let huge = error_after(|f| {
        f.unlink(&data)?;
        f.new_dataset_builder()
            .chunk((1, 4096, 4096))
            .deflate(1)
            .empty::<u16>()
            .shape((4096, 4096, 4096))
            .create(data.as_str())
            .map(drop)
    });
    assert_contains(&huge, &["memory", "GiB"]);
    let unwritten = error_after(|f| {
        f.unlink(&data)?;
        f.new_dataset_builder()
            .chunk((50, 512, 512))
            .deflate(1)
            .empty::<u16>()
            .shape((1000, 512, 512))
            .create(data.as_str())
            .map(drop)
    });
    let words = [
        "1000.0 MiB of which 1000.0 MiB were never written",
        "data.sparse=true",
    ];
    assert_contains(&unwritten, &words);
    let scattered = error_after(|f| {
        f.unlink(&data)?;
        f.new_dataset_builder()
            .chunk((1, 1, 1))
            .empty::<u8>()
            .shape((3, 512, 512))
            .create(data.as_str())
            .map(drop)
    });
    assert_contains(&scattered, &["786432 chunks"]);
    let elsewhere = error_after(|f| {
        f.unlink(&data)?;
        f.link_external("other.h5", "/data", &data)
    });
    assert_contains(&elsewhere, &["\"other.h5\", which does not exist"]);
    let external = error_after(|f| {
        f.unlink(&data)?;
        f.new_dataset_builder()
            .empty::<u16>()
            .with_dcpl(|p| p.external("/dev/zero", 0, 120))
            .shape((3, 5, 4))
            .create(data.as_str())
            .map(drop)
    });
    assert_contains(&external, &["other files"]);
    let looped = error_after(|f| {
        f.unlink(&data)?;
        f.link_soft(&data, &data)
    });
    assert_contains(&looped, &["data"]);
}

#[test]
fn energies_and_plain_paths_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = valid_scan(folder.path());
    let file = hdf5::File::open_rw(&path).unwrap();
    file.unlink("/entry_1/instrument_1/source_1/wavelength")
        .unwrap();
    replace(
        &file,
        "/entry_1/instrument_1/source_1/energy",
        &Array1::from_elem(1, 12.398_419_84),
    )
    .unwrap();
    output::array(
        &file,
        "/scan/yx",
        &Array2::from_shape_fn((3, 2), |(j, k)| (j + 2 * k) as f64),
    )
    .unwrap();
    file.close().unwrap();
    let read = scan::read(&path, &ReadOptions::default()).unwrap();
    assert!((read.scan.geometry().wavelength - 1e-10).abs() < 1e-18);
    assert!(
        read.notes.iter().any(|n| n.contains("keV")),
        "{:?}",
        read.notes
    );

    let paths = |positions: &str| Paths {
        frames: format!("{DETECTOR}/data"),
        positions: positions.into(),
        position_order: [0, 1],
        position_unit: Some(scan::PositionUnit::Metres(1e-6)),
        mask: None,
        mask_marks: scan::MaskPolarity::Bad,
        probe: None,
        wavelength: None,
        energy: None,
        distance: None,
        pixel_size: None,
    };
    let mut options = ReadOptions {
        paths: Some(paths("/scan/yx")),
        ..ReadOptions::default()
    };
    let missing = scan::read(&path, &options).unwrap_err().to_string();
    assert_contains(
        &missing,
        &[
            "expected a wavelength (--wavelength, ",
            "a distance (--distance)",
        ],
    );
    options.constants.energy = Some(12_398.419_84);
    options.constants.distance = Some(1.5);
    options.constants.pixel_size = Some([1e-5, 2e-5]);
    let read = scan::read(&path, &options).unwrap();
    assert!((read.scan.geometry().wavelength - 1e-10).abs() < 1e-18);
    assert!((read.scan.positions()[[2, 1]] - 4e-6).abs() < 1e-20);
    options.format = Format::Cxi;
    let e = scan::read(&path, &options).unwrap_err();
    assert!(
        matches!(
            e,
            IoError::Option {
                option: "data.format",
                ..
            }
        ),
        "{e}"
    );
    options.format = Format::Hdf5;
    options.paths = Some(paths("/scan/none"));
    assert_contains(
        &scan::read(&path, &options).unwrap_err().to_string(),
        &["/scan/none"],
    );
}

#[test]
fn a_ptyd_file_is_sorted_and_centred() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ptyd");
    let file = hdf5::File::create(&path).unwrap();
    let peak = |row: usize, column: usize, index: usize| {
        Array2::from_shape_fn((6, 4), |(r, c)| {
            if (r, c) == (row, column) {
                10 + index as i32
            } else {
                0
            }
        })
    };
    // The second chunk holds the first frame; the zero frequency is at (2, 3) instead of (3, 2).
    for (name, indices) in [("0", vec![1_i64, 2]), ("1", vec![0])] {
        let frames = Array3::from_shape_fn((indices.len(), 6, 4), |(j, r, c)| {
            peak(2, 3, indices[j] as usize)[[r, c]]
        });
        let positions = Array2::from_shape_fn((indices.len(), 2), |(j, k)| {
            indices[j] as f64 * 1e-6 + k as f64
        });
        let part = |what: &str| format!("chunks/{name}/{what}");
        output::array(&file, &part("data"), &frames).unwrap();
        output::array(&file, &part("positions"), &positions).unwrap();
        output::array(&file, &part("indices"), &Array1::from_vec(indices)).unwrap();
        let weights = Array2::from_shape_fn((6, 4), |(r, c)| f32::from((r, c) != (0, 0)));
        output::array(&file, &part("weights"), &weights).unwrap();
    }
    output::number(&file, "meta/energy", 8.0).unwrap();
    output::number(&file, "meta/distance", 2.0).unwrap();
    output::number(&file, "meta/psize", 55e-6).unwrap();
    output::array(&file, "meta/center", &Array1::from_vec(vec![2.0, 3.0])).unwrap();
    file.close().unwrap();
    let read = scan::read(&path, &ReadOptions::default()).unwrap();
    for j in 0..3 {
        assert_eq!(read.scan.frames().unwrap()[[j, 3, 2]], 10.0 + j as f32);
        assert_eq!(read.scan.positions()[[j, 0]], j as f64 * 1e-6);
        assert_eq!(read.scan.positions()[[j, 1]], j as f64 * 1e-6 + 1.0);
        assert_eq!(read.scan.mask().valid_in(j), 23);
    }
    let crate::data::Mask::PerFrame(mask) = read.scan.mask() else {
        panic!("expected one mask per frame");
    };
    assert!(!mask[[0, 1, 3]], "the mask shifts with the frames");
    assert!(
        read.notes.iter().any(|n| n.contains("meta/center")),
        "{:?}",
        read.notes
    );
    // Of three frames the counts, weights as read, weights as stored.
    let needed = 3 * 24 * (4 + 4 + 1);
    let within = |limit| scan::read_within(&path, &ReadOptions::default(), Memory::limited(limit));
    assert_eq!(within(needed).unwrap(), read);
    assert!(matches!(within(needed - 1), Err(IoError::TooLarge { .. })));
    let options = ReadOptions {
        frames: Some([1, 3]),
        crop: Some([4, 2]),
        ..ReadOptions::default()
    };
    let part = scan::read(&path, &options).unwrap().scan;
    assert_eq!(part.shape(), [2, 4, 2]);
    assert_eq!(part.frames().unwrap()[[0, 2, 1]], 11.0);

    let file = hdf5::File::open_rw(&path).unwrap();
    file.unlink("chunks/1/indices").unwrap();
    output::array(&file, "chunks/1/indices", &Array1::from_vec(vec![2_i64])).unwrap();
    file.close().unwrap();
    let duplicate = scan::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(duplicate.scan.frames().unwrap()[[2, 3, 2]], 10.0);
    assert!(
        duplicate
            .notes
            .iter()
            .any(|n| n.contains("indices: 1 frame has")),
        "{:?}",
        duplicate.notes
    );
}

/// Reads `path` with several options within a small memory limit; any scan that results must be
/// written and read back unchanged.
fn exercise(path: &Path, again: &Path) {
    let memory = Memory::limited(8 << 20);
    let part = ReadOptions {
        frames: Some([0, 2]),
        crop: Some([3, 2]),
        swap_axes: true,
        ..ReadOptions::default()
    };
    let ptyd = ReadOptions {
        format: Format::Ptyd,
        ..ReadOptions::default()
    };
    for options in [ReadOptions::default(), part, ptyd] {
        match scan::read_within(path, &options, memory) {
            Err(e) => assert!(!e.to_string().is_empty()),
            Ok(read) => {
                scan::write(again, &read.scan).unwrap();
                let back = scan::read(again, &ReadOptions::default()).unwrap();
                // A written scan has no pixels elsewhere.
                assert_eq!(back.scan, read.scan.with_stored_pixels(None));
            }
        }
    }
    let _ = results::read_within(path, memory);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_structure_is_read_or_refused(
        kind in 0_u8..4,
        choices in prop::collection::vec(prop_oneof![8 => Just(0_u8), 1 => any::<u8>()], 0..200),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        let choices = [&[kind][..], &choices].concat();
        if structure::build(&path, &choices).is_ok() {
            exercise(&path, &folder.path().join("again.h5"));
        }
    }
}

/// File images with a few bytes changed, from a fixed seed; `WARPSTRIDE_MUTATIONS` sets their
/// number. The fuzz target runs the same test for longer.
#[test]
fn files_with_changed_bytes_are_read_or_refused() {
    use rand::RngExt;
    use rand::SeedableRng;
    let rounds = std::env::var("WARPSTRIDE_MUTATIONS")
        .ok()
        .and_then(|r| r.parse().ok())
        .unwrap_or(400_usize);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let mut images = Vec::new();
    for per_frame in [false, true] {
        scan::write(&path, &scan::tests::small(2, per_frame, 1.0)).unwrap();
        images.push(std::fs::read(&path).unwrap());
    }
    for kind in 0..4 {
        structure::build(&path, &[kind]).unwrap();
        images.push(std::fs::read(&path).unwrap());
    }
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(1);
    for round in 0..rounds {
        let mut image = images[round % images.len()].clone();
        for _ in 0..random.random_range(1..9) {
            let at = random.random_range(0..image.len());
            image[at] = match random.random_range(0..4) {
                0 => 0xff,
                1 => 0,
                2 => image[at] ^ (1 << random.random_range(0..8)),
                _ => random.random(),
            };
        }
        std::fs::write(&path, &image).unwrap();
        exercise(&path, &folder.path().join("again.h5"));
    }
}
