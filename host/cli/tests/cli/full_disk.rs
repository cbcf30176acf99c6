//! A disk that fills up while results are written: a small tmpfs, if this process may mount one.

use super::support::{STARTING, TestFolder, names, skipped};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::PoisonError;

/// A small tmpfs, unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path, kib: usize) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let size = format!("size={kib}k");
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(at)
            .output()
            .is_ok_and(|output| output.status.success());
        done.then(|| Self(at.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        Command::new("umount").arg(&self.0).status().unwrap();
    }
}

#[test]
fn outputs_that_do_not_fit_leave_nothing_behind() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "64", "--positions", "16"]);
    let Some(disk) = Disk::mount(&folder.path("disk"), 64) else {
        skipped("disk full while writing", "no tmpfs can be mounted here");
        return;
    };
    let full = |options: &[&str]| {
        let output = folder.reconstruct(&[options, &["--engine", "dm:3", "--quiet"]].concat());
        output.refused(1, &["disk/", "cannot be written", "space"]);
    };
    folder
        .run(&[
            "ptycho",
            "simulate",
            "disk/a.cxi",
            "--frame",
            "64",
            "--positions",
            "16",
        ])
        .refused(1, &["disk/a.cxi", "space"]);
    assert!(names(&disk.0).is_empty());
    full(&["-o", "disk/out.h5"]);
    full(&["-o", "disk/out.h5", "--checkpoint-every", "0"]);
    full(&["-o", "out.h5", "--no-pictures", "--report", "disk/r.html"]);
    assert!(names(&disk.0).is_empty());
    // The result was written before the report failed.
    assert_eq!(folder.names(), ["disk", "out.h5", "scan.cxi"]);

    // An older result is left unchanged.
    std::fs::write(disk.0.join("out.h5"), "older").unwrap();
    full(&["-o", "disk/out.h5"]);
    assert_eq!(std::fs::read(disk.0.join("out.h5")).unwrap(), b"older");
    assert_eq!(names(&disk.0), ["out.h5"]);
}

#[test]
fn a_field_that_does_not_fit_leaves_the_older_file_unchanged() {
    let folder = TestFolder::new();
    let Some(disk) = Disk::mount(&folder.path("disk"), 64) else {
        skipped(
            "disk full while saving a field",
            "no tmpfs can be mounted here",
        );
        return;
    };
    std::fs::write(disk.0.join("f.npy"), "older").unwrap();
    for (name, every) in [
        ("disk/f.npy", "0"),
        ("disk/f.npy", "1e-9"),
        ("disk/g.npy", "0"),
    ] {
        let options = ["--nx", "300", "--ny", "300", "--backend", "cpu", "-o", name];
        let more = [
            "--save-every",
            every,
            "--iterations",
            "5000",
            "--check-every",
            "100",
        ];
        let output = folder.run(&[&["jacobi"], &options[..], &more].concat());
        output.refused(1, &[name, "cannot be written", "space"]);
    }
    assert_eq!(std::fs::read(disk.0.join("f.npy")).unwrap(), b"older");
    assert_eq!(names(&disk.0), ["f.npy"]);
}
