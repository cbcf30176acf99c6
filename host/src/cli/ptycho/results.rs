//! What a reconstruction leaves: result, pictures, summary, report, and a few words.

use super::files::{Files, remove};
use crate::cli::failure::Failure;
use crate::cli::output::facts;
use warpstride::data::{Reconstruction, Scan};
use warpstride::io;
use warpstride::ptycho::quality::{Comparison, Reference, compare};
use warpstride::report::{Pictures, Summary, report, significant, write_whole};

/// A run that came to its end, or was stopped.
pub(super) struct Ended<'a> {
    pub(super) result: Reconstruction,
    pub(super) scan: &'a Scan,
    /// Of the loop.
    pub(super) seconds: f64,
    pub(super) files: &'a Files,
    pub(super) interrupted: bool,
}

impl Ended<'_> {
    /// Writes the result first, then what is made from it; gives the words for people.
    pub(super) fn write(&self) -> Result<String, Failure> {
        self.check_finite()?;
        let files = self.files;
        io::results::write(&files.result, &self.result)?;
        let mut written = vec![files.result.display().to_string()];
        let (truth, note) = self.against_truth();
        let summary = Summary::new(&self.result, self.seconds, truth.as_ref());

        if files.pictures.is_some() || files.report.is_some() {
            let pictures = Pictures::new(&self.result)?;
            if let Some(paths) = &files.pictures {
                let drawn = [
                    Some(&pictures.modulus),
                    Some(&pictures.phase),
                    Some(&pictures.probe),
                    pictures.phase_stretched.as_ref(),
                ];
                for (path, picture) in paths.iter().zip(drawn) {
                    let Some(picture) = picture else {
                        remove(path)?;
                        continue;
                    };
                    write_whole(path, &picture.png)?;
                    written.push(path.display().to_string());
                }
            }
            if let Some(path) = &files.report {
                let page = report(&self.result, &summary, &pictures, truth.as_ref())?;
                write_whole(path, page.as_bytes())?;
                written.push(path.display().to_string());
            }
        }
        if let Some(path) = &files.summary {
            write_whole(path, summary.to_json()?.as_bytes())?;
            written.push(path.display().to_string());
        }
        Ok(self.words(&summary, note, &written))
    }

    /// A result of NaN would look like one.
    fn check_finite(&self) -> Result<(), Failure> {
        let finite = self
            .result
            .object
            .iter()
            .all(|v| v.re.is_finite() && v.im.is_finite())
            && self
                .result
                .probe
                .iter()
                .all(|v| v.re.is_finite() && v.im.is_finite());
        if finite {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "the reconstruction diverged: object or probe is not finite after {} iterations; {} was not written",
            self.result.history.len(),
            self.files.result.display()
        )))
    }

    /// Figures against the truth where the scan has one; why there are none where it has.
    fn against_truth(&self) -> (Option<Comparison>, Option<String>) {
        let Some(simulation) = self.scan.simulation() else {
            return (None, None);
        };
        let truth = Reference::Truth {
            simulation,
            pixel: self.scan.object_pixel(),
        };
        match compare(&self.result, truth) {
            Ok(figures) => (Some(figures), None),
            Err(error) => (None, Some(format!("not compared with the truth: {error}"))),
        }
    }

    fn words(&self, of: &Summary, note: Option<String>, written: &[String]) -> String {
        let figure = |value: Option<f64>| {
            value.map_or_else(|| "not computed".to_owned(), |v| significant(v, 4))
        };
        let mut lines = vec![
            ("engines", of.engine.clone()),
            ("back end", format!("{} ({})", of.backend, of.device)),
            ("R", figure(of.r_factor)),
            ("err_phot", figure(of.err_phot)),
        ];
        if let Some(l2) = of.relative_l2 {
            lines.push((
                "relative L2",
                format!("{} against the truth", significant(l2, 3)),
            ));
        }
        lines.push(("note", note.unwrap_or_default()));
        lines.push(("iterations", of.iterations.to_string()));
        lines.push((
            "time",
            match of.ms_per_iteration {
                Some(per) => {
                    format!(
                        "{} s, {} ms an iteration",
                        significant(of.seconds, 3),
                        significant(per, 3)
                    )
                }
                None => format!("{} s", significant(of.seconds, 3)),
            },
        ));
        if self.interrupted {
            lines.push((
                "stopped",
                format!("checkpoint {}", self.files.checkpoint.display()),
            ));
        }
        let mut name = "written";
        for path in written {
            lines.push((std::mem::take(&mut name), path.clone()));
        }
        lines.retain(|(_, value)| !value.is_empty());
        facts(&lines)
    }
}
