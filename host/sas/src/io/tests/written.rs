//! Written files read back.

use super::*;

/// Without title and notes.
fn bare(mut of: Scattering) -> Scattering {
    match &mut of {
        Scattering::Curve(curve) => {
            curve.title.clear();
            curve.notes.clear();
        }
        Scattering::Image(image) => {
            image.title.clear();
            image.notes.clear();
        }
    }
    of
}

#[test]
fn written_files_read_back_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let process = [("model".to_owned(), "sphere\nradius 1 2".to_owned())];
    for scattering in &examples() {
        let computed = Computed {
            scattering,
            process: &process,
        };
        let path = folder.path().join("a.h5");
        write_hdf5(&path, &computed).unwrap();
        let back = read(&path, &ReadOptions::default()).unwrap();
        let (title, expected) = match (&back, scattering) {
            (Scattering::Curve(a), Scattering::Curve(b)) => (&a.title, &b.title),
            (Scattering::Image(a), Scattering::Image(b)) => (&a.title, &b.title),
            _ => panic!("another kind"),
        };
        assert_eq!(title, expected);
        assert_eq!(bare(back), bare(scattering.clone()));
        let path = folder.path().join("a.csv");
        write_csv(&path, &computed).unwrap();
        let mut expected = bare(scattering.clone());
        if let Scattering::Curve(curve) = &mut expected
            && matches!(curve.smearing, Some(Smearing::Slit { .. }))
        {
            curve.smearing = None;
        }
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(bare(back), expected);
    }
}

#[test]
fn an_output_is_absent_or_complete() {
    let computed = Computed {
        scattering: &examples()[0],
        process: &[],
    };
    for write in [write_csv, write_hdf5] {
        let text = write(Path::new("/nonexistent/a"), &computed).unwrap_err();
        assert!(matches!(text, IoError::Write { .. }), "{text}");
    }
}
