//! Scans whose counts are looked at while they are read are those of counts that are looked at
//! afterwards, in all bits.

use super::cutoff::Cutoff;
use super::frame_stack::FrameStack;
use super::geometry::Resolved;
use super::parts::Parts;
use super::window::Window;
use super::*;
use crate::data::{Frames, Geometry, Mask, Propagation};
use hdf5_metno as hdf5;
use ndarray::{Array2, Array3, s};
use std::path::PathBuf;
use warpstride_files::InputFile;
use warpstride_files::source::Source;

const SHAPE: [usize; 3] = [23, 14, 11];

/// Small counts; a frame without any, and a pixel with none.
fn counts() -> Array3<u8> {
    Array3::from_shape_fn(SHAPE, |(f, r, c)| match (f, r, c) {
        (5, ..) | (_, 2, 3) => 0,
        _ => ((f * 7919 + r * 131 + c * 17) % 97) as u8,
    })
}

/// Counts in which a pixel or some pixels have no data, or that are no small whole numbers, and
/// from which count on there are none.
struct Case {
    name: &'static str,
    counts: Array3<f64>,
    cutoff: Option<f64>,
    /// Whether sums are found while these counts are read.
    inspected: bool,
}

fn cases() -> Vec<Case> {
    let case = |name, change: &dyn Fn(&mut Array3<f64>), cutoff, inspected| {
        let mut counts = counts().mapv(f64::from);
        change(&mut counts);
        Case {
            name,
            counts,
            cutoff,
            inspected,
        }
    };
    vec![
        case("small", &|_| (), None, true),
        case("small, with a cutoff", &|_| (), Some(1000.0), true),
        case("from a cutoff on", &|_| (), Some(90.0), true),
        case(
            "gap",
            &|of| of.slice_mut(s![.., 4, ..]).fill(255.0),
            None,
            true,
        ),
        case("65535 in places", &|of| of[[3, 1, 2]] = 65535.0, None, true),
        case(
            "65535 in many frames",
            &|of| of.slice_mut(s![..9, 6, 7]).fill(65535.0),
            None,
            true,
        ),
        case("large", &|of| of[[7, 0, 1]] = 8_388_607.0, None, true),
        case("too large", &|of| of[[7, 0, 1]] = 8_388_608.0, None, false),
        case(
            "2^32 - 1",
            &|of| of.slice_mut(s![.., 1, 2..4]).fill(4_294_967_295.0),
            None,
            false,
        ),
        case(
            "negative",
            &|of| of.slice_mut(s![.., 13, 10]).fill(-1.0),
            None,
            false,
        ),
        case(
            "one is negative",
            &|of| of[[22, 13, 10]] = -3.0,
            None,
            false,
        ),
        case("fraction", &|of| of[[11, 3, 3]] = 0.25, None, false),
        case("-0", &|of| of[[11, 3, 3]] = -0.0, None, true),
        case(
            "NaN",
            &|of| of.slice_mut(s![2..9, 0, 0]).fill(f64::NAN),
            None,
            false,
        ),
        case("dark", &|of| of.fill(0.0), None, true),
    ]
}

/// Mask without a pixel that has counts, and one with other pixels in each frame.
fn masks() -> Vec<Option<Mask>> {
    let [_, rows, columns] = SHAPE;
    let plane = Array2::from_shape_fn((rows, columns), |(r, c)| (r, c) != (6, 7) && c != 1);
    let each = Array3::from_shape_fn(SHAPE, |(f, r, c)| (f + 2 * r + 3 * c) % 13 != 0);
    vec![None, Some(Mask::Shared(plane)), Some(Mask::PerFrame(each))]
}

/// Writes counts that `T` has, compressed in chunks unless there is no shape of them.
fn written<T: hdf5::H5Type>(
    file: &hdf5::File,
    name: &str,
    counts: &Array3<T>,
    chunk: Option<[usize; 3]>,
) {
    let builder = file.new_dataset_builder();
    match chunk {
        Some(chunk) => (builder.chunk(chunk).shuffle().deflate(1).with_data(counts))
            .create(name)
            .unwrap(),
        None => builder.with_data(counts).create(name).unwrap(),
    };
}

