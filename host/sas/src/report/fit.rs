//! The report of a fit: a self-contained HTML file.

use super::curve::ScatteringCurve;
use super::image::{comparison_picture, comparison_pictures};
use crate::fit::{Bound, Comparison, FitResult, Fitted, Tied};
use std::fmt::Write as _;
use warpstride_core::text::{count, significant};
use warpstride_report::ReportError;
use warpstride_report::curves::of_residuals;
use warpstride_report::page::{self, curve, escaped, figure, table};
use warpstride_report::picture::Picture;

fn failed(error: &dyn std::fmt::Display) -> ReportError {
    ReportError(error.to_string())
}

/// Data, fit and residuals of a set of data as a PNG: curves above one another, images side by
/// side.
///
/// # Errors
/// There is nothing to draw, or drawing failed.
pub fn fit_picture(result: &FitResult, fit: &Comparison) -> Result<Picture, ReportError> {
    match ScatteringCurve::of_fit(fit) {
        Some(curve) => curve.png_titled(&format!(
            "{} fitted to {}",
            result.model, fit.measured.title
        )),
        None => comparison_picture(fit).map_err(|e| failed(&e)),
    }
}

/// The page of a fit to these sets of data, which loads nothing and runs no script.
///
/// # Errors
/// [`ReportError`] if a picture cannot be drawn.
pub fn fit_report(result: &FitResult, fits: &[Comparison]) -> Result<String, ReportError> {
    let title = format!("Fit of {} to {}", result.model, result.data);
    let mut page = page::head(&title, &lead(result));
    page += &page::problems(&result.problems);
    page += "<section>\n<h2>Data and fit</h2>\n";
    for (at, fit) in fits.iter().enumerate() {
        if let Some(set) = result.data_sets.get(at) {
            let heading = format!(
                "{}. {}: χ² per point {} for {}",
                at + 1,
                set.data,
                significant(set.chi2_per_point, 4),
                count(set.points, ["point", "points"])
            );
            let _ = writeln!(page, "<h3>{}</h3>", escaped(&heading));
        }
        page += &pictures(fit);
    }
    page += "</section>\n<section>\n<h2>Parameters</h2>\n";
    page += &parameters(&result.parameters);
    if !result.tied.is_empty() {
        page += "<h3>Tied parameters</h3>\n";
        page += &tied(&result.tied);
    }
    if result.parameters.len() > 1 {
        page += "<h3>Correlation</h3>\n";
        page += &correlation(result);
    }
    if result.minima.len() > 1 {
        page += "<h3>Minima</h3>\n";
        page += &minima(result);
    }
    page += "</section>\n<section>\n<h2>Convergence</h2>\n";
    let history: Vec<f64> = result.history.iter().map(|e| e.chi2_per_point).collect();
    let drawn = of_residuals(&history, "round").map_err(|e| failed(&e))?;
    page += &curve(
        "χ² per point",
        "round",
        "Best mean squared residual so far, in units of the standard deviations, after each batch of parameter vectors. About 1 if the model explains the data within their uncertainties.",
        drawn.as_deref(),
    );
    page += "</section>\n<section>\n<h2>Settings</h2>\n";
    page += &facts(result);
    page += &page::notes(&result.record.notes);
    page += "</section>\n";
    page += &page::foot(&result.record.version);
    Ok(page)
}

/// Data, model and residuals of a set of data.
fn pictures(fit: &Comparison) -> String {
    match ScatteringCurve::of_fit(fit) {
        // The parameters are worth a page even if the curves cannot be drawn.
        Some(drawn) => match drawn.svg() {
            Ok(svg) => curve("Intensity", "q", &drawn.caption(), Some(&svg)),
            Err(why) => format!("<p class=\"absent\">{}</p>\n", escaped(&why.to_string())),
        },
        None => match comparison_pictures(fit) {
            Ok(pictures) => {
                let names = ["Data", "Model", "Residuals"];
                let named = pictures.iter().zip(names);
                let images: String = named.map(|(drawn, name)| figure(drawn, name)).collect();
                format!("<div class=\"pair\">\n{images}</div>\n")
            }
            Err(why) => format!("<p class=\"absent\">{}</p>\n", escaped(&why.to_string())),
        },
    }
}

fn lead(of: &FitResult) -> String {
    escaped(&format!(
        "χ² per point {} for {} and {}: {}. The fit took {} s and {} of the model on {}.",
        significant(of.chi2_per_point, 4),
        count(of.points, ["point", "points"]),
        count(of.parameters.len(), ["parameter", "parameters"]),
        of.stop.description(),
        significant(of.record.seconds, 3),
        count(of.evaluations, ["evaluation", "evaluations"]),
        of.record.setup
    ))
}

