//! What every reader of scattering promises of what it returns.

use std::path::Path;
use warpstride::data::{Scattering, Smearing};
use warpstride::io::sas::{self, Computed, Kind, QUnit, ReadOptions};
use warpstride::io::{IoError, Memory};

/// Small, so that a size without data behind it is refused and not filled with zeros.
const MEMORY: u64 = 8 << 20;

/// Reads `path` in every way; what comes out is sound and survives its own files in `folder`.
///
/// # Panics
/// Where it is or does not.
pub fn exercise(path: &Path, folder: &Path) {
    let plain = ReadOptions::default();
    let second = ReadOptions {
        select: Some("2".to_owned()),
        q_unit: Some(QUnit::InverseNanometre),
        ..plain.clone()
    };
    let of = |kind| ReadOptions {
        kind: Some(kind),
        ..plain.clone()
    };
    for options in [plain.clone(), second, of(Kind::Curve), of(Kind::Image)] {
        match sas::read_within(path, &options, Memory::limited(MEMORY)) {
            Ok(read) => {
                check(&read);
                again(&read, folder);
            }
            Err(e) => sentence(&e),
        }
    }
}

fn sentence(error: &IoError) {
    let text = error.to_string();
    assert!(
        !text.is_empty() && text.len() < 4000 && !text.contains('\n'),
        "{text}"
    );
}

fn positive(values: &[f64]) -> bool {
    values.iter().all(|v| v.is_finite() && *v > 0.0)
}

fn widths(values: &[f64]) -> bool {
    values.iter().all(|v| v.is_finite() && *v >= 0.0) && values.iter().any(|v| *v > 0.0)
}

fn check(read: &Scattering) {
    match read {
        Scattering::Curve(curve) => {
            let n = curve.q.len();
            assert!(n > 0 && positive(&curve.q) && curve.intensity.len() == n);
            assert!(curve.q.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(curve.intensity.iter().all(|i| i.is_finite()));
            assert!(
                curve
                    .sigma
                    .as_ref()
                    .is_none_or(|s| s.len() == n && positive(s))
            );
            match &curve.smearing {
                None => {}
                Some(Smearing::Pinhole(width)) => assert!(width.len() == n && widths(width)),
                Some(Smearing::Slit { length, width }) => {
                    assert!(length.len() == n && width.len() == n);
                    assert!(widths(length) || widths(width));
                }
            }
        }
        Scattering::Image(image) => {
            let n = image.qx.len();
            assert!(n > 0 && image.qy.len() == n && image.intensity.len() == n);
            for column in [&image.qx, &image.qy, &image.intensity] {
                assert!(column.iter().all(|v| v.is_finite()));
            }
            assert!(
                image
                    .sigma
                    .as_ref()
                    .is_none_or(|s| s.len() == n && positive(s))
            );
            if let Some((along, across)) = &image.resolution {
                assert!(along.len() == n && across.len() == n);
                assert!(widths(along) || widths(across));
            }
        }
    }
}

/// Numbers without what files say differently.
fn bare(read: &Scattering, slit: bool) -> Scattering {
    let mut read = read.clone();
    match &mut read {
        Scattering::Curve(curve) => {
            curve.title.clear();
            curve.notes.clear();
            if !slit && matches!(curve.smearing, Some(Smearing::Slit { .. })) {
                curve.smearing = None;
            }
        }
        Scattering::Image(image) => {
            image.title.clear();
            image.notes.clear();
        }
    }
    read
}

fn again(read: &Scattering, folder: &Path) {
    let process = [("model".to_owned(), "none\n1 2 3".to_owned())];
    let computed = Computed {
        scattering: read,
        process: &process,
    };
    let options = ReadOptions {
        kind: Some(match read {
            Scattering::Curve(_) => Kind::Curve,
            Scattering::Image(_) => Kind::Image,
        }),
        ..ReadOptions::default()
    };
    let (csv, hdf5) = (folder.join("again.csv"), folder.join("again.h5"));
    sas::write_csv(&csv, &computed).expect("what was read can be written");
    let back = sas::read(&csv, &options).expect("and read again");
    assert_eq!(bare(&back, false), bare(read, false));
    sas::write_hdf5(&hdf5, &computed).expect("what was read can be written");
    let back = sas::read(&hdf5, &options).expect("and read again");
    assert_eq!(bare(&back, true), bare(read, true));
}
