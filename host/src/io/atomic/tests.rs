//! Absent or whole, whatever goes wrong.

use super::*;
use crate::io::{checkpoint, results, scan};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_failure_leaves_the_older_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    fs::write(&path, "older").unwrap();
    let e = write(&path, |temporary| {
        fs::write(temporary, "half").unwrap();
        Err(refusal(&path, &"made to fail"))
    })
    .unwrap_err();
    assert!(e.to_string().contains("made to fail"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "older");
    assert_eq!(names(folder.path()), ["a.h5"]);
}

#[test]
fn a_success_replaces_the_older_file_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, "older").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write(&link, |temporary| {
        fs::write(temporary, "newer").map_err(|e| refusal(&link, &e))
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "newer");
    assert_eq!(names(folder.path()), ["link", "real"]);
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let sentence = |path: &Path| {
        let direct = write(path, |_| Ok(())).unwrap_err().to_string();
        assert_eq!(direct, check(path).unwrap_err().to_string());
        direct
    };
    assert!(sentence(folder.path()).contains("folder"));
    let absent = folder.path().join("none").join("a.h5");
    assert!(sentence(&absent).contains("no folder"));
    assert!(sentence(Path::new("/dev/null")).contains("device"));
    assert!(sentence(Path::new("/")).contains("folder"));
    let guarded = folder.path().join("guarded");
    fs::write(&guarded, "kept").unwrap();
    let mut permissions = fs::metadata(&guarded).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&guarded, permissions).unwrap();
    assert!(sentence(&guarded).contains("read-only"));
    let free = folder.path().join("free");
    check(&free).unwrap();
    assert_eq!(names(folder.path()), ["guarded"]);
}

/// A file system of 256 KiB, unmounted when dropped; `None` where this user may not mount.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "none"])
            .arg(folder.path())
            .output()
            .is_ok_and(|o| o.status.success());
        mounted.then_some(Self(folder))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg(self.0.path())
            .output();
    }
}

#[test]
fn a_full_disk_leaves_nothing() {
    let Some(tiny) = Tiny::mount() else {
        #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
        {
            eprintln!("SKIPPED: this user cannot mount a small tmpfs to fill");
        }
        return;
    };
    let folder = tiny.0.path();
    let path = folder.join("out");
    let mut state = checkpoint::Checkpoint::default();
    let large = ndarray::Array::from_elem((1000, 60), 1.0).into_dyn();
    state.real.insert("a".to_owned(), large);
    let full = |result: Result<(), IoError>| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains("No space left"), "{text}");
        assert_eq!(names(folder), [""; 0], "{text}");
    };
    full(checkpoint::write(&path, &state));
    full(scan::write(&path, &scan::tests::small(20_000, true, 1.0)));
    full(results::write(&path, &results::tests::large()));
    // From no room to more than enough, page by page.
    let (mut whole, mut absent) = (0, 0);
    for room in (0..163_840).step_by(4096) {
        let filler = folder.join("filler");
        fs::write(&filler, vec![1; 262_144 - room]).unwrap();
        match scan::write(&path, &scan::tests::small(100, true, 1.0)) {
            Ok(()) => {
                scan::read(&path, &scan::ReadOptions::default()).unwrap();
                fs::remove_file(&path).unwrap();
                whole += 1;
            }
            Err(e) => {
                assert!(e.to_string().contains("No space left"), "{room}: {e}");
                absent += 1;
            }
        }
        assert_eq!(names(folder), ["filler"]);
    }
    assert!(whole > 0 && absent > 0, "{whole} {absent}");
}
