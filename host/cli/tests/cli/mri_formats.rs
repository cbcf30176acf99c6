//! Files of other programs: samples and images as BART arrays.

use super::mri_raw::{RawFile, reconstruct};
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
fn bart_arrays_give_the_image_of_the_same_samples() {
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

/// The maps of the second slice are twice those of the first, and so its image is half of it,
/// exactly.
#[test]
fn maps_of_several_slices_are_those_of_their_slice() {
    let folder = TestFolder::new();
    samples_of_both_kinds(&folder);
    let kspace = ismrmrd::read(&folder.path("phantom.h5"), &ReadOptions::default());
    let samples = kspace.unwrap().kspace.samples().clone();
    let memory = warpstride::system::Memory::available();
    let maps = images::read_coil_maps(&folder.path("phantom.h5"), memory).unwrap();
    let mut sides = dimensions(&[1, samples.ncols() / 30, 30, 3]);
    sides[13] = 2;
    let twice = samples.iter().chain(&samples).copied();
    cfl::write(&folder.path("ksp.cfl"), &sides, twice).unwrap();
    let mut sides = dimensions(&[32, 32, 1, 3]);
    sides[13] = 2;
    let both = maps.iter().copied().chain(maps.iter().map(|v| v * 2.0));
    cfl::write(&folder.path("maps.cfl"), &sides, both).unwrap();
    let run = |options: &[&str]| {
        let fixed = ["mri", "reconstruct", "ksp.cfl", "--trajectory", "traj.cfl"];
        let maps = ["--backend", "cpu", "--coil-maps", "maps.cfl"];
        folder.run(&[&fixed, &maps[..], options].concat())
    };
    run(&["--select", "slice=all", "-o", "both.npy"]).well();
    let both = images::read_images_within(&folder.path("both.npy"), memory).unwrap();
    let [first, second] = [0, 1].map(|slice| both.index_axis(ndarray::Axis(0), slice));
    assert!(first.iter().any(|v| v.norm() > 0.1));
    assert!(first.iter().zip(&second).all(|(a, b)| *a == b * 2.0));
    run(&["--select", "slice=1", "-o", "one.npy"]).well();
    let one = images::read(&folder.path("one.npy")).unwrap();
    assert!(one.iter().eq(second.iter()));
    sides[13] = 1;
    cfl::write(&folder.path("maps.cfl"), &sides, maps.iter().copied()).unwrap();
    let output = run(&["--select", "slice=all", "-o", "both.npy"]);
    output.well();
    let note = "the coil maps of maps.cfl are those of every slice";
    assert!(output.out.contains(note), "{}", output.out);
    sides[10] = 2;
    let twice = maps.iter().chain(&maps).copied();
    cfl::write(&folder.path("maps.cfl"), &sides, twice).unwrap();
    run(&["-o", "out.h5"]).refused(1, &["maps.cfl", "(SLICE, dimension 13)"]);
}

#[test]
fn bart_arrays_with_other_options_are_refused() {
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

/// Writes `raw.h5` with two repetitions of two slices, whose acquisitions are interleaved.
fn four_images(folder: &TestFolder) -> RawFile {
    let mut raw = RawFile::valid();
    let spokes = std::mem::take(&mut raw.acquisitions);
    for (number, spoke) in spokes.into_iter().enumerate() {
        for (repetition, slice) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut spoke = spoke.clone();
            (spoke.head.idx.slice, spoke.head.idx.repetition) = (slice, repetition);
            let scale = f32::from(1 + slice + 2 * repetition);
            spoke.edit_data(|data| {
                for (at, value) in data.iter_mut().enumerate() {
                    *value *= scale + (number * at) as f32 / 100.0 * scale * scale;
                }
            });
            raw.acquisitions.push(spoke);
        }
    }
    raw.write(folder);
    raw
}

/// Every image of a file in one run is the image of a run of its own, to the bit, in every format.
#[test]
fn several_images_of_one_run_are_those_of_single_runs() {
    let folder = TestFolder::new();
    let mut raw = four_images(&folder);
    let singles: Vec<_> = [
        "0,repetition=0",
        "1,repetition=0",
        "0,repetition=1",
        "1,repetition=1",
    ]
    .iter()
    .map(|select| {
        let select = format!("slice={select}");
        reconstruct(&folder, "raw.h5", &["--select", &select]).well();
        bits(&images::read(&folder.path("out.h5")).unwrap())
    })
    .collect();
    assert!(singles.windows(2).all(|pair| pair[0] != pair[1]));
    let run = |options: &[&str]| {
        let fixed = [
            "mri",
            "reconstruct",
            "raw.h5",
            "--backend",
            "cpu",
            "--select",
        ];
        folder.run(&[&fixed, options].concat())
    };
    let read = |name: &str| {
        let memory = warpstride::system::Memory::available();
        images::read_images_within(&folder.path(name), memory).unwrap()
    };
    let in_order = |name: &str, order: [usize; 4]| {
        let values: Vec<_> = read(name).iter().copied().collect();
        for (found, expected) in values.chunks(64).zip(order) {
            let found = Array3::from_shape_vec((1, 8, 8), found.to_vec()).unwrap();
            assert_eq!(bits(&found), singles[expected], "{name} {expected}");
        }
    };
    let further = [
        "--png",
        "p.png",
        "--report",
        "r.html",
        "--summary",
        "s.json",
    ];
    let output = run(&[&["all", "-o", "all.h5"], &further[..]].concat());
    output.well();
    assert!(
        output.out.contains("slice 1, repetition 0: 192 samples, "),
        "{}",
        output.out
    );
    assert_eq!(read("all.h5").shape(), [4, 8, 8]);
    in_order("all.h5", [0, 1, 2, 3]);
    for name in [
        "p-slice0-repetition0.png",
        "p-slice1-repetition1.png",
        "r.html",
    ] {
        assert!(folder.path(name).exists(), "{name}");
    }
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["images"][2]["repetition"], 1);
    assert_eq!(
        (&found["samples"], &found["images"][2]["samples"]),
        (&768.into(), &192.into())
    );
    assert_eq!(found["outputs"].as_array().unwrap().len(), 7);
    // Repetitions run fastest in a BART array, in which slices have a higher dimension.
    run(&["all", "-o", "all.npy"]).well();
    in_order("all.npy", [0, 1, 2, 3]);
    run(&["all", "-o", "all.cfl", "--reference", "all.npy"]).well();
    in_order("all.cfl", [0, 2, 1, 3]);
    let header = std::fs::read_to_string(folder.path("all.hdr")).unwrap();
    assert_eq!(header, "# Dimensions\n8 8 1 1 1 1 1 1 1 1 2 1 1 2 1 1\n");
    run(&["all", "-o", "all.nii"]).well();
    let bytes = std::fs::read(folder.path("all.nii")).unwrap();
    let sides: Vec<u8> = (0..5).map(|axis| bytes[40 + 2 * axis]).collect();
    assert_eq!(
        (sides, bytes.len()),
        (vec![4, 8, 8, 2, 2], 352 + 4 * 4 * 64)
    );
    // Some of them: one slice, and a file with one image less.
    run(&["all,slice=1", "-o", "some.npy"]).well();
    in_order("some.npy", [1, 3, 0, 0]);
    let output = folder.run(&["mri", "info", "raw.h5", "--select", "all", "--json"]);
    output.well();
    let found: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(
        (
            found["images"].as_array().unwrap().len(),
            &found["readouts"]
        ),
        (4, &12.into())
    );
    raw.acquisitions
        .retain(|of| of.head.idx.slice == 0 || of.head.idx.repetition == 0);
    raw.write(&folder);
    run(&["all", "-o", "three.cfl"]).refused(1, &["three.cfl", "4 combinations", "found 3"]);
    run(&["all", "-o", "three.npy"]).well();
    in_order("three.npy", [0, 1, 2, 0]);
}

