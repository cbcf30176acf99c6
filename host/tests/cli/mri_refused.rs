//! Bad ISMRMRD files and wrong usage of `mri`: one sentence each, nothing written, no panic.

use super::mri_raw::{Acquisition, Raw, header, spoil};
use super::support::{Place, Said};
use hdf5_metno as hdf5;
use hdf5_metno::types::VarLenArray;
use ndarray::Array1;

fn reconstruct(place: &Place, options: &[&str]) -> Said {
    let fixed = [
        "mri",
        "reconstruct",
        "raw.h5",
        "-o",
        "out.h5",
        "--backend",
        "cpu",
    ];
    place.run(&[&fixed, options].concat())
}

/// Reconstruction and inspection refuse `raw.h5` alike; nothing but it is left.
#[track_caller]
fn refused_file(place: &Place, words: &[&str]) {
    let said = reconstruct(place, &["--summary", "s.json", "--png", "p.png"]);
    said.refused(1, words);
    assert_eq!(said.out, "");
    place.run(&["mri", "info", "raw.h5"]).refused(1, words);
    assert_eq!(place.names(), ["raw.h5"]);
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Raw), words: &[&str]) {
    let place = Place::new();
    let mut raw = Raw::sound();
    change(&mut raw);
    raw.write(&place);
    refused_file(&place, &[&["raw.h5"], words].concat());
}

#[test]
fn no_trajectory() {
    refused(
        |raw| {
            for acquisition in &mut raw.acquisitions {
                acquisition.head.trajectory_dimensions = 0;
                acquisition.traj = VarLenArray::from_slice(&[]);
            }
        },
        &["acquisition 0", "no trajectory", "Cartesian"],
    );
    // Claimed, but not there.
    refused(
        |raw| raw.acquisitions[3].traj = VarLenArray::from_slice(&[]),
        &["acquisition 3", "0 numbers in its trajectory", "32"],
    );
    refused(
        |raw| raw.acquisitions[3].head.trajectory_dimensions = 1,
        &["acquisition 3", "1 dimension"],
    );
}

#[test]
fn counts_that_do_not_fit_their_samples() {
    refused(
        |raw| raw.acquisitions[5].head.number_of_samples = 15,
        &["acquisition 5", "trajectory", "30 (15 samples"],
    );
    refused(
        |raw| raw.acquisitions[5].measured(|data| data.truncate(60)),
        &["acquisition 5", "60 numbers in its data", "64"],
    );
    refused(
        |raw| raw.acquisitions[2].head.number_of_samples = 0,
        &["acquisition 2", "0 samples"],
    );
    refused(
        |raw| raw.acquisitions[2].head.discard_pre = 16,
        &["acquisition 2", "discarded"],
    );
}

#[test]
fn coils_that_are_not_the_same_everywhere() {
    refused(
        |raw| raw.acquisitions[7] = Acquisition::spoke(7, 12, 16, 3),
        &["acquisition 7", "3 coils", "acquisition 0", "2"],
    );
}

#[test]
fn values_that_are_no_numbers() {
    refused(
        |raw| raw.acquisitions[4].moved(|k| k[9] = f32::NAN),
        &["trajectory of acquisition 4, sample 4, ky is NaN"],
    );
    refused(
        |raw| raw.acquisitions[4].measured(|d| d[33] = f32::INFINITY),
        &["signal of acquisition 4, sample 0, coil 1"],
    );
}

#[test]
fn places_beyond_half_a_cycle_a_pixel() {
    refused(
        |raw| raw.acquisitions[1].moved(|k| k[2] = 0.51),
        &["acquisition 1, sample 1 has kx = 0.51", "−0.5 to 0.5", "2π"],
    );
    refused(
        |raw| raw.acquisitions[1].moved(|k| k[2] = -100.0),
        &["kx = -100", "matrix size"],
    );
}

#[test]
fn nothing_but_noise_or_nothing_at_all() {
    refused(
        |raw| {
            for acquisition in &mut raw.acquisitions {
                acquisition.head.flags = 1 << 18;
            }
        },
        &["no imaging acquisitions", "12 noise scans"],
    );
    refused(|raw| raw.acquisitions.clear(), &["no acquisitions"]);
}

#[test]
fn headers_that_give_no_size() {
    refused(|raw| raw.xml = None, &["no header", "/dataset/xml"]);
    refused(
        |raw| raw.xml = Some("no header".to_owned()),
        &["/dataset/xml", "no ISMRMRD header"],
    );
    refused(
        |raw| raw.xml = Some("<ismrmrdHeader><encoding/></ismrmrdHeader>".to_owned()),
        &["reconSpace"],
    );
    for wrong in ["0", "1000000000", "99999999999999999999999", "-8", "8.5"] {
        refused(
            |raw| raw.xml = Some(header("8", wrong, "1")),
            &["matrixSize/y", "1048576"],
        );
    }
    // Each side may be so long, but not all of them.
    refused(
        |raw| raw.xml = Some(header("1000000", "1000000", "1000000")),
        &["memory"],
    );
}

#[test]
fn claims_that_no_file_holds() {
    refused(
        |raw| {
            raw.acquisitions[0].head.number_of_samples = u16::MAX;
            for acquisition in &mut raw.acquisitions {
                acquisition.head.active_channels = u16::MAX;
            }
        },
        &["acquisition 0", "claims", "truncated or damaged"],
    );
    let place = Place::new();
    Raw::sound().write(&place);
    spoil(&place, |file| {
        let group = file.group("dataset")?;
        group.unlink("data")?;
        group
            .new_dataset::<Acquisition>()
            .chunk(1 << 20)
            .shape(1_usize << 50)
            .create("data")
            .map(drop)
    });
    refused_file(&place, &["raw.h5", "/dataset/data"]);
}

