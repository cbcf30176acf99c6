//! The library's sentences with Python's names: where they advise an option of the command, its
//! argument is named.

use pyo3::prelude::*;

/// What takes the place of an option of the command.
#[derive(Clone, Copy)]
enum Form {
    /// An argument: `--probe-modes 2` is `probe_modes=2`, and without a value `probe_modes`.
    Argument(&'static str),
    /// An argument whose value may be any word.
    Named(&'static str),
    /// An argument that is true or false.
    Switch(&'static str),
    /// An option of a recipe, by its path.
    Recipe(&'static str),
    /// A parameter to fit, perhaps with its bounds.
    Free,
    /// A list with a name.
    Names(&'static str),
    /// A parameter that follows from others; its expression may have spaces.
    Tie,
    /// `name=width` of a distribution.
    Width,
    /// An engine with its iterations.
    Engine,
    /// `path=value` of a recipe, of what is read or of an engine.
    Set,
    /// A key of an argument that is a mapping.
    Key(&'static str, &'static str),
    /// An argument of `ws.sas.read`.
    Read(&'static str),
    /// What Python has not.
    Command,
}

use Form::{
    Argument, Command, Engine, Free, Key, Named, Names, Read, Recipe, Set, Switch, Tie, Width,
};

/// The options that the library's sentences name.
const OPTIONS: &[(&str, Form)] = &[
    ("--ambiguous", Command),
    ("--backend", Argument("backend")),
    ("--bad-frames", Argument("bad_frames")),
    ("--batch", Command),
    ("--centre", Argument("centre")),
    ("--coils", Argument("coils")),
    ("--combine", Argument("combine")),
    ("--crop", Argument("crop")),
    ("--dataset", Argument("dataset")),
    ("--density", Argument("density")),
    ("--device", Argument("device")),
    ("--devices", Argument("devices")),
    ("--distance", Argument("distance")),
    ("--energy", Argument("energy")),
    ("--engine", Engine),
    ("--exclude", Argument("exclude")),
    ("--exclude-coils", Argument("exclude_coils")),
    ("--file-mask-marks", Argument("file_mask_marks")),
    ("--find-orientation", Command),
    ("--find-rotation", Command),
    ("--fit", Free),
    ("--fly-points", Recipe("fly.points")),
    ("--fly-shift", Recipe("fly.shift")),
    ("--focus-to-sample", Argument("focus_to_sample")),
    ("--follow-links", Switch("follow_links")),
    ("--frame", Argument("frame")),
    ("--group", Named("group")),
    ("--hot-pixels", Argument("hot_pixels")),
    ("--ignore-columns", Command),
    ("--k-unit", Named("k_unit")),
    ("--mask", Argument("mask")),
    ("--mask-marks", Argument("mask_marks")),
    ("--matrix", Argument("matrix")),
    ("--metrics-every", Recipe("metrics_every")),
    ("--missing-values", Argument("missing_values")),
    ("--near-field", Switch("near_field")),
    ("--negative", Argument("negative")),
    ("--no-data", Argument("no_data")),
    ("--noise", Argument("snr")),
    ("--object-modes", Recipe("object_modes")),
    ("--operator", Argument("operator")),
    ("--opr-modes", Recipe("opr_modes")),
    ("--order", Named("order")),
    ("--pad", Argument("pad")),
    ("--pair", Named("pair")),
    ("--pd", Width),
    ("--photons", Argument("photons")),
    ("--pixel-angle", Argument("pixel_angle")),
    ("--pixel-size", Argument("pixel_size")),
    ("--policy", Command),
    ("--position-columns", Key("positions", "columns")),
    ("--position-unit", Key("positions", "unit")),
    ("--positions", Argument("positions")),
    ("--positive", Switch("positive")),
    ("--precision", Argument("precision")),
    ("--probe-modes", Argument("probe_modes")),
    ("--q-unit", Read("q_unit")),
    ("--raster", Key("raster", "points")),
    ("--report", Command),
    ("--samples", Argument("samples")),
    ("--saturation", Argument("saturation")),
    ("--scrape-time", Command),
    ("--scratch", Command),
    ("--seed", Argument("seed")),
    ("--select", Named("select")),
    ("--series-column", Argument("by")),
    ("--series-columns", Argument("by")),
    ("--set", Set),
    ("--share", Names("shared")),
    ("--slice-distance", Recipe("slices.distance")),
    ("--slices", Recipe("slices.count")),
    ("--spokes", Argument("spokes")),
    ("--step", Key("raster", "step")),
    ("--tie", Tie),
    ("--time-column", Argument("time")),
    ("--time-format", Argument("time_format")),
    ("--time-unit", Argument("time_format")),
    ("--timezone", Named("timezone")),
    ("--transform-frames", Argument("transform_frames")),
    ("--transform-positions", Command),
    ("--value-column", Argument("value")),
    ("--voltage", Argument("voltage")),
    ("--wavelength", Argument("wavelength")),
    ("--wide", Command),
];

/// Parts of sentences that Python says otherwise, among them values whose unit a recipe does not
/// have.
const PHRASES: &[(&str, &str)] = &[
    // The size and the precision of a relaxation are those of its field.
    (" (--nx, --ny) or --precision f32", " or one of float32"),
    (" (--nx, --ny)", ""),
    (", such as dm:100", ", such as DM(100)"),
    (
        "--fly-shift 0,1.5um",
        "recipe={\"fly\": {\"shift\": [0, 1.5e-6]}}",
    ),
    (
        "--slice-distance 20um",
        "recipe={\"slices\": {\"distance\": 20e-6}}",
    ),
    ("--fly-shift scan", "recipe={\"fly\": {\"path\": \"scan\"}}"),
    (
        "--raster 64x64 --step 31.25A",
        "raster={\"points\": (64, 64), \"step\": \"31.25A\"}",
    ),
    (
        "--resolution none leaves it out",
        "`fit` leaves it out with resolution=False",
    ),
    (
        "if the file is in 1/nm, give",
        "if it is in 1/nm, divide it by 10, or use",
    ),
    (
        "set them to NaN in the file, or remove their readouts, to leave them out",
        "to leave them out, remove their readouts, or set them to NaN in the file that is read",
    ),
    (
        "that is not 0 everywhere (--restart), or a source (--source)",
        "that is not 0 everywhere, or a source",
    ),
    ("set it with --set", "give it as a keyword"),
    (
        "`warpstride sas models` lists them",
        "ws.sas.models() lists them",
    ),
    ("the command line (--", "an argument (--"),
];

/// Words that are values of options, beside those with digits and names in capitals.
const VALUES: &[&str] = &[
    "all",
    "auto",
    "bad",
    "clip",
    "cpu",
    "cuda",
    "direct",
    "emulator",
    "mask",
    "nan",
    "none",
    "nufft",
    "pipe",
    "ramp",
    "repetition",
    "shifted",
    "valid",
];

/// The engines of recipes.
const ENGINES: &[&str] = &["dm", "raar", "ap", "lsqml", "epie", "rpie", "ml"];

/// `text` with Python's arguments in the place of options of the command.
#[pyfunction]
pub(crate) fn in_python(text: &str) -> String {
    let mut text = text.to_owned();
    for (of_command, of_python) in PHRASES {
        text = text.replace(of_command, of_python);
    }
    let (mut found, mut rest) = (String::with_capacity(text.len()), text.as_str());
    while let Some(at) = rest.find("--") {
        let begins = !(found.chars().chain(rest[..at].chars()).next_back())
            .is_some_and(|before| before.is_alphanumeric() || before == '-');
        found.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = (rest.char_indices().skip(2))
            .find(|(_, letter)| !(letter.is_ascii_lowercase() || *letter == '-'));
        let name = &rest[..end.map_or(rest.len(), |(end, _)| end)];
        let form = OPTIONS.iter().find(|(option, _)| *option == name);
        let (written, used) = match form {
            Some((_, form)) if begins => {
                let named = found.ends_with("the command's ");
                written(*form, named, name, &rest[name.len()..])
            }
            _ => (name.to_owned(), 0),
        };
        found.push_str(&written);
        rest = &rest[name.len() + used..];
    }
    unmarked(&(found + rest))
}

/// Between the characters of what is not rewritten: not a character of any text.
const KEPT: char = '\u{FDD0}';

/// `text` with each `given`, such as the name of a file, marked so that [`in_python`] leaves it as
/// the user wrote it.
pub(crate) fn verbatim(text: &str, given: &str) -> String {
    if !given.contains("--") {
        return text.to_owned();
    }
    text.replace(given, &given.replace('-', &format!("-{KEPT}")))
}

/// `text` without the marks of [`verbatim`].
pub(crate) fn unmarked(text: &str) -> String {
    text.replace(KEPT, "")
}

/// Each of the texts with Python's arguments.
pub(crate) fn all_in_python(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    texts.into_iter().map(|text| in_python(&text)).collect()
}

/// An option in Python, and how many bytes of what follows its name belong to it; `named` if the
/// text before calls it the command's.
fn written(form: Form, named: bool, name: &str, after: &str) -> (String, usize) {
    let any = matches!(form, Named(_) | Names(_) | Free | Tie);
    let (value, used) = match form {
        Command => ("", 0),
        Tie => until_colon(after),
        _ => value(after, any),
    };
    let (of, given) = value.split_once('=').unwrap_or((value, ""));
    let text = match form {
        Command if named => name.to_owned(),
        Command => format!("the command's {name}"),
        Switch(argument) => return (format!("{argument}=True"), 0),
        Argument(argument) | Named(argument) => match value {
            "" => argument.to_owned(),
            value => format!("{argument}={}", literal(value)),
        },
        Read(argument) => match value {
            "" => format!("{argument} of ws.sas.read"),
            value => format!("ws.sas.read(…, {argument}={})", literal(value)),
        },
        Recipe(path) => recipe(path, value),
        Free => match (of, given.split_once(':')) {
            ("", _) => "free".to_owned(),
            (of, Some((low, high))) => format!("free={{\"{of}\": ({low}, {high})}}"),
            (of, None) => format!("free={{\"{of}\": …}}"),
        },
        Names(argument) if !value.is_empty() => format!("{argument}=[\"{value}\"]"),
        Names(argument) => argument.to_owned(),
        Tie if !value.is_empty() => format!("ties={{\"{of}\": \"{given}\"}}"),
        Tie => "ties".to_owned(),
        Width if !value.is_empty() => format!("{of}_pd={given}"),
        Width => "the width of a distribution".to_owned(),
        Engine => match value.split_once(':') {
            Some((name, iterations)) => {
                format!("engines=[{}({iterations})]", name.to_uppercase())
            }
            None => "engines".to_owned(),
        },
        Set => match of.split_once('.') {
            _ if given.is_empty() => "recipe".to_owned(),
            Some(("data", path)) => match path.split_once('.') {
                Some((argument, key)) => format!("{argument}={{\"{key}\": {}}}", literal(given)),
                None => format!("{path}={}", literal(given)),
            },
            Some((engine, option)) if ENGINES.contains(&engine) => {
                let engine = engine.to_uppercase();
                format!("{engine}(…, {option}={})", literal(given))
            }
            _ => recipe(of, given),
        },
        Key(argument, key) if !value.is_empty() => {
            format!("{argument}={{\"{key}\": {}}}", literal(value))
        }
        Key(argument, key) => format!("{key} of {argument}"),
    };
    (text, used)
}

/// An option of a recipe with its value, or its path alone.
fn recipe(path: &str, value: &str) -> String {
    if value.is_empty() {
        return format!("{path} of the recipe");
    }
    let inner = match path.split_once('.') {
        Some((table, option)) => format!("\"{table}\": {{\"{option}\": {}}}", literal(value)),
        None => format!("\"{path}\": {}", literal(value)),
    };
    format!("recipe={{{inner}}}")
}

/// The value at the beginning of what follows an option, and the bytes as far as its end. Unless it
/// may be `any` word, it is one of the known values, a number or a name in capitals such as `FILE`.
fn value(after: &str, any: bool) -> (&str, usize) {
    let Some(rest) = after.strip_prefix([' ', '=']) else {
        return ("", 0);
    };
    if let Some(quoted) = rest.strip_prefix('\'')
        && let Some(end) = quoted.find('\'')
    {
        return (&quoted[..end], end + 3);
    }
    let word = rest.split(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_end_matches([',', ';', ':', '.', ')', '<']);
    let is_value = VALUES.contains(&word)
        || word.contains('=')
        || word.contains(|letter: char| letter.is_ascii_digit())
        || word.len() > 1 && !word.contains(|letter: char| letter.is_lowercase());
    if word.is_empty() || !(any || is_value) {
        return ("", 0);
    }
    (word, word.len() + 1)
}

/// The text before the next colon with a space after it, or all.
fn until_colon(after: &str) -> (&str, usize) {
    match after.strip_prefix(' ') {
        None => ("", 0),
        Some(rest) => {
            let end = rest.find(": ").unwrap_or(rest.len());
            (&rest[..end], end + 1)
        }
    }
}

/// A value as Python writes it.
fn literal(value: &str) -> String {
    let numbers = |separator: char| -> Option<String> {
        let parts: Vec<&str> = value.split(separator).collect();
        let name =
            |part: &&str| part.len() > 1 && part.chars().all(|letter| letter.is_ascii_uppercase());
        (parts.iter())
            .all(|part| part.parse().is_ok_and(f64::is_finite) || name(part))
            .then(|| match &parts[..] {
                [one] => (*one).to_owned(),
                several => format!("({})", several.join(", ")),
            })
    };
    match value {
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        _ if value.starts_with(['[', '"', '(', '{']) || value.ends_with('…') => value.to_owned(),
        _ => numbers(',')
            .or_else(|| numbers('x'))
            .unwrap_or_else(|| format!("\"{value}\"")),
    }
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(in_python, module)?)
}
