//! `ptycho export`, and positions that are read from other files.

use super::support::TestFolder;
use ndarray::Ix2;
use warpstride::io::npy;
use warpstride::ptycho::io::results;

#[test]
fn exported_positions_and_objects_are_those_of_the_result() {
    let folder = TestFolder::with_scan();
    let run = |output: &str, options: &[&str]| {
        let fixed = ["-o", output, "--engine", "dm:3", "--no-pictures", "--quiet"];
        folder.reconstruct(&[&fixed[..], options].concat()).well();
        results::read(&folder.path(output)).unwrap()
    };
    let first = run("a.h5", &[]);
    folder
        .run(&[
            "ptycho",
            "export",
            "a.h5",
            "--object",
            "o.npy",
            "--phase",
            "p.tif",
            "--positions",
            "p.csv",
        ])
        .well();
    let object = npy::complex::read(&folder.path("o.npy")).unwrap();
    assert_eq!(object.into_dimensionality::<Ix2>().unwrap(), first.object);
    let phase = tiff(&folder.path("p.tif"));
    let expected: Vec<f32> = first.object.iter().map(|v| v.arg() as f32).collect();
    assert_eq!(phase, expected);
    let again = run("b.h5", &["--positions", "p.csv"]);
    assert_eq!(again.object, first.object);
    let text = std::fs::read_to_string(folder.path("p.csv")).unwrap();
    let bare = text.replacen("frame,y_m,x_m,", "frame,y,x,", 1);
    std::fs::write(folder.path("bare.csv"), bare).unwrap();
    let asked = folder.run(&["ptycho", "info", "scan.cxi", "--positions", "bare.csv"]);
    asked.refused(2, &["--positions bare.csv", "are they in m, mm, um or nm?"]);
    let none = folder.run(&["ptycho", "export", "a.h5"]);
    none.refused(2, &["at least one of --object"]);
    let same = folder.run(&["ptycho", "export", "a.h5", "--object", "a.h5"]);
    same.refused(2, &["a.h5"]);
}

/// The pixels of a TIFF image.
fn tiff(path: &std::path::Path) -> Vec<f32> {
    let file = warpstride_formats::open(path).unwrap();
    let mut values = vec![0.0; file.shape().iter().product()];
    file.read(0..1, &mut values).unwrap();
    values
}
