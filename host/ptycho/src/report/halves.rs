//! Report of the resolution of a scan: two halves and their Fourier ring correlation.

use super::pictures::Pictures;
use super::ring_correlation::ring_correlation;
use crate::data::Reconstruction;
use crate::quality::Comparison;
use warpstride_core::text::{length, significant};
use warpstride_report::ReportError;
use warpstride_report::page::{self, curve, escaped, figure, table};

const MEANING: &str = "Blue: Fourier ring correlation of the two halves, on the rectangle that both have lit, after removal of shift, phase ramp and scale. Orange and green: half-bit and one-bit threshold for two images that each have half of the data (van Heel & Schatz 2005). The resolution is half the period at which the curve first falls below a threshold.";

/// The curve as an SVG file of its own, for object pixels of `pixel` (row, column), m; `None` if
/// there are too few of them for rings.
///
/// # Errors
/// The curve cannot be drawn.
pub fn ring_correlation_svg(
    of: &Comparison,
    pixel: [f64; 2],
) -> Result<Option<String>, ReportError> {
    let title = "Fourier ring correlation of two halves of a scan";
    ring_correlation(&of.frc, pixel, Some(title)).map_err(|e| ReportError(e.to_string()))
}

/// Makes the page for the halves of the scan `source`, with notes on how they were computed.
///
/// # Errors
/// A curve or a picture cannot be drawn.
pub fn report_of_halves(
    source: &str,
    halves: &[Reconstruction; 2],
    comparison: &Comparison,
    notes: &[String],
) -> Result<String, ReportError> {
    let resolution = |half_period: Option<f64>| {
        half_period.map_or_else(
            || "none: the curve stays below the threshold".to_owned(),
            |m| length(m, 3),
        )
    };
    let [half_bit, one_bit] = [
        comparison.resolution_half_bit,
        comparison.resolution_one_bit,
    ]
    .map(resolution);
    let lead = format!(
        "Resolution (half period) by Fourier ring correlation of two halves of the scan: {half_bit} at the half-bit threshold, {one_bit} at the one-bit threshold."
    );
    let mut page = page::head(&format!("Resolution of {source}"), &escaped(&lead));
    page += "<section>\n<h2>Fourier ring correlation</h2>\n";
    let drawn = ring_correlation(&comparison.frc, halves[0].pixel, None)
        .map_err(|e| ReportError(e.to_string()))?;
    page += &curve(
        "Ring correlation",
        "spatial frequency",
        MEANING,
        drawn.as_deref(),
    );
    let [first, second] = halves;
    let pixel = first.pixel.map(|side| length(side, 4));
    let metric = |value: fn(&crate::data::HistoryEntry) -> Option<f64>| {
        halves.each_ref().map(|half| {
            let last = half.history.iter().rev().find_map(value);
            last.map_or_else(|| "not computed".to_owned(), |v| significant(v, 4))
        })
    };
    page += &table(&[
        ("Resolution, half bit", half_bit),
        ("Resolution, one bit", one_bit),
        ("Object pixel (row, column)", pixel.join(", ")),
        (
            "Frames",
            format!(
                "{} and {}",
                first.positions.nrows(),
                second.positions.nrows()
            ),
        ),
        ("R", metric(|h| h.r_factor).join(" and ")),
        ("R_free", metric(|h| h.r_free).join(" and ")),
        (
            "Relative distance of the halves",
            significant(comparison.relative_l2, 4),
        ),
        (
            "Rectangle of the ring correlation",
            format!(
                "{} x {} pixels",
                comparison.frc_shape[0], comparison.frc_shape[1]
            ),
        ),
        (
            "Shift removed (row, column)",
            format!(
                "{}, {} pixels",
                significant(comparison.shift_pixels[0], 3),
                significant(comparison.shift_pixels[1], 3)
            ),
        ),
    ]);
    page += "</section>\n";
    for (number, half) in (1..).zip(halves) {
        let pictures = Pictures::new(half).map_err(|e| ReportError(e.to_string()))?;
        page += &format!("<section>\n<h2>Half {number}</h2>\n<div class=\"pair\">\n");
        page += &figure(
            &pictures.phase,
            &format!("Phase of the object, half {number}"),
        );
        page += &figure(
            &pictures.modulus,
            &format!("Modulus of the object, half {number}"),
        );
        page += &figure(&pictures.probe, &format!("Probe modes, half {number}"));
        page += "</div>\n</section>\n";
    }
    page += "<section>\n<h2>Parameters</h2>\n";
    page += &page::notes(notes);
    page += &format!(
        "<h3>Recipe of half 1</h3>\n<pre tabindex=\"0\"><code>{}</code></pre>\n",
        escaped(first.recipe.trim_end())
    );
    page += "</section>\n";
    page += &page::foot(&first.version);
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::{Reference, compare};
    use crate::report::sample;

    #[test]
    fn the_page_has_the_resolution_the_curve_and_both_halves() {
        let one = sample::reconstruction();
        let halves = [one.clone(), one];
        let comparison = compare(&halves[0], Reference::Reconstruction(&halves[1])).unwrap();
        let notes = ["a <note>".to_owned()];
        let page = report_of_halves("a<b>.cxi", &halves, &comparison, &notes).unwrap();
        for text in [
            "Resolution of a&lt;b&gt;.cxi",
            "a &lt;note&gt;",
            "Half 1</h2>",
            "Half 2</h2>",
            "one-bit threshold",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }
}
