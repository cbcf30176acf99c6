//! Report of a reconstruction as a self-contained HTML file.

use super::background::background;
use super::curves::against_iteration;
use super::diffraction::mean_pattern;
use super::exposures::exposures;
use super::object_modes::object_modes;
use super::pictures::Pictures;
use super::positions::positions;
use super::probe::probe;
use super::ring_correlation::ring_correlation;
use super::variable_probe::variable_probe;
use crate::data::{Geometry, HistoryEntry, Propagation, Reconstruction, Scan};
use crate::quality::Comparison;
use crate::session::summary::Summary;
use crate::{AutomaticRecipe, EngineSpec, OrientationSearch, Recipe, RotationSearch};
use warpstride_core::text::{count, length, significant, trimmed};
use warpstride_report::ReportError;
use warpstride_report::page::{self, curve, escaped, figure, table};

/// A metric of the history: heading, explanation, value.
type Quantity = (&'static str, &'static str, fn(&HistoryEntry) -> Option<f64>);

const QUANTITIES: [Quantity; 5] = [
    (
        "R factor",
        "Deviation of the modelled from the measured diffraction amplitudes, relative to all measured light: Σ(√model − √measured)² / Σ measured. Smaller is better; noise sets the lower limit.",
        |h| h.r_factor,
    ),
    (
        "R factor of the free pixels",
        "R on pixels that no update has seen, others in each frame. It rises when the engine fits noise: of several runs, the one with the lowest is to be preferred.",
        |h| h.r_free,
    ),
    (
        "Photon error",
        "Mean squared misfit of the modelled counts in units of their counting noise. About 1 if only photon noise is left; far above 1 if the model does not yet explain the data.",
        |h| h.err_phot,
    ),
    (
        "Fourier error",
        "Mean squared deviation of the engine's internal amplitudes from the measured ones. It describes the internal state of the iteration and may stay above the error of the model.",
        |h| Some(h.err_fourier),
    ),
    (
        "Exit-wave change",
        "Mean squared change of the waves behind the specimen in one iteration. When it no longer falls, the engine has converged.",
        |h| h.err_exit,
    ),
];

/// What to try where the positions' axes may differ from those of the frames.
const ORIENTATION: &str = "If the object looks blurred or doubled and R stays high, the axes of the positions may be exchanged or inverted with respect to the frames: <code>--find-orientation</code> tries flips and swaps.";

/// Makes the page for `of` with its pictures, the mean diffraction pattern of `scan` if it is at
/// hand, and, if the truth is known, the comparison with it. The page loads no resources, runs no
/// scripts, and adapts to small and dark screens.
///
/// # Errors
/// Returns [`ReportError`] if a curve or the diffraction pattern cannot be drawn.
pub fn report(
    of: &Reconstruction,
    scan: Option<&Scan>,
    summary: &Summary,
    pictures: &Pictures,
    truth: Option<&Comparison>,
) -> Result<String, ReportError> {
    let mut page = page::head(&format!("Reconstruction of {}", of.source), &lead(summary));

    page += &page::problems(&summary.problems);
    page += "<section>\n<h2>Object</h2>\n<div class=\"pair\">\n";
    page += &figure(&pictures.phase, "Phase of the object");
    if let Some(stretched) = &pictures.phase_stretched {
        page += &figure(stretched, "Phase of the object, stretched");
    }
    page += &figure(&pictures.modulus, "Modulus of the object");
    page += "</div>\n";
    match (&summary.orientation, &summary.rotation) {
        (Some(search), _) => page += &orientations(search),
        (None, Some(search)) => page += &rotations(search),
        (None, None) => page += &format!("<p>{ORIENTATION}</p>\n"),
    }
    page += "</section>\n";
    page += &object_modes(of)?;
    if !pictures.slices.is_empty() {
        page += "<section>\n<h2>Slices</h2>\n<div class=\"pair\">\n";
        for (n, picture) in pictures.slices.iter().enumerate() {
            page += &figure(picture, &format!("Phase of slice {}", n + 1));
        }
        page += "</div>\n</section>\n";
    }
    page += &probe(&pictures.probe, summary)?;
    page += &variable_probe(of, pictures, summary)?;
    if let Some(automatic) = &summary.automatic {
        page += &trials(automatic);
    }
    page += &measured(of, scan, summary)?;
    page += "<section>\n<h2>Convergence</h2>\n<div class=\"pair\">\n";
    for (name, meaning, value) in QUANTITIES {
        let drawn =
            against_iteration(&of.history, value).map_err(|e| ReportError(e.to_string()))?;
        page += &curve(name, "iteration", meaning, drawn.as_deref());
    }
    page += "</div>\n";
    page += &gaps(&of.history);
    page += "</section>\n";
    if let Some(truth) = truth {
        page += &against_truth(truth, of.pixel)?;
    }
    page += "<section>\n<h2>Parameters</h2>\n";
    page += &facts(of, summary);
    page += &page::notes(&summary.record.notes);
    if !of.recipe.trim().is_empty() {
        page += &format!(
            "<h3>Recipe</h3>\n<pre tabindex=\"0\"><code>{}</code></pre>\n",
            escaped(of.recipe.trim_end())
        );
    }
    page += "</section>\n";
    page += &page::foot(&of.version);
    Ok(page)
}

