//! Samples, coil maps, references and fields that cannot be right are named or refused.

use super::mri_raw::{RawFile, reconstruct};
use super::support::TestFolder;
use ndarray::{Array2, Array3, ArrayD, Axis};
use num_complex::Complex;
use warpstride::io::npy;
use warpstride::mri::io::images;

fn summary(folder: &TestFolder) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(folder.path("s.json")).unwrap()).unwrap()
}

#[test]
fn doubtful_samples_are_named_by_reconstruct_as_by_info() {
    for (factor, expected) in [
        (0.4, "|kx| reaches only 0.200 cycles/pixel"),
        (0.0, "kx is 0 everywhere: nothing is encoded along it"),
    ] {
        let folder = TestFolder::new();
        let mut raw = RawFile::valid();
        for acquisition in &mut raw.acquisitions {
            acquisition.edit_trajectory(|k| k.iter_mut().for_each(|k| *k *= factor));
        }
        raw.write(&folder);
        let outputs = [
            "--coil-maps",
            "none",
            "--summary",
            "s.json",
            "--report",
            "r.html",
        ];
        let output = reconstruct(&folder, "raw.h5", &outputs);
        output.well();
        assert!(
            output.out.contains(&format!("warning: {expected}")),
            "{output:?}"
        );
        let summary = summary(&folder);
        assert!(
            summary["problems"].to_string().contains(expected),
            "{summary}"
        );
        let report = std::fs::read_to_string(folder.path("r.html")).unwrap();
        assert!(report.contains("Doubtful data") && report.contains(expected));
        let info = folder.run(&["mri", "info", "raw.h5"]);
        assert!(info.out.contains(expected), "{info:?}");
    }
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    let outputs = ["--coil-maps", "none", "--summary", "s.json"];
    let output = reconstruct(&folder, "raw.h5", &outputs);
    assert!(!output.out.contains("warning"), "{output:?}");
    assert_eq!(summary(&folder)["problems"], serde_json::json!([]));
}

/// The image of a changed file with these options, what the reconstruction says, and what `info`
/// says.
pub(super) fn image_of(
    change: &dyn Fn(&mut RawFile),
    options: &[&str],
) -> (Array3<Complex<f64>>, [String; 2]) {
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    change(&mut raw);
    raw.write(&folder);
    let all = [&["--coil-maps", "none"], options].concat();
    let output = reconstruct(&folder, "raw.h5", &all);
    output.well();
    let info = folder.run(&[&["mri", "info", "raw.h5"], options].concat());
    let values = images::read(&folder.path("out.h5")).unwrap();
    (values, [[output.err, output.out].concat(), info.out])
}

/// The image is that of a file without these readouts.
#[test]
fn readouts_with_nan_are_left_out() {
    let without = |raw: &mut RawFile| {
        raw.acquisitions.remove(7);
        raw.acquisitions.remove(4);
    };
    let (expected, _) = image_of(&without, &[]);
    let bad_samples = |raw: &mut RawFile| {
        raw.acquisitions[4].edit_data(|d| d[33] = f32::NAN);
        raw.acquisitions[7].edit_data(|d| d[0] = f32::INFINITY);
    };
    let bad_positions = |raw: &mut RawFile| {
        raw.acquisitions[4].edit_trajectory(|k| k[9] = f32::NAN);
        raw.acquisitions[7].edit_trajectory(|k| k[0] = f32::INFINITY);
    };
    for (change, what) in [
        (&bad_samples as &dyn Fn(&mut RawFile), "samples"),
        (&bad_positions, "positions"),
    ] {
        let (found, texts) = image_of(change, &[]);
        assert_eq!(found, expected);
        let note = format!(
            "10 of 12 acquisitions are used; left out: 2 acquisitions with {what} that are NaN or infinite"
        );
        for text in texts {
            assert!(text.contains(&note), "{text}");
        }
    }
}

/// One NaN in every readout of coil 1 does not empty the scan.
#[test]
fn coils_of_nan_are_set_to_zero_or_excluded() {
    let nan = |raw: &mut RawFile| {
        for acquisition in &mut raw.acquisitions {
            acquisition.edit_data(|d| d[33] = f32::NAN);
        }
    };
    let zero = |raw: &mut RawFile| {
        for acquisition in &mut raw.acquisitions {
            acquisition.edit_data(|d| d[32..].fill(0.0));
        }
    };
    let (found, texts) = image_of(&nan, &[]);
    assert_eq!(found, image_of(&zero, &[]).0);
    for text in texts {
        let note = "coil 1: NaN or infinite in most readouts; all samples are set to 0 (--exclude-coils 1 leaves them out)";
        assert!(text.contains(note), "{text}");
    }
    // A coil that is excluded costs no readout, whether it is NaN in all of them or in a few.
    let few = |raw: &mut RawFile| {
        for acquisition in &mut raw.acquisitions[..5] {
            acquisition.edit_data(|d| d[33] = f32::NAN);
        }
    };
    let (expected, _) = image_of(&|_| (), &["--exclude-coils", "1"]);
    for change in [&nan as &dyn Fn(&mut RawFile), &few] {
        let (found, texts) = image_of(change, &["--exclude-coils", "1"]);
        assert_eq!(found, expected);
        for text in texts {
            assert!(text.contains("coil 1 of 2 is excluded"), "{text}");
            assert!(!text.contains("left out"), "{text}");
            assert!(!text.contains("set to 0"), "{text}");
        }
    }
}

