//! Scans in the layouts of other programs: measured ones with checksums from h5py, and files that
//! these tests write.

use super::tests::real_file;
use super::*;
use crate::data::Scan;
use hdf5_metno as hdf5;
use ndarray::{Array, Array1, Array2, Array3, Axis, arr1, arr2, s};
use num_complex::Complex;
use std::path::PathBuf;

/// FNV-1a of bytes, 64 bits.
fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Checksums of frames 0–159 of the Siemens star, which h5py read: counts as u16, and positions
/// (frame, (row, column)), little-endian.
const STAR_COUNTS: u64 = 0x5067_5018_f84d_bf6d;
const STAR_POSITIONS: u64 = 0xf527_da94_ff75_3f1e;

fn count_sum(frames: &Array3<f32>) -> u64 {
    fnv(frames.iter().flat_map(|v| (*v as u16).to_le_bytes()))
}

fn position_sum(scan: &Scan) -> u64 {
    fnv(scan.positions().iter().flat_map(|v| v.to_le_bytes()))
}

pub(super) fn options(toml: &str) -> ReadOptions {
    let options: ReadOptions = toml::from_str(toml).unwrap();
    options.check().unwrap();
    options
}

#[test]
fn the_star_of_matlab_has_the_counts_of_cxi() {
    let (Some(cxi), Some(matlab)) = (
        real_file("ptycho/siemens-star.cxi"),
        real_file("formats/star.mat"),
    ) else {
        return;
    };
    let cxi = read(&cxi, &options("frames = [0, 160]")).unwrap().scan;
    let ScanFile { scan, notes, .. } = read(&matlab, &ReadOptions::default()).unwrap();
    assert_eq!(count_sum(&scan.frames().unwrap().into_owned()), STAR_COUNTS);
    assert_eq!(position_sum(&scan), STAR_POSITIONS);
    assert_eq!(scan.frames().unwrap(), cxi.frames().unwrap());
    assert_eq!(scan.positions(), cxi.positions());
    assert_eq!(scan.mask(), cxi.mask());
    assert_eq!(scan.geometry(), cxi.geometry());
    let notes = notes.join("\n");
    assert!(
        notes.contains("MATLAB file: /dp has the frames as (row, column, frame)"),
        "{notes}"
    );
    assert!(notes.contains("/positions in um"), "{notes}");
    // The same, named by a recipe with the axes; without them the question.
    let paths = "[paths]\nframes = \"dp\"\npositions = \"positions\"\nposition_order = [1, 0]\nwavelength = \"lambda\"\ndistance = \"z\"\npixel_size = \"det_pixel\"\n";
    let e = read(&matlab, &options(paths)).unwrap_err().to_string();
    assert!(
        e.contains("data.frame_axes") && e.contains("[0, 2, 1]"),
        "{e}"
    );
    let named = read(
        &matlab,
        &options(&format!(
            "frame_axes = [0, 2, 1]\nframes = [3, 9]\ncrop = [64, 50]\n{paths}"
        )),
    );
    let expected = scan
        .frames()
        .unwrap()
        .slice(s![3..9, 32..96, 39..89])
        .to_owned();
    assert_eq!(named.unwrap().scan.frames().unwrap(), expected);
}

#[test]
fn the_star_of_a_flat_file_has_the_counts_of_cxi() {
    let (Some(cxi), Some(flat)) = (
        real_file("ptycho/siemens-star.cxi"),
        real_file("formats/star-flat.h5"),
    ) else {
        return;
    };
    let e = read(&flat, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("ptycho info") && e.contains("/scan/eiger/images"),
        "{e}"
    );
    // The recipe that `info` prints, of at most ten lines.
    let layout = unknown_layout(&flat, &ReadOptions::default(), Memory::available())
        .unwrap()
        .unwrap();
    assert!(layout.complete, "{}", layout.recipe);
    assert!(layout.recipe.lines().count() <= 10, "{}", layout.recipe);
    let recipe: crate::Recipe = crate::Recipe::from_toml(&layout.recipe).unwrap();
    let ScanFile { scan, notes, .. } = read(&flat, &recipe.data).unwrap();
    let cxi = read(&cxi, &options("frames = [0, 160]")).unwrap().scan;
    let upright = scan.frames().unwrap().slice(s![.., ..;-1, ..]).to_owned();
    assert_eq!(count_sum(&upright), STAR_COUNTS);
    assert_eq!(position_sum(&scan), STAR_POSITIONS);
    assert_eq!(upright, cxi.frames().unwrap());
    assert_eq!(scan.mask(), cxi.mask());
    assert_eq!(scan.geometry().distance, cxi.geometry().distance);
    assert_eq!(scan.geometry().pixel_size, cxi.geometry().pixel_size);
    assert!((scan.geometry().wavelength - 1.409e-10).abs() < 1e-17);
    assert!(
        notes
            .iter()
            .any(|n| n.contains("x_um in um") && n.contains("energy_kev in kev")),
        "{notes:?}"
    );
}

