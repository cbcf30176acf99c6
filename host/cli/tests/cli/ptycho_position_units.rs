//! Positions in a wrong unit, far away, or not recorded: each error offers what makes them
//! plausible, and what it offers works.

use super::ptycho_pairing::{info, translation};
use super::support::{STARTING, TestFolder, skipped};
use hdf5_metno as hdf5;
use std::path::Path;
use std::sync::PoisonError;

/// The axes of the scan in a file of py4DSTEM.
const AXES: [&str; 2] = ["datacube_root/datacube/dim0", "datacube_root/datacube/dim1"];

/// The extent of the positions along the rows, m.
fn extent(folder: &TestFolder, arguments: &[&str]) -> f64 {
    info(folder, arguments)["extent"][0].as_f64().unwrap()
}

/// Positions (row, column), m, of the simulated scan.
fn positions(folder: &TestFolder) -> Vec<[f64; 2]> {
    let read = warpstride::ptycho::io::scan::read(&folder.path("scan.cxi"), &Default::default());
    let scan = read.unwrap().scan;
    let rows = scan.positions().outer_iter();
    rows.map(|row| [row[0], row[1]]).collect()
}

#[test]
fn positions_within_a_few_object_pixels_are_a_problem() {
    let folder = TestFolder::with_scan();
    let of_scan = info(&folder, &["scan.cxi"]);
    let pixel = of_scan["geometry"]["object_pixel"][0].as_f64().unwrap();
    for (pixels, is_problem) in [(2.0, true), (12.0, false)] {
        let scale = pixels * pixel / extent(&folder, &["scan.cxi"]);
        translation(&folder, "still.cxi", scale, None);
        let problems = info(&folder, &["still.cxi"])["problems"].to_string();
        let words = "object pixels: expected steps of several pixels";
        assert_eq!(problems.contains(words), is_problem, "{problems}");
    }
}

#[test]
fn the_unit_that_is_offered_is_the_plausible_one() {
    let folder = TestFolder::with_scan();
    let expected = extent(&folder, &["scan.cxi"]);
    let same = |arguments: &[&str]| {
        let found = extent(&folder, arguments);
        assert!((found / expected - 1.0).abs() < 1e-9, "{arguments:?}");
    };
    for (stated, scale, unit) in [("um", 1e9, "nm"), ("m", 1e6, "um"), ("nm", 1e3, "mm")] {
        let file = format!("{stated}.cxi");
        translation(&folder, &file, scale, Some(("units", stated)));
        let option = format!("data.units.positions=\"{unit}\"");
        let offered = format!("they would be plausible in {unit}: --set '{option}'");
        let refused = folder.run(&["ptycho", "info", &file]);
        refused.refused(1, &[&file, &offered]);
        same(&[&file, "--set", &option]);
    }
    // A table states the unit in the names of its columns, or by an option.
    let table: String = (positions(&folder).iter())
        .map(|[row, column]| format!("{},{}\n", 1e9 * row, 1e9 * column))
        .collect();
    std::fs::write(folder.path("um.csv"), format!("y_um,x_um\n{table}")).unwrap();
    std::fs::write(folder.path("none.csv"), format!("y,x\n{table}")).unwrap();
    let um = ["scan.cxi", "--positions", "um.csv"];
    let offered = "plausible in nm: --position-unit nm (data.positions.unit)";
    (folder.run(&[&["ptycho", "info"][..], &um].concat())).refused(1, &[offered]);
    let mm = [&um[..], &["--position-unit", "mm"]].concat();
    (folder.run(&[&["ptycho", "info"][..], &mm].concat()))
        .refused(2, &["--position-unit mm: ", "likely cause", offered]);
    same(&[&um[..], &["--position-unit", "nm"]].concat());
    let none = ["ptycho", "info", "scan.cxi", "--positions", "none.csv"];
    (folder.run(&none)).refused(2, &["are they in nm, ", "(--position-unit nm)"]);
    // The step of a raster has its unit with it.
    let raster = [
        "ptycho", "info", "scan.cxi", "--raster", "3x4", "--step", "5mm",
    ];
    (folder.run(&raster)).refused(2, &["--step 5mm: ", "would be plausible (--step"]);
}

#[test]
fn positions_that_are_far_away_or_not_recorded_can_be_left_out() {
    let folder = TestFolder::with_scan();
    let write = |name: &str, change: &dyn Fn(usize, [f64; 2]) -> String| {
        let lines: String = (positions(&folder).iter().enumerate())
            .map(|(frame, at)| change(frame, at.map(|metres| 1e6 * metres)))
            .collect();
        std::fs::write(folder.path(name), format!("y_um,x_um\n{lines}")).unwrap();
    };
    write("nan.csv", &|frame, [row, column]| match frame {
        3 => format!("nan,{column}\n"),
        7 | 8 => format!(",{column}\n"),
        _ => format!("{row},{column}\n"),
    });
    write("far.csv", &|frame, [row, column]| match frame {
        5 => format!("1e6,{column}\n"),
        _ => format!("{row},{column}\n"),
    });
    for (table, frames, left, words) in [
        (
            "nan.csv",
            "3,7-8",
            9,
            "nan.csv: positions: expected finite positions of all frames",
        ),
        (
            "far.csv",
            "5",
            11,
            "the position of frame 5 is far from the others",
        ),
    ] {
        let arguments = ["scan.cxi", "--positions", table];
        let refused = folder.run(&[&["ptycho", "info"][..], &arguments].concat());
        refused.refused(1, &[words, &format!("--exclude {frames}")]);
        let said = info(&folder, &[&arguments[..], &["--exclude", frames]].concat());
        assert_eq!(said["frames"], left, "{said}");
    }
}

/// A voltage, which changes the wavelength little, is not blamed for the unit of an axis.
#[test]
fn the_unit_of_an_axis_is_offered_and_no_voltage_blamed() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trials/ptycho");
    let original = shared.join("c2.h5");
    if !original.is_file() {
        skipped("the unit of an axis", "../shared/data/trials is not there");
        return;
    }
    let folder = TestFolder::new();
    std::fs::write(folder.path("a.h5"), std::fs::read(&original).unwrap()).unwrap();
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open_rw(folder.path("a.h5")).unwrap();
        for axis in AXES {
            let dataset = file.dataset(axis).unwrap();
            dataset.delete_attr("units").unwrap();
            let unit: hdf5::types::VarLenUnicode = "um".parse().unwrap();
            let attribute = dataset.new_attr::<hdf5::types::VarLenUnicode>();
            attribute
                .create("units")
                .unwrap()
                .write_scalar(&unit)
                .unwrap();
        }
    }
    let arguments = ["a.h5", "--voltage", "300kV"];
    let refused = folder.run(&[&["ptycho", "info"][..], &arguments].concat());
    refused.refused(
        1,
        &[
            "a.h5: ",
            "they would be plausible in ",
            "data.units.positions=",
        ],
    );
    assert!(!refused.err.contains("--voltage"), "{refused:?}");
    let (_, remedy) = refused.err.split_once("--set '").unwrap();
    let (option, _) = remedy.split_once('\'').unwrap();
    let said = info(&folder, &[&arguments[..], &["--set", option]].concat());
    let problems = said["problems"].to_string();
    assert!(!problems.contains("would be plausible"), "{said}");
}