/// A coil without numbers in a part of the readouts costs these, and is named.
#[test]
fn a_coil_of_nan_in_some_readouts_is_named() {
    let some = |raw: &mut RawFile| {
        for acquisition in &mut raw.acquisitions[..4] {
            acquisition.edit_data(|d| d[33] = f32::NAN);
        }
    };
    for text in image_of(&some, &[]).1 {
        let note = "4 acquisitions with samples of coil 1 that are NaN or infinite (--exclude-coils 1 keeps them";
        assert!(text.contains(note), "{text}");
    }
}

/// Two partitions of sixteen.
#[test]
fn few_partitions_of_a_stack_are_named() {
    for (partitions, times) in [
        (&[3_u8, 11][..], Some("2 values for 16 slices")),
        (&[2, 6, 10, 14], None),
    ] {
        let folder = TestFolder::new();
        let mut raw = RawFile::valid();
        raw.xml = Some(super::mri_raw::header("8", "8", "16"));
        let stack = partitions.iter().flat_map(|partition| {
            raw.acquisitions.iter().map(|plane| {
                let mut spoke = plane.clone();
                let kz = (f32::from(*partition) - 8.0) / 16.0;
                spoke.head.trajectory_dimensions = 3;
                spoke.edit_trajectory(|k| {
                    *k = k.chunks(2).flat_map(|k| [k[0], k[1], kz]).collect();
                });
                spoke
            })
        });
        raw.acquisitions = stack.collect();
        raw.write(&folder);
        let info = folder.run(&["mri", "info", "raw.h5"]);
        info.well();
        let found = info.out.contains("undersampled") && info.out.contains("kz has only");
        assert_eq!(found, times.is_some(), "{info:?}");
        assert!(info.out.contains(times.unwrap_or_default()), "{info:?}");
    }
}

#[test]
fn a_field_of_view_that_is_no_length_is_noted() {
    for length in ["NaN", "0", "-200"] {
        let folder = TestFolder::new();
        let mut raw = RawFile::valid();
        let xml = raw.xml.unwrap();
        raw.xml = Some(xml.replace("<x>200</x>", &format!("<x>{length}</x>")));
        raw.write(&folder);
        let info = folder.run(&["mri", "info", "raw.h5"]);
        info.well();
        assert!(
            info.out.contains("the size of a pixel is unknown"),
            "{length}: {info:?}"
        );
    }
}

/// The data residual with these options.
fn data_residual(folder: &TestFolder, options: &[&str]) -> f64 {
    let output = reconstruct(
        folder,
        "m.h5",
        &[&["--summary", "s.json"], options].concat(),
    );
    output.well();
    assert!(output.out.contains("data residual"), "{output:?}");
    summary(folder)["data_residual"].as_f64().unwrap()
}

#[test]
fn wrong_coil_maps_leave_a_large_data_residual() {
    let folder = TestFolder::new();
    let small = ["--matrix", "32", "--coils", "4", "--quiet"];
    folder
        .run(&[&["mri", "simulate", "m.h5"], &small[..]].concat())
        .well();
    let maps = images::read_coil_maps(
        &folder.path("m.h5"),
        warpstride::system::Memory::available(),
    );
    let mut reversed = maps.unwrap();
    reversed.invert_axis(Axis(1));
    let reversed: ArrayD<Complex<f64>> = reversed.as_standard_layout().to_owned().into_dyn();
    npy::complex::write(&folder.path("reversed.npy"), reversed.view(), true).unwrap();
    let right = data_residual(&folder, &["--coil-maps", "m.h5"]);
    // Maps of all coils serve for those that are left.
    let left = data_residual(&folder, &["--coil-maps", "m.h5", "--exclude-coils", "1"]);
    assert!(left < 0.01, "{left}");
    let wrong = data_residual(&folder, &["--coil-maps", "reversed.npy"]);
    assert!(right < 0.01 && wrong > 0.7, "{right} {wrong}");
    let problems = summary(&folder)["problems"].to_string();
    assert!(problems.contains("the image explains only"), "{problems}");
    // The same number by every operator and precision, and without maps.
    for options in [
        &["--operator", "direct", "--precision", "f64"][..],
        &["--operator", "nufft"],
    ] {
        let maps = ["--coil-maps", "reversed.npy"];
        let found = data_residual(&folder, &[&maps[..], options].concat());
        assert!(
            (found - wrong).abs() < 1e-3 * wrong,
            "{options:?}: {found} {wrong}"
        );
    }
    let none = data_residual(&folder, &["--coil-maps", "none"]);
    assert!(none < 0.01, "{none}");
    // Noise is not explained: by the definition of the phantom's noise it has its own share.
    let noisy = [&["mri", "simulate", "m.h5", "--noise", "5"], &small[..]].concat();
    folder.run(&noisy).well();
    let noisy = data_residual(&folder, &["--coil-maps", "m.h5"]);
    assert!(
        noisy > 2.0 * right && noisy < wrong,
        "{right} {noisy} {wrong}"
    );
}

