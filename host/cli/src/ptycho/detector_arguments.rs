//! `--blur` and `--background`.

use crate::args::DetectorArgs;
use crate::failure::Failure;
use warpstride::ptycho::{Background, BackgroundFit, Blur, DetectorOptions};
use warpstride::text::shortest;

/// Sets the options that were given.
pub(super) fn detector(args: &DetectorArgs, options: &mut DetectorOptions) -> Result<(), Failure> {
    if let Some(sigma) = args.blur {
        options.blur = Blur::Same(sigma);
    }
    if let Some(text) = &args.background {
        options.background = background(text)?;
    }
    Ok(())
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn origins(args: &DetectorArgs) -> Vec<(String, String)> {
    let blur = args.blur.map(|sigma| {
        let argument = format!("--blur {}", shortest(sigma));
        ("detector.blur".to_owned(), argument)
    });
    let background = args.background.as_ref().map(|text| {
        let argument = format!("--background {text}");
        ("detector.background".to_owned(), argument)
    });
    blur.into_iter().chain(background).collect()
}

fn background(text: &str) -> Result<Background, Failure> {
    match text.trim() {
        "off" => Ok(Background::Fit(BackgroundFit::Off)),
        "uniform" => Ok(Background::Fit(BackgroundFit::Uniform)),
        "pixels" => Ok(Background::Fit(BackgroundFit::Pixels)),
        number => number.parse().map(Background::Known).map_err(|_| {
            Failure::usage(format!(
                "--background {text}: expected off, uniform, pixels or a number of photons such as 2.0"
            ))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backgrounds_are_named_or_numbers() {
        for (text, expected) in [
            ("off", Background::Fit(BackgroundFit::Off)),
            ("uniform", Background::Fit(BackgroundFit::Uniform)),
            ("pixels", Background::Fit(BackgroundFit::Pixels)),
            ("2.0", Background::Known(2.0)),
        ] {
            assert_eq!(background(text).unwrap(), expected);
        }
        let error = background("some").unwrap_err().to_string();
        assert!(
            error.contains("--background some: expected off, uniform"),
            "{error}"
        );
    }
}
