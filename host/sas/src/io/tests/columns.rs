//! Columns of text: separators, headers, units, and invalid rows.

use super::*;

#[test]
fn zero_widths_mean_no_resolution() {
    let curve = curve_from("0.01 2 0.1 0\n0.02 1 0.1 0\n");
    assert_eq!(curve.smearing, None);
    assert!(
        curve.notes[0].contains("resolution is zero"),
        "{:?}",
        curve.notes
    );
    // A single zero among the widths is a point without smearing.
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
fn rows_without_q_and_unsorted_rows_are_noted() {
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
fn units_are_converted_or_noted() {
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
fn errors_in_columns_name_the_line() {
    assert_refused("", &["empty"]);
    assert_refused("words only\n", &["no line with two or more numbers"]);
    assert_refused(
        "# only\n# comments\n",
        &["no line with two or more numbers"],
    );
    assert_refused(
        "0.01\n0.02\n",
        &["number of columns: expected 2 to 4", "found 1"],
    );
    assert_refused(
        "0.01 2 0.1\n0.02 1 -0.1\n",
        &["uncertainty in line 2: expected a positive", "found -0.1"],
    );
    assert_refused(
        "0.01 2 0.1\n0.02 1 0\n",
        &["uncertainty in line 2: expected", "found 0"],
    );
    assert_refused(
        "0.01 2 -0.1\n0.02 1 -0.1\n",
        &["uncertainty in line 1: expected", "found -0.1"],
    );
    // A row with neither intensity nor uncertainty has no counts.
    let curve = curve_from("0.01 2 0.1 0.1\n0.02 0 0 0.2\n0.03 1 0.2 0.3\n");
    assert_eq!(curve.q, [0.01, 0.03]);
    assert_eq!(curve.smearing, Some(Smearing::Pinhole(vec![0.1, 0.3])));
    assert!(curve.notes[0].contains("line 2"), "{:?}", curve.notes);
    assert_refused(
        "0.01 2 0.1\n0.02 nan 1\n",
        &["intensity in line 2: expected a finite", "found NaN"],
    );
    assert_refused(
        "0.01 2 0.1\ninf 1 1\n",
        &["q in line 2: expected", "found inf"],
    );
    assert_refused("0.01 2 0.1\n0.02 1e999 1\n", &["line 2"]);
    assert_refused(
        "0.01 2 0.1\n0.02 1 inf\n",
        &["uncertainty in line 2: expected", "found inf"],
    );
    assert_refused(
        "0.01 2 1 0.1\n0.02 1 1 -0.1\n",
        &["dq in line 2: expected", "found -0.1"],
    );
    assert_refused("0 1 1\n-0.1 1 1\n", &["0 of 2 rows", "q > 0"]);
    // A broken line in the middle must not truncate the curve.
    assert_refused(
        "0.01 2 1\n0.02 1 1\n0.03 1\n0.04 1 1\n",
        &["line 3", "3 numbers"],
    );
    assert_refused(
        "0.01 2 1\n0.02 x 1\n0.03 1 1\n0.04 1 1\n0.05 1 1\n",
        &["line 2", "0.02 x 1"],
    );
    assert_refused("0.01 2 1\n0.02 1 1\n0.03 1 1\n0.04 1\n", &["line 4"]);
    assert_refused("0.01,2,1\n0.02,,1\n0.03,1,1\n", &["line 2"]);
}