/// One or two sentences that summarise the run.
fn lead(of: &Summary) -> String {
    let mut text = format!(
        "{} ({}) over {} took {} s on {}",
        count(of.iterations, ["iteration", "iterations"]),
        of.engine,
        count(of.frames, ["frame", "frames"]),
        significant(of.record.seconds, 3),
        of.record.setup
    );
    if let Some(per) = of.ms_per_iteration {
        text += &format!(", {} ms per iteration", significant(per, 3));
    }
    text += ".";
    if let Some(r) = of.r_factor {
        text += &format!(" R = {}.", significant(r, 3));
    }
    if let Some(r) = of.r_free {
        text += &format!(" R_free = {}.", significant(r, 3));
    }
    if let Some(l2) = of.relative_l2 {
        text += &format!(" Relative distance from the truth: {}.", significant(l2, 3));
    }
    if let Some(half_period) = of.resolution_half_bit {
        text += &format!(
            " Resolution by Fourier ring correlation with the truth: {} (half period, half bit).",
            length(half_period, 3)
        );
    }
    escaped(&text)
}

/// A row of a table, of cells `td` or `th`.
fn cells(element: &str, cells: &[String]) -> String {
    let cell = |text: &String| format!("<{element}>{}</{element}>", escaped(text));
    let cells: String = cells.iter().map(cell).collect();
    format!("<tr>{cells}</tr>\n")
}

/// What the automatic recipe tried and kept.
fn trials(automatic: &AutomaticRecipe) -> String {
    let mut text = String::from("<section>\n<h2>Automatic recipe</h2>\n");
    let rows = automatic.rows();
    if !rows.is_empty() {
        let rows: String = rows.iter().map(|row| cells("td", row)).collect();
        let head = cells("th", &AutomaticRecipe::HEADER.map(str::to_owned));
        text += &format!("<table>\n<tbody>\n{head}{rows}</tbody>\n</table>\n");
    }
    for sentence in automatic.sentences() {
        text += &format!("<p class=\"explanation\">{}.</p>\n", escaped(&sentence));
    }
    text + "</section>\n"
}

/// The orientations of the positions that were tried, and what follows.
fn orientations(search: &OrientationSearch) -> String {
    let header = OrientationSearch::HEADER.map(str::to_owned);
    let rows = search.rows();
    let rows: String = rows.iter().map(|row| cells("td", row)).collect();
    let head = cells("th", &header);
    let mut text = format!(
        "<h3>Orientations that were tried</h3>\n<table>\n<tbody>\n{head}{rows}</tbody>\n</table>\n"
    );
    for sentence in search.sentences() {
        text += &format!("<p class=\"explanation\">{}.</p>\n", escaped(&sentence));
    }
    text
}

/// The rotations that were tried, and what follows.
fn rotations(search: &RotationSearch) -> String {
    let header = RotationSearch::HEADER.map(str::to_owned);
    let rows: String = search.rows().iter().map(|row| cells("td", row)).collect();
    let head = cells("th", &header);
    let mut text = format!(
        "<h3>Rotations that were tried</h3>\n<table>\n<tbody>\n{head}{rows}</tbody>\n</table>\n"
    );
    for sentence in search.sentences() {
        text += &format!("<p class=\"explanation\">{}.</p>\n", escaped(&sentence));
    }
    text
}

