//! Further files of frames, `--positions`, `--raster` and what belongs to them.

use crate::args::{FileOrderArg, PairArg, PositionArgs};
use crate::failure::Failure;
use clap::ValueEnum;
use warpstride::ptycho::{
    Degrees, FileOrder, Pair, PositionFile, Raster, RasterStep, ReadOptions, ShortLength,
};

/// Sets the options that were given.
pub(super) fn positions(args: &PositionArgs, options: &mut ReadOptions) -> Result<(), Failure> {
    if !args.more.is_empty() {
        options.files = more_files(args)?;
    }
    if let Some(order) = args.order {
        options.order = Some(match order {
            FileOrderArg::Natural => FileOrder::Natural,
            FileOrderArg::Name => FileOrder::Name,
            FileOrderArg::Given => FileOrder::Given,
        });
    }
    if let Some(pair) = args.pair {
        options.pair = Some(match pair {
            PairArg::First => Pair::First,
            PairArg::ByIndex => Pair::ByIndex,
            PairArg::ByIndexFrom0 => Pair::ByIndexFrom0,
            PairArg::ByIndexFrom1 => Pair::ByIndexFrom1,
            PairArg::ByName => Pair::ByName,
        });
    }
    if let Some(file) = &args.positions {
        options.raster = None;
        options.positions = Some(PositionFile {
            file: file.clone(),
            columns: args.position_columns.as_deref().map(columns).transpose()?,
            unit: args.position_unit.clone(),
        });
    }
    // What a raster has beside its step, which states nothing without it.
    let beside = [
        (args.raster.is_some(), "--raster"),
        (args.rotation.is_some(), "--rotation"),
        (args.snake, "--snake"),
    ];
    if args.step.is_none()
        && let Some((_, option)) = beside.into_iter().find(|(given, _)| *given)
    {
        return Err(Failure::usage(format!(
            "{option}: expected the step of the raster beside it, such as --step 31.25A (with --raster 64x64, unless the frames are stored as a raster), found none"
        )));
    }
    if let Some(text) = &args.step {
        options.positions = None;
        options.raster = Some(Raster {
            points: args.raster.as_deref().map(points).transpose()?,
            step: step(text)?,
            rotation: (args.rotation.as_deref()).map_or(Ok(Degrees(0.0)), rotation)?,
            snake: args.snake,
        });
    }
    Ok(())
}

/// Most bytes of the names of further files in an error.
const MOST_NAMED: usize = 200;

/// The names of the further files.
pub(super) fn more_files(args: &PositionArgs) -> Result<Vec<String>, Failure> {
    let name = |path: &std::path::PathBuf| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage(format!(
                "{}: expected a name in Unicode, as recipes have the names of further files",
                path.display()
            ))
        })
    };
    args.more.iter().map(name).collect()
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn origins(args: &PositionArgs) -> Vec<(String, String)> {
    let [order, pair] = [name_of(args.order), name_of(args.pair)];
    let table = [
        // An error in any option of the table is one of the flag, which brings it.
        ("data.positions", "--positions", &args.positions),
        ("data.positions.file", "--positions", &args.positions),
        (
            "data.positions.columns",
            "--position-columns",
            &args.position_columns,
        ),
        (
            "data.positions.unit",
            "--position-unit",
            &args.position_unit,
        ),
        ("data.order", "--order", &order),
        ("data.pair", "--pair", &pair),
        ("data.raster", "--step", &args.step),
        ("data.raster.step", "--step", &args.step),
        ("data.raster.points", "--raster", &args.raster),
        ("data.raster.rotation", "--rotation", &args.rotation),
    ];
    let given = table.into_iter().filter_map(|(option, flag, text)| {
        let text = text.as_ref()?;
        Some((option.to_owned(), format!("{flag} {text}")))
    });
    let snake = (args.snake).then(|| ("data.raster.snake".to_owned(), "--snake".to_owned()));
    let names: Vec<String> = (args.more.iter())
        .map(|path| path.display().to_string())
        .collect();
    let mut named = names.join(" ");
    if named.len() > MOST_NAMED {
        named = format!("{} … {}", names[0], names[names.len() - 1]);
    }
    let more = (!names.is_empty()).then(|| ("data.files".to_owned(), named));
    more.into_iter().chain(given).chain(snake).collect()
}

/// How a value is written on the command line.
fn name_of(value: Option<impl ValueEnum>) -> Option<String> {
    let value = value?.to_possible_value()?;
    Some(value.get_name().to_owned())
}

fn columns(text: &str) -> Result<[String; 2], Failure> {
    match text.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [row, column] if !row.is_empty() && !column.is_empty() => {
            Ok([row.to_owned(), column.to_owned()])
        }
        _ => Err(Failure::usage(format!(
            "--position-columns {text}: expected two columns separated by a comma, such as y_um,x_um or 1,0"
        ))),
    }
}

fn points(text: &str) -> Result<[usize; 2], Failure> {
    let wrong = || {
        Failure::usage(format!(
            "--raster {text}: expected rows and points in a row, such as 64x64"
        ))
    };
    let (slow, fast) = text.split_once(['x', '×']).ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
    Ok([number(slow)?, number(fast)?])
}

fn step(text: &str) -> Result<RasterStep, Failure> {
    let length = |part: &str| {
        ShortLength::parse(part).map_err(|why| Failure::usage(format!("--step {text}: {why}")))
    };
    match text.split(',').collect::<Vec<_>>()[..] {
        [one] => Ok(RasterStep::Same(length(one)?)),
        [slow, fast] => Ok(RasterStep::Each([length(slow)?, length(fast)?])),
        _ => Err(Failure::usage(format!(
            "--step {text}: expected a length, or two separated by a comma, such as 31.25A"
        ))),
    }
}

fn rotation(text: &str) -> Result<Degrees, Failure> {
    Degrees::parse(text).map_err(|why| Failure::usage(format!("--rotation {text}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raster_is_read() {
        let args = PositionArgs {
            raster: Some("28x30".to_owned()),
            step: Some("31.25A,30A".to_owned()),
            rotation: Some("-120deg".to_owned()),
            ..PositionArgs::default()
        };
        let mut options = ReadOptions::default();
        positions(&args, &mut options).unwrap();
        let raster = options.raster.unwrap();
        assert_eq!(raster.points, Some([28, 30]));
        assert_eq!(raster.step.both(), [31.25e-10, 30e-10]);
        assert_eq!(raster.rotation, Degrees(-120.0));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "64", "64x", "ax3", "1x2x3", "-1x2"] {
            assert!(points(text).is_err(), "{text}");
        }
        for text in ["", "31.25", "1um,2um,3um", "1um,"] {
            assert!(step(text).is_err(), "{text}");
        }
        assert!(columns("y").is_err() && columns("y,").is_err() && columns("a,b,c").is_err());
    }
}
