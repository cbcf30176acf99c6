//! canSAS XML: units, and invalid files.

use super::*;

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
fn invalid_xml_is_refused() {
    let row = |q: &str, more: &str| idata(q, "1/A", more);
    assert_refused(&entry(""), &["expected points"]);
    assert_refused(
        "<SASroot><SASentry/></SASroot>",
        &["expected data", "SASdata"],
    );
    assert_refused(
        &entry("<Idata><Q unit=\"1/A\">1</Q></Idata>"),
        &["expected I", "Idata 1"],
    );
    assert_refused(
        &entry(&row("many", "")),
        &["Q in Idata 1: expected", "found \"many\""],
    );
    assert_refused(&entry(&row("", "")), &["q in Idata 1", "finite"]);
    assert_refused(&entry(&row("NaN", "")), &["q in Idata 1", "finite"]);
    assert_refused(
        &entry(&idata("1", "furlong", "")),
        &["unit of Q", "furlong", "1/nm"],
    );
    let sigma = "<Idev unit=\"1/cm\">1</Idev>";
    let bad = "<Idev unit=\"1/cm\">-2</Idev>";
    assert_refused(
        &entry(&(row("1", sigma) + &row("2", bad))),
        &["uncertainty in Idata 2", "-2"],
    );
    assert_refused(
        &entry(&(row("1", sigma) + &row("2", ""))),
        &["uncertainty in Idata 2", "NaN"],
    );
    assert_refused(
        &entry(&row("1", ""))[..80],
        &["XML that is not well-formed"],
    );
    // Nested entities that would expand to more than 10⁹ characters.
    let mut laughs = String::from("<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY l0 \"0.1\">");
    for i in 1..30 {
        let inside = format!("&l{};", i - 1).repeat(10);
        laughs.push_str(&format!("<!ENTITY l{i} \"{inside}\">"));
    }
    laughs.push_str("]>");
    assert_refused(
        &(laughs + &entry(&row("&l29;", ""))),
        &["XML that is not well-formed"],
    );
    assert_refused(
        &format!("<?xml version=\"1.0\"?>{}", "<a>".repeat(100_000)),
        &["XML that is not well-formed"],
    );
}

#[test]
fn a_row_of_xml_without_an_element_is_left_out() {
    let idev = "<Idev unit=\"1/cm\">1</Idev>";
    let row = |q: &str, more: &str| idata(q, "1/A", more);
    let no_intensity = format!("<Idata><Q unit=\"1/A\">3</Q><I unit=\"1/m\"/>{idev}</Idata>");
    let absent = format!("<Idata><Q unit=\"1/A\">3</Q>{idev}</Idata>");
    let qdev = format!("{idev}<Qdev unit=\"1/A\"></Qdev>");
    for bad in [
        no_intensity,
        absent,
        row("3", ""),
        row("", idev),
        row("3", &qdev),
    ] {
        let with = |q: &str| row(q, &format!("{idev}<Qdev unit=\"1/A\">0.1</Qdev>"));
        let good: Vec<String> = if bad.contains("Qdev") {
            ["1", "2", "4"].map(with).into()
        } else {
            ["1", "2", "4"].map(|q| row(q, idev)).into()
        };
        let text = entry(&(good[..2].concat() + &bad + &good[2]));
        let curve = curve_from(&text);
        assert_eq!(curve.q, [1.0, 2.0, 4.0], "{bad}");
        let note = curve.notes.iter().find(|note| note.contains("left out"));
        let note = note.expect("a note");
        assert!(
            note.starts_with("1 row of 4 left out") && note.contains("Idata 3"),
            "{note}"
        );
    }
}
