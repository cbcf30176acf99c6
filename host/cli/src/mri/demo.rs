//! The part of magnetic resonance imaging in `warpstride demo`.

use crate::demo::{Demo, DemoPart, Summary};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::time::Instant;

/// Simulates the samples of a phantom and reconstructs its image.
pub(crate) fn demo(demo: &Demo) -> Result<DemoPart, Failure> {
    let begin = Instant::now();
    let (phantom, image) = (demo.file("phantom.h5"), demo.file("image.h5"));
    let (picture, report) = (demo.file("image.png"), demo.file("image.html"));
    let summary = demo.file("image.json");
    let words = ["--trajectory", "golden", "--spokes", "89", "--noise", "100"];
    let simulate = [OsStr::new("mri"), "simulate".as_ref(), phantom.as_ref()];
    demo.run(simulate.into_iter().chain(words.map(OsStr::new)))?;
    demo.run([
        OsStr::new("mri"),
        "reconstruct".as_ref(),
        phantom.as_ref(),
        "-o".as_ref(),
        image.as_ref(),
        "--png".as_ref(),
        picture.as_ref(),
        "--report".as_ref(),
        report.as_ref(),
        "--reference".as_ref(),
        phantom.as_ref(),
        "--summary".as_ref(),
        summary.as_ref(),
    ])?;
    Ok(DemoPart {
        heading: "Magnetic resonance: simulated and reconstructed",
        seconds: begin.elapsed().as_secs_f64(),
        lines: lines(&Summary::read(&summary)?)?,
        reports: vec![report],
    })
}

fn lines(summary: &Summary) -> Result<String, Failure> {
    Ok(format!(
        "Backend {}, {} with {}, {} iterations, {:.1} ms each\n\
         Against the truth: NRMSE {:.3} ({:.3} of the magnitudes), PSNR {:.1} dB, SSIM {:.3}",
        summary.word("backend"),
        summary.word("method"),
        summary.word("operator"),
        summary.number("iterations")?,
        summary.number("ms_per_iteration")?,
        summary.number("nrmse")?,
        summary.number("magnitude_nrmse")?,
        summary.number("psnr")?,
        summary.number("ssim")?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_have_the_metrics() {
        let text = br#"{"backend": "cpu", "method": "cg", "operator": "toeplitz",
            "iterations": 15, "ms_per_iteration": 20.04, "nrmse": 0.2, "magnitude_nrmse": 0.1, "psnr": 25.51, "ssim": 0.9}"#;
        let lines = lines(&Summary::parse("s.json", text).unwrap()).unwrap();
        let first = "Backend cpu, cg with toeplitz, 15 iterations, 20.0 ms each\n";
        assert!(lines.starts_with(first), "{lines}");
        assert!(lines.contains("PSNR 25.5 dB"), "{lines}");
    }
}