/// Bits of all that is known of a scan, and the notes; or the error.
fn bits(read: Result<ScanFile, IoError>) -> Result<(Vec<u64>, Mask, Vec<String>), String> {
    let ScanFile { scan, notes, .. } = read.map_err(|e| e.to_string())?;
    let sums = scan.sums();
    let mut bits: Vec<u64> = sums.hashes.clone();
    bits.push(u64::from(sums.whole));
    bits.push(sums.largest.to_bits().into());
    bits.extend(sums.of_frames.iter().map(|sum| sum.to_bits()));
    bits.extend(sums.of_pixels.iter().map(|sum| sum.to_bits()));
    let frames = scan.frames().unwrap();
    bits.extend(frames.iter().map(|count| u64::from(count.to_bits())));
    Ok((bits, scan.mask().clone(), notes))
}

/// What a reader has found beside `frames`.
fn parts(frames: Frames, mask: Option<Mask>, window: &Window, cutoff: Option<f64>) -> Parts {
    let positions = Array2::from_shape_fn((frames.shape()[0], 2), |(n, k)| (n * (k + 1)) as f64);
    Parts {
        frames: ("/counts".to_owned(), frames),
        mask: mask.map(|mask| ("/mask".to_owned(), mask)),
        mask_marks: MaskPolarity::Bad,
        mask_light: None,
        positions: ("/positions".to_owned(), positions),
        geometry: Resolved {
            geometry: Geometry {
                wavelength: 1e-10,
                distance: 1.0,
                pixel_size: [1e-4; 2],
                propagation: Propagation::FarField,
            },
            voltage: None,
        },
        probe: None,
        unusable_probe: None,
        simulation: None,
        window: window.clone(),
        cutoff: cutoff.map(|least| Cutoff::new("/cutoff", least)),
        measures: Vec::new(),
        notes: Vec::new(),
    }
}

/// Compares the scan of a dataset with that of its counts in an array, with every mask and by
/// different numbers of threads.
fn compare(path: &Path, name: &str, case: &Case, options: &ReadOptions) {
    let source = Source::open(path, Memory::available()).unwrap();
    let stack = FrameStack::of_dataset(source.numbers(name).unwrap().unwrap()).unwrap();
    let input = InputFile::new(Path::new("x"), Memory::available());
    let window = Window::new("x", stack.shape(), options).unwrap();
    let stored = window.counts(&stack).unwrap();
    for mask in masks() {
        let what = format!("{name}, {}, {mask:?}", case.name);
        let mask = mask.map(|mask| match mask {
            Mask::Shared(all) => Mask::Shared(
                all.slice(s![window.rows.clone(), window.columns.clone()])
                    .to_owned(),
            ),
            Mask::PerFrame(all) => Mask::PerFrame(
                all.slice(s![
                    window.frames.clone(),
                    window.rows.clone(),
                    window.columns.clone()
                ])
                .to_owned(),
            ),
        });
        let plain = parts(stored.clone().into(), mask.clone(), &window, case.cutoff);
        let expected = bits(plain.into_scan(&input, options));
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let found = pool.unwrap().install(|| {
                let source = Source::open(path, Memory::available()).unwrap();
                let numbers = source.numbers(name).unwrap().unwrap();
                let stack = FrameStack::of_dataset(numbers).unwrap();
                let read = window
                    .frames(&input, &stack, (mask.as_ref(), None))
                    .unwrap();
                let shared = !matches!(mask, Some(Mask::PerFrame(_)));
                if mask.is_none() || !shared {
                    let known = read.known_largest(mask.as_ref());
                    assert_eq!(known.is_some(), shared && case.inspected, "{what}");
                }
                parts(read, mask.clone(), &window, case.cutoff).into_scan(&input, options)
            });
            assert!(bits(found) == expected, "{what}, {threads} threads");
        }
    }
}

fn file(folder: &Path, fill: impl FnOnce(&hdf5::File)) -> PathBuf {
    let path = folder.join("counts.h5");
    let file = hdf5::File::create(&path).unwrap();
    fill(&file);
    file.close().unwrap();
    path
}

