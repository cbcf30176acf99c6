//! `--object-modes`, `--fly-points` and `--fly-shift`.

use crate::args::LayerArgs;
use crate::failure::Failure;
use warpstride::ptycho::quantities::{Kind, Measure};
use warpstride::ptycho::{FlyPath, Recipe};

/// Sets the options that were given.
pub(super) fn layers(args: &LayerArgs, recipe: &mut Recipe) -> Result<(), Failure> {
    if let Some(modes) = args.object_modes {
        recipe.object_modes = modes;
    }
    if let Some(points) = args.fly_points {
        recipe.fly.points = points;
    }
    match args.fly_shift.as_deref() {
        None => {}
        Some("scan") => recipe.fly.path = FlyPath::Scan,
        Some(text) => {
            let refused = |why: &str| {
                Failure::usage(format!(
                    "--fly-shift {text}: expected scan, or ROWS,COLUMNS, two lengths such as 0,1.5um{why}"
                ))
            };
            let parts: Vec<&str> = text.split(',').collect();
            let [rows, columns] = parts[..] else {
                return Err(refused(""));
            };
            let length = |part: &str| {
                let read = Kind::Length(Measure::Path).read(part);
                read.map_err(|expected| refused(&format!("; {part}: expected {expected}")))
            };
            let (rows, columns) = (length(rows)?, length(columns)?);
            recipe.fly.path = FlyPath::Shift;
            recipe.fly.shift = Some([rows, columns]);
        }
    }
    Ok(())
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn origins(args: &LayerArgs) -> Vec<(String, String)> {
    let modes = (args.object_modes).map(|n| ("object_modes", format!("--object-modes {n}")));
    let points = (args.fly_points).map(|n| ("fly.points", format!("--fly-points {n}")));
    let shift = (args.fly_shift.as_ref()).map(|text| ("fly.shift", format!("--fly-shift {text}")));
    let path = (args.fly_shift.as_ref()).map(|text| ("fly.path", format!("--fly-shift {text}")));
    let all = modes.into_iter().chain(points).chain(shift).chain(path);
    all.map(|(option, argument)| (option.to_owned(), argument))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_is_two_lengths_or_the_scan() {
        let of = |text: &str| {
            let mut recipe = Recipe::default();
            let args = LayerArgs {
                fly_points: Some(3),
                fly_shift: Some(text.to_owned()),
                ..LayerArgs::default()
            };
            layers(&args, &mut recipe).map(|()| recipe.fly)
        };
        let shift = of("-20nm,1.5um").unwrap().shift.unwrap();
        assert!((shift[0] + 2e-8).abs() < 1e-20 && (shift[1] - 1.5e-6).abs() < 1e-18);
        assert_eq!(of("0,0.0001").unwrap().shift, Some([0.0, 1e-4]));
        assert_eq!(of("scan").unwrap().path, FlyPath::Scan);
        for wrong in ["1um", "1um,2um,3um", "", "a,b", "1um,inf"] {
            let error = of(wrong).unwrap_err().to_string();
            assert!(
                error.contains("--fly-shift") && error.contains("expected"),
                "{error}"
            );
        }
    }
}