/// Why curves have gaps, if they do.
fn gaps(history: &[HistoryEntry]) -> String {
    let known = history.iter().filter(|h| h.r_factor.is_some()).count();
    if known == 0 || known == history.len() {
        return String::new();
    }
    format!(
        "<p class=\"explanation\">R factors, photon error and exit-wave change were computed in {known} of {}; dots are iterations between gaps. <code>--metrics-every 1</code> computes them in every iteration.</p>\n",
        count(history.len(), ["iteration", "iterations"])
    )
}

/// The section of what was measured: the mean diffraction pattern and the positions.
fn measured(
    of: &Reconstruction,
    scan: Option<&Scan>,
    summary: &Summary,
) -> Result<String, ReportError> {
    let moved = summary
        .displacements
        .map(|_| &of.positions - &of.recorded_positions);
    let drawn_at = match &moved {
        Some(_) => &of.recorded_positions,
        None => &of.positions,
    };
    let drawing = positions(drawn_at, moved.as_ref()).map_err(|e| ReportError(e.to_string()))?;
    let arrows = match (drawing.factor, &summary.displacements) {
        (Some(factor), Some(displacements)) => format!(
            " Arrows point from the recorded to the refined positions, displacements ×{}: {displacements}.",
            trimmed(factor, 1)
        ),
        _ => String::new(),
    };
    let map = match &summary.affine {
        Some(map) => format!(" The affine map that fits them: {map}."),
        None => String::new(),
    };
    let shown = match drawing.every {
        1 => String::new(),
        every => format!(" One position of every {every} is shown."),
    };
    let meaning = format!(
        "Position of the probe on the specimen in each of {}, as in the pictures of the object: rows downwards, columns to the right.{arrows}{map}{shown}",
        count(of.positions.nrows(), ["frame", "frames"])
    );
    let mut text = String::from("<section>\n<h2>Scan</h2>\n<div class=\"pair\">\n");
    if let Some(scan) = scan {
        let pattern = mean_pattern(scan).map_err(|e| ReportError(e.to_string()))?;
        text += &figure(&pattern, "Mean diffraction pattern");
    }
    let of_detector = of.parts.detector.as_ref();
    if let Some(b) = of_detector.and_then(|detector| detector.background.as_ref()) {
        let side = scan.map_or([1.0; 2], |scan| scan.geometry().pixel_size);
        let picture = background(b, side).map_err(|e| ReportError(e.to_string()))?;
        text += &figure(&picture, "Background of the detector");
    }
    text += &curve("Positions", "column", &meaning, Some(&drawing.svg));
    text += "</div>\n";
    if let Some(detector) = &summary.detector {
        text += &format!(
            "<p class=\"explanation\">Detector: {}.</p>\n",
            escaped(&detector.to_string())
        );
    }
    if let Some(scales) = &summary.frame_scales {
        text += &format!(
            "<p class=\"explanation\">Factors on the model intensities of the frames, fitted: {}.</p>\n",
            escaped(&scales.to_string())
        );
    }
    Ok(text + "</section>\n")
}

fn against_truth(truth: &Comparison, pixel: [f64; 2]) -> Result<String, ReportError> {
    let drawn =
        ring_correlation(&truth.frc, pixel, None).map_err(|e| ReportError(e.to_string()))?;
    // Half a period at the highest frequency is one pixel of the coarser axis.
    let finest = pixel[0].max(pixel[1]) * (1.0 + 1e-9);
    let resolution = |half_period: Option<f64>| match half_period {
        None => "not reached".to_owned(),
        Some(m) if m <= finest => format!("{}, limited by the pixel", length(m, 3)),
        Some(m) => length(m, 3),
    };
    let mut text = String::from("<section>\n<h2>Against the truth</h2>\n");
    text += &table(&[
        ("Relative L2 distance", significant(truth.relative_l2, 3)),
        (
            "Resolution (half period), half bit",
            resolution(truth.resolution_half_bit),
        ),
        (
            "Resolution (half period), one bit",
            resolution(truth.resolution_one_bit),
        ),
        (
            "Displacement removed (row, column)",
            format!(
                "{}, {} pixels",
                significant(truth.shift_pixels[0], 3),
                significant(truth.shift_pixels[1], 3)
            ),
        ),
        ("Pixels compared", truth.weight_pixels.to_string()),
    ]);
    text += &curve(
        "Fourier ring correlation",
        "spatial frequency",
        "Agreement of object and truth at each spatial frequency (blue); 1 is full agreement. Details beyond the frequency at which the curve falls below the half-bit line (orange) or the one-bit line (green) are not reliable.",
        drawn.as_deref(),
    );
    Ok(text + "</section>\n")
}

