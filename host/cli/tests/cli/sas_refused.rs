//! Invalid options of `sas` and invalid files: an error of one sentence with the option, the
//! expected value and the found one; nothing is written, no panic.

use super::support::TestFolder;

/// Each case: the arguments after `sas`, and parts of the error message.
#[track_caller]
fn refused(code: i32, cases: &[(&str, &[&str])]) {
    let folder = TestFolder::new();
    std::fs::write(folder.path("curve.txt"), curve()).unwrap();
    std::fs::write(folder.path("bad.txt"), "1 2 3\n").unwrap();
    std::fs::write(folder.path("image.dat"), image()).unwrap();
    std::fs::write(folder.path("words.txt"), "no numbers here\n").unwrap();
    let names = folder.names();
    for (typed, words) in cases {
        let mut arguments = vec!["sas"];
        arguments.extend(typed.split(' '));
        let output = folder.run(&arguments);
        output.refused(code, words);
        assert_eq!(output.out, "", "{typed}");
        assert_eq!(folder.names(), names, "{typed}");
    }
}

fn curve() -> String {
    (1..30)
        .map(|i| {
            let q = 0.005 * f64::from(i);
            format!("{q} {} {}\n", 10.0 / (1.0 + (60.0 * q).powi(4)), 0.1)
        })
        .collect()
}

fn image() -> String {
    let side = [-0.1, 0.0, 0.1];
    side.iter()
        .flat_map(|y| side.iter().map(move |x| format!("{x} {y} 1 0.1\n")))
        .collect()
}

#[test]
fn ties_that_cannot_hold_are_refused() {
    refused(
        2,
        &[
            (
                "evaluate sphere --tie radius",
                &["--tie radius: expected NAME=EXPRESSION"],
            ),
            (
                "evaluate sphere --tie radius=2*",
                &["--tie radius=2*: expected a number", "found the end"],
            ),
            (
                "evaluate sphere --tie radius=2*leng",
                &["--tie radius=2*leng: leng: expected a parameter of sphere"],
            ),
            (
                "evaluate sphere --tie radius=1/(sld-1)",
                &["radius=1/(sld-1): expected a divisor", "division by zero"],
            ),
            (
                "evaluate sphere --tie radius=-sld",
                &["expected 0 to inf for radius of sphere, found -1"],
            ),
            (
                "evaluate sphere --tie radius=sld --tie sld=radius",
                &["without a cycle, found radius = … sld = … radius"],
            ),
            (
                "evaluate sphere --tie radius=sld --set radius=4",
                &["expected --tie or --set for radius, found both"],
            ),
            (
                "fit sphere curve.txt --fit radius --tie radius=sld",
                &["--fit radius: expected --fit or --tie for radius"],
            ),
            (
                "fit sphere curve.txt --fit radius --tie sld=1/(radius-50)",
                &["sld=1/(radius-50)", "division by zero"],
            ),
            (
                "evaluate onion --tie n_shells=2",
                &["found the integer n_shells"],
            ),
        ],
    );
}

#[test]
fn numbers_and_shares_of_data_files_are_checked() {
    refused(
        2,
        &[
            (
                "fit sphere curve.txt --fit radius --share radius",
                &["--share radius: expected several data files, found one"],
            ),
            (
                "fit sphere curve.txt curve.txt --fit radius --share sld",
                &["--share sld: expected a fitted parameter"],
            ),
            (
                "fit sphere curve.txt curve.txt --fit radius.3 --share scale",
                &["--fit radius.3", "a data file from 1 to 2, found 3"],
            ),
            (
                "fit sphere curve.txt curve.txt --fit radius --set sld.0=3",
                &["--set sld.0=3", "a data file from 1 to 2, found 0"],
            ),
            (
                "fit sphere curve.txt --fit radius.1",
                &["--fit radius.1: expected a parameter of sphere"],
            ),
            (
                "fit sphere curve.txt curve.txt --fit radius,radius.2",
                &["radius.2: expected each parameter once"],
            ),
            (
                "fit sphere curve.txt curve.txt --fit radius --select 1 --select 1 --select 1",
                &["--select: expected one for all files or one for each of 2, found 3"],
            ),
        ],
    );
}

