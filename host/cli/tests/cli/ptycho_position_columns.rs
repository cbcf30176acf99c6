//! Further columns of positions: the places of a raster, numbers of frames that do not begin with
//! 0, names of files, and a third coordinate. Arrays whose last axis has the frames, and folders in
//! a question. Files are made of a simulated scan.

use super::ptycho_pairing::info;
use super::support::TestFolder;
use hdf5_metno as hdf5;
use ndarray::{Array2, Array3, Axis, s};

const FRAMES: &str = "/entry_1/instrument_1/detector_1/data";
const TRANSLATION: &str = "/entry_1/sample_1/geometry_1/translation";
/// The geometry of frames alone.
const BEAM: [&str; 6] = [
    "--wavelength",
    "1.24A",
    "--distance",
    "0.387m",
    "--pixel-size",
    "75um",
];
const RASTER: [usize; 2] = [4, 4];

/// A folder with the counts of a scan in `f.npy`, whose 16 frames have positions x and y, µm.
fn folder() -> (TestFolder, Array3<u32>, Vec<[f64; 2]>) {
    let folder = TestFolder::new();
    folder.simulate("a.cxi", &["--frame", "32", "--positions", "16"]);
    let file = hdf5::File::open(folder.path("a.cxi")).unwrap();
    let counts: Array3<u32> = file.dataset(FRAMES).unwrap().read().unwrap();
    let places: Array2<f64> = file.dataset(TRANSLATION).unwrap().read().unwrap();
    let places = (places.outer_iter()).map(|at| [at[0] * 1e6, at[1] * 1e6]);
    let places = places.collect();
    write(&folder, "f.npy", &counts);
    (folder, counts, places)
}

fn write(folder: &TestFolder, name: &str, counts: &Array3<u32>) {
    let path = folder.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let shape = format!("{:?}", counts.dim());
    let header = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

/// Writes `p.csv` with the lines of these frames, each with `cells` of a frame.
fn table(
    folder: &TestFolder,
    names: &str,
    places: &[[f64; 2]],
    frames: &[usize],
    cells: impl Fn(usize) -> String,
) {
    let line = |frame: &usize| {
        let [x, y] = places[*frame];
        format!("{},{x},{y}\n", cells(*frame))
    };
    let lines: String = frames.iter().map(line).collect();
    std::fs::write(folder.path("p.csv"), format!("{names},x_um,y_um\n{lines}")).unwrap();
}

/// The arguments of frames in `files` with the positions of `positions`.
fn with<'a>(files: &[&'a str], positions: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [files, &BEAM, &["--positions", positions], more].concat()
}

/// Checks that `info` finds the positions of the scan, frame by frame, as imported.
fn has_positions(folder: &TestFolder, arguments: &[&str], places: &[[f64; 2]]) {
    let command = [&["ptycho", "import"][..], arguments, &["-o", "i.cxi"]].concat();
    folder.run(&command).well();
    let file = hdf5::File::open(folder.path("i.cxi")).unwrap();
    let found: Array2<f64> = file.dataset(TRANSLATION).unwrap().read().unwrap();
    assert_eq!(found.nrows(), places.len());
    for (found, place) in found.outer_iter().zip(places) {
        assert!(
            (found[0] * 1e6 - place[0]).abs() < 1e-9,
            "{found} {place:?}"
        );
        assert!(
            (found[1] * 1e6 - place[1]).abs() < 1e-9,
            "{found} {place:?}"
        );
    }
}

/// The frames in an order of their own.
fn permuted() -> Vec<usize> {
    (0..16).map(|n| (n * 7 + 3) % 16).collect()
}

#[test]
fn lines_that_are_not_row_by_row_are_asked_for() {
    let (folder, _, places) = folder();
    let place = |frame: usize| format!("{},{}", frame / RASTER[1], frame % RASTER[1]);
    for names in ["line,point", "row,col", "scan_y,scan_x", "i,j"] {
        table(&folder, names, &places, &permuted(), place);
        let command = [&["ptycho", "info"][..], &with(&["f.npy"], "p.csv", &[])].concat();
        let words = ["row by row", "--pair by-index", "--pair first"];
        folder.run(&command).refused(1, &words);
    }
    let by_index = with(&["f.npy"], "p.csv", &["--pair", "by-index"]);
    has_positions(&folder, &by_index, &places);
    table(
        &folder,
        "line,point",
        &places,
        &(0..16).collect::<Vec<_>>(),
        place,
    );
    let said = info(&folder, &with(&["f.npy"], "p.csv", &[]));
    assert!(
        !said["notes"].to_string().contains("line and point"),
        "{said}"
    );
    // To and fro, as a stage moves.
    let snake: Vec<usize> = [0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11, 15, 14, 13, 12].into();
    table(&folder, "line,point", &places, &snake, place);
    let said = info(&folder, &with(&["f.npy"], "p.csv", &[]));
    assert!(said["notes"].to_string().contains("to and fro"), "{said}");
}

