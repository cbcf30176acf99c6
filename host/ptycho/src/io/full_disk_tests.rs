//! Files on a full disk are complete or missing.

use super::{checkpoint, results, scan};
use std::fs;
use std::path::Path;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A file system of 256 KiB, unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` if this user may not mount.
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

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg(self.0.path())
            .output();
    }
}

#[test]
fn a_full_disk_leaves_nothing() {
    let Some(disk) = SmallDisk::mount() else {
        #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
        {
            eprintln!("SKIPPED: this user cannot mount a small tmpfs to fill");
        }
        return;
    };
    let folder = disk.0.path();
    let path = folder.join("out");
    let mut state = checkpoint::Checkpoint::default();
    let large = ndarray::Array::from_elem((1000, 60), 1.0).into_dyn();
    state.real.insert("a".to_owned(), large);
    let full = |result: Result<(), warpstride_files::IoError>| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains("No space left"), "{text}");
        assert_eq!(names(folder), [""; 0], "{text}");
    };
    full(checkpoint::write(&path, &state));
    full(scan::write(&path, &scan::tests::small(20_000, true, 1.0)));
    full(results::write(&path, &results::tests::large()));
    // From no free space to more than enough, page by page.
    let (mut complete, mut missing) = (0, 0);
    for free in (0..163_840).step_by(4096) {
        let filler = folder.join("filler");
        fs::write(&filler, vec![1; 262_144 - free]).unwrap();
        match scan::write(&path, &scan::tests::small(100, true, 1.0)) {
            Ok(()) => {
                scan::read(&path, &scan::ReadOptions::default()).unwrap();
                fs::remove_file(&path).unwrap();
                complete += 1;
            }
            Err(e) => {
                assert!(e.to_string().contains("No space left"), "{free}: {e}");
                missing += 1;
            }
        }
        assert_eq!(names(folder), ["filler"]);
    }
    assert!(complete > 0 && missing > 0, "{complete} {missing}");
}
