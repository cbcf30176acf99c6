//! Invalid ISMRMRD files and wrong usage of `mri`: one sentence each, no output files, no panic.

use super::mri_raw::{Acquisition, RawFile, corrupt, header};
use super::support::{Output, STARTING, TestFolder};
use hdf5_metno as hdf5;
use hdf5_metno::types::VarLenArray;
use ndarray::Array1;
use std::io::{Read, Write};
use std::sync::PoisonError;

fn reconstruct(folder: &TestFolder, options: &[&str]) -> Output {
    let fixed = [
        "mri",
        "reconstruct",
        "raw.h5",
        "-o",
        "out.h5",
        "--backend",
        "cpu",
    ];
    folder.run(&[&fixed, options].concat())
}

/// Both `reconstruct` and `info` reject `raw.h5`, and no other file remains.
#[track_caller]
fn assert_file_rejected(folder: &TestFolder, words: &[&str]) {
    let output = reconstruct(folder, &["--summary", "s.json", "--png", "p.png"]);
    output.refused(1, words);
    assert_eq!(output.out, "");
    folder.run(&["mri", "info", "raw.h5"]).refused(1, words);
    assert_eq!(folder.names(), ["raw.h5"]);
}

#[track_caller]
fn assert_rejected(change: impl FnOnce(&mut RawFile), words: &[&str]) {
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    change(&mut raw);
    raw.write(&folder);
    assert_file_rejected(&folder, &[&["raw.h5"], words].concat());
}

#[test]
fn no_trajectory() {
    assert_rejected(
        |raw| {
            for acquisition in &mut raw.acquisitions {
                acquisition.head.trajectory_dimensions = 0;
                acquisition.traj = VarLenArray::from_slice(&[]);
            }
        },
        &[
            "acquisition 0: expected a trajectory",
            "Cartesian",
            "BART",
            "kspace_encode_step_1",
        ],
    );
    // Announced in the header, but absent.
    assert_rejected(
        |raw| raw.acquisitions[3].traj = VarLenArray::from_slice(&[]),
        &["acquisition 3", "0 numbers in its trajectory", "32"],
    );
    assert_rejected(
        |raw| raw.acquisitions[3].head.trajectory_dimensions = 1,
        &["acquisition 3", "1 dimension"],
    );
}

#[test]
fn inconsistent_counts() {
    assert_rejected(
        |raw| raw.acquisitions[5].head.number_of_samples = 15,
        &["acquisition 5", "trajectory", "30 (15 samples"],
    );
    assert_rejected(
        |raw| raw.acquisitions[5].edit_data(|data| data.truncate(60)),
        &["acquisition 5", "60 numbers in its data", "64"],
    );
    assert_rejected(
        |raw| {
            for acquisition in &mut raw.acquisitions {
                acquisition.head.discard_pre = 16;
            }
        },
        &["found 12 acquisitions all of whose samples are discarded"],
    );
}

#[test]
fn different_numbers_of_coils() {
    assert_rejected(
        |raw| raw.acquisitions[7] = Acquisition::spoke(7, 12, 16, 3),
        &["acquisition 7", "3 coils", "acquisition 0", "2"],
    );
}

#[test]
fn nan_and_infinite_values() {
    assert_rejected(
        |raw| {
            for acquisition in &mut raw.acquisitions {
                acquisition.edit_trajectory(|k| k.fill(f32::NAN));
            }
        },
        &["trajectory of acquisition 0, sample 0, kx: expected a finite number, found NaN"],
    );
    // Without a sample that is left.
    assert_rejected(
        |raw| {
            for acquisition in &mut raw.acquisitions {
                acquisition.edit_data(|d| d.fill(f32::NAN));
            }
        },
        &["signal of acquisition 0, sample 0, coil 0"],
    );
}

#[test]
fn trajectories_beyond_half_a_cycle_per_pixel() {
    assert_rejected(
        |raw| raw.acquisitions[1].edit_trajectory(|k| k[2] = 0.51),
        &[
            "acquisition 1, sample 1, kx: ",
            "−0.5 to 0.5",
            "found 0.51 (1 of 192 samples lie outside: these may be damaged)",
        ],
    );
    assert_rejected(
        |raw| raw.acquisitions[1].edit_trajectory(|k| k[2] = -100.0),
        &["found -100 (1 of 192 samples lie outside"],
    );
}

#[test]
fn noise_scans_only_or_no_acquisitions() {
    assert_rejected(
        |raw| {
            for acquisition in &mut raw.acquisitions {
                acquisition.head.flags = 1 << 18;
            }
        },
        &["expected imaging acquisitions, found 12 noise scans"],
    );
    assert_rejected(|raw| raw.acquisitions.clear(), &["no acquisitions"]);
}

