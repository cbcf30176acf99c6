//! Prepared frames agree with models of what was measured.

use crate::data::{Geometry, Mask, Propagation, Scan};
use crate::io::scan::{ReadOptions, ScanFile, read, read_with_scratch, write};
use crate::{
    Centre, CentreSetting, FaultSetting, FrameTransform, HotPixelSetting, HotPixels, Saturation,
    SimulateOptions, simulate,
};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis};
use num_complex::Complex;
use std::path::{Path, PathBuf};
use warpstride_core::system::Memory;
use warpstride_fft::Fft2;
use warpstride_files::output;

const FAR: Geometry = Geometry {
    wavelength: 1e-10,
    distance: 2.0,
    pixel_size: [55e-6, 75e-6],
    propagation: Propagation::FarField,
};

/// A scan of these frames.
fn scan(frames: Array3<f32>, mask: Option<Mask>, geometry: Geometry) -> Scan {
    let positions = Array2::from_shape_fn((frames.dim().0, 2), |(j, axis)| {
        1e-7 * (j as f64) * if axis == 0 { 1.0 } else { -0.5 }
    });
    Scan::new(frames, mask, positions, geometry, None).unwrap()
}

/// A file with the scan, and the datasets in `others`.
fn file(folder: &Path, scan: &Scan, others: &[(&str, &Array3<f32>)]) -> PathBuf {
    let path = folder.join("scan.cxi");
    write(&path, scan).unwrap();
    let file = hdf5::File::open_rw(&path).unwrap();
    for (name, values) in others {
        output::array(&file, name, values).unwrap();
    }
    file.close().unwrap();
    path
}

/// The scan of these frames, read with the options.
fn prepared(frames: Array3<f32>, options: &ReadOptions) -> ScanFile {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &scan(frames, None, FAR), &[]);
    read(&path, options).unwrap()
}

fn has(notes: &[String], part: &str) -> bool {
    notes.iter().any(|note| note.contains(part))
}

fn valid(scan: &Scan) -> Array2<bool> {
    scan.mask().of_frame(0).to_owned()
}

/// Counts below a hundred that follow no pattern.
fn noise(shape: [usize; 3]) -> Array3<f32> {
    Array3::from_shape_fn(shape, |(j, r, c)| {
        ((j * 7919 + r * 104_729 + c * 1_299_709 + 13) % 97) as f32
    })
}

/// A specimen that is known everywhere.
fn specimen(row: i64, column: i64) -> Complex<f64> {
    let (y, x) = (row as f64, column as f64);
    Complex::from_polar(
        0.8 + 0.2 * (1.3 * y + 0.4 * x * y).sin(),
        (0.7 * x * x - 1.1 * y).sin(),
    )
}

/// Intensities (row, column), zero frequency at (rows/2, columns/2), of a probe on the specimen,
/// which `of` gives at places relative to the middle of the window.
fn intensities(
    probe: ArrayView2<'_, Complex<f64>>,
    of: impl Fn(i64, i64) -> Complex<f64>,
) -> Array2<f64> {
    let (rows, columns) = probe.dim();
    let middle = [rows / 2, columns / 2];
    let at = |n: usize, axis: usize| n as i64 - middle[axis] as i64;
    let mut wave = Array2::from_elem((rows, columns), Complex::default());
    for ((r, c), value) in probe.indexed_iter() {
        // The middle of the window comes first.
        let to = [
            (r + rows - middle[0]) % rows,
            (c + columns - middle[1]) % columns,
        ];
        wave[to] = value * of(at(r, 0), at(c, 1));
    }
    Fft2::new(rows, columns).forward(wave.as_slice_mut().unwrap());
    Array2::from_shape_fn((rows, columns), |(r, c)| {
        let from = [
            (r + rows - middle[0]) % rows,
            (c + columns - middle[1]) % columns,
        ];
        wave[from].norm_sqr()
    })
}

