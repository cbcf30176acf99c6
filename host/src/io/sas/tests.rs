//! The shared files against what other programs find in them, files that were written, and files that are not what
//! they should be: one sentence each, and never a panic.

use super::*;
use crate::data::Smearing;
use proptest::prelude::*;
use std::path::PathBuf;

#[expect(unreachable_pub, reason = "the fuzz target takes it from there")]
#[path = "../../../fuzz/src/scattering.rs"]
mod scattering;

/// A file of the shared folder; `None`, said loudly, where there is none.
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

/// What the reader says, one sentence that begins with the file.
fn refused(content: &[u8], options: &ReadOptions) -> String {
    let (_folder, path) = temporary(content);
    let text = read(&path, options).unwrap_err().to_string();
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    assert!(!text.contains('\n'), "{text}");
    text
}

fn says(content: &str, words: &[&str]) {
    let text = refused(content.as_bytes(), &ReadOptions::default());
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

/// Rows, first and last (q, I, σ), whether there are widths.
type Known = (&'static str, usize, [f64; 3], [f64; 3], bool);

#[test]
fn every_shared_curve_is_read_as_it_stands() {
    // Counted and copied from the files.
    let known: [Known; 8] = [
        (
            "ISIS_98929.TXT",
            140,
            [0.007, 21.08775, 0.6056236],
            [0.285, 0.1619386, 1.022965],
            false,
        ),
        (
            "apoferritin.txt",
            395,
            [0.0055, 0.6648618, 0.1143732],
            [0.3995, -3.762594e-3, 3.959845e-3],
            true,
        ),
        (
            "PolySpheres.txt",
            128,
            [0.003, 5.58459588740281, 1.18158747955905],
            [0.28939848597336, 1.66411797938958e-4, 5.03908972162823e-5],
            false,
        ),
        (
            "100nmPinholeSphere.txt",
            150,
            [1e-3, 2.41e3, 24.1],
            [0.5, 2.2e-6, 2.2e-8],
            true,
        ),
        (
            "n_coreshell.txt",
            100,
            [1e-3, 181.7725, 0.5741065],
            [0.7943282, 7.252985e-3, 3.626492e-3],
            true,
        ),
        (
            "AOT_Microemulsion-Drop_Contrast.xml",
            136,
            [0.009, 32.086, 0.550487],
            [0.279, 0.0, 0.0],
            false,
        ),
        (
            "latex_smeared.xml",
            301,
            [0.003797, 4006.05896074137, 160.350516888371],
            [0.0, 0.0, 0.0],
            true,
        ),
        (
            "33837rear_1D_1.75_16.5_NXcanSAS_v3.h5",
            66,
            [0.00416, 5.41609467, 0.61522475],
            [0.0, 0.0, 0.0],
            false,
        ),
    ];
    for (name, rows, first, last, widths) in known {
        let Some(path) = shared(name) else {
            return;
        };
        let curve = curve_of(&path);
        let sigma = curve.sigma.as_ref().unwrap();
        assert_eq!(curve.q.len(), rows, "{name}");
        for (at, expected) in [(0, first), (rows - 1, last)] {
            let found = [curve.q[at], curve.intensity[at], sigma[at]];
            // Zeros stand for what was not copied.
            for (found, expected) in found.iter().zip(expected).filter(|(_, e)| *e != 0.0) {
                assert!(
                    (found - expected).abs() <= 1e-8 * expected.abs(),
                    "{name}: {found}"
                );
            }
        }
        let pinhole = matches!(curve.smearing, Some(Smearing::Pinhole(_)));
        assert_eq!(pinhole, widths, "{name}");
    }
}

#[test]
fn curves_of_sasfit_have_no_uncertainties() {
    for (name, rows) in [
        ("sasfit_ellipsoid_IQD.txt", 101),
        ("sasfit_ellipsoid_IQM.txt", 201),
        ("sasfit_polydisperse_sphere_sq.txt", 201),
        ("sasfit_sphere_IQD.txt", 201),
        ("sasfit_sphere_schulz_IQD.txt", 1001),
    ] {
        let Some(path) = shared(name) else {
            return;
        };
        let curve = curve_of(&path);
        assert_eq!((curve.q.len(), curve.q[rows - 1]), (rows, 1.0), "{name}");
        assert_eq!((&curve.sigma, &curve.smearing), (&None, &None), "{name}");
        assert!(
            curve.notes.iter().any(|n| n.contains("-1 everywhere")),
            "{:?}",
            curve.notes
        );
    }
}

#[test]
fn the_shared_image_is_a_grid() {
    let Some(path) = shared("P123_D2O_10_percent.dat") else {
        return;
    };
    let image = read_image(&path, &ReadOptions::default()).unwrap();
    // 33 of the 10 000 pixels have uncertainty 0.
    assert!(image.notes[0].contains("33 pixels"), "{:?}", image.notes);
    let grid = crate::sas::points::grid(&image).unwrap();
    assert_eq!(
        (grid.qx.len(), grid.qy.len(), image.qx.len()),
        (100, 100, 9967)
    );
    assert_eq!(
        [image.qx[0], image.qy[0], image.intensity[0]],
        [-0.099, -0.099, -0.0862318]
    );
    assert_eq!(image.sigma.unwrap()[9966], 0.282794);
    let text = read_curve(&path, &ReadOptions::default());
    // Taken as columns of a curve, its second line has a negative q.
    assert!(text.is_err() || text.unwrap().notes.iter().any(|n| n.contains("q ≤ 0")));
}

#[test]
fn the_second_of_several_is_selected_by_number_or_title() {
    let Some(path) = shared("latex_smeared.xml") else {
        return;
    };
    let first = curve_of(&path);
    assert!(first.notes[0].contains("2 data sets"), "{:?}", first.notes);
    assert!(
        first
            .notes
            .iter()
            .any(|n| n.contains("has the q") || n.contains("have the q"))
    );
    for select in ["2", "latex particles 0.5micron diameter in D2O slit"] {
        let options = ReadOptions {
            select: Some(select.to_owned()),
            ..ReadOptions::default()
        };
        let second = read_curve(&path, &options).unwrap();
        assert_eq!(second.q.len(), 82);
        let Some(Smearing::Slit { length, width }) = second.smearing else {
            panic!("no slit");
        };
        assert!(length.iter().all(|l| *l == 0.117) && width.iter().all(|w| *w == 0.0));
    }
    for wrong in ["3", "0", "none"] {
        let options = ReadOptions {
            select: Some(wrong.to_owned()),
            ..ReadOptions::default()
        };
        let text = read(&path, &options).unwrap_err().to_string();
        assert!(text.contains("select") && text.contains("slit"), "{text}");
    }
}

#[test]
fn zero_widths_are_no_resolution() {
    let curve = curve_from("0.01 2 0.1 0\n0.02 1 0.1 0\n");
    assert_eq!(curve.smearing, None);
    assert!(
        curve.notes[0].contains("resolution is zero"),
        "{:?}",
        curve.notes
    );
    // A single zero among widths is a point without any.
    let curve = curve_from("0.01 2 0.1 0\n0.02 1 0.1 0.001\n");
    assert_eq!(curve.smearing, Some(Smearing::Pinhole(vec![0.0, 0.001])));
}

#[test]
fn separators_and_headers_do_not_matter() {
    let expected = curve_from("0.01 2 0.1\n0.02 1 0.2\n");
    for text in [
        "q,I,dI\n0.01,2,0.1\n0.02,1,0.2\n",
        "0.01;2;0.1;\r\n0.02;1;0.2;\r\n",
        "\u{feff}# units 1/A\n\n0.01\t2\t0.1\t\n\n0.02\t1\t0.2\n\nend of file\n",
        "1 2 3 4 5 6 7\n0 0 0 0\nwords\n 1.0D-02 , 2.0d0 , 1E-1 # one\n  2.e-002, 1., .2",
        "<X> <Y> <dY>\n0.01 2 0.1\n0.02 1 0.2\n",
    ] {
        let mut found = curve_from(text);
        found.title.clone_from(&expected.title);
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn rows_without_a_wave_vector_and_in_disorder_are_noted() {
    let curve = curve_from("0 1 0\n0.03 3 0.3 \n0.01 1 0.1\n0.02 2 0.2\n0.02 2.5 0.25\n-0.1 1 1\n");
    assert_eq!(curve.q, [0.01, 0.02, 0.02, 0.03]);
    assert_eq!(curve.intensity, [1.0, 2.0, 2.5, 3.0]);
    assert_eq!(curve.sigma, Some(vec![0.1, 0.2, 0.25, 0.3]));
    let notes = curve.notes.join("; ");
    for words in ["2 rows with q ≤ 0", "line 1", "sorted", "line 3", "line 5"] {
        assert!(notes.contains(words), "{notes}");
    }
}

#[test]
fn units_are_converted_or_asked_for() {
    let options = ReadOptions {
        q_unit: Some(QUnit::InverseNanometre),
        ..ReadOptions::default()
    };
    let (_folder, path) = temporary(b"# q in nm^-1\n0.1 2 0.1 0.01\n0.2 1 0.1 0.02\n");
    let curve = read_curve(&path, &options).unwrap();
    assert!((curve.q[1] - 0.02).abs() < 1e-17);
    assert!(curve.notes.is_empty());
    let Some(Smearing::Pinhole(width)) = curve.smearing else {
        panic!("no widths");
    };
    assert!((width[1] - 0.002).abs() < 1e-17);
    assert!(curve_of(&path).notes[0].contains("1/nm"));
}

#[test]
fn columns_that_are_wrong_are_named_with_their_line() {
    says("", &["empty"]);
    says("words only\n", &["no line of it"]);
    says("# only\n# comments\n", &["no line of it"]);
    says("0.01\n0.02\n", &["number of columns is 1", "2 to 4"]);
    says(
        "0.01 2 0.1\n0.02 1 -0.1\n",
        &["uncertainty in line 2 is -0.1", "positive"],
    );
    says("0.01 2 0.1\n0.02 1 0\n", &["uncertainty in line 2 is 0"]);
    says(
        "0.01 2 -0.1\n0.02 1 -0.1\n",
        &["uncertainty in line 1 is -0.1"],
    );
    // What has neither intensity nor uncertainty has no counts.
    let curve = curve_from("0.01 2 0.1 0.1\n0.02 0 0 0.2\n0.03 1 0.2 0.3\n");
    assert_eq!(curve.q, [0.01, 0.03]);
    assert_eq!(curve.smearing, Some(Smearing::Pinhole(vec![0.1, 0.3])));
    assert!(curve.notes[0].contains("line 2"), "{:?}", curve.notes);
    says(
        "0.01 2 0.1\n0.02 nan 1\n",
        &["intensity in line 2 is NaN", "finite"],
    );
    says("0.01 2 0.1\ninf 1 1\n", &["q in line 2 is inf"]);
    says("0.01 2 0.1\n0.02 1e999 1\n", &["line 2"]);
    says(
        "0.01 2 0.1\n0.02 1 inf\n",
        &["uncertainty in line 2 is inf"],
    );
    says("0.01 2 1 0.1\n0.02 1 1 -0.1\n", &["dq in line 2 is -0.1"]);
    says("0 1 1\n-0.1 1 1\n", &["0 of 2 rows", "q > 0"]);
    // A broken line in the middle would cut the curve short.
    says(
        "0.01 2 1\n0.02 1 1\n0.03 1\n0.04 1 1\n",
        &["line 3", "3 numbers"],
    );
    says(
        "0.01 2 1\n0.02 x 1\n0.03 1 1\n0.04 1 1\n0.05 1 1\n",
        &["line 2", "0.02 x 1"],
    );
    says("0.01 2 1\n0.02 1 1\n0.03 1 1\n0.04 1\n", &["line 4"]);
    says("0.01,2,1\n0.02,,1\n0.03,1,1\n", &["line 2"]);
}

#[test]
fn files_of_other_kinds_are_named() {
    let plain = ReadOptions::default();
    let text = refused(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &plain);
    assert!(text.contains("binary"), "{text}");
    let text = refused(&[0xfe; 4000], &plain);
    assert!(text.contains("binary"), "{text}");
    let text = refused(b"\x89HDF\r\n\x1a\nand no more", &plain);
    assert!(text.contains("HDF5"), "{text}");
    says("<?xml version=\"1.0\"?><html/>", &["<html>", "SASroot"]);
    let text = read(Path::new("/nonexistent/a"), &plain)
        .unwrap_err()
        .to_string();
    assert!(text.contains("cannot be read"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let text = read(folder.path(), &plain).unwrap_err().to_string();
    assert!(text.contains("folder"), "{text}");
    let image = "Qx Qy I\n-0.1 -0.1 1\n0.1 0.1 1\n";
    let (_folder, path) = temporary(image.as_bytes());
    assert!(matches!(read(&path, &plain), Ok(Scattering::Image(_))));
    let two = ReadOptions {
        kind: Some(Kind::Image),
        ..ReadOptions::default()
    };
    let text = refused(b"0.1 1\n0.2 2\n", &two);
    assert!(text.contains("number of columns is 2"), "{text}");
    let xml = entry("<Idata><Q unit=\"1/A\">0.1</Q><I unit=\"1/cm\">1</I></Idata>");
    let text = refused(xml.as_bytes(), &two);
    assert!(
        text.contains("an image") && text.contains("a curve"),
        "{text}"
    );
}

#[test]
fn memory_is_asked_for_before_it_is_taken() {
    let (_folder, path) = temporary("0.1 1\n".repeat(20_000).as_bytes());
    for limit in [1000, 300_000] {
        let text = read_within(&path, &ReadOptions::default(), Memory::limited(limit))
            .unwrap_err()
            .to_string();
        assert!(text.contains("memory"), "{text}");
    }
    let xml = entry(&"<a/>".repeat(20_000));
    let (_folder, path) = temporary(xml.as_bytes());
    let text = read_within(&path, &ReadOptions::default(), Memory::limited(1 << 20))
        .unwrap_err()
        .to_string();
    assert!(text.contains("memory"), "{text}");
}

fn entry(inside: &str) -> String {
    format!("<SASroot><SASentry><SASdata>{inside}</SASdata></SASentry></SASroot>")
}

fn idata(q: &str, unit: &str, more: &str) -> String {
    format!("<Idata><Q unit=\"{unit}\">{q}</Q><I unit=\"1/m\">200</I>{more}</Idata>")
}

#[test]
fn units_of_xml_are_converted() {
    let qdev = "<Idev unit=\"1/m\">10</Idev><Qdev unit=\"1/nm\">0.01</Qdev>";
    let text = entry(&(idata("0.1", "1/nm", qdev) + &idata("0.02", "1/A", qdev)));
    let curve = curve_from(&text);
    assert!((curve.q[0] - 0.01).abs() < 1e-17 && curve.q[1] == 0.02);
    assert_eq!(curve.intensity, [2.0; 2]);
    assert_eq!(curve.sigma, Some(vec![0.1; 2]));
    let Some(Smearing::Pinhole(width)) = &curve.smearing else {
        panic!("no widths");
    };
    assert!((width[0] - 0.001).abs() < 1e-17);
    assert!(
        curve.notes.iter().any(|n| n.contains("1/nm")),
        "{:?}",
        curve.notes
    );
    assert!(
        curve.notes.iter().any(|n| n.contains("1/m ")),
        "{:?}",
        curve.notes
    );
}

#[test]
fn xml_that_is_wrong_is_one_sentence() {
    let row = |q: &str, more: &str| idata(q, "1/A", more);
    says(&entry(""), &["no points"]);
    says("<SASroot><SASentry/></SASroot>", &["no data", "SASdata"]);
    says(
        &entry("<Idata><Q unit=\"1/A\">1</Q></Idata>"),
        &["no I", "Idata 1"],
    );
    says(&entry(&row("many", "")), &["Q in Idata 1 is \"many\""]);
    says(&entry(&row("", "")), &["Q in Idata 1"]);
    says(&entry(&row("NaN", "")), &["q in Idata 1", "finite"]);
    says(
        &entry(&idata("1", "furlong", "")),
        &["unit of Q", "furlong", "1/nm"],
    );
    let sigma = "<Idev unit=\"1/cm\">1</Idev>";
    let bad = "<Idev unit=\"1/cm\">-2</Idev>";
    says(
        &entry(&(row("1", sigma) + &row("2", bad))),
        &["uncertainty in Idata 2", "-2"],
    );
    says(
        &entry(&(row("1", sigma) + &row("2", ""))),
        &["number of Idev", "is 1", "2, one for each"],
    );
    says(&entry(&row("1", ""))[..80], &["no proper XML"]);
    // A text that entities would make a thousand million characters long.
    let mut laughs = String::from("<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY l0 \"0.1\">");
    for i in 1..30 {
        let inside = format!("&l{};", i - 1).repeat(10);
        laughs.push_str(&format!("<!ENTITY l{i} \"{inside}\">"));
    }
    laughs.push_str("]>");
    says(&(laughs + &entry(&row("&l29;", ""))), &["no proper XML"]);
    says(
        &format!("<?xml version=\"1.0\"?>{}", "<a>".repeat(100_000)),
        &["no proper XML"],
    );
}

/// A curve of each resolution, and an image.
fn made() -> Vec<Scattering> {
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
fn what_was_written_is_read_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let process = [("model".to_owned(), "sphere\nradius 1 2".to_owned())];
    for scattering in &made() {
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
fn an_output_is_absent_or_whole() {
    let computed = Computed {
        scattering: &made()[0],
        process: &[],
    };
    for write in [write_csv, write_hdf5] {
        let text = write(Path::new("/nonexistent/a"), &computed).unwrap_err();
        assert!(matches!(text, IoError::Write { .. }), "{text}");
    }
}

mod nxcansas {
    use super::*;
    use crate::io::output;
    use hdf5_metno as hdf5;
    use ndarray::{Array1, Array2};

    /// A good file after `change`.
    fn changed(change: impl Fn(&hdf5::Group) -> hdf5::Result<()>) -> Result<Scattering, IoError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        let scattering = &made()[2];
        write_hdf5(
            &path,
            &Computed {
                scattering,
                process: &[],
            },
        )
        .unwrap();
        let file = hdf5::File::open_rw(&path).unwrap();
        change(&file.group("sasentry01/sasdata01").unwrap()).unwrap();
        file.close().unwrap();
        let read = read(&path, &ReadOptions::default());
        if let Err(e) = &read {
            let text = e.to_string();
            assert!(text.starts_with(&path.display().to_string()) && !text.contains('\n'));
        }
        read
    }

    fn sentence(change: impl Fn(&hdf5::Group) -> hdf5::Result<()>, words: &[&str]) {
        let text = changed(change).unwrap_err().to_string();
        for word in words {
            assert!(text.contains(word), "{word:?} is not in: {text}");
        }
    }

    fn text(on: &hdf5::Location, name: &str, value: &str) -> hdf5::Result<()> {
        let text = hdf5::types::FixedAscii::<16>::from_ascii(value.as_bytes()).unwrap();
        let _ = on.delete_attr(name);
        on.new_attr::<hdf5::types::FixedAscii<16>>()
            .create(name)?
            .write_scalar(&text)
    }

    fn replace(group: &hdf5::Group, name: &str, values: &[f64]) -> hdf5::Result<()> {
        group.unlink(name)?;
        output::array(group, name, &Array1::from(values.to_vec()))
    }

    #[test]
    fn what_is_wrong_is_named_with_its_dataset() {
        sentence(
            |g| text(g, "canSAS_class", "SASnote"),
            &["SASdata", "SASentry"],
        );
        sentence(|g| g.unlink("I"), &["no intensities", "sasdata01/I"]);
        sentence(|g| g.unlink("Q"), &["no wave vectors", "sasdata01/Q"]);
        sentence(|g| g.unlink("Idev"), &["no uncertainties", "Idev"]);
        sentence(
            |g| replace(g, "Idev", &[1.0; 3]),
            &["Idev", "shape 3", "4 numbers"],
        );
        sentence(
            |g| replace(g, "Idev", &[1.0, 1.0, -1.0, 1.0]),
            &["point 3", "-1"],
        );
        sentence(
            |g| replace(g, "Qdev", &[1.0, 1.0, -1.0, 1.0]),
            &["point 3", "dq"],
        );
        sentence(
            |g| replace(g, "I", &[1.0, f64::NAN, 1.0, 1.0]),
            &["point 2", "NaN"],
        );
        sentence(|g| replace(g, "Q", &[0.0; 4]), &["q > 0"]);
        sentence(
            |g| text(&*g.dataset("Q")?, "units", "furlong"),
            &["furlong", "sasdata01/Q"],
        );
        sentence(
            |g| {
                g.unlink("I")?;
                output::text(g, "I", "many")
            },
            &["sasdata01/I", "numbers"],
        );
        sentence(
            |g| {
                g.unlink("I")?;
                output::array(g, "I", &Array2::<f64>::zeros((2, 2)))
            },
            &["2 x 2", "one number for each q"],
        );
        sentence(
            |g| {
                g.unlink("I")?;
                let builder = g.new_dataset::<f64>().chunk(1 << 20);
                builder.shape(1_usize << 40).create("I").map(drop)
            },
            &["sasdata01/I"],
        );
    }

    #[test]
    fn other_texts_units_and_names_are_understood() {
        let read = changed(|g| {
            text(g, "canSAS_class", "SASdata")?;
            text(&*g.dataset("Q")?, "units", "1/nm")?;
            text(&*g.dataset("I")?, "units", "Counts")?;
            replace(g, "Qdev", &[0.0; 4])
        });
        let Ok(Scattering::Curve(curve)) = read else {
            panic!("{read:?}");
        };
        assert!((curve.q[3] - 0.05).abs() < 1e-17);
        assert_eq!(curve.smearing, None);
        for words in ["1/nm", "Counts", "resolution is zero"] {
            assert!(
                curve.notes.iter().any(|n| n.contains(words)),
                "{:?}",
                curve.notes
            );
        }
    }

    #[test]
    fn axes_of_an_image_are_spread_over_its_pixels() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        let scattering = &made()[5];
        for (first, shape) in [("Qx,Qy", (2, 3)), ("Qy,Qx", (3, 2))] {
            write_hdf5(
                &path,
                &Computed {
                    scattering,
                    process: &[],
                },
            )
            .unwrap();
            let file = hdf5::File::open_rw(&path).unwrap();
            let g = file.group("sasentry01/sasdata01").unwrap();
            text(&g, "I_axes", first).unwrap();
            replace(&g, "Qx", &[-0.1, 0.1]).unwrap();
            replace(&g, "Qy", &[-0.2, 0.0, 0.2]).unwrap();
            g.unlink("I").unwrap();
            let values = Array2::from_shape_fn(shape, |(r, c)| (10 * r + c) as f64);
            output::array(&g, "I", &values).unwrap();
            file.close().unwrap();
            let image = read_image(&path, &ReadOptions::default()).unwrap();
            let at = |x: f64, y: f64| {
                let found = (0..6).find(|i| image.qx[*i] == x && image.qy[*i] == y);
                image.intensity[found.unwrap()]
            };
            // The first of I_axes is the slower one.
            let expected = if first == "Qx,Qy" { 12.0 } else { 21.0 };
            assert_eq!(at(0.1, 0.2), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Well-formed files with odd contents: read or refused in a sentence. The fuzz targets do this for longer.
    #[test]
    fn hostile_files_are_read_or_refused(bytes in proptest::collection::vec(0_u8..64, 0..200)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let limit = Memory::limited(8 << 20);
        let plain = ReadOptions::default();
        let check = || {
            if let Err(e) = read_within(&path, &plain, limit) {
                let text = e.to_string();
                assert!(!text.is_empty() && !text.contains('\n'), "{text}");
            }
        };
        std::fs::write(&path, scattering::xml(&bytes)).unwrap();
        check();
        if scattering::build(&path, &bytes).is_ok() {
            check();
        }
    }
}
