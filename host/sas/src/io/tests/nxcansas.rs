//! NXcanSAS: errors name the dataset.

use super::*;
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2};
use warpstride_files::output;

/// Reads a valid file after `change`.
fn changed(change: impl Fn(&hdf5::Group) -> hdf5::Result<()>) -> Result<Scattering, IoError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let scattering = &examples()[2];
    write_hdf5(
        &path,
        &Computed {
            scattering,
            process: &[],
        },
    )
    .unwrap();
    let file = hdf5::File::open_rw(&path).unwrap();
    change(&file.group("sasentry01/sasdata01").unwrap()).unwrap();
    file.close().unwrap();
    let read = read(&path, &ReadOptions::default());
    if let Err(e) = &read {
        let text = e.to_string();
        assert!(text.starts_with(&path.display().to_string()) && !text.contains('\n'));
    }
    read
}

fn assert_message(change: impl Fn(&hdf5::Group) -> hdf5::Result<()>, words: &[&str]) {
    let text = changed(change).unwrap_err().to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

fn text(on: &hdf5::Location, name: &str, value: &str) -> hdf5::Result<()> {
    let text = hdf5::types::FixedAscii::<16>::from_ascii(value.as_bytes()).unwrap();
    let _ = on.delete_attr(name);
    on.new_attr::<hdf5::types::FixedAscii<16>>()
        .create(name)?
        .write_scalar(&text)
}

fn replace(group: &hdf5::Group, name: &str, values: &[f64]) -> hdf5::Result<()> {
    group.unlink(name)?;
    output::array(group, name, &Array1::from(values.to_vec()))
}

#[test]
fn numbers_that_were_never_written_are_refused() {
    assert_message(
        |group| {
            group.unlink("I")?;
            let many = group.new_dataset::<f64>().shape(1 << 20);
            many.create("I").map(drop)
        },
        &["/I", "8.0 MiB in 0 bytes", "h5repack"],
    );
}

#[test]
fn errors_name_the_dataset() {
    assert_message(
        |g| text(g, "canSAS_class", "SASnote"),
        &["SASdata", "SASentry"],
    );
    assert_message(|g| g.unlink("I"), &["expected intensities", "sasdata01/I"]);
    assert_message(|g| g.unlink("Q"), &["expected wave vectors", "sasdata01/Q"]);
    assert_message(|g| g.unlink("Idev"), &["expected uncertainties", "Idev"]);
    assert_message(
        |g| replace(g, "Idev", &[1.0; 3]),
        &["Idev", "shape 3", "4 numbers"],
    );
    assert_message(
        |g| replace(g, "Idev", &[1.0, 1.0, -1.0, -1.0]),
        &["point 3", "-1"],
    );
    assert_message(
        |g| replace(g, "Qdev", &[1.0, 1.0, -1.0, -1.0]),
        &["point 3", "dq"],
    );
    assert_message(
        |g| replace(g, "I", &[1.0, f64::NAN, f64::NAN, 1.0]),
        &["point 2", "NaN"],
    );
    assert_message(|g| replace(g, "Q", &[0.0; 4]), &["q > 0"]);
    assert_message(
        |g| text(&*g.dataset("Q")?, "units", "furlong"),
        &["furlong", "sasdata01/Q"],
    );
    assert_message(
        |g| {
            g.unlink("I")?;
            output::text(g, "I", "many")
        },
        &["sasdata01/I", "numbers"],
    );
    assert_message(
        |g| {
            g.unlink("I")?;
            output::array(g, "I", &Array2::<f64>::zeros((2, 2)))
        },
        &["2 x 2", "one number for each q"],
    );
    assert_message(
        |g| {
            g.unlink("I")?;
            let builder = g.new_dataset::<f64>().chunk(1 << 20);
            builder.shape(1_usize << 40).create("I").map(drop)
        },
        &["sasdata01/I"],
    );
}

#[test]
fn other_texts_units_and_names_are_accepted() {
    let read = changed(|g| {
        text(g, "canSAS_class", "SASdata")?;
        text(&*g.dataset("Q")?, "units", "1/nm")?;
        text(&*g.dataset("I")?, "units", "Counts")?;
        text(&*g.dataset("Idev")?, "units", "Counts")?;
        replace(g, "Qdev", &[0.0; 4])
    });
    let Ok(Scattering::Curve(curve)) = read else {
        panic!("{read:?}");
    };
    assert!((curve.q[3] - 0.05).abs() < 1e-17);
    assert_eq!(curve.smearing, None);
    for words in ["1/nm", "Counts", "resolution is zero"] {
        assert!(
            curve.notes.iter().any(|n| n.contains(words)),
            "{:?}",
            curve.notes
        );
    }
}

#[test]
fn axes_of_an_image_are_expanded_to_its_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let scattering = &examples()[5];
    for (first, shape) in [("Qx,Qy", (2, 3)), ("Qy,Qx", (3, 2))] {
        write_hdf5(
            &path,
            &Computed {
                scattering,
                process: &[],
            },
        )
        .unwrap();
        let file = hdf5::File::open_rw(&path).unwrap();
        let g = file.group("sasentry01/sasdata01").unwrap();
        text(&g, "I_axes", first).unwrap();
        replace(&g, "Qx", &[-0.1, 0.1]).unwrap();
        replace(&g, "Qy", &[-0.2, 0.0, 0.2]).unwrap();
        g.unlink("I").unwrap();
        let values = Array2::from_shape_fn(shape, |(r, c)| (10 * r + c) as f64);
        output::array(&g, "I", &values).unwrap();
        drop(g);
        file.close().unwrap();
        let image = read_image(&path, &ReadOptions::default()).unwrap();
        let at = |x: f64, y: f64| {
            let found = (0..6).find(|i| image.qx[*i] == x && image.qy[*i] == y);
            image.intensity[found.unwrap()]
        };
        // The first of I_axes varies more slowly.
        let expected = if first == "Qx,Qy" { 12.0 } else { 21.0 };
        assert_eq!(at(0.1, 0.2), expected);
    }
}

