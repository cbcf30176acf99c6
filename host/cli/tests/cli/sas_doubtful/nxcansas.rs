//! NXcanSAS: units of uncertainties, masks and factors.

use super::super::support::{STARTING, TestFolder};
use super::{info, remarks, sphere};
use hdf5_metno as hdf5;
use hdf5_metno::types::VarLenUnicode;
use serde_json::Value;
use std::sync::PoisonError;

fn attribute(on: &hdf5::Location, name: &str, value: &str) {
    let _ = on.delete_attr(name);
    let text: VarLenUnicode = value.parse().unwrap();
    let made = on.new_attr::<VarLenUnicode>().create(name).unwrap();
    made.write_scalar(&text).unwrap();
}

/// `a.h5` with the file `a.txt` as NXcanSAS, after `change` of its group of data.
fn file(folder: &TestFolder, change: impl FnOnce(&hdf5::Group)) {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::create(folder.path("a.h5")).unwrap();
    let entry = file.create_group("sasentry01").unwrap();
    attribute(&entry, "canSAS_class", "SASentry");
    let data = entry.create_group("sasdata01").unwrap();
    attribute(&data, "canSAS_class", "SASdata");
    for (column, (name, unit)) in [
        ("Q", "1/angstrom"),
        ("I", "1/cm"),
        ("Idev", "1/cm"),
        ("Qdev", "1/angstrom"),
    ]
    .iter()
    .enumerate()
    {
        let values: Vec<f64> = sphere()
            .iter()
            .map(|row| row.get(column).copied().unwrap_or(0.1 * row[0]))
            .collect();
        let made = data
            .new_dataset_builder()
            .with_data(&values)
            .create(*name)
            .unwrap();
        attribute(&made, "units", unit);
    }
    change(&data);
}

fn dataset(data: &hdf5::Group, name: &str) -> hdf5::Dataset {
    data.dataset(name).unwrap()
}

#[test]
fn units_of_uncertainties_and_widths_are_converted() {
    let folder = TestFolder::new();
    file(&folder, |_| ());
    let usual = info(&folder, "a.h5");
    file(&folder, |data| {
        attribute(&dataset(data, "Idev"), "units", "1/m")
    });
    let found = info(&folder, "a.h5");
    let median = |of: &Value| of["relative_uncertainty"][1].as_f64().unwrap();
    assert!(
        (median(&found) / median(&usual) - 0.01).abs() < 1e-9,
        "{found}"
    );
    file(&folder, |data| {
        attribute(&dataset(data, "Qdev"), "units", "1/nm")
    });
    let share = |of: &Value| of["resolution"]["relative"][0].as_f64().unwrap();
    assert!((share(&info(&folder, "a.h5")) / share(&usual) - 0.1).abs() < 1e-9);
    file(&folder, |data| {
        attribute(&dataset(data, "Idev"), "units", "counts")
    });
    let output = folder.run(&["sas", "info", "a.h5"]);
    output.refused(
        1,
        &[
            "a.h5: the unit of /sasentry01/sasdata01/Idev: expected that of I",
            "counts",
        ],
    );
}

#[test]
fn masked_points_are_left_out() {
    let folder = TestFolder::new();
    let mask: Vec<i8> = (0..40).map(|i| i8::from(i < 15)).collect();
    for named in [true, false] {
        file(&folder, |data| {
            let name = if named { "ignored" } else { "mask" };
            data.new_dataset_builder()
                .with_data(&mask)
                .create(name)
                .unwrap();
            if named {
                attribute(data, "mask", name);
            }
        });
        let found = info(&folder, "a.h5");
        assert_eq!(found["points"], 25);
        assert_eq!(found["q"][0], sphere()[15][0]);
        assert!(remarks(&folder, "a.h5").contains("15 of 40 points are masked"));
    }
    file(&folder, |data| {
        data.new_dataset_builder()
            .with_data(&[2_i8; 40])
            .create("mask")
            .unwrap();
    });
    let output = folder.run(&["sas", "info", "a.h5"]);
    output.refused(
        1,
        &["mask, point 1: expected 0 (used) or 1 (ignored), found 2"],
    );
}

#[test]
fn a_scaling_factor_is_refused() {
    let folder = TestFolder::new();
    file(&folder, |data| {
        let made = dataset(data, "I")
            .new_attr::<f64>()
            .create("scaling_factor")
            .unwrap();
        made.write_scalar(&100.0).unwrap();
    });
    let output = folder.run(&["sas", "info", "a.h5"]);
    output.refused(
        1,
        &["scaling_factor of /sasentry01/sasdata01/I: expected none, or 1, found 100"],
    );
    file(&folder, |data| {
        data.new_dataset_builder()
            .with_data(&[3.0])
            .create("factor")
            .unwrap();
        attribute(&dataset(data, "I"), "scaling_factor", "factor");
    });
    let output = folder.run(&["sas", "info", "a.h5"]);
    output.refused(1, &["scaling_factor", "found 3"]);
    file(&folder, |data| {
        attribute(&dataset(data, "I"), "scaling_factor", "1.0")
    });
    assert_eq!(info(&folder, "a.h5")["points"], 40);
}

/// Each frame of a long series can be selected.
#[test]
fn frames_beyond_a_thousand_can_be_selected() {
    let folder = TestFolder::new();
    let frames = 1500;
    file(&folder, |data| {
        attribute(data, "I_axes", "Time,Q");
        let rows: Vec<f64> = (0..frames)
            .flat_map(|frame| {
                sphere()
                    .into_iter()
                    .map(move |row| row[1] + f64::from(frame))
            })
            .collect();
        let shape = (frames as usize, rows.len() / frames as usize);
        for (name, factor) in [("I", 1.0), ("Idev", 0.1), ("Qdev", 0.001)] {
            data.unlink(name).unwrap();
            let values: Vec<f64> = rows.iter().map(|v| factor * v).collect();
            let made = data.new_dataset::<f64>().shape(shape).create(name).unwrap();
            made.write_raw(&values).unwrap();
            let unit = if name == "Qdev" { "1/angstrom" } else { "1/cm" };
            attribute(&made, "units", unit);
        }
    });
    let of = |select: &str| {
        let output = folder.run(&["sas", "info", "a.h5", "--select", select, "--json"]);
        assert_eq!(output.code, Some(0), "{output:?}");
        let found: Value = serde_json::from_str(&output.out).unwrap();
        found["intensity"][0].as_f64().unwrap()
    };
    assert!((of("1500") - of("1") - 1499.0).abs() < 1e-6);
    let beyond = folder.run(&["sas", "info", "a.h5", "--select", "1501"]);
    beyond.refused(1, &["--select", "found 1501"]);
}