#[test]
fn unknown_names_are_refused() {
    refused(
        2,
        &[
            (
                "models banana",
                &["banana: expected the name of a model", "sas models"],
            ),
            ("evaluate shpere", &["shpere", "did you mean sphere?"]),
            (
                "evaluate sphere@cylinder",
                &["expected a structure factor after @, found cylinder"],
            ),
            (
                "evaluate hardsphere@hardsphere",
                &["expected a form factor before @, found the structure factor"],
            ),
            (
                "evaluate sphere+shpere",
                &["shpere: expected the name of a model (did you mean sphere?)"],
            ),
            (
                "evaluate sphere+",
                &["expected models on both sides of +, such as sphere+lamellar"],
            ),
            (
                "evaluate sphere+lamellar --set radius=3",
                &[
                    "--set radius=3: expected a parameter of sphere+lamellar (did you mean A_radius?)",
                ],
            ),
            (
                "evaluate sphere@hardspere",
                &["hardspere", "did you mean hardsphere?"],
            ),
            (
                "evaluate sphere --set radus=5",
                &[
                    "--set radus=5",
                    "expected a parameter of sphere",
                    "did you mean radius?",
                    "sld_solvent",
                ],
            ),
            (
                "evaluate sphere --pd banana=0.1",
                &["--pd banana=0.1: expected a parameter of sphere"],
            ),
            (
                "fit sphere curve.txt --fit rad=1:2",
                &["--fit rad=1:2", "did you mean radius?"],
            ),
        ],
    );
}

#[test]
fn invalid_values_are_refused() {
    refused(
        2,
        &[
            (
                "evaluate sphere --set radius",
                &["--set radius", "NAME=VALUE"],
            ),
            (
                "evaluate sphere --set radius=big",
                &["radius=big", "\"big\"", "a number"],
            ),
            (
                "evaluate sphere --set radius=inf",
                &["radius=inf", "a number"],
            ),
            (
                "evaluate sphere --set radius=-5",
                &["radius=-5", "expected 0 to inf"],
            ),
            (
                "evaluate sphere --set radius=5,radius=6",
                &["radius=6", "each parameter once, found radius twice"],
            ),
            (
                "evaluate sphere --set radius_pd=0.1",
                &["is a width", "--pd radius=WIDTH"],
            ),
            (
                "evaluate sphere@hardsphere --set structure_factor_mode=0.5",
                &["structure_factor_mode=0.5", "expected an integer"],
            ),
            (
                "evaluate sphere --cutoff 1",
                &["--cutoff 1", "from 0 to below 1"],
            ),
            ("evaluate sphere --cutoff nan", &["--cutoff NaN"]),
            (
                "evaluate sphere --cutoff 0.1",
                &["--cutoff 0.1: expected a distribution (--pd)"],
            ),
            ("evaluate sphere --threads 0", &["--threads 0"]),
            (
                "evaluate sphere --backend cpu --device 0",
                &["--device 0", "cpu"],
            ),
            ("evaluate sphere --precision f16", &["f16", "f64"]),
        ],
    );
}

#[test]
fn invalid_distributions_are_refused() {
    refused(
        2,
        &[
            (
                "evaluate sphere --pd radius",
                &["--pd radius", "NAME=WIDTH"],
            ),
            ("evaluate sphere --pd radius=-0.1", &["-0.1", "0 or more"]),
            (
                "evaluate sphere --pd radius=wide",
                &["\"wide\"", "relative width"],
            ),
            (
                "evaluate sphere --pd radius=0.1:gauss",
                &["\"gauss\"", "gaussian", "schulz"],
            ),
            (
                "evaluate sphere --pd radius=0.1:gaussian:0",
                &["\"0\"", "points"],
            ),
            (
                "evaluate sphere --pd radius=0.1:gaussian:1e9",
                &["\"1e9\"", "points"],
            ),
            (
                "evaluate sphere --pd radius=0.1:gaussian:9:0",
                &["reach", "above 0"],
            ),
            (
                "evaluate sphere --pd radius=0.1:gaussian:9:3:1",
                &["expected at most NAME=WIDTH:KIND:POINTS:NSIGMA"],
            ),
            (
                "evaluate sphere --pd radius=0.1:uniform:9:3",
                &["uniform", "no NSIGMA"],
            ),
            (
                "evaluate sphere --pd sld=0.1",
                &[
                    "--pd sld=0.1: expected a parameter of sphere that can have a distribution: radius",
                ],
            ),
            (
                "evaluate sphere --pd radius=0.1 --pd radius=0.2",
                &["one distribution of each parameter, found two of radius"],
            ),
            (
                "evaluate cylinder --pd theta=15",
                &["theta is an angle", "--q2d"],
            ),
            (
                "evaluate cylinder --q2d 0.1:5 --pd theta=15:schulz",
                &["expected a distribution of angles, found schulz"],
            ),
            (
                "evaluate sphere --pd radius=array:",
                &["the name of a file"],
            ),
        ],
    );
    refused(
        1,
        &[
            (
                "evaluate sphere --pd radius=array:none.txt",
                &["none.txt", "cannot be read"],
            ),
            (
                "evaluate sphere --pd radius=array:bad.txt",
                &["bad.txt", "line 1", "a value and a weight"],
            ),
            (
                "evaluate sphere --pd radius=array:words.txt",
                &["words.txt", "line 1"],
            ),
        ],
    );
}

