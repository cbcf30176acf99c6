use super::*;
use crate::data::ImageIndex;
use ndarray::Array3;
use num_complex::Complex;
use std::io::Read;

type Directions = [[f64; 3]; 3];

/// Columns to the left and back by 3/5 and 4/5, rows at right angles, slices to the head.
const OBLIQUE: Directions = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];

fn image(placement: Option<Placement>, index: Option<ImageIndex>) -> MriImage {
    MriImage {
        image: Array3::from_shape_fn((1, 4, 6), |(_, row, column)| {
            Complex::new(3.0 * row as f64, 4.0 * column as f64)
        }),
        volume: false,
        index,
        placement,
        field_of_view: Some([0.005, 0.008, 0.018]),
        coil_maps: None,
        residuals: Vec::new(),
        recipe: String::new(),
        operator: String::new(),
        method: String::new(),
        backend: String::new(),
        device: String::new(),
        precision: "f32".to_owned(),
        version: "0.1.0".to_owned(),
        source: String::new(),
    }
}

fn number(bytes: &[u8], at: usize) -> f64 {
    f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
}

fn short(bytes: &[u8], at: usize) -> i16 {
    i16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn written(images: &[MriImage], values: NiftiValues) -> (Vec<u8>, Vec<String>) {
    let images: Vec<&MriImage> = images.iter().collect();
    let (layout, notes) = Layout::of(&images);
    (bytes(&layout, &images, values), notes)
}

/// The affine matrix of the header's rows.
fn rows(bytes: &[u8]) -> [[f64; 4]; 3] {
    [0, 1, 2].map(|row| [0, 1, 2, 3].map(|column| number(bytes, 280 + 16 * row + 4 * column)))
}

/// The affine matrix of the header's quaternion, by the formula of the standard. Near half turns, a
/// is a small difference of numbers in single precision.
fn turned(bytes: &[u8]) -> [[f64; 4]; 3] {
    let [b, c, d] = [0, 1, 2].map(|at| number(bytes, 256 + 4 * at));
    let a = (1.0 - (b * b + c * c + d * d)).max(0.0).sqrt();
    let r = [
        [
            a * a + b * b - c * c - d * d,
            2.0 * (b * c - a * d),
            2.0 * (b * d + a * c),
        ],
        [
            2.0 * (b * c + a * d),
            a * a + c * c - b * b - d * d,
            2.0 * (c * d - a * b),
        ],
        [
            2.0 * (b * d - a * c),
            2.0 * (c * d + a * b),
            a * a + d * d - c * c - b * b,
        ],
    ];
    let size = [0, 1, 2].map(|axis| number(bytes, 80 + 4 * axis));
    let sign = number(bytes, 76);
    [0, 1, 2].map(|row| {
        let [x, y, z] = r[row];
        let offset = number(bytes, 268 + 4 * row);
        [x * size[0], y * size[1], z * size[2] * sign, offset]
    })
}

#[track_caller]
fn assert_near(a: [[f64; 4]; 3], b: [[f64; 4]; 3]) {
    for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
        assert!((a - b).abs() < 5e-3, "{a} {b}");
    }
}

/// The values are those that nibabel 5.4 found in this file (`affine`, `header.get_zooms()`,
/// `dataobj`).
#[test]
fn a_plane_has_the_header_that_an_independent_reader_found() {
    let placement = Placement::new([0.010, -0.020, 0.030], OBLIQUE);
    let (bytes, notes) = written(&[image(placement, None)], NiftiValues::Magnitude);
    assert_eq!((bytes.len(), notes.len()), (352 + 4 * 24, 0));
    let sides: Vec<i16> = (0..8).map(|axis| short(&bytes, 40 + 2 * axis)).collect();
    assert_eq!(sides, [3, 6, 4, 1, 1, 1, 1, 1]);
    assert_eq!((short(&bytes, 70), short(&bytes, 72)), (16, 32));
    assert_eq!((short(&bytes, 252), short(&bytes, 254)), (1, 1));
    assert_eq!((&bytes[344..348], bytes[123]), (&b"n+1\0"[..], 2));
    assert_eq!([80, 84, 88].map(|at| number(&bytes, at)), [3.0, 2.0, 5.0]);
    let expected = [
        [-1.8, 1.6, 0.0, -7.8],
        [-2.4, -1.2, 0.0, 29.6],
        [0.0, 0.0, 5.0, 30.0],
    ];
    assert_near(rows(&bytes), expected);
    assert_near(turned(&bytes), expected);
    // Row 2, column 3: |6 + 12i|.
    assert!((number(&bytes, 352 + 4 * 15) - 180.0_f64.sqrt()).abs() < 1e-5);
    let (bytes, _) = written(&[image(placement, None)], NiftiValues::Complex);
    assert_eq!((short(&bytes, 70), short(&bytes, 72)), (32, 64));
    assert_eq!(number(&bytes, 352 + 8 * 15), 6.0);
    assert_eq!(number(&bytes, 356 + 8 * 15), 12.0);
}

