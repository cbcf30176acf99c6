//! `--near-field` and `--focus-to-sample`.

use crate::args::NearFieldArgs;
use crate::failure::Failure;
use warpstride::ptycho::ReadOptions;
use warpstride::ptycho::data::Propagation;
use warpstride::ptycho::quantities::Measure;
use warpstride::text::{Dimension, Quantity};

/// Sets the options that were given.
pub(super) fn near_field(args: &NearFieldArgs, options: &mut ReadOptions) -> Result<(), Failure> {
    if args.near_field {
        options.near_field = Some(true);
    }
    if let Some(text) = &args.focus_to_sample {
        // The focus of a parallel beam is at infinity.
        options.focus_to_sample = Some(match text.trim() {
            "inf" => f64::INFINITY,
            _ => length(text)?,
        });
    }
    Ok(())
}

/// How the waves of a simulation travel.
pub(super) fn propagation(args: &NearFieldArgs) -> Result<Propagation, Failure> {
    let focus_to_sample = args.focus_to_sample.as_deref().map(length).transpose()?;
    match (args.near_field, focus_to_sample) {
        (true, focus_to_sample) => Ok(Propagation::NearField { focus_to_sample }),
        (false, None) => Ok(Propagation::FarField),
        (false, Some(_)) => Err(Failure::usage(format!(
            "--focus-to-sample {}: expected --near-field beside it",
            args.focus_to_sample.as_deref().unwrap_or_default()
        ))),
    }
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn origins(args: &NearFieldArgs) -> Vec<(String, String)> {
    let near = (args.near_field).then(|| ("data.near_field".to_owned(), "--near-field".to_owned()));
    let focus = (args.focus_to_sample.as_ref()).map(|text| {
        let argument = format!("--focus-to-sample {text}");
        ("data.focus_to_sample".to_owned(), argument)
    });
    near.into_iter().chain(focus).collect()
}

/// A length above 0, m: a number with a unit, or one of metres if no other unit is plausible.
fn length(text: &str) -> Result<f64, Failure> {
    positive(text, Measure::Focus)
        .map_err(|wrong| Failure::usage(format!("--focus-to-sample {text}: expected {wrong}")))
}

/// A length above 0, m.
///
/// # Errors
/// What was expected, and what was found instead if that can be said.
pub(super) fn positive(text: &str, measure: Measure) -> Result<f64, String> {
    let example = match measure {
        Measure::Focus => "3.65mm",
        _ => "20um",
    };
    let wrong = |found: &str| Err(format!("a length above 0, such as {example}{found}"));
    match Quantity::parse(text, Dimension::Length) {
        Ok(read) if read.value <= 0.0 => wrong(", found one that is not above 0"),
        Ok(Quantity { value, has_unit }) => match measure.question(value) {
            Some(question) if !has_unit => wrong(&format!("; {question}")),
            _ => Ok(value),
        },
        Err(found) if found.ends_with("not finite") => wrong(", found one that is not finite"),
        Err(found) if found.starts_with("the unit ") => wrong(&format!(", found {found}")),
        Err(_) => wrong(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units_or_are_metres() {
        for (text, expected) in [
            ("3.65mm", 3.65e-3),
            ("3.65 mm", 3.65e-3),
            ("0.00365", 3.65e-3),
            ("2m", 2.0),
            ("1.5cm", 0.015),
            ("70um", 7e-5),
            ("70µm", 7e-5),
            ("5e3nm", 5e-6),
        ] {
            let found = length(text).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-12, "{text}: {found}");
        }
        for text in ["", "mm", "-1mm", "0", "nan", "3 furlongs", "1e400m"] {
            let error = length(text).unwrap_err().to_string();
            assert!(error.contains("3.65mm") && error.contains(text), "{error}");
        }
        for (text, found) in [
            ("1parsec", "found the unit parsec (known are mm, cm, um"),
            ("1e400m", "found one that is not finite"),
            ("3.65", "are these 3.65mm, 3.65um or 3.65m?"),
            ("3 furlongs", "found the unit furlongs"),
            ("-1mm", "found one that is not above 0"),
            ("0", "found one that is not above 0"),
        ] {
            let error = length(text).unwrap_err().to_string();
            assert!(error.contains(found), "{error}");
        }
    }

    #[test]
    fn a_focus_without_a_near_field_is_refused() {
        let args = |near_field| NearFieldArgs {
            near_field,
            focus_to_sample: Some("4mm".to_owned()),
        };
        assert!(propagation(&args(false)).is_err());
        let cone = Propagation::NearField {
            focus_to_sample: Some(4e-3),
        };
        assert_eq!(propagation(&args(true)).ok(), Some(cone));
    }
}