#[test]
fn headers_without_a_valid_size() {
    assert_rejected(|raw| raw.xml = None, &["/dataset/xml", "found none"]);
    assert_rejected(
        |raw| raw.xml = Some("no header".to_owned()),
        &["/dataset/xml: expected an ISMRMRD header"],
    );
    assert_rejected(
        |raw| raw.xml = Some("<ismrmrdHeader><encoding/></ismrmrdHeader>".to_owned()),
        &["reconSpace"],
    );
    for wrong in ["0", "1000000000", "99999999999999999999999", "-8", "8.5"] {
        assert_rejected(
            |raw| raw.xml = Some(header("8", wrong, "1")),
            &["matrixSize/y", "1048576"],
        );
    }
    // Each side is within the limit, but the volume is not.
    assert_rejected(
        |raw| raw.xml = Some(header("1000000", "1000000", "1000000")),
        &["memory"],
    );
}

#[test]
fn sizes_beyond_the_file() {
    // Each of them fits, but not all.
    assert_rejected(
        |raw| {
            for acquisition in &mut raw.acquisitions {
                acquisition.head.number_of_samples = 700;
            }
        },
        &["claim", "bytes of the file", "damaged"],
    );
    assert_rejected(
        |raw| {
            raw.acquisitions[0].head.number_of_samples = u16::MAX;
            for acquisition in &mut raw.acquisitions {
                acquisition.head.active_channels = u16::MAX;
            }
        },
        &["acquisition 0", "claims", "truncated or damaged"],
    );
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    corrupt(&folder, |file| {
        let group = file.group("dataset")?;
        group.unlink("data")?;
        group
            .new_dataset::<Acquisition>()
            .chunk(1 << 20)
            .shape(1_usize << 50)
            .create("data")
            .map(drop)
    });
    assert_file_rejected(&folder, &["raw.h5", "/dataset/data"]);
}

#[test]
fn compressed_samples() {
    assert_rejected(
        |raw| raw.acquisitions[6].head.flags = 1 << 52,
        &["acquisition 6", "compressed"],
    );
}

#[test]
fn datasets_of_another_type() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    corrupt(&folder, |file| {
        let group = file.group("dataset")?;
        group.unlink("data")?;
        let numbers = Array1::<f32>::zeros(12);
        group
            .new_dataset_builder()
            .with_data(numbers.view())
            .create("data")
            .map(drop)
    });
    assert_file_rejected(&folder, &["raw.h5", "/dataset/data", "records"]);

    #[derive(Clone, hdf5::H5Type)]
    #[repr(C)]
    struct Other {
        head: f32,
        traj: VarLenArray<f32>,
    }
    corrupt(&folder, |file| {
        let group = file.group("dataset")?;
        group.unlink("data")?;
        let record = Other {
            head: 1.0,
            traj: VarLenArray::from_slice(&[1.0]),
        };
        let records = Array1::from_elem(3, record);
        group
            .new_dataset_builder()
            .with_data(records.view())
            .create("data")
            .map(drop)
    });
    assert_file_rejected(&folder, &["raw.h5", "head.flags"]);

    corrupt(&folder, |file| file.unlink("dataset"));
    assert_file_rejected(
        &folder,
        &[
            "raw.h5",
            "expected acquisitions",
            "/dataset/data",
            "found none",
        ],
    );
}

#[test]
fn missing_foreign_and_truncated_files() {
    let folder = TestFolder::new();
    reconstruct(&folder, &[]).refused(1, &["raw.h5", "cannot be read"]);
    for text in ["", "12 spokes\n"] {
        std::fs::write(folder.path("raw.h5"), text).unwrap();
        assert_file_rejected(&folder, &["raw.h5", "HDF5"]);
    }
    RawFile::valid().write(&folder);
    let bytes = std::fs::read(folder.path("raw.h5")).unwrap();
    for part in [2, 4, 10] {
        let end = bytes.len() * (part - 1) / part;
        std::fs::write(folder.path("raw.h5"), &bytes[..end]).unwrap();
        assert_file_rejected(&folder, &["raw.h5"]);
    }
}

#[test]
fn other_groups_are_suggested() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    corrupt(&folder, |file| {
        let group = file.create_group("scan_2")?;
        group.link_soft("/dataset/data", "data")?;
        group.link_soft("/dataset/xml", "xml")
    });
    let info = ["mri", "info", "raw.h5", "--group"];
    folder.run(&[&info[..], &["scan_2"]].concat()).well();
    folder
        .run(&[&info[..], &["scan_3"]].concat())
        .refused(1, &["scan_3", "--group dataset", "scan_2"]);
}

