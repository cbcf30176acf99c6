//! Beams with units, pixels as angles, probes from aberrations, and `--find-rotation`, with the
//! real program.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::Recipe;
use warpstride::ptycho::io::results;

#[test]
fn beams_have_units_and_doubtful_numbers_are_asked_about() {
    let folder = TestFolder::with_scan();
    let info = |options: &[&str]| folder.run(&[&["ptycho", "info", "scan.cxi"], options].concat());
    // The positions are those of a scan with X-rays.
    let electrons = [
        "--voltage",
        "300kV",
        "--pixel-angle",
        "0.1/A",
        "--set",
        "data.affine=[[1e-3,0],[0,1e-3]]",
    ];
    let output = info(&electrons);
    output.well();
    assert!(
        output.out.contains("1.9687 pm (electrons of 300 kV)"),
        "{output:?}"
    );
    let output = info(&[&electrons[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&output.out).unwrap();
    let [size, pixel] = [&json["rows"], &json["geometry"]["object_pixel"][0]].map(|v| v.as_f64());
    // λ/(n a) with a/λ = 0.1/Å.
    assert!((pixel.unwrap() * size.unwrap() / 1e-9 - 1.0).abs() < 1e-9);
    for (options, words) in [
        (
            &["--voltage", "300"][..],
            "--voltage 300: expected a voltage",
        ),
        (
            &["--energy", "300"],
            "--energy 300: scan.cxi: expected an energy",
        ),
        (
            &["--set", "data.constants.energy=300"],
            "data.constants.voltage = \"300kV\"",
        ),
        (&["--pixel-angle", "0.3"], "0.3mrad, 0.3deg or 0.3rad?"),
        (&["--pixel-size", "75"], "are these 75um or 75m?"),
        (
            &["--set", "data.constants.distance=681"],
            "are these 681mm or 681m?",
        ),
        (
            &["--distance", "2m", "--set", "data.constants.distance=2.0"],
            "--distance 2m: expected data.constants.distance from one argument, found it in --set data.constants.distance=2.0 too",
        ),
        (
            &["--voltage", "300kV", "--set", "data.constants.energy=8.8"],
            "not both",
        ),
        (
            &["--pixel-angle", "1mrad", "--near-field"],
            "--pixel-angle 1mrad: expected constants.pixel_size",
        ),
    ] {
        info(options).refused(2, &[words]);
    }
    info(&["--voltage", "300kV", "--energy", "8keV"]).refused(2, &["--voltage", "--energy"]);
}

/// The rotation of a turned scan is found and put into the recipe; the probe of the recipe is kept.
#[test]
fn the_rotation_of_a_scan_is_found() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "24", "--positions", "60"]);
    let options = [
        "-o",
        "out.h5",
        "--no-pictures",
        "--summary",
        "s.json",
        "--engine",
        "lsqml:1",
        "--find-rotation",
        "--transform-positions",
        "rotate=-40deg",
    ];
    let output = folder.reconstruct(&options);
    output.well();
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let found = &summary["rotation"]["decision"]["found"];
    assert!(
        found["twin"]["resolved"].is_object(),
        "{:#}",
        summary["rotation"]
    );
    assert!(output.out.contains("rotation found: "), "{}", output.out);
    let recipe = Recipe::from_toml(&results::read(&folder.path("out.h5")).unwrap().recipe).unwrap();
    let [[cosine, _], [sine, _]] = recipe.data.affine.unwrap();
    let left = sine.atan2(cosine).to_degrees();
    assert!(left.abs() < 2.0, "{left}: {:#}", summary["rotation"]);
    let start = [&options[..], &["--start", "out.h5"]].concat();
    folder
        .reconstruct(&start)
        .refused(2, &["--find-rotation: expected a run without"]);
}

