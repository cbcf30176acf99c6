//! The section of the report on the probe: modes, size and focus.

use super::focus::size_along_beam;
use crate::session::summary::Summary;
use crate::{FocusSearch, ProbeSize};
use warpstride_core::text::{length, significant};
use warpstride_report::ReportError;
use warpstride_report::page::{curve, escaped, figure, table};
use warpstride_report::picture::Picture;

/// Most modes whose power is listed.
const LISTED: usize = 16;

/// The section with the `modes`, their power, the size of the probe and its focus.
///
/// # Errors
/// The curve cannot be drawn.
pub(super) fn probe(modes: &Picture, summary: &Summary) -> Result<String, ReportError> {
    let mut text = String::from("<section>\n<h2>Probe</h2>\n");
    text += &figure(modes, "Probe modes");
    if let Some(size) = &summary.probe_size {
        text += &sizes(size, &summary.mode_power);
    }
    if let Some(search) = &summary.probe_focus {
        text += &focus(search)?;
    }
    Ok(text + "</section>\n")
}

/// The size of the probe, and the power of its modes.
fn sizes(size: &ProbeSize, powers: &[f64]) -> String {
    let [rows, columns] = size.rms.map(|rms| length(rms, 3));
    let shares = powers.iter().take(LISTED);
    let shares: Vec<String> = shares.map(|share| significant(100.0 * share, 3)).collect();
    let mut lines = vec![
        ("Full width at half maximum", length(size.fwhm, 3)),
        ("RMS width (row, column)", format!("{rows}, {columns}")),
    ];
    if powers.len() > 1 {
        lines.push(("Power of the modes, %", shares.join(", ")));
    }
    let mut text = table(&lines);
    text += "<p class=\"explanation\">Of the intensity of all modes together: the diameter of the disc with the area over which it is at least half its maximum, and its standard deviation.</p>\n";
    text
}

/// The focus of the probe, and its size along the beam.
fn focus(search: &FocusSearch) -> Result<String, ReportError> {
    let mut text = String::from("<h3>Focus</h3>\n");
    match &search.focus {
        None => text += &format!("<p>Focus: {}.</p>\n", escaped(&search.to_string())),
        Some(focus) => {
            let place = search.side().unwrap_or_else(|| "in the focus".to_owned());
            let mut lines = vec![(
                "Specimen, from the focus",
                format!("{place} (distance {:.3e} m)", focus.distance),
            )];
            if focus.model_differs() {
                lines.push((
                    "The same in the model, for aperture and mean-pattern",
                    format!("{:.3e} m", focus.model_distance),
                ));
            }
            lines.extend([
                (
                    "Full width at half maximum in the focus",
                    length(focus.size.fwhm, 3),
                ),
                ("Depth of focus", length(focus.depth, 2)),
            ]);
            text += &table(&lines);
        }
    }
    let drawn = size_along_beam(search).map_err(|e| ReportError(e.to_string()))?;
    let line = search.focus.map_or_else(String::new, |_| {
        format!(
            ". The orange line is the focus, where the diameter is smallest (planes {} apart)",
            length(search.step, 2)
        )
    });
    let meaning = format!(
        "The probe propagated through free space to planes along the beam: 0 is the specimen, negative planes are upstream of it{line}. The effective diameter is that of a uniform disc of the area (ΣI)²/ΣI², with the intensity I of all modes together. The distance of the specimen is positive if it is downstream of the focus, as in probe.defocus of zone plates and Gaussian beams. A probe that reaches over the border of its window comes in again on the other side, and may show a focus that there is not."
    );
    text += &curve("Size along the beam", "plane", &meaning, drawn.as_deref());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoFocus;
    use crate::report::{Pictures, sample};

    #[test]
    fn size_powers_and_focus_are_listed_or_why_there_is_none() {
        let of = sample::reconstruction();
        let mut summary = Summary::new(&of, sample::record(), None).with_focus(&of);
        let pictures = Pictures::new(&of).unwrap();
        let page = probe(&pictures.probe, &summary).unwrap();
        for text in [
            "Power of the modes, %</th><td>90.0, 10.0<",
            "Specimen, from the focus",
            "The orange line is the focus",
            "Size along the beam against plane",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        if let Some(search) = &mut summary.probe_focus {
            (search.focus, search.none) = (None, Some(NoFocus::Border));
        }
        let page = probe(&pictures.probe, &summary).unwrap();
        assert!(page.contains("Focus: none found within") && !page.contains("orange"));
    }
}