#[test]
fn selections_without_acquisitions() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    let info = ["mri", "info", "raw.h5", "--select"];
    folder
        .run(&[&info[..], &["slice=4"]].concat())
        .refused(1, &["raw.h5: --select: expected slice=0, found slice=4"]);
    folder
        .run(&[&info[..], &["row=4"]].concat())
        .refused(2, &["--select", "repetition"]);
}

/// Samples of several slices make no image. The note on them names only what is possible.
#[test]
fn several_images_are_not_joined_to_one() {
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    for (number, acquisition) in raw.acquisitions.iter_mut().enumerate() {
        let idx = &mut acquisition.head.idx;
        (idx.slice, idx.repetition) = (number as u16 % 2, number as u16 / 6);
    }
    raw.write(&folder);
    for combine in ["slice", "contrast", "phase", "set"] {
        let words = [combine, "expected repetition", "--select COUNTER=all"];
        reconstruct(&folder, &["--combine", combine]).refused(2, &words);
        let info = ["mri", "info", "raw.h5", "--combine", combine];
        folder.run(&info).refused(2, &words);
    }
    let twice = ["--select", "repetition=0", "--combine", "repetition"];
    reconstruct(&folder, &twice).refused(2, &["--combine repetition", "--select"]);
    assert_eq!(folder.names(), ["raw.h5"]);
    let output = reconstruct(&folder, &["--combine", "repetition"]);
    output.well();
    let slices = "slice 0 is used (to change this, use --select slice=NUMBER, --select slice=all";
    for words in [slices, "repetition 0 to 1 are joined to one image"] {
        assert!(output.out.contains(words), "{words}: {}", output.out);
    }
    let output = reconstruct(&folder, &[]);
    output.well();
    assert!(
        output
            .out
            .contains("or --combine repetition for one image of all")
    );
}

#[test]
fn contradicting_options() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    for (options, words) in [
        (&["--iterations", "0"][..], &["--iterations 0"][..]),
        (
            &["--method", "adjoint", "--iterations", "3"],
            &["--iterations 3", "adjoint"],
        ),
        (&["--lambda", "-1"], &["--lambda -1"]),
        (&["--lambda", "nan"], &["--lambda NaN"]),
        (&["--tolerance", "0"], &["--tolerance 0"]),
        (&["--tolerance", "2"], &["--tolerance 2"]),
        (
            &["--method", "adjoint", "--operator", "toeplitz"],
            &["--operator toeplitz", "adjoint"],
        ),
        (
            &["--off-resonance", "f.npy", "--operator", "nufft"],
            &["--off-resonance", "direct"],
        ),
        (
            &["--coil-maps", "none", "--intensity-correction"],
            &["--intensity-correction", "coil maps"],
        ),
        (
            &["--png", "out.h5"],
            &["--png out.h5: expected another name than -o out.h5"],
        ),
        (&["--png", "raw.h5"], &["--png raw.h5", "the input raw.h5"]),
        (
            &["--reference", "out.h5"],
            &["-o out.h5", "the input out.h5"],
        ),
        (&["--device", "0"], &["--device 0", "--backend cuda"]),
        (&["--threads", "0"], &["--threads 0"]),
        (&["--density", "voronoi"], &["voronoi", "pipe"]),
    ] {
        let output = reconstruct(&folder, options);
        output.refused(2, words);
    }
    let arguments = [
        "mri",
        "reconstruct",
        "raw.h5",
        "-o",
        "out.h5",
        "--precision",
        "f64",
    ];
    folder
        .run(&[&arguments[..], &["--backend", "cuda"]].concat())
        .refused(2, &["f64", "--backend cpu"]);
    assert_eq!(folder.names(), ["raw.h5"]);
}

#[test]
fn references_maps_and_fields_of_another_shape() {
    let folder = TestFolder::new();
    RawFile::valid().write(&folder);
    let simulate = [
        "mri", "simulate", "other.h5", "--matrix", "16", "--coils", "2",
    ];
    folder.run(&[&simulate[..], &["--spokes", "4"]].concat());
    for (option, words) in [
        ("--reference", &["other.h5", "[1, 16, 16]", "[1, 8, 8]"][..]),
        (
            "--coil-maps",
            &["other.h5", "[2, 1, 16, 16]", "[2, 1, 8, 8]"],
        ),
        ("--off-resonance", &["other.h5", "/field/hertz"]),
        ("--field", &["other.h5", "/field/coefficients"]),
    ] {
        reconstruct(&folder, &[option, "other.h5"]).refused(1, words);
        reconstruct(&folder, &[option, "absent.h5"]).refused(1, &["absent.h5"]);
    }
    assert_eq!(folder.names(), ["other.h5", "raw.h5"]);
}