/// A far-field scan of `specimen` at whole pixels, with its probe.
fn modelled([rows, columns]: [usize; 2]) -> (Scan, Vec<[i64; 2]>) {
    // No light in the first row and column, which an inversion about the middle would move to the
    // other side.
    let probe = Array2::from_shape_fn((rows, columns), |(r, c)| match r * c {
        0 => Complex::default(),
        n => Complex::from_polar(1.0 + (n as f64).sin(), (3 * r + c) as f64) * 20.0,
    });
    let places = vec![[0, 0], [2, 1], [-1, 3], [4, -2]];
    let of_place = |[y, x]: [i64; 2]| intensities(probe.view(), |r, c| specimen(y + r, x + c));
    let frames: Vec<Array2<f64>> = places.iter().map(|place| of_place(*place)).collect();
    let frames = Array3::from_shape_fn((places.len(), rows, columns), |(j, r, c)| {
        frames[j][[r, c]] as f32
    });
    let pixel = FAR.object_pixel(rows, columns);
    let positions = Array2::from_shape_fn((places.len(), 2), |(j, axis)| {
        places[j][axis] as f64 * pixel[axis]
    });
    let probe = probe.insert_axis(Axis(0));
    (
        Scan::new(frames, None, positions, FAR, Some(probe)).unwrap(),
        places,
    )
}

/// Frames that are turned are those of the turned specimen with the turned probe at the turned
/// positions: nothing is lost, whether the numbers of rows and columns are even, odd or prime, and
/// detector pixels need not be square.
#[test]
fn turned_frames_are_those_of_a_turned_specimen() {
    use FrameTransform::{FlipColumns, FlipRows, Rotate90, Rotate180, Rotate270, Transpose};
    let folder = tempfile::tempdir().unwrap();
    for shape in [[8, 8], [7, 6], [5, 11]] {
        let (scan, _) = modelled(shape);
        let path = file(folder.path(), &scan, &[]);
        for maps in [
            vec![Transpose],
            vec![FlipRows],
            vec![FlipColumns],
            vec![Rotate90],
            vec![Rotate180],
            vec![Rotate270],
            vec![FlipRows, Rotate90],
        ] {
            let mut options = ReadOptions {
                transform_frames: maps.clone(),
                ..ReadOptions::default()
            };
            let orientation = options.frame_orientation();
            orientation.set(&mut options);
            let found = read(&path, &options).unwrap().scan;
            let [[a, b], [c, d]] = orientation.matrix().map(|row| row.map(|v| v as i64));
            // The inverse of the matrix is its transpose.
            let turned = |y: i64, x: i64| specimen(a * y + c * x, b * y + d * x);
            let pixel = found.object_pixel();
            let probe = found.probe().unwrap().index_axis(Axis(0), 0);
            let frames = found.frames().unwrap();
            for (frame, position) in frames.outer_iter().zip(found.positions().outer_iter()) {
                let [y, x] = [0, 1].map(|axis| (position[axis] / pixel[axis]).round() as i64);
                let expected = intensities(probe, |r, c| turned(y + r, x + c));
                let largest = expected.iter().copied().fold(0.0, f64::max);
                for (found, expected) in frame.iter().zip(&expected) {
                    let error = (f64::from(*found) - expected).abs() / largest;
                    assert!(error < 1e-5, "{shape:?} {maps:?}: {found} {expected}");
                }
            }
        }
    }
}