/// Every proper and improper rotation by right angles, and oblique ones: both forms of the header
/// agree, and the middle voxel is at the centre.
#[test]
fn both_forms_of_the_position_agree_for_every_orientation() {
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut all: Vec<Directions> = vec![OBLIQUE];
    for [a, b, c] in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        for signs in 0..8 {
            let signed = |axis: usize, bit: usize| {
                axes[axis].map(|v| if signs >> bit & 1 == 1 { -v } else { v })
            };
            all.push([signed(a, 0), signed(b, 1), signed(c, 2)]);
            let turn = |of: [f64; 3]| {
                let of_axis = |row: usize| -> f64 { (0..3).map(|n| OBLIQUE[n][row] * of[n]).sum() };
                [0, 1, 2].map(of_axis)
            };
            all.push([turn(signed(a, 0)), turn(signed(b, 1)), turn(signed(c, 2))]);
        }
    }
    for directions in all {
        let placement = Placement::new([0.010, -0.020, 0.030], directions);
        assert!(placement.is_some(), "{directions:?}");
        let (bytes, _) = written(&[image(placement, None)], NiftiValues::Magnitude);
        assert_near(rows(&bytes), turned(&bytes));
        let middle = rows(&bytes).map(|[x, y, _, offset]| 3.0 * x + 2.0 * y + offset);
        for (found, expected) in middle.iter().zip([-10.0, 20.0, 30.0]) {
            assert!((found - expected).abs() < 1e-4, "{directions:?} {middle:?}");
        }
    }
}

/// Two repetitions of three slices.
fn slices(steps: [f64; 3]) -> Vec<MriImage> {
    let mut images = Vec::new();
    for repetition in 0..2 {
        for (slice, step) in (0..).zip(steps) {
            let placement = Placement::new([0.0, 0.0, step], OBLIQUE);
            let index = ImageIndex {
                slice,
                repetition,
                ..ImageIndex::default()
            };
            images.push(image(placement, Some(index)));
        }
    }
    images
}

#[test]
fn slices_are_stacked_and_repetitions_are_the_fourth_axis() {
    // Counted towards the feet: the third axis points there.
    let images = slices([0.030, 0.024, 0.018]);
    let (bytes, notes) = written(&images, NiftiValues::Magnitude);
    let sides: Vec<i16> = (0..5).map(|axis| short(&bytes, 40 + 2 * axis)).collect();
    assert_eq!((sides, notes.len()), (vec![4, 6, 4, 3, 2], 0));
    assert_eq!(number(&bytes, 88), 6.0);
    assert_near(rows(&bytes), turned(&bytes));
    assert_eq!([2, 3].map(|at| rows(&bytes)[2][at]), [-6.0, 30.0]);
    // Uneven, or all at one place: no position is better than a wrong one.
    for steps in [[0.0, 0.006, 0.013], [0.0; 3]] {
        let (bytes, notes) = written(&slices(steps), NiftiValues::Magnitude);
        assert_eq!((short(&bytes, 252), short(&bytes, 254)), (0, 0));
        assert!(notes[0].contains("equidistant"), "{notes:?}");
    }
    // A slice is missing in the second repetition.
    let (bytes, _) = written(&images[..5], NiftiValues::Magnitude);
    assert_eq!((short(&bytes, 46), short(&bytes, 48)), (1, 5));
}

