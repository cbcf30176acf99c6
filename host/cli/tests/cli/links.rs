//! Links in HDF5 files: those inside the file and to files in its folder are followed.

use super::support::{STARTING, TestFolder};
use hdf5_metno as hdf5;
use std::sync::PoisonError;

const DETECTOR: &str = "/entry_1/instrument_1/detector_1";

/// Puts a soft link in the place of the frames of `scan.cxi`. It leads to the frames, or to an
/// external link to `file`.
fn link_frames(folder: &TestFolder, file: Option<&str>) {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let scan = hdf5::File::open_rw(folder.path("scan.cxi")).unwrap();
    let detector = scan.group(DETECTOR).unwrap();
    detector.relink("data", "elsewhere").unwrap();
    if let Some(file) = file {
        detector.unlink("elsewhere").unwrap();
        detector
            .link_external(file, &format!("{DETECTOR}/data"), "elsewhere")
            .unwrap();
    }
    detector
        .link_soft(&format!("{DETECTOR}/elsewhere"), "data")
        .unwrap();
}

/// What `ptycho info` prints but for the memory that is available, which other programs change.
fn facts(printed: &str) -> Vec<&str> {
    (printed.lines())
        .filter(|line| !line.contains("is available"))
        .collect()
}

#[test]
fn a_soft_link_inside_the_file_is_followed() {
    let folder = TestFolder::with_scan();
    let before = folder.run(&["ptycho", "info", "scan.cxi"]);
    link_frames(&folder, None);
    let after = folder.run(&["ptycho", "info", "scan.cxi"]);
    after.well();
    assert_eq!(facts(&before.out), facts(&after.out));
}

/// HDF5 opens the file of an external link, and the opening of a pipe waits for its writer.
#[cfg(target_os = "linux")]
#[test]
fn a_soft_link_does_not_lead_to_a_pipe() {
    let folder = TestFolder::with_scan();
    link_frames(&folder, Some("pipe"));
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    for arguments in [
        &["ptycho", "info", "scan.cxi"][..],
        &["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"],
    ] {
        let (output, _) = folder.run_watched(arguments);
        output.refused(
            1,
            &["pipe: expected an HDF5 file, found a device, pipe or socket"],
        );
    }
    assert_eq!(folder.names(), ["pipe", "scan.cxi"]);
}

/// Links to files in the folder are followed, others only with an option, which is recorded in the
/// recipe.
#[test]
fn links_are_followed_in_the_folder_and_elsewhere_on_demand() {
    let folder = TestFolder::with_scan();
    let before = folder.run(&["ptycho", "info", "scan.cxi"]);
    let inner = folder.path("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::copy(folder.path("scan.cxi"), folder.path("other.cxi")).unwrap();
    std::fs::copy(folder.path("scan.cxi"), inner.join("scan.cxi")).unwrap();
    link_frames(&folder, Some("other.cxi"));
    let after = folder.run(&["ptycho", "info", "scan.cxi"]);
    after.well();
    assert_eq!(facts(&before.out), facts(&after.out));
    std::fs::rename(folder.path("scan.cxi"), folder.path("kept.cxi")).unwrap();
    std::fs::rename(inner.join("scan.cxi"), folder.path("scan.cxi")).unwrap();
    link_frames(&folder, Some("../other.cxi"));
    std::fs::rename(folder.path("scan.cxi"), inner.join("scan.cxi")).unwrap();
    let info = &["ptycho", "info", "inner/scan.cxi"];
    let words = [
        "scan.cxi",
        "\"../other.cxi\", which is elsewhere",
        "--follow-links",
    ];
    folder.run(info).refused(1, &words);
    folder
        .run(&[&info[..], &["--follow-links"]].concat())
        .well();
    let run = [
        "reconstruct",
        "inner/scan.cxi",
        "-o",
        "out.h5",
        "--follow-links",
        "--engine",
        "epie:1",
    ];
    folder.run(&[&["ptycho"], &run[..]].concat()).well();
    std::fs::remove_file(folder.path("other.cxi")).unwrap();
    folder
        .run(&["ptycho", "info", "kept.cxi"])
        .refused(1, &["kept.cxi", "\"other.cxi\", which does not exist"]);
}

/// An entry of an NXcanSAS file that is elsewhere is left out, and a note says so.
#[test]
fn an_entry_in_another_file_is_noted() {
    let folder = TestFolder::new();
    let write = |name: &str| {
        let options = ["--q", "0.01:0.1:9", "-o", name, "--quiet"];
        folder
            .run(&[&["sas", "evaluate", "sphere"], &options[..]].concat())
            .well();
    };
    write("here.h5");
    write("other.h5");
    let note = "links to other files or to nothing, which are left out: /another";
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open_rw(folder.path("here.h5")).unwrap();
        let entry = file.member_names().unwrap().remove(0);
        file.link_external("other.h5", &entry, "another").unwrap();
    }
    let info = folder.run(&["sas", "info", "here.h5"]);
    info.well();
    assert!(info.out.contains(note), "{}", info.out);
}

/// Opening a pipe waits for its writer.
#[cfg(target_os = "linux")]
#[test]
fn pipes_are_not_waited_for() {
    let folder = TestFolder::new();
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    std::fs::write(folder.path("points.csv"), "timestamp,value\n2024-01-01,1\n").unwrap();
    for (arguments, what) in [
        (
            "sas evaluate sphere --backend cpu --pd radius=array:pipe",
            "a distribution",
        ),
        (
            "series ingest s.store points.csv --backend cpu --policy pipe",
            "a policy (TOML)",
        ),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let (output, _) = folder.run_watched(&words);
        let text = format!("pipe: expected {what}, found a folder, device or pipe");
        output.refused(1, &[&text]);
    }
    assert_eq!(folder.names(), ["pipe", "points.csv"]);
}
