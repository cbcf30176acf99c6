//! Files that were read wrongly once, and their like: the right radius, or a refusal with a remedy.

use super::sas::shared_folder;
use super::support::{Output, TestFolder, skipped};
use serde_json::Value;
use std::path::PathBuf;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A file of the trials, if they are available.
fn trial(name: &str) -> Option<PathBuf> {
    let path = shared_folder(name)?.join("trials/sas").join(name);
    if !path.exists() {
        skipped(name, "the trials are absent");
        return None;
    }
    Some(path)
}

fn info(folder: &TestFolder, path: &str) -> Value {
    let output = folder.run(&["sas", "info", path, "--json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    json(&output.out)
}

fn fit(folder: &TestFolder, path: &str, options: &[&str]) -> Output {
    let fixed = ["sas", "fit", "sphere", path, "--backend", "cpu", "--json"];
    folder.run(&[&fixed, options].concat())
}

fn parameter<'r>(result: &'r Value, name: &str) -> &'r Value {
    let parameters = result["parameters"].as_array().unwrap();
    parameters.iter().find(|of| of["name"] == name).unwrap()
}

/// The fitted radius is within `sigmas` uncertainties of the expected one, which are below 1 %.
#[track_caller]
fn fits(folder: &TestFolder, path: &str, radius: f64, options: &[&str]) -> Value {
    let bounds = format!("radius={}:{}", 0.8 * radius, 1.3 * radius);
    let output = fit(folder, path, &[&["--fit", &bounds], options].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let result = json(&output.out);
    let of = parameter(&result, "radius");
    let (found, uncertainty) = (
        of["value"].as_f64().unwrap(),
        of["uncertainty"].as_f64().unwrap(),
    );
    assert!(
        (found - radius).abs() < 2.0 * uncertainty,
        "{found} ± {uncertainty}"
    );
    assert!(uncertainty < 0.01 * radius, "{uncertainty}");
    result
}

#[test]
fn files_with_the_truth_known_give_it() {
    let folder = TestFolder::new();
    for (name, radius, notes) in [
        ("plain.dat", 50.0, [].as_slice()),
        ("xenocs_small.dat", 50.0, &[]),
        ("quoted.csv", 50.0, &[]),
        (
            "index5.dat",
            50.0,
            &["q is column 2, I is column 3", "column 1 (n) is not used"],
        ),
        (
            "pyfai_nm_small.dat",
            200.0,
            &["q is converted from nm^-1 to 1/Å"],
        ),
        (
            "nan_lowq.dat",
            50.0,
            &["4 rows of 124 left out: the intensity in line 2 is NaN; also line 3"],
        ),
        (
            "sigma_zero_one.dat",
            50.0,
            &["1 row of 120 left out: the uncertainty in line 7 is 0"],
        ),
    ] {
        let Some(path) = trial(name) else { return };
        let path = path.to_str().unwrap();
        let found = info(&folder, path);
        assert_eq!(found["kind"], "curve", "{name}");
        let said = found["notes"].to_string();
        assert_eq!(
            found["notes"].as_array().unwrap().is_empty(),
            notes.is_empty(),
            "{said}"
        );
        assert_eq!(found["problems"].to_string(), "[]", "{name}");
        assert!(found["relative_uncertainty"].is_array(), "{name}");
        // One has a resolution, but its intensities are not smeared.
        let result = fits(&folder, path, radius, &["--resolution", "none"]);
        let fitted = result["notes"].to_string();
        for words in notes {
            assert!(
                said.contains(words) && fitted.contains(words),
                "{name}: {said} {fitted}"
            );
        }
    }
}

#[test]
fn images_without_uncertainties_are_images() {
    let folder = TestFolder::new();
    for name in ["nist2d_7col.DAT", "qxqy_3col.DAT"] {
        let Some(path) = trial(name) else { return };
        let path = path.to_str().unwrap();
        let found = info(&folder, path);
        assert_eq!(
            (&found["kind"], &found["points"]),
            (&"image".into(), &2304.into()),
            "{name}"
        );
        assert!(found["relative_uncertainty"].is_null(), "{name}");
        assert!(
            found["problems"].to_string().contains("no uncertainties"),
            "{name}"
        );
        let pixels = if name.starts_with("nist") {
            "pixels"
        } else {
            "none"
        };
        assert_eq!(found["resolution"]["kind"], pixels, "{name}");
        // One has a resolution, but its intensities are not smeared.
        fits(&folder, path, 50.0, &["--resolution", "none"]);
    }
}

#[test]
fn a_negative_resolution_is_a_slit() {
    let Some(path) = trial("usans.ABS") else {
        return;
    };
    let found = info(&TestFolder::new(), path.to_str().unwrap());
    assert_eq!(found["resolution"]["kind"], "slit");
    assert!(found["resolution"].to_string().contains("0.117"), "{found}");
    assert!(
        found["notes"].to_string().contains("half length of a slit"),
        "{found}"
    );
}

#[test]
fn what_is_no_curve_is_refused_with_a_remedy() {
    let folder = TestFolder::new();
    for (name, words) in [
        (
            "pyfai_2th_small.dat",
            &[
                "column 1: expected q in 1/Å or 1/nm",
                "needs the wavelength",
                "an angle",
            ][..],
        ),
        (
            "mini.ses",
            &["column 1: expected q", "a spin-echo length (SESANS)"],
        ),
        (
            "mini.sans",
            &["pixels of a detector without q", "or Qx, Qy and I"],
        ),
    ] {
        let Some(path) = trial(name) else { return };
        let path = path.to_str().unwrap();
        folder.run(&["sas", "info", path]).refused(1, words);
        fit(&folder, path, &["--fit", "radius=20:100"]).refused(1, words);
    }
}

/// Rows of a sphere of 50 Å with σ of 3 %: (q, I, σ).
fn sphere() -> Vec<[f64; 3]> {
    let row = |i: u32| {
        let q = 0.005 * f64::from(i);
        let x = q * 50.0;
        let f = 3.0 * (x.sin() - x * x.cos()) / x.powi(3);
        let intensity = 100.0 * f * f + 0.1;
        [q, intensity, 0.03 * intensity]
    };
    (1..41).map(row).collect()
}

fn written(folder: &TestFolder, header: &str, row: impl Fn(usize, [f64; 3]) -> String) -> Value {
    let rows = sphere().into_iter().enumerate();
    let rows: String = rows.map(|(at, values)| row(at, values) + "\n").collect();
    std::fs::write(folder.path("a.dat"), format!("{header}\n{rows}")).unwrap();
    info(folder, "a.dat")
}

#[test]
fn names_of_columns_decide_what_they_are() {
    let folder = TestFolder::new();
    let usual = written(&folder, "# q I sigma", |_, [q, i, s]| {
        format!("{q} {i} {s}")
    });
    let same = |found: &Value, what: &str| {
        for (key, part) in [
            ("q", 0),
            ("q", 1),
            ("intensity", 0),
            ("relative_uncertainty", 1),
        ] {
            let value = |of: &Value| of[key][part].as_f64().unwrap();
            let (a, b) = (value(found), value(&usual));
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{what}: {key} {a} {b}");
        }
    };
    for name in [
        "Sig(q)", "sigma(q)", "err(q)", "Error", "dI", "I_error", "s(I)", "sd", "ErrorI", "std",
    ] {
        let header = format!("# q I(q) {name}");
        let found = written(&folder, &header, |_, [q, i, s]| format!("{q} {i} {s}"));
        same(&found, name);
        assert_eq!(found["notes"].to_string(), "[]", "{name}");
    }
    for unit in ["q_nm^-1", "Q_nm-1", "q(nm-1)", "Q (1/nm)", "q [nm⁻¹]"] {
        let header = format!("{unit}\tI\tsigma");
        let found = written(&folder, &header, |_, [q, i, s]| {
            format!("{}\t{i}\t{s}", 10.0 * q)
        });
        same(&found, unit);
        assert!(
            found["notes"].to_string().contains("q is converted from"),
            "{unit}"
        );
    }
    for name in ["s", "Scattering vector (1/A)", "foo"] {
        let header = format!("{name} Intensity Error Model");
        let found = written(&folder, &header, |_, [q, i, s]| format!("{q} {i} {s} {i}"));
        same(&found, name);
        assert_eq!(found["resolution"]["kind"], "none", "{name}");
    }
    let found = written(&folder, "q,counts,I,sigma", |_, [q, i, s]| {
        format!("{q},{},{i},{s}", 7.0 * i)
    });
    same(&found, "counts");
    let found = written(&folder, "# q I s\n# nm^-1 cm^-1 cm^-1", |_, [q, i, s]| {
        format!("{} {i} {s}", 10.0 * q)
    });
    same(&found, "a line of units");
    for (header, words) in [
        ("q_nm I sigma", "--q-unit 1/nm"),
        ("lambda_nm I sigma", "a wavelength"),
        ("pixel I sigma", "a number of a row, pixel or channel"),
    ] {
        std::fs::write(
            folder.path("b.dat"),
            format!("{header}\n0.1 2 1\n0.2 1 1\n"),
        )
        .unwrap();
        folder
            .run(&["sas", "info", "b.dat"])
            .refused(1, &["column 1", words]);
    }
    let found = written(&folder, "q,I,err (%)", |_, [q, i, _]| format!("{q},{i},3"));
    same(&found, "percent");
    let found = written(&folder, "q;I;dI/I", |_, [q, i, _]| format!("{q};{i};0.03"));
    same(&found, "share");
    let found = written(&folder, "# q I temperature dI", |_, [q, i, s]| {
        format!("{q} {i} 295 {s}")
    });
    same(&found, "temperature");
    assert!(
        found["notes"]
            .to_string()
            .contains("column 3 (temperature) is not used"),
        "{found}"
    );
    // Numbers of rows without a header.
    let found = written(&folder, "", |at, [q, i, s]| {
        // Intensities fall, so that the second column alone ascends.
        format!("{at} {q} {i} {s}")
    });
    same(&found, "numbers of rows");
    // σ(q) beside σ(I).
    let found = written(&folder, "q I(q) dI(q) sigma(q)", |_, [q, i, s]| {
        format!("{q} {i} {s} {}", 0.02 * q)
    });
    same(&found, "both");
    assert_eq!(found["resolution"]["kind"], "pinhole");
}

#[test]
fn few_invalid_rows_are_left_out_and_many_are_refused() {
    let folder = TestFolder::new();
    for (row, words) in [
        ("0.0325 nan 1", "the intensity in line 8 is NaN"),
        ("0.0325 inf 1", "the intensity in line 8 is inf"),
        ("nan 1 1", "q in line 8 is NaN"),
        ("0.0325 1 0", "the uncertainty in line 8 is 0"),
        ("0.0325 1 -1", "the uncertainty in line 8 is -1"),
        (
            "0.0325 --- ---",
            "1 line without 3 numbers left out (line 8)",
        ),
        ("beam lost", "1 line without 3 numbers left out (line 8)"),
        ("-0.01 1 1", "1 row with q ≤ 0 left out (line 8)"),
    ] {
        let found = written(&folder, "# q I sigma", |at, [q, i, s]| match at {
            6 => format!("{row}\n{q} {i} {s}"),
            _ => format!("{q} {i} {s}"),
        });
        assert_eq!(found["points"], 40, "{row}");
        assert!(found["notes"].to_string().contains(words), "{row}: {found}");
    }
    let rows = sphere()
        .into_iter()
        .enumerate()
        .map(|(at, [q, i, s])| match at % 2 {
            0 => format!("{q} nan {s}\n"),
            _ => format!("{q} {i} {s}\n"),
        });
    std::fs::write(folder.path("half.dat"), rows.collect::<String>()).unwrap();
    let output = folder.run(&["sas", "info", "half.dat"]);
    output.refused(
        1,
        &["the intensity in line 1: expected a finite number, found NaN"],
    );
}

#[test]
fn a_parameter_that_is_not_determined_has_no_uncertainty() {
    let folder = TestFolder::new();
    written(&folder, "# q I sigma", |_, [q, i, s]| {
        format!("{q} {i} {s}")
    });
    // I depends on the product of scale and contrast squared alone.
    for bounds in ["sld=1:20", "sld=7:20"] {
        let output = fit(
            &folder,
            "a.dat",
            &["--fit", "radius=20:100", "--fit", bounds, "--fit", "scale"],
        );
        assert_eq!(output.code, Some(0), "{output:?}");
        let result = json(&output.out);
        for name in ["sld", "scale"] {
            assert!(
                parameter(&result, name)["uncertainty"].is_null(),
                "{bounds}: {result}"
            );
        }
        assert!(parameter(&result, "radius")["uncertainty"].is_number());
        assert!(
            result["notes"]
                .to_string()
                .contains("the data do not determine"),
            "{result}"
        );
    }
    // A width whose best value is 0.
    let pd = [
        "--pd",
        "radius=0.1:schulz:20:4",
        "--fit",
        "radius=20:100,radius_pd=0:0.5",
    ];
    let result = json(&fit(&folder, "a.dat", &pd).out);
    let width = parameter(&result, "radius_pd");
    assert!(
        width["uncertainty"].is_null() && width["at_bound"] == "least",
        "{width}"
    );
    // A small scale is not at its bound 0.
    let small = [
        "--set",
        "sld=1000,sld_solvent=0",
        "--fit",
        "radius=20:100,scale=0:1e6",
    ];
    let result = json(&fit(&folder, "a.dat", &small).out);
    let scale = parameter(&result, "scale");
    assert!(
        scale["at_bound"].is_null() && scale["uncertainty"].is_number(),
        "{scale}"
    );
    assert!(scale["value"].as_f64().unwrap() < 1e-5, "{scale}");
}

#[test]
fn a_unit_of_q_that_is_no_inverse_length_is_refused() {
    let folder = TestFolder::new();
    let rows: String = (1..20)
        .map(|n| format!("{} {} 0.1\n", 0.01 * f64::from(n), 20 - n))
        .collect();
    for unit in [
        "deg", "mrad", "rad", "°", "mm", "pixel", "keV", "1/s", "A^-2",
    ] {
        for header in [
            format!("Q({unit}) I(1/cm) err\n"),
            format!("q[{unit}],I,dI\n"),
        ] {
            std::fs::write(folder.path("q.dat"), header.clone() + &rows).unwrap();
            let remedy = ["column 1", "no inverse length", "--q-unit"];
            folder.run(&["sas", "info", "q.dat"]).refused(1, &remedy);
            fit(&folder, "q.dat", &["--fit", "radius=1:100"]).refused(1, &remedy);
            let stated = folder.run(&["sas", "info", "q.dat", "--q-unit", "1/nm"]);
            assert_eq!(stated.code, Some(0), "{header}: {stated:?}");
        }
    }
    for header in [
        "Q(1/A) I err\n",
        "q I err\n",
        "q(nm^-1) I(q) err\n",
        "Q(A-1) I(1/cm) err\n",
    ] {
        std::fs::write(folder.path("q.dat"), header.to_owned() + &rows).unwrap();
        info(&folder, "q.dat");
    }
}

#[test]
fn rows_of_cansas_without_an_element_are_left_out() {
    let folder = TestFolder::new();
    let row = |n: i32, intensity: &str, sigma: &str| {
        format!(
            "<Idata><Q unit=\"1/A\">{}</Q><I unit=\"1/cm\">{intensity}</I>{sigma}</Idata>",
            0.01 * f64::from(n)
        )
    };
    let sigma = "<Idev unit=\"1/cm\">0.1</Idev>";
    for bad in [row(7, "", sigma), row(7, "1", "")] {
        let rows: String = (1..20)
            .map(|n| {
                if n == 7 {
                    bad.clone()
                } else {
                    row(n, "2", sigma)
                }
            })
            .collect();
        let text = format!(
            "<?xml version=\"1.0\"?><SASroot version=\"1.1\"><SASentry><Title>t</Title><Run>1</Run><SASdata>{rows}</SASdata></SASentry></SASroot>"
        );
        std::fs::write(folder.path("rows.xml"), text).unwrap();
        let output = folder.run(&["sas", "info", "rows.xml"]);
        output.well();
        assert!(output.out.contains("1 row of 19 left out"), "{output:?}");
    }
}

/// `deg` below `q`: what is no unit of q is refused, one that is counts.
#[test]
fn a_line_of_units_below_the_names_is_used_or_refused() {
    let folder = TestFolder::new();
    let rows: String = (1..20)
        .map(|n| format!("{} {} 0.1\n", 0.01 * f64::from(n), 20 - n))
        .collect();
    let other = [
        "deg cm^-1 cm^-1",
        "(deg) (1/cm) (1/cm)",
        "deg",
        "(mrad)",
        "degrees a.u. a.u.",
        "[keV] [1/cm] [1/cm]",
        "mrad, counts, counts",
        "1/s 1/cm 1/cm",
    ];
    for units in other {
        for mark in ["", "# "] {
            let text = format!("{mark}q I sigma\n{mark}{units}\n{rows}");
            std::fs::write(folder.path("q.dat"), text).unwrap();
            let remedy = ["column 1", "no inverse length", "--q-unit"];
            folder.run(&["sas", "info", "q.dat"]).refused(1, &remedy);
            let stated = folder.run(&["sas", "info", "q.dat", "--q-unit", "1/nm"]);
            assert_eq!(stated.code, Some(0), "{units}: {stated:?}");
        }
    }
    // The column of q is not always the first.
    let behind: String = (1..20)
        .map(|n| format!("{} {} 0.1\n", 20 - n, 0.01 * f64::from(n)))
        .collect();
    std::fs::write(
        folder.path("q.dat"),
        format!("I q sigma\n1/cm deg 1/cm\n{behind}"),
    )
    .unwrap();
    let refused = folder.run(&["sas", "info", "q.dat"]);
    refused.refused(1, &["column 2", "q in deg", "no inverse length"]);
    for (header, largest) in [
        ("q I sigma\n1/A 1/cm 1/cm\n", 0.19),
        ("q I sigma\nnm^-1 cm^-1 cm^-1\n", 0.019),
        ("q I sigma\nrun-2\n", 0.19),
        ("s counts err\n", 0.19),
        ("q I sigma\nk\n", 0.19),
    ] {
        std::fs::write(folder.path("q.dat"), header.to_owned() + &rows).unwrap();
        let found = info(&folder, "q.dat")["q"][1].as_f64();
        assert!(
            found.is_some_and(|q| (q - largest).abs() < 1e-9),
            "{header}: {found:?}"
        );
    }
}

/// Each dataset of NXcanSAS has a unit of its own, and the notes name which is converted.
#[test]
fn a_resolution_in_another_unit_than_q_is_converted() {
    let folder = TestFolder::new();
    let rows: String = (1..20)
        .map(|n| format!("{} {} 0.1 0.002\n", 0.01 * f64::from(n), 20 - n))
        .collect();
    std::fs::write(folder.path("q.dat"), format!("q I sigma dq\n{rows}")).unwrap();
    let options = warpstride::sas::io::ReadOptions::default();
    let read = warpstride::sas::io::read(&folder.path("q.dat"), &options).unwrap();
    let computed = warpstride::sas::io::Computed {
        scattering: &read,
        process: &[],
    };
    warpstride::sas::io::write_hdf5(&folder.path("q.h5"), &computed).unwrap();
    let expected = info(&folder, "q.h5");
    let file = hdf5_metno::File::open_rw(folder.path("q.h5")).unwrap();
    let width = file.dataset("sasentry01/sasdata01/Qdev").unwrap();
    width.write(&ndarray::Array1::from_elem(19, 0.02)).unwrap();
    width.delete_attr("units").unwrap();
    let unit: hdf5_metno::types::VarLenUnicode = "1/nm".parse().unwrap();
    let builder = width.new_attr::<hdf5_metno::types::VarLenUnicode>();
    let attribute = builder.create("units").unwrap();
    attribute.write_scalar(&unit).unwrap();
    drop((width, attribute));
    file.close().unwrap();
    let mut found = info(&folder, "q.h5");
    let notes = found["notes"].take().to_string();
    assert!(
        notes.contains("Qdev is converted from 1/nm to 1/Å"),
        "{notes}"
    );
    assert!(
        !notes.contains("\"q is converted") && !notes.contains("\"Q is"),
        "{notes}"
    );
    for key in ["q", "resolution"] {
        assert!(!expected[key].is_null(), "{expected}");
        assert_eq!(found[key], expected[key]);
    }
}