/// What was refined besides object and probe, by the recipe.
fn refined(of: &Reconstruction) -> String {
    let Ok(recipe) = Recipe::from_toml(&of.recipe) else {
        return "object and probe".to_owned();
    };
    let updates = |of: fn(&EngineSpec) -> bool| recipe.engines.iter().any(of);
    let mut parts: Vec<String> = Vec::new();
    for (name, updated) in [
        ("object", updates(|engine| engine.update_object)),
        ("probe", updates(|engine| engine.update_probe)),
    ] {
        if updated {
            parts.push(name.to_owned());
        }
    }
    let methods = recipe.positions.refine.iter();
    let methods: Vec<&str> = methods.map(|method| method.name()).collect();
    if !methods.is_empty() {
        parts.push(format!("positions ({})", methods.join(", ")));
    }
    if recipe.detector.fits_background() {
        parts.push("background of the detector".to_owned());
    }
    if recipe.fit_frame_scales {
        parts.push("intensity scales of the frames".to_owned());
    }
    parts.join(", ")
}

fn facts(of: &Reconstruction, summary: &Summary) -> String {
    let (modes, rows, columns) = of.probe.dim();
    let pixel = if of.pixel[0] == of.pixel[1] {
        length(of.pixel[0], 4)
    } else {
        format!(
            "{} high, {} wide",
            length(of.pixel[0], 4),
            length(of.pixel[1], 4)
        )
    };
    let resolution = summary.resolution_half_bit.map_or_else(
        || {
            "not known from this run: ptycho resolution finds it from two halves of the scan"
                .to_owned()
        },
        |half_period| format!("{}, against the truth", length(half_period, 3)),
    );
    let number = |v: Option<f64>| v.map_or("not computed".to_owned(), |v| significant(v, 4));
    table(&[
        ("Scan", of.source.clone()),
        (
            "Frames",
            format!("{} of {rows} × {columns} pixels", summary.frames),
        ),
        ("Wavelength", length(of.wavelength, 5)),
        ("Specimen to detector", length(of.distance, 5)),
        ("Propagation", propagation(of)),
        (
            "Object",
            format!(
                "{} × {} pixels of {pixel}",
                summary.object_shape[0], summary.object_shape[1]
            ),
        ),
        (
            "Slices",
            (summary.slices.as_ref()).map_or("1".to_owned(), |slices| slices.to_string()),
        ),
        ("Exposures", exposures(of)),
        ("Probe modes", modes.to_string()),
        ("Engines", summary.engine.clone()),
        ("Refined", refined(of)),
        ("Resolution (half period, half bit)", resolution),
        ("Iterations", summary.iterations.to_string()),
        ("R factor, last", number(summary.r_factor)),
        ("R factor of the free pixels, last", number(summary.r_free)),
        ("Photon error, last", number(summary.err_phot)),
        ("Fourier error, last", number(summary.err_fourier)),
        ("Exit-wave change, last", number(summary.err_exit)),
        ("Back end", summary.record.setup.to_string()),
        ("Program", format!("warpstride {}", of.version)),
    ])
}