#[test]
fn scans_of_every_type_are_those_of_their_counts() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    let chunk = Some([1, 14, 11]);
    // The cases that a type has.
    macro_rules! of_type {
        ($file:expr, $type:ty) => {
            for (number, case) in cases.iter().enumerate() {
                let has = |count: &f64| f64::from(*count as $type) == *count || count.is_nan();
                if case.counts.iter().all(has) {
                    let counts = case.counts.mapv(|count| count as $type);
                    written(
                        $file,
                        &format!("{}-{number}", stringify!($type)),
                        &counts,
                        chunk,
                    );
                }
            }
        };
    }
    let path = file(folder.path(), |file| {
        of_type!(file, u8);
        of_type!(file, u16);
        of_type!(file, u32);
        of_type!(file, i16);
        of_type!(file, i32);
        of_type!(file, f32);
        of_type!(file, f64);
    });
    let source = Source::open(&path, Memory::available()).unwrap();
    for (number, case) in cases.iter().enumerate() {
        for of in ["u8", "u16", "u32", "i16", "i32", "f32", "f64"] {
            let name = format!("{of}-{number}");
            // NaN has no integer.
            let fits = of.starts_with('f') || !case.counts.iter().any(|count| count.is_nan());
            if fits && source.numbers(&name).unwrap().is_some() {
                compare(&path, &name, case, &ReadOptions::default());
            }
        }
    }
}

#[test]
fn scans_of_all_chunks_and_windows_are_those_of_their_counts() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    let chunks = [
        None,
        Some([1, 14, 11]),
        // Several frames, the last of which are not in the dataset.
        Some([5, 14, 11]),
        Some([23, 14, 11]),
        // Frames are cut, into the same and into other rows and columns.
        Some([1, 7, 11]),
        Some([2, 5, 4]),
        Some([3, 14, 6]),
    ];
    let path = file(folder.path(), |file| {
        for (number, chunk) in chunks.iter().enumerate() {
            let counts = cases[0].counts.mapv(|count| count as u16);
            written(file, &format!("small-{number}"), &counts, *chunk);
        }
    });
    let options = [
        ReadOptions::default(),
        ReadOptions {
            frames: Some([3, 18]),
            ..ReadOptions::default()
        },
        ReadOptions {
            crop: Some([8, 6]),
            ..ReadOptions::default()
        },
        ReadOptions {
            frames: Some([4, 7]),
            crop: Some([14, 7]),
            empty_frames: EmptyFrames::Mask,
            ..ReadOptions::default()
        },
    ];
    for number in 0..chunks.len() {
        for options in &options {
            compare(&path, &format!("small-{number}"), &cases[0], options);
        }
    }
}

#[test]
fn frames_that_options_change_or_select_are_looked_at_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let counts = counts();
    let path = file(folder.path(), |file| {
        written(file, "counts", &counts, Some([1, 14, 11]));
    });
    let input = InputFile::new(Path::new("x"), Memory::available());
    let source = Source::open(&path, Memory::available()).unwrap();
    let stack = FrameStack::of_dataset(source.numbers("counts").unwrap().unwrap()).unwrap();
    let known = |options: &ReadOptions, memory| {
        let window = Window::new("x", stack.shape(), options).unwrap();
        let input = InputFile::new(Path::new("x"), memory);
        let read = window.frames(&input, &stack, (None, None)).unwrap();
        read.known_largest(None)
    };
    let all = Memory::available();
    assert_eq!(known(&ReadOptions::default(), all), Some(96.0));
    let selected = ReadOptions {
        exclude: vec![3],
        ..ReadOptions::default()
    };
    assert_eq!(known(&selected, all), None);
    // Counts alone fit.
    let bytes = (4 * counts.len()) as u64;
    assert_eq!(
        known(&ReadOptions::default(), Memory::limited(bytes + 100)),
        None
    );
    // Another mask than that they were read by.
    let window = Window::new("x", stack.shape(), &ReadOptions::default()).unwrap();
    let read = window.frames(&input, &stack, (None, None)).unwrap();
    let masks = masks();
    let found: Vec<Option<f32>> = (masks.iter())
        .map(|mask| read.known_largest(mask.as_ref()))
        .collect();
    assert_eq!(found, [Some(96.0), None, None]);
    let all = Mask::Shared(Array2::from_elem((14, 11), true));
    assert_eq!(read.known_largest(Some(&all)), Some(96.0));
}