#[test]
fn frames_are_data_sets_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let file = hdf5::File::create(&path).unwrap();
    let entry = file.create_group("entry").unwrap();
    text(&entry, "canSAS_class", "SASentry").unwrap();
    let data = entry.create_group("data").unwrap();
    text(&data, "canSAS_class", "SASdata").unwrap();
    text(&data, "I_axes", "Time,Q").unwrap();
    let table =
        |first: f64| Array2::from_shape_fn((3, 4), |(i, j)| first + 10.0 * i as f64 + j as f64);
    output::array(&data, "Q", &Array1::from(vec![0.1, 0.2, 0.3, 0.4])).unwrap();
    output::array(&data, "I", &table(1.0)).unwrap();
    output::array(&data, "Idev", &table(0.5)).unwrap();
    // HDF5 closes a file when nothing of it is open any more.
    drop((data, entry));
    file.close().unwrap();
    let chosen = |select: Option<&str>| {
        let options = ReadOptions {
            select: select.map(str::to_owned),
            ..ReadOptions::default()
        };
        read_curve(&path, &options)
    };
    let first = chosen(None).unwrap();
    assert_eq!(first.intensity, [1.0, 2.0, 3.0, 4.0]);
    assert!(first.notes[0].contains("3 data sets (1 entry frame 1, 2 entry frame 2"));
    for select in ["3", "entry frame 3"] {
        let third = chosen(Some(select)).unwrap();
        assert_eq!(third.q, [0.1, 0.2, 0.3, 0.4]);
        assert_eq!(third.intensity, [21.0, 22.0, 23.0, 24.0]);
        assert_eq!(third.sigma, Some(vec![20.5, 21.5, 22.5, 23.5]));
    }
    let why = chosen(Some("4")).unwrap_err().to_string();
    assert!(
        why.contains("--select") && why.contains("3 entry frame 3"),
        "{why}"
    );
    // q along the first axis.
    let file = hdf5::File::open_rw(&path).unwrap();
    let data = file.group("entry/data").unwrap();
    text(&data, "I_axes", "Q,Time").unwrap();
    for (name, first) in [("I", 1.0), ("Idev", 0.5)] {
        data.unlink(name).unwrap();
        output::array(&data, name, &table(first).reversed_axes()).unwrap();
    }
    drop(data);
    file.close().unwrap();
    let third = chosen(Some("3")).unwrap();
    assert_eq!(third.intensity, [21.0, 22.0, 23.0, 24.0]);
    assert_eq!(third.sigma, Some(vec![20.5, 21.5, 22.5, 23.5]));
}

/// Other programs tell an image from frames by the ranks of I and of Qx, and find Qx by
/// `Q_indices`.
#[test]
fn a_written_image_has_rows_and_columns_and_a_mask() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let mut image = ScatteringImage {
        qx: Vec::new(),
        qy: Vec::new(),
        intensity: Vec::new(),
        sigma: None,
        resolution: None,
        title: "a".to_owned(),
        notes: Vec::new(),
    };
    for cell in (0..12).filter(|cell| *cell != 5) {
        image.qx.push(0.01 * f64::from(cell % 4));
        image.qy.push(0.02 * f64::from(cell / 4));
        image.intensity.push(f64::from(cell));
    }
    let scattering = Scattering::Image(image.clone());
    let computed = Computed {
        scattering: &scattering,
        process: &[],
    };
    write_hdf5(&path, &computed).unwrap();
    let file = hdf5::File::open(&path).unwrap();
    let data = file.group("sasentry01/sasdata01").unwrap();
    for name in ["I", "Qx", "Qy", "mask"] {
        assert_eq!(data.dataset(name).unwrap().shape(), [3, 4], "{name}");
    }
    let indices = data.attr("Q_indices").unwrap().read_raw::<i64>().unwrap();
    assert_eq!(indices, [0, 1]);
    drop(data);
    file.close().unwrap();
    let back = read_image(&path, &ReadOptions::default()).unwrap();
    assert_eq!(
        (back.qx, back.qy, back.intensity),
        (image.qx, image.qy, image.intensity)
    );
    assert_eq!(back.notes, ["1 of 12 points are masked and left out"]);
}