/// A value and its uncertainty with the same number of decimals: `59.995 ± 0.012`.
fn with_uncertainty(value: f64, uncertainty: Option<f64>) -> [String; 2] {
    let Some(uncertainty) = uncertainty.filter(|u| *u > 0.0 && u.is_finite()) else {
        return [significant(value, 6), "-".to_owned()];
    };
    let digits = if value == 0.0 {
        1.0
    } else {
        value.abs().log10().floor() - uncertainty.log10().floor() + 2.0
    };
    let digits = digits.clamp(1.0, 12.0) as usize;
    [significant(value, digits), significant(uncertainty, 2)]
}

fn html_table(header: &[String], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, row: &[String]| -> String {
        row.iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)))
            .collect()
    };
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\">\n<table>\n<thead>\n<tr>{}</tr>\n</thead>\n<tbody>\n",
        cells("th", header)
    );
    for row in rows {
        let _ = writeln!(text, "<tr>{}</tr>", cells("td", row));
    }
    text + "</tbody>\n</table>\n</div>\n"
}

fn parameters(of: &[Fitted]) -> String {
    let header = ["", "value", "± uncertainty", "unit", "bounds", "start", ""].map(str::to_owned);
    let end = |bound: Option<f64>, other: &str| {
        bound.map_or_else(|| other.to_owned(), |bound| significant(bound, 4))
    };
    let rows: Vec<Vec<String>> = of
        .iter()
        .map(|p| {
            let [value, uncertainty] = with_uncertainty(p.value, p.uncertainty);
            vec![
                p.name.clone(),
                value,
                uncertainty,
                p.units.to_owned(),
                format!("{} to {}", end(p.low, "-∞"), end(p.high, "∞")),
                significant(p.start, 4),
                match p.at_bound {
                    Some(Bound::Least) => "at its lower bound",
                    Some(Bound::Greatest) => "at its upper bound",
                    None => "",
                }
                .to_owned(),
            ]
        })
        .collect();
    html_table(&header, &rows)
}

fn tied(of: &[Tied]) -> String {
    let header = ["", "value", "± uncertainty", "unit", "expression"].map(str::to_owned);
    let rows: Vec<Vec<String>> = of
        .iter()
        .map(|p| {
            let [value, uncertainty] = with_uncertainty(p.value, p.uncertainty);
            vec![
                p.name.clone(),
                value,
                uncertainty,
                p.units.to_owned(),
                p.expression.clone(),
            ]
        })
        .collect();
    html_table(&header, &rows)
}

fn correlation(of: &FitResult) -> String {
    let names = of.parameters.iter().map(|p| p.name.clone());
    let header: Vec<String> = std::iter::once(String::new()).chain(names).collect();
    let rows: Vec<Vec<String>> = of
        .parameters
        .iter()
        .zip(&of.correlation)
        .map(|(parameter, row)| {
            let cell = |v: &Option<f64>| v.map_or_else(|| "-".to_owned(), |v| format!("{v:.3}"));
            let values = row.iter().map(cell);
            std::iter::once(parameter.name.clone())
                .chain(values)
                .collect()
        })
        .collect();
    html_table(&header, &rows)
}

fn minima(of: &FitResult) -> String {
    let names = of.parameters.iter().map(|p| p.name.clone());
    let header: Vec<String> = ["χ² per point", "starts"]
        .map(str::to_owned)
        .into_iter()
        .chain(names)
        .collect();
    let rows: Vec<Vec<String>> = of
        .minima
        .iter()
        .map(|minimum| {
            let values = minimum.values.iter().map(|v| significant(*v, 5));
            [
                significant(minimum.chi2 / of.points as f64, 4),
                minimum.starts.to_string(),
            ]
            .into_iter()
            .chain(values)
            .collect()
        })
        .collect();
    html_table(&header, &rows)
}

