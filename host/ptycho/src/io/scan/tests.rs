//! Measured files agree with published values, and written files are read back unchanged.

use super::*;
use crate::data::{Geometry, Mask, Propagation, Scan, Simulation};
use ndarray::{Array, Array3};
use num_complex::Complex;
use std::path::PathBuf;
use warpstride_files::source::Source;

/// Path of a measured scan in `ptycho`; `None`, with a message on standard error, if it is not
/// available.
pub(super) fn real(name: &str) -> Option<PathBuf> {
    real_file(&format!("ptycho/{name}"))
}

/// Path of a file of the folder of data for tests; `None`, with a message on standard error, if it
/// is not available.
pub(super) fn real_file(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("WARPSTRIDE_SHARED_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(name);
    if path.is_file() {
        return Some(path);
    }
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    {
        eprintln!("SKIPPED: {} is not available", path.display());
    }
    None
}

#[test]
fn the_siemens_star_has_the_published_values() {
    let Some(path) = real("siemens-star.cxi") else {
        return;
    };
    let ScanFile { scan, notes, .. } = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(scan.shape(), [516, 128, 128]);
    let frames = scan.frames().unwrap();
    assert_eq!(scan.sums().largest, 963.0);
    let mean = frames.iter().map(|v| f64::from(*v)).sum::<f64>() / frames.len() as f64;
    assert!((mean - 28.15).abs() < 0.005, "{mean}");
    assert_eq!(scan.geometry().wavelength, 1.409e-10);
    // The distance was chosen so that an object pixel is 10 nm.
    for p in scan.object_pixel() {
        assert!((p - 1e-8).abs() < 1e-13, "{p}");
    }
    assert_eq!(scan.probe().unwrap().dim(), (1, 128, 128));
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn p25_has_the_published_values() {
    let Some(path) = real("p25-near-field.cxi") else {
        return;
    };
    let scan = read(&path, &ReadOptions::default()).unwrap().scan;
    assert_eq!(scan.shape(), [200, 100, 100]);
    assert_eq!(scan.mask().valid_in(0), 100 * 100 - 5);
    let g = scan.geometry();
    assert!((g.wavelength - 97.95e-12).abs() < 0.005e-12);
    assert!((g.distance - 1.12).abs() < 1e-6);
    assert!(g.pixel_size.iter().all(|p| (p - 55e-6).abs() < 1e-11));
    assert!(scan.probe().is_none());
}

#[test]
fn a_part_of_a_measured_scan_equals_that_part_of_the_whole() {
    let Some(path) = real("siemens-star.cxi") else {
        return;
    };
    let whole = read(&path, &ReadOptions::default()).unwrap().scan;
    let options = ReadOptions {
        frames: Some([7, 12]),
        crop: Some([64, 33]),
        flip_rows: true,
        swap_axes: true,
        ..ReadOptions::default()
    };
    let part = read(&path, &options).unwrap();
    let expected = whole
        .frames()
        .unwrap()
        .slice(ndarray::s![7..12, 32..96, 48..81])
        .to_owned();
    assert_eq!(part.scan.frames().unwrap(), expected);
    for (a, b) in part.scan.positions().rows().into_iter().zip(7..) {
        assert_eq!(a[0], -whole.positions()[[b, 1]]);
        assert_eq!(a[1], whole.positions()[[b, 0]]);
    }
    assert_eq!(part.scan.probe().unwrap().dim(), (1, 64, 33));
    assert!(part.notes.is_empty());
}

/// A scan of `frames` × 5 × 4 with every optional part.
pub(crate) fn small(frames: usize, per_frame_mask: bool, scale: f32) -> Scan {
    let counts = Array::from_shape_fn((frames, 5, 4), |(j, r, c)| ((j + 3 * r + c) as f32) * scale);
    let positions = Array::from_shape_fn((frames, 2), |(j, k)| (j as f64 - 1.5) * 1e-7 + k as f64);
    let bad = |r: usize, c: usize| (r, c) != (2, 1);
    let mask = if per_frame_mask {
        Mask::PerFrame(Array::from_shape_fn((frames, 5, 4), |(j, r, c)| {
            j > 0 || bad(r, c)
        }))
    } else {
        Mask::Shared(Array::from_shape_fn((5, 4), |(r, c)| bad(r, c)))
    };
    let probe = Array3::from_shape_fn((2, 5, 4), |(m, r, c)| {
        Complex::new(m as f64 + 0.5, r as f64 - c as f64)
    });
    let geometry = Geometry {
        wavelength: 1.3e-10,
        distance: 2.1,
        pixel_size: [55e-6, 75e-6],
        propagation: Propagation::FarField,
    };
    Scan::new(
        counts,
        Some(mask),
        positions.clone(),
        geometry,
        Some(probe.clone()),
    )
    .unwrap()
    .with_simulation(Simulation {
        object: Array::from_shape_fn((9, 7), |(r, c)| Complex::new(r as f64, -(c as f64))),
        probe,
        positions,
        origin: [-3e-7, 4e-7],
        seed: u64::MAX - 1,
        slices: None,
    })
}

#[test]
fn written_scans_are_read_back_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    // Small integers, large integers and fractions are stored as u16, u32 and f32.
    for (i, scale) in [1.0, 30_000.0, 0.3].into_iter().enumerate() {
        for per_frame in [false, true] {
            let path = folder.path().join(format!("{i}{per_frame}.cxi"));
            let scan = small(3, per_frame, scale);
            write(&path, &scan).unwrap();
            let back = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!(back.scan, scan);
            assert!(back.notes.is_empty(), "{:?}", back.notes);
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6);
}

#[test]
fn a_scan_of_electrons_is_written_with_its_voltage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("electrons.cxi");
    let scan = small(3, false, 1.0);
    // The scan is one of X-rays; with a wavelength that no rounding reproduces from the voltage.
    let geometry = Geometry {
        wavelength: Geometry::wavelength_of_voltage(3e5) * (1.0 + f64::EPSILON),
        ..*scan.geometry()
    };
    let frames = scan.frames().unwrap().into_owned();
    let positions = scan.positions().mapv(|v| 1e-2 * v);
    let scan = Scan::new(frames, None, positions, geometry, None)
        .unwrap()
        .with_voltage(Some(3e5));
    write(&path, &scan).unwrap();
    let file = hdf5_metno::File::open(&path).unwrap();
    let source = file.group("/entry_1/instrument_1/source_1").unwrap();
    let volts: f64 = source.dataset("voltage").unwrap().read_scalar().unwrap();
    assert_eq!(volts, 3e5);
    assert!(source.dataset("energy").is_err());
    drop((source, file));
    let back = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(back.scan, scan);
    assert_eq!(back.scan.of_some(&[0, 2]).unwrap().voltage(), Some(3e5));
}

#[test]
fn scans_larger_than_memory_are_refused_before_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cxi");
    write(&path, &small(3, true, 1.0)).unwrap();
    let e = read_within(&path, &ReadOptions::default(), Memory::limited(500)).unwrap_err();
    assert!(matches!(e, IoError::TooLarge { .. }), "{e}");
    assert!(e.to_string().contains("frames"), "{e}");
}