/// Frames that are stored upside down or transposed, and turned by the option, are those of CXI;
/// the pixel of the zero frequency is that of the turned frames.
#[test]
fn turned_frames_of_the_star_have_the_counts_of_cxi() {
    let (Some(cxi), Some(flat), Some(matlab)) = (
        real_file("ptycho/siemens-star.cxi"),
        real_file("formats/star-flat.h5"),
        real_file("formats/star.mat"),
    ) else {
        return;
    };
    let cxi = read(&cxi, &options("frames = [20, 30]")).unwrap().scan;
    let layout = unknown_layout(&flat, &ReadOptions::default(), Memory::available());
    let recipe = crate::Recipe::from_toml(&layout.unwrap().unwrap().recipe).unwrap();
    let turned =
        options("frames = [20, 30]\ntransform_frames = [\"flip-rows\"]\ncentre = [64, 64]");
    let of_flat = ReadOptions {
        frames: turned.frames,
        transform_frames: turned.transform_frames,
        centre: turned.centre,
        ..recipe.data
    };
    // Without the option, rows and columns are read as MATLAB stores them.
    let of_matlab =
        options("frames = [20, 30]\nframe_axes = [0, 1, 2]\ntransform_frames = [\"transpose\"]\n");
    for (path, options) in [(flat, of_flat), (matlab, of_matlab)] {
        let found = read(&path, &options).unwrap().scan;
        assert_eq!(found.frames().unwrap(), cxi.frames().unwrap());
        assert_eq!(found.mask(), cxi.mask());
        assert_eq!(found.positions(), cxi.positions());
    }
}

/// Complex arrays of MATLAB, compounds of `real` and `imag`, are start probes and start objects.
#[test]
fn complex_arrays_of_matlab_are_probes_and_start_objects() {
    #[derive(Clone, Copy, hdf5::H5Type)]
    #[repr(C)]
    struct OfMatlab {
        real: f64,
        imag: f64,
    }
    let value = |row: usize, column: usize| Complex::new(1.0 + row as f64, 0.25 - column as f64);
    let stored = |rows: usize, columns: usize| {
        Array2::from_shape_fn((columns, rows), |(c, r)| OfMatlab {
            real: value(r, c).re,
            imag: value(r, c).im,
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), true, |file| {
        let axes = counts()
            .permuted_axes([0, 2, 1])
            .as_standard_layout()
            .into_owned();
        put(file, "dp", &axes);
        put(
            file,
            "positions",
            &(stage() * 1e-6)
                .reversed_axes()
                .as_standard_layout()
                .into_owned(),
        );
        put(file, "object", &stored(8, 6));
        // Compressed, as MATLAB does with larger arrays.
        let probe = stored(8, 6);
        let builder = file.new_dataset_builder().chunk((3, 8)).deflate(4);
        builder.with_data(probe.view()).create("probe").unwrap();
        put(file, "lambda", &arr1(&[4e-10]));
        put(file, "z", &arr1(&[2.0]));
        put(file, "det_pixel", &arr1(&[200e-6]));
    });
    let ScanFile { scan, notes, .. } = read(&path, &ReadOptions::default()).unwrap();
    let expected = Array2::from_shape_fn((8, 6), |(r, c)| value(r, c));
    assert_eq!(scan.probe().unwrap().index_axis(Axis(0), 0), expected);
    let notes = notes.join("\n");
    assert!(notes.contains("/probe the start probe"), "{notes}");
    let object = crate::io::start_object::read(&path, Some("/object")).unwrap();
    assert_eq!(object.values, expected);
}

/// Positions, masks and other arrays of HDF5 files follow links to files beside them, as scans do,
/// and others only if they may.
#[test]
fn positions_and_masks_follow_links() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let scan = file(folder.path(), false, |file| {
        put(file, "images", &counts());
    });
    let fill = |file: &hdf5::File| {
        put(file, "yx", &(stage() * 1e-6));
        put(
            file,
            "bad",
            &Array2::from_shape_fn((8, 6), |at| u8::from(at == (5, 2))),
        );
    };
    let write = |path: &Path| {
        let file = hdf5::File::create(path).unwrap();
        fill(&file);
        file.close().unwrap();
    };
    let outside = elsewhere.path().join("data.h5");
    write(&outside);
    write(&folder.path().join("data.h5"));
    let links = folder.path().join("links.h5");
    let link_to = |target: &Path| {
        let file = hdf5::File::create(&links).unwrap();
        for name in ["yx", "bad"] {
            let target = target.to_str().unwrap();
            file.link_external(target, name, name).unwrap();
        }
        file.close().unwrap();
    };
    let said = |more: &str| {
        options(&format!(
            "{more}mask = \"{0}:/bad\"\nconstants.wavelength = 4e-10\nconstants.distance = 2.0\nconstants.pixel_size = [200e-6, 200e-6]\n[positions]\nfile = \"{0}:/yx\"\nunit = \"m\"\n",
            links.display()
        ))
    };
    link_to(Path::new("data.h5"));
    let found = read(&scan, &said("")).unwrap().scan;
    assert_eq!(found.positions(), stage() * 1e-6);
    assert_eq!(found.mask().valid_in(0), 47);
    link_to(&outside);
    let e = read(&scan, &said("")).unwrap_err().to_string();
    assert!(
        e.contains("links.h5") && e.contains("--follow-links"),
        "{e}"
    );
    let followed = read(&scan, &said("follow_links = true\n")).unwrap().scan;
    assert_eq!(followed.positions(), found.positions());
}