/// With `--coil-maps-once` the second repetition has the maps of the first, which a file may hold
/// as well.
#[test]
fn repetitions_may_share_the_coil_maps_of_their_slice() {
    let folder = TestFolder::new();
    four_images(&folder);
    let run = |options: &[&str]| {
        let fixed = ["mri", "reconstruct", "raw.h5", "--backend", "cpu"];
        let further = ["--coil-maps", "walsh", "--precision", "f64"];
        folder.run(&[&fixed, &further[..], options].concat())
    };
    let memory = warpstride::system::Memory::available();
    let read = |name: &str| images::read_images_within(&folder.path(name), memory).unwrap();
    run(&["--select", "slice=1", "-o", "first.h5"]).well();
    let maps = ["--coil-maps", "first.h5"];
    let second = ["--select", "slice=1,repetition=1", "-o", "second.npy"];
    let fixed = ["mri", "reconstruct", "raw.h5", "--backend", "cpu"];
    let precision = ["--precision", "f64"];
    folder
        .run(&[&fixed[..], &precision, &maps, &second].concat())
        .well();
    let output = run(&["--select", "all", "--coil-maps-once", "-o", "all.npy"]);
    output.well();
    let note = "the coil maps of each slice are those of its first image (--coil-maps-once)";
    assert_eq!(output.out.matches(note).count(), 1, "{}", output.out);
    run(&["--select", "all", "-o", "own.npy"]).well();
    let (all, own, second) = (read("all.npy"), read("own.npy"), read("second.npy"));
    type Images = ndarray::ArrayD<num_complex::Complex<f64>>;
    let image = |of: &Images, at: usize| of.index_axis(ndarray::Axis(0), at).to_owned();
    let difference = |a: &Images, b: &Images| {
        let d = a.iter().zip(b).map(|(a, b)| (a - b).norm_sqr());
        (d.sum::<f64>() / a.iter().map(|a| a.norm_sqr()).sum::<f64>()).sqrt()
    };
    assert_eq!(image(&all, 1), image(&own, 1));
    let of_file = difference(&image(&all, 3), &second);
    let of_own = difference(&image(&own, 3), &second);
    assert!(
        of_file < 1e-4 && of_own > 100.0 * of_file,
        "{of_file} {of_own}"
    );
    let output = run(&["--coil-maps-once", "-o", "one.npy"]);
    let note = "--coil-maps-once has no effect: there is one image";
    assert!(output.out.contains(note), "{}", output.out);
    folder
        .run(&[&fixed[..], &maps, &["--coil-maps-once", "-o", "x.npy"]].concat())
        .refused(2, &["--coil-maps-once", "found --coil-maps first.h5"]);
}

