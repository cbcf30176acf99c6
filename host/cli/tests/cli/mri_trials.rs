//! Samples that are wrong in an everyday way: their density, unit, axes and coils are judged.

use super::mri_raw::{Acquisition, Head, RawFile, header, reconstruct};
use super::support::{Output, TestFolder, skipped};
use hdf5_metno::types::VarLenArray;
use std::f64::consts::TAU;
use std::path::PathBuf;
use warpstride::mri::data::KSpace;
use warpstride::mri::trajectory::Path;
use warpstride::mri::{SimulateOptions, simulate};

/// A file of the trials, if it is available.
fn trial(name: &str) -> Option<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trials/mri");
    let path = folder.join(name);
    if !path.exists() {
        skipped(name, "../shared/data/trials/mri is not there");
        return None;
    }
    Some(path.to_str().unwrap().to_owned())
}

fn summary(folder: &TestFolder) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(folder.path("s.json")).unwrap()).unwrap()
}

/// Reconstructs a file of the trials with the maps that made it, and compares with the truth.
fn compared(folder: &TestFolder, file: &str, options: &[&str]) -> Option<serde_json::Value> {
    let (maps, truth) = (trial("maps64.npy")?, trial("truth64.npy")?);
    let known = ["--coil-maps", &maps, "--reference", &truth];
    let all = [&known[..], &["--summary", "s.json"], options].concat();
    reconstruct(folder, &trial(file)?, &all).well();
    Some(summary(folder))
}

fn nrmse(summary: &serde_json::Value) -> f64 {
    summary["nrmse"].as_f64().unwrap()
}

/// The samples of a phantom of 32 × 32 as acquisitions, k times `scale` with `extra` columns
/// behind.
fn raw_of(kspace: &KSpace, scale: f64, extra: &[f32]) -> RawFile {
    let acquisition = |readout: &warpstride::mri::data::Readout| {
        let samples = readout.samples.clone();
        let mut traj = Vec::new();
        for sample in samples.clone() {
            let k = kspace.trajectory().row(sample);
            traj.extend(k.iter().map(|k| (k * scale) as f32));
            traj.extend(extra);
        }
        let mut data = Vec::new();
        for coil in kspace.samples().rows() {
            let of_readout = samples.clone().map(|sample| coil[sample]);
            data.extend(of_readout.flat_map(|v| [v.re as f32, v.im as f32]));
        }
        Acquisition {
            head: Head {
                number_of_samples: samples.len() as u16,
                active_channels: kspace.coils() as u16,
                trajectory_dimensions: (kspace.extent().axes + extra.len()) as u16,
                sample_time_us: 4.0,
                ..Head::default()
            },
            traj: VarLenArray::from_slice(&traj),
            data: VarLenArray::from_slice(&data),
        }
    };
    RawFile {
        xml: Some(header("32", "32", "1")),
        acquisitions: kspace.readouts().iter().map(acquisition).collect(),
    }
}

fn phantom(path: Path, volume: bool) -> KSpace {
    let options = SimulateOptions {
        path,
        matrix: if volume { 12 } else { 32 },
        coils: 3,
        volume,
        ..SimulateOptions::default()
    };
    simulate(&options).unwrap().kspace
}

/// Reconstructs `raw.h5` by the adjoint, one image for each coil.
fn adjoint(folder: &TestFolder, options: &[&str]) -> Output {
    let fixed = [
        "--method",
        "adjoint",
        "--coil-maps",
        "none",
        "--summary",
        "s.json",
    ];
    let output = reconstruct(folder, "raw.h5", &[&fixed, options].concat());
    output.well();
    output
}

