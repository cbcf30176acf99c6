//! Columns that are functions of q and I instead of these.

use super::super::support::TestFolder;
use super::{columns, fit, info, remarks, says, write};

#[test]
fn products_with_powers_of_q_are_refused() {
    let folder = TestFolder::new();
    for (header, order) in [
        ("I*q^4 q", [1, 0]),
        ("q,I*q^4", [0, 1]),
        ("# Q q^2*I", [0, 1]),
    ] {
        let header = format!("{header}\n");
        write(&folder, "a.txt", &header, |[q, i, _]| {
            let row = [q, i * q.powi(4)];
            format!("{:e} {:e}", row[order[0]], row[order[1]])
        });
        for command in ["info", "fit"] {
            let fit: &[&str] = &["sas", "fit", "sphere", "a.txt", "--fit", "scale"];
            let given = if command == "fit" {
                fit
            } else {
                &["sas", "info", "a.txt"]
            };
            folder
                .run(given)
                .refused(1, &["a.txt: column", "power of q", "q and I themselves"]);
        }
    }
    // Beside I itself, such a column is not read.
    write(&folder, "a.txt", "I*q^4 q I\n", |[q, i, _]| {
        format!("{:e} {q} {i}", i * q.powi(4))
    });
    assert_eq!(info(&folder, "a.txt")["q"][0], 0.005);
}

/// The third column is no uncertainty, and the second no intensity where another one is.
#[test]
fn columns_that_are_known_are_not_read_by_their_place() {
    let folder = TestFolder::new();
    for header in [
        "# q Itot qmean",
        "# q I_corr shadow",
        "Q,Imean,npts",
        "q,sample,n",
        "# q Isample weight",
    ] {
        write(&folder, "a.dat", &format!("{header}\n"), columns);
        let said = remarks(&folder, "a.dat");
        assert!(said.contains("column 3 ("), "{header}: {said}");
        assert!(said.contains("is not used"), "{header}: {said}");
    }
    for header in ["# q Ifit Idata sigma", "# q Icalc Iobs error"] {
        write(&folder, "a.dat", &format!("{header}\n"), |[q, i, s]| {
            format!("{q} {} {i} {s}", 2.0 * i)
        });
        let said = remarks(&folder, "a.dat");
        assert!(
            said.contains("I is column 3, its uncertainty is column 4"),
            "{said}"
        );
    }
    write(&folder, "a.dat", "q,mean,std,count\n", |[q, i, s]| {
        format!("{q} {i} {s} 17")
    });
    let said = remarks(&folder, "a.dat");
    assert!(said.contains("column 4 (count) is not used"), "{said}");
}

/// A structure factor is no intensity, whatever its place.
#[test]
fn quantities_that_are_no_intensity_are_named() {
    let folder = TestFolder::new();
    for (name, header) in [
        ("S(q)", "q S(q) err"),
        ("F(q)", "# Q (1/A)\tF(q)\tdF"),
        ("chi(q)", "q,chi(q),error"),
        ("T(q)", "q T(q) sigma"),
    ] {
        write(&folder, "a.dat", &format!("{header}\n"), columns);
        let note = format!(
            "column 2 ({}) is read as I, although the header does not call it so",
            name.replace(['(', ')'], "").to_lowercase()
        );
        let said = remarks(&folder, "a.dat");
        assert!(said.contains(&note), "{header}: {said}");
    }
    for header in [
        "q S(q)-1 err",
        "q I(Q)/P(Q) err",
        "q h(q) err",
        "q F2(q) err",
        "q Form_factor err",
        "q dI/dq err",
        "q water err",
    ] {
        write(&folder, "b.dat", &format!("{header}\n"), columns);
        let said = remarks(&folder, "b.dat");
        assert!(said.contains("is read as I, although"), "{header}: {said}");
    }
    let fitted = fit(&folder, "a.dat", &["--fit", "scale"]);
    says(&fitted, &["column 2 (tq) is read as I"]);
    for header in ["q I err", "q I_abs err", "q dSigma/dOmega err"] {
        write(&folder, "a.dat", &format!("{header}\n"), columns);
        let said = remarks(&folder, "a.dat");
        assert!(!said.contains("is read as I"), "{header}: {said}");
    }
}

#[test]
fn other_separators_line_ends_and_formats() {
    let folder = TestFolder::new();
    for (header, separator, end) in [
        ("q|I|err", "|", "\n"),
        ("The columns are | q | I | err |", " | ", "\n"),
        ("q I err", " ", "\r"),
        ("err I q", " ", "\r"),
    ] {
        let rows = super::sphere().into_iter().map(|[q, i, s]| {
            let row = if header.starts_with("err") {
                [s, i, q]
            } else {
                [q, i, s]
            };
            row.map(|value| value.to_string()).join(separator) + end
        });
        let text = format!("{header}{end}{}", rows.collect::<String>());
        std::fs::write(folder.path("a.dat"), text).unwrap();
        let found = info(&folder, "a.dat");
        assert_eq!(found["points"], 40, "{header}");
        assert_eq!(found["q"][0], 0.005, "{header}");
        let median = found["relative_uncertainty"][1].as_f64().unwrap();
        assert!((median - 0.03).abs() < 1e-6, "{header}: {found}");
    }
    for (bytes, remedy) in [
        (
            &b"\x1f\x8b\x08\0\0\0\0\0"[..],
            "gzip compression; decompress the file",
        ),
        (b"PK\x03\x04xxxx", "save the sheet as text"),
        (b"\xff\xfeq\0 \0I\0", "UTF-16; save it as UTF-8"),
        (b"{\"q\": [0.1], \"I\": [1]}", "JSON; write q, I"),
        (
            b"0,005|98,5|2,9\n0,006|97,5|2,9\n0,007|96,5|2,9\n",
            "decimal commas",
        ),
        (
            b"s=2sin(theta)/lambda I err\n0.1 1 1\n0.2 1 1\n",
            "q = 4π sin(θ)/λ",
        ),
    ] {
        std::fs::write(folder.path("a.dat"), bytes).unwrap();
        folder.run(&["sas", "info", "a.dat"]).refused(1, &[remedy]);
    }
}