#[test]
fn references_whose_squares_overflow_are_refused() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    for (value, named) in [(1e200, "e200"), (1e-200, "e-200")] {
        let image = Array2::from_elem((8, 8), Complex::from(value)).into_dyn();
        npy::complex::write(&folder.path("ref.npy"), image.view(), true).unwrap();
        let output = reconstruct(&folder, "raw.h5", &["--reference", "ref.npy"]);
        output.refused(
            1,
            &[
                "ref.npy: reference: expected a largest modulus of 1e-100 to 1e100",
                named,
            ],
        );
    }
}

#[test]
fn fields_whose_phases_cannot_be_meant_are_refused() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    let write = |hertz: f64| {
        let map = Array2::from_elem((8, 8), hertz);
        npy::write(&folder.path("hz.npy"), map.view()).unwrap();
    };
    for hertz in [1e30, -1e12] {
        write(hertz);
        let output = reconstruct(&folder, "raw.h5", &["--off-resonance", "hz.npy"]);
        output.refused(
            1,
            &["hz.npy: field: expected phases of at most", "cycles, found"],
        );
    }
    write(-300.0);
    let options = ["--off-resonance", "hz.npy", "--coil-maps", "none"];
    reconstruct(&folder, "raw.h5", &options).well();
}

/// The length of the header, a text of variable length, is damaged.
#[test]
#[cfg(target_os = "linux")]
fn a_damaged_length_of_a_text_is_refused_without_taking_memory_for_it() {
    let folder = TestFolder::new();
    let raw = RawFile::valid();
    raw.write(&folder);
    let mut bytes = std::fs::read(folder.path("raw.h5")).unwrap();
    let length = (raw.xml.unwrap().len() as u32).to_le_bytes();
    // Followed by the address of a collection.
    let at = (0..bytes.len() - 16).find(|at| {
        let address = bytes[at + 4..at + 12].try_into().map(u64::from_le_bytes);
        let address = usize::try_from(address.unwrap()).unwrap_or(usize::MAX);
        bytes[*at..at + 4] == length && bytes.get(address..).is_some_and(|b| b.starts_with(b"GCOL"))
    });
    let at = at.expect("the record of the text");
    bytes[at..at + 4].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
    std::fs::write(folder.path("raw.h5"), bytes).unwrap();
    let (output, peak) = folder.run_watched(&["mri", "info", "raw.h5"]);
    output.refused(1, &["raw.h5", "xml", "claims to have 4294967280 bytes"]);
    assert!(peak < 200 << 10, "{peak} KiB");
}

#[test]
fn misspelt_maps_and_arrays_of_integers_say_what_is_expected() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    for maps in ["", "ESPIRIT"] {
        let output = reconstruct(&folder, "raw.h5", &["--coil-maps", maps]);
        output.refused(
            2,
            &[
                "--coil-maps",
                "expected espirit, low-pass, walsh, none or a file",
            ],
        );
    }
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (8, 8), }";
    bytes.extend(format!("{header:<117}\n").into_bytes());
    bytes.extend([0; 256]);
    std::fs::write(folder.path("i4.npy"), bytes).unwrap();
    let output = reconstruct(&folder, "raw.h5", &["--reference", "i4.npy"]);
    output.refused(1, &["i4.npy", "for images also complex", "<i4"]);
}

#[test]
fn partitions_beyond_the_matrix_are_named_by_their_counter() {
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    raw.xml = Some(super::mri_raw::header("8", "8", "4"));
    raw.acquisitions[5].head.idx.kspace_encode_step_2 = 9;
    raw.write(&folder);
    let info = folder.run(&["mri", "info", "raw.h5"]);
    info.refused(
        1,
        &[
            "acquisition 5: expected a kz",
            "found 1.75 of its kspace_encode_step_2",
        ],
    );
    assert!(!info.err.contains("--k-unit"), "{info:?}");
}
