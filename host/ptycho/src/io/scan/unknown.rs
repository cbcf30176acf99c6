//! Files without a known layout: their datasets, what these may be, and a recipe that opens them.

use super::format::{format_of, is_frame_file};
use super::roles::Roles;
use super::several_files::open_source;
use super::units::{Measure, is_stated, option};
use super::{Format, MaskPolarity, ReadOptions, matlab};
use crate::session::read_options::Datasets;
use serde::Serialize;
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_core::text::{count, is_invisible, visible};
use warpstride_files::IoError;
use warpstride_files::source::ListedDataset;

/// Most datasets that are listed.
const MOST_LISTED: usize = 200;
/// Bytes of the longest path that may be in a recipe; others are listed alone.
const LONGEST_PATH: usize = 1000;
/// Column in which the comments of a recipe begin.
const COMMENTS: usize = 44;

/// One dataset of a file without a known layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnknownDataset {
    /// Path, from the root.
    pub path: String,
    /// Shape, from the slowest to the fastest axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// Element type, such as `uint16`.
    pub element: String,
    /// Its attribute `units`.
    pub units: Option<String>,
    /// What it probably is, such as `frames`.
    pub role: Option<&'static str>,
}

/// The datasets of a file without a known layout, and a recipe that opens it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnknownLayout {
    /// The file, as given.
    pub file: String,
    /// The datasets, the largest first.
    pub datasets: Vec<UnknownDataset>,
    /// Datasets that are not listed, as there are too many.
    pub not_listed: usize,
    /// What else of the file was not looked at, as there is too much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_looked_at: Option<String>,
    /// What the user should know of the file, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Recipe (TOML) that names the datasets; what was not found is in comments.
    pub recipe: String,
    /// Whether the recipe has frames, positions and the geometry.
    pub complete: bool,
}

/// Lists the file `path` if its layout is not known and `options` do not name its datasets;
/// otherwise `None`.
///
/// # Errors
/// The file cannot be read as HDF5.
pub fn unknown_layout(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Option<UnknownLayout>, IoError> {
    if is_frame_file(path, options) {
        return Ok(None);
    }
    let source = open_source(path, options, memory)?;
    let roles = match format_of(&source, options) {
        None if super::lone_frames::path(&source, options).is_some() => return Ok(None),
        None => {
            let mut listed = source.listing();
            listed.retain(|of| of.path.len() <= LONGEST_PATH);
            Roles::guess(&listed, false)
        }
        Some(Format::Matlab) if options.format == Format::Auto => {
            let roles = matlab::roles(&source);
            if roles.paths(options.has_other_positions()).is_some() {
                return Ok(None);
            }
            roles
        }
        Some(_) => return Ok(None),
    };
    let listed = source.listing();
    source.unchanged()?;
    let (recipe, complete) = recipe(&roles, &listed, options);
    Ok(Some(UnknownLayout {
        file: source.name().to_owned(),
        not_looked_at: source.unseen(),
        notes: source.unclosed(),
        not_listed: listed.len().saturating_sub(MOST_LISTED),
        datasets: (listed.into_iter().take(MOST_LISTED))
            .map(|of| UnknownDataset {
                role: role(&roles, &of.path),
                path: of.path,
                shape: of.shape,
                element: of.element,
                units: of.units,
            })
            .collect(),
        recipe,
        complete,
    }))
}

/// The role of the dataset `path`.
fn role(roles: &Roles, path: &str) -> Option<&'static str> {
    let one = |of: &Option<String>| of.as_deref() == Some(path);
    let some = |of: &Option<Datasets>| {
        let paths = of.as_ref().map_or(&[][..], Datasets::paths);
        paths.iter().position(|of| of == path)
    };
    let two = |of: &Option<Datasets>| matches!(of, Some(Datasets::Two(_)));
    if roles.frames.as_ref().is_some_and(|of| of.path == path) {
        return Some("frames");
    }
    if roles.mask.as_ref().is_some_and(|of| of.0 == path) {
        return Some("mask");
    }
    match (some(&roles.positions), some(&roles.pixel_size)) {
        (Some(0), _) if two(&roles.positions) => return Some("positions (row)"),
        (Some(_), _) if two(&roles.positions) => return Some("positions (column)"),
        (Some(_), _) => return Some("positions"),
        (None, Some(0)) if two(&roles.pixel_size) => return Some("pixel size (row)"),
        (None, Some(_)) if two(&roles.pixel_size) => return Some("pixel size (column)"),
        (None, Some(_)) => return Some("pixel size"),
        (None, None) => {}
    }
    let named = [
        (&roles.probe, "probe"),
        (&roles.wavelength, "wavelength"),
        (&roles.energy, "energy"),
        (&roles.distance, "distance"),
    ];
    named
        .into_iter()
        .find(|(of, _)| one(of))
        .map(|(_, role)| role)
}

