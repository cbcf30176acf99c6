//! Files that other programs have locked or have open for writing.
#![cfg(all(feature = "ptycho", feature = "mri"))]

use super::support::{STARTING, TestFolder};
use hdf5_metno as hdf5;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::PoisonError;

/// Makes a file what a program that has it open for writing has written out so far.
fn mark(folder: &TestFolder, name: &str) {
    let path = folder.path(name);
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::open_rw(&path).unwrap();
    file.flush().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    file.close().unwrap();
    std::fs::write(&path, bytes).unwrap();
}

#[test]
fn files_that_another_process_has_locked_are_read_and_replaced() {
    let folder = TestFolder::with_scan();
    std::fs::write(folder.path("out.h5"), "older").unwrap();
    let locked = ["scan.cxi", "out.h5"].map(|name| {
        let file = File::open(folder.path(name)).unwrap();
        file.lock().unwrap();
        file
    });
    let run = ["-o", "out.h5", "--engine", "epie:1", "--no-pictures"];
    folder.reconstruct(&run).well();
    folder.run(&["ptycho", "info", "scan.cxi"]).well();
    drop(locked);
    folder
        .run(&["ptycho", "compare", "out.h5", "out.h5"])
        .well();
}

#[test]
fn files_that_are_still_written_are_noted_or_refused() {
    let folder = TestFolder::with_scan();
    let few = ["--matrix", "16", "--coils", "2", "--spokes", "8"];
    folder
        .run(&[&["mri", "simulate", "k.h5"][..], &few].concat())
        .well();
    let commands: [&[&str]; 3] = [
        &["ptycho", "info", "scan.cxi"],
        &[
            "ptycho",
            "reconstruct",
            "scan.cxi",
            "-o",
            "out.h5",
            "--engine",
            "epie:1",
            "--no-pictures",
            "--backend",
            "cpu",
        ],
        &["mri", "info", "k.h5"],
    ];
    let run = |words: &[&str]| {
        let mut outputs = Vec::new();
        for command in commands {
            let output = folder.run(command);
            let text = format!("{}{}", output.out, output.err);
            for word in words {
                assert!(text.contains(word), "{word}: {text}");
            }
            outputs.push((output.code, text));
        }
        outputs
    };
    for (code, text) in run(&[]) {
        assert_eq!(code, Some(0), "{text}");
        assert!(!text.contains("open for writing"), "{text}");
    }
    for name in ["scan.cxi", "k.h5"] {
        mark(&folder, name);
    }
    let noted = "is still open for writing, or its program has ended without closing it";
    for (code, text) in run(&[noted, "h5clear -s"]) {
        assert_eq!(code, Some(0), "{text}");
    }
    // More has been written since.
    for name in ["scan.cxi", "k.h5"] {
        let file = OpenOptions::new().append(true).open(folder.path(name));
        file.unwrap().write_all(&[0; 100]).unwrap();
    }
    let refused = "expected an HDF5 file that has been closed, found one that is still open";
    for (code, text) in run(&[refused, "h5clear -s"]) {
        assert_eq!(code, Some(1), "{text}");
    }
}