#[test]
fn a_probe_from_the_optics_is_one_of_the_recipe() {
    let folder = TestFolder::with_scan();
    let run = |semi_angle: &str| {
        let beam = ["--voltage", "300kV", "--pixel-angle", "0.5mrad"];
        let optics = [
            "--semi-angle",
            semi_angle,
            "--defocus",
            "-20nm",
            "--c3",
            "1.2mm",
        ];
        let others = ["-o", "out.h5", "--no-pictures", "--engine", "dm:1"];
        let set = ["--set", "data.affine=[[1e-2,0],[0,1e-2]]"];
        folder.reconstruct(&[&others[..], &beam, &optics, &set].concat())
    };
    let output = run("4mrad");
    output.well();
    let noted = "start probe: a lens with a semi-angle of 4.000 mrad, a defocus of -20.00 nm, C3 = 1.200 mm";
    assert!(output.out.contains(noted), "{}", output.out);
    let text = results::read(&folder.path("out.h5")).unwrap().recipe;
    let recipe = Recipe::from_toml(&text).unwrap();
    assert_eq!(recipe.probe.semi_angle, Some(4e-3), "{text}");
    assert_eq!(recipe.data.constants.voltage, Some(3e5), "{text}");
    run("40mrad").refused(
        2,
        &["--semi-angle 40mrad: scan.cxi: expected at most 8.000 mrad"],
    );
}

/// The scan of electrons that `import` writes says so, and gives the same bits.
#[test]
fn an_imported_scan_is_one_of_electrons() {
    let folder = TestFolder::with_scan();
    let beam = [
        "--voltage",
        "300kV",
        "--pixel-angle",
        "0.5mrad",
        "--set",
        "data.affine=[[1e-2,0],[0,1e-2]]",
    ];
    let import = ["ptycho", "import", "scan.cxi", "-o", "electrons.cxi"];
    let imported = folder.run(&[&import[..], &beam].concat());
    imported.well();
    let electrons = "1.9687 pm (electrons of 300 kV)";
    assert!(imported.out.contains(electrons), "{}", imported.out);
    let info = folder.run(&["ptycho", "info", "electrons.cxi"]);
    info.well();
    assert!(info.out.contains(electrons), "{}", info.out);
    assert!(!info.out.contains("keV"), "{}", info.out);
    let json = folder.run(&["ptycho", "info", "electrons.cxi", "--json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["geometry"]["voltage"], 3e5);
    assert_eq!(json["geometry"]["energy_ev"], 3e5);
    let run = |scan: &str, output: &str, options: &[&str]| {
        let fixed = ["ptycho", "reconstruct", scan, "-o", output, "--backend"];
        let others = ["cpu", "--no-pictures", "--engine", "dm:3"];
        folder.run(&[&fixed[..], &others, options].concat()).well();
        results::read(&folder.path(output)).unwrap()
    };
    let original = run("scan.cxi", "a.h5", &beam);
    let again = run("electrons.cxi", "b.h5", &[]);
    assert_eq!(original.wavelength.to_bits(), again.wavelength.to_bits());
    assert_eq!(original.object, again.object);
    assert_eq!(original.probe, again.probe);
    assert_eq!([original.voltage, again.voltage], [Some(3e5); 2]);
    // Photons of the same file.
    let photons = run("electrons.cxi", "c.h5", &["--wavelength", "1e-12"]);
    assert_eq!(photons.voltage, None);
}

#[test]
fn what_a_raster_needs_is_named() {
    let folder = TestFolder::with_scan();
    let info = |options: &[&str]| folder.run(&[&["ptycho", "info", "scan.cxi"], options].concat());
    for options in [
        &["--snake"][..],
        &["--rotation", "-120deg"],
        &["--raster", "4x5"],
    ] {
        let named = format!("{}: expected the step of the raster", options[0]);
        info(options).refused(2, &[&named, "--step 31.25A"]);
    }
    let refused = info(&["--step", "1um"]);
    refused.refused(2, &["--step 1um", "--raster 64x64 states rows"]);
}