/// A file of the arrays that `fill` creates, behind a user block of MATLAB's if `matlab`.
pub(super) fn file(folder: &Path, matlab: bool, fill: impl FnOnce(&hdf5::File)) -> PathBuf {
    let path = folder.join("scan.mat");
    let block = if matlab { 512 } else { 0 };
    let file = hdf5::File::with_options()
        .with_fcpl(|list| list.userblock(block))
        .create(&path)
        .unwrap();
    fill(&file);
    file.close().unwrap();
    if matlab {
        use std::io::Write;
        let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
            .unwrap();
    }
    path
}

pub(super) fn put<T: hdf5::H5Type, D: ndarray::Dimension>(
    file: &hdf5::Group,
    path: &str,
    values: &Array<T, D>,
) {
    file.new_dataset_builder()
        .with_data(values.view())
        .create(path)
        .unwrap();
}

/// Writes an attribute of a group.
pub(super) fn text_of_group(group: &hdf5::Group, name: &str, text: &str) {
    use std::str::FromStr;
    let text = hdf5::types::VarLenUnicode::from_str(text).unwrap();
    let attribute = group.new_attr::<hdf5::types::VarLenUnicode>();
    attribute.create(name).unwrap().write_scalar(&text).unwrap();
}

/// Writes an attribute of a dataset.
pub(super) fn text_attribute(file: &hdf5::Group, path: &str, name: &str, text: &str) {
    use std::str::FromStr;
    let text = hdf5::types::VarLenUnicode::from_str(text).unwrap();
    let dataset = file.dataset(path).unwrap();
    let attribute = dataset.new_attr::<hdf5::types::VarLenUnicode>();
    attribute.create(name).unwrap().write_scalar(&text).unwrap();
}

/// Counts (frame, row, column) of 9 frames of 8 × 6 pixels.
fn counts() -> Array3<u16> {
    Array3::from_shape_fn((9, 8, 6), |(j, r, c)| (1 + 100 * j + 10 * r + c) as u16)
}

/// Positions (frame, (x, y)) of 9 frames, µm: 3 and 4 µm apart.
fn stage() -> Array2<f64> {
    Array2::from_shape_fn((9, 2), |(j, k)| {
        if k == 0 {
            3.0 * (j % 3) as f64
        } else {
            4.0 * (j / 3) as f64
        }
    })
}

/// Geometry with object pixels of half a micrometre: 0.4 nm · 2 m / (8 · 200 µm).
fn geometry(file: &hdf5::File) {
    put(file, "wavelength", &arr1(&[4e-10]));
    put(file, "distance", &arr1(&[2.0]));
    put(file, "pixel", &arr1(&[200e-6]));
}

