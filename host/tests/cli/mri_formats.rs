//! Files of other programs: samples and images as arrays of BART.

use super::mri_raw::reconstruct;
use super::support::TestFolder;
use ndarray::Array3;
use num_complex::Complex;
use warpstride::io::cfl;
use warpstride::mri::io::images;
use warpstride::mri::io::ismrmrd::{self, ReadOptions};

/// The same image and imaginary zeros as in files of either kind.
pub(crate) fn bits(image: &Array3<Complex<f64>>) -> Vec<[u64; 2]> {
    let bits = image.iter().map(|v| [v.re.to_bits(), v.im.to_bits()]);
    bits.collect()
}

fn dimensions(of: &[usize]) -> [usize; cfl::DIMENSIONS] {
    let mut all = [1; cfl::DIMENSIONS];
    all[..of.len()].copy_from_slice(of);
    all
}

/// Simulates `phantom.h5`, 32 × 32, and writes its samples as `ksp.cfl` and `traj.cfl`.
fn samples_of_both_kinds(folder: &TestFolder) {
    let size = [
        "--matrix", "32", "--coils", "3", "--spokes", "30", "--quiet",
    ];
    folder
        .run(&[&["mri", "simulate", "phantom.h5"], &size[..]].concat())
        .well();
    let kspace = ismrmrd::read(&folder.path("phantom.h5"), &ReadOptions::default())
        .unwrap()
        .kspace;
    let length = kspace.count() / 30;
    let samples = kspace.samples().iter().copied();
    let sides = dimensions(&[1, length, 30, 3]);
    cfl::write(&folder.path("ksp.cfl"), &sides, samples).unwrap();
    let positions = kspace.trajectory().rows().into_iter();
    let positions = positions.flat_map(|k| [k[0] * 32.0, k[1] * 32.0, 0.0]);
    let positions: Vec<_> = positions.map(Complex::from).collect();
    let sides = dimensions(&[3, length, 30]);
    cfl::write(&folder.path("traj.cfl"), &sides, positions).unwrap();
}

/// The matrix is a power of two, so that the positions in both units have the same digits.
#[test]
fn arrays_of_bart_give_the_image_of_the_same_samples() {
    let folder = TestFolder::new();
    samples_of_both_kinds(&folder);
    reconstruct(&folder, "phantom.h5", &[]).well();
    let expected = images::read(&folder.path("out.h5")).unwrap();
    let options = |out| {
        let fixed = ["mri", "reconstruct", "ksp.cfl", "--trajectory", "traj.cfl"];
        [&fixed[..], &["--backend", "cpu", "-o", out]].concat()
    };
    let output = folder.run(&[&options("image.cfl")[..], &["--matrix", "32x32"]].concat());
    output.well();
    assert!(output.out.contains("image.hdr"), "{}", output.out);
    let found = images::read(&folder.path("image.cfl")).unwrap();
    assert_eq!(bits(&found), bits(&expected));
    // The matrix follows from the trajectory; maps, and the image as a reference, are arrays too.
    let maps = images::read_coil_maps(
        &folder.path("out.h5"),
        warpstride::system::Memory::available(),
    );
    let sides = dimensions(&[32, 32, 1, 3]);
    cfl::write(&folder.path("maps.cfl"), &sides, maps.unwrap()).unwrap();
    let given = [
        "--coil-maps",
        "maps.cfl",
        "--reference",
        "image.cfl",
        "--summary",
        "s.json",
    ];
    let output = folder.run(&[&options("again.h5")[..], &given].concat());
    output.well();
    assert!(
        output.out.contains("the matrix is 32 x 32"),
        "{}",
        output.out
    );
    let again = images::read(&folder.path("again.h5")).unwrap();
    assert_eq!(bits(&again), bits(&expected));
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(found["nrmse"].as_f64().unwrap() < 1e-7, "{found}");
    assert_eq!(found["inputs"].as_array().unwrap().len(), 4, "{found}");

    let info = [
        "mri",
        "info",
        "ksp.cfl",
        "--trajectory",
        "traj.cfl",
        "--json",
    ];
    let output = folder.run(&info);
    output.well();
    let found: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(
        (&found["readouts"], &found["coils"]),
        (&30.into(), &3.into())
    );
    assert_eq!(found["matrix"], serde_json::json!([1, 32, 32]));
}

#[test]
fn arrays_of_bart_with_other_options_are_refused() {
    let folder = TestFolder::new();
    samples_of_both_kinds(&folder);
    let names = folder.names();
    for (options, words) in [
        (
            &["ksp.cfl"][..],
            &["--trajectory", "ksp.cfl", "Cartesian"][..],
        ),
        (
            &["ksp.cfl", "--trajectory", "traj.h5"],
            &["traj.h5", ".cfl"],
        ),
        (
            &["ksp.cfl", "--trajectory", "traj.cfl", "--matrix", "32"],
            &["--matrix 32: expected ROWSxCOLUMNS"],
        ),
        (
            &["ksp.cfl", "--trajectory", "traj.cfl", "--group", "a"],
            &["--group a", "ksp.cfl"],
        ),
        (
            &["phantom.h5", "--matrix", "32x32"],
            &["--matrix 32x32", "phantom.h5"],
        ),
        (
            &["phantom.h5", "--trajectory", "traj.cfl"],
            &["--trajectory traj.cfl"],
        ),
    ] {
        let fixed = ["-o", "out.h5", "--backend", "cpu"];
        let all = [&["mri", "reconstruct"], options, &fixed].concat();
        folder.run(&all).refused(2, words);
        folder
            .run(&[&["mri", "info"], options].concat())
            .refused(2, words);
    }
    let fixed = ["mri", "reconstruct", "ksp.cfl", "--trajectory", "traj.cfl"];
    for (out, words) in [
        (
            "ksp.cfl",
            "-o ksp.cfl: expected another name than the input ksp.cfl",
        ),
        ("traj.cfl", "the input traj.cfl"),
    ] {
        folder
            .run(&[&fixed[..], &["-o", out]].concat())
            .refused(2, &[words]);
    }
    std::fs::remove_file(folder.path("traj.hdr")).unwrap();
    let words = [
        "traj.hdr: cannot be read",
        "the dimensions of traj.cfl are in it",
    ];
    folder
        .run(&[&fixed[..], &["-o", "out.h5"]].concat())
        .refused(1, &words);
    std::fs::write(folder.path("traj.hdr"), "# Dimensions\n1000000000 9\n").unwrap();
    folder
        .run(&[&fixed[..], &["-o", "out.h5"]].concat())
        .refused(1, &["traj.cfl: expected 72000000000 bytes", "truncated"]);
    assert_eq!(folder.names(), names);
}