/// Sums of 3 x 2 counts would be wrong for a pixel at the border of the mask: it is masked.
#[test]
fn bins_are_sums_and_have_no_masked_parts() {
    let folder = tempfile::tempdir().unwrap();
    for (shape, bin) in [
        ([3, 12, 9], 3),
        ([2, 7, 13], 2),
        ([1, 5, 9], 4),
        ([2, 6, 6], 1),
    ] {
        let frames = noise(shape);
        let bad = [shape[1] / 2, 1];
        let mask = Array2::from_shape_fn((shape[1], shape[2]), |(r, c)| [r, c] != bad);
        let scan = scan(frames.clone(), Some(Mask::Shared(mask.clone())), FAR);
        let path = file(folder.path(), &scan, &[]);
        let options = ReadOptions {
            bin: Some(bin),
            ..ReadOptions::default()
        };
        let ScanFile {
            scan: found, notes, ..
        } = read(&path, &options).unwrap();
        let [count, rows, columns] = [shape[0], shape[1] / bin, shape[2] / bin];
        assert_eq!(found.shape(), [count, rows, columns]);
        for (side, before) in found.geometry().pixel_size.iter().zip(FAR.pixel_size) {
            assert!((side / before - bin as f64).abs() < 1e-12);
        }
        let layout = super::Layout::new([shape[1], shape[2]], &options, None).unwrap();
        let [first_row, first_column] = layout.window().map(|range| range.start);
        let counts = found.frames().unwrap();
        let mut masked = 0;
        for ((j, r, c), counts) in counts.indexed_iter() {
            let parts = (0..bin * bin).map(|n| {
                [
                    first_row + r * bin + n / bin,
                    first_column + c * bin + n % bin,
                ]
            });
            let parts: Vec<[usize; 2]> = parts.collect();
            let sum: f32 = parts.iter().map(|[r, c]| frames[[j, *r, *c]]).sum();
            let all = parts.iter().all(|place| mask[*place]);
            assert_eq!(valid(&found)[[r, c]], all);
            assert_eq!(*counts, if all { sum } else { 0.0 });
            masked += usize::from(!all);
        }
        assert!(masked <= count);
        if bin > 1 {
            assert!(
                has(&notes, &format!("data.bin adds {bin} x {bin} pixels")),
                "{notes:?}"
            );
        }
        // The object pixel is λ z/(N p), whether pixels are binned or cropped away at the border.
        let cropped = [0, 1].map(|axis| layout.shape()[axis] * bin);
        let expected = FAR.object_pixel(cropped[0], cropped[1]);
        let pixel = found.object_pixel();
        assert!((0..2).all(|axis| (pixel[axis] / expected[axis] - 1.0).abs() < 1e-12));
    }
}

/// Frames whose zero frequency is elsewhere are those with it in the middle, apart from what is
/// beyond the detector.
#[test]
fn frames_are_cut_around_a_given_centre() {
    let whole = noise([2, 40, 40]);
    // The zero frequency of the detector's part is at (13, 9).
    let detector = whole.slice(ndarray::s![.., 7..31, 11..37]).to_owned();
    let options = ReadOptions {
        centre: Some(Centre::At([13.0, 9.25])),
        crop: Some([16, 20]),
        ..ReadOptions::default()
    };
    let ScanFile { scan, notes, .. } = prepared(detector.clone(), &options);
    let expected = whole.slice(ndarray::s![.., 20 - 8..20 + 8, 20 - 10..20 + 10]);
    let found = scan.frames().unwrap();
    for ((place, found), expected) in found.indexed_iter().zip(&expected) {
        let inside = valid(&scan)[[place.1, place.2]];
        // Column 10 of the whole pattern is the one before the first of the detector.
        assert_eq!(inside, place.2 > 0);
        assert_eq!(*found, if inside { *expected } else { 0.0 });
    }
    assert!(
        has(&notes, "is 0 rows and 0.25 columns from pixel (8, 10)"),
        "{notes:?}"
    );
    assert!(
        has(&notes, "those beyond the detector are masked"),
        "{notes:?}"
    );
    // Padding adds masked pixels, and smaller object pixels.
    let padded = ReadOptions {
        pad: Some([48, 48]),
        ..options
    };
    let wide = prepared(detector, &padded).scan;
    assert_eq!(wide.mask().valid_in(0), scan.mask().valid_in(0));
    assert_eq!(wide.sums().total(), scan.sums().total());
    let ratio = scan.object_pixel()[0] / wide.object_pixel()[0];
    assert!((ratio - 3.0).abs() < 1e-12);
}

