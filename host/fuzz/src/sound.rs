//! Properties that hold for everything that the readers of scattering data return.

use std::path::Path;
use warpstride::sas::data::{Scattering, Smearing};
use warpstride::io::IoError;
use warpstride::sas::io::{self as sas, Computed, Kind, QUnit, ReadOptions};
use warpstride::system::Memory;

/// Limit of memory, small, so that a size without stored data is refused rather than filled with
/// zeros.
const MEMORY: u64 = 8 << 20;

/// Reads `path` with all options; checks the returned data, and that they survive a round trip
/// through files in `folder`.
///
/// # Panics
/// If a check fails.
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
    // Writing takes most of the time: HDF5 is tested for some of the files only.
    let length = std::fs::metadata(path).map_or(0, |m| m.len());
    for options in [plain.clone(), second, of(Kind::Curve), of(Kind::Image)] {
        match sas::read_within(path, &options, Memory::limited(MEMORY)) {
            Ok(read) => {
                check(&read);
                round_trip(&read, folder, length % 8 == 0);
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

/// The numbers without what the formats store differently.
fn numbers_of(read: &Scattering, slit: bool) -> Scattering {
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

fn round_trip(read: &Scattering, folder: &Path, with_hdf5: bool) {
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
    sas::write_csv(&csv, &computed).expect("data that were read can be written");
    let back = sas::read(&csv, &options).expect("and read back");
    assert_eq!(numbers_of(&back, false), numbers_of(read, false));
    if !with_hdf5 {
        return;
    }
    sas::write_hdf5(&hdf5, &computed).expect("data that were read can be written");
    let back = sas::read(&hdf5, &options).expect("and read back");
    assert_eq!(numbers_of(&back, true), numbers_of(read, true));
}