#[test]
fn invalid_points_and_resolutions_are_refused() {
    refused(
        2,
        &[
            ("evaluate sphere --q 0.1", &["--q 0.1", "FIRST:LAST:COUNT"]),
            ("evaluate sphere --q 0:0.1:5:log", &["above 0"]),
            ("evaluate sphere --q 0.2:0.1:5", &["greater than the first"]),
            ("evaluate sphere --q 0.1:0.2:1", &["\"1\"", "from 2"]),
            (
                "evaluate sphere --q 0.1:0.2:99999999999",
                &["99999999999", "from 2"],
            ),
            ("evaluate sphere --q a:0.2:5", &["\"a\"", "first q"]),
            ("evaluate sphere --points ,", &["--points ,", "found \"\""]),
            ("evaluate sphere --points -0.1", &["-0.1", "0 or more"]),
            (
                "evaluate sphere --points 0.1:0.2,0.3",
                &["\"0.3\"", "QX:QY"],
            ),
            ("evaluate sphere --q2d 0.1", &["MAX:N"]),
            ("evaluate sphere --q2d -0.1:5", &["-0.1", "above 0"]),
            (
                "evaluate sphere --q2d 0.1:100000",
                &["expected at most", "100000 x 100000"],
            ),
            (
                "evaluate sphere --q 0.1:0.2:5 --points 0.1",
                &["--q", "--points", "cannot be used with"],
            ),
            (
                "evaluate sphere --q2d 0.1:5 --points 0.1",
                &["--points", "--q2d", "cannot be used with"],
            ),
            (
                "evaluate sphere --resolution wide",
                &["--resolution wide", "pinhole:S"],
            ),
            (
                "evaluate sphere --resolution data",
                &["--resolution data", "pinhole:S"],
            ),
            (
                "evaluate sphere --resolution pinhole:1.5",
                &["1.5", "below 1"],
            ),
            ("evaluate sphere --resolution slit:0,0", &["above 0"]),
            (
                "evaluate sphere --q2d 0.1:5 --resolution slit:0.1,0",
                &["expected pinhole:S", "a slit applies to curves only"],
            ),
        ],
    );
    refused(
        1,
        &[(
            "evaluate sphere --points 0,0.1 --resolution pinhole:0.1",
            &["--resolution", "positive"],
        )],
    );
}

#[test]
fn invalid_outputs_are_refused() {
    refused(
        2,
        &[
            ("evaluate sphere -o curve", &["-o curve", ".csv", ".h5"]),
            (
                "fit sphere curve.txt --fit scale --summary a.json --report a.json",
                &["--report a.json: expected another name than --summary a.json"],
            ),
            (
                "evaluate sphere --plot a.jpg",
                &["--plot a.jpg: expected a name that ends in .png (a picture), found .jpg"],
            ),
            (
                "evaluate sphere --points 0.01,,0.1",
                &["--points 0.01,,0.1", "found \"\""],
            ),
            ("evaluate sphere --quiet", &["--quiet", "-o or --plot"]),
            ("evaluate sphere --quiet --json", &["--quiet", "--json"]),
            (
                "evaluate cylinder --points 0.1:0.1 --plot a.png",
                &["--plot", "--q2d"],
            ),
            (
                "fit sphere curve.txt --fit scale --summary curve.txt",
                &["--summary curve.txt: expected another name than the input curve.txt"],
            ),
            (
                "fit sphere curve.txt --fit scale --quiet",
                &["--quiet", "--summary"],
            ),
        ],
    );
    refused(
        1,
        &[
            (
                "evaluate sphere -o none/a.csv",
                &["none/a.csv", "no folder"],
            ),
            (
                "evaluate sphere --plot none/a.png",
                &["none/a.png", "no folder"],
            ),
        ],
    );
}