/// The images that are there are kept: after Ctrl-C in the second, and where one has no signal.
#[cfg(unix)]
#[test]
fn images_are_kept_if_a_later_one_is_not_computed() {
    let folder = TestFolder::new();
    let mut raw = four_images(&folder);
    let options = [
        "mri",
        "reconstruct",
        "raw.h5",
        "--backend",
        "cpu",
        "--select",
        "all",
    ];
    let long = [
        "--iterations",
        "3000",
        "--min-residual",
        "0",
        "--json-progress",
    ];
    let output = folder.interrupt_at(
        folder
            .command()
            .args(options)
            .args(["-o", "some.h5"])
            .args(long),
        "\"start\",\"image\":2",
    );
    assert_eq!(output.code, Some(130), "{output:?}");
    for words in [
        "stopped in image 2 of 4 after",
        "2 of 4 images are in some.h5",
    ] {
        assert!(output.err.contains(words), "{}", output.err);
    }
    let memory = warpstride::system::Memory::available();
    let shape = |name: &str| images::read_images_within(&folder.path(name), memory).unwrap();
    assert_eq!(shape("some.h5").shape(), [2, 8, 8]);
    for acquisition in &mut raw.acquisitions {
        if acquisition.head.idx.repetition == 1 {
            acquisition.edit_data(|data| data.fill(0.0));
        }
    }
    raw.write(&folder);
    let output = folder.run(&[&options[..], &["-o", "two.cfl", "--quiet"]].concat());
    output.refused(
        1,
        &[
            "expected signal",
            "(slice 0, repetition 1)",
            "2 of 4 images are in two.cfl",
        ],
    );
    assert_eq!(
        shape("two.cfl").iter().filter(|v| v.norm() == 0.0).count(),
        128
    );
}
