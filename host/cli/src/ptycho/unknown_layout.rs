//! What `warpstride ptycho info` prints about a file without a known layout.

use super::info::ScanInfo;
use crate::failure::Failure;
use crate::output::{say, say_json};
use serde::Serialize;
use warpstride::ptycho::io::scan::UnknownLayout;
use warpstride::text::{Table, shortened, visible};

/// Most characters of a path, and of units, in the table; JSON has all.
const LONGEST_PATH: usize = 120;
const LONGEST_UNITS: usize = 30;

/// The layout with what its frames alone lack.
#[derive(Serialize)]
struct WithFrames<'a> {
    #[serde(flatten)]
    layout: &'a UnknownLayout,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames_unreadable: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
}

/// Prints the datasets and a recipe, and what is known of its frames alone, if they can be read.
pub(super) fn print_layout(
    layout: &UnknownLayout,
    frames: Result<Option<ScanInfo>, Failure>,
    json: bool,
) -> Result<(), Failure> {
    let (frames, unreadable) = match frames {
        Ok(frames) => (frames, None),
        Err(error) => (None, Some(error.to_string())),
    };
    if json {
        return say_json(&WithFrames {
            layout,
            missing: frames.as_ref().map_or(&[], |frames| &frames.missing),
            command: frames.as_ref().and_then(|frames| frames.command.as_deref()),
            frames_unreadable: unreadable,
        });
    }
    let mut table = Table::new(&["dataset", "shape", "type", "units", "perhaps"]);
    for of in &layout.datasets {
        let shape: Vec<String> = of.shape.iter().map(ToString::to_string).collect();
        table.row([
            shortened(&visible(&of.path), LONGEST_PATH).into_owned(),
            if shape.is_empty() {
                "one value".to_owned()
            } else {
                shape.join(" x ")
            },
            of.element.clone(),
            shortened(of.units.as_deref().unwrap_or_default(), LONGEST_UNITS).into_owned(),
            of.role.unwrap_or_default().to_owned(),
        ]);
    }
    let mut more = match layout.not_listed {
        0 => String::new(),
        n => format!("and {n} more\n"),
    };
    if let Some(unseen) = &layout.not_looked_at {
        more += &format!("and {unseen}\n");
    }
    for note in &layout.notes {
        more += &format!("note: {}\n", visible(note));
    }
    let rest = if layout.complete {
        ""
    } else {
        "; complete it (what begins with # was not found)"
    };
    let recipe: Vec<String> = layout
        .recipe
        .lines()
        .map(|line| visible(line).into_owned())
        .collect();
    say(&format!(
        "{}: HDF5 without a known layout\n\n{table}{more}\nA recipe that opens it as a scan: save it as recipe.toml, check it{rest}, and give it with --recipe recipe.toml.\n\n{}\n",
        visible(&layout.file),
        recipe.join("\n")
    ))?;
    match (frames, unreadable) {
        (Some(frames), _) => say(&frames.text(None)),
        (None, Some(reason)) => say(&format!(
            "Its only stack cannot be read as frames: {}\n",
            visible(&reason)
        )),
        (None, None) => Ok(()),
    }
}
