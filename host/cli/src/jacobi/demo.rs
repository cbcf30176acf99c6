//! The part of Jacobi relaxation in `warpstride demo`.

use crate::demo::{Demo, DemoPart, Summary};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::time::Instant;

/// Relaxes Laplace's equation on a grid of 512 × 512 cells.
pub(crate) fn demo(demo: &Demo) -> Result<DemoPart, Failure> {
    let begin = Instant::now();
    let picture = demo.file("relaxation.png");
    let words = ["jacobi", "--nx", "512", "--ny", "512", "--json", "--plot"];
    let command = words.into_iter().map(OsStr::new).chain([picture.as_ref()]);
    let printed = demo.read(command)?;
    Ok(DemoPart {
        heading: "Jacobi relaxation: 512 x 512 cells relaxed",
        seconds: begin.elapsed().as_secs_f64(),
        lines: line(&Summary::parse("warpstride jacobi --json", &printed)?)?,
        reports: Vec::new(),
    })
}

fn line(summary: &Summary) -> Result<String, Failure> {
    let last = summary.value["norms"].as_array().and_then(|n| n.last());
    let norm = last.and_then(|norm| norm["norm"].as_f64());
    Ok(format!(
        "Backend {}, {} iterations, norm {:.3e}, {:.1} million cells a second",
        summary.word("backend"),
        summary.number("iterations")?,
        summary.checked("norm", norm)?,
        summary.number("cells_per_second")? / 1e6
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_metrics() {
        let text = br#"{"backend": "cpu", "iterations": 1000, "cells_per_second": 2.5e9,
            "norms": [{"sweep": 1, "norm": 5.6}, {"sweep": 1000, "norm": 0.01234}]}"#;
        let line = line(&Summary::parse("jacobi", text).unwrap()).unwrap();
        let expected = "Backend cpu, 1000 iterations, norm 1.234e-2, 2500.0 million cells a second";
        assert_eq!(line, expected);
    }
}