/// How waves travelled to the detector.
fn propagation(of: &Reconstruction) -> String {
    let geometry = Geometry {
        wavelength: of.wavelength,
        distance: of.distance,
        pixel_size: of.pixel,
        propagation: of.propagation,
    };
    match of.propagation {
        Propagation::FarField => "far field".to_owned(),
        Propagation::NearField {
            focus_to_sample: None,
        } => "near field, parallel beam".to_owned(),
        Propagation::NearField {
            focus_to_sample: Some(z1),
        } => format!(
            "near field, cone beam with its focus {} before the specimen: magnification {}, effective distance {}",
            length(z1, 5),
            significant(geometry.magnification(), 4),
            length(geometry.effective_distance(), 5)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn page() -> String {
        let of = sample::reconstruction();
        let summary = Summary::new(&of, sample::record(), None);
        let pictures = Pictures::new(&of).unwrap();
        report(&of, Some(&sample::scan()), &summary, &pictures, None).unwrap()
    }

    #[test]
    fn the_page_loads_no_resources_and_runs_no_scripts() {
        let page = page();
        assert!(!page.contains("<script") && !page.contains("<link"));
        let links = page.matches("http").count();
        // The namespace of each drawing is an identifier, not an address that is loaded.
        assert_eq!(
            links,
            page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
        );
        // Modulus, phase, phase stretched, probe, mean diffraction pattern.
        assert_eq!(page.matches("src=\"data:image/png;base64,").count(), 5);
        assert_eq!(
            page.matches("<img").count(),
            page.matches(" alt=\"").count()
        );
    }

    #[test]
    fn texts_from_files_are_escaped() {
        let page = page();
        assert!(page.contains("two &lt;cores&gt;") && !page.contains("<cores>"));
        assert!(page.contains("scan &amp; more.cxi") && page.contains("one &lt; two"));
        assert!(page.contains("&lt;standard&gt; &amp; &quot;usual&quot;"));
        assert_eq!(escaped("a\u{0}'b"), "a\\u{0}&#39;b");
    }

    #[test]
    fn every_opened_element_is_closed() {
        let page = page();
        for name in [
            "html",
            "head",
            "body",
            "main",
            "section",
            "figure",
            "figcaption",
            "table",
            "tr",
            "td",
            "th",
            "svg",
            "pre",
            "div",
            "h1",
            "h2",
            "h3",
            "header",
            "footer",
        ] {
            let opened = page.matches(&format!("<{name}>")).count()
                + page.matches(&format!("<{name} ")).count();
            let closed = page.matches(&format!("</{name}>")).count();
            assert!(opened == closed && opened > 0, "{name}: {opened} {closed}");
        }
    }

    #[test]
    fn doubtful_data_are_named_before_the_object() {
        let of = sample::reconstruction();
        let problems = vec!["1 frame < 2 without any counts: 4".to_owned()];
        let summary = Summary::new(&of, sample::record(), None).with_problems(problems);
        let pictures = Pictures::new(&of).unwrap();
        let page = report(&of, None, &summary, &pictures, None).unwrap();
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(at("1 frame &lt; 2 without any counts: 4") < at("<h2>Object</h2>"));
    }

    #[test]
    fn refined_positions_and_scales_are_shown() {
        let without = page();
        assert!(!without.contains("Arrows point") && !without.contains("Factors on"));
        let mut of = sample::reconstruction();
        for (frame, mut position) in of.positions.rows_mut().into_iter().enumerate() {
            position[1] += 1e-8 * (1 + frame) as f64;
        }
        of.frame_scales = vec![0.5, 1.0, 1.5];
        let summary = Summary::new(&of, sample::record(), None);
        let pictures = Pictures::new(&of).unwrap();
        let page = report(&of, None, &summary, &pictures, None).unwrap();
        for text in [
            "displacements ×",
            "The affine map that fits them: scale ",
            "1.08 pixels (21.6 nm) RMS, at most 1.50 pixels (30.0 nm)",
            "fitted: 0.500 to 1.50, standard deviation 0.408",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn missing_metrics_are_reported() {
        let mut of = sample::reconstruction();
        for entry in &mut of.history {
            entry.r_factor = None;
        }
        let summary = Summary::new(&of, sample::record(), None);
        let pictures = Pictures::new(&of).unwrap();
        let page = report(&of, Some(&sample::scan()), &summary, &pictures, None).unwrap();
        assert!(page.contains("No value was computed") && page.contains("not computed"));
        assert!(!page.contains("--metrics-every"));
    }

    #[test]
    fn gaps_of_curves_are_explained() {
        // The sample has R in every third of its iterations.
        let text = "were computed in 2 of 8 iterations; dots";
        assert!(page().contains(text));
        let mut of = sample::reconstruction();
        for entry in &mut of.history {
            entry.r_factor = Some(0.1);
        }
        let summary = Summary::new(&of, sample::record(), None);
        let pictures = Pictures::new(&of).unwrap();
        let page = report(&of, None, &summary, &pictures, None).unwrap();
        assert!(!page.contains("were computed in"));
    }
}