/// Slabs of a scan, and slices that are not parallel and equidistant, have each their own affine
/// matrix.
#[test]
fn images_of_several_positions_are_in_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nii");
    let centre = |bytes: &[u8], middle: [usize; 3]| {
        let affine = rows(bytes);
        [0, 1, 2].map(|axis| {
            let steps = affine[axis].iter().zip(middle);
            affine[axis][3] + steps.map(|(step, n)| step * n as f64).sum::<f64>()
        })
    };
    let mut slabs = slices([0.030, 0.024, 0.010]);
    for slab in &mut slabs {
        slab.volume = true;
        slab.image = Array3::from_elem((2, 4, 6), Complex::new(1.0, 0.0));
    }
    let uneven = slices([0.030, 0.024, 0.010]);
    for (images, middle) in [(slabs, [3, 2, 1]), (uneven, [3, 2, 0])] {
        let written = write(&path, &images, NiftiValues::Magnitude, false).unwrap();
        let names: Vec<_> = written
            .files
            .iter()
            .map(|f| f.file_name().unwrap())
            .collect();
        assert_eq!(names, ["x-slice0.nii", "x-slice1.nii", "x-slice2.nii"]);
        assert!(
            written.notes.concat().contains("3 positions"),
            "{:?}",
            written.notes
        );
        for (file, z) in written.files.iter().zip([30.0, 24.0, 10.0]) {
            let bytes = std::fs::read(file).unwrap();
            // Both repetitions.
            assert_eq!((short(&bytes, 40), short(&bytes, 48)), (4, 2));
            assert_eq!((short(&bytes, 252), short(&bytes, 254)), (1, 1));
            let found = centre(&bytes, middle);
            for (found, expected) in found.into_iter().zip([0.0, 0.0, z]) {
                assert!((found - expected).abs() < 1e-4, "{found} {expected}");
            }
            assert_near(rows(&bytes), turned(&bytes));
        }
    }
    // Slices of one step, or all at one place, stay together.
    for steps in [[0.030, 0.024, 0.018], [0.0; 3]] {
        let written = write(&path, &slices(steps), NiftiValues::Magnitude, false).unwrap();
        assert_eq!(written.files, std::slice::from_ref(&path));
    }
    let packed = beside(Path::new("a/x.NII.gz"), "-slice1");
    assert_eq!(packed, Path::new("a/x-slice1.NII.gz"));
}

#[test]
fn what_is_not_known_is_not_stated() {
    let (bytes, notes) = written(&[image(None, None)], NiftiValues::Magnitude);
    assert_eq!(
        (short(&bytes, 252), short(&bytes, 254), bytes[123]),
        (0, 0, 2)
    );
    assert_eq!((number(&bytes, 80), notes.len()), (3.0, 1));
    let mut of = image(None, None);
    of.field_of_view = None;
    let (bytes, notes) = written(&[of], NiftiValues::Magnitude);
    assert_eq!((bytes[123], notes.len()), (0, 1));
}

#[test]
fn compressed_files_hold_the_same_bytes_and_large_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let images = [image(None, None)];
    let [plain, packed] = ["a.nii", "a.nii.gz"].map(|name| folder.path().join(name));
    for path in [&plain, &packed] {
        let gzip = is_nifti(path).unwrap();
        write(path, &images, NiftiValues::Magnitude, gzip).unwrap();
    }
    let file = std::fs::File::open(&packed).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut bytes)
        .unwrap();
    assert_eq!(bytes, std::fs::read(&plain).unwrap());
    for other in ["a.gz", "a.h5", "nii", "a.nii.h5"] {
        assert_eq!(is_nifti(Path::new(other)), None, "{other}");
    }
    let mut large = image(None, None);
    large.image = Array3::zeros((1, 1, MOST + 1));
    let refused = write(&plain, &[large], NiftiValues::Magnitude, false).unwrap_err();
    assert!(refused.to_string().contains("32767"), "{refused}");
}