#[test]
fn the_density_of_uneven_spokes_is_that_of_pipe() {
    let folder = TestFolder::new();
    for (file, most) in [("ute.h5", 0.0023), ("vd_spoke.h5", 0.0016)] {
        let Some(found) = compared(&folder, file, &["--method", "adjoint"]) else {
            return;
        };
        assert!(nrmse(&found) < most, "{file}: {found}");
        assert_eq!(found["density"], "pipe");
        let notes = found["notes"].to_string();
        assert!(notes.contains("not evenly spaced"), "{notes}");
        // The transform is not free.
        assert!(found["seconds"].as_f64().unwrap() > 1e-6, "{found}");
        let ramp = ["--method", "adjoint", "--density", "ramp"];
        let found = compared(&folder, file, &ramp).unwrap();
        assert!(nrmse(&found) > 0.2, "{file}: {found}");
        let problems = found["problems"].to_string();
        assert!(
            problems.contains("--density ramp assumes equal spokes"),
            "{problems}"
        );
        let info = folder.run(&["mri", "info", &trial(file).unwrap()]);
        assert!(
            info.out
                .contains("pipe for --method adjoint, as the samples"),
            "{info:?}"
        );
    }
}

#[test]
fn repeated_spokes_are_weighted_by_pipe_and_even_ones_by_the_ramp() {
    let folder = TestFolder::new();
    let raw = raw_of(&phantom(Path::Radial, false), 1.0, &[]);
    raw.write(&folder);
    let even = ["--reference", "even.h5"];
    adjoint(&folder, &["--report", "r.html"]);
    assert_eq!(summary(&folder)["density"], "ramp");
    assert_eq!(summary(&folder)["notes"], serde_json::json!([]));
    std::fs::rename(folder.path("out.h5"), folder.path("even.h5")).unwrap();
    let mut repeated = raw;
    let again = repeated.acquisitions[..20].to_vec();
    repeated.acquisitions.extend(again);
    repeated.write(&folder);
    let output = adjoint(&folder, &even);
    assert!(output.out.contains("density weights by pipe"), "{output:?}");
    assert!(
        output.out.contains("measured more often than others"),
        "{output:?}"
    );
    let by_pipe = nrmse(&summary(&folder));
    adjoint(&folder, &[&even[..], &["--density", "ramp"]].concat());
    let by_ramp = nrmse(&summary(&folder));
    assert!(by_pipe < 0.06 && by_ramp > 0.15, "{by_pipe} {by_ramp}");
}

#[test]
fn a_unit_is_judged_by_the_largest_k_and_stated_by_an_option() {
    let folder = TestFolder::new();
    let Some(spiral) = trial("spiral_fov.h5") else {
        return;
    };
    let refused = reconstruct(&folder, &spiral, &[]);
    refused.refused(
        1,
        &[
            "the largest |k| is 32",
            "--k-unit cycles-per-fov would make it 0.5",
        ],
    );
    assert!(!refused.err.contains("radians"), "{refused:?}");
    folder
        .run(&["mri", "info", &spiral])
        .refused(1, &["--k-unit cycles-per-fov"]);
    let right = ["--k-unit", "cycles-per-fov"];
    let found = compared(&folder, "spiral_fov.h5", &right).unwrap();
    assert!(nrmse(&found) < 0.002, "{found}");
    assert!(
        found["notes"]
            .to_string()
            .contains("converted from cycles-per-fov")
    );
    assert_eq!(found["problems"], serde_json::json!([]));
    // Wrong units are refused, or named.
    let wrong = reconstruct(&folder, &spiral, &["--k-unit", "radians-per-pixel"]);
    wrong.refused(1, &["--k-unit cycles-per-fov would make it 0.5"]);
    let wrong = reconstruct(&folder, &spiral, &["--k-unit", "radians-per-fov"]);
    assert!(
        wrong.out.contains("warning: |kx| reaches only"),
        "{wrong:?}"
    );
    let wrong = reconstruct(&folder, &spiral, &["--k-unit", "furlongs"]);
    wrong.refused(
        2,
        &["--k-unit furlongs: expected cycles- or radians-per-pixel"],
    );
}

