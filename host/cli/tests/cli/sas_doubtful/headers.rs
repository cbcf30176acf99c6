//! Units in headers, headers of other measurements, images under other names, and rows without
//! values.

use super::super::support::TestFolder;
use super::{columns, info, remarks, write};

fn near(found: &serde_json::Value, expected: f64) {
    let value = found.as_f64().unwrap();
    assert!((value / expected - 1.0).abs() < 1e-9, "{value}, {expected}");
}

fn refused(folder: &TestFolder, header: &str, words: &[&str]) {
    let output = folder.run(&["sas", "info", "a.dat"]);
    assert_eq!(output.code, Some(1), "{header}: {output:?}");
    output.refused(1, words);
}

/// Each column of a line of units has its own.
#[test]
fn all_units_of_a_line_of_units_are_used() {
    let folder = TestFolder::new();
    let header = "# q I s dq\n# 1/nm 1/cm 1/cm 1/A\n";
    write(&folder, "a.dat", header, |[q, i, s]| {
        format!("{} {i} {s} {}", 10.0 * q, 0.05 * q)
    });
    let found = info(&folder, "a.dat");
    near(&found["q"][0], 0.005);
    near(&found["resolution"]["relative"][1], 0.05);
    write(&folder, "a.dat", "# q I s\n# 1/A 1/cm %\n", |[q, i, _]| {
        format!("{q} {i} 3")
    });
    near(&info(&folder, "a.dat")["relative_uncertainty"][1], 0.03);
    for (header, order) in [
        ("# I q sigma\n# 1/cm 1/nm 1/cm\n", [1, 0, 2]),
        ("# q (nm^-1)\n# second run\n", [0, 1, 2]),
    ] {
        write(&folder, "a.dat", header, |[q, i, s]| {
            let row = [10.0 * q, i, s];
            format!("{} {} {}", row[order[0]], row[order[1]], row[order[2]])
        });
        near(&info(&folder, "a.dat")["q"][0], 0.005);
    }
    write(&folder, "a.dat", "# q I s dq(%)\n", |[q, i, s]| {
        format!("{q} {i} {s} 5")
    });
    refused(
        &folder,
        "dq(%)",
        &["column 4", "in percent", "multiply it by q/100"],
    );
}

#[test]
fn units_of_q_are_converted_or_refused() {
    let folder = TestFolder::new();
    for (unit, factor) in [
        ("rad/nm", 0.1),
        ("1/mm", 1e-7),
        ("1/fm", 1e5),
        ("1/bohr", 1.0 / 0.529_177_210_903),
    ] {
        for header in [
            format!("# q({unit}) I err\n"),
            format!("# q ({unit}) I err\n"),
        ] {
            write(&folder, "a.dat", &header, |[q, i, s]| {
                format!("{:e} {i} {s}", q / factor)
            });
            near(&info(&folder, "a.dat")["q"][0], 0.005);
            let said = remarks(&folder, "a.dat");
            assert!(said.contains("is converted from"), "{header}: {said}");
            assert!(!said.contains("--q-unit"), "{header}: {said}");
        }
    }
    for (unit, words) in [
        ("10^-2 A^-1", "a unit that is not known (10^-2 A^-1)"),
        ("furlong^-1", "a unit that is not known (furlong^-1)"),
        ("1/s", "which is no inverse length"),
    ] {
        write(&folder, "a.dat", &format!("# q({unit}) I err\n"), columns);
        refused(&folder, unit, &["column 1", words, "--q-unit"]);
        let given = ["sas", "info", "a.dat", "--q-unit", "1/A"];
        folder.run(&given).well();
    }
    // A formula is no unit.
    write(
        &folder,
        "a.dat",
        "# q(4*pi*sin(theta)/lambda) I err\n",
        columns,
    );
    assert_eq!(info(&folder, "a.dat")["notes"].to_string(), "[]");
    write(&folder, "a.dat", "# q in 1/um\n", |[q, i, s]| {
        format!("{} {i} {s}", 1e4 * q)
    });
    let said = remarks(&folder, "a.dat");
    assert!(!said.contains("give --q-unit 1/nm"), "{said}");
    // Axes of an image.
    let pixel = |[q, i, s]: [f64; 3]| {
        let row = |y: i32| format!("{} {} {i} {s}\n", 10.0 * (q - 0.1), 0.1 * f64::from(y));
        (-1..2).map(row).collect::<String>()
    };
    write(&folder, "a.dat", "# qx_nm^-1 qy_A^-1 I err\n", pixel);
    let found = info(&folder, "a.dat");
    near(&found["q"][1], 0.1_f64.hypot(0.1));
    assert!(found["notes"].to_string().contains("each is converted"));
}

