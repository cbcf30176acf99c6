//! The part of small-angle scattering in `warpstride demo`.

use crate::demo::{Demo, DemoPart, Summary};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::time::Instant;

/// The parameters of the curve that is fitted.
const CURVE: &str = "radius=25,length=220,volfraction=0.15,scale=1,background=0.01";
const MODEL: &str = "cylinder@hardsphere";
const RESOLUTION: [&str; 2] = ["--resolution", "pinhole:0.05"];

/// Computes a curve and finds its parameters again.
pub(crate) fn demo(demo: &Demo) -> Result<DemoPart, Failure> {
    let begin = Instant::now();
    let (curve, curve_plot) = (demo.file("curve.csv"), demo.file("curve.png"));
    let (fit_plot, report) = (demo.file("fit.png"), demo.file("fit.html"));
    let summary = demo.file("fit.json");
    let words = ["sas", "evaluate", MODEL, "--set", CURVE]
        .into_iter()
        .chain(["--pd", "radius=0.1:gaussian"])
        .chain(RESOLUTION)
        .chain(["--q", "0.004:0.4:120:log"]);
    let files = [
        "-o".as_ref(),
        curve.as_os_str(),
        "--plot".as_ref(),
        curve_plot.as_ref(),
    ];
    demo.run(words.map(OsStr::new).chain(files))?;

    let data = ["sas", "fit", MODEL].map(OsStr::new).into_iter();
    let data = data.chain([curve.as_os_str()]);
    let words = ["--pd", "radius=0.2:gaussian"]
        .into_iter()
        .chain(RESOLUTION)
        .chain(["--fit", "radius=10:60", "--fit", "radius_pd=0.02:0.4"])
        .chain(["--fit", "length=50:600", "--fit", "volfraction=0.01:0.4"])
        .chain(["--starts", "4"]);
    let files = [
        "--plot".as_ref(),
        fit_plot.as_os_str(),
        "--report".as_ref(),
        report.as_ref(),
        "--summary".as_ref(),
        summary.as_ref(),
    ];
    demo.run(data.chain(words.map(OsStr::new)).chain(files))?;
    Ok(DemoPart {
        heading: "Small-angle scattering: computed and fitted",
        seconds: begin.elapsed().as_secs_f64(),
        lines: lines(&Summary::read(&summary)?)?,
        reports: vec![report],
    })
}

/// The true parameters, and those that the fit found.
fn lines(summary: &Summary) -> Result<String, Failure> {
    let parameters = summary.value["parameters"].as_array();
    let found = parameters.into_iter().flatten().map(|parameter| {
        let name = parameter["name"].as_str().unwrap_or("unnamed");
        let value = summary.checked(name, parameter["value"].as_f64())?;
        Ok(format!("{name}={value:.4}"))
    });
    let found = found.collect::<Result<Vec<_>, Failure>>()?.join(",");
    Ok(format!("Truth: {CURVE},radius_pd=0.1\nFound: {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_have_the_truth_and_the_fit() {
        let text = br#"{"parameters": [{"name": "radius", "value": 25.00004},
            {"name": "length", "value": 219.9}]}"#;
        let lines = lines(&Summary::parse("s.json", text).unwrap()).unwrap();
        assert!(lines.starts_with("Truth: radius=25,"), "{lines}");
        assert!(lines.ends_with("\nFound: radius=25.0000,length=219.9000"));
    }
}