fn facts(of: &FitResult) -> String {
    let mut rows = vec![
        ("Model", of.model.clone()),
        ("Data", of.data.clone()),
        ("Points", of.points.to_string()),
        ("χ²", significant(of.chi2, 6)),
        (
            "Reduced χ²",
            of.reduced_chi2
                .map_or_else(|| "-".to_owned(), |v| significant(v, 5)),
        ),
        (
            "Weights",
            if of.known_sigma {
                "the data's standard deviations"
            } else {
                "estimated"
            }
            .to_owned(),
        ),
        (
            "Method",
            match of.population {
                Some(members) => format!(
                    "differential evolution, {members} members, {}, then Levenberg–Marquardt",
                    count(of.generations, ["generation", "generations"])
                ),
                None => format!(
                    "Levenberg–Marquardt, {}",
                    count(of.starts, ["start", "starts"])
                ),
            },
        ),
        ("Seed", of.seed.to_string()),
        ("Iterations", of.iterations.to_string()),
        (
            "Evaluations",
            format!(
                "{} in {}",
                of.evaluations,
                count(of.batches, ["batch", "batches"])
            ),
        ),
        ("Back end", of.record.setup.to_string()),
    ];
    let fixed: Vec<String> = of
        .fixed
        .iter()
        .map(|f| format!("{} = {}", f.name, significant(f.value, 6)))
        .collect();
    rows.push(("Not fitted", fixed.join(", ")));
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Points;
    use crate::fit::{Entry, Fixed, Measured, Method, Minimum, Stop};
    use warpstride_core::run::{RunRecord, Setup};

    fn result() -> FitResult {
        let parameter = |name: &str, value, uncertainty, at_bound| Fitted {
            name: name.to_owned(),
            units: "Ang",
            value,
            uncertainty,
            low: Some(1.0),
            high: None,
            start: 2.0,
            at_bound,
        };
        let setup = Setup {
            backend: "cpu",
            device: String::new(),
            precision: "f64",
        };
        let mut record = RunRecord::new(setup, 0.01);
        record.notes.push("1 < 2".to_owned());
        FitResult {
            record,
            problems: vec!["half < all".to_owned()],
            model: "sphere@hardsphere".to_owned(),
            data: "drops <of> water & oil".to_owned(),
            method: Method::Evolution,
            stop: Stop::ChiSquared,
            converged: true,
            parameters: vec![
                parameter("radius", 59.9948, Some(0.0123), None),
                parameter("scale", 1.0, None, Some(Bound::Least)),
            ],
            tied: vec![Tied {
                name: "thickness".to_owned(),
                units: "Ang",
                value: 6.0,
                uncertainty: Some(0.2),
                expression: "max(1, radius) / 10".to_owned(),
            }],
            fixed: vec![Fixed {
                name: "sld".to_owned(),
                value: 1.0,
            }],
            data_sets: Vec::new(),
            chi2: 4.0,
            chi2_per_point: 1.0,
            reduced_chi2: None,
            points: 4,
            degrees_of_freedom: 2,
            known_sigma: true,
            covariance: vec![vec![Some(1.5e-4), None], vec![None, None]],
            correlation: vec![vec![Some(1.0), None], vec![None, None]],
            minima: [4.0, 9.0]
                .map(|chi2| Minimum {
                    chi2,
                    values: vec![60.0, 1.0],
                    starts: 1,
                })
                .to_vec(),
            starts: 1,
            population: Some(24),
            seed: 1,
            iterations: 5,
            generations: 9,
            evaluations: 300,
            batches: 12,
            history: (1..5)
                .map(|iteration| Entry {
                    iteration,
                    chi2: 16.0 / iteration as f64,
                    chi2_per_point: 4.0 / iteration as f64,
                    running: 1,
                    evaluations: 8 * iteration,
                })
                .collect(),
        }
    }

    fn comparison(points: Points) -> Comparison {
        Comparison {
            measured: Measured {
                points,
                intensity: vec![4.0, 3.0, 2.0, 1.0],
                sigma: vec![0.1; 4],
                known_sigma: true,
                title: String::new(),
                notes: Vec::new(),
            },
            model: vec![4.1, 2.9, 2.1, 0.9],
        }
    }

    #[test]
    fn the_page_is_complete_loads_nothing_and_escapes_text() {
        let curve = Points::Curve(vec![0.1, 0.2, 0.3, 0.4]);
        let pixels = Points::Pixels {
            qx: vec![0.0, 1.0, 0.0, 1.0],
            qy: vec![0.0, 0.0, 1.0, 1.0],
        };
        for (points, pictures, drawings) in [(curve, 0, 2), (pixels, 3, 1)] {
            let fit = comparison(points);
            let page = fit_report(&result(), std::slice::from_ref(&fit)).unwrap();
            assert!(!page.contains("<script") && !page.contains("<of>"));
            assert!(page.contains("drops &lt;of&gt; water &amp; oil") && page.contains("1 &lt; 2"));
            assert!(page.contains("half &lt; all"));
            assert!(page.contains("<td>6.00</td><td>0.20</td>") && page.contains("radius) / 10"));
            assert_eq!(
                page.matches("src=\"data:image/png;base64,").count(),
                pictures
            );
            assert_eq!(page.matches("<svg").count(), drawings);
            for name in [
                "section", "figure", "div", "table", "tr", "ul", "li", "svg", "main", "td", "th",
            ] {
                let opened = page.matches(&format!("<{name}>")).count()
                    + page.matches(&format!("<{name} ")).count();
                assert_eq!(
                    opened,
                    page.matches(&format!("</{name}>")).count(),
                    "{name}"
                );
            }
            assert!(fit_picture(&result(), &fit).unwrap().png.len() > 1000);
        }
    }

    #[test]
    fn values_are_rounded_to_their_uncertainties() {
        let cases = [
            (59.9948, Some(0.0123), ["59.995", "0.012"]),
            (1.6e-3, Some(2.5e-6), ["0.0016000", "2.5e-6"]),
            (0.0, Some(0.5), ["0", "0.50"]),
            (3.0, Some(70.0), ["3", "70"]),
            (12.5, None, ["12.5000", "-"]),
        ];
        for (value, uncertainty, expected) in cases {
            assert_eq!(with_uncertainty(value, uncertainty), expected);
        }
    }
}