#[test]
fn invalid_simulation_options() {
    let folder = TestFolder::new();
    for (options, word) in [
        (&["--matrix", "0"][..], "--matrix 0"),
        (&["--coils", "0"], "--coils 0"),
        (&["--spokes", "0"], "--spokes 0"),
        (&["--samples", "1"], "--samples 1"),
        (&["--noise", "-3"], "--noise -3"),
        (&["--noise", "inf"], "--noise inf"),
    ] {
        let output = folder.run(&[&["mri", "simulate", "out.h5"], options].concat());
        output.refused(2, &[word]);
    }
    let large = ["--3d", "--matrix", "512", "--coils", "256"];
    folder
        .run(&[&["mri", "simulate", "out.h5"][..], &large].concat())
        .refused(1, &["memory", "--coils"]);
    assert!(folder.names().is_empty());
}

/// HDF5 takes the memory for a sequence before it looks for it in the file.
#[cfg(target_os = "linux")]
#[test]
fn a_sequence_longer_than_its_acquisition_takes_no_memory() {
    let folder = TestFolder::new();
    let options = [
        "mri",
        "simulate",
        "raw.h5",
        "--matrix",
        "32",
        "--spokes",
        "10",
        "--samples",
        "37",
        "--coils",
        "3",
    ];
    folder.run(&options).well();
    // In a record: the lengths of trajectory and data, each with an address and an index.
    let mut bytes = std::fs::read(folder.path("raw.h5")).unwrap();
    let [traj, data] = [2 * 37_u32, 2 * 37 * 3].map(u32::to_le_bytes);
    let at = bytes
        .windows(32)
        .position(|window| window[..4] == traj && window[16..20] == data)
        .unwrap();
    bytes[at + 19] = 0x40;
    std::fs::write(folder.path("raw.h5"), bytes).unwrap();
    let length = (1 << 30) + 2 * 37 * 3;
    let found = format!("found {length} numbers in its data");
    let words = [
        "/dataset/data: acquisition 0: expected 222 (37 samples of 3 coils",
        &found,
    ];
    assert_file_rejected(&folder, &words);
    let (output, peak) = folder.run_watched(&["mri", "info", "raw.h5"]);
    output.refused(1, &words);
    assert!(peak < 500 << 10, "{peak} KiB");
}

/// The lengths of compressed records are read from the file, too.
#[cfg(target_os = "linux")]
#[test]
fn a_sequence_longer_than_its_acquisition_takes_no_memory_in_compressed_records() {
    let folder = TestFolder::new();
    let raw = RawFile::valid();
    raw.write(&folder);
    reconstruct(&folder, &["--quiet"]).well();
    let plain = std::fs::read(folder.path("raw.h5")).unwrap();
    let image = |folder: &TestFolder| {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let result = hdf5::File::open(folder.path("out.h5")).unwrap();
        let image = result.dataset("/image/data").unwrap();
        image.read_raw::<num_complex::Complex<f32>>().unwrap()
    };
    let expected = image(&folder);
    raw.write_with(&folder, |builder| builder.chunk(5).shuffle().deflate(4));
    assert!(std::fs::read(folder.path("raw.h5")).unwrap() != plain);
    reconstruct(&folder, &["--quiet"]).well();
    assert!(image(&folder) == expected);
    std::fs::remove_file(folder.path("out.h5")).unwrap();

    // The second chunk is inflated, changed, and deflated better than before, so that it fits.
    raw.write_with(&folder, |builder| builder.chunk(5).deflate(1));
    let chunk = {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open(folder.path("raw.h5")).unwrap();
        file.dataset("dataset/data").unwrap().chunk_info(1).unwrap()
    };
    let mut bytes = std::fs::read(folder.path("raw.h5")).unwrap();
    let [from, stored] = [chunk.addr, chunk.size].map(|n| n as usize);
    let mut records = Vec::new();
    let mut decoder = flate2::read::ZlibDecoder::new(&bytes[from..from + stored]);
    decoder.read_to_end(&mut records).unwrap();
    let [traj, data] = [2 * 16_u32, 2 * 16 * 2].map(u32::to_le_bytes);
    let at = records
        .windows(32)
        .position(|window| window[..4] == traj && window[16..20] == data)
        .unwrap();
    records[at + 19] = 0x40;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&records).unwrap();
    let changed = encoder.finish().unwrap();
    assert!(changed.len() <= stored, "{} {stored}", changed.len());
    bytes[from..from + changed.len()].copy_from_slice(&changed);
    std::fs::write(folder.path("raw.h5"), bytes).unwrap();
    let (output, peak) = folder.run_watched(&["mri", "info", "raw.h5"]);
    let length = (1 << 30) + 64;
    let found = format!("found {length} numbers in its data");
    output.refused(1, &["/dataset/data: acquisition 5: expected 64", &found]);
    assert!(peak < 500 << 10, "{peak} KiB");
}