/// What a detector with dark counts and an uneven response counts, with a beam that varies, becomes
/// what it should have counted.
#[test]
fn dark_flat_and_monitor_are_undone() {
    let shape = [6, 10, 7];
    // Multiples of 8, so that all numbers are exact.
    let clean = noise(shape).mapv(|counts| 8.0 * counts);
    let dark = |r: usize, c: usize| (5 + (r * 3 + c) % 4) as f32;
    let response = |r: usize, c: usize| if (r + c).is_multiple_of(2) { 0.5 } else { 1.5 };
    let beam = [1.0_f32, 0.5, 1.0, 2.0, 1.0, 0.5];
    let measured = Array3::from_shape_fn(shape, |(j, r, c)| {
        clean[[j, r, c]] * response(r, c) * beam[j] + dark(r, c)
    });
    let darks = Array3::from_shape_fn((2, 10, 7), |(n, r, c)| dark(r, c) + n as f32 * 2.0 - 1.0);
    let flats = Array3::from_shape_fn((1, 10, 7), |(_, r, c)| {
        if (r, c) == (3, 3) {
            0.0
        } else {
            400.0 * response(r, c)
        }
    });
    let monitor = Array3::from_shape_fn((6, 1, 1), |(j, ..)| 30.0 * beam[j]);
    let folder = tempfile::tempdir().unwrap();
    let others = [("dark", &darks), ("flat", &flats), ("monitor", &monitor)];
    let path = file(folder.path(), &scan(measured, None, FAR), &others);
    let options = ReadOptions {
        dark: Some("/dark".to_owned()),
        flat: Some(format!("{}:/flat", path.display())),
        monitor: Some("/monitor".to_owned()),
        exclude: vec![3],
        ..ReadOptions::default()
    };
    let ScanFile {
        scan: found, notes, ..
    } = read(&path, &options).unwrap();
    assert!(!valid(&found)[[3, 3]] && found.mask().valid_in(0) == 69);
    // Scales: the mean of the flat over valid pixels is 1, and that of the monitor over the frames
    // that are used.
    let of_flat: f32 = (0..70)
        .map(|n| (n / 7, n % 7))
        .filter(|place| *place != (3, 3))
        .map(|(r, c)| response(r, c))
        .sum::<f32>()
        / 69.0;
    let scale = of_flat * 0.8;
    let used = [0, 1, 2, 4, 5];
    for ((j, r, c), counts) in found.frames().unwrap().indexed_iter() {
        let expected = match (r, c) {
            (3, 3) => 0.0,
            _ => clean[[used[j], r, c]] * scale,
        };
        assert!(
            (counts - expected).abs() <= 1e-4 * expected.max(1.0),
            "{counts} {expected}"
        );
    }
    for part in [
        "data.dark: /dark: the mean of 2 frames",
        "1 pixel without a value above 0 is masked",
        "divided by its value over the mean of all, 0.6250 to 1.250",
        "5 of 6 frames are used",
    ] {
        assert!(has(&notes, part), "{part}: {notes:?}");
    }
    // What does not fit, or is no brightness, is one error.
    let refused = |change: ReadOptions| read(&path, &change).unwrap_err().to_string();
    let default = ReadOptions::default;
    for (options, expected) in [
        (
            ReadOptions {
                dark: Some("/monitor".to_owned()),
                ..default()
            },
            "/monitor: expected shape (10, 7) or (frame, 10, 7), as for the frames (data.dark)",
        ),
        (
            ReadOptions {
                monitor: Some("/flat".to_owned()),
                ..default()
            },
            "/flat: expected one number for each of 6 frames (data.monitor)",
        ),
        (
            ReadOptions {
                mask: Some("/none".to_owned()),
                ..default()
            },
            "/none",
        ),
        (
            ReadOptions {
                flat: Some("flat.h5".to_owned()),
                ..default()
            },
            "data.flat: expected /DATASET of the scan, FILE:/DATASET",
        ),
        (
            ReadOptions {
                exclude: vec![6],
                ..default()
            },
            "data.exclude: expected numbers of frames from 0 to 5, found 6",
        ),
    ] {
        let found = refused(options);
        assert!(found.contains(expected), "{found}");
    }
}

