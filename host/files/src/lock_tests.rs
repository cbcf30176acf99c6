//! Files that other programs have locked, inherit, or have open for writing.

use super::source::Source;
use super::superblock::{self, Writer};
use super::{IoError, output, unlocked};
use hdf5_metno as hdf5;
use std::fs::File;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Command;
use warpstride_core::system::Memory;

fn write(path: &Path, value: f64) -> Result<(), IoError> {
    let values = ndarray::arr1(&[value; 100]);
    output::write(path, |file| output::array(file, "values", &values))
}

fn values(source: &Source) -> Vec<f64> {
    let numbers = source.require("values", &["/values"]).unwrap();
    numbers.reals().unwrap().into_iter().collect()
}

fn read(path: &Path) -> Vec<f64> {
    values(&Source::open(path, Memory::available()).unwrap())
}

#[test]
fn files_that_are_locked_elsewhere_are_read_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    write(&path, 1.0).unwrap();
    // A lock belongs to a descriptor: this one keeps others of the same process out too.
    let foreign = File::open(&path).unwrap();
    foreign.lock().unwrap();
    // HDF5 respects the lock, unless this computer's user has told it not to.
    let told = std::env::var_os("HDF5_USE_FILE_LOCKING").is_some();
    assert!(told || hdf5::File::open(&path).is_err());
    assert_eq!(read(&path), [1.0; 100]);
    write(&path, 2.0).unwrap();
    assert_eq!(read(&path), [2.0; 100]);
}

/// Processes inherit what HDF5 has open when they start, with its locks.
#[cfg(unix)]
#[test]
fn files_are_written_while_a_thousand_processes_start() {
    // In a process of its own: files that other tests have locked would be inherited too.
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "lock_tests::a_thousand_processes", "--ignored"]);
    let output = alone.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

#[cfg(unix)]
#[test]
#[ignore = "another test starts it, in a process of its own"]
fn a_thousand_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    std::thread::scope(|scope| {
        let start = || {
            for _ in 0..125 {
                // It lives longer than a file takes.
                let mut child = Command::new("sleep").arg("0.01").spawn().unwrap();
                child.wait().unwrap();
            }
        };
        let starters: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        let mut number = 0.0;
        while starters.iter().any(|starter| !starter.is_finished()) {
            number += 1.0;
            write(&path, number).unwrap();
            assert_eq!(read(&path), [number; 100]);
        }
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A copy, `name`, of a file that HDF5 has open for writing, with a dataset that has been written
/// out.
fn open_for_writing(folder: &Path, name: &str, latest: bool, swmr: bool) -> PathBuf {
    let mut options = unlocked::options();
    if latest {
        options.with_fapl(|access| access.libver_latest());
    }
    let original = folder.join("original.h5");
    let file = options.create(&original).unwrap();
    let values = file.new_dataset::<f64>().shape(100..).chunk(50);
    let values = values.create("values").unwrap();
    values.write(&ndarray::arr1(&[3.0; 100])).unwrap();
    file.flush().unwrap();
    if swmr {
        drop(values);
        file.start_swmr().unwrap();
    }
    let copy = folder.join(name);
    std::fs::copy(&original, &copy).unwrap();
    copy
}

fn refusal(opened: Result<Source, IoError>) -> String {
    opened.err().unwrap().to_string()
}

#[test]
fn a_file_that_is_still_written_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::available();
    let sentence = |path: &Path| {
        format!(
            "{0}: expected an HDF5 file that has been closed, found one that is still open for writing, or whose program has ended without \
             closing it (as its superblock says); wait until the program that writes it has closed it; if that program has ended, remove the \
             mark with `h5clear -s {0}`",
            path.display()
        )
    };
    // Readable, with a note: HDF5 reads it too.
    for (name, latest) in [("flushed.h5", false), ("swmr.h5", true)] {
        let path = open_for_writing(folder.path(), name, latest, latest);
        let source = Source::open_unclosed(&path, memory).unwrap();
        assert_eq!(values(&source), [3.0; 100]);
        let notes = source.unclosed();
        let [note] = &notes[..] else {
            panic!("{notes:?}")
        };
        for part in ["swmr.h5 is still open", "flushed.h5 is still open"] {
            assert_eq!(note.contains(part), part.starts_with(name), "{note}");
        }
        assert!(note.contains("h5clear -s"), "{note}");
        // Where there is no place for notes.
        assert_eq!(refusal(Source::open(&path, memory)), sentence(&path));
    }
    // More has been written since, or less has arrived.
    let path = folder.path().join("flushed.h5");
    let whole = std::fs::read(&path).unwrap();
    for bytes in [[&whole[..], &[0; 9]].concat(), whole[..96].to_vec()] {
        std::fs::write(&path, bytes).unwrap();
        let refused = refusal(Source::open_unclosed(&path, memory));
        assert_eq!(refused, sentence(&path));
    }
    // HDF5 refuses it.
    let path = open_for_writing(folder.path(), "latest.h5", true, false);
    let refused = refusal(Source::open_unclosed(&path, memory));
    assert_eq!(refused, sentence(&path));
    // Closed, which removes the mark.
    let closed = superblock::check(&folder.path().join("original.h5")).unwrap();
    assert_eq!(closed.writer, Writer::None);
}

/// A file that others may read while it is written may grow meanwhile; another one may not.
#[test]
fn a_file_that_grows_is_refused_unless_it_is_meant_to() {
    let folder = tempfile::tempdir().unwrap();
    let append = |path: &Path| {
        let bytes = [&std::fs::read(path).unwrap()[..], &[0; 9]].concat();
        std::fs::write(path, bytes).unwrap();
    };
    for (swmr, grows) in [(false, false), (true, true)] {
        let path = open_for_writing(folder.path(), "a.h5", swmr, swmr);
        let source = Source::open_unclosed(&path, Memory::available()).unwrap();
        append(&path);
        assert_eq!(source.unchanged().is_ok(), grows);
        File::create(&path).unwrap();
        assert!(source.unchanged().is_err(), "it has become shorter");
    }
}
