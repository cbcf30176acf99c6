//! Tests that files are complete or missing after any failure.

use super::*;

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
    let e = write::<WriteError>(&path, |temporary| {
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
        fs::write(temporary, "newer").map_err(|e| refusal::<WriteError>(&link, &e))
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "newer");
    assert_eq!(names(folder.path()), ["link", "real"]);
}

#[test]
fn paths_that_cannot_be_written_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let message = |path: &Path| {
        let direct = write::<WriteError>(path, |_| Ok(()))
            .unwrap_err()
            .to_string();
        assert_eq!(direct, check(path).unwrap_err().to_string());
        direct
    };
    assert!(message(folder.path()).contains("folder"));
    let missing = folder.path().join("none").join("a.h5");
    assert!(message(&missing).contains("no folder"));
    assert!(message(Path::new("/dev/null")).contains("device"));
    assert!(message(Path::new("/")).contains("folder"));
    let guarded = folder.path().join("guarded");
    fs::write(&guarded, "kept").unwrap();
    let mut permissions = fs::metadata(&guarded).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&guarded, permissions).unwrap();
    assert!(message(&guarded).contains("read-only"));
    let free = folder.path().join("free");
    check(&free).unwrap();
    assert_eq!(names(folder.path()), ["guarded"]);
}