/// A file that becomes shorter, or is written to, at any moment while it is read: the scan as it
/// was, or one sentence.
#[test]
fn a_file_that_changes_while_it_is_read_is_one_error() {
    let options = crate::SimulateOptions {
        frame: 64,
        positions: 60,
        ..Default::default()
    };
    let scan = crate::simulate(&options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scan.cxi");
    write(&path, &scan).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut sentences = Vec::new();
    for attempt in 0..40 {
        std::fs::write(&path, &whole).unwrap();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_micros(100 * attempt));
                let file = std::fs::OpenOptions::new()
                    .append(true)
                    .open(&path)
                    .unwrap();
                if attempt % 2 == 0 {
                    file.set_len(whole.len() as u64 / 2).unwrap();
                } else {
                    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
                        .unwrap();
                }
            });
            read(&path, &ReadOptions::default())
        });
        match result {
            Ok(read) => assert_eq!(read.scan, scan),
            Err(error) => sentences.push(error.to_string()),
        }
    }
    for sentence in &sentences {
        let expected = [
            "changed while it was read",
            "(truncated)",
            "found a damaged one",
        ];
        assert!(expected.iter().any(|e| sentence.contains(e)), "{sentence}");
    }
    std::fs::write(&path, &whole).unwrap();
    let source = Source::open(&path, Memory::available()).unwrap();
    source.unchanged().unwrap();
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    assert!(matches!(source.unchanged(), Err(IoError::Changed { .. })));
    file.set_len(10).unwrap();
    assert!(matches!(
        source.unchanged(),
        Err(IoError::Resized { found: 10, .. })
    ));
}