/// Frames of a Gaussian beam on 16 x 18 pixels whose counts vary, with a hot, a dead and some
/// saturated pixels.
fn faulty() -> Array3<f32> {
    let mut frames = Array3::from_shape_fn((20, 16, 18), |(j, r, c)| {
        let square = (r as f64 - 8.0).powi(2) + (c as f64 - 9.0).powi(2);
        let vary = ((j * 7 + r * 13 + c * 29) as f64 * 0.618_034).fract();
        ((700.0 + 600.0 * vary) * (-square / 18.0).exp()).floor() as f32
    });
    for mut frame in frames.outer_iter_mut() {
        frame[[1, 17]] = 200.0;
        frame[[9, 7]] = 0.0;
        frame.mapv_inplace(|counts| counts.min(1000.0));
    }
    frames
}

#[test]
fn faulty_pixels_are_masked_if_that_is_asked_for_and_else_nothing_is() {
    let frames = faulty();
    let plain = prepared(frames.clone(), &ReadOptions::default());
    // Apart from the pixel that never counts.
    assert_eq!(plain.scan.mask().valid_in(0), 16 * 18 - 1);
    assert_eq!(plain.scan.frames().unwrap(), frames);
    let diagnosis = crate::diagnose(&plain.scan, &[]).unwrap();
    for part in [
        "(--hot-pixels mask): (1, 17)",
        "(--saturation 1000 masks them)",
    ] {
        assert!(has(&diagnosis.problems, part), "{:?}", diagnosis.problems);
    }
    let options = ReadOptions {
        hot_pixels: HotPixels::Setting(HotPixelSetting::Mask),
        ..ReadOptions::default()
    };
    let ScanFile { scan, notes, .. } = prepared(frames.clone(), &options);
    assert!(!valid(&scan)[[1, 17]] && !valid(&scan)[[9, 7]]);
    assert_eq!(scan.mask().valid_in(0), 16 * 18 - 2);
    assert!(
        has(
            &notes,
            "1 hot pixel masked at (row, column) of the stored frames (1, 17)"
        ),
        "{notes:?}"
    );
    let dead = "1 pixel never counts ((9, 7)), unlike those around: masked";
    assert!(has(&notes, dead), "{notes:?}");
    // By the largest count, which is found, and by a given one.
    for saturation in [
        Saturation::Setting(FaultSetting::Mask),
        Saturation::Counts(1000.0),
    ] {
        let options = ReadOptions {
            saturation,
            ..ReadOptions::default()
        };
        let ScanFile { scan, notes, .. } = prepared(frames.clone(), &options);
        let found = scan.frames().unwrap();
        for ((j, r, c), counts) in frames.indexed_iter() {
            let often = frames.slice(ndarray::s![.., r, c]);
            let often = 2 * often.iter().filter(|counts| **counts >= 1000.0).count() >= 20;
            // A pixel that never counts is masked, too.
            let masked = often || *counts >= 1000.0 || [r, c] == [9, 7];
            assert_eq!(scan.mask().of_frame(j)[[r, c]], !masked, "{j} {r} {c}");
            assert_eq!(found[[j, r, c]], if masked { 0.0 } else { *counts });
        }
        assert!(has(&notes, "data.saturation: ") && has(&notes, "1000 counts or more masked"));
    }
}