#[test]
fn every_unit_gives_the_same_image() {
    let folder = TestFolder::new();
    let kspace = phantom(Path::Golden, false);
    raw_of(&kspace, 1.0, &[]).write(&folder);
    adjoint(&folder, &[]);
    std::fs::rename(folder.path("out.h5"), folder.path("right.h5")).unwrap();
    // Pixels of 200 mm/32.
    let pixel = 0.2 / 32.0;
    for (unit, scale) in [
        ("radians-per-pixel", TAU),
        ("cycles-per-fov", 32.0),
        ("radians-per-fov", 32.0 * TAU),
        ("cycles-per-m", 1.0 / pixel),
        ("cycles-per-cm", 0.01 / pixel),
        ("cycles-per-mm", 0.001 / pixel),
        ("radians-per-mm", 0.001 * TAU / pixel),
        ("fraction-of-kmax", 2.0),
    ] {
        raw_of(&kspace, scale, &[]).write(&folder);
        let hint = format!("--k-unit {unit} would make it 0.5");
        let plain = folder.run(&["mri", "info", "raw.h5"]);
        let said = [&*plain.out, &*plain.err].concat();
        assert!(said.contains(&hint), "{unit}: {said}");
        adjoint(&folder, &["--k-unit", unit, "--reference", "right.h5"]);
        let found = summary(&folder);
        assert!(nrmse(&found) < 1e-4, "{unit}: {found}");
        assert_eq!(found["problems"], serde_json::json!([]), "{unit}");
    }
}

#[test]
fn a_trajectory_that_resolves_more_voxels_gets_them_by_the_matrix() {
    let folder = TestFolder::new();
    let kspace = phantom(Path::Golden, false);
    let mut raw = raw_of(&kspace, 2.0, &[]);
    raw.xml = Some(header("16", "16", "1"));
    raw.write(&folder);
    let info = folder.run(&["mri", "info", "raw.h5"]);
    info.refused(1, &["the samples resolve more voxels (--matrix 32x32)"]);
    adjoint(&folder, &["--matrix", "32x32"]);
    assert_eq!(summary(&folder)["matrix"], serde_json::json!([1, 32, 32]));
    std::fs::rename(folder.path("out.h5"), folder.path("finer.h5")).unwrap();
    raw_of(&kspace, 1.0, &[]).write(&folder);
    adjoint(&folder, &["--reference", "finer.h5"]);
    assert!(nrmse(&summary(&folder)) < 1e-5);
}

#[test]
fn a_third_axis_is_not_dropped() {
    let folder = TestFolder::new();
    if let Some(koosh) = trial("koosh_z1.h5") {
        for command in ["info", "reconstruct"] {
            let output: &[&str] = if command == "info" {
                &[]
            } else {
                &["-o", "out.h5"]
            };
            let refused = folder.run(&[&["mri", command, &koosh], output].concat());
            refused.refused(
                1,
                &[
                    "z = 1",
                    "third column with kz from -0.5",
                    "--matrix 32x32x32",
                ],
            );
        }
        let info = folder.run(&["mri", "info", &koosh, "--matrix", "32x32x32", "--json"]);
        let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
        assert_eq!(
            (&info["axes"], &info["problems"]),
            (&3.into(), &serde_json::json!([]))
        );
        // kz has the pixels of x, whatever the image's slices.
        let finer = folder.run(&["mri", "info", &koosh, "--matrix", "48x48x48"]);
        let pixels = "kz is taken to be in pixels as large as those of x (32 in the field of view)";
        assert!(finer.out.contains(pixels), "{finer:?}");
        folder
            .run(&["mri", "info", &koosh, "--matrix", "16x32x32"])
            .refused(1, &["kz: expected", "--matrix 32x32x32"]);
    }
    // Centre-out spokes of the upper half, of which no kz is negative.
    let mut half = raw_of(&phantom(Path::Radial, true), 1.0, &[]);
    for acquisition in &mut half.acquisitions {
        acquisition.edit_trajectory(|k| {
            let end = k.len() - 1;
            let sign = if k[2] > k[end] { 1.0 } else { -1.0 };
            let first: Vec<f32> = k[..3].to_vec();
            let samples = k.len() / 3;
            for sample in 0..samples {
                for axis in 0..3 {
                    k[3 * sample + axis] = sign * first[axis] * sample as f32 / samples as f32;
                }
            }
        });
    }
    half.xml = Some(header("12", "12", "1"));
    half.write(&folder);
    folder
        .run(&["mri", "info", "raw.h5"])
        .refused(1, &["third column with kz from 0"]);
    // A column of zeros or weights is not kz.
    for weight in [0.0, 0.3] {
        raw_of(&phantom(Path::Radial, false), 1.0, &[weight]).write(&folder);
        let info = folder.run(&["mri", "info", "raw.h5"]);
        info.well();
        assert!(
            info.out.contains("1 column in addition to kx, ky"),
            "{info:?}"
        );
    }
}

