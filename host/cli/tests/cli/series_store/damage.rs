//! Stores that are damaged or may not be written.

use super::super::support::TestFolder;
use super::{series_csv, write, zip};

/// A folder with `s.store` and `in.csv`.
fn with_store() -> TestFolder {
    let dir = TestFolder::new();
    let text = series_csv(
        "cpu",
        &zip(&[0, 10, 20, 30, 40, 50], &[1., 2., 3., 4., 5., 6.]),
    );
    write(&dir, "in.csv", &format!("series,timestamp,value\n{text}"));
    let fixed = ["series", "ingest", "s.store", "in.csv", "--quiet"];
    dir.run(&[&fixed[..], &["--policy", "high"]].concat())
        .well();
    dir
}

const INGEST: [&str; 7] = [
    "series",
    "ingest",
    "d.store",
    "in.csv",
    "--quiet",
    "--backend",
    "cpu",
];

/// Number of places that are damaged, with two bytes each.
const PLACES: usize = 150;

/// Bytes of the pages that lead to all others: an error of one sentence or success, and after
/// an error the store reads as before.
#[test]
fn damaged_bytes_never_end_the_program() {
    let dir = with_store();
    let whole = std::fs::read(dir.path("s.store")).unwrap();
    let page = |at: usize| at / 4096 * 4096..at / 4096 * 4096 + 4096;
    // The definitions of the tables.
    let text = b"buckets";
    let roots = whole
        .windows(text.len())
        .enumerate()
        .filter(|(_, bytes)| bytes == text)
        .map(|(at, _)| page(at));
    let mut pages: Vec<_> = roots.collect();
    pages.dedup();
    let used = |at: &usize| whole[*at] != 0;
    let places: Vec<usize> = pages.into_iter().flatten().filter(used).collect();
    let mut refused = 0;
    for at in places
        .iter()
        .step_by(places.len().div_ceil(PLACES))
        .copied()
    {
        for byte in [0, 255] {
            let mut changed = whole.clone();
            changed[at] = byte;
            std::fs::write(dir.path("d.store"), &changed).unwrap();
            let result = dir.run(&INGEST);
            if result.code == Some(0) {
                continue;
            }
            refused += 1;
            result.refused(1, &["d.store: expected "]);
        }
    }
    assert!(refused > PLACES / 4, "{refused}");
}

/// The superuser may write to such a file, and does not.
#[cfg(unix)]
#[test]
fn a_read_only_store_is_not_written() {
    let dir = with_store();
    std::fs::copy(dir.path("s.store"), dir.path("d.store")).unwrap();
    let mut permissions = std::fs::metadata(dir.path("d.store"))
        .unwrap()
        .permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(dir.path("d.store"), permissions).unwrap();
    let before = std::fs::read(dir.path("d.store")).unwrap();
    dir.run(&INGEST)
        .refused(1, &["d.store: cannot be written: it is read-only"]);
    assert_eq!(std::fs::read(dir.path("d.store")).unwrap(), before);
    let info = dir.run(&["series", "info", "d.store"]);
    assert_eq!(info.code, Some(0), "{info:?}");
}

#[cfg(unix)]
#[test]
fn a_stopped_ingest_says_what_is_stored() {
    let dir = TestFolder::new();
    let many: Vec<i64> = (0..200_000).collect();
    let text = series_csv("cpu", &zip(&many, &vec![1.0; many.len()]));
    write(&dir, "in.csv", &format!("series,timestamp,value\n{text}"));
    let mut command = dir.command();
    command.args(["series", "ingest", "s.store", "in.csv", "--backend", "cpu"]);
    command.args(["--policy", "low", "--batch", "2000", "--json-progress"]);
    let result = dir.interrupt_at(&mut command, "\"batch\"");
    assert_eq!(result.code, Some(130), "{result:?}");
    assert!(
        result.err.contains("stopped: the first ")
            && result.err.contains(" points are stored in s.store"),
        "{result:?}"
    );
}