#[test]
fn arrays_of_matlab_files_have_other_names_and_axes() {
    let folder = tempfile::tempdir().unwrap();
    let as_f32 = counts().mapv(f32::from);
    // (frame, row, column) in MATLAB, which stores (column, row, frame); positions in two vectors;
    // a mask.
    let valid = Array2::from_shape_fn((6, 8), |(c, r)| u8::from((r, c) != (5, 2)));
    let path = file(folder.path(), true, |file| {
        let reversed = counts().reversed_axes().as_standard_layout().into_owned();
        put(file, "I", &reversed);
        put(
            file,
            "ppX",
            &stage().column(0).to_owned().insert_axis(Axis(0)),
        );
        put(
            file,
            "ppY",
            &stage().column(1).to_owned().insert_axis(Axis(0)),
        );
        put(file, "valid_mask", &valid);
        geometry(file);
    });
    let read_back = read(&path, &options("[units]\npositions = \"um\"")).unwrap();
    let scan = &read_back.scan;
    let mut expected = as_f32;
    expected.slice_mut(s![.., 5, 2]).fill(0.0);
    assert_eq!(scan.frames().unwrap(), expected);
    assert!(!scan.mask().of_frame(0)[[5, 2]] && scan.mask().valid_in(0) == 47);
    assert_eq!(scan.positions()[[5, 0]], 4.0 * 1e-6);
    assert_eq!(scan.positions()[[5, 1]], 6.0 * 1e-6);
    let notes = read_back.notes.join("\n");
    assert!(
        notes.contains("(frame, row, column)") && notes.contains("marks valid pixels"),
        "{notes}"
    );
}

/// Frames whose shape does not tell their axes are read in MATLAB's order, which a note says with
/// the option for another one.
#[test]
fn axes_that_shapes_do_not_tell_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let read_as = |shape: [usize; 3], text: &str| {
        let path = file(folder.path(), true, |file| {
            let values = Array3::from_shape_fn(shape, |(a, b, c)| (a + 2 * b + 5 * c) as u16 + 1);
            put(file, "dp", &values);
            let along = |k: usize| Array1::from_shape_fn(9, |n| (n * k) as f64);
            put(file, "ppX", &along(2).insert_axis(Axis(0)));
            put(file, "ppY", &along(1).insert_axis(Axis(0)));
            geometry(file);
        });
        let text = format!("{text}\n[units]\npositions = \"um\"");
        read(&path, &options(&text)).unwrap().notes.join("\n")
    };
    // (frame, column, row) in the file.
    let notes = read_as([9, 6, 8], "");
    assert!(!notes.contains("does not tell its axes"), "{notes}");
    let notes = read_as([9, 6, 9], "");
    assert!(
        notes.contains("as many frames as rows (9): (row, column, frame) is assumed, and data.frame_axes = [2, 1, 0] reads (frame, row, column)"),
        "{notes}"
    );
    let notes = read_as([9, 6, 6], "");
    assert!(
        notes.contains("6 x 6 pixels are square: (row, column, frame) is assumed, and data.frame_axes = [0, 1, 2] reads (column, row, frame)"),
        "{notes}"
    );
    let notes = read_as([9, 6, 6], "frame_axes = [0, 1, 2]");
    assert!(!notes.contains("does not tell its axes"), "{notes}");
}

#[test]
fn units_are_stated_or_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let paths = "[paths]\nframes = \"/data\"\npositions = \"/positions\"\nwavelength = \"/wavelength\"\ndistance = \"/distance\"\npixel_size = \"/pixel\"\n";
    let of = |distance: f64, unit: &str, positions: &Array2<f64>| {
        file(folder.path(), false, |file| {
            put(file, "data", &counts());
            put(file, "positions", positions);
            geometry(file);
            file.unlink("distance").unwrap();
            put(file, "distance", &arr1(&[distance]));
            if !unit.is_empty() {
                text_attribute(file, "distance", "units", unit);
            }
        })
    };
    let metres = stage() * 1e-6;
    let distance = |path: &Path, text: &str| {
        let read = read(path, &options(&format!("{text}{paths}")));
        read.map(|read| (read.scan.geometry().distance, read.notes.join("\n")))
    };
    // Metres, millimetres by plausibility, by the attribute, and by the recipe.
    assert_eq!(distance(&of(2.0, "", &metres), "").unwrap().0, 2.0);
    let (found, notes) = distance(&of(2000.0, "", &metres), "").unwrap();
    assert!(found == 2.0 && notes.contains("/distance in mm"), "{notes}");
    assert_eq!(distance(&of(200.0, "cm", &metres), "").unwrap().0, 2.0);
    assert_eq!(distance(&of(2.0, "Meters", &metres), "").unwrap().0, 2.0);
    // 25 m or 25 mm.
    let path = of(25.0, "", &metres);
    let e = distance(&path, "").unwrap_err().to_string();
    assert!(
        e.contains("/distance")
            && e.contains("is it in m or mm?")
            && e.contains("data.units.distance"),
        "{e}"
    );
    let said = "[units]\ndistance = \"mm\"\n";
    assert_eq!(distance(&path, said).unwrap().0, 0.025);
    let e = distance(&of(2.0, "furlong", &metres), "")
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("units = \"furlong\"") && e.contains("data.units.distance"),
        "{e}"
    );
    // Steps of 3 and 4 of an unknown unit are micrometres or object pixels.
    let path = of(2.0, "", &stage());
    let e = distance(&path, "").unwrap_err().to_string();
    assert!(
        e.contains("/positions")
            && e.contains("um or pixel?")
            && e.contains("data.units.positions"),
        "{e}"
    );
    let read_in = |unit: &str| {
        let text = format!("[units]\npositions = \"{unit}\"\n{paths}");
        read(&path, &options(&text)).unwrap().scan
    };
    assert_eq!(read_in("um").positions()[[4, 1]], 4.0 * 1e-6);
    let scan = read_in("pixel");
    assert_eq!(scan.positions()[[4, 1]], 4.0 * scan.object_pixel()[1]);
    let by_path =
        options(&paths.replace("positions = ", "position_unit = \"microns\"\npositions = "));
    assert_eq!(
        read(&path, &by_path).unwrap().scan.positions(),
        read_in("um").positions()
    );
}