#[test]
fn compressed_samples() {
    refused(
        |raw| raw.acquisitions[6].head.flags = 1 << 52,
        &["acquisition 6", "compressed"],
    );
}

#[test]
fn datasets_of_another_kind() {
    let place = Place::new();
    Raw::sound().write(&place);
    spoil(&place, |file| {
        let group = file.group("dataset")?;
        group.unlink("data")?;
        let numbers = Array1::<f32>::zeros(12);
        group
            .new_dataset_builder()
            .with_data(numbers.view())
            .create("data")
            .map(drop)
    });
    refused_file(&place, &["raw.h5", "/dataset/data", "records"]);

    #[derive(Clone, hdf5::H5Type)]
    #[repr(C)]
    struct Other {
        head: f32,
        traj: VarLenArray<f32>,
    }
    spoil(&place, |file| {
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
    refused_file(&place, &["raw.h5", "head.flags"]);

    spoil(&place, |file| file.unlink("dataset"));
    refused_file(&place, &["raw.h5", "no acquisitions", "/dataset/data"]);
}

#[test]
fn files_that_are_none_or_not_whole() {
    let place = Place::new();
    reconstruct(&place, &[]).refused(1, &["raw.h5", "cannot be read"]);
    for text in ["", "12 spokes\n"] {
        std::fs::write(place.path("raw.h5"), text).unwrap();
        refused_file(&place, &["raw.h5", "HDF5"]);
    }
    Raw::sound().write(&place);
    let bytes = std::fs::read(place.path("raw.h5")).unwrap();
    for part in [2, 4, 10] {
        let end = bytes.len() * (part - 1) / part;
        std::fs::write(place.path("raw.h5"), &bytes[..end]).unwrap();
        refused_file(&place, &["raw.h5"]);
    }
}

#[test]
fn another_group_is_named() {
    let place = Place::new();
    Raw::sound().write(&place);
    spoil(&place, |file| {
        let group = file.create_group("scan_2")?;
        group.link_soft("/dataset/data", "data")?;
        group.link_soft("/dataset/xml", "xml")
    });
    let info = ["mri", "info", "raw.h5", "--group"];
    place.run(&[&info[..], &["scan_2"]].concat()).well();
    place
        .run(&[&info[..], &["scan_3"]].concat())
        .refused(1, &["scan_3", "--group dataset", "scan_2"]);
}

#[test]
fn selections_that_are_not_there() {
    let place = Place::new();
    Raw::sound().write(&place);
    let info = ["mri", "info", "raw.h5", "--select"];
    place
        .run(&[&info[..], &["slice=4"]].concat())
        .refused(1, &["slice=4", "0 to 0"]);
    place
        .run(&[&info[..], &["row=4"]].concat())
        .refused(2, &["--select", "repetition"]);
}

#[test]
fn options_that_contradict_each_other() {
    let place = Place::new();
    Raw::sound().write(&place);
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
        (&["--png", "out.h5"], &["out.h5", "two outputs"]),
        (&["--png", "raw.h5"], &["raw.h5", "is read"]),
        (&["--reference", "out.h5"], &["out.h5", "is read"]),
        (&["--device", "0"], &["--device 0", "--backend cpu"]),
        (&["--threads", "0"], &["--threads 0"]),
        (&["--density", "voronoi"], &["voronoi", "pipe"]),
    ] {
        let said = reconstruct(&place, options);
        said.refused(2, words);
    }
    let typed = [
        "mri",
        "reconstruct",
        "raw.h5",
        "-o",
        "out.h5",
        "--precision",
        "f64",
    ];
    place
        .run(&[&typed[..], &["--backend", "cuda"]].concat())
        .refused(2, &["f64", "--backend cpu"]);
    assert_eq!(place.names(), ["raw.h5"]);
}

#[test]
fn references_maps_and_fields_of_another_shape() {
    let place = Place::new();
    Raw::sound().write(&place);
    let simulate = [
        "mri", "simulate", "other.h5", "--matrix", "16", "--coils", "2",
    ];
    place.run(&[&simulate[..], &["--spokes", "4"]].concat());
    for (option, words) in [
        ("--reference", &["other.h5", "[1, 16, 16]", "[1, 8, 8]"][..]),
        (
            "--coil-maps",
            &["other.h5", "[2, 1, 16, 16]", "[2, 1, 8, 8]"],
        ),
        ("--off-resonance", &["other.h5", "/field/hertz"]),
        ("--field", &["other.h5", "/field/coefficients"]),
    ] {
        reconstruct(&place, &[option, "other.h5"]).refused(1, words);
        reconstruct(&place, &[option, "absent.h5"]).refused(1, &["absent.h5"]);
    }
    assert_eq!(place.names(), ["other.h5", "raw.h5"]);
}

#[test]
fn simulations_that_make_no_sense() {
    let place = Place::new();
    for (options, word) in [
        (&["--matrix", "0"][..], "--matrix 0"),
        (&["--coils", "0"], "--coils 0"),
        (&["--spokes", "0"], "--spokes 0"),
        (&["--samples", "1"], "--samples 1"),
        (&["--noise", "-3"], "--noise -3"),
        (&["--noise", "inf"], "--noise inf"),
    ] {
        let said = place.run(&[&["mri", "simulate", "out.h5"], options].concat());
        said.refused(2, &[word]);
    }
    let large = ["--3d", "--matrix", "512", "--coils", "256"];
    place
        .run(&[&["mri", "simulate", "out.h5"][..], &large].concat())
        .refused(1, &["memory", "--coils"]);
    assert!(place.names().is_empty());
}