#[test]
fn one_partition_of_eight_is_named() {
    let folder = TestFolder::new();
    for (partition, kz) in [(0, "-0.5"), (4, "0"), (6, "0.25")] {
        let mut raw = RawFile::valid();
        raw.xml = Some(header("8", "8", "8"));
        for acquisition in &mut raw.acquisitions {
            acquisition.head.idx.kspace_encode_step_2 = partition;
        }
        raw.write(&folder);
        let expected =
            format!("kz is {kz} everywhere: nothing is encoded along it, and all slices are equal");
        let info = folder.run(&["mri", "info", "raw.h5"]);
        assert!(info.out.contains(&expected), "{info:?}");
        let output = adjoint(&folder, &[]);
        assert!(
            output.out.contains(&format!("warning: {expected}")),
            "{output:?}"
        );
    }
}

#[test]
fn acquisitions_without_samples_are_left_out() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    adjoint(&folder, &[]);
    std::fs::rename(folder.path("out.h5"), folder.path("whole.h5")).unwrap();
    let empty = |change: fn(&mut Head)| {
        let mut empty = Acquisition::spoke(0, 12, 16, 2);
        (empty.traj, empty.data) = (VarLenArray::from_slice(&[]), VarLenArray::from_slice(&[]));
        change(&mut empty.head);
        empty
    };
    let mut raw = RawFile::valid();
    raw.acquisitions
        .insert(3, empty(|head| head.number_of_samples = 0));
    raw.acquisitions
        .push(empty(|head| head.active_channels = 0));
    // Never written.
    raw.acquisitions.push(empty(|head| *head = Head::default()));
    let mut discarded = raw.acquisitions[0].clone();
    (discarded.head.discard_pre, discarded.head.discard_post) = (10, 6);
    raw.acquisitions.push(discarded);
    raw.write(&folder);
    let output = adjoint(&folder, &["--reference", "whole.h5"]);
    assert!(nrmse(&summary(&folder)) < 1e-6);
    let note = "12 of 16 acquisitions are used; left out: 3 acquisitions without samples, 1 acquisition all of whose samples are discarded";
    assert!(output.out.contains(note), "{output:?}");
    assert!(folder.run(&["mri", "info", "raw.h5"]).out.contains(note));
}

#[test]
fn a_noisy_coil_is_named_and_left_out() {
    let folder = TestFolder::new();
    let (Some(file), Some(truth)) = (trial("noise20.h5"), trial("truth64.npy")) else {
        return;
    };
    let options = ["--summary", "s.json", "--reference", &truth];
    let output = reconstruct(&folder, &file, &options);
    output.well();
    assert!(
        output
            .out
            .contains("warning: coil 3 has 20 times the noise"),
        "{output:?}"
    );
    assert!(!output.out.contains("field of view"), "{output:?}");
    let noisy = summary(&folder);
    assert_eq!(noisy["coil_map_sets"], 1);
    let info = folder.run(&["mri", "info", &file]);
    assert!(
        info.out.contains("coil 3 has 20 times the noise"),
        "{info:?}"
    );
    let without = [&options[..], &["--exclude-coils", "3"]].concat();
    reconstruct(&folder, &file, &without).well();
    let found = summary(&folder);
    assert_eq!(
        (&found["coils"], &found["problems"]),
        (&3.into(), &serde_json::json!([]))
    );
    let magnitude = |of: &serde_json::Value| of["magnitude_nrmse"].as_f64().unwrap();
    assert!(
        magnitude(&found) < 0.5 * magnitude(&noisy),
        "{found} {noisy}"
    );
    for (coils, code) in [("4", 1), ("0,1,2,3", 1), ("x", 2)] {
        let refused = reconstruct(&folder, &file, &["--exclude-coils", coils]);
        refused.refused(code, &["coils"]);
    }
}