#[test]
fn invalid_fits_are_refused() {
    refused(
        2,
        &[
            (
                "fit sphere curve.txt",
                &["--fit: expected the parameters to fit", "radius=20:100"],
            ),
            (
                "fit sphere curve.txt --fit radius=5",
                &["--fit radius=5", "expected NAME, NAME=LOW:HIGH"],
            ),
            (
                "fit sphere curve.txt --fit radius=9:5",
                &["radius", "9", "5"],
            ),
            ("fit sphere curve.txt --fit radius=-9:5", &["radius", "-9"]),
            (
                "fit sphere curve.txt --fit radius,radius=1:5",
                &["found radius twice"],
            ),
            (
                "fit sphere curve.txt --fit radius_pd=0.1:0.2",
                &["expected a distribution of radius", "--pd radius"],
            ),
            (
                "fit sphere curve.txt --set radius=90 --fit radius=5:50",
                &["radius=90", "outside"],
            ),
            (
                "fit sphere@hardsphere curve.txt --fit radius_effective_mode",
                &["selects a formula"],
            ),
            (
                "fit cylinder curve.txt --fit theta=0:90",
                &["theta: expected an image in curve.txt, found a curve"],
            ),
            (
                "fit cylinder curve.txt --fit scale --pd theta=5",
                &["theta: expected an image in curve.txt, found a curve"],
            ),
            (
                "fit sphere curve.txt --fit radius --starts 5",
                &["radius", "finite bounds"],
            ),
            (
                "fit sphere curve.txt --fit radius --method de",
                &["radius", "finite bounds"],
            ),
            (
                "fit sphere curve.txt --fit scale --starts 0",
                &["--starts 0"],
            ),
            (
                "fit sphere curve.txt --fit scale --iterations 0",
                &["--iterations 0"],
            ),
            (
                "fit sphere curve.txt --fit scale --seed 3",
                &["--seed 3", "uses no random numbers"],
            ),
            (
                "fit sphere curve.txt --fit scale --method de --starts 3",
                &["--starts 3: expected --method lm, found de"],
            ),
            (
                "fit sphere curve.txt --fit scale --qrange 0.1",
                &["--qrange 0.1", "A:B"],
            ),
            (
                "fit sphere curve.txt --fit scale --qrange 0.2:0.1",
                &["--qrange 0.2:0.1"],
            ),
            (
                "fit sphere curve.txt --fit scale --resolution wide",
                &["--resolution wide", "data, none"],
            ),
            (
                "fit sphere image.dat --fit scale --resolution slit:0.1",
                &["expected pinhole:S", "a slit applies to curves only"],
            ),
            ("fit sphere curve.txt --fit scale --select=", &["--select"]),
        ],
    );
    refused(
        1,
        &[
            ("fit sphere none.txt --fit scale", &["none.txt"]),
            ("fit sphere words.txt --fit scale", &["words.txt"]),
            (
                "fit sphere curve.txt --fit scale --qrange 5:6",
                &["curve.txt", "at least one selected point"],
            ),
            (
                "fit sphere curve.txt --fit scale --select 7",
                &["curve.txt: --select: "],
            ),
            (
                "fit sphere bad.txt --fit radius=20:100",
                &["bad.txt", "fitted parameters (3), found 1"],
            ),
            (
                "fit sphere curve.txt --fit radius --qrange 0.011:0.022",
                &["curve.txt", "fitted parameters (3), found 2"],
            ),
            ("info none.txt", &["none.txt"]),
            ("info words.txt", &["words.txt"]),
        ],
    );
}

/// The time of the parser grows with the square of an element's attributes.
#[test]
fn xml_with_too_many_attributes_is_refused_at_once() {
    let folder = TestFolder::new();
    let attributes: String = (0..200_000).map(|i| format!(" a{i}=\"\"")).collect();
    let text = format!("<?xml version=\"1.0\"?><SASroot><SASentry{attributes}/></SASroot>");
    std::fs::write(folder.path("wide.xml"), text).unwrap();
    let begin = std::time::Instant::now();
    folder.run(&["sas", "info", "wide.xml"]).refused(
        1,
        &[
            "wide.xml: expected",
            "an element with more than 256 attributes",
        ],
    );
    let seconds = begin.elapsed().as_secs_f64();
    assert!(seconds < 2.0, "{seconds} s");
}