#[test]
fn headers_of_other_measurements_are_refused() {
    let folder = TestFolder::new();
    for (header, words) in [
        ("# lambda T dT", "a wavelength"),
        ("# z P dP", "(z)"),
        ("# t g2 err", "(t)"),
        ("# Qz R dR", "(qz)"),
        ("# Qz I err", "(qz)"),
        ("# E mu ref", "(e)"),
        ("# f phase dphase", "(f)"),
        ("#L  energy  mu  Mon", "an energy"),
    ] {
        write(&folder, "a.dat", &format!("{header}\n"), columns);
        let way_out = "if the columns are q and I, name them so";
        refused(&folder, header, &["column 1", words, way_out]);
    }
    for header in ["# D N(D)", "# frequency modulus", "# channel counts"] {
        write(&folder, "a.dat", &format!("{header}\n"), |[q, i, _]| {
            format!("{q} {i}")
        });
        refused(&folder, header, &["column 1", "as the header says"]);
    }
    write(&folder, "a.dat", "#L  2theta  I  Mon\n", columns);
    refused(&folder, "#L", &["an angle"]);
    // Titles have as many words as there are columns, too.
    for header in ["# energy of beam", "# D22 second run", "# t0 wet gel"] {
        write(&folder, "a.dat", &format!("{header}\n"), columns);
        assert_eq!(
            info(&folder, "a.dat")["notes"].to_string(),
            "[]",
            "{header}"
        );
    }
    write(&folder, "a.dat", "#L  Q  I  Mon\n", columns);
    assert!(remarks(&folder, "a.dat").contains("column 3 (mon) is not used"));
    write(&folder, "a.dat", "# i q I s\n", |[q, i, s]| {
        format!("{} {q} {i} {s}", (q / 0.005).round())
    });
    let found = info(&folder, "a.dat");
    near(&found["relative_uncertainty"][1], 0.03);
    near(&found["q"][0], 0.005);
}

#[test]
fn images_with_other_names_are_refused() {
    let folder = TestFolder::new();
    let pixel = |[q, i, s]: [f64; 3]| {
        let row = |y: i32| format!("{} {} {i} {s}\n", q - 0.1, 0.1 * f64::from(y));
        (-1..2).map(row).collect::<String>()
    };
    for header in ["# Q_para Q_perp I sigma", "# kx ky I err", "# x y I err"] {
        write(&folder, "a.dat", &format!("{header}\n"), pixel);
        refused(&folder, header, &["of an image", "the names qx, qy and I"]);
    }
    write(&folder, "a.dat", "# qx qy I err\n", pixel);
    assert_eq!(info(&folder, "a.dat")["kind"], "image");
}

#[test]
fn rows_without_values_are_counted() {
    let folder = TestFolder::new();
    for (word, rows) in [("NA", 0..2), ("n/a", 36..40), ("--", 10..14)] {
        let is_missing = |q: f64| rows.contains(&((q / 0.005).round() as usize - 1));
        write(
            &folder,
            "a.dat",
            "# q I s\n",
            |[q, i, s]| match is_missing(q) {
                true => format!("{q} {word} {word}"),
                false => format!("{q} {i} {s}"),
            },
        );
        let found = info(&folder, "a.dat");
        assert_eq!(found["points"], 40 - rows.len(), "{found}");
        let said = found["notes"].to_string();
        let words = format!("{} lines without 3 numbers left out", rows.len());
        assert!(said.contains(&words), "{said}");
    }
    write(&folder, "a.dat", "# q I s\n", |[q, i, s]| {
        match (q / 0.005).round() as usize % 4 {
            0 => format!("{q} NA NA"),
            _ => format!("{q} {i} {s}"),
        }
    });
    assert_eq!(info(&folder, "a.dat")["points"], 30);
    // Words at the end are no rows.
    let after = |[q, i, s]: [f64; 3]| match q > 0.199 {
        true => format!("{q} {i} {s}\n40 rows read"),
        false => format!("{q} {i} {s}"),
    };
    write(&folder, "a.dat", "# q I s\n", after);
    assert_eq!(info(&folder, "a.dat")["notes"].to_string(), "[]");
    write(&folder, "a.dat", "# q I s\n", |[q, i, s]| match q {
        q if (0.052..0.072).contains(&q) => "shutter was closed here".to_owned(),
        _ => format!("{q} {i} {s}"),
    });
    refused(&folder, "words", &["line 12", "remove such lines"]);
}