#[test]
fn strange_arrays_are_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str, fill: &dyn Fn(&hdf5::File)| {
        let path = file(folder.path(), true, |file| {
            put(file, "dp", &counts());
            put(file, "positions", &stage());
            geometry(file);
            fill(file);
        });
        let e = read(&path, &options(text)).unwrap_err().to_string();
        assert!(!e.contains('\n') && e.contains("scan.mat"), "{e}");
        e
    };
    let replaced = |file: &hdf5::File, name: &str| file.unlink(name).unwrap();
    let e = refused("", &|file| replaced(file, "positions"));
    assert!(
        e.contains("positions of the frames") && e.contains("/dp (9 x 8 x 6)"),
        "{e}"
    );
    let e = refused("", &|file| replaced(file, "dp"));
    assert!(e.contains("an array of frames"), "{e}");
    // A distance of 0, a wavelength that is NaN, and axes of another rank.
    let e = refused("[units]\npositions = \"um\"", &|file| {
        replaced(file, "distance");
        put(file, "distance", &arr1(&[0.0]));
    });
    assert!(e.contains("/distance"), "{e}");
    let e = refused("[units]\npositions = \"um\"", &|file| {
        replaced(file, "wavelength");
        put(file, "wavelength", &arr1(&[f64::NAN]));
    });
    assert!(e.contains("wavelength"), "{e}");
    let e = refused(
        "frame_axes = [0, 2, 1]\n[paths]\nframes = \"/positions\"\npositions = \"/positions\"",
        &|_| {},
    );
    assert!(e.contains("/positions") && e.contains("rank 3"), "{e}");
    let e = refused(
        "frame_axes = [0, 2, 1]\n[paths]\nframes = \"/dp\"\npositions = [\"/dp\", \"/positions\"]",
        &|_| {},
    );
    assert!(e.contains("/dp") && e.contains("432"), "{e}");
    // A virtually endless array is not read.
    let e = refused("", &|file| {
        replaced(file, "dp");
        let builder = file.new_dataset::<u16>().chunk((1, 64, 64)).deflate(1);
        builder.shape((9, 1 << 30, 1 << 30)).create("dp").unwrap();
    });
    assert!(e.contains("/dp"), "{e}");
    let path = file(folder.path(), false, |file| {
        put(file, "data", &arr2(&[[1_u8, 2]]));
    });
    let layout = unknown_layout(&path, &ReadOptions::default(), Memory::available())
        .unwrap()
        .unwrap();
    assert!(
        !layout.complete && layout.recipe.contains("# frames"),
        "{layout:?}"
    );
    assert!(read(&path, &options("frame_axes = [0, 2, 1]")).is_err());
}

/// A file that has frames and nothing else opens with positions and a geometry of the options.
#[test]
fn frames_alone_in_an_unknown_layout_are_read() {
    let Some(path) = real_file("ptycho/rotavirus-28x28.h5") else {
        return;
    };
    let text = "raster.step = \"31.25A\"\nconstants.voltage = \"300kV\"\nconstants.pixel_frequency = \"0.00084/A\"\nframes = [0, 30]\n";
    let ScanFile { scan, notes, .. } = read(&path, &options(text)).unwrap();
    assert_eq!(scan.shape(), [30, 160, 160]);
    assert_eq!(scan.positions().row(29), arr1(&[3.125e-9, 3.125e-9]));
    assert!(
        notes
            .iter()
            .any(|note| note.contains("/data is read as frames"))
    );
    assert!(read(&path, &ReadOptions::default()).is_err());
}
