//! Shared files have the values that other programs read, written files read back, and invalid
//! files cause an error of one sentence, never a panic.

mod columns;
#[cfg(feature = "hdf5")]
mod nxcansas;
mod refused;
mod shared;
mod written;
mod xml;

use super::*;
use crate::data::Smearing;
use std::path::PathBuf;

#[expect(unreachable_pub, reason = "the fuzz target takes it from there")]
#[path = "../../../fuzz/src/scattering.rs"]
mod scattering;

/// A file of the shared folder; `None`, with a message, if the folder is not available.
fn shared(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("WARPSTRIDE_SHARED_DATA") else {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("SKIPPED: {name}: WARPSTRIDE_SHARED_DATA is not set");
        }
        return None;
    };
    Some(Path::new(&folder).join("sas").join(name))
}

fn curve_of(path: &Path) -> Curve {
    read_curve(path, &ReadOptions::default()).unwrap()
}

fn temporary(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

fn from_text(text: &str) -> Result<Scattering, IoError> {
    let (_folder, path) = temporary(text.as_bytes());
    read(&path, &ReadOptions::default())
}

fn curve_from(text: &str) -> Curve {
    match from_text(text).unwrap() {
        Scattering::Curve(curve) => curve,
        Scattering::Image(_) => panic!("an image"),
    }
}

/// The error message: one line that begins with the name of the file.
fn refused(content: &[u8], options: &ReadOptions) -> String {
    let (_folder, path) = temporary(content);
    let text = read(&path, options).unwrap_err().to_string();
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    assert!(!text.contains('\n'), "{text}");
    text
}

fn assert_refused(content: &str, words: &[&str]) {
    let text = refused(content.as_bytes(), &ReadOptions::default());
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

fn entry(inside: &str) -> String {
    format!("<SASroot><SASentry><SASdata>{inside}</SASdata></SASentry></SASroot>")
}

/// Curves and images with each kind of resolution.
fn examples() -> Vec<Scattering> {
    let curve = |sigma: Option<f64>, smearing| {
        Scattering::Curve(Curve {
            q: vec![1.0 / 3.0 * 1e-3, 0.02, 0.02, 0.5],
            intensity: vec![1e10 / 7.0, -0.1, 0.0, 1e-300],
            sigma: sigma.map(|s| vec![s / 3.0; 4]),
            smearing,
            title: "made of µ".to_owned(),
            notes: Vec::new(),
        })
    };
    let width = || vec![0.001, 0.0, 0.1 / 3.0, 0.01];
    let slit = Smearing::Slit {
        length: vec![0.117; 4],
        width: width(),
    };
    let image = |sigma: Option<f64>, resolution| {
        Scattering::Image(ScatteringImage {
            qx: vec![-0.1, 0.1, -0.1, 0.1],
            qy: vec![-0.1, -0.1, 0.1, 0.1],
            intensity: vec![1.0 / 3.0, 2.0, -3.0, 0.0],
            sigma: sigma.map(|s| vec![s; 4]),
            resolution,
            title: "made".to_owned(),
            notes: Vec::new(),
        })
    };
    vec![
        curve(None, None),
        curve(Some(0.1), None),
        curve(Some(0.1), Some(Smearing::Pinhole(width()))),
        curve(None, Some(Smearing::Pinhole(width()))),
        curve(Some(0.1), Some(slit)),
        image(None, None),
        image(Some(0.1), None),
        image(Some(0.1), Some((width(), width()))),
    ]
}
