//! Ptychography's part of `warpstride demo`.

use crate::demo::{Demo, DemoPart, Summary};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::time::Instant;

/// Simulates a scan and reconstructs it.
pub(crate) fn demo(demo: &Demo) -> Result<DemoPart, Failure> {
    let begin = Instant::now();
    let (scan, result) = (demo.file("scan.cxi"), demo.file("reconstruction.h5"));
    let (report, summary) = (demo.file("report.html"), demo.file("summary.json"));
    demo.run([OsStr::new("ptycho"), "simulate".as_ref(), scan.as_ref()])?;
    demo.run([
        OsStr::new("ptycho"),
        "reconstruct".as_ref(),
        scan.as_ref(),
        "-o".as_ref(),
        result.as_ref(),
        "--report".as_ref(),
        report.as_ref(),
        "--summary".as_ref(),
        summary.as_ref(),
        // Without trials, which would take longer than the run.
        "--engine".as_ref(),
        "dm:100".as_ref(),
        "--engine".as_ref(),
        "raar:50".as_ref(),
        "--free-pixels".as_ref(),
        "0.01".as_ref(),
    ])?;
    Ok(DemoPart {
        heading: "Ptychography: simulated and reconstructed",
        seconds: begin.elapsed().as_secs_f64(),
        lines: lines(&Summary::read(&summary)?)?,
        reports: vec![report],
    })
}

fn lines(summary: &Summary) -> Result<String, Failure> {
    Ok(format!(
        "Backend {}, {} iterations, {:.1} ms each, R factor {:.4}\n\
         Relative L2 error against the truth, ambiguities removed: {:.4}",
        summary.word("backend"),
        summary.number("iterations")?,
        summary.number("ms_per_iteration")?,
        summary.number("r_factor")?,
        summary.number("relative_l2")?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_have_the_metrics() {
        let text = br#"{"backend": "cpu", "iterations": 80, "ms_per_iteration": 251.26,
            "r_factor": 0.01234, "relative_l2": 0.0234}"#;
        let lines = lines(&Summary::parse("s.json", text).unwrap()).unwrap();
        let first = "Backend cpu, 80 iterations, 251.3 ms each, R factor 0.0123\n";
        assert!(lines.starts_with(first), "{lines}");
        assert!(lines.ends_with("0.0234"), "{lines}");
    }
}
