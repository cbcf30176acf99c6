//! `--slices` and `--slice-distance`.

use super::near_field_arguments::positive;
use crate::args::SliceArgs;
use crate::failure::Failure;
use warpstride::ptycho::quantities::Measure;
use warpstride::ptycho::{SliceDistance, SliceOptions};

/// Sets the options that were given.
pub(super) fn slices(args: &SliceArgs, options: &mut SliceOptions) -> Result<(), Failure> {
    if let Some(count) = args.slices {
        options.count = count;
    }
    if let Some(distances) = distances(args)? {
        options.distance = Some(match distances[..] {
            [one] => SliceDistance::Same(one),
            _ => SliceDistance::Each(distances),
        });
    }
    Ok(())
}

/// The distances that were given, m.
fn distances(args: &SliceArgs) -> Result<Option<Vec<f64>>, Failure> {
    let Some(list) = &args.slice_distance else {
        return Ok(None);
    };
    let parsed = list.split(',').map(|one| positive(one, Measure::Path));
    let parsed: Result<Vec<f64>, String> = parsed.collect();
    parsed.map(Some).map_err(|wrong| {
        Failure::usage(format!(
            "--slice-distance {list}: expected {wrong}; one length, or one for each two slices: 20um,25um"
        ))
    })
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn origins(args: &SliceArgs) -> Vec<(String, String)> {
    let option = |name: &str, argument: String| (format!("slices.{name}"), argument);
    let count = (args.slices).map(|n| option("count", format!("--slices {n}")));
    let distance = (args.slice_distance.as_ref())
        .map(|text| option("distance", format!("--slice-distance {text}")));
    count.into_iter().chain(distance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_lengths_or_lists_of_them() {
        let of = |text: &str| {
            distances(&SliceArgs {
                slices: None,
                slice_distance: Some(text.to_owned()),
            })
        };
        assert_eq!(of("20um").unwrap(), Some(vec![20e-6]));
        assert_eq!(of("30nm, 0.5mm").unwrap(), Some(vec![30e-9, 5e-4]));
        let error = of("20um,1parsec").unwrap_err().to_string();
        assert!(error.contains("found the unit parsec"), "{error}");
        let error = of("20").unwrap_err().to_string();
        assert!(error.contains("20um, 20nm or 20m?"), "{error}");
        for text in ["", "um", "20um,", "-3um", "nan"] {
            let error = of(text).unwrap_err().to_string();
            assert!(
                error.contains("--slice-distance") && error.contains("20um"),
                "{error}"
            );
        }
    }
}