#[test]
fn a_dead_coil_is_named() {
    let folder = TestFolder::new();
    let mut raw = raw_of(&phantom(Path::Radial, false), 1.0, &[]);
    for acquisition in &mut raw.acquisitions {
        acquisition.edit_data(|data| {
            let coil = data.len() / 3;
            data[coil..2 * coil].fill(0.0);
        });
    }
    raw.write(&folder);
    let output = reconstruct(&folder, "raw.h5", &["--iterations", "3"]);
    output.well();
    assert!(
        output.out.contains("warning: every sample of coil 1 is 0"),
        "{output:?}"
    );
}

#[test]
fn readouts_of_zeros_are_left_out() {
    let folder = TestFolder::new();
    let whole = raw_of(&phantom(Path::Golden, false), 1.0, &[]);
    let count = whole.acquisitions.len();
    let several = (0..count).step_by(7).collect();
    for zeros in [vec![5], several, (0..count).step_by(2).collect::<Vec<_>>()] {
        let mut raw = whole.clone();
        let mut number = 0;
        raw.acquisitions.retain(|_| {
            number += 1;
            !zeros.contains(&(number - 1))
        });
        raw.write(&folder);
        adjoint(&folder, &[]);
        std::fs::rename(folder.path("out.h5"), folder.path("without.h5")).unwrap();
        let mut raw = whole.clone();
        for number in &zeros {
            raw.acquisitions[*number].edit_data(|data| data.fill(0.0));
        }
        raw.write(&folder);
        let output = adjoint(&folder, &["--reference", "without.h5"]);
        assert!(nrmse(&summary(&folder)) < 1e-6);
        let note = format!("{} of {count} acquisitions are used", count - zeros.len());
        let info = folder.run(&["mri", "info", "raw.h5"]);
        for said in [&output.out, &info.out] {
            assert!(
                said.contains(&note) && said.contains("samples that are all 0"),
                "{said}"
            );
        }
    }
}

#[test]
fn one_broken_sample_of_every_readout_is_left_out_alone() {
    let folder = TestFolder::new();
    let whole = raw_of(&phantom(Path::Golden, false), 1.0, &[]);
    whole.write(&folder);
    adjoint(&folder, &[]);
    std::fs::rename(folder.path("out.h5"), folder.path("whole.h5")).unwrap();
    let count = whole.acquisitions.len();
    for sample in [0, 3] {
        let mut raw = whole.clone();
        for acquisition in &mut raw.acquisitions {
            acquisition.edit_data(|data| {
                let of_coil = data.len() / 3;
                for coil in 0..3 {
                    data[coil * of_coil + 2 * sample] = f32::NAN;
                }
            });
        }
        raw.write(&folder);
        let output = adjoint(&folder, &["--reference", "whole.h5"]);
        assert!(nrmse(&summary(&folder)) < 0.2, "{output:?}");
        let note = format!("{count} samples left out, as most readouts have values that are NaN");
        assert!(output.out.contains(&note), "{output:?}");
    }
}

#[test]
fn missing_partitions_are_named() {
    let folder = TestFolder::new();
    let problem = "partitions are missing between others";
    for (is_missing, expected) in [
        ((|z| z % 4 == 1) as fn(u16) -> bool, true),
        (|z| z % 2 == 1, true),
        (|z| z == 9, true),
        (|_| false, false),
        // Every second partition about a calibration region.
        (|z| z % 2 == 1 && !(5..12).contains(&z), false),
        // The end alone.
        (|z| z > 12, false),
    ] {
        let mut raw = RawFile::valid();
        raw.xml = Some(header("8", "8", "16"));
        let spokes = raw.acquisitions.clone();
        raw.acquisitions = (0..16)
            .filter(|z| !is_missing(*z))
            .flat_map(|z| {
                spokes.iter().cloned().map(move |mut spoke| {
                    spoke.head.idx.kspace_encode_step_2 = z;
                    spoke
                })
            })
            .collect();
        raw.write(&folder);
        let info = folder.run(&["mri", "info", "raw.h5"]);
        info.well();
        assert_eq!(info.out.contains(problem), expected, "{info:?}");
    }
}