#[test]
fn numbers_of_frames_may_begin_anywhere_and_be_names_of_files() {
    let (folder, counts, places) = folder();
    table(&folder, "frame", &places, &permuted(), |frame| {
        (frame + 1000).to_string()
    });
    has_positions(&folder, &with(&["f.npy"], "p.csv", &[]), &places);
    let all: Vec<usize> = (0..16).filter(|n| *n != 5).collect();
    table(&folder, "index", &places, &all, |frame| {
        (frame + 1000).to_string()
    });
    let command = [&["ptycho", "info"][..], &with(&["f.npy"], "p.csv", &[])].concat();
    folder
        .run(&command)
        .refused(1, &["--pair by-index", "1000"]);
    let said = info(&folder, &with(&["f.npy"], "p.csv", &["--pair", "by-index"]));
    assert_eq!(said["frames"], 15, "{said}");
    let names: Vec<String> = (0..16).map(|frame| format!("im_{frame:02}.npy")).collect();
    for (frame, name) in names.iter().enumerate() {
        write(
            &folder,
            name,
            &counts.slice(s![frame..frame + 1, .., ..]).to_owned(),
        );
    }
    table(&folder, "frame", &places, &permuted(), |frame| {
        format!("im_{frame:02}.tif")
    });
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    has_positions(&folder, &with(&files, "p.csv", &[]), &places);
}

#[test]
fn a_third_coordinate_is_named_or_asked_for() {
    let (folder, _, places) = folder();
    let of = |height: f64| {
        Array2::from_shape_fn((16, 3), |(n, axis)| match axis {
            0 => places[n][1],
            1 => places[n][0],
            _ => height * n as f64,
        })
    };
    let file = hdf5::File::create(folder.path("p.h5")).unwrap();
    let write = |name: &str, data: &Array2<f64>| {
        file.new_dataset_builder()
            .with_data(data)
            .create(name)
            .unwrap();
    };
    write("same", &of(0.0));
    write("varies", &of(1.0));
    write(
        "exchanged",
        &of(1.0).reversed_axes().as_standard_layout().into_owned(),
    );
    file.close().unwrap();
    let unit = ["--position-unit", "um"];
    let same = with(&["f.npy"], "p.h5:/same", &unit);
    let said = info(&folder, &same);
    assert!(
        said["notes"].to_string().contains("of 3 coordinates"),
        "{said}"
    );
    has_positions(&folder, &same, &places);
    for name in ["p.h5:/varies", "p.h5:/exchanged"] {
        let arguments = with(&["f.npy"], name, &unit);
        let command = [&["ptycho", "info"][..], &arguments].concat();
        let words = ["which of 3 columns", "--position-columns"];
        folder.run(&command).refused(2, &words);
        let chosen = [&arguments[..], &["--position-columns", "0,1"]].concat();
        has_positions(&folder, &chosen, &places);
    }
    let cxi = hdf5::File::open_rw(folder.path("a.cxi")).unwrap();
    let translation = cxi.dataset(TRANSLATION).unwrap();
    let mut all: Array2<f64> = translation.read().unwrap();
    all.column_mut(2)
        .iter_mut()
        .enumerate()
        .for_each(|(n, z)| *z = 1e-7 * n as f64);
    translation.write(&all).unwrap();
    drop(translation);
    cxi.close().unwrap();
    let said = info(&folder, &["a.cxi"]);
    assert!(
        said["notes"]
            .to_string()
            .contains("z, which is not used, varies"),
        "{said}"
    );
}

#[test]
fn axes_and_folders_are_named() {
    let (folder, counts, places) = folder();
    let all: Vec<usize> = (0..16).collect();
    table(&folder, "other", &places, &all, |_| "1".to_owned());
    let last = counts.view().permuted_axes([1, 2, 0]);
    write(&folder, "last.npy", &last.as_standard_layout().into_owned());
    let command = [&["ptycho", "info"][..], &with(&["last.npy"], "p.csv", &[])].concat();
    folder
        .run(&command)
        .refused(1, &["(row, column, frame)", "numpy.moveaxis(array, -1, 0)"]);
    let mut files = Vec::new();
    for path in ["d/k_1.npy", "d/k_10.npy", "d/k_2.npy", "e/k_1.npy"] {
        let frames = counts.slice(s![0..4, .., ..]).to_owned();
        write(&folder, path, &frames);
        files.push(path);
    }
    let command = [&["ptycho", "info"][..], &with(&files, "p.csv", &[])].concat();
    folder
        .run(&command)
        .refused(1, &["d/k_1.npy, d/k_2.npy, d/k_10.npy, e/k_1.npy"]);
    // Gaps and bad pixels of a detector with 16 bits.
    let mut marked = counts.clone();
    marked.map_inplace(|count| *count = (*count).min(60_000));
    marked
        .index_axis_mut(Axis(1), 3)
        .slice_mut(s![.., 3])
        .fill(65_535);
    marked[[5, 4, 4]] = 65_534;
    write(&folder, "marked.npy", &marked);
    let said = info(&folder, &with(&["marked.npy"], "p.csv", &[]));
    let notes = said["notes"].to_string();
    assert!(notes.contains("in 1 frame, with 2^16 - 2"), "{said}");
}