/// `text` as a TOML string on one line, in which invisible characters are escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            c if is_invisible(c) => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Lines of a recipe.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn line(&mut self, line: &str, comment: &str) {
        self.text.push_str(line);
        if !comment.is_empty() {
            let gap = COMMENTS.saturating_sub(line.chars().count()).max(1);
            self.text.push_str(&" ".repeat(gap));
            self.text.push_str("# ");
            // Units are texts of the file, which may have line breaks.
            self.text.push_str(&visible(comment));
        }
        self.text.push('\n');
    }
}

/// A recipe that opens a file with these roles, and whether it has everything.
fn recipe(roles: &Roles, listed: &[ListedDataset], options: &ReadOptions) -> (String, bool) {
    let shape = |path: &str| {
        let found = listed.iter().find(|of| of.path == path);
        found.map_or_else(String::new, |of| {
            let shape: Vec<String> = of.shape.iter().map(ToString::to_string).collect();
            format!("{}, {}", shape.join(" x "), of.element)
        })
    };
    let unit = |measure: Measure, path: &str| {
        let found = listed.iter().find(|of| of.path == path);
        let units = found.and_then(|of| of.units.as_deref());
        match units {
            Some(units) => format!("in {units}"),
            None if is_stated(measure, path, None) => String::new(),
            None => format!(
                "no unit: {} states it where several are plausible",
                option(measure).unwrap_or_default()
            ),
        }
    };
    let mut lines = Lines::default();
    let Some(frames) = &roles.frames else {
        lines.line("[data.paths]", "");
        lines.line(
            "# frames = \"/…\"",
            "not found: a dataset of rank 3 (frame, row, column) or 4 (slow, fast, row, column)",
        );
        lines.line(
            "# positions = \"/…\"",
            "(frame, coordinate), or two datasets: [rows, columns]",
        );
        return (lines.text, false);
    };
    if frames.axes != [0, 1, 2] {
        lines.line("[data]", "");
        lines.line(
            &format!("frame_axes = {:?}", frames.axes),
            "axes of frame, row and column",
        );
    }
    lines.line("[data.paths]", "");
    lines.line(
        &format!("frames = {}", quoted(&frames.path)),
        &shape(&frames.path),
    );
    if let Some(number) = roles.other_count {
        let [frames, ..] = frames.shape;
        let comment = format!(
            "# {} for {}: --pair first (data.pair) uses the first {} of each",
            count(number, ["position", "positions"]),
            count(frames, ["frame", "frames"]),
            number.min(frames)
        );
        lines.line(&comment, "");
    }
    match &roles.positions {
        Some(Datasets::One(path)) => {
            lines.line(
                &format!("positions = {}", quoted(path)),
                &unit(Measure::Positions, path),
            );
            let order = match roles.position_order {
                [1, 0] => "x (column) before y (row)",
                _ => "row before column; [1, 0] if x is before y",
            };
            lines.line(
                &format!("position_order = {:?}", roles.position_order),
                order,
            );
        }
        Some(Datasets::Two([row, column])) => {
            let both = format!("positions = [{}, {}]", quoted(row), quoted(column));
            let note = unit(Measure::Positions, row);
            let note = if note.is_empty() {
                "rows, columns".to_owned()
            } else {
                format!("rows, columns; {note}")
            };
            lines.line(&both, &note);
        }
        None if options.has_other_positions() => {}
        None => {
            let raster = match frames.raster {
                Some([slow, fast]) => format!("--step 31.25A for the raster of {slow} x {fast}"),
                None => "--raster 64x64 --step 31.25A".to_owned(),
            };
            let comment = format!(
                "not found: (frame, coordinate), or [rows, columns]; or --positions FILE, or {raster}"
            );
            lines.line("# positions = \"/…\"", &comment);
        }
    }
    if let Some((path, marks)) = &roles.mask {
        lines.line(
            &format!("mask = {}", quoted(path)),
            "non-zero pixels are bad",
        );
        if *marks == MaskPolarity::Valid {
            lines.line("mask_marks = \"valid\"", "");
        }
    }
    if let Some(path) = &roles.probe {
        lines.line(&format!("probe = {}", quoted(path)), "");
    }
    let constants = &options.constants;
    let wave = roles.wavelength.is_some() || roles.energy.is_some();
    let of_file = [
        ("wavelength", Measure::Wavelength, &roles.wavelength),
        // Of both the wavelength is taken.
        (
            "energy",
            Measure::Energy,
            if roles.wavelength.is_some() {
                &None
            } else {
                &roles.energy
            },
        ),
        ("distance", Measure::Distance, &roles.distance),
    ];
    for (name, measure, path) in of_file {
        if let Some(path) = path {
            lines.line(&format!("{name} = {}", quoted(path)), &unit(measure, path));
        }
    }
    match &roles.pixel_size {
        Some(Datasets::One(path)) => {
            lines.line(
                &format!("pixel_size = {}", quoted(path)),
                &unit(Measure::PixelSize, path),
            );
        }
        Some(Datasets::Two([row, column])) => {
            let both = format!("pixel_size = [{}, {}]", quoted(row), quoted(column));
            lines.line(&both, &unit(Measure::PixelSize, row));
        }
        None => {}
    }
    let beam =
        constants.wavelength.is_some() || constants.energy.is_some() || constants.voltage.is_some();
    // They need no distance.
    let angle = constants.pixel_angle.is_some() || constants.pixel_frequency.is_some();
    let missing = [
        (wave || beam, "# wavelength = 1e-10", "m"),
        (
            roles.distance.is_some() || constants.distance.is_some() || angle,
            "# distance = 2.0",
            "m",
        ),
        (
            roles.pixel_size.is_some() || constants.pixel_size.is_some() || angle,
            "# pixel_size = [75e-6, 75e-6]",
            "m, row and column",
        ),
    ];
    if missing.iter().any(|(found, ..)| !found) {
        lines.line("[data.constants]", "");
        for (_, line, unit) in missing.iter().filter(|(found, ..)| !found) {
            lines.line(line, &format!("{unit}; not found in the file"));
        }
    }
    let complete = (roles.positions.is_some() || options.has_other_positions())
        && missing.iter().all(|(found, ..)| *found);
    (lines.text, complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_is_a_string_on_one_line() {
        for path in [
            "/entry/data",
            "/a\"b\\c",
            "/two\nlines",
            "/\u{1b}[31m\u{9b}\u{202e}é日",
        ] {
            let line = format!("frames = {}", quoted(path));
            assert!(!line.contains(is_invisible), "{line:?}");
            let read: toml::Table = toml::from_str(&line).unwrap();
            assert_eq!(read["frames"].as_str(), Some(path));
        }
        let mut lines = Lines::default();
        lines.line("frames = \"/a\"", "in m\n[data]\nformat = 1\u{1b}");
        assert_eq!(lines.text.lines().count(), 1, "{}", lines.text);
    }
}