/// Counts in a temporary file are prepared as those in memory are, with a mask for each frame too.
#[test]
fn counts_of_a_temporary_file_are_prepared_as_those_of_memory() {
    let shape = [400, 23, 30];
    let mask = Array3::from_shape_fn(shape, |(j, r, c)| (j + 3 * r + 7 * c) % 11 != 0);
    let darks = Array3::from_elem((1, 23, 30), 2.5_f32);
    let folder = tempfile::tempdir().unwrap();
    let of = scan(noise(shape), Some(Mask::PerFrame(mask)), FAR);
    let path = file(folder.path(), &of, &[("dark", &darks)]);
    let options = ReadOptions {
        dark: Some("/dark".to_owned()),
        transform_frames: vec![FrameTransform::Rotate90],
        centre: Some(Centre::At([14.0, 10.0])),
        crop: Some([28, 20]),
        bin: Some(2),
        every: Some(3),
        exclude: vec![9, 10],
        ..ReadOptions::default()
    };
    let memory = read(&path, &options).unwrap();
    let limit = Memory::limited(2_000_000);
    let scratch = read_with_scratch(&path, &options, limit, Some(folder.path())).unwrap();
    let same = |a: &Scan, b: &Scan| {
        assert_eq!(a.shape(), [133, 14, 10]);
        assert_eq!(a.frames().unwrap(), b.frames().unwrap());
        assert_eq!((a.mask(), a.positions()), (b.mask(), b.positions()));
    };
    same(&memory.scan, &scratch.scan);
    assert_eq!(memory.scan.positions()[[3, 0]], 12e-7, "frames 0, 3, 6, 12");
}

/// A simulated scan whose frames have been moved on the detector.
#[test]
fn the_centre_of_simulated_frames_is_found() {
    let scan = simulate(&SimulateOptions {
        frame: 64,
        positions: 30,
        photons: 1e6,
        ..SimulateOptions::default()
    })
    .unwrap();
    let frames = scan.frames().unwrap();
    let moved = Array3::from_shape_fn((30, 64, 64), |(j, r, c)| {
        frames[[j, (r + 64 - 6) % 64, (c + 9) % 64]]
    });
    let options = ReadOptions {
        centre: Some(Centre::Setting(CentreSetting::Auto)),
        crop: Some([40, 40]),
        ..ReadOptions::default()
    };
    let ScanFile {
        scan: found, notes, ..
    } = prepared(moved, &options);
    assert!(
        has(&notes, "the mean pattern is symmetric to 0.9"),
        "{notes:?}"
    );
    assert!(!has(&notes, "doubtful"), "{notes:?}");
    let expected = frames.slice(ndarray::s![.., 12..52, 12..52]);
    assert_eq!(found.frames().unwrap(), expected);
}

#[test]
fn near_fields_have_no_centre_and_larger_object_pixels_if_they_are_binned() {
    let geometry = Geometry {
        propagation: Propagation::NearField {
            focus_to_sample: None,
        },
        ..FAR
    };
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &scan(noise([3, 9, 8]), None, geometry), &[]);
    let options = ReadOptions {
        centre: Some(Centre::At([4.0, 4.0])),
        ..ReadOptions::default()
    };
    let refused = read(&path, &options).unwrap_err().to_string();
    assert!(
        refused.contains("data.centre: expected none in the near field"),
        "{refused}"
    );
    let options = ReadOptions {
        bin: Some(2),
        pad: Some([12, 8]),
        ..ReadOptions::default()
    };
    let found = read(&path, &options).unwrap().scan;
    assert_eq!(found.shape(), [3, 6, 4]);
    assert_eq!(found.object_pixel(), [2.0 * 55e-6, 2.0 * 75e-6]);
}

/// The direction of travel of a frame is that to the next frame of the file, not to the next that
/// is used.
#[test]
fn frames_that_are_left_out_do_not_change_the_travel_of_others() {
    let frames = noise([9, 4, 4]);
    let whole = prepared(frames.clone(), &ReadOptions::default()).scan;
    let options = ReadOptions {
        frames: Some([1, 9]),
        every: Some(2),
        exclude: vec![5],
        ..ReadOptions::default()
    };
    let part = prepared(frames, &options).scan;
    let used = [1, 3, 7];
    let expected: Vec<[f64; 2]> = used.iter().map(|number| whole.travel()[*number]).collect();
    assert_eq!(part.travel(), expected);
    let some = whole.some_frames(&used).unwrap();
    assert_eq!(part.frames().unwrap(), some);
    let rows: Array1<f64> = part.positions().column(0).to_owned();
    assert_eq!(rows.to_vec(), [1e-7, 1e-7 * 3.0, 1e-7 * 7.0]);
}
