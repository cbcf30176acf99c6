//! Report of a scan before a reconstruction: mean pattern with mask and centre, positions, and what
//! is known about it.

use super::diffraction::mean_pattern_with_centre;
use super::positions::positions;
use crate::data::Scan;
use warpstride_core::text::count;
use warpstride_report::ReportError;
use warpstride_report::page::{self, curve, escaped, figure, table};

/// Makes the page for a scan as it is read: `source` names the file, `facts` are rows of a table,
/// `options` the options of reading in TOML.
///
/// # Errors
/// A picture or the positions cannot be drawn.
pub fn report_of_scan(
    source: &str,
    scan: &Scan,
    facts: &[(&str, String)],
    [notes, problems]: [&[String]; 2],
    options: &str,
) -> Result<String, ReportError> {
    let [frames, rows, columns] = scan.shape();
    let lead = format!(
        "{} of {rows} × {columns} pixels, as they are reconstructed.",
        count(frames, ["frame", "frames"])
    );
    let mut page = page::head(&format!("Scan {source}"), &escaped(&lead));
    page += &page::problems(problems);
    page += "<section>\n<h2>Scan</h2>\n<div class=\"pair\">\n";
    let pattern = mean_pattern_with_centre(scan).map_err(|e| ReportError(e.to_string()))?;
    page += &figure(&pattern, "Mean of the frames");
    let drawing = positions(scan.positions(), None).map_err(|e| ReportError(e.to_string()))?;
    let shown = match drawing.every {
        1 => String::new(),
        every => format!(" One position of every {every} is shown."),
    };
    let meaning = format!(
        "Position of the probe on the specimen in each of {}: rows downwards, columns to the right.{shown}",
        count(frames, ["frame", "frames"])
    );
    page += &curve("Positions", "column", &meaning, Some(&drawing.svg));
    page += "</div>\n</section>\n<section>\n<h2>Contents</h2>\n";
    page += &table(facts);
    page += &page::notes(notes);
    if !options.trim().is_empty() {
        page += &format!(
            "<h3>Options of reading</h3>\n<pre tabindex=\"0\"><code>{}</code></pre>\n",
            escaped(options.trim_end())
        );
    }
    page += "</section>\n";
    page += &page::foot(env!("CARGO_PKG_VERSION"));
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimulateOptions, simulate};

    #[test]
    fn the_page_has_pictures_facts_notes_and_problems() {
        let scan = simulate(&SimulateOptions {
            frame: 16,
            positions: 4,
            ..SimulateOptions::default()
        })
        .unwrap();
        let facts = [("distance", "2 m".to_owned())];
        let texts = ["a note".to_owned(), "a <problem>".to_owned()];
        let [notes, problems] = [&texts[..1], &texts[1..]];
        let page = report_of_scan("a.cxi", &scan, &facts, [notes, problems], "bin = 2\n").unwrap();
        for part in [
            "<title>Scan a.cxi</title>",
            "4 frames of 16 × 16 pixels",
            "data:image/png;base64,",
            "<circle",
            "The cross is at the zero frequency, pixel (8, 8)",
            "<td>2 m</td>",
            "<li>a note</li>",
            "a &lt;problem&gt;",
            "bin = 2",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }
}
