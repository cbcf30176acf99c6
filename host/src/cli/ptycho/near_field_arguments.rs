//! `--near-field` and `--focus-to-sample`.

use crate::cli::args::NearFieldArgs;
use crate::cli::failure::Failure;
use crate::data::Propagation;
use crate::ptycho::ReadOptions;

/// Units of lengths, in metres; longer names first.
const UNITS: [(&str, f64); 6] = [
    ("mm", 1e-3),
    ("cm", 1e-2),
    ("um", 1e-6),
    ("µm", 1e-6),
    ("nm", 1e-9),
    ("m", 1.0),
];

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

/// A length, m: a number with a unit, or one of metres; `None` if it is neither or not finite.
pub(super) fn metres(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    let (number, metres) = unit.map_or((text, 1.0), |(unit, metres)| {
        (&text[..text.len() - unit.len()], *metres)
    });
    let value: f64 = number.trim().parse().ok()?;
    // 20 µm are 20/10⁶, which is the nearest number, unlike 20 · 10⁻⁶.
    let value = value / (1.0 / metres).round();
    value.is_finite().then_some(value)
}

/// What is wrong with a text that is no length above 0, if that can be said: `, found the unit pm`.
pub(super) fn wrong_length(text: &str) -> String {
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| c.is_alphabetic());
    let unit = &text[number.len()..];
    if metres(text).is_some() {
        return ", found one that is not above 0".to_owned();
    }
    if number.trim().parse::<f64>().is_err() {
        return String::new();
    }
    if unit.is_empty() || UNITS.iter().any(|(known, _)| *known == unit) {
        return ", found one that is not finite".to_owned();
    }
    let units = UNITS.map(|(unit, _)| unit).join(", ");
    format!(", found the unit {unit} (known are {units})")
}

/// A length above 0, m: a number with a unit, or one of metres.
fn length(text: &str) -> Result<f64, Failure> {
    let refused = || {
        Failure::usage(format!(
            "--focus-to-sample {text}: expected a length above 0, such as 3.65mm or 0.00365 (m){}",
            wrong_length(text)
        ))
    };
    positive_metres(text).ok_or_else(refused)
}

/// A length above 0, m, as [`metres`] reads it; `None` for other texts.
pub(super) fn positive_metres(text: &str) -> Option<f64> {
    metres(text).filter(|value| *value > 0.0)
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
        for text in ["", "mm", "-1mm", "0", "nan", "inf", "3 furlongs", "1e400m"] {
            let error = length(text).unwrap_err().to_string();
            assert!(error.contains("3.65mm") && error.contains(text), "{error}");
        }
        for (text, found) in [
            ("1pm", "found the unit pm (known are mm, cm, um"),
            ("3 furlongs", "found the unit furlongs"),
            ("-1mm", "found one that is not above 0"),
            ("0", "found one that is not above 0"),
            ("1e400m", "found one that is not finite"),
            ("1e400", "found one that is not finite"),
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
